"""Which Python is looked at: the active environment, or one that was named. None is started: its files tell."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from archscan.bounded import small_file
from archscan.errors import UserError
from archscan.model.facts import Skipped
from archscan.programs import search_path

_SITES = ("site-packages", "dist-packages")
_MOST_PTH = 1 << 20  # bytes
_IMPORT = re.compile(r"import[ \t]")
_METADATA = (".dist-info", ".egg-info")


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python as it lies on disk."""

    prefix: str
    why: str  # it is looked at: "the active VIRTUAL_ENV"
    python: str = ""  # 3.11; "" = cannot be told
    folders: tuple[str, ...] = ()  # that hold distributions, as Python would search them
    skipped: tuple[Skipped, ...] = ()  # lines of .pth files that run code when Python starts
    conda: bool = False  # its packages are listed in conda-meta

    @property
    def option(self) -> tuple[str, ...]:
        """The options that name it on the command line; none for the active one."""
        _, _, named = self.why.partition("named with ")
        if named in ("--site-packages", "--path"):
            return tuple(word for folder in self.folders for word in (named, folder))
        return ("--prefix", self.prefix) if named else ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said about where to look."""

    pythons: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # further directories of distributions
    local: bool = False  # only the environment's own, not what it shares with the Python below it


def environments(asked: Asked, environ: Mapping[str, str]) -> tuple[Environment, ...]:
    """Every environment that was named; else the active one; else the Python that archscan runs on."""
    found = [_of_python(name, "named with --python", asked, environ) for name in asked.pythons]
    found += [_of_prefix(Path(name), "named with --prefix", asked, environ) for name in asked.prefixes]
    if asked.sites:
        found.append(_of_folders(asked.sites, "named with --site-packages"))
    if not found:
        found = [_active(asked, environ)] if not asked.paths else [_of_folders((), "named with --path")]
    return tuple(_with(one, asked.paths) for one in found)


def _active(asked: Asked, environ: Mapping[str, str]) -> Environment:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = environ.get(variable)
        if prefix:
            if not Path(prefix).is_dir():
                hint = f"leave it (deactivate, unset {variable}), or name one with --prefix"
                raise UserError(f"{variable} names {prefix}, which is no directory", hint)
            found = _of_prefix(Path(prefix), f"the active {variable}", asked, environ)
            return _with(found, _python_path(environ), first=True)
    why = "archscan's own Python: no VIRTUAL_ENV or CONDA_PREFIX is active"
    return _with(_of_python(sys.executable, why, asked, environ), _python_path(environ), first=True)


def _python_path(environ: Mapping[str, str]) -> list[str]:
    """The directories of PYTHONPATH that hold distributions."""
    named = [part for part in environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(part)]
    return [part for part in named if any(name.endswith(_METADATA) for name in _names(Path(part)))]


def _with(found: Environment, paths: Sequence[str], first: bool = False) -> Environment:
    """The environment with further directories, before its own or behind them."""
    for path in paths:
        if not Path(path).is_dir():
            raise UserError(f"--path {path}: no such directory", "name a directory that holds distributions")
    further = tuple(map(os.path.abspath, paths))
    folders = (*further, *found.folders) if first else (*found.folders, *further)
    return replace(found, folders=tuple(dict.fromkeys(folders)))


def _of_folders(folders: Sequence[str], why: str) -> Environment:
    """Directories of distributions by themselves: those of `pip install --target` too."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise UserError(
                f"--site-packages {folder}: no such directory", "name a directory such as .../site-packages"
            )
    absolute = [Path(os.path.abspath(folder)) for folder in folders]
    version = next((match[1] for folder in absolute if (match := re.search(r"python(\d+\.\d+)", str(folder)))), "")
    expanded, skipped = _followed(absolute)
    return Environment(str(absolute[0]) if absolute else "", why, version, expanded, skipped)


def _of_python(name: str, why: str, asked: Asked, environ: Mapping[str, str]) -> Environment:
    """The environment of an interpreter, by where it lies and what it links to."""
    given = Path(name)
    if os.sep not in name and not given.exists():
        given = next((Path(d, name) for d in search_path() if Path(d, name).is_file()), given)
    if given.is_dir():
        return _of_prefix(given, why, asked, environ)
    if not given.is_file():
        raise UserError(f"--python {name}: no such file", "name an interpreter, or a directory with --prefix")
    path = Path(os.path.abspath(given))
    if _head(path).startswith(b"#!"):  # a shim of pyenv or asdf starts the real one
        raise UserError(
            f"--python {name}: a script, not an interpreter", "name what it starts, such as `pyenv which python`"
        )
    for prefix in (path.parent.parent, path.parent):
        if (prefix / "pyvenv.cfg").is_file():
            return _of_prefix(prefix, why, asked, environ)
    real = Path(os.path.realpath(path))
    version = re.search(r"python(\d+\.\d+)", real.name)
    prefix = real.parent if (real.parent / "Lib").is_dir() else real.parent.parent
    return _of_prefix(prefix, why, asked, environ, version[1] if version else "")


def _of_prefix(prefix: Path, why: str, asked: Asked, environ: Mapping[str, str], version: str = "") -> Environment:
    if not prefix.is_dir():
        raise UserError(f"{prefix}: no such directory", "name the directory of a virtual or conda environment")
    prefix = Path(os.path.abspath(prefix))
    config = _config(prefix / "pyvenv.cfg")
    version = version or ".".join(config.get("version_info", config.get("version", "")).split(".")[:2])
    folders = _sites(prefix, version)
    if not folders and prefix.name in _SITES:
        return _of_folders((str(prefix),), why)
    if not folders:
        raise UserError(
            f"{prefix}: no Python environment", "it has no lib/python3.*/site-packages; --site-packages names one"
        )
    if not version:
        versions = sorted({match[1] for f in folders if (match := re.search(r"python(3\.\d+)", str(f)))})
        version = ", ".join(versions)
    shared = config.get("include-system-site-packages", "false").lower() == "true" if config else True
    if shared and not asked.local:
        base = Path(config["home"]).parent if config.get("home") else prefix
        user = _user_site(version, environ)  # before the Python that it is for, behind an environment of its own
        folders = [*folders, *user, *_sites(base, version)] if base != prefix else [*user, *folders]
    expanded, skipped = _followed(folders)
    return Environment(str(prefix), why, version, expanded, skipped, (prefix / "conda-meta").is_dir())


def _sites(prefix: Path, version: str) -> list[Path]:
    """The directories of distributions below a prefix: of one version, if it is known."""
    name = f"python{version}" if re.fullmatch(r"\d+\.\d+", version) else "python3.*"
    found: list[Path] = []
    for library in ("local/lib", "lib", "lib64", "Lib"):
        for site in _SITES:
            found += [*sorted((prefix / library).glob(f"{name}/{site}")), prefix / library / site]
            found += [prefix / library / "python3" / site]
    real: dict[str, Path] = {}  # lib64 is a link to lib
    for folder in found:
        if folder.is_dir():
            real.setdefault(os.path.realpath(folder), folder)
    return list(real.values())


def _user_site(version: str, environ: Mapping[str, str]) -> list[Path]:
    """The packages that a user installed for himself, as far as Python takes them in."""
    if environ.get("PYTHONNOUSERSITE"):
        return []
    base = Path(environ.get("PYTHONUSERBASE") or "~/.local").expanduser()
    return [folder for folder in sorted(base.glob(f"lib/python{version}/site-packages")) if folder.is_dir()]


def _followed(folders: Iterable[Path]) -> tuple[tuple[str, ...], tuple[Skipped, ...]]:
    """The directories, with those that their .pth files add; lines that would run code are only told."""
    found: dict[str, None] = {}
    skipped: list[Skipped] = []
    for folder in folders:
        found[str(folder)] = None
        for name in sorted(n for n in _names(folder) if n.endswith(".pth")):
            for line in _lines(folder / name):
                if _IMPORT.match(line):
                    why = "runs code when Python starts, which was not followed"
                    skipped.append(Skipped(str(folder / name), why))
                    continue
                added = Path(os.path.abspath(folder / line))
                if added.is_dir():
                    found[str(added)] = None
    return tuple(found), tuple(skipped)


def _lines(path: Path) -> Iterator[str]:
    try:
        text = small_file(path, _MOST_PTH).decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    except OSError:
        return
    for line in text.splitlines():
        if line.strip() and not line.startswith("#") and "\0" not in line:
            yield line.rstrip()


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # names: there may be thousands
    except OSError:
        return []


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(2)
    except OSError:
        return b""


def _config(path: Path) -> dict[str, str]:
    """The keys of a pyvenv.cfg; empty where there is none."""
    try:
        text = small_file(path, _MOST_PTH).decode("utf-8", "replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}
