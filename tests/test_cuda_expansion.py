"""Object-like macros are replaced here, all others by pcpp: where both can do it, they agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.frontends.cuda.preprocessor import expansion
from archscan.frontends.cuda.preprocessor.macros import Definition
from archscan.frontends.cuda.preprocessor.tokens import Malformed, tokens

NAMES = ("A", "B", "C", "OTHER")
PIECES = (*NAMES, "1", "900", "0x10u", "+", "==", "&&", "(", ")", "defined", "defined(A)", "!defined B")
TEXT = st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join)


def both(condition: str, macros: dict[str, Definition]) -> tuple[list[str], list[str]]:
    """The tokens from either way, `defined(X)` without its brackets: pcpp sees it as one token."""
    ours = expansion.expanded(tokens(condition), macros)
    theirs = [
        t for token in expansion._by_pcpp(tokens(condition), macros) for t in expansion._unfolded(str(token.value))
    ]
    return _spelled(ours), _spelled(theirs)


def _spelled(texts: list[str]) -> list[str]:
    found: list[str] = []
    while texts:
        if texts[0] == "defined" and (width := expansion.operand_width(texts[1:4])):
            found += ("defined", texts[1 + width // 2])
            texts = texts[1 + width :]
        else:
            found.append(expansion.plain(texts[0]))
            texts = texts[1:]
    return found


@settings(max_examples=150, deadline=None)
@given(TEXT, st.dictionaries(st.sampled_from(NAMES[:3]), TEXT, min_size=1))
def test_both_ways_agree_on_object_like_macros(condition: str, bodies: dict[str, str]) -> None:
    macros = {name: Definition(None, body) for name, body in bodies.items()}
    if not any("defined" in body or "defined" in condition for body in bodies.values()):
        ours, theirs = both(condition, macros)
        assert ours == theirs


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("A", ["B", "+", "1"]),  # B is inside itself by then
        ("B", ["B", "+", "1"]),
        ("defined(A) && defined B", ["defined", "A", "&&", "defined", "B"]),
        ("C == 2", ["(", "2", ")", "==", "2"]),
        ("EMPTY C", ["(", "2", ")"]),
        ("ASKED", ["defined", "A"]),
        ("OTHER(3)", ["OTHER", "(", "3", ")"]),
    ],
)
def test_object_like_macros(condition: str, expected: list[str]) -> None:
    bodies = {"A": "B", "B": "B + 1", "C": "(2)", "EMPTY": "", "ASKED": "defined(A)"}
    ours, theirs = both(condition, {name: Definition(None, body) for name, body in bodies.items()})
    assert ours == theirs == expected


def test_what_calls_nothing_needs_no_pcpp(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("pcpp was asked")

    monkeypatch.setattr(expansion, "_by_pcpp", refuse)
    assert expansion.expanded(["A", "+", "B"], {"A": Definition(None, "B"), "B": Definition(None, "1")}) == [
        "1",
        "+",
        "1",
    ]
    with pytest.raises(AssertionError):
        expansion.expanded(["F", "(", ")"], {"F": Definition((), "1")})
    with pytest.raises(AssertionError):
        expansion.expanded(["A"], {"A": Definition(None, "1 ## 2")})


def test_4000_tokens_are_expanded_and_not_one_more() -> None:
    macros = {"A": Definition(None, "1 " * 3999)}
    assert len(expansion.expanded(["A", "2"], macros)) == 4000
    with pytest.raises(Malformed):
        expansion.expanded(["A", "2", "3"], macros)


LARGE = {"M": Definition(None, "L " * 50), "L": Definition(None, "1 " * 1999)}  # L counts 2,000, M 100,001


@pytest.mark.parametrize(
    ("condition", "macros", "too_large"),
    [
        ("L " * 100, LARGE, False),  # 200,000: as much as is expanded
        ("L " * 100 + "1", LARGE, True),
        ("L " * 99 + "1 " * 2000, LARGE, False),
        ("M", LARGE, False),
        ("M M", LARGE, True),
        ("M M", dict(reversed(LARGE.items())), True),  # whichever is looked at first
        ("(" * 20 + "L" + ")" * 20, LARGE, False),
        ("F(" * 20 + "1" + ")" * 20, {"F": Definition(("x",), "1")}, False),
        ("F(" * 8 + "1" + ")" * 8, {"F": Definition(("x",), "x + x")}, False),
        ("F(" * 20 + "1" + ")" * 20, {"F": Definition(("x",), "x + x")}, True),
        ("F(F(1))", {"F": Definition(("x",), "((((((((x))))))))" + " + x" * 9)}, True),
        ("A", {"A": Definition(None, "B B"), "B": Definition(None, "A A")}, False),
    ],
)
def test_what_could_explode_is_not_expanded(condition: str, macros: dict[str, Definition], too_large: bool) -> None:
    assert expansion._too_large(expansion._lexed(tokens(condition)), macros) is too_large


@pytest.mark.parametrize(("text", "depth"), [("1", 0), ("(1) + ((1))", 2), ("((1)) + (1)", 2), ("(((1", 3)])
def test_depth_of_parentheses(text: str, depth: int) -> None:
    assert expansion._depth(expansion._lexed(tokens(text))) == depth
