"""What the target gets today because of a gate: nothing, a refusal, a slower way, or something wrong."""

from __future__ import annotations

import re

from archscan.judge.branches import ENUMERATOR, NO_ANSWER
from archscan.judge.cases import Case
from archscan.judge.needs.features import Need, Needs
from archscan.judge.needs.limits import DEFAULT, STATIC, THREADS, constant
from archscan.judge.verdicts import ExclusionReason
from archscan.model.facts import FileFacts, LinkKind, Origin
from archscan.model.finding import Consequence, Problem
from archscan.model.gate import Does, Kind, Layer

_BUILDS = frozenset({Layer.BUILD, Layer.JIT})
_ON_DEVICE = frozenset({Layer.PREPROCESSOR, Layer.DEVICE})
_ERROR_CODE = re.compile(
    r"cuda\w*Error|CUBLAS_STATUS|CUDNN_STATUS|CUresult|kError|Status::k|\bE[A-Z]{3,}\b"
    r"|(?:::|\b(?=k?[A-Z]))(?i:\w*(?:not_?supported|unsupported|not_?implemented|unimplemented|invalid|error|fail)\w*)"
)
_HINTS = frozenset(
    {"griddep-launch", "prefetch", "cache-policy", "setmaxnreg"}
)  # losing them costs time, never correctness
_ANSWERS = frozenset({"elect", "mbarrier", "redux"})  # instructions that give a truth value
_WAYS = re.compile(r"version|backend|algorithm|(?:^|_)impl", re.I)
_OVERLAP = frozenset({"griddep-wait", "griddep-launch"})
_NUMBERS = re.compile(r"^[\s\d.,()\[\]{}xXa-fA-FuUlL+*/<>=\"':-]*$")
_KEY = re.compile(
    r"(?<=[{,(])\s*(?:[\"']\w+[\"']\s*:|\w+\s*=(?!=))(?=\s*[\d({\[-])"
)  # of a number: `{"BLOCK_M": 64}`, `dict(stages=2)`
_TRUTH_IN = re.compile(
    r"(?<=[{,(\[])\s*(?:[\"']\w+[\"']\s*:|\w+\s*=(?!=))?\s*(?:True|False|true|false)\s*(?=[,)\]}])"
)  # beside numbers
_GROUPED = re.compile(r"(?<=\d)[_'](?=\d)")  # 4_194_304, 1'024
_CALLED = re.compile(r"\w\(")
_BOUNDED = re.compile(r"^(?:std::|math\.|triton\.)?(?:min|max|cdiv|ceil_div|next_power_of_2)(?:<\w+>)?\([^\"']*\)$")
_LONG = 300  # characters of a choice of one of two
_EITHER = re.compile(r"^(?:([^\"'?]+?) if [^\"']+ else ([^\"']+)|[^\"'?]+\?\s*([^\"'?:]+?)\s*:\s*([^\"'?:]+))$")
_EMPTY_MACRO = re.compile(r"\w+\([^()]*\)")  # `WAIT()`, defined as nothing
_QUOTED = re.compile(r"[\"'][^\"']*[A-Za-z]")
_ZERO = re.compile(r"^[-+]?\(?\s*(?:0[xX]0+|0(?:\.0*)?|\.0+|false|False|nullptr|NULL|\{\s*\}|None)\s*[fFuUlLhH]*\)?$")
_NOT_TOLD = frozenset({"None", "{}", "[]", "()"})  # not zero, which is a number
_NO_ROW = _NOT_TOLD | {"no row"}  # as an answer, or as what a test of membership finds
_NAMED_BINARY = re.compile(r"wheel|cubin|fatbin|binary|image|prebuilt|precompiled", re.I)


def consequence(case: Case) -> Consequence:
    """What happens on the target today, before the advice is known."""
    if case.consequence:
        return Consequence(case.consequence)
    if case.problem is Problem.OVER_ADMITTED:
        return _of_admission(case)
    return _of_exclusion(case)


def _of_admission(case: Case) -> Consequence:
    obstacle, layer = case.obstacle, case.gate.layer
    assert obstacle is not None
    if obstacle.overrun is not None:
        if obstacle.overrun.is_told:
            return Consequence.WRONG_RESULT
        if obstacle.overrun.key == THREADS:
            return Consequence.DEGRADED_TUNING
        static = obstacle.overrun.key in (STATIC, DEFAULT)
        return Consequence.COMPILE_ERROR if static else Consequence.RUNTIME_ERROR
    if obstacle.images:
        return Consequence.LOAD_ERROR
    here = layer is Layer.HOST and any(_is_kernel_here(n, case) for n in obstacle.needs)
    if layer in _ON_DEVICE or layer in _BUILDS or here:
        return Consequence.COMPILE_ERROR
    return Consequence.RUNTIME_ERROR


def _is_kernel_here(need: Need, case: Case) -> bool:
    """Whether a kernel of the same file uses it, which is compiled with the file."""
    return need.sure and bool(need.use.via) and need.path == case.gate.path


def _of_exclusion(case: Case) -> Consequence:
    does = case.gets.does
    if case.gate.kind is Kind.MACRO_DEFINITION or does is Does.DEFINES:
        return _of_definition(case)
    if does in (Does.NOTHING, Does.LOGS):
        return _of_nothing(case)
    if case.gets.refuses:
        return _of_refusal(case)
    return _of_fallback(case)


def _of_nothing(case: Case) -> Consequence:
    gate = case.gate
    if gate.layer in _ON_DEVICE:
        return _of_silence(case)
    if gate.layer in _BUILDS or gate.kind in (Kind.BUILD_FLAG, Kind.BUILD_LIST):
        return Consequence.LOAD_ERROR
    if gate.kind is Kind.WINDOW and gate.layer is Layer.HOST:
        return Consequence.SILENT_NOOP
    if case.gets.does is Does.LOGS and case.gets.value is not None and _missed_value(case) in ("True", "true"):
        return Consequence.NO_EFFECT  # others go on at once, and the target does once the user says so
    value = case.arm.effect.value if case.arm else None
    counts = are_numbers(value) or _is_ladder_of_products(case)
    return Consequence.DEGRADED_TUNING if counts else Consequence.SLOW_FALLBACK


_PRODUCT = re.compile(r"(?:\w+\s*=\s*)?(?:[A-Za-z_][\w.]*\s*\*\s*\d+|\d+\s*\*\s*[A-Za-z_][\w.]*)")


def _is_ladder_of_products(case: Case) -> bool:
    """Whether each rung picks a number of the chip times something: `cores = mp * 128`; some may not be told."""
    arms = [arm.effect for arm in case.gate.arms if not arm.is_else]
    values = [effect.value for effect in arms if effect.value is not None]
    picks = all(effect.does is Does.ASSIGNS for effect in arms)
    return picks and len(values) > 1 and all(_PRODUCT.fullmatch(value) for value in values)


def _of_silence(case: Case) -> Consequence:
    """Device code vanished without a word; outside of every function that is what others would use, or load by name."""
    scope = case.gate.scope
    if scope is None:
        return Consequence.RUNTIME_ERROR if case.gate.note("loaded") else Consequence.COMPILE_ERROR
    if scope.is_kernel and scope.whole_body:
        return Consequence.SILENT_NOOP
    return _of_lost(case)


def _of_lost(case: Case) -> Consequence:
    """Statements are not there: a hint, an order between threads, a value, or something done."""
    sure = case.needs.sure
    if sure and all(n.feature.group in _HINTS for n in sure):
        return Consequence.DEGRADED_TUNING
    if case.gate.note("written"):
        return Consequence.WRONG_RESULT
    if sure and all(_orders(n) or n.feature.group in _HINTS for n in sure):
        return Consequence.NO_EFFECT if overlaps_nothing(case.needs) else Consequence.RACE
    return Consequence.DEGRADED_TUNING if _is_for_one_chip(case) else Consequence.SILENT_NOOP


def _is_for_one_chip(case: Case) -> bool:
    """Whether a part of a function is there for one chip alone, and no other gate of it for others: most go without."""
    scope = case.gate.scope
    if scope is None or scope.whole_body or len(_chips(case.admits)) != 1:
        return False
    beside = (g for g in case.file.gates if g.scope == scope and g.layer is case.gate.layer and g is not case.gate)
    mine = {arm.own.yes for arm in case.gate.arms if not arm.is_else}
    return len(mine) == 1 and all({arm.own.yes for arm in g.arms if not arm.is_else} <= mine for g in beside)


def _chips(names: tuple[str, ...]) -> set[str]:
    return {name.rstrip("af") for name in names}


def overlaps_nothing(needs: Needs) -> bool:
    """Whether what is lost only orders kernels that overlap, and no launch overlaps on the target."""
    sure = needs.sure
    return bool(sure) and all(n.feature.group in _OVERLAP and not n.has for n in sure)


def _orders(need: Need) -> bool:
    """Whether losing the feature loses an order between threads; who is elected to act is no order."""
    return need.feature.sync and need.feature.group != "elect"


def _of_refusal(case: Case) -> Consequence:
    does, layer = case.gets.does, case.gate.layer
    if case.gate.note("refused") and _builds(case.file):
        return Consequence.COMPILE_ERROR  # of a list without the target as well: nobody gets anything
    if layer is Layer.BUILD:
        return Consequence.LOAD_ERROR if does is Does.SKIPS else Consequence.COMPILE_ERROR
    if does is Does.ERRORS:
        return Consequence.COMPILE_ERROR
    if layer in _ON_DEVICE and does is Does.REFUSES and case.gets.value:
        return _of_fallback(case)
    if layer in _ON_DEVICE:
        return Consequence.SILENT_NOOP if does in (Does.PRINTS, Does.REFUSES, Does.SKIPS) else Consequence.TRAP
    if does is Does.TRAPS:
        return Consequence.TRAP
    if does in (Does.RAISES, Does.ASSERTS):
        return Consequence.COMPILE_ERROR if _is_build_script(case) else Consequence.RUNTIME_ERROR
    if does is Does.SKIPS:
        return _of_skipping(case)
    return _of_returned_refusal(case)


def _is_build_script(case: Case) -> bool:
    """Whether the file decides what is built: whatever is raised there stops the build.

    A list that goes into the environment is for what is compiled when the program runs.
    """
    name = case.file.path.rpartition("/")[2]
    lists = (gate for gate in case.file.gates if gate.layer is Layer.BUILD)
    return name == "setup.py" or any(not gate.rest.environment for gate in lists)


def _builds(file: FileFacts) -> bool:
    """Whether a file compiles something with its lists, and does not only put flags together for others."""
    name = file.path.rpartition("/")[2]
    return name in _BUILDERS or any(link.kind in (LinkKind.JIT_SPEC, LinkKind.JIT_SOURCE) for link in file.links)


_BUILDERS = frozenset({"setup.py", "CMakeLists.txt", "Makefile", "makefile", "GNUmakefile", "meson.build"})


def _of_skipping(case: Case) -> Consequence:
    if case.gate.kind is Kind.TEST_SKIP or case.file.origin is Origin.TEST:
        return Consequence.NO_EFFECT
    if case.gets.value == "return":
        return _of_nothing(case)
    builds = case.gate.layer in _BUILDS or case.gate.kind in (Kind.BUILD_FLAG, Kind.BUILD_LIST)
    gathers = case.gate.layer is Layer.PYTHON and case.gate.scope is None and case.gate.kind is not Kind.WINDOW
    if builds or gathers or names_images(case) or _is_build_script(case):  # a script gathers what to build
        return Consequence.LOAD_ERROR
    return Consequence.SLOW_FALLBACK


def names_images(case: Case) -> bool:
    """Whether the arms of a ladder pick the very targets they stand for: a ladder of build targets."""
    values = [re.search(r"(\d{2,3})[af]?\W*$", a.effect.value or "") for a in case.gate.arms if not a.is_else]
    return len(values) > 1 and all(v is not None for v in values) and case.arm is not None and _names_own(case)


def _names_own(case: Case) -> bool:
    assert case.shut is not None
    value = case.arm.effect.value if case.arm else None
    number = re.search(r"(\d{2,3})[af]?\W*$", value or "")
    return number is not None and any(number[1] == name.strip("smaf_") for name in case.admits)


def _of_returned_refusal(case: Case) -> Consequence:
    value = case.gets.value or ""
    name = case.gate.scope.name if case.gate.scope else ""
    if _ERROR_CODE.search(value) or _NAMED_BINARY.search(name):
        return Consequence.RUNTIME_ERROR
    if case.gate.layer is Layer.HOST and case.gets.message and re.fullmatch(r"-?\d+|EXIT_\w+", value):
        fine = value in ("0", "EXIT_SUCCESS")  # it complains, and returns an error code or not even that
        return Consequence.SILENT_NOOP if fine else Consequence.RUNTIME_ERROR
    if case.gate.layer is Layer.HOST and re.fullmatch(r"-\d+", value) and _missed_value(case) == "0":
        return Consequence.RUNTIME_ERROR  # a status that callers test
    answers = re.match(r"\(?(?:False|None)\s*,", value) is not None  # with a reason: the caller decides
    if case.gate.kind in (Kind.ALLOW_LIST, Kind.KEYWORD_LIST, Kind.CHECK) and not answers:
        return Consequence.RUNTIME_ERROR
    tabled = case.gate.kind is Kind.TABLE or _is_ladder_of_numbers(case)
    numbers = tabled and value in _NO_ROW and are_numbers(_missed_value(case))
    return Consequence.DEGRADED_TUNING if numbers or _is_about_overlap(case) else Consequence.SLOW_FALLBACK


def _is_ladder_of_numbers(case: Case) -> bool:
    """Whether rungs that each return numbers are a table written as a ladder."""
    arms = [arm.effect for arm in case.gate.arms if not arm.is_else]
    return len(arms) > 1 and all(e.does is Does.RETURNS and are_numbers(e.value) for e in arms)


def _is_about_overlap(case: Case) -> bool:
    """Whether all that host code decides is whether kernels may overlap: without that they run one by one."""
    found = case.needs.items
    return case.gate.layer not in _ON_DEVICE and bool(found) and all(n.feature.group in _OVERLAP for n in found)


def _of_fallback(case: Case) -> Consequence:
    """Something else is done instead."""
    if case.shut is not None and case.shut.why is ExclusionReason.UNSUITED and case.same_limit:
        return Consequence.DEGRADED_TUNING
    value, missed = case.gets.value, _missed_value(case)
    if case.gate.note("unread") is not None:
        return Consequence.NO_EFFECT
    if _is_about_overlap(case):
        return Consequence.DEGRADED_TUNING
    if case.gate.layer in _ON_DEVICE:
        if value is not None and _ZERO.match(value) and not _is_literal(missed):
            return Consequence.SLOW_FALLBACK if _says_not_done(case) else Consequence.WRONG_RESULT
        return Consequence.DEGRADED_TUNING if are_numbers(value) and are_numbers(missed) else Consequence.SLOW_FALLBACK
    if case.gate.layer is Layer.BUILD:
        return Consequence.LOAD_ERROR if case.gate.kind is Kind.BUILD_LIST else Consequence.SLOW_FALLBACK
    if case.gate.layer is Layer.HOST and re.fullmatch(ENUMERATOR, value or "") and _CALLED.search(missed or ""):
        return Consequence.RUNTIME_ERROR
    if case.gets.does is Does.RETURNS and value in NO_ANSWER:
        return _of_returned_refusal(case)
    without = value in _NOT_TOLD and are_numbers(missed)  # who asked has to do without the number
    if case.gate.kind is Kind.TABLE and _is_none(value) and not _is_none(missed) and not without:
        return Consequence.SLOW_FALLBACK  # without a row it is not done at all
    picks_name = case.gate.kind is Kind.TABLE and bool(missed) and (missed or "")[:1] in "\"'"
    numbers = are_numbers(value) and are_numbers(missed) and not _numbers_ways(case)
    numbers = numbers or same_but_for_numbers(case, value, missed) or _is_number_of_list(value, missed)
    if _are_truths(case, value, missed):
        return Consequence.SLOW_FALLBACK
    if (case.gate.kind is Kind.TABLE and not picks_name) or numbers:
        return Consequence.DEGRADED_TUNING
    return Consequence.SLOW_FALLBACK


_ELEMENT = re.compile(r"[A-Za-z_][\w.]*\[\d+\]")
_ONLY_TRUTHS = re.compile(r"[^\d\"']*\b(?:True|False)\b[^\d\"']*")


def _is_number_of_list(value: str | None, missed: str | None) -> bool:
    """Whether one side is a number and the other an element of a list: `5 if ... else STAGES[0]`."""
    pair = ((value or "").strip(), (missed or "").strip())
    return any(constant(one) and _ELEMENT.fullmatch(other) for one, other in (pair, pair[::-1]))


def _are_truths(case: Case, value: str | None, missed: str | None) -> bool:
    """Whether what is missed is that something is done: a row of truths alone, or `1` where the target gets `0`."""
    if case.gate.kind is Kind.TABLE:
        return missed is not None and _ONLY_TRUTHS.fullmatch(missed) is not None
    return case.gate.layer is Layer.HOST and {value, missed} == {"0", "1"}


def _is_none(value: str | None) -> bool:
    """Whether a value stands for nothing: None, zero, an empty list."""
    return value in NO_ANSWER or (value is not None and _ZERO.match(value) is not None)


def _says_not_done(case: Case) -> bool:
    """Whether `false` tells the caller that what others do was not done: instructions that give no truth value."""
    arm, sure = case.arm, case.needs.sure
    done = arm is not None and arm.effect.does is Does.WORK and arm.effect.value is None
    acts = bool(sure) and not any(n.feature.group in _ANSWERS for n in sure)
    return case.gets.value == "false" and done and acts


def _missed_value(case: Case) -> str | None:
    """The value that others pick; of a C++ map that is its rows."""
    arm = case.arm
    if arm is None:
        return case.gate.rest.value
    if arm.effect.value is None:
        return None
    return (
        arm.condition
        if case.gate.kind is Kind.ALLOW_LIST and arm.effect.value.endswith(">second")
        else arm.effect.value
    )


def _numbers_ways(case: Case) -> bool:
    """Whether the function gives a way to go by number, as its name tells: `flash_attention_version`."""
    return case.gate.scope is not None and _WAYS.search(case.gate.scope.name) is not None


def _of_definition(case: Case) -> Consequence:
    """A macro or constant chosen by architecture; where tests of it are known, they settle the consequence instead."""
    if case.gets.does is Does.ERRORS:
        return Consequence.COMPILE_ERROR
    value = case.arm.effect.value if case.arm else None
    if case.needs.sure and _EMPTY_MACRO.fullmatch(case.gets.value or "") and not _EMPTY_MACRO.fullmatch(value or ""):
        return _of_lost(case)
    if case.limit or (are_numbers(value) and constant(value) not in (None, 0, 1)):
        return Consequence.DEGRADED_TUNING
    return Consequence.SLOW_FALLBACK


def are_numbers(value: str | None) -> bool:
    """Whether a value is numbers only, such as a tile shape or a limit, also one of two or a bounded one.

    Truth values are no numbers.
    """
    if value and _BOUNDED.match(value):
        return True
    value = _KEY.sub("", _TRUTH_IN.sub("", _GROUPED.sub("", _whole(value or ""))))
    either = _EITHER.match(value) if len(value) < _LONG else None
    if either is not None:
        return all(are_numbers(part) for part in either.groups() if part)
    text = re.sub(r"^\w+=(?!=)|^\w+(?:::\w+)*(?=[({])", "", value)
    named = _QUOTED.search(text) is not None  # "fa3" would pass for a hexadecimal number
    return not named and bool(_NUMBERS.match(text)) and any(c.isdigit() for c in text)


_NUMBER = re.compile(r"(?<![\w.\"'])\d[\w.]*(?![\w.\"'])")
_WAY_BY_NUMBER = re.compile(rf"(?:{_WAYS.pattern})\w*[\"']?\s*[=:]\s*#", re.I)
_AGAIN = re.compile(r"([\w.]+\((?:[^()]|\([^()]*\))*\))(?:,\s*\1)+")  # as the elements of a list are made


def same_but_for_numbers(case: Case, one: str | None, other: str | None) -> bool:
    """Whether two values are the same code with other numbers: `gemm<128, 4>(x)` and `gemm<64, 2>(x)`.

    Numbers of chips, or behind a name that says that a way is chosen, tell other code.
    """
    shape, their_shape = (_AGAIN.sub(r"\1", _NUMBER.sub("#", value or "")) for value in (one, other))
    if shape != their_shape or "(" not in shape or _WAY_BY_NUMBER.search(shape):
        return False
    differing = {*_NUMBER.findall(one or "")} ^ {*_NUMBER.findall(other or "")}
    chips = {name.strip("smaf_") for name in case.admits}
    return bool(differing) and not differing & {*chips, *(f"{chip}0" for chip in chips)}


def _whole(value: str) -> str:
    """A literal that was cut off for its length, up to its last whole item."""
    opened = sum(map(value.count, "([{")) > sum(map(value.count, ")]}"))
    return value.rpartition(",")[0] if opened and "," in value else value


def _is_literal(value: str | None) -> bool:
    return value is not None and (value in ("true", "false", "True", "False") or are_numbers(value))
