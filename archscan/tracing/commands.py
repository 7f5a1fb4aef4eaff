"""What `trace`, `explain MESSAGE` and `diff` do: paths in, a report or a text out. Where tracing reads files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from archscan.catalog.types import Catalog
from archscan.errors import UserError
from archscan.frontends.links import builders_of
from archscan.model.facts import Facts, Failed, Skipped
from archscan.model.report import Chain, Report, Step
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.model.target import Selection
from archscan.reporting.json_format import headed
from archscan.reporting.words import counted
from archscan.tracing.code import Code
from archscan.tracing.diff import Change, Difference, Group, compare, condition
from archscan.tracing.messages import Explanation, explain_message, leading_to
from archscan.tracing.states import SHUT, GateState, states

_MARKS = {"shut": "x", "open": "o", "unknown": "?", "clean": "."}
_TITLES = {
    "opened": "opened: shut before, lets it in now",
    "closed": "closed: not shut before, shut now",
    "undecided": "shut before, undecided now",
    "moved": "moved, still shut",
    "new": "new and shut",
    "gone": "gone with its file",
}
_MOST_NEW = 20
Typed = Callable[[str], str]


def read_code(paths: Sequence[str], settings: ScanSettings, catalog: Catalog, facts: Facts | None = None) -> Code:
    """The files below `paths`, read when a trace asks for them; their links as a scan of them found them."""
    from archscan.sources import discover, read, vendored_trees

    found = {s.path: s for s in discover(paths, settings, vendored_trees(catalog.packages)).sources}

    def load(path: str) -> bytes:
        source = next(read([found[path]]))
        return b"" if isinstance(source, Skipped | Failed) else source.data

    origins = {path: source.origin for path, source in found.items()}
    linked = {file.path: file.links for file in facts.files if file.links} if facts else None
    return Code(origins, load, builders_of(catalog.packages), linked)


def trace_report(
    name: str, paths: Sequence[str], selection: Selection, catalog: Catalog, settings: ScanSettings
) -> Report:
    """The chains behind `name` as a report: they and the findings on them. Raises UserError for an unknown name."""
    from archscan import pipeline

    facts = pipeline.with_kernels(
        pipeline.scan(paths, catalog, settings), selection, catalog, settings, JudgeSettings(), names=True
    )
    report = pipeline.report(facts, selection, catalog, JudgeSettings())
    return traced(name, report, read_code(paths, settings, catalog, report.facts), catalog)


def traced(name: str, report: Report, code: Code, catalog: Catalog | None = None) -> Report:
    """`report` cut down to the chains behind `name`, for any format; with the catalog they end in the libraries."""
    from archscan.tracing.trace import trace

    if catalog is None or not report.facts.libraries:
        chains = trace(name, report, code)
    else:
        from archscan.tracing.binaries import in_libraries, with_libraries

        try:
            chains = with_libraries(trace(name, report, code), report, catalog, name)
        except UserError:
            chains = in_libraries(report, catalog, name)
            if not chains:
                raise
    owner = {s.fingerprint: chain.id for chain in reversed(chains) for s in chain.steps if s.fingerprint}
    found = tuple(replace(f, chain=owner[f.fingerprint]) for f in report.findings if f.fingerprint in owner)
    return replace(report, findings=found, chains=chains)


def trace_text(report: Report, typed: Typed = str, width: int = 100) -> str:
    """The chains of a traced report as a tree, each closed by its sentence."""
    return "\n".join(_chain_text(chain, report.selection.name, typed, width) for chain in report.chains)


def _chain_text(chain: Chain, target: str, typed: Typed, width: int) -> str:
    lines = [f"{chain.id} on {target}"]
    branches = [list(group) for _, group in groupby(chain.steps, _branch)]
    for i, steps in enumerate(branches):
        last = i == len(branches) - 1
        lines += _branch_lines(steps, "└─ " if last else "├─ ", "   " if last else "│  ", typed, width)
    return "\n".join([*lines, "", *_sentence_lines(chain.sentence, width), ""])


def _branch(step: Step) -> tuple[str, ...]:
    """Neighbouring gates of one file with one answer share a branch."""
    return (step.path, step.state, step.reach, step.layer, step.role, "" if step.role == "gate" else step.message)


_MESSAGE = 12  # columns that a message stands behind the bar


def _branch_lines(steps: list[Step], branch: str, bar: str, typed: Typed, width: int) -> Iterable[str]:
    first = steps[0]
    numbers = ",".join(str(s.line) for s in steps if s.line)
    place = typed(first.path) + (f":{numbers}" if numbers else "")
    reach = "  (built, not run)" if first.reach == "built" else ""
    head = f"{branch}{_MARKS.get(first.state, ' ')} {first.state:<7} {first.layer:<12} "
    if len(head) + len(place) + len(reach) <= width:
        yield f"{head}{place}{reach}"
    else:  # the place on a line of its own, whole: it is there to be copied
        yield f"{head.rstrip()}{reach}"
        yield f"{bar}  {place}"
    for message in dict.fromkeys(" ".join(s.message.split()) for s in steps):
        saying = [str(s.line) for s in steps if " ".join(s.message.split()) == message]
        which = "" if len(saying) == len(steps) else f"{', '.join(saying)}: "
        indent = f"{bar}{' ' * _MESSAGE}"
        yield from _wrapped(f"{which}{message}", indent, width)


def _sentence_lines(sentence: str, width: int) -> list[str]:
    """One part of the sentence a line; the first stands out."""
    first, *rest = sentence.split("; ")
    return [*_wrapped(first, "", width), *(line for part in rest for line in _wrapped(part, "  ", width))]


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    """The lines of `text` behind `indent`, further ones a little deeper; names are never cut."""
    lines = textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [indent.rstrip()]


def explained(
    text: str,
    catalog: Catalog,
    paths: Sequence[str] = (),
    settings: ScanSettings | None = None,
    selection: Selection | None = None,
) -> Explanation:
    """What an error message means; with paths also where it is raised and by which gates, those that shut first."""
    if not paths:
        return explain_message(text, catalog)
    from archscan import pipeline

    settings = settings or ScanSettings()
    facts = pipeline.scan(paths, catalog, settings)
    explanation = explain_message(text, catalog, facts, read_code(paths, settings, catalog, facts))
    if selection is None:
        return explanation
    judging = JudgeSettings(include_vendored=True, include_tests=True)
    facts = pipeline.with_kernels(facts, selection, catalog, settings, judging)
    report = pipeline.report(facts, selection, catalog, judging)
    known = {id(state.gate): state.state for found in states(report).values() for state in found}
    causes = [replace(cause, state=known.get(id(cause.gate), "")) for cause in explanation.causes]
    ordered = tuple(sorted(causes, key=lambda c: c.state != SHUT))
    return replace(explanation, causes=ordered, libraries=leading_to(explanation.error, report))


_HINTS = (
    "paste the line that says error, without what the compiler quotes around it",
    "name the project: `archscan explain MESSAGE PATH` finds what raises it, and the gates that are the reason",
    "if it speaks of an architecture: `archscan builds PATH` shows what is built, `archscan targets` what there is",
)


def is_known(explanation: Explanation) -> bool:
    """Whether anything is known of a message: its family, a place that raises it, or a gate that is the reason."""
    return bool(explanation.id or explanation.raised or explanation.causes)


def explanation_text(explanation: Explanation, typed: Typed = str) -> str:
    """The explanation for people."""
    e = explanation
    lines = [f"{e.id}: {e.title}", ""] if e.id else ["no known family of messages", ""]
    if not is_known(e):
        lines += ["what to try:", *(f"  - {hint}" for hint in _HINTS), ""]
    if e.id:
        lines += [e.meaning, f"layer: {', '.join(e.layers)}", f"what to do: {e.advice}", f"source: {e.source}", ""]
    if e.raised:
        lines += ["raised in:"]
        lines += [f'  {typed(r.path)}:{r.line}  {r.function or "module level"}  "{r.template}"' for r in e.raised]
        lines += [""]
    if e.causes:
        lines += ["because of:" if any(c.exact for c in e.causes) else "gates that can be the reason:"]
        for c in e.causes:
            state = f"{c.state:<8}" if c.state else ""
            lines.append(f"  {state}{typed(c.gate.path)}:{c.line}  {_first(c.gate.arms)}  ({c.why})")
        lines += [""]
    if e.libraries:
        lines += ["libraries that lead to it:", *(f"  {typed(path)}  {why}" for path, why in e.libraries), ""]
    return "\n".join(lines)


def _first(arms: Iterable[Any]) -> str:
    return next((" ".join(arm.condition.split()) for arm in arms if arm.condition), "")


def explanation_object(explanation: Explanation) -> dict[str, Any]:
    """The explanation as plain values."""
    e = explanation
    raised = [
        {"path": r.path, "line": r.line, "function": r.function or None, "template": r.template} for r in e.raised
    ]
    gates = [
        {
            "path": c.gate.path,
            "line": c.line,
            "condition": _first(c.gate.arms),
            "why": c.why,
            "exact": c.exact,
            "state": c.state or None,
        }
        for c in e.causes
    ]
    explained = {
        "message": e.message,
        "id": e.id or None,
        "title": e.title,
        "meaning": e.meaning,
        "layers": list(e.layers),
        "advice": e.advice,
        "source": e.source,
        "raised": raised,
        "gates": gates,
        "libraries": [{"path": path, "why": why} for path, why in e.libraries],
    }
    return headed(explanation=explained)


def diff_report(
    old: Sequence[str], new: Sequence[str], selection: Selection, catalog: Catalog, settings: ScanSettings
) -> Difference:
    """What opened, closed and moved for the target between two trees."""
    from archscan import pipeline

    reports = [
        pipeline.report(pipeline.scan(paths, catalog, settings), selection, catalog, JudgeSettings())
        for paths in (old, new)
    ]
    return compare(*reports)


def diff_text(difference: Difference, width: int = 100) -> str:
    """The difference for people: by chain, what opened first; closed by an account in which the counts add up."""
    lines: list[str] = []
    for group in difference.groups:
        lines += _wrapped(_group_title(group), "", width)
        for what, title in _TITLES.items():
            changes = [change for change in group.changes if change.what == what]
            if changes:
                lines.append(f"  {title} ({len(changes)})")
                shown = changes[:_MOST_NEW] if what == "new" else changes
                lines += [f"  {line}" for change in shown for line in _change_lines(change)]
                if len(shown) < len(changes):
                    lines.append(f"    and {len(changes) - len(shown)} more (--format json has them all)")
        lines.append("")
    return "\n".join([*lines, *_counts(difference, width), ""])


def _group_title(group: Group) -> str:
    """`trtllm_comm: shut by 5 of 6 gates before, nothing shut now`."""
    if not group.name:
        return "on no chain"
    before, now = (said or "nothing shut" for said in (group.before, group.now))
    return f"{group.name}: {before} before, {now} now" if before != now else f"{group.name}: {now}, before and now"


def _counts(difference: Difference, width: int) -> list[str]:
    """How many gates shut the target out before and now, and what makes the difference."""
    number = {what: len(difference.of(what)) for what in _TITLES}
    less = [f"{number[what]} {word}" for what, word in _LESS.items() if number[what]]
    more = [f"{number[what]} {word}" for what, word in _MORE.items() if number[what]]
    stays = difference.old_shut - sum(number[what] for what in _LESS)
    moved = f", {number['moved']} of them elsewhere" if number["moved"] else ""
    before = f"{counted(difference.old_shut, 'gate')} shut{'s' if difference.old_shut == 1 else ''}"
    lines = [f"{before} {difference.target} out before, {difference.new_shut} now"]
    lines += [f"less: {', '.join(less)}"] if less else []
    lines += [f"more: {', '.join(more)}"] if more else []
    lines += [f"{counted(stays, 'gate')} shut before and now{moved}"] if stays else []
    return [line for one in lines for line in _wrapped(one, "" if one is lines[0] else "  ", width)]


_LESS = {"opened": "opened", "gone": "gone with their file", "undecided": "undecided now"}
_MORE = {"closed": "closed", "new": "new"}


def _change_lines(change: Change) -> Iterable[str]:
    yield f"  {_places(change.old, change.new)}"
    before, after = condition(change.old), condition(change.new)
    if before and after and before != after:
        yield f"      {before}  ->  {after}"
    else:
        yield f"      {after or before}" + ("" if after else "  ->  no gate")


def _places(old: GateState | None, new: GateState | None) -> str:
    if old and new:
        same = old.gate.path == new.gate.path
        return f"{old.place} -> {new.line}" if same else f"{old.place} -> {new.place}"
    state = new or old
    return state.place if state else ""


def diff_object(difference: Difference) -> dict[str, Any]:
    """The difference as plain values."""
    numbers = {what: len(difference.of(what)) for what in _TITLES}
    return headed(
        target={"name": difference.target},
        summary={"old_shut": difference.old_shut, "new_shut": difference.new_shut, **numbers},
        changes=[
            {"change": c.what, "list": c.is_list, "chain": c.chain, "old": _side(c.old), "new": _side(c.new)}
            for c in difference.changes
        ],
    )


def _side(state: GateState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {
        "path": state.gate.path,
        "line": state.line,
        "layer": state.gate.layer.value,
        "state": state.state,
        "condition": condition(state),
        "function": state.gate.scope.name if state.gate.scope else None,
        "fingerprint": state.finding.fingerprint if state.finding else None,
    }
