"""Asks the evaluator of conditions, and reads off its answer what a reader is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from archscan.frontends.cuda.preprocessor.conditions import Evaluator
from archscan.frontends.cuda.preprocessor.macros import OPAQUE, UNDEFINED, Definition, MacroDefinitions, state_of
from archscan.model.condition import Cond, alternatives, asked, atom, blamed, both, either, truth, without
from archscan.model.truth import Truth


@dataclass(frozen=True)
class Told:
    """A condition as it is told."""

    truth: Truth
    names: tuple[str, ...]
    when: Cond

    def unknowns(self, mask: int) -> tuple[str, ...]:
        """The names to blame for what is unknown there."""
        return tuple(blame.name for blame in blamed(self.when, mask))


def answer(everything: int, text: str, lookup: Callable[[str], MacroDefinitions]) -> Told:
    """What the evaluator says of a condition."""
    found = Evaluator(everything).answer(text, lookup)
    return Told(truth(found.when, everything), found.names, found.when)


UNKNOWN = Definition(None, "", "perhaps defined")
SOME = Definition(None, "", "somehow defined")


def state(name: str, parts: dict[Definition | tuple[str, ...], int]) -> MacroDefinitions:
    """A state with other definitions on other targets; UNKNOWN and SOME, and one of several integers, among them."""
    everything = 0
    for mask in parts.values():
        everything |= mask
    found: dict[Definition, Cond] = {}

    def add(definition: Definition, cond: Cond) -> None:
        found[definition] = either(found.get(definition, 0), cond)

    for what, mask in parts.items():
        if what == UNKNOWN:
            defined = asked(atom(f"defined({name})", names=(name,)), mask)
            add(Definition(None, name, OPAQUE), defined)
            add(UNDEFINED, without(mask, defined))
        elif what == SOME:
            add(Definition(None, name, OPAQUE), mask)
        elif isinstance(what, Definition):
            add(what, mask)
        else:
            conds = alternatives(f"{name} {' '.join(what)}", len(what), everything, (name,))
            for value, cond in zip(what, conds, strict=True):
                add(Definition(None, value), both(cond, mask))
    return state_of(found)
