"""Random CMake programs about architecture lists, for comparing their evaluation with that of cmake."""

# ruff: noqa: E501

from __future__ import annotations

import random

ENTRIES = (
    "80",
    "86",
    "90",
    "90a",
    "100a",
    "120",
    "121",
    "8.0",
    "9.0a",
    "12.0",
    "12.1",
    "10.0f",
    "80-real",
    "90-virtual",
    "9.0+PTX",
)
NAMES = ("ARCHS", "WANTED", "KNOWN", "OUT")
PATTERNS = (
    "[af]$", "\\\\.", "^1[0-9]", "^([0-9]+)\\\\.([0-9])", "-(real|virtual)$", "[0-9]+", "^9", "(.*)\\\\+PTX$", "[^0-9]", "0$",
)  # fmt: skip
NUMERIC = ("LESS", "GREATER", "EQUAL", "LESS_EQUAL", "GREATER_EQUAL")
OPERATORS = (*NUMERIC, *(f"STR{o}" for o in NUMERIC), *(f"VERSION_{o}" for o in NUMERIC))


FLAGS = ("FLAG_A", "FLAG_B")  # that nobody sets


def program(seed: int, flags: bool = False, stops: bool = False) -> str:
    """A program over the variables of NAMES, that asks for FLAGS and may end the configure if these say so."""
    return "".join(f"{line}\n" for line in _Maker(random.Random(seed), FLAGS if flags else (), stops).lines())


class _Maker:
    def __init__(self, rng: random.Random, flags: tuple[str, ...], stops: bool) -> None:
        self.flags = flags
        self.stops = stops
        self.rng = rng
        self.depth = 0
        self.loop: str | None = None

    def lines(self) -> list[str]:
        made = [*(f"set({name} {self.entries()})" for name in NAMES[:3]), 'set(OUT "")']
        if self.rng.random() < 0.3:
            made += self.function()
        for _ in range(self.rng.randint(2, 6)):
            made += self.statement()
        return made

    def entries(self) -> str:
        words = [self.rng.choice(ENTRIES) for _ in range(self.rng.randint(1, 4))]
        return self.rng.choice((" ".join(words), f'"{";".join(words)}"'))

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def word(self) -> str:
        choices = [self.rng.choice(ENTRIES), f"${{{self.name()}}}", f'"${{{self.name()}}}"']
        return self.rng.choice(choices if self.loop is None else [*choices, f"${{{self.loop}}}", f'"${{{self.loop}}}"'])

    def quoted(self) -> str:
        word = self.word()
        return word if word.startswith('"') else f'"{word}"'

    def statement(self) -> list[str]:
        kinds = [self.assign, self.change, self.text, self.text, self.append]
        if self.stops and self.depth and self.rng.random() < 0.3:
            kinds = [self.stop]
        if self.depth < 3:
            kinds += [self.condition, self.condition, self.iterate]
        return self.rng.choice(kinds)()

    def stop(self) -> list[str]:
        return ['message(FATAL_ERROR "no")']

    def assign(self) -> list[str]:
        return [f"set({self.name()} {self.word()})"]

    def append(self) -> list[str]:
        name = self.name()
        flags = f"-gencode arch=compute_{self.rng.choice(('80', '90a'))},code=sm_{self.rng.choice(('80', '90a'))}"
        return [self.rng.choice((f"list(APPEND {name} {self.word()})", f'string(APPEND {name} " {flags}")',
                                 f'set({name} "${{{name}}};{flags}")'))]  # fmt: skip

    def change(self) -> list[str]:
        name = self.name()
        pattern = self.rng.choice(PATTERNS)
        return [self.rng.choice((
            f"list(REMOVE_ITEM {name} {self.word()})", f"list(REMOVE_DUPLICATES {name})", f"list(SORT {name})",
            f"list(REVERSE {name})", f"list(LENGTH {name} OUT)", f"list(GET {name} 0 OUT)", f'list(JOIN {name} "," OUT)',
            f"list(FIND {name} {self.rng.choice(ENTRIES)} OUT)", f'list(FILTER {name} INCLUDE REGEX "{pattern}")',
            f'list(FILTER {name} EXCLUDE REGEX "{pattern}")', f'list(TRANSFORM {name} REPLACE "{pattern}" "")',
            f'list(TRANSFORM {name} APPEND "-real"{self.selector()})',
            f'list(TRANSFORM {name} REPLACE "([0-9]+)-real" "\\\\0;\\\\1-virtual" AT -1)',
            f'list(TRANSFORM {name} PREPEND "sm_"{self.selector()} OUTPUT_VARIABLE OUT)', f"list(SORT {name} COMPARE NATURAL ORDER DESCENDING)",
            f"list(POP_BACK {name} OUT)", f"list(INSERT {name} 0 {self.rng.choice(ENTRIES)})",
            f"list(SUBLIST {name} 0 1 OUT)",
        ))]  # fmt: skip

    def selector(self) -> str:
        return self.rng.choice(
            ("", " AT -1", " AT 0", " FOR 0 -1", " FOR 0 -1 2", f' REGEX "{self.rng.choice(PATTERNS)}"')
        )

    def text(self) -> list[str]:
        pattern, quoted, out = self.rng.choice(PATTERNS), self.quoted(), self.name()
        return [self.rng.choice((
            f'string(REPLACE "{self.rng.choice((".", "2.1", "-real", "a", "0"))}" "" {out} {quoted})',
            f'string(REGEX REPLACE "{pattern}" "{self.rng.choice(("", "x", "<"))}" {out} {quoted})',
            f'string(REGEX MATCH "{pattern}" {out} {quoted})', f'string(REGEX MATCHALL "{pattern}" {out} {quoted})',
            f"string(TOUPPER {quoted} {out})", f"string(LENGTH {quoted} {out})", f"string(SUBSTRING {quoted} 0 1 {out})",
            f'string(FIND {quoted} "+PTX" {out})', f"string(CONCAT {out} {quoted} {self.quoted()})",
            f"string(COMPARE LESS {quoted} {self.quoted()} {out})", f"string(STRIP {quoted} {out})",
        ))]  # fmt: skip

    def test(self) -> str:
        simple = self.rng.choice((
            f"{self.quoted()} {self.rng.choice(OPERATORS)} {self.quoted()}", f'{self.quoted()} MATCHES "{self.rng.choice(PATTERNS)}"',
            f"{self.quoted()} IN_LIST {self.name()}", f"DEFINED {self.name()}", self.name(), self.quoted(),
            f"{self.name()} {self.rng.choice(OPERATORS)} {self.rng.choice(ENTRIES)}",
        ))  # fmt: skip
        if self.flags and self.rng.random() < 0.6:
            flag = self.rng.choice(self.flags)
            return self.rng.choice(
                (flag, flag, f"NOT {flag}", f"{flag} AND {simple}", f"{simple} OR {flag} AND NOT {flag}")
            )
        return self.rng.choice(
            (
                simple,
                simple,
                f"NOT {simple}",
                f"{simple} AND NOT {self.quoted()} STREQUAL 90",
                f"( {simple} ) OR {self.name()}",
            )
        )

    def block(self) -> list[str]:
        self.depth += 1
        made = [line for _ in range(self.rng.randint(1, 3)) for line in self.statement()]
        self.depth -= 1
        return [f"  {line}" for line in made]

    def condition(self) -> list[str]:
        made = [f"if({self.test()})", *self.block()]
        if self.rng.random() < 0.4:
            made += [f"elseif({self.test()})", *self.block()]
        if self.rng.random() < 0.6:
            made += ["else()", *self.block()]
        return [*made, "endif()"]

    def iterate(self) -> list[str]:
        outer, self.loop = self.loop, "cc"
        head = self.rng.choice(
            (f"foreach(cc IN LISTS {self.name()})", f"foreach(cc ${{{self.name()}}})", f"foreach(cc {self.entries()})")
        )
        body = self.block()
        if self.rng.random() < 0.4:
            body += [f"  if({self.test()})", f"    {self.rng.choice(('break()', 'continue()'))}", "  endif()"]
        body += ['  list(APPEND OUT "${cc}")']
        self.loop = outer
        return [head, *body, "endforeach()"]

    def function(self) -> list[str]:
        self.depth = 2
        body = self.block()
        self.depth = 0
        return ["function(keep out)", "  set(OUT ${ARGN})", *body, '  set(${out} "${OUT}" PARENT_SCOPE)', "endfunction()",
                f"keep(OUT {self.word()} {self.word()})"]  # fmt: skip
