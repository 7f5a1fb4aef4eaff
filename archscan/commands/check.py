"""One run of `check`: a declared set of architectures against libraries, lists and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from archscan.commands.scan import loaded_catalog, said, split, terminal_width, write
from archscan.config import merged
from archscan.errors import UserError

if TYPE_CHECKING:
    from archscan.catalog.types import Catalog
    from archscan.config import Settings
    from archscan.declared.model import Declared
    from archscan.environment.shelves import Compiled
    from archscan.model.facts import Failed
    from archscan.model.finding import Finding
    from archscan.sources import Discovery

NEVER = "never"


def run_check(given: Mapping[str, Any]) -> int:
    """Prints what does not agree; 2 if something named cannot be read, else 1 by --fail-on, else 0."""
    from archscan.builds.collect import collect
    from archscan.declared.check import disagreements, variant_properties
    from archscan.declared.model import LEVELS
    from archscan.frontends.build.reading import Given
    from archscan.model.facts import Failed, Origin, Source
    from archscan.reporting.declared import Checked, check_object, check_sarif, check_text
    from archscan.reporting.json_format import dumped
    from archscan.sources import discover, read, vendored_trees

    paths = tuple(given["paths"]) or (".",)
    options = {key: value for key, value in said(given).items() if key not in ("declared", "gates", "print-variant")}
    settings = merged({**options, "fail-on": None}, paths, given["config"], given["isolated"])
    catalog = loaded_catalog(settings)
    discovery = discover(paths, settings.scan(), vendored_trees(catalog.packages))
    libraries, failed = _libraries(discovery)
    failed += discovery.failed
    if given["print_variant"]:
        return _print_variant(*variant_properties(libraries, catalog), given["output"], failed)
    declared = _declared(given["declared"], paths, catalog)
    read_now = list(read(discovery.sources))
    sources = [one for one in read_now if isinstance(one, Source) and one.origin is Origin.OWN]
    failed += [one for one in read_now if isinstance(one, Failed)]
    builds = collect(sources, Given.of(catalog, settings.scan())).builds
    findings = _findings(paths, declared, settings, catalog) if given["gates"] and sources else {}
    rows = disagreements(libraries, builds, findings, declared, catalog)
    checked = Checked(declared, rows, len(libraries), len(builds), bool(findings), tuple(failed))
    form = given["format_"]
    if form == "text":
        text = check_text(checked, terminal_width())
    else:
        text = dumped(check_object(checked)) if form == "json" else check_sarif(checked)
    write(text, given["output"])
    if any(one.named for one in failed):
        return 2
    least = LEVELS.index(given["fail_on"]) if given["fail_on"] != NEVER else -1
    return int(any(LEVELS.index(row.level) <= least for row in rows))


def _libraries(discovery: Discovery) -> tuple[list[Compiled], list[Failed]]:
    """What is in the libraries that programs load, and those that cannot be read."""
    from archscan.environment.installed import is_loaded
    from archscan.environment.shelves import read_one
    from archscan.model.facts import Failed

    found, failed = [], []
    for unread in discovery.libraries:
        if not is_loaded(unread.path):
            continue
        one = read_one(unread)
        if isinstance(one, Failed):
            failed.append(one)
        elif one is not None:
            found.append(one)
            failed += [Failed(unread.path, why, unread.named) for why in one.library.failed]
    return found, failed


def _declared(words: Sequence[str], paths: Sequence[str], catalog: Catalog) -> Declared:
    from archscan.declared.model import declared
    from archscan.declared.sources import says_itself

    if words:
        return declared(",".join(split(words)), "--declared", catalog)
    if len(paths) > 1:
        raise UserError("several PATHs say several things of themselves", "name one, or --declared sm_80,sm_90a")
    return says_itself(paths[0], catalog)


def _findings(
    paths: Sequence[str], declared: Declared, settings: Settings, catalog: Catalog
) -> dict[int, Sequence[Finding]]:
    """What a scan reports for each GPU that is declared; one scan answers for all of them."""
    from archscan import pipeline
    from archscan.catalog.targets import select

    facts = pipeline.scan(paths, catalog, settings.scan())
    judge = settings.judge(())
    return {
        sm: pipeline.report(facts, select(f"sm_{sm}", catalog), catalog, judge).findings
        for sm in declared.gpus(catalog)
    }


def _print_variant(
    properties: Sequence[str], notes: Sequence[str], output: str | None, failed: Sequence[Failed]
) -> int:
    """Prints the properties; why others are not among them goes to standard error."""
    import click

    from archscan.reporting.words import visible_lines

    for note in notes:
        click.echo(f"note: {note}", err=True)
    for one in failed:
        click.echo(f"warning: {one.path}: {one.reason}", err=True)
    write(visible_lines("\n".join(properties)) if properties else "", output)
    return 2 if failed else 0
