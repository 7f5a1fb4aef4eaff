"""What a class, a module or the environment sets by default: a setting hides no gate, and is named."""

from __future__ import annotations

import pytest

from archscan.model.gate import Kind
from tests.test_python_cases import gates, scan, yes


def test_a_record_s_defaults_are_settings_of_whoever_makes_it() -> None:
    text = """
        import dataclasses
        import torch

        @dataclasses.dataclass
        class Args:
            tp_size: int = 1

            def handle(self):
                if self.tp_size > 1 and torch.cuda.get_device_capability()[0] in (9, 10):
                    self.fusion = True
        """
    (gate,) = gates(text)
    assert yes(gate) == {90, 100, 103}
    assert gate.arms[0].assumes == ("self.tp_size > 1",)


def test_an_object_made_here_has_its_class_s_defaults() -> None:
    text = """
        from dataclasses import dataclass
        import torch

        @dataclass
        class Spec:
            min_sm: int = 90

        SPEC = Spec()

        def check():
            major, minor = torch.cuda.get_device_capability()
            if major * 10 + minor < SPEC.min_sm:
                raise RuntimeError("too old")
        """
    (gate,) = gates(text)  # told once: where the bound is compared
    assert (gate.kind, gate.place.line) == (Kind.IF, 13)
    assert yes(gate) == {50, 75, 80, 86, 89}


def test_a_bound_that_no_condition_compares_is_told_where_it_is_set() -> None:
    text = """
        class Spec:
            min_sm: int = 90
        """
    (bound,) = gates(text)
    assert (bound.kind, bound.place.line, yes(bound)) == (Kind.WINDOW, 3, {90, 100, 103, 110, 120, 121})


def test_what_is_set_again_is_not_what_init_gave() -> None:
    text = """
        import torch

        class Dispatcher:
            def __init__(self):
                self.overlap = None
                self.mode = "plain"

            def combine(self):
                if self.overlap is not None:
                    if torch.cuda.get_device_capability()[0] >= 10:
                        fast()
                if self.mode == "never" and torch.cuda.get_device_capability()[0] == 9:
                    fast()

            def set_overlap(self, overlap):
                self.overlap = overlap
        """
    (gate,) = gates(text)
    assert yes(gate) == {100, 103, 110, 120, 121}


def test_an_attribute_that_another_method_sets_decides() -> None:
    text = """
        import torch

        class Backend:
            def __init__(self):
                self.use_mha: bool = False

            def decide(self, batch):
                if batch.is_extend:
                    sm = torch.cuda.get_device_capability()[0]
                    self.use_mha = sm in (9, 10) and batch.tokens < 4096
                else:
                    self.use_mha = False

            def forward(self, batch):
                if self.use_mha:
                    return mha(batch)
                return mla(batch)
        """
    (gate,) = gates(text)
    assert (gate.kind, gate.place.line, yes(gate)) == (Kind.IF, 16, {90, 100, 103})


def test_a_variable_that_turns_something_on_is_a_condition() -> None:
    text = """
        import os
        import torch

        USE_TMA = torch.cuda.get_device_capability()[0] >= 9 and os.getenv("USE_TMA", "0") == "1"
        NO_TMA = os.getenv("NO_TMA", "0") == "1"

        def run():
            if USE_TMA and not NO_TMA:
                tma()
        """
    (gate,) = gates(text)
    assert yes(gate) == {90, 100, 103, 110, 120, 121}
    assert gate.arms[0].assumes == ("USE_TMA",)
    assert gates(text, defines=(("USE_TMA", "0"),)) == []
    assert gates(text, undefines=("USE_TMA",)) == []


def test_a_variable_that_overrides_is_unset() -> None:
    text = """
        import os
        import torch

        def version():
            chosen = 3 if torch.cuda.get_device_capability()[0] == 9 else 2
            if os.environ.get("VERSION") is not None:
                chosen = int(os.environ["VERSION"])
            return chosen

        def run():
            if version() == 3:
                fast()
        """
    found = [g for g in gates(text) if g.kind is Kind.IF]
    assert [(g.place.line, yes(g)) for g in found] == [(12, {90})]


def test_a_module_gives_what_it_declares_when_it_is_asked() -> None:
    envs = """
        import os
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            USE_FAST: bool = True

        variables = {"USE_FAST": lambda: bool(int(os.getenv("USE_FAST", "1")))}

        def __getattr__(name):
            if name in variables:
                return variables[name]()
            raise AttributeError(name)
        """
    user = """
        import torch
        import envs

        def run():
            if envs.USE_FAST and torch.cuda.get_device_capability()[0] == 9:
                fast()
        """
    files = {"envs.py": envs, "user.py": user}
    (gate,) = scan(files)["user.py"].gates
    assert (yes(gate), gate.arms[0].unknowns) == ({90}, ())
    assert scan(files, defines=(("USE_FAST", "0"),))["user.py"].gates == ()


def test_a_line_that_counts_multiprocessors_may_ask_for_the_target() -> None:
    text = """
        import torch

        def sms():
            major = torch.cuda.get_device_capability()[0]
            num_sms = 32 if major >= 10 else 3
            return num_sms
        """
    (gate,) = gates(text)
    assert yes(gate) == {100, 103, 110, 120, 121}


def test_a_handler_s_value_is_for_who_fails() -> None:
    text = """
        import torch

        def pick(x):
            use = x.wants
            try:
                probe(x)
            except RuntimeError:
                use = False
            if use and torch.cuda.get_device_capability()[0] == 9:
                fast(x)
        """
    (gate,) = gates(text)
    assert (yes(gate), gate.arms[0].assumes) == ({90}, ("x.wants", "try except RuntimeError"))


def test_what_nobody_knows_on_one_lane_is_assumed_there() -> None:
    text = """
        import torch

        def version(x):
            if torch.cuda.get_device_capability()[0] == 10:
                return x.first
            return x.second

        def run(x):
            if version(x) == 3 and torch.cuda.get_device_capability()[0] in (9, 10):
                fast(x)
        """
    found = [g for g in gates(text) if g.place.line == 10]
    assert [yes(g) for g in found] == [{90, 100, 103}]


def test_flags_and_functions_are_followed_by_any_name() -> None:
    files = {
        "lib/wrapper.py": """
            import torch
            from functools import cache

            @cache
            def _cached_chip():
                return torch.cuda.get_device_capability()

            def chip(x=None):
                return _cached_chip()

            USE_FAST = torch.cuda.get_device_capability()[0] >= 10
            """,
        "lib/__init__.py": "",
        "lib/run.py": """
            from lib import wrapper
            from lib.wrapper import chip

            def run(x):
                if x.ok and wrapper.USE_FAST:
                    fast(x)
                level = chip(x)
                assert level[0] >= 9, "too old"
            """,
    }
    found = scan(files)["lib/run.py"].gates
    assert [(g.place.line, yes(g)) for g in found] == [
        (6, {100, 103, 110, 120, 121}),
        (9, {90, 100, 103, 110, 120, 121}),
    ]


def test_members_of_an_enumeration_of_chips() -> None:
    text = """
        from cutlass.base_dsl.arch import Arch

        def copy(self, arch):
            if arch < Arch.sm_90:
                return plain()
            if Arch.sm_100 <= arch <= Arch.sm_100f:
                return fast()
            return tma()
        """
    (gate,) = gates(text)
    assert (yes(gate, 0), yes(gate, 1)) == ({50, 75, 80, 86, 89}, {100})


@pytest.mark.parametrize(
    ("kind", "count"),
    [("cv2.VideoCapture", 0), ("'cv2.VideoCapture'", 0), ("platform.DeviceCapability", 1), ("typing.Tuple", 1)],
)
def test_a_parameter_of_a_library_s_class_is_that_and_no_capability(kind: str, count: int) -> None:
    text = f"""
        def read(cap: {kind}):
            if cap >= (9, 0):
                return fast()
            return slow()
        """
    assert len(gates(text)) == count
