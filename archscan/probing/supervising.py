"""Runs each probe in a process of its own, within a time limit. A crash or a hang is a result, never the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archscan.catalog.reading import PACKAGE
from archscan.probing.child import in_feature
from archscan.probing.types import FAILS, NOT_RUN, ArmResult, Gpu, Probe, Ratio, Result

# Nothing is imported from the current directory, which may be what is scanned: -I, and the places that were in use here
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from archscan.probing.child import main; sys.exit(main())"
)
_LAST_WORDS = 10.0  # seconds that a killed process gets to be gone: one that waits for a hung GPU may never be
_TOLD = 300  # characters of what a dead process said


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended, and what it had said."""

    answers: dict[str, Any]  # the last line of each kind
    how: str = ""  # empty if it ended well


class Supervisor:
    """Starts children for one GPU and sees to their end."""

    def __init__(self, device: int, each: float, in_all: float, command: Sequence[str] = ()) -> None:
        self._device, self._each, self._command = device, each, tuple(command) or child_command()
        self._ends = time.monotonic() + in_all

    @property
    def left(self) -> float:
        """Seconds that are left for everything."""
        return max(0.0, self._ends - time.monotonic())

    def describe(self) -> Gpu | str:
        """The GPU, or why there is none to use."""
        ended = self._child({"do": "describe"})
        if "gpu" in ended.answers:
            return Gpu(**ended.answers["gpu"])
        return str(ended.answers.get("missing") or f"asking the driver for the GPU {ended.how}")

    def compile(self, folder: str, targets: Sequence[str]) -> dict[str, Any] | str:
        """The compiler and, per target, why its arms do not compile; or why nothing is known."""
        ended = self._child({"do": "compile", "folder": folder, "targets": list(targets)})
        if "compiled" in ended.answers and not ended.how:
            return dict(ended.answers["compiled"])
        during = f" at {ended.answers['during']}" if "during" in ended.answers else ""
        return str(ended.answers.get("missing") or f"the compiler {ended.how}{during}")

    def run(self, probe: Probe, folder: str, targets: Sequence[str], runs: int, seed: int) -> Result:
        """What came of a probe."""
        if not self.left:
            return Result(probe.name, NOT_RUN, "the time for all probes is used up")
        job = {"do": "run", "folder": folder, "targets": list(targets), "runs": runs, "seed": seed}
        start = time.monotonic()
        ended = self._child(job)
        taken = round(time.monotonic() - start, 2)
        if "result" in ended.answers:
            return _result(ended.answers["result"])
        if "missing" in ended.answers:
            return Result(probe.name, NOT_RUN, str(ended.answers["missing"]), seconds=taken)
        during = str(ended.answers.get("during", "starting"))
        return Result(
            probe.name,
            FAILS if in_feature(probe, during) else NOT_RUN,
            f"the process {ended.how}",
            target=targets[0] if targets else "",
            during=during,
            of_feature=in_feature(probe, during),
            seconds=taken,
        )

    def _child(self, job: dict[str, Any]) -> Ended:
        limit = min(self._each, self.left)
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(self._device),
            start_new_session=os.name == "posix",
        )
        try:
            out, errors = process.communicate(json.dumps(job).encode(), timeout=limit)
        except subprocess.TimeoutExpired:
            out = _killed(process)
            return Ended(_answers(out), f"did not end within {limit:.0f} s and was ended")
        except BaseException:
            _killed(process)
            raise
        if process.returncode:
            return Ended(_answers(out), _how(process.returncode, errors))
        answers = _answers(out)
        return Ended(answers, "" if answers else "said nothing")


def child_command() -> tuple[str, ...]:
    """What starts a child with the modules of this process."""
    here, own = Path.cwd().resolve(), PACKAGE.parent
    places = [entry for entry in sys.path if os.path.isabs(entry) and Path(entry).resolve() != here]  # noqa: PTH117
    return sys.executable, "-I", "-c", _START, json.dumps([*places, *([] if str(own) in places else [str(own)])])


def environment(device: int) -> dict[str, str]:
    """What a child sees: one GPU, and no cache of the driver to write to."""
    found = dict(os.environ)
    if "CUDA_VISIBLE_DEVICES" in found:
        visible = [one.strip() for one in found["CUDA_VISIBLE_DEVICES"].split(",")]
        found["CUDA_VISIBLE_DEVICES"] = visible[device] if device < len(visible) else ""  # none rather than another
    else:
        found["CUDA_VISIBLE_DEVICES"] = str(device)
    found["CUDA_CACHE_DISABLE"] = "1"
    return found


def _killed(process: subprocess.Popen[bytes]) -> bytes:
    """Ends a child with all that it started; what it had said."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    try:
        return process.communicate(timeout=_LAST_WORDS)[0]
    except subprocess.TimeoutExpired as error:
        return error.stdout or b""


def _how(code: int, errors: bytes) -> str:
    """How a process died, in words."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    told = f": {lines[-1][:_TOLD]}" if lines else ""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}{told}"
    return f"ended with {code}{told}"


def _answers(out: bytes) -> dict[str, Any]:
    """The last value of each key that a child wrote; a line that is cut off is no answer."""
    return dict(_lines(out))


def _lines(out: bytes) -> Iterator[tuple[str, Any]]:
    for line in out.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield from value.items()


def _result(raw: dict[str, Any]) -> Result:
    times = ("microseconds", "load_microseconds")
    arms = (ArmResult(**{**arm, **{key: tuple(arm[key]) for key in times}}) for arm in raw["arms"])
    ratios = tuple(Ratio(**ratio) for ratio in raw["ratios"])
    deciding = Ratio(**raw["deciding"]) if raw["deciding"] else None
    return Result(**{**raw, "arms": tuple(arms), "ratios": ratios, "deciding": deciding})
