"""Reports read by other people's tools: GitHub's SARIF rules, sarif-tools, and a browser."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import empty, header_finding, hostile, options, sample

from archscan.reporting import render

REPORTS = {"sample": sample, "empty": empty, "hostile": hostile}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


def multitool() -> str | None:
    """The validator's native binary: ARCHSCAN_SARIF_MULTITOOL, or on the path."""
    return os.environ.get("ARCHSCAN_SARIF_MULTITOOL") or shutil.which("Sarif.Multitool")


@pytest.mark.skipif(multitool() is None, reason="no Sarif.Multitool (npm @microsoft/sarif-multitool-linux)")
@pytest.mark.parametrize("name", REPORTS)
def test_sarif_multitool_finds_nothing_with_githubs_rules(name: str, tmp_path: Path) -> None:
    path = tmp_path / "report.sarif"
    path.write_text(render(REPORTS[name](), "sarif", options(sarif_suppressed=True)), encoding="utf-8")
    out = tmp_path / "validation.sarif"
    subprocess.run(
        [str(multitool()), "validate", str(path), "--rule-kind", "Sarif;Ghas", "--level", "Error;Warning",
         "-o", str(out), "--log", "ForceOverwrite"],
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    results = json.loads(out.read_text(encoding="utf-8-sig"))["runs"][0].get("results", [])
    assert [r["ruleId"] + ": " + str(r["message"]) for r in results] == []


def test_sarif_tools_reads_levels_as_written(tmp_path: Path) -> None:
    loader = pytest.importorskip("sarif.loader")
    path = tmp_path / "report.sarif"
    path.write_text(render(sample(), "sarif", options()), encoding="utf-8")
    read = loader.load_sarif_file(str(path))
    assert read.get_report().get_issue_type_histogram_for_severity("error") != {}
    levels = [record["Severity"] for record in read.get_records()]
    assert sorted(levels) == ["error", "error", "error", "warning"]


@pytest.fixture(scope="module")
def dom(tmp_path_factory: pytest.TempPathFactory):
    """The page's document after its script ran, as text."""
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    profile = tmp_path_factory.mktemp("profile")

    def dump(page: str, fragment: str = "") -> str:
        path = profile / "page.html"
        path.write_text(page, encoding="utf-8")
        command = [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
            f"--user-data-dir={profile / 'chromium'}", "--dump-dom", path.as_uri() + fragment,
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode()

    return dump


def test_the_page_draws_findings_chains_and_matrix(dom) -> None:
    page = dom(render(sample(), "html", options()), "#f-f900")
    assert page.count('class="entry"') == 3
    assert "3 of 3" in page
    assert "supported_major_versions=[9, 10]" in page
    assert '<details class="entry" id="f-f900" open="">' in page
    assert '<span class="add">' in page and '<td class="c no target wrong-' in page
    assert page.count('<li class="shut">') == 1


def test_nothing_in_the_page_becomes_markup(dom) -> None:
    source = render(hostile(), "html", options())
    assert "<script>alert" not in source
    page = dom(source)
    assert "<script>alert" not in page
    assert html.escape("<script>alert(1)</script>") in page


def test_an_empty_report_is_a_page(dom) -> None:
    assert "Nothing goes wrong for sm_120" in dom(render(empty(), "html", options()))


def test_the_page_is_one_file_that_loads_nothing() -> None:
    page = render(sample(), "html", options())
    assert "default-src 'none'" in page
    for loading in ('src="', 'href="http', "url(", "@import", "fetch("):
        assert loading not in page


@pytest.mark.slow
def test_five_thousand_findings(dom) -> None:
    findings = tuple(
        replace(header_finding(2, (3, 4), 50), fingerprint=f"{number:05}", chain=None, message=f"finding {number}")
        for number in range(5000)
    )
    page = dom(render(replace(sample(), findings=findings), "html", options()))
    assert "5000 of 5000" in page
