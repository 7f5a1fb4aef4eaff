"""Three-valued evaluation of `#if` conditions over the whole universe at once.

Names whose definition differs between targets split the universe into a few classes, within which macros are expanded
as a preprocessor would; so nothing loops over targets. The names that leave an answer open are returned with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from archscan.frontends.cuda.preprocessor.expansion import expanded
from archscan.frontends.cuda.preprocessor.expressions import Unseen, Values, computed, truth_of
from archscan.frontends.cuda.preprocessor.macros import SOME, Definition, State, candidates, state_of
from archscan.frontends.cuda.preprocessor.tokens import Malformed, integer, mentioned, names_in, tokens
from archscan.model.truth import Truth

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_PREFIX = re.compile(r"([A-Za-z_]\w*)\s*##")
_MOST_CLASSES = 96  # more ways to split the universe than that: unknown
_MOST_WORLDS = 128  # combinations of candidates that are tried
_MOST_NAMES = 150  # macros behind one condition


@dataclass(frozen=True, slots=True)
class Answer:
    """The truth of a condition and the names that make it unknown, each with the targets where it does."""

    truth: Truth
    blame: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()  # every macro name it rests on, those behind macro bodies included

    def unknowns(self, mask: int) -> tuple[str, ...]:
        """The names to blame for what is unknown within `mask`, in order of appearance."""
        open_ = self.truth.unknown(mask)
        return tuple(dict.fromkeys(name for name, where in self.blame if where & open_))


def condition_text(name: str, text: str) -> str:
    """The condition of a directive as an expression: `#ifdef X` is `defined(X)`."""
    if name in ("ifdef", "elifdef"):
        return f"defined({_first_word(text)})"
    if name in ("ifndef", "elifndef"):
        return f"!defined({_first_word(text)})"
    return text


def _first_word(text: str) -> str:
    match = _WORD.search(text)
    return match[0] if match else ""


Lookup = Callable[[str], State]


class Evaluator:
    """Evaluates conditions over one universe; remembers every answer by the condition and the states behind it."""

    def __init__(self, everything: int) -> None:
        self.everything = everything
        self._answers: dict[tuple[object, ...], Answer] = {}
        self._pasted: dict[str, tuple[str, ...]] = {}  # condition -> names that only token pasting brings up

    def answer(self, condition: str, lookup: Lookup) -> Answer:
        """The truth of a condition where each macro is in the state that `lookup` returns."""
        while True:
            states = self._behind(condition, lookup)
            if len(states) > _MOST_NAMES:
                return replace(self._open(condition, self.everything), names=tuple(states))
            key = (condition, *states.items())
            found = self._answers.get(key)
            if found is not None:
                return found
            try:
                found = self._evaluate(condition, states)
            except Unseen as unseen:
                self._pasted[condition] = (*self._pasted.get(condition, ()), *unseen.names)
                continue
            found = self._answers[key] = replace(found, names=tuple(states))
            return found

    def _behind(self, condition: str, lookup: Lookup) -> dict[str, State]:
        states: dict[str, State] = {}
        queue = [*names_in(condition), *self._pasted.get(condition, ())]
        for name in queue:
            if name in states:
                continue
            states[name] = state = lookup(name)
            for definition, _ in state.parts:
                if definition.body:
                    queue += mentioned(definition)
            if len(states) > _MOST_NAMES:
                break
        return states

    def _open(self, condition: str, where: int) -> Answer:
        """Unknown because of what it names, or of how it is written."""
        return Answer(Truth(0, 0), tuple((name, where) for name in names_in(condition) or (condition,)))

    def _evaluate(self, condition: str, states: dict[str, State]) -> Answer:
        yes = no = 0
        blame: dict[str, int] = {}
        try:
            for mask, macros in _classes(self.everything, states):
                answer = self._in_class(condition, states, mask, macros)
                yes |= answer.truth.yes
                no |= answer.truth.no
                for name, where in answer.blame:
                    blame[name] = blame.get(name, 0) | where
        except Malformed:
            return self._open(condition, self.everything)
        return Answer(Truth(yes, no), tuple(blame.items()))

    def _in_class(self, condition: str, states: dict[str, State], mask: int, macros: dict[str, Definition]) -> Answer:
        try:
            texts = expanded(tokens(condition), macros)
            values = computed(texts, states, mask)
        except Malformed:
            if unseen := _pasted(condition, macros, states):  # IS(GCC) calls IS_GCC(), which looks like no call before
                raise Unseen(*unseen) from None
            return self._open(condition, mask)
        return Answer(Truth(*_agreed(texts, states, mask, values)), values.blame)


def _pasted(condition: str, macros: dict[str, Definition], states: dict[str, State]) -> list[str]:
    """The names that pasting a prefix in a macro's body to a word of the condition makes, if they have no state yet."""
    pasting = {prefix for macro in macros.values() if "##" in macro.body for prefix in _PREFIX.findall(macro.body)}
    made = (prefix + word for prefix in sorted(pasting) for word in names_in(condition))
    return [name for name in dict.fromkeys(made) if name not in states]


def _agreed(texts: list[str], states: dict[str, State], mask: int, values: Values) -> tuple[int, int]:
    """Where the condition is met, and where not, whichever of its candidates each macro to blame is."""
    chosen = {n: found for n, _ in values.blame if n in states and (found := _candidates(states[n], mask))}
    if not chosen or prod(len(found) for found in chosen.values()) > _MOST_WORLDS:
        return truth_of(values)
    yes = no = mask
    for world in product(*chosen.values()):
        supposed = {name: _supposed(states[name], value) for name, value in zip(chosen, world, strict=True)}
        there = truth_of(computed(texts, {**states, **supposed}, mask))
        yes, no = yes & there[0], no & there[1]
    return yes, no


def _candidates(state: State, mask: int) -> tuple[str, ...]:
    """The integers that a macro may be where it is one of several."""
    open_ = [d for d, where in state.parts if d.mark == SOME.mark and where & mask]
    return tuple(dict.fromkeys(value for definition in open_ for value in candidates(definition)))


def _supposed(state: State, value: str) -> State:
    """The state where of its candidates the macro is this one."""
    parts: dict[Definition, int] = {}
    for definition, where in state.parts:
        one = definition.mark == SOME.mark and value in candidates(definition)
        supposed = Definition(None, value) if one else definition
        parts[supposed] = parts.get(supposed, 0) | where
    return state_of(parts)


def _classes(everything: int, states: dict[str, State]) -> list[tuple[int, dict[str, Definition]]]:
    """The universe split so that within a class every macro that must be expanded has one definition."""
    pasting = any("##" in d.body for s in states.values() for d, _ in s.parts)
    classes: list[tuple[int, dict[str, Definition]]] = [(everything, {})]
    for name, state in states.items():
        if not any(_expands(d, pasting) for d, _ in state.parts):
            continue
        split: list[tuple[int, dict[str, Definition]]] = []
        for mask, macros in classes:
            for definition, where in state.parts:
                if mask & where:
                    more = {**macros, name: definition} if _expands(definition, pasting) else macros
                    split.append((mask & where, more))
        classes = split
        if len(classes) > _MOST_CLASSES:
            raise Malformed("too many cases")
    return classes


def _expands(definition: Definition, pasting: bool) -> bool:
    """Whether the macro is replaced by its tokens; plain integers stay names with a value per target."""
    if definition.mark:
        return False
    return pasting or definition.params is not None or not integer(definition.body)
