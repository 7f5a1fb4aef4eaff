"""A fleet scan on a distributed engine: the example of the documentation, on Dask's local cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from archscan import pipeline
from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.model.settings import JudgeSettings, ScanSettings

distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'archscan[dask]'")

GATE = """__global__ void k(int* out) {
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200)
  cudaGridDependencySynchronize();
#endif
}
"""


@pytest.mark.filterwarnings("ignore")
def test_many_packages_one_report(tmp_path: Path) -> None:
    packages = []
    for name in ("alpha", "beta", "gamma"):
        base = tmp_path / name
        base.mkdir()
        for number in range(4):
            (base / f"k{number}.cu").write_text(GATE)
        packages.append(str(base))
    catalog = load()
    settings = ScanSettings(use_cache=False)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        facts = pipeline.scan(packages, catalog, settings, mapper=client.get_executor())
    assert facts == pipeline.scan(packages, catalog, settings)
    report = pipeline.report(facts, select("sm120", catalog), catalog, JudgeSettings())
    assert {finding.path.split("/")[0] for finding in report.findings} == {"alpha", "beta", "gamma"}
