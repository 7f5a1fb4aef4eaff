"""How a capability is written: one table, and the same answer in every language."""

from __future__ import annotations

import operator

import pytest

from archscan.analysis.encodings import compared_with, encoding_of, text_form, written_like
from archscan.catalog import load
from archscan.model.facts import Facts
from archscan.model.settings import ScanSettings
from archscan.model.target import Target
from archscan.pipeline import scan

BORDERS = (
    0,
    1,
    2,
    3,
    4,
    5,
    12,
    19,
    20,
    21,
    37,
    50,
    89,
    90,
    139,
    140,
    159,
    160,
    199,
    200,
    300,
    350,
    500,
    899,
    900,
    1399,
)
BORDERS += (1400, 1500, 1599, 1600, (1 << 20) - 1, 1 << 20)
SIGNS = (">=", "<", "==")


@pytest.mark.parametrize(
    ("number", "encoding"),
    [
        (2, None),
        (3, "major"),
        (19, "major"),
        (20, "sm"),
        (159, "sm"),
        (160, None),
        (199, None),
        (200, "arch"),
        (1599, "arch"),
        (1600, None),
        ((1 << 20) - 1, None),
        (1 << 20, "arch"),
    ],
)
def test_the_size_of_a_number_tells_the_encoding(number: int, encoding: str | None) -> None:
    assert encoding_of(number) == encoding


def test_a_capability_is_written_as_the_constant_is() -> None:
    assert [written_like(120, n) for n in (2, 9, 90, 900, 1700)] == [None, 12, 120, 1200, None]


def test_what_no_gpu_is_equal_to_says_nothing() -> None:
    assert [compared_with(90, n, equality=True) for n in (0, 1, 3, 4, 5)] == [None, None, None, None, 9]
    assert [compared_with(90, n, equality=False) for n in (-1, 0, 1, 3, 4, 5)] == [90, 90, None, 9, 9, 9]


@pytest.mark.parametrize(
    ("like", "written"),
    [
        ("sm_90a", "sm_120a"),
        ("compute_90", "compute_120"),
        ("SM90", "SM120"),
        ("90", "120"),
        ("9.0", "12.0"),
        ("9.0a", "12.0a"),
        ("9", "12"),
        ("4", None),
        ("16.0", None),
        ("19", None),
        ("20", "120"),
        ("159", "120"),
        ("160", None),
        ("hopper", None),
    ],
)
def test_a_text_is_written_in_its_form(like: str, written: str | None) -> None:
    form = text_form(like)
    assert (form and form.format(Target(120))) == written


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """One comparison a file, in C++ and in Python."""
    folder = tmp_path_factory.mktemp("asked")
    for number in BORDERS:
        for at, sign in enumerate(SIGNS):
            condition = f"arch {sign} {number}"
            (folder / f"a{number}_{at}.cu").write_text(
                f'int f(int arch) {{ if ({condition}) {{ return fast(); }} throw std::runtime_error("no"); }}\n'
            )
            (folder / f"a{number}_{at}.py").write_text(
                f'def f(q, arch):\n    if {condition}:\n        return fast(q)\n    raise RuntimeError("no")\n'
            )
    return scan([str(folder)], load(), ScanSettings(use_cache=False, jobs=1))


@pytest.mark.parametrize("number", BORDERS)
def test_a_number_means_the_same_in_every_language(number: int, asked: Facts) -> None:
    """C++ and Python admit the same GPUs, or neither has a gate."""
    device = load().universe.device
    found = {file.path: [arm.own.yes & device for gate in file.gates for arm in gate.arms[:1]] for file in asked.files}
    for at in range(len(SIGNS)):
        cpp, python = found.get(f"a{number}_{at}.cu", []), found.get(f"a{number}_{at}.py", [])
        told = [[yes for yes in one if yes not in (0, device)] for one in (cpp, python)]
        assert told[0] == told[1], SIGNS[at]
        assert told[1] == _expected(number, SIGNS[at])


def _expected(number: int, sign: str) -> list[int]:
    """The GPUs that a comparison admits; nothing where that is all or none of them."""
    universe = load().universe
    compare = {">=": operator.ge, "<": operator.lt, "==": operator.eq}[sign]
    own = {t: compared_with(t.sm, number, sign == "==") for t in universe.targets if not t.is_host}
    mask = universe.mask(t for t, written in own.items() if written is not None and compare(written, number))
    return [mask] if mask not in (0, universe.device) else []
