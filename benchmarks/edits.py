"""Times what an edit costs beside a cold scan: benchmarks/edits.py PACKAGE [--runs N] [--write].

PACKAGE is an unpacked package; it is copied, the copy is edited: a comment in the middle of a file, so that all behind
it moves. Prints CPU seconds of whole processes at `-j1`, the median of N runs: cold, nothing changed, a module and a
header edited, and what is asked again of files that stayed as they were. --write puts them into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOALS = {  # CPU seconds, flashinfer 0.6.2
    "a leaf module edited": 0.5,
    "a widely included header edited": 1.2,
    "a second target": 0.35,
    "another format (Markdown)": 0.4,
    "one file, as a hook asks": 0.2,
    "--focus after an edit": 0.4,
}
HEADING = "## After an edit"
_SETTLED = 2.2  # seconds after which a file's stamp says whether it changed
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)


class Bench:
    """A copy of a package, a cache of its own, and the commands that are timed on them."""

    def __init__(self, package: Path, work: Path, leaf: str, header: str) -> None:
        self.tree = work / package.name
        shutil.copytree(package, self.tree)
        self.leaf = self.tree / (leaf or _leaf(self.tree))
        self.header = self.tree / (header or _header(self.tree))
        self._cache = work / "cache"
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            **{"XDG_CACHE_HOME": str(self._cache), "XDG_STATE_HOME": str(work / "state"), "PYTHONPATH": str(ROOT)},
            **{"PYTHONPYCACHEPREFIX": str(work / "bytecode")},
        }

    def forget(self) -> None:
        """Empties the cache."""
        shutil.rmtree(self._cache, ignore_errors=True)

    def scan(self, *options: str, where: Path | None = None, target: str = "sm120") -> float:
        """The CPU seconds of a scan."""
        command = [sys.executable, "-m", "archscan", "--target", target, "-j1", "--isolated", *options]
        before = os.times()
        command.append(str(where or "."))
        done = subprocess.run(command, check=False, capture_output=True, cwd=self.tree, env=self._environment)
        after = os.times()
        if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
            raise RuntimeError(f"{command} failed: {done.stderr.decode(errors='replace')[-500:]}")
        return after.children_user + after.children_system - before.children_user - before.children_system

    def settle(self) -> None:
        """Scans until the cache knows every file by its stamp."""
        time.sleep(_SETTLED)
        self.scan()
        self.scan()

    def edit(self, file: Path) -> None:
        """Puts a comment with a word that was never there into the middle of a file."""
        lines = file.read_text().splitlines(keepends=True)
        mark = "#" if file.suffix == ".py" else "//"
        lines.insert(len(lines) // 2, f"{mark} edited at {time.time_ns()}\n")
        file.write_text("".join(lines))


def _leaf(tree: Path) -> str:
    """The largest module whose name no other module has in it."""
    modules = [path for path in tree.rglob("*.py") if path.name != "__init__.py"]
    named = Counter(word for path in modules for word in set(re.findall(rb"\w+", path.read_bytes())))
    own = {path: path.stem.encode() in path.read_bytes() for path in modules}
    leaves = [path for path in modules if named[path.stem.encode()] <= own[path]]
    return max(leaves or modules, key=lambda path: (path.stat().st_size, path)).relative_to(tree).as_posix()


def _header(tree: Path) -> str:
    """The header whose name is included most often."""
    headers = {path.name: path for path in sorted(tree.rglob("*")) if path.suffix in (".h", ".cuh", ".hpp")}
    files = [path for path in tree.rglob("*") if path.suffix in (".cu", ".cuh", ".h", ".hpp", ".inl")]
    named = Counter(name.rsplit(b"/")[-1].decode() for f in files for name in set(_INCLUDE.findall(f.read_bytes())))
    most = max((name for name in named if name in headers), key=lambda name: (named[name], name))
    return headers[most].relative_to(tree).as_posix()


def cases(bench: Bench) -> dict[str, tuple[Callable[[], object], Callable[[], float]]]:
    """What is timed: what comes before, and the command."""
    edited = bench.leaf.relative_to(bench.tree).as_posix()
    return {
        "cold": (bench.forget, bench.scan),
        "nothing changed": (bench.settle, bench.scan),
        "a leaf module edited": (lambda: (bench.settle(), bench.edit(bench.leaf)), bench.scan),
        "a widely included header edited": (lambda: (bench.settle(), bench.edit(bench.header)), bench.scan),
        "a second target": (lambda: (bench.forget(), bench.settle()), lambda: bench.scan(target="sm90")),
        "another format (Markdown)": (
            lambda: (bench.forget(), bench.settle()),
            lambda: bench.scan("--format", "markdown"),
        ),
        "JSON, which has proven fixes": (lambda: (), lambda: bench.scan("--format", "json")),
        "one file, as a hook asks": (lambda: (), lambda: bench.scan(where=bench.leaf)),
        "--focus after an edit": (
            lambda: (bench.settle(), bench.edit(bench.leaf)),
            lambda: bench.scan("--focus", edited),
        ),
    }


def table(bench: Bench, runs: int) -> list[str]:
    """The timings as Markdown."""
    lines = ["| what | CPU s | of cold | goal |", "|---|---:|---:|---:|"]
    bench.scan()  # bytecode is written, files are in the page cache
    cold = 0.0
    for name, (before, timed) in cases(bench).items():
        found = []
        for _ in range(runs):
            before()
            found.append(timed())
        median = statistics.median(found)
        cold = cold or median
        goal = f"{GOALS[name]:g}" if name in GOALS else ""
        lines.append(f"| {name} | {median:.2f} | {median / cold:.0%} | {goal} |")
        print(lines[-1], file=sys.stderr)
    return lines


def section(package: Path, runs: int, leaf: str = "", header: str = "") -> list[str]:
    """The part of docs/benchmarks.md about edits."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(package, Path(name), leaf, header)
        edited = [path.relative_to(bench.tree).as_posix() for path in (bench.leaf, bench.header)]
        rows = table(bench, runs)
    said = f"{package.name}, `-j1`, load average at the start {load:.1f}; edited are `{edited[0]}` and `{edited[1]}`."
    return [HEADING, "", said, "What counts is the share of a cold scan: CPU seconds grow with the load.", "", *rows]


def written(document: str, lines: Sequence[str]) -> str:
    """A document with this section, whose heading comes first, in place of the old one, else at its end."""
    before, _, after = document.partition(f"\n{lines[0]}\n")
    rest = after[after.index("\n## ") + 1 :] if "\n## " in after else ""
    return "\n".join([before.rstrip(), "", *lines, *(["", rest] if rest else [""])])


def main(arguments: Sequence[str]) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--leaf", default="", help="the module to edit, below PACKAGE")
    parser.add_argument("--header", default="", help="the header to edit, below PACKAGE")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    lines = section(options.package, options.runs, options.leaf, options.header)
    print("\n".join(lines))
    if options.write:
        page = ROOT / "docs/benchmarks.md"
        page.write_text(written(page.read_text(), lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
