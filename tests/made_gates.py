"""Gates made by hand, so that the judge is tested without a front end."""

from __future__ import annotations

from collections.abc import Callable

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.judge import judge
from archscan.model.facts import Facts, FileFacts, Origin, Site, Suppression
from archscan.model.finding import Finding
from archscan.model.gate import NOTHING, Arm, Does, Effect, FeatureUse, Gate, Kind, Layer, Mention, Place, Scope
from archscan.model.report import Report
from archscan.model.settings import JudgeSettings
from archscan.model.target import Target
from archscan.model.truth import Truth, always, never

CATALOG = load()
UNIVERSE = CATALOG.universe
Condition = Callable[[Target], bool | None]


def place(line: int, end_line: int = 0) -> Place:
    """A place that fills its lines."""
    last = end_line or line
    return Place(line * 100, last * 100 + 80, line, 1, last, 81)


def truth(condition: Condition) -> Truth:
    """The truth of a predicate on targets; the host pass counts as no. None = unknown."""
    answers = {t: condition(t) if not t.is_host else False for t in UNIVERSE.targets}
    yes = UNIVERSE.mask(t for t, answer in answers.items() if answer is True)
    return Truth(yes, UNIVERSE.mask(t for t, answer in answers.items() if answer is False))


def features(*names: str, line: int = 0, confidence: str = "high") -> tuple[FeatureUse, ...]:
    return tuple(FeatureUse(name, line, confidence=confidence) for name in names)


def gate(
    *conditions: Condition | None,
    does: tuple[Effect, ...] = (Effect(Does.WORK),),
    rest: Effect = NOTHING,
    line: int = 10,
    kind: Kind = Kind.PREPROCESSOR_IF,
    layer: Layer = Layer.PREPROCESSOR,
    uses: tuple[tuple[FeatureUse, ...], ...] = (),
    missing: tuple[Mention, ...] | None = (),
    **more: object,
) -> Gate:
    """A ladder: one arm a condition (None = else), ten lines apart, each with its effect and a full inventory."""
    taken = never(UNIVERSE.all)
    arms = []
    for i, condition in enumerate(conditions):
        own = always(UNIVERSE.all) if condition is None else truth(condition)
        effective = own & ~taken
        taken = taken | own
        start = line + 10 * i
        arms.append(
            Arm(
                place=place(start),
                condition="" if condition is None else f"condition {i}",
                own=own,
                truth=effective,
                assumed=effective,
                effect=does[i] if i < len(does) else does[-1],
                body=place(start + 1, start + 9),
                digest=f"body {i}" if (does[i] if i < len(does) else does[-1]).does is Does.WORK else "",
                features=tuple(FeatureUse(u.feature, start + 1, u.via, u.path, u.confidence) for u in uses[i])
                if i < len(uses)
                else (),
                missing=missing,
                is_else=condition is None,
            )
        )
    return Gate(path="kernel.cu", layer=layer, kind=kind, place=place(line), arms=tuple(arms), rest=rest, **more)  # type: ignore[arg-type]


def kernel(name: str = "add", whole_body: bool = False) -> Scope:
    return Scope(name, is_kernel=True, is_device=True, whole_body=whole_body)


def report(
    *gates: Gate,
    target: str = "sm120",
    sites: tuple[Site, ...] = (),
    suppressions: tuple[Suppression, ...] = (),
    origin: Origin = Origin.OWN,
    settings: JudgeSettings | None = None,
    **more: object,
) -> Report:
    """The judgement on gates that stand in one file."""
    file = FileFacts("kernel.cu", 100, origin, gates=gates, sites=sites, suppressions=suppressions, **more)  # type: ignore[arg-type]
    return judge(Facts((file,)), select(target, CATALOG), CATALOG, settings or JudgeSettings())


def only(found: Report) -> Finding:
    """The one finding of a report."""
    assert len(found.findings) == 1, [f.message for f in found.findings]
    return found.findings[0]
