"""Messages about builds that people paste: what they mean, and where CMake raises them."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from archscan.catalog import load
from archscan.catalog.messages import matching
from archscan.cli import run

MESSAGES = load().messages


@pytest.mark.parametrize(
    ("message", "family"),
    [
        ("CUDA_ERROR_NOT_FOUND: named symbol not found", "named-symbol-not-found"),
        ("FATAL: kernel `conv_tile_sm80` is for sm80-sm100, but was built for sm75", "built-for-another-target"),
        ('error: no instance of overloaded function "__hfma" matches the argument list', "intrinsic-without-overload"),
        ('error: no instance of overloaded function "atomicAdd" matches the argument list', "too-old-for-intrinsic"),
        ("Unknown CUDA Architecture Name 12.0 in SELECT_ARCH_FLAGS", "unknown-cuda-arch"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_70'", "unsupported-gpu-architecture"),
        ("CMAKE_CUDA_ARCHITECTURES must be non-empty if set.", "no-default-architecture"),
        ("the provided PTX was compiled with an unsupported toolchain.", "unsupported-toolchain"),
        ("nvcc warning : Support for offline compilation for architectures prior to '<compute/sm/lto>_75' will be removed",
         "deprecated-architecture"),
        ("The detected CUDA version (13.0) mismatches the version that was used to compile PyTorch (12.8)",
         "toolkit-mismatch"),
        ("nvlink error   : Undefined reference to '_Z3foov' in 'main.o' (target: sm_90)", "device-link"),
    ],
)  # fmt: skip
def test_families(message: str, family: str) -> None:
    row = matching(MESSAGES, message)
    assert row is not None and row["id"] == family


def test_a_message_of_which_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--no-cache", "the cat sat on the mat"]) == 1
    assert "what to try:" in capsys.readouterr().out


def test_the_message_of_a_cmake_file_and_the_test_that_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "archs.cmake").write_text(
        'foreach(name ${L})\n  if(NOT name MATCHES "^[0-9]$")\n'
        '    message(SEND_ERROR "Unknown Architecture Name ${name} in SELECT")\n  endif()\nendforeach()\n'
    )
    assert run(["explain", "--no-cache", "Unknown Architecture Name 12.0 in SELECT", str(tmp_path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert 'archs.cmake:3 if(NOT name MATCHES "^[0-9]$") at line 2' in out
