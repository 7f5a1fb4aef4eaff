"""Quick pickles are the stock ones, faster."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from archscan.fast_pickle import quicken
from archscan.model.facts import Link, LinkKind, Skipped
from archscan.model.gate import Effect, Place
from archscan.model.truth import Truth

VALUES = [Place(1, 2, 3, 4, 5, 6), Truth(1, 2), Skipped("a", "b"), Link(LinkKind.CALLS, "a", "b", 1)]


def test_values_come_back_equal() -> None:
    quicken()
    assert pickle.loads(pickle.dumps(VALUES)) == VALUES
    assert Place.__setstate__.__module__ != "dataclasses"  # type: ignore[attr-defined]


def test_both_kinds_read_each_other() -> None:
    quick = "from archscan.fast_pickle import quicken; import archscan.model.gate, archscan.model.facts; quicken();"
    make = (
        "import pickle, sys, archscan.model.gate as g; sys.stdout.buffer.write(pickle.dumps(g.Place(1, 2, 3, 4, 5, 6)))"
    )
    for prefix in ("", quick):
        data = subprocess.run([sys.executable, "-c", prefix + make], capture_output=True, check=True).stdout
        for reader in ("", quick):
            read = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()).end_column)"
            done = subprocess.run([sys.executable, "-c", reader + read], input=data, capture_output=True, check=True)
            assert done.stdout.strip() == b"6"


def test_enums_and_nested_values() -> None:
    quicken()
    from archscan.model.gate import Does

    effect = Effect(Does.RAISES, 3, "no", None, ("A", "B"))
    assert pickle.loads(pickle.dumps((effect, effect)))[1] == effect


def test_what_is_made_has_its_defaults_and_stays_frozen() -> None:
    quicken()
    from archscan.model.gate import Does

    made = Effect(does=Does.RAISES, message="no")
    assert (made.line, made.message, made.environment) == (0, "no", ())
    assert Place(start=1, end=2, line=3, column=4, end_line=5, end_column=6) == VALUES[0]
    with pytest.raises(FrozenInstanceError):
        made.line = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        Effect()  # type: ignore[call-arg]
