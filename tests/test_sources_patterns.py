"""Ignore patterns: what git says of each, and never more than linear time."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.model.settings import ScanSettings
from archscan.sources import discover
from archscan.sources.ignore import MAX_BYTES
from archscan.sources.patterns import MAX_WILD, Patterns, malformed

EXAMPLES = settings(max_examples=int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "100")), deadline=None)


def ignored(patterns: Patterns, path: str, directory: bool = False) -> bool:
    """Whether a path, or a directory above it, is left out: nothing below such a directory comes back."""
    parts = path.split("/")
    above = any(patterns.decides("/".join(parts[:depth]), True) for depth in range(1, len(parts)))
    return above or bool(patterns.decides(path, directory))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a.cu", "x/a.cu", True),
        ("/a.cu", "x/a.cu", False),
        ("/a.cu", "a.cu", True),
        ("x/a.cu", "y/x/a.cu", False),
        ("*.cu", "x/y.cu", True),
        ("*.cu", "x/y.cuh", False),
        ("x/*.cu", "x/a.cu", True),
        ("x/*.cu", "x/y/a.cu", False),
        ("x/**/a.cu", "x/a.cu", True),
        ("x/**/a.cu", "x/y/z/a.cu", True),
        ("x/**", "x/a", True),
        ("x/**", "x", False),
        ("**/x/a.cu", "x/a.cu", True),
        ("**/x/a.cu", "y/x/a.cu", True),
        ("x**y", "xay", True),
        ("/x**y", "xa/by", False),
        ("a?c", "abc", True),
        ("x?y", "x/y", False),
        ("[a-c].cu", "b.cu", True),
        ("[!a-c].cu", "b.cu", False),
        ("[^a-c].cu", "d.cu", True),
        ("[]a].cu", "].cu", True),
        ("[[:digit:]].cu", "7.cu", True),
        ("[[:digit:]].cu", "a.cu", False),
        ("[[:wrong:]].cu", "w.cu", False),
        ("[a.cu", "[a.cu", False),
        (r"\[a.cu", "[a.cu", True),
        (r"\!a", "!a", True),
        (r"\#a", "#a", True),
        ("#a", "#a", False),
        ("a  ", "a", True),
        ("a\\ ", "a ", True),
        ("a\r\n", "a", True),
        ("build/", "build", False),
        ("build/", "build/a.cu", True),
        ("", "a", False),
        ("/", "a", False),
        ("!", "a", False),
    ],
)  # fmt: skip
def test_what_a_pattern_matches(pattern: str, path: str, expected: bool) -> None:
    assert ignored(Patterns([pattern.encode()]), path) is expected


def test_the_last_pattern_decides() -> None:
    assert Patterns([b"*.cu", b"!keep.cu"]).decides("keep.cu", False) is False
    assert Patterns([b"!keep.cu", b"*.cu"]).decides("keep.cu", False) is True
    assert Patterns([b"keep.cu", b"!*.cu", b"keep.cu"]).decides("keep.cu", False) is True
    assert Patterns([b"*.py"]).decides("keep.cu", False) is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("[", "never closed"), ("a[b", "never closed"), ("[[:foo:]]", "no class"), ("a\\", "last backslash"),
        ("", "empty"), ("/", "empty"), ("#x", "comment"), ("*.cu", ""), ("[]]", ""), ("!a", ""),
    ],
)  # fmt: skip
def test_a_pattern_that_matches_nothing_says_why(pattern: str, why: str) -> None:
    assert malformed(pattern) == why or (why and why in malformed(pattern))


WORDS = st.lists(
    st.sampled_from(["a", "b", "*", "*", "?", "/", "/", "**", "/**/", "[ab]", ".", "ab"]),
    min_size=1,
    max_size=9,
).map("".join)
LISTS = st.lists(st.tuples(st.sampled_from(["", "", "/"]), WORDS, st.sampled_from(["", "", "/"])).map("".join), max_size=5)  # noqa: E501  # fmt: skip
PATHS = st.lists(st.lists(st.sampled_from(["a", "b", "ab", ".", "*", "aab", "x"]), min_size=1, max_size=3).map("".join), min_size=1, max_size=5).filter(lambda p: not {".", ".."} & set(p)).map("/".join)  # noqa: E501  # fmt: skip


@pytest.mark.skipif(shutil.which("git") is None, reason="asks git")
def test_every_pattern_means_what_git_says(tmp_path: Path) -> None:
    """`git check-ignore` over random lists; one process a list, so a seeded draw instead of shrinking."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    drawn = random.Random(7)
    pieces = ["a", "b", "*", "*", "?", "/", "/", "**", "/**/", "[ab]", "[!a]", "[b-", "]", "\\*", "\\", ".", "ab", "[[:alpha:]]", " "]  # noqa: E501  # fmt: skip
    names = ["a", "b", "ab", "aab", "x", "*", "a b", "]", "ba"]
    paths = sorted({"/".join(drawn.choices(names, k=drawn.randint(1, 4))) for _ in range(60)})
    seen = 0
    for _ in range(60):
        lines = [
            drawn.choice(["", "", "!", "/"])
            + "".join(drawn.choices(pieces, k=drawn.randint(1, 7)))
            + drawn.choice(["", "/"])
            for _ in range(drawn.randint(1, 4))
        ]
        lines = [line for line in lines if "//" not in line]  # git reads beyond the end of a name there
        (tmp_path / ".gitignore").write_bytes("\n".join(lines).encode() + b"\n")
        asked = "\0".join(paths).encode() + b"\0"
        command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "-z", "--stdin"]
        said = subprocess.run(command, input=asked, capture_output=True, check=False).stdout.decode()
        patterns = Patterns([line.encode() for line in lines])
        ours = [path for path in paths if ignored(patterns, path)]
        assert ours == [path for path in paths if path in set(said.split("\0"))], lines
        seen += len(ours)
    assert seen > 100


@EXAMPLES
@given(LISTS, PATHS)
def test_every_pattern_means_what_pathspec_says(lines: list[str], path: str) -> None:
    """But for what comes back after a `!`, for `x/**/`, for `***`, and for `[!a]`, with which it matches slashes."""
    pathspec = pytest.importorskip("pathspec")
    sound = [
        line
        for line in lines
        if not malformed(line) and "\\" not in line and not line.endswith("**/") and "***" not in line
    ]
    parts = path.split("/")
    spec = pathspec.GitIgnoreSpec.from_lines(sound)
    theirs = any(spec.check_file("/".join(parts[:depth]) + "/").include for depth in range(1, len(parts)))
    theirs = theirs or bool(spec.check_file(path).include)
    assert ignored(Patterns([line.encode() for line in sound]), path) is theirs


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 30 + "*b",
        "**/*a" * 30 + "/b",
        "**/" * 1000 + "x",
        "*" * 100_000 + "b",
        "a*?" * 2000,
        "[[:alpha:]]*" * 500 + "!",
        "[" + "[:" * 4000,
        "?" * 8_000,
        "/**/a*a*a*a*a*b" * 200,
    ],
)
def test_no_pattern_takes_more_than_linear_time(pattern: str) -> None:
    began = time.process_time()
    patterns = Patterns([pattern.encode()])
    for path in ("a" * 240, "/".join(["a" * 240] * 16), "/".join(["a"] * 2000)):
        assert not patterns.decides(path, False)
    assert time.process_time() - began < 2


def skipped(base: Path, **options: object) -> dict[str, str]:
    found = discover([str(base)], ScanSettings(**options))  # type: ignore[arg-type]
    assert [source.path for source in found.sources] == ["a.cu"]
    return {one.path: one.reason for one in found.skipped}


@pytest.mark.parametrize("what", ["fifo", "zero", "directory", "large", "patterns", "unreadable bytes"])
def test_an_ignore_file_that_is_no_small_file_is_said_and_not_obeyed(tmp_path: Path, what: str) -> None:
    (tmp_path / "a.cu").write_text("#if __CUDA_ARCH__ >= 900\n#endif\n")
    file = tmp_path / ".gitignore"
    expected = "not a regular file"
    if what == "fifo":
        os.mkfifo(file)
    elif what == "zero":
        file.symlink_to("/dev/zero")
    elif what == "directory":
        file.mkdir()
    elif what == "large":
        file.write_bytes(b"*\n" * MAX_BYTES)
        expected = "larger than 256 kB"
    elif what == "patterns":
        file.write_bytes(b"".join(b"*%d*\n" % n for n in range(MAX_WILD + 1)))
        expected = "more than 2,000 patterns with wildcards"
    else:
        file.write_bytes(bytes(range(1, 256)) * 100)
        assert skipped(tmp_path) == {}
        return
    assert skipped(tmp_path)[".gitignore"] == f"patterns not obeyed: {expected}"


def test_the_largest_ignore_file_that_is_obeyed_costs_little(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("#if __CUDA_ARCH__ >= 900\n#endif\n")
    wild = b"".join(b"%d[!a][^b]*[[:alpha:]]*[!c]*\n" % n for n in range(MAX_WILD - 1))
    (tmp_path / ".gitignore").write_bytes(wild + b"[!z]*" * 3000 + b"\n" + b"x\n" * 20_000)
    began = time.process_time()
    assert skipped(tmp_path) == {}
    assert time.process_time() - began < 10


def test_patterns_that_never_end_do(tmp_path: Path) -> None:
    """The input of the report: thirty stars against a name of 240 characters, in the file and on the command line."""
    (tmp_path / "a.cu").write_text("#if __CUDA_ARCH__ >= 900\n#endif\n")
    (tmp_path / ("a" * 240)).mkdir()
    hostile = "*a" * 30 + "*b"
    (tmp_path / ".gitignore").write_text(hostile + "\n")
    began = time.process_time()
    assert skipped(tmp_path, exclude=(hostile,)) == {}
    assert time.process_time() - began < 2
