"""The story the tool exists for, on the real packages: what shuts fused allreduce, what runs, what is only built."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pytest

from archscan import pipeline
from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.finding import Problem
from archscan.model.report import Chain, Report
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.tracing.code import Code
from archscan.tracing.commands import read_code
from archscan.tracing.consumers import with_consumers
from archscan.tracing.diff import Change, compare
from archscan.tracing.messages import explain_message
from archscan.tracing.trace import trace

CORPORA = os.environ.get("ARCHSCAN_CORPORA", "")
pytestmark = [
    pytest.mark.corpora,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPORA, reason="ARCHSCAN_CORPORA names no directory with the real packages"),
]
SETTINGS = ScanSettings()
HEADER = "flashinfer/comm/trtllm_allreduce.cuh"
THIRTEEN = [417, 455, 485, 533, 711, 895, 950, 991, 1053, 1207, 1265, 1335, 1444]


@lru_cache(maxsize=3)
def _scanned(*packages: str) -> tuple[Report, Code]:
    paths = [str(Path(CORPORA) / package / package.partition("-")[0]) for package in packages]
    if missing := [path for path in paths if not Path(path).is_dir()]:
        pytest.skip(f"not among the real packages: {missing[0]}")
    catalog = load()
    facts = pipeline.scan(paths, catalog, SETTINGS)
    report = pipeline.report(facts, select("sm120", catalog), catalog, JudgeSettings())
    return report, read_code(paths, SETTINGS, catalog, report.facts)


def _traced(name: str, *packages: str) -> Chain:
    (chain,) = trace(name, *_scanned(*packages))
    return chain


def _lines(chain: Chain, file: str, state: str = "shut", reach: str = "run") -> list[int | None]:
    return [s.line for s in chain.steps if s.path.endswith(file) and s.state == state and s.reach == reach]


def test_the_module_with_its_lists_its_thirteen_gates_and_its_clean_neighbours() -> None:
    chain = _traced("gen_trtllm_comm_module", "flashinfer-0.6.2")
    shut = [(s.path, s.line) for s in chain.steps if s.state == "shut"]
    assert shut[:2] == [("jit/comm.py", 61), ("aot.py", 526)]
    assert [line for _, line in shut[2:]] == THIRTEEN
    assert chain.sentence.startswith("shut by 15 of ")
    clean = {s.path.rpartition("/")[2] for s in chain.steps if s.state == "clean"}
    assert {"trtllm_allreduce.cu", "trtllm_allreduce_fusion.cu", "trtllm_allreduce_fusion.cuh"} <= clean
    assert {"trtllm_moe_allreduce_fusion.cuh", "trtllm_moe_allreduce_fusion.cu"} <= clean
    assert not any("mnnvl" in s.path for s in chain.steps)


def test_the_fused_operator_does_not_run_the_thirteen() -> None:
    chain = _traced("trtllm_allreduce_fusion", "sglang-0.5.8", "flashinfer-0.6.2")
    assert _lines(chain, HEADER, reach="built") == THIRTEEN
    assert _lines(chain, HEADER) == []
    assert 93 in _lines(chain, "srt/layers/communicator.py")
    assert _lines(chain, "srt/server_args.py") == [1620]
    assert _lines(chain, "jit/comm.py") == [61]
    assert _lines(chain, "flashinfer/aot.py") == [526]
    clean = [s.path for s in chain.steps if s.state == "clean" and s.reach == "run"]
    for file in ("flashinfer_comm_fusion.py", "csrc/trtllm_allreduce_fusion.cu", "comm/trtllm_allreduce_fusion.cuh"):
        assert any(path.endswith(file) for path in clean), file


def test_the_older_operator_runs_through_the_thirteen() -> None:
    chain = _traced("trtllm_custom_all_reduce", "sglang-0.5.8", "flashinfer-0.6.2")
    assert _lines(chain, HEADER) == THIRTEEN
    assert not any("sglang" in s.path for s in chain.steps)


def test_the_message_leads_to_the_list() -> None:
    report, code = _scanned("flashinfer-0.6.2")
    said = "RuntimeError: No supported CUDA architectures found for major versions [9, 10]."
    found = explain_message(said, load(), report.facts, code)
    assert [(r.path, r.line) for r in found.raised] == [("compilation_context.py", 63)]
    assert [(c.gate.path, c.line) for c in found.causes] == [("jit/comm.py", 61)]


def test_the_consumer_is_behind_its_producer() -> None:
    report, code = _scanned("sglang-0.5.23", "flashinfer-0.7.2")
    found = [f for f in with_consumers(report, code, load()).findings if f.problem is Problem.DISAGREES]
    resolving = [f for f in found if f.path.endswith("srt/layers/flashinfer_comm_fusion.py") and f.place.line == 48]
    assert any(r.path.endswith("flashinfer/jit/comm.py") and r.line == 198 for f in resolving for r in f.related)


def test_what_the_next_version_opened_and_closed() -> None:
    difference = compare(_scanned("flashinfer-0.6.2")[0], _scanned("flashinfer-0.7.2")[0])
    opened = [_old(c) for c in difference.of("opened")]
    assert [line for path, line in opened if path.endswith(HEADER)] == THIRTEEN
    assert {("jit/comm.py", 61), ("jit/fused_moe.py", 235), ("aot.py", 526)} <= set(opened)
    lost = {_old(c) for c in difference.of("closed") if c.is_list}
    assert lost == {
        ("jit/attention/modules.py", 1754),
        ("jit/gemm/core.py", 81),
        ("jit/gemm/core.py", 177),
        ("jit/gemm/core.py", 226),
        ("jit/gemm/core.py", 309),
    }


def _old(change: Change) -> tuple[str, int]:
    assert change.old is not None
    return change.old.gate.path, change.old.line


def test_every_module_has_the_same_numbers_in_a_trace_as_in_a_report() -> None:
    report, code = _scanned("flashinfer-0.6.2")
    assert len(report.chains) > 20
    for chain in report.chains:
        traced = next(one for one in trace(chain.id, report, code) if one.id == chain.id)
        assert traced.sentence.partition(";")[0] == chain.sentence.partition(";")[0], chain.id
        shut = {(s.path, s.line) for s in chain.steps if s.state == "shut"}
        assert {(s.path, s.line) for s in traced.steps if s.state == "shut"} == shut, chain.id
