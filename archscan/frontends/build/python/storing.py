"""Where values go: names, attributes, entries and the variables of loops."""

from __future__ import annotations

import ast
import contextlib

from archscan.frontends.build.python.functions import MAX_LOOP, constant
from archscan.frontends.build.python.script import Frame, Script, name_of
from archscan.frontends.build.python.values import (
    Either,
    Items,
    Opaque,
    Str,
    Table,
    Unknown,
    Value,
    key_of,
    names_in,
    text_of,
)
from archscan.frontends.build.traced import cut, known, readable

_MOST_ELSEWHERE = 64  # rounds in a function that has nothing to do with builds: more than there are architectures


def store(script: Script, target: ast.expr, value: Value, frame: dict[str, Value]) -> None:
    if isinstance(target, ast.Name):
        frame[target.id] = script.versioned(target.id, value)
        script.keep(target.id, value)
    elif isinstance(target, ast.Attribute):
        owner = name_of(target.value)
        frame[f"{owner}.{target.attr}"] = value
        if owner == "self" and isinstance(frame, Frame) and isinstance(value, Str):
            frame.outer.setdefault(f"self.{target.attr}", script.conditioned(value))  # for its other methods
        script.keep(target.attr, value)
    elif isinstance(target, ast.Subscript):
        holder, key = script.value(target.value, frame), script.value(target.slice, frame)
        if isinstance(holder, Opaque) and holder.name.endswith("environ") and isinstance(key, Str):
            script.set_environment(key.known or "", value)
        elif isinstance(holder, Table):
            with contextlib.suppress(TypeError):
                holder.items[key_of(key)] = value
            script.keep(name_of(target.value), holder)
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.values() if isinstance(value, Items) else []
        for i, inner in enumerate(target.elts):
            fits = len(parts) == len(target.elts)
            store(script, inner, parts[i] if fits else Unknown(names_in(value) or (name_of(inner),)), frame)


def iterated(script: Script, value: Value, name: str) -> list[tuple[Value, tuple[str, ...]]]:
    """What a loop goes through; something unknown once where nothing is known of it."""
    if isinstance(value, Items):
        most = MAX_LOOP if script.leads_to_build() else _MOST_ELSEWHERE
        more = (*value.is_open, "a long list") if len(value.items) > most else value.is_open
        return [*value.items[:most], *([(Unknown(more), more)] if more else [])]
    if isinstance(value, Table):
        return [(constant(key), ()) for key in list(value.items)[:MAX_LOOP]]
    if isinstance(value, Either):
        return [one for some in value.values for one in iterated(script, some, name)][:MAX_LOOP]
    if isinstance(value, Str) and value.known is not None and len(value.known) < 50:
        return [(Str(cut(value.runs, i, i + 1)), ()) for i in range(len(value.known))]
    return [(Unknown(names_in(value) or (name,)), (f"something in {name}",))]


def bound_by(target: ast.expr) -> frozenset[str]:
    """The variables of a loop."""
    return frozenset(node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def asked_in_round(script: Script, test: ast.expr, looping: frozenset[str], frame: dict[str, Value]) -> str:
    """A condition that nobody can answer, with what the variables of a loop hold: each round has its own answer."""
    asked = readable(script.source(test))[:80]
    names = dict.fromkeys(node.id for node in ast.walk(test) if isinstance(node, ast.Name) and node.id in looping)
    held = [text for name in names if name in frame and (text := known(text_of(frame[name])))]
    return f"{asked} ({', '.join(held)})" if held else asked
