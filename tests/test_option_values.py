"""Every value of every option, and of every setting: a wrong one is an error with the nearest valid one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from archscan import cli
from archscan.config import SETTINGS, merged
from archscan.errors import UserError

GATE = "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n__device__ void f(int* x) { *x = 1; }\n#endif\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.parent / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/gate.cu").write_text(GATE)
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd/facts").mkdir(parents=True)
    (tmp_path / "odd/facts/evidnce.yaml").write_text("evidence: []\n")
    return tmp_path


SCAN = ["scan", "-t", "sm120"]
WRONG: list[tuple[list[str], str, str]] = [
    # -t and --against
    (["scan", "-t", "sm12O", "."], 'unknown target "sm12O"', "sm_120"),
    (["scan", "-t", "rtx509O", "."], "unknown target", "RTX 5090"),
    ([*SCAN, "--against", "sm9O", "."], 'unknown target "sm9O"', "sm_90"),
    ([*SCAN, "--against", "sm120", "."], "sm_120 is judged against itself alone", "--against"),
    ([*SCAN, "--against", ",", "."], "--against names nothing", "leave it out"),
    # what is read
    ([*SCAN, "--cuda", "13.x", "."], "'cuda' cannot be '13.x'", "did you mean '13.0'?"),
    ([*SCAN, "--cuda", "130", "."], "'cuda' cannot be '130'", "did you mean '13.0'?"),
    ([*SCAN, "--cuda", "12.8.1", "."], "'cuda' cannot be '12.8.1'", "did you mean '12.8'?"),
    ([*SCAN, "--cuda", "latest", "."], "'cuda' cannot be 'latest'", "13.0"),
    ([*SCAN, "--cuda", "", "."], "'cuda' cannot be ''", ""),
    ([*SCAN, "-D", "1FOO", "."], "'define' cannot be '1FOO'", "did you mean '-D FOO'?"),
    ([*SCAN, "-D", "ARCHS:STRING=90", "."], "'define' cannot be", "did you mean '-D ARCHS=90'?"),
    ([*SCAN, "-D", "", "."], "'define' cannot be ''", "NAME=VALUE"),
    ([*SCAN, "-U", "A=1", "."], "'undefine' cannot be 'A=1'", "did you mean '-U A'?"),
    ([*SCAN, "-U", "USE-FP8", "."], "'undefine' cannot be 'USE-FP8'", "did you mean '-U USE_FP8'?"),
    ([*SCAN, "--exclude", "[", "."], "'exclude' cannot be '['", r"did you mean '\['?"),
    ([*SCAN, "--exclude", "a[!b", "."], "'exclude' cannot be 'a[!b'", r"did you mean 'a\[!b'?"),
    ([*SCAN, "--exclude", "[[:digits:]]x", "."], "[:digits:] is no class", ""),
    ([*SCAN, "--exclude", "", "."], "'exclude' cannot be ''", ""),
    ([*SCAN, "--rules", "odds", "."], "odds: no such directory of rules", "*.yaml"),
    ([*SCAN, "--rules", "empty", "."], "empty holds no rules", "DIR/*.yaml"),
    ([*SCAN, "--rules", "odd", "."], "no facts are read from a file of this name", 'did you mean "evidence"?'),
    ([*SCAN, "-j", "-1", "."], "'jobs' cannot be -1", "did you mean 0?"),
    ([*SCAN, "-j", "100000", "."], "'jobs' cannot be 100000", "did you mean 1024?"),
    ([*SCAN, "-j", "two", "."], "'two' is not a valid integer", "--help"),
    # what is reported
    ([*SCAN, "--problem", "exclude", "."], "'problem' cannot be 'exclude'", "did you mean 'excluded'?"),
    ([*SCAN, "--problem", ",", "."], "--problem names nothing", ""),
    ([*SCAN, "--layer", "hots", "."], "'layer' cannot be 'hots'", "did you mean 'host'?"),
    ([*SCAN, "--rule", "uper-bound-gate", "."], "unknown rule 'uper-bound-gate'", "did you mean 'upper-bound-gate'?"),
    ([*SCAN, "--ignore", "uper-*", "."], "unknown rule 'uper-*'", ""),
    ([*SCAN, "--per-file-ignores", "tests", "."], "'per-file-ignores' cannot be 'tests'", "PATTERN:RULE"),
    ([*SCAN, "--per-file-ignores", "tests:uper-bound-gate", "."], "unknown rule", "did you mean 'upper-bound-gate'?"),
    ([*SCAN, "--cache-dir", "", "."], "'cache-dir' cannot be ''", ""),
    ([*SCAN, "--stdin-filename", "", "-"], "'stdin-filename' cannot be ''", ""),
    ([*SCAN, "--min-risk", "meduim", "."], "'min-risk' cannot be 'meduim'", "did you mean 'medium'?"),
    ([*SCAN, "--min-severity", "hihg", "."], "'min-severity' cannot be 'hihg'", "did you mean 'high'?"),
    ([*SCAN, "--advice", "widen-saef", "."], "'advice' cannot be 'widen-saef'", "did you mean 'widen-safe'?"),
    ([*SCAN, "--advice", ",", "."], "--advice names nothing", ""),
    ([*SCAN, "--fail-on", "nevr", "."], "'fail-on' cannot be 'nevr'", "did you mean 'never'?"),
    ([*SCAN, "--baseline", "none.json", "."], "cannot read the baseline none.json", "--write-baseline"),
    ([*SCAN, "--baseline", "", "."], "'baseline' cannot be ''", ""),
    ([*SCAN, "--write-baseline", "no/b.json", "."], "cannot write no/b.json", ""),
    ([*SCAN, "--since", "HEAD", "."], "is in no git repository", "--baseline"),
    ([*SCAN, "--add-ignores", "a */ b", "."], "--add-ignores cannot be 'a */ b'", "one line of plain text"),
    ([*SCAN, "--context", "pcei", "."], "'context' cannot be 'pcei'", "did you mean 'pcie'?"),
    ([*SCAN, "--context", "...", "."], "'context' cannot be '...'", "PCIe"),
    ([*SCAN, "--evidence", "none.yaml", "."], "none.yaml: cannot be read", "YAML"),
    ([*SCAN, "--evidence", "", "."], "'evidence' cannot be ''", ""),
    ([*SCAN, "--format", "jsn", "."], "--format cannot be 'jsn'", "did you mean 'json'?"),
    ([*SCAN, "--hyperlinks", "nevr", "."], "--hyperlinks cannot be 'nevr'", "did you mean 'never'?"),
    ([*SCAN, "--color", "allways", "."], "--color cannot be 'allways'", "did you mean 'always'?"),
    ([*SCAN, "--limit", "-1", "."], "-1 is not in the range", "--help"),
    ([*SCAN, "--sarif-root", "csr", "."], "'sarif-root' cannot be 'csr'", "did you mean 'csrc'?"),
    ([*SCAN, "--config", "none.toml", "."], "cannot read none.toml", "--isolated"),
    ([*SCAN, "--config", "", "."], "cannot read .", ""),
    ([*SCAN, "-o", "no/such/x", "."], "cannot write no/such/x", ""),
    ([*SCAN, "--fromat", "json", "."], "No such option", "--help"),
    # the other commands
    (["fix", "-t", "sm120", "--rule", "uper-bound-gate", "."], "unknown rule 'uper-bound-gate'", "upper-bound-gate"),
    (["fix", "-t", "sm120", "--path", "gate.cuh", "."], "--path 'gate.cuh' is no file that was read", "csrc/gate.cu"),
    (["fix", "-t", "sm120", "--path", "gate.cu", "."], "--path 'gate.cu' is no file that was read", "'*gate.cu*'?"),
    (["fix", "-t", "sm120", "--path", "*.py", "."], "--path '*.py' is no file that was read", "csrc/*.cu"),
    (["fix", "-t", "sm120", "--chain", "x", "."], "no chain is called 'x'", "chains here"),
    (["fix", "-t", "sm120", "--cuda", "13.x", "."], "'cuda' cannot be", "13.0"),
    (["fix", "-t", "sm120", "--format", "jsn", "."], "--format cannot be 'jsn'", "json"),
    (["fix", "--apply", "none.json"], "cannot read the plan none.json", ""),
    (["revert", "20000101-000000-001"], "no fix run '20000101-000000-001'", ""),
    (["matrix", "-t", "sm12O", "."], 'unknown target "sm12O"', "sm_120"),
    (["matrix", "-t", ",", "."], "--target names nothing", ""),
    (["matrix", "--layer", "hots", "."], "'layer' cannot be 'hots'", "host"),
    (["matrix", "--format", "htlm", "."], "--format cannot be 'htlm'", "html"),
    (["trace", "-t", "sm120", "no_such_name", "."], "no_such_name", ""),
    (["trace", "-t", "sm120", "-D", "1FOO", "f", "."], "'define' cannot be '1FOO'", "FOO"),
    (["trace", "-t", "sm12O", "f", "."], "unknown target", "sm_120"),
    (["trace", "-t", "sm120", "--format", "html", "f", "."], "--format cannot be 'html'", ""),
    (["explain", "uper-bound-gate"], "no rule 'uper-bound-gate'", "did you mean 'upper-bound-gate'?"),
    (["explain", "-t", "sm12O", "some message", "."], "unknown target", "sm_120"),
    (["diff", "-t", "sm120", "csrc", "csr"], "csr", ""),
    (["diff", "-t", "sm120", "--against", "sm9O", "csrc", "csrc"], "unknown target", "sm_90"),
    (["builds", "--for", "sm9x", "."], 'unknown target "sm9x"', 'did you mean "sm_90"?'),
    (["builds", "--set", "FOO", "."], "--set FOO: expected NAME=VALUE", "TORCH_CUDA_ARCH_LIST"),
    (["builds", "--prefix", "none", "."], "--prefix none: no such directory", "site-packages"),
    (["targets", "sm12O"], 'unknown target "sm12O"', "sm_120"),
    (["targets", "--format", "jsn"], "--format cannot be 'jsn'", "json"),
    (["rules", "--rules", "odds"], "odds: no such directory of rules", ""),
    (["config", "csr"], "no such file or directory: csr", "did you mean 'csrc'?"),
    (["config", "--config", "none.toml"], "cannot read none.toml", ""),
    (["cache", "--claer"], "No such option", "--help"),
    (["sacn"], "no such file, directory or command: sacn", "archscan scan"),
    # archscan env and check
    (["env", "-t", "sm12O"], 'unknown target "sm12O"', "sm_120"),
    (["env", "-t", "sm120", "--python", "nope"], "no such file", "--prefix"),
    (["env", "-t", "sm120", "--prefix", "nope"], "no such directory", "virtual or conda environment"),
    (["env", "-t", "sm120", "--site-packages", "nope"], "no such directory", "site-packages"),
    (["env", "-t", "sm120", "--path", "nope"], "no such directory", "distributions"),
    (["env", "-t", "sm120", "--fail-on", "x"], "--fail-on cannot be 'x'", "high, medium, low, never"),
    (["env", "-t", "sm120", "--site-packages", ".", "-r", "nope"], "nope: cannot be read", "requirements"),
    (["env", "-t", "sm120", "--site-packages", ".", "--for", "nope"], "nope is not installed there", "archscan env"),
    (["check", "--declared", "sm_12O", "."], '"sm_12O" is no architecture', "120f"),
    # archscan probe
    (["probe", "--list", "--runs", "0"], "--runs", "--help"),
    (["probe", "--list", "--seed", "-1"], "--seed", "--help"),
    (["probe", "--list", "--device", "x"], "--device", "--help"),
    (["probe", "--list", "--time-limit", "0"], "--time-limit", "--help"),
    (["probe", "--list", "--time-limit-each", "-3"], "--time-limit-each", "--help"),
    (["probe", "--json", "no/such/x.json", "nosuch"], "no probe is called nosuch", "--list"),
    (["fix", "-t", "sm120", "--harness", "nope.cu", "."], "--on-gpu and --harness go with --verify", "--on-gpu"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "title", "hint"), WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_a_wrong_value_is_an_error_with_the_nearest_one(
    arguments: list[str], title: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    assert "error: " in err and title in err
    assert hint in err.partition("hint: ")[2]
    assert out == ""


RIGHT = [
    [*SCAN, "--cuda", "12.8", "-D", "USE_FP8", "-D", "B=2", "-U", "C", "-j", "1"],
    [*SCAN, "--exclude", "build/", "--exclude", r"\[x"],
    [*SCAN, "--cuda", "13"],
    [*SCAN, "--against", "sm90,sm100", "--problem", "excluded", "--layer", "preprocessor"],
    [*SCAN, "--rule", "upper-bound-gate,lower-bound-gate", "--advice", "leave,widen-safe"],
    [*SCAN, "--context", "pcie", "--context", "TP8", "--min-risk", "info", "--color", "never", "--limit", "0"],
    [*SCAN, "--sarif-root", ".", "--format", "sarif"],
    ["fix", "-t", "sm120", "--rule", "upper-bound-gate", "--path", "csrc/*.cu"],
]


@pytest.mark.parametrize("arguments", RIGHT, ids=[" ".join(row) for row in RIGHT])
def test_right_values_are_taken(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*arguments, "."]) in (0, 1)
    assert "error" not in capsys.readouterr().err


def test_a_release_without_a_minor_number_is_its_first() -> None:
    assert merged({"cuda": "13"}, (".",)).scan().cuda == "13.0"


@pytest.mark.parametrize("setting", SETTINGS, ids=[s.key for s in SETTINGS])
def test_every_setting_of_a_file_is_checked_as_on_the_command_line(setting, project: Path) -> None:
    """An empty text, a null byte, a type that is not its own: none of them gets through anywhere."""
    list_of = setting.kind in ("list", "paths")
    texts = ['""', '" "', '"a\\u0000b"'] if setting.kind in ("text", "path", "list", "paths") else ['"x"', "-1", "1.5"]
    for text in [*(f"[{text}]" if list_of else text for text in texts), "{a = 1}", "2020-01-01"]:
        (project / "archscan.toml").write_text(f"{setting.key} = {text}\n")
        with pytest.raises(UserError) as caught:
            merged({}, (".",))
        assert f"'{setting.key}'" in caught.value.title


def test_no_option_was_forgotten() -> None:
    """Every option with a value stands in a row above, for some command."""
    given = {word for arguments, _, _ in WRONG for word in arguments if word.startswith("-")}
    for name, command in cli.archscan.commands.items():
        for option in command.params:
            if isinstance(option, click.Option) and not option.is_flag:
                assert given & set(option.opts), f"{name} {option.opts}"


def test_nothing_to_fix_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "csrc/gate.cu").write_text("#if __CUDA_ARCH__ >= 900\n#endif\n")
    assert cli.run(["fix", "-t", "sm120", "."]) == 0
    assert capsys.readouterr().err == "nothing to fix\n"


def test_the_table_of_gates_shows_tests_where_asked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "tests").mkdir()
    (project / "tests/test_a.cu").write_text(GATE)
    assert cli.run(["matrix", "."]) == 0
    assert "tests/test_a.cu" not in capsys.readouterr().out
    assert cli.run(["matrix", "--include-tests", "."]) == 0
    assert "tests/test_a.cu" in capsys.readouterr().out


def test_several_targets_are_sent_to_the_matrix(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["scan", "--target", "sm120,sm90", "."]) == 2
    error = capsys.readouterr().err
    assert "one target at a time" in error and "`archscan matrix --target sm120,sm90`" in error


def test_the_table_counts_every_gate(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "csrc/gate.cu").write_text(GATE + "#if __CUDA_ARCH__ >= 100\nint y;\n#endif\n")
    assert cli.run(["matrix", "csrc/gate.cu"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 row of 2 gates; ")
    (project / "csrc/gate.cu").write_text("int x;\n")
    assert cli.run(["matrix", "csrc/gate.cu"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 gates, and none tells these targets apart"


def test_pages_show_no_marks_of_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "upper-bound-gate", "--isolated"]) == 0
    page = capsys.readouterr().out
    assert "#if" in page and "//~" not in page
