"""What helpers come to is kept for a project: no file's facts may hang on which files were asked before."""

from __future__ import annotations

import itertools
import pickle

import pytest
from host_scan import admits, catalog

from archscan.frontends.cuda.host import HostFacts, host_gates, host_index, host_link
from archscan.frontends.cuda.host.answers import DEPTH, Answers
from archscan.frontends.cuda.presence import PresenceMap
from archscan.frontends.cuda.seen import Seen
from archscan.frontends.protocol import Context
from archscan.model.facts import Source
from archscan.model.settings import ScanSettings


def _in_order(files: dict[str, str], order: tuple[str, ...]) -> dict[str, HostFacts]:
    """The facts of the files, asked for in this order."""
    context = Context(catalog(), ScanSettings())
    indexes = {path: host_index(Source(path, text.encode()), context) for path, text in files.items()}
    indexes = {path: index for path, index in indexes.items() if index is not None}
    project = host_link(indexes, context)
    liveness = PresenceMap(catalog().universe.all)
    return {path: host_gates(indexes[path], project, liveness, context) for path in order if path in indexes}


def _chain(length: int) -> str:
    """Helpers that ask each other: step_0 asks step_1, the last one the capability."""
    steps = [f"inline bool step_{i}(int sm) {{ return step_{i + 1}(sm); }}" for i in range(length)]
    return "\n".join([*steps, f"inline bool step_{length}(int sm) {{ return sm >= 90; }}"])


def _asks(name: str) -> str:
    return f'void launch_{name}(int sm) {{\n  if (!{name}(sm)) throw std::runtime_error("no");\n  run();\n}}\n'


_RECURSIVE = """
inline bool even_gpu(int sm) { return sm == 90 ? true : odd_gpu(sm); }
inline bool odd_gpu(int sm) { return sm == 80 ? false : even_gpu(sm); }
"""
_PROJECTS = {
    "deep": {"helpers.h": _chain(DEPTH + 2)} | {f"{i}.cu": _asks(f"step_{i}") for i in (0, 2, 4, DEPTH)},
    "recursive": {"helpers.h": _RECURSIVE, "a.cu": _asks("even_gpu"), "b.cu": _asks("odd_gpu")},
    "of constants": {
        "helpers.h": "constexpr int kLeast = kFloor;\nconstexpr int kFloor = 90;\n"
        "inline bool is_new(int sm) { return sm >= kLeast; }\n",
        "a.cu": _asks("is_new"),
        "b.cu": "void g(int sm) {\n  if (sm >= kLeast) run();\n}\n",
    },
}


@pytest.mark.parametrize("project", _PROJECTS.values(), ids=list(_PROJECTS))
def test_no_order_of_files_changes_what_is_said(project: dict[str, str]) -> None:
    alone = {path: _in_order(project, (path,)).get(path) for path in project}
    for order in itertools.permutations(project):
        assert _in_order(project, order) == {path: said for path, said in alone.items() if said is not None}


@pytest.mark.parametrize(("start", "is_told"), [(2, False), (4, True)])
def test_a_chain_that_was_cut_is_told_where_there_is_room(start: int, is_told: bool) -> None:
    """The helper of the whole chain is cut; those that begin later in the same chain are not, also asked after it."""
    files = _PROJECTS["deep"]
    found = _in_order(files, ("0.cu", f"{start}.cu"))[f"{start}.cu"]
    told = [admits(g.arms[0]) for g in found.gates if g.arms[0].truth.yes]
    assert bool(told) is is_told
    if is_told:
        assert 80 in told[0] and 89 in told[0] and 90 not in told[0] and 120 not in told[0]


def test_an_answer_that_is_there_was_read_from_the_same_files() -> None:
    seen = Seen()
    answers = Answers(seen)

    def work() -> int:
        seen.note("helpers.h")
        answers.steps += 3
        return 1

    assert answers.of("key", 0, 0, work) == 1
    seen.clear()
    answers.steps = 0
    assert answers.of("key", 0, 0, lambda: pytest.fail("worked out again")) == 1
    assert seen.reads().files == {"helpers.h"}
    assert answers.steps == 3


def test_an_answer_that_went_too_deep_holds_only_there() -> None:
    answers = Answers()
    asked: list[int] = []

    def down(depth: int) -> bool:
        """Whether two more calls are followed."""
        asked.append(depth)
        return not answers.end_at(depth) and not answers.end_at(depth + 1)

    def ask(depth: int) -> bool:
        return answers.of("key", depth, False, lambda: down(depth))

    assert [ask(depth) for depth in (DEPTH - 1, DEPTH - 1, DEPTH - 2, 0)] == [False, False, True, True]
    assert asked == [DEPTH - 1, DEPTH - 2]
    assert ask(DEPTH) is False and asked == [DEPTH - 1, DEPTH - 2, DEPTH]


def test_what_rests_on_an_answer_that_went_too_deep_holds_only_there() -> None:
    """Also where that answer was there already."""
    answers = Answers()

    def inner(depth: int) -> bool:
        return answers.of("inner", depth, False, lambda: not answers.end_at(depth + 1))

    def outer(depth: int) -> bool:
        return answers.of("outer", depth, False, lambda: inner(depth + 1))

    assert inner(DEPTH - 1) is False
    assert [outer(depth) for depth in (DEPTH - 2, DEPTH - 3, DEPTH - 2)] == [False, True, False]


def test_what_asks_in_a_circle_is_not_kept() -> None:
    answers = Answers()

    def left() -> str:
        return "left of " + answers.of("right", 1, "?", lambda: "right of " + answers.of("left", 2, "itself", left))

    assert answers.of("left", 0, "itself", left) == "left of right of itself"
    assert answers.of("right", 0, "?", lambda: "fresh") == "fresh"
    assert answers.of("left", 0, "itself", lambda: "fresh") == "fresh"


def test_an_error_leaves_nothing_open() -> None:
    answers = Answers()

    def fails() -> int:
        raise RecursionError

    with pytest.raises(RecursionError):
        answers.of("key", 0, 0, fails)
    assert answers.of("key", 0, 0, lambda: 1) == 1


def test_answers_stay_where_they_were_worked_out() -> None:
    answers = Answers()
    answers.of("key", 0, 0, lambda: 1)
    assert pickle.loads(pickle.dumps(answers)).of("key", 0, 0, lambda: 2) == 2
