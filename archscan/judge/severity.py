"""How bad a finding is today for the target, whatever opening the gate would mean."""

from __future__ import annotations

from archscan.judge.case_context import CaseContext, Recommendation
from archscan.model.finding import Advice, Consequence, Intent, Level, Problem, Relation
from archscan.model.gate import Kind, Layer

LEVELS = {
    Consequence.SILENT_NOOP: Level.HIGH,
    Consequence.RACE: Level.HIGH,
    Consequence.WRONG_RESULT: Level.HIGH,
    Consequence.TRAP: Level.HIGH,
    Consequence.COMPILE_ERROR: Level.HIGH,
    Consequence.LOAD_ERROR: Level.HIGH,
    Consequence.RUNTIME_ERROR: Level.MEDIUM,  # a feature is refused, and says so
    Consequence.SLOW_FALLBACK: Level.MEDIUM,
    Consequence.DEGRADED_TUNING: Level.LOW,
    Consequence.NO_EFFECT: Level.INFO,
    Consequence.CORRECT_EXCLUSION: Level.INFO,
}

_COMPILED = frozenset({Layer.PREPROCESSOR, Layer.DEVICE, Layer.HOST})


def severity_of(weighed: CaseContext, advised: Recommendation) -> Level:
    """high, medium, low or info: what the target gets today where the default way leads there."""
    if advised.severity is not None:
        return advised.severity
    if advised.advice is Advice.LEAVE or weighed.intent is Intent.TEST:
        return Level.INFO
    level = LEVELS[advised.today]
    case = weighed.case
    obstacle = case.obstacle
    if obstacle is not None and obstacle.fits:
        level = least(level, Level.MEDIUM if weighed.is_made else Level.LOW)  # only where plain code is built
    elif case.problem is Problem.OVER_ADMITTED:  # that the default way leads there is known of what is compiled alone
        known = weighed.is_made or case.gate.layer not in _COMPILED
        level = level if weighed.is_made else least(level, Level.MEDIUM if known else Level.LOW)
    if weighed.is_unmade:
        level = least(level, Level.LOW)  # nothing is built for it yet: it does harm once the list is opened
    if weighed.is_helper and weighed.relation is Relation.OLDER:
        level = least(level, Level.MEDIUM)  # made for newer chips, and nobody sees who would call it on this one
    if weighed.unbuilt and case.problem is Problem.EXCLUDED:
        level = least(level, Level.MEDIUM)  # a list refuses before that
    if _is_optional(weighed):
        level = least(level, Level.LOW)
    return level


def least(one: Level, other: Level) -> Level:
    """The lower of two levels."""
    return one if one.rank <= other.rank else other


def _is_optional(weighed: CaseContext) -> bool:
    """Whether it bites only under a build option: a macro or variable that somebody has to set."""
    assumes = weighed.case.assumes
    return bool(assumes) and weighed.case.gate.kind is not Kind.BUILD_LIST and all(name.isupper() for name in assumes)
