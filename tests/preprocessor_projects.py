"""Random projects of one .cu and a few headers, and what a real preprocessor makes of them.

A project has nested conditionals, macros derived from the architecture, default values, redefinitions, #undef,
function-like macros, headers that include headers, with and without guards, and flags that a build sets or not.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cuda_scan import catalog, scan

from archscan.model.facts import FileFacts
from archscan.model.settings import ScanSettings
from archscan.model.target import Target

MARK = "@mark@"  # + file + line, on a line of its own behind each directive
_CONDITION = re.compile(r"^[ ]*#(if|ifdef|ifndef|elif|else)\b")
_ARCHES = (700, 800, 890, 900, 1000, 1030, 1100, 1200, 1210)
_FEATURES = ("__CUDA_ARCH_FEAT_SM90_ALL", "__CUDA_ARCH_FEAT_SM100_ALL", "__CUDA_ARCH_FAMILY_SPECIFIC__")
TARGETS = ("host", "sm_70", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103", "sm_120", "sm_120a", "sm_121f")


@dataclass
class Project:
    """Files by name, a.cu first, and the names that a build may define."""

    files: dict[str, str]
    flags: tuple[str, ...]


@dataclass
class _Maker:
    """Writes one project."""

    rng: random.Random
    flags: set[str] = field(default_factory=set)

    def project(self) -> Project:
        headers = [f"h{n}.cuh" for n in range(self.rng.randint(1, 3))]
        files = {name: self._header(name, headers[n + 1 :]) for n, name in enumerate(headers)}
        included = self.rng.sample(headers, self.rng.randint(1, len(headers)))
        body = [self._include(name) for name in included]
        for _ in range(self.rng.randint(1, 4)):
            body.insert(self.rng.randint(0, len(body)), self._statements(2))
        if self.rng.random() < 0.2:
            body.append(self._include(self.rng.choice(headers)))
        return Project({"a.cu": "".join(body), **files}, tuple(sorted(self.flags)))

    def _header(self, name: str, others: list[str]) -> str:
        text = "".join(self._include(n) for n in others if self.rng.random() < 0.4)
        text += "".join(self._statements(2) for _ in range(self.rng.randint(1, 4)))
        guard = self.rng.random()
        macro = name.upper().replace(".", "_")
        if guard < 0.4:
            return f"#pragma once\n{text}"
        return f"#ifndef {macro}\n#define {macro}\n{text}#endif\n" if guard < 0.8 else text

    def _include(self, name: str) -> str:
        line = f'#include "{name}"\n'
        return f"#if {self._condition()}\n{line}#endif\n" if self.rng.random() < 0.1 else line

    def _statements(self, depth: int) -> str:
        return "".join(self._statement(depth) for _ in range(self.rng.randint(1, 3)))

    def _statement(self, depth: int) -> str:
        kind = self.rng.random()
        if depth and kind < 0.5:
            return self._conditional(depth - 1)
        if kind < 0.62:
            name = self._named(("FAST", "LIMIT"))
            self.flags.add(name)
            return f"#ifndef {name}\n#define {name} {self._value()}\n#endif\n"
        if kind < 0.68:
            return f"#undef {self._macro()}\n"
        if kind < 0.74:
            return f"#define AT_LEAST{self.rng.randint(0, 1)}(n) ({self._test('n')})\n"
        if kind < 0.9:
            name = self._macro()
            undef = f"#undef {name}\n" if self.rng.random() < 0.5 else ""
            return f"{undef}#define {name} {self._value()}\n"
        return "int x;\n"

    def _conditional(self, depth: int) -> str:
        rng = self.rng
        text = f"{self._opener()}\n{self._statements(depth)}"
        while rng.random() < 0.25:
            text += f"#elif {self._condition()}\n{self._statements(depth)}"
        if rng.random() < 0.5:
            text += f"#else\n{self._statements(depth)}"
        return text + "#endif\n"

    def _opener(self) -> str:
        kind = self.rng.random()
        if kind < 0.15:
            return f"#ifdef {self._any()}"
        return f"#ifndef {self._any()}" if kind < 0.3 else f"#if {self._condition()}"

    def _condition(self) -> str:
        parts = [self._atom() for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3)))]
        text = parts[0]
        for part in parts[1:]:
            text = f"{text} {self.rng.choice(('&&', '||'))} {part}"
            if self.rng.random() < 0.3:
                text = f"!({text})"
        return text

    def _atom(self) -> str:
        kind = self.rng.random()
        if kind < 0.35:
            return self._test(str(self.rng.choice(_ARCHES)))
        if kind < 0.45:
            return f"defined({self.rng.choice(_FEATURES)})"
        if kind < 0.6:
            return f"{self.rng.choice(('', '!'))}defined({self._any()})"
        if kind < 0.75:
            return f"{self._any()} {self.rng.choice(('==', '!=', '<', '>='))} {self._value()}"
        if kind < 0.8:
            return f"__CUDA_ARCH__ {self.rng.choice(('<', '>='))} {self._named(('LIMIT', 'D'))}"
        return self._any()

    def _test(self, number: str) -> str:
        return f"__CUDA_ARCH__ {self.rng.choice(('>=', '<', '==', '>', '<=', '!='))} {number}"

    def _value(self) -> str:
        kind = self.rng.random()
        if kind < 0.6:
            return str(self.rng.choice((0, 1, 1, 2, 900, 1000, 1200)))
        if kind < 0.75:
            return f"({self._test(str(self.rng.choice(_ARCHES)))})"
        if kind < 0.85:
            return "__CUDA_ARCH__"
        return f"({self._any()} + 1)" if kind < 0.95 else ""

    def _any(self) -> str:
        return self._named(("FAST", "LIMIT", "D", "D", "USE"))

    def _macro(self) -> str:
        return self._named(("D", "D", "D", "FAST", "LIMIT"))

    def _named(self, kinds: tuple[str, ...]) -> str:
        name = f"{self.rng.choice(kinds)}_{self.rng.choice('ABC')}"
        if name.startswith("USE"):
            self.flags.add(name)
        return name


def project(seed: int) -> Project:
    """The project of a seed."""
    return _Maker(random.Random(seed)).project()


def marked(name: str, text: str) -> str:
    """The file with a mark behind every line that begins an arm, and one at its start."""
    lines = [f"{MARK}{name}:0"]
    for number, line in enumerate(text.splitlines(), 1):
        lines.append(line)
        if _CONDITION.match(line):
            lines.append(f"{MARK}{name}:{number}")
    return "\n".join(lines) + "\n"


def defines(target: Target) -> list[str]:
    """What the compiler defines for a target, as options of a preprocessor."""
    bit = catalog().universe.bit(target)
    values = catalog().macros.values
    return [f"-D{n}={v}" for n, by in values.items() if "ARCH" in n for v, mask in by.items() if mask & bit]


def live_marks(folder: Path, options: list[str], preprocessor: str) -> set[tuple[str, int]]:
    """Files and lines whose marks a preprocessor leaves in a.cu."""
    command = [preprocessor, "-P", "-w", "-x", "c", *options, str(folder / "a.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.findall(rf"{MARK}([\w.]+):(\d+)", done.stdout)
    return {(name, int(line)) for name, line in found}


@dataclass
class Verdicts:
    """Definite answers of a comparison."""

    right: int = 0
    unknown: int = 0
    wrong: list[str] = field(default_factory=list)


def compare(seed: int, folder: Path, preprocessor: str, runs: int, verdicts: Verdicts) -> None:
    """Adds up how the gates of one project fare against some runs of the preprocessor: without a word of the flags of
    the run, and once where every other flag is told, by -D or -U.
    """
    made = project(seed)
    for name, text in made.files.items():
        (folder / name).write_text(marked(name, text))
    untold = scan(dict(made.files))
    universe = catalog().universe
    rng = random.Random(seed)
    for run in range(runs):
        target = universe.by_name[rng.choice(TARGETS)]
        given = {n: str(rng.choice((0, 1, 2, 1000))) for n in made.flags if rng.random() < 0.4}
        options = [f"-D{n}={value}" for n, value in given.items()]
        live = live_marks(folder, [*defines(target), *options], preprocessor)
        about = f"seed {seed} on {target.name} with {' '.join(options)}"
        bit = universe.bit(target)
        _count(untold, live, bit, about, verdicts)
        if run == 0:
            told = made.flags[rng.randint(0, 1) :: 2]
            settings = ScanSettings(
                layers=frozenset({"preprocessor"}),
                defines=tuple((n, given[n]) for n in told if n in given),
                undefines=tuple(n for n in told if n not in given),
            )
            _count(scan(dict(made.files), settings), live, bit, f"{about}, told {told}", verdicts)


def _count(
    facts: Mapping[str, FileFacts], live: set[tuple[str, int]], bit: int, about: str, verdicts: Verdicts
) -> None:
    """Adds up which arms are live on one target as told, in the files that are read at all."""
    for name, found in facts.items():
        for arm in (arm for gate in found.gates for arm in gate.arms if (name, 0) in live):
            word = arm.truth.word(bit)
            if word == "unknown":
                verdicts.unknown += 1
            elif (word == "yes") == ((name, arm.place.line) in live):
                verdicts.right += 1
            else:
                told = f"{name}:{arm.place.line} {arm.condition!r} told {word} via {arm.via.value}"
                verdicts.wrong.append(f"{about}: {told}")
