"""Reports made by hand, so that formats are tested without a scan."""

from __future__ import annotations

from dataclasses import replace

from archscan.catalog.types import Rule
from archscan.model.facts import Facts, Failed, FileFacts, Skipped
from archscan.model.finding import (
    Advice,
    Consequence,
    Edit,
    Evidence,
    Finding,
    Fix,
    Level,
    Problem,
    Reason,
    Risk,
)
from archscan.model.gate import NOTHING, Arm, Does, Effect, Gate, Kind, Layer, Place, Related, Role
from archscan.model.report import Chain, Report, Step, Suppressed, UndecidedGate
from archscan.model.target import HOST, Selection, Target, Universe
from archscan.model.truth import Truth
from archscan.reporting.options import RenderOptions
from archscan.reporting.sources import Sources

SMS = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
UNIVERSE = Universe(
    (
        *(Target(sm) for sm in SMS),
        *(Target(sm, suffix) for sm in SMS if sm >= 90 for suffix in "af" if (sm, suffix) != (90, "f")),
        HOST,
    )
)
SELECTION = Selection(
    name="sm_120",
    sm=120,
    variants=UNIVERSE.variants(120),
    exact=False,
    mask=UNIVERSE.mask(UNIVERSE.variants(120)),
    peers=UNIVERSE.mask(t for t in UNIVERSE.targets if t.sm >= 80 and t.sm != 120),
    contemporaries=UNIVERSE.mask(t for t in UNIVERSE.targets if t.sm >= 90),
    family=(120, 121),
)
CONDITION = "(defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200))"
HEADER = "include/comm/allreduce.cuh"
LIST = "jit/comm.py"
FILES = {
    HEADER: (
        "__global__ void norm(float* out) {\n"
        f"#if {CONDITION}\n"
        "\tcudaGridDependencySynchronize();\n"
        "  out[0] = 1.f;\n"
        "#endif\n"
        "}\n\n"
        "__device__ void wait() {\n"
        f"#if {CONDITION}\n"
        "  cudaGridDependencySynchronize();\n"
        "#endif\n"
        f"#if {CONDITION}\n"
        "  cudaTriggerProgrammaticLaunchCompletion();\n"
        "#endif\n"
        "}\n"
    ).encode(),
    LIST: b"def module():\n    return flags(\n        supported_major_versions=[9, 10]\n    )\n",
}


def sources(files: dict[str, bytes] | None = None) -> Sources:
    """The sample files, from memory."""
    return Sources((FILES if files is None else files).get)


def place(line: int, column: int = 1, end_column: int = 85, end_line: int = 0, start: int = 0) -> Place:
    return Place(start, start + 10, line, column, end_line or line, end_column)


YES = UNIVERSE.mask(t for t in UNIVERSE.targets if 90 <= t.sm < 120)
GUARD = Truth(YES, UNIVERSE.all & ~YES)


def header_gate(line: int, body: tuple[int, int]) -> Gate:
    text = FILES[HEADER].decode().splitlines()[line - 1]
    column = text.index("(__CUDA_ARCH__ < 1200)") + 1
    arm = Arm(
        place=place(line),
        condition=CONDITION,
        own=GUARD,
        truth=GUARD,
        assumed=GUARD,
        effect=Effect(Does.WORK),
        body=place(line, 85, 1, body[1] + 1),
        focus=place(line, column, column + len("(__CUDA_ARCH__ < 1200)")),
    )
    return Gate(HEADER, Layer.PREPROCESSOR, Kind.PREPROCESSOR_IF, place(line), (arm,), NOTHING)


EVIDENCE = Evidence(
    "removed upstream on 2026-07-28; results match fp32", "flashinfer-ai/flashinfer#3903", "high", ("RTX 5080",)
)


def header_finding(line: int, body: tuple[int, int], score: int, group: str | None = None) -> Finding:
    return Finding(
        rule="upper-bound-gate",
        fingerprint=f"f{line:03}",
        problem=Problem.EXCLUDED,
        gate=header_gate(line, body),
        arm=0,
        place=place(line),
        condition=CONDITION,
        form="upper-bound",
        verdict=(("sm_120", "no"), ("sm_120a", "no"), ("sm_120f", "no")),
        admits=UNIVERSE.names(YES),
        peers_admitted=UNIVERSE.names(YES),
        consequence=Consequence.SILENT_NOOP if line == 2 else Consequence.RACE,
        features=("griddep-wait",),
        advice=Advice.PAIR,
        message="kernel body is empty on sm_120" if line == 2 else "the wait is compiled out on sm_120",
        risk=Risk(Level.HIGH, score, (Reason("the launch succeeds and writes nothing", (EVIDENCE,)),)),
        body=place(line, 85, 1, body[1] + 1),
        function="norm" if line == 2 else "wait",
        related=(Related(LIST, 3, Role.ALSO_CHANGE, "shuts the module first"),),
        group=group,
        chain="c1",
        severity=Level.HIGH,
    )


def list_finding() -> Finding:
    row = Arm(place(3, 34, 41), "[9, 10]", GUARD, GUARD, GUARD, Effect(Does.WORK))
    refusal = Effect(Does.RAISES, message="No supported CUDA architectures found for major versions [9, 10].")
    return Finding(
        rule="major-list",
        fingerprint="f900",
        problem=Problem.EXCLUDED,
        gate=Gate(LIST, Layer.JIT, Kind.KEYWORD_LIST, place(3, 34, 41), (row,), refusal),
        arm=0,
        place=place(3, 34, 41),
        condition="supported_major_versions=[9, 10]",
        form="list",
        verdict=(("sm_120", "no"), ("sm_120a", "no"), ("sm_120f", "no")),
        admits=UNIVERSE.names(YES),
        peers_admitted=UNIVERSE.names(YES),
        consequence=Consequence.RUNTIME_ERROR,
        features=(),
        advice=Advice.WIDEN_PERF_RISK,
        message="the list of majors lacks 12",
        risk=Risk(Level.MEDIUM, 60, (Reason("fast on two cards, slow on eight", (EVIDENCE,)),)),
        function="module",
        fix=Fix("admit sm_120, sm_121", False, (Edit(LIST, 70, 77, "[9, 10, 12]"),), ("a pair",), ("sm_120", "sm_121")),
        chain="c1",
        severity=Level.MEDIUM,
    )


RULE = Rule(
    id="upper-bound-gate",
    title="An upper bound shuts newer GPUs out",
    problem="excluded",
    match={},
    order=1,
    what="A condition ends before the target.",
    why="Newer GPUs lose the code.",
    example="#if __CUDA_ARCH__ < 1200\n#endif",
    known_problems="None.",
    fix_safety="Unsafe where the code is half of a pair.",
    references=("CUDA C++ Programming Guide",),
    severity="error",
    precision="high",
)


def sample() -> Report:
    """Three equal gates (two of them one group), a list, something right as it is, and one of everything else."""
    leave = replace(list_finding(), gate=replace(list_finding().gate, place=place(1)))
    findings = (
        header_finding(2, (3, 4), 92),
        header_finding(9, (10, 10), 80, "g1"),
        header_finding(12, (13, 13), 80, "g1"),
        list_finding(),
        replace(leave, fingerprint="f901", advice=Advice.LEAVE, listed=False, chain=None, message="right as it is"),
    )
    facts = Facts(
        files=(
            FileFacts(HEADER, len(FILES[HEADER]), gates=tuple(f.gate for f in findings[:3])),
            FileFacts(LIST, len(FILES[LIST]), gates=(findings[3].gate, leave.gate)),
        ),
        roots=("pkg",),
        bytes_read=sum(map(len, FILES.values())),
        files_read=7,
    )
    step = Step("jit", LIST, 3, "shut", "built", "f900", "supported_major_versions=[9, 10]")
    clean = Step("preprocessor", "csrc/fusion.cu", None, "clean", "run", None, "no gate for sm_120")
    return Report(
        universe=UNIVERSE,
        selection=SELECTION,
        facts=facts,
        findings=findings,
        undecided=(UndecidedGate(HEADER, 5, "defined(USE_FP8)", ("USE_FP8",), ("-DUSE_FP8", "-UUSE_FP8")),),
        chains=(Chain("c1", "trtllm_comm", (step, clean), "shut by 4 of 5 gates"),),
        suppressed=(Suppressed(header_finding(9, (10, 10), 50), "measured: slower"),),
        hidden=(("vendored", 2),),
        skipped=(Skipped("big.cu", "larger than 64 MB"),),
        failed=(Failed("locked.cu", "permission denied"),),
        assumptions=("CUDA, not ROCm",),
    )


def empty() -> Report:
    """A report with nothing in it."""
    return Report(UNIVERSE, SELECTION, Facts(()), ())


HOSTILE = "\x1b]0;owned\x07\n::error::pwned ](http://x) <script>alert(1)</script> | `a` \u202e \udcff"


def hostile() -> Report:
    """The sample, with text that tries to break out of every format in path, condition, message and evidence."""
    report = sample()
    evil = replace(
        report.findings[0],
        gate=replace(report.findings[0].gate, path=HOSTILE),
        condition=HOSTILE,
        message=HOSTILE,
        function=HOSTILE,
        rule="upper-bound-gate",
        features=(HOSTILE,),
        risk=Risk(Level.HIGH, 99, (Reason(HOSTILE, (replace(EVIDENCE, fact=HOSTILE, source=HOSTILE),)),)),
        related=(Related(HOSTILE, 3, Role.PAIR, HOSTILE),),
        unknowns=(HOSTILE,),
        assumes=(HOSTILE,),
    )
    chain = Chain("c1", HOSTILE, (Step("jit", HOSTILE, 1, "shut", "run", None, HOSTILE),), HOSTILE)
    undecided = UndecidedGate(HOSTILE, 1, HOSTILE, (HOSTILE,), (HOSTILE,))
    return replace(
        report,
        findings=(evil, *report.findings[1:]),
        chains=(chain,),
        undecided=(undecided,),
        skipped=(Skipped(HOSTILE, HOSTILE),),
        failed=(Failed(HOSTILE, HOSTILE),),
        assumptions=(HOSTILE,),
        notes=(HOSTILE,),
    )


def options(**changes: object) -> RenderOptions:
    """Options with the sample files and one rule."""
    return replace(RenderOptions(sources=sources(), rules={RULE.id: RULE}), **changes)  # type: ignore[arg-type]
