"""Every format on hand-made reports: valid, complete, deterministic, and closed to what names and messages contain."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from report_samples import (
    CONDITION,
    FILES,
    HEADER,
    HOSTILE,
    RULE,
    UNIVERSE,
    empty,
    header_finding,
    hostile,
    list_finding,
    options,
    sample,
    sources,
)

import archscan
from archscan.model.finding import Evidence, Reason
from archscan.reporting import RENDERERS, render, sarif
from archscan.reporting.sarif import uri
from archscan.reporting.sources import line_windows
from archscan.reporting.words import compact, visible

HERE = Path(__file__).parent
SARIF_SCHEMA = json.loads((HERE / "data" / "sarif-2.1.0.schema.json").read_text())
JSON_SCHEMA = json.loads((Path(archscan.__file__).parent / "schema" / "archscan-1.1.schema.json").read_text())
REPORTS = {"sample": sample, "empty": empty, "hostile": hostile}
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def check(document: object, schema: dict[str, object]) -> None:
    jsonschema.validators.validator_for(schema)(schema).validate(document)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("format", RENDERERS)
def test_two_runs_give_equal_bytes_without_control_characters(format: str, name: str) -> None:
    first = render(REPORTS[name](), format, options(all_gates=True))
    assert first == render(REPORTS[name](), format, options(all_gates=True))
    assert first.endswith("\n")
    assert not CONTROL.search(first)
    first.encode("utf-8")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("all_gates", [False, True])
def test_json_validates(name: str, all_gates: bool) -> None:
    document = json.loads(render(REPORTS[name](), "json", options(all_gates=all_gates)))
    check(document, JSON_SCHEMA)
    assert ("gates" in document) == all_gates


def test_json_folds_nothing_and_counts_everything() -> None:
    document = json.loads(render(sample(), "json", options(all_gates=True)))
    assert [f["line"] for f in document["findings"]] == [2, 9, 12, 3, 3]
    assert document["findings"][0]["verdict"] == {"sm_120": "no", "sm_120a": "no", "sm_120f": "no"}
    assert document["findings"][1]["group"] == document["findings"][2]["group"] == "g1"
    assert document["findings"][3]["fix"]["edits"] == [
        {"path": "jit/comm.py", "start": 70, "end": 77, "text": "[9, 10, 12]"}
    ]
    assert document["summary"]["by_risk"] == {"blocked": 0, "high": 3, "medium": 2, "low": 0, "info": 0}
    assert document["summary"]["files"] == 7
    arm = document["gates"][0]["arms"][0]
    assert (arm["line"], arm["end_line"]) == (2, 4)
    assert "sm_90a" in arm["yes"] and "sm_120" not in arm["yes"] and arm["unknown"] == []


def test_json_schema_refuses_a_scan_without_a_part() -> None:
    document = json.loads(render(sample(), "json", options()))
    del document["chains"]
    with pytest.raises(jsonschema.ValidationError):
        check(document, JSON_SCHEMA)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_validates(name: str) -> None:
    check(json.loads(render(REPORTS[name](), "sarif", options(sarif_suppressed=True))), SARIF_SCHEMA)


def sarif_run(**changes: object) -> dict[str, object]:
    return json.loads(render(sample(), "sarif", options(**changes)))["runs"][0]


def test_sarif_has_what_github_reads() -> None:
    run = sarif_run()
    rules = run["tool"]["driver"]["rules"]
    assert run["automationDetails"]["id"] == "archscan/sm120/"
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert result["partialFingerprints"]["archscanGate/v1"]
    rule = next(r for r in rules if r["id"] == RULE.id)
    assert rule["help"]["markdown"].startswith(RULE.what)
    assert rule["defaultConfiguration"]["level"] == "error"
    assert rule["properties"]["precision"] == "high"


def test_sarif_keeps_values_that_equal_a_default_and_drops_what_is_unset() -> None:
    result = next(r for r in sarif_run()["results"] if r["ruleId"] == "major-list")
    assert result["level"] == "warning"
    assert result["rank"] == 60.0
    assert "id" not in result["locations"][0]


def test_sarif_region_is_the_condition_and_the_body_is_related() -> None:
    result = sarif_run()["results"][0]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["endLine"]) == (2, 2)
    body = result["relatedLocations"][0]
    assert body["physicalLocation"]["region"]["startLine"] == 3
    assert f"({body['id']})" in result["message"]["text"]


def test_sarif_line_hash_ordinals_tell_equal_lines_apart() -> None:
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in sarif_run()["results"][:3]]
    assert len(set(hashes)) == 3
    assert hashes[0] == line_hashes(FILES[HEADER].decode())[1]


def test_sarif_fix_is_a_region_of_lines_and_columns() -> None:
    result = next(r for r in sarif_run()["results"] if r["ruleId"] == "major-list")
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"]["text"] == "[9, 10, 12]"
    assert replacement["deletedRegion"]["startLine"] == 3


def test_sarif_suppressed_results_only_on_demand() -> None:
    assert not any("suppressions" in r for r in sarif_run()["results"])
    (result,) = [r for r in sarif_run(sarif_suppressed=True)["results"] if "suppressions" in r]
    assert result["suppressions"] == [{"kind": "inSource", "status": "accepted", "justification": "measured: slower"}]


def test_sarif_chain_is_a_code_flow() -> None:
    flow = sarif_run()["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["artifactLocation"]["uri"] for step in flow] == [
        "jit/comm.py",
        "csrc/fusion.cu",
    ]


def test_sarif_cut_is_said_and_keeps_the_highest_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 5)
    one = replace(header_finding(2, (3, 4), 90), chain=None, related=())
    many = tuple([one] * 5 + [replace(list_finding(), chain=None)] * 3)
    run = json.loads(render(replace(sample(), findings=many), "sarif", options()))["runs"][0]
    assert len(run["results"]) == 5
    assert {r["ruleId"] for r in run["results"]} == {"upper-bound-gate"}
    assert "3 results" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a b/c#d.cu", "a%20b/c%23d.cu"), ("a:b.py", "a%3Ab.py"), ("/abs.cu", "abs.cu"), ("é.cu", "%C3%A9.cu")],
)
def test_uri(path: str, expected: str) -> None:
    assert uri(path) == expected


def line_hashes(text: str) -> tuple[str, ...]:
    return tuple(window.hash() for window in line_windows(text))


def test_line_hashes_are_those_of_github() -> None:
    assert line_hashes("") == ("c129715d7a2bc9a3:1",)
    assert line_hashes(" a\nb\n  \t\tc\n d") == (
        "271789c17abda88f:1",
        "54703d4cd895b18:1",
        "180aee12dab6264:1",
        "a23a3dc5e078b07b:1",
    )
    assert len(line_hashes("\u0a00\u0a0a x\ny")) == 2
    assert line_hashes("x\r\ny\r") == line_hashes("x\ny\n")
    repeated = line_hashes("Lorem ipsum dolor sit amet.\n" * 10)
    assert repeated[5:7] == ("a7f2ff13bc495cf2:6", "a7f2ff1481e87703:1")


def test_text_is_a_place_a_sentence_the_code_and_what_opening_takes() -> None:
    lines = render(sample(), "text", options(width=120)).splitlines()
    at = lines.index("high[upper-bound-gate]: kernel body is empty on sm_120")
    assert lines[at + 1 : at + 4] == [
        "   --> include/comm/allreduce.cuh:2:1  in norm",
        f"  2 | #if {CONDITION}  (yes: 90-110)",
        "    = to open: only together with its other half; high risk: the launch succeeds and writes nothing",
    ]


def test_verbose_text_names_the_place_verdict_loss_and_evidence() -> None:
    text = " ".join(render(sample(), "text", options(verbosity=1)).split())
    assert "include/comm/allreduce.cuh:2:1 in norm" in text
    assert "no on sm_120, 120a, 120f (yes: 90-110)" in text
    assert "lines 3-4: dropped; nothing instead" in text
    assert "flashinfer-ai/flashinfer#3903" in text
    assert "and 1 more like it: line 12" in text
    assert "right as it is" not in text and "1 right as they are (--include-leave)" in text
    assert "2 vendored (--include-vendored)" in text


def test_evidence_is_told_with_v_only() -> None:
    disputed = Reason("contested: reports disagree", (Evidence("It ran.", "a/b#1", "contested"),))
    finding = sample().findings[0]
    report = replace(sample(), findings=(replace(finding, risk=replace(finding.risk, reasons=(disputed,))),))
    assert "It ran." not in render(report, "text", options())
    assert "It ran. [a/b#1, contested]" in " ".join(render(report, "text", options(verbosity=1)).split())


def test_text_caret_stands_under_what_decides() -> None:
    lines = render(sample(), "text", options(verbosity=1)).splitlines()
    shown = next(i for i, line in enumerate(lines) if line.startswith("  2 | #if"))
    start, end = lines[shown + 1].index("^"), lines[shown + 1].rindex("^") + 1
    assert lines[shown][start:end] == "(__CUDA_ARCH__ < 1200)"


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("verbosity", [0, 1])
def test_text_keeps_to_the_width(width: int, verbosity: int) -> None:
    text = render(sample(), "text", options(width=width, verbosity=verbosity))
    assert max(map(len, text.splitlines())) <= width


def test_text_has_no_colour_unless_asked() -> None:
    assert "\x1b[" not in render(sample(), "text", options())
    coloured = render(sample(), "text", options(color=True))
    assert "\x1b[31m" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == render(sample(), "text", options())


def test_text_survives_a_file_that_vanished() -> None:
    text = render(sample(), "text", options(sources=sources({})))
    assert CONDITION in text


def test_text_limit_counts_the_rest() -> None:
    text = render(sample(), "text", options(limit=1))
    assert "2 more entries (3 high): --limit 0 shows all of them" in text


def test_quiet_is_a_line_an_entry() -> None:
    lines = render(sample(), "text", options(verbosity=-1)).splitlines()
    assert "include/comm/allreduce.cuh:9:1: high[upper-bound-gate]: the wait is compiled out on sm_120 (+1)" in lines


def test_github_commands_cannot_be_injected() -> None:
    lines = render(hostile(), "github", options()).splitlines()
    assert all(re.match(r"::(error|warning|notice) ", line) for line in lines)
    assert all("," not in value for line in lines for value in re.findall(r"file=([^,]*),line", line))


def test_github_is_capped_and_says_so() -> None:
    many = tuple(replace(header_finding(2, (3, 4), 90), chain=None, fingerprint=str(i)) for i in range(25))
    lines = render(replace(sample(), findings=many), "github", options()).splitlines()
    assert sum(line.startswith("::error ") for line in lines) == 10
    assert "15 entries more than GitHub shows" in lines[-1]


def test_markdown_has_no_foreign_markup() -> None:
    text = render(hostile(), "markdown", options())
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert text.count("<details>") == text.count("</details>")


def test_junit_is_xml_and_gitlab_has_unique_fingerprints() -> None:
    for make in (sample, empty, hostile):
        root = ET.fromstring(render(make(), "junit", options()))
        assert len(root.findall(".//failure")) == int(root.attrib["failures"])
    issues = json.loads(render(replace(sample(), findings=(list_finding(), list_finding())), "gitlab", options()))
    assert len({issue["fingerprint"] for issue in issues}) == 2


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("sm_90", "sm_90a"), "90"),
        (("sm_90a",), "90a"),
        (("sm_100a", "sm_100f"), "100a/f"),
        (("sm_80", "sm_86", "sm_87", "sm_89"), "80-87, 89"),
        (("sm_120", "sm_120a", "sm_120f", "host"), "120, host"),
        (("sm_80", "sm_86", "sm_90", "sm_100", "sm_120"), "80, 86, 90, 100, 120, plain only"),
        ((), ""),
    ],
)
def test_compact(names: tuple[str, ...], expected: str) -> None:
    assert compact(names, UNIVERSE) == expected


def test_visible_escapes_what_steers_a_terminal() -> None:
    assert visible(HOSTILE).startswith("\\x1b]0;owned\\x07\\x0a::error")
    assert visible("a\tb é 漢") == "a\tb é 漢"
    assert visible("\udcff") == "\\xff"
