"""Random conditions and small files mean to us what they mean to nvcc's own preprocessor, for many targets."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_scan import catalog, scan
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from archscan.model.gate import Arm

NVCC = shutil.which("nvcc")
pytestmark = [pytest.mark.nvcc, pytest.mark.skipif(NVCC is None, reason="nvcc is not on PATH")]

TARGETS = ("75", "80", "89", "90", "90a", "100", "100a", "100f", "103a", "103f", "110a", "120", "120a", "120f", "121a")

_ARCH = st.sampled_from(("__CUDA_ARCH__", "__CUDA_ARCH_FAMILY_SPECIFIC__", "__CUDA_ARCH_SPECIFIC__"))
_NUMBER = st.sampled_from(("800", "900", "0x384", "1000u", "1030", "1'100", "1200ull", "1210L", "01604", "0", "99"))
_COMPARE = st.sampled_from((">=", ">", "<", "<=", "==", "!=", "not_eq"))
_FEATURE = st.sampled_from((90, 100, 103, 120, 121))
_ATOM = st.one_of(
    st.builds("{} {} {}".format, _ARCH, _COMPARE, _NUMBER),
    st.builds("{1} {2} {0}".format, _ARCH, _NUMBER, _COMPARE),
    st.builds("{} / 100 {} {}".format, _ARCH, _COMPARE, st.sampled_from((8, 9, 10, 12))),
    st.builds("{} % 100 - 50 {} {}".format, _ARCH, _COMPARE, st.sampled_from(("0", "-20", "0u"))),
    st.builds("defined({})".format, _ARCH),
    st.builds("defined __CUDA_ARCH_FEAT_SM{}_ALL".format, _FEATURE),
    st.builds("__CUDA_ARCH_HAS_FEATURE__(SM{}_ALL)".format, _FEATURE),
    st.builds("__CUDA_HAS_ARCH_FAMILY_SPECIFIC({})".format, _FEATURE),
    st.builds("__CUDA_HAS_ARCH_SPECIFIC({})".format, _FEATURE),
    st.sampled_from(("__CUDA_ARCH__", "1", "0", "__CUDACC_VER_MAJOR__ >= 12", "CUDART_VERSION < 12000", "_MSC_VER")),
)
_CONDITION = st.recursive(
    _ATOM,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(("&&", "||", "and", "or", "==", "|", "^")), inner),
        st.builds("!({})".format, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=8,
)


def marks(path: Path, target: str) -> set[int]:
    """The numbers behind MARK_ that survive nvcc's preprocessor for a target. -gencode: -arch defines too little."""
    command = [NVCC, "-E", "-gencode", f"arch=compute_{target},code=sm_{target}", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return {int(word[5:]) for word in run.stdout.split() if word.startswith("MARK_")}


def release() -> str:
    text = subprocess.run([NVCC, "--version"], capture_output=True, text=True, check=True).stdout
    return text.partition("release ")[2].partition(",")[0]


def truth(arm: Arm, target: str) -> str:
    universe = catalog().universe
    return arm.truth.word(universe.bit(universe.by_name[f"sm_{target}"]))


@settings(
    max_examples=1,
    deadline=None,
    database=None,
    derandomize=False,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(conditions=st.lists(_CONDITION, min_size=150, max_size=150))
def test_random_conditions(tmp_path_factory: pytest.TempPathFactory, conditions: list[str]) -> None:
    if release() != "13.0":
        pytest.skip("the macros of other releases differ")
    text = "".join(f"#if {c}\nMARK_{i}\n#endif\n" for i, c in enumerate(conditions))
    path = tmp_path_factory.mktemp("random") / "a.cu"
    path.write_text(text)
    arms = {gate.place.line: gate.arms[0] for gate in scan({"a.cu": text})["a.cu"].gates}
    for target in TARGETS:
        live = marks(path, target)
        for i, condition in enumerate(conditions):
            if arm := arms.get(3 * i + 1):
                assert truth(arm, target) == ("yes" if i in live else "no"), (target, condition)


DERIVED = """\
#pragma once
#include <cuda_runtime.h>
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || \\
    defined(__CUDA_ARCH_FEAT_SM100_ALL)
#  define HAS_ASYNC 1
#endif
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 1200)
#  define SMEM_KB 99
#elif __CUDA_ARCH__ >= 900
#  define SMEM_KB 227
#else
#  define SMEM_KB (164 - 1)
#endif
#ifndef FAMILY
#define FAMILY(n) (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ / 100 == n / 10)
#endif
"""
USES = """\
#include "derived.h"
#ifdef HAS_ASYNC
MARK_1
#else
MARK_2
#  if SMEM_KB > 100
MARK_3
#  elif SMEM_KB == 99 and defined(__CUDA_ARCH__)
MARK_4
#  endif
#endif
#if FAMILY(120) /* the whole
                   family */ || 0
MARK_5
#elif FAMILY(100)
MARK_6
#else // neither
MARK_7
#endif
#undef HAS_ASYNC
#if defined(HAS_ASYNC)
MARK_8
#endif
"""


@pytest.mark.parametrize("crlf", [False, True])
def test_macros_derived_in_a_header(tmp_path: Path, crlf: bool) -> None:
    files = {"derived.h": DERIVED, "uses.cu": USES}
    if crlf:
        files = {name: text.replace("\n", "\r\n") for name, text in files.items()}
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    lines = files["uses.cu"].splitlines()
    arms = [arm for gate in scan(dict(files))["uses.cu"].gates for arm in gate.arms]
    assert len(arms) == 8
    for target in TARGETS[crlf::4]:
        live = marks(tmp_path / "uses.cu", target)
        for arm in arms:
            mark = next(int(line[5:]) for line in lines[arm.place.end_line :] if line.startswith("MARK_"))
            assert truth(arm, target) == ("yes" if mark in live else "no"), (target, arm.condition)


def test_an_oracle_of_a_package_agrees(tmp_path: Path) -> None:
    folder = tmp_path / "demo-1.0" / "demo"
    folder.mkdir(parents=True)
    (folder / "derived.h").write_text(DERIVED)
    (folder / "uses.cu").write_text(USES + "#include <nowhere/found.h>\n#if __CUDA_ARCH__ > 1000\nint x;\n#endif\n")
    scripts = Path(__file__).parent.parent / "scripts"
    oracle = tmp_path / "oracle.jsonl.gz"
    made = [sys.executable, str(scripts / "oracle_make.py"), str(folder), str(oracle), "9", "sm_90a,sm_120"]
    subprocess.run(made, check=True)
    compared = [sys.executable, str(scripts / "oracle_diff.py"), str(oracle), str(tmp_path)]
    text = subprocess.run(compared, check=True, capture_output=True, text=True).stdout
    assert text.startswith("18 answers, 0 regions unseen") and "wrong    0" in text, text
