"""What Python conditions mean in code never seen: values through texts, classes, parameters and modules."""

from __future__ import annotations

import pytest

from archscan.model.gate import Does, Gate, Kind
from tests.test_python_cases import gates, no, yes

HEAD = "import torch\n"
GATED = "\n    if {}:\n        return fast(x)\n    return slow(x)\n"


def deciding(condition: str, before: str = "") -> Gate:
    """The gate of an `if` over a condition, in a function after `before`."""
    found = [g for g in gates(HEAD + before + "\ndef use(x, env):" + GATED.format(condition)) if g.kind is Kind.IF]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "source",
    [
        'tuple(int(p) for p in env.compute_capability.split("."))',
        'tuple(map(int, env.compute_capability.split(".")))',
        '[int(p) for p in env.compute_capability.split(".")]',
        'tuple(map(int, f"{env.device_capability}".split(".")))',
    ],
)
def test_capability_text_is_split_at_its_dot(source: str) -> None:
    bound = "[10, 0]" if source.startswith("[") else "(10, 0)"
    gate = deciding(f"{source} >= {bound}")
    assert {100, 103, 120} <= yes(gate)
    assert {89, 90} <= no(gate)


def test_toolkit_version_is_no_condition_of_the_chip() -> None:
    gate = deciding(
        'tuple(map(int, torch.version.cuda.split(".")[:2])) >= (12, 8) and torch.cuda.get_device_capability()[0] == 10'
    )
    assert yes(gate) == {100, 103}
    assert not gate.arms[0].unknowns


def test_data_class_carries_the_capability() -> None:
    gate = deciding(
        "arch().major < 10",
        """
class Arch:
    major: int
    minor: int

def arch():
    cap = torch.cuda.get_device_capability()
    return Arch(cap[0], cap[1])
""",
    )
    assert 90 in yes(gate) and 100 in no(gate)


def test_type_of_a_capability_is_no_gate() -> None:
    assert not gates(
        """
        def normal(capability):
            assert isinstance(capability, tuple)
            if isinstance(capability, int):
                return capability // 10
            return capability[0]
        """
    )


def test_predicate_is_reported_where_no_caller_decides() -> None:
    (gate,) = gates(
        """
        import torch

        class Packages:
            def info(self):
                return {"fp4": self._has_fp4()}

            def _has_fp4(self):
                major, _ = torch.cuda.get_device_capability()
                if major < 10:
                    return False
                return True
        """
    )
    assert gate.place.line == 10 and gate.arms[0].effect.does is Does.REFUSES
    assert 90 in yes(gate) and 100 in no(gate)


def test_predicate_is_not_reported_where_a_caller_decides() -> None:
    (gate,) = gates(
        """
        import torch

        class Packages:
            def run(self, x):
                if self._has_fp4():
                    return fast(x)
                return slow(x)

            def _has_fp4(self):
                major, _ = torch.cuda.get_device_capability()
                if major < 10:
                    return False
                return True
        """
    )
    assert gate.place.line == 6


def test_answer_under_an_unknown_condition_is_taken_as_met() -> None:
    gate = deciding(
        "supported(x)",
        """
def supported(x):
    if x.device_index is not None:
        return torch.cuda.get_device_capability()[0] >= 9
    return False
""",
    )
    assert 90 in yes(gate) and 89 in no(gate)
    assert gate.arms[0].assumes == ("x.device_index is not None",)


def test_tensor_on_a_gpu_is_no_condition() -> None:
    gate = deciding('x.device.type == "cuda" and torch.cuda.get_device_capability()[0] >= 9')
    assert 90 in yes(gate) and not gate.arms[0].assumes


def test_parameter_carries_the_answer_of_its_namesake() -> None:
    """The name says 10.0, the function 10.0 or newer: the name is never the meaning."""
    found = gates(
        """
        import torch

        def is_sm100():
            return torch.cuda.get_device_capability()[0] >= 10

        def layout(x, is_sm100):
            if is_sm100:
                return packed(x)
            return plain(x)
        """
    )
    assert [yes(g) >= {100, 103, 120} for g in found] == [True]


def test_parameter_without_a_namesake_goes_by_its_name() -> None:
    (gate,) = gates("def layout(x, is_sm100):\n    if is_sm100:\n        return packed(x)\n    return plain(x)\n")
    assert yes(gate) == {100, 103}


def test_module_that_import_module_gives() -> None:
    gate = deciding(
        'import_module("torch").cuda.get_device_capability() >= (10, 0)', "from importlib import import_module\n"
    )
    assert 100 in yes(gate) and 90 in no(gate)


def test_toolkit_numbers_are_no_capability() -> None:
    assert not gates(
        """
        def installed():
            cuda_major, cuda_minor = release()[:2]
            return int(cuda_major), int(cuda_minor)

        def is_new_enough():
            sys_cuda_major, _ = installed()
            if sys_cuda_major < 11:
                return False
            return True
        """
    )
