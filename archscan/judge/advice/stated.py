"""Advice that rests on what texts state outright: the oldest chip that will do, what was built, for whom exactly."""

from __future__ import annotations

import re

from archscan.judge.advice.floors import Floor, floors
from archscan.judge.needs.features import COMPILED
from archscan.judge.weighed import Advised, Weighed
from archscan.model.finding import Advice, Consequence

_LONGEST = 2000  # characters looked at
_EXACTLY = re.compile(r"\bexact(?:ly)?\b", re.I)
_EXACT_FLAG = re.compile(r"sm_?\d{2,3}[af]?_exact", re.I)
# From there on a generation has instructions that the next lacks: "sm90 and above" is no promise
_FIRST_OF_ITS_OWN = 90


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
    if needs.sure or weighed.case.words.lacks or not re.search(listed, weighed.case.gate.near[:_LONGEST], re.I):
        return None
    return Advised(Advice.WIDEN_SAFE, weighed.today, "the text beside it names the target as built", f"sm_{own}")


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


def _stated(weighed: Weighed) -> list[Floor]:
    """The oldest chips that the text beside a gate and its error state."""
    case = weighed.case
    found = floors(f"{case.gate.near}\n{case.gets.message or ''}", weighed.catalog.generations)
    return [floor for floor in found if floor.sm in weighed.catalog.architectures]
