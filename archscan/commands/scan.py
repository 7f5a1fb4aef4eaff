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
from archscan.result_cache import Memory, Outcome

if TYPE_CHECKING:  # what a run from memory does without is imported where it is needed
    from archscan.catalog.types import Catalog
    from archscan.engine import Workings
    from archscan.model.facts import Facts
    from archscan.model.report import Report
    from archscan.model.settings import JudgeSettings
    from archscan.model.target import Selection
    from archscan.reporting.options import RenderOptions
    from archscan.tracing.code import Code

_MOST_WARNINGS = 10


def run_scan(given: Mapping[str, Any]) -> int:
    """One scan, or with --watch one after each change; the exit code is that of the last."""
    if not given["watch"]:
        return _run_once(given)
    from archscan.watch import watch

    paths = tuple(given["paths"]) or (".",)
    return watch(
        given, lambda: _run_once(given), lambda: merged(said(given), paths, given["config"], given["isolated"])
    )


def _run_once(given: Mapping[str, Any]) -> int:
    """Scans, or remembers what the same scan said of the same files; reports and returns the exit code."""
    paths, focus = _focused(given["paths"], given["focus"])
    settings = effective(given, paths)
    if given["show_files"]:
        return _show_files(paths, settings)
    memory = _memory(given, paths, settings)
    outcome = memory.recall() if memory else None
    if outcome is None:
        catalog = loaded_catalog(settings)
        workings = _workings(given)
        report = judged(paths, settings, catalog, focus, workings)
        if given["write_baseline"]:
            return _write_baseline(report, given["write_baseline"])
        report = _without_known(report, settings)
        if given["since"]:
            report = _since(report, paths, settings, catalog, given["since"])
        if given["add_ignores"]:
            return _add_ignores(report, paths, settings, catalog, given["add_ignores"])
        if _wants_fixes(report, given):
            report = _with_fixes(report, paths, settings, catalog, workings)
        outcome = _outcome(report, given, settings, catalog)
        if memory:
            memory.keep(report.facts.listing, outcome)
    for warning in outcome.warnings:
        click.echo(warning, err=True)
    write(outcome.text, given["output"])
    return outcome.code


def _show_files(paths: Sequence[str], settings: Settings) -> int:
    """Prints the files that a scan would read, a line each; nothing of them is read."""
    from archscan.reporting.words import visible
    from archscan.sources import discover, vendored_trees

    discovery = discover(paths, settings.scan(), vendored_trees(loaded_catalog(settings).packages))
    found = sorted([*(one.path for one in discovery.sources), *(one.path for one in discovery.libraries)])
    write("".join(f"{visible(path)}\n" for path in found), None)
    return 2 if any(one.named for one in discovery.failed) else 0


def _memory(given: Mapping[str, Any], paths: Sequence[str], settings: Settings) -> Memory | None:
    """What the same command line said before; None for what must be asked anew."""
    if (
        not settings["cache"]
        or "-" in paths
        or given["since"]
        or given["add_ignores"]
        or given["write_baseline"]
        or settings["target"] in (None, "native")
    ):
        return None
    beside = [*settings["rules"], *settings["evidence"], *([settings["baseline"]] if settings["baseline"] else [])]
    terminal: dict[str, object] = {"width": terminal_width(), "color": wants_color(given["color"], given["output"])}
    terminal["date"] = today() if given["format_"] == "html" else ""
    terminal["links"] = wants_links(given["hyperlinks"], given["output"])
    merged_settings = {f"setting {entry.setting.key}": entry.value for entry in settings.entries}
    return Memory(paths, settings.scan(), beside, {**given, **merged_settings, **terminal, "output": None})


def _outcome(report: Report, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> Outcome:
    if given["statistics"]:
        from archscan.reporting.statistics import statistics

        text = statistics(report, given["format_"], catalog.rules)
    else:
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
    settings = effective(given, paths)
    catalog = loaded_catalog(settings)
    wanted = [select(name, catalog).sm for name in split(given["columns"])]
    if given["columns"] and not wanted:
        raise UserError("--target names nothing", "write --target sm120,sm90, or leave it out")
    facts = scanned(paths, settings, catalog)
    shown = {Origin.OWN}
    shown |= {Origin.TEST} if settings["include-tests"] else set()
    shown |= {Origin.VENDORED, Origin.GENERATED} if settings["include-vendored"] else set()
    files = [f for f in facts.files if f.origin in shown]
    sms = columns(catalog.universe, wanted)
    table = rows([gate for file in files for gate in file.gates], catalog.universe, sms)
    if given["format_"] == "html":
        text = render_matrix_html(", ".join(paths), table, sms)
    else:
        gates = sum(len(file.gates) for file in files)
        text = matrix_text(table, sms, terminal_width(), wants_color(given["color"], given["output"]), gates)
    write(text, given["output"])
    return 2 if any(f.named for f in facts.failed) else 0


def split(words: Sequence[str]) -> tuple[str, ...]:
    """Values given one by one or with commas."""
    return tuple(part.strip() for text in words for part in text.split(",") if part.strip())


def effective(given: Mapping[str, Any], paths: Sequence[str]) -> Settings:
    """The settings of a command line and its config file; what is odd about the file is said on standard error."""
    name = given.get("stdin_filename")
    beside = [name if path == "-" and name else path for path in paths]
    settings = merged(said(given), beside, given["config"], given["isolated"])
    if settings["cache-dir"]:
        os.environ["ARCHSCAN_CACHE_DIR"] = str(Path(settings["cache-dir"]).absolute())  # cli.run takes it back
    for note in settings.notes:
        click.echo(f"warning: {note}", err=True)
    root = settings["sarif-root"]
    if root is not None and not Path(root).is_dir():
        raise UserError(f"'sarif-root' cannot be '{root}': no such directory", nearest_entry(root))
    return settings


def nearest_entry(path: str) -> str:
    """`did you mean '...'?` with the nearest name in the directory of a path that is not there."""
    from archscan.config import nearest_hint

    folder = Path(os.path.normpath(path)).parent
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return f"there is no directory {folder} either"
    return nearest_hint(Path(path).name, names, "check the name")


def said(given: Mapping[str, Any]) -> dict[str, Value]:
    """What the command line says, by the keys of the config file."""
    said = {key.replace("_", "-"): value for key, value in given.items()}
    for key in ("against", "problem", "layer", "rule", "ignore", "advice", "context"):
        typed = said.get(key) or ()
        said[key] = split(typed)
        if typed and not said[key]:
            raise UserError(f"--{key} names nothing", f"write --{key} and what it should be, or leave it out")
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
    """The rules and facts in force, with what the user measured."""
    from archscan.cache import default_directory
    from archscan.catalog import load, with_evidence

    kept_in = default_directory() if settings["cache"] else None
    catalog = load([Path(directory) for directory in settings["rules"]], kept_in)
    return with_evidence(catalog, [Path(file) for file in settings["evidence"]]) if settings["evidence"] else catalog


def judged(
    paths: Sequence[str],
    settings: Settings,
    catalog: Catalog,
    focus: tuple[str, ...] = (),
    workings: Workings | None = None,
    before: Report | None = None,
) -> Report:
    """The report for the target that the settings name, with chains. `workings` is filled by the scan.

    `before` is an earlier report of the same PATHs, with these settings and this catalog: where nothing that was read
    has changed, it is returned.
    """
    from archscan import pipeline

    selection = selected(settings, catalog)
    judging = _judging(settings, catalog, focus)
    _check_context(settings["context"], catalog)
    facts = scanned(paths, settings, catalog, workings)
    code = _code(paths, facts, settings, catalog)
    if before is not None and code is None and _are_those_of(before, facts):
        return before
    facts = pipeline.with_kernels(facts, selection, catalog, settings.scan(), judging)
    return pipeline.report(facts, selection, catalog, judging, code)


def _are_those_of(report: Report, facts: Facts) -> bool:
    """Whether a report is about these facts, and the bytes behind them, of sources alone."""
    same = bool(facts.contents) and facts.contents == report.facts.contents
    return same and not facts.libraries and facts == report.facts


def _judging(settings: Settings, catalog: Catalog, focus: tuple[str, ...]) -> JudgeSettings:
    """What is to be reported, rules by their names: prefixes written out, those that are ignored taken out."""
    from dataclasses import replace

    judging = settings.judge(focus)
    ignored = tuple(
        (pattern, rules_named(split([names]), catalog))
        for pattern, _, names in (row.rpartition(":") for row in settings["per-file-ignores"])
    )
    rules = rules_named(settings["rule"], catalog)
    if settings["ignore"]:
        rules = (rules or frozenset(catalog.rules)) - rules_named(settings["ignore"], catalog)
        if not rules:
            raise UserError("no rule is left to report", "`archscan rules` lists them; ignore fewer")
    return replace(judging, rules=rules, ignored=ignored)


def _code(paths: Sequence[str], facts: Facts, settings: Settings, catalog: Catalog) -> Code | None:
    """The files for following callers over packages, if several were given or one PATH holds several."""
    if len(paths) < 2 and not _holds_consumers(facts):
        return None
    from archscan.tracing.commands import read_code

    return read_code(paths, settings.scan(), catalog, facts)


def _holds_consumers(facts: Facts) -> bool:
    """Whether extension modules are built in one directory and Python asks for architectures in another."""
    from archscan.model.facts import LinkKind, Origin

    if any(file.path == "__init__.py" for file in facts.files):
        return False  # the PATH is one package, and its directories are no packages beside each other
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


def scanned(paths: Sequence[str], settings: Settings, catalog: Catalog, workings: Workings | None = None) -> Facts:
    """The facts, with a progress bar on standard error where a person waits at a terminal."""
    from archscan import pipeline
    from archscan.progress import progress

    with progress(sys.stderr) as watch:
        return pipeline.scan(paths, catalog, settings.scan(), watch=watch, workings=workings)


def rules_named(names: Sequence[str], catalog: Catalog) -> frozenset[str]:
    """The rules of these names, `missing-*` being all that begin so; UserError with the nearest for any other."""
    from archscan.config import nearest_hint

    found: set[str] = set()
    for name in names:
        mine = {rule for rule in catalog.rules if name.endswith("*") and rule.startswith(name[:-1])} or {name}
        if not mine <= set(catalog.rules):
            known = nearest_hint(name.rstrip("*"), catalog.rules, "`archscan rules` lists them")
            raise UserError(f"unknown rule '{name}'", known)
        found |= mine
    return frozenset(found)


def _check_context(words: Sequence[str], catalog: Catalog) -> None:
    """Nothing if some evidence was taken under each of these conditions; UserError with the nearest otherwise."""
    from archscan.config import nearest_hint
    from archscan.judge.evidence import holds

    conditions = dict.fromkeys(text for row in catalog.evidence for text in row.evidence.conditions)
    known = sorted({known.lower() for text in conditions for known in text.replace(",", " ").split()})
    for word in words:
        if not any(holds(word, row) for row in catalog.evidence):
            hint = nearest_hint(word, known, "evidence was taken with: " + "; ".join([*conditions][:4]))
            raise UserError(f"'context' cannot be '{word}'", hint)


def _write_baseline(report: Report, file: str) -> int:
    from archscan.baseline import baseline_text

    write(baseline_text(report), file)
    click.echo(f"{file}: {len(report.findings)} findings are known from now on", err=True)
    return 0


def _without_known(report: Report, settings: Settings) -> Report:
    from archscan.baseline import known_fingerprints, without

    return without(report, known_fingerprints(settings["baseline"])) if settings["baseline"] else report


def _since(report: Report, paths: Sequence[str], settings: Settings, catalog: Catalog, revision: str) -> Report:
    """The report without what a revision had already; that is scanned the same way, and nothing of it is cached."""
    from dataclasses import replace

    from archscan.since import earlier, without_known

    entries = tuple(replace(e, value=False) if e.setting.key == "cache" else e for e in settings.entries)
    with earlier(paths, revision) as old:
        before = judged(old, replace(settings, entries=entries), catalog) if old else None
    return without_known(report, before, revision)


def _add_ignores(report: Report, paths: Sequence[str], settings: Settings, catalog: Catalog, reason: str) -> int:
    """Writes a comment above everything that counts; 1 if something is left."""
    from archscan import pipeline
    from archscan.fixing.ignores import ignores, write_ignores
    from archscan.fixing.journal import Journal
    from archscan.reporting.places import Places
    from archscan.reporting.words import counted, visible

    places = Places(report.facts)

    def evaluate(overlay: Mapping[str, bytes]) -> Report:
        facts = pipeline.scan(paths, catalog, settings.scan(), overlay)
        judging = _judging(settings, catalog, ())
        return pipeline.report(facts, report.selection, catalog, judging, _code(paths, facts, settings, catalog))

    made = ignores(report, reason, places.sources().data, evaluate)
    roots = [path if path.is_dir() else path.parent for path in map(Path, paths)]
    done = write_ignores(made, Journal(), roots)
    for finding, why in made.left:
        click.echo(f"left: {visible(places.typed(finding.path))}:{finding.place.line}: {finding.rule}: {why}", err=True)
    if done is not None:
        files = counted(len(made.changes), "file")
        undo = f"undo with: archscan revert {done.id}"
        click.echo(f"{counted(made.silenced, 'finding')} silenced in {files}; {undo}", err=True)
    elif not made.left:
        click.echo("nothing to silence", err=True)
    return int(bool(made.left))


_FIXES_UNASKED = 40  # candidates; each proof evaluates its file again, which takes about a tenth of a second


def _workings(given: Mapping[str, Any]) -> Workings | None:
    """Where the scan puts what fixes are proven by, if any may have to be."""
    from archscan.engine import Workings

    return Workings() if given["fixes"] or (given["fixes"] is None and _carries_fixes(given)) else None


def _carries_fixes(given: Mapping[str, Any]) -> bool:
    """Whether fixes are in the report unasked, where there are few candidates."""
    return given["format_"] in ("json", "jsonl", "sarif", "html") and "-" not in given["paths"]


def _wants_fixes(report: Report, given: Mapping[str, Any]) -> bool:
    """Whether to prove fixes: as asked, else where the format carries them and there are few candidates."""
    if given["fixes"] is not None or not _carries_fixes(given):
        return bool(given["fixes"])
    from archscan.fixing.plan import never_fixed

    return 0 < sum(not never_fixed(finding) for finding in report.findings) <= _FIXES_UNASKED


def _with_fixes(
    report: Report, paths: Sequence[str], settings: Settings, catalog: Catalog, workings: Workings | None
) -> Report:
    """The report with a proven fix at every finding that has one; each proof evaluates the project again."""
    from dataclasses import replace

    from archscan.fixing.commands import workbench
    from archscan.fixing.plan import fixes

    bench = workbench(paths, catalog, settings.scan(), workings)
    made = fixes(report.findings, report.selection, catalog, bench)
    return replace(report, findings=tuple(replace(finding, fix=fix) for finding, fix in made))


def _warnings(report: Report, given: Mapping[str, Any]) -> tuple[str, ...]:
    """What could not be read, or was read with a remark, for standard error."""
    from archscan.reporting.places import Places
    from archscan.reporting.words import one_line

    typed = Places(report.facts).typed
    named = [f"{f.path}: {f.reason}" for f in report.failed if f.named]  # they decide the exit code: always said
    found = [f"{typed(f.path)}: {f.reason}" for f in report.failed if not f.named]
    found += [
        f"{typed(file.path)}: {problem}" for file in report.facts.files if not file.lost for problem in file.problems
    ]
    most = len(found) if given["verbose"] else 0 if given["quiet"] else _MOST_WARNINGS
    more = (f"warning: {len(found) - most} more (-v shows them)",) if len(found) > most > 0 else ()
    found, most = [*named, *found], most + len(named)
    return (*(f"warning: {one_line(text)}" for text in found[:most]), *more)


def _rendered(report: Report, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> str:
    from archscan.reporting import render

    return render(report, given["format_"], render_options(report, given, settings, catalog))


def render_options(report: Report, given: Mapping[str, Any], settings: Settings, catalog: Catalog) -> RenderOptions:
    """How the report is to look, as far as the terminal and the file system have a say."""
    from archscan.reporting.options import RenderOptions, nowhere
    from archscan.reporting.places import Places

    places = Places(report.facts, settings["sarif-root"])
    return RenderOptions(
        sources=places.sources(),
        rules=catalog.rules,
        located=places.located,
        typed=places.typed,
        address=places.address if wants_links(given.get("hyperlinks", "never"), given["output"]) else nowhere,
        paths=tuple(given.get("paths") or (".",)),
        gpu=_called(report.selection, catalog),
        toolkit=settings["cuda"],
        date=today(),
        width=terminal_width(),
        color=wants_color(given["color"], given["output"]),
        limit=given["limit"],
        verbosity=-1 if given["quiet"] else int(given["verbose"]),
        include_leave=settings["include-leave"] or bool(settings["advice"]),
        all_gates=given["all_gates"],
        sarif_suppressed=settings["sarif-suppressed"],
    )


_PRODUCTS = 3


def _called(selection: Selection, catalog: Catalog) -> str:
    """What the GPU is called: `Blackwell (consumer): RTX PRO 6000, RTX 5090, ...`."""
    chip = catalog.architectures[selection.sm]
    more = ", ..." if len(chip.products) > _PRODUCTS else ""
    products = ", ".join(chip.products[:_PRODUCTS]) + more
    return f"{chip.name}: {products}" if products else chip.name


def today() -> str:
    """The day of this run; that of SOURCE_DATE_EPOCH where it is set, so that a page can be made again."""
    import time

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%d", time.gmtime(int(epoch) if epoch.isdecimal() else None))


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


def wants_links(choice: str, output: str | None) -> bool:
    """Whether places are links: --hyperlinks decides, then NO_COLOR, then whether a terminal that knows them reads."""
    if choice != "auto":
        return choice == "always"
    from archscan.reporting.hyperlinks import is_known_to

    is_read = output in (None, "-") and sys.stdout.isatty()
    return is_read and not os.environ.get("NO_COLOR") and is_known_to(os.environ)


def exit_code(report: Report, fail_on: str) -> int:
    """2 if something the user named could not be read, else 1 if a finding reaches `fail_on`, else 0."""
    from archscan.model.finding import UNCOUNTED, Level

    if any(f.named for f in report.failed):
        return 2
    if fail_on == "never":
        return 0
    least = min(Level(fail_on).rank, Level.HIGH.rank)  # `blocked` was a level here until 1.0
    return int(any(f.severity.rank >= least and f.advice not in UNCOUNTED for f in report.findings))


def write(result: str | bytes, output: str | None) -> None:
    """Writes a result to standard output, or to a file whole or not at all."""
    data = result if isinstance(result, bytes) else result.encode("utf-8", "backslashreplace")
    if output in (None, "-"):
        _print(data)
        return
    assert output is not None
    from archscan.reporting.words import visible
    from archscan.writing import write_atomically

    path = Path(output)
    try:
        if _takes_bytes(path):
            path.write_bytes(data)
        elif path.is_symlink():
            hint = f"nothing was written; name the file itself: {visible(os.path.realpath(path))}"
            raise UserError(f"{visible(output)} is a symbolic link", hint)
        else:
            write_atomically(path, data)
    except OSError as error:
        raise UserError(f"cannot write {visible(output)}: {error.strerror}", "nothing was changed there") from error


def _takes_bytes(path: Path) -> bool:
    """Whether it is a device or a pipe, which cannot be replaced. Links are followed in /dev and /proc only."""
    if path.is_symlink():
        return path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))
    return path.exists() and not path.is_file() and not path.is_dir()


def _print(data: bytes) -> None:
    """Writes to standard output; a reader that has gone (`| head`) has seen what it wanted."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush at exit
