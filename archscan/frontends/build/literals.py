"""Finds the architecture lists and nvcc flags that a CMake file writes out, and what each is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from archscan.catalog.types import Catalog
from archscan.frontends.build.images import Image, flag_images, list_entries, list_images
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.syntax import Argument, Block, Command, Node

_NOT_ARCH = re.compile(
    r"version|standard|python|(?:^|_)(?:width|sizes?|ports?|threads|jobs|level|policy)(?:_|$)|^CMAKE_(?!CUDA_ARCH)",
    re.IGNORECASE,
)
_PROPERTIES = ("CUDA_ARCHITECTURES",)
_CALLED = ("function", "macro")


class Purpose(str, Enum):
    """What a literal is for."""

    VARIABLE = "variable"  # set(NAME ...), list(APPEND NAME ...)
    ARGUMENT = "argument"  # of a function
    PROPERTY = "property"  # CUDA_ARCHITECTURES of a target
    FLAGS = "flags"  # -gencode, -arch
    LOOP = "loop"  # foreach(x 80 90): a list where flags are made of it


Within = tuple[tuple[int, int], ...]  # the if() around something: offset, and number of the branch


@dataclass(frozen=True, slots=True)
class Literal:
    """A written-out list: its arguments, the variable or target it is for, the images it stands for."""

    purpose: Purpose
    name: str
    command: Command
    arguments: tuple[Argument, ...]
    images: tuple[Image, ...]
    text: str
    within: Within = ()

    @property
    def start(self) -> int:
        return self.arguments[0].start

    @property
    def end(self) -> int:
        return self.arguments[-1].end


def literals(
    body: tuple[Node, ...], catalog: Catalog, within: Within = (), asked: frozenset[str] = frozenset()
) -> Iterator[Literal]:
    """Every literal of a file, in its order; bodies of functions included.

    What an if() makes of the names that a loop or a function was given ("Turing" is 7.5) translates them: which are
    built is said where they are given. `asked` are the variables that hold such names.
    """
    for node in body:
        if not isinstance(node, Block):
            yield from _of_command(node, catalog, within)
            continue
        head = node.parts[0].head
        if node.name == "foreach":
            yield from _of_loop(head, catalog, within)
        elif node.name == "if" and _translates(node, asked):
            continue
        given = head.arguments[:1] if node.name == "foreach" else head.arguments[1:] if node.name in _CALLED else ()
        for number, part in enumerate(node.parts):
            around = (*within, (head.start, number)) if node.name == "if" else within
            yield from literals(part.body, catalog, around, asked.union(a.text for a in given))


def _translates(block: Block, asked: frozenset[str]) -> bool:
    """Whether an if() asks one of the variables `asked` for one text after the other."""
    words = [[a.text for a in part.head.arguments] for part in block.parts if part.head.name != "else"]
    subjects = {one[0].strip("${}") if len(one) == 3 and one[1] == "STREQUAL" else "" for one in words}
    return len(words) > 1 and len(subjects) == 1 and subjects <= asked


def _of_command(command: Command, catalog: Catalog, within: Within) -> Iterator[Literal]:
    flags = tuple(a for a in command.arguments if "arch" in a.text or "code=" in a.text)
    images = flag_images(" ".join(a.text for a in flags), catalog)
    if images:
        text = " ".join(a.text for a in flags)
        yield Literal(Purpose.FLAGS, _first(command), command, _flagged(flags, catalog), images, text, within)
        return
    if command.name in ("set", "list"):
        yield from _of_variable(command, catalog, within)
    elif command.name in ("set_target_properties", "set_property"):
        yield from _of_property(command, catalog, within)
    elif command.name not in (
        "if",
        "string",
        "message",
        "math",
        "foreach",
        "option",
        "project",
        "cmake_minimum_required",
    ):
        yield from _of_call(command, catalog, within)


def _of_loop(head: Command, catalog: Catalog, within: Within) -> Iterator[Literal]:
    """The values that a loop writes out."""
    values = tuple(a for a in head.arguments[1:] if a.text not in ("IN", "ITEMS", "LISTS", "RANGE"))
    text = ";".join(a.text for a in values)
    images = list_images(text, catalog) if values and "$" not in text else None
    if images:
        yield Literal(Purpose.LOOP, head.arguments[0].text, head, values, images, text, within)


def _flagged(flags: tuple[Argument, ...], catalog: Catalog) -> tuple[Argument, ...]:
    """The arguments that hold the flags, from the first that does."""
    first = next((i for i, a in enumerate(flags) if flag_images(a.text, catalog)), 0)
    return flags[first:]


def _first(command: Command) -> str:
    skip = 1 if command.name in ("list", "string") else 0
    return command.arguments[skip].text if len(command.arguments) > skip else command.name


def _of_variable(command: Command, catalog: Catalog, within: Within) -> Iterator[Literal]:
    arguments = command.arguments
    if command.name == "list":
        if not arguments or arguments[0].text not in ("APPEND", "PREPEND", "INSERT"):
            return
        arguments = arguments[1:]
    if len(arguments) < 2:
        return
    name, entries = arguments[0].text, arguments[1:]
    stop = next((i for i, a in enumerate(entries) if a.text in ("CACHE", "PARENT_SCOPE")), len(entries))
    yield from _made(Purpose.VARIABLE, name, command, entries[:stop], catalog, within)


def _of_property(command: Command, catalog: Catalog, within: Within) -> Iterator[Literal]:
    words = [a.text for a in command.arguments]
    at = next((i for i, word in enumerate(words) if word in _PROPERTIES), None)
    if at is None:
        return
    entries = []
    for argument in command.arguments[at + 1 :]:
        if not argument.quoted and list_images(argument.text, catalog) is None:
            break
        entries.append(argument)
    target = words[0] if command.name == "set_target_properties" else words[1] if len(words) > 1 else ""
    yield from _made(Purpose.PROPERTY, target, command, tuple(entries), catalog, within)


def _of_call(command: Command, catalog: Catalog, within: Within) -> Iterator[Literal]:
    """Lists among the arguments of a function: behind a keyword, several entries in one, or dotted ones."""
    for keyword, words in _by_keyword(command.arguments):
        if is_arch_name(keyword):
            yield from _made(Purpose.ARGUMENT, keyword, command, words, catalog, within)
    if command.name == "cuda_select_nvcc_arch_flags":
        yield from _made(Purpose.ARGUMENT, _first(command), command, command.arguments[1:], catalog, within)
        return
    for argument in command.arguments:
        entries = list_entries(argument.text)
        if len(entries) > 1 or any("." in entry for entry in entries) or is_arch_name(command.name):
            name = _first(command) if argument is not command.arguments[0] else command.name
            yield from _made(Purpose.ARGUMENT, name, command, (argument,), catalog, within)


def _by_keyword(arguments: tuple[Argument, ...]) -> Iterator[tuple[str, tuple[Argument, ...]]]:
    """The arguments behind each keyword, as in f(name ARCHS 90a 100a SOURCES a.cu), where they are several words."""
    marks = [i for i, a in enumerate(arguments) if not a.quoted and re.fullmatch(r"[A-Z][A-Z0-9_]+", a.text)]
    for mark, end in zip(marks, (*marks[1:], len(arguments)), strict=False):
        if end - mark > 1:
            yield arguments[mark].text, arguments[mark + 1 : end]


def _made(
    purpose: Purpose,
    name: str,
    command: Command,
    arguments: tuple[Argument, ...],
    catalog: Catalog,
    within: Within,
) -> Iterator[Literal]:
    text = ";".join(a.text for a in arguments)
    images = list_images(text, catalog) if arguments and "$" not in text else None
    if images and _is_meant(purpose, name, text):
        yield Literal(purpose, name, command, arguments, images, text, within)


def _is_meant(purpose: Purpose, name: str, text: str) -> bool:
    """Whether numbers that could be architectures are: by the name they get, or by their dots."""
    if purpose is Purpose.PROPERTY or is_arch_name(name):
        return True
    if _NOT_ARCH.search(name):
        return False
    entries = list_entries(text)
    spelled = any(
        re.match(r"sm_|compute_|\d+[af]\b|\d+-(?:real|virtual)|\d+\.\d[af]|.*\+PTX", entry) for entry in entries
    )
    return spelled or (len(entries) > 1 and all("." in entry for entry in entries))
