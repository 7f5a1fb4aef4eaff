"""Which names in C++ mean a compute capability, a check or a failure: by their words, never by package."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache


class Seed(str, Enum):
    """What a name that nobody defined stands for."""

    CAPABILITY = "capability"  # 9, 90 or 900: the constant it meets decides
    MAJOR = "major"
    MINOR = "minor"


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CARRIERS = frozenset({"sm", "cc", "arch", "capability", "capabilities"})
_COMPANIONS = frozenset(
    [
        "compute",
        "ptx",
        "cap",
        "capacity",
        "version",
        "ver",
        "cuda",
        "gpu",
        "device",
        "dev",
        "current",
        "cur",
        "runtime",
        "actual",
        "hw",
        "value",
        "id",
        "number",
        "int",
    ]
)
_PHRASES = (frozenset({"compute", "cap"}), frozenset({"compute", "capacity"}), frozenset({"ptx", "version"}))
_VERBS = frozenset(["get", "query", "read", "fetch", "cached", "find", "detect", "cu"])
_PARTS = frozenset({"major", "minor"})


@cache
def words(name: str) -> tuple[str, ...]:
    """The lower-case words of a snake_case, camelCase or kConstant name, without member prefixes."""
    plain = re.sub(r"^(?:m_|g_|s_)|_+$", "", name)
    plain = re.sub(r"^[mk](?=[A-Z])", "", plain)
    return tuple(w.lower() for w in _WORD.findall(plain))


@cache
def seed_of(name: str, call: bool = False) -> Seed | None:
    """What a variable (or, with `call`, a function) of that name stands for; None for anything else."""
    found = words(name)
    if {"version", "ver", "major", "minor"} & set(found):  # version_num; but num_sm counts
        found = tuple(w for w in found if w != "num")
    vocabulary = _CARRIERS | _COMPANIONS | _PARTS | (_VERBS if call else frozenset())
    if not found or not set(found) <= vocabulary:
        return None
    carries = bool(_CARRIERS & set(found)) or any(phrase <= set(found) for phrase in _PHRASES)
    if "major" in found:
        return Seed.MAJOR if carries or not {"version", "ver", "runtime", "cuda"} & set(found) else None
    if "minor" in found:
        return Seed.MINOR if carries or not {"version", "ver", "runtime", "cuda"} & set(found) else None
    return Seed.CAPABILITY if carries else None


_VERSIONED = frozenset(
    [
        "version",
        "ver",
        "header",
        "driver",
        "runtime",
        "library",
        "format",
        "file",
        "model",
        "protocol",
        "package",
        "api",
    ]
)


@cache
def has_version(type_: str) -> bool:
    """Whether a type has the major and minor number of a version, by its name."""
    return bool(_VERSIONED & set(words(type_)))


@cache
def is_of_version(function: str) -> bool:
    """Whether a function is about the version of something else: its major and minor number are no capability."""
    found = set(words(function))
    return bool({"version", "ver"} & found) and not found & (_CARRIERS | {"compute", "device", "gpu"})


_ASKS = frozenset(
    ("is", "has", "can", "support", "supports", "supported", "use", "enable", "enabled", "available", "check")
)
_FAMILIES = frozenset(["volta", "turing", "ampere", "ada", "lovelace", "hopper", "blackwell", "rubin", "pascal"])


@cache
def carries_capability(name: str) -> bool:
    """Whether a name speaks of a capability among other words: highest_compiled_arch."""
    found = set(words(name))
    return bool(_CARRIERS & found) and not found & _ASKS


@cache
def speaks_of_architecture(name: str) -> bool:
    """Whether a function's name says that it may answer for an architecture: is_hopper, supports_sm90, can_overlap."""
    found = set(words(name))
    return bool(found & (_CARRIERS | _FAMILIES | _ASKS | {"major", "device", "gpu", "pdl"}))


def is_member(name: str) -> bool:
    """Whether a name follows a convention for members: mName, m_name, name_."""
    return name.endswith("_") or name.startswith("m_") or (len(name) > 1 and name[0] == "m" and name[1].isupper())


_CHECK = re.compile(
    r"^(?:[A-Z0-9_]*(?:CHECK|ASSERT|REQUIRE|ENFORCE|EXPECT|VERIFY|VALIDATE)[A-Z0-9_]*|assert|static_assert)$"
)
_CAMEL_CHECK = re.compile(r"^(?:Runtime|Host|Device)?(?:Check|Assert|Require|Enforce)[A-Za-z]*$")
_OPERATORS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}
_FAILURE = re.compile(
    rb"\b(?:[A-Z0-9_]*(?:_ERROR|THROW|_FAIL|FATAL|PANIC|ABORT|NOT_IMPLEMENTED|UNREACHABLE|INVALID_CONTROL_PATH)[A-Z0-9_]*"
    rb"|LOG\s*\(\s*D?FATAL\s*\)|exit|abort|terminate|throw_\w+|ThrowError\w*)\s*(?:\(|;|<<)"
)


@cache
def is_check(name: str) -> bool:
    """Whether a call of that name refuses when its first argument (or comparison) fails."""
    return bool(_CHECK.match(name) or _CAMEL_CHECK.match(name)) or fails_when_true(name)


_FAILS_IF = re.compile(r"^[A-Z0-9_]*(?:ERROR|FAIL|THROW|ABORT|FATAL|PANIC|RAISE|REJECT)[A-Z0-9_]*_(?:IF|WHEN)$")


@cache
def fails_when_true(name: str) -> bool:
    """Whether a macro of that name refuses when its first argument holds: RETURN_ERROR_IF, THROW_IF."""
    return _FAILS_IF.match(name) is not None


@cache
def check_operator(name: str) -> str:
    """The comparison a check makes of its first two arguments: `>=` for ICHECK_GE; "" for none."""
    return _OPERATORS.get(name.rpartition("_")[2], "")


def failure(code: bytes) -> re.Match[bytes] | None:
    """The first call in the code that never returns: an error macro, exit, abort."""
    return _FAILURE.search(code)
