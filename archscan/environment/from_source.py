"""What to set so that a build from source has code for a GPU: of projects on disk, and of packages that were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from archscan.builds.model import Build
from archscan.catalog.types import Catalog
from archscan.environment.facts import FromSource
from archscan.environment.model import Question, Row
from archscan.model.facts import Origin, Source
from archscan.model.target import Selection


def rebuilding(row: Row, asked: Question) -> str:
    """What to do to build a distribution with code for the GPU; empty where nothing is known that would help."""
    if row.installed.editable and row.installed.tops:
        project = row.installed.tops[0]
        line = to_set(project, asked.selection, asked.catalog)
        return f"build it again with {line} (archscan builds --for {asked.selection.name} {project})" if line else ""
    known = asked.facts.sources.get(row.installed.key)
    if known is None or asked.selection.sm not in known.helps:
        return ""
    return f"build it from source with {_line(known, asked.selection)} ({known.source})"


def to_set(project: str, selection: Selection, catalog: Catalog) -> str:
    """The variable or definition that the builds of a project read, as `archscan builds --for` says it; or nothing."""
    from archscan.builds.advise import advice_for
    from archscan.builds.collect import collect
    from archscan.frontends.build.reading import Given
    from archscan.model.settings import ScanSettings
    from archscan.sources import discover, read, vendored_trees

    settings = ScanSettings()
    discovery = discover((project,), settings, vendored_trees(catalog.packages))
    sources = [s for s in read(discovery.sources) if isinstance(s, Source) and s.origin is Origin.OWN]
    given = replace(Given.of(catalog, settings), is_default=True)

    def again(values: Mapping[str, str]) -> Sequence[Build]:
        return collect(sources, replace(given, values={**given.values, **values})).builds

    advice = advice_for(collect(sources, given), selection, catalog, again)
    return next((one.text for one in advice if one.how in ("environment", "cmake")), "")


def _line(known: FromSource, selection: Selection) -> str:
    sm = selection.sm
    return known.set.format(number=sm, dotted=f"{sm // 10}.{sm % 10}")
