"""From findings to proven edits: what opens together, for which targets, how safe it is, and what is held back."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from itertools import islice

from archscan.catalog.types import Catalog
from archscan.fixing.admission import Admission, Reach, admission
from archscan.fixing.cmake_source import cmake_open
from archscan.fixing.preprocessor import close_proposals, open_proposals
from archscan.fixing.proposal import Proposal, applied
from archscan.fixing.prove import Proof, Want, Workbench, prove
from archscan.fixing.python_source import PythonFile, python_close, python_open
from archscan.fixing.second import truth
from archscan.fixing.second_python import agrees
from archscan.judge.needs.images import loaded, picked_images
from archscan.model.facts import FileFacts
from archscan.model.finding import Advice, Capability, Edit, Finding, Fix, Intent, Level, Problem
from archscan.model.gate import Does, Gate, Kind, Layer, Role
from archscan.model.target import Selection

_TRIES = 24  # proposals looked at for one gate
_REPORT_ONLY = {
    Kind.TABLE: "a row needs values that were chosen for the target",
    Kind.SWITCH: "a case needs code of its own",
    Kind.WINDOW: "a maximum says what was tested",
    Kind.RESOURCE: "a limit of the hardware",
    Kind.TEST_SKIP: "a test",
}


@dataclass(frozen=True, slots=True)
class FixOptions:
    """What the user allows."""

    unsafe: bool = False
    family: bool = False
    widen: bool = False
    rules: frozenset[str] = frozenset()
    chains: frozenset[str] = frozenset()  # ids of the chains asked for
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """Edits that go in together or not at all, proven."""

    id: str
    title: str
    safe: bool
    reasons: tuple[str, ...]  # why it is not safe
    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]
    opens: tuple[str, ...]  # every target whose verdict flips
    also: tuple[str, ...] = ()  # other places whose verdict moves with it


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A finding without an edit, the reason, and the flag that would release it ("" = none does)."""

    finding: Finding
    reason: str
    flag: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a fix run would write."""

    selection: Selection
    units: tuple[Unit, ...]
    held_back: tuple[HeldBack, ...]
    shown: tuple[Unit, ...] = ()  # proven, but written with --unsafe only

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(dict.fromkeys(edit for unit in self.units for edit in unit.edits))


def plan(
    findings: Sequence[Finding], selection: Selection, catalog: Catalog, bench: Workbench, options: FixOptions
) -> Plan:
    """The units that may be written under `options`; every other candidate is held back with its reason."""
    units: list[Unit] = []
    unsafe: list[Unit] = []
    held: list[HeldBack] = []
    together = list(_units(findings, options))
    able = [tuple(finding for finding in members if not never_fixed(finding)) for members in together]
    make = partial(_weighed_unit, findings, selection, catalog, bench, options)
    proven = iter(bench.spread(make, [fixed for fixed in able if fixed], _paths(able)))
    for members, fixed in zip(together, able, strict=True):
        held += [HeldBack(finding, reason) for finding in members if (reason := never_fixed(finding))]
        made = next(proven) if fixed else ""
        if isinstance(made, str):
            held += [HeldBack(finding, made) for finding in fixed]
        elif made.safe or options.unsafe:
            units.append(made)
        else:
            unsafe.append(made)
    kept, dropped = _proven_whole(units, catalog, bench)
    shown, refuted = _proven_whole(unsafe, catalog, bench)
    held += [
        HeldBack(finding, f"not safe: {'; '.join(unit.reasons)}", "--unsafe")
        for unit in shown
        for finding in unit.findings
    ]
    return Plan(selection, kept, (*held, *dropped, *refuted), shown)


def _proven_whole(
    units: Sequence[Unit], catalog: Catalog, bench: Workbench
) -> tuple[tuple[Unit, ...], tuple[HeldBack, ...]]:
    """The units after the whole project was evaluated again: all at once, and one by one only if that fails."""
    if not units or _whole(units, catalog, bench).holds:
        return tuple(units), ()
    kept, dropped = [], []
    for unit in units:
        proof = _whole([unit], catalog, bench)
        if proof.holds:
            kept.append(unit)
        else:
            dropped += [HeldBack(finding, proof.why) for finding in unit.findings]
    return tuple(kept), tuple(dropped)


def _whole(units: Sequence[Unit], catalog: Catalog, bench: Workbench) -> Proof:
    edits = tuple(dict.fromkeys(edit for unit in units for edit in unit.edits))
    names = catalog.universe.by_name
    masks = [catalog.universe.mask(names[name] for name in unit.opens) for unit in units]
    try:
        data = _edited(bench, edits)
    except ValueError:
        return Proof(False, "its edits touch those of another fix")
    wants = [want for unit, mask in zip(units, masks, strict=True) for want in _wants(unit.findings, mask)]
    return prove(bench, wants, edits, data, whole=True)


def _wants(findings: Sequence[Finding], mask: int) -> list[Want]:
    return [Want(finding.gate, finding.arm, finding.problem is Problem.EXCLUDED, mask) for finding in findings]


def fix_for(
    finding: Finding,
    findings: Sequence[Finding],
    selection: Selection,
    catalog: Catalog,
    bench: Workbench,
    halves: bool = False,
) -> Fix | None:
    """The fix of one finding, proven on the files that it edits; None if there is none.

    `findings` are all of the report: halves that stay shut make it unsafe. With `halves`, those that have to be opened
    with it are edited too.
    """
    if never_fixed(finding) or finding.path not in bench.sources():
        return None
    unit = _closed_over([finding], findings) if halves else (finding,)
    able = tuple(member for member in unit if not never_fixed(member))
    made = _weighed_unit(findings, selection, catalog, bench, FixOptions(), able)
    return _fix(made)


def _fix(made: Unit | str) -> Fix | None:
    """What a report says of a unit."""
    return None if isinstance(made, str) else Fix(made.title, made.safe, made.edits, made.reasons, made.opens)


def fixes(
    findings: Sequence[Finding], selection: Selection, catalog: Catalog, bench: Workbench
) -> list[tuple[Finding, Fix | None]]:
    """Every finding with the fix that `archscan fix` would propose: both halves of a pair, or none."""
    able = [tuple(f for f in members if not never_fixed(f)) for members in _units(findings, FixOptions())]
    able = [members for members in able if members and all(f.path in bench.sources() for f in members)]
    make = partial(_weighed_unit, findings, selection, catalog, bench, FixOptions())
    made = bench.spread(make, able, _paths(able))
    known = {f.fingerprint: _fix(unit) for members, unit in zip(able, made, strict=True) for f in members}
    return [(finding, known.get(finding.fingerprint)) for finding in findings]


def _paths(units: Iterable[Sequence[Finding]]) -> list[str]:
    return [finding.path for members in units for finding in members]


def _matches(finding: Finding, options: FixOptions) -> bool:
    if options.rules and finding.rule not in options.rules:
        return False
    if options.chains and finding.chain not in options.chains:
        return False
    return not options.paths or any(fnmatch(finding.path, pattern) for pattern in options.paths)


def never_fixed(finding: Finding) -> str:
    """Why a finding never gets an edit, or ""."""
    if finding.advice is Advice.LEAVE:
        return "right as it is"
    if finding.binary is not None:
        return "a compiled library has to be built anew"
    if finding.advice is Advice.INVESTIGATE:
        return "nothing measured says what would happen if it were opened"
    if finding.risk.level is Level.BLOCKED or finding.advice is Advice.WIDEN_UNSAFE_COMPILE:
        return "it would not assemble on the target"
    if finding.problem is Problem.DISAGREES:
        return SETTLED
    if finding.origin in ("vendored", "generated"):
        return f"{finding.origin} code: change it where it comes from"
    if finding.gate.layer in (Layer.HOST, Layer.DEVICE):
        return f"{finding.gate.layer.value} code is reported only"
    if finding.problem is Problem.OVER_ADMITTED and finding.intent is Intent.LIMIT:
        return "the number is wrong, not who gets it: write what the target has"
    if finding.problem is Problem.OVER_ADMITTED and _ends_in_silence(finding):
        return "closing it would end in silence: what the target would get refuses nothing"
    return _REPORT_ONLY.get(finding.gate.kind, "")


SETTLED = "settled by the gates it is paired with"
_LOUD = frozenset({Does.ERRORS, Does.RAISES, Does.TRAPS, Does.ASSERTS})


def _ends_in_silence(finding: Finding) -> bool:
    """Whether the target, shut out of the arm, would get nothing, a constant, or what follows without a word."""
    gate = finding.gate
    later = gate.arms[finding.arm + 1 :] if finding.arm >= 0 else ()
    lands = next((arm.effect for arm in later if arm.is_else or not arm.own.yes), gate.rest)
    return lands.does not in _LOUD and lands.does is not Does.WORK


def _units(findings: Sequence[Finding], options: FixOptions) -> Iterator[tuple[Finding, ...]]:
    """What opens together: a chain that was asked for, with the halves that lie outside it; else halves of a pair."""
    left = [finding for finding in findings if _matches(finding, options)]
    shut = [finding for finding in findings if finding.problem is Problem.EXCLUDED]
    if options.chains:
        for chain in dict.fromkeys(finding.chain for finding in left if finding.problem is Problem.EXCLUDED):
            yield _closed_over([finding for finding in shut if finding.chain == chain], shut)
        left = [finding for finding in left if finding.problem is not Problem.EXCLUDED]
    while left:
        unit = _closed_over([left[0]], left)
        left = [finding for finding in left if finding not in unit]
        yield unit


def _closed_over(members: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    """The members and every other finding that is a half of one of them, in path order."""
    unit: list[Finding] = []
    pending = list(members)
    left = [finding for finding in others if finding not in pending]
    while pending:
        member = pending.pop()
        unit.append(member)
        partners = [other for other in left if _paired(member, other)]
        left = [other for other in left if other not in partners]
        pending += partners
    return tuple(sorted(unit, key=lambda f: (f.path, f.place.start)))


def _paired(one: Finding, other: Finding) -> bool:
    return _names(one, other) or _names(other, one)


def _names(one: Finding, other: Finding) -> bool:
    return any(r.role is Role.PAIR and (r.path, r.line) == (other.path, other.place.line) for r in one.related)


def _weighed_unit(
    findings: Sequence[Finding],
    selection: Selection,
    catalog: Catalog,
    bench: Workbench,
    options: FixOptions,
    members: tuple[Finding, ...],
) -> Unit | str:
    """The unit of these findings with its safety, or why there is none."""
    made = _made(members, findings, selection, catalog, bench, options)
    return made if isinstance(made, str) else _weighed(made, findings, catalog, bench)


def _made(
    members: tuple[Finding, ...],
    findings: Sequence[Finding],
    selection: Selection,
    catalog: Catalog,
    bench: Workbench,
    options: FixOptions,
) -> Unit | str:
    """The unit, if need be with the other gates that these findings rest on; or why there is none."""
    made = _make_unit(members, selection, catalog, bench, options)
    if isinstance(made, Unit):
        return made
    near = {(r.path, r.line) for f in members for r in f.related}
    below = [f for f in findings if f not in members and (f.path, f.place.line) in near and not never_fixed(f)]
    if not below:
        return made
    wider = _make_unit((*below, *members), selection, catalog, bench, options)
    return wider if isinstance(wider, Unit) else made


def _make_unit(
    members: tuple[Finding, ...], selection: Selection, catalog: Catalog, bench: Workbench, options: FixOptions
) -> Unit | str:
    """The unit, each gate proven in its own file, for the narrowest set that all can say; or why there is none."""
    reaches = [Reach.WIDEN] if options.widen else [Reach.FAMILY] if options.family else [Reach.EXACT, Reach.FAMILY]
    why = "no edit is known for this form"
    for reach in reaches:
        result = _at_reach(members, selection, catalog, bench, reach, bool(options.chains))
        if isinstance(result, Unit):
            return result
        why = result
    return why


def _at_reach(
    members: tuple[Finding, ...],
    selection: Selection,
    catalog: Catalog,
    bench: Workbench,
    reach: Reach,
    alone: bool,  # a chain was asked for: what else its gates guard is none of it
) -> Unit | str:
    if why := next(filter(None, (_foreign_code(f, selection, catalog, bench) for f in members)), ""):
        return why
    edits: tuple[Edit, ...] = ()
    only = _chain_names(members) if alone else frozenset()
    mask = 0
    for finding in members:
        admitted = _admission(finding, selection, catalog, reach)
        mask |= admitted.mask
        found = _first_proven(finding, admitted, bench, edits, only)
        if isinstance(found, str):
            return found
        edits = tuple(dict.fromkeys([*edits, *found]))
    proof = prove(bench, _wants(members, mask), edits, _edited(bench, edits), whole=False)
    if not proof.holds:
        return proof.why
    opens = tuple(target.name for target in catalog.universe.members(mask))
    return Unit(_id(members), _title(members, opens), True, (), members, edits, opens, proof.also)


def _foreign_code(finding: Finding, selection: Selection, catalog: Catalog, bench: Workbench) -> str:
    """Why letting the target into an arm would help nothing: what it builds or loads there is another chip's code."""
    arm = finding.gate.arms[finding.arm] if finding.arm >= 0 else None
    if arm is None or arm.body is None or finding.problem is not Problem.EXCLUDED or finding.gate.kind is not Kind.IF:
        return ""
    code = bench.source(finding.path).data[arm.body.start : arm.body.end].decode("utf-8", "replace")
    images = picked_images(code, catalog)
    if not images or loaded(images, selection, catalog):
        return ""
    return f"its code is for {images[0].name}, which {selection.name} does not load: it needs an arm of its own"


def _first_proven(
    finding: Finding, admitted: Admission, bench: Workbench, done: tuple[Edit, ...], only: frozenset[str]
) -> tuple[Edit, ...] | str:
    """The edits of the first proposal that holds, () if earlier edits did it already, or why none holds."""
    wants = _wants([finding], admitted.mask)
    touched = {edit.path for edit in done}
    if finding.path in touched and prove(bench, wants, done, _edited(bench, done), whole=False).holds:
        return ()
    why = "no edit is known for this form"
    for proposal in islice(_proposals(finding, admitted, bench, only), _TRIES):
        edits = tuple(dict.fromkeys([*done, *proposal.edits]))
        try:
            data = _edited(bench, edits)
        except ValueError:
            continue
        touched = {edit.path for edit in proposal.edits}
        near = {path: content for path, content in data.items() if path in touched or path == finding.path}
        proof = prove(bench, wants, [e for e in edits if e.path in near], near, whole=False)
        if proof.holds:
            return proposal.edits
        why = proof.why
    return why


def _proposals(finding: Finding, admitted: Admission, bench: Workbench, only: frozenset[str]) -> Iterator[Proposal]:
    gate, data = finding.gate, bench.source(finding.path).data
    if gate.layer is Layer.PREPROCESSOR:
        yield from _preprocessor_proposals(finding, data, admitted)
    elif not finding.path.endswith((".py", ".pyi")):
        if gate.kind is Kind.BUILD_LIST and finding.arm >= 0:
            yield from cmake_open(finding.path, data, gate.arms[finding.arm], admitted)
    else:
        file = PythonFile(finding.path, data, _binder(bench))
        for arm in _python_arms(gate, finding.arm):
            yield from python_open(file, gate.arms[arm], admitted, only)
            if admitted.reach is not Reach.WIDEN:
                yield from python_close(file, gate.arms[arm], admitted)


def _preprocessor_proposals(finding: Finding, data: bytes, admitted: Admission) -> Iterator[Proposal]:
    gate, index = finding.gate, finding.arm
    guarded = gate.arms[index] if index >= 0 else None
    if finding.problem is Problem.OVER_ADMITTED:
        if guarded is not None:
            yield from close_proposals(gate.path, data, guarded, admitted)
    elif guarded is not None and not guarded.is_else:
        yield from open_proposals(gate.path, data, guarded, admitted)
    else:  # the arm is reached by falling past the others: close the one that takes the target
        for arm in gate.arms[: index if index >= 0 else len(gate.arms)]:
            if arm.assumed.yes & admitted.mask:
                yield from close_proposals(gate.path, data, arm, admitted)


def _python_arms(gate: Gate, index: int) -> Sequence[int]:
    if index >= 0 and not gate.arms[index].is_else:
        return [index]
    return range(len(gate.arms) if index < 0 else index)


def _admission(finding: Finding, selection: Selection, catalog: Catalog, reach: Reach) -> Admission:
    universe = catalog.universe
    if reach is Reach.WIDEN and finding.gate.layer is Layer.PREPROCESSOR:
        newer = universe.mask(t for t in universe.targets if t.sm >= selection.sm)
        return Admission(universe, newer, reach)
    reach = Reach.FAMILY if reach is Reach.WIDEN else reach
    if finding.gate.layer is not Layer.PREPROCESSOR:
        plain = admission(universe, selection, reach)
        sms = universe.mask(t for sm in plain.sms for t in universe.variants(sm))
        return Admission(universe, sms, reach)
    usable = _usable(finding, catalog)
    if finding.problem is Problem.OVER_ADMITTED:
        taken = finding.gate.arms[finding.arm].assumed.yes if finding.arm >= 0 else universe.device
        return admission(universe, selection, reach, taken & ~usable or taken)
    return admission(universe, selection, reach, usable)


def _usable(finding: Finding, catalog: Catalog) -> int:
    """The targets that assemble everything the guarded code is seen to use (measured)."""
    mask = catalog.universe.all
    if finding.arm >= 0:
        for use in finding.gate.arms[finding.arm].features:
            if use.confidence == "high" and use.feature in catalog.features:
                mask &= catalog.features[use.feature].mask
    return mask


def _weighed(unit: Unit, findings: Sequence[Finding], catalog: Catalog, bench: Workbench) -> Unit:
    """The unit with its safety: safe is earned, every reason against it is named. The one place that decides."""
    members = unit.findings
    reasons = [_WHY_UNSAFE[f.advice] for f in members if f.advice in _WHY_UNSAFE]
    if any(f.problem is not Problem.EXCLUDED for f in members):
        reasons.append(_CLOSES)
    elif not all(map(_is_known_to_run, members)):
        reasons.append(_UNKNOWN)
    elif not _is_confirmed(unit, catalog, bench):
        reasons.append(_UNCHECKED)
    if any(f.risk.level in (Level.HIGH, Level.BLOCKED) and f.problem is Problem.EXCLUDED for f in members):
        reasons.append("the risk is high")
    if any(f.origin == "test" for f in members):
        reasons.append("test code")
    if any(_loses_comment(edit, bench) for edit in unit.edits):
        reasons.append("a comment would be lost")
    if unit.also:
        reasons.append(f"moves {len(unit.also)} more: {', '.join(unit.also[:4])}")
    missing = [
        f"{other.path}:{other.place.line}"
        for other in findings
        if other.problem is Problem.EXCLUDED and other not in members and any(_paired(f, other) for f in members)
    ]
    if missing:
        reasons.append(f"the other half of the pair stays shut: {', '.join(missing[:6])}")
    distinct_reasons = tuple(dict.fromkeys(reasons))
    return replace(unit, safe=not distinct_reasons, reasons=distinct_reasons)


# The proof evaluates with what made the proposal, and fixes that were called safe turned build errors into silent zeros
_UNCHECKED = "its condition was checked by nothing but what proposed it"
_UNKNOWN = "not everything behind it is known to run there"
_CLOSES = "it takes code away from the target"
_WHY_UNSAFE = {
    Advice.PAIR: "right only together with the other half",
    Advice.WIDEN_PERF_RISK: "there is evidence of loss",
    Advice.WIDEN_NEEDS_TUNING: "constants were chosen for other chips",
    Advice.WIDEN_UNSAFE_RUNTIME: "something it needs is missing for the target",
    Advice.CONTESTED: "good sources disagree",
}


def _is_known_to_run(finding: Finding) -> bool:
    """Whether the target runs what opens: measured, or the gate itself asks for the target and is only misspelt."""
    misspelt = finding.intent is Intent.MISTAKE and finding.capability is not Capability.CANNOT
    return finding.capability is Capability.CAN or misspelt


def _is_confirmed(unit: Unit, catalog: Catalog, bench: Workbench) -> bool:
    """Whether a second evaluator gives the announced answer for the edited conditions, and the old one elsewhere."""
    cuda = bench.context.settings.cuda
    names = catalog.universe.by_name
    opened = catalog.universe.mask(names[name] for name in unit.opens)
    after = bench.after(_edited(bench, unit.edits), whole=False)
    for finding in unit.findings:
        if finding.gate.layer is Layer.PYTHON and finding.path.endswith(".py"):
            if not _python_agrees(finding, unit, after.get(finding.path, []), catalog, bench):
                return False
            continue
        if finding.gate.layer is not Layer.PREPROCESSOR or finding.arm < 0:
            return False
        line = finding.gate.place.line  # a condition is edited within its lines
        moved = [g for facts in after.get(finding.path, []) for g in facts.gates if g.place.line == line]
        if len(moved) != 1 or len(moved[0].arms) != len(finding.gate.arms):
            return False
        conditions = (finding.gate.arms[finding.arm].condition, moved[0].arms[finding.arm].condition)
        before, now = (truth(text, catalog.universe, catalog.macros, cuda) for text in conditions)
        if before is None or now is None or now != before | opened:
            return False
    return True


def _python_agrees(
    finding: Finding, unit: Unit, after: Sequence[FileFacts], catalog: Catalog, bench: Workbench
) -> bool:
    """Whether every condition of a Python gate that the edits change is told alike by the second evaluator.

    What they change beside the conditions is not looked at, and so is no proof.
    """
    gate, universe = finding.gate, catalog.universe
    moved = [g for facts in after for g in facts.gates if g.kind is gate.kind and g.place.line == gate.place.line]
    edits = [edit for edit in unit.edits if edit.path == finding.path]
    if len(moved) != 1 or len(moved[0].arms) != len(gate.arms) or not edits:
        return False
    pairs = [(old, new) for old, new in zip(gate.arms, moved[0].arms, strict=True) if old.condition != new.condition]
    held = [arm.place for arm, _ in pairs]
    if not pairs or any(not any(p.start <= e.start and e.end <= p.end for p in held) for e in edits):
        return False
    data = applied(bench.source(finding.path).data, tuple(edits))
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return all(agrees((old.condition, new.condition), (old.own, new.own), universe) for old, new in pairs)


def _loses_comment(edit: Edit, bench: Workbench) -> bool:
    old = bench.source(edit.path).data[edit.start : edit.end]
    pattern = rb"#[^\n]*" if edit.path.endswith((".py", ".cmake", ".txt")) else rb"//[^\n]*|/\*.*?\*/"
    return any(comment.decode("utf-8", "replace") not in edit.text for comment in re.findall(pattern, old, re.DOTALL))


def _chain_names(members: Sequence[Finding]) -> frozenset[str]:
    """Functions that build what opens: where a condition guards others too, only statements that name one open.

    For a chain alone: a gate is judged for all that it guards, so that a fix of all would open the rest the next time.
    """
    return frozenset(f.function for f in members if f.gate.kind is Kind.KEYWORD_LIST and f.function)


def _edited(bench: Workbench, edits: Sequence[Edit]) -> dict[str, bytes]:
    paths = dict.fromkeys(edit.path for edit in edits)
    return {
        path: applied(bench.source(path).data, tuple(edit for edit in edits if edit.path == path)) for path in paths
    }


def _binder(bench: Workbench) -> Callable[[str, str], bool]:
    """Whether a scanned file that a module path may mean, or one inside that package, defines a name.

    Generous on purpose: whether the import works is for the proof, which follows it.
    """

    def binds(module: str, name: str) -> bool:
        last = module.rsplit(".", 1)[-1]
        word = re.escape(name.encode("utf-8", "surrogateescape"))
        pattern = re.compile(rb"(?m)^(?:def\s+" + word + rb"\b|(?:\w+\s*=\s*)*" + word + rb"\s*[:=])")
        near = (path for path in bench.sources() if path.endswith(f"{last}.py") or f"{last}/" in path)
        return any(pattern.search(bench.source(path).data) for path in near if path.endswith(".py"))

    return binds


def _id(members: Sequence[Finding]) -> str:
    chains = {finding.chain for finding in members}
    chain = chains.pop() if len(chains) == 1 else None
    return chain if chain and len(members) > 1 else members[0].fingerprint


def _title(members: Sequence[Finding], opens: Sequence[str]) -> str:
    verb = "open" if members[0].problem is Problem.EXCLUDED else "close"
    what = f"{len(members)} gates" if len(members) > 1 else f"{members[0].path}:{members[0].place.line}"
    return f"{verb} {what} for {', '.join(opens)}"
