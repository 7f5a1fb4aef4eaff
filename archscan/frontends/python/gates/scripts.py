"""The lists that build scripts make step by step, beside those that are written out as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from archscan.analysis.decisions import About, listed, serving
from archscan.catalog.recognise import Recogniser
from archscan.frontends.build.archgates import list_gate, refusal
from archscan.frontends.build.archlists import ArchList
from archscan.frontends.build.places import line_at, place_of
from archscan.frontends.build.python import Known, known_lists, read_python
from archscan.frontends.build.reading import Given, open_questions
from archscan.frontends.protocol import Context
from archscan.model.facts import Source, Undecided
from archscan.model.gate import Does, Effect, Gate, Kind, Layer
from archscan.model.truth import Truth


@dataclass(frozen=True)
class Made:
    """The lists of a script as gates, and what was not understood."""

    gates: tuple[Gate, ...]
    undecided: tuple[Undecided, ...]
    problems: tuple[str, ...]
    left: tuple[tuple[int, int], ...] = ()  # branches for other toolkits
    stopped: tuple[tuple[Gate, Gate], ...] = ()  # gates that are known, and as the toolkit leaves them
    outdone: tuple[Gate, ...] = ()  # gates that are known, of which a list says more


NOTHING = Made((), (), ())


def made_by(path: str, data: bytes, found: list[Gate], context: Context, recogniser: Recogniser) -> Made:
    """What the script asks nvcc to build and no gate of `found` says; flags for one chip alone are somebody's choice.

    Unless an extension module is built with them: then they are all that it gets.
    """
    given = Given.of(context.catalog, context.settings)
    reading = read_python(data, given)
    source = Source(path, data)
    outdone = tuple(gate for gate in found if any(_says_more(one, gate, data) for one in reading.lists))
    found = [gate for gate in found if gate not in outdone]
    told = {line for gate in found for line in _lines(gate)}
    lists = [one for one in reading.lists if _is_list(one) and not _entry_lines(one, data) & told]
    said = {gate.arms[0].own for gate in found if gate.kind is Kind.BUILD_LIST}  # numbers do not tell where they stand
    made = (list_gate(one, source, context.catalog, recogniser) for one in lists)
    gates = tuple(gate for gate in made if gate.arms[0].own not in said)
    gates += tuple(_allow_list(known, source, context) for known in known_lists(data, given))
    undecided = () if found or gates else open_questions(data, reading)
    stopped = tuple(
        (gate, _stopped(gate, one, context))
        for gate in found
        for one in reading.lists
        if gate.layer is Layer.BUILD and _entry_lines(one, data) & _lines(gate) and one.refused(context.catalog)
    )
    return Made(gates, undecided, reading.problems, reading.left, stopped, outdone)


def _says_more(one: ArchList, gate: Gate, data: bytes) -> bool:
    """Whether flags are all that a gate stands for and others, which are added to them on a condition."""
    if gate.kind is not Kind.BUILD_LIST or gate.layer is not Layer.BUILD or not one.is_flags:
        return False
    known = {int(name.rstrip("af")) for name in (gate.note("images:0") or "").split()}
    return gate.place.line in _entry_lines(one, data) and known < _sms(one)


def _sms(one: ArchList) -> set[int]:
    return {image.target.sm for image in one.images}


def _stopped(gate: Gate, one: ArchList, context: Context) -> Gate:
    """A list that is a gate already, with an entry that the toolkit refuses: nobody gets anything."""
    refused = refusal(one, context.catalog)
    assert refused is not None
    nobody = Truth(0, context.catalog.universe.all)
    arms = tuple(replace(arm, truth=nobody, assumed=nobody) for arm in gate.arms)
    return replace(gate, arms=arms, rest=refused, extra=(*gate.extra, ("refused", one.toolkit)))


def _allow_list(known: Known, source: Source, context: Context) -> Gate:
    """The gate of a list that what the user asks for must be in."""
    universe = context.catalog.universe
    no = universe.mask(known.refused)
    truth = Truth(universe.device & ~no, no | universe.host)
    spot = place_of(source.data, known.start, known.end)
    shown = " ".join(source.data[known.start : known.end].decode("utf-8", "backslashreplace").split())
    about = About(assumptions=("the user asks for the capability of the GPU",))
    refused = Effect(Does.SKIPS if known.silent else Does.RAISES, spot.line, known.message or None)
    return listed(source.path, Layer.PYTHON, Kind.BUILD_LIST, serving(spot, shown, truth), refused, about)


def with_made(found: list[Gate], made: Made) -> list[Gate]:
    """All gates of a file: a list that something is looked up in is told by what it makes.

    Where it is looked up with an error for the others, that is told, unless the script was asked for each target.
    """
    refusing = {g.place.line for g in found if g.kind is Kind.ALLOW_LIST and g.rest.does is Does.RAISES}
    gates = [g for g in made.gates if g.layer is not Layer.BUILD or g.place.line not in refusing]
    lines = {g.place.line for g in gates}
    known = {id(old): new for old, new in made.stopped}
    found = [known.get(id(g), g) for g in found if g not in made.outdone]
    looked_up = (Kind.ALLOW_LIST, Kind.TABLE, Kind.BUILD_LIST)
    kept = [g for g in found if not (g.kind in looked_up and g.place.line in lines)]
    kept = [g for g in kept if g.layer is not Layer.BUILD or not _is_within(g, made.left)]
    return sorted((*kept, *gates), key=lambda g: (g.place.start, g.kind))


def _is_within(gate: Gate, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= gate.place.start < end for start, end in ranges)


def _is_list(one: ArchList) -> bool:
    asked = _sms(one) | {entry.text for entry in one.entries if entry.odd}
    return len(asked) > 1 or one.is_built or bool(one.environment and one.consumer)


def _lines(gate: Gate) -> set[int]:
    """The lines that a build list is told at, or made on."""
    if gate.kind is not Kind.BUILD_LIST:
        return set()
    return {*range(gate.place.line, gate.place.end_line + 1), *(r.line for r in gate.related if r.path == gate.path)}


def _entry_lines(one: ArchList, data: bytes) -> set[int]:
    offsets = {one.start, *(e.at for e in one.entries), *(e.made for e in one.entries)}
    return {line_at(data, at) for at in offsets if at >= 0}
