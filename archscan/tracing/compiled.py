"""The compiled part of a chain: gates that the traced operators run through, and gates only built with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archscan.model.report import Step
from archscan.sources.kinds import is_cmake
from archscan.tracing.code import Code
from archscan.tracing.entry_points import EntryPoint
from archscan.tracing.modules import Extension
from archscan.tracing.operators import Place, Reach, exports, files
from archscan.tracing.states import BUILT, CLEAN, OPEN, RUN, GateState

_NAMED = 5  # lines or files named before "and N more"


class Compiled:
    """The files of one extension module as the operators of a trace see them."""

    def __init__(
        self,
        code: Code,
        extension: Extension,
        states: Mapping[str, tuple[GateState, ...]],
        operators: tuple[str, ...],
        start: EntryPoint,
        reach: Reach | None = None,
    ) -> None:
        self.code = code
        self.extension = extension
        self.states = states
        self.all_files = files(code, extension)
        self.reach = reach or Reach(code, extension)
        self.traced = operators
        offered = exports(code, extension)
        self._by_operator = {o: self.reach.of(c) for o, c in offered if not operators or o in operators}
        self._run = self._reached(start)
        self._run_files = {p.path for p in self._run}
        self._is_library = is_cmake(extension.path) and bool(self._run_files)  # of many features that share nothing
        self._relevant = self._on_path(start)

    def steps(self) -> Iterable[Step]:
        """Sources in the order in which they are listed, headers with gates, then what is clean."""
        sources = [p for p in self.extension.sources if p in self._relevant]
        headers = [p for p in self.reach.files if p in self._relevant and p not in self.extension.sources]
        shutting = [p for p in headers if self._shutting(p)]
        for path in (*sources, *shutting, *(p for p in headers if p not in shutting)):
            found = self._shutting(path)
            yield from (self._gate_step(s) for s in found)
            if not found:
                yield self._clean_step(path)

    def built(self) -> tuple[GateState, ...]:
        """Every gate of what is compiled into the module."""
        return tuple(s for p in self.reach.files if p in self._relevant for s in self.states.get(p, ()))

    def gates(self, reach: str) -> tuple[GateState, ...]:
        """The gates on the path that run (with open ones), or those that are only built (only shut or unknown ones)."""
        found = [s for p in self.reach.files if p in self._relevant for s in self.states.get(p, ())]
        return tuple(s for s in found if self._reach_of(s) == reach and (reach == RUN or s.state != OPEN))

    def remarks(self) -> list[str]:
        """What was not read, and what is not shown."""
        remarks: list[str] = []
        shown = [p for p in self.reach.files if p in self._relevant]
        missing = sorted({name for p in shown for name in self.code.includes.missing.get(p, ())})
        if missing:
            remarks.append(f"headers not in what was scanned: {_few(missing)}")
        ambiguous = {n: f for p in shown for n, f in self.code.includes.ambiguous.get(p, ())}
        for name in sorted(ambiguous)[:_NAMED]:
            remarks.append(f"{name} is ambiguous, all were read: {_few(ambiguous[name])}")
        if self._is_library:
            others = len(self.reach.files) - len(self._relevant)
            remarks.append(
                f"{others} more files are compiled into {self.extension.name}, and nothing of them is run by it"
            )
        vendored = len(self.all_files) - len(self.reach.files)
        if vendored:
            remarks.append(f"{vendored} vendored headers are compiled in and not shown")
        return remarks

    def _reached(self, start: EntryPoint) -> frozenset[Place]:
        """What runs: all that the operators reach; of a kernel that was named, what leads to it and what it reaches."""
        places = [p for p in start.definitions if p.path in self.reach.files]
        if places:
            return self.reach.through(places, self._by_operator.values())
        return frozenset().union(*self._by_operator.values())

    def _on_path(self, start: EntryPoint) -> frozenset[str]:
        """The files to show: of a header that was named, only what includes it, it and what it includes."""
        named = [p for p in start.files if p in self.reach.files and p not in self.extension.sources]
        if not named:
            return frozenset(self._run_files if self._is_library else self.reach.files)
        shown = {p for n in named for p in self.code.includes.closure(n)}
        shown |= {p for p in self.reach.files for n in named if n in self.code.includes.closure(p)}
        return frozenset(shown)

    def _shutting(self, path: str) -> list[GateState]:
        return [s for s in self.states.get(path, ()) if s.state != OPEN]

    def _gate_step(self, state: GateState) -> Step:
        reach = self._reach_of(state)
        if reach == BUILT:
            return state.step(BUILT, f"built into {self.extension.name}, {self._not_run()}")
        if self.traced:
            return state.step(RUN)
        running = [o for o, places in self._by_operator.items() if self._holds(state, places)]
        return state.step(RUN, f"run by {_few(running)}" if running else "")

    def _not_run(self) -> str:
        return f"not launched by {_few(list(self.traced))}" if self.traced else "not launched by any of its operators"

    def _clean_step(self, path: str) -> Step:
        gates = self.states.get(path, ())
        many = f"{len(gates)} gates, all" if len(gates) > 1 else "1 gate, it"
        said = f"read: {many} let the target in" if gates else "read: no gate"
        said = said.replace("it let", "it lets")
        layer = "preprocessor" if not gates else gates[0].gate.layer.value
        reach = RUN if path in self._run_files else BUILT
        return Step(layer, path, None, CLEAN, reach, None, said, "file")

    def _reach_of(self, state: GateState) -> str:
        return RUN if self._holds(state, self._run) else BUILT

    def _holds(self, state: GateState, places: frozenset[Place]) -> bool:
        """Whether a gate stands in one of the definitions, or around one of them."""
        path, line = state.gate.path, state.line
        mine = [p.definition for p in places if p.path == path]
        around = self.code.unit(path).around(line)
        if around is not None:
            return around in mine
        if self.code.unit(path).class_around(line) in mine:
            return True
        bodies = [arm.body for arm in state.gate.arms if arm.body is not None]
        return any(b.line <= d.line <= b.end_line for b in bodies for d in mine if d.kind != "class")


def _few(names: Iterable[str]) -> str:
    """Some of the names, and how many more."""
    listed = list(names)
    rest = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
