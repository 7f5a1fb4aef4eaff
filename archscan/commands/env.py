"""One run of `env`: environments on disk and GPUs in, one row for each distribution out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archscan.errors import UserError

if TYPE_CHECKING:
    from archscan.catalog.types import Catalog
    from archscan.environment.installed import Installed
    from archscan.environment.machine import Machine
    from archscan.environment.shelves import Stock
    from archscan.model.report import Report
    from archscan.model.target import Selection
    from archscan.reporting.environment import Judged

NEVER = "never"
_SEVERITY = {"fails": "high", "partly": "medium", "slow": "low"}
_LEVELS = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the arguments are: wheels to read, or distributions to show."""

    wheels: tuple[str, ...]
    names: tuple[str, ...]


def run_env(given: Mapping[str, Any]) -> int:
    """Prints the table; the exit code is 2 where something could not be read, else 1 by --fail-on, else 0."""
    from archscan.cache import default_directory
    from archscan.catalog import load
    from archscan.commands.scan import terminal_width, write
    from archscan.reporting.environment import env_matrix, env_object, env_text
    from archscan.reporting.json_format import dumped

    catalog = load(kept_in=default_directory() if given["cache"] else None)
    asked = _arguments(given["names"])
    selections = _selections(given["target"], catalog)
    judged = _judged(given, asked, selections, catalog)
    opened: list[Report] = []
    if asked.names:
        judged, opened = _opened(judged, catalog)
    if given["format_"] == "json":
        text: str | bytes = dumped(env_object(judged))
    elif given["format_"] == "html":
        text = _pages(opened, judged, catalog)
    elif given["matrix"]:
        text = env_matrix(judged)
    else:
        text = env_text(judged, terminal_width()) + _reports(opened, judged, catalog)
    write(text, given["output"])
    return _exit_code(judged, given["fail_on"])


def _arguments(words: Sequence[str]) -> _Asked:
    """Wheels, directories of wheels, or names of distributions."""
    wheels: list[str] = []
    names: list[str] = []
    for word in words:
        path = Path(word)
        inside = sorted(str(one) for one in path.glob("*.whl")) if path.is_dir() else []
        if inside:
            wheels += inside
        elif path.is_dir() and os.sep in word:
            raise UserError(f"{word}: no wheels in this directory", "an environment is named with --prefix")
        elif path.is_file() or word.endswith(".whl") or os.sep in word:
            wheels.append(word)
        else:
            names.append(word)
    missing = next((wheel for wheel in wheels if not Path(wheel).is_file()), None)
    if missing is not None:
        raise UserError(f"{missing}: no such wheel", "name .whl files, or nothing for the active environment")
    return _Asked(tuple(wheels), tuple(names))


def _selections(target: str | None, catalog: Catalog) -> list[tuple[Selection, Machine, str]]:
    """The GPUs to answer for, each kind apart: those that were named, else those in this machine."""
    from archscan.catalog.targets import select
    from archscan.environment.machine import Machine, this_machine

    words = [word.strip() for word in (target or "native").split(",") if word.strip()]
    found: list[tuple[Selection, Machine, str]] = []
    for word in words:
        if word.lower() != "native":
            selection = select(word, catalog)
            found.append((selection, Machine(), f"{selection.name}, named with --target: this machine was not asked"))
            continue
        machine = this_machine()
        if not machine.gpus:
            raise UserError("no NVIDIA GPU was found in this machine", "name one: archscan env --target sm120")
        kinds: dict[int, list[str]] = {}
        for gpu in machine.gpus:
            kinds.setdefault(gpu.sm, []).append(f"{gpu.number} x {gpu.name}" if gpu.number > 1 else gpu.name)
        for sm, names in kinds.items():
            gpus = ", ".join(filter(None, names)) or "in this machine"
            found.append((select(f"sm_{sm}", catalog), machine, f"{gpus} (sm_{sm})"))
    return found


def _judged(
    given: Mapping[str, Any], asked: _Asked, selections: Sequence[tuple[Selection, Machine, str]], catalog: Catalog
) -> list[Judged]:
    """Every environment for every GPU."""
    from archscan.environment.around import Around, around
    from archscan.environment.facts import package_facts
    from archscan.environment.gates import Remembered, advised, with_gates, with_runs
    from archscan.environment.installed import normalised
    from archscan.environment.model import Question
    from archscan.environment.rows import ranked, rows, used
    from archscan.reporting.environment import Judged

    facts = package_facts(catalog)
    judged = []
    for stock, keys in _stocks(given, asked):
        for selection, machine, gpu in selections:
            question = Question(selection, catalog, facts, os.environ, machine, stock.environment.option)
            found = rows(stock, question)
            found = tuple(row for row in found if keys is None or row.installed.key in keys)
            found = used(found, given["for_"]) if given["for_"] else found
            if not asked.names:
                remembered = Remembered(stock.environment.folders, selection.name, catalog.digest, given["cache"])
                scan = _scan(selection, catalog) if given["gates"] else None
                found = with_gates(found, remembered, scan)
                found = with_runs(found, frozenset(map(normalised, given["for_"])), remembered, scan)
                found = advised(found, question)
            found = ranked(found) if given["for_"] else found
            about = Around() if asked.wheels else around(stock, found, selection, catalog, facts)
            judged.append(Judged(stock, selection, found, machine, gpu, about))
    return judged


def _stocks(given: Mapping[str, Any], asked: _Asked) -> list[tuple[Stock, frozenset[str] | None]]:
    """What is installed, or would be by wheels, with the names of what is shown (None: all)."""
    from archscan.environment.places import Asked, environments
    from archscan.environment.shelves import stock, stock_of_wheels

    places = Asked(given["python"], given["prefix"], given["site_packages"], given["path"], given["local"])
    if asked.wheels:
        if places != Asked() or asked.names or given["for_"] or given["requirement"]:
            raise UserError("wheels are looked at by themselves", "leave other names, --python, --prefix, --for out")
        return [(stock_of_wheels(asked.wheels, given["cache"], given["jobs"]), None)]
    found = []
    for environment in environments(places, os.environ):
        shown: list[frozenset[str] | None] = [None]

        def chosen(installed: Sequence[Installed], shown: list[frozenset[str] | None] = shown) -> frozenset[str] | None:
            shown[0] = _chosen(installed, given, asked.names)
            return shown[0]

        found.append((stock(environment, given["cache"], given["jobs"], chosen=chosen), shown[0]))
    return found


def _chosen(installed: Sequence[Installed], given: Mapping[str, Any], names: Sequence[str]) -> frozenset[str] | None:
    """The distributions that are asked for: by name, in a file of requirements, or what one needs; None = all."""
    from archscan.environment.installed import closure, normalised, requirements

    if not (names or given["for_"] or given["requirement"]):
        return None
    known = {one.key for one in installed}
    for name in (*names, *given["for_"]):
        if normalised(name) not in known:
            from archscan.config import nearest_hint

            hint = nearest_hint(normalised(name), sorted(known), "archscan env lists what is")
            raise UserError(f"{name} is not installed there", hint)
    wanted = {normalised(name) for name in names}
    wanted |= closure(installed, [normalised(name) for name in given["for_"]])
    for file in given["requirement"]:
        wanted |= requirements(file)
    return frozenset(wanted)


# --- rows that are opened


def _opened(judged: Sequence[Judged], catalog: Catalog) -> tuple[list[Judged], list[Report]]:
    """The rows with what a scan of their sources and libraries says, and the reports of these scans."""
    from archscan.environment.gates import gates_of, own_paths

    found, reports = [], []
    for one in judged:
        scan = _scan(one.selection, catalog)
        rows = []
        for row in one.rows:
            paths = own_paths(row.installed)
            if paths:
                reports.append(scan(paths))
                row = replace(row, gates=gates_of(reports[-1]))  # noqa: PLW2901
            rows.append(row)
        found.append(replace(one, rows=tuple(rows)))
    return found, reports


def _scan(selection: Selection, catalog: Catalog) -> Callable[[tuple[str, ...]], Report]:
    """What scans paths for a GPU, with the settings of nobody."""
    from archscan.commands.scan import judged as scanned
    from archscan.config import merged

    return lambda paths: scanned(paths, merged({"target": selection.name}, paths, None, True), catalog)


def _reports(reports: Sequence[Report], judged: Sequence[Judged], catalog: Catalog) -> str:
    """The reports of the scans as text."""
    return "".join(f"\n{_rendered(report, 'text', catalog).decode('utf-8', 'replace')}" for report in reports)


def _pages(reports: Sequence[Report], judged: Sequence[Judged], catalog: Catalog) -> bytes | str:
    """The page of the one scan that was asked for; else one page with a row for each distribution."""
    from archscan.commands.scan import today
    from archscan.reporting.environment_html import env_html

    return _rendered(reports[0], "html", catalog) if len(reports) == 1 else env_html(judged, today())


def _rendered(report: Report, form: str, catalog: Catalog) -> bytes:
    """A report as `archscan scan` would print it."""
    from archscan.cli import archscan as program
    from archscan.commands.scan import effective, render_options
    from archscan.reporting import render

    words = ["--target", report.selection.name, "--isolated", "--color", "never", "--format", form]
    given = program.commands["scan"].make_context("scan", [*words, *report.facts.roots]).params
    settings = effective(given, report.facts.roots)
    text = render(report, form, render_options(report, given, settings, catalog))
    return text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")


def _exit_code(judged: Sequence[Judged], fail_on: str) -> int:
    if any(one.failed for one in judged):
        return 2
    if fail_on == NEVER:
        return 0
    counted = _LEVELS[: _LEVELS.index(fail_on) + 1]
    states = {row.state.value for one in judged for row in one.rows}
    return int(any(_SEVERITY.get(state) in counted for state in states))
