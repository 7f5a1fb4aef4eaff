"""The lists that a script makes: what goes somewhere, and variables of the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from archscan.catalog.names import one_of
from archscan.frontends.build.archlists import ArchList, consumer_of
from archscan.frontends.build.python.script import Script
from archscan.frontends.build.python.values import Str, Value, strings
from archscan.frontends.build.reading import of_command, of_flags, of_variable
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.traced import HOLE, Text, because, shown, under

_ASKED = re.compile(r"environ|device_capability|get_device|native|nvidia-smi|nvidia_smi")
NUMBER_LEFT_OPEN = re.compile(r"(?:compute|sm)_" + HOLE)


def unread(script: Script, lists: tuple[ArchList, ...]) -> Iterator[tuple[int, str]]:
    """Flags of which the number is not known, unless the user or the GPU of the machine gives it."""
    seen: set[int] = set()
    made = {entry.made for one in lists for entry in one.entries} | {one.start for one in lists}
    for _, value, _ in script.kept:
        for text in strings(value):
            if not NUMBER_LEFT_OPEN.search(shown(text)):
                continue
            names = because(text)
            at = next((r.at for r in text if r.at >= 0 and re.search(r"(?:compute|sm)_$", r.text or "")), -1)
            if at < 0 or at in seen or at in made or any(_ASKED.search(n) or is_arch_name(n) for n in names):
                continue
            seen.add(at)
            yield at, f"made of {', '.join(names[:3]) or 'something'}, which is not known"


def lists_of(script: Script) -> Iterator[ArchList]:
    """Every list that a script makes: flags that go somewhere, and variables of the environment."""
    given = script.given
    for name, value in script.set_here:
        for text in strings(value):
            yield from of_variable(name, (text,), given, name)
    for extension in script.extensions:
        for text in strings(extension.nvcc):
            flags = of_flags(extension.name, text, given)
            if flags is not None:
                yield replace(flags, is_built=True)
    seen: set[int] = set()
    for name, value, asked in script.kept:
        if id(value) in seen:
            continue
        seen.add(id(value))
        for text in strings(value):
            whole = under(text, asked) if isinstance(value, Str) else text
            yield from _named(script, name, value, whole)


@cache
def _setting() -> re.Pattern[str]:
    return re.compile(rf"ARCH\w*(?::[A-Z]+)?=|-D ?(?:[A-Z_]+_)?(?:{one_of('settings').upper()})=")


def _named(script: Script, name: str, value: Value, text: Text) -> Iterator[ArchList]:
    """The lists in one text that has a name or goes into a call."""
    given = script.given
    environment = next((script.environment[run.at] for run in text if run.at in script.environment), "")
    flags = of_flags(name, text, given)
    if flags is not None:
        yield replace(flags, environment=environment)
        return
    label = environment or name
    if label and (environment or consumer_of(label)) and is_arch_name(label):
        yield from of_variable(label, (text,), given, environment)
    elif _setting().search(shown(text)):
        yield from of_command(text, given)
