"""Which C++ code is worth parsing, told from its bytes."""

from __future__ import annotations

import pytest

from archscan.frontends.cuda.host.prefilter import asks_for_architecture, may_ask


@pytest.mark.parametrize(
    "code",
    [
        b"if (is_sm90(device)) launch();",
        b"bool wide = hasSM100f(props);",
        b"if (on_hopper()) launch();",
        b"return tg::isArchBlackwell(arch);",
        b"auto cc = GetCudaComputeCapability();",
        b"int v = getSMVersion();",
        b"if (arch::kMinCapability >= 90) launch();",
    ],
)
def test_code_that_may_ask(code: bytes) -> None:
    assert asks_for_architecture(code)
    assert may_ask(code)


@pytest.mark.parametrize(
    "code",
    [
        b"// the shape is smaller than the tile of this SM\nint a = b;",
        b"__global__ void attention_hopper(Params const& params) {}",
        b"if (isSmall(tile) || is_smem(p)) launch();",
        b"static_assert(ArchTag::kMinComputeCapability >= 90);",
        b"if (n >= 90) launch();",
    ],
)
def test_code_that_asks_for_no_chip(code: bytes) -> None:
    assert not asks_for_architecture(code)
