"""Follows one gate through a real run, from the bytes to the printed line, for docs/how-it-works.md.

Each hop names a function. The scan of examples/flashinfer is run once, and what these functions return for the gate is
written down as they return it: a function that is renamed, or a hop that is not taken any more, is an error here.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from archscan import cli  # noqa: E402
from archscan.analysis.decisions import decided  # noqa: E402
from archscan.catalog import load  # noqa: E402
from archscan.catalog.recognise import Recogniser  # noqa: E402
from archscan.frontends.cuda.preprocessor.arms import body_facts  # noqa: E402
from archscan.frontends.cuda.preprocessor.conditions import Evaluator  # noqa: E402
from archscan.frontends.cuda.preprocessor.directives import scan  # noqa: E402
from archscan.judge.findings import findings  # noqa: E402
from archscan.judge.table import advise  # noqa: E402
from archscan.judge.verdicts import decide  # noqa: E402
from archscan.model.condition import possibly, surely  # noqa: E402
from archscan.reporting.text import render_text  # noqa: E402
from archscan.reporting.words import compact  # noqa: E402
from archscan.sources.reading import read  # noqa: E402

TREE, FILE, LINE = "examples/flashinfer", "trtllm_allreduce.cuh", 61
COMMAND = ("scan", "--target", "sm120", "--isolated", "--no-cache", "--jobs", "1", "--no-fixes", TREE)
_UNIVERSE = load().universe


@dataclass(frozen=True)
class Hop:
    """A step: what it does, the function that does it, and the value that it returns for the gate."""

    does: str
    function: Callable[..., Any]
    shown: Callable[[dict[str, Any], Any], str | None]  # of the arguments and the value; None = of another gate

    @property
    def code(self) -> CodeType:
        return self.function.__code__  # type: ignore[attr-defined,no-any-return]


def _read(given: dict[str, Any], value: Any) -> str | None:
    if value is None or not getattr(value, "path", "").endswith(f"/{FILE}"):
        return None
    line = value.data.split(b"\n")[LINE - 1]
    return f"Source({value.path!r},\n  data=<{len(value.data):,} bytes, of which line {LINE} is>\n    {line!r})"


def _directive(given: dict[str, Any], value: Any) -> str | None:
    found = [one for one in value if one.line == LINE and "1200" in one.text]
    return _cut(repr(found[0])) if found else None


def _condition(given: dict[str, Any], value: Any) -> str | None:
    if "__CUDA_ARCH__ < 1200" not in given["condition"]:
        return None
    sure, possible = (compact(_UNIVERSE.names(side(value.when)), _UNIVERSE) for side in (surely, possibly))
    return f"Answer(when={value.when:#x}, names={value.names})\n  surely {sure}, possibly {possible}"


def _effect(given: dict[str, Any], value: Any) -> str | None:
    if value.place.line != LINE + 1 or [use.feature for use in value.features] != ["griddep-wait"]:
        return None
    return f"BodyFacts(place=<lines {value.place.line}-{value.place.end_line}>, effect={value.effect!r})"


def _features(given: dict[str, Any], value: Any) -> str | None:
    return repr(value[0]) if given["data"].strip() == b"cudaGridDependencySynchronize();" else None


def _gate(given: dict[str, Any], value: Any) -> str | None:
    if not value.path.endswith(f"/{FILE}") or value.place.line != LINE:
        return None
    arm = value.arms[0]
    return (
        f"Gate(layer={value.layer.value}, kind={value.kind.value}, scope={value.scope.name},"
        f" rest={value.rest.does.value},\n  arms=(Arm(condition={arm.condition!r},\n"
        f"    own=yes {_names(arm.own.yes)}, truth=yes {_names(arm.truth.yes)},"
        f" unknowns={arm.unknowns}, effect={arm.effect.does.value}),))"
    )


def _shut(given: dict[str, Any], value: Any) -> str | None:
    gate = given["gate"]
    if not gate.path.endswith(f"/{FILE}") or gate.place.line != LINE:
        return None
    return (
        f"Exclusion(why={value.why.value},\n  missed=Branch(arm={value.missed.arm}, yes={_names(value.missed.yes)}),\n"
        f"  gets=Branch(arm={value.gets.arm}, does={value.gets.effect.does.value}))"
    )


def _advised(given: dict[str, Any], value: Any) -> str | None:
    weighed = given["weighed"]
    gate = weighed.case.gate
    if not gate.path.endswith(f"/{FILE}") or gate.place.line != LINE:
        return None
    asked = ", ".join(f"{key}={answer}" for key, answer in weighed.attributes.items())
    return f"{asked}\n  -> Recommendation(advice={value.advice.value}, today={value.today.value}, row={value.row!r})"


def _finding(given: dict[str, Any], value: Any) -> str | None:
    one = next(f for f in value if f.path.endswith(f"/{FILE}") and f.place.line == LINE)
    return (
        f"Finding(rule={one.rule!r}, fingerprint={one.fingerprint!r}, severity={one.severity.value},\n"
        f"  risk=Risk({one.risk.level.value}, {one.risk.score}), verdict={one.verdict},\n  message={one.message!r})"
    )


def _printed(given: dict[str, Any], value: Any) -> str | None:
    lines = value.split("\n")
    at = next(i for i, line in enumerate(lines) if f"{FILE}:{LINE}:" in line and "-->" in line)
    begin = max(i for i in range(at) if lines[i].startswith(("high[", "medium[", "low[", "info[")))
    return "\n".join(lines[begin : at + 4])


def _names(mask: int) -> str:
    return compact(_UNIVERSE.names(mask), _UNIVERSE)


def _cut(text: str) -> str:
    return text.replace(", start=", ",\n  start=")


HOPS = (
    Hop("The file is found and read, once, as bytes.", read, _read),
    Hop("Its directives are told from everything else.", scan, _directive),
    Hop("The condition is evaluated for every target and in every world.", Evaluator.answer, _condition),
    Hop(
        "What the guarded lines do is told, by `archscan/analysis/effects.py` where it is not plainly work.",
        body_facts,
        _effect,
    ),
    Hop("What it uses is recognised; which targets assemble that was measured.", Recogniser.in_code, _features),
    Hop("A gate is made of it, a fact without a target.", decided, _gate),
    Hop("The target comes in: does it miss a branch that others take?", decide, _shut),
    Hop("What is known of the case picks a row of `rules/advice.yaml`.", advise, _advised),
    Hop("It is written down as a finding.", findings, _finding),
    Hop("And printed.", render_text, _printed),
)


def followed() -> dict[Hop, str]:
    """Each hop with the value that it had for the gate in a run of its own; RuntimeError for a hop not taken."""
    wanted = {hop.code: hop for hop in HOPS}
    found: dict[Hop, str] = {}

    def watch(frame: FrameType, event: str, value: Any) -> None:
        hop = wanted.get(frame.f_code) if event == "return" else None
        if hop is not None and hop not in found and (said := hop.shown(frame.f_locals, value)) is not None:
            found[hop] = said

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.StringIO()):
            cli.run(list(COMMAND))
    finally:
        sys.setprofile(before)
    if len(found) < len(HOPS):
        missing = ", ".join(hop.function.__qualname__ for hop in HOPS if hop not in found)
        raise RuntimeError(f"the gate does not come by: {missing}")
    return found


def page() -> str:
    """The hops as Markdown."""
    values = followed()
    lines: list[str] = []
    for number, hop in enumerate(HOPS, 1):
        module = hop.function.__module__.replace(".", "/") + ".py"
        module = module if (ROOT / module).exists() else module.replace(".py", "/__init__.py")
        lines += [f"**{number}. {hop.does}** `{module}`, `{hop.function.__qualname__}`", "", "```text"]
        lines += [*(line.rstrip() for line in values[hop].split("\n")), "```", ""]
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    print(page())
