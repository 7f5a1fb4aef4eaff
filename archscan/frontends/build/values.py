"""What a CMake variable holds while a file is evaluated: a text or nothing known, and the literals it came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from archscan.model.condition import Cond, blamed, both, either

_MOST_CASES = 8
Origin = tuple[str, int]  # file and offset of an argument that is an architecture list


@dataclass(frozen=True, slots=True)
class Value:
    """A text, None where it is unknown; `because` names what made it unknown."""

    text: str | None
    origins: frozenset[Origin] = frozenset()
    because: tuple[str, ...] = ()
    by_text: bool = False  # what a regular expression left that counts digits
    cases: tuple[tuple[str, Cond], ...] = ()  # where the text is unknown: the texts of which it is one, and when

    @property
    def known(self) -> tuple[tuple[str, Cond], ...]:
        """The texts that it may be, and when it is which; nothing where that is not known."""
        return self.cases if self.text is None else ((self.text, 1),)

    @property
    def items(self) -> tuple[str, ...]:
        """The entries of the text as a CMake list; none where it is unknown."""
        return tuple(item for item in (self.text or "").split(";") if item)

    @property
    def elements(self) -> tuple[str, ...]:
        """All entries as list() sees them, the empty ones too."""
        return tuple(self.text.split(";")) if self.text else ()


EMPTY = Value("")
UNSET = Value("", by_text=False)  # by identity: a variable that holds nothing because it was taken away


def unknown(*names: str) -> Value:
    """A value that is unknown because of these names."""
    return Value(None, because=tuple(names))


def joined(values: Iterable[Value], separator: str = "") -> Value:
    """One text of several; unknown if one of them is."""
    parts = list(values)
    if len(parts) == 1:
        return parts[0]
    origins = frozenset(origin for part in parts for origin in part.origins)
    because = tuple(dict.fromkeys(name for part in parts for name in part.because))
    if any(part.text is None for part in parts):
        return Value(None, origins, because)
    return Value(separator.join(part.text or "" for part in parts), origins, because)


def merged(values: Sequence[Value | None], whens: Sequence[Cond]) -> Value:
    """What is known of a variable that these ways leave with these values, each taken when it says (if it does)."""
    result = values[0]
    for value in values[1:]:
        result = one_of(result, value)
    if not whens or result is None or result.text is not None:
        return result or EMPTY
    found: dict[str, Cond] = {}
    for value, when in zip(values, whens, strict=True):
        if value is None or value is UNSET or not value.known:
            return result
        for text, case in value.known:
            found[text] = either(found.get(text, 0), both(case, when))
    if len(found) > _MOST_CASES:
        return result
    names = (blame.name for case in found.values() for blame in blamed(case, 1))
    because = tuple(dict.fromkeys((*result.because, *names)))
    return Value(None, result.origins, because, cases=tuple(found.items()))


def one_of(one: Value | None, other: Value | None) -> Value:
    """What is known of a variable that two ways leave with these values."""
    if one is None or other is None:
        known = one or other or EMPTY
        return known if known.text is None else Value(known.text, known.origins, known.because)
    origins = one.origins | other.origins
    if one.text == other.text:
        return Value(one.text, origins, one.because)
    return Value(None, origins, tuple(dict.fromkeys((*one.because, *other.because))))


@dataclass
class Scope:
    """The variables of a file or function call; an overlay holds what one of several possible ways sets."""

    variables: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    is_overlay: bool = False

    def find(self, name: str) -> Value | None:
        """The value of a variable here or in the scopes around; None where it was never set."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.parent
        return None

    def caller(self) -> Scope:
        """The scope of the caller, itself where there is none: where PARENT_SCOPE sets."""
        scope = self
        while scope.is_overlay and scope.parent is not None:
            scope = scope.parent
        return scope.parent or scope

    def overlay(self) -> Scope:
        """A scope to run one of several possible ways in."""
        return Scope(parent=self, is_overlay=True)

    def join(self, ways: list[Scope], whens: Sequence[Cond] = ()) -> None:
        """Takes over what the ways, overlays of this scope, leave, each taken when it says."""
        for name in dict.fromkeys(name for way in ways for name in way.variables):
            if {id(None), id(UNSET)} == {id(way.find(name)) for way in ways}:
                self.variables.pop(name, None)  # taken away or never there: it is still for others to say
                continue
            self.variables[name] = merged([way.find(name) for way in ways], whens)
