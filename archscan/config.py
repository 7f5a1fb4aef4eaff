"""Settings: one table of them, read from `[tool.archscan]`, overridden by the command line, each with its origin."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archscan.bounded import small_file
from archscan.documents import MAX_TOML, toml
from archscan.errors import UserError
from archscan.model.settings import JudgeSettings, ScanSettings

LEVELS = ("blocked", "high", "medium", "low", "info")
SEVERITIES = ("high", "medium", "low", "info")
ADVICE = (
    *("leave", "widen-safe", "widen-needs-tuning", "widen-perf-risk", "widen-unsafe-compile", "widen-unsafe-runtime"),
    *("narrow", "pair", "contested", "investigate"),
)
PROBLEMS = ("excluded", "over-admitted", "disagrees")
LAYERS = ("python", "jit", "build", "host", "preprocessor", "device", "binary")

Value = str | int | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a value, and what would help: the nearest one that is valid."""

    what: str
    hint: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of `[tool.archscan]`. Its kind: text, number, flag, list, path or paths (relative to the config file).

    A table is kept as a list of `PATTERN:RULE,RULE`, which is how the command line writes it.
    """

    key: str
    kind: str
    default: Value
    says: str
    choices: tuple[str, ...] = ()
    check: Callable[[str], Wrong | None] = lambda value: None  # what is wrong with one value that has the right type


_LAST_MINOR = {8: 0, 9: 2, 10: 2, 11: 8, 12: 9}  # releases of CUDA toolkits; newer ones still come
_NEWEST_MAJOR = 19
_MOST_JOBS = 1024


def _toolkit(text: str) -> Wrong | None:
    """A toolkit is a release: 13.0, or 13 for it."""
    release = re.fullmatch(r"(\d{1,2})(?:\.(\d))?", text)
    major, minor = (int(release[1]), int(release[2] or 0)) if release is not None else (0, 0)
    if min(_LAST_MINOR) <= major <= _NEWEST_MAJOR and minor <= _LAST_MINOR.get(major, 9):
        return None
    known = [f"{major}.{minor}" for major, last in _LAST_MINOR.items() for minor in range(last + 1)]
    known += [f"13.{minor}" for minor in range(5)]
    digits = re.findall(r"\d+", text)
    guesses = [".".join(digits[:2]), f"{text[:2]}.0", f"{text[:2]}.{text[2:3]}"]
    near = [guess for guess in guesses if guess in known] or difflib.get_close_matches(text, known, n=1, cutoff=0.5)
    return Wrong("no CUDA toolkit", f"did you mean '{near[0]}'?" if near else "write a release, such as 13.0")


def _define(text: str) -> Wrong | None:
    """NAME or NAME=VALUE."""
    name, equals, value = text.partition("=")
    return _name(name, "-D", equals + value)


def _undefine(text: str) -> Wrong | None:
    return _name(text, "-U", "")


def _name(name: str, option: str, rest: str) -> Wrong | None:
    """What is wrong with the name of a macro or variable; CMake's `NAME:TYPE=VALUE` has its type left out."""
    name = name.strip()
    if name.isidentifier():
        return None
    near = re.sub(r"\W+", "_", re.split(r"[:=(]", name)[0]).lstrip("0123456789").strip("_")
    hint = (
        f"did you mean '{option} {near}{rest}'?" if near.isidentifier() else "write -D NAME or -D NAME=VALUE, -U NAME"
    )
    return Wrong("no name of a macro or variable" if name else "names nothing", hint)


def _pattern(text: str) -> Wrong | None:
    """A pattern that can match something."""
    from archscan.sources.patterns import malformed

    why = malformed(text)
    escaped = re.sub(r"(?<!\\)\[", r"\\[", text).rstrip("\\")
    hint = f"did you mean '{escaped}'?" if escaped.strip("/!") and not malformed(escaped) else "see gitignore(5)"
    return Wrong(f"matches nothing: {why}", hint) if why else None


SETTINGS: tuple[Setting, ...] = (
    Setting("target", "text", None, "the GPU to answer for"),
    Setting("against", "list", (), "the GPUs it is judged against"),
    Setting("cuda", "text", "13.0", "CUDA toolkit assumed", check=_toolkit),
    Setting("define", "list", (), "macros and environment variables that are set: NAME or NAME=VALUE", check=_define),
    Setting("undefine", "list", (), "macros and environment variables that are not set", check=_undefine),
    Setting("exclude", "list", (), "paths to leave out, in the syntax of .gitignore", check=_pattern),
    Setting("include-vendored", "flag", False, "report copies of other projects as well"),
    Setting("include-tests", "flag", False, "report tests as well"),
    Setting("include-leave", "flag", False, "show findings that are right as they are"),
    Setting("problem", "list", (), "report these problems only", PROBLEMS),
    Setting("layer", "list", (), "read and report these layers only", LAYERS),
    Setting("rule", "list", (), "report these rules only; missing-* names all that begin so"),
    Setting("ignore", "list", (), "do not report these rules"),
    Setting("per-file-ignores", "table", (), "rules not to report by path pattern: PATTERN = [RULES]"),
    Setting("advice", "list", (), "report findings with this advice only, also those that are only counted", ADVICE),
    Setting("min-severity", "text", "info", "report nothing that is less bad today", SEVERITIES),
    Setting("min-risk", "text", "info", "report nothing that is less risky to open", LEVELS),
    Setting("fail-on", "text", "low", "exit with 1 from this severity on", (*LEVELS, "never")),
    Setting("baseline", "path", None, "file of findings that are known and not reported"),
    Setting("rules", "paths", (), "directories with further rules and facts"),
    Setting("evidence", "paths", (), "files with evidence of your own"),
    Setting("context", "list", (), "what your machine is like: evidence with these conditions weighs more"),
    Setting("sarif-root", "path", None, "directory that paths in SARIF are relative to"),
    Setting("sarif-suppressed", "flag", False, "put suppressed findings into SARIF"),
    Setting("cache", "flag", True, "keep what was read in the user's cache directory"),
    Setting("cache-dir", "path", None, "directory to keep it in"),
    Setting("stdin-filename", "text", None, "what standard input is called"),
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
    notes: tuple[str, ...] = ()  # what the user should know of how they were found

    def __getitem__(self, key: str) -> Any:
        return next(e.value for e in self.entries if e.setting.key == key)

    def origin(self, key: str) -> str:
        """Where the value of `key` came from."""
        return next(e.origin for e in self.entries if e.setting.key == key)

    def scan(self) -> ScanSettings:
        """The part that changes what is read."""
        return ScanSettings(
            cuda=self["cuda"] if "." in self["cuda"] else f"{self['cuda']}.0",
            defines=tuple(_definition(text) for text in self["define"]),
            undefines=tuple(name.strip() for name in self["undefine"]),
            layers=frozenset(self["layer"]),
            include_vendored=self["include-vendored"],
            exclude=self["exclude"],
            jobs=self["jobs"],
            use_cache=self["cache"],
            stdin_name=self["stdin-filename"] or "",
        )

    def judge(self, focus: tuple[str, ...] = ()) -> JudgeSettings:
        """The part that changes what is reported; `focus` limits it to what touches these paths."""
        return JudgeSettings(
            problems=frozenset(self["problem"]),
            layers=frozenset(self["layer"]),
            rules=frozenset(self["rule"]),
            min_risk=self["min-risk"],
            min_severity=self["min-severity"],
            advice=frozenset(self["advice"]),
            include_leave=self["include-leave"],
            include_vendored=self["include-vendored"],
            include_tests=self["include-tests"],
            context=self["context"],
            focus=focus,
        )


def _definition(text: str) -> tuple[str, str]:
    """`NAME=VALUE` split; a bare NAME has the value 1, as for a compiler."""
    name, equals, value = text.partition("=")
    return name.strip(), value if equals else "1"


def merged(
    given: Mapping[str, Value], paths: Sequence[str], file: str | None = None, isolated: bool = False
) -> Settings:
    """The command line over the config file over the defaults.

    `given` holds what the command line said (None = nothing). The file is the nearest one above the first path,
    else above the current directory; `file` names it, `isolated` reads none.
    """
    nearest_file, notes = (None, ()) if isolated or file is not None else _search(paths)
    found = None if isolated else (Path(file) if file is not None else nearest_file)
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
    return Settings(tuple(entries), shown, notes)


def nearest(paths: Sequence[str]) -> Path | None:
    """The nearest `archscan.toml`, or `pyproject.toml` with a `[tool.archscan]`, above the first path or here."""
    return _search(paths)[0]


def _search(paths: Sequence[str]) -> tuple[Path | None, tuple[str, ...]]:
    """The nearest config file, and notes on nearer ones that cannot be looked into."""
    notes: dict[str, None] = {}
    starts = [Path(p) for p in paths[:1] if p != "-"] + [Path()]
    for start in starts:
        for directory in _upwards(start):
            if os.path.lexists(directory / "archscan.toml"):
                return _shorter(directory / "archscan.toml"), tuple(notes)
            path = directory / "pyproject.toml"
            try:
                if _speaks_of_us(small_file(path, MAX_TOML)):
                    return _shorter(path), tuple(notes)
            except FileNotFoundError:
                continue
            except OSError as error:
                notes[f"no settings are read from {_shorter(path)}: {error.strerror}"] = None
    return None, tuple(notes)


def _upwards(start: Path) -> list[Path]:
    absolute = Path(start).absolute()
    return [absolute, *absolute.parents] if absolute.is_dir() else list(absolute.parents)


def _shorter(path: Path) -> Path:
    """`path` relative to the current directory where that is shorter to read."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def _speaks_of_us(data: bytes) -> bool:
    """Whether a pyproject.toml has our table; a broken one that does not name it is not our business."""
    if b"archscan" not in data:
        return False
    try:
        tool = toml(data).get("tool")
    except ValueError:
        return b"[tool.archscan" in data
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
    try:
        return toml(small_file(path, MAX_TOML))
    except ValueError as error:
        raise UserError(f"{path} is not valid TOML: {error}", "correct it, or pass --isolated to ignore it") from error
    except OSError as error:
        hint = "check the name and its permissions, or pass --isolated to read no config file"
        raise UserError(f"cannot read {path}: {error.strerror}", hint) from error


def nearest_hint(word: str, known: object, otherwise: str) -> str:
    """`did you mean '...'?` with the nearest known word, else `otherwise`."""
    close = difflib.get_close_matches(word.replace("_", "-"), list(known), n=1)  # type: ignore[call-overload]
    return f"did you mean '{close[0]}'?" if close else otherwise


def _checked(setting: Setting, value: object, where: str) -> Value:
    """The value in its type, or a UserError that says what was expected."""
    if setting.kind == "table":
        value = _rows(setting, value, where)
    expected = {"text": str, "path": str, "number": int, "flag": bool}.get(setting.kind, (list, tuple, str))
    if not isinstance(value, expected) or (setting.kind == "number" and isinstance(value, bool)):
        kind = {"flag": "true or false", "number": "a number", "text": "text", "path": "a path"}
        raise UserError(f"{where}: '{setting.key}' must be {kind.get(setting.kind, 'a list of text')}", setting.says)
    if setting.kind in ("list", "paths", "table"):
        value = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
        if not all(isinstance(item, str) for item in value):
            raise UserError(f"{where}: '{setting.key}' must be a list of text", setting.says)
    for item in value if isinstance(value, tuple) else (value,):
        if setting.choices and item not in setting.choices:
            hint = nearest_hint(str(item), setting.choices, "one of: " + ", ".join(setting.choices))
            raise UserError(f"{where}: '{setting.key}' cannot be '{item}'", hint)
        if isinstance(item, str) and (wrong := _wrong(setting, item)) is not None:
            raise UserError(f"{where}: '{setting.key}' cannot be '{item}': {wrong.what}", wrong.hint)
    if setting.kind == "number" and not 0 <= int(value) <= _MOST_JOBS:  # type: ignore[call-overload]
        near = min(max(int(value), 0), _MOST_JOBS)  # type: ignore[call-overload]
        raise UserError(f"{where}: '{setting.key}' cannot be {value}", f"did you mean {near}? {setting.says}")
    return value  # type: ignore[return-value]


def _rows(setting: Setting, value: object, where: str) -> object:
    """A table of patterns and rules as a list of `PATTERN:RULE,RULE`; anything else as it is."""
    rows = value
    if isinstance(value, dict):
        if not all(isinstance(v, list) and all(isinstance(name, str) for name in v) for v in value.values()):
            raise UserError(f"{where}: '{setting.key}' must name lists of rules", 'write "tests/" = ["missing-*"]')
        rows = tuple(f"{pattern}:{','.join(names)}" for pattern, names in value.items())
    for row in (rows,) if isinstance(rows, str) else rows if isinstance(rows, list | tuple) else ():
        if isinstance(row, str) and not all(row.rpartition(":")[::2]):
            raise UserError(f"{where}: '{setting.key}' cannot be '{row}'", "write PATTERN:RULE or PATTERN:RULE,RULE")
    return rows


def _wrong(setting: Setting, item: str) -> Wrong | None:
    """What is wrong with one text, if anything is."""
    if not item.strip():
        return Wrong("it is empty", setting.says)
    if "\0" in item:
        return Wrong("it holds a null byte", setting.says)
    return setting.check(item)


def _rooted(setting: Setting, value: Value, directory: Path) -> Value:
    """Paths of a config file are relative to it."""
    if setting.kind == "path" and isinstance(value, str):
        return str(directory / value)
    if setting.kind == "paths" and isinstance(value, tuple):
        return tuple(str(directory / item) for item in value)
    return value
