"""What probes found, as evidence: the format that `--evidence` reads, with all figures beside it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from archscan import __version__
from archscan.probing.types import FAILS, GAIN, LOSS, NOT_ASSEMBLED, NOT_RUN, SAME, WRONG, ArmResult, Gpu, Probe, Result

Found = tuple[Gpu, Sequence[tuple[Probe, Result]]]


def document(found: Sequence[Found], date: str) -> dict[str, Any]:
    """The file of a run: `evidence`, and under `probe` what it was made of, a GPU each."""
    rows = [row_of(gpu, probe, result, date) for gpu, pairs in found for probe, result in pairs]
    gpus = [{"gpu": asdict(gpu), "results": [_plain(result) for _, result in pairs]} for gpu, pairs in found]
    made = {"archscan": __version__, "date": date, "gpus": gpus}
    return {"evidence": [row for row in rows if row is not None], "probe": made}


def row_of(gpu: Gpu, probe: Probe, result: Result, date: str) -> dict[str, Any] | None:
    """The measurement that a result is; None where nothing ran, or what failed was not the feature.

    What does not assemble is none either: that is a fact of the assembler, known without a GPU.
    """
    settles = [word for word in probe.settles if word]
    if result.outcome in (NOT_ASSEMBLED, NOT_RUN) or not settles:
        return None
    if result.outcome in (FAILS, WRONG) and not result.of_feature:
        return None
    ratio = {}
    if result.deciding is not None and result.outcome in (GAIN, LOSS, SAME):
        ratio = {"ratio": _ratio(result)}
    return {
        "feature": settles,
        "target": f"sm_{gpu.sm}",
        "outcome": result.outcome,
        **ratio,
        "source": f"archscan probe {probe.name}",
        "date": date,
        "confidence": "medium",
        "probe": probe.name,
        "conditions": [gpu.name, f"driver {gpu.driver}", gpu.compiler, *_clock(result)],
        "note": one_sentence(probe, result),
    }


def _ratio(result: Result) -> float:
    """Rounded, on the side of 1 that the outcome says."""
    assert result.deciding is not None
    rounded = round(result.deciding.median, 3)
    return max(rounded, 0.001)


def _clock(result: Result) -> list[str]:
    mhz = result.clocks.get("sm_mhz")
    return [f"{mhz} MHz"] if mhz else []


def one_sentence(probe: Probe, result: Result) -> str:
    """What was found, with its figures."""
    if result.outcome in (FAILS, WRONG):
        during = f", at {result.during}" if result.during else ""
        return f"{probe.title}: {result.why}{during}"
    parts = [f"{arm.name} {spread(arm)}" for arm in result.arms if arm.microseconds]
    parts += [f"{arm.name}: {arm.why or 'no word wrong'}" for arm in result.arms if arm.outcome == "counted"]
    return f"{probe.title}: {'; '.join(parts)}" if parts else probe.title


def spread(arm: ArmResult) -> str:
    """`12.3 µs (12.1 to 12.9)`: median, lowest and highest."""
    times = arm.microseconds
    return f"{statistics.median(times):.4g} µs ({min(times):.4g} to {max(times):.4g})"


def _plain(result: Result) -> dict[str, Any]:
    """A result with the medians beside the runs."""
    raw = asdict(result)
    for arm, plain in zip(result.arms, raw["arms"], strict=True):
        for key in ("microseconds", "load_microseconds"):
            times = getattr(arm, key)
            plain[key] = [round(time, 3) for time in times]
            if times:
                plain[f"{key}_median"] = round(statistics.median(times), 3)
        if arm.of_words:
            plain["wrong_share"] = arm.wrong_words / arm.of_words
    return raw
