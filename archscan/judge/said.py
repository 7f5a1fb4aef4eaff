"""Advice that rests on words: comments and docstrings beside a gate, names and values in its arms."""

from __future__ import annotations

import re

from archscan.judge.branches import REST
from archscan.judge.cases import mending
from archscan.judge.features import COMPILED
from archscan.judge.floors import Floor, floors
from archscan.judge.images import Image, named_images
from archscan.judge.limits import OPT_IN, limit
from archscan.judge.notes import shared_bytes
from archscan.judge.weighed import Advised, Weighed
from archscan.judge.words import chips_named, products_named
from archscan.model.finding import Advice, Consequence
from archscan.model.gate import Does, Kind, Layer

_IMAGE = re.compile(r"(?:\.|_)(?:cubin|fatbin)\b", re.I)
_NO_IMAGE = re.compile(r"\bno (?:cubin|fatbin|kernel image|image|binary|wheel)\b", re.I)
_PART_OF_NAME = re.compile(r"[a-z]_?sm_?\d{2,3}a|sm_?\d{2,3}a_\w", re.I)  # a target to compile for stands alone
_FIRST_OF_ITS_OWN = (
    90  # from there on a generation has instructions that the next lacks: "sm90 and above" is no promise
)
_BINARY_FILE = re.compile(r"cubin|fat_?bin|images?|binar(?:y|ies)", re.I)
_EXACTLY = re.compile(r"\bexact(?:ly)?\b", re.I)
_EXACT_FLAG = re.compile(r"sm_?\d{2,3}[af]?_exact", re.I)
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


def imaged(weighed: Weighed) -> Advised | None:
    """The rows, values or calls are compiled images: another row names a file that nobody has."""
    case = weighed.case
    if case.gate.layer not in (Layer.PYTHON, Layer.HOST):
        return None
    rows = [arm.effect.value or "" for arm in case.gate.arms]
    rows += [arm.condition for arm in case.gate.arms if case.gate.kind is Kind.ALLOW_LIST]
    word = _IMAGE.search(" ".join(rows)) or _NO_IMAGE.search(case.gets.message or "")
    if word is not None:
        why = "an image for the target has to be there first"
        return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why, word[0])
    kin = [image for image in _picked(weighed) if image.sm in weighed.siblings]
    if not kin or any(image.loads(weighed.selection) for image in kin):
        return None
    why = f"{kin[-1].name} code does not load on {weighed.selection.name}"
    return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why, kin[-1].name)


def exact(weighed: Weighed) -> Advised | None:
    """The error or a name says that it was made for very chips, of which the target is none: "exactly 10.0"."""
    case = weighed.case
    if not weighed.siblings or case.gate.layer in COMPILED:
        return None
    asked = f"{' '.join(case.gate.symbols)} {case.gate.arms[0].condition}"
    word = _EXACTLY.search(case.gets.message or "") or _EXACT_FLAG.search(asked)
    if word is None:
        return None
    why = "it is said to be made for exactly the chips that are let in"
    return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why, word[0])


def _picked(weighed: Weighed) -> tuple[Image, ...]:
    """The images that the missed branch picks by name."""
    case = weighed.case
    arm = case.arm
    if arm is None:
        return named_images(case.gate.rest.value or "")
    listed = (arm.condition,) if case.gate.kind is Kind.ALLOW_LIST else ()
    picked = " ".join((arm.effect.value or "", *arm.calls, *listed))
    file = case.gate.path.rpartition("/")[2]
    binary = case.words.binary or _PART_OF_NAME.search(picked) or _BINARY_FILE.search(file)
    return named_images(picked) if binary and "flag" not in picked.lower() else ()


def required(weighed: Weighed) -> Advised | None:
    """The text beside it states an oldest chip, the target is older, and only what the text says is let in."""
    stated = _stated(weighed)
    shut = weighed.case.shut
    if shut is None or not stated or weighed.case.words.lacks:
        return None
    taken = weighed.catalog.universe.sms(shut.missed.yes & weighed.selection.peers)
    above = [f for f in stated if weighed.selection.sm < f.sm <= min(taken, default=0)]
    if not above:
        return None
    why = f"the text beside it asks for sm_{above[0].sm} or newer"
    return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why, above[0].said)


def promised(weighed: Weighed) -> Advised | None:
    """The text beside it asks for no newer chip than the target."""
    own = weighed.selection.sm
    if weighed.case.words.lacks:
        return None
    for floor in _stated(weighed):
        if floor.sm == own or (floor.newer and floor.sm < min(own, _FIRST_OF_ITS_OWN)):
            return Advised(
                Advice.WIDEN_SAFE, weighed.today, "the text beside it says that the target will do", floor.said
            )
    return None


def named_as_built(weighed: Weighed) -> Advised | None:
    """The text beside it names the target among what was built, and no code says otherwise."""
    own, needs = weighed.selection.sm, weighed.case.needs
    listed = rf"(?<!not )(?<!never )\b(?:builds|built|compiled|shipped|images)\b[^.\n]*\bsm_?{own}[af]?\b"
    if needs.sure or weighed.case.words.lacks or not re.search(listed, weighed.case.gate.near, re.I):
        return None
    return Advised(Advice.WIDEN_SAFE, weighed.today, "the text beside it names the target as built", f"sm_{own}")


def _stated(weighed: Weighed) -> list[Floor]:
    """The oldest chips that the text beside a gate and its error state."""
    case = weighed.case
    found = floors(f"{case.gate.near}\n{case.gets.message or ''}")
    return [floor for floor in found if floor.sm in weighed.catalog.architectures]


def oversize(weighed: Weighed) -> Advised | None:
    """What others choose there needs more shared memory than the target has."""
    case = weighed.case
    needed = shared_bytes(case.gate, case.guarded) if case.arm is not None else None
    own = limit(weighed.catalog, weighed.selection.sm, OPT_IN)
    if needed is None or own is None or needed <= own:
        return None
    why = f"it needs {needed:,} B of shared memory, {weighed.selection.name} has {own:,}"
    return Advised(Advice.LEAVE, Consequence.CORRECT_EXCLUSION, why)


def unbuilt(weighed: Weighed) -> Advised | None:
    """Binaries that do not exist, unless the text beside the gate says that the code is portable, or makes them."""
    case = weighed.case
    if case.gate.kind is Kind.BUILD_LIST:
        return None
    if case.words.binary and not case.words.portable and case.gate.layer in (Layer.PYTHON, Layer.HOST, Layer.JIT):
        return Advised(
            Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, "there may be no image for the target", case.words.binary
        )
    return None


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
