"""What a branch does: raises, refuses, returns, assigns, logs, skips, works, or nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tree_sitter import Node

from archscan.analysis.effects import (
    Assign,
    Block,
    Branch,
    Call,
    Leave,
    Loop,
    Means,
    Raise,
    Return,
    Stmt,
    Work,
)
from archscan.analysis.effects import effect_of as of_block
from archscan.catalog.effects import effects
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
from archscan.model.gate import Does, Effect


def effect_of(body: list[Node]) -> Effect:
    """The effect of a run of statements."""
    return of_block(_lowered(body), effects())


def _lowered(body: list[Node]) -> Block:
    """A run of statements as archscan/analysis/effects.py reads them."""
    return tuple(one for node in body if (one := _statement(node)) is not None)


def _statement(node: Node) -> Stmt | None:
    """One statement; None for what does nothing."""
    line = line_of(node)
    match node.type:
        case "comment" | "pass_statement" | "global_statement" | "nonlocal_statement":
            return None
        case "raise_statement":
            return Raise(line, message_of(node), exception_of(node))
        case "return_statement":
            return _returned(node)
        case "continue_statement" | "break_statement":
            return Leave(node.type.partition("_")[0], line)
        case "assert_statement":
            parts = operands(node)
            message = template(parts[1]) if len(parts) > 1 else None
            return Call("assert", line, message, text(parts[0]), bare=True)
        case "import_statement" | "import_from_statement":
            return Assign("", None, line)
        case "if_statement":
            arms = if_arms(node)
            return Branch(tuple(_block(block) for _, block in arms), line, arms[-1][0] is None)
        case "for_statement" | "while_statement":
            block = field(node, "body")
            return Loop(_block(block), line) if block is not None else Work(line)
        case "expression_statement" if node.named_children:
            return _expression(node, node.named_children[0], line)
        case _:
            return Work(line)


@lru_cache(maxsize=4096)  # blocks that nest are asked for again from every level
def _block(block: Node) -> Block:
    return _lowered(statements(block))


def _returned(node: Node) -> Return:
    value = operands(node)
    line = line_of(node)
    if not value:
        return Return(None, line)
    expression = inner(value[0])
    parts = operands(expression) if expression.type in ("tuple", "expression_list") else []
    pair = len(parts) == 2
    head = oneline(parts[0] if pair else expression, 120)
    return Return(oneline(expression, 120), line, head, template(parts[1]) if pair else None)


def _expression(node: Node, expression: Node, line: int) -> Stmt | None:
    """What an expression by itself does."""
    if is_prose(expression):
        return None
    if exit_call(node) is not None:
        given, _ = arguments(expression)
        if not given or text(given[0]) in ("0", "None"):
            return Leave("exit", line)
        return Raise(line, template(given[0]), "SystemExit")
    if expression.type in ("assignment", "augmented_assignment"):
        left, right = field(expression, "left"), field(expression, "right")
        if expression.type == "augmented_assignment" and left is not None and left.type == "subscript":
            return Work(line)  # it computes in place
        shown = oneline(right, 120) if right is not None else None
        return Assign(text(left) if left is not None else "", shown, line, "(" in (shown or ""))
    if expression.type != "call":
        return Work(line)
    given, _ = arguments(expression)
    first = text(given[0]) if given else ""
    asks_only = not given or given[0].type != "call"
    return Call(_callee(expression), line, _first_text(expression), first, asks_only)


def _callee(call: Node) -> str:
    function = field(call, "function")
    return text(function) if function is not None else ""


def raised(node: Node) -> Effect:
    """The effect of a raise statement, with the message's template."""
    return Effect(Does.RAISES, line_of(node), message_of(node), exception_of(node))


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
    quiet = handler.does in (Does.NOTHING, Does.LOGS) or handler.value == "return"
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


def is_log(call: Node) -> bool:
    """Whether a call only tells something."""
    return effects().means(_callee(call)) in (Means.LOGS, Means.PRINTS)


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
    return of_block(_block(block), effects())


def forget() -> None:
    """Drops what is remembered of blocks: each of them holds the tree of its module in memory."""
    _block.cache_clear()
    block_effect.cache_clear()
