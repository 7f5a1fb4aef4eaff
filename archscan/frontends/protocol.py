"""What a front end is: three pure steps, so that the pipeline can cache and spread them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from archscan.catalog.types import Catalog
from archscan.errors import internal
from archscan.model.facts import FileFacts, Source
from archscan.model.reads import Question, Reads
from archscan.model.settings import ScanSettings


@dataclass(frozen=True, slots=True)
class Context:
    """What every step may look at besides its input."""

    catalog: Catalog
    settings: ScanSettings


class Rereading(Protocol):
    """An index that reads the text of its file again when it needs it."""

    def found_at(self, disk: str) -> Any:
        """The same index, for a file that may lie elsewhere by now."""
        ...


class FrontEnd(Protocol):
    """Bytes -> gates. All three steps are pure and take and return picklable values.

    index: one file, from its bytes alone (cacheable by content); None = the file holds nothing of interest
    link:  all indexes of the project (macro table, module graph) -> whatever `gates` needs; its `silent`, if it has
           one, are the paths for which `gates` need not be asked
    gates: one index and the linked project -> the facts of that file
    """

    name: str
    joins: bool  # whether what it says of a file hangs on other files; if not, its indexes are the facts already

    def wants(self, path: str) -> bool:
        """Whether this front end reads files of that name."""
        ...

    def index(self, source: Source, context: Context) -> Any | None: ...

    def link(self, indexes: Mapping[str, Any], context: Context) -> Any: ...

    def gates(self, index: Any, project: Any, context: Context) -> FileFacts: ...


class Tracing(Protocol):
    """A front end that says what it read for a file: what it found stays while all that is as it was."""

    def reads(self, path: str, project: Any) -> Reads:
        """What `gates` read of the linked project for a file whose facts this very project object was asked for."""
        ...

    def answer(self, question: Question, project: Any) -> object:
        """What a linked project says to a question of `reads`: values that tell answers apart."""
        ...


class Relinking(Protocol):
    """A front end that links a tree faster by what it found when that was last linked."""

    def relink(
        self, indexes: Mapping[str, Any], context: Context, contents: Mapping[str, bytes], before: object
    ) -> tuple[Any, object]:
        """The linked project, and what to keep; `contents` stands for each file, `before` is what was kept last."""
        ...


def located(index: Any, disk: str) -> Any:
    """An index that may come from a cache, for the file as it lies now."""
    find = getattr(index, "found_at", None)  # to ask whether it is a Rereading costs more than to unpack most indexes
    return find(disk) if find is not None else index


def silent(linked: Any) -> frozenset[str]:
    """The files of which a front end's `gates` would say nothing, as far as what it has linked tells."""
    found: frozenset[str] = getattr(linked, "silent", frozenset())
    return found


def facts_of(path: str, end: FrontEnd, index: Any, linked: Any, context: Context) -> FileFacts:
    """The facts of one file. A front end that raises loses this file, not the run."""
    try:
        return end.gates(index, linked, context)
    except Exception as error:
        return FileFacts(path, 0, problems=(internal(error),), lost=True)
