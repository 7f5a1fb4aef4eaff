"""Lists, tables and builds against each other, against checks before them and against the sources that they build."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache

from archscan.judge.cases import LISTS, Case
from archscan.judge.consequences import consequence
from archscan.judge.intent import is_fence
from archscan.judge.pairs.related_sites import Counterpart, Pair, Pairing, mismatch
from archscan.judge.project import names_in
from archscan.model.facts import FileFacts, LinkKind, Origin
from archscan.model.finding import Consequence
from archscan.model.gate import Does, Gate, Kind, Layer, Related, Role

_HARM = frozenset(
    {Consequence.SILENT_NOOP, Consequence.RACE, Consequence.WRONG_RESULT, Consequence.TRAP, Consequence.COMPILE_ERROR}
)
_FILE_NAME = re.compile(r"[\w./-]+\.(?:cuh?|hpp|h|inl|cc|cpp|cxx)\b")


def tables(pairing: Pairing) -> None:
    """A table without a row behind a check that refuses first."""
    tables = [c for c in pairing.shut if c.gate.kind is Kind.TABLE and c.gets.does in (Does.RAISES, Does.REFUSES)]
    for table in tables:
        readers = _functions(table)
        reached = readers | frozenset(x for r in readers for x in pairing.project.targets(LinkKind.CALLS, r))
        for check in _beside(table, pairing):
            if check.gate.kind in LISTS and check.gate.kind is not Kind.ALLOW_LIST:
                continue
            if _functions(check) & reached or _leads_to(check, table):
                pairing.both(
                    check,
                    Counterpart.TABLE,
                    table,
                    Counterpart.CHECK,
                    "the table behind it has no row for the target",
                    "refuses before the table is read",
                )


def _beside(table: Case, pairing: Pairing) -> list[Case]:
    """The cases of the file of a table, and of the files that read it."""
    paths = dict.fromkeys((table.gate.path, *(path for path, _ in _readers(table))))
    return [case for path in paths for case in pairing.by_path.get(path, ())]


def _readers(table: Case) -> frozenset[tuple[str, int]]:
    """Where a table is read."""
    return frozenset((r.path, r.line) for r in table.gate.related if r.role is Role.CALLER)


def _leads_to(check: Case, table: Case) -> bool:
    """Whether what a check guards reads the table: by its name, or at the line that reads it."""
    gate = check.gate
    effects = [gate.rest, *(a.effect for a in gate.arms)]
    if _readers(table) & {(gate.path, e.line) for e in effects}:
        return True
    names = names_in(" ".join(e.value or "" for e in effects))
    return bool(names & set(table.gate.symbols))


def _functions(case: Case) -> frozenset[str]:
    """The functions that a case speaks of: where it stands, and those it is named for."""
    scope = (case.gate.scope.name,) if case.gate.scope else ()
    return frozenset(re.split(r"::|\.", n)[-1] for n in (*scope, *case.gate.symbols) if n)


def mentions(pairing: Pairing) -> None:
    """A list whose text names another list: both must admit the target."""
    for file_cases in pairing.by_path.values():
        lists = [c for c in file_cases if c.gate.kind in LISTS and c.gate.layer in (Layer.PYTHON, Layer.JIT)]
        for other in lists:
            symbols = [s for s in other.gate.symbols if len(s) > 3]
            for case in lists:
                if case is not other and any(_names(case.gate.near, s) for s in symbols):
                    pairing.both(
                        case,
                        Counterpart.LIST,
                        other,
                        Counterpart.LIST,
                        "the list it goes by lacks the target too",
                        "the code behind it lacks the target too",
                    )


def _names(text: str, symbol: str) -> bool:
    if symbol.isidentifier():
        return symbol in _words(text)
    return symbol in text and re.search(rf"\b{re.escape(symbol)}\b", text) is not None


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


def sources(pairing: Pairing) -> None:
    """JIT lists against the `#if` of the sources that they compile."""
    for file in pairing.project.files:
        for gate in file.gates:
            if gate.kind is not Kind.KEYWORD_LIST:
                continue
            listed = 0
            for branch in pairing.project.ways(gate):
                listed |= branch.yes if branch.conditional else 0
            harmed = [c for c in _source_cases(pairing, gate) if _is_for(c, listed) and not _cannot_run(c)]
            case = pairing.shut_gates.get(id(gate))
            if case is not None:
                for other in harmed:
                    pairing.add(
                        case,
                        Pair(
                            Counterpart.SOURCE,
                            other.gate.path,
                            other.place.line,
                            False,
                            "its source shuts the target out too",
                            other,
                        ),
                    )
            elif harmed and pairing.taken(gate):
                _source_mismatch(pairing, file, gate, harmed)


def _is_for(case: Case, listed: int) -> bool:
    """Whether a source does harm where it is shut, and is open for some of those that the list lets in.

    One that is shut for all of them is nothing that the module needs.
    """
    return consequence(case) in _HARM and case.shut is not None and bool(case.shut.missed.yes & listed)


def unbuilt(pairing: Pairing) -> None:
    """Notes the lists that shut the target out beside what they alone compile."""
    closed = {name: c for c in pairing.shut if c.gate.kind is Kind.KEYWORD_LIST for name in _functions(c)}
    shut = {id(c.gate): c for c in pairing.shut if c.gate.kind is Kind.BUILD_LIST and not c.gate.rest.environment}
    roots: dict[int, list[str]] = defaultdict(list)  # by the closed list, 0 for what is open
    closers: dict[int, Case] = {}
    for file in pairing.project.files:
        lists = _own_lists(file)
        for link in file.links:
            if link.kind is LinkKind.JIT_SOURCE:
                name = re.split(r"::|\.", link.source)[-1]
                own = lists.get(name, [])
                closer = closed.get(name) or (shut[id(own[0])] if own and all(id(g) in shut for g in own) else None)
                if closer is not None:
                    closers[id(closer)] = closer
                roots[id(closer) if closer else 0] += pairing.project.named_files(link.target)
    built = frozenset(_with_includes(pairing, roots.pop(0, [])))
    for number, paths in roots.items():
        for path in _with_includes(pairing, paths):
            if path not in built:
                pairing.closers[path].append(closers[number])


def _own_lists(file: FileFacts) -> dict[str, list[Gate]]:
    """The lists of images that a file writes out, by the function that they stand in."""
    found: dict[str, list[Gate]] = defaultdict(list)
    for gate in file.gates:
        if gate.kind is Kind.BUILD_LIST:
            found[re.split(r"::|\.", gate.scope.name)[-1] if gate.scope else ""].append(gate)
    return found


def _source_cases(pairing: Pairing, gate: Gate) -> list[Case]:
    paths: list[str] = []
    names = [gate.scope.name] if gate.scope else []
    for name in (*names, *gate.symbols):
        for link in pairing.project.links(LinkKind.JIT_SOURCE, name):
            paths += pairing.project.named_files(link.target)
    for named in _FILE_NAME.findall(gate.near):
        paths += pairing.project.named_files(named)
    found = (c for path in _with_includes(pairing, paths) for c in pairing.by_path.get(path, ()))
    return [c for c in found if not is_fence(c, pairing.catalog.universe)]


def _with_includes(pairing: Pairing, paths: list[str]) -> list[str]:
    """Those files and the project's own headers that they include."""
    seen: dict[str, None] = {}
    todo = list(dict.fromkeys(paths))
    while todo:
        path = todo.pop(0)
        file = pairing.project.by_path.get(path)
        if path in seen or file is None or file.origin is not Origin.OWN:
            continue
        seen[path] = None
        for link in file.links:
            if link.kind is LinkKind.INCLUDES:
                todo += pairing.project.included_files(path, link.target)
    return list(seen)


def _cannot_run(case: Case) -> bool:
    return bool(case.needs.absent())


def _source_mismatch(pairing: Pairing, file: FileFacts, gate: Gate, harmed: list[Case]) -> None:
    name = pairing.selection.name
    related = tuple(Related(c.gate.path, c.place.line, Role.PAIR, f"its source shuts {name} out") for c in harmed[:20])
    for case in harmed:
        pairing.add(case, Pair(Counterpart.BUILD, file.path, gate.place.line, True, f"it is compiled for {name}"))
    worst = max(harmed, key=lambda c: (consequence(c) is Consequence.SILENT_NOOP, -c.place.line))
    pairing.mismatches.append(mismatch(file, gate, 0, gate.place, worst, consequence(worst), related))


def builds(pairing: Pairing) -> None:
    """Ahead-of-time flags against the JIT list of the module that they build."""
    lists: dict[str, list[tuple[FileFacts, Gate]]] = defaultdict(list)
    for file in pairing.project.files:
        for gate in file.gates:
            if gate.kind is Kind.KEYWORD_LIST and gate.scope:
                lists[gate.scope.name.split(".")[-1]].append((file, gate))
    for file in pairing.project.files:
        for gate in file.gates:
            if gate.kind is Kind.BUILD_FLAG:
                _build_flag(pairing, file, gate, lists)


def _build_flag(pairing: Pairing, file: FileFacts, gate: Gate, lists: dict[str, list[tuple[FileFacts, Gate]]]) -> None:
    shut = pairing.shut_gates.get(id(gate))
    for index, arm in enumerate(gate.arms):
        for called in dict.fromkeys(c.split(".")[-1] for c in arm.calls):
            for _, listed in lists.get(called, ()):
                closed = pairing.shut_gates.get(id(listed))
                if shut is not None and shut.guarded == index:
                    _builds_pair(pairing, shut, listed, closed, called)
                elif closed is not None and any(a is arm for _, a in pairing.taken(gate)):
                    _builds_mismatch(pairing, file, gate, index, closed, called)


def _builds_pair(pairing: Pairing, shut: Case, listed: Gate, closed: Case | None, called: str) -> None:
    if closed is not None:
        pairing.both(
            shut,
            Counterpart.BUILD,
            closed,
            Counterpart.BUILD,
            f"the list of {called} lacks the target too",
            "the ahead-of-time build leaves it out too",
        )
    else:
        message = f"the list of {called} admits the target"
        pairing.add(shut, Pair(Counterpart.BUILD, listed.path, listed.place.line, True, message))


def _builds_mismatch(pairing: Pairing, file: FileFacts, gate: Gate, index: int, closed: Case, called: str) -> None:
    related = (Related(closed.gate.path, closed.place.line, Role.PAIR, f"the list of {called} lacks the target"),)
    pairing.add(
        closed, Pair(Counterpart.BUILD, file.path, gate.arms[index].place.line, True, f"asks to build {called} for it")
    )
    pairing.mismatches.append(
        mismatch(file, gate, index, gate.arms[index].place, closed, Consequence.COMPILE_ERROR, related)
    )
