"""Makes frozen dataclasses with slots pickle three times as fast, and cheaper to make; what they are stays the same.

The stock `__setstate__` of such a class asks `fields()` and `object.__setattr__` for every value, its `__init__` the
latter. A scan makes and pickles a million of them, so each class gets methods that set its slots directly. Where mypyc
has compiled a module, its frozen dataclasses cannot be unpickled at all without them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from operator import attrgetter
from typing import Any

_done: set[str] = set()


def quicken() -> None:
    """Speeds up every such class of archscan that has been imported; safe to call again after more imports."""
    for name, module in list(sys.modules.items()):
        if name.startswith("archscan.") and name not in _done and module is not None:
            _done.add(name)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == name and (_is_slow(value) or _is_compiled(value)):
                    _speed_up(value)


def _is_slow(cls: type) -> bool:
    """Whether a class has the stock methods of a frozen dataclass with slots."""
    stock = cls.__dict__.get("__setstate__")
    return is_dataclass(cls) and getattr(stock, "__module__", "") == "dataclasses"


def _is_compiled(cls: Any) -> bool:
    """Whether it is a frozen dataclass of a module that mypyc has compiled, whose pickles could not be read back."""
    own: Mapping[str, Any] = vars(cls)
    made = "__mypyc_attrs__" in own and "__reduce__" not in own and is_dataclass(cls)
    return made and bool(own["__dataclass_params__"].frozen)


def _speed_up(cls: Any) -> None:
    names = [field.name for field in fields(cls)]
    if not names:
        return
    get = attrgetter(*names)
    sets = [f"    set_{name}(self, {name})" for name in names]
    lines = [f"def __setstate__(self, state):\n    ({', '.join(names)},) = state", *sets]
    known: dict[str, Any] = {f"set_{name}": getattr(cls, name).__set__ for name in names}
    if _is_plain(cls):
        lines += [f"def __init__(self, {', '.join(_parameters(cls, known))}):", *sets]
    exec("\n".join(lines), known)  # the way dataclasses make __init__: no loop, no look-up by name
    cls.__setstate__ = known["__setstate__"]
    cls.__getstate__ = _values_of(get, len(names))
    cls.__init__ = known.get("__init__", cls.__init__)


def _is_plain(cls: Any) -> bool:
    """Whether making such an object is no more than setting its fields, each of them a parameter."""
    plain = all(f.init and not f.kw_only and f.default_factory is MISSING for f in fields(cls))
    generated = getattr(cls.__init__, "__code__", None)
    return plain and not hasattr(cls, "__post_init__") and getattr(generated, "co_filename", "") == "<string>"


def _parameters(cls: Any, known: dict[str, Any]) -> Iterator[str]:
    """The parameters of its `__init__`; their defaults are noted in `known`."""
    for field in fields(cls):
        if field.default is MISSING:
            yield field.name
        else:
            known[f"default_{field.name}"] = field.default
            yield f"{field.name}=default_{field.name}"


def _values_of(get: Callable[[Any], Any], count: int) -> Callable[[Any], Any]:
    """A method that returns all values of an object as a tuple."""

    def __getstate__(self: Any) -> Any:
        return get(self) if count > 1 else (get(self),)

    return __getstate__
