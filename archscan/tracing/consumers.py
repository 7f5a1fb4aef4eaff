"""Finds callers that shut the target out of code which lets it in: the consumer's gate is older than the producer's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from archscan.catalog.types import Catalog
from archscan.judge.evidence import known_of
from archscan.judge.findings import in_order
from archscan.judge.traced import is_left, reconsidered
from archscan.model.finding import Advice, Finding, Problem, Reach
from archscan.model.gate import Kind, Related, Role
from archscan.model.report import Chain, Report
from archscan.tracing.code import Code
from archscan.tracing.external_symbols import ExternalSymbols, package
from archscan.tracing.modules import Extension
from archscan.tracing.python_calls import Call
from archscan.tracing.python_gates import PythonGates
from archscan.tracing.python_graph import DISPATCHED, Fn, Operator
from archscan.tracing.states import OPEN, RUN, SHUT, GateState

RULE = "list-mismatch"
_LISTS = frozenset({Kind.KEYWORD_LIST, Kind.ALLOW_LIST, Kind.BUILD_LIST, Kind.TABLE, Kind.WINDOW})
_LEVELS = 3  # callers above the call into the other package
_FAN_IN = 8
_DOWN = 60  # functions of the producer looked at for one call


@dataclass(frozen=True, slots=True)
class Use:
    """A call from one package into another that ends in an extension module."""

    caller: Fn
    call: Call
    api: str
    extension: Extension


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The consumer's shut gate, the producer's list that admits the target, and the call between them."""

    consumer: GateState
    producer: GateState
    use: Use


def with_consumers(report: Report, code: Code, catalog: Catalog) -> Report:
    """The report with the gates of consumers: as steps of the chains that they lead to, and as findings of their own.

    A consumer that excludes what its producer admits disagrees with it. What both exclude is one chain, which the
    consumer's gates head, as they are asked first; what is known of the operation is known of them too.
    """
    finder = _Finder(report, code)
    uses = list(finder.uses())
    report = _with_callers(report, uses)
    found = [(use, state) for use in uses for state in finder.shut_above(use)]
    known: dict[tuple[str, str], Disagreement] = {}
    leading: dict[str, dict[GateState, Use]] = {}
    for use, state in sorted(found, key=lambda f: (f[1].gate.path, f[1].line, f[0].extension.id)):
        producer = finder.admitting.get(use.extension.id)
        if producer is None:
            leading.setdefault(use.extension.id, {}).setdefault(state, use)
        elif state.is_to_open:
            known.setdefault((state.place, producer.place), Disagreement(state, producer, use))
    chained = _with_leading(report, leading, catalog)
    by_gate: dict[str, list[Disagreement]] = {}
    for disagreement in known.values():
        by_gate.setdefault(disagreement.consumer.place, []).append(disagreement)
    made = tuple(_finding(found, report) for found in by_gate.values())
    if not made and chained is report:
        return report
    return replace(chained, findings=in_order((*chained.findings, *made)))


def _with_callers(report: Report, uses: Iterable[Use]) -> Report:
    """The report whose chains say from where in other packages they are run."""
    callers: dict[str, dict[str, None]] = {}
    for use in uses:
        callers.setdefault(use.extension.id, {}).setdefault(f"{use.caller.path}:{use.call.line}")
    chains = (
        replace(chain, callers=tuple(callers[chain.id])) if chain.id in callers else chain for chain in report.chains
    )
    return replace(report, chains=tuple(chains)) if callers else report


def _with_leading(report: Report, leading: Mapping[str, Mapping[GateState, Use]], catalog: Catalog) -> Report:
    """The report with the shut gates of consumers at the head of each chain that they lead to."""
    chains: list[Chain] = []
    changed: dict[str, Finding] = {}
    for chain in report.chains:
        heads = leading.get(chain.id, {})
        if not heads:
            chains.append(chain)
            continue
        known = known_of(chain.name, catalog, report.selection)
        sentence = chain.sentence
        steps = []
        for state, use in heads.items():
            if state.finding is not None:
                joined = reconsidered(replace(state.finding, chain=chain.id, reach=Reach.RUN), known, catalog)
                told = replace(state, finding=changed.setdefault(joined.fingerprint, joined))
            else:
                told = state
            steps.append(told.step(RUN, f"runs {use.api}"))
        callers = ", ".join(dict.fromkeys(state.place for state in heads))
        chains.append(replace(chain, steps=(*steps, *chain.steps), sentence=f"run from {callers}; {sentence}"))
    if not changed:
        return report
    known_heads = {f.chain for f in changed.values() if f.advice is not Advice.INVESTIGATE}
    first = sorted(chains, key=lambda chain: (chain.id not in leading, chain.id not in known_heads))
    findings = tuple(changed.get(finding.fingerprint, finding) for finding in report.findings)
    return replace(report, chains=tuple(first), findings=in_order(findings))


class _Finder:
    def __init__(self, report: Report, code: Code) -> None:
        self.report = report
        self.code = code
        self.gates = PythonGates.of(report, code)
        self.graph, self.states = self.gates.graph, self.gates.states
        self._reached: dict[Fn, tuple[str, ...]] = {}
        self._callers: dict[Fn, list[tuple[Fn, Call]]] = {}
        self.admitting = {e.id: found for e in code.extensions if (found := self._admits(e))}
        self.listed = frozenset({*self.admitting, *(chain.id for chain in report.chains)})

    def uses(self) -> Iterator[Use]:
        """Calls into modules whose list admits the target or shuts it out, from other packages."""
        producers = {package(self.graph.by_id[i].path, self.code) for i in self.listed}
        for producer in sorted(producers):
            outside = ExternalSymbols(producer, self.code)
            for path in outside.paths:
                yield from self._uses_in(path, producer, outside.names(path))

    def _uses_in(self, path: str, producer: str, names: frozenset[str]) -> Iterator[Use]:
        module = self.code.module(path)
        for call in module.calls:
            if call.mention or not call.caller or not (call.parts & names or call.callee.startswith(DISPATCHED)):
                continue
            for entity in self.graph.resolve(path, call.caller, call.callee):
                if isinstance(entity, Fn) and package(entity.path, self.code) == producer:
                    for identifier in self._extensions(entity):
                        yield Use(Fn(path, call.caller), call, call.name, self.graph.by_id[identifier])

    def shut_above(self, use: Use) -> Iterator[GateState]:
        """The shut gates above a call, in packages other than the producer's."""
        producer = package(use.extension.path, self.code)
        pending = [(use.caller, use.call)]
        seen: set[Fn] = set()
        for _ in range(_LEVELS + 1):
            following: list[tuple[Fn, Call]] = []
            for caller, call in pending:
                for state in self.gates.deciding(caller, call):
                    left = state.finding is None or is_left(state.finding)
                    if state.state == SHUT and not left and package(state.gate.path, self.code) != producer:
                        yield state
                if caller not in seen and caller.name:
                    seen.add(caller)
                    following += self._calling(caller)
            pending = following

    def _calling(self, fn: Fn) -> list[tuple[Fn, Call]]:
        if fn not in self._callers:
            calls = () if self.graph.is_common(fn) else self.graph.callers(fn)
            found = [(c, call) for c, call in calls if not call.mention and c != fn]
            self._callers[fn] = found if len({c for c, _ in found}) <= _FAN_IN else []
        return self._callers[fn]

    def _extensions(self, fn: Fn) -> tuple[str, ...]:
        """The modules of interest that a producer's function reaches."""
        if fn not in self._reached:
            seen: set[Fn] = set()
            found: dict[str, None] = {}
            pending = [fn]
            while pending and len(seen) < _DOWN:
                current = pending.pop(0)
                if current in seen:
                    continue
                seen.add(current)
                if current in self.graph.builders:
                    found.update(dict.fromkeys(i for i in self.graph.builders[current] if i in self.listed))
                    continue
                for _, entity in self.graph.callees(current):
                    if isinstance(entity, Operator):
                        found.update(dict.fromkeys(i for i in entity.extensions if i in self.listed))
                    elif entity not in seen:
                        pending.append(entity)
            self._reached[fn] = tuple(found)
        return self._reached[fn]

    def _admits(self, extension: Extension) -> GateState | None:
        """The list of the function that builds the module, if it names the target; None if any gate there is shut."""
        names = {name for name in (extension.function, *extension.wrappers) if name}
        mine = [
            s
            for s in self.states.get(extension.path, ())
            if s.gate.scope and s.gate.scope.name.rpartition(".")[2] in names
        ]
        if any(s.state != OPEN for s in mine):
            return None
        mask = self.report.selection.mask
        lists = [s for s in mine if s.gate.kind in _LISTS and any(arm.truth.yes & mask for arm in s.gate.arms)]
        return lists[0] if lists else None


def _finding(found: list[Disagreement], report: Report) -> Finding:
    """The consumer's finding once more, as a disagreement, with the producers' places."""
    first = found[0]
    base = first.consumer.finding
    assert base is not None
    places = {(d.producer.gate.path, d.producer.line): d for d in found}
    related = [
        Related(path, line, Role.PAIR, f"admits {report.selection.name}; reached by {d.use.api}")
        for (path, line), d in places.items()
    ]
    calls = [
        Related(d.use.caller.path, d.use.call.line, Role.CALLER, f"calls {d.use.api} of {d.use.extension.name}")
        for d in found[:1]
    ]
    return replace(
        base,
        rule=RULE,
        problem=Problem.DISAGREES,
        fingerprint=_fingerprint(base.fingerprint, first),
        advice=Advice.PAIR if base.advice is Advice.INVESTIGATE else base.advice,
        row="half-open",
        listed=True,
        message=f"shuts {report.selection.name} out of {_names(found)}, which lets it in",
        related=(*related, *calls, *base.related),
        fix=None,
        group=None,
    )


def _names(found: Iterable[Disagreement]) -> str:
    names = list(dict.fromkeys(d.use.extension.name for d in found))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more modules" if len(names) > 3 else "")


def _fingerprint(base: str, disagreement: Disagreement) -> str:
    text = "\0".join((base, RULE, disagreement.use.extension.id))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[: len(base) or 16]
