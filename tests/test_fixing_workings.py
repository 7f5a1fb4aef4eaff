"""Fixes are proven by what the scan has read and linked, and come out as if it had left nothing."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from archscan import cli, engine, workers
from archscan.fixing import commands
from archscan.frontends.cuda.front_end import CudaFrontEnd
from archscan.frontends.python import PythonFrontEnd

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "flashinfer"
ASKED = {
    "json": ("--format", "json", "--all-gates"),
    "sarif": ("--format", "sarif"),
    "fix": ("fix", "--unsafe", "--format", "json"),
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(engine, "_ALONE", 0)
    monkeypatch.setattr(workers, "_threads", lambda: 1)  # those of whoever runs the tests do no harm to a fork
    return Path(shutil.copytree(EXAMPLE, tmp_path / "tree"))


def written(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> bytes:
    assert cli.run([*arguments, "--target", "sm120", "--isolated"]) == 1
    out, err = capfdbinary.readouterr()
    assert b"Traceback" not in err
    return bytes(out)


def without_workings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs read everything again, as they did before."""
    real = commands.workbench

    def alone(*arguments: Any) -> Any:
        return real(*arguments[:3])

    monkeypatch.setattr(commands, "workbench", alone)


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ("json", ("-j1", "--no-cache")),
        ("json", ("-j2", "--no-cache")),
        ("json", ("-j1",)),
        ("sarif", ("-j2", "--no-cache")),
        ("fix", ("-j2", "--no-cache")),
    ],
)
def test_the_same_bytes_with_and_without(
    asked: str,
    options: Sequence[str],
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    arguments = [*ASKED[asked], *options, str(tree)]
    found = written(capfdbinary, *arguments)
    assert b'"edits"' in found or b'"replacements"' in found
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    without_workings(monkeypatch)
    assert written(capfdbinary, *arguments) == found


@pytest.mark.parametrize(("shares", "most"), [(True, 1), (False, 2)])
@pytest.mark.parametrize("asked", ASKED)
def test_each_file_is_indexed_once(
    asked: str,
    shares: bool,
    most: int,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    data = {path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    times: Counter[tuple[str, str]] = Counter()
    for end in (CudaFrontEnd, PythonFrontEnd):

        def index(self: Any, source: Any, context: Any, real: Any = end.index) -> Any:
            times[self.name, source.path] += source.data in data  # what proofs put in its place is another file
            return real(self, source, context)

        monkeypatch.setattr(end, "index", index)
    if not shares:
        without_workings(monkeypatch)
    written(capfdbinary, *ASKED[asked], "-j1", "--no-cache", str(tree))
    assert {end for end, _ in times} == {"cuda", "python"}
    assert set(times.values()) == {most}
