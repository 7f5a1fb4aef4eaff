"""Runs a probe on a GPU: every arm's answer is checked in full, then the arms are timed in turn."""

from __future__ import annotations

import random
import statistics
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from archscan.probing.compiling import Compiler, unit
from archscan.probing.cuda import Driver, DriverError
from archscan.probing.types import (
    COUNTED,
    FAILS,
    GAIN,
    LOSS,
    NOT_ASSEMBLED,
    NOT_RUN,
    REFUSED,
    RIGHT,
    SAME,
    WORKS,
    WRONG,
    Arm,
    ArmResult,
    Launch,
    Probe,
    Ratio,
    Result,
)

_UNTOUCHED = 0xA5A5A5A5  # what stands in the output before a run: an arm that writes nothing is wrong
_CHUNK = 1 << 16  # bytes compared at once
_AIM = 2000.0  # microseconds that a timed batch should take
_TRIAL = 5  # passes that tell how many make a batch
_MOST_PASSES = 500  # of one batch
_RANDOM = 1 << 20  # bytes that are drawn; larger inputs repeat them with each block changed

Says = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Step:
    """A launch, ready to go."""

    function: int
    launch: Launch
    grid: int
    shared: int


@dataclass(frozen=True, slots=True)
class _Ready:
    """An arm whose kernels are loaded, or why it is not."""

    arm: Arm
    steps: tuple[_Step, ...]
    figures: dict[str, int]
    refused: str = ""


class _Bench:
    """A GPU with the buffers of a probe."""

    def __init__(self, probe: Probe, driver: Driver, seed: int) -> None:
        self.probe, self.driver = probe, driver
        self.gpu = driver.describe()
        words = probe.words
        self.places = {name: driver.allocate(words[name] * 4) for name in ("in", "mid", "out")}
        driver.write(self.places["in"], random_words(words["in"], seed))
        arguments = [struct.pack("Q", self.places[name]) for name in ("in", "mid", "out")]
        arguments.append(struct.pack("I", words["out"]))
        if probe.tensor is not None:
            arguments.append(driver.tensor_map(self.places["in"], probe.tensor))
        self.arguments = arguments

    def ready(self, arm: Arm, module: int) -> _Ready:
        """The arm's launches, sized for this GPU."""
        steps: list[_Step] = []
        figures: dict[str, int] = {}
        try:
            for launch in arm.launches:
                function = self.driver.function(module, launch.kernel)
                shared = launch.shared + (int(self.gpu["shared_limit"]) if launch.of_limit else 0)
                for key, value in self.driver.prepare(function, launch, shared).items():
                    figures[key] = max(value, figures.get(key, 0))
                steps.append(_Step(function, launch, self._grid(launch), shared))
        except DriverError as error:
            return _Ready(arm, (), figures, _or_raise(error))
        return _Ready(arm, tuple(steps), figures)

    def _grid(self, launch: Launch) -> int:
        """Blocks, a multiple of the cluster."""
        grid = launch.grid * int(self.gpu["multiprocessors"]) if launch.per_sm else launch.grid
        return grid - grid % launch.cluster if launch.cluster else grid

    def clear(self) -> None:
        """Puts the buffers that arms write into the state that every check begins with."""
        self.driver.fill(self.places["mid"], 0, self.probe.words["mid"])
        self.driver.fill(self.places["out"], _UNTOUCHED, self.probe.words["out"])

    def go(self, ready: _Ready, passes: int = 1) -> None:
        """Starts the launches of an arm."""
        for _ in range(passes):
            for step in ready.steps:
                self.driver.launch(step.function, step.launch, step.grid, step.shared, self.arguments)

    def answer(self) -> bytes:
        """What stands in the output."""
        return self.driver.read(self.places["out"], self.probe.words["out"] * 4)

    def recorded(self, ready: _Ready, passes: int) -> Callable[[], None]:
        """What starts a batch: a graph, so that short kernels follow each other at the GPU's pace and not at ours."""
        try:
            graph = self.driver.record(lambda: self.go(ready, passes))
        except DriverError as error:
            _or_raise(error)
            return lambda: self.go(ready, passes)  # what no graph takes
        return lambda: self.driver.replay(graph)

    def timed(self, batch: Callable[[], None]) -> float:
        """Microseconds of a batch."""
        first = self.driver.mark()
        batch()
        return self.driver.between(first, self.driver.mark())


def random_words(count: int, seed: int) -> bytes:
    """That many random 32-bit words, the same for the same seed."""
    source = random.Random(seed)
    drawn = source.randbytes(min(count * 4, _RANDOM))
    blocks, block = [drawn], drawn
    while sum(map(len, blocks)) < count * 4:
        shift = source.randrange(1, len(drawn))
        block = block[shift:] + block[:shift]
        blocks.append(block)
    return b"".join(blocks)[: count * 4]


def differing(found: bytes, right: bytes) -> int:
    """How many 32-bit words differ."""
    count = 0
    for start in range(0, len(right), _CHUNK):
        one, other = found[start : start + _CHUNK], right[start : start + _CHUNK]
        if one != other:
            count += sum(a != b for a, b in zip(memoryview(one).cast("I"), memoryview(other).cast("I"), strict=True))
    return count


def _or_raise(error: DriverError) -> str:
    """What a launch was refused with; an error after which nothing runs, or a full GPU, goes on up."""
    if error.lost or error.no_memory:
        raise error
    return str(error)


def run(
    probe: Probe, targets: Sequence[str], driver: Driver, compiler: Compiler, runs: int, seed: int, says: Says
) -> Result:
    """What comes of a probe on this GPU. `says` is told what is done next, for the case that it never ends."""
    says("compiling")
    target, feature = unit(compiler, probe.source, targets, True)
    plain_target, plain = unit(compiler, probe.source, targets, False)
    if feature.image is None:
        return Result(probe.name, NOT_ASSEMBLED if feature.refused else NOT_RUN, feature.why, target)
    if plain.image is None:
        return Result(probe.name, NOT_RUN, f"what it is measured against does not compile: {plain.why}", plain_target)
    images = {True: feature.image, False: plain.image}
    says("allocating")
    try:
        bench = _Bench(probe, driver, seed)
        return _on(bench, images, target, compiler, runs, says)
    except DriverError as error:
        if error.no_memory:
            return Result(probe.name, NOT_RUN, f"the GPU's memory is full ({error})", target)
        raise


def _on(bench: _Bench, images: dict[bool, bytes], target: str, compiler: Compiler, runs: int, says: Says) -> Result:
    probe = bench.probe
    says("loading")
    modules = {key: bench.driver.load(image) for key, image in images.items()}
    says("right answer")
    right = _right(bench, modules[False])
    ready: list[_Ready] = []
    results: dict[str, ArmResult] = {}
    loads: dict[str, bytes] = {}
    for arm in probe.arms:
        says(f"arm {arm.name}")
        module = modules[arm.feature]
        if arm.ptx:
            made = compiler.compile(probe.source, arm.ptx, arm.feature, ptx=True)
            if made.image is None:
                results[arm.name] = ArmResult(arm.name, REFUSED, made.why)
                continue
            loads[arm.name] = made.image
            try:
                module = bench.driver.load(made.image)
            except DriverError as error:
                results[arm.name] = ArmResult(arm.name, REFUSED, _or_raise(error))
                continue
        one = bench.ready(arm, module)
        results[arm.name] = _checked(bench, one, right, runs)
        if results[arm.name].outcome == RIGHT:
            ready.append(one)
    ready = [one for one in ready if _is_measured(one.arm, probe)]
    results |= _timed(bench, ready, results, runs, says)
    says("checking again")
    for one in ready:
        again = _checked(bench, one, right, 1)
        if again.outcome != RIGHT:
            results[one.arm.name] = replace(again, why=f"after it was timed: {again.why}")
    says("loading modules")
    of_load = {name for m in probe.measures if m.by == "load" for name in (m.of, m.against)}
    for name in of_load & {one.arm.name for one in ready}:
        image = loads.get(name, images[probe.arm(name).feature])
        results[name] = replace(results[name], load_microseconds=_load_times(bench.driver, image, runs))
    return judged(probe, tuple(results[arm.name] for arm in probe.arms), target)


def _is_measured(arm: Arm, probe: Probe) -> bool:
    return any(arm.name in (m.of, m.against) for m in probe.measures)


def _right(bench: _Bench, module: int) -> bytes:
    """The right answer, from the plainest code there is."""
    one = bench.ready(bench.probe.right, module)
    if one.refused:
        raise ValueError(f"the kernel of the right answer was refused: {one.refused}")
    bench.clear()
    bench.go(one)
    return bench.answer()


def _checked(bench: _Bench, ready: _Ready, right: bytes, runs: int) -> ArmResult:
    """Whether an arm's answer is right in every word; of an arm that is counted, over all runs."""
    arm, words = ready.arm, len(right) // 4
    if ready.refused:
        return ArmResult(arm.name, REFUSED, ready.refused, figures=dict(ready.figures))
    repeats = runs if arm.answer == COUNTED else 1
    wrong = 0
    try:
        for _ in range(repeats):
            bench.clear()
            bench.driver.wait()
            bench.go(ready)
            wrong += differing(bench.answer(), right)
    except DriverError as error:
        return ArmResult(arm.name, REFUSED, _or_raise(error), figures=dict(ready.figures))
    outcome = COUNTED if arm.answer == COUNTED else WRONG if wrong else RIGHT
    why = f"{wrong:,} of {words * repeats:,} words are wrong" if wrong else ""
    return ArmResult(arm.name, outcome, why, wrong, words * repeats, dict(ready.figures))


def _timed(
    bench: _Bench, ready: Sequence[_Ready], results: dict[str, ArmResult], runs: int, says: Says
) -> dict[str, ArmResult]:
    """The results with the times of `runs` batches, the arms taking turns so that a change of clocks meets all."""
    passes: dict[str, int] = {}
    batches: dict[str, Callable[[], None]] = {}
    for one in ready:
        name = one.arm.name
        says(f"arm {name}, warming up")
        trial = bench.recorded(one, _TRIAL)
        bench.timed(trial)
        passes[name] = max(1, min(_MOST_PASSES, int(_AIM * _TRIAL / max(bench.timed(trial), 0.1))))
        batches[name] = bench.recorded(one, passes[name])
        bench.timed(batches[name])
    times: dict[str, list[float]] = {name: [] for name in batches}
    for number in range(runs):
        for name, batch in batches.items():
            says(f"arm {name}, run {number + 1}")
            times[name].append(bench.timed(batch) / passes[name])
    return {name: replace(results[name], microseconds=tuple(taken)) for name, taken in times.items()}


def _load_times(driver: Driver, image: bytes, runs: int) -> tuple[float, ...]:
    times = []
    for number in range(runs + 1):
        start = time.perf_counter()
        module = driver.load(image)
        if number:  # the first warms up
            times.append((time.perf_counter() - start) * 1e6)
        driver.unload(module)
    return tuple(times)


def judged(probe: Probe, arms: tuple[ArmResult, ...], target: str) -> Result:
    """The outcome of a probe whose arms all came to an end."""
    by_name = {result.name: result for result in arms}
    ratios = tuple(r for m in probe.measures if (r := _ratio(by_name[m.of], by_name[m.against], m.by)) is not None)
    whole = Result(probe.name, WORKS, target=target, arms=arms, ratios=ratios)
    for arm in sorted(probe.arms, key=lambda arm: not arm.feature):
        result = by_name[arm.name]
        if arm.answer == REFUSED and result.outcome != REFUSED:
            why = f"{arm.name}: the driver should have refused it, and did not"
            return replace(whole, outcome=WRONG, why=why, of_feature=arm.feature)
        if arm.answer != REFUSED and result.outcome == REFUSED and not arm.optional:
            return replace(whole, outcome=FAILS, why=f"{arm.name}: {result.why}", of_feature=arm.feature)
        if result.outcome == WRONG:
            return replace(whole, outcome=WRONG, why=f"{arm.name}: {result.why}", of_feature=arm.feature)
    decides = probe.deciding
    ratio = next(
        (r for r in ratios if decides and (r.of, r.against, r.by) == (decides.of, decides.against, decides.by)), None
    )
    if ratio is None or decides is None:
        return whole
    outcome = SAME
    if ratio.low > 1 + decides.margin:
        outcome = GAIN
    elif ratio.high < 1 / (1 + decides.margin):
        outcome = LOSS
    return replace(whole, outcome=outcome, deciding=ratio)


def _ratio(of: ArmResult, against: ArmResult, by: str) -> Ratio | None:
    """Speed of one arm over that of the other, run by run; None where one was not timed."""
    ours, theirs = (r.load_microseconds if by == "load" else r.microseconds for r in (of, against))
    if not ours or not theirs:
        return None
    each = [b / a for a, b in zip(ours, theirs, strict=True) if a > 0]
    if not each:
        return None
    return Ratio(of.name, against.name, by, statistics.median(each), min(each), max(each))
