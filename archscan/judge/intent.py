"""What a gate is for, read from what its sides do and never from words: requirement, path, tuning, mistake, ..."""

from __future__ import annotations

import ast
import re

from archscan.judge.branches import NO_ANSWER
from archscan.judge.cases import Case
from archscan.judge.consequences import are_numbers, names_images, same_but_for_numbers
from archscan.judge.verdicts import ExclusionReason
from archscan.model.facts import Origin
from archscan.model.finding import Consequence, Intent, Problem
from archscan.model.gate import Does, Effect, Kind, Layer
from archscan.model.target import Selection, Universe

_FENCE = re.compile(r"__(?:threadfence(?:_block|_system)?|sync(?:threads|warp)|nanosleep)")
_EXACT_FAMILY = re.compile(r"__CUDA_ARCH_FAMILY_SPECIFIC__\s*==|==\s*__CUDA_ARCH_FAMILY_SPECIFIC__")
_IDLE = frozenset({Does.NOTHING, Does.LOGS})


def intent_of(case: Case, today: Consequence, selection: Selection, universe: Universe) -> Intent:
    """The intent of the gate of a case, seen from the target's side."""
    if case.gate.kind is Kind.TEST_SKIP or case.file.origin is Origin.TEST:
        return Intent.TEST
    if case.problem is not Problem.EXCLUDED:
        over = case.obstacle.overrun if case.obstacle is not None else None
        if over is not None and over.is_told:
            return Intent.LIMIT
        return Intent.REQUIREMENT if case.obstacle is not None else Intent.UNKNOWN
    if case.limit is not None or case.same_limit:
        return Intent.LIMIT
    if _is_mistake(case, selection, universe):
        return Intent.MISTAKE
    if case.gate.kind is Kind.BUILD_LIST or (today is Consequence.LOAD_ERROR and names_images(case)):
        return Intent.IMAGES
    if is_fence(case, universe) or _is_padding(case) or (case.shut is not None and case.shut.spared):
        return Intent.WORKAROUND
    if case.gets.refuses or case.gets.does in _IDLE:
        if today not in (Consequence.SLOW_FALLBACK, Consequence.DEGRADED_TUNING):
            return Intent.REQUIREMENT
        numbers = are_numbers(_missed(case).value)
        chosen = case.gate.kind is Kind.TABLE or (case.gets.does is Does.NOTHING and _missed(case).does is Does.ASSIGNS)
        return Intent.TUNING if numbers and chosen else Intent.PATH
    return Intent.TUNING if picks_numbers(case) else Intent.PATH


def _is_mistake(case: Case, selection: Selection, universe: Universe) -> bool:
    """Whether the gate names the target, or a bound below it, and only its spelling makes it false."""
    gate, shut = case.gate, case.shut
    if gate.note("encoding") == "text" or gate.kind is Kind.STRING_COMPARE or gate.note("mistake"):
        return True
    if shut is None:
        return False
    if shut.why is ExclusionReason.SHADOWED:
        return True
    arm = case.arm
    kin = any(sm // 10 == selection.major for sm in universe.sms(shut.missed.yes & selection.peers))
    return arm is not None and kin and _EXACT_FAMILY.search(arm.condition) is not None


def is_fence(case: Case, universe: Universe) -> bool:
    """Whether one chip alone gets a fence that every chip can run: something is mended there."""
    arm, shut = case.arm, case.shut
    if arm is None or shut is None or case.gets.does is not Does.NOTHING or case.needs.items:
        return False
    only_fences = bool(arm.calls) and all(_FENCE.fullmatch(call) for call in arm.calls)
    return only_fences and len(universe.sms(shut.missed.yes)) == 1


_NAME = re.compile(r"[A-Za-z_]\w*")


def _is_padding(case: Case) -> bool:
    """Whether a few chips get a number rounded up that all others get as it is: `-(-n // 16) * 16` and `n`."""
    arm, own = case.arm, (case.gets.value or "").strip()
    value = (arm.effect.value if arm is not None else None) or ""
    named = _NAME.fullmatch(own) is not None and own in _NAME.findall(value)
    return named and "/" in value and "*" in value


def picks_numbers(case: Case) -> bool:
    """Whether both sides pick numbers for the same code: tiles, stages, bounds."""
    ours, theirs = case.gets.value, _missed(case).value
    return (are_numbers(ours) and are_numbers(theirs)) or same_but_for_numbers(case, ours, theirs)


def _missed(case: Case) -> Effect:
    arm = case.arm
    return arm.effect if arm is not None else case.gate.rest


def limits_others(case: Case) -> bool:
    """Whether those who are "let in" get a part of the target's choices: `[2, 4] if hopper else [2, 4, 8]`."""
    arm = case.arm
    if case.gate.layer not in (Layer.PYTHON, Layer.HOST):
        return False
    theirs = _choices((arm.effect if arm is not None else case.gate.rest).value)
    ours = _choices(case.gets.value)
    return theirs is not None and ours is not None and theirs < ours


_JOINED = re.compile(r"[\"']\s+[fr]?[\"']")  # of literals one behind the other
_REASON = re.compile(r"\(?\s*(?:(?:False|None)\s*,\s*)?[fr]?[\"'](?:[^\"'\s]+\s+){3}[^\"'\s]")


def refuses_others(case: Case) -> bool:
    """Whether those who are "let in" get no for an answer, or a sentence that says why, and the target goes on.

    `if cc not in SUPPORTED: return False, f"{cc} is not supported"`.
    """
    if case.gate.layer not in (Layer.PYTHON, Layer.HOST):
        return False
    theirs, ours = _missed(case), case.gets
    said = _JOINED.sub("", theirs.value or "")
    if theirs.does is Does.RETURNS and theirs.value in NO_ANSWER:
        return ours.does is Does.WORK
    told = theirs.does in (Does.RETURNS, Does.ASSIGNS) and _REASON.match(said) is not None
    return told and (ours.does in (Does.WORK, Does.NOTHING) or ours.value == "None")


_NAMES = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*(?![\w(\"'])")
_CHIP_TEXT = re.compile(r"([\"'])(?:sm_?|compute_)?\d{2,3}[af]?\1")
_SPELLED = frozenset({"in", "not", "and", "or", "is", "f"})


def prepares(case: Case) -> bool:
    """Whether the arm only spells the asked name in another way, and others keep theirs: `"103"` becomes `"100"`."""
    arm = case.arm
    if arm is None or arm.effect.does is not Does.ASSIGNS or case.gets.does is not Does.NOTHING:
        return False
    value = re.sub(r"^\w+\s*=(?!=)\s*", "", arm.effect.value or "")
    if not value or "(" in value:
        return False
    asked = set(_NAMES.findall(arm.condition)) - _SPELLED
    again = bool(asked & set(_NAMES.findall(value)))
    renamed = _CHIP_TEXT.fullmatch(value.strip()) is not None and _CHIP_TEXT.search(arm.condition) is not None
    return again or renamed


_TRUTH_VALUE = re.compile(r"^\w+=\s*\(?(?:[01]|true|false)\)?$")


def states_truths(case: Case) -> bool:
    """Whether the gate only defines macros as truth values that nothing asks: who asks one is the gate."""
    arm = case.arm
    sides = (arm.effect if arm is not None else case.gate.rest, case.gets)
    return case.gate.note("unasked") is not None and all(
        side.does is Does.DEFINES
        and side.value is not None
        and all(_TRUTH_VALUE.match(part.strip()) for part in side.value.split(";"))
        for side in sides
    )


def _choices(value: str | None) -> frozenset[object] | None:
    """The constants of a written list, tuple or set of choices; None for anything else."""
    text = re.sub(r"^\w+\s*=(?!=)\s*", "", value or "").strip()
    if not text or len(text) > _LONGEST or text[0] not in "[({":
        return None
    try:
        found = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError: a dict in a set
        return None
    if not isinstance(found, list | tuple | set) or not all(isinstance(one, int | float | str) for one in found):
        return None
    return frozenset(found) if len(found) > 1 or isinstance(found, list | set) else None


_LONGEST = 400
