"""SARIF 2.1.0 as GitHub code scanning takes it, built with sarif-om."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

import attr
import sarif_om as om

from archscan import __version__
from archscan.catalog.types import Rule
from archscan.model.finding import Finding, Fix, Level
from archscan.model.gate import Place
from archscan.model.report import Chain, Report, Suppressed
from archscan.reporting.json_format import json_safe
from archscan.reporting.options import RenderOptions
from archscan.reporting.plain import answer, titled, without_marks
from archscan.reporting.words import body_lines, one_line, verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 25_000  # GitHub refuses a run with more
_MOST_LOCATIONS = 100  # related to a result; GitHub takes 1,000 in all
_MOST_STEPS = 40  # of a flow; where there are more, the clean ones go first
_MOST_NOTIFICATIONS = 1000
_MOST_TEXT = 1024  # of a rule's full description
_LEVELS = {
    Level.BLOCKED: "error",
    Level.HIGH: "error",
    Level.MEDIUM: "warning",
    Level.LOW: "note",
    Level.INFO: "note",
}
# sarif-om: -1 stands for "not set" in these, and Suppression calls `status` by its name in a draft of the standard.
_UNSET_AT_MINUS_ONE = frozenset({"id", "index", "parentIndex", "ruleIndex", "rank", "byteOffset", "charOffset"}) | {
    "executionOrder"
}
_RENAMED = {("Suppression", "state"): "status"}


def render_sarif(report: Report, options: RenderOptions) -> str:
    """A SARIF log with one run; the most risky 25,000 results if there are more, and then it says so."""
    log = sarif_log(report, options)
    results, log.runs[0].results = log.runs[0].results, []
    frame = json.dumps(plain(log), ensure_ascii=False)
    lines = ",\n".join(json.dumps(plain(result), ensure_ascii=False) for result in results)
    before, marker, after = frame.rpartition('"results": []')
    filled = f'{before}"results": [\n{lines}\n]{after}' if lines else before + marker + after
    return json_safe(filled) + "\n"


def plain(value: Any) -> Any:
    """sarif-om objects as JSON values. Unlike its stock serialiser it keeps values that equal a class default."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not hasattr(value, "__attrs_attrs__"):
        return value
    result = {}
    for attribute, name in _properties(type(value)):  # type: ignore[arg-type]
        held = getattr(value, attribute)
        if held is not None and not (held == -1 and name in _UNSET_AT_MINUS_ONE):
            result[name] = plain(held)
    return result


@cache
def _properties(kind: type) -> tuple[tuple[str, str], ...]:
    """(attribute, SARIF property) of a sarif-om class."""
    return tuple(
        (one.name, _RENAMED.get((kind.__name__, one.name), one.metadata["schema_property_name"]))
        for one in attr.fields(kind)
    )


@dataclass(frozen=True, slots=True)
class _Context:
    report: Report
    options: RenderOptions
    rule_index: dict[str, int]
    chains: dict[str, Chain]
    flows: dict[str, Any] = field(default_factory=dict)  # of chains, filled as they are asked for


def sarif_log(report: Report, options: RenderOptions) -> Any:
    """The log as sarif-om objects."""
    shown = [f for f in report.findings if options.include_leave or f.listed]
    suppressed = report.suppressed if options.sarif_suppressed else ()
    rules = sorted({f.rule for f in shown} | {s.finding.rule for s in suppressed} | set(options.rules))
    context = _Context(report, options, {r: i for i, r in enumerate(rules)}, {c.id: c for c in report.chains})
    kept = shown[:MOST_RESULTS]
    results = [_result(f, context) for f in kept]
    results += [_suppressed(s, context) for s in suppressed[: MOST_RESULTS - len(kept)]]
    run = om.Run(
        tool=om.Tool(driver=_driver(rules, options)),
        results=results,
        automation_details=om.RunAutomationDetails(id=f"archscan/{report.selection.name.replace('_', '')}/"),
        column_kind="unicodeCodePoints",
        invocations=[_invocation(report, len(shown) - len(kept))],
    )
    return om.SarifLog(version="2.1.0", schema_uri=SCHEMA, runs=[run])


def _driver(rules: Sequence[str], options: RenderOptions) -> Any:
    return om.ToolComponent(
        name="archscan",
        version=__version__,
        semantic_version=__version__,
        information_uri="https://pypi.org/project/archscan/",
        rules=[_rule(name, options.rules.get(name)) for name in rules],
    )


def _rule(name: str, rule: Rule | None) -> Any:
    if rule is None:
        text = om.MultiformatMessageString(text=_sentence(name))
        return om.ReportingDescriptor(id=name, short_description=text, full_description=text, help=text)
    return om.ReportingDescriptor(
        id=name,
        name="".join(word.capitalize() for word in name.split("-")),
        short_description=om.MultiformatMessageString(text=_sentence(rule.title)),
        full_description=om.MultiformatMessageString(text=_sentence(" ".join(rule.what.split()))[:_MOST_TEXT]),
        help=om.MultiformatMessageString(text=_sentence(rule.what), markdown=rule_markdown(rule)),
        default_configuration=om.ReportingConfiguration(level=rule.severity),
        properties={
            "tags": ["gpu", "cuda", rule.problem, *rule.tags][:20],
            "precision": rule.precision,
            "problem.severity": {"note": "recommendation"}.get(rule.severity, rule.severity),
        },
    )


def _sentence(text: str) -> str:
    text = text.strip() or "No description."
    return text if text.endswith((".", "!", "?")) else f"{text}."


def rule_markdown(rule: Rule) -> str:
    """A rule's page in Markdown: what, why, example, known problems, fixes, references."""
    parts = [
        ("", rule.what),
        ("## Why\n\n", rule.why),
        ("## Example\n\n", _fenced(without_marks(rule.example))),
        ("## Known problems\n\n", rule.known_problems),
        ("## Fix\n\n", rule.fix_safety),
        ("## References\n\n", "\n".join(f"- {reference}" for reference in rule.references)),
    ]
    return "\n\n".join(title + text.strip() for title, text in parts if text.strip())


def _fenced(example: str) -> str:
    return f"```\n{example.rstrip()}\n```" if example.strip() and "```" not in example else example


def _result(finding: Finding, context: _Context) -> Any:
    related = _related(finding, context)
    return om.Result(
        rule_id=finding.rule,
        rule_index=context.rule_index[finding.rule],
        level=_LEVELS[finding.severity],
        rank=float(finding.risk.score),
        message=om.Message(text=_message(finding, related)),
        locations=[_location(finding.path, context, finding.place, finding.function)],
        related_locations=[location for location, _ in related] or None,
        partial_fingerprints=_fingerprints(finding, context),
        fixes=[_fix(finding.fix, context)] if finding.fix and _fix(finding.fix, context) else None,
        code_flows=_flows(finding, context),
        properties={
            "problem": finding.problem.value,
            "consequence": finding.consequence.value,
            "advice": finding.advice.value,
            "severity": finding.severity.value,
            "risk": finding.risk.level.value,
            "capability": finding.capability.value,
            "intent": finding.intent.value,
            "features": [one_line(feature) for feature in finding.features],
            "verdict": dict(finding.verdict),
            "form": finding.form,
        },
    )


def _suppressed(suppressed: Suppressed, context: _Context) -> Any:
    result = _result(suppressed.finding, context)
    reason = one_line(suppressed.reason) or "no reason given"
    result.suppressions = [om.Suppression(kind="inSource", state="accepted", justification=reason)]
    return result


def _message(finding: Finding, related: Sequence[tuple[Any, str]]) -> str:
    """Risk first, because GitHub shows no rank; then the verdict, the reasons, and links to the related places."""
    parts = [f"{finding.severity.value.capitalize()}: {_said(titled(finding))}"]
    if finding.binary is None:
        parts.append(_said(f"Guarded code: {verdict(finding)}"))
    if finding.features:
        parts.append(_said(f"It uses {', '.join(finding.features)}"))
    parts += [_said(reason.text) for reason in finding.risk.reasons[:3]]
    parts.append(_said(answer(finding)))
    links = [f"[{_link_text(words)}]({location.id})" for location, words in related[:10]]
    if links:
        parts.append(f"See {', '.join(links)}.")
    return " ".join(parts)


def _said(text: str) -> str:
    """`text` as one harmless sentence."""
    return _unlinked(_sentence(one_line(text)))


def _unlinked(text: str) -> str:
    """`text` in which nothing can be taken for a link."""
    return re.sub(r"([\[\]\\])", r"\\\1", text) if "](" in text else text


def _link_text(text: str) -> str:
    return re.sub(r"([\[\]\\])", r"\\\1", text)


def _location(path: str, context: _Context, place: Place | None, function: str | None = None) -> Any:
    region = om.Region(start_line=1)
    if place:
        region = om.Region(
            start_line=place.line,
            start_column=place.column,
            end_line=place.end_line,
            end_column=place.end_column,
        )
    names = [om.LogicalLocation(name=one_line(function), kind="function")] if function else None
    return om.Location(physical_location=_physical(path, context, region), logical_locations=names)


def _physical(path: str, context: _Context, region: Any) -> Any:
    return om.PhysicalLocation(artifact_location=_artifact(path, context), region=region)


def _artifact(path: str, context: _Context) -> Any:
    return om.ArtifactLocation(uri=uri(context.options.located(path)), uri_base_id="%SRCROOT%")


def uri(path: str) -> str:
    """A path as a relative URI: every byte that is not plain is percent-encoded, a leading `x:` is no scheme."""
    quoted = quote(path.encode("utf-8", "surrogateescape"), safe="/!$&'()*+,;=@~-._")
    return quoted.lstrip("/") or "."


def _related(finding: Finding, context: _Context) -> list[tuple[Any, str]]:
    """Related locations with the words that link to them; the guarded body first."""
    found: list[tuple[Any, str]] = []
    if inside := body_lines(finding.place, finding.body):
        region = om.Region(start_line=inside[0], end_line=inside[-1])
        body = om.Location(physical_location=_physical(finding.path, context, region))
        found.append((body, "the guarded code"))
    for place in finding.related[: _MOST_LOCATIONS - 1]:
        location = om.Location(physical_location=_physical(place.path, context, om.Region(start_line=place.line)))
        found.append((location, f"{place.role.value.replace('-', ' ')} at line {place.line}"))
        location.message = om.Message(text=_said(place.message or place.role.value))
    for number, (location, words) in enumerate(found, start=1):
        location.id = number
        location.message = location.message or om.Message(text=_sentence(words.capitalize()))
    return found


def _fingerprints(finding: Finding, context: _Context) -> dict[str, str]:
    keys = {"archscanGate/v1": finding.fingerprint}
    line_hash = context.options.sources.line_hash(finding.path, finding.place.line)
    return {"primaryLocationLineHash": line_hash, **keys} if line_hash else keys


def _fix(fix: Fix, context: _Context) -> Any | None:
    """The fix with line and column regions; None if a file cannot be read (any more)."""
    changes: dict[str, list[Any]] = {}
    for edit in fix.edits:
        start = context.options.sources.position(edit.path, edit.start)
        end = context.options.sources.position(edit.path, edit.end)
        if start is None or end is None:
            return None
        region = om.Region(start_line=start[0], start_column=start[1], end_line=end[0], end_column=end[1])
        text = om.ArtifactContent(text=edit.text)
        changes.setdefault(edit.path, []).append(om.Replacement(deleted_region=region, inserted_content=text))
    return om.Fix(
        description=om.Message(text=_said(fix.title if fix.safe else f"unsafe: {fix.title}")),
        artifact_changes=[
            om.ArtifactChange(artifact_location=_artifact(path, context), replacements=replacements)
            for path, replacements in changes.items()
        ],
    )


def _flows(finding: Finding, context: _Context) -> list[Any] | None:
    """The chain of the finding as one flow, as JSON values: it is made once for all findings of the chain."""
    chain = context.chains.get(finding.chain or "")
    if chain is None or not chain.steps:
        return None
    if chain.id not in context.flows:
        steps = [s for s in chain.steps if s.state != "clean"] if len(chain.steps) > _MOST_STEPS else chain.steps
        locations = [_step(s.path, s.line, f"{s.layer}, {s.state}: {s.message}", context) for s in steps[:_MOST_STEPS]]
        context.flows[chain.id] = plain(om.CodeFlow(thread_flows=[om.ThreadFlow(locations=locations)]))
    return [context.flows[chain.id]]


def _step(path: str, line: int | None, words: str, context: _Context) -> Any:
    location = om.Location(physical_location=_physical(path, context, om.Region(start_line=line or 1)))
    location.message = om.Message(text=_said(words))
    return om.ThreadFlowLocation(location=location, importance="essential" if line else "important")


def _invocation(report: Report, cut: int) -> Any:
    notes: list[Any] = []
    if cut > 0:
        text = f"{cut} results of lower risk were left out: a run may have {MOST_RESULTS}."
        notes.append(_notification(text, "warning"))
    for failed in report.failed[:_MOST_NOTIFICATIONS]:
        notes.append(_notification(f"Could not read {one_line(failed.path)}: {one_line(failed.reason)}.", "error"))
    for skipped in report.skipped[:_MOST_NOTIFICATIONS]:
        notes.append(_notification(f"Skipped {one_line(skipped.path)}: {one_line(skipped.reason)}.", "note"))
    return om.Invocation(execution_successful=True, tool_execution_notifications=notes or None)


def _notification(text: str, level: str) -> Any:
    return om.Notification(message=om.Message(text=_unlinked(text)), level=level)
