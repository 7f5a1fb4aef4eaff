"""The index of one file: its reduced code where it may ask for the architecture, its sites, its functions by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.cuda.host.asking import fingerprints, identifiers, pieces
from archscan.frontends.cuda.host.calls import Functions, Vocabulary, functions
from archscan.frontends.cuda.host.dynamic import DYNAMIC
from archscan.frontends.cuda.host.lowering import Lowering
from archscan.frontends.cuda.host.sites import RawSite, raw_sites
from archscan.frontends.cuda.host.summaries import EffectClassifier
from archscan.frontends.cuda.host.syntax import Unit
from archscan.frontends.protocol import Context
from archscan.model.facts import Origin, Source
from archscan.sources.text import Changed

_NO_CODE = Unit()


@dataclass(frozen=True, slots=True)
class HostIndex:
    """One file as the later steps see it."""

    path: str
    unit: Unit
    sites: tuple[RawSite, ...]
    functions: Functions | None
    words: bytes = b""  # the fingerprints of its identifiers, where it can be read again

    def found_at(self, disk: str) -> HostIndex:
        """The same index, for a file that may lie elsewhere by now."""
        functions = self.functions
        if functions is None or functions.text.disk in ("", disk):
            return self
        return replace(self, functions=replace(functions, text=replace(functions.text, disk=disk)))

    @property
    def has_facts(self) -> bool:
        """Whether the file may hold gates or sites of its own, not only functions that others call."""
        return bool(self.sites) or self.unit != _NO_CODE


@dataclass(frozen=True)
class _Tools:
    """What is made once per catalog."""

    recogniser: Recogniser
    summariser: EffectClassifier
    vocabulary: Vocabulary


class _Key:
    """Hashes a catalog by its digest: catalogs themselves hold dictionaries."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __hash__(self) -> int:
        return hash(self.catalog.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and (
            self.catalog is other.catalog or (bool(self.catalog.digest) and self.catalog.digest == other.catalog.digest)
        )


@lru_cache(maxsize=4)
def _tools(key: _Key) -> _Tools:
    recogniser = Recogniser(key.catalog)
    return _Tools(recogniser, EffectClassifier(recogniser.in_code), Vocabulary(key.catalog, recogniser.in_code))


def vocabulary_of(context: Context) -> Vocabulary:
    """The vocabulary of a context's catalog, made once."""
    return _tools(_Key(context.catalog)).vocabulary


def recogniser_of(context: Context) -> Recogniser:
    """The recogniser of a context's catalog, made once."""
    return _tools(_Key(context.catalog)).recogniser


def indexed(source: Source, context: Context) -> HostIndex | None:
    """The index of a file; None if it has nothing for the host side."""
    tools = _tools(_Key(context.catalog))
    own = source.origin is Origin.OWN
    words = identifiers(source.data)
    unit = reduced(source.data, words, tools.summariser)
    sites = raw_sites(source.data, own, (DYNAMIC,))
    named = functions(source.data, source.disk if source.stays else "", tools.vocabulary, with_calls=own)
    if not sites and named is None and unit == _NO_CODE:
        return None
    kept = fingerprints(words).tobytes() if named is not None and named.text.disk else b""
    return HostIndex(source.path, unit, sites, named, kept)


def read_again(index: HostIndex, helpers: frozenset[str], context: Context) -> HostIndex:
    """The index with the functions that ask helpers of other files; as it is where the file is not any more."""
    if index.functions is None:
        return index
    try:
        data = index.functions.text.load()
    except Changed:
        return index
    return replace(index, unit=reduced(data, identifiers(data), _tools(_Key(context.catalog)).summariser, helpers))


def reduced(
    data: bytes, words: frozenset[bytes], summariser: EffectClassifier, helpers: frozenset[str] = frozenset()
) -> Unit:
    """The parts of a file that may ask for the architecture, in the small syntax."""
    units = [
        Lowering(data[p.start : p.end], p.start, p.row, summariser=summariser, asked=p.places, known=helpers).unit()
        for p in pieces(data, words, helpers)
    ]
    if not units:
        return _NO_CODE
    return Unit(
        functions=tuple(f for u in units for f in u.functions),
        constants=tuple(c for u in units for c in u.constants),
        aliases=tuple(a for u in units for a in u.aliases),
        templates=tuple(t for u in units for t in u.templates),
        compiled=tuple(sorted({name for u in units for name in u.compiled})),
    )
