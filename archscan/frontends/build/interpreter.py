"""Evaluates a CMake file for one request, in memory: variables, lists, texts, loops, functions. Runs nothing."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from archscan.catalog.types import Catalog
from archscan.frontends.build.conditions import YES, Answer, Asked, Condition, Word
from archscan.frontends.build.images import list_images, select_arch_flags
from archscan.frontends.build.lists import list_, numbers
from archscan.frontends.build.request import Request
from archscan.frontends.build.syntax import Argument, Block, Command, Listfile, Node, Part
from archscan.frontends.build.texts import math, string
from archscan.frontends.build.values import EMPTY, UNSET, Origin, Scope, Value, joined, one_of, unknown
from archscan.model.condition import Cond, both, without

_ONE_VARIABLE = re.compile(r"\$\{([^${}]+)\}")
_NESTED = re.compile(r"\$\{[^}]*\$\{")
_REFERENCE = re.compile(r"\$(ENV|CACHE)?\{([^${}]*)\}")
_ESCAPE = re.compile(r"\\([nrt\"\\$@()# ^{}])")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
_MAKES_FLAGS = re.compile(r"gencode|generate-code|(?<![A-Za-z])arch(?:itecture)?=|-arch\b")  # not the host's -march=
_DEVICE_CODE = re.compile(r"\.cu\b|/?\*\.?\*?$")  # a source, or a pattern that takes every file
_APART = ("", " ", ";", "\n", "\t")  # what stands beside a word of its own
MAX_STEPS = 60_000
MAX_DEPTH = 24
MAX_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Function:
    """A function or macro, and the file it stands in."""

    path: str
    parameters: tuple[str, ...]
    body: tuple[Node, ...]
    is_macro: bool


@dataclass(frozen=True)
class Project:
    """What other files of the project define."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    files: Mapping[str, tuple[str, Listfile]] = field(default_factory=dict)  # name as included -> path and content
    folders: Mapping[str, Listfile] = field(default_factory=dict)  # by path, where add_subdirectory() is followed
    called: frozenset[str] = frozenset()  # the commands that the files call, by name


@dataclass(frozen=True, slots=True)
class Built:
    """What a target, or everything ("" = all that follow), is built for: its architectures or its flags."""

    target: str
    value: Value
    is_list: bool
    at: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A message(FATAL_ERROR) that is reached: nothing is configured, and nothing built."""

    path: str
    at: int
    text: str


@dataclass
class Trace:
    """What one evaluation saw, by offsets in the main file."""

    branches: dict[int, list[tuple[Answer, ...]]] = field(default_factory=dict)  # if() -> answers of all its branches
    entries: dict[int, list[str]] = field(default_factory=dict)  # if() -> what the loop around it was at
    haystacks: dict[Origin, set[str]] = field(default_factory=dict)  # literal list -> lists from it that are searched
    results: dict[Origin, list[Value]] = field(default_factory=dict)  # literal list -> what a function made of it
    uses: dict[Origin, set[int]] = field(default_factory=dict)  # literal list -> if() that ask about it
    held: dict[str, Value] = field(default_factory=dict)  # variables at the end
    built: list[Built] = field(default_factory=list)  # what targets are given, in order
    entered: set[str] = field(default_factory=set)  # files that add_subdirectory() led to
    edits: dict[int, tuple[str, str]] = field(
        default_factory=dict
    )  # string() in the main file -> text before and after
    ran: dict[int, list[Value]] = field(default_factory=dict)  # by command: what it gave nobody's request
    stopped: Stopped | None = None  # where the configure ends for sure
    steps: int = 0
    exhausted: bool = False


class _Leaves(Exception):
    """break(), continue() or return() on its way out; with `stopped`, message(FATAL_ERROR), which nothing holds up."""

    def __init__(self, kind: str, stopped: Stopped | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.stopped = stopped


Constants = dict[int, Value]  # by the identity of an argument: what it stands for in every evaluation


def evaluate(
    path: str,
    listfile: Listfile,
    request: Request,
    project: Project,
    catalog: Catalog,
    constants: Constants | None = None,
) -> Trace:
    """What a file does for a request; `constants` carries over from one evaluation of the same files to the next."""
    interpreter = _Interpreter(path, request, project, catalog, {} if constants is None else constants)
    try:
        interpreter.run(listfile.body)
    except _Leaves as leaves:
        interpreter.trace.stopped = leaves.stopped
    interpreter.trace.held = interpreter.scope.variables
    interpreter.trace.steps = interpreter.steps
    return interpreter.trace


class _Interpreter:
    def __init__(self, path: str, request: Request, project: Project, catalog: Catalog, constants: Constants) -> None:
        self.constants = constants
        self.path = self.main = path
        self.request = request
        self.project = project
        self.catalog = catalog
        self.functions = dict(project.functions)
        self.scope = Scope()
        self.trace = Trace()
        self.steps = self.depth = 0
        self.certain = True  # what is running runs for sure
        self.left: set[str] = set()  # break(), continue() and return() that may have been met in the loop that runs
        self.around = False  # the same outside of it
        self.asked = 0  # how many if() there were
        self.entries: list[str] = []  # where the loops are that are running, the innermost last
        self.inserted: dict[str, Value] = {}  # arguments of the macro that is running
        # By target without device code so far: what it would be built for, and its sources
        self.begun: dict[str, tuple[list[Built], list[Value]]] = {}
        self.device_sources: list[Value] = []  # with the property LANGUAGE CUDA, whatever their names end in

    # --- commands

    def run(self, body: tuple[Node, ...]) -> None:
        for node in body:
            self.steps += 1
            if self.steps > MAX_STEPS:
                self.trace.exhausted = True
                raise _Leaves("return")
            if isinstance(node, Command):
                self.command(node)
            else:
                _BLOCKS[node.name](self, node)

    def command(self, command: Command) -> None:
        name = command.name
        if name in ("break", "continue", "return"):
            if self.certain:
                raise _Leaves(name)
            self.left.add(name)
        elif name == "message":
            self.message(command)
        elif name == "cuda_select_nvcc_arch_flags" and name in self.functions:
            self.call(self.functions[name], command)
        elif name in _BUILDING:
            self.build(command)
        elif name in _INERT:
            pass
        elif name in _COMMANDS:
            _COMMANDS[name](self, command)
        elif name in self.functions:
            self.call(self.functions[name], command)
        else:
            self.unknown_command(command)
        if self.request.target is None and self.path == self.main:
            self.trace.ran.setdefault(command.start, []).append(self.given(command))

    def given(self, command: Command) -> Value:
        """What a command gave the variable that it names, or the target."""
        words = [argument.text for argument in command.arguments]
        if command.name in _BUILDING:
            return joined(self.expanded(command.arguments), " ")
        name = next((word for word in words if word not in ("APPEND", "PREPEND")), "")
        scope = self.scope.caller() if words[-1:] == ["PARENT_SCOPE"] else self.scope
        return scope.find(name) or EMPTY

    def set(self, command: Command) -> None:
        if not command.arguments or (name := self.value(command.arguments[0]).text) is None:
            return
        arguments = command.arguments[1:]
        words = [argument.text for argument in arguments]
        if words[-1:] == ["PARENT_SCOPE"]:
            self.assign_outside(name, joined(self.expanded(arguments[:-1]), ";"))
            return
        if "CACHE" in words:
            arguments = arguments[: words.index("CACHE")]
            held = name in self.request.given or self.scope.find(name) not in (None, UNSET)  # -D is such an entry
            if held and words[-1] != "FORCE":
                return
        values = self.expanded(arguments)
        if not self.request.takes(name):
            self.assign(name, joined(values, ";") if values else UNSET)

    def assign(self, name: str, value: Value) -> None:
        if len(value.text or "") > MAX_TEXT:
            value = Value(None, value.origins, ("a long text",))
        self.scope.variables[name] = value

    def assign_outside(self, name: str, value: Value) -> None:
        """Sets a variable of the caller; on a way that may not be taken, to what both ways leave."""
        caller = self.scope.caller()
        caller.variables[name] = value if self.certain else one_of(caller.find(name), value)

    def build(self, command: Command) -> None:
        """Notes the architectures or flags that a target is given."""
        values = self.expanded(command.arguments)
        words = [value.text for value in values]
        self.note_language(command, values)
        to_all = command.name.startswith("add_")
        target = "" if to_all or not words else words[0] or ""
        if "CUDA_ARCHITECTURES" in words:
            at = words.index("CUDA_ARCHITECTURES")
            if command.name == "set_property":
                target = next((w or "" for w, kind in zip(words[1:], words, strict=False) if kind == "TARGET"), target)
                rest = values[at + 1 :]
            else:
                rest = (
                    values[at + 1 : at + 2]
                    if command.arguments[-1].quoted or at + 2 < len(values)
                    else values[at + 1 :]
                )
            self.trace.built.append(Built(target, joined(rest, ";"), True, command.start, self.path))
            return
        flags = [
            replace(v, text=v.text.rstrip(">"))  # the end of a generator expression around several
            for v in values
            if v.text and (_MAKES_FLAGS.search(v.text) or "code=" in v.text)
        ]
        if flags:
            self.trace.built.append(Built(target, joined(flags, " "), False, command.start, self.path))

    def target(self, command: Command) -> None:
        """add_library(): a target with device code begins with the architectures and flags in force."""
        values = self.expanded(command.arguments)
        words = [value.text or "" for value in values]
        if not self.request.is_default or not words or {"ALIAS", "IMPORTED", "INTERFACE"} & set(words):
            return
        begins: list[Built] = []
        by_module = command.name.startswith("cuda_add_")  # FindCUDA's: the language's own variables are not for it
        architectures = None if by_module else self.find("CMAKE_CUDA_ARCHITECTURES")
        if architectures is not None:
            begins.append(Built(words[0], architectures, True, command.start, self.path))
        for name in ("CUDA_NVCC_FLAGS",) if by_module else ("CMAKE_CUDA_FLAGS", "CUDA_NVCC_FLAGS"):
            flags = self.find(name)
            if flags is not None and (_MAKES_FLAGS.search(flags.text or "") or (by_module and flags.text is None)):
                begins.append(Built(words[0], flags, False, command.start, self.path))
        if by_module and not begins:
            begins.append(Built(words[0], self.request.compiler_default, True, command.start, self.path))
        if any(map(self.may_be_device_code, values[1:])):
            self.trace.built += begins
        else:
            self.begun[words[0]] = (begins, values[1:])  # its device code may come later

    def sources(self, command: Command) -> None:
        """target_sources(): with device code, a target is built for what was in force where it was added."""
        values = self.expanded(command.arguments)
        name = values[0].text if values else None
        if name in self.begun:
            self.begun[name][1].extend(values[1:])
            self.found_device_code()

    def may_be_device_code(self, source: Value) -> bool:
        """Whether a source is device code by its name, or by a property that it was given."""
        return _may_be_device_code(source) or any(
            source.text == one.text and (source.text is not None or source.because == one.because)
            for one in self.device_sources
        )

    def found_device_code(self) -> None:
        """Targets of which a source has turned out to be device code are built for what was in force."""
        for name, (begins, sources) in list(self.begun.items()):
            if any(map(self.may_be_device_code, sources)):
                self.trace.built += begins
                del self.begun[name]

    def note_language(self, command: Command, values: list[Value]) -> None:
        """LANGUAGE CUDA as a property of sources: set_source_files_properties(), set_property(SOURCE)."""
        words = [value.text for value in values]
        if ("LANGUAGE", "CUDA") not in itertools.pairwise(words):
            return
        if command.name == "set_source_files_properties":
            self.device_sources += values[: words.index("PROPERTIES")] if "PROPERTIES" in words else []
        elif words[:1] == ["SOURCE"] and "PROPERTY" in words:
            self.device_sources += values[1 : words.index("PROPERTY")]
        self.found_device_code()

    def files(self, command: Command) -> None:
        """file(GLOB variable patterns…): which files there are is not known, only what their names end in."""
        words = [value.text or "" for value in self.expanded(command.arguments)]
        if words[:1] in (["GLOB"], ["GLOB_RECURSE"]) and len(words) > 1:
            patterns = [word for word in words[2:] if word not in ("CONFIGURE_DEPENDS", "FOLLOW_SYMLINKS")]
            self.assign(words[1], unknown(*(f"{_GLOB}{pattern})" for pattern in patterns)))

    def language(self, command: Command) -> None:
        """project() and enable_language(): with CUDA come the architectures that nvcc builds for by default."""
        words = {value.text for value in self.expanded(command.arguments)}
        if self.request.is_default and "CUDA" in words and self.find("CMAKE_CUDA_ARCHITECTURES") is None:
            self.assign("CMAKE_CUDA_ARCHITECTURES", self.request.compiler_default)

    def subdirectory(self, command: Command) -> None:
        """add_subdirectory(): its CMakeLists.txt in a scope of its own."""
        path = self.folder_named(command.arguments[0]) if command.arguments and self.depth < MAX_DEPTH else ""
        listfile = self.project.folders.get(path)
        if listfile is None or path in self.trace.entered:
            return
        self.trace.entered.add(path)
        outer, before, self.path, self.depth = self.scope, self.path, path, self.depth + 1
        self.scope = Scope(parent=outer)
        try:
            self.run(listfile.body)
        except _Leaves as leaves:
            if self.trace.exhausted or leaves.stopped:
                raise
        finally:
            self.scope, self.path, self.depth = outer, before, self.depth - 1

    def folder_named(self, argument: Argument) -> str:
        """The CMakeLists.txt of a folder of the project; one given by `X_SOURCE_DIR` begins where the project does."""
        beginning = _SOURCE_DIR.match(argument.text)
        name = self.value(argument).text if beginning is None else argument.text[beginning.end() :]
        if name is None or (beginning is not None and "$" in name):
            return ""
        begins_at = self.main if beginning is not None and "_CURRENT_" not in beginning[1] else self.path
        parts = (begins_at.rpartition("/")[0], name.strip("/"), "CMakeLists.txt")
        return posixpath.normpath("/".join(part for part in parts if part))

    def select_flags(self, command: Command) -> None:
        """cuda_select_nvcc_arch_flags(out list...): flags for entries and names, as FindCUDA makes them."""
        values = self.expanded(command.arguments)
        if not values or values[0].text is None:
            return
        asked = joined(values[1:], ";")
        flags = None if asked.text is None else select_arch_flags(asked.text, self.catalog)
        because = asked.because or ("the GPU of the machine that builds",)
        self.assign(values[0].text, Value(flags, asked.origins, () if flags is not None else because))

    def message(self, command: Command) -> None:
        """message(FATAL_ERROR) ends the configure, unless break() or return() may have been met before it."""
        if not command.arguments or command.arguments[0].text != "FATAL_ERROR" or self.left or self.around:
            return
        said = "".join(
            value.text or argument.text for argument in command.arguments[1:] for value in (self.value(argument),)
        )
        raise _Leaves("configure", Stopped(self.path, command.start, " ".join(said.split())[:200]))

    def unset(self, command: Command) -> None:
        for argument in command.arguments[:1]:
            self.assign(argument.text, UNSET)

    def change_list(self, command: Command) -> None:
        for name, value in list_(self.expanded(command.arguments), self.find).items():
            if not self.request.takes(name):
                self.assign(name, value)
        held = self.find(command.arguments[1].text) if len(command.arguments) > 1 else None
        if command.arguments and command.arguments[0].text == "FIND" and held is not None:
            for origin in held.origins:
                self.trace.haystacks.setdefault(origin, set()).add(held.text or "")

    def string(self, command: Command) -> None:
        values = self.expanded(command.arguments)
        made = string(values, self.find)
        if values and values[0].text in ("REPLACE", "REGEX") and self.path == self.main and made:
            before = joined(values[3:] if values[0].text == "REPLACE" else values[4:]).text
            after = next(iter(made.values())).text
            if before and after is not None:
                self.trace.edits[command.start] = (before, after)
        for name, value in made.items():
            self.assign(name, value)

    def math(self, command: Command) -> None:
        for name, value in math(self.expanded(command.arguments)).items():
            self.assign(name, value)

    def option(self, command: Command) -> None:
        """An option is the user's: unknown."""

    def include(self, command: Command) -> None:
        """Runs an included file of the project in place."""
        name = re.sub(r"\$\{[^}]*\}", "", command.arguments[0].text) if command.arguments else ""
        found = self.project.files.get(name.strip("/").rsplit("/", 1)[-1].removesuffix(".cmake"))
        if found is None or found[0] == self.path or self.depth >= MAX_DEPTH:
            return
        path, self.path, self.depth = self.path, found[0], self.depth + 1
        try:
            self.run(found[1].body)
        except _Leaves as leaves:
            if self.trace.exhausted or leaves.stopped:
                raise
        finally:
            self.path, self.depth = path, self.depth - 1

    def parse_arguments(self, command: Command) -> None:
        """cmake_parse_arguments(prefix options one-value multi-value args...)."""
        if len(command.arguments) < 4:
            return
        prefix, options, single, several = (self.value(argument) for argument in command.arguments[:4])
        keywords = {*options.items, *single.items, *several.items}
        current, found = "", dict[str, list[Value]]()
        for value in self.expanded(command.arguments[4:]):
            if value.text in keywords:
                current = value.text or ""
                found[current] = []
            elif current:
                found[current].append(value)
        for name in keywords:
            held = joined(found.get(name, []), ";")
            is_flag = name in options.items
            self.assign(f"{prefix.text}_{name}", Value("TRUE" if name in found else "FALSE") if is_flag else held)

    def unknown_command(self, command: Command) -> None:
        """A command that is not evaluated: the variable it may set from a list or from itself is unknown."""
        values = self.expanded(command.arguments)
        first = command.arguments[0].text if command.arguments else ""
        if len(values) > 1 and re.fullmatch(r"[A-Za-z_]\w*", first):
            origins = frozenset(origin for value in values[1:] for origin in value.origins)
            if origins or self.scope.find(first) is not None:
                self.assign(first, Value(None, origins, (f"{command.name}()",)))

    # --- blocks

    def if_(self, block: Block) -> None:
        answers = self.answers(block)
        ways: list[Scope] = []
        whens: list[Cond] = []
        stopped: Stopped | None = None  # a way on which nothing goes on
        left: Cond = 1  # when no branch was taken yet
        for part, answer in zip(block.parts, answers, strict=True):
            when, left = both(left, answer.when), without(left, answer.when)
            if when == 0:
                continue
            if when == 1:
                self.run(part.body)
                return
            way = self.possibly(part.body)
            if isinstance(way, Scope):
                ways.append(way)
                whens.append(when)
            else:
                stopped = stopped or way
            if left == 0:
                break
        else:
            if ways:
                ways.append(self.scope.overlay())
                whens.append(left)
        if ways:
            self.scope.join(ways, whens)
        elif stopped and left == 0:
            raise _Leaves("configure", stopped)

    def answers(self, block: Block) -> tuple[Answer, ...]:
        """The answers of all branches, each by its own condition; else is a yes."""
        found = []
        self.asked += 1
        unknowns = Asked(f"{self.path}:{block.parts[0].head.start}", self.asked)
        for part in block.parts:
            if part.head.name == "else":
                found.append(YES)
                continue
            words = [word for argument in part.head.arguments for word in self.words(argument)]
            condition = Condition(words, self.find, self.defined, unknowns)
            found.append(condition.answer())
            made_of = frozenset(o for word in words for o in (self.find(word.name) or word.value).origins)
            for index, group in enumerate(condition.groups):
                self.assign(f"CMAKE_MATCH_{index}", Value(group, made_of))
        self.note_condition(block, tuple(found))
        return tuple(found)

    def note_condition(self, block: Block, answers: tuple[Answer, ...]) -> None:
        here = self.path == self.main
        offset = block.parts[0].head.start
        if here:
            self.trace.branches.setdefault(offset, []).append(answers)
            self.trace.entries.setdefault(offset, []).append(self.entries[-1] if self.entries else "")
        for answer in answers:
            for origin in answer.origins | answer.bounds | answer.haystacks if here else ():
                self.trace.uses.setdefault(origin, set()).add(offset)
            for origin in answer.haystacks if not answer.value else ():  # what is there for whoever asks drops nothing
                self.trace.haystacks.setdefault(origin, set()).add(answer.haystack)

    def possibly(self, body: tuple[Node, ...]) -> Scope | Stopped:
        """The scope after a body that may or may not run; where the configure ends in it, that."""
        before, certain = self.scope, self.certain
        self.scope, self.certain = before.overlay(), False
        try:
            self.run(body)
            return self.scope
        except _Leaves as leaves:
            if leaves.stopped is None:
                raise
            return leaves.stopped
        finally:
            self.scope, self.certain = before, certain

    def any_rounds(self, body: tuple[Node, ...]) -> None:
        """A body that may or may not run, once or often."""
        way = self.possibly(body)
        if isinstance(way, Scope):
            self.scope.join([way, self.scope.overlay()])

    def foreach(self, block: Block) -> None:
        """The body once for each value; the loop variable has its old value afterwards."""
        part = block.parts[0]
        if not part.head.arguments:
            return
        before = self.scope.variables.get(part.head.arguments[0].text)
        around, self.around = self.around, self.around or bool(self.left)
        try:
            self.loop(part)
        finally:
            self.around = around
            if before is None:
                self.scope.variables.pop(part.head.arguments[0].text, None)
            else:
                self.assign(part.head.arguments[0].text, before)

    def loop(self, part: Part) -> None:
        outer, self.left = self.left, set()
        before: dict[str, Value] = {}
        for value in self.loop_values(part.head.arguments[1:]):
            self.assign(part.head.arguments[0].text, value)
            self.entries.append(value.text or "")
            before = before if self.left else dict(self.scope.variables)
            try:
                if value.text is None:  # any number of rounds
                    self.any_rounds(part.body)
                else:
                    self.run(part.body)
            except _Leaves as leaves:
                if leaves.kind == "break":
                    break
                if leaves.kind in ("return", "configure"):
                    raise
            finally:
                self.entries.pop()
        if self.left:
            self.forget(before)
        self.left = outer | (self.left & {"return"})

    def forget(self, before: Mapping[str, Value]) -> None:
        """What was set behind a break() that may have been met is not known."""
        for name, value in self.scope.variables.items():
            if value is not before.get(name) and value.known:
                self.scope.variables[name] = Value(None, value.origins, ("break()",))

    def loop_values(self, arguments: tuple[Argument, ...]) -> Iterator[Value]:
        words = [argument.text for argument in arguments]
        if words[:1] == ["RANGE"]:
            yield from numbers(self.expanded(arguments[1:]))
            return
        if words[:1] != ["IN"]:
            yield from map(self.requested, self.expanded(arguments))
            return
        by_name = False
        for argument in arguments[1:]:
            if argument.text in ("LISTS", "ITEMS", "ZIP_LISTS"):
                by_name = argument.text == "LISTS"
            elif by_name:
                for name in self.expanded((argument,)):
                    found = name if name.text is None else self.find(name.text) or unknown(name.text)
                    held = self.requested(found)
                    yield from (Value(item, held.origins) for item in held.elements)
                    if held.text is None:
                        yield held
            else:
                yield from map(self.requested, self.expanded((argument,)))

    def requested(self, value: Value) -> Value:
        """What a loop goes through: of a list that nobody sets and that is named for it, the requested architecture."""
        named = self.request.entry(value.because[0]) if value.text is None and len(value.because) == 1 else None
        return value if named is None else named

    def while_(self, block: Block) -> None:
        """A loop with a condition: what it sets is unknown."""
        self.any_rounds(block.parts[0].body)

    def define(self, block: Block) -> None:
        part = block.parts[0]
        words = [argument.text for argument in part.head.arguments]
        if words:
            is_macro = part.head.name == "macro"
            self.functions[words[0].lower()] = Function(self.path, tuple(words[1:]), part.body, is_macro)

    def plain(self, block: Block) -> None:
        self.run(block.parts[0].body)

    # --- calls

    def call(self, function: Function, command: Command) -> None:
        """Runs a function in a scope of its own, a macro in this one with its parameters put in as text."""
        if self.depth >= MAX_DEPTH:
            return
        values = self.expanded(command.arguments)
        bound = _bound(function, values)
        outer, path, inserted, certain = self.scope, self.path, self.inserted, self.certain
        before = {value.text: outer.find(value.text) for value in values if value.text and len(value.text) < 80}
        self.scope = outer if function.is_macro else Scope(bound, parent=outer)
        self.inserted = bound if function.is_macro else {}
        self.path, self.depth, self.certain = function.path, self.depth + 1, True  # for whoever calls it
        try:
            self.run(function.body)
        except _Leaves as leaves:
            if self.trace.exhausted or leaves.stopped:
                raise
        finally:
            self.scope, self.path, self.inserted, self.certain = outer, path, inserted, certain
            self.depth -= 1
        self.note_results(values, before)

    def note_results(self, values: list[Value], before: Mapping[str, Value | None]) -> None:
        """What a call made of the literal lists it was given: what the variables that it names hold now."""
        origins = frozenset(origin for value in values for origin in value.origins)
        for name, old in before.items():
            new = self.scope.find(name)
            if origins and new is not None and new is not old:
                self.assign(name, Value(new.text, new.origins | origins, new.because))
                for origin in origins:
                    self.trace.results.setdefault(origin, []).append(new)

    # --- arguments

    def expanded(self, arguments: tuple[Argument, ...]) -> list[Value]:
        """The values of arguments; an unquoted list gives one value an entry."""
        values: list[Value] = []
        for argument in arguments:
            value = self.value(argument)
            if argument.quoted or value.text is None or (";" not in value.text and value.text):
                values.append(value)
            else:
                values += [Value(item, value.origins, value.because) for item in value.items]
        return values

    def value(self, argument: Argument) -> Value:
        """An argument with its variables and escapes resolved."""
        if "$" in argument.text and not argument.literal:
            one = _ONE_VARIABLE.fullmatch(argument.text)
            return self.reference(one[1]) if one else self.substituted(argument.text)
        known = self.constants.get(id(argument))
        if known is None:
            text = argument.text if argument.literal else _unescaped(argument.text)
            is_list = list_images(text, self.catalog) is not None
            known = Value(text, frozenset({(self.path, argument.start)}) if is_list else frozenset())
            self.constants[id(argument)] = known
        return known

    def substituted(self, text: str) -> Value:
        for _ in range(6 if _NESTED.search(text) else 0):
            # ${${A}_B}: the inner one first, as part of a name
            inner = re.sub(r"\$\{([^${}]*)\}(?=[^{}]*\})", self.named, text)
            if inner == text:
                break
            text = inner
        pieces, position = [], 0
        for match in _REFERENCE.finditer(text):
            pieces.append(Value(_unescaped(text[position : match.start()])))
            name = f"ENV{{{match[2]}}}" if match[1] == "ENV" else match[2]
            found = self.reference(name)
            beside = text[match.start() - 1 : match.start()] in _APART and text[match.end() : match.end() + 1] in _APART
            if found.text is None and found.because == (name,) and beside and _MAKES_FLAGS.search(text):
                found = Value("", found.origins, found.because)  # flags beside those that are written here
            pieces.append(found)
            position = match.end()
        pieces.append(Value(_unescaped(text[position:])))
        return joined(piece for piece in pieces if piece != EMPTY)

    def named(self, match: re.Match[str]) -> str:
        held = self.reference(match[1])
        return held.text if held.text is not None and len(held.text) < 200 else ""

    def reference(self, name: str) -> Value:
        """What ${name} stands for: an argument of the macro that is running, or a variable."""
        found = self.inserted.get(name) or self.find(name) or unknown(name)
        return EMPTY if found is UNSET else found

    def find(self, name: str) -> Value | None:
        """What a variable holds: set in the file, or given from outside."""
        found = self.scope.find(name)
        return self.request.seed(name) if found is None else found

    def defined(self, name: str) -> bool | None:
        """Whether a variable is set; None where that is not known."""
        found = self.find(re.sub(r"^CACHE\{(.*)\}$", r"\1", name))
        return None if found is None else found is not UNSET

    def words(self, argument: Argument) -> Iterator[Word]:
        """The words an argument of if() gives; unquoted ones may name a variable."""
        if "$" not in argument.text:
            text = argument.text if argument.literal else _unescaped(argument.text)
            yield Word(Value(text), "" if argument.quoted else text, plain=not argument.quoted)
            return
        value = self.value(argument)
        if argument.quoted or value.text is None:
            yield Word(value)
            return
        items = value.items
        yield from (Word(Value(item, value.origins, value.because), item) for item in items)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: _CONTROL.get(m[1], m[1]), text) if "\\" in text else text


_SOURCE_DIR = re.compile(r"\$\{(\w+_SOURCE_DIR|CMAKE_CURRENT_LIST_DIR)\}")
_GLOB = "file(GLOB "


def _may_be_device_code(source: Value) -> bool:
    """Whether an argument of add_library() names device code, or may."""
    if source.text is not None:
        return re.search(r"\.cu\b", source.text) is not None
    globs = [name for name in source.because if name.startswith(_GLOB)]
    return len(globs) < max(len(source.because), 1) or any(_DEVICE_CODE.search(name[:-1]) for name in globs)


def _bound(function: Function, values: list[Value]) -> dict[str, Value]:
    """The parameters of a call: by name, ARGN, ARGV, ARGC."""
    bound = {name: values[i] if i < len(values) else EMPTY for i, name in enumerate(function.parameters)}
    bound["ARGN"] = joined(values[len(function.parameters) :], ";")
    bound["ARGV"] = joined(values, ";")
    bound["ARGC"] = Value(str(len(values)))
    return bound


# Commands that set no variable
_BUILDING = frozenset(
    {"set_target_properties", "set_property", "target_compile_options", "add_compile_options", "add_definitions"}
    | {"set_source_files_properties"}
)
_INERT = frozenset(
    {
        "message",
        "install",
        "add_custom_target",
        "add_custom_command",
        "add_definitions",
    }
    | {
        "add_compile_definitions",
        "add_compile_options",
        "add_dependencies",
        "cmake_policy",
    }
    | {"cmake_minimum_required", "enable_testing", "include_directories", "link_directories"}
    | {"mark_as_advanced", "set_property", "set_source_files_properties", "set_target_properties", "source_group"}
    | {"target_compile_definitions", "target_compile_features", "target_compile_options", "target_include_directories"}
    | {"target_link_libraries", "target_link_options", "add_test", "export", "configure_file"}
)
_COMMANDS: dict[str, Callable[[_Interpreter, Command], None]] = {
    "set": _Interpreter.set,
    "unset": _Interpreter.unset,
    "list": _Interpreter.change_list,
    "string": _Interpreter.string,
    "math": _Interpreter.math,
    "option": _Interpreter.option,
    "include": _Interpreter.include,
    "cmake_parse_arguments": _Interpreter.parse_arguments,
    "cuda_select_nvcc_arch_flags": _Interpreter.select_flags,
    "add_library": _Interpreter.target,
    "add_executable": _Interpreter.target,
    "target_sources": _Interpreter.sources,
    "file": _Interpreter.files,
    "cuda_add_library": _Interpreter.target,
    "cuda_add_executable": _Interpreter.target,
    "pybind11_add_module": _Interpreter.target,
    "python_add_library": _Interpreter.target,
    "add_subdirectory": _Interpreter.subdirectory,
    "project": _Interpreter.language,
    "enable_language": _Interpreter.language,
}
_BLOCKS: dict[str, Callable[[_Interpreter, Block], None]] = {
    "if": _Interpreter.if_,
    "foreach": _Interpreter.foreach,
    "while": _Interpreter.while_,
    "function": _Interpreter.define,
    "macro": _Interpreter.define,
    "block": _Interpreter.plain,
}
