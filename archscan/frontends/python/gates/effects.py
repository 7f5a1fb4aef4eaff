"""What a branch does: raises, refuses, returns, assigns, logs, skips, works, or nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from tree_sitter import Node

from archscan.frontends.python.source.syntax import (
    arguments,
    exit_call,
    field,
    if_arms,
    inner,
    is_prose,
    line_of,
    oneline,
    operands,
    statements,
    template,
    text,
)
from archscan.model.gate import NOTHING, Does, Effect

_LOGS = ("log", "logger", "logging", "warn", "warnings", "_log", "_logger")
_LOUD = ("warning", "warn", "info", "debug", "error", "warning_once", "info_once", "critical", "exception", "log")
_ERROR_LISTS = ("error", "reason", "problem", "unsupported", "fail", "missing", "invalid", "violation", "incompat")
_LOGGER = re.compile(r"_*log_[a-z]")  # a function of the project that tells something: log_info_on_rank0()
# A call for its own sake that only checks its arguments: who need not make it loses nothing.
_CHECKS = re.compile(r"_*(?:validate|check|assert|ensure|verify|require)(?:_|$)")


def effect_of(body: list[Node]) -> Effect:
    """The effect of a run of statements."""
    body = [s for s in body if s.type not in ("comment", "pass_statement", "global_statement")]
    while body and body[0].named_children and is_prose(body[0].named_children[0]):
        body = body[1:]
    if not body:
        return NOTHING
    last = body[-1]
    ended = _ending(last, body[:-1])
    if ended is not None:
        return ended
    if len(body) == 1 and (refused := _refused_either_way(last)) is not None:
        return refused
    kinds = [_statement(s) for s in body]
    if all(k.does is Does.NOTHING for k in kinds):
        return kinds[0]
    kinds = [k for k in kinds if k.does is not Does.NOTHING]
    for does in (Does.RAISES, Does.SKIPS, Does.REFUSES):
        hit = next((k for k in kinds if k.does is does), None)
        if hit is not None:
            return hit
    if all(k.does in (Does.LOGS, Does.PRINTS) for k in kinds):
        return kinds[0]
    rest = [k for k in kinds if k.does not in (Does.LOGS, Does.PRINTS)]
    if all(k.does is Does.ASSIGNS for k in rest):
        if _switches_off([k.value or "" for k in rest]):
            off = next(k for k in rest if k.value == "False")
            switch = next(s for s in body if _statement(s) == off)
            return Effect(Does.REFUSES, off.line, None, oneline(switch, 120).replace(" = ", "="))
        return rest[0]
    nested = next((k for k in rest if k.does is not Does.ASSIGNS), rest[0])
    return Effect(Does.WORK, nested.line)


def _refused_either_way(node: Node) -> Effect | None:
    """The refusal of an if with an else of which each side refuses: it raises, or switches what was asked for off."""
    arms = if_arms(node) if node.type == "if_statement" else []
    if len(arms) < 2 or arms[-1][0] is not None:
        return None
    effects = [block_effect(block) for _, block in arms]
    loud = next((e for e in effects if e.does is Does.RAISES), None)
    return loud if loud is not None and all(e.does in (Does.RAISES, Does.REFUSES) for e in effects) else None


def _switches_off(values: list[str]) -> bool:
    """Whether assigned values turn something off: False, and perhaps the text that says why."""
    told = (value for value in values if value != "False")
    return "False" in values and all(value.lstrip("f")[:1] in ("'", '"') and " " in value for value in told)


def _ending(last: Node, before: list[Node]) -> Effect | None:
    if last.type == "raise_statement":
        return raised(last)
    if last.type == "return_statement":
        told = [said for s in before if (said := _told(s)) is not None]
        found = returned(last, works=any(_statement(s).does is Does.WORK and _told(s) is None for s in before))
        return replace(found, message=told[-1]) if told and found.does is Does.REFUSES and not found.message else found
    if last.type in ("continue_statement", "break_statement"):
        return Effect(Does.SKIPS, line_of(last))
    if last.type == "assert_statement" and text(operands(last)[0]) == "False":
        return asserted(last)
    call = exit_call(last)
    return exited(call, before) if call is not None else None


def _told(statement: Node) -> str | None:
    """The text that a call written as a statement hands to somebody: `tell("not for this GPU")`; None if none."""
    call = statement.named_children[0] if statement.type == "expression_statement" else None
    if call is None or call.type != "call":
        return None
    given, _ = arguments(call)
    found = template(given[0]) if given else None
    return found if found is not None and " " in found.strip() else None


def raised(node: Node) -> Effect:
    """The effect of a raise statement, with the message's template."""
    return Effect(Does.RAISES, line_of(node), message_of(node), exception_of(node))


def exited(call: Node, before: list[Node]) -> Effect:
    """The effect of a call that ends the program: an error but for exit(0), told by its text or what was printed."""
    holder = field(call, "arguments")
    values = operands(holder) if holder is not None else []
    if not values or text(values[0]) in ("0", "None"):
        return Effect(Does.SKIPS, line_of(call))
    told = [k.message for k in map(_statement, before) if k.does in (Does.PRINTS, Does.LOGS) and k.message]
    return Effect(Does.RAISES, line_of(call), template(values[0]) or (told[-1] if told else None), "SystemExit")


def caught(effect: Effect, path: list[Node]) -> Effect:
    """The effect of a statement that raises, seen from outside: what the handler around it does, if there is one."""
    if effect.does is not Does.RAISES:
        return effect
    for node, below in zip(reversed(path[:-1]), reversed(path), strict=False):
        if node.type == "function_definition":
            break
        if node.type == "try_statement" and below == field(node, "body"):
            for clause in node.named_children:
                block = next((c for c in clause.named_children if c.type == "block"), None)
                if clause.type == "except_clause" and block is not None and _handles(clause, effect.value or ""):
                    return _handled(effect, block_effect(block))
    return effect


def _handled(raises: Effect, handler: Effect) -> Effect:
    """What comes of a raise: a handler that raises again or does nothing says no more than that."""
    if handler.does is Does.RAISES:
        return raises
    quiet = handler.does in (Does.NOTHING, Does.LOGS)
    return replace(handler, does=Does.REFUSES, message=raises.message) if quiet else handler


def _handles(clause: Node, exception: str) -> bool:
    """Whether an except clause takes an exception, by the names that both state."""
    named = _names(clause)
    return not named or not named.isdisjoint({exception, "Exception", "BaseException", *_FAMILIES.get(exception, ())})


_FAMILIES = {
    "KeyError": ("LookupError",), "IndexError": ("LookupError",), "ModuleNotFoundError": ("ImportError",),
    "NotImplementedError": ("RuntimeError",), "FileNotFoundError": ("OSError",),
}  # fmt: skip


def _names(clause: Node) -> set[str]:
    """The exceptions that an except clause names."""
    found, stack = set(), [c for c in clause.named_children if c.type not in ("block", "comment")]
    while stack:
        node = stack.pop()
        if node.type in ("identifier", "attribute"):
            found.add(text(node).rsplit(".", 1)[-1])
        else:
            stack.extend(node.named_children[:1] if node.type == "as_pattern" else node.named_children)
    return found


def exception_of(node: Node) -> str | None:
    value = operands(node)
    if not value:
        return None
    function = field(value[0], "function") if value[0].type == "call" else value[0]
    return text(function) if function is not None else None


def message_of(node: Node) -> str | None:
    """The template of the text that a raise carries."""
    value = operands(node)
    if not value or value[0].type != "call":
        return None
    holder = field(value[0], "arguments")
    given = [a for a in operands(holder) if a.type != "keyword_argument"] if holder is not None else []
    told = [found for argument in given if (found := template(argument)) is not None]
    return next((found for found in told if " " in found.strip()), told[0] if told else None)  # a word alone is a name


def asserted(node: Node) -> Effect:
    """The effect of a failed assert."""
    parts = operands(node)
    return Effect(Does.ASSERTS, line_of(node), template(parts[1]) if len(parts) > 1 else None)


def returned(node: Node, works: bool = False) -> Effect:
    """The effect of a return statement."""
    value = operands(node)
    line = line_of(node)
    if not value:
        return Effect(Does.WORK, line, None, "None") if works else Effect(Does.NOTHING, line)
    expression = inner(value[0])
    shown = oneline(expression, 120)
    if not works and _refusal(expression):
        return Effect(Does.REFUSES, line, _reason(expression), shown)
    if works and not _refusal(expression):
        return Effect(Does.WORK, line, None, shown)
    return Effect(Does.RETURNS, line, None, shown)


def _refusal(node: Node) -> bool:
    if node.type in ("false", "none"):
        return True
    parts = operands(node) if node.type in ("tuple", "expression_list") else []
    return len(parts) == 2 and parts[0].type in ("false", "none")


def _reason(node: Node) -> str | None:
    parts = operands(node)
    return template(parts[1]) if len(parts) == 2 else None


def _statement(node: Node) -> Effect:
    kind, line = node.type, line_of(node)
    if kind == "raise_statement":
        return raised(node)
    if kind in ("continue_statement", "break_statement"):
        return Effect(Does.SKIPS, line)
    if kind == "return_statement":
        return returned(node)
    if kind in ("import_statement", "import_from_statement", "function_definition", "class_definition"):
        return Effect(Does.ASSIGNS if "import" in kind else Does.WORK, line)
    if kind == "if_statement":
        does = {block_effect(block).does for _, block in if_arms(node)}
        if does <= {Does.RAISES, Does.NOTHING}:  # checks its arguments
            return Effect(Does.NOTHING, line)
        return Effect(Does.LOGS if does <= {Does.LOGS, Does.PRINTS, Does.NOTHING} else Does.WORK, line)
    if kind == "assert_statement" and text(operands(node)[0]) != "False":
        return Effect(Does.NOTHING, line)
    if kind != "expression_statement" or not node.named_children:
        return Effect(Does.WORK, line)
    expression = node.named_children[0]
    if exit_call(node) is not None:
        return exited(expression, [])
    if expression.type in ("assignment", "augmented_assignment"):
        right = field(expression, "right")
        return Effect(Does.ASSIGNS, line, None, oneline(right, 120) if right is not None else None)
    return _expression(expression, line)


def _expression(node: Node, line: int) -> Effect:
    if node.type != "call":
        return Effect(Does.WORK, line)
    function = field(node, "function")
    name = text(function) if function is not None else ""
    owner, _, method = name.rpartition(".")
    if name == "print":
        return Effect(Does.PRINTS, line, _first_text(node))
    if is_log(node):
        return Effect(Does.LOGS, line, _first_text(node))
    if method == "skipTest" or name in ("pytest.skip", "unittest.skip"):
        return Effect(Does.SKIPS, line, _first_text(node))
    if _CHECKS.match(method):
        return Effect(Does.NOTHING, line)
    if method in ("append", "add", "extend") and any(word in owner.lower() for word in _ERROR_LISTS):
        return Effect(Does.REFUSES, line, _first_text(node))
    return Effect(Does.WORK, line)


def is_log(call: Node) -> bool:
    """Whether a call only tells something."""
    function = field(call, "function")
    name = text(function) if function is not None else ""
    owner, _, method = name.rpartition(".")
    told = method in _LOUD and owner.rsplit(".", 1)[-1].lower() in _LOGS
    return told or name in ("print", "warn", "warnings.warn") or _LOGGER.match(method) is not None


def _first_text(call: Node) -> str | None:
    holder = field(call, "arguments")
    for argument in operands(holder) if holder is not None else ():
        found = template(argument)
        if found is not None:
            return found
    return None


def after(node: Node, siblings: list[Node]) -> list[Node]:
    """The statements of the same block after a statement."""
    return [s for s in siblings if s.start_byte >= node.end_byte]


@lru_cache(maxsize=4096)  # blocks that nest are asked for again from every level
def block_effect(block: Node) -> Effect:
    """The effect of a block."""
    return effect_of(statements(block))
