"""Directives are found exactly, whatever the layout."""

from __future__ import annotations

import pickle

import pytest

from archscan.frontends.cuda.preprocessor.directives import scan
from archscan.frontends.cuda.preprocessor.events import Events
from archscan.frontends.cuda.preprocessor.structure import include_guards, structure


def found(data: bytes) -> list[tuple[str, str, int, int]]:
    return [(d.name, d.text, d.line, d.end_line) for d in scan(data)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"#if A\n#endif\n", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"  #  if A  \n\t#endif", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"#if A && \\\n    B\n#endif\n", [("if", "A &&     B", 1, 2), ("endif", "", 3, 3)]),
        (b"#if A && \\  \r\n B\r\n#endif\r\n", [("if", "A &&  B", 1, 2), ("endif", "", 3, 3)]),
        (b"#if defined(__CU\\\nDA_ARCH__)\n#endif", [("if", "defined(__CUDA_ARCH__)", 1, 2), ("endif", "", 3, 3)]),
        (b"#if /* < 9 */ A // tail\n#endif", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"#if A /* over\n two lines */ && B\n#endif", [("if", "A   && B", 1, 2), ("endif", "", 3, 3)]),
        (b"/* x */ #if A\n/* a */ /* b */ #endif", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"# /* x */ if A\n#endif", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"%: if A\n%:endif", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"\xef\xbb\xbf#if A\n#endif", [("if", "A", 1, 1), ("endif", "", 2, 2)]),
        (b"#\\\nif A\n#endif", [("if", "A", 1, 2), ("endif", "", 3, 3)]),
        (b"#if A // c \\\n still comment\n#endif", [("if", "A", 1, 2), ("endif", "", 3, 3)]),
    ],
)
def test_layouts_of_directives(data: bytes, expected: list[tuple[str, str, int, int]]) -> None:
    assert found(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"/*\n#if A\n*/\n",
        b'const char* s = R"x(\n#if A\n)x";\n',
        b'auto s = u8R"(\n#if A\n)";\n',
        b"// comment \\\n#if A\n",
        b'const char* s = "a\\\n#if A";\n',
        b"#define M(x) \\\n#if A\n",
        b"int x; #if A\n",
        b"/*\r\n#if A\r\n*/",
    ],
)
def test_text_that_only_looks_like_a_directive(data: bytes) -> None:
    assert [d for d in found(data) if d[0] != "define"] == []


@pytest.mark.parametrize(
    "before",
    [
        b'char a[] = "/*";\n',
        b"char q = '\"'; // /*\n",
        b"long n = 1'000'000; char c = '\"';\n",
        b"// it's /* no comment\n",
        b"#error don't /* panic\n",
        b"auto u = 0x1'F; /* \" */ int b;\n",
        b'FOOR"(/*)";\n',
        b"/**//**/\n",
        b'auto s = R"(/*)"; auto t = LR"d()" )d";\n',
    ],
)
def test_lexical_traps_before_a_directive(before: bytes) -> None:
    assert [d[0] for d in found(before + b"#if A\n#endif\n") if d[0] != "error"] == ["if", "endif"]


def test_offsets_are_those_of_the_hash_and_the_end_of_the_logical_line() -> None:
    data = b"int a;\n  #if A && \\\n  B // c\nint b;\n"
    (directive,) = scan(data)
    assert data[directive.start : directive.end] == b"#if A && \\\n  B // c"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"#if A\n", "unbalanced #if at line 1"),
        (b"#endif\n", "#endif without #if at line 1"),
        (b"\n#else\n", "#else without #if at line 2"),
    ],
)
def test_unbalanced_text_is_a_problem_not_a_crash(text: bytes, problem: str) -> None:
    assert structure(scan(text), len(text)).problems == (problem,)


def test_ten_thousand_nested_conditionals_need_no_recursion() -> None:
    data = b"#if A\n" * 10_000 + b"#endif\n" * 10_000
    shape = structure(scan(data), len(data))
    assert len(shape.conditionals) == 10_000
    assert max(c.depth for c in shape.conditionals) == 9_999


def guards(text: bytes) -> list[bytes]:
    """The lines of the include guards."""
    return [text[start:].split(b"\n")[0] for start in sorted(include_guards(scan(text)))]


def test_an_include_guard_spans_the_file_whatever_its_value() -> None:
    assert guards(b"// c\n#ifndef X_H\n#define X_H 1\nint a;\n#endif\n") == [b"#ifndef X_H"]
    assert guards(b"#if !defined(X_H)\n#define X_H\nint a;\n#endif") == [b"#if !defined(X_H)"]
    assert guards(b"#ifndef X_H\n#define Y_H\nint a;\n#endif\n") == []
    assert guards(b"#ifndef X_H\n#define X_H 1\nint a;\n#else\nint b;\n#endif\n") == []


def test_an_include_guard_of_a_part_defines_nothing_but_its_name() -> None:
    above = b"#define A\n"
    assert guards(above + b"#ifndef X_H\n#define X_H\nint a;\n#endif\n") == [b"#ifndef X_H"]
    assert guards(above + b"#ifndef X\n#define X 1\nint a;\n#endif\n") == []  # the default of a flag
    assert guards(above + b"#ifndef X\n#define X\n#endif\n") == []
    assert guards(b"#undef X_H\n#ifndef X_H\n#define X_H\nint a;\n#endif\n") == []
    two = b"#ifndef X_H\n#define X_H\nint a;\n#endif\n"
    assert guards(two + b"#ifdef X_H\n" + two + b"#endif\n") == [b"#ifndef X_H"]


def test_many_comments_on_one_line_take_linear_time() -> None:
    data = b"int a; " + b'"/*" /* c */ ' * 20_000 + b"\n#if A\n#endif\n"
    assert [d[0] for d in found(data)] == ["if", "endif"]


def test_events_come_back_equal_from_a_pickle() -> None:
    for source in (b"", b"#if A\n#define B 1\n#endif\n"):
        events = Events(scan(source))
        assert pickle.loads(pickle.dumps(events)) == events == scan(source)
