"""Compiles what a fix would open, before and after, for the target: nvcc's and ptxas' word instead of a table's.

The file itself is tried first (it preprocesses only if its includes are there), then a slice: the guarded statements
in a kernel of their own under the old and the new condition. "not compilable here" is a verdict of its own: it says
nothing about the target.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from archscan.errors import UserError
from archscan.fixing.plan import Unit
from archscan.fixing.preprocessor import Condition, condition_of
from archscan.fixing.proposal import applied
from archscan.fixing.prove import Workbench
from archscan.model.finding import Edit, Finding
from archscan.model.gate import Layer
from archscan.model.target import Selection, Target
from archscan.programs import program, search_path

_SECONDS = 180
_FLAGS = ("-std=c++17", "--expt-relaxed-constexpr", "-w")
_PRELUDE = "".join(
    f"#include <{name}>\n"
    for name in ("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cooperative_groups.h", "cstdint")
)
# Classes of diagnostics: which speak about the target and which about what is missing on this machine.
_MISSING = re.compile(
    r"fatal error: ([^:\n]+): No such file|cannot open source file \"([^\"]+)\"|identifier \"(\w+)\" is undefined"
    r"|name must be a namespace|incomplete type|expected an? |has no member \"(\w+)\""
)
_REJECTED = re.compile(
    r"(?:Feature|Instruction|Modifier) '[^']+'.*(?:not supported|requires|cannot be compiled).*"
    r"|.*uses too much shared data.*|.*is not supported for this GPU architecture.*|.*_is_not_supported_before_SM.*"
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """One compilation: instructions of the machine code, or why there is none."""

    instructions: tuple[str, ...] = ()
    rejected: str = ""
    missing: str = ""

    @property
    def ok(self) -> bool:
        return not self.rejected and not self.missing


@dataclass(frozen=True, slots=True)
class Verification:
    """What the compiler says of one gate."""

    path: str
    line: int
    target: str
    verdict: str  # opens | rejected | no-difference | not-compilable
    how: str  # file | slice
    detail: str


def verify(unit: Unit, bench: Workbench, selection: Selection) -> tuple[Verification, ...]:
    """One verification for each preprocessor gate of the unit. Raises UserError if there is no nvcc."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        raise UserError("nvcc is not here", "install the CUDA toolkit, or `pip install 'archscan[verify]'`")
    target = _strongest(selection)
    gates = [finding for finding in unit.findings if finding.gate.layer is Layer.PREPROCESSOR]
    with tempfile.TemporaryDirectory(prefix="archscan-") as folder:
        compiler = _Compiler(nvcc, find_tool("nvdisasm"), target, Path(folder), _include_roots(bench))
        return tuple(_verified(finding, unit, bench, compiler) for finding in gates)


def find_tool(name: str) -> str | None:
    """The path of a CUDA tool: on PATH, below CUDA_HOME, or from pip's nvidia packages; None if there is none.

    Never one that lies in the current directory, or that is named relative to it.
    """
    found = program(name)
    if found:
        return found
    homes = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    places = [Path(home) / "bin" / name for home in homes if Path(home).is_absolute()]
    places += sorted(packages.glob(f"*/bin/{name}"))
    return next((str(place) for place in places if place.is_file()), None)


@dataclass(frozen=True)
class _Compiler:
    nvcc: str
    disassembler: str | None
    target: Target
    folder: Path
    includes: tuple[str, ...]
    done: dict[tuple[bytes, str], Compiled] = field(default_factory=dict)  # equal gates are compiled once

    def run(self, text: bytes, beside: str) -> Compiled:
        """The compilation of one translation unit that lies, as far as `#include "…"` goes, in `beside`."""
        if (text, beside) not in self.done:
            self.done[text, beside] = self._run(text, beside)
        return self.done[text, beside]

    def _run(self, text: bytes, beside: str) -> Compiled:
        source, cubin = self.folder / "unit.cu", self.folder / "unit.cubin"
        source.write_bytes(text)
        cubin.unlink(missing_ok=True)
        arch = f"arch=compute_{self.target.sm}{self.target.suffix},code=sm_{self.target.sm}{self.target.suffix}"
        quoted = bool(beside) and "," not in beside and os.name == "posix"
        folders = self.includes if quoted or not beside else (beside, *self.includes)
        include = [flag for p in folders for flag in ("-I", str(Path(p).absolute()))]
        if quoted:  # a project's assert.h is not the one that a system header asks for
            include += ["-Xcompiler", f"-iquote,{Path(beside).absolute()}"]
        command = [self.nvcc, "-gencode", arch, "-cubin", *_FLAGS, *include, "-o", str(cubin), str(source)]
        environment = {**os.environ, "PATH": os.pathsep.join(search_path())}  # for the compiler that nvcc starts
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
                cwd=self.folder,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return Compiled(missing=f"more than {_SECONDS} s of time")
        if done.returncode or not cubin.is_file():
            return _diagnosed(done.stderr + done.stdout)
        return Compiled(instructions=self._instructions(cubin))

    def _instructions(self, cubin: Path) -> tuple[str, ...]:
        if self.disassembler is None:
            return ()
        done = subprocess.run(
            [self.disassembler, "-c", str(cubin)], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        pattern = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_.]*)", re.MULTILINE)
        return tuple(pattern.findall(done.stdout))


def _verified(finding: Finding, unit: Unit, bench: Workbench, compiler: _Compiler) -> Verification:
    source = bench.source(finding.path)
    edits = tuple(edit for edit in unit.edits if edit.path == finding.path)
    changed = applied(source.data, edits)
    beside = str(Path(source.disk).parent) if source.disk else ""
    place = (finding.path, finding.place.line, compiler.target.name)
    before, after = compiler.run(source.data, beside), compiler.run(changed, beside)
    if before.ok and after.ok and before.instructions != after.instructions:
        verdict, detail = _compared(before, after)
        return Verification(*place, verdict, "file", detail)
    if before.ok and after.rejected:
        return Verification(*place, "rejected", "file", after.rejected)
    sliced = _slices(finding, source.data, changed, edits)
    if sliced is None:
        return Verification(*place, "not-compilable", "slice", after.missing or before.missing or "no condition")
    before, after = compiler.run(sliced[0], beside), compiler.run(sliced[1], beside)
    if after.rejected:
        return Verification(*place, "rejected", "slice", after.rejected)
    if not (before.ok and after.ok):
        return Verification(*place, "not-compilable", "slice", f"missing {after.missing or before.missing}")
    verdict, detail = _compared(before, after)
    return Verification(*place, verdict, "slice", detail)


def _compared(before: Compiled, after: Compiled) -> tuple[str, str]:
    """(verdict, what the machine code gained)."""
    if not before.instructions and not after.instructions:
        return "opens", "it compiles (no nvdisasm here to look at the machine code)"
    gained = [name for name in dict.fromkeys(after.instructions) if name not in before.instructions]
    if gained:
        return "opens", f"{', '.join(gained[:6])} in the machine code after, absent before"
    if len(after.instructions) != len(before.instructions):
        return "opens", f"{len(before.instructions)} instructions before, {len(after.instructions)} after"
    return "no-difference", "the machine code is the same"


def _slices(finding: Finding, before: bytes, after: bytes, edits: Sequence[Edit]) -> tuple[bytes, bytes] | None:
    """The guarded statements in a kernel of their own, under the old and under the new condition."""
    if finding.arm < 0 or finding.body is None:
        return None
    arm = finding.gate.arms[finding.arm]
    old = condition_of(finding.path, before, arm)
    if old is None:
        return None
    shift = sum(len(edit.data) - (edit.end - edit.start) for edit in edits if edit.end <= old.keyword)
    moved = replace(arm, place=replace(arm.place, start=old.keyword + shift, end=old.keyword + shift))
    new = condition_of(finding.path, after, moved)
    if new is None:
        return None
    body = before[finding.body.start : finding.body.end]
    return _slice(old, body), _slice(new, body)


def _slice(condition: Condition, body: bytes) -> bytes:
    keyword = condition.word.removeprefix(b"el")
    head = _PRELUDE.encode() + b"__global__ void archscan_slice() {\n"
    return b"%s#%s %s\n%s\n#endif\n}\n" % (head, keyword, condition.data[condition.start : condition.end], body)


def _diagnosed(output: str) -> Compiled:
    """Class of the diagnostics: about the target, or about this machine. Errors of the second kind prove nothing."""
    if match := _REJECTED.search(output):
        return Compiled(rejected=match.group().strip())
    if match := _MISSING.search(output):
        return Compiled(missing=next((group for group in match.groups() if group), match.group().strip()))
    lines = [line for line in output.splitlines() if "error" in line]
    return Compiled(missing=lines[0].strip() if lines else "an unknown reason")


def _strongest(selection: Selection) -> Target:
    """The variant to compile for: the one given, else the plain one."""
    return selection.variants[0]


def _include_roots(bench: Workbench) -> tuple[str, ...]:
    """Folders named `include` above scanned headers, for `-I`."""
    roots = []
    for path in bench.sources():
        disk = bench.source(path).disk
        if disk and "/include/" in disk:
            roots.append(disk[: disk.rindex("/include/") + len("/include")])
            roots.append(disk[: disk.index("/include/") + len("/include")])
    return tuple(sorted(dict.fromkeys(roots)))
