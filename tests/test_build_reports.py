"""Builds that people reported in public, as small inputs: what archscan says of each.

`tests/data/build_reports.jsonl` has one a line: where it was reported, what was said of it at first sight, the files
(written anew, with what matters of the report), the toolkit, and what is true.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from archscan.cli import archscan

LINES = (Path(__file__).parent / "data" / "build_reports.jsonl").read_text("utf-8").splitlines()
REPORTS: list[dict[str, Any]] = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: str(one["url"]).removeprefix("https://github.com/"))
def test_report(report: dict[str, Any], tmp_path: Path) -> None:
    for name, text in report["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    options = ["--isolated", "--no-cache", "-j", "1", "--cuda", report.get("cuda", "13.0"), *report.get("options", [])]
    run = CliRunner().invoke(archscan, ["builds", "-f", "json", *options, str(tmp_path)])
    assert run.exit_code == 0, run.output
    builds = json.loads(run.stdout)["builds"]
    images = {("ptx:" if i["kind"] == "ptx" else "") + i["arch"] for build in builds for i in build["images"]}
    assert builds
    assert any(build["stops"] for build in builds) is report.get("stops", False)
    if "images" in report:
        assert images == set(report["images"])
    for gpu, words in report.get("gets", {}).items():
        assert {build["gets"][gpu] for build in builds} == {words}
    assert set(report.get("unknowns", ())) <= {name for build in builds for name in build["unknowns"]}
    assert set(report.get("dropped", ())) <= {one["asked"] for build in builds for one in build["dropped"]}


def test_first_sight_is_kept_apart() -> None:
    assert all(str(one["first"]).partition(":")[0] in ("right", "wrong", "silent") for one in REPORTS)
    assert len({one["url"] for one in REPORTS}) == len(REPORTS) >= 70
