"""Which names in C++ mean a compute capability, a check or a failure: by their words, never by package."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from itertools import pairwise

from archscan.catalog.effects import effects
from archscan.catalog.names import names


class Seed(str, Enum):
    """What a name that nobody defined stands for."""

    CAPABILITY = "capability"  # 9, 90 or 900: the constant it meets decides
    MAJOR = "major"
    MINOR = "minor"


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@cache
def _of(*sections: str) -> frozenset[str]:
    """The words of some sections of the vocabulary."""
    return frozenset(word for section in sections for word in names()[section])


@cache
def _phrases() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(phrase.split()) for phrase in names()["phrases"])


@cache
def stems() -> tuple[str, ...]:
    """Words of which every name that carries a capability, or asks for a chip, has one."""
    phrases = (phrase.split()[0] for phrase in names()["phrases"])
    return tuple(sorted({*_of("capability", "parts", "chips"), *phrases}))


@cache
def words(name: str) -> tuple[str, ...]:
    """The lower-case words of a snake_case, camelCase or kConstant name, without member prefixes."""
    plain = re.sub(r"^(?:m_|g_|s_)|_+$", "", name)
    plain = re.sub(r"^[mk](?=[A-Z])", "", plain)
    return tuple(w.lower() for w in _WORD.findall(plain))


@cache
def convention_of(name: str, call: bool = False) -> Seed | None:
    """What a variable (or, with `call`, a function) of that name stands for; None for anything else."""
    found = words(name)
    if not _of("numbered").isdisjoint(found):
        found = tuple(word for word in found if word != "num")
    vocabulary = _of("capability", "parts", "beside", "getters") if call else _of("capability", "parts", "beside")
    if not found or not vocabulary.issuperset(found):
        return None
    carries = not _of("capability").isdisjoint(found) or any(phrase.issubset(found) for phrase in _phrases())
    part = next((part for part in names()["parts"] if part in found), None)
    if part is not None:
        return Seed(part) if carries or _of("software").isdisjoint(found) else None
    return Seed.CAPABILITY if carries else None


@cache
def has_version(type_: str) -> bool:
    """Whether a type has the major and minor number of a version, by its name."""
    return not _of("versioned").isdisjoint(words(type_))


@cache
def is_of_version(function: str) -> bool:
    """Whether a function is about the version of something else: its major and minor number are no capability."""
    found = words(function)
    return bool({"version", "ver"} & set(found)) and _of("capability", "about").isdisjoint(found)


@cache
def carries_capability(name: str) -> bool:
    """Whether a name speaks of a capability among other words: highest_compiled_arch."""
    found = words(name)
    return not _of("capability").isdisjoint(found) and _of("asks").isdisjoint(found)


@cache
def speaks_of_architecture(name: str) -> bool:
    """Whether a function's name says that it may answer for an architecture: is_hopper, supports_sm90, can_overlap."""
    return not _of("capability", "chips", "asks", "answers").isdisjoint(words(name))


@cache
def asks_for_attribute(name: str) -> bool:
    """Whether a constant names the attribute of a device that is its capability: cudaDevAttrComputeCapabilityMajor."""
    found = words(name)
    return not _of("capability").isdisjoint(found) and not _of("attributes").isdisjoint(found)


@cache
def asks_for_chip(name: str) -> bool:
    """Whether a function or flag asks for a chip that its name names: is_sm90, supportsBlackwell, on_hopper."""
    found = words(name)
    numbered = any(word == "sm" and number.isdigit() for word, number in pairwise(found))
    named = numbered or not _of("chips", "capability", "parts").isdisjoint(found)
    return named and not _of("asks", "places").isdisjoint(found)


def is_member(name: str) -> bool:
    """Whether a name follows a convention for members: mName, m_name, name_."""
    return name.endswith("_") or name.startswith("m_") or (len(name) > 1 and name[0] == "m" and name[1].isupper())


@cache
def _check() -> re.Pattern[str]:
    """CUDA_CHECK_EQ and its kind, CheckArch, assert."""
    words = sorted(effects().sections["checking"])
    loud, camel = "|".join(words).upper(), "|".join(word.capitalize() for word in words)
    return re.compile(
        rf"[A-Z0-9_]*(?:{loud})[A-Z0-9_]*|(?:static_)?assert|(?:Runtime|Host|Device)?(?:{camel})[A-Za-z]*"
    )


@cache
def is_check(name: str) -> bool:
    """Whether a call of that name refuses when its first argument (or comparison) fails."""
    return _check().fullmatch(name) is not None or fails_when_true(name)


@cache
def _fails_if() -> re.Pattern[str]:
    """RETURN_ERROR_IF and its kind."""
    failing, conditional = ("|".join(sorted(effects().sections[s])).upper() for s in ("failing", "conditional"))
    return re.compile(rf"[A-Z0-9_]*(?:{failing})[A-Z0-9_]*_(?:{conditional})")


@cache
def fails_when_true(name: str) -> bool:
    """Whether a macro of that name refuses when its first argument holds: RETURN_ERROR_IF, THROW_IF."""
    return _fails_if().fullmatch(name) is not None


@cache
def check_operator(name: str) -> str:
    """The comparison a check makes of its first two arguments: `>=` for ICHECK_GE; "" for none."""
    operators = dict(row.split() for row in names()["comparisons"])
    ending = name.rpartition("_")[2]
    return operators.get(ending.lower(), "") if ending.isupper() else ""
