"""Containers of the scanned code that are no plain tuples: what may be changed, gone through once, or has no order."""

from __future__ import annotations


class ListV(tuple):  # type: ignore[type-arg]
    """A list."""

    __slots__ = ()


class SetV(tuple):  # type: ignore[type-arg]
    """A set, or what is gone through in an order that nobody can tell."""

    __slots__ = ()


class IterV(tuple):  # type: ignore[type-arg]
    """What can be gone through once: a generator, `iter(…)`, `map(…)`."""

    __slots__ = ()


class AlikeV(ListV):
    """One item that stands for any number of its like: what a comprehension makes of all devices."""

    __slots__ = ()


class ViewV(ListV):
    """What is gone through like a list and is none: a range, the keys, values or pairs of a table."""

    __slots__ = ()


class VersionV(tuple):  # type: ignore[type-arg]
    """The numbers of a version, zeros at the end left out."""

    __slots__ = ()


class MatchV(tuple):  # type: ignore[type-arg]
    """A match of a regular expression: the whole text, then its groups."""

    __slots__ = ()
