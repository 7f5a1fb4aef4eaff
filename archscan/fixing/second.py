"""Evaluates an edited `#if` a second time, with pcpp's evaluator instead of ours: a proof by what proposed it is none.

Only conditions that name nothing but compiler macros have an answer here; whatever else they name makes it unknown,
and unknown is no proof.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from functools import lru_cache

import pcpp

from archscan.catalog.types import MacroFacts
from archscan.model.target import Universe

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_OPERATORS = frozenset({"defined", "and", "or", "not"})
_LONGEST = 4000  # characters of a condition


class _Refused(Exception):
    """pcpp could not evaluate the condition."""


class _Preprocessor(pcpp.Preprocessor):  # type: ignore[misc]
    def on_error(self, file: str, line: int, msg: str) -> None:
        raise _Refused(msg)


def truth(condition: str, universe: Universe, macros: MacroFacts, cuda: str) -> int | None:
    """The targets for which a bare `#if` condition holds; None where it names what no compiler defines, or is none."""
    if len(condition) > _LONGEST or "\n" in condition.replace("\\\n", ""):
        return None
    names = frozenset(_NAME.findall(condition)) - _OPERATORS
    toolkit = macros.toolkit_values(cuda)
    if not all(name in macros.values or name in toolkit for name in names):
        return None
    held = 0
    for target in universe.targets:
        bit = universe.bit(target)
        defined = {name: _value(macros.values.get(name, {}), bit, toolkit.get(name)) for name in names}
        answer = _holds(condition, tuple(sorted((n, v) for n, v in defined.items() if v is not None)))
        if answer is None:
            return None
        held |= bit if answer else 0
    return held


def _value(values: Mapping[str, int], bit: int, toolkit: str | None) -> str | None:
    """What a macro is for one target; None where it is not defined."""
    return next((value for value, mask in values.items() if mask & bit), toolkit)


@lru_cache(maxsize=4096)
def _holds(condition: str, defined: tuple[tuple[str, str], ...]) -> bool | None:
    preprocessor = _Preprocessor()
    for name, value in defined:
        preprocessor.define(f"{name} {value}")
    text = condition.replace("\\\n", " ")
    out = io.StringIO()
    try:
        preprocessor.parse(f"#if {text}\nheld\n#else\nnot\n#endif\n")
        preprocessor.write(out)
    except (_Refused, RecursionError, ValueError, IndexError, AttributeError):
        return None
    found = out.getvalue().split()
    return {"held": True, "not": False}.get(found[-1]) if found else None
