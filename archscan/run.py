"""One run of `scan`: settings -> catalog -> facts -> report -> text -> exit code. Where effects live."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from archscan.config import Settings, Value, merged
from archscan.errors import UserError
from archscan.outcome import Memory, Outcome

if TYPE_CHECKING:  # what a run from memory does without is imported where it is needed
    from archscan.catalog.types import Catalog
    from archscan.model.facts import Facts
    from archscan.model.report import Report
    from archscan.model.target import Selection
    from archscan.reporting.options import RenderOptions
    from archscan.tracing.code import Code

_MOST_WARNINGS = 10


def run_scan(given: Mapping[str, Any]) -> int:
    """Scans, or remembers what the same scan said of the same files; reports and returns the exit code."""
    paths, focus = _focused(given["paths"], given["focus"])
    settings = merged(said(given), paths, given["config"], given["isolated"])
    memory = _memory(given, paths, settings)
    outcome = memory.recall() if memory else None
    if outcome is None:
        catalog = loaded_catalog(settings)
        report = judged(paths, settings, catalog, focus)
        if given["write_baseline"]:
            return _write_baseline(report, given["write_baseline"])
        report = _without_known(report, settings)
        if _wants_fixes(report, given):
            report = _with_fixes(report, paths, settings, catalog)
        outcome = _outcome(report, given, settings, catalog)
        if memory:
            memory.keep(report.facts.listing, outcome)
    for warning in outcome.warnings:
        click.echo(warning, err=True)
    write(outcome.text, given["output"])
    return outcome.code


def _memory(given: Mapping[str, Any], paths: Sequence[str], settings: Settings) -> Memory | None:
    """What the same command line said before; None for what must be asked anew."""
    if not settings["cache"] or "-" in paths or given["write_baseline"] or settings["target"] in (None, "native"):
        return None
    beside = [*settings["rules"], *settings["evidence"], *([settings["baseline"]] if settings["baseline"] else [])]
    terminal = {"width": terminal_width(), "color": wants_color(given["color"], given["output"])}
    merged_settings = {f"setting {entry.setting.key}": entry.value for entry in settings.entries}
    return Memory(paths, settings.scan(), beside, {**given, **merged_settings, **terminal, "output": None})


def _outcome(report: Report, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> Outcome:
    text = _rendered(report, given, settings, catalog)
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    return Outcome(data, _warnings(report, given), exit_code(report, settings["fail-on"]))


def run_matrix(given: Mapping[str, Any]) -> int:
    """Scans and shows gates against targets; the exit code is 0 unless something named could not be read."""
    from archscan.catalog.targets import select
    from archscan.model.facts import Origin
    from archscan.reporting.html import render_matrix_html
    from archscan.reporting.matrix import columns, matrix_text, rows

    paths = tuple(given["paths"]) or (".",)
    settings = merged(said(given), paths, given["config"], given["isolated"])
    catalog = loaded_catalog(settings)
    wanted = [select(name, catalog).sm for name in _split(given["columns"])]
    facts = scanned(paths, settings, catalog)
    files = [f for f in facts.files if f.origin is Origin.OWN or settings["include-vendored"]]
    sms = columns(catalog.universe, wanted)
    table = rows([gate for file in files for gate in file.gates], catalog.universe, sms)
    if given["format_"] == "html":
        text = render_matrix_html(", ".join(paths), table, sms)
    else:
        text = matrix_text(table, sms, terminal_width(), wants_color(given["color"], given["output"]))
    write(text, given["output"])
    return 2 if any(f.named for f in facts.failed) else 0


def _split(words: Sequence[str]) -> tuple[str, ...]:
    """Values given one by one or with commas."""
    return tuple(part.strip() for text in words for part in text.split(",") if part.strip())


def said(given: Mapping[str, Any]) -> dict[str, Value]:
    """What the command line says, by the keys of the config file."""
    said = {key.replace("_", "-"): value for key, value in given.items()}
    for key in ("against", "problem", "layer", "rule", "context"):
        said[key] = _split(said.get(key) or ())
    return said


def _focused(paths: Sequence[str], focus: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths to read, and those to report on. A hook names changed files; the verdicts need the whole project."""
    if not focus or not paths:
        return tuple(paths) or (".",), ()
    here = Path.cwd()
    names = []
    for path in paths:
        try:
            names.append(Path(os.path.normpath(here / path)).relative_to(here).as_posix())
        except ValueError:
            raise UserError(f"{path} is not below the current directory", "run --focus at the project's root") from None
    return (".",), tuple(names)


def loaded_catalog(settings: Settings) -> Catalog:
    """The rules and facts in force."""
    from archscan.cache import default_directory
    from archscan.catalog import load

    kept_in = default_directory() if settings["cache"] else None
    return load([Path(directory) for directory in settings["rules"]], kept_in)


def judged(paths: Sequence[str], settings: Settings, catalog: Catalog, focus: tuple[str, ...] = ()) -> Report:
    """The report for the target that the settings name, with chains."""
    from archscan import pipeline

    _check_rules(settings["rule"], catalog)
    selection = selected(settings, catalog)
    facts = scanned(paths, settings, catalog)
    return pipeline.report(facts, selection, catalog, settings.judge(focus), _code(paths, facts, settings, catalog))


def _code(paths: Sequence[str], facts: Facts, settings: Settings, catalog: Catalog) -> Code | None:
    """The files for following callers over packages, if several were given or one PATH holds several."""
    if len(paths) < 2 and not _holds_consumers(facts):
        return None
    from archscan.tracing.commands import read_code

    return read_code(paths, settings.scan(), catalog, facts)


def _holds_consumers(facts: Facts) -> bool:
    """Whether extension modules are built in one directory and Python asks for architectures in another."""
    from archscan.model.facts import LinkKind, Origin

    own = [f for f in facts.files if f.origin is Origin.OWN and f.path.endswith(".py") and "/" in f.path]
    producers = {_top(f.path) for f in own if any(link.kind is LinkKind.JIT_SPEC for link in f.links)}
    return any(producers - {_top(f.path)} for f in own if f.gates)


def _top(path: str) -> str:
    return path.partition("/")[0]


def selected(settings: Settings, catalog: Catalog) -> Selection:
    """The target that the settings name; UserError if they name none."""
    from archscan.catalog.targets import select

    if not settings["target"]:
        hint = "name the GPU: --target sm120 (or 12.0, a product, native), or target = ... in [tool.archscan]"
        raise UserError("no target", hint)
    return select(settings["target"], catalog, settings["against"])


def scanned(paths: Sequence[str], settings: Settings, catalog: Catalog) -> Facts:
    """The facts, with a progress bar on standard error where a person waits at a terminal."""
    from archscan import pipeline
    from archscan.progress import progress

    with progress(sys.stderr) as watch:
        return pipeline.scan(paths, catalog, settings.scan(), watch=watch)


def _check_rules(names: Sequence[str], catalog: Catalog) -> None:
    from archscan.config import nearest_hint

    for name in names:
        if name not in catalog.rules:
            raise UserError(f"unknown rule '{name}'", nearest_hint(name, catalog.rules, "`archscan rules` lists them"))


def _write_baseline(report: Report, file: str) -> int:
    from archscan.baseline import baseline_text

    write(baseline_text(report), file)
    click.echo(f"{file}: {len(report.findings)} findings are known from now on", err=True)
    return 0


def _without_known(report: Report, settings: Settings) -> Report:
    from archscan.baseline import known_fingerprints, without

    return without(report, known_fingerprints(settings["baseline"])) if settings["baseline"] else report


_FIXES_UNASKED = 40  # candidates; each proof evaluates its file again, which takes about a tenth of a second


def _wants_fixes(report: Report, given: Mapping[str, Any]) -> bool:
    """Whether to prove fixes: as asked, else where the format carries them and there are few candidates."""
    if given["fixes"] is not None or given["format_"] not in ("json", "sarif", "html") or "-" in given["paths"]:
        return bool(given["fixes"])
    from archscan.fixing.plan import never_fixed

    return 0 < sum(not never_fixed(finding) for finding in report.findings) <= _FIXES_UNASKED


def _with_fixes(report: Report, paths: Sequence[str], settings: Settings, catalog: Catalog) -> Report:
    """The report with a proven fix at every finding that has one; each proof evaluates the project again."""
    from dataclasses import replace

    from archscan.fixing.commands import workbench
    from archscan.fixing.plan import fix_for

    bench = workbench(paths, catalog, settings.scan())
    fixed = (replace(f, fix=fix_for(f, report.findings, report.selection, catalog, bench)) for f in report.findings)
    return replace(report, findings=tuple(fixed))


def _warnings(report: Report, given: Mapping[str, Any]) -> tuple[str, ...]:
    """What could not be read, or was read with a remark, for standard error."""
    from archscan.reporting.places import Places
    from archscan.reporting.words import one_line

    typed = Places(report.facts).typed
    named = [f"{f.path}: {f.reason}" for f in report.failed if f.named]  # they decide the exit code: always said
    found = [f"{typed(f.path)}: {f.reason}" for f in report.failed if not f.named]
    found += [f"{typed(file.path)}: {problem}" for file in report.facts.files for problem in file.problems]
    most = len(found) if given["verbose"] else 0 if given["quiet"] else _MOST_WARNINGS
    more = (f"warning: {len(found) - most} more (-v shows them)",) if len(found) > most > 0 else ()
    found, most = [*named, *found], most + len(named)
    return (*(f"warning: {one_line(text)}" for text in found[:most]), *more)


def _rendered(report: Report, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> str:
    from archscan.reporting import render

    return render(report, given["format_"], render_options(report, given, settings, catalog))


def render_options(report: Report, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> RenderOptions:
    """How the report is to look, as far as the terminal and the file system have a say."""
    from archscan.reporting.options import RenderOptions
    from archscan.reporting.places import Places

    places = Places(report.facts, settings["sarif-root"])
    return RenderOptions(
        sources=places.sources(),
        rules=catalog.rules,
        located=places.located,
        typed=places.typed,
        width=terminal_width(),
        color=wants_color(given["color"], given["output"]),
        limit=given["limit"],
        verbosity=-1 if given["quiet"] else int(given["verbose"]),
        include_leave=settings["include-leave"],
        all_gates=given["all_gates"],
        sarif_suppressed=settings["sarif-suppressed"],
    )


def terminal_width() -> int:
    """Columns of the terminal (or $COLUMNS), 100 where there is none, within what is readable."""
    import shutil

    return min(max(shutil.get_terminal_size((100, 24)).columns, 60), 160)


def wants_color(choice: str, output: str | None) -> bool:
    """Whether to write colours: --color decides, then NO_COLOR and FORCE_COLOR, then whether a terminal reads."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return output in (None, "-") and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def exit_code(report: Report, fail_on: str) -> int:
    """2 if something the user named could not be read, else 1 if a finding reaches `fail_on`, else 0."""
    from archscan.model.finding import Advice, Level

    if any(f.named for f in report.failed):
        return 2
    if fail_on == "never":
        return 0
    least = Level(fail_on).rank
    return int(any(f.risk.level.rank >= least and f.advice is not Advice.LEAVE for f in report.findings))


def write(result: str | bytes, output: str | None) -> None:
    """Writes a result to standard output, or to a file whole or not at all."""
    data = result if isinstance(result, bytes) else result.encode("utf-8", "backslashreplace")
    if output in (None, "-"):
        _print(data)
        return
    assert output is not None
    path = Path(os.path.realpath(output))
    try:
        if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
            path.write_bytes(data)
        else:
            _replace(path, data)
    except OSError as error:
        from archscan.reporting.words import visible

        raise UserError(f"cannot write {visible(output)}: {error.strerror}", "nothing was changed there") from error


def _print(data: bytes) -> None:
    """Writes to standard output; a reader that has gone (`| head`) has seen what it wanted."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush at exit


def _replace(path: Path, data: bytes) -> None:
    """Temp file beside it, then rename: a full disk leaves what was there."""
    import tempfile

    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
