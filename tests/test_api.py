"""The Python interface: right values, errors of the user, documentation that runs, and no cost at start."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import archscan
from archscan import api

ROOT = Path(__file__).resolve().parents[1]
GATE = "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < {}\n__global__ void k(float* o) {{ o[0] = 1.f; }}\n#endif\n"


def test_a_scan_answers_for_one_target(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(GATE.format(1200))
    (finding,) = api.scan(tmp_path, target="sm120", cache=False).findings
    assert (finding.path, finding.place.line, finding.rule) == ("a.cu", 1, "upper-bound-gate")
    assert dict(finding.verdict) == {"sm_120": "no", "sm_120a": "no", "sm_120f": "no"}
    (tmp_path / "a.cu").write_text(GATE.format(1201))  # the other side of the bound
    assert api.scan(tmp_path, target="sm120", cache=False).findings == ()
    assert [f.place.line for f in api.scan([tmp_path], target="12.1", cache=False).findings] == [1]


def test_settings_change_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(
        "#if defined(WITH) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\nint x;\n#endif\n"
    )
    scan = api.scan(tmp_path, target="sm120", cache=False, undefine=["WITH"])
    assert scan.findings == ()
    assert len(api.scan(tmp_path, target="sm120", cache=False, define=["WITH"]).findings) == 1
    with pytest.raises(api.UserError):
        api.scan(tmp_path, target="sm120", cache=False, define=["WITH"], exclude=["*.cu"])


def test_no_config_file_is_read_unless_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.cu").write_text(GATE.format(1200))
    (tmp_path / "archscan.toml").write_text('rule = ["foreign-image"]\n')
    monkeypatch.chdir(tmp_path)
    assert len(api.scan(".", target="sm120", cache=False).findings) == 1
    assert api.scan(".", target="sm120", cache=False, config="archscan.toml").findings == ()


@pytest.mark.parametrize("changes", [{"target": "sm1234"}, {"cuda": "99"}, {"paths": "nowhere"}])
def test_what_the_user_did_wrong_has_a_title_and_a_hint(changes: dict[str, str]) -> None:
    with pytest.raises(api.UserError) as raised:
        api.scan(**{"paths": str(ROOT / "examples"), "target": "sm120", "cache": False, **changes})
    assert raised.value.title


def test_builds_name_their_images(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(x LANGUAGES CUDA)\n"
        "set(CMAKE_CUDA_ARCHITECTURES 90a-real 100-virtual)\nadd_library(x a.cu)\n"
    )
    (tmp_path / "a.cu").write_text("int x;\n")
    found = api.builds(tmp_path)
    assert {image for build in found for image in build.images} == {"sm_90a", "compute_100"}
    gets = found[0].gets
    assert (gets["sm_90"], gets["sm_120"], gets["sm_80"]) == ("native", "jit", "none")


def test_images_need_a_library(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("int x;\n")
    assert api.images(tmp_path) == ()


def test_the_examples_of_the_documentation_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "api.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/api.md", "exec"), names)
    assert "document" in names


def test_names_are_lazy_and_stable() -> None:
    code = "import sys, archscan; before = 'archscan.pipeline' in sys.modules or 'click' in sys.modules; archscan.scan"
    code += "; print(before, 'archscan.api' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"
    assert all(hasattr(api, name) for name in api.__all__)
    assert archscan.scan is api.scan
    with pytest.raises(AttributeError):
        archscan.nothing  # noqa: B018
