"""The front end for build files besides CMake's and Python's: make, shell, Docker, workflows, Bazel, Meson."""

from __future__ import annotations

from collections.abc import Mapping

from archscan.frontends.build.archgates import list_gates
from archscan.frontends.build.readers import read
from archscan.frontends.build.reading import Given, mentions, open_questions
from archscan.frontends.protocol import Context
from archscan.frontends.suppressions import suppressions
from archscan.model.facts import FileFacts, Source
from archscan.sources.kinds import is_build_script

MAX_SIZE = 1_000_000


class ScriptsFrontEnd:
    """Build files that speak for themselves: each is read on its own."""

    name = "build-scripts"
    joins = False

    def wants(self, path: str) -> bool:
        """Whether a file is one of these, by its path."""
        return is_build_script(path)

    def index(self, source: Source, context: Context) -> FileFacts | None:
        """The facts of a file; None where it speaks of no architecture."""
        if not mentions(source.data):
            return None
        facts = FileFacts(source.path, len(source.data), suppressions=suppressions(source.data))
        if len(source.data) > MAX_SIZE:
            return FileFacts(source.path, len(source.data), problems=("too large to be read as a build file",))
        reading = read(source.path, source.data, Given.of(context.catalog, context.settings))
        return FileFacts(
            path=facts.path,
            size=facts.size,
            gates=list_gates(reading.lists, source, context.catalog),
            undecided=open_questions(source.data, reading),
            suppressions=facts.suppressions,
            problems=reading.problems,
        )

    def link(self, indexes: Mapping[str, FileFacts], context: Context) -> None:
        """Nothing: no file hangs on another."""

    def gates(self, index: FileFacts, project: None, context: Context) -> FileFacts:
        """The facts as they were found."""
        return index
