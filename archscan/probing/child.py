"""The process of one probe: a job in, lines of JSON out. Whatever ends it, its parent goes on.

What it is about to do is written before it is done, so that the parent can say where it ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from archscan.probing.clocks import Clocks
from archscan.probing.compiling import Compiler, compiler
from archscan.probing.cuda import Cuda, Driver, DriverError
from archscan.probing.reading import read_probe
from archscan.probing.running import run
from archscan.probing.types import BROKEN, COMPILES, FAILS, NOT_RUN, REFUSES, Compiled, Gpu, Probe, Result

_NO_COMPILER = "install NVIDIA's compiler library: pip install 'archscan[probe]'"


def main(driver: Callable[[], Driver] = Cuda, compilers: Callable[[], tuple[Compiler | None, str]] = compiler) -> int:
    """Does the job on standard input; the answer goes where standard output went, and nothing else does."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    _without_core_files()
    job = json.load(sys.stdin)

    def says(key: str, value: object) -> None:
        print(json.dumps({key: value}), file=answers, flush=True)

    found, why = compilers()
    if found is None:
        says("missing", f"{why}: {_NO_COMPILER}")
        return 0
    if job["do"] == "describe":
        says(*_described(driver, found))
    elif job["do"] == "compile":
        says("compiled", _compiled(job, found, lambda text: says("during", text)))
    else:
        says("result", asdict(_ran(job, driver, found, lambda text: says("during", text))))
    return 0


def _without_core_files() -> None:
    """A crash is expected here, and leaves nothing on the disk."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _described(driver: Callable[[], Driver], found: Compiler) -> tuple[str, Any]:
    """The GPU and the compiler; `missing` where there is no GPU."""
    try:
        told: dict[str, Any] = driver().describe()
    except DriverError as error:
        return "missing", f"no GPU can be used ({error})"
    clocks = Clocks(str(told["bus"]))
    gpu = Gpu(
        name=told["name"],
        sm=told["major"] * 10 + told["minor"],
        driver=clocks.driver() or f"CUDA {told['cuda']}",
        compiler=found.name,
        multiprocessors=told["multiprocessors"],
        shared_limit=told["shared_limit"],
        uuid=told["uuid"],
        clocks=clocks.now(),
    )
    return "gpu", asdict(gpu)


def _compiled(job: dict[str, Any], found: Compiler, during: Callable[[str], None]) -> dict[str, Any]:
    """For each target whether the arm with the feature, and those without, compile, and why not."""
    probe = read_probe(Path(job["folder"]))
    known = found.architectures()
    answers: dict[str, Any] = {}
    for target in job["targets"]:
        during(target)
        if int(target[3:].rstrip("af")) not in known:
            answers[target] = None
            continue
        made = {name: found.compile(probe.source, target, name == "feature") for name in ("feature", "elsewhere")}
        answers[target] = {name: _answer(one) for name, one in made.items()}
    return {"compiler": found.name, "targets": answers}


def _answer(made: Compiled) -> list[str]:
    """Whether it compiles, the target refuses it, or something else went wrong; and why."""
    if made.image is not None:
        return [COMPILES, ""]
    return [REFUSES if made.refused else BROKEN, made.why]


def _ran(job: dict[str, Any], driver: Callable[[], Driver], found: Compiler, during: Callable[[str], None]) -> Result:
    """What came of the probe; an error after which the GPU is lost to this process is what came of it."""
    probe = read_probe(Path(job["folder"]))
    start, last = time.monotonic(), ""

    def says(text: str) -> None:
        nonlocal last
        last = text
        during(text)

    says("starting the driver")
    try:
        gpu = driver()
    except DriverError as error:
        return Result(probe.name, NOT_RUN, str(error))
    clocks = Clocks(str(gpu.describe()["bus"]))
    try:
        result = run(probe, job["targets"], gpu, found, job["runs"], job["seed"], says)
    except DriverError as error:
        own = in_feature(probe, last)
        result = Result(probe.name, FAILS if own else NOT_RUN, str(error), during=last, of_feature=own)
    return replace(result, clocks=clocks.now(), seconds=round(time.monotonic() - start, 2))


def in_feature(probe: Probe, during: str) -> bool:
    """Whether what was done last was an arm that uses the feature."""
    return any(during.partition(",")[0] == f"arm {arm.name}" for arm in probe.arms if arm.feature)


if __name__ == "__main__":
    sys.exit(main())
