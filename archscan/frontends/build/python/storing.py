"""Where values go: names, attributes, entries and the variables of loops."""

from __future__ import annotations

import ast
import contextlib

from archscan.frontends.build.python.functions import MAX_LOOP, constant
from archscan.frontends.build.python.script import Script, name_of
from archscan.frontends.build.python.values import Either, Items, Opaque, Str, Table, Unknown, Value, key_of, names_in
from archscan.frontends.build.traced import cut

_MOST_ELSEWHERE = 64  # rounds in a function that has nothing to do with builds: more than there are architectures


def store(script: Script, target: ast.expr, value: Value, frame: dict[str, Value]) -> None:
    if isinstance(target, ast.Name):
        frame[target.id] = script.versioned(target.id, value)
        script.keep(target.id, value)
    elif isinstance(target, ast.Attribute):
        owner = name_of(target.value)
        frame[f"{owner}.{target.attr}"] = value
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
