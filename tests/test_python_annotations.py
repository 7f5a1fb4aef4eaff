"""What annotations tell of objects that nobody saw being made: platforms that are detected, parameters, registries."""

from __future__ import annotations

import pytest

from archscan.model.gate import Gate, Kind
from tests.test_python_cases import gates, no, scan, yes

PLATFORM = """
import torch

class Info:
    vendor: str
    fast_path: bool = False

    def capability(self):
        return torch.cuda.get_device_capability()

    @property
    def is_blackwell(self):
        return self.capability()[0] in (10, 12)

    @property
    def serves(self):
        return True

def detect() -> "Info":
    return _REGISTRY[_name()]
"""
USE = "\n\ndef use(x{}):\n    if {}:\n        return fast(x)\n    return slow(x)\n"


def deciding(condition: str, parameter: str = "", before: str = PLATFORM) -> list[Gate]:
    """The gates of an `if` in a function with a further parameter."""
    found = gates(before + USE.format(parameter, condition))
    return [g for g in found if g.kind is Kind.IF]


@pytest.mark.parametrize(
    ("condition", "parameter"),
    [
        ("detect().is_blackwell", ""),
        ("info.is_blackwell", ", info: Info"),
        ("info.is_blackwell", ", info: Info | None = None"),
        ("info.is_blackwell", ', info: "Optional[Info]" = None'),
        ("info is not None and info.is_blackwell", ", info: Info | None"),
    ],
)
def test_object_of_an_annotated_class(condition: str, parameter: str) -> None:
    (gate,) = deciding(condition, parameter)
    assert yes(gate) == {100, 103, 120, 121}
    assert {90, 110} <= no(gate)


@pytest.mark.parametrize("parameter", [", info: list[Info]", ", info: dict[str, Info]", ", info: Other", ", info"])
def test_annotation_of_something_else_tells_nothing(parameter: str) -> None:
    (gate,) = deciding("info.is_blackwell", parameter)
    assert 120 not in yes(gate) | no(gate)  # by its name alone


def test_class_that_others_derive_from_may_be_one_of_them() -> None:
    heir = "\n\nclass Other(Info):\n    @property\n    def is_blackwell(self):\n        return False\n"
    (gate,) = deciding("detect().is_blackwell", before=PLATFORM + heir)
    assert 120 not in yes(gate) | no(gate)


def test_heirs_in_other_modules_count() -> None:
    heir = "from base import Info\n\nclass Other(Info):\n    is_blackwell = False\n"
    found = scan(
        {
            "base.py": PLATFORM,
            "heir.py": heir,
            "m.py": "from base import detect\n" + USE.format("", "detect().is_blackwell"),
        }
    )
    (gate,) = found["m.py"].gates
    assert 120 not in yes(gate) | no(gate)


def test_default_of_a_field_is_not_what_it_holds() -> None:
    (gate,) = deciding("info.fast_path and info.is_blackwell", ", info: Info")
    assert yes(gate) == {100, 103, 120, 121} and gate.arms[0].assumes


def test_name_that_carries_the_target_needs_no_annotation() -> None:
    before = "class Arch:\n    major: int\n    minor: int\n\ndef current() -> Arch:\n    return _probe()\n"
    found = gates(
        before
        + "\n\ndef use(x):\n    arch = current()\n    if arch.major == 9:\n        return fast(x)\n    return slow(x)\n"
    )
    assert [yes(g) for g in found] == [{90}]


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("info.arch_version in NEW", {100, 103}),
        ("info.arch_version in (Version(8, 0), Version(9, 0))", {80, 90}),
        ("info.arch_version == Version(9, 0)", {90}),
        ("info.arch_version.major == 9", {90}),
    ],
)
def test_version_objects_compare_like_pairs(condition: str, wanted: set[int]) -> None:
    before = (
        "class Version:\n    major: int\n    minor: int\n\nclass Info:\n    arch_version: Version\n\n"
        "NEW = frozenset({Version(10, 0), Version(10, 3)})\n"
    )
    found = gates(before + USE.format(", info: Info", condition))
    assert [yes(g) for g in found] == [wanted]


@pytest.mark.parametrize(
    "parameter",
    [", fast=_is_fast()", ", fast: bool = _is_fast()", ", *, fast=torch.cuda.get_device_capability()[0] == 9"],
)
def test_default_that_asks_for_the_target(parameter: str) -> None:
    before = "import torch\n\ndef _is_fast():\n    return torch.cuda.get_device_capability()[0] == 9\n"
    (gate,) = deciding("fast", parameter, before)
    assert yes(gate) == {90} and {80, 100, 120} <= no(gate)
    assert gate.arms[0].assumes == ("fast",)  # for who does not give it


def test_default_of_something_else_tells_nothing() -> None:
    before = "import torch\n\ndef _is_fast():\n    return torch.cuda.get_device_capability()[0] == 9\n"
    assert not deciding("fast", ", fast=_is_built()", before)
