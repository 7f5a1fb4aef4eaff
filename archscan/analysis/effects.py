"""What a block of code does, in every language: it works, refuses, traps, picks a value, tells something, or nothing.

A front end lowers a block to the few statements below, which say what stands there and nothing of what it means. What
names and values mean is in `rules/facts/effects.yaml`; `effect_of` joins both to one `Effect`, by what surely runs:

- how the block ends counts first: a raise, a trap, a value that says no, a way out of a loop; what stands behind is not
  run, but for what stops the compiler, which a front end puts first;
- of a block that control leaves at its end, the strongest of what it does: to pick a value is more than to tell
  something, and work is more than both;
- what hangs on a condition is not sure. One that only stops who gives wrong arguments is nothing that others lose;
  where both sides refuse, the block does; one that some thread of every block meets (`threadIdx.x == 0`) is met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import dropwhile
from typing import NamedTuple, Union

from archscan.model.gate import NOTHING, Does, Effect


class Means(str, Enum):
    """What a call by name comes to."""

    WORK = "work"
    PRINTS = "prints"
    LOGS = "logs"
    CHECKS = "checks"  # refuses when its first argument does not hold
    RAISES = "raises"  # never comes back
    EXITS = "exits"  # ends the program: an error unless its argument says that all is well
    TRAPS = "traps"
    ASSERTS = "asserts"  # a check that release builds leave out
    STOPS = "stops"  # the compiler or linker: static_assert, a function that is declared and never defined
    SKIPS = "skips"  # a test
    NOTES = "notes"  # puts what is wrong on a list of errors


@dataclass(frozen=True, slots=True)
class Call:
    """A call for its own sake."""

    name: str  # as written: logger.warning, std::abort
    line: int = 0
    message: str | None = None  # the text it is given, placeholders kept
    first: str = ""  # its first argument as written
    bare: bool = False  # it hands nothing to any other call: what it is given was there before


@dataclass(frozen=True, slots=True)
class Assign:
    """A name is given a value; a constant or type that is only defined is `constant`."""

    name: str
    value: str | None
    line: int = 0
    calls: bool = False  # the value is what a call gives
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`; `head` is what tells whether it says no: the first of a pair, else the value."""

    value: str | None
    line: int = 0
    head: str = ""
    message: str | None = None  # the reason in `(False, "reason")`


@dataclass(frozen=True, slots=True)
class Raise:
    """`raise`, `throw`."""

    line: int = 0
    message: str | None = None
    error: str | None = None  # the class


@dataclass(frozen=True, slots=True)
class Stop:
    """`#error`, `message(FATAL_ERROR)`: nothing is built."""

    line: int = 0
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """`continue`, `break`."""

    word: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """Blocks of which one runs, or none without an else; a loop whose body may not run is one, too."""

    arms: tuple[Block, ...]
    line: int = 0
    has_else: bool = False
    met: bool = False  # somebody always meets the first condition
    built: bool = False  # which one runs is settled when it is built: #if
    only_asks: bool = False  # conditions tell which one runs, and to ask them changes nothing


@dataclass(frozen=True, slots=True)
class Loop:
    """A block that runs any number of times."""

    body: Block
    line: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """Anything else that does something."""

    line: int = 0


Stmt = Union[Call, Assign, Return, Raise, Stop, Leave, Branch, Loop, Work]  # noqa: UP007  (with a forward reference)
Block = tuple[Stmt, ...]


class Outcome(NamedTuple):
    """What a block does, and whether control never comes out at its end."""

    effect: Effect
    ends: bool


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PART = re.compile(r"::|->|\.")
_NUMBER = re.compile(r"-\s*\d+")
_LITERAL = re.compile(r"[-+]?\.?\d[\w.']*")
_ENUMERATOR = re.compile(r"(?:\w+(?:::|\.))*\w+")
_ARGUMENTS = re.compile(r"(?s)((?:\w+(?:::|\.))*\w+)\s*(?:<[^()]*>)?\s*[({].*[)}]$")
_CALLED = re.compile(r"((?:\w+(?:::|\.))*\w+)\(")
_STATUS = re.compile(r"\d+|EXIT_\w+")
_NEVER = re.compile(r"(?:0|false|False)\s*(?:&&|\band\b)|!\s*\"|(?s:.*\"\s*,\s*(?:0|false)$)")
_MOST_DEFINED = 8  # definitions that are told
_LOUD = (Does.RAISES, Does.TRAPS, Does.ASSERTS, Does.ERRORS)
_REFUSED = (Does.REFUSES, *_LOUD)
_TELLS = (Does.PRINTS, Does.LOGS)


def words_of(name: str) -> tuple[str, ...]:
    """The lower-case words of a snake_case, camelCase or CONSTANT name."""
    return tuple(word.lower() for word in _WORD.findall(name))


@dataclass(frozen=True)
class Vocabulary:
    """What names and values mean; see `rules/facts/effects.yaml`."""

    sections: dict[str, frozenset[str]]
    _known: dict[str, Means] = field(default_factory=dict, compare=False)
    _refusals: dict[str, bool] = field(default_factory=dict, compare=False)

    def means(self, name: str) -> Means:
        """What a call by that name comes to."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._means(name)
        return found

    def ends_program(self, name: str) -> bool:
        """Whether a call by that name ends the program."""
        return name in self.sections["exits"] or name in self.sections["raises"]

    def _means(self, name: str) -> Means:
        sections = self.sections
        parts = [part for part in _PART.split(name) if part]
        last = parts[-1] if parts else ""
        for meaning in (Means.TRAPS, Means.PRINTS, Means.ASSERTS, Means.STOPS):
            if last in sections[meaning.value]:
                return meaning
        for meaning in (Means.RAISES, Means.EXITS, Means.SKIPS):
            if name in sections[meaning.value]:
                return meaning
        words = words_of(last)
        phrase = " ".join(words)
        if any(stop in phrase for stop in sections["undefined"]):
            return Means.STOPS
        loud = last.isupper()
        owner = parts[-2] if len(parts) > 1 else ""
        if self._logs(owner, last, words, loud):
            return Means.LOGS
        if not sections["checking"].isdisjoint(words if loud else words[:1]):
            return Means.CHECKS
        if loud and words[-1] in sections["conditional"]:
            return Means.CHECKS
        if loud and any(trap in phrase for trap in sections["trapping"]):
            return Means.TRAPS
        if words and words[0] in sections["throwing"]:
            return Means.RAISES
        if loud and (not sections["failing"].isdisjoint(words) or "not implemented" in phrase):
            return Means.RAISES
        if last in sections["adding"] and not sections["complaints"].isdisjoint(_stems(owner, sections["complaints"])):
            return Means.NOTES
        return Means.WORK

    def _logs(self, owner: str, last: str, words: tuple[str, ...], loud: bool) -> bool:
        sections = self.sections
        if not sections["fatal"].isdisjoint(words):
            return False
        if owner.lower().strip("_") in sections["loggers"] and last in sections["levels"]:
            return True
        if last in sections["logs"]:
            return True
        return (loud or (words[:1] == ("log",) and len(words) > 1)) and not sections["logging"].isdisjoint(words)

    def refuses(self, head: str) -> bool:
        """Whether a returned value says no: false, nothing, a negative number, the name of an error."""
        found = self._refusals.get(head)
        if found is None:
            found = self._refusals[head] = head in self.sections["empty"] or self._is_error(head)
        return found

    def is_no_answer(self, head: str) -> bool:
        """Whether a value only says that there is none to give: behind work it is no refusal."""
        return head in self.sections["absent"]

    def _is_error(self, head: str) -> bool:
        if _NUMBER.fullmatch(head):
            return True
        called = _ARGUMENTS.fullmatch(head)
        name = called[1] if called else head
        if not _ENUMERATOR.fullmatch(name):
            return False
        last = _PART.split(name)[-1]
        words = words_of(last)
        variable = name.islower() and "unexpected" not in words
        if variable or not words or not self.sections["asking"].isdisjoint(words):
            return False
        if any(phrase in " ".join(words) for phrase in self.sections["denials"]):
            return True
        return not self.sections["errors"].isdisjoint((words[0], words[-1]) if called else words)

    def inquires(self, value: str) -> bool:
        """Whether a value is what somebody answers who is asked: `input("Go on? ").strip()`."""
        called = _CALLED.match(value)
        return called is not None and _PART.split(called[1])[-1] in self.sections["inquiring"]

    def complains(self, name: str) -> bool:
        """Whether something that is printed is a complaint."""
        return name in self.sections["complaining"]


def _mentions(value: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", value) is not None


def _stems(owner: str, stems: frozenset[str]) -> list[str]:
    return [stem for stem in stems if stem in owner.lower()]


def effect_of(block: Block, vocabulary: Vocabulary) -> Effect:
    """What a block does."""
    return outcome_of(block, vocabulary).effect


def outcome_of(block: Block, vocabulary: Vocabulary) -> Outcome:
    """What a block does, and whether control never comes out at its end."""
    return _Classifier(vocabulary).outcome(block)


def numbers_returned(block: Block) -> int:
    """How many returns a block has that asks and returns numbers, and does nothing else; 0 for any other one.

    What it does before it begins to ask is done for every target.
    """
    asking = tuple(dropwhile(lambda one: isinstance(one, (Call, Assign, Work)), block))
    return (_numbers(asking) or 0) if asking and isinstance(asking[0], Branch) else 0


def _numbers(block: Block) -> int | None:
    """The returns of a block that only chooses a number; None where it does more."""
    found = 0
    for one in block:
        if isinstance(one, Branch) and one.only_asks:
            counts = [_numbers(arm) for arm in one.arms]
        else:
            counts = [1 if isinstance(one, Return) and _LITERAL.fullmatch(one.value or "") else None]
        if None in counts:
            return None
        found += sum(count or 0 for count in counts)
    return found


class _Said(NamedTuple):
    """One statement: what it does, whether control ends there, and whether it works on the way."""

    effect: Effect
    ends: bool = False
    complains: bool = False
    calls: bool = False
    switch: str | None = None  # `name=False`
    answer: str = ""  # the name that what somebody answers is kept under


@dataclass(frozen=True, slots=True)
class _Classifier:
    vocabulary: Vocabulary

    def outcome(self, block: Block) -> Outcome:
        said: list[_Said] = []
        for statement in block:
            if isinstance(statement, Return):
                return Outcome(self._returned(statement, said), True)
            one = self._one(statement)
            if one.effect.does is Does.NOTHING and not one.ends:
                continue
            said.append(one)
            if one.ends or one.effect.does is Does.ERRORS:
                break
        if not said:
            return Outcome(NOTHING, False)
        last = said[-1]
        if last.ends or last.effect.does is Does.ERRORS:
            return Outcome(_told(last.effect, said[:-1]) if last.effect.does is not Does.SKIPS else _left(said), True)
        return Outcome(_staying(said), False)

    def _one(self, statement: Stmt) -> _Said:
        match statement:
            case Call():
                return self._called(statement)
            case Assign():
                return self._assigned(statement)
            case Raise():
                return _Said(Effect(Does.RAISES, statement.line, statement.message, statement.error), True)
            case Stop():
                return _Said(Effect(Does.ERRORS, statement.line, statement.message), True)
            case Leave():
                return _Said(Effect(Does.SKIPS, statement.line, value=statement.word), True)
            case Branch():
                return self._branched(statement)
            case Loop():
                effect = self.outcome(statement.body).effect
                quiet = effect.does in _TELLS or effect.does is Does.NOTHING
                return _Said(effect if quiet else Effect(Does.WORK, statement.line))
            case _:
                return _Said(Effect(Does.WORK, statement.line))

    def _assigned(self, statement: Assign) -> _Said:
        name, value = statement.name, statement.value
        if statement.constant:
            shown = name if value is None else f"{name}={value}"
            return _Said(Effect(Does.DEFINES, statement.line, value=shown))
        switch = f"{name}={value}" if value in ("False", "false") else None
        answer = name if value is not None and self.vocabulary.inquires(value) else ""
        effect = Effect(Does.ASSIGNS, statement.line, value=value)
        return _Said(effect, calls=statement.calls, switch=switch, answer=answer)

    def _called(self, call: Call) -> _Said:
        line, message = call.line, call.message
        match self.vocabulary.means(call.name):
            case Means.PRINTS:
                complains = self.vocabulary.complains(_PART.split(call.name)[-1]) or call.first.strip() == "stderr"
                return _Said(Effect(Does.PRINTS, line, message), complains=complains)
            case Means.LOGS:
                return _Said(Effect(Does.LOGS, line, message))
            case Means.CHECKS | Means.ASSERTS | Means.STOPS as kind:
                return self._checked(call, kind)
            case Means.RAISES:
                return _Said(Effect(Does.RAISES, line, message), True)
            case Means.EXITS:
                fine = call.first.strip() in self.vocabulary.sections["fine"]
                return _Said(Effect(Does.SKIPS if fine else Does.RAISES, line, message), True)
            case Means.TRAPS:
                return _Said(Effect(Does.TRAPS, line, message), True)
            case Means.SKIPS:
                return _Said(Effect(Does.SKIPS, line, message), True)
            case Means.NOTES:
                return _Said(Effect(Does.REFUSES, line, message))
            case _:
                return _Said(Effect(Does.WORK, line, message))

    def _checked(self, call: Call, kind: Means) -> _Said:
        """A check whose condition is false on its face fails; another only looks at what it is given."""
        undefined = kind is Means.STOPS and call.name not in self.vocabulary.sections["stops"]
        if undefined:
            return _Said(Effect(Does.ERRORS, call.line, call.name), True)
        only_text = kind is Means.CHECKS and call.first.startswith('"')  # it checks nothing: it tells what is wrong
        if only_text or _fails(call.first, self.vocabulary.sections["never"]):
            does = {Means.ASSERTS: Does.ASSERTS, Means.STOPS: Does.ERRORS}.get(kind, Does.RAISES)
            return _Said(Effect(does, call.line, call.message), True)
        return _Said(NOTHING if call.bare else Effect(Does.WORK, call.line))

    def _returned(self, statement: Return, said: list[_Said]) -> Effect:
        line, value = statement.line, statement.value
        works = any(one.effect.does is Does.WORK and not _is_telling(one.effect) for one in said)
        told = _told(Effect(Does.REFUSES, line, statement.message, value), said)
        if value is None:
            return _left([*said, _Said(Effect(Does.SKIPS, line, value="return"))])
        if self.vocabulary.inquires(value) or any(one.answer and _mentions(value, one.answer) for one in said):
            return Effect(Does.LOGS, line, told.message, value)  # told, and who is asked decides
        if self.vocabulary.refuses(statement.head) and not (works and self.vocabulary.is_no_answer(statement.head)):
            return told
        excused = any(one.complains for one in said) and _STATUS.fullmatch(statement.head)
        if not works and (excused or (told.message and statement.head in self.vocabulary.sections["hollow"])):
            return told
        printed = next((one.effect for one in said if one.effect.does is Does.PRINTS), None)
        if printed is not None and statement.head in self.vocabulary.sections["fine"] and not works:
            return Effect(Does.PRINTS, printed.line, printed.message, value)
        if works or any(one.calls for one in said):
            return Effect(Does.WORK, line, value=value if "(" in value else None)  # a name says only that it is done
        return Effect(Does.RETURNS, line, value=value)

    def _branched(self, branch: Branch) -> _Said:
        outcomes = [self.outcome(arm) for arm in branch.arms]
        effects = [one.effect for one in outcomes]
        does = {effect.does for effect in effects}
        if branch.met and len(effects) == 1 and (does <= set(_LOUD) or does <= set(_TELLS)):
            return _Said(effects[0], effects[0].does in _LOUD)
        ends = branch.has_else and all(one.ends for one in outcomes)
        loudest = next((effect for effect in effects if effect.does in _LOUD), None)
        nobody_works = all(effect.refuses or (branch.built and effect.does is Does.NOTHING) for effect in effects)
        if branch.has_else and nobody_works and any(effect.refuses for effect in effects):
            return _Said(loudest or next(effect for effect in effects if effect.refuses), ends)
        if ends:
            return _Said(Effect(Does.WORK, branch.line), True)
        if does <= {*_LOUD, Does.NOTHING}:
            return _Said(NOTHING)
        if does <= {*_TELLS, Does.NOTHING}:
            return _Said(next(e for e in effects if e.does in _TELLS))
        does -= {*_LOUD, *_TELLS, Does.NOTHING}
        if does == {Does.DEFINES}:
            values = [effect.value for effect in effects if effect.does is Does.DEFINES and effect.value]
            return _Said(Effect(Does.DEFINES, branch.line, value="; ".join(values)))
        picks = does <= {Does.ASSIGNS, Does.DEFINES}
        return _Said(Effect(Does.ASSIGNS if picks else Does.WORK, branch.line))


def _fails(condition: str, never: frozenset[str]) -> bool:
    """Whether a condition is false on its face: `false`, `0`, `!"text"`, `false && "text"`."""
    condition = condition.strip()
    while condition.startswith("(") and condition.endswith(")"):
        condition = condition[1:-1].strip()
    return condition in never or _NEVER.match(condition) is not None


def _is_telling(effect: Effect) -> bool:
    """Whether a call hands a sentence to somebody: `tell("not for this GPU")`."""
    return effect.message is not None and " " in effect.message.strip()


def _told(effect: Effect, before: Iterable[_Said]) -> Effect:
    """The effect with the last text that was told before it, if it has none."""
    if effect.message is not None:
        return effect
    told = [one.effect.message for one in before if one.effect.message and one.effect.does is not Does.NOTHING]
    return Effect(effect.does, effect.line, told[-1] if told else None, effect.value) if told else effect


def _left(said: list[_Said]) -> Effect:
    """What comes of a block that is left without a value: what was done before, or nothing that others get."""
    before = [one.effect for one in said[:-1]]
    if any(effect.does not in _TELLS for effect in before):
        return _staying(said[:-1])
    printed = next((effect for effect in before if effect.does is Does.PRINTS), None)
    return printed or said[-1].effect


def _staying(said: list[_Said]) -> Effect:
    """What a block does that goes on afterwards."""
    effects = [one.effect for one in said]
    refused = next((effect for effect in effects if effect.does in _REFUSED), None)
    if refused is not None:
        return refused
    rest = [effect for effect in effects if effect.does not in _TELLS]
    if not rest:
        return next((effect for effect in effects if effect.does is Does.PRINTS), effects[0])
    works = next((effect for effect in rest if effect.does not in (Does.ASSIGNS, Does.DEFINES)), None)
    if works is not None:
        return Effect(Does.WORK, works.line)
    if (off := _switched_off(said)) is not None:
        return off
    picked = [effect for effect in rest if effect.does is Does.ASSIGNS]
    if not picked:
        shown = "; ".join(effect.value or "" for effect in rest[:_MOST_DEFINED])
        return Effect(Does.DEFINES, rest[0].line, value=shown)
    values = [effect.value for effect in picked if effect.value is not None]
    return Effect(Does.ASSIGNS, picked[0].line, value=", ".join(values) or None)


def _switched_off(said: list[_Said]) -> Effect | None:
    """The refusal of a block that only turns something off, and perhaps says why in a text that it assigns."""
    assigned = [one for one in said if one.effect.does is Does.ASSIGNS]
    off = next((one for one in assigned if one.switch), None)
    reasons = [one.effect.value or "" for one in assigned if not one.switch]
    if off is None or not all(value.lstrip("f")[:1] in ("'", '"') and " " in value for value in reasons):
        return None
    return Effect(Does.REFUSES, off.effect.line, value=off.switch)
