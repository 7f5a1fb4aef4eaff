"""The account of a gate for people, and as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from archscan.catalog.types import Catalog, Feature
from archscan.judge.branches import REST
from archscan.judge.needs.features import COMPILED
from archscan.model.finding import Capability, Finding
from archscan.model.gate import NOTHING, Arm, Does, Effect, FeatureUse, Gate, Mention
from archscan.model.report import Report
from archscan.model.target import Universe
from archscan.model.truth import Truth
from archscan.reporting.fix_diff import diff_lines
from archscan.reporting.json_format import chain_object, finding_object, headed
from archscan.reporting.places import Places
from archscan.reporting.plain import said, takes, verb
from archscan.reporting.words import compact, few, one_line, shortened, verdict, wrapped
from archscan.tracing.account import Account, Accounts, Inventory

Typed = Callable[[str], str]
_LONGEST = 160
_MOST_NAMES = 12
_CAPABLE = {
    Capability.CAN: "everything behind it is known and assembles",
    Capability.CANNOT: "something behind it is measured, and no variant of the target has it",
    Capability.UNKNOWN: "not everything behind it is known",
}
_RUNS = frozenset({Does.WORK, Does.RETURNS})  # code behind which more may be called
_VIA = {
    "includes": "told by the files that include it",
    "project-table": "told by the definitions of the whole project",
}


def account_text(accounts: Accounts, catalog: Catalog, width: int) -> str:
    """Everything known of the gates at a place, a section for each thing."""
    places = Places(accounts.facts)
    lines: list[str] = []
    for account in accounts.gates:
        lines += [*_gate_lines(account, accounts.report, catalog, places), ""]
    for place in accounts.unread:
        lines += [f"{places.typed(accounts.path)}:{place.line}: not understood: {place.reason}", ""]
        lines += [f"  {one_line(place.condition)}", ""]
    text = "\n".join(lines)
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    return [line] if line.startswith("    |") else wrapped(line, width)  # the lines of a diff stay as they are


def _gate_lines(account: Account, report: Report | None, catalog: Catalog, places: Places) -> Iterator[str]:
    gate, finding = account.gate, account.finding
    where = f" in {gate.scope.name}" if gate.scope and gate.scope.name else ""
    line = finding.place.line if finding else gate.place.line
    yield f"{places.typed(gate.path)}:{line}{where}: {gate.layer.value}, {gate.kind.value}"
    yield from _section("who gets in", _conditions(gate, catalog.universe))
    if report is not None:
        yield from _section(report.selection.name, _today(account, report))
    yield from _section("behind it", _inventory(account, catalog, report, places.typed))
    if finding is not None and report is not None:
        yield from _section("why this advice", _advice(account, finding))
        yield from _section("evidence", _evidence(finding))
    yield from _section("made of", _made_of(gate))
    related = finding.related if finding else gate.related
    yield from _section(
        "belongs together", (f"{places.typed(r.path)}:{r.line}  {r.role.value}: {r.message}" for r in related)
    )
    if account.chain is not None:
        yield from _section(f"chain {account.chain.name}", [account.chain.sentence])
    if finding is not None:
        yield from _section("fix", _fix(account, finding, places))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = [line for line in lines if line.strip()]
    if found:
        yield ""
        yield title
        yield from (f"  {line}" for line in found)


def _conditions(gate: Gate, universe: Universe) -> Iterator[str]:
    """Each arm: its condition, who takes it, and what it does."""
    asked = universe.all if gate.layer in COMPILED else universe.device
    if gate.reach is not None and asked & ~gate.reach.yes:
        yield f"around it: {_answers(gate.reach, (), universe, asked)}"
    for arm in gate.arms:
        condition = "else" if arm.is_else else shortened(one_line(arm.condition), _LONGEST)
        yield f"{arm.place.line}: {condition}"
        if not arm.is_else and arm.own != arm.truth:
            yield f"    by itself: {_answers(arm.own, arm.unknowns, universe, asked)}"
        yield f"    taken: {_answers(arm.truth, arm.unknowns, universe, asked)}"
        if arm.assumes and arm.assumed != arm.truth:
            yield f"    supposing {few(arm.assumes, _MOST_NAMES)}: {_answers(arm.assumed, (), universe, asked)}"
        if arm.via.value in _VIA:
            yield f"    {_VIA[arm.via.value]}"
        yield f"    does: {_effect(arm.effect)}"
    if not any(arm.is_else for arm in gate.arms):
        yield f"no arm taken: {_effect(gate.rest or NOTHING)}"


def _answers(truth: Truth, unknowns: tuple[str, ...], universe: Universe, asked: int) -> str:
    """`yes 90-103; no 75-89; unknown 110 (hangs on USE_X)`, of the targets that are asked about."""
    open_ = truth.unknown(asked)
    parts = [
        f"{word} {compact(universe.names(mask & asked), universe)}"
        for word, mask in (("yes", truth.yes), ("no", truth.no), ("unknown", open_))
        if mask & asked
    ]
    blamed = f" (hangs on {few(unknowns, _MOST_NAMES)})" if open_ and unknowns else ""
    return "; ".join(parts) + blamed


def _effect(effect: Effect) -> str:
    said_ = f', "{shortened(one_line(effect.message), _LONGEST)}"' if effect.message else ""
    value = f" {shortened(one_line(effect.value), _LONGEST)}" if effect.value else ""
    override = f" (set {', '.join(effect.environment)} to override)" if effect.environment else ""
    return f"{effect.does.value}{value}{said_}{override}"


def _today(account: Account, report: Report) -> Iterator[str]:
    """What the gate means for the target."""
    finding = account.finding
    if finding is None:
        yield f"nothing is reported: {account.silence}"
        return
    yield f"{finding.severity.value}[{finding.rule}]: {finding.problem.value}, {finding.consequence.value}"
    yield f"verdict: {verdict(finding)}" + (
        f" (hangs on {few(finding.unknowns, _MOST_NAMES)})" * bool(finding.unknowns)
    )
    if finding.assumes:
        yield f"supposing: {few(finding.assumes, _MOST_NAMES)}"
    yield f"today: {said(finding)}"
    yield f"{verb(finding)}: {takes(finding)}"
    yield f"reach: {finding.reach.value}"
    if account.suppressed is not None:
        yield f"silenced by a comment: {account.suppressed or 'without a reason'}"


def _inventory(account: Account, catalog: Catalog, report: Report | None, typed: Typed) -> Iterator[str]:
    """What the code of each arm uses, who has that, and what nothing is known of."""
    finding, gate = account.finding, account.gate
    if finding is not None:
        yield f"capability: {finding.capability.value} ({_CAPABLE[finding.capability]})"
    for one in account.inventory:
        arm = gate.arms[one.arm] if one.arm != REST else None
        name = "where no arm is taken" if arm is None else f"{arm.place.line}"
        for feature, use in one.uses:
            yield f"{name}: {_use(feature, use, gate, catalog, report, typed)}"
        if one.missing:
            yield f"{name}: nothing is known of {few([m.name for m in one.missing], _MOST_NAMES)}"
        elif one.missing is None and not one.uses and (gate.rest if arm is None else arm.effect).does in _RUNS:
            yield f"{name}: what the code there uses was not looked for"
    seen = {feature.group for one in account.inventory for feature, _ in one.uses}
    for name in finding.features if finding else ():
        if name not in seen:
            yield f"what is built behind it uses {name}"
    if finding is not None and finding.missing:
        yield f"not known, and compiled for the target once it is open: {few(finding.missing, _MOST_NAMES)}"


def _use(feature: Feature, use: FeatureUse, gate: Gate, catalog: Catalog, report: Report | None, typed: Typed) -> str:
    place = f"{typed(use.path)}:{use.line}" if use.path and use.path != gate.path else f"line {use.line}"
    via = f" through {use.via}" if use.via else ""
    had = compact(catalog.universe.names(feature.mask), catalog.universe) or "no target"
    words = ", only in words beside the code" if use.confidence != "high" else ""
    yours = ""
    if report is not None:
        own, variants = feature.mask & report.selection.mask, len(report.selection.variants)
        some = ", ".join(catalog.universe.names(own)) or "no"
        yours = f"; {report.selection.name}: {'yes' if own.bit_count() == variants else some}"
    return f"{feature.group} ({place}{via}{words}): assembles for {had}{yours} ({feature.source or 'not measured'})"


def _advice(account: Account, finding: Finding) -> Iterator[str]:
    """The advice, the row that gave it, and what it went by."""
    relation = finding.relation.value if finding.relation else "none"
    yield f"intent: {finding.intent.value}; the target is {relation} to those let in ({finding.form})"
    row = account.row
    if row is None:
        yield f"{finding.advice.value}"
    else:
        asked = "; ".join(f"{key} {' or '.join(sorted(values))}" for key, values in row.when.items()) or "anything"
        yield f"{finding.advice.value}, by the row `{row.id}` (docs/advice.md#{row.id}): {row.why}"
        yield f"it is for: {asked}"
        yield one_line(row.page)
        if row.rate is not None:
            yield f"right in {row.rate.right:g} of {row.rate.of} labelled findings ({row.rate.date})"
    yield f"risk: {finding.risk.level.value}, {finding.risk.score} of 100"


def _evidence(finding: Finding) -> Iterator[str]:
    for reason in finding.risk.reasons:
        yield f"- {one_line(reason.text)}"
        for one in reason.evidence:
            under = f"; {', '.join(one.conditions)}" if one.conditions else ""
            yield f"    {one_line(one.fact)} ({one.source}, {one.confidence}{under})"


def _made_of(gate: Gate) -> Iterator[str]:
    if gate.symbols:
        yield f"names: {few(gate.symbols, _MOST_NAMES)}"
    if gate.derived_from:
        yield f"decided by the definitions of: {few(gate.derived_from, _MOST_NAMES)}"
    if gate.assumptions:
        yield f"taken for granted: {few(gate.assumptions, _MOST_NAMES)}"
    if gate.near:
        yield f"beside it: {shortened(one_line(gate.near), 2 * _LONGEST)}"


def _fix(account: Account, finding: Finding, places: Places) -> Iterator[str]:
    if finding.fix is None:
        yield f"none: {account.unfixed}"
        return
    fix = finding.fix
    yield f"{fix.title} ({'safe' if fix.safe else 'unsafe'})"
    yield from (f"unsafe: {reason}" for reason in fix.reasons)
    yield from (f"  | {line}" for line in diff_lines(fix, places.sources()))


def account_object(accounts: Accounts, catalog: Catalog) -> dict[str, Any]:
    """The same as plain values: answers by target, the finding as a scan writes it, and what it rests on."""
    report, universe = accounts.report, catalog.universe
    return headed(
        path=accounts.path,
        line=accounts.line,
        target={"name": report.selection.name, "variants": [t.name for t in report.selection.variants]}
        if report
        else None,
        gates=[_gate_object(account, catalog, universe) for account in accounts.gates],
        not_understood=[
            {"line": u.line, "condition": u.condition, "reason": u.reason, "unknowns": list(u.unknowns)}
            for u in accounts.unread
        ],
    )


def _gate_object(account: Account, catalog: Catalog, universe: Universe) -> dict[str, Any]:
    gate, finding, row = account.gate, account.finding, account.row
    by_arm = {one.arm: one for one in account.inventory}
    rest = {"effect": _effect_object(gate.rest), **_inventory_object(by_arm.get(REST), gate, universe)}
    return {
        "path": gate.path,
        "line": gate.place.line,
        "layer": gate.layer.value,
        "kind": gate.kind.value,
        "function": gate.scope.name if gate.scope else None,
        "around": _by_target(gate.reach, universe) if gate.reach is not None else None,
        "arms": [_arm_object(arm, by_arm[i], gate, universe) for i, arm in enumerate(gate.arms)],
        "rest": rest if REST in by_arm else None,
        "symbols": list(gate.symbols),
        "derived_from": list(gate.derived_from),
        "assumptions": list(gate.assumptions),
        "beside": gate.near,
        "finding": finding_object(finding) if finding else None,
        "relation": finding.relation.value if finding and finding.relation else None,
        "not_reported": account.silence or None,
        "suppressed": account.suppressed,
        "advice_row": {
            "id": row.id,
            "when": {key: sorted(values) for key, values in row.when.items()},
            "advice": row.advice.value,
            "why": row.why,
            "page": " ".join(row.page.split()),
            "rate": {"right": row.rate.right, "of": row.rate.of, "date": row.rate.date} if row.rate else None,
        }
        if row
        else None,
        "no_fix": account.unfixed or None,
        "chain": chain_object(account.chain) if account.chain else None,
    }


def _arm_object(arm: Arm, inventory: Inventory, gate: Gate, universe: Universe) -> dict[str, Any]:
    return {
        "line": arm.place.line,
        "condition": arm.condition,
        "else": arm.is_else,
        "own": _by_target(arm.own, universe),
        "taken": _by_target(arm.truth, universe),
        "supposed": _by_target(arm.assumed, universe),
        "unknowns": list(arm.unknowns),
        "assumes": list(arm.assumes),
        "via": arm.via.value,
        "effect": _effect_object(arm.effect),
        **_inventory_object(inventory, gate, universe),
    }


def _by_target(truth: Truth, universe: Universe) -> dict[str, str]:
    return {target.name: truth.word(universe.bit(target)) for target in universe.targets}


def _effect_object(effect: Effect) -> dict[str, Any]:
    return {
        "does": effect.does.value,
        "line": effect.line or None,
        "message": effect.message,
        "value": effect.value,
        "environment": list(effect.environment),
    }


def _inventory_object(inventory: Inventory | None, gate: Gate, universe: Universe) -> dict[str, Any]:
    if inventory is None:
        return {}
    return {
        "uses": [
            {
                "feature": feature.id,
                "group": feature.group,
                "path": use.path or gate.path,
                "line": use.line,
                "via": use.via or None,
                "confidence": use.confidence,
                "have": list(universe.names(feature.mask)),
                "source": feature.source,
            }
            for feature, use in inventory.uses
        ],
        "missing": None if inventory.missing is None else [_missing_object(m, gate) for m in inventory.missing],
    }


def _missing_object(mention: Mention, gate: Gate) -> dict[str, Any]:
    return {
        "name": mention.name,
        "path": mention.path or gate.path,
        "line": mention.line,
        "via": mention.via or None,
    }
