"""One run of `trace`, `explain` or `diff`: settings in, text or JSON out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from archscan.catalog.types import Catalog
from archscan.commands.scan import effective, loaded_catalog, render_options, selected, terminal_width, write
from archscan.config import Settings, nearest_hint
from archscan.errors import UserError
from archscan.model.target import Selection
from archscan.reporting.json_format import dumped
from archscan.reporting.words import visible_lines, wrapped


def run_trace(given: Mapping[str, Any]) -> int:
    """Traces a name; the exit code is 0."""
    from archscan.reporting import render
    from archscan.tracing.commands import trace_report, trace_text

    settings, catalog, selection = _prepared(given)
    report = trace_report(given["name"], _paths(given), selection, catalog, settings.scan())
    options = render_options(report, {**given, "limit": 0, "all_gates": False}, settings, catalog)
    if given["format_"] == "text":
        write(visible_lines(trace_text(report, options.typed, options.width)), given["output"])
    else:
        write(render(report, given["format_"], options), given["output"])
    return 0


def run_explain(given: Mapping[str, Any]) -> int:
    """Prints a rule's page, all that is known of a gate, or what a message means and what raises it.

    The exit code is 1 where nothing is known of a message.
    """
    from archscan.listing import rule_object, rule_page
    from archscan.reporting.json_format import headed
    from archscan.reporting.plain import GLOSSARY

    settings = effective(given, _paths(given))
    catalog = loaded_catalog(settings)
    what = given["what"]
    as_json = given["format_"] == "json"
    if what in GLOSSARY and not given["paths"]:
        page = "\n".join(wrapped(f"{what}: {GLOSSARY[what]}", terminal_width()))
        write(dumped(headed(word=what, meaning=GLOSSARY[what])) if as_json else visible_lines(page), given["output"])
        return 0
    if what in catalog.rules:
        rule = catalog.rules[what]
        page = dumped(headed(rule=rule_object(rule))) if as_json else visible_lines(rule_page(rule, terminal_width()))
        write(page, given["output"])
        return 0
    place = _PLACE.fullmatch(what)
    if place and (Path(place["path"]).is_file() or not _BLANK.search(place["path"])):
        return _explain_gate(place["path"], int(place["line"]), given, settings, catalog)
    if re.fullmatch(r"[a-z]+(-[a-z]+)+", what):
        raise UserError(
            f"no rule '{what}'", nearest_hint(what, [*catalog.rules, *GLOSSARY], "`archscan rules` lists them")
        )
    return _explain_message(what, given, settings, catalog)


_PLACE = re.compile(r"(?P<path>.*[./].*?):(?P<line>\d+)(?::\d+)?")
_BLANK = re.compile(r"\s")


def _explain_gate(path: str, line: int, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> int:
    from archscan.tracing.account import accounts, around
    from archscan.tracing.account_page import account_object, account_text

    paths = tuple(given["paths"]) or (around(path),)
    selection = selected(settings, catalog) if settings["target"] else None
    found = accounts(path, line, paths, settings.scan(), catalog, selection)
    if given["format_"] == "json":
        write(dumped(account_object(found, catalog)), given["output"])
    else:
        write(visible_lines(account_text(found, catalog, terminal_width())), given["output"])
    return 0


def _explain_message(message: str, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> int:
    from archscan.reporting.places import Places
    from archscan.tracing.commands import explained, explanation_object, explanation_text, is_known

    paths = given["paths"]
    selection = selected(settings, catalog) if settings["target"] else None
    explanation = explained(message, catalog, paths, settings.scan(), selection)
    if given["format_"] == "json":
        write(dumped(explanation_object(explanation)), given["output"])
        return 0 if is_known(explanation) else 1
    typed = Places.of_paths(paths).typed if paths else str
    text = "\n".join(wrapped(explanation_text(explanation, typed), terminal_width()))
    write(visible_lines(text), given["output"])
    return 0 if is_known(explanation) else 1


def run_diff(given: Mapping[str, Any]) -> int:
    """Compares two trees for a target; the exit code is 0."""
    from archscan.tracing.commands import diff_object, diff_report, diff_text

    given = {**given, "paths": (given["new"],)}
    settings, catalog, selection = _prepared(given)
    difference = diff_report((given["old"],), (given["new"],), selection, catalog, settings.scan())
    text = (
        dumped(diff_object(difference))
        if given["format_"] == "json"
        else visible_lines(diff_text(difference, terminal_width()))
    )
    write(text, given["output"])
    return 0


def _prepared(given: Mapping[str, Any]) -> tuple[Settings, Catalog, Selection]:
    settings = effective(given, _paths(given))
    catalog = loaded_catalog(settings)
    return settings, catalog, selected(settings, catalog)


def _paths(given: Mapping[str, Any]) -> Sequence[str]:
    return tuple(given["paths"]) or (".",)
