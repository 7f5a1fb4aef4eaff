"""Random makefiles and shell scripts about architecture lists, for comparing their evaluation with make and bash."""

# ruff: noqa: E501

from __future__ import annotations

import random

NAMES = ("ARCHS", "WANTED", "FLAGS", "OUT")
FLAG = "MAYBE"  # that nobody sets in the file
_ENTRIES = ("80", "86", "90", "90a", "100a", "120", "12.0", "8.6", "sm_90", "sm_120a", "90+PTX")
_PATTERNS = ("9%", "%a", "sm_%", "80", "80 90", "%0", "1%0", "%")


def makefile(seed: int, flags: bool = False) -> str:
    """A makefile over the variables of NAMES, that asks for FLAG and a shell if `flags` says so."""
    return "".join(f"{line}\n" for line in _Make(random.Random(seed), flags).lines())


def script(seed: int, flags: bool = False) -> str:
    """A shell script over the variables of NAMES, that asks for FLAG and a program if `flags` says so."""
    return "".join(f"{line}\n" for line in _Shell(random.Random(seed), flags).lines())


class _Maker:
    """What both languages have in common: lines that set variables, and blocks of them."""

    def __init__(self, rng: random.Random, flags: bool) -> None:
        self.rng = rng
        self.flags = flags
        self.depth = 0
        self.loop = ""

    def entries(self, least: int = 1) -> str:
        return " ".join(self.rng.choice(_ENTRIES) for _ in range(self.rng.randint(least, 4)))

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def lines(self) -> list[str]:
        made = self.first()
        for _ in range(self.rng.randint(2, 6)):
            made += self.statement()
        return made

    def block(self) -> list[str]:
        self.depth += 1
        made = [line for _ in range(self.rng.randint(1, 3)) for line in self.statement()]
        self.depth -= 1
        return made

    def first(self) -> list[str]:
        raise NotImplementedError

    def statement(self) -> list[str]:
        raise NotImplementedError


class _Make(_Maker):
    def first(self) -> list[str]:
        made = [f"{name} {self.rng.choice(('=', ':='))} {self.entries(0)}" for name in NAMES[:3]]
        return [*made, "one = -gencode arch=compute_$(1),code=sm_$(1)"] + (
            ["define TWO", "$(1) $(2)", "endef"] if self.rng.random() < 0.3 else ["TWO = $(2) $(1)"]
        )

    def statement(self) -> list[str]:
        return self.condition() if self.depth < 3 and self.rng.random() < 0.35 else self.assign()

    def assign(self) -> list[str]:
        operator = self.rng.choice((":=", ":=", "+=", "+=", "?=", "=", "::="))
        value = self.value() if operator in (":=", "::=", "+=") else self.entries(0)
        name = self.rng.choice((*NAMES, "FRESH")) if operator in ("?=", "+=") else self.name()
        spelled = self.rng.choice((f"{name} {operator} ", f"{name}{operator}", f"export {name} {operator} "))
        if self.rng.random() < 0.15:
            return [f"{spelled}{value} \\", f"    {self.entries()}  # more"]
        return [f"{spelled}{value}"]

    def value(self, deep: int = 0) -> str:
        if deep > 1 or self.rng.random() < 0.3:
            plain = [self.entries(), f"$({self.name()})", f"${{{self.name()}}}"]
            return self.rng.choice([*plain, f"$({self.loop})"] if self.loop else plain)
        return self.rng.choice((self.listing, self.listing, self.changing, self.choosing))(deep + 1)

    def listing(self, deep: int) -> str:
        inner, pattern = self.value(deep), self.rng.choice(_PATTERNS)
        return self.rng.choice((
            f"$(filter {pattern},{inner})", f"$(filter-out {pattern},{inner})", f"$(sort {inner})", f"$(strip {inner})",
            f"$(firstword {inner})", f"$(lastword {inner})", f"$(words {inner})",
            f"$(word {self.rng.randint(1, 3)},{inner})", f"$(wordlist {self.rng.randint(1, 2)},3,{inner})",
        ))  # fmt: skip

    def changing(self, deep: int) -> str:
        inner = self.value(deep)
        return self.rng.choice((
            f"$(addprefix sm_,{inner})", f"$(addsuffix a,{inner})", f"$(subst 0,1,{inner})", f"$(subst sm_,,{inner})",
            f"$(patsubst sm_%,%,{inner})", f"$(patsubst %a,%,{inner})", f"$({self.name()}:a=f)", f"$({self.name()}:%0=<%>)",
            f"$({self.name()}:sm_%=%)",
        ))  # fmt: skip

    def choosing(self, deep: int) -> str:
        inner, other = self.value(deep), self.value(deep)
        if self.flags and self.rng.random() < 0.4:
            return self.rng.choice(("$(shell printf 90)", f"$(if $({FLAG}),{inner},{other})", f"$({FLAG})"))
        outer, self.loop = self.loop, "cc"
        body = self.rng.choice(("-gencode arch=compute_$(cc),code=sm_$(cc)", "sm_$(cc)", self.value(deep)))
        self.loop = outer
        return self.rng.choice((
            f"$(foreach cc,{inner},{body})", f"$(if $(filter {self.rng.choice(_PATTERNS)},{inner}),{other},80)",
            f"$(or {inner},{other})", f"$(and {inner},{other})", f"$(findstring 90,{inner})", f"$(call one,{self.rng.choice(_ENTRIES)})",
            f"$(call TWO,{inner},{other})",
        ))  # fmt: skip

    def test(self) -> str:
        if self.flags and self.rng.random() < 0.5:
            return self.rng.choice((f"ifdef {FLAG}", f"ifndef {FLAG}", f"ifeq ($({FLAG}),1)", f"ifneq ($({FLAG}),1)"))
        one, other = self.value(1), self.rng.choice(("", self.rng.choice(_ENTRIES), self.value(1)))
        return self.rng.choice((
            f"ifeq ({one},{other})", f"ifneq ({one},{other})", f'ifeq "{one}" "{other}"', f"ifneq '{one}' '{other}'",
            f"ifneq (,$(filter {self.rng.choice(_PATTERNS)},{one}))", f"ifeq ($(findstring 90,{one}),90)",
            f"ifdef {self.name()}", f"ifndef {self.name()}",
        ))  # fmt: skip

    def condition(self) -> list[str]:
        made = [self.test(), *(f"  {line}" for line in self.block())]
        if self.rng.random() < 0.3:
            made += [f"else {self.test()}", *(f"  {line}" for line in self.block())]
        if self.rng.random() < 0.5:
            made += ["else", *(f"  {line}" for line in self.block())]
        return [*made, "endif"]


class _Shell(_Maker):
    def first(self) -> list[str]:
        made = [f'{name}="{self.entries(0)}"' for name in NAMES[:2]]
        made += [f"FLAGS=({self.entries()})", "OUT="]
        return (
            [*made, "note() {", '  OUT="$OUT $1"', "}"] if self.rng.random() < 0.4 else [*made, "note() { OUT+=$1; }"]
        )

    def statement(self) -> list[str]:
        kinds = [self.assign, self.assign, self.assign, self.append, self.short]
        if self.depth < 3:
            kinds += [self.condition, self.iterate, self.choose]
        return self.rng.choice(kinds)()

    def text(self) -> str:
        """One word."""
        name = self.name()
        found = [
            f'"${name}"', f'"${{{name}}}"', f'"{self.entries()}"', f"'{self.entries()}'", self.rng.choice(_ENTRIES), f"${name}",
            f'"${{{name}}} {self.entries()}"', f'"${{{name}:-{self.rng.choice(_ENTRIES)}}}"', f'"${{{name}//{self.pattern()}}}"',
            f'"${{{name}/{self.pattern()}}}"', f'"${{{name}[*]}}"', f'"${{{name}:+{self.rng.choice(_ENTRIES)}}}"',
            f'"${{{name}-90}}"', f'"${{{name}%0}}"', f'"${{{name}#sm_}}"', f'"${{{name}##* }}"', f'"${{{name}%% *}}"',
            f'"${{{name}:0:2}}"', f'"${{#{name}}}"', '"-gencode arch=compute_${ARCHS},code=sm_${ARCHS}"',
        ]  # fmt: skip
        if self.loop:
            found += [
                f"${self.loop}",
                f'"sm_${self.loop}"',
                f'"-gencode arch=compute_${self.loop},code=sm_${self.loop}"',
            ] * 3
        if self.flags and self.rng.random() < 0.3:
            return self.rng.choice(("$(printf 90)", f'"${FLAG}"', f'"${{{FLAG}:-80}}"', '"`printf 90`"'))
        return self.rng.choice(found)

    def pattern(self) -> str:
        return self.rng.choice(("./", "0/1", " /;", "sm_/", "\\ /,", "a", "9?/x", "9*/x", "[0-9]/x"))

    def words(self) -> str:
        name = self.name()
        return self.rng.choice(
            (self.entries(), f"${name}", f'"${{{name}[@]}}"', f"${{{name}[*]}}", f"{self.entries()} ${name}")
        )

    def assign(self) -> list[str]:
        name = self.rng.choice(("ARCHS", "WANTED", "OUT"))
        return [self.rng.choice((
            f"{name}={self.text()}", f"export {name}={self.text()}", f"{name}={self.text()}", f"FLAGS=({self.words()})",
            f": ${{{name}:={self.rng.choice(_ENTRIES)}}}", f"declare {name}={self.text()}", f"{name}=$((80 + 10))",
            f"unset {name}", f"{name}={self.text()} true", f"readonly FRESH={self.rng.choice(_ENTRIES)}",
        ))]  # fmt: skip

    def append(self) -> list[str]:
        name = self.rng.choice(("ARCHS", "WANTED", "OUT"))
        return [self.rng.choice((
            f"{name}+={self.text()}", f'{name}="${name} {self.rng.choice(_ENTRIES)}"', f"FLAGS+=({self.words()})", f"note {self.text()}",
            f'{name}+=" {self.rng.choice(_ENTRIES)}"',
        ))]  # fmt: skip

    def short(self) -> list[str]:
        operator = self.rng.choice(("&&", "||"))
        return [f"{self.test()} {operator} {self.assign()[0]}"]

    def quoted(self) -> str:
        text = self.text()
        return text if text[0] in "\"'" else f'"{text}"'

    def test(self) -> str:
        if self.flags and self.rng.random() < 0.5:
            return self.rng.choice(
                (f'[ "${FLAG}" = 1 ]', f'[ "${FLAG}" != 1 ]', f'[[ "${FLAG}" == 1 ]]', f'! [ "${FLAG}" = 1 ]')
            )
        one, other = self.quoted(), self.quoted()
        number = self.rng.choice(("80", "90", "120"))
        simple = self.rng.choice((
            f"[ {one} = {other} ]", f"[ {one} != {self.rng.choice(_ENTRIES)} ]", f"[ -z {one} ]", f"[ -n {one} ]", f"[[ {one} == 9* ]]",
            f"[[ {one} == *90* ]]", f"[[ {one} == '9*' ]]", f"[ {number} -lt 90 ]", "[ $((number + 1)) -gt 0 ]", f"[[ {one} =~ ^9 ]]",
            f"[[ -n {one} && {one} != {other} ]]", f"[ {one} = 90 -o {number} -ge 90 ]", '[ "${#FLAGS[@]}" -gt 1 ]', "true", "false",
        ))  # fmt: skip
        return self.rng.choice((simple, simple, f"! {simple}"))

    def condition(self) -> list[str]:
        made = [f"if {self.test()}; then", *(f"  {line}" for line in self.block())]
        if self.rng.random() < 0.3:
            made += [f"elif {self.test()}; then", *(f"  {line}" for line in self.block())]
        if self.rng.random() < 0.5:
            made += ["else", *(f"  {line}" for line in self.block())]
        return [*made, "fi"]

    def iterate(self) -> list[str]:
        outer, self.loop = self.loop, "cc"
        made = [f"for cc in {self.words()}; do", *(f"  {line}" for line in self.block())]
        if self.rng.random() < 0.3:
            made += [f"  {self.test()} && {self.rng.choice(('break', 'continue'))}"]
        made += ['  OUT="$OUT $cc"']
        self.loop = outer
        return [*made, "done"]

    def choose(self) -> list[str]:
        subject = f'"${FLAG}"' if self.flags and self.rng.random() < 0.5 else self.text()
        made = [f"case {subject} in"]
        for pattern in self.rng.sample(("9*", "*a", "80|90", '"80 90"', "sm_*", "1", "[0-9]*"), self.rng.randint(1, 3)):
            made += [f"  {pattern})", *(f"    {line}" for line in self.block()), "    ;;"]
        if self.rng.random() < 0.5:
            made += ["  *)", *(f"    {line}" for line in self.block()), "    ;;"]
        return [*made, "esac"]
