"""Advice where what is behind a gate are compiled images: another row or name needs a file that nobody has."""

from __future__ import annotations

import re

from archscan.judge.needs.images import loaded, named_images
from archscan.judge.weighed import Advised, Weighed
from archscan.model.finding import Advice
from archscan.model.gate import Kind, Layer
from archscan.model.target import Target

_IMAGE = re.compile(r"(?:\.|_)(?:cubin|fatbin)\b", re.I)
_NO_IMAGE = re.compile(r"\bno (?:cubin|fatbin|kernel image|image|binary|wheel)\b", re.I)
_PART_OF_NAME = re.compile(r"[a-z]_?sm_?\d{2,3}a|sm_?\d{2,3}a_\w", re.I)  # a target to compile for stands alone
_BINARY_FILE = re.compile(r"cubin|fat_?bin|images?|binar(?:y|ies)", re.I)


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
    if not kin or loaded(kin, weighed.selection, weighed.catalog):
        return None
    why = f"{kin[-1].name} code does not load on {weighed.selection.name}"
    return Advised(Advice.WIDEN_UNSAFE_RUNTIME, weighed.today, why, kin[-1].name)


def _picked(weighed: Weighed) -> tuple[Target, ...]:
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
