"""What expressions stand for."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator

from archscan.frontends.build.python.calls import call
from archscan.frontends.build.python.comparing import compare
from archscan.frontends.build.python.environment import read_environment
from archscan.frontends.build.python.names import attribute, name_
from archscan.frontends.build.python.operators import binary_operation, boolean, unary
from archscan.frontends.build.python.script import Frame, Script, name_of
from archscan.frontends.build.python.storing import asked_in_round, bound_by, iterated, store
from archscan.frontends.build.python.values import (
    MOST_ITEMS,
    Either,
    Function,
    Items,
    Opaque,
    Release,
    Str,
    Table,
    Unknown,
    Value,
    either,
    key_of,
    names_in,
    text_of,
)
from archscan.frontends.build.traced import cut, readable, written


def constant_(script: Script, node: ast.Constant, frame: dict[str, Value]) -> Value:
    if not isinstance(node.value, str):
        return node.value if isinstance(node.value, bool | int | float) or node.value is None else Unknown()
    text = node.value.encode("utf-8", "surrogatepass").decode("latin-1")
    at, end = script.offset(node), script.end(node)
    raw = script.data[at:end].decode("latin-1")
    lead = re.match(r"[A-Za-z]{0,2}(?:\"\"\"|'''|\"|')", raw)
    inner = raw[lead.end() : len(raw) - len(lead[0].lstrip("rRbBuUfF"))] if lead else raw
    return Str(written(text, at + lead.end() if lead and inner == text else at))


def list_(script: Script, node: ast.List | ast.Tuple | ast.Set, frame: dict[str, Value]) -> Value:
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    found = Items([], kind)
    for element in node.elts[:MOST_ITEMS]:
        if isinstance(element, ast.Starred):
            inner = script.value(element.value, frame)
            if isinstance(inner, Items):
                found.add(inner.items, inner.is_open)
            else:
                found.add([], names_in(inner))
        else:
            found.items.append((script.value(element, frame), ()))
    if len(node.elts) > MOST_ITEMS:
        found.add([], ("a long list",))
    return found


def dict_(script: Script, node: ast.Dict, frame: dict[str, Value]) -> Value:
    table = Table()
    for key, item in zip(node.keys, node.values, strict=True):
        value = script.value(item, frame)
        if key is None:
            table.items.update(value.items if isinstance(value, Table) else {})
            continue
        with contextlib.suppress(TypeError):
            table.items[key_of(script.value(key, frame))] = value
    return table


def joined_string(script: Script, node: ast.JoinedStr, frame: dict[str, Value]) -> Value:
    at = script.offset(node)
    parts: list[Value] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(Str(written(str(part.value).encode("utf-8", "replace").decode("latin-1"), at)))
        elif isinstance(part, ast.FormattedValue):
            parts.append(script.value(part.value, frame))
    open_ = {id(part): part for part in parts if isinstance(part, Either)}
    if len(open_) != 1:  # of two that vary nobody knows which values come together
        return Str(tuple(run for part in parts for run in text_of(part)))
    (varies,) = open_.values()
    return either(
        Str(tuple(run for part in parts for run in text_of(value if part is varies else part)))
        for value in varies.values
    )


def choice(script: Script, node: ast.IfExp, frame: dict[str, Value]) -> Value:
    answer = script.truth(script.value(node.test, frame))
    if answer is not None:
        return script.value(node.body if answer else node.orelse, frame)
    asked = readable(script.source(node.test))[:80]
    values = []
    for part, condition in ((node.body, asked), (node.orelse, f"not ({asked})")):
        outer, script.asked = script.asked, (*script.asked, condition)
        values.append(script.conditioned(script.value(part, frame)))
        script.asked = outer
    return either(values)


def subscript(script: Script, node: ast.Subscript, frame: dict[str, Value]) -> Value:
    holder = script.value(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return sliced(script, holder, node.slice, frame)
    key = script.value(node.slice, frame)
    if isinstance(holder, Opaque) and holder.name.endswith("environ") and isinstance(key, Str):
        return read_environment(script, key.known or "", None, required=True)
    try:
        wanted = key_of(key)
    except TypeError:
        return Unknown(names_in(key))
    if isinstance(holder, Table):
        if isinstance(key, Release) and wanted not in holder.items:
            wanted = ".".join(map(str, key.numbers))  # a release that the table has as text
        return holder.items.get(wanted, Unknown((name_of(node.value),)))
    if isinstance(holder, Items) and isinstance(wanted, int) and not holder.is_open:
        values = holder.values()
        return values[wanted] if -len(values) <= wanted < len(values) else Unknown()
    if isinstance(holder, Release) and isinstance(wanted, int):
        return holder.numbers[wanted] if -len(holder.numbers) <= wanted < len(holder.numbers) else 0
    if isinstance(holder, Str) and isinstance(wanted, int) and holder.known:
        size = len(holder.known)
        return Str(cut(holder.runs, wanted % size, wanted % size + 1)) if -size <= wanted < size else Unknown()
    if isinstance(holder, Unknown | Opaque) and script.is_toolkit(name_of(node.value)) and wanted in (0, 1):
        numbers = [int(part) for part in script.given.release.split(".")]
        return numbers[wanted] if len(numbers) > wanted else 0
    return Unknown(names_in(holder) or (name_of(node.value),))


def sliced(script: Script, holder: Value, part: ast.Slice, frame: dict[str, Value]) -> Value:
    start, stop = (script.value(b, frame) if b is not None else None for b in (part.lower, part.upper))
    if part.step is not None or not isinstance(start, int | None) or not isinstance(stop, int | None):
        return Unknown(names_in(holder))
    span = slice(start, stop)
    if isinstance(holder, Items):
        return Items(holder.items[span], holder.kind, holder.is_open)
    if isinstance(holder, Str) and holder.known is not None:
        begin, end, _ = span.indices(len(holder.known))
        return Str(cut(holder.runs, begin, end))
    return Unknown(names_in(holder))


def comprehension(
    script: Script, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: dict[str, Value]
) -> Value:
    found = Items([], "set" if isinstance(node, ast.SetComp) else "list")
    table = Table()
    if isinstance(node, ast.DictComp):
        for inner, _ in rounds(script, node.generators, Frame(frame), ()):
            with contextlib.suppress(TypeError):
                table.items[key_of(script.value(node.key, inner))] = script.value(node.value, inner)
        return table
    for inner, when in rounds(script, node.generators, Frame(frame), ()):
        found.items.append((script.value(node.elt, inner), when))
    return found


def rounds(
    script: Script, generators: list[ast.comprehension], frame: dict[str, Value], when: tuple[str, ...]
) -> Iterator[tuple[dict[str, Value], tuple[str, ...]]]:
    """Every round of the loops of a comprehension, with its variables and conditions."""
    if not generators:
        yield frame, when
        return
    first, rest = generators[0], generators[1:]
    for value, condition in iterated(script, script.value(first.iter, frame), name_of(first.iter)):
        inner = Frame(frame)
        store(script, first.target, value, inner)
        answers = [script.truth(script.value(test, inner)) for test in first.ifs]
        if False in answers:
            continue
        bound = bound_by(first.target)
        open_ = (test for test, answer in zip(first.ifs, answers, strict=True) if answer is None)
        asked = tuple(asked_in_round(script, test, bound, inner) for test in open_)
        yield from rounds(script, rest, inner, (*when, *condition, *asked))


def lambda_(script: Script, node: ast.Lambda, frame: dict[str, Value]) -> Value:
    return Function(node, frame)


def starred(script: Script, node: ast.Starred, frame: dict[str, Value]) -> Value:
    return script.value(node.value, frame)


def walrus(script: Script, node: ast.NamedExpr, frame: dict[str, Value]) -> Value:
    value = script.value(node.value, frame)
    store(script, node.target, value, frame)
    return frame[node.target.id]


EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: constant_,
    ast.Name: name_,
    ast.Attribute: attribute,
    ast.List: list_,
    ast.Tuple: list_,
    ast.Set: list_,
    ast.Dict: dict_,
    ast.JoinedStr: joined_string,
    ast.BinOp: binary_operation,
    ast.Compare: compare,
    ast.BoolOp: boolean,
    ast.UnaryOp: unary,
    ast.IfExp: choice,
    ast.Subscript: subscript,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension,
    ast.Call: call,
    ast.Lambda: lambda_,
    ast.Starred: starred,
    ast.NamedExpr: walrus,
}
