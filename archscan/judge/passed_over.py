"""Why nothing is reported of a gate for a target: the step of the judgement that ended it, in words."""

from __future__ import annotations

from archscan.catalog.types import Catalog
from archscan.judge.branches import REST, Branch, same_result
from archscan.judge.intent import limits_others, prepares, refuses_others, states_truths
from archscan.judge.project import Project
from archscan.judge.search import NO_EXCLUSION, GateJudge, is_for_another_maker
from archscan.judge.verdicts import Undecided
from archscan.model.facts import FileFacts
from archscan.model.gate import Gate
from archscan.model.target import Selection

_NO_LOSS = {
    limits_others: "who is named gets a part of the choices that the target has",
    refuses_others: "who is named is refused something, and the target goes on",
    prepares: "it only spells the name of an architecture in another way",
    states_truths: "it only defines macros as truth values, and who asks one is the gate",
}
assert tuple(_NO_LOSS) == NO_EXCLUSION


def passed_over(file: FileFacts, gate: Gate, project: Project, selection: Selection, catalog: Catalog) -> str:
    """Why nothing is reported of `gate` for the target."""
    if is_for_another_maker(file):
        return "its file is for the GPUs of another maker"
    judge = GateJudge(file, gate, project, selection, catalog, is_shown=True)
    if any(True for _ in judge.admitted()):
        told = "no scanned build compiles that for the target, or a later gate of the function says it"
        return f"it lets the target into what it cannot run; {told}"
    verdict = judge.verdict()
    if isinstance(verdict, Undecided):
        return f"undecided: it hangs on {', '.join(verdict.unknowns) or 'what the code does not say'}"
    if verdict is None:
        return _not_shut(judge.ways, gate, selection)
    case = judge.missed(verdict)
    if case is None:
        return "what the target gets is its own: its limit, its images, or code that is named for it"
    for holds, words in _NO_LOSS.items():
        if holds(case):
            return words
    return "another gate of the same choice serves the target, or no scanned build compiles it"


def _not_shut(ways: tuple[Branch, ...], gate: Gate, selection: Selection) -> str:
    """Of a gate that the target does not miss a branch of."""
    landing = [b for b in ways if b.yes & selection.mask]
    if not landing:
        return "the target never gets there: what stands around it, or before it, is shut"
    taken = max(landing, key=lambda b: (b.works, b.conditional))
    where = "takes no arm" if taken.arm == REST else f"takes the arm at line {gate.arms[taken.arm].place.line}"
    others = [b for b in ways if b.arm != taken.arm and b.yes & selection.peers]
    if taken.works and taken.conditional:
        return f"the target {where}, which does the work, and can run it as far as is known"
    if not others:
        return f"the target {where}, as do all that it is judged against"
    if all(same_result(b, taken) for b in others):
        return f"the target {where}, and what others get there is the same"
    if any((b.yes | b.maybe) & selection.mask for b in others):
        return f"the target {where} by one variant, and another by a further one"
    return f"the target {where}; what it misses is for older chips, or does nothing that it would need"
