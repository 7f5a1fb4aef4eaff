"""Which distributions others run: what the Python files of one import of another's modules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from archscan.bounded import small_file
from archscan.environment.installed import Installed

_MOST_SOURCE = 4 << 20  # bytes of a file that is looked through


@dataclass(frozen=True, slots=True)
class Use:
    """How near a distribution is to those that were asked for, and who imports it."""

    steps: int  # 0 = it was asked for; 1 = that imports it; ...
    files: int
    by: str  # the name of the distribution that imports it, in most files


def uses(roots: Sequence[Installed], others: Sequence[Installed]) -> dict[str, Use]:
    """Of each distribution that the roots import, themselves or by others: how near it is. Names are normalised."""
    found = {one.key: Use(0, 0, "") for one in roots}
    waiting = list(roots)
    steps = 0
    while waiting and len(found) < len(others) + len(roots):
        steps += 1
        level: dict[str, Use] = {}
        for one in waiting:
            missing = [other for other in others if other.key not in found]
            for key, files in imports(one, missing).items():
                if key not in level or level[key].files < files:
                    level[key] = Use(steps, files, one.name)
        found.update(level)
        waiting = [other for other in others if other.key in level]
    return found


def imports(one: Installed, others: Sequence[Installed]) -> dict[str, int]:
    """In how many of its files a distribution imports modules of others, by their normalised names."""
    owner = {module: other.key for other in others for module in modules(other)}
    if not owner:
        return {}
    names = b"|".join(re.escape(module.encode()) for module in sorted(owner, key=len, reverse=True))
    pattern = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(" + names + rb")(?![\w])", re.MULTILINE)
    found: dict[str, int] = {}
    for path in python_files(one):
        try:
            data = small_file(path, _MOST_SOURCE)
        except OSError:
            continue
        for key in {owner[match.decode()] for match in pattern.findall(data)}:
            found[key] = found.get(key, 0) + 1
    return found


def modules(one: Installed) -> Iterator[str]:
    """The modules at the top of a distribution; a namespace is of several."""
    for top in one.tops:
        path = os.path.join(one.folder, top)
        name = os.path.basename(top).partition(".")[0]
        if name.isidentifier() and (not os.path.isdir(path) or os.path.isfile(os.path.join(path, "__init__.py"))):
            yield name


def python_files(one: Installed) -> Iterator[str]:
    """The Python files of a distribution, tests left out, in order."""
    for top in one.tops:
        root = os.path.join(one.folder, top)
        if top.endswith(".py"):
            yield root
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in ("__pycache__", "tests", "test"))
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))
