"""Random hostile text in every format: what a scanned project is called must not break out of the report about it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import report_samples as samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archscan.reporting import RENDERERS, render

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "25"))
PIECES = st.sampled_from(
    ["<script>", "</script>", "&lt;", "::error::", "\n", "\r\n", "\x1b[31m", "\x07", "\0", "\u202e", "\udcff", "|", "`",
     "](x)", "%0A", "]]>", '"', "'", "\\", "{{", "${", "\ufffe", "\U0001f600", "a.cu", "..", "/", "<!--", "\x85", " "]
)  # fmt: skip
TEXT = st.lists(PIECES | st.text(max_size=3), min_size=1, max_size=8).map("".join)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXT)
def test_no_text_breaks_out_of_a_format(text: str) -> None:
    original = samples.HOSTILE
    samples.HOSTILE = text
    try:
        evil = samples.hostile()
    finally:
        samples.HOSTILE = original
    samples.HOSTILE = "plain"
    try:
        plain = samples.hostile()
    finally:
        samples.HOSTILE = original
    written = {name: render(evil, name, samples.options(verbosity=1, limit=0)) for name in RENDERERS}
    for data in written.values():
        data.encode("utf-8", "backslashreplace")
    for name in ("json", "sarif", "gitlab"):
        assert json.loads(written[name]), name
    ElementTree.fromstring(written["junit"].encode("utf-8", "backslashreplace"))
    assert not _CONTROL.search(written["text"].replace("\n", ""))
    for line in written["github"].splitlines():
        assert not line or line.startswith(("::error ", "::warning ", "::notice ", "::debug", "#", "::")), line
    page = render(plain, "html", samples.options(verbosity=1, limit=0))
    assert Tags(written["html"]).found.count("script") == Tags(page).found.count("script")


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXT)
def test_every_finding_keeps_its_place_in_sarif(text: str) -> None:
    report = samples.sample()
    first = report.findings[0]
    moved = replace(first, gate=replace(first.gate, path=text), message=text)
    document = json.loads(render(replace(report, findings=(moved, *report.findings[1:])), "sarif", samples.options()))
    for result in document["runs"][0]["results"]:
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@/%-]*", uri), uri
