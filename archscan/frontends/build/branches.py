"""What the branches of a CMake file do: they build, stop, report, set a variable, or leave."""

from __future__ import annotations

import re

from archscan.analysis.effects import Assign, Branch, Call, Leave, Loop, Return, Stmt, Stop, Work, effect_of
from archscan.catalog.effects import effects
from archscan.frontends.build.places import line_at
from archscan.frontends.build.syntax import Block, Command, Node
from archscan.model.gate import Effect

_REFUSING = re.compile(
    r"refus|unsupported|not supported|not available|unavailable|requires?\b|need|too old|skip|disabl|ignor|cannot"
    r"|unknown|invalid",
    re.IGNORECASE,
)


def branch_effect(data: bytes, body: tuple[Node, ...]) -> Effect:
    """What a branch does."""
    return effect_of(_lowered(data, body), effects())


def _lowered(data: bytes, body: tuple[Node, ...]) -> tuple[Stmt, ...]:
    """Commands as archscan/analysis/effects.py reads them."""
    return tuple(_block(data, node) if isinstance(node, Block) else _command(data, node) for node in body)


def _block(data: bytes, block: Block) -> Stmt:
    """A block with all its branches."""
    line = line_at(data, block.parts[0].head.start)
    arms = tuple(_lowered(data, part.body) for part in block.parts)
    if block.name == "if":
        return Branch(arms, line, block.parts[-1].head.name == "else")
    return Loop(arms[0], line) if block.name in ("foreach", "while") else Work(line)


def _command(data: bytes, command: Command) -> Stmt:
    line, words = line_at(data, command.start), [argument.text for argument in command.arguments]
    if command.name == "message":
        if words[:1] in (["FATAL_ERROR"], ["SEND_ERROR"]):
            return Stop(line, " ".join(words[1:]))
        text = " ".join(words)
        return Call("print" if _REFUSING.search(text) else "warn", line, text)
    if command.name in ("set", "list", "string"):
        return Assign(words[0] if words else "", " ".join(words), line)
    if command.name == "return":
        return Return(None, line)
    return Leave(command.name, line) if command.name in ("continue", "break") else Work(line)
