"""Suppression comments are found in every comment syntax and nowhere else."""

from __future__ import annotations

from archscan.frontends.suppressions import suppressions
from archscan.model.facts import Suppression


def test_a_comment_behind_code_covers_its_line() -> None:
    data = b"int a;\n#if __CUDA_ARCH__ < 1200  // archscan: ignore[upper-bound-gate] vendor asked\n"
    assert suppressions(data) == (Suppression(2, ("upper-bound-gate",), "vendor asked", alone=False),)


def test_a_comment_alone_says_so_and_may_name_several_rules() -> None:
    data = b"  # archscan: ignore[one, two]: checked on hardware\r\nx = 1\r\n"
    assert suppressions(data) == (Suppression(1, ("one", "two"), "checked on hardware", alone=True),)


def test_block_comments_end_where_they_end() -> None:
    assert suppressions(b"/* archscan: ignore why */ int x;\n")[0] == Suppression(1, (), "why", alone=False)
    assert suppressions(b"/* archscan: ignore why */\n")[0].alone
    assert suppressions(b"/**\n * archscan: ignore[a]\n */\n")[0] == Suppression(2, ("a",), "", alone=True)


def test_text_that_is_no_comment_is_not_taken() -> None:
    assert suppressions(b'puts("archscan: ignore[x]");\n') == ()
