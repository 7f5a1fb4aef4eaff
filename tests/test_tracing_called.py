"""A gate in a function that nothing scanned calls may bite nobody: medium, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan import pipeline
from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.finding import Level, Reach
from archscan.model.settings import JudgeSettings, ScanSettings

CATALOG = load()
HELPER = """inline __device__ unsigned elected() {
  unsigned pred = 0;
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  unsigned lane = 0;
  asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(pred) : "r"(0xffffffff));
#endif
  return pred;
}
"""
KERNEL = '#include "common/utils.h"\n__global__ void k(int* o) {{ if ({call}) o[0] = 1; }}\n'


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, Level.MEDIUM),  # nobody
        ({"a.cu": KERNEL.format(call="elected()")}, Level.HIGH),
        ({"a.cu": KERNEL.format(call="n == 1 && elected ()")}, Level.HIGH),
        ({"a.cu": KERNEL.format(call="apply(elected)")}, Level.HIGH),  # handed on
        ({"a.cu": KERNEL.format(call="o[1]")}, Level.MEDIUM),  # included, and not called
        ({"a.cu": "unsigned elected();\n"}, Level.MEDIUM),  # declared
        (
            # its own: a function of that name beside it is nearer
            {
                "kernels/own.cuh": "inline __device__ unsigned elected() { return 1; }\n",
                "kernels/a.cu": '#include "own.cuh"\n' + KERNEL.format(call="elected()"),
            },
            Level.MEDIUM,
        ),
        (
            # a header that leaves it to who includes it to bring the function
            {
                "body.cuh": "inline __device__ void body(int* o) { if (elected()) o[0] = 1; }\n",
                "b.cu": '#include "common/utils.h"\n#include "body.cuh"\n__global__ void k(int* o) { body(o); }\n',
            },
            Level.HIGH,
        ),
    ],
)
def test_severity_by_callers(tmp_path: Path, files: dict[str, str], severity: Level) -> None:
    for name, text in {"common/utils.h": HELPER, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    facts = pipeline.scan([str(tmp_path)], CATALOG, ScanSettings(use_cache=False))
    report = pipeline.report(facts, select("sm120", CATALOG), CATALOG, JudgeSettings())
    (found,) = [f for f in report.findings if f.path.endswith("utils.h")]
    assert found.severity is severity
    reasons = [reason.text for reason in found.risk.reasons]
    assert ("nothing scanned calls elected" in reasons) is (severity is Level.MEDIUM)
    assert (found.reach is Reach.EXISTS) is (severity is Level.MEDIUM)
