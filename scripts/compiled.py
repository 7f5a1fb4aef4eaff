"""Compares what a compiled archscan says with what this checkout's says, byte for byte, over one and two processes.

    python scripts/compiled.py --python VENV/bin/python PATH...   # that Python has a compiled wheel installed
    python scripts/compiled.py --compiled PATH...                 # this Python has: the checkout is run by its sources

Prints one line a path and number of processes, with the ratio of the CPU times (compiled / pure), and whether a scan
that reads what another one has cached says the same. Exit 1 = they differ, or the other one is not compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_WHERE = "import archscan.model.condition as m; print(m.__file__)"


def main() -> int:
    """Runs both; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--python", metavar="PATH", help="a Python with a compiled archscan")
    which.add_argument("--compiled", action="store_true", help="this Python has one")
    parser.add_argument("paths", nargs="+", metavar="PATH")
    given = parser.parse_args()
    native = sys.executable if given.compiled else given.python
    where = subprocess.run(
        [native, "-c", _WHERE], cwd=tempfile.gettempdir(), capture_output=True, text=True, check=True
    )
    if where.stdout.strip().endswith(".py"):
        print(f"not compiled: {where.stdout.strip()}", file=sys.stderr)
        return 1
    return max(_compared(native, str(Path(path).resolve()), jobs) for path in given.paths for jobs in (1, 2))


def _compared(native: str, path: str, jobs: int) -> int:
    pure, slow = _run(sys.executable, path, jobs, {"PYTHONPATH": str(ROOT)})
    compiled, fast = _run(native, path, jobs, {})
    with tempfile.TemporaryDirectory() as cache:
        _run(native, path, jobs, {"XDG_CACHE_HOME": cache}, "sm90")  # another target's report of the same facts
        again, _ = _run(native, path, jobs, {"XDG_CACHE_HOME": cache})
    same, told = pure == compiled and pure != b"", again == pure
    print(
        f"{Path(path).name} -j {jobs}: {'equal' if same else 'DIFFERENT'}, {len(pure):,} bytes, CPU {fast / slow:.2f};"
        f" from a cache {'equal' if told else 'DIFFERENT'}"
    )
    return 0 if same and told else 1


def _run(python: str, path: str, jobs: int, more: dict[str, str], target: str = "sm120") -> tuple[bytes, float]:
    """What it writes, and the CPU seconds that it takes; without a cache unless `more` says where one is."""
    command = [python, "-m", "archscan", "--target", target, "--isolated", f"-j{jobs}", "--all-gates"]
    command += [] if "XDG_CACHE_HOME" in more else ["--no-cache"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | more
    before = os.times()
    done = subprocess.run(
        [*command, "--format", "json", path],
        cwd=tempfile.gettempdir(), env=environment, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    after = os.times()
    if done.returncode not in (0, 1):
        return b"", 0.0
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, spent


if __name__ == "__main__":
    sys.exit(main())
