"""Which files are found, under which names, and what is said of the others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from archscan.errors import UserError
from archscan.model.facts import Failed, Origin, Skipped, Source
from archscan.model.settings import ScanSettings
from archscan.sources import discover, read, vendored_trees

SETTINGS = ScanSettings()
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX file names and special files")


def tree(base: Path, *names: str) -> Path:
    """Files of those names below `base`, with a little text in each."""
    for name in names:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"int x;\n")
    return base


def found(*paths: Path | str, settings: ScanSettings = SETTINGS) -> list[str]:
    return [source.path for source in discover([str(p) for p in paths], settings).sources]


def reasons(path: Path, settings: ScanSettings = SETTINGS) -> dict[str, str]:
    discovery = discover([str(path)], settings)
    return {left.path: left.reason for left in (*discovery.skipped, *discovery.failed)}


def test_paths_are_relative_to_the_directory_and_sorted(tmp_path: Path) -> None:
    tree(tmp_path, "b/z.cu", "b/a.cuh", "a.py", "b.c", "CMakeLists.txt", "readme.md", "k.cu.jinja", "x.cmake", "x.so")
    assert found(tmp_path) == ["CMakeLists.txt", "a.py", "b.c", "b/a.cuh", "b/z.cu", "k.cu.jinja", "x.cmake"]
    rest = discover([str(tmp_path)], SETTINGS)
    assert (rest.other, [library.path for library in rest.libraries]) == (1, ["x.so"])


def test_archives_in_a_directory_are_said_by_name(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu", "e.whl", "old/f.tar.gz", "notes.whl.md", "zip", "g.gz")
    why = "an archive: name it to have it read"
    assert reasons(tmp_path) == {"e.whl": why, "old/f.tar.gz": why}
    assert discover([str(tmp_path)], SETTINGS).other == 3


def test_headers_without_a_suffix_lie_below_include(tmp_path: Path) -> None:
    tree(tmp_path, "include/cuda/std/atomic", "include/LICENSE", "include/read-me", "src/atomic", "includes/atomic")
    assert found(tmp_path) == ["include/cuda/std/atomic"]
    assert found(tmp_path / "include/cuda") == ["std/atomic"]
    assert found(tmp_path / "include/cuda/std/atomic") == ["atomic"]


def test_a_file_is_relative_to_its_parent(tmp_path: Path) -> None:
    tree(tmp_path, "deep/down/k.cu")
    assert found(tmp_path / "deep/down/k.cu") == ["k.cu"]


def test_several_paths_start_with_their_last_component(tmp_path: Path) -> None:
    tree(tmp_path, "one/src/a.cu", "two/b.cu", "c.py")
    assert found(tmp_path / "one/src", tmp_path / "two", tmp_path / "c.py") == ["c.py", "src/a.cu", "two/b.cu"]


def test_equal_last_components_are_told_apart(tmp_path: Path) -> None:
    tree(tmp_path, "old/pkg/a.cu", "new/pkg/a.cu", "other/b.cu")
    names = found(tmp_path / "old/pkg", tmp_path / "new/pkg", tmp_path / "other")
    assert names == ["new/pkg/a.cu", "old/pkg/a.cu", "other/b.cu"]


def test_a_file_under_two_paths_is_read_once(tmp_path: Path) -> None:
    tree(tmp_path, "src/a.cu", "src/b.cu")
    assert len(found(tmp_path, tmp_path / "src", tmp_path / "src/a.cu", tmp_path)) == 2


@pytest.mark.parametrize("names", [("p", "p/bad.cu"), ("p/bad.cu", "p")])
def test_a_file_named_beside_its_directory_is_named(tmp_path: Path, names: tuple[str, ...]) -> None:
    tree(tmp_path, "p/a.cu", "p/bad.cu")
    sources = discover([str(tmp_path / name) for name in names], SETTINGS).sources
    assert {Path(source.path).name: source.named for source in sources} == {"a.cu": False, "bad.cu": True}


def test_dot_means_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "src/a.cu")
    monkeypatch.chdir(tmp_path / "src")
    assert found(".") == ["a.cu"]
    assert found("..") == ["src/a.cu"]


def test_missing_path_names_the_nearest(tmp_path: Path) -> None:
    tree(tmp_path, "kernels/a.cu")
    with pytest.raises(UserError) as caught:
        discover([str(tmp_path / "kernel")], SETTINGS)
    assert "no such file" in caught.value.title
    assert "kernels" in caught.value.hint


def test_a_missing_path_does_not_stop_the_rest(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.cu")
    discovery = discover([str(tmp_path / "a"), str(tmp_path / "nowhere")], SETTINGS)
    assert [s.path for s in discovery.sources] == ["a/x.cu"]
    assert [f.named for f in discovery.failed] == [True]


@pytest.mark.parametrize("names", [(), ("notes.md",), (".git/x.cu",), ("__pycache__/x.py",)])
def test_nothing_to_scan_is_an_error(tmp_path: Path, names: tuple[str, ...]) -> None:
    tree(tmp_path, *names)
    with pytest.raises(UserError, match="nothing to scan"):
        discover([str(tmp_path)], SETTINGS)


def test_an_empty_directory_beside_a_good_one_fails_by_name(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.cu")
    (tmp_path / "b").mkdir()
    failed = discover([str(tmp_path / "a"), str(tmp_path / "b")], SETTINGS).failed
    assert [(f.reason, f.named) for f in failed] == [("nothing to scan in this directory", True)]


def test_ignore_files_are_obeyed_and_said(tmp_path: Path) -> None:
    tree(tmp_path, "keep.cu", "build/x.cu", "gen/a.cu", "gen/b.cu", "sub/skip.py", "sub/keep.py")
    (tmp_path / ".gitignore").write_text("build/\n*.gen.cu\ngen/*\n!gen/b.cu\n")
    (tmp_path / "sub/.gitignore").write_text("/skip.py\n")
    assert found(tmp_path) == ["gen/b.cu", "keep.cu", "sub/keep.py"]
    assert reasons(tmp_path)["build/"] == "ignored by .gitignore"


def test_ignore_files_above_count_inside_a_repository(tmp_path: Path) -> None:
    tree(tmp_path, "src/a.cu", "src/out/b.cu")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("out/\n")
    assert found(tmp_path / "src") == ["a.cu"]


@pytest.mark.parametrize("where", ["above", "inside"])
def test_naming_a_path_beats_ignore_files(tmp_path: Path, where: str) -> None:
    tree(tmp_path, ".venv/lib/pkg/a.cu", "b.cu")
    (tmp_path / ".git").mkdir()
    if where == "above":
        (tmp_path / ".gitignore").write_text(".venv\n")
    else:
        (tmp_path / ".venv/.gitignore").write_text("*\n")
    assert found(tmp_path) == ["b.cu"]
    assert found(tmp_path / ".venv") == ["lib/pkg/a.cu"]
    assert found(tmp_path / ".venv/lib") == ["pkg/a.cu"]
    assert found(tmp_path / ".venv/lib/pkg/a.cu") == ["a.cu"]


def test_installed_packages_are_read_whatever_they_ignore(tmp_path: Path) -> None:
    site = tree(tmp_path / "site-packages", "pkg/a.cu", "pkg/gen/b.cu", "pkg-1.0.dist-info/METADATA")
    (site / "pkg/.gitignore").write_text("gen/\n")
    assert found(site) == ["pkg/a.cu", "pkg/gen/b.cu"]
    assert found(site / "pkg") == ["a.cu", "gen/b.cu"]


def test_exclude_beats_even_named_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.cu", "old/b.cu", "old/c.py")
    settings = ScanSettings(exclude=("old/",))
    assert found(tmp_path, settings=settings) == ["a.cu"]
    monkeypatch.chdir(tmp_path)
    assert found("a.cu", "old/b.cu", settings=settings) == ["a.cu"]


def test_hidden_directories_are_left_out_and_said(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu", ".tmp/b.cu", ".c.cu", "._a.cu")
    assert found(tmp_path) == [".c.cu", "a.cu"]
    assert reasons(tmp_path) == {".tmp/": "hidden directory"}
    assert found(tmp_path / ".tmp") == ["b.cu"]


def test_hidden_directories_of_builds_are_read_for_build_files(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu", ".ci/b.cu", ".ci/x/build.sh", ".github/workflows/w.yml", ".github/x.py")
    assert found(tmp_path) == [".ci/x/build.sh", ".github/workflows/w.yml", "a.cu"]
    assert found(tmp_path / ".ci") == ["b.cu", "x/build.sh"]


@posix_only
def test_links_are_followed_once_and_inside_of_the_project(tmp_path: Path) -> None:
    project = tree(tmp_path / "p", "pyproject.toml", "csrc/a.cu", "pkg/m.py", "pkg/data/x.h")
    tree(tmp_path / "outside", "o.cu")
    (project / "pkg/data/csrc").symlink_to("../../csrc")
    (project / "pkg/loop").symlink_to("..")
    (project / "pkg/self").symlink_to(".")
    (project / "pkg/out").symlink_to(tmp_path / "outside")
    (project / "pkg/root").symlink_to("/")
    (project / "pkg/twice.py").symlink_to("m.py")
    (project / "pkg/gone.py").symlink_to("nowhere.py")
    (project / "pkg/away.py").symlink_to(tmp_path / "away.py")
    tree(tmp_path, "away.py")
    assert found(project) == ["csrc/a.cu", "pkg/data/x.h", "pkg/m.py", "pyproject.toml"]
    assert found(project / "pkg") == ["data/csrc/a.cu", "data/x.h", "m.py"]
    why = reasons(project / "pkg")
    real = os.path.realpath(tmp_path)
    assert why["gone.py"] == "broken symbolic link"
    assert why["away.py"] == f"symbolic link to a file outside of what is scanned: {real}/away.py"
    assert why["out/"] == f"symbolic link to a directory outside of the project: {real}/outside"
    assert why["root/"] == "symbolic link to a directory outside of the project: /"
    assert why["loop/"] == f"symbolic link to a directory above it: {real}/p"


@posix_only
def test_a_link_to_a_file_is_followed_into_what_is_walked_only(tmp_path: Path) -> None:
    project = tree(tmp_path / "p", "pyproject.toml", "csrc/a.cu", "csrc/notes", "pkg/m.py", "beside.cu")
    (project / "pkg/data").symlink_to("../csrc")
    (project / "pkg/through.cu").symlink_to("../csrc/notes")  # a folder that another link leads into
    (project / "pkg/up.cu").symlink_to("../beside.cu")
    (project / "pkg/near.cu").symlink_to("m.py")
    (project / "csrc/far.cu").symlink_to("../beside.cu")
    assert found(project / "pkg") == ["data/a.cu", "m.py", "through.cu"]
    outside = f"symbolic link to a file outside of what is scanned: {os.path.realpath(project)}/beside.cu"
    assert reasons(project / "pkg") == {"up.cu": outside, "data/far.cu": outside}
    assert found(project) == ["beside.cu", "csrc/a.cu", "pkg/m.py", "pkg/through.cu", "pyproject.toml"]


@posix_only
def test_a_directory_named_through_a_link_is_its_own_boundary(tmp_path: Path) -> None:
    tree(tmp_path / "real", "a.cu", "deep/notes")
    tree(tmp_path, "real-secret.cu")
    (tmp_path / "real/deep/b.cu").symlink_to("notes")
    (tmp_path / "real/deep/c.cu").symlink_to("../../real-secret.cu")
    (tmp_path / "name").symlink_to("real")
    assert found(tmp_path / "name") == ["a.cu", "deep/b.cu"]
    assert list(reasons(tmp_path / "name")) == ["deep/c.cu"]


@posix_only
def test_a_home_directory_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "private/p.cu", "got/a.cu")
    (tmp_path / ".git").mkdir()
    (tmp_path / "got/link").symlink_to("../private")
    assert found(tmp_path / "got") == ["a.cu", "link/p.cu"]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert found(tmp_path / "got") == ["a.cu"]


@posix_only
def test_special_files_are_left_out_and_never_opened(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu")
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "null.cu").symlink_to("/dev/null")
    (tmp_path / "zero.cu").symlink_to("/dev/zero")
    assert found(tmp_path) == ["a.cu"]
    assert set(reasons(tmp_path).values()) == {"not a regular file"}
    with pytest.raises(UserError, match="not a regular file"):
        discover([str(tmp_path / "pipe.cu")], SETTINGS)
    with pytest.raises(UserError, match="not a regular file"):
        discover(["/dev/zero"], SETTINGS)


@posix_only
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses names that are not UTF-8")
def test_odd_names_are_shown_and_read(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.cu")).write_bytes(b"x")
    (tmp_path / "new\nline.cu").write_bytes(b"x")
    (tmp_path / "naïve.py").write_bytes(b"x")
    discovery = discover([str(tmp_path)], SETTINGS)
    assert [s.path for s in discovery.sources] == ["caf\\xe9.cu", "naïve.py", "new\nline.cu"]
    assert all(isinstance(source, Source) for source in read(discovery.sources))


@posix_only
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_and_directories_fail_with_a_reason(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu", "b.cu", "d/c.cu")
    (tmp_path / "b.cu").chmod(0)
    (tmp_path / "d").chmod(0)
    try:
        discovery = discover([str(tmp_path)], SETTINGS)
        assert [(f.path, f.reason) for f in discovery.failed] == [("d", "permission denied")]
        (outcome,) = (s for s in read(discovery.sources) if isinstance(s, Failed))
        assert (outcome.path, outcome.reason, outcome.named) == ("b.cu", "permission denied", False)
        (named,) = read(discover([str(tmp_path / "b.cu")], SETTINGS).sources)
        assert isinstance(named, Failed)
        assert named.named
    finally:
        (tmp_path / "d").chmod(0o700)


def test_a_file_that_vanishes_fails(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu", "b.cu")
    discovery = discover([str(tmp_path)], SETTINGS)
    (tmp_path / "a.cu").unlink()
    outcomes = list(read(discovery.sources))
    assert outcomes[0] == Failed("a.cu", "vanished while it was scanned")
    assert isinstance(outcomes[1], Source)


@posix_only
def test_a_file_that_becomes_a_pipe_does_not_block(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu")
    discovery = discover([str(tmp_path)], SETTINGS)
    (tmp_path / "a.cu").unlink()
    os.mkfifo(tmp_path / "a.cu")
    (outcome,) = read(discovery.sources)
    assert isinstance(outcome, (Failed, Source))


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"\x7fELF\0\0", "binary file"), ("int x;".encode("utf-16"), "UTF-16 text: convert it to UTF-8")],
)
def test_what_is_no_text_is_left_out(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.cu").write_bytes(data)
    (outcome,) = read(discover([str(tmp_path)], SETTINGS).sources)
    assert outcome == Skipped("a.cu", reason)
    (named,) = read(discover([str(tmp_path / "a.cu")], SETTINGS).sources)
    assert named == Failed("a.cu", reason, named=True)


def test_latin_1_text_is_read_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b"// caf\xe9\n#if 1\n#endif\n")
    (outcome,) = read(discover([str(tmp_path)], SETTINGS).sources)
    assert isinstance(outcome, Source)
    assert outcome.data.startswith(b"// caf\xe9")


def test_a_file_of_another_kind_is_skipped_even_if_named(tmp_path: Path) -> None:
    tree(tmp_path, "a.cu", "b.txt")
    discovery = discover([str(tmp_path / "a.cu"), str(tmp_path / "b.txt")], SETTINGS)
    assert discovery.skipped == (Skipped("b.txt", "not a kind of file archscan reads"),)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    for text, name in ((b"#if __CUDA_ARCH__ >= 900\n#endif\n", "stdin.cu"), (b"import torch\nx = {}\n", "stdin.py")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        (source,) = read(discover(["-"], SETTINGS).sources)
        assert isinstance(source, Source)
        assert (source.path, source.data) == (name, text)


def test_fingerprint_paths_agree_wherever_the_scan_starts(tmp_path: Path) -> None:
    project = tree(tmp_path / "repo", "src/k/a.cu")
    (project / ".git").mkdir()
    starts = [project, project / "src", project / "src/k", project / "src/k/a.cu"]
    below = {source.below for start in starts for source in discover([str(start)], SETTINGS).sources}
    assert below == {"src/k/a.cu"}


@pytest.mark.parametrize("site", ["site-packages", "unpacked"])
def test_installed_packages_hash_below_their_directory(tmp_path: Path, site: str) -> None:
    tree(tmp_path / site, "pkg/data/a.cuh", "pkg-1.0.dist-info/METADATA")
    starts = [tmp_path / site, tmp_path / site / "pkg", tmp_path / site / "pkg/data"]
    below = {source.below for start in starts for source in discover([str(start)], SETTINGS).sources}
    assert below == {"pkg/data/a.cuh"}


CUTLASS = {"name": "CUTLASS", "directories": ["*cutlass*"], "holds": ["include/cutlass/cutlass.h"]}
PACKAGES = {"vendored_trees": [CUTLASS]}


def origins(base: Path) -> dict[str, Origin]:
    discovery = discover([str(base)], SETTINGS, vendored_trees(PACKAGES))
    return {s.path: s.origin for s in read(discovery.sources) if isinstance(s, Source)}


def test_origin_by_evidence(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "data/cutlass/include/cutlass/cutlass.h",
        "data/cutlass/test/unit.cu",
        "own/cutlass/gemm.cu",
        "own/cutlass_extensions/a.h",
        "own/3rdparty/x.cu",
        "tests/test_a.py",
        "own/test_b.py",
        "own/testing.py",
        "csrc/generated/k.cu",
        "csrc/k_7b6737dd8c0f.cu",
        "csrc/k_sm90.cu",
        "csrc/deadbeef.cu",
    )
    assert origins(tmp_path) == {
        "data/cutlass/include/cutlass/cutlass.h": Origin.VENDORED,
        "data/cutlass/test/unit.cu": Origin.VENDORED,
        "own/cutlass/gemm.cu": Origin.OWN,
        "own/cutlass_extensions/a.h": Origin.OWN,
        "own/3rdparty/x.cu": Origin.VENDORED,
        "tests/test_a.py": Origin.TEST,
        "own/test_b.py": Origin.TEST,
        "own/testing.py": Origin.OWN,
        "csrc/generated/k.cu": Origin.GENERATED,
        "csrc/k_7b6737dd8c0f.cu": Origin.GENERATED,
        "csrc/k_sm90.cu": Origin.OWN,
        "csrc/deadbeef.cu": Origin.OWN,
    }


def test_a_vendored_tree_that_is_named_is_own(tmp_path: Path) -> None:
    tree(tmp_path, "cutlass/include/cutlass/cutlass.h", "cutlass/tests/a.cu")
    assert set(origins(tmp_path).values()) == {Origin.VENDORED}
    assert origins(tmp_path / "cutlass")["include/cutlass/cutlass.h"] is Origin.OWN


@pytest.mark.parametrize(
    ("text", "generated"),
    [
        ("// Generated by the exporter; do not edit.\nint x;\n", True),
        ("/*\n * Copyright\n */\n\n// This file was automatically generated. Do not edit.\n", True),
        ("#pragma once\n// clang-format off\n// @generated\n", True),
        ('"""Generated by a backend.  Do not edit."""\nimport x\n', True),
        ("# Auto Generated code - Do not edit.\n", True),
        ("// Frozen kernel export; do not edit by hand.\n", True),
        ("// !!! DO NOT EDIT THIS FILE !!! This file is generated by tools/gen.py.\n", True),
        ("// Keep in sync with the signature generated by generate_kernels.py\nint x;\n", False),
        ('"""Helpers.\n\nThis module provides functions that are generated by the preprocessor.\n"""\n', False),
        ("# Use the auto-generated enum AddressSpace\n", False),
        ("int x;\n// Generated by the exporter; do not edit.\n", False),
        ('code = "/* Auto Generated code - Do not edit.*/"\n', False),
        ("// kernels generated at run time: see jit.py\n", False),
        ("", False),
    ],
)
def test_generated_by_its_first_comment(tmp_path: Path, text: str, generated: bool) -> None:
    (tmp_path / "a.cu").write_text(text)
    assert origins(tmp_path) == {"a.cu": Origin.GENERATED if generated else Origin.OWN}


def test_a_public_tree_copied_into_one_file(tmp_path: Path) -> None:
    tree(tmp_path, "csrc/nvrtc_cutlass.cuh", "csrc/gemm.cuh")
    rows = [{"name": "CUTLASS for NVRTC", "files": ["nvrtc_cutlass.cuh"], "source": "somewhere"}]
    sources = discover([str(tmp_path)], SETTINGS, vendored_trees({"vendored_trees": rows})).sources
    assert [(s.path, s.origin) for s in sources] == [
        ("csrc/gemm.cuh", Origin.OWN),
        ("csrc/nvrtc_cutlass.cuh", Origin.VENDORED),
    ]
