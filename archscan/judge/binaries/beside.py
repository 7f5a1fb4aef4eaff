"""What is said about a library where the sources of its kernels were scanned beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from archscan.binary.names import last, plain
from archscan.judge.binaries.absent import Absent
from archscan.judge.binaries.hollow import Idle
from archscan.judge.binaries.loaded import Loaded
from archscan.judge.binaries.named import parted
from archscan.judge.binaries.said import ERRORS, NO_IMAGE, NO_SYMBOL, Note, Said, names, these_kernels
from archscan.judge.binaries.sources import Sources
from archscan.model.finding import Advice, Consequence, Level
from archscan.model.gate import Related, Role

_MOST_PLACES = 20


def lost(view: Loaded, found: Sequence[Absent]) -> Said:
    """Kernels of the sources that the library holds for other chips alone."""
    name, sm = view.selection.name, view.selection.sm
    named, others = parted(found, sm)
    told = [one for one in named if any(not image.target.suffix for image in one.images)]
    left = [*others, *(one for one in named if one not in told)]
    out = [one for one in told if one.compiled_out]
    newer = [one for one in told if all(image.target.sm > sm for image in one.images if not image.target.suffix)]
    shown = told or left
    errors = sorted({_error(one) for one in shown})
    if out:
        helps = f"the code for {name} in its module is without it: find the #if around {_first(out)}"
        severity, score, advice = Level.MEDIUM, 62, Advice.INVESTIGATE
    elif not told:
        helps = "its images are for single chips or families, or named for them"
        severity, score, advice = Level.INFO, 6, Advice.LEAVE
    elif newer:
        helps = f"it is built for newer chips alone: see whether {name} can run {_first(newer)}"
        severity, score, advice = Level.MEDIUM, 40, Advice.INVESTIGATE
    else:
        helps = f"its images are plain: add {name} to the architectures of {_first(told)}"
        severity, score, advice = Level.MEDIUM, 62, Advice.WIDEN_SAFE
    verb = "is" if len(shown) == 1 else "are"
    where = names(image for one in shown for image in one.images)
    notes = (Note(f"{these_kernels(left)} of other chips not counted", confidence="medium"),) if told and left else ()
    return Said(
        about="missing",
        consequence=Consequence.LOAD_ERROR,
        severity=severity,
        score=score,
        advice=advice,
        message=f"{these_kernels(shown)} of the scanned sources {verb} in this library for {where}, not for {name}",
        happens=Note(f"when it is launched: {' or '.join(ERRORS[error] for error in errors)}"),
        helps=Note(helps),
        admits=frozenset(image.target.sm for one in shown for image in one.images),
        notes=notes,
        places=tuple(
            Related(
                path,
                line,
                Role.DEFINITION,
                f"{plain(one.name)}: in the library for {names(one.images)} ({_error(one)})",
            )
            for one in shown[:_MOST_PLACES]
            for path, line in one.spots
        ),
        error=errors[-1],
    )


def _error(one: Absent) -> int:
    """What CUDA says at the launch of a kernel that is not in its module, or whose module has nothing that fits."""
    return NO_SYMBOL if one.compiled_out else NO_IMAGE


def _first(found: Sequence[Absent]) -> str:
    path, line = found[0].spots[0]
    return f"{path}:{line}" + (f" and {len(found) - 1} more" if len(found) > 1 else "")


def paired(said: Said, idle: Sequence[Idle], beside: Sources) -> Said:
    """What is said of kernels that do nothing, with the gates in their sources, which have advice of their own."""
    gates = {gate: last(one.name) for one in idle for gate in beside.gates.get(last(one.name), ())}
    if not gates or said.advice is Advice.LEAVE:
        return said
    places = tuple(
        Related(gate.path, gate.place.line, Role.PAIR, f"the gate in {name}: {gate.condition}")
        for gate, name in list(gates.items())[:_MOST_PLACES]
    )
    live = [gate for gate in gates if gate.advice is not Advice.LEAVE]
    if live:
        helps = (
            f"the gate is in its source: {live[0].path}:{live[0].place.line}; what that finding advises goes for this"
        )
        return replace(said, advice=Advice.PAIR, helps=Note(helps), places=places)
    if {last(one.name) for one in idle} <= set(gates.values()):
        helps = "right as it is: the gate in its source keeps out what cannot run there"
        return replace(said, advice=Advice.LEAVE, severity=Level.INFO, score=6, helps=Note(helps), places=places)
    return replace(said, places=places)
