"""Evaluates `#if` conditions for every target and every world at once.

Names with more than one definition split what there is into a few classes, within which macros are expanded as a
preprocessor would; so nothing loops over targets, nor over worlds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from archscan.frontends.cuda.preprocessor.environment import names_architecture
from archscan.frontends.cuda.preprocessor.expansion import expanded
from archscan.frontends.cuda.preprocessor.expressions import Unseen, computed
from archscan.frontends.cuda.preprocessor.macros import HIDDEN, Definition, MacroDefinitions, shown
from archscan.frontends.cuda.preprocessor.tokens import Malformed, integer, mentioned, names_in, tokens
from archscan.model.condition import EVERY, Cond, asked, atom, atoms, both, either, fingerprint

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_PREFIX = re.compile(r"([A-Za-z_]\w*)\s*##")
_MOST_CLASSES = 96  # more ways to split the universe than that: unknown
_MOST_NAMES = 150  # macros behind one condition
_MOST_BLAMED = 64  # names told: nobody sets more of them by hand


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a condition holds, and the macros that this rests on."""

    when: Cond
    names: tuple[str, ...] = ()  # those behind macro bodies included


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


Lookup = Callable[[str], MacroDefinitions]


class Evaluator:
    """Evaluates conditions over one universe; remembers every answer by the condition and the states behind it."""

    def __init__(self, everything: int) -> None:
        self.everything = everything
        self._answers: dict[tuple[object, ...], Answer] = {}
        self._pasted: dict[str, tuple[str, ...]] = {}  # condition -> names that only token pasting brings up

    def answer(self, condition: str, lookup: Lookup) -> Answer:
        """Where a condition holds if each macro is in the state that `lookup` returns."""
        while True:
            states = self._behind(condition, lookup)
            if len(states) > _MOST_NAMES:
                return Answer(self._open(condition, states, self.everything), tuple(states))
            key = (condition, *states.items())
            found = self._answers.get(key)
            if found is not None:
                return found
            try:
                when = self._evaluate(condition, states)
            except Unseen as unseen:
                self._pasted[condition] = (*self._pasted.get(condition, ()), *unseen.names)
                continue
            found = self._answers[key] = Answer(when, tuple(states))
            return found

    def _behind(self, condition: str, lookup: Lookup) -> dict[str, MacroDefinitions]:
        states: dict[str, MacroDefinitions] = {}
        queue = [*names_in(condition), *self._pasted.get(condition, ())]
        for name in queue:
            if name in states:
                continue
            states[name] = state = lookup(name)
            for definition, _ in state.parts:
                if definition.body and not definition.mark:
                    queue += mentioned(definition)
            if len(states) > _MOST_NAMES:
                break
        return states

    def _open(self, condition: str, states: dict[str, MacroDefinitions], where: Cond) -> Cond:
        """One unknown for all of it, because of what it names or of how it is written."""
        told = [(n, [(*d, fingerprint(c)) for d, c in state.parts]) for n, state in states.items()]
        digest = blake2b(repr((condition, told)).encode("utf-8", "replace"), digest_size=8).hexdigest()
        open_ = dict.fromkeys(n for s in states.values() for _, c in s.parts for a in atoms(c) for n in a.names)
        names = tuple(open_)[:_MOST_BLAMED] or tuple(dict.fromkeys(map(shown, names_in(condition)))) or (condition,)
        hidden = any(names_architecture(n) or any(d.mark == HIDDEN for d, _ in s.parts) for n, s in states.items())
        return both(
            where, asked(atom(f"{condition[:80]}#{digest}", "architecture" if hidden else "expr", names=names), EVERY)
        )

    def _evaluate(self, condition: str, states: dict[str, MacroDefinitions]) -> Cond:
        found: Cond = 0
        try:
            for where, macros in _classes(self.everything, states):
                found = either(found, self._in_class(condition, states, where, macros))
        except Malformed:
            return self._open(condition, states, self.everything)
        return found

    def _in_class(
        self, condition: str, states: dict[str, MacroDefinitions], where: Cond, macros: dict[str, Definition]
    ) -> Cond:
        try:
            return both(where, computed(expanded(tokens(condition), macros), states, self.everything))
        except Malformed:
            if unseen := _pasted(condition, macros, states):  # IS(GCC) calls IS_GCC(), which looks like no call before
                raise Unseen(*unseen) from None
            return self._open(condition, states, where)


def _pasted(condition: str, macros: dict[str, Definition], states: dict[str, MacroDefinitions]) -> list[str]:
    """The names that pasting a prefix in a macro's body to a word of the condition makes, if they have no state yet."""
    pasting = {prefix for macro in macros.values() if "##" in macro.body for prefix in _PREFIX.findall(macro.body)}
    made = (prefix + word for prefix in sorted(pasting) for word in names_in(condition))
    return [name for name in dict.fromkeys(made) if name not in states]


def _classes(everything: int, states: dict[str, MacroDefinitions]) -> list[tuple[Cond, dict[str, Definition]]]:
    """What there is, split so that within a class every macro that must be expanded has one definition."""
    pasting = any("##" in d.body for s in states.values() for d, _ in s.parts if not d.mark)
    classes: list[tuple[Cond, dict[str, Definition]]] = [(everything, {})]
    for name, state in states.items():
        if not any(_expands(d, pasting) for d, _ in state.parts):
            continue
        split: list[tuple[Cond, dict[str, Definition]]] = []
        for cond, macros in classes:
            for definition, where in state.parts:
                here = both(cond, where)
                if here != 0:
                    more = {**macros, name: definition} if _expands(definition, pasting) else macros
                    split.append((here, more))
        classes = split
        if len(classes) > _MOST_CLASSES:
            raise Malformed("too many cases")
    return classes


def _expands(definition: Definition, pasting: bool) -> bool:
    """Whether the macro is replaced by its tokens; plain integers stay names with a value per target."""
    if definition.mark:
        return False
    return pasting or definition.params is not None or not integer(definition.body)
