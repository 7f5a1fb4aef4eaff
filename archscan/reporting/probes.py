"""What `archscan probe` prints: the probes there are, what compiles for what, and what came of them on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archscan.probing.types import BROKEN, COMPILES, GAIN, LOSS, SAME, ArmResult, Gpu, Probe, Ratio, Result
from archscan.reporting.words import one_line, visible, wrapped


def listed(probes: Sequence[Probe], width: int) -> str:
    """Every probe with what it asks, what it settles and where it compiles."""
    lines = []
    for probe in probes:
        lines.append(f"{probe.name}: {probe.title}")
        lines += [f"    {line}" for line in wrapped(probe.asks, width - 4)]
        settles = ", ".join(probe.settles) or "no gate (a figure about the GPU)"
        lines += [f"    settles: {settles}", f"    compiles for: {probe.targets}"]
    return "\n".join([*lines, ""])


def compiled(answers: Mapping[str, Mapping[str, Any]], differ: Sequence[str], targets: Sequence[str]) -> str:
    """A line a probe with the targets that take its feature, then what differs from what the probes say."""
    lines = []
    for name, by_target in answers.items():
        known = {target: told for target, told in by_target.items() if told is not None}
        takes = [target[3:] for target, told in known.items() if told["feature"][0] == COMPILES]
        broken = sum(told[arm][0] == BROKEN for told in known.values() for arm in told)
        lines.append(f"{name}: {len(takes)} of {len(known)} targets: {' '.join(takes) or 'none'}")
        lines += [f"    {broken} could not be compiled for another reason"] if broken else []
    lines += ["", *(visible(line) for line in differ)] if differ else []
    lines.append(f"{len(answers)} probes, {len(targets)} targets, {len(differ)} differing")
    return "\n".join([*lines, ""])


def gpu_line(gpu: Gpu) -> str:
    """The GPU, its driver and the compiler in one line."""
    clock = f", {gpu.clocks['sm_mhz']} MHz" if "sm_mhz" in gpu.clocks else ""
    return visible(f"{gpu.name} (sm_{gpu.sm}), driver {gpu.driver}, {gpu.compiler}{clock}")


def result_lines(result: Result, width: int) -> list[str]:
    """The outcome of a probe, and its figures below."""
    head = f"{result.probe}: {result.outcome}"
    if result.outcome in (GAIN, SAME, LOSS) and result.deciding is not None:
        head += f", {_times(result.deciding)}"
    elif result.why:
        head += f": {one_line(result.why)}" + (f" (at: {result.during})" if result.during else "")
    lines = [head]
    rest = [_times(ratio) for ratio in result.ratios if ratio != result.deciding]
    rest += [f"{arm.name}: {one_line(arm.why)}" for arm in result.arms if arm.why and arm.outcome == "refused"]
    rest += [counted(arm) for arm in result.arms if arm.outcome == "counted"]
    for text in rest:
        lines += [f"    {line}" for line in wrapped(text, width - 4)]
    return lines


def counted(arm: ArmResult) -> str:
    """How many words of an arm were wrong, over all its runs."""
    share = 100 * arm.wrong_words / arm.of_words if arm.of_words else 0.0
    return f"{arm.name}: {arm.wrong_words:,} of {arm.of_words:,} words wrong ({share:.4g} %)"


def _times(ratio: Ratio) -> str:
    what = "loading " if ratio.by == "load" else ""
    spread = f"{ratio.low:.3g} to {ratio.high:.3g}"
    return f"{what}{ratio.of} at {ratio.median:.3g} times the speed of {ratio.against} ({spread})"
