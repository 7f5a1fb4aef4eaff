"""What statements do to variables, and which branches run."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable

from archscan.frontends.build.flags import builds
from archscan.frontends.build.python.operators import binary
from archscan.frontends.build.python.script import Frame, Leaves, Refusal, Script, name_of
from archscan.frontends.build.python.storing import asked_in_round, bound_by, iterated, store
from archscan.frontends.build.python.values import Function, Items, Opaque, Str, Value, either
from archscan.frontends.build.traced import readable


def expression_statement(script: Script, node: ast.Expr, frame: dict[str, Value]) -> None:
    script.value(node.value, frame)


def assign(script: Script, node: ast.Assign, frame: dict[str, Value]) -> None:
    value = script.value(node.value, frame)
    for target in node.targets:
        store(script, target, value, frame)


def annotated(script: Script, node: ast.AnnAssign, frame: dict[str, Value]) -> None:
    if node.value is not None:
        store(script, node.target, script.value(node.value, frame), frame)


def augmented(script: Script, node: ast.AugAssign, frame: dict[str, Value]) -> None:
    old, new = script.value(node.target, frame), script.value(node.value, frame)
    if isinstance(old, Items) and isinstance(node.op, ast.Add):
        script.extend(old, new)
        script.keep(name_of(node.target), old)
    else:
        store(script, node.target, binary(script, node.op, old, script.conditioned(new)), frame)


def if_(script: Script, node: ast.If, frame: dict[str, Value]) -> None:
    before = len(script.looked_in)
    script.by_release = False
    answer = script.truth(script.value(node.test, frame))
    looked = tuple(script.looked_in[before:])
    if answer is not None:
        note_left(script, node.orelse if answer else node.body, node.body if answer else node.orelse)
        if looked and not answer and not node.orelse and builds(script.source(node.body[0]).encode()):
            note_refusal(script, Refusal(script.offset(node), "", looked, silent=True))
        guarded(script, node.body if answer else node.orelse, frame, looked)
        return
    asked = asked_in_round(script, node.test, script.looping, frame)
    before_frame, outer = dict(frame), script.asked
    ends: list[dict[str, Value]] = []
    leaves: list[Leaves] = []
    for body, condition in ((node.body, asked), (node.orelse, f"not ({asked})")):
        frame.clear()
        frame.update(before_frame)
        script.asked = (*outer, condition)
        try:
            script.body(body, frame)
            ends.append(dict(frame))
        except Leaves as left:
            if left.kind == "exhausted":
                raise
            leaves.append(left)
        finally:
            script.asked = outer
    frame.clear()
    frame.update(joined(ends or [before_frame]))
    for leaving in leaves:
        script.keep("", leaving.value)
        if leaving.kind == "return":
            script.early.append(leaving.value)
    if not ends:
        raise next((left for left in leaves if left.kind == "return"), leaves[0])


def note_left(script: Script, left: list[ast.stmt], taken: list[ast.stmt]) -> None:
    """Notes the branch that another toolkit would take."""
    if taken:
        script.entered.add(script.offset(taken[0]))
    if left and script.by_release:
        script.left[script.offset(left[0])] = script.end(left[-1])


def guarded(
    script: Script, nodes: list[ast.stmt], frame: dict[str, Value], looked: tuple[tuple[int, int], ...]
) -> None:
    """A branch that is taken: what it raises, or goes on from, is a refusal by the lists that were looked into."""
    if looked and nodes and isinstance(nodes[0], ast.Raise):
        note_refusal(script, Refusal(script.offset(nodes[0]), message_of(script, nodes[0], frame), looked))
    elif looked and nodes and isinstance(nodes[0], ast.Continue):
        note_refusal(script, Refusal(script.offset(nodes[0]), "", looked, silent=True))
    script.body(nodes, frame)


def note_refusal(script: Script, refusal: Refusal) -> None:
    """Takes note of a refusal that is sure, where the script is evaluated for what somebody asks for."""
    if script.requested and not script.asked:
        script.refusals.append(refusal)


def message_of(script: Script, node: ast.Raise, frame: dict[str, Value]) -> str:
    arguments = node.exc.args if isinstance(node.exc, ast.Call) else []
    return readable(script.source(arguments[0])).strip("f\"'") if arguments else ""


def for_(script: Script, node: ast.For | ast.AsyncFor, frame: dict[str, Value]) -> None:
    for value, when in iterated(script, script.value(node.iter, frame), name_of(node.iter)):
        outer, around = script.asked, script.looping
        script.asked, script.looping = (*outer, *when), around | bound_by(node.target)
        try:
            store(script, node.target, value, frame)
            script.body(node.body, frame)
        except Leaves as left:
            if left.kind == "break":
                break
            if left.kind != "continue":
                raise
        finally:
            script.asked, script.looping = outer, around


def while_(script: Script, node: ast.While, frame: dict[str, Value]) -> None:
    if script.truth(script.value(node.test, frame)) is False:
        return
    outer, script.asked = script.asked, (*script.asked, readable(script.source(node.test))[:80])
    try:
        script.body(node.body, frame)
    except Leaves as left:
        if left.kind in ("exhausted", "return"):
            raise
    finally:
        script.asked = outer


def try_(script: Script, node: ast.Try, frame: dict[str, Value]) -> None:
    try:
        script.body(node.body, frame)
        script.body(node.orelse, frame)
    except Leaves as left:
        if left.kind != "raise" or not node.handlers:
            raise
    outer, script.asked = script.asked, (*script.asked, "an exception")
    copy = dict(frame)
    try:
        for handler in node.handlers:
            with contextlib.suppress(Leaves):
                script.body(handler.body, copy)
    finally:
        script.asked = outer
    for name, value in copy.items():
        frame.setdefault(name, value)
    script.body(node.finalbody, frame)


def with_(script: Script, node: ast.With | ast.AsyncWith, frame: dict[str, Value]) -> None:
    for item in node.items:
        value = script.value(item.context_expr, frame)
        if item.optional_vars is not None:
            store(script, item.optional_vars, value, frame)
    script.body(node.body, frame)


def delete(script: Script, node: ast.Delete, frame: dict[str, Value]) -> None:
    """`del os.environ["NAME"]`; of other names and entries nothing is forgotten."""
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            holder, key = script.value(target.value, frame), script.value(target.slice, frame)
            if isinstance(holder, Opaque) and holder.name.endswith("environ") and isinstance(key, Str):
                script.take_back(key.known or "")


def define(script: Script, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: dict[str, Value]) -> None:
    frame[node.name] = Function(node, frame)


def class_(script: Script, node: ast.ClassDef, frame: dict[str, Value]) -> None:
    inner = Frame(frame)
    script.body(node.body, inner)
    frame[node.name] = Opaque(node.name)
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            frame[f"{node.name}.{method.name}"] = inner[method.name]
            frame.setdefault(f"self.{method.name}", inner[method.name])


def return_(script: Script, node: ast.Return, frame: dict[str, Value]) -> None:
    value = script.value(node.value, frame) if node.value is not None else None
    script.keep("", value)
    raise Leaves("return", value)


def raise_(script: Script, node: ast.Raise, frame: dict[str, Value]) -> None:
    raise Leaves("raise")


def break_(script: Script, node: ast.stmt, frame: dict[str, Value]) -> None:
    if not script.asked:
        raise Leaves("break" if isinstance(node, ast.Break) else "continue")
    raise Leaves("continue")


def import_(script: Script, node: ast.Import | ast.ImportFrom, frame: dict[str, Value]) -> None:
    module = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
    for alias in node.names:
        name = alias.asname or alias.name
        full = f"{module}{alias.name}"
        if isinstance(node, ast.Import) and alias.asname is None:
            name = full = alias.name.partition(".")[0]
        frame[name] = Opaque(full)


def joined(ends: list[dict[str, Value]]) -> dict[str, Value]:
    """What several ways leave: one of several values where they differ."""
    made: dict[str, Value] = {}
    for name in dict.fromkeys(name for end in ends for name in end):
        values = [end[name] for end in ends if dict.__contains__(end, name)]
        made[name] = either(values)
    return made


STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Expr: expression_statement,
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.If: if_,
    ast.For: for_,
    ast.AsyncFor: for_,
    ast.While: while_,
    ast.Try: try_,
    ast.With: with_,
    ast.AsyncWith: with_,
    ast.FunctionDef: define,
    ast.AsyncFunctionDef: define,
    ast.ClassDef: class_,
    ast.Return: return_,
    ast.Raise: raise_,
    ast.Break: break_,
    ast.Continue: break_,
    ast.Delete: delete,
    ast.Import: import_,
    ast.ImportFrom: import_,
}
