"""Walks one directory named by the user: which files are read, which are left out and why, in a fixed order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from archscan.model.facts import Failed, Origin, Skipped
from archscan.sources import git_index, ignore, roots
from archscan.sources.kinds import BUILD_DIRECTORIES, build_kind, is_archive, is_library, is_source
from archscan.sources.origins import OWN, Judged, Origins, of_name
from archscan.sources.shown import shown
from archscan.sources.unread import Stamp, Unread, stamp_of

# Never code, and nobody wonders why they are left out: not worth a line in the summary.
_SILENT = frozenset({".git", ".hg", ".svn", ".jj", "__pycache__"})


@dataclass
class Walk:
    """What a walk has found so far."""

    base: str  # absolute path of the directory
    prefix: str  # put before reported paths: "" or "name/"
    origins: Origins
    excludes: tuple[ignore.Ignore, ...] = ()
    sources: list[Unread] = field(default_factory=list)
    libraries: list[Unread] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    other: int = 0  # files of kinds that archscan does not read

    def reported(self, disk: str) -> str:
        """A path below the base as reported."""
        return self.prefix + shown(disk[len(self.base) :].lstrip(os.sep))


@dataclass(slots=True)
class _Repository:
    """A git work tree; what it tracks is asked for when an ignore file would leave something out."""

    top: str  # on disk
    told: git_index.Tracked | None = None

    def tracks(self, disk: str, directory: bool, result: Walk) -> bool:
        """Whether git tracks a file, or files in a directory: an ignore file says nothing about those."""
        if not disk.startswith(self.top + os.sep):
            return False
        if self.told is None:
            self.told = self._asked(result)
        below = disk[len(self.top) + 1 :]
        return self.told.directory(below) if directory else self.told.file(below)

    def _asked(self, result: Walk) -> git_index.Tracked:
        try:
            return git_index.tracked(self.top)
        except git_index.Damaged as error:
            name = shown(os.path.relpath(os.path.join(self.top, ".git"), result.base))
            why = f"cannot tell what git tracks ({error}): what .gitignore matches is left out, tracked or not"
            result.failed.append(Failed(result.prefix + name, why))
            return git_index.Tracked()


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory to list, with what its parents said: `disk` is where it is listed, `at` the path it counts as."""

    disk: str
    at: str
    chain: tuple[ignore.Ignore, ...]
    root: str
    judged: Judged
    installed: bool  # below a site-packages directory: what lies there runs, ignore files or not
    name: str
    repository: _Repository | None
    ignored: str = ""  # why only the tracked files in it are read ("" = all)
    builds: bool = False  # below .github, .ci and their like: of what is hidden there only build files are read


@dataclass(frozen=True, slots=True)
class _Link:
    """A symbolic link, looked at after everything that lies at its own place."""

    at: str
    folder: _Folder
    name: str


def walk(base: Path, prefix: str, origins: Origins, exclude: tuple[str, ...]) -> Walk:
    """Everything below a directory, sorted by reported path."""
    top = str(base)
    excludes = (ignore.compiled(top, exclude, "--exclude"),) if exclude else ()
    result = Walk(top, prefix, origins, excludes)
    root = roots.above(base)
    installed = root is not None and roots.is_site(root.name, _names(root))
    chain = () if installed else ignore.from_above(base)
    result.skipped += [Skipped(shown(f"{one.base}/.gitignore"), one.not_obeyed) for one in chain if one.problem]
    visited: set[str] = set()
    links: list[_Link] = []
    above = (str(place) for place in (base, *base.parents))
    repository = next((_Repository(place) for place in above if os.path.exists(os.path.join(place, ".git"))), None)
    _descend(_Folder(top, top, chain, str(root or ""), OWN, installed, "", repository), result, visited, links)
    _follow(links, result, visited, _boundary(root, base))
    result.sources.sort(key=lambda s: s.path)
    result.libraries.sort(key=lambda s: s.path)
    result.skipped.sort(key=lambda s: s.path)
    result.failed.sort(key=lambda f: f.path)
    return result


def _boundary(root: Path | None, base: Path) -> str:
    """The real directory that linked directories must lie in: the project's, unless that is somebody's whole home."""
    home = Path(os.path.expanduser("~"))
    project = root is not None and root != home and root not in home.parents
    return os.path.realpath(root if root is not None and project else base)


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _descend(start: _Folder, result: Walk, visited: set[str], links: list[_Link]) -> None:
    """Lists a directory and everything below it, without following links."""
    pending = [start]
    while pending:
        folder = pending.pop()
        visited.add(os.path.realpath(folder.disk) if folder is start else folder.disk)
        try:
            with os.scandir(folder.disk) as listing:
                entries = list(listing)
        except OSError as error:
            result.failed.append(Failed(result.reported(folder.at) or ".", _why(error)))
            continue
        pending += _list(_entered(folder, entries, folder is start, result), entries, result, links)


def _entered(folder: _Folder, entries: list[os.DirEntry[str]], start: bool, result: Walk) -> _Folder:
    """The folder with what its own entries add: an ignore file, a project root, a repository.

    The ignore files of a repository say nothing about another one inside of it.
    """
    names = {entry.name for entry in entries}
    root, installed, chain = folder.root, folder.installed, folder.chain
    repository, ignored = folder.repository, folder.ignored
    if ".git" in names:
        repository, chain, ignored = _Repository(folder.disk), (), ""
    if roots.begins_here(os.path.basename(folder.disk), names):
        root, installed = folder.at, roots.is_site(os.path.basename(folder.disk), names)
    if ".gitignore" in names and not installed:
        found = ignore.gitignore(folder.disk, start)
        if found and found.problem:
            result.skipped.append(Skipped(result.reported(folder.at + os.sep + ".gitignore"), found.not_obeyed))
        chain = (*chain, ignore.Ignore(folder.at, found.spec, found.label)) if found else chain
    return replace(folder, chain=chain, root=root, installed=installed, repository=repository, ignored=ignored)


def _list(folder: _Folder, entries: list[os.DirEntry[str]], result: Walk, links: list[_Link]) -> Iterator[_Folder]:
    """Sorts the entries of a folder into sources, links and left out; yields the directories to go into."""
    for entry in entries:
        name, at = entry.name, folder.at + os.sep + entry.name
        if entry.is_symlink():
            links.append(_Link(at, folder, name))
        elif entry.is_dir(follow_symlinks=False):
            inner = _go_into(folder, entry.path, at, name, result)
            if inner is not None:
                yield inner
        elif not _is_read(name, at, folder):
            if is_archive(name):
                result.skipped.append(Skipped(result.reported(at), "an archive: name it to have it read"))
            else:
                result.other += 1
        elif entry.is_file(follow_symlinks=False):
            _add(folder, entry.path, at, name, result)
        else:
            result.skipped.append(Skipped(result.reported(at), "not a regular file"))


def _is_read(name: str, at: str, folder: _Folder) -> bool:
    if folder.builds and build_kind(at) is None:
        return False
    return is_source(name, folder.disk) or is_library(name)


def _go_into(folder: _Folder, disk: str, at: str, name: str, result: Walk) -> _Folder | None:
    """The directory as a folder to list; None if it is left out."""
    if name in _SILENT:
        return None
    why = ignore.reason(result.excludes, at, True)
    ignored = "" if why else _ignored(folder, at, True)
    if ignored and not _is_tracked(folder, disk, True, result):
        why = ignored
    elif not why and name.startswith(".") and name not in BUILD_DIRECTORIES:
        why = "hidden directory"
    if why:
        result.skipped.append(Skipped(result.reported(at) + "/", why))
        return None
    judged = folder.judged
    if judged.origin in (Origin.OWN, Origin.TEST):
        found = result.origins.of_directory(name, lambda path: os.path.exists(os.path.join(disk, path)))
        judged = judged if found.origin is Origin.OWN else found
    builds = folder.builds or name in BUILD_DIRECTORIES
    return replace(folder, disk=disk, at=at, judged=judged, name=name, ignored=ignored, builds=builds)


def _ignored(folder: _Folder, at: str, directory: bool) -> str:
    """Why ignore files leave out what lies in a folder ("" = they do not)."""
    return folder.ignored or ignore.reason(folder.chain, at, directory) or ""


def _is_tracked(folder: _Folder, disk: str, directory: bool, result: Walk) -> bool:
    return folder.repository is not None and folder.repository.tracks(disk, directory, result)


def _add(folder: _Folder, disk: str, at: str, name: str, result: Walk) -> None:
    """Notes a regular file, or why it is left out."""
    path = result.reported(at)
    if folder.chain or folder.ignored or result.excludes:
        why = ignore.reason(result.excludes, at, False)
        ignored = "" if why else _ignored(folder, at, False)
        if ignored and not _is_tracked(folder, os.path.join(folder.disk, os.path.basename(at)), False, result):
            why = ignored
        if why:
            result.skipped.append(Skipped(path, why))
            return
    try:
        stamp = stamp_of(os.stat(disk))
    except OSError as error:
        result.failed.append(Failed(path, _why(error)))
        return
    judged = result.origins.of_file(os.path.basename(at)) if folder.judged.origin is Origin.OWN else folder.judged
    kept = result.libraries if is_library(os.path.basename(at)) else result.sources
    kept.append(found(path, disk, at, stamp, judged, folder.root, result.base))


def found(path: str, disk: str, at: str, stamp: Stamp, judged: Judged, root: str, base: str) -> Unread:
    """A regular file on disk; what its folders say of its origin wins over its own name."""
    name = os.path.basename(at)
    judged = of_name(name) if judged.origin is Origin.OWN else judged
    below = shown(at[len(root or base) :].lstrip(os.sep))
    return Unread(path, disk, stamp.size, stamp, judged.origin, judged.evidence, shown(root), below)


def _follow(links: list[_Link], result: Walk, visited: set[str], boundary: str) -> None:
    """Reads what links lead to, once: directories inside of the project, then files inside of what was walked.

    A link to / must not scan the machine, nor may a fix edit a file that the user did not point at.
    """
    read = (*result.sources, *result.libraries) if links else ()
    known = {one.stamp[:2] for one in read if one.stamp}
    files: list[tuple[_Link, str]] = []
    links.sort(key=lambda link: link.at)
    while links:
        link = links.pop(0)
        real = os.path.realpath(os.path.join(link.folder.disk, link.name))
        if os.path.isdir(real):
            _follow_directory(link, real, result, visited, links, boundary)
        elif _is_read(link.name, link.at, link.folder):
            files.append((link, real))
    top = os.path.join(os.path.realpath(result.base), "")
    for link, real in files:
        within = real.startswith(top) or os.path.dirname(real) in visited
        _follow_file(link, real, within, result, known)


def _follow_directory(
    link: _Link, real: str, result: Walk, visited: set[str], links: list[_Link], boundary: str
) -> None:
    if real in visited or link.name in _SILENT or (real + os.sep).startswith(os.path.realpath(result.base) + os.sep):
        return  # read, or left out with a reason, at its own place
    inside = (real + os.sep).startswith(boundary + os.sep)
    if not inside or (os.path.realpath(link.folder.disk) + os.sep).startswith(real + os.sep):
        where = "above it" if inside else "outside of the project"
        why = f"symbolic link to a directory {where}: {shown(real)}"
        result.skipped.append(Skipped(result.reported(link.at) + "/", why))
        return
    folder = _go_into(link.folder, real, link.at, link.name, result)
    if folder is not None:
        _descend(folder, result, visited, links)


def _follow_file(link: _Link, real: str, within: bool, result: Walk, known: set[tuple[int, int]]) -> None:
    """Notes the file that a link leads to, or why it is left out; of what lies outside only the name is told."""
    try:
        status = os.stat(real)
    except OSError:
        result.skipped.append(Skipped(result.reported(link.at), "broken symbolic link"))
        return
    if not os.path.isfile(real):
        result.skipped.append(Skipped(result.reported(link.at), "not a regular file"))
    elif not within:
        why = f"symbolic link to a file outside of what is scanned: {shown(real)}"
        result.skipped.append(Skipped(result.reported(link.at), why))
    elif (status.st_dev, status.st_ino) not in known:
        known.add((status.st_dev, status.st_ino))
        _add(link.folder, real, link.at, link.name, result)


def _why(error: OSError) -> str:
    """The system's words for an error, without a path."""
    return (error.strerror or type(error).__name__).lower() if not isinstance(error, FileNotFoundError) else "vanished"
