"""Links in a terminal: where it is known to open them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan import cli
from archscan.reporting.hyperlinks import address, is_known_to

SHUT = (
    '#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n__global__ void k() { asm("griddepcontrol.wait;"); }\n#endif\n'
)


@pytest.mark.parametrize(
    ("environment", "is_known"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "foot-extra"}, True),
        ({"VTE_VERSION": "4999"}, False),
        ({"VTE_VERSION": "5000"}, True),
        ({"TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.71.2"}, False),
        ({"TERM_PROGRAM": "vscode", "TERM_PROGRAM_VERSION": "1.72.0"}, True),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.0.15"}, False),
        ({"TERM_PROGRAM": "iTerm.app", "TERM_PROGRAM_VERSION": "3.1.0"}, True),
        ({"TERM_PROGRAM": "WezTerm", "TERM_PROGRAM_VERSION": "20240203-110809-5046fc22"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"WT_SESSION": "1"}, True),
        ({"WT_SESSION": "1", "CI": "true"}, False),
        ({"TERM": "screen-256color", "VTE_VERSION": "7000"}, False),
        ({"FORCE_HYPERLINK": "1", "CI": "true"}, True),
        ({"FORCE_HYPERLINK": "0", "TERM": "xterm-kitty"}, False),
    ],
)
def test_links_are_for_terminals_that_open_them(environment: dict[str, str], is_known: bool) -> None:
    assert is_known_to(environment) is is_known


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    cli.run(["--target", "sm120", "--isolated", *arguments])
    return capsys.readouterr().out


def test_a_place_is_a_link_to_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a b%.cu"
    file.write_text(SHUT)
    plain = run(capsys, str(tmp_path))
    assert "\x1b" not in plain, "nobody reads at a terminal"
    links = run(capsys, "--hyperlinks", "always", str(tmp_path))
    target = address(str(file))
    assert target.startswith("file://") and target.endswith("/a%20b%25.cu")
    assert f"\x1b]8;;{target}\x1b\\{file}:1:1\x1b]8;;\x1b\\" in links
    assert links.replace(f"\x1b]8;;{target}\x1b\\", "").replace("\x1b]8;;\x1b\\", "") == plain
    assert run(capsys, "--hyperlinks", "never", str(tmp_path)) == plain


@pytest.mark.parametrize(("no_color", "expected"), [("", True), ("1", False)])
def test_no_color_means_no_links(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    no_color: str,
    expected: bool,
) -> None:
    (tmp_path / "a.cu").write_text(SHUT)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert ("\x1b]8;;file" in run(capsys, str(tmp_path))) is expected
