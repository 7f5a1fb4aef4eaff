"""The report has the same bytes under every Python that is installed with archscan's dependencies.

ARCHSCAN_PYTHONS names interpreters, separated as in PATH; without it, `python3.10` ... on the PATH are tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
NEEDED = "import click, pcpp, sarif_om, tree_sitter, tree_sitter_cuda, tree_sitter_python, yaml, sys; print(sys.version_info[:2])"  # noqa: E501


def others() -> dict[str, str]:
    """Interpreters of other versions that can run archscan, by version."""
    named = os.environ.get("ARCHSCAN_PYTHONS", "").split(os.pathsep)
    found = {}
    for path in filter(None, [*named, *(shutil.which(f"python{version}") for version in VERSIONS)]):
        done = subprocess.run([path, "-c", NEEDED], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        if done.returncode == 0 and version != str(sys.version_info[:2]):
            found.setdefault(version, path)
    return found


def report(python: str, format_: str, place: Path) -> bytes:
    command = [python, "-m", "archscan", "-t", "sm120", "--isolated", "--no-cache", "-f", format_, "--limit", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(place)}
    more = ["--all-gates"] if format_ == "json" else []
    done = subprocess.run(
        [*command, *more, str(ROOT / "tests/fixtures")], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 1, done.stderr.decode()[-2000:]
    return done.stdout


@pytest.mark.parametrize("format_", ["json", "text", "sarif"])
def test_every_python_writes_the_same_bytes(format_: str, tmp_path: Path) -> None:
    found = others()
    if not found:
        pytest.skip("no other Python with archscan's dependencies: set ARCHSCAN_PYTHONS")
    mine = report(sys.executable, format_, tmp_path)
    for version, path in found.items():
        assert report(path, format_, tmp_path) == mine, version
