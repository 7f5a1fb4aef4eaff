"""No file of a known build kind ends in silence: over small projects always, over real ones where they are there."""

# ruff: noqa: E501

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from archscan.cli import archscan

REPOSITORIES = json.loads((Path(__file__).parent / "data" / "build_repos.json").read_text("utf-8"))
BASE = os.environ.get("ARCHSCAN_BUILD_REPOS", "")

# Written without a look at what archscan reads: what people build CUDA code with, and how they name an architecture.
KINDS = re.compile(
    r"(?:^|/)(?:CMakeLists\.txt|CMake(?:User)?Presets\.json|(?:gnu)?makefile(?:\.\w+)?|[^/]+\.(?:cmake|mk|mak|bzl|bazelrc|sh|bash)"
    r"|meson\.build|meson_options\.txt|(?:BUILD|WORKSPACE|MODULE)(?:\.bazel)?|\.bazelrc|[^/]*(?:docker|container)file[\w.-]*"
    r"|(?:setup|[^/]*build[^/]*|conanfile|noxfile|op_builder/[^/]+)\.py|setup\.cfg|(?:pyproject|pixi)\.toml|\.env|meta\.ya?ml|recipe\.ya?ml"
    r"|\.(?:github|gitlab|circleci|buildkite)/.*\.ya?ml|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|action\.ya?ml|(?:docker-)?compose\.ya?ml)$",
    re.IGNORECASE,
)
NAMES = re.compile(
    rb"gencode|generate-code|\b(?:sm|compute)_(?:\d\d|[%{$])|(?<![\w-])-arch[= ]|CUDA_ARCHITECTURES|CUDAARCHS|CUDA_ARCH_(?:LIST|BIN|PTX)"
    rb"|(?<!__)CUDA_ARCHS?\b|COMPUTE_CAPABILITIES|gpu-architecture"
)
COMMENT = re.compile(rb"(?m)(?:^|\s)#.*$|^[ \t]*(?://|dnl\b|rem\b).*$|\"\"\"(?:[^\"]|\"(?!\"\"))*\"\"\"")


def naming(folder: Path) -> list[str]:
    """The build files of a folder that name an architecture outside of comments."""
    found = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    paths = [p.relative_to(folder).as_posix() for p in found]
    return sorted(p for p in paths if KINDS.search(p) and NAMES.search(COMMENT.sub(b"", (folder / p).read_bytes())))


def told(folder: Path) -> set[str]:
    """The files of a folder that the scan or the table of builds says something of."""
    options = ["--no-cache", "-j", "1", "-f", "json", "--include-vendored", "--include-tests", "--isolated"]
    scan = CliRunner().invoke(archscan, ["--target", "sm120", "--all-gates", *options, str(folder)])
    assert scan.exit_code in (0, 1), scan.output
    document = json.loads(scan.stdout)
    found = {one["path"] for key in ("findings", "gates", "undecided", "skipped", "failed") for one in document[key]}
    builds = CliRunner().invoke(archscan, ["builds", *options, str(folder)])
    assert builds.exit_code == 0, builds.output
    for build in json.loads(builds.stdout)["builds"]:
        found |= {build["path"], *(image["path"] for image in build["images"])}
    return found


def silent(folder: Path, only: Path) -> list[str]:
    """The build files of `folder` that name an architecture and of which nothing is said; read from a copy in `only`."""
    for path in (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        name = path.relative_to(folder).as_posix()
        if KINDS.search(name) or (name.endswith((".cmake.in", ".py")) and "/" not in name):
            (only / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, only / name)
    said = told(only)
    return [path for path in naming(only) if not any(path == one or path.startswith(one + "/") for one in said)]


SMALL = {
    "CMakeLists.txt": "set(CMAKE_CUDA_ARCHITECTURES 80 90)\n",
    "cmake/flags.cmake": 'set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -arch=sm_${N}")\n',
    "CMakePresets.json": '{"configurePresets": [{"name": "a", "cacheVariables": {"CMAKE_CUDA_ARCHITECTURES": "80;90"}}]}\n',
    "setup.py": 'flags = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"]\nsetup(flags)\n',
    "build.py": 'import os\nrun(["nvcc", "-gencode=arch=compute_%s,code=sm_%s" % (load(), load())])\n',
    "Makefile": "x: x.cu\n\tnvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 x.cu\n",
    "rules.mk": "F := $(shell cat flags) -arch=sm_$(shell cat number)\n",
    "build.sh": "nvcc -arch=sm_$(cat number) x.cu\n",
    "configure": "#!/bin/sh\nF='-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90'\n",
    "Dockerfile": 'ENV TORCH_CUDA_ARCH_LIST="8.0;9.0"\n',
    "meson.build": "add_project_arguments('-gencode=arch=compute_80,code=sm_80', '-gencode=arch=compute_90,code=sm_90', language: 'cuda')\n",
    "BUILD.bazel": 'cuda_library(name = "k", copts = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"])\n',
    ".bazelrc": 'build --action_env TF_CUDA_COMPUTE_CAPABILITIES="8.0,9.0"\n',
    ".github/workflows/ci.yml": "jobs:\n  a:\n    env:\n      TORCH_CUDA_ARCH_LIST: '8.0;9.0'\n    steps:\n      - run: make\n",
    ".gitlab-ci.yml": "a:\n  variables:\n    TORCH_CUDA_ARCH_LIST: '8.0;9.0'\n  script:\n    - make\n",
    "pyproject.toml": '[tool.scikit-build.cmake.define]\nCMAKE_CUDA_ARCHITECTURES = "80;90"\n',
    "setup.cfg": "[build_ext]\ndefine = CUDA_ARCH_LIST=8.0;9.0\n",
    "recipe/meta.yaml": "build:\n  script_env:\n    - TORCH_CUDA_ARCH_LIST=8.0;9.0\n",
    ".env": "TORCH_CUDA_ARCH_LIST=8.0;9.0\n",
}


@pytest.mark.parametrize("name", SMALL)
def test_every_kind_is_told(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(SMALL[name])
    if name != "configure":
        assert naming(folder) == [name]  # the test's own eye sees it
    assert name in told(folder)


def test_silence_is_seen(tmp_path: Path) -> None:
    folder, only = tmp_path / "project", tmp_path / "only"
    (folder / "sub").mkdir(parents=True)
    only.mkdir()
    (folder / "CMakeLists.txt").write_text("# sm_90 in a comment\nset(CMAKE_CUDA_ARCHITECTURES 80 90)\n")
    (folder / "sub" / "CMakeLists.txt").write_text('message("-gencode is up to you")\n')
    assert silent(folder, only) == ["sub/CMakeLists.txt"]


def test_there_are_enough_projects() -> None:
    assert len(REPOSITORIES) >= 30


@pytest.mark.parametrize("repository", REPOSITORIES, ids=lambda one: str(one["name"]))
def test_real_projects(repository: dict[str, Any], tmp_path: Path) -> None:
    """`quiet` files ask nvcc for nothing, each with why; `missed` ones do, and turn this red when they are read."""
    folder = Path(BASE) / f"{repository['name']}-{repository['version']}"
    if not BASE or not folder.is_dir():
        pytest.skip("set ARCHSCAN_BUILD_REPOS to what scripts/build_repos.py fetches")
    assert silent(folder, tmp_path) == sorted({**repository.get("quiet", {}), **repository.get("missed", {})})
