"""Which files reach which through `#include`, and what the graph costs."""

from __future__ import annotations

import pickle

from archscan.frontends.cuda.includes import Includes


def test_reach_goes_through_files_and_cycles_and_ends_at_what_was_not_scanned() -> None:
    graph = Includes(
        {
            "a.cu": ("b.cuh", "cuda.h"),
            "b.cuh": ("c.cuh",),
            "c.cuh": ("b.cuh", "driver.h"),
            "d.cu": ("c.cuh",),
            "e.cu": (),
        }
    )
    assert [p for p in ("a.cu", "b.cuh", "c.cuh", "d.cu", "e.cu") if graph.reaches("a.cu", p)] == ["b.cuh", "c.cuh"]
    assert graph.reaches("b.cuh", "b.cuh")  # a cycle
    assert not graph.reaches("b.cuh", "a.cu")
    assert not graph.reaches("e.cu", "b.cuh")
    assert graph.names("a.cu", "cuda.h")
    assert graph.names("a.cu", "driver.h")  # two headers on
    assert graph.names("d.cu", "driver.h")
    assert not graph.names("d.cu", "cuda.h")  # only a.cu names it, and nobody includes that
    assert not graph.names("e.cu", "driver.h")


def test_a_file_costs_no_bit_in_every_other() -> None:
    def size(count: int) -> int:
        return len(pickle.dumps(Includes({f"{i}.cu": ("common.cuh",) for i in range(count)} | {"common.cuh": ()})))

    assert size(20_000) < 2.2 * size(10_000)


def test_a_header_of_the_standard_library_is_none_of_the_same_name_elsewhere() -> None:
    graph = Includes(
        {"a.cu": ("atomic", "cuda/std/array"), "include/cuda/std/atomic": (), "include/cuda/std/array": ()}
    )
    assert not graph.reaches("a.cu", "include/cuda/std/atomic")
    assert graph.reaches("a.cu", "include/cuda/std/array")
