"""Advice that rests on words: comments and docstrings beside a gate, names and values in its arms."""

from __future__ import annotations

import re

from archscan.judge.branches import REST
from archscan.judge.cases import mending
from archscan.judge.needs.limits import OPT_IN, limit
from archscan.judge.needs.notes import shared_bytes
from archscan.judge.weighed import Advised, Weighed
from archscan.judge.words import chips_named, products_named
from archscan.model.finding import Advice, Consequence
from archscan.model.gate import Does, Kind

_STATUS = re.compile(r"\b\w+(?:_NOT_SUPPORTED|NotSupported)\b")  # what a library answered
_FULL = frozenset({Does.WORK, Does.RETURNS, Does.ASSIGNS, Does.DEFINES})  # something is done instead


def workaround(weighed: Weighed) -> Advised | None:
    """A workaround for other chips: right as it is, unless a sibling has the fault and the target may have it."""
    word = mending(weighed.case, weighed.catalog.universe)
    if not word:
        return None
    near = weighed.case.gate.near
    products = products_named(near, weighed.catalog)
    named = products | chips_named(near, weighed.catalog)
    if weighed.selection.sm in products and weighed.case.guarded != REST and weighed.case.gets.does in _FULL:
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, "the comment names a fault of this very chip", word)
    if weighed.siblings and not named & weighed.siblings:
        why = "a workaround for a sibling: whether the fault exists here has to be tested"
        return Advised(Advice.CONTESTED, Consequence.RUNTIME_ERROR, why, word)
    return Advised(Advice.LEAVE, Consequence.NO_EFFECT, "a workaround for other chips", word)


def known_bad(weighed: Weighed) -> Advised | None:
    """The comment beside it says that it goes wrong elsewhere, or that this generation lacks something."""
    case = weighed.case
    if case.words.known_bad:
        why = "the comment beside it names a known fault"
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, case.words.known_bad)
    said = f"{case.gate.near} {case.gets.message or ''}"
    major = weighed.selection.major
    status = _STATUS.search(case.words.of_ours)
    if status is not None:
        why = "the comment beside it says that a library refuses it there"
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why, status[0])
    if re.search(rf"\bnot (?:yet )?supported (?:on|for|by) [^.;\n]{{0,20}}\b{major}\.[0x]", said, re.I):
        why = "the text beside it says that it is not supported there"
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why, case.words.lacks)
    named = chips_named(said, weighed.catalog) if case.words.lacks else frozenset()
    if not case.needs.sure and any(sm // 10 == weighed.selection.major for sm in named):
        why = "the comment beside it says that the target lacks something"
        return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, case.words.lacks)
    return None


def memory(weighed: Weighed) -> Advised | None:
    """The text gives shared memory as the reason, and every chip that is let in has more of it."""
    case, catalog = weighed.case, weighed.catalog
    own, shut = limit(catalog, weighed.selection.sm, OPT_IN), case.shut
    if not case.words.memory or own is None or shut is None or case.needs.sure or case.limit:
        return None
    others = [limit(catalog, sm, OPT_IN) for sm in catalog.universe.sms(shut.missed.yes & weighed.selection.peers)]
    if not others or any(other is None or other <= own for other in others):
        return None
    why = f"the text beside it speaks of memory: {weighed.selection.name} has {own:,} B, all that are let in have more"
    return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, case.words.memory)


def performance(weighed: Weighed) -> Advised | None:
    """A deliberate choice: by a name that prefers, by measurements, or because the comment speaks of speed."""
    words, today = weighed.case.words, weighed.today
    asked = weighed.case.gate.kind in (Kind.RETURNED_TRUTH, Kind.FLAG)
    if words.prefers and (asked or today is Consequence.DEGRADED_TUNING):
        return Advised(Advice.LEAVE, Consequence.DEGRADED_TUNING, "a preference, no ability", words.prefers)
    table = sum(1 for way in weighed.ways if way.conditional) > 2  # which the target should have a row of
    if words.measured and today is Consequence.DEGRADED_TUNING and not table:
        return Advised(Advice.LEAVE, today, "chosen by measurements on the chips that are named", words.measured)
    word = weighed.case.words.performance
    if word and (weighed.case.gets.does in _FULL or weighed.case.gets.does in (Does.REFUSES, Does.NOTHING)):
        return Advised(Advice.LEAVE, Consequence.NO_EFFECT, "a deliberate choice for speed", word)
    return None


def oversize(weighed: Weighed) -> Advised | None:
    """What others choose there needs more shared memory than the target has."""
    case = weighed.case
    needed = shared_bytes(case.gate, case.guarded) if case.arm is not None else None
    own = limit(weighed.catalog, weighed.selection.sm, OPT_IN)
    if needed is None or own is None or needed <= own:
        return None
    why = f"it needs {needed:,} B of shared memory, {weighed.selection.name} has {own:,}"
    return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why)


def said(weighed: Weighed) -> Advised | None:
    """Code that is said to be portable."""
    case = weighed.case
    if case.words.portable:
        return Advised(Advice.WIDEN_SAFE, weighed.today, "said to be portable", case.words.portable)
    return None


def block_scaled(weighed: Weighed) -> Advised | None:
    """Block-scaled formats, by instruction or by name."""
    groups = {n.feature.group for n in weighed.case.needs.items}
    if weighed.case.words.block_scaled or groups & {"mma-block-scale", "mma-f8f6f4"}:
        why = "block-scaled paths needed tiles, shared memory and suffix fixed before they were right and fast"
        return Advised(Advice.WIDEN_NEEDS_TUNING, weighed.today, why)
    return None
