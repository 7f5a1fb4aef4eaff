"""Expands macros in the tokens of a condition, as the preprocessor does.

Object-like macros are replaced here; what calls a macro, or spells tokens with `#` and `##`, is for `pcpp`, which is
imported when the first such condition is met.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from archscan.frontends.cuda.preprocessor.macros import Definition
from archscan.frontends.cuda.preprocessor.tokens import Malformed, is_word, plain, tokens

_MOST_TOKENS = 4000  # of one expanded condition
_DEFINED = "defined "  # prefix of the token that stands for `defined(X)` while pcpp expands


def expanded(condition: Sequence[str], macros: Mapping[str, Definition]) -> list[str]:
    """The tokens with these macros expanded; operands of `defined` stay."""
    if all(macro.params is None and "#" not in macro.body for macro in macros.values()):
        return _replaced(condition, macros)
    return [text for token in _by_pcpp(condition, macros) for text in _unfolded(str(token.value))]


def _replaced(condition: Sequence[str], macros: Mapping[str, Definition]) -> list[str]:
    """The tokens with object-like macros replaced, no name within itself."""
    found: list[str] = []
    pending: list[tuple[str, frozenset[str]]] = [(text, frozenset()) for text in reversed(condition)]
    while pending:
        text, inside = pending.pop()
        if text == "defined":
            found.append(text)
            found += [pending.pop()[0] for _ in range(operand_width([t for t, _ in pending[:-4:-1]]))]
        elif text in macros and text not in inside:
            pending += [(part, inside | {text}) for part in reversed(tokens(macros[text].body))]
        else:
            found.append(text)
        if len(found) + len(pending) > _MOST_TOKENS:
            raise Malformed("expansion too large")
    return found


def operand_width(ahead: Sequence[str]) -> int:
    """How many tokens behind `defined` are its operand; 0 where none is one."""
    if len(ahead) >= 3 and ahead[0] == "(" and ahead[2] == ")" and is_word(ahead[1]):
        return 3
    return 1 if ahead and is_word(ahead[0]) else 0


def _unfolded(text: str) -> tuple[str, ...]:
    return ("defined", text[len(_DEFINED) :]) if text.startswith(_DEFINED) else (text,)


@lru_cache(maxsize=1)
def _machine() -> Any:
    """The one `pcpp` preprocessor, used for its lexer and its macro expansion; building it takes milliseconds."""
    from pcpp import Preprocessor

    class Quiet(Preprocessor):  # type: ignore[misc]
        def on_error(self, file: str, line: int, message: str) -> None:
            raise Malformed(message)

    machine = Quiet()
    machine.expand_linemacro = machine.expand_countermacro = False
    machine.macros = {}
    return machine


@lru_cache(maxsize=65536)
def _lexed(texts: tuple[str, ...]) -> tuple[Any, ...]:
    """The tokens as those of pcpp, `defined(X)` folded into one."""
    machine = _machine()
    given = [t for t in machine.tokenize(" ".join(plain(text) for text in texts)) if t.type not in machine.t_WS]
    folded: list[Any] = []
    position = 0
    while position < len(given):
        token = given[position]
        if token.value == "defined" and token.type == machine.t_ID:
            ahead = [t.value for t in given[position + 1 : position + 4]]
            if width := operand_width(ahead):
                token = copy.copy(token)
                token.value = _DEFINED + ahead[width // 2]
                position += width
        token.lineno = 1
        folded.append(_own(token))
        position += 1
    return tuple(folded)


@lru_cache(maxsize=1)
def _token_type() -> Any:
    """pcpp's tokens, copied without the detours of copy.copy: expansion copies them by the 100,000."""

    class Token(type(_machine().tokenize("x")[0])):  # type: ignore[misc]
        def __copy__(self) -> Any:
            made = object.__new__(Token)
            made.__dict__.update(self.__dict__)
            return made

    return Token


def _own(token: Any) -> Any:
    made: Any = object.__new__(_token_type())
    made.__dict__.update(token.__dict__)
    return made


def _by_pcpp(condition: Sequence[str], macros: Mapping[str, Definition]) -> list[Any]:
    machine = _machine()
    given = _lexed(tuple(condition))
    if _too_large(given, macros):
        raise Malformed("expansion too large")
    machine.macros = {name: _macro(name, definition) for name, definition in macros.items()}
    fresh = [_fresh(token) for token in given]
    try:
        return [t for t in machine.expand_macros(fresh) if t.type not in machine.t_WS]
    except RecursionError:
        raise Malformed("expansion too deep") from None
    finally:
        machine.macros = {}
        machine.linemacrodepth = 0


def _fresh(token: Any) -> Any:
    made = copy.copy(token)
    made.expanded_from = []
    return made


@lru_cache(maxsize=8192)
def _macro(name: str, definition: Definition) -> Any:
    """The macro as pcpp wants it, which copies tokens of a body before it changes them."""
    from pcpp.parser import Macro

    machine = _machine()
    body = list(_lexed(tokens(definition.body)))
    if definition.params is None:
        return Macro(name, body)
    if any(t.value.startswith(_DEFINED) and t.value[len(_DEFINED) :] in definition.params for t in body):
        raise Malformed("what it asks to be defined is an argument")  # which may be expanded before
    params = [p.removesuffix("...").strip() or "__VA_ARGS__" if p.endswith("...") else p for p in definition.params]
    variadic = bool(definition.params) and definition.params[-1].endswith("...")
    macro = Macro(name, body, params, variadic)
    if variadic:
        macro.vararg = params[-1]
    machine.macro_prescan(macro)
    return macro


def _too_large(given: tuple[Any, ...], macros: Mapping[str, Definition]) -> bool:
    """Whether expansion could explode: an upper bound from the sizes of the bodies, computed without expanding."""
    bodies = {name: _body(definition) for name, definition in macros.items()}
    sizes: dict[str, int] = {}
    for root in macros:
        chain = [root]
        while chain:
            name = chain[-1]
            inner = [v for v in bodies[name].values if v in bodies and v not in sizes and v not in chain]
            if inner:
                chain.append(inner[0])
            else:
                sizes[name] = min(1 + sum(sizes.get(v, 1) for v in bodies[name].values), _MOST_TOKENS * 100)
                chain.pop()
    fan_out = max(body.fan_out for body in bodies.values())
    depth = max(_depth(given), *(body.depth for body in bodies.values()))
    bound: int = fan_out**depth
    return bound * sum(sizes.get(t.value, 1) for t in given) > _MOST_TOKENS * 50


class _Body(NamedTuple):
    """What the bound needs of a macro body."""

    values: tuple[str, ...]
    fan_out: int  # how often one parameter occurs
    depth: int


@lru_cache(maxsize=65536)
def _body(definition: Definition) -> _Body:
    lexed = _lexed(tokens(definition.body))
    values = tuple(t.value for t in lexed)
    fan_out = max(values.count(parameter) for parameter in definition.params) if definition.params else 1
    return _Body(values, max(fan_out, 1), _depth(lexed))


def _depth(given: tuple[Any, ...]) -> int:
    depth = deepest = 0
    for token in given:
        if token.value == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif token.value == ")":
            depth -= 1
    return deepest
