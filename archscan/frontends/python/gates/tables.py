"""Gates that are tables keyed by capability, with what reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, Rest, decided, serving
from archscan.frontends.python.gates.arms import answered, words_near
from archscan.frontends.python.gates.definitions import class_value, definition
from archscan.frontends.python.gates.effects import after, block_effect, caught, effect_of, is_log
from archscan.frontends.python.gates.lists import admitted, names_targets
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.gates.switches import switched_on
from archscan.frontends.python.interpreter.conditions import Answer, always, answer_of
from archscan.frontends.python.interpreter.containers import ListV
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.lanewise import compare
from archscan.frontends.python.interpreter.values import Capability, Value, depends, is_constant
from archscan.frontends.python.source.blocks import ends, returns_in, scope_of, symbols_in
from archscan.frontends.python.source.syntax import (
    arguments,
    inner,
    line_of,
    oneline,
    operands,
    place,
    statements,
    text,
)
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.triggers import occurrences
from archscan.model.gate import NOTHING, Arm, Does, Effect, Kind, Layer, Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector


def visit_pair(scan: GateCollector, path: list[Node]) -> None:
    """A row of a dict: the dict is a table if its keys are targets."""
    table = path[-3] if len(path) > 2 else path[-2]
    if table.type == "dictionary":
        visit_table(scan, path[:-2], table)


def visit_rows(scan: GateCollector, path: list[Node]) -> None:
    """A word in a comment between the rows."""
    visit_table(scan, path[:-1], path[-2])


def visit_reader(scan: GateCollector, path: list[Node]) -> None:
    """TABLE[capability], TABLE.get(capability) and `capability in TABLE` lead to the table's definition."""
    node = path[-2]
    owner: Node | None = None
    if node.type == "subscript":
        owner = child(node, "value")
    elif node.type == "comparison_operator" and any(c.type in {"in", "not in"} for c in node.children):
        owner = operands(node)[-1]
    elif node.type == "call":
        function = child(node, "function")
        if function is not None and function.type == "attribute" and text(function).endswith(".get"):
            owner = child(function, "object")
    if owner is None or owner.type not in ("identifier", "attribute") or not scan.once(node, "reader"):
        return
    found = definition(text(owner), scan.frame(path), scan.interpreter)
    if found is not None and found[0].module is not scan.module:
        _visit_imported(scan, owner, inner(found[1]), found[0])
        return
    table = inner(found[1]) if found is not None else class_value(scan.module, path, text(owner))
    if table is not None and table.type == "dictionary":
        visit_table(scan, scan.module.descend(table.start_byte)[:-1], table)


def _visit_imported(scan: GateCollector, owner: Node, table: Node, frame: Frame) -> None:
    """The gate of a table that another module defines, filed there: what this reader does without a row."""
    rows = _rows(scan, table, frame)
    reader = _first_reader(scan, text(owner), None) if rows else None
    if reader is not None:
        scan.traced()
        emit_table(scan, table, rows, reader, frame.module.descend(table.start_byte)[:-1], frame, text(owner))


def _rows(scan: GateCollector, table: Node, frame: Frame) -> list[tuple[Node, Value]]:
    """The rows of a dict with the values of their keys, if these are targets; a row for the others is none of them."""
    pairs = [p for p in operands(table) if p.type == "pair"] if table.type == "dictionary" else []
    keys = [scan.interpreter.evaluate(k, frame) for p in pairs if (k := child(p, "key")) is not None]
    if len(keys) != len(operands(table)):
        return []
    rows = [(pair, key) for pair, key in zip(pairs, keys, strict=True) if not _is_for_others(key)]
    if names_targets(tuple(key for _, key in rows), scan):
        return rows
    parts = tuple(_part_of(key) for _, key in rows)
    return rows if names_targets(parts, scan) else []


def names_keys(rows: list[tuple[Node, Value]], scan: GateCollector) -> bool:
    """Whether the keys of rows name targets by themselves."""
    keys = tuple(key for _, key in rows)
    return names_targets(keys, scan) or names_targets(tuple(map(_part_of, keys)), scan)


def _rows_of_parts(scan: GateCollector, table: Node, frame: Frame) -> list[tuple[Node, Value]]:
    """The rows of a dict whose keys have parts: `(90, "fp8")`. Which of them names a target, its reader tells."""
    pairs = [p for p in operands(table) if p.type == "pair"]
    keys = [child(p, "key") for p in pairs]
    if len(pairs) < len(operands(table)) or not all(k is not None and inner(k).type == "tuple" for k in keys):
        return []
    values = [scan.interpreter.evaluate(key, frame) for key in keys if key is not None]
    return list(zip(pairs, values, strict=True)) if all(map(is_constant, values)) else []


def _place_in(asked: Value, key: Value) -> int | None:
    """Which part of a key of several is the target, by what its reader asks for; None if not one of them."""
    if not isinstance(asked, tuple) or not isinstance(key, tuple) or len(asked) != len(key):
        return None
    places = [at for at, part in enumerate(asked) if depends(part)]
    return places[0] if len(places) == 1 else None


def _names_part(scan: GateCollector, reader: Reader, rows: list[tuple[Node, Value]]) -> bool:
    """Whether that part of the keys names targets."""
    places = {_place_in(reader.key, key) for _, key in rows}
    at = places.pop() if len(places) == 1 else None
    keys = [key for _, key in rows if isinstance(key, tuple)]
    return at is not None and names_targets(tuple(dict.fromkeys(key[at] for key in keys)), scan)


def _part_of(key: Value) -> Value:
    """The part of a key of several that names a target in so many words: of `("sm_100a", "forward")` the first."""
    parts = key if isinstance(key, tuple) else ()
    return next((part for part in parts if isinstance(part, str) and _CHIP.fullmatch(part)), None)


_CHIP = re.compile(r"(?:sm|compute)_?\d{2,3}[af]?", re.IGNORECASE)


def _is_for_others(key: Value) -> bool:
    return isinstance(key, str) and key.lower() in ("default", "fallback", "other", "others", "any", "*", "")


def visit_table(scan: GateCollector, path: list[Node], table: Node) -> None:
    if not scan.once(table, "table"):
        return
    frame = scan.frame(path)
    assignment = next((n for n in reversed(path) if n.type == "assignment"), None)
    left = child(assignment, "left") if assignment is not None else None
    name = text(left) if left is not None and left.type == "identifier" else ""
    rows = _rows(scan, table, frame) or (_rows_of_parts(scan, table, frame) if name else [])
    if not rows:
        return
    scan.traced()
    reader = _first_reader(scan, name, table) if name else None
    if reader is not None and (names_keys(rows, scan) or _names_part(scan, reader, rows)):
        emit_table(scan, table, rows, reader, path, frame, name)


def _first_reader(scan: GateCollector, name: str, table: Node | None) -> Reader | None:
    """The first reader in the module that indexes the table with the target; `table` is where that is defined here."""
    for offset in occurrences(scan.module.data, name.encode()):
        if table is None or not table.start_byte <= offset < table.end_byte:
            found = _reader(scan, scan.module.descend(offset))
            if found is not None:
                return found
    return None


@dataclass(frozen=True)
class Reader:
    """Where a table is read with the target: what happens without a row, and what the key is on every target.

    `instead` is who does not ask it there, and what they get: `99 if major > 9 else TABLE[major]`. `answers` are the
    texts that who has no row may get in place of one, `is_spelled` says that they get one made of the key.
    """

    node: Node
    effect: Effect
    key: Value
    instead: tuple[Answer, Node] | None = None
    answers: frozenset[str] = frozenset()
    is_spelled: bool = False


def _reader(scan: GateCollector, path: list[Node]) -> Reader | None:
    for i in range(len(path) - 1, 0, -1):
        node = path[i - 1]
        if node.type == "subscript" and path[i] == child(node, "value"):
            key = child(node, "subscript")
            if key is not None and depends(value := _key(scan, key, path[:i])):
                effect = caught(Effect(Does.RAISES, line_of(node), None, "KeyError"), path[:i])
                return Reader(node, effect, value, _instead(scan, path[:i]))
        if node.type == "call" and text(child(node, "function") or node).endswith(".get"):
            positional, _ = arguments(node)
            if positional and depends(value := _key(scan, positional[0], path[:i])) and not _is_shown(path[:i]):
                missing = _missing(positional, node, path[:i])
                spelled = len(positional) > 1 and _is_made_of(positional[1], positional[0])
                answers = _answers(node, path[:i])
                return Reader(node, missing, value, None, answers, spelled) if missing is not None else None
        if (
            node.type == "comparison_operator"
            and any(c.type in ("in", "not in") for c in node.children_by_field_name("operators"))
            and depends(value := _key(scan, operands(node)[0], path[:i]))
        ):
            return Reader(node, _refused(node, path[:i]), value, None, _answers(node, path[:i]))
    return None


def _answers(asks: Node, path: list[Node]) -> frozenset[str]:
    """The texts that are returned to whom an `if` passes by that only asks for a row."""
    statement = next((n for n in reversed(path) if n.type in ("if_statement", "block", "module")), None)
    condition = child(statement, "condition") if statement is not None else None
    if statement is None or condition is None or any(c.type == "not in" for c in asks.children):
        return frozenset()
    asked = inner(condition)
    value = child(asked, "value") if asked.type == "named_expression" else asked
    returned = [r for s in _behind(statement, path) for r in returns_in(s)] if value == asks else []
    return frozenset(text(one) for r in returned for one in _texts(r))


def _texts(node: Node) -> Iterator[Node]:
    """The plain texts that a statement may return: both sides of a choice, and no part of a call."""
    for part in node.named_children:
        if part.type == "conditional_expression":
            yield from (side for side in operands(part)[::2] if _is_plain(side))
        elif _is_plain(part):
            yield part


def _is_plain(node: Node) -> bool:
    return node.type == "string" and all(part.type != "interpolation" for part in node.named_children)


def _is_made_of(default: Node, key: Node) -> bool:
    """Whether a text is put together from the key that has no row: `f"sm_{major}{minor}"`."""
    if default.type != "string" or _is_plain(default):
        return False
    filled = (name for part in default.named_children if part.type == "interpolation" for name in symbols_in(part))
    return any(name in symbols_in(key) for name in filled)


def _instead(scan: GateCollector, path: list[Node]) -> tuple[Answer, Node] | None:
    """The other side of an expression with a condition on the target, whose one side the last node is; and for whom."""
    around = path[-2] if len(path) > 1 else None
    if around is None or around.type != "conditional_expression":
        return None
    yes, condition, no = operands(around)
    if not depends(value := _key(scan, condition, path[:-1])) or path[-1] not in (yes, no):
        return None
    answer = answer_of(scan.interpreter, value, condition)
    if not answer.truth.yes | answer.truth.no:
        answer = _by_key(scan, condition, path[-1], path[:-1]) or answer
    if not answer.truth.yes | answer.truth.no:
        return None
    return (answer, yes) if path[-1] == no else (~answer, no)


def _by_key(scan: GateCollector, condition: Node, reader: Node, path: list[Node]) -> Answer | None:
    """The answer of `key > 90` where nobody knows what the key is: what the rows name by it is the target."""
    asked = operands(condition)
    words = condition.children_by_field_name("operators")
    key = child(reader, "subscript")
    if len(asked) != _PAIR or len(words) != 1 or key is None or text(asked[0]) != text(key):
        return None
    bound = _key(scan, asked[1], path)
    if not is_constant(bound):
        return None
    return answer_of(scan.interpreter, compare(scan.interpreter.lanes, text(words[0]), Capability(), bound), condition)


_PAIR = 2  # operands of a plain comparison


def _refused(test: Node, path: list[Node]) -> Effect:
    """What is done without a row where `key in TABLE` is all that an `if` asks; elsewhere a truth that says no."""
    if path[-2].type == "conditional_expression" and operands(path[-2])[1] == test:
        yes, _, no = operands(path[-2])
        others = yes if any(c.type == "not in" for c in test.children) else no
        return Effect(Does.ASSIGNS, line_of(others), None, oneline(others, 80))
    statement = next((n for n in reversed(path) if n.type in ("if_statement", "block", "module")), None)
    block = child(statement, "consequence") if statement is not None else None
    condition = child(statement, "condition") if statement is not None else None
    if statement is not None and block is not None and condition is not None and inner(condition) == test:
        if any(c.type == "not in" for c in test.children):
            return block_effect(block)
        if not statement.children_by_field_name("alternative") and not ends(block):
            return NOTHING  # it goes on as with a row
        if (otherwise := _otherwise(statement, path)) is not None:
            return otherwise
    return Effect(Does.REFUSES, line_of(test), None, "no row")


def _otherwise(statement: Node, path: list[Node]) -> Effect | None:
    """What they get whom `if` passes by: its else, or what follows a block that leaves; None if that is no answer."""
    effect = effect_of(_behind(statement, path))
    if effect.does is Does.RAISES:
        return effect
    return None if effect.refuses or effect.does is Does.NOTHING else effect


def _behind(statement: Node, path: list[Node]) -> list[Node]:
    """The statements that they run whom `if` passes by."""
    alternatives = statement.children_by_field_name("alternative")
    if alternatives:
        body = child(alternatives[0], "body") if alternatives[0].type == "else_clause" else None
        return statements(body) if body is not None else []
    block = child(statement, "consequence")
    at = path.index(statement) if statement in path else 0
    around = path[at - 1] if at else None
    leaves = block is not None and ends(block)
    return after(statement, statements(around)) if around is not None and leaves else []


def asks_table(scan: GateCollector, spot: Node, frame: Frame) -> bool:
    """Whether a condition only looks a key up in a table that is a gate of its own, or asks what it gave."""
    owner = _table_asked(spot, frame)
    found = definition(text(owner), frame, scan.interpreter) if owner is not None else None
    table = inner(found[1]) if found is not None else None
    if found is None or table is None or table.type != "dictionary":
        return False
    if found[0].module is not scan.module:
        return bool(_rows(scan, table, found[0]))  # its reader has told the other module's
    visit_table(scan, scan.module.descend(table.start_byte)[:-1], table)
    return (scan.module.path, table.start_byte, Kind.TABLE.value) in scan.found.gates


def _table_asked(spot: Node, frame: Frame) -> Node | None:
    """The name of the table in `key in TABLE`, or in a mere `row is None` after `row = TABLE.get(key)`."""
    if spot.type != "comparison_operator":
        return None
    left, right = operands(spot)[0], operands(spot)[-1]
    if any(c.type in ("in", "not in") for c in spot.children):
        return right
    mere = spot.parent is None or spot.parent.type != "boolean_operator"
    bindings = frame.scope.of(text(left)) if mere and right.type == "none" and left.type == "identifier" else []
    value = bindings[-1].value if bindings else None
    function = child(value, "function") if value is not None and value.type == "call" else None
    is_read = function is not None and text(function).endswith(".get")
    return child(function, "object") if is_read and function is not None else None


def _missing(positional: list[Node], node: Node, path: list[Node]) -> Effect | None:
    """What `.get` without a row leads to: the default, or what the test for None after it does; None if no harm."""
    default = positional[1] if len(positional) > 1 else None
    if default is None and path[-2].type == "boolean_operator" and operands(path[-2])[0] == node:
        default = operands(path[-2])[1]  # TABLE.get(key) or TABLE["sm_80"]
    if default is not None and default.type != "none":
        return Effect(Does.ASSIGNS, line_of(node), None, oneline(default, 80))
    found = next((n for n in reversed(path) if n.type in ("named_expression", "assignment", "block")), None)
    if found is not None and found.type == "named_expression":
        statement = next((n for n in reversed(path) if n.type == "if_statement"), None)
        asked = child(statement, "condition") if statement is not None else None
        if statement is not None and asked is not None and inner(asked) == found:
            return _otherwise(statement, path) or Effect(Does.ASSIGNS, line_of(node), None, "None")
    assignment = next((n for n in reversed(path) if n.type == "assignment"), None)
    left = child(assignment, "left") if assignment is not None else None
    block = next((n for n in reversed(path) if n.type in ("block", "module")), None)
    if left is not None and block is not None:
        for statement in statements(block):
            if statement.start_byte > node.start_byte and statement.type == "if_statement":
                condition = child(statement, "condition")
                wanted = (f"{text(left)} is None", f"not {text(left)}")
                if condition is not None and _refuses_rows(condition, text(left), statement):
                    return None
                asked_for = oneline(condition).strip("()") if condition is not None else ""
                if any(asked_for == one or asked_for.startswith(f"{one} or ") for one in wanted):
                    body = child(statement, "consequence")
                    return block_effect(body) if body is not None else Effect(Does.REFUSES)
                if asked_for in (text(left), f"{text(left)} is not None"):
                    passed = _otherwise(statement, [block, statement])
                    return passed or Effect(Does.ASSIGNS, line_of(node), None, "None")
    return Effect(Does.ASSIGNS, line_of(node), None, "None")


def _refuses_rows(condition: Node, name: str, statement: Node) -> bool:
    """Whether only who has a row may be refused: `if need is not None and toolkit < need: raise`."""
    block = child(statement, "consequence")
    asked = oneline(condition).strip("()")
    return asked.startswith(f"{name} is not None and ") and block is not None and block_effect(block).refuses


def _key(scan: GateCollector, key: Node, path: list[Node]) -> Value:
    return scan.interpreter.evaluate(key, scan.frame([*path, key]))


def _is_shown(path: list[Node]) -> bool:
    """Whether what a table holds only goes into a text or a log: a name for people, no choice."""
    for node in reversed(path):
        if node.type == "interpolation" or (node.type == "call" and is_log(node)):
            return True
        if node.type.endswith("_statement") or node.type == "block":
            return False
    return False


def emit_table(
    scan: GateCollector,
    table: Node,
    rows: list[tuple[Node, Value]],
    reader: Reader,
    path: list[Node],
    frame: Frame,
    name: str,
) -> None:
    """Adds the gate of a table, a row per arm."""
    module = frame.module
    everybody = reach = reach_of(scan, path) if module is scan.module else always(scan.interpreter)
    around = next((node for node in reversed(path) if node.type == "function_definition"), None)
    read = reader.node.start_byte
    if module is scan.module and around is not None and around.start_byte <= read < around.end_byte:
        reach = reach & reach_of(scan, module.descend(read))  # who is served before the table is asked misses no row
    if module is scan.module:
        same_key = partial(_has_row, scan, child(reader.node, "subscript"))
        reach = reach & switched_on(scan, module.descend(read), same_key)
    arms, served = [], []
    for pair, key in rows:
        own = _row_answer(scan, reader, key, pair)
        value = child(pair, "value")
        if own is None or value is None:
            continue
        served.append(own)
        row = serving(place(pair, module.data), oneline(child(pair, "key") or pair), own.truth)
        picks = Effect(Does.ASSIGNS, line_of(value), None, oneline(value, 120))
        arms.append(replace(answered(row, reach & own), effect=picks, body=place(value, module.data)))
    if arms and reader.instead is not None and module is scan.module:
        reach = everybody
        arms += _unasked(reader, reader.instead, reach, served, module.data)
    use = Related(scan.module.path, line_of(reader.node), Role.CALLER, oneline(reader.node, 100))
    about = About(
        scope=scope_of(path),
        reach=reach.truth,
        related=(use,),
        near=words_near(scan, table, path),
        symbols=(name,) if name else (),
        assumptions=TAKEN_FOR_GRANTED,
        notes=(("again", "text"),) if _is_told_again(rows, reader) else (),
    )
    if arms:
        whole = place(table, module.data)
        scan.add(
            decided(
                module.path,
                Layer.PYTHON,
                Kind.TABLE,
                whole,
                tuple(arms),
                Rest(_row_named(reader.effect, rows, name)),
                about,
            )
        )


def _row_named(effect: Effect, rows: list[tuple[Node, Value]], name: str) -> Effect:
    """The effect with a row itself where that is named for those without one: `TABLE.get(key) or TABLE["sm_80"]`."""
    for pair, _ in rows:
        key, value = child(pair, "key"), child(pair, "value")
        if key is not None and value is not None and effect.value in (text(key), f"{name}[{text(key)}]"):
            return replace(effect, value=oneline(value, 120))
    return effect


def _is_told_again(rows: list[tuple[Node, Value]], reader: Reader) -> bool:
    """Whether a table holds texts, and who has no row gets one as well: one of these by other rules, or its own."""
    values = [value for pair, _ in rows if (value := child(pair, "value")) is not None]
    if not all(map(_is_plain, values)):
        return False
    return reader.is_spelled or len(reader.answers.intersection(map(text, values))) > 1


def _unasked(
    reader: Reader, instead: tuple[Answer, Node], reach: Answer, served: list[Answer], data: bytes
) -> Iterator[Arm]:
    """The arms without a row: of those that do not ask the table where it is read, and of those that ask in vain."""
    who, value = instead
    picks = Effect(Does.ASSIGNS, line_of(value), None, oneline(value, 120))
    in_vain = reduce(lambda left, row: left & ~row, served, ~who)
    for answer, node, effect in ((who, value, picks), (in_vain, reader.node, reader.effect)):
        yield replace(
            answered(serving(place(node, data), "", answer.truth), reach & answer), is_else=True, effect=effect
        )


def _has_row(scan: GateCollector, asked: Node | None, condition: Node, path: list[Node]) -> Answer | None:
    """Who has a row in another table that a condition looks into with the key `asked`, and turns away without one."""
    parts = operands(condition) if condition.type == "comparison_operator" else []
    negated = any(c.type == "not in" for c in condition.children)
    if asked is None or not negated or len(parts) != 2 or text(parts[0]) != text(asked):
        return None
    found = definition(text(parts[1]), scan.frame(path), scan.interpreter)
    keys = [key for _, key in _rows(scan, inner(found[1]), found[0])] if found is not None else []
    return admitted(scan.interpreter, ListV(tuple(keys)), "") if keys else None


def _is_pair(asked: Value) -> bool:
    """Whether a key is a capability itself, whatever its minor is."""
    return isinstance(asked, tuple) and all(map(depends, asked))


def _row_answer(scan: GateCollector, reader: Reader, key: Value, pair: Node) -> Answer | None:
    """Which targets take a row: those whose key the reader makes so, `sm_120` for 12.1; else those that it names."""
    asked, named = reader.key, _part_of(key)
    if named is not None:
        if isinstance(asked, tuple) and isinstance(key, tuple) and len(asked) == len(key):
            asked = asked[key.index(named)]
        else:
            asked = None
        key = named
    elif (
        isinstance(asked, tuple)
        and isinstance(key, tuple)
        and (at := _place_in(asked, key)) is not None
        and at < len(key)
        and not _is_pair(asked)
    ):
        asked, key = asked[at], key[at]
    known = asked is not None and all(is_constant(one) for one, _ in scan.interpreter.lanes.groups(asked))
    if not known:
        return admitted(scan.interpreter, ListV((key,)), "")
    return answer_of(scan.interpreter, compare(scan.interpreter.lanes, "==", asked, key), pair)
