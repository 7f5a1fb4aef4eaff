"""What a CMake file says of architectures and nobody can tell: never silence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from archscan.frontends.build.interpreter import Trace
from archscan.frontends.build.places import line_at
from archscan.frontends.build.request import is_users
from archscan.frontends.build.syntax import Command, Node
from archscan.model.facts import Undecided
from archscan.model.gate import Gate

_ARCHITECTURES = frozenset({"CMAKE_CUDA_ARCHITECTURES", "CUDA_ARCHITECTURES"})
_FLAGS = re.compile(r"-?-gencode|\b(?:arch|code)=\W{0,3}(?:compute|sm|lto)_|(?<![\w-])-arch\b")
_GIVING = frozenset(
    {"set", "list", "string", "set_property", "set_target_properties", "set_source_files_properties"}
    | {"target_compile_options", "add_compile_options", "add_definitions", "cuda_select_nvcc_arch_flags"}
)
_USERS = "the GPU of the machine that builds"
_MOST = 8


def open_questions(
    path: str, data: bytes, body: tuple[Node, ...], trace: Trace, gates: Iterable[Gate], called: frozenset[str]
) -> tuple[Undecided, ...]:
    """The commands that give nvcc architectures of which no gate tells, with why nothing is known of them.

    `called` are the functions that some file of the project calls.
    """
    told = {line for gate in gates for line in _lines(gate)}
    found: dict[int, Undecided] = {}
    if trace.stopped is not None and trace.stopped.path == path:
        line = line_at(data, trace.stopped.at)
        found[line] = Undecided(line, "message(FATAL_ERROR)", f"the configure ends here: {trace.stopped.text}")
    elsewhere: list[Undecided] = []  # told where the function is called, and here where nothing else is
    for command, function in _commands(body, ""):
        line = line_at(data, command.start)
        if line in told or not _gives(command) or len(found) >= _MOST:
            continue
        shown = " ".join(data[command.start : command.end].decode("utf-8", "backslashreplace").split())[:160]
        why = _why(command, function, trace, called)
        if why:
            found.setdefault(line, Undecided(line, shown, why))
        elif function in called and command.start not in trace.ran and _FLAGS.search(shown):
            elsewhere.append(Undecided(line, shown, f"in {function}(), which other files call: it is told there"))
    return tuple(found.values()) or (() if told else tuple(elsewhere[:1]))


def _why(command: Command, function: str, trace: Trace, called: frozenset[str]) -> str:
    """Why nothing is known of what a command gives; empty where it is known, or for the user to say."""
    values = trace.ran.get(command.start)
    if values is None:  # of another toolkit or platform, or told where the function is called
        return f"in {function}(), which nothing that was read calls" if function and function not in called else ""
    names = tuple(dict.fromkeys(name for value in values if value.text is None for name in value.because))
    if not names or all(is_users(name) or name == _USERS for name in names):
        return ""
    return f"made of {', '.join(names[:3])}, which is not known"


def _gives(command: Command) -> bool:
    words = [argument.text for argument in command.arguments]
    if command.name not in _GIVING or words[-1:] == ["INTERNAL"]:
        return False
    if command.name in ("list", "string") and words[:1] not in (["APPEND"], ["PREPEND"]):
        return False
    if command.name == "cuda_select_nvcc_arch_flags" or any(_FLAGS.search(word) for word in words):
        return True
    return bool(_ARCHITECTURES & set(words)) and len(words) > 1


def _lines(gate: Gate) -> set[int]:
    places = [gate.place, *(arm.place for arm in gate.arms)]
    lines = {line for place in places for line in range(place.line, place.end_line + 1)}
    return lines | {one.line for one in gate.related if one.path == gate.path}


def _commands(body: tuple[Node, ...], function: str) -> Iterator[tuple[Command, str]]:
    """Every command, with the name of the function around it."""
    for node in body:
        if isinstance(node, Command):
            yield node, function
            continue
        for part in node.parts:
            is_function = node.name in ("function", "macro") and part.head.arguments
            yield from _commands(part.body, part.head.arguments[0].text.lower() if is_function else function)


def called_in(body: tuple[Node, ...]) -> Iterator[str]:
    """The names of all commands of a file."""
    return (command.name for command, _ in _commands(body, ""))
