"""Times the commands of docs/tutorial.md as a new user runs them, and writes the table into it.

Usage: python scripts/tutorial_times.py [PATH]      with PATH (a whole FlashInfer) the commands on examples/flashinfer
                                                   are timed on it too

Each command is a process of its own: once with an empty cache, then again. The start of Python is included.
"""

from __future__ import annotations

import datetime
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
_TABLE = re.compile(r"<!-- times -->.*?<!-- /times -->", re.DOTALL)
_STEP = re.compile(r"^## (?P<task>\d+\. [^\n]+)|^<!-- output: (?P<command>[^\n|]+?)(?: \|[^\n]*)? -->", re.MULTILINE)
_EXAMPLE = "examples/flashinfer"


def steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """The task and the words of each command."""
    task = ""
    for match in _STEP.finditer(text):
        if match["task"]:
            task = match["task"]
        else:
            yield task, shlex.split(match["command"])[1:]


def seconds(words: list[str], cache: Path) -> str:
    """How long a command takes in a fresh process: on the wall, and of the processors' time."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "archscan", *words], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"archscan {shlex.join(words)}: {done.stderr.decode()}")
    took, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return f"{took:.1f} / {used:.1f}"


def rows(whole: str) -> Iterator[str]:
    """A line of the table for each command."""
    for task, words in steps(PAGE.read_text(encoding="utf-8")):
        cells = [task, f"`{shlex.join(['archscan', *words])[:70]}`".replace("|", "\\|")]
        for path in filter(None, (_EXAMPLE, whole)):
            asked = [path if word == _EXAMPLE else word for word in words]
            if path == whole and _EXAMPLE not in words:
                cells += ["", ""]
                continue
            with tempfile.TemporaryDirectory() as cache:
                cells += [seconds(asked, Path(cache)) for _ in range(2)]
        line = f"| {' | '.join(cells)} |"
        print(line, flush=True)
        yield line


def main() -> None:
    """Writes the table."""
    whole = sys.argv[1] if len(sys.argv) > 1 else ""
    name = f" | {Path(whole).name}: first | again" if whole else ""
    head = f"| task | command | here: first | again{name} |"
    made = [head, f"|{' --- |' * (head.count('|') - 1)}", *rows(str(Path(whole).resolve()) if whole else "")]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    day = datetime.date.today().isoformat()
    text = (
        f"Seconds on the wall / of the processors, {os.cpu_count()} cores, {day}, load {load:.0f} at the end:\n\n"
        + "\n".join(made)
    )
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: f"<!-- times -->\n{text}\n<!-- /times -->", page), encoding="utf-8")


if __name__ == "__main__":
    main()
