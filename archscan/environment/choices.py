"""Which of several libraries a package loads in this environment, by the rule that its own code follows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archscan.bounded import small_file
from archscan.environment.facts import Loader, PackageFacts
from archscan.environment.installed import Installed
from archscan.environment.shelves import Compiled, Stock

_MOST = 1 << 20  # bytes
_CUDA = re.compile(r"^cuda\b[^=\n]*=\s*['\"](\d+)\.(\d+)['\"]", re.MULTILINE)

Version = tuple[int, int]
BY_GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Choice:
    """The libraries that may be loaded, the others, and why."""

    taken: tuple[str, ...]  # empty = the package finds none; several = it cannot be told which
    left_out: frozenset[str]
    rule: str
    source: str


def choose(
    one: Installed, compiled: Sequence[Compiled], stock: Stock, facts: PackageFacts, environ: Mapping[str, str], sm: int
) -> Choice | None:
    """What a package takes of its libraries; None where no rule is known of it, or none is needed."""
    loader = facts.loaders.get(one.key)
    if loader is None:
        return None
    if loader.chooses == BY_GPU:
        return _by_gpu(loader, [each.library.path for each in compiled], sm)
    found: dict[Version, str] = {}
    for each in compiled:
        match = loader.libraries.fullmatch(each.library.path)
        if match:
            found[int(match["major"]), int(match["minor"])] = each.library.path
    if len(found) < 2:
        return None
    asked = environ.get(loader.variable, "") if loader.variable else ""
    version, because = _named(asked, loader) if asked else (cuda_of_torch(stock), "by the CUDA version of torch")
    if version is None:
        return Choice(
            tuple(found.values()),
            frozenset(),
            f"loads one of {len(found)} {because}, which is not known here",
            loader.source,
        )
    taken = found.get(version) if asked else _nearest(found, version)
    names = () if taken is None else (taken,)
    what = os.path.basename(taken) if taken else "none fits"
    rule = f"loads one of {len(found)} {because}, {version[0]}.{version[1]}: {what}"
    return Choice(names, frozenset(found.values()) - set(names), rule, loader.source)


def _by_gpu(loader: Loader, paths: Sequence[str], sm: int) -> Choice | None:
    """The library in the directory that is meant for a GPU; others that are there are not loaded."""
    found = [path for path in paths if loader.libraries.fullmatch(path)]
    if len(found) < 2:
        return None
    folder = next((folder for folder, sms in loader.cases if not sms or sm in sms), "")
    taken = tuple(path for path in found if path.startswith(f"{folder}/"))
    rule = f"loads one of {len(found)} by the GPU: {taken[0] if taken else 'none is there'}"
    return Choice(taken, frozenset(found) - set(taken), rule, loader.source)


def _named(text: str, loader: Loader) -> tuple[Version | None, str]:
    return (int(text[:2]), int(text[2:])) if re.fullmatch(r"\d{3,4}", text) else None, f"by {loader.variable}"


def _nearest(found: Mapping[Version, str], version: Version) -> str | None:
    """The library of that version, else of the highest lower one of its major, else of the lowest higher one."""
    same = sorted(v for v in found if v[0] == version[0])
    lower = [v for v in same if v <= version]
    higher = [v for v in same if v > version]
    return found[lower[-1]] if lower else found[higher[0]] if higher else None


def cuda_of_torch(stock: Stock) -> Version | None:
    """The CUDA version that the installed torch was built with, from the file in which it says so."""
    torch = next((shelf.installed for shelf in stock.shelves if shelf.installed.key == "torch"), None)
    if torch is None or not torch.folder:
        return None
    try:
        text = small_file(os.path.join(torch.folder, "torch", "version.py"), _MOST).decode("utf-8", "replace")
    except OSError:
        return None
    match = _CUDA.search(text)
    return (int(match[1]), int(match[2])) if match else None
