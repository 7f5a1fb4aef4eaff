"""What a file is given from outside: the requested architecture, the toolkit, the platform."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from archscan.catalog.names import one_of
from archscan.catalog.types import Catalog
from archscan.frontends.build.images import entry_images, spelled
from archscan.frontends.build.syntax import Block, Command, Listfile, Node
from archscan.frontends.build.values import EMPTY, Value
from archscan.model.target import Target

_FROM_OUTSIDE = re.compile(
    r"(?:ENV\{)?(?:CMAKE_CUDA_ARCHITECTURES|TORCH_CUDA_ARCH_LIST|CUDA_?ARCH(?:S|_LIST|ES|ITECTURES?)?|CUDAARCHS|GPU_ARCH(?:S|_LIST|ES)?"
    r"|\w+_(?:CUDA|GPU)_ARCH(?:S|_LIST|ES|ITECTURES?)?)\}?",
    re.IGNORECASE,
)
_FLAGS = re.compile(r"(?:CMAKE_CUDA_FLAGS|CUDA_NVCC_FLAGS|NVCC_FLAGS)(?:_\w+)?", re.IGNORECASE)
_VERSION = re.compile(
    r"(?:CMAKE_CUDA_COMPILER_VERSION|CUDA(?:Toolkit|_TOOLKIT)?_VERSION)(?:_(STRING|MAJOR|MINOR))?", re.IGNORECASE
)
# CUDA on Linux, not ROCm
_SETTLED = {
    "CUDA_FOUND": "TRUE",
    "CUDAToolkit_FOUND": "TRUE",
    "CMAKE_CUDA_COMPILER": "nvcc",
    "CMAKE_CUDA_COMPILER_ID": "NVIDIA",
    "CMAKE_VERSION": "3.31.0",
    "HIP_FOUND": "",
    "USE_ROCM": "",
    "USE_HIP": "",
    "UNIX": "1",
    "WIN32": "",
    "MSVC": "",
    "APPLE": "",
}


def is_arch_name(name: str) -> bool:
    """Whether a variable, keyword or function is one for architectures, by its name: KERNEL_ARCHS, NVCC_GENCODE."""
    return _arch_name().search(name) is not None


@cache
def _arch_name() -> re.Pattern[str]:
    words = rf"(?:(?:{one_of('makers')})_?)?(?:{one_of('lists', 'single')})"
    return re.compile(rf"(?:^|_){words}(?:_|$)|{one_of('environment')}", re.IGNORECASE)


def _is_list_name(name: str) -> bool:
    return re.search(rf"(?:^|_)(?:{one_of('lists')})$", name, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Request:
    """What variables hold that the file does not set: `target` None stands for a user who asked for nothing."""

    target: Target | None
    inputs: dict[str, str] = field(default_factory=dict)  # variable -> an entry in the spelling it expects
    spellings: dict[str, str] = field(default_factory=dict)  # the same for variables without a default: what they meet
    cuda: str = "13.0"
    dotted: bool = True
    given: dict[str, str] = field(default_factory=dict)  # -D of the user
    unset: frozenset[str] = frozenset()  # -U
    is_default: bool = False  # asked for what is built where the user sets nothing: cmake's own defaults hold

    def seed(self, name: str) -> Value | None:
        """The value of a variable that comes from outside; None where nothing is known of it."""
        bare = re.sub(r"^ENV\{(.*)\}$", r"\1", name)
        if bare in self.given or bare in self.unset:
            return Value(self.given.get(bare, ""))
        if name in _SETTLED:
            return Value(_SETTLED[name])
        if version := _VERSION.fullmatch(name):
            return Value(self._version(version[1] or ""))
        if self.target is None:
            return EMPTY if _FLAGS.fullmatch(name) else None  # of those who ask for nothing
        if name in self.inputs:
            return Value(spelled(self.target, self.inputs[name]))
        if _FLAGS.fullmatch(name):
            number = f"{self.target.sm}{self.target.suffix}"
            return Value(f"-gencode arch=compute_{number},code=sm_{number}")
        if _FROM_OUTSIDE.fullmatch(name):
            dotted = "TORCH" in name.upper() or (self.dotted and not name.upper().startswith("CMAKE"))
            return Value(spelled(self.target, self.spellings.get(name, "9.0" if dotted else "90")))
        return None

    def entry(self, name: str) -> Value | None:
        """What a list of architectures holds that is given from outside; None if the name is not one of those."""
        if self.target is None or not _is_list_name(name):
            return None
        return Value(spelled(self.target, self.spellings.get(name, "9.0" if self.dotted else "90")))

    @property
    def compiler_default(self) -> Value:
        """What nvcc builds for by itself, and CMake sets where CUDA becomes a language (ptxas --help says so)."""
        return Value(default_architecture(self.cuda))

    def takes(self, name: str) -> bool:
        """Whether a user who asks for an architecture decides what this variable holds.

        -D does so only where the file asks first: what it sets by itself stands before an entry of the cache.
        """
        return self.target is not None and name in self.inputs

    def _version(self, part: str) -> str:
        major, _, minor = self.cuda.partition(".")
        return {"MAJOR": major, "MINOR": minor or "0"}.get(part.upper(), self.cuda)


def default_architecture(release: str) -> str:
    """What nvcc builds for where it is told nothing, machine code and PTX."""
    return "75" if int(release.partition(".")[0]) >= 13 else "52"


def is_users(name: str) -> bool:
    """Whether a variable that no file sets is one that users give their architectures in."""
    return _FROM_OUTSIDE.fullmatch(name) is not None


def inputs_of(listfile: Listfile, catalog: Catalog) -> dict[str, str]:
    """Variables with a default that a user may override: `if(NOT DEFINED X) set(X "9.0")`, `set(X 90 CACHE ...)`."""
    found: dict[str, str] = {}
    for command, guarded in _commands(listfile.body, frozenset()):
        words = [argument.text for argument in command.arguments]
        if command.name == "list" and words[:1] == ["APPEND"]:
            words = words[1:]
        elif command.name != "set":
            continue
        if len(words) < 2 or not (words[0] in guarded or "CACHE" in words):
            continue
        first = words[1].split(";")[0]
        if first in ("native", "all", "all-major", "Auto", "Common") and is_arch_name(words[0]):
            found.setdefault(words[0], "90")
        elif entry_images(first, catalog) is not None and (is_arch_name(words[0]) or words[0] in guarded):
            found.setdefault(words[0], first)
    return found


def settable(listfile: Listfile) -> tuple[str, ...]:
    """The variables of a file for architectures that a user may set: those with CACHE, and those set only if unset."""
    found: list[str] = []
    for command, guarded in _commands(listfile.body, frozenset()):
        words = [argument.text for argument in command.arguments]
        is_set = command.name == "set" and len(words) > 1 and words[-1:] != ["INTERNAL"]
        if is_set and ("CACHE" in words or words[0] in guarded) and is_arch_name(words[0]) and "$" not in words[0]:
            found.append(words[0])
    return tuple(dict.fromkeys(found))


def spellings_of(listfile: Listfile, catalog: Catalog) -> dict[str, str]:
    """How variables are spelled that conditions compare with an architecture: `"${GPU}" STREQUAL "sm_90"`.

    A list that is gone through is spelled as the variable of the loop.
    """
    found: dict[str, str] = {}
    loops: list[list[str]] = []
    stack = list(listfile.body)
    while stack:
        node = stack.pop()
        if isinstance(node, Command):
            continue
        stack += [inner for part in node.parts for inner in part.body]
        if node.name == "foreach":
            loops.append([re.sub(r"[${}]", "", argument.text) for argument in node.parts[0].head.arguments])
        for part in node.parts if node.name == "if" else ():
            words = [re.sub(r"[${}]", "", argument.text) for argument in part.head.arguments]
            for left, operator, right in zip(words, words[1:], words[2:], strict=False):
                if operator.endswith(("EQUAL", "LESS", "GREATER")) and entry_images(right, catalog):
                    found.setdefault(left, right)
    for variable, *lists in (words for words in loops if words and words[0] in found):
        found.update({name: found[variable] for name in lists if name not in found})
    return found


def _commands(body: tuple[Node, ...], guarded: frozenset[str]) -> list[tuple[Command, frozenset[str]]]:
    """Every command with the variables that the conditions around it found undefined."""
    found: list[tuple[Command, frozenset[str]]] = []
    for node in body:
        if isinstance(node, Command):
            found.append((node, guarded))
        else:
            found += _of_block(node, guarded)
    return found


def _of_block(block: Block, guarded: frozenset[str]) -> list[tuple[Command, frozenset[str]]]:
    found = []
    for part in block.parts:
        words = [re.sub(r"[${}]", "", argument.text) for argument in part.head.arguments]
        undefined = {word for i, word in enumerate(words) if i and words[i - 1] in ("NOT", "DEFINED")}
        undefined = undefined - {"DEFINED"} if "NOT" in words else set()
        found += _commands(part.body, guarded | undefined)
    return found
