"""Every spelling of a target, the peers it is judged against, and what a typo is told."""

from __future__ import annotations

import pytest

from archscan.catalog import load, native
from archscan.catalog.architectures import loads
from archscan.catalog.targets import select
from archscan.errors import UserError
from archscan.model.target import Target

CATALOG = load()
UNIVERSE = CATALOG.universe

GPU = {
    "sm120": 120,
    "sm_120": 120,
    "SM120": 120,
    " sm-120 ": 120,
    "120": 120,
    "12.0": 120,
    "12.0+PTX": 120,
    "compute_120": 120,
    "1200": 120,
    "900": 90,
    "800": 80,
    "100": 100,
    "10.3": 103,
    "RTX PRO 6000": 120,
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": 120,
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": 120,
    "rtx5090": 120,
    "RTX 5090": 120,
    "5090": 120,
    "NVIDIA GeForce RTX 5070 Ti Laptop GPU": 120,
    "H100": 90,
    "NVIDIA H100 80GB HBM3": 90,
    "NVIDIA H200": 90,
    "GH200": 90,
    "B200": 100,
    "B300": 103,
    "GB10": 121,
    "NVIDIA DGX Spark": 121,
    "Thor": 110,
    "Jetson AGX Thor": 110,
    "L40S": 89,
    "rtx-4090": 89,
    "RTX 6000 Ada Generation": 89,
    "A100": 80,
    "NVIDIA A100-SXM4-80GB": 80,
    "NVIDIA A10G": 86,
    "RTX A6000": 86,
    "Tesla T4": 75,
    "Quadro RTX 6000": 75,
    "Tesla V100-SXM2-32GB": 70,
}


@pytest.mark.parametrize(("text", "sm"), GPU.items())
def test_a_gpu_in_any_spelling_means_all_its_variants(text: str, sm: int) -> None:
    selection = select(text, CATALOG)
    assert (selection.sm, selection.exact, selection.name) == (sm, False, f"sm_{sm}")
    assert selection.variants == UNIVERSE.variants(sm)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sm_120a", "sm_120a"),
        ("compute_120f", "sm_120f"),
        ("12.0a", "sm_120a"),
        ("SM90A", "sm_90a"),
        ("120f", "sm_120f"),
    ],
)
def test_a_suffix_means_that_variant_alone(text: str, name: str) -> None:
    selection = select(text, CATALOG)
    assert selection.exact
    assert UNIVERSE.names(selection.mask) == (name,)
    others = {t.name for t in UNIVERSE.variants(selection.sm)} - {name}
    assert others <= set(UNIVERSE.names(selection.peers)) and name not in UNIVERSE.names(selection.peers)


def test_the_variants_of_a_gpu_are_no_peers() -> None:
    selection = select("sm_120", CATALOG)
    assert not selection.peers & UNIVERSE.mask(UNIVERSE.variants(120))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("sm_12O", "sm_120"),
        ("sm121x", "sm_121"),
        ("sm_130", "sm_120"),
        ("rtx5091", "RTX 5090"),
        ("H1OO", "H100"),
        ("L4OS", "L40S"),
        ("sm_90f", "sm_90a"),
        ("", "native"),
        ("nonsense", "native"),
        ("RTX 6000", "6000"),
    ],
)
def test_a_typo_gets_the_nearest_name(text: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        select(text, CATALOG)
    assert hint in caught.value.hint


def test_peers_are_every_other_device_target_from_sm_80() -> None:
    peers = set(UNIVERSE.names(select("sm120", CATALOG).peers))
    assert {"sm_80", "sm_90a", "sm_107f", "sm_121", "sm_121a"} <= peers
    assert not peers & {"host", "sm_75", "sm_120", "sm_120a", "sm_120f"}


def test_against_narrows_the_peers() -> None:
    selection = select("sm120", CATALOG, against=("sm_90a", "10.0", "sm120"))
    assert UNIVERSE.names(selection.peers) == ("sm_90a", "sm_100", "sm_100a", "sm_100f")


@pytest.mark.parametrize(("text", "first", "absent"), [("sm90", "sm_90", "sm_89"), ("sm89", "sm_80", "sm_75")])
def test_contemporaries_begin_with_hopper_or_ampere(text: str, first: str, absent: str) -> None:
    names = UNIVERSE.names(select(text, CATALOG).contemporaries)
    assert names[0] == first
    assert absent not in names


def test_families() -> None:
    assert select("sm120", CATALOG).family == (120, 121)
    assert select("sm103", CATALOG).family == (100, 103, 107)
    assert select("sm90", CATALOG).family == (90,)


@pytest.mark.parametrize(
    ("image", "device", "ptx", "answer"),
    [
        ("sm_120a", 121, False, False),
        ("sm_120f", 121, False, True),
        ("sm_121f", 120, False, False),
        ("sm_120", 121, False, True),
        ("sm_121", 120, False, False),
        ("sm_80", 89, False, True),
        ("sm_80", 90, False, False),
        ("sm_90", 120, True, True),
        ("sm_90a", 120, True, False),
        ("sm_90a", 90, False, True),
        ("sm_100f", 103, True, True),
        ("sm_100f", 120, True, False),
    ],
)
def test_which_image_a_device_loads(image: str, device: int, ptx: bool, answer: bool) -> None:
    target: Target = UNIVERSE.by_name[image]
    family = CATALOG.architectures[target.sm].family
    assert loads(CATALOG.images, target, device, family, ptx) is answer


def test_native_asks_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "from_driver", lambda: [120, 120])
    assert select("native", CATALOG).sm == 120
    monkeypatch.setattr(native, "from_driver", lambda: [90, 120])
    with pytest.raises(UserError, match="different GPUs"):
        select("native", CATALOG)
    monkeypatch.setattr(native, "from_driver", list)
    monkeypatch.setattr(native, "_from_nvidia_smi", list)
    with pytest.raises(UserError, match="no NVIDIA GPU"):
        select("native", CATALOG)
