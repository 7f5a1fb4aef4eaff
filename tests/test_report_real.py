"""Reports on the real case: what a reader must find, and what validators must accept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

import archscan
from archscan import cli

CORPORA = os.environ.get("ARCHSCAN_CORPORA", "")
pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not (Path(CORPORA) / "flashinfer-0.6.2").is_dir(), reason="ARCHSCAN_CORPORA has no flashinfer"),
]
THIRTEEN = {417, 455, 485, 533, 711, 895, 950, 991, 1053, 1207, 1265, 1335, 1444}
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def paths() -> list[str]:
    """The JIT lists and the headers of the case: enough for its chain, small enough for every run."""
    package = Path(CORPORA) / "flashinfer-0.6.2" / "flashinfer"
    return [str(package / "jit"), str(package / "data" / "include" / "flashinfer" / "comm")]


def report(paths: list[str], capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    code = cli.run(["--target", "sm120", "--isolated", *options, *paths])
    return code, capsys.readouterr().out


def test_json_names_the_thirteen_gates_and_the_list(paths: list[str], capsys) -> None:
    code, out = report(paths, capsys, "-f", "json", "--all-gates")
    assert code == 1
    document = json.loads(out)
    schema = json.loads((Path(archscan.__file__).parent / "schema" / "archscan-1.1.schema.json").read_text())
    jsonschema.validators.validator_for(schema)(schema).validate(document)
    excluded = {(f["path"], f["line"]) for f in document["findings"] if f["problem"] == "excluded"}
    assert {line for path, line in excluded if path == "comm/trtllm_allreduce.cuh"} >= THIRTEEN
    assert ("jit/comm.py", 61) in excluded
    assert not any("trtllm_allreduce_fusion.cuh" in path for path, _ in excluded)


def test_sarif_validates(paths: list[str], capsys) -> None:
    _, out = report(paths, capsys, "-f", "sarif", "--include-leave")
    schema = json.loads((HERE / "data" / "sarif-2.1.0.schema.json").read_text())
    jsonschema.validators.validator_for(schema)(schema).validate(json.loads(out))


def test_text_folds_the_waits_and_shows_the_empty_kernel_first(paths: list[str], capsys) -> None:
    _, out = report(paths, capsys, "--rule", "upper-bound-gate")
    assert out.index("trtllm_allreduce.cuh:711:1") < out.index("trtllm_allreduce.cuh:417:1")
    assert "and 5 more like it: lines 485, 895, 991, 1207, 1335" in " ".join(out.split())
    assert "cudaGridDependencySynchronize();" not in out  # what is behind it is evidence
    _, out = report(paths, capsys, "--rule", "upper-bound-gate", "-v")
    assert "cudaGridDependencySynchronize();" in out
