"""--watch: a run for each change, none without, and what is broken for a moment ends nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from archscan import cli, watch

OPEN = '#if __CUDA_ARCH__ >= 900\n__global__ void k() { asm("griddepcontrol.wait;"); }\n#endif\n'
SHUT = OPEN.replace(">= 900", ">= 900 && __CUDA_ARCH__ < 1200")


@pytest.fixture
def play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs --watch with something done at each pause, and interrupts it after the last."""

    def run(*steps: Callable[[], object], arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        left = list(steps)

        def pause(seconds: float) -> None:
            assert seconds >= 0.5
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(watch, "pause", pause)
        code = cli.run(["--target", "sm120", "--watch", *arguments, str(tmp_path)])
        out, err = capsys.readouterr()
        return code, out, err

    (tmp_path / "a.cu").write_text(OPEN)
    monkeypatch.chdir(tmp_path)
    return run


def test_every_change_is_a_run_and_nothing_else(tmp_path: Path, play: Callable[..., tuple[int, str, str]]) -> None:
    file = tmp_path / "a.cu"
    code, out, err = play(
        lambda: None, lambda: file.write_text(SHUT), lambda: None, lambda: (tmp_path / "b.cu").write_text(SHUT)
    )
    assert err.count("watching for changes") == 3
    assert out.count("nothing to report") == 1
    assert [out.count(f"{number} finding") for number in (1, 2)] == [1, 1]
    assert code == 1


def test_the_last_run_decides(tmp_path: Path, play: Callable[..., tuple[int, str, str]]) -> None:
    (tmp_path / "a.cu").write_text(SHUT)
    code, out, _ = play(lambda: (tmp_path / "a.cu").write_text(OPEN))
    assert code == 0 and out.count("nothing to report") == 1


def test_a_config_that_is_broken_for_a_moment_is_said(
    tmp_path: Path, play: Callable[..., tuple[int, str, str]]
) -> None:
    config = tmp_path / "archscan.toml"
    config.write_text('fail-on = "never"\n')
    code, _, err = play(lambda: config.write_text("fail-on ="), lambda: config.write_text('fail-on = "low"\n'))
    assert err.count("watching for changes") == 3
    assert "is not valid TOML" in err and code == 0


def test_files_that_go_and_come_back(tmp_path: Path, play: Callable[..., tuple[int, str, str]]) -> None:
    file = tmp_path / "a.cu"
    code, out, err = play(file.unlink, lambda: file.write_text(OPEN))
    assert "nothing to scan" in err and out.count("nothing to report") == 2 and code == 0


@pytest.mark.parametrize("arguments", [("--show-files",), ("--add-ignores", "x"), ("--write-baseline", "b.json")])
def test_what_is_done_once_is_not_watched(
    play: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...]
) -> None:
    code, _, err = play(arguments=arguments)
    assert code == 2 and f"--watch does not go with {arguments[0]}" in err
