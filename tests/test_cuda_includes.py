"""Which files reach which through `#include`, and what the graph costs."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from archscan import pipeline
from archscan.catalog import load
from archscan.frontends.cuda.includes import Includes, resolved
from archscan.model.settings import ScanSettings


def test_reach_goes_through_files_and_cycles_and_ends_at_what_was_not_scanned() -> None:
    graph = Includes(
        resolved(
            {
                "a.cu": ("b.cuh", "cuda.h"),
                "b.cuh": ("c.cuh",),
                "c.cuh": ("b.cuh", "driver.h"),
                "d.cu": ("c.cuh",),
                "e.cu": (),
            }
        )
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


def test_who_is_read_together_with_a_header_sees_it() -> None:
    written = {
        "one.cu": ("rows.cuh", "later.cuh"),
        "rows.cuh": ("deep.cuh",),
        "later.cuh": (),
        "deep.cuh": (),
        "two.cu": ("later.cuh",),
        "alone.cu": (),
    }
    graph = Includes(resolved(written))
    assert graph.beside("rows.cuh") == {"one.cu", "rows.cuh", "later.cuh", "deep.cuh"}  # later.cuh after it, in one.cu
    assert graph.beside("later.cuh") == {"one.cu", "two.cu", "rows.cuh", "later.cuh", "deep.cuh"}
    assert graph.beside("alone.cu") == {"alone.cu"}


def test_a_file_costs_no_bit_in_every_other() -> None:
    def size(count: int) -> int:
        written = {f"{i}.cu": ("common.cuh",) for i in range(count)} | {"common.cuh": ()}
        return len(pickle.dumps(Includes(resolved(written))))

    assert size(20_000) < 2.2 * size(10_000)


def test_a_header_of_the_standard_library_is_none_of_the_same_name_elsewhere() -> None:
    graph = Includes(
        resolved({"a.cu": ("atomic", "cuda/std/array"), "include/cuda/std/atomic": (), "include/cuda/std/array": ()})
    )
    assert not graph.reaches("a.cu", "include/cuda/std/atomic")
    assert graph.reaches("a.cu", "include/cuda/std/array")


@pytest.mark.parametrize("depth", [70, 150])
def test_includes_that_lie_deep_end_no_scan(depth: int, tmp_path: Path) -> None:
    """Beyond what is followed nothing is known of macros that the file there may define; what it asks is still read."""
    for i in range(depth):
        text = f"#pragma once\n#if __CUDA_ARCH__ >= 900 && defined(Z{i})\nint y{i};\n#endif\n"
        (tmp_path / f"h{i}.cuh").write_text(f'{text}#include "h{i + 1}.cuh"\n#define D{i} {i}\n')
    (tmp_path / f"h{depth}.cuh").write_text(
        "#if defined(Q) && __CUDA_ARCH__ < 1200\nint z;\n#endif\n#define LAST 1000\n"
    )
    (tmp_path / "self.cuh").write_text('#include "self.cuh"\n#define A 1\n')
    asks = "#if __CUDA_ARCH__ < LAST\nint last;\n#endif\n"
    (tmp_path / "b.cu").write_text(f'#define Q\n#include "self.cuh"\n#include "h0.cuh"\n{asks}')
    catalog = load()
    facts = pipeline.scan([str(tmp_path)], catalog, ScanSettings())
    assert facts.failed == ()
    found = {file.path.rpartition("/")[2]: file.gates for file in facts.files}
    known, unknown = catalog.universe.by_name["sm_90"], catalog.universe.by_name["sm_120"]
    truth = found["b.cu"][0].arms[0].truth
    words = [truth.word(catalog.universe.bit(target)) for target in (known, unknown)]
    assert words == (["yes", "no"] if depth < 80 else ["unknown", "unknown"])
    deepest = found[f"h{depth}.cuh"][0].arms[0].truth
    assert deepest.word(catalog.universe.bit(unknown)) == "no"


def test_a_constant_made_of_the_architecture_is_asked_only_where_it_is_seen(tmp_path: Path) -> None:
    body = 'if (ROWS_OF_TILE == 8) { asm("fence.proxy.async;"); } else { out[0] = 1; }'
    asks = f"__global__ void k(int *out) {{\n  {body}\n}}\n"
    values = "constexpr int ROWS_OF_TILE = 8;\n#else\nconstexpr int ROWS_OF_TILE = 4;\n"
    chosen = f"#if __CUDA_ARCH__ >= 900\n{values}#endif\n"
    (tmp_path / "rows.cuh").write_text("#pragma once\n" + chosen)
    (tmp_path / "beside.cuh").write_text(asks.replace("void k", "void inner"))  # seen where both.cu reads it
    (tmp_path / "user.cu").write_text('#include "rows.cuh"\n' + asks)
    (tmp_path / "both.cu").write_text('#include "rows.cuh"\n#include "beside.cuh"\n')
    (tmp_path / "other.cu").write_text(asks)  # its own ROWS_OF_TILE, whatever that is
    facts = pipeline.scan([str(tmp_path)], load(), ScanSettings(use_cache=False))
    assert {Path(file.path).name for file in facts.files if file.gates} == {"rows.cuh", "user.cu", "beside.cuh"}
