"""Turns evaluations of a CMake file, one per target, into gates: lists that lack a target, comparisons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from archscan.analysis.decisions import About, Rest, decided, in_order, listed, serving
from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.build.archgates import notes, refusal
from archscan.frontends.build.archlists import ArchList, flag_entries, named_list
from archscan.frontends.build.asked import only_asked
from archscan.frontends.build.branches import branch_effect
from archscan.frontends.build.conditions import Answer
from archscan.frontends.build.edits import edit_gates
from archscan.frontends.build.images import Image, entry_images, flag_images, list_entries, list_images, loaded_by
from archscan.frontends.build.interpreter import Trace
from archscan.frontends.build.literals import Literal, Purpose
from archscan.frontends.build.places import comments_at, line_at, place_of
from archscan.frontends.build.syntax import Block, Command, Listfile, Node, Part
from archscan.frontends.build.traced import written as traced
from archscan.frontends.build.values import Origin
from archscan.model.gate import NOTHING, Arm, Does, Effect, FeatureUse, Gate, Kind, Layer, Place, Related, Role
from archscan.model.target import Target
from archscan.model.truth import Truth

_SOURCE = re.compile(r"\.(?:cu|cuh|cc|cpp|cxx|c)$")
_FLAGS = re.compile(r"arch=|-arch\b")
_TARGETS = "CMAKE_CUDA_ARCHITECTURES"


@dataclass(frozen=True)
class Evaluated:
    """A file with its evaluations: `plain` for nobody's request, `traces` for each device target."""

    path: str
    data: bytes
    listfile: Listfile
    literals: tuple[Literal, ...]
    plain: Trace
    traces: dict[Target, Trace]
    catalog: Catalog
    recogniser: Recogniser
    inputs: dict[str, str]
    cuda: str = "13.0"

    @cached_property
    def flags(self) -> tuple[tuple[frozenset[Origin], tuple[Image, ...]], ...]:
        """The variables that nvcc's targets come from in the end: what they were made of, and the images."""
        held = [(n, v.text, v.origins) for n, v in self.plain.held.items() if v.text and v.origins]
        held += [
            (_TARGETS if b.is_list else "", b.value.text, b.value.origins) for b in self.plain.built if b.value.text
        ]
        read = [
            (origins, list_images(text, self.catalog) if name == _TARGETS else flag_images(text, self.catalog))
            for name, text, origins in held
        ]
        return tuple((origins, tuple(images)) for origins, images in read if images)

    @cached_property
    def only_asked(self) -> frozenset[str]:
        """The variables that only functions read which the file does not call."""
        return only_asked(self.listfile)

    @cached_property
    def filters(self) -> tuple[Literal, ...]:
        """The literals that others are compared with: no function got them, but something looks into them."""
        return tuple(o for o in self.literals if _by_result(self, [o]) is None and _asked(self, [o]))


def gates(evaluated: Evaluated) -> tuple[Gate, ...]:
    """Every gate of the file, by line."""
    asked = {target: trace.edits for target, trace in evaluated.traces.items()}
    body, catalog = evaluated.listfile.body, evaluated.catalog
    edits = edit_gates(evaluated.path, evaluated.data, body, evaluated.plain.edits, asked, catalog)
    found = [*_list_gates(evaluated), *_conditions(evaluated), *edits]
    return tuple(sorted(found, key=lambda gate: gate.place.start))


# --- lists


def _list_gates(evaluated: Evaluated) -> list[Gate]:
    """One gate a list; what is appended to one variable is one list."""
    groups: dict[object, list[Literal]] = {}
    latest: dict[str, object] = {}  # variable -> its last set()
    for literal in evaluated.literals:
        key: object = literal.start
        if literal.command.name in ("list", "string") or literal.name in evaluated.inputs:
            key = latest.setdefault(literal.name, literal.start)
        elif literal.command.name == "set":
            latest[literal.name] = key
        groups.setdefault(key, []).append(literal)
    bounds = _bounds(evaluated)
    made = [_list_gate(evaluated, group) for group in groups.values() if not _is_bound(evaluated, group, bounds)]
    return [gate for gate in made if gate is not None]


def _bounds(evaluated: Evaluated) -> set[Origin]:
    """The literals that a request is compared with, outside of loops."""
    found: set[Origin] = set()
    for trace in evaluated.traces.values():
        for evaluations in trace.branches.values():
            if len(evaluations) == 1:
                found.update(origin for answer in evaluations[0] for origin in answer.bounds)
    return found


def _is_bound(evaluated: Evaluated, group: list[Literal], bounds: set[Origin]) -> bool:
    """Whether a single architecture is there to be compared with: the comparison is the gate."""
    return len(_sms(group)) == 1 and bool(_origins(evaluated, group) & bounds)


def _list_gate(evaluated: Evaluated, group: list[Literal]) -> Gate | None:
    """The gate of a list, None where it is the very request, or admits nobody."""
    first = group[0]
    if first.purpose is Purpose.VARIABLE and first.name in evaluated.inputs and len(_sms(group)) == 1:
        return None  # a default that stands for the request
    if first.purpose is Purpose.VARIABLE and first.name in evaluated.only_asked:
        return None  # what a module knows: a list is built where its functions are called
    if all(_is_dead(evaluated, literal) for literal in group):
        return None  # of another toolkit or platform
    if all(_is_replaced(evaluated, literal) for literal in group):
        return None  # one entry in another's place: the list is the one that was gone through
    if first.purpose is Purpose.LOOP and not _flags_made_of(evaluated, first):
        return None
    own, assumes = _by_loading(evaluated, group)
    result = _by_result(evaluated, group)
    asked = result is None and _asked(evaluated, group)
    truth = _by_membership(evaluated, group) if asked else result or own
    refused = _refused(evaluated, group) if truth is own or result is not None else None
    if not truth.yes and refused is None:
        return None
    loads = truth
    if refused is not None:
        truth = Truth(0, evaluated.catalog.universe.all)
    universe = evaluated.catalog.universe
    place, shown = place_of(evaluated.data, first.start, group[0].end), _shown(group)
    users = sorted({offset for literal in group for offset in _users(evaluated, literal)})
    related = _related(evaluated, group, users, asked)
    dropping = _dropping(evaluated, users) if _by_membership(evaluated, group).yes & truth.no else None
    if dropping is not None:
        related = (Related(evaluated.path, place.line, Role.DEFINITION, f"named in {shown[:80]}"),)
        place, shown = place_of(evaluated.data, dropping.start, dropping.end), _condition_text(evaluated, dropping)
    assumed = truth if truth is not own else Truth(truth.yes | truth.unknown(universe.device), truth.no)
    left_open = assumes if loads is own else ()
    arm = replace(
        serving(place, shown, loads if refused else own if not asked else truth, truth, assumed),
        unknowns=left_open,
        assumes=left_open,
        features=_features(evaluated, group),
    )
    about = About(
        related=related,
        near=comments_at(evaluated.data, first.start),
        symbols=tuple(literal.name for literal in group if literal.name),
        notes=notes(_made(evaluated, group), evaluated.cuda if refused else "", evaluated.catalog),
    )
    rest = refused or _refusal(evaluated, users, first)
    return listed(evaluated.path, Layer.BUILD, Kind.BUILD_LIST, arm, rest, about)


def _made(evaluated: Evaluated, group: list[Literal]) -> tuple[Image, ...]:
    """The images of a list, or of the flags that are made of it."""
    return tuple(
        dict.fromkeys(
            i for one in group for i in _flags_made_of(evaluated, one) or one.images if not _is_dead(evaluated, one)
        )
    )


def _refused(evaluated: Evaluated, group: list[Literal]) -> Effect | None:
    """What nvcc says of an entry of the list that reaches it and that the toolkit does not compile for."""
    origins = _origins(evaluated, group)
    written = {number for one in group for number in re.findall(r"\d+", one.text.replace(".", ""))}
    held = [(n, v) for n, v in evaluated.plain.held.items() if v.text and v.origins & origins]
    sinks = [(v.text or "", n == _TARGETS) for n, v in held if n == _TARGETS or _FLAGS.search(v.text or "")]
    sinks += [(b.value.text or "", b.is_list) for b in evaluated.plain.built if b.value.origins & origins]
    sinks += [(one.text, False) for one in group if one.purpose is Purpose.FLAGS and not one.within]
    for text, is_list in sinks:
        value = traced(text, 0)
        if is_list:
            one = named_list(_TARGETS, value, evaluated.catalog, evaluated.cuda)
        else:
            entries, gaps, words = flag_entries(value, evaluated.catalog, evaluated.cuda)
            one = ArchList("", entries, 0, 0, text, gaps, "", evaluated.cuda, words)
        mine = (
            replace(
                one, entries=tuple(e for e in one.entries if set(re.findall(r"\d+", e.text.replace(".", ""))) & written)
            )
            if one
            else None
        )
        found = refusal(mine, evaluated.catalog) if mine is not None and mine.entries else None
        if found is not None:
            return found
    return None


def _dropping(evaluated: Evaluated, users: list[int]) -> Command | None:
    """The pattern in a loop that entries are put to: what it does not match is dropped, though the list names it."""
    heads = [b.parts[0].head for b in _blocks(evaluated.listfile.body) if b.parts[0].head.start in users]
    patterns = [head for head in heads if any(argument.text == "MATCHES" for argument in head.arguments)]
    return patterns[0] if len(patterns) == 1 else None


def _sms(group: Iterable[Literal]) -> set[int]:
    return {image.target.sm for literal in group for image in literal.images}


def _origins(evaluated: Evaluated, group: Iterable[Literal]) -> set[Origin]:
    return {(evaluated.path, a.start) for literal in group for a in literal.arguments}


def _asked(evaluated: Evaluated, group: list[Literal]) -> bool:
    """Whether something is looked for in the list as it is written, not only in what became of it."""
    origins = _origins(evaluated, group)
    written = {entry for literal in group for entry in list_entries(literal.text)}
    searched = {
        text for trace in evaluated.traces.values() for origin in origins for text in trace.haystacks.get(origin, ())
    }
    return any(written <= set(list_entries(text)) for text in searched)


def _by_membership(evaluated: Evaluated, group: list[Literal]) -> Truth:
    sms = _sms(group)
    return _truth(evaluated, {t: t.sm in sms for t in evaluated.traces})


def _by_loading(evaluated: Evaluated, group: list[Literal]) -> tuple[Truth, tuple[str, ...]]:
    """Whether a device takes one of the images, and the options that add some: unknown where nothing else fits."""
    options = {literal.start: _options(evaluated, literal) for literal in group}
    group = [literal for literal in group if not _is_dead(evaluated, literal)] or group
    common = set.intersection(*(set(options[literal.start]) for literal in group))  # the list is there under them
    sure = [literal for literal in group if not set(options[literal.start]) - common]
    answers: dict[Target, bool | None] = {}
    for target in evaluated.traces:
        if _loaded(evaluated, sure, target):
            answers[target] = True
        else:
            answers[target] = None if _loaded(evaluated, group, target) else False
    names = tuple(dict.fromkeys(name for found in options.values() for name in found))
    return _truth(evaluated, answers), names


def _loaded(evaluated: Evaluated, group: list[Literal], target: Target) -> bool:
    return any(
        loaded_by(_flags_made_of(evaluated, literal) or literal.images, target.sm, evaluated.catalog)
        for literal in group
    )


def _flags_made_of(evaluated: Evaluated, literal: Literal) -> tuple[Image, ...]:
    """The images that flags ask for which the file makes of a list."""
    if literal.purpose is Purpose.FLAGS:
        return ()
    origins = _origins(evaluated, [literal])
    return tuple(image for held, images in evaluated.flags if held & origins for image in images)


def _options(evaluated: Evaluated, literal: Literal) -> tuple[str, ...]:
    """The names that leave the if() around a literal open: options of the user."""
    names: dict[str, None] = {}
    for offset, number in literal.within:
        for answers in evaluated.plain.branches.get(offset, []):
            asked = answers[: number + 1]
            names.update((name, None) for answer in asked if answer.value is None for name in answer.because)
    return tuple(name for name in names if name not in evaluated.inputs)


def _is_dead(evaluated: Evaluated, literal: Literal) -> bool:
    """Whether the toolkit or platform rules out the branch that a literal stands in."""
    for offset, number in literal.within:
        for answers in evaluated.plain.branches.get(offset, []):
            earlier = [answer.value for answer in answers[:number]]
            if answers[number].value is False or True in earlier:
                return True
    return False


def _is_replaced(evaluated: Evaluated, literal: Literal) -> bool:
    """Whether the other way of the if() around an appended literal appends what is there already: `"${arch}"`."""
    blocks = {block.parts[0].head.start: block for block in _blocks(evaluated.listfile.body)}
    return literal.command.name == "list" and any(
        command.name == "list" and words[:2] == ["APPEND", literal.name] and all("$" in word for word in words[2:])
        for offset, number in literal.within[-1:]
        for at, part in enumerate(blocks[offset].parts if offset in blocks else ())
        for command in _commands(part.body if at != number else ())
        if (words := [argument.text for argument in command.arguments])
    )


def _by_result(evaluated: Evaluated, group: list[Literal]) -> Truth | None:
    """What functions made of the list for each request; None where no function of the project got it."""
    answers: dict[Target, bool | None] = {}
    for target, trace in evaluated.traces.items():
        values = [v for origin in _origins(evaluated, group) for v in trace.results.get(origin, [])]
        outcomes = [_is_served(value.text, target, evaluated.catalog) for value in values if value.text is not None]
        settled = [outcome for outcome in outcomes if outcome is not None]
        if settled:
            answers[target] = any(settled)
    return _truth(evaluated, answers) if answers else None


def _is_served(text: str, target: Target, catalog: Catalog) -> bool | None:
    """Whether a resulting list has something for a target; None where it is no list of architectures."""
    if not text:
        return False
    images = list_images(text, catalog)
    return None if images is None else loaded_by(images, target.sm, catalog)


def _truth(evaluated: Evaluated, answers: dict[Target, bool | None]) -> Truth:
    universe = evaluated.catalog.universe
    yes = universe.mask(t for t, answer in answers.items() if answer)
    no = universe.mask(t for t, answer in answers.items() if answer is False)
    return Truth(yes, no | universe.host)


def _users(evaluated: Evaluated, literal: Literal) -> set[int]:
    """The if() that ask about the list or what became of it."""
    found: set[int] = set()
    for argument in literal.arguments:
        origin = (evaluated.path, argument.start)
        for trace in evaluated.traces.values():
            found |= trace.uses.get(origin, set())
    return found


def _refusal(evaluated: Evaluated, users: list[int], literal: Literal) -> Effect:
    """What a target gets that is not served: an error if one of the if() that ask says so, else nothing is built."""
    blocks = {block.parts[0].head.start: block for block in _blocks(evaluated.listfile.body)}
    environment = (literal.name,) if literal.name in evaluated.inputs else ()
    for offset in users:
        for part in blocks[offset].parts if offset in blocks else ():
            effect = branch_effect(evaluated.data, part.body)
            if effect.does is Does.ERRORS:
                return Effect(Does.ERRORS, effect.line, effect.message, environment=environment)
    return Effect(Does.SKIPS, line_at(evaluated.data, literal.start), environment=environment)


def _related(evaluated: Evaluated, group: list[Literal], users: list[int], asked: bool) -> tuple[Related, ...]:
    related = [
        Related(evaluated.path, line_at(evaluated.data, offset), Role.CALLER, "asks about it") for offset in users
    ]
    if not asked and any(_origins(evaluated, group) & trace.results.keys() for trace in evaluated.traces.values()):
        filters = [other for other in evaluated.filters if other not in group]
        related += [
            Related(
                evaluated.path,
                line_at(evaluated.data, other.start),
                Role.ALSO_CHANGE,
                "what this list lacks is dropped",
            )
            for other in filters
        ]
    return tuple(related)


def _features(evaluated: Evaluated, group: list[Literal]) -> tuple[FeatureUse, ...]:
    """What names and comments say, and what a suffix is for: 9.0a holds wgmma, 10.xa and 11.0a tensor memory."""
    line = line_at(evaluated.data, group[0].start)
    said = evaluated.recogniser.in_words(
        " ".join((*(g.name for g in group), comments_at(evaluated.data, group[0].start)))
    )
    images = [image for literal in group for image in literal.images]
    suffixed = {image.target.major for image in images} if images and all(i.target.suffix for i in images) else set()
    meant = ("wgmma",) if suffixed == {9} else ("tcgen05",) if suffixed and suffixed <= {10, 11} else ()
    return tuple(FeatureUse(name, line, confidence="low") for name in dict.fromkeys((*said, *meant)))


def _shown(group: list[Literal]) -> str:
    return "; ".join(" ".join(a.text for a in literal.arguments) for literal in group)


# --- conditions


def _conditions(evaluated: Evaluated) -> list[Gate]:
    """One gate for each if() whose answers depend on the requested architecture itself."""
    blocks = {block.parts[0].head.start: block for block in _blocks(evaluated.listfile.body)}
    offsets = dict.fromkeys(offset for trace in evaluated.traces.values() for offset in trace.branches)
    asked = [blocks[offset] for offset in offsets if offset in blocks]
    made = [(block, gate) for block in asked if (gate := _condition(evaluated, block)) is not None]
    told = [gate for block, gate in made if _set_by(block, gate, made)]
    return [gate for _, gate in made if gate not in told]


def _set_by(block: Block, gate: Gate, made: list[tuple[Block, Gate]]) -> bool:
    """Whether an earlier gate sets what a condition asks for, for the same targets: `if(FP4_ARCHS)` after its list."""
    name = re.fullmatch(r"(?:\$\{)?([A-Za-z_]\w*)\}?", gate.arms[0].condition)
    for other, first in made if name else ():
        if other.parts[0].head.start >= block.parts[0].head.start:
            continue
        for part, arm in zip(other.parts, first.arms, strict=True):
            if arm.truth.yes == gate.arms[0].truth.yes and name is not None and name[1] in _assigned(part):
                return True
    return False


def _assigned(part: Part) -> set[str]:
    """The variables that a branch sets or appends to."""
    words = [[a.text for a in c.arguments[:2]] for c in _commands(part.body) if c.name in ("set", "list")]
    return {name for found in words for name in found[:1] + (found[1:] if found[:1] == ["APPEND"] else [])}


def _condition(evaluated: Evaluated, block: Block) -> Gate | None:
    offset = block.parts[0].head.start
    seen: dict[Target, tuple[Answer, ...]] = {}
    looped = False
    for target, trace in evaluated.traces.items():
        evaluations = trace.branches.get(offset, [])
        if len({tuple(a.value for a in answers) for answers in evaluations}) > 1:
            looped, evaluations = True, _of_entry(evaluated, trace, offset, target)
        if evaluations:
            seen[target] = evaluations[-1]
    if any(any(trace.entries.get(offset, ())) for trace in evaluated.traces.values()) and _keeps_all(evaluated, block):
        return None  # a clamp: what it puts in the place of what was asked for serves as well
    if looped:
        return _gate_of(evaluated, block, seen, ()) if _differ(seen) and not _is_filter(block) else None
    if any(answer.origins | answer.haystacks for answers in seen.values() for answer in answers):
        return None  # asks about a list, which is a gate of its own
    bounds = {origin for answers in seen.values() for answer in answers for origin in answer.bounds}
    if any(len(_sms([one])) > 1 and _origins(evaluated, [one]) & bounds for one in evaluated.literals):
        return None  # goes through a list
    return _gate_of(evaluated, block, seen, evaluated.literals) if _differ(seen) else None


def _differ(seen: dict[Target, tuple[Answer, ...]]) -> bool:
    return len({tuple(a.value for a in answers) for answers in seen.values()}) > 1


def _of_entry(evaluated: Evaluated, trace: Trace, offset: int, target: Target) -> list[tuple[Answer, ...]]:
    """The answers in a loop over architectures for what a target would load, the newest last."""
    found: list[tuple[int, int, tuple[Answer, ...]]] = []
    for entry, answers in zip(trace.entries[offset], trace.branches[offset], strict=True):
        images = entry_images(entry, evaluated.catalog)
        if images and loaded_by(images, target.sm, evaluated.catalog):
            found.append((images[0].target.sm, len(found), answers))
    return [answers for _, _, answers in sorted(found, key=lambda one: one[:2])]


def _is_filter(block: Block) -> bool:
    """Whether all that a condition in a loop does is to put entries into a list: the lists tell what that decides."""
    commands = [c for part in block.parts for c in _commands(part.body)]
    lists = all(c.name in ("list", "string", "set", "math", "continue", "break") for c in commands)
    return lists and not any(_SOURCE.search(argument.text) for c in commands for argument in c.arguments)


def _keeps_all(evaluated: Evaluated, block: Block) -> bool:
    """Whether a filter in a loop leaves something for every target in the lists that it fills."""
    commands = [c for part in block.parts for c in _commands(part.body)]
    refuses = any(c.name == "message" and c.arguments[:1] and "ERROR" in c.arguments[0].text for c in commands)
    if refuses or not all(c.name in ("list", "string", "set", "math", "message") for c in commands):
        return False
    names = {name for part in block.parts for name in _assigned(part)}
    for target, trace in evaluated.traces.items():
        texts = [trace.held[name].text for name in names if name in trace.held]
        if not any(text and _is_served(text, target, evaluated.catalog) for text in texts):
            return False
    return True


def _gate_of(
    evaluated: Evaluated, block: Block, seen: dict[Target, tuple[Answer, ...]], named: tuple[Literal, ...]
) -> Gate:
    """The gate of a condition; where it compares with one of the literals `named`, at that literal."""
    by_text = any(answer.by_text for answers in seen.values() for answer in answers)
    effects = [branch_effect(evaluated.data, part.body) for part in block.parts]
    effects = [_accepting(effect, effects) for effect in effects]
    arms = tuple(_arm(evaluated, part, number, effects[number], seen) for number, part in enumerate(block.parts))
    head = block.parts[0].head
    bounds = {origin for answers in seen.values() for answer in answers for origin in answer.bounds}
    defined = [literal for literal in named if _origins(evaluated, [literal]) & bounds]
    place, related = place_of(evaluated.data, head.start, head.end), tuple[Related, ...]()
    if len(defined) == 1:
        related = (Related(evaluated.path, place.line, Role.CALLER, "compares with it"),)
        place = place_of(evaluated.data, defined[0].start, defined[0].end)
        arms = (replace(arms[0], place=place), *arms[1:])
    shown = _condition_text(evaluated, head)
    about = About(
        related=related,
        reach=_truth(evaluated, {target: target in seen for target in evaluated.traces}),
        near=comments_at(evaluated.data, head.start),
        symbols=tuple(re.findall(r"[A-Za-z_]\w*(?:ARCH|SM|CC|CAPAB)\w*", shown)),
        notes=(("encoding", "text"),) if by_text else (),
    )
    kind = Kind.STRING_COMPARE if by_text else Kind.IF
    return decided(evaluated.path, Layer.BUILD, kind, place, arms, Rest(_onwards(effects)), about)


def _arm(evaluated: Evaluated, part: Part, number: int, effect: Effect, seen: dict[Target, tuple[Answer, ...]]) -> Arm:
    own: dict[Target, bool | None] = {}
    truth: dict[Target, bool | None] = dict.fromkeys(evaluated.traces, False)
    assumed: dict[Target, bool | None] = dict.fromkeys(evaluated.traces, False)
    because: dict[str, None] = {}
    for target, answers in seen.items():
        answer, earlier = answers[number], [a.value for a in answers[:number]]
        own[target] = answer.value
        taken = tuple(in_order(1, (one.when for one in answers)))[number]
        if taken == 0:
            continue
        truth[target] = True if taken == 1 else None
        assumed[target] = None not in earlier
        because.update(dict.fromkeys(answer.because if answer.value is None else ()))
    place = place_of(evaluated.data, part.head.start, part.head.end)
    body, digest = _body_place(evaluated.data, part), _digest(evaluated.data, part)
    return Arm(
        place=place,
        condition=_condition_text(evaluated, part.head),
        own=_truth(evaluated, own),
        truth=_truth(evaluated, truth),
        assumed=_truth(evaluated, assumed),
        effect=effect,
        unknowns=tuple(because),
        assumes=tuple(because),
        body=body,
        digest=digest,
        features=tuple(FeatureUse(f, place.line, confidence="low") for f in evaluated.recogniser.in_words(digest)),
        is_else=part.head.name == "else",
    )


def _condition_text(evaluated: Evaluated, head: Command) -> str:
    if not head.arguments or head.name == "else":
        return ""
    text = evaluated.data[head.arguments[0].start : head.arguments[-1].end].decode("utf-8", "backslashreplace")
    return " ".join(text.split())


def _onwards(effects: list[Effect]) -> Effect:
    """What follows where no branch is taken: after a refusal the build itself."""
    return Effect(Does.WORK, 0) if any(effect.refuses for effect in effects) else NOTHING


def _accepting(effect: Effect, effects: list[Effect]) -> Effect:
    """Beside a branch that refuses, one that only reports goes on with the build."""
    if effect.does is Does.LOGS and any(other.refuses for other in effects):
        return Effect(Does.WORK, effect.line, effect.message)
    return effect


def _commands(body: tuple[Node, ...]) -> Iterable[Command]:
    for node in body:
        if isinstance(node, Command):
            yield node
        else:
            for part in node.parts:
                yield from _commands(part.body)


def _blocks(body: tuple[Node, ...]) -> Iterable[Block]:
    """Every if() of a file."""
    for node in body:
        if isinstance(node, Block):
            if node.name == "if":
                yield node
            for part in node.parts:
                yield from _blocks(part.body)


# --- places


def _body_place(data: bytes, part: Part) -> Place | None:
    commands = list(_commands(part.body))
    return place_of(data, commands[0].start, commands[-1].end) if commands else None


def _digest(data: bytes, part: Part) -> str:
    text = b" ".join(b"".join(data[c.start : c.end].split()) for c in _commands(part.body))
    return text.decode("utf-8", "backslashreplace")[:500]
