"""Settings: one table of them, read from `[tool.archscan]`, overridden by the command line, each with its origin."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archscan.errors import UserError
from archscan.model.settings import JudgeSettings, ScanSettings

LEVELS = ("blocked", "high", "medium", "low", "info")
PROBLEMS = ("excluded", "over-admitted", "disagrees")
LAYERS = ("python", "jit", "build", "host", "preprocessor", "device", "binary")

Value = str | int | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of `[tool.archscan]`. Its kind: text, number, flag, list, path or paths (relative to the config file)."""

    key: str
    kind: str
    default: Value
    says: str
    choices: tuple[str, ...] = ()


SETTINGS: tuple[Setting, ...] = (
    Setting("target", "text", None, "the GPU to answer for"),
    Setting("against", "list", (), "the GPUs it is judged against"),
    Setting("cuda", "text", "13.0", "CUDA toolkit assumed"),
    Setting("define", "list", (), "macros and environment variables that are set: NAME or NAME=VALUE"),
    Setting("undefine", "list", (), "macros and environment variables that are not set"),
    Setting("exclude", "list", (), "paths to leave out, in the syntax of .gitignore"),
    Setting("include-vendored", "flag", False, "report copies of other projects as well"),
    Setting("include-tests", "flag", False, "report tests as well"),
    Setting("include-leave", "flag", False, "show findings that are right as they are"),
    Setting("problem", "list", (), "report these problems only", PROBLEMS),
    Setting("layer", "list", (), "read and report these layers only", LAYERS),
    Setting("rule", "list", (), "report these rules only"),
    Setting("min-risk", "text", "info", "report nothing below this level", LEVELS),
    Setting("fail-on", "text", "low", "exit with 1 from this level on", (*LEVELS, "never")),
    Setting("baseline", "path", None, "file of findings that are known and not reported"),
    Setting("rules", "paths", (), "directories with further rules and facts"),
    Setting("evidence", "paths", (), "files with evidence of your own"),
    Setting("context", "list", (), "what your machine is like: evidence with these conditions weighs more"),
    Setting("sarif-root", "path", None, "directory that paths in SARIF are relative to"),
    Setting("sarif-suppressed", "flag", False, "put suppressed findings into SARIF"),
    Setting("cache", "flag", True, "keep what was read in the user's cache directory"),
    Setting("jobs", "number", 0, "processes to read with (0: one per core)"),
)
BY_KEY = {setting.key: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Entry:
    """The effective value of a setting, and where it came from: default, command line, or a file."""

    setting: Setting
    value: Value
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run, merged."""

    entries: tuple[Entry, ...]
    file: str | None = None

    def __getitem__(self, key: str) -> Any:
        return next(e.value for e in self.entries if e.setting.key == key)

    def origin(self, key: str) -> str:
        """Where the value of `key` came from."""
        return next(e.origin for e in self.entries if e.setting.key == key)

    def scan(self) -> ScanSettings:
        """The part that changes what is read."""
        return ScanSettings(
            cuda=self["cuda"],
            defines=tuple(_definition(text) for text in self["define"]),
            undefines=self["undefine"],
            layers=frozenset(self["layer"]),
            include_vendored=self["include-vendored"],
            exclude=self["exclude"],
            jobs=self["jobs"],
            use_cache=self["cache"],
        )

    def judge(self, focus: tuple[str, ...] = ()) -> JudgeSettings:
        """The part that changes what is reported; `focus` limits it to what touches these paths."""
        return JudgeSettings(
            problems=frozenset(self["problem"]),
            layers=frozenset(self["layer"]),
            rules=frozenset(self["rule"]),
            min_risk=self["min-risk"],
            include_leave=self["include-leave"],
            include_vendored=self["include-vendored"],
            include_tests=self["include-tests"],
            context=self["context"],
            evidence_files=self["evidence"],
            focus=focus,
        )


def _definition(text: str) -> tuple[str, str]:
    """`NAME=VALUE` split; a bare NAME has the value 1, as for a compiler."""
    name, equals, value = text.partition("=")
    if not name.strip():
        raise UserError(f"-D {text!r} names nothing", "write -D NAME or -D NAME=VALUE")
    return name.strip(), value if equals else "1"


def merged(
    given: Mapping[str, Value], paths: Sequence[str], file: str | None = None, isolated: bool = False
) -> Settings:
    """The command line over the config file over the defaults.

    `given` holds what the command line said (None = nothing). The file is the nearest one above the first path,
    else above the current directory; `file` names it, `isolated` reads none.
    """
    found = None if isolated else (Path(file) if file else nearest(paths))
    table = read_table(found) if found else {}
    shown = str(found) if found else None
    entries = []
    for setting in SETTINGS:
        said = given.get(setting.key)
        if said is not None and said != ():
            entries.append(Entry(setting, _checked(setting, said, "the command line"), "command line"))
        elif found and setting.key in table:
            value = _rooted(setting, _checked(setting, table[setting.key], str(found)), found.parent)
            entries.append(Entry(setting, value, str(shown)))
        else:
            entries.append(Entry(setting, setting.default, "default"))
    return Settings(tuple(entries), shown)


def nearest(paths: Sequence[str]) -> Path | None:
    """The nearest `archscan.toml`, or `pyproject.toml` with a `[tool.archscan]`, above the first path or here."""
    starts = [Path(p) for p in paths[:1] if p != "-"] + [Path()]
    for start in starts:
        for directory in _upwards(start):
            for name in ("archscan.toml", "pyproject.toml"):
                if _speaks_of_us(directory / name):
                    return _shorter(directory / name)
    return None


def _upwards(start: Path) -> list[Path]:
    absolute = Path(start).absolute()
    return [absolute, *absolute.parents] if absolute.is_dir() else list(absolute.parents)


def _shorter(path: Path) -> Path:
    """`path` relative to the current directory where that is shorter to read."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def _speaks_of_us(path: Path) -> bool:
    """Whether the file is ours: by name, or by its table (a broken file that does not name us is not our business)."""
    try:
        if path.name == "archscan.toml":
            return path.is_file()
        return path.is_file() and b"archscan" in path.read_bytes() and _has_table(path)
    except OSError:
        return False


def _has_table(path: Path) -> bool:
    try:
        document = _parse(path)
    except UserError:
        return b"[tool.archscan" in path.read_bytes()
    tool = document.get("tool")
    return isinstance(tool, dict) and "archscan" in tool


def read_table(path: Path) -> dict[str, Any]:
    """The table of a config file, its keys known; UserError for a file that cannot be read, or an unknown key."""
    document = _parse(path)
    tool = document.get("tool", {})
    table = tool.get("archscan", {}) if path.name == "pyproject.toml" and isinstance(tool, dict) else document
    if not isinstance(table, dict):
        raise UserError(f"{path}: tool.archscan is not a table", "write [tool.archscan] above your settings")
    for key in table:
        if key not in BY_KEY:
            hint = nearest_hint(key, BY_KEY, "`archscan config` lists them")
            raise UserError(f"{path}: unknown setting '{key}'", hint)
    return table


def _parse(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}", "correct it, or pass --isolated to ignore it") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "check the name and its permissions") from error


def nearest_hint(word: str, known: object, otherwise: str) -> str:
    """`did you mean '...'?` with the nearest known word, else `otherwise`."""
    close = difflib.get_close_matches(word.replace("_", "-"), list(known), n=1)  # type: ignore[call-overload]
    return f"did you mean '{close[0]}'?" if close else otherwise


def _checked(setting: Setting, value: object, where: str) -> Value:
    """The value in its type, or a UserError that says what was expected."""
    expected = {"text": str, "path": str, "number": int, "flag": bool}.get(setting.kind, (list, tuple, str))
    if not isinstance(value, expected) or (setting.kind == "number" and isinstance(value, bool)):
        kind = {"flag": "true or false", "number": "a number", "text": "text", "path": "a path"}
        raise UserError(f"{where}: '{setting.key}' must be {kind.get(setting.kind, 'a list of text')}", setting.says)
    if setting.kind in ("list", "paths"):
        value = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
        if not all(isinstance(item, str) for item in value):
            raise UserError(f"{where}: '{setting.key}' must be a list of text", setting.says)
    for item in value if isinstance(value, tuple) else (value,):
        if setting.choices and item not in setting.choices:
            hint = nearest_hint(str(item), setting.choices, "one of: " + ", ".join(setting.choices))
            raise UserError(f"{where}: '{setting.key}' cannot be '{item}'", hint)
    return value  # type: ignore[return-value]


def _rooted(setting: Setting, value: Value, directory: Path) -> Value:
    """Paths of a config file are relative to it."""
    if setting.kind == "path" and isinstance(value, str):
        return str(directory / value)
    if setting.kind == "paths" and isinstance(value, tuple):
        return tuple(str(directory / item) for item in value)
    return value
