"""A value in words that are the same in every process: `repr` shows sets in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from archscan.model.condition import Node, fingerprint
from archscan.model.gate import Place

_PLACES = frozenset({"place", "line", "end_line"})  # fields that say where something stands

Add = Callable[[str], None]
Teller = Callable[[Any, bool, Add], None]


def words(value: Any, places: bool = True) -> list[str]:
    """What a value is; without `places` the same wherever it stands in its file."""
    found: list[str] = []
    _tell(value, places, found.append)
    return found


def _tell(value: Any, places: bool, add: Add) -> None:
    """Adds what a value is: of every node of the syntax of a project, so its type is looked at once."""
    kind = type(value)
    teller = _known.get(kind)
    if teller is None:
        teller = _known[kind] = next((one for kinds, one in _TELLERS if issubclass(kind, kinds)), _record(kind))
    teller(value, places, add)


_known: dict[type, Teller] = {}


def _plain(value: Any, places: bool, add: Add) -> None:
    add(repr(value))


def _place(value: Place, places: bool, add: Add) -> None:
    if places:
        _whole_place(value, places, add)
    else:
        add(".")


def _node(value: Node, places: bool, add: Add) -> None:
    add(fingerprint(value))


def _mapping(value: Mapping[Any, Any], places: bool, add: Add) -> None:
    add("{")
    for key in sorted(value, key=str):
        _tell(key, places, add)
        _tell(value[key], places, add)
    add("}")


def _set(value: frozenset[Any] | set[Any], places: bool, add: Add) -> None:
    add("<")
    for one in sorted("\1".join(words(one, places)) for one in value):
        add(one)
    add(">")


def _sequence(value: tuple[Any, ...] | list[Any], places: bool, add: Add) -> None:
    for one in value:
        if type(one) is not str:
            break
    else:
        add(repr(list(value)))
        return
    add("(")
    for one in value:
        _tell(one, places, add)
    add(")")


def _record(kind: Any) -> Teller:
    """What tells values of a dataclass, by its name and its fields; of anything else by what it shows of itself."""
    if not hasattr(kind, "__dataclass_fields__"):
        return _plain
    name: str = kind.__name__
    everything = _values_of([one.name for one in fields(kind)])
    placeless = _values_of([one.name for one in fields(kind) if one.name not in _PLACES])

    def tell(value: Any, places: bool, add: Add) -> None:
        add(name)
        _sequence(everything(value) if places else placeless(value), places, add)

    return tell


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


_whole_place = _record(Place)
_TELLERS: tuple[tuple[type | tuple[type, ...], Teller], ...] = (  # the first that fits
    ((str, int, bytes, type(None)), _plain),
    (Place, _place),
    (Node, _node),
    (Mapping, _mapping),
    ((frozenset, set), _set),
    ((tuple, list), _sequence),
)
