"""How code writes a compute capability: THE table, for every language.

A name such as `arch` or `cc` holds 9, 90 or 900, and does not say which: the encoding is *unstated* until it meets a
constant, whose size tells. Texts (`"sm_90a"`, `"9.0"`) and pairs (`(9, 0)`) are told by their form.

    major  9         3 to 19; what is below names no generation, and no GPU will have a major number of 20 for years
    sm     90        20 (Fermi) to 159
    arch   900       200 to 1599, as `__CUDA_ARCH__`; from 2^20 on offsets of other vendors' GPUs (llama.cpp)
    pair   (9, 0)    a major number, perhaps with a minor number
    text   "sm_90a"  sm_90, compute_90, sm90, 90, 9.0, 9: with the form of the constant
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Encoding = Literal["major", "sm", "arch"]

_MAJORS = range(3, 20)
_SMS = range(20, 160)
_ARCHES = range(200, 1600)
_OTHER_VENDORS = 1 << 20
_NEVER_MET = 4  # equal to such a number is no GPU that anybody asks for: the name may be a count or an index
_MOST_MAJOR = 15  # of what has a minor number, or is a text

_TEXT = re.compile(r"^(?:sm_?|SM_?|compute_)?(\d{2,3})([afx]?)$|^(\d{1,2})\.(\d)[af]?$", re.ASCII)
_PREFIXED = re.compile(r"^(.*?)(sm_?|SM_?|compute_)?(\d{2,3})([af]?)$")
_DOTTED = re.compile(r"^(\d{1,2})\.(\d)([af]?)?$")


def encoding_of(number: int) -> Encoding | None:
    """The encoding in which a number may be a capability; None if in none: a count of SMs, an index."""
    if number in _MAJORS:
        return "major"
    if number in _SMS:
        return "sm"
    return "arch" if number in _ARCHES or number >= _OTHER_VENDORS else None


def written_like(sm: int, number: int) -> int | None:
    """The capability in the encoding of a number: 12, 120 or 1200 for sm_120; None if the number is no capability."""
    match encoding_of(number):
        case "major":
            return sm // 10
        case "sm":
            return sm
        case "arch":
            return sm * 10
    return None


def compared_with(sm: int, number: int, equality: bool) -> int | None:
    """The capability as it is compared with a number, which tells the encoding; None if it does not.

    Zero and less are below every GPU in each encoding. To be equal to a small number says that it is no capability.
    """
    if equality and number <= _NEVER_MET:
        return None
    return sm if number <= 0 else written_like(sm, number)


def is_pair(major: int, minor: int = 0) -> bool:
    """Whether two numbers, or a major number alone in a tuple, may be a capability."""
    return _MAJORS[0] <= major <= _MOST_MAJOR and 0 <= minor <= 9


@lru_cache(maxsize=1 << 12)
def text_form(like: str) -> str | None:
    """How a text writes a target, with placeholders for `{0.sm}`, `{0.major}`, `{0.minor}`; None if it writes none.

    A program sees the GPU, not what was compiled: "sm_90a" names the GPU that 9.0 is.
    """
    dotted = _DOTTED.match(like)
    if dotted and is_pair(int(dotted[1])):
        return "{0.major}.{0.minor}" + (dotted[3] or "")
    if not _TEXT.match(like):
        return "{0.major}" if like.isdigit() and 5 <= int(like) <= _MOST_MAJOR else None
    match = _PREFIXED.match(like)
    if not match or int(match[3]) not in _SMS:
        return None
    return f"{match[2] or ''}{{0.sm}}{match[4]}"
