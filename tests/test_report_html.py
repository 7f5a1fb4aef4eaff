"""The HTML page: the answer stands in it without a script, filters are in the address, no text becomes markup."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import HOSTILE, hostile, options, sample

from archscan.commands.scan import today
from archscan.reporting import render
from archscan.reporting.words import visible

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def static(page: str) -> str:
    """The page as a browser without scripts shows it, as text."""
    body = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", body).split()))


def test_the_answer_stands_in_the_page_without_a_script() -> None:
    text = static(render(sample(), "html", options(paths=("pkg", "a b"), gpu="Blackwell: RTX 5090", toolkit="13.0")))
    assert "pkg, a b on sm_120" in text
    assert "Blackwell: RTX 5090, CUDA 13.0" in text and "archscan --target sm_120 pkg 'a b'" in text
    assert "1 feature shut, wrong or slow: 1 medium" in text
    assert (
        "medium trtllm_comm the list of majors lacks 12; once built: launches and writes nothing jit/comm.py:3" in text
    )
    assert "archscan trace trtllm_comm --target sm_120 pkg 'a b'" in text
    assert "high kernel body is empty on sm_120 include/comm/allreduce.cuh:2 to open: only together with" in text


def test_what_is_shut_is_told_by_more_than_its_colour() -> None:
    page = render(sample(), "html", options())
    assert '<li class="shut" title="shuts it out">jit x</li>' in page
    assert '<li class="open" title="lets it in">source o</li>' in page


def test_nothing_of_the_code_becomes_markup() -> None:
    page = render(hostile(), "html", options(paths=(HOSTILE,)))
    assert page.count("<script") == 2 and "alert(1)</script>" not in page
    assert html.escape(visible(" ".join(HOSTILE.split()))) in page


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_draws_it_and_takes_filters_from_the_address(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render(sample(), "html", options()), encoding="utf-8")

    def dom(address: str) -> str:
        command = [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
            f"{page.as_uri()}{address}",
        ]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    whole = dom("")
    assert '<span id="count" role="status" class="soft">3 of 3</span>' in whole
    assert whole.count('class="copy"') == 1
    assert "every rule" in whole and re.search(r"<option value=\"[a-z-]+\">[a-z-]+ \(1\)</option>", whole)
    filtered = dom("#layer=jit&text=majors")
    assert '<span id="count" role="status" class="soft">1 of 3</span>' in filtered


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_thousands_of_findings_are_drawn_as_they_are_scrolled_to(tmp_path: Path) -> None:
    one = sample()
    many = tuple(replace(one.findings[0], fingerprint=f"{number:016x}", group=None) for number in range(450))
    page = tmp_path / "report.html"
    page.write_text(render(replace(one, findings=many, chains=()), "html", options()), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    for address, least in (("", 200), (f"#f-{440:016x}", 441)):
        said = subprocess.run(
            [*command, page.as_uri() + address], capture_output=True, text=True, check=True, timeout=120
        ).stdout
        drawn = said.count('<details class="entry"')
        assert least <= drawn < 450 and f"Show {450 - drawn} more" in said and "450 of 450" in said


def test_the_day_is_that_of_the_run_or_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<br>2026-11-30</p>" in render(sample(), "html", replace(options(), date="2026-11-30"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert today() == "1970-01-02"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "never")
    assert today() > "2026-01-01"
