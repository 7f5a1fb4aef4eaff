"""Runs a program of the user's before and after a fix, on the GPU: the same results, and how fast?

This is the one place where scanned code is run, and only when it is asked for with --on-gpu. No arguments are made up
for a kernel: a program that calls it is needed. It is built twice by nvcc, in copies of the project.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from archscan.errors import UserError
from archscan.fixing.verify import find_tool
from archscan.model.target import Selection
from archscan.programs import search_path

RUNS = 5
_BUILD_SECONDS = 600
_RUN_SECONDS = 120
_MOST_COPIED = 512 << 20  # bytes of the project
_MOST_SAID = 64 << 20  # bytes of a result
_LEFT_OUT = shutil.ignore_patterns(".git", ".hg", ".venv", "venv", "__pycache__", "node_modules")
_TIME = re.compile(rb"^archscan-time-us: ([0-9.eE+-]+)\r?\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compared:
    """What a program said and took, before and after."""

    verdict: str  # same | differs | fails | not-compared
    detail: str
    before: tuple[float, ...] = ()  # microseconds
    after: tuple[float, ...] = ()

    @property
    def line(self) -> str:
        """The verdict in one line, with the times where the program told any."""
        text = f"on the GPU: {self.verdict}: {self.detail}"
        if not self.before or not self.after:
            return text
        old, new = statistics.median(self.before), statistics.median(self.after)
        told = f"{old:.4g} µs before ({_range(self.before)}), {new:.4g} µs after ({_range(self.after)})"
        return f"{text}; {told}"


@dataclass(frozen=True, slots=True)
class _Ran:
    """One run: its result and its time, or how it failed."""

    result: bytes = b""
    microseconds: float | None = None
    failed: str = ""


def _range(times: Sequence[float]) -> str:
    return f"{min(times):.4g} to {max(times):.4g}"


def compare(paths: Sequence[str], changed: Mapping[Path, bytes], harness: Path, selection: Selection) -> Compared:
    """What `harness` does in a copy of the project as it is, and in one with these files changed."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        raise UserError("nvcc is not here", "install the CUDA toolkit, or `pip install 'archscan[verify]'`")
    if not harness.is_file():
        raise UserError(f"no such file: {harness}", "--harness names a .cu file with a main() that calls the kernel")
    root = _root(paths)
    with tempfile.TemporaryDirectory(prefix="archscan-gpu-") as folder:
        trees = [Path(folder, name) for name in ("before", "after")]
        try:
            for tree in trees:
                shutil.copytree(root, tree, ignore=_LEFT_OUT, symlinks=True)
        except shutil.Error as error:
            raise UserError(f"{root} cannot be copied: {error.args[0][0][2]}", "name the part it needs") from error
        places = {path: _within(path, root) for path in changed}
        for path, data in changed.items():
            (trees[1] / places[path]).write_bytes(data)
        builds = [_Build(nvcc, tree, _placed(harness, root, tree), selection) for tree in trees]
        if not builds[0].includes(places.values()):
            return Compared("not-compared", "the harness includes none of the files that the fix changes")
        for build, when in zip(builds, ("before", "after"), strict=True):
            if why := build.make():
                verdict = "fails" if when == "after" else "not-compared"
                return Compared(verdict, f"the harness does not build {when} the fix: {why}")
        return _compared([build.program for build in builds])


def _root(paths: Sequence[str]) -> Path:
    """The directory of the project."""
    if len(paths) != 1:
        raise UserError("--on-gpu takes one PATH", "name the directory of the project")
    path = Path(paths[0]).resolve()
    root = path if path.is_dir() else path.parent
    size = 0
    for folder, _, files in os.walk(root):
        size += sum(os.lstat(os.path.join(folder, name)).st_size for name in files)  # noqa: PTH118
        if size > _MOST_COPIED:
            raise UserError(f"{root} is larger than {_MOST_COPIED >> 20} MB", "name the part that the harness needs")
    return root


def _within(path: Path, root: Path) -> Path:
    """Where a changed file lies below the root; a link that leads out of it is followed nowhere."""
    real = path.resolve()
    if not real.is_relative_to(root):
        raise UserError(f"{path} lies outside of {root}", "name the directory that holds it")
    return real.relative_to(root)


def _placed(harness: Path, root: Path, tree: Path) -> Path:
    """The harness in a copy: where it lies in the project, or at its top."""
    inside = harness.resolve()
    if inside.is_relative_to(root):
        return tree / inside.relative_to(root)
    place = tree / f"archscan_harness_{inside.name}"
    place.write_bytes(inside.read_bytes())
    return place


class _Build:
    def __init__(self, nvcc: str, tree: Path, source: Path, selection: Selection) -> None:
        sm = f"{selection.sm}{selection.variants[0].suffix}"
        include = [flag for place in (tree, *sorted(tree.glob("**/include"))) for flag in ("-I", str(place))]
        arch = f"arch=compute_{sm},code=sm_{sm}"
        self._command = [nvcc, "-gencode", arch, "-std=c++17", "-w", "-O2", *include, str(source)]
        self._tree = tree
        self.program = tree / "archscan_harness.bin"

    def includes(self, files: Iterable[Path]) -> bool:
        """Whether the harness takes in one of these files of the tree; unknown counts as yes."""
        done = self._run("-M")
        if done is None or done.returncode:
            return True
        named = {Path(word).resolve() for word in done.stdout.replace("\\\n", " ").split()[1:]}
        return any((self._tree / file).resolve() in named for file in files)

    def make(self) -> str:
        """Builds the program; why not, where that fails."""
        done = self._run("-o", str(self.program))
        if done is None:
            return f"it took more than {_BUILD_SECONDS} s"
        if done.returncode or not self.program.is_file():
            lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            return next((line for line in lines if "error" in line), lines[0] if lines else "no reason given")
        return ""

    def _run(self, *options: str) -> subprocess.CompletedProcess[str] | None:
        environment = {**os.environ, "PATH": os.pathsep.join(search_path())}
        try:
            return subprocess.run(
                [*self._command, *options],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_BUILD_SECONDS,
                check=False,
                cwd=self._tree,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return None


def _compared(programs: Sequence[Path]) -> Compared:
    """Both programs run in turn; every result must be that of the first run of the first."""
    times: tuple[list[float], list[float]] = ([], [])
    first: bytes | None = None
    for number in range(RUNS):
        for program, taken, when in zip(programs, times, ("before", "after"), strict=True):
            ran = _once(program)
            if ran.failed:
                verdict = "fails" if when == "after" else "not-compared"
                return Compared(verdict, f"the harness {ran.failed} {when} the fix", tuple(times[0]), tuple(times[1]))
            if first is None:
                first = ran.result
            if ran.result != first:
                verdict = "differs" if when == "after" else "not-compared"
                detail = _difference(first, ran.result) if when == "after" else "the harness has no stable result"
                return Compared(verdict, f"{detail} (run {number + 1})", tuple(times[0]), tuple(times[1]))
            if ran.microseconds is not None:
                taken.append(ran.microseconds)
    detail = f"{RUNS} runs before and after, {len(first or b''):,} bytes of result each"
    return Compared("same", detail, tuple(times[0]), tuple(times[1]))


def _once(program: Path) -> _Ran:
    process = subprocess.Popen(
        [str(program)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=program.parent,
        start_new_session=os.name == "posix",
    )
    try:
        out, _ = process.communicate(timeout=_RUN_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)
        return _Ran(failed=f"did not end within {_RUN_SECONDS} s")
    if process.returncode:
        return _Ran(failed=f"ended with {process.returncode}")
    if len(out) > _MOST_SAID:
        return _Ran(failed=f"wrote more than {_MOST_SAID >> 20} MB")
    told = _TIME.findall(out)
    return _Ran(_TIME.sub(b"", out), float(told[-1]) if told else None)


def _difference(before: bytes, after: bytes) -> str:
    """Where two results part."""
    ours, theirs = before.splitlines(), after.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    lines = [side[at].decode("utf-8", "replace")[:80] if at < len(side) else "(ended)" for side in (ours, theirs)]
    return f'line {at + 1} was "{lines[0]}" before and is "{lines[1]}" after'
