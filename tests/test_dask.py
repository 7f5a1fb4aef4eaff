"""A fleet scan on a distributed engine: the example of the documentation, as it is written, on Dask's local cluster."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from made_environments import install, library, site_of

from archscan import pipeline
from archscan.catalog import load
from archscan.model.settings import ScanSettings

distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'archscan[dask]'")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "fleet.md"
GATE = """__global__ void k(int* out) {
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900) && (__CUDA_ARCH__ < 1200)
  cudaGridDependencySynchronize();
#endif
}
"""


@pytest.mark.filterwarnings("ignore")
def test_many_packages_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packages = [tmp_path / name for name in ("alpha", "beta", "gamma")]
    for base in packages:
        base.mkdir()
        for number in range(4):
            (base / f"k{number}.cu").write_text(GATE)
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert block is not None
    paths = [str(base) for base in packages]
    example = re.sub(r"packages = .*", lambda _: f"packages = {paths!r}", block[1])
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        place = {"address": cluster.scheduler_address}
        exec(example.replace('"scheduler:8786"', "address"), place)
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["path"].split("/")[0] for finding in findings} == {"alpha", "beta", "gamma"}
    assert place["facts"] == pipeline.scan(paths, load(), ScanSettings(use_cache=False))


@pytest.mark.filterwarnings("ignore")
def test_many_environments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefixes = [tmp_path / name for name in ("alpha", "beta")]
    for number, prefix in enumerate(prefixes):
        install(site_of(prefix), "one", {"one/_C.so": library("sm_80" if number else "sm_120")})
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    example = re.sub(r"prefixes = .*", lambda _: f"prefixes = {[str(p) for p in prefixes]!r}", blocks[1])
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        exec(example.replace('"scheduler:8786"', "address"), {"address": cluster.scheduler_address})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith("one")] == [["one", "1.0", "+"], ["one", "1.0", "-"]]
