"""The command line: exit codes, what goes where, whole files or none, and what a wrong option is answered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import pytest
from report_samples import RULE, empty, header_finding, sample

import archscan
from archscan import cli
from archscan.catalog import load
from archscan.commands import scan as run
from archscan.errors import UserError
from archscan.model.facts import Failed
from archscan.model.finding import Advice, Level, Risk
from archscan.model.report import Report

CATALOG = load()


@pytest.fixture
def scan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Runs the command line with a report that is given instead of made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "loaded_catalog", lambda settings: replace(CATALOG, rules={RULE.id: RULE}))

    def go(report: Report, *arguments: str) -> int:
        monkeypatch.setattr(run, "judged", lambda *a, **k: report)
        return cli.run(["--target", "sm120", "--no-fixes", *arguments])

    return go


def at(level: Level, advice: Advice = Advice.WIDEN_SAFE) -> Report:
    """One finding that is as bad today as `level` says, whatever the risk of opening it."""
    listed = advice is not Advice.LEAVE
    finding = replace(
        header_finding(2, (3, 4), 50), risk=Risk(Level.BLOCKED, 50, ()), severity=level, advice=advice, listed=listed
    )
    return replace(sample(), findings=(finding,), failed=())


@pytest.mark.parametrize("format", ["text", "json", "sarif", "html", "github", "markdown", "gitlab", "junit"])
def test_exit_codes_are_the_same_in_every_format(scan, format: str) -> None:
    assert scan(empty(), "--format", format) == 0
    assert scan(at(Level.LOW), "--format", format) == 1
    assert scan(at(Level.INFO), "--format", format) == 0
    unreadable = replace(empty(), failed=(Failed("x.cu", "permission denied", True),))
    assert scan(unreadable, "--format", format) == 2


@pytest.mark.parametrize(
    ("level", "advice", "fail_on", "code"),
    [
        (Level.MEDIUM, Advice.WIDEN_SAFE, "medium", 1),
        (Level.MEDIUM, Advice.WIDEN_SAFE, "high", 0),
        (Level.INFO, Advice.WIDEN_SAFE, "info", 1),
        (Level.HIGH, Advice.LEAVE, "info", 0),
        (Level.HIGH, Advice.INVESTIGATE, "info", 0),
        (Level.HIGH, Advice.NARROW, "never", 0),
        (Level.HIGH, Advice.NARROW, "blocked", 1),  # a level until 1.0, read as high
        (Level.MEDIUM, Advice.NARROW, "blocked", 0),
    ],
)
def test_fail_on(scan, level: Level, advice: Advice, fail_on: str, code: int) -> None:
    assert scan(at(level, advice), "--fail-on", fail_on) == code


def test_findings_go_to_stdout_and_diagnostics_to_stderr(scan, capsys: pytest.CaptureFixture[str]) -> None:
    assert scan(sample()) == 1
    out, err = capsys.readouterr()
    assert "kernel body is empty" in out and "kernel body" not in err
    assert err == "warning: locked.cu: permission denied\n"
    assert scan(sample(), "-f", "json") == 1
    json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "title", "hint"),
    [
        (["--no-such-option"], "No such option", "--help"),
        (["--format", "xml", "."], "--format cannot be 'xml'", "one of: text, json"),
        (["--fail-on", "hgih", "."], "'fail-on' cannot be 'hgih'", "did you mean 'high'?"),
        (["--layer", "pyhton", "."], "'layer' cannot be 'pyhton'", "did you mean 'python'?"),
        (["-D", "=1", "."], "names nothing", "NAME=VALUE"),
        (["sacn"], "no such file, directory or command: sacn", "archscan scan"),
        (["--config", "none.toml", "."], "cannot read none.toml", "check the name"),
        (["--baseline", "none.json", "."], "cannot read the baseline none.json", "--write-baseline"),
        (["--focus", "/etc/passwd"], "not below the current directory", "project's root"),
        (["-o", "no/such/dir/x", "."], "cannot write no/such/dir/x", "nothing was changed"),
    ],
)
def test_usage_errors(
    scan,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    title: str,
    hint: str,
) -> None:
    monkeypatch.setattr(run, "judged", lambda paths, settings, *a: settings.scan() and empty())
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()[-2:]
    assert first.startswith("error: ") and title in first
    assert second.startswith("hint: ") and hint in second


def test_no_target_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "loaded_catalog", lambda settings: None)
    assert cli.run([]) == 2
    assert "error: no target\nhint: name the GPU: --target sm120" in capsys.readouterr().err


def test_our_errors_ask_for_a_report(scan, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(run, "judged", lambda *a: 1 / 0)
    assert cli.run(["--target", "sm120", "."]) == 2
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err and "please report it" in err


@pytest.mark.parametrize("error", [KeyboardInterrupt, click.Abort])
def test_interrupt_is_130(scan, monkeypatch: pytest.MonkeyPatch, capsys, error: type[BaseException]) -> None:
    def interrupted(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(run, "judged", interrupted)
    assert cli.run(["--target", "sm120", "."]) == 130
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "interrupted")


def test_error_text_is_harmless(scan, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def wrong(*arguments: object) -> None:
        raise UserError("\x1b[2J\x07", "\u202e")

    monkeypatch.setattr(run, "judged", wrong)
    assert cli.run(["--target", "sm120", "."]) == 2
    assert capsys.readouterr().err == "error: \\x1b[2J\\x07\nhint: \\u202e\n"


def test_output_file_is_whole_or_untouched(scan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    target = tmp_path / "report.json"
    target.write_text("good")
    target.chmod(0o640)
    assert scan(sample(), "-f", "json", "-o", "report.json") == 1
    assert capsys.readouterr().out == ""
    whole = target.read_bytes()
    assert json.loads(whole)["schema_version"] == "1.1"
    assert target.stat().st_mode & 0o777 == 0o640

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert scan(empty(), "-f", "json", "-o", "report.json") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert target.read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("option", ["-o", "--write-baseline"])
def test_output_is_not_written_through_a_link(scan, tmp_path: Path, capsys, option: str) -> None:
    """What is scanned may hold a link of the report's name that leads to any file of the user's."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    assert scan(empty(), "-f", "json", option, "link") == 2
    assert "link is a symbolic link" in capsys.readouterr().err
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "old"


def test_the_links_of_the_system_are_followed(scan, capfd) -> None:
    assert scan(empty(), "-f", "json", "-o", "/dev/stdout") == 0
    assert json.loads(capfd.readouterr().out)["schema_version"] == "1.1"


def test_baseline_hides_what_is_known_and_counts_it(scan, capsys) -> None:
    assert scan(sample(), "--write-baseline", "known.json") == 0
    assert capsys.readouterr().out == ""
    document = json.loads(Path("known.json").read_text())
    assert [row["fingerprint"] for row in document["findings"]] == ["f002", "f009", "f012", "f900"]
    assert scan(replace(sample(), failed=()), "--baseline", "known.json", "-f", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["summary"]["baselined"] == 4
    assert [f["fingerprint"] for f in report["findings"]] == ["f901"]


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "archscan-baseline", "version": 1}', '{"version": 1}'])
def test_a_broken_baseline_is_a_usage_error(scan, capsys, content: str) -> None:
    Path("known.json").write_text(content)
    assert scan(sample(), "--baseline", "known.json") == 2
    assert "known.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("choice", "environment", "colored"),
    [
        ("auto", {}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(scan, monkeypatch, capsys, choice: str, environment: dict[str, str], colored: bool) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    scan(sample(), "--color", choice)
    assert ("\x1b[" in capsys.readouterr().out) is colored


def test_focus_reads_the_project_and_passes_the_names() -> None:
    assert run._focused(("a.cu", "./sub/../b.py"), True) == ((".",), ("a.cu", "b.py"))
    assert run._focused((), True) == ((".",), ())
    assert run._focused(("src",), False) == (("src",), ())


def test_the_shell_completes_commands_and_the_options_of_scan(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("_ARCHSCAN_COMPLETE", "bash_complete")
    for words, number, expected in (("archscan tar", "1", "targets"), ("archscan --targ", "1", "--target")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", number)
        with pytest.raises(SystemExit):
            cli.run([])
        assert f"plain,{expected}" in capsys.readouterr().out


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(archscan.__file__).parent.parent)}


def test_version_imports_little(environment: dict[str, str]) -> None:
    code = "import sys, archscan.cli; archscan.cli.run(['--version']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"archscan {archscan.__version__}\n"
    heavy = {"yaml", "attr", "sarif_om", "rich", "tree_sitter", "pathspec", "pcpp", "archscan.model.report", "pygls"}
    assert not heavy & set(done.stderr.split())


def test_closed_pipe_is_quiet(environment: dict[str, str]) -> None:
    code = (
        "import sys; from archscan import cli; from archscan.commands import scan as run\n"
        "from pathlib import Path\n"
        "def big(given): run.write('x' * 1_000_000, None); return 1\n"
        "run.run_scan = big\n"
        "sys.exit(cli.run(['--target', 'sm120', '.']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout and process.stderr
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(10) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_sigint_exits_with_130(environment: dict[str, str]) -> None:
    code = (
        "import sys, time; from archscan import cli; from archscan.commands import scan as run\n"
        "def slow(given): print('ready', flush=True); time.sleep(20)\n"
        "run.run_scan = slow\n"
        "sys.exit(cli.run(['--target', 'sm120', '.']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - background jobs ignore it
    )
    assert process.stdout and process.stderr
    process.stdout.readline()
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err.strip()) == (130, b"interrupted")


def test_what_decides_the_exit_code_is_said_even_when_quiet(scan, capsys) -> None:
    failed = (Failed("named.cu", "permission denied", True), Failed("other.cu", "vanished"))
    assert scan(replace(empty(), failed=failed), "-q") == 2
    assert capsys.readouterr().err == "warning: named.cu: permission denied\n"


def test_few_fixes_are_proposed_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    condition = "__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200"
    source = f"__global__ void k(float* p) {{\n#if {condition}\n  p[0] = 1.f;\n#endif\n}}\n"
    (tmp_path / "k.cu").write_text(source)
    for options, expected in ((("--no-fixes",), [None]), ((), ["safe"]), (("--fixes",), ["safe"])):
        assert cli.run(["-t", "sm120", "--isolated", "-f", "json", *options, str(tmp_path / "k.cu")]) == 1
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert [f["fix"] and f["fix"]["safety"] for f in findings] == expected
