"""Config, baseline, rules and evidence that are hostile: an error with a title, at once, whatever they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archscan import cli, documents
from archscan.bounded import small_file
from archscan.errors import UserError

EXAMPLES = settings(
    max_examples=int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.cu").write_text("#if __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200\nint x;\n#endif\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(path: Path, content: bytes | str) -> None:
    """A file of this content, or what a word stands for."""
    if content == "fifo":
        os.mkfifo(path)
    elif content == "zero":
        path.symlink_to("/dev/zero")
    elif content == "directory":
        path.mkdir()
    elif isinstance(content, str):
        with path.open("wb") as file:
            file.truncate(int(content))
    else:
        path.write_bytes(content)


BOMB = b"\n".join([b"a0: &a0 [x, x]", *(b"a%d: &a%d [*a%d, *a%d]" % (n, n, n - 1, n - 1) for n in range(1, 40))])
MERGES = b"\n".join(
    [b"a0: &a0 {k: v}", *(b"a%d: &a%d {<<: [*a%d, *a%d]}" % (n, n, n - 1, n - 1) for n in range(1, 40))]
)
IRREGULAR = ["fifo", "zero", "directory"]
TOML = {
    "nested": b"exclude = " + b"[" * 5000 + b"]" * 5000,
    "nested behind quotes": b'exclude = ["""a"""", ' + b"[" * 5000 + b"]" * 5000 + b"]",
    "parts": b"a." * 20_000 + b"a = 1",
    "quoted parts": b'"a".' * 20_000 + b"a = 1",
    "header": b"[" + b"a." * 20_000 + b"a]",
    "quotes": b"'a'" * 300_000,
    "cut": b'target = "',
    "bytes": bytes(range(256)),
    "number": b"jobs = " + b"9" * 100_000,
}
JSON = {
    "nested": b"[" * 100_000,
    "number": b'{"kind": "archscan-baseline", "version": ' + b"1" * 100_000 + b"}",
    "bytes": bytes(range(256)),
    "rows": b'{"kind": "archscan-baseline", "version": 1, "findings": 5}',
    "row": b'{"kind": "archscan-baseline", "version": 1, "findings": [[]]}',
}
YAML = {
    "aliases": BOMB,
    "merges": MERGES,
    "itself": b"features: &a [*a]",
    "nested": b"features: " + b"[" * 100_000,
    "indented": b"".join(b" " * n + b"a:\n" for n in range(2000)),
    "sexagesimal": b"features: 1" + b":1" * 200_000,
    "tag": b"features: !!python/object/apply:os.system ['touch pwned']",
    "binary": bytes(range(256)),
    "unhashable": b"? [a, b]\n: c",
    "date": b"features: 2001-99-99",
}
READERS: list[tuple[str, bytes | str, str, tuple[str, ...], str]] = [
    *((f"config {what}", what, "archscan.toml", (), "archscan.toml") for what in [*IRREGULAR, "2000000"]),
    *((f"named config {what}", what, "x.toml", ("--config", "x.toml"), "x.toml") for what in [*IRREGULAR, "2000000"]),
    *((f"config {name}", data, "archscan.toml", (), "archscan.toml") for name, data in TOML.items()),
    *((f"baseline {w}", w, "b.json", ("--baseline", "b.json"), "b.json") for w in [*IRREGULAR, "20000000"]),
    *((f"baseline {name}", data, "b.json", ("--baseline", "b.json"), "b.json") for name, data in JSON.items()),
    *((f"rules {w}", w, "r/x.yaml", ("--rules", "r"), "x.yaml") for w in [*IRREGULAR, "5000000"]),
    *((f"rules {name}", data, "r/x.yaml", ("--rules", "r"), "x.yaml") for name, data in YAML.items()),
    *((f"evidence {w}", w, "e.yaml", ("--evidence", "e.yaml"), "e.yaml") for w in [*IRREGULAR, "5000000"]),
    *((f"evidence {name}", data, "e.yaml", ("--evidence", "e.yaml"), "e.yaml") for name, data in YAML.items()),
    *((f"facts {n}", d, "r/facts/features.yaml", ("--rules", "r"), "features.yaml") for n, d in YAML.items()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "file", "arguments", "named"), [row[1:] for row in READERS], ids=[row[0] for row in READERS]
)
def test_a_hostile_file_is_an_error_with_a_title(
    project: Path, capsys: pytest.CaptureFixture[str], content: bytes | str, file: str, arguments: tuple[str, ...],
    named: str,
) -> None:  # fmt: skip
    (project / file).parent.mkdir(parents=True, exist_ok=True)
    make(project / file, content)
    began = time.process_time()
    assert cli.run(["-t", "sm120", *arguments, "."]) == 2
    assert time.process_time() - began < 5
    error = capsys.readouterr().err
    assert "Traceback" not in error
    title, hint = error.splitlines()[-2:]
    assert title.startswith("error: ") and named in title
    assert hint.startswith("hint: ")
    assert len(error) < 5000
    assert not (project / "pwned").exists()


@pytest.mark.parametrize("content", [*IRREGULAR, "2000000"])
def test_a_project_file_that_cannot_be_looked_into_is_said(project: Path, capsys, content: str) -> None:
    make(project / "pyproject.toml", content)
    assert cli.run(["-t", "sm120", "."]) == 1
    why = "larger than 1 MB" if content.isdigit() else "not a regular file"
    assert f"warning: no settings are read from pyproject.toml: {why}" in capsys.readouterr().err


def test_a_broken_project_file_of_others_stays_their_business(project: Path, capsys) -> None:
    (project / "pyproject.toml").write_bytes(b"# archscan\n" + TOML["parts"])
    assert cli.run(["-t", "sm120", "."]) == 1
    assert "pyproject" not in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="bounds the address space")
@pytest.mark.parametrize("name", ["aliases", "merges"])
def test_aliases_never_take_gigabytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(YAML[name])
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from archscan import documents\n"
        "try: documents.yaml(open(sys.argv[1], 'rb').read())\n"
        "except ValueError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "its aliases come to more than 16 MB" in run.stdout, run.stderr


def test_what_people_write_is_read() -> None:
    deep = b"x = " + b"[" * 60 + b"]" * 60
    assert documents.toml(deep)["x"] != []
    text = b"""[a."b.c".d]
x = 'it''s'
"""
    with pytest.raises(ValueError):
        documents.toml(text)
    assert documents.toml(b'a.b = """x"""\nc = "[[[[" # [[[\n') == {"a": {"b": "x"}, "c": "[[[["}
    assert documents.yaml(b"a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}
    assert documents.yaml(b"a: {<<: {b: 1}, c: 2}") == {"a": {"b": 1, "c": 2}}


def test_a_small_file_is_read_whole_and_no_larger_one(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert small_file(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        small_file(path, 4)
    with pytest.raises(OSError, match="no file has such a name"):
        small_file("a\0b", 4)
    if Path("/proc/self/status").exists():  # regular, and says that it is empty
        assert b"Name:" in small_file("/proc/self/status", 1 << 20)


@pytest.mark.skipif(os.name != "posix", reason="no FIFOs there")
def test_a_source_that_became_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    """It is read again for its lines, and when a proof needs it."""
    from archscan.model.facts import Facts, FileFacts
    from archscan.reporting.places import Places
    from archscan.sources.text import Changed, Text

    path = tmp_path / "a.cu"
    os.mkfifo(path)
    facts = Facts((FileFacts("a.cu", 1, disk=str(path)),), roots=(str(tmp_path),))
    assert Places(facts).sources().data("a.cu") is None
    with pytest.raises(Changed):
        Text(1, None, str(path)).load()


def quiet(function: Callable[[], object]) -> None:
    try:
        function()
    except UserError as error:
        assert error.title


TOML_WORDS = [
    "a",
    "1",
    "true",
    "-1",
    "é",
    "target",
    "exclude",
    "define",
    "jobs",
    "baseline",
    "evidence",
    "[tool.archscan]",
]
TOML_MARKS = [*".=[]{}\"'#,\n \\", '"""', "'''", "\0", "\\u0000"]
TOML_PIECES = st.lists(st.sampled_from(TOML_WORDS + TOML_MARKS), max_size=30).map("".join)


@EXAMPLES
@given(TOML_PIECES.map(str.encode) | st.binary(max_size=60))
def test_fuzz_config(tmp_path: Path, data: bytes) -> None:
    from archscan.config import merged

    (tmp_path / "archscan.toml").write_bytes(data)
    quiet(lambda: merged({}, (str(tmp_path),)).scan())


@EXAMPLES
@given(TOML_PIECES)
def test_fuzz_bounds_of_toml_refuse_nothing_sound(text: str) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("no tomllib")
    import tomllib

    try:
        expected = tomllib.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            documents.toml(text.encode())
        return
    assert documents.toml(text.encode()) == expected


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "version", "findings", "fingerprint"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@EXAMPLES
@given(
    st.binary(max_size=40)
    | JSON_VALUES.map(lambda rows: json.dumps({"kind": "archscan-baseline", "version": 1, "findings": rows}).encode())
)
def test_fuzz_baseline(tmp_path: Path, data: bytes) -> None:
    from archscan.baseline import known_fingerprints

    (tmp_path / "b.json").write_bytes(data)
    quiet(lambda: known_fingerprints(str(tmp_path / "b.json")))


@EXAMPLES
@given(
    st.lists(
        st.sampled_from(["*", "**", "/", "a", "!", "[", "]", "[!", "-", "[:alpha:]", "\\", "?", "\n", "\r\n", " ", "#"])
        | st.characters(max_codepoint=0x1FF),
        max_size=30,
    ).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
    | st.binary(max_size=60)
)
def test_fuzz_ignore_files(tmp_path: Path, data: bytes) -> None:
    from archscan.sources.ignore import gitignore, reason

    (tmp_path / ".gitignore").write_bytes(data)
    found = gitignore(str(tmp_path))
    for name in ("a.cu", "a/b.cu", "\udcff.cu"):
        assert found is None or reason((found,), f"{tmp_path}/{name}", False) in (None, "ignored by .gitignore")
