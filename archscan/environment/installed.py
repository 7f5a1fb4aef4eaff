"""The distributions of an environment, from their metadata: names, versions, and which of their files are libraries.

Read with bounds, as files of others: nothing is imported, no .pth line is run, a damaged RECORD costs its distribution.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from archscan.bounded import small_file
from archscan.environment.places import Environment
from archscan.errors import UserError
from archscan.model.facts import Failed, Skipped
from archscan.sources.unread import Stamp, stamp_of

_MOST = 64 << 20  # bytes of one file of metadata
_METADATA = (".dist-info", ".egg-info")
# What a running program loads: archives and objects are for linkers
_LOADED = re.compile(r".+\.(?:so(?:\.\d+)*|dll|pyd|cubin|fatbin|ptx)", re.IGNORECASE)
_TESTS = re.compile(r"(?:^|/)tests?/")
_CUDA = (".cu", ".cu.jinja")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_EXTRAS = re.compile(r"^\s*\[[^\]]*\]")
_PIN = re.compile(r"(?<![=!~<>])==\s*([\w.+!-]+)\s*\)?\s*$")  # without a star: one version
_MOST_WALKED = 200_000  # files below a directory that no RECORD lists


@dataclass(frozen=True, slots=True)
class Installed:
    """A distribution as its metadata tells it."""

    name: str
    version: str
    path: str  # of its metadata, of its directory where it has none, or of the wheel
    folder: str = ""  # that its files are relative to
    requires: tuple[str, ...] = ()  # normalised names, without extras
    pins: tuple[tuple[str, str], ...] = ()  # names that it needs in one version: ==
    specs: tuple[tuple[str, str], ...] = ()  # names that it needs in some versions alone: "<3,>=2.1"
    libraries: tuple[str, ...] = ()  # files on disk that a program may load
    tops: tuple[str, ...] = ()  # its own files and directories in the folder
    cuda: int = 0  # CUDA source files
    editable: bool = False  # it lies elsewhere, as a project
    manager: str = ""  # conda | "" = Python's

    @property
    def key(self) -> str:
        return normalised(self.name)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The distributions of an environment, and what could not be told."""

    distributions: tuple[Installed, ...]
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Failed, ...] = ()


# Answers for a path and its stamp: what was made of it before, else what is made of it now
Remember = Callable[[str, Stamp, Callable[[], "Installed | Failed"]], "Installed | Failed"]


def normalised(name: str) -> str:
    """A name as package indexes compare it: `Foo.Bar_baz` is `foo-bar-baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def inventory(environment: Environment, remember: Remember) -> Inventory:
    """Every distribution, the first of each name: Python imports that one."""
    found: dict[str, Installed] = {}
    hidden: list[Installed] = []
    skipped = list(environment.skipped)
    failed: list[Failed] = []
    for folder in environment.folders:
        names = _listed(folder)
        for name in names:
            if not name.endswith(_METADATA) or name == "EGG-INFO":
                continue
            path = os.path.join(folder, name)
            if name.startswith("~"):
                skipped.append(Skipped(path, "left behind by an interrupted pip: Python does not see it"))
                continue
            one = _distribution(path, folder, remember)
            if isinstance(one, Failed):
                failed.append(one)
            elif one.key not in found:
                found[one.key] = one
            else:
                hidden.append(one)
                skipped.append(Skipped(path, f"hidden by {found[one.key].path}"))
        found |= {one.path: one for one in _without_metadata(folder, names, (*found.values(), *hidden))}
    if environment.conda:
        found |= {one.path: one for one in _of_conda(environment.prefix, remember, found.values(), failed)}
    return Inventory(tuple(sorted(found.values(), key=lambda one: (one.key, one.path))), tuple(skipped), tuple(failed))


def closure(installed: Iterable[Installed], names: Iterable[str]) -> set[str]:
    """The distributions of these names, and all that they need of what is there."""
    known = {one.key: one for one in installed}
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        key = waiting.pop()
        if key not in found and key in known:
            found.add(key)
            waiting += known[key].requires
    return found


def requirements(path: str) -> set[str]:
    """The normalised names in a file of requirements; UserError where it cannot be read. Options are passed over."""
    try:
        text = small_file(path, _MOST).decode("utf-8", "replace")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}", "name a file of requirements") from error
    lines = (line.strip() for line in text.splitlines())
    return {normalised(match[0]) for line in lines if (match := _NAME.match(line))}


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # names: there may be thousands
    except OSError:
        return []


def _distribution(path: str, folder: str, remember: Remember) -> Installed | Failed:
    """One distribution by its directory (or file) of metadata."""
    project = _editable(path)
    if project:
        found = _named(path, folder)
        return found if isinstance(found, Failed) else _walked(replace(found, editable=True), [project])
    for name, listed in (("RECORD", _record), ("installed-files.txt", _installed_files)):
        file = os.path.join(path, name)
        stamp = _stamp(file)
        if stamp is not None:
            return remember(path, stamp, lambda file=file, listed=listed: _listing(path, folder, listed(file, folder)))  # type: ignore[misc]
    found = _named(path, folder)
    if isinstance(found, Failed):
        return found
    tops = (_text(os.path.join(path, "top_level.txt")) or "").split()
    roots = [os.path.join(folder, top) for top in tops if "/" not in top and ".." not in top]
    return _walked(found, [root for root in roots if os.path.isdir(root)])


def _listing(path: str, folder: str, files: list[str] | str) -> Installed | Failed:
    """A distribution whose files are listed, or cannot be."""
    if isinstance(files, str):
        return Failed(path, files)
    found = _named(path, folder)
    return found if isinstance(found, Failed) else _with_files(found, files)


def _named(path: str, folder: str) -> Installed | Failed:
    """A distribution without its files."""
    text = next((t for n in ("METADATA", "PKG-INFO", "") if (t := _text(os.path.join(path, n) if n else path))), None)
    if text is None:
        return Failed(path, "its metadata cannot be read")
    return replace(header(text, os.path.basename(path)), path=path, folder=folder)


def _stamp(path: str) -> Stamp | None:
    try:
        return stamp_of(os.stat(path))
    except (OSError, ValueError):
        return None


def _text(path: str) -> str | None:
    try:
        return small_file(path, _MOST).decode("utf-8", "surrogateescape")
    except OSError:
        return None


def header(text: str, file: str) -> Installed:
    """Name, version and requirements; what is missing comes from the name of the file."""
    name = version = ""
    requires: dict[str, str] = {}
    specs: dict[str, str] = {}
    for line in text.split("\n"):
        if not line.rstrip("\r"):
            break  # the description follows; an empty line of a licence is indented
        key, _, value = line.partition(":")
        value = value.strip()
        if key.lower() == "name" and not name:
            name = value
        elif key.lower() == "version" and not version:
            version = value
        elif key.lower() == "requires-dist":
            needed, _, marker = value.partition(";")
            match = _NAME.match(needed.strip())
            if match and "extra" not in marker:
                pin = _PIN.search(needed) if not marker.strip() else None
                requires[normalised(match[0])] = pin[1] if pin else ""
                said = _EXTRAS.sub("", needed.strip()[match.end() :]).strip(" ()")
                if said and not marker.strip():
                    specs[normalised(match[0])] = said
    stem = file.rpartition(".")[0]
    named, _, numbered = stem.partition("-")
    pins = tuple((needed, pin) for needed, pin in requires.items() if pin)
    return Installed(
        name or named, version or numbered.partition("-")[0], "", "", tuple(requires), pins, tuple(specs.items())
    )


def _editable(path: str) -> str:
    """The directory of a project that is installed in place; empty for others."""
    text = _text(os.path.join(path, "direct_url.json"))
    if not text:
        return ""
    try:
        found = json.loads(text)
        url = urlsplit(found["url"]) if found["dir_info"]["editable"] is True else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    if url is None or url.scheme != "file" or not os.path.isdir(unquote(url.path)):
        return ""
    return unquote(url.path)


def _record(path: str, folder: str) -> list[str] | str:
    """The files that a RECORD lists, relative to its folder, or why it cannot be read."""
    try:
        text = small_file(path, _MOST).decode("utf-8", "surrogateescape")
    except OSError as error:
        return f"its RECORD cannot be read: {error.strerror}"
    files = []
    for line in text.splitlines():
        if line.startswith('"'):
            try:
                files += [row[0] for row in csv.reader([line]) if row]
            except csv.Error:
                continue
        elif line:
            files.append(line.partition(",")[0])
    return files


def _installed_files(path: str, folder: str) -> list[str] | str:
    """The files that an old setup.py listed, or why they cannot be told."""
    text = _text(path)
    if text is None:
        return "its list of files cannot be read"
    base = os.path.dirname(path)
    return [os.path.relpath(os.path.join(base, line.strip()), folder) for line in text.splitlines() if line.strip()]


def _with_files(found: Installed, files: Iterable[str]) -> Installed:
    """The distribution with what its list of files says; paths are relative to its folder."""
    libraries: list[str] = []
    tops: dict[str, None] = {}
    cuda = 0
    for file in files:
        top = file.partition("/")[0]
        if top not in ("..", "", "__pycache__") and not top.endswith(_METADATA):
            tops[top] = None
        if file.endswith(_CUDA):
            cuda += 1
        elif "." in file and is_loaded(file):
            libraries.append(os.path.normpath(os.path.join(found.folder, file)))
    return replace(found, libraries=tuple(libraries), tops=tuple(tops), cuda=cuda)


def is_loaded(path: str) -> bool:
    """Whether a program may load a file of that name: what lies among tests is not what it came for."""
    name = path.rpartition("/")[2]
    return _LOADED.fullmatch(name) is not None and not name.startswith("._") and not _TESTS.search(path)


def _walked(found: Installed, roots: Iterable[str]) -> Installed:
    """The distribution with the files below directories that no list names."""
    libraries: list[str] = []
    tops: list[str] = []
    cuda = 0
    for root in roots:
        tops.append(root)
        for path in _below(root):
            if path.endswith(_CUDA):
                cuda += 1
            elif is_loaded(path):
                libraries.append(path)
    return replace(found, libraries=tuple(libraries), tops=tuple(tops), cuda=cuda)


def _below(root: str) -> Iterator[str]:
    """The files below a directory, as far as one looks; the directory itself if it is a file."""
    if os.path.isfile(root):
        yield root
        return
    number = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("__pycache__", "node_modules"))
        for name in sorted(names):
            number += 1
            if number > _MOST_WALKED:
                return
            yield os.path.join(folder, name)


def _without_metadata(folder: str, names: Sequence[str], known: Iterable[Installed]) -> Iterator[Installed]:
    """Directories with libraries that belong to no distribution: copied there, or built in place."""
    if not any(name.endswith(".dist-info") for name in names):
        return  # a project on the path, not a place where distributions lie
    owned = {top for one in known if one.folder == folder for top in one.tops}
    owned |= {os.path.basename(top) for one in known for top in one.tops if os.path.dirname(top) == folder}
    for name in names:
        path = os.path.join(folder, name)
        if name in owned or name.startswith((".", "_", "~")) or name.endswith(_METADATA) or not os.path.isdir(path):
            continue
        found = _walked(Installed(name, "", path, folder), [path])
        if found.libraries:
            yield found


def _of_conda(
    prefix: str, remember: Remember, python: Iterable[Installed], failed: list[Failed]
) -> Iterator[Installed]:
    """The packages of a conda environment, with those of their libraries that no distribution of Python has."""
    owned = {path for one in python for path in one.libraries}
    folder = os.path.join(prefix, "conda-meta")
    for name in _listed(folder):
        path = os.path.join(folder, name)
        stamp = _stamp(path)
        if not name.endswith(".json") or stamp is None:
            continue
        found = remember(path, stamp, lambda path=path: _conda_package(path, prefix))  # type: ignore[misc]
        if isinstance(found, Failed):
            failed.append(found)
            continue
        libraries = tuple(file for file in found.libraries if file not in owned)
        if libraries:
            yield replace(found, libraries=libraries)


def _conda_package(path: str, prefix: str) -> Installed | Failed:
    try:
        raw = json.loads(small_file(path, _MOST))
        files = [str(file) for file in raw["files"]]
        found = Installed(str(raw["name"]), str(raw["version"]), path, prefix, manager="conda")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Failed(path, "it cannot be read")
    return replace(_with_files(found, files), cuda=0, tops=())
