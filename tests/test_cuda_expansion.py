"""Object-like macros are replaced here, all others by pcpp: where both can do it, they agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archscan.frontends.cuda import expansion
from archscan.frontends.cuda.macros import Definition
from archscan.frontends.cuda.tokens import tokens

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
