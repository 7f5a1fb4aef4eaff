"""Settings: nearest file, known keys, types, precedence and origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.config import merged, nearest
from archscan.errors import UserError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pkg" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def test_the_command_line_wins_over_the_file_over_the_default(project: Path) -> None:
    write(project / "pyproject.toml", '[tool.archscan]\ntarget = "sm_90"\nfail-on = "high"\nlayer = ["jit"]\n')
    settings = merged({"target": "sm_120", "layer": ()}, ("pkg",))
    assert (settings["target"], settings.origin("target")) == ("sm_120", "command line")
    assert (settings["fail-on"], settings.origin("fail-on")) == ("high", "pyproject.toml")
    assert settings["layer"] == ("jit",)
    assert (settings["cuda"], settings.origin("cuda")) == ("13.0", "default")
    assert settings.judge().layers == {"jit"}


def test_the_nearest_file_counts(project: Path) -> None:
    write(project / "pyproject.toml", '[tool.archscan]\ntarget = "sm_90"\n')
    assert nearest(("pkg/deep",)) == Path("pyproject.toml")
    write(project / "pkg" / "pyproject.toml", '[tool.other]\nx = "archscan"\n')
    assert nearest(("pkg/deep",)) == Path("pyproject.toml")
    write(project / "pkg" / "archscan.toml", 'target = "sm_89"\n')
    assert merged({}, ("pkg/deep",))["target"] == "sm_89"
    assert merged({}, ("pkg/deep",), isolated=True)["target"] is None
    assert merged({}, ("pkg/deep",), file="pyproject.toml")["target"] == "sm_90"


def test_the_current_project_counts_for_paths_outside_it(project: Path, tmp_path_factory) -> None:
    write(project / "pyproject.toml", '[tool.archscan]\ntarget = "sm_90"\n')
    elsewhere = tmp_path_factory.mktemp("site-packages")
    assert merged({}, (str(elsewhere),))["target"] == "sm_90"


def test_paths_are_relative_to_the_file(project: Path) -> None:
    write(project / "pkg" / "archscan.toml", 'rules = ["mine"]\nbaseline = "known.json"\nexclude = ["gen/"]\n')
    settings = merged({}, ("pkg/deep",))
    assert settings["rules"] == (str(Path("pkg/mine")),)
    assert settings["baseline"] == str(Path("pkg/known.json"))
    assert settings["exclude"] == ("gen/",)


def test_definitions(project: Path) -> None:
    scan = merged({"define": ("A", "B=2", "C="), "undefine": ("D",)}, (".",)).scan()
    assert scan.defines == (("A", "1"), ("B", "2"), ("C", ""))
    assert scan.undefines == ("D",)


@pytest.mark.parametrize(
    ("text", "title", "hint"),
    [
        ("fail_on = 'high'", "unknown setting 'fail_on'", "did you mean 'fail-on'?"),
        ("zzz = 1", "unknown setting 'zzz'", "`archscan config` lists them"),
        ("target = 120", "'target' must be text", "GPU"),
        ("jobs = true", "'jobs' must be a number", ""),
        ("include-leave = 'yes'", "'include-leave' must be true or false", ""),
        ("layer = [1]", "'layer' must be a list of text", ""),
        ("problem = ['exclude']", "'problem' cannot be 'exclude'", "did you mean 'excluded'?"),
        ("min-risk = 'never'", "'min-risk' cannot be 'never'", "one of: blocked"),
        ("target = ", "not valid TOML", "--isolated"),
    ],
)
def test_a_wrong_file_is_an_error_with_a_hint(project: Path, text: str, title: str, hint: str) -> None:
    write(project / "pyproject.toml", f"[tool.archscan]\n{text}\n")
    with pytest.raises(UserError) as caught:
        merged({}, (".",))
    assert "pyproject.toml" in caught.value.title and title in caught.value.title
    assert hint in caught.value.hint


def test_a_broken_file_of_others_is_not_our_business(project: Path) -> None:
    write(project / "pkg" / "pyproject.toml", "[project\nname = archscan-user")
    write(project / "archscan.toml", 'target = "sm_90"\n')
    assert merged({}, ("pkg",))["target"] == "sm_90"


def test_a_table_that_is_none(project: Path) -> None:
    write(project / "pyproject.toml", "[tool]\narchscan = 1\n")
    with pytest.raises(UserError, match="not a table"):
        merged({}, (".",))
