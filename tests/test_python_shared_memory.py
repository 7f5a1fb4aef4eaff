"""Shared memory that a block can opt in to is the target's: what asks for it is a gate."""

from __future__ import annotations

import textwrap

from archscan.catalog import load
from archscan.frontends.protocol import Context
from archscan.frontends.python import PythonFrontEnd
from archscan.model.facts import Source
from archscan.model.gate import Gate
from archscan.model.settings import ScanSettings

CATALOG = load()
SMS = (80, 89, 90, 100, 120)


def asking(text: str) -> list[tuple[int, set[int]]]:
    """The lines of the gates of a module, and on which SMs the first arm of each is taken."""
    front, context = PythonFrontEnd(), Context(CATALOG, ScanSettings())
    index = front.index(Source("m.py", textwrap.dedent(text).encode(), "m.py"), context)
    facts = front.gates(index, front.link({"m.py": index}, context), context)
    return [(gate.place.line, yes(gate)) for gate in facts.gates]


def yes(gate: Gate) -> set[int]:
    bits = {sm: CATALOG.universe.bit(CATALOG.universe.variants(sm)[0]) for sm in SMS}
    return {sm for sm, bit in bits.items() if gate.arms[0].assumed.yes & bit}


def test_properties_of_torch() -> None:
    text = """
        import torch

        def run(x):
            props = torch.cuda.get_device_properties(x.device)
            if props.shared_memory_per_block_optin >= 200 * 1024:
                big(x)
        """
    assert asking(text) == [(6, {90, 100})]


def test_a_member_by_name_or_the_default() -> None:
    text = """
        import triton
        from enum import Enum

        class Backend(Enum):
            HOPPER = 232448
            DEFAULT = 102400

            @classmethod
            def get_shared_memory(cls, arch):
                try:
                    return cls[arch.upper()].value
                except KeyError:
                    return cls.DEFAULT.value

        def check_shared_mem(arch="none", index=0):
            sizes = [triton.runtime.driver.active.utils.get_device_properties(i)["max_shared_mem"] for i in range(n())]
            return sizes[index] >= Backend.get_shared_memory(arch)

        BLOCKS = [64, 128] if check_shared_mem() else [32, 64]

        def run(k):
            if check_shared_mem("hopper", k.device.index):
                return 128
            return 64
        """
    assert asking(text) == [(20, {80, 90, 100}), (23, {90, 100})]
