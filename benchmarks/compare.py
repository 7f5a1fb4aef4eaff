"""Times archscan beside other tools for the same question: benchmarks/compare.py CORPORA [--write].

CORPORA holds unpacked packages, as scripts/corpora.py fetches. Prints medians over whole processes, the ratio to
archscan, a scaling curve, and the time to start; --write puts them into docs/benchmarks.md, and leaves alone what is
written there by hand. Tools that are missing
are left out (`pip install semgrep ast-grep-cli` and ripgrep and unifdef of the distribution make it complete).
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import edits  # beside this file

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("flashinfer-0.6.2", "flashinfer-0.7.2")
PATTERN = r"__CUDA_ARCH__|supported_major_versions|get_device_capability"
GOALS = {  # seconds, whole process, on two cores
    ("archscan, cold", "flashinfer-0.6.2"): 1.8,
    ("archscan, warm", "flashinfer-0.6.2"): 0.15,
    ("archscan, cold", "flashinfer-0.7.2"): 10.0,
    ("archscan, warm", "flashinfer-0.7.2"): 0.3,
}
PARTS = ("start", "edits", "tools", "curve", "typed")  # sections of docs/benchmarks.md, the longest last
SEMGREP_RULES = """rules:
  - {id: majors, languages: [python], severity: INFO, message: m,
     pattern: "$F(..., supported_major_versions=[...], ...)"}
  - {id: arch, languages: [generic], severity: INFO, message: m, pattern: "__CUDA_ARCH__",
     paths: {include: ["*.cu", "*.cuh", "*.h", "*.hpp", "*.inl"]}}
"""


@dataclass(frozen=True)
class Timing:
    """Median seconds on the wall and of processors, and the highest memory of all processes together in MB."""

    wall: float
    cpu: float
    memory: float


@dataclass(frozen=True)
class Tool:
    """A command for a directory; `fresh` empties its cache before each run; `runs` overrides the number of runs."""

    name: str
    command: Callable[[Path], Sequence[str]]
    needs: str = ""
    fresh: bool = False
    runs: int = 0
    says: str = ""


def measured(command: Sequence[str], environment: dict[str, str], watched: bool = False) -> Timing:
    """One run of a command, everything it started included. To watch its memory slows it down: a run of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, env=environment)
        memory = _peak(process) if watched else 0.0
        process.wait()
        errors.seek(0)
        said = errors.read()
    if process.returncode == 2 or b"Traceback" in said:
        raise RuntimeError(f"{' '.join(command)} failed: {said.decode(errors='replace')[-500:]}")
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timing(wall, cpu, memory)


def _peak(process: subprocess.Popen[bytes]) -> float:
    """The most memory, in MB, that a process and its descendants held at once; shared pages count once."""
    most = 0.0
    while process.poll() is None:
        most = max(most, sum(map(_share, _family(process.pid))) / 1024)
        time.sleep(0.02)
    return most


def _family(process: int) -> list[int]:
    """A process and its descendants."""
    found = [process]
    for one in found:
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, children.read_text().split())
    return found


def _share(process: int) -> int:
    """A process's proportional share of memory in kB."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def timed(tool: Tool, directory: Path, runs: int, cache: Path, memory: bool = True) -> Timing:
    """The median of some runs, after one that tells the memory and warms up what is to be warm."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT), "SEMGREP_SEND_METRICS": "off",
    }  # fmt: skip
    command = [*tool.command(directory)]
    if tool.fresh:
        shutil.rmtree(cache, ignore_errors=True)
    elif tool.runs != 1:
        measured(command, environment)
    peak = measured(command, environment, watched=True).memory if memory else 0.0
    found = []
    for _ in range(tool.runs or runs):
        if tool.fresh:
            shutil.rmtree(cache, ignore_errors=True)
        found.append(measured(command, environment))
    wall, cpu = (statistics.median(getattr(one, field) for one in found) for field in ("wall", "cpu"))
    return Timing(wall, cpu, peak)


def tools(rules: Path) -> list[Tool]:
    """What is compared. The peers get the narrowest question that finds the same places."""
    archscan = [sys.executable, "-m", "archscan", "--target", "sm120", "--isolated"]
    semgrep = ["semgrep", "--config", str(rules), "--metrics=off", "--disable-version-check", "--no-git-ignore", "-q"]
    ast_grep = ["ast-grep", "run", "-p", "$F($$$, supported_major_versions=$L, $$$)", "-l", "python"]
    return [
        Tool("archscan, cold", lambda d: [*archscan, str(d)], fresh=True, says="all layers, verdicts, chains"),
        Tool("archscan, warm", lambda d: [*archscan, str(d)], says="nothing changed since"),
        Tool("ripgrep", lambda d: ["rg", "-n", PATTERN, str(d)], "rg", says="lines that name an architecture"),
        Tool("unifdef", _unifdef, "unifdef", says="removes #if for one value, no verdict"),
        Tool("semgrep", lambda d: [*semgrep, str(d)], "semgrep", runs=1, says="two rules"),
        Tool("ast-grep", lambda d: [*ast_grep, str(d)], "ast-grep", says="one pattern, Python only"),
    ]


def _unifdef(directory: Path) -> Sequence[str]:
    script = (
        f"find -L {directory} -type f \\( -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o -name '*.hpp' \\)"
        " -print0 | xargs -0 -n1 unifdef -D__CUDA_ARCH__=1200 >/dev/null"
    )
    return ["sh", "-c", script]


def table(corpora: Path, packages: Sequence[str], runs: int, work: Path) -> list[str]:
    """The comparison as Markdown."""
    rules = work / "rules.yaml"
    rules.write_text(SEMGREP_RULES)
    lines = [
        "| tool | "
        + " | ".join(f"{name} (s) | × cold archscan | CPU s | MB" for name in packages)
        + " | what it tells |",
        "|---|" + "---:|" * (4 * len(packages)) + "---|",
    ]
    cold: dict[str, float] = {}
    for tool in tools(rules):
        if tool.needs and not shutil.which(tool.needs):
            lines.append(f"| {tool.name} | not installed |" + " |" * (4 * len(packages)))
            continue
        cells = []
        for name in packages:
            found = timed(tool, corpora / name, runs, work / "cache")
            cold.setdefault(name, found.wall)
            goal = GOALS.get((tool.name, name))
            mark = "" if goal is None else f" (goal {goal:g})"
            cells += [
                f"{found.wall:.2f}{mark}",
                f"{found.wall / cold[name]:.2f}",
                f"{found.cpu:.2f}",
                f"{found.memory:.0f}",
            ]
        lines.append(f"| {tool.name} | {' | '.join(cells)} | {tool.says} |")
        print(lines[-1], file=sys.stderr)
    if len(packages) > 1:
        first, last = packages[0], packages[-1]
        lines += ["", f"Cold, {last} takes {cold[last] / cold[first]:.1f} times as long as {first}."]
    return lines


def typed(corpora: Path, packages: Sequence[str], runs: int, work: Path) -> list[str]:
    """What people type, cold: text, JSON and fixes, in a package's own folder and in the one above."""
    scan = [sys.executable, "-m", "archscan", "--target", "sm120", "--isolated"]
    fix = [sys.executable, "-m", "archscan", "fix", "--target", "sm120", "--isolated", "--unsafe"]
    commands = {"text": scan, "JSON": [*scan, "--format", "json"], "`fix --unsafe`": fix}
    lines = ["| what | where | s | CPU s | MB, all processes |", "|---|---|---:|---:|---:|"]
    for name in packages:
        for directory in (corpora / name, _own_folder(corpora / name)):
            for what, command in commands.items():
                tool = Tool(what, lambda d, c=command: [*c, str(d)], fresh=True)  # type: ignore[misc]
                found = timed(tool, directory, runs, work / "cache")
                where = directory.relative_to(corpora).as_posix()
                lines.append(f"| {what} | {where} | {found.wall:.2f} | {found.cpu:.2f} | {found.memory:.0f} |")
                print(lines[-1], file=sys.stderr)
    return lines


def _own_folder(directory: Path) -> Path:
    """The package with the most files among those that a distribution installs; the folder itself if it has none."""
    inner = [path.parent for path in directory.glob("*/__init__.py")]
    return max(inner, key=lambda path: sum(1 for _ in path.rglob("*")), default=directory)


def start(runs: int, work: Path) -> list[str]:
    """The time to start, and to look at one file, over a bare interpreter."""
    one = work / "one.cu"
    one.write_text("#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\nint x;\n#endif\n")
    commands = {
        "python -c pass": ["-c", "pass"],
        "archscan --version": ["-m", "archscan", "--version"],
        "archscan one.cu": ["-m", "archscan", "--target", "sm120", "--isolated", str(one)],
        "archscan one.cu, no cache": ["-m", "archscan", "--target", "sm120", "--isolated", "--no-cache", str(one)],
    }
    lines = ["| command | s |", "|---|---:|"]
    for name, arguments in commands.items():
        tool = Tool(name, lambda _, a=arguments: [sys.executable, *a])  # type: ignore[misc]
        lines.append(f"| `{name}` | {timed(tool, one, max(runs, 20), work / 'cache', False).wall:.3f} |")
    return lines


def curve(package: Path, work: Path) -> list[str]:
    """Cold time over the bytes of growing parts of the largest package."""
    files = sorted(path for path in package.rglob("*") if path.is_file())
    tool = Tool(
        "archscan", lambda d: [sys.executable, "-m", "archscan", "-t", "sm120", "--isolated", str(d)], fresh=True
    )
    lines = ["| part | MB | s | s per 100 MB |", "|---:|---:|---:|---:|"]
    for part in (8, 4, 2, 1):
        base = work / f"part{part}" / package.name
        size = 0
        for path in files[::part]:
            target = base / path.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(path) if path.stat().st_dev == work.stat().st_dev else shutil.copy(path, target)
            size += path.stat().st_size
        found = timed(tool, base, 1, work / "cache", memory=False)
        lines.append(f"| 1/{part} | {size / 1e6:.0f} | {found.wall:.2f} | {found.wall / size * 1e8:.2f} |")
    return lines


def machine() -> str:
    """The class of machine, not its name."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), model
        )
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def main(arguments: list[str]) -> int:
    """Measures and prints; exit code 2 if there is nothing to measure on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--packages", nargs="+", default=PACKAGES, metavar="NAME", help="folders of CORPORA")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--parts", nargs="+", default=PARTS, choices=PARTS, help="the sections to measure (default: all)"
    )
    parser.add_argument(
        "--write", action="store_true", help="into docs/benchmarks.md, each section when it is measured"
    )
    options = parser.parse_args(arguments)
    packages = [name for name in options.packages if (options.corpora / name).is_dir()]
    if not packages:
        wanted = ", ".join(options.packages)
        print(f"none of {wanted} in {options.corpora}; scripts/corpora.py fetches them", file=sys.stderr)
        return 2
    for part in options.parts:
        with tempfile.TemporaryDirectory() as name:
            lines = measured_part(part, options.corpora, packages, options.runs, Path(name))
        print("\n".join(lines))
        if options.write:  # at once: the next part may take half an hour
            page = ROOT / "docs" / "benchmarks.md"
            page.write_text(edits.written(page.read_text(encoding="utf-8"), lines), encoding="utf-8")
    return 0


def measured_part(part: str, corpora: Path, packages: Sequence[str], runs: int, work: Path) -> list[str]:
    """One section of docs/benchmarks.md, its heading first."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    said = f"Measured on {today} on {machine()}; load average at the start {os.getloadavg()[0]:.1f}."
    how = "One run" if runs == 1 else f"Medians of {runs} runs"
    said = f"{said}\n{how} of whole processes, files in the page cache."
    match part:
        case "tools":
            return ["## The same question, other tools", "", said, "", *table(corpora, packages, runs, work)]
        case "typed":
            return ["## Text, JSON and fixes, cold", "", said, "", *typed(corpora, packages, runs, work)]
        case "start":
            return ["## Start", "", said, "", *start(runs, work)]
        case "curve":
            return ["## Cost over size, cold", "", said, "", *curve(corpora / packages[-1], work)]
        case _:
            return edits.section(corpora / packages[0], runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
