"""The evaluation of makefiles and shell scripts against make and bash themselves, where they are there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from made_scripts import FLAG, NAMES, makefile, script

from archscan.catalog import load
from archscan.frontends.build.make import evaluated
from archscan.frontends.build.reading import Given
from archscan.frontends.build.shell import script_at
from archscan.frontends.build.traced import HOLE, MOST_WAYS, Text, Ways, conditions, known, shown, unknown, written

PROGRAMS = int(os.environ.get("ARCHSCAN_SCRIPT_PROGRAMS", "100"))
WORLDS: tuple[dict[str, str], ...] = ({}, {FLAG: "1"})
# Asks whether the user set the flag: that is answered for those who did not
DEFAULT = re.compile(rf"\(\$\({FLAG}\),\)|[\"']\$\({FLAG}\)[\"'] [\"'][\"']|\{{{FLAG}:-|-[nz] \"\$\{{?{FLAG}")

Held = Mapping[str, Ways]


def of_make(text: str) -> Held:
    """What archscan makes of the variables of a makefile."""
    made = evaluated(text.encode(), Given(load()))
    return {name: made.variable(name) if name in made.variables else ((),) for name in NAMES}


def of_shell(text: str) -> Held:
    """What archscan makes of the variables of a script."""
    data = text.encode()
    made = script_at(data, 0, len(data), Given(load()))
    if made.reading().problems:  # too long, and said so
        return dict.fromkeys(NAMES, (unknown("a long script"),))
    return {name: made.variables.get(name, ((),)) for name in NAMES}


def run_make(text: str, world: dict[str, str], folder: Path) -> dict[str, str]:
    """What make says of them."""
    asked = "".join(f"$(info @{name}@$({name})@)\n" for name in NAMES)
    return _said(["make", "-s", "-f"], folder / "p.mk", f"{text}{asked}all:;@:\n", world)


def run_shell(text: str, world: dict[str, str], folder: Path) -> dict[str, str]:
    """What bash says of them."""
    asked = "".join(f"printf '@%s@%s@\\n' {name} \"${{{name}[*]}}\"\n" for name in NAMES)
    return _said(["bash"], folder / "p.sh", f"{text}{asked}", world)


def _said(command: list[str], path: Path, text: str, world: dict[str, str]) -> dict[str, str]:
    path.write_text(text)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **world}
    run = subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, timeout=20, env=environment
    )
    found = re.findall(r"^@(\w+)@(.*?)@$", run.stdout, re.MULTILINE | re.DOTALL)
    return dict(found) if run.returncode == 0 and len(found) == len(NAMES) else {}


def agrees(ways: Ways, real: str) -> bool:
    """Whether one of the ways, with some of its conditions met, comes to the text, word by word."""
    return len(ways) >= MOST_WAYS or any(_comes_to(way, real.split()) for way in ways)


def _comes_to(way: Text, words: list[str]) -> bool:
    if not conditions(way) and HOLE not in shown(way):
        return shown(way).split() == words
    pieces = [(".*" if run.text is None else re.escape("".join(run.text.split())), bool(run.when)) for run in way]
    pattern = "".join(f"(?:{piece})?" if may_lack else piece for piece, may_lack in pieces if piece)
    return re.fullmatch(pattern, "".join(words), re.DOTALL) is not None


LANGUAGES = {"make": (makefile, of_make, run_make), "bash": (script, of_shell, run_shell)}


@pytest.mark.parametrize("asks", [False, True], ids=["settled", "asks"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_variable_of_a_random_program_is_contradicted(language: str, asks: bool, tmp_path: Path) -> None:
    if shutil.which(language) is None:
        pytest.skip(f"{language} is not installed")
    program, ours, theirs = LANGUAGES[language]
    wrong, compared, told = contradicted(program, ours, theirs, range(PROGRAMS), asks, tmp_path)
    assert not wrong, "\n".join(wrong[:10])
    assert compared > PROGRAMS
    assert told > (0.2 if asks else 0.4) * compared


def contradicted(
    program: Callable[[int, bool], str],
    ours: Callable[[str], Held],
    theirs: Callable[[str, dict[str, str], Path], dict[str, str]],
    seeds: range,
    asks: bool,
    folder: Path,
) -> tuple[list[str], int, int]:
    """What is held of variables and is not so; how many were compared, and how many of them were known."""
    wrong: list[str] = []
    compared = told = 0
    for seed in seeds:
        text = program(seed, asks)
        held = ours(text)
        for world in WORLDS if asks and not DEFAULT.search(text) else WORLDS[:1]:
            real = theirs(text, world, folder)
            for name in real:
                compared += 1
                told += len(held[name]) == 1 and known(held[name][0]) is not None
                if not agrees(held[name], real[name]):
                    one = [shown(way).replace(HOLE, "…") for way in held[name]]
                    wrong.append(f"program {seed} in {world}: {name} is {real[name]!r}, not {one}")
    return wrong, compared, told


@pytest.mark.parametrize(
    ("way", "real", "agreed"),
    [
        ("80 90", "80  90 ", True), ("80 90", "80", False), (f"80 {HOLE}", "80", True), (f"80 {HOLE}", "90 80", False),
        ("", "", True), ("", "80", False),
    ],
)  # fmt: skip
def test_the_comparison_itself(way: str, real: str, agreed: bool) -> None:
    parts = [unknown("x") if part == HOLE else written(part) for part in re.split(f"({HOLE})", way)]
    assert agrees((tuple(run for part in parts for run in part),), real) is agreed
