"""Expands macros in the tokens of a condition, as the preprocessor does: arguments first, no name inside itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from archscan.frontends.cuda.macros import Definition
from archscan.frontends.cuda.tokens import Malformed, is_word, tokens

_MOST_STEPS = 20_000  # tokens looked at for one condition: hostile macros grow without end
_DEEPEST = 60  # arguments in arguments


class _Token(NamedTuple):
    """A token and the macros it came out of, which it is not expanded as again."""

    text: str
    hidden: frozenset[str] = frozenset()


class _Macro(NamedTuple):
    """A definition, made ready: its parameters by name, and the one that takes all further arguments."""

    name: str
    params: tuple[str, ...] | None
    variadic: str
    body: tuple[str, ...]


def expanded(condition: Sequence[str], macros: Mapping[str, Definition]) -> list[str]:
    """The tokens with these macros expanded; operands of `defined` stay."""
    if not macros:
        return list(condition)
    made = {name: _macro(name, definition) for name, definition in macros.items()}
    return [token.text for token in _Expansion(made).of([_Token(text) for text in condition])]


def _macro(name: str, definition: Definition) -> _Macro:
    params, variadic = definition.params, ""
    if params and params[-1].endswith("..."):
        variadic = params[-1].removesuffix("...").strip() or "__VA_ARGS__"
        params = (*params[:-1], variadic)
    return _Macro(name, params, variadic, tokens(definition.body))


class _Expansion:
    """The expansion of one condition; counts its steps."""

    def __init__(self, macros: Mapping[str, _Macro]) -> None:
        self.macros = macros
        self.steps = 0
        self.depth = 0

    def of(self, given: Iterable[_Token]) -> list[_Token]:
        """The tokens, expanded."""
        found: list[_Token] = []
        pending = [*given][::-1]
        while pending:
            self._step()
            token = pending.pop()
            macro = self.macros.get(token.text)
            if token.text == "defined":
                found += (token, *_operand(pending))
            elif macro is None or token.text in token.hidden:
                found.append(token)
            elif macro.params is None:
                pending += self._body(macro, [], token.hidden | {macro.name})[::-1]
            elif pending and pending[-1].text == "(":
                arguments, closing = self._arguments(pending)
                hidden = (token.hidden & closing.hidden) | {macro.name}
                pending += self._body(macro, _fitted(macro, arguments), hidden)[::-1]
            else:
                found.append(token)
        return found

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Malformed("expansion too large")

    def _arguments(self, pending: list[_Token]) -> tuple[list[list[_Token]], _Token]:
        """The arguments of a call whose bracket is next, and the bracket that closes it; takes all of them."""
        pending.pop()
        arguments: list[list[_Token]] = [[]]
        depth = 0
        while pending:
            self._step()
            token = pending.pop()
            if token.text == ")" and depth == 0:
                return arguments, token
            depth += (token.text == "(") - (token.text == ")")
            if token.text == "," and depth == 0:
                arguments.append([])
            else:
                arguments[-1].append(token)
        raise Malformed("call not closed")

    def _body(self, macro: _Macro, arguments: list[list[_Token]], hidden: frozenset[str]) -> list[_Token]:
        """The body with arguments in place of parameters, `#` and `##` done."""
        raw = dict(zip(macro.params or (), arguments, strict=True))
        ready: dict[str, list[_Token]] = {}

        def argument(name: str) -> list[_Token]:
            if name not in ready:
                ready[name] = self._nested(raw[name])
            return ready[name]

        found: list[_Token] = []
        body, position = macro.body, 0
        while position < len(body):
            self._step()
            text, following = body[position], body[position + 1] if position + 1 < len(body) else ""
            if text == "#" and following in raw:
                found.append(_Token('"' + " ".join(t.text for t in raw[following]) + '"'))
                position += 1
            elif text == "##" and found and following:
                _paste(found, raw.get(following, [_Token(following)]), following == macro.variadic, argument)
                position += 1
            elif text in raw:
                found += (raw[text] or [_Token("")]) if following == "##" else argument(text)
            else:
                found.append(_Token(text))
            position += 1
        return [_Token(t.text, t.hidden | hidden) for t in found if t.text]

    def _nested(self, given: list[_Token]) -> list[_Token]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Malformed("too deep")
        found = self.of(given)
        self.depth -= 1
        return found


def _paste(found: list[_Token], right: list[_Token], variadic: bool, argument: Callable[[str], list[_Token]]) -> None:
    """Joins the last token found with the first one of what follows `##`."""
    left = found.pop()
    if left.text == "," and variadic:  # GNU: the comma goes where there are no further arguments
        found += (left, *right) if right else ()
        return
    joined = left.text + (right[0].text if right else "")
    found += (_Token(text, left.hidden) for text in (tokens(joined) if joined else ("",)))
    found += right[1:]


def _fitted(macro: _Macro, arguments: list[list[_Token]]) -> list[list[_Token]]:
    """The arguments, one for each parameter; further ones joined by commas. Malformed if there are too few."""
    params = macro.params or ()
    if not params and arguments == [[]]:
        return []
    if macro.variadic and len(arguments) >= len(params) - 1:
        fixed, rest = arguments[: len(params) - 1], arguments[len(params) - 1 :]
        joined = [token for one in rest for token in (_Token(","), *one)]
        return [*fixed, joined[1:]]
    if len(arguments) != len(params):
        raise Malformed(f"{macro.name} takes {len(params)} arguments")
    return arguments


def _operand(pending: list[_Token]) -> list[_Token]:
    """What `defined` asks for, taken as it stands: `(X)` or `X`."""
    ahead = [token.text for token in pending[:-4:-1]]
    width = operand_width(ahead)
    return [pending.pop() for _ in range(width)]


def operand_width(ahead: Sequence[str]) -> int:
    """How many tokens behind `defined` are its operand; 0 where none is one."""
    if len(ahead) >= 3 and ahead[0] == "(" and ahead[2] == ")" and is_word(ahead[1]):
        return 3
    return 1 if ahead and is_word(ahead[0]) else 0
