"""On real packages: what a fix run has written, a second one leaves as it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from archscan import cli

CORPORA = os.environ.get("ARCHSCAN_CORPORA", "")
pytestmark = [
    pytest.mark.corpora,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPORA, reason="ARCHSCAN_CORPORA names no directory with the real packages"),
]


SLOW = pytest.mark.skipif(not os.environ.get("ARCHSCAN_SLOW"), reason="takes minutes: set ARCHSCAN_SLOW")


WHOLE = ["."]
CHAIN = [
    "aot.py",
    *(f"jit/{name}.py" for name in ("__init__", "core", "comm", "env", "utils")),
    "data/include/flashinfer/comm",
]


@pytest.mark.parametrize("parts", [pytest.param(WHOLE, marks=SLOW, id="whole"), pytest.param(CHAIN, id="chain")])
def test_a_second_run_proposes_nothing(
    parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """FlashInfer's `if has_sm100:` guards three modules; a run opened one of them, the next one the others."""
    package = Path(CORPORA) / "flashinfer-0.6.2" / "flashinfer"
    if not package.is_dir():
        pytest.skip(f"{package} is not there")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for part in parts:
        here, there = package / part, tmp_path / "tree" / "flashinfer" / part
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_dir():
            shutil.copytree(here, there, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copyfile(here, there)
    cli.run(["fix", "--target", "sm120", "--isolated", "--unsafe", "--write", str(tmp_path / "tree")])
    assert b"wrote " in capsysbinary.readouterr().err
    cli.run(["fix", "--target", "sm120", "--isolated", "--unsafe", str(tmp_path / "tree")])
    said = capsysbinary.readouterr()
    assert said.out == b""
    assert not [line for line in said.err.splitlines() if line.startswith(b"unsafe: ")]
