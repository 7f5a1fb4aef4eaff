"""Parses CMake into commands and blocks. Exact about brackets, quotes and escapes; runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_SPACE = re.compile(rb"[ \t\r\n]*")
_OPENING = re.compile(rb"\[(=*)\[\n?")
_PLACEHOLDER = re.compile(rb"@[A-Za-z_]\w*@[ \t]*(?=\r?\n|$)")  # configure_file() puts commands there
_NAME = re.compile(rb"([A-Za-z_]\w*)[ \t]*\(")
_QUOTED = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_UNQUOTED = re.compile(rb'(?:[^\s()#"\\]|\\.|"[^"\\\n]*(?:\\.[^"\\\n]*)*")+')
MAX_DEPTH = 60
_ENDS = {
    "if": ("elseif", "else", "endif"),
    "foreach": ("endforeach",),
    "while": ("endwhile",),
    "function": ("endfunction",),
    "macro": ("endmacro",),
    "block": ("endblock",),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument as written, with its offsets."""

    text: str
    start: int
    end: int
    quoted: bool = False
    literal: bool = False  # in brackets: nothing is expanded


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or the head of a block."""

    name: str  # lower case
    arguments: tuple[Argument, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """One branch of an `if`, or the body of another block."""

    head: Command
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """if, foreach, while, function, macro or block, with its parts."""

    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        return self.parts[0].head.name


Node = Command | Block


@dataclass(frozen=True, slots=True)
class Listfile:
    """A parsed CMake file; `problems` says what was not understood."""

    body: tuple[Node, ...]
    problems: tuple[str, ...] = ()


@dataclass
class _Open:
    """A block that is being read."""

    heads: list[Command]
    bodies: list[list[Node]]
    parts: list[Part] = field(default_factory=list)


def parse(data: bytes) -> Listfile:
    """The commands of a CMake file, as far as they can be read."""
    commands, problems = _commands(data)
    top: list[Node] = []
    stack: list[_Open] = []
    for command in commands:
        body = stack[-1].bodies[-1] if stack else top
        if command.name in _ENDS and len(stack) < MAX_DEPTH:
            stack.append(_Open([command], [[]]))
        elif stack and command.name in _ENDS[stack[-1].heads[0].name]:
            _continue(stack, top, command)
        elif command.name not in ("endif", "else", "elseif", *(f"end{name}" for name in _ENDS)):
            body.append(command)
        else:
            problems.append(f"unexpected {command.name}() at line {_line(data, command.start)}")
    while stack:
        problems.append(f"{stack[-1].heads[0].name}() at line {_line(data, stack[-1].heads[0].start)} is never closed")
        _close(stack, top)
    return Listfile(tuple(top), tuple(problems))


def _continue(stack: list[_Open], top: list[Node], command: Command) -> None:
    """Ends a part of the innermost block, and the block itself at its end command."""
    if command.name in ("elseif", "else"):
        stack[-1].heads.append(command)
        stack[-1].bodies.append([])
    else:
        _close(stack, top)


def _close(stack: list[_Open], top: list[Node]) -> None:
    done = stack.pop()
    parts = tuple(Part(head, tuple(body)) for head, body in zip(done.heads, done.bodies, strict=True))
    (stack[-1].bodies[-1] if stack else top).append(Block(parts))


def _commands(data: bytes) -> tuple[list[Command], list[str]]:
    reader = _Reader(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0)
    commands: list[Command] = []
    problems: list[str] = []
    while not reader.at_end():
        start = reader.position
        match = _NAME.match(data, start)
        if match is None:
            placeholder = _PLACEHOLDER.match(data, start)
            if placeholder is not None:
                reader.position = placeholder.end()
                continue
            problems.append(f"no command at line {_line(data, start)}")
            newline = data.find(b"\n", start)
            reader.position = len(data) if newline < 0 else newline + 1
            continue
        reader.position = match.end()
        arguments = tuple(reader.arguments())
        commands.append(Command(match[1].decode().lower(), arguments, start, reader.position))
    return commands, problems


@dataclass
class _Reader:
    """A position in a file. Brackets found unclosed are remembered: looking for each again would cost a scan."""

    data: bytes
    position: int
    unclosed: set[bytes] = field(default_factory=set)

    def at_end(self) -> bool:
        """Whether nothing but blanks and comments is left; moves past those at the position."""
        while True:
            space = _SPACE.match(self.data, self.position)
            self.position = space.end() if space else self.position
            if self.data[self.position : self.position + 1] != b"#":
                return self.position >= len(self.data)
            self._comment()

    def _comment(self) -> None:
        bracket = self._bracket(self.position + 1)
        if bracket is not None:
            self.position = bracket[1]
            return
        newline = self.data.find(b"\n", self.position)
        self.position = len(self.data) if newline < 0 else newline

    def _bracket(self, start: int) -> tuple[bytes, int] | None:
        """The text of a bracket argument that opens at `start`, and where it ends."""
        opening = _OPENING.match(self.data, start)
        if opening is None or opening[1] in self.unclosed:
            return None
        closing = b"]" + opening[1] + b"]"
        end = self.data.find(closing, opening.end())
        if end < 0:
            self.unclosed.add(opening[1])
            return None
        return self.data[opening.end() : end], end + len(closing)

    def arguments(self) -> Iterator[Argument]:
        """The arguments up to the closing parenthesis; nested parentheses are arguments of their own."""
        depth = 1
        while not self.at_end():
            char = self.data[self.position : self.position + 1]
            if char not in (b"(", b")"):
                yield self._argument()
                continue
            depth += 1 if char == b"(" else -1
            self.position += 1
            if not depth:
                return
            yield Argument(char.decode(), self.position - 1, self.position)

    def _argument(self) -> Argument:
        start = self.position
        if bracket := self._bracket(start):
            self.position = bracket[1]
            return Argument(_text(bracket[0]), start, self.position, quoted=True, literal=True)
        if match := _QUOTED.match(self.data, start):
            self.position = match.end()
            text = match[1].replace(b"\\\r\n", b"").replace(b"\\\n", b"")
            return Argument(_text(text), start, self.position, quoted=True)
        unquoted = _UNQUOTED.match(self.data, start)
        self.position = unquoted.end() if unquoted else start + 1
        return Argument(_text(self.data[start : self.position]), start, self.position)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
