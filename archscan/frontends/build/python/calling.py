"""Runs a function of the script."""

from __future__ import annotations

import ast

from archscan.frontends.build.python.script import Frame, Leaves, Script
from archscan.frontends.build.python.values import Function, Unknown, Value, either

MAX_DEPTH = 14
MAX_RECURSION = (
    2  # a function that calls itself with something unknown would go on for ever, and mostly in several ways
)


def run(script: Script, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """What a function of the file returns."""
    node = function.node
    if len(script.running) >= MAX_DEPTH:
        return Unknown(("a deep call",))
    again = script.running.count(id(node))
    if again >= MAX_RECURSION or (again and all(isinstance(a, Unknown) for a in (*arguments, *keywords.values()))):
        return Unknown(("a recursion",))
    frame = Frame(function.frame)
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if names[:1] in (["self"], ["cls"]) and len(arguments) < len(names):
        arguments = [Unknown(("self",)), *arguments]
    defaults = [script.value(d, function.frame) for d in node.args.defaults]
    for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        frame[name] = default
    for argument, default_node in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        frame[argument.arg] = (
            script.value(default_node, function.frame) if default_node is not None else Unknown((argument.arg,))
        )
    for name, value in zip(names, arguments, strict=False):
        frame[name] = value
    for name in names:
        if name not in dict.keys(frame):
            frame[name] = keywords.get(name, script.versioned(name, Unknown((name,))))
    frame.update(keywords)
    if isinstance(node, ast.Lambda):
        return script.value(node.body, frame)
    script.called.add(id(node))
    script.running.append(id(node))
    outer, script.early = script.early, []
    try:
        script.body(node.body, frame)
        returned: Value = None
    except Leaves as left:
        if left.kind == "exhausted" or (left.kind == "raise" and not script.early):
            raise
        returned = left.value if left.kind == "return" else script.early[0]
    finally:
        script.running.pop()
        early, script.early = script.early, outer
    return either([*early, returned])
