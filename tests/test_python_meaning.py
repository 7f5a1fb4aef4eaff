"""What Python conditions mean in code never seen: values through texts, classes, parameters and modules."""

from __future__ import annotations

import pytest

from archscan.model.gate import Does, Gate, Kind
from archscan.model.merge import merged
from tests.test_python_cases import UNIVERSE, gates, no, scan, yes

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


@pytest.mark.parametrize(
    "fold", ["min({})", "max({})", "sorted({})[0]", "[c for c in {}][-1]", "list({})[x.device.index]"]
)
def test_devices_are_alike(fold: str) -> None:
    every = "(torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count()))"
    gate = deciding(f"{fold.format(every)} >= (9, 0)")
    assert 90 in yes(gate) and 89 in no(gate)


def test_all_devices_answer_as_one() -> None:
    gate = deciding("all(torch.cuda.get_device_capability(i)[0] == 9 for i in range(torch.cuda.device_count()))")
    assert yes(gate) == {90}


@pytest.mark.parametrize(("given", "is_gate"), [("int(cuda[:2])", False), ("int(cuda[:-1])", True)])
def test_two_digits_are_the_major_of_a_toolkit(given: str, is_gate: bool) -> None:
    found = gates(
        f"""
        def pick(plan):
            cuda = plan.target_cuda
            major = {given}
            if major < 12:
                return "narrow"
            return "wide"
        """
    )
    assert bool(found) == is_gate


@pytest.mark.parametrize("value", ["x.shape[:2]", "torch.__version__.split('.')[:2]", "read()"])
def test_name_given_something_else_is_no_capability(value: str) -> None:
    assert not gates(
        f"""
        import torch

        def pick(x):
            major, minor = torch.cuda.get_device_capability()
            print(major, minor)
            major, minor = {value}
            if major >= 9 and major < 12:
                return "wide"
            return "narrow"
        """
    )


def test_version_objects_are_ordered_as_versions() -> None:
    before = "from packaging.version import Version, parse\nCUDA = Version(torch.version.cuda or '0')\n"
    gate = deciding('CUDA >= Version("12.8") and torch.cuda.get_device_capability()[0] == 12', before)
    assert yes(gate) == {120, 121} and not gate.arms[0].unknowns
    assert not gates(
        HEAD
        + before
        + "\ndef old(x):\n    return torch.cuda.get_device_capability() == (8, 9) and CUDA < parse('12.1')\n"
    )


def test_pattern_over_a_name_of_the_chip() -> None:
    before = """
import re

KNOWN = re.compile(r"sm_(80|86|90a|120a)$")

def current():
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")
"""
    assert yes(deciding("KNOWN.match(current())", before)) == {80, 86, 90, 120}
    assert yes(deciding('re.fullmatch("sm_1[02].a", current())', before)) == {100, 103, 120, 121}


def test_build_takes_what_it_shares_with_the_visible_chips() -> None:
    gate = deciding("visible(x) & SUPPORTED_ARCHS", 'SUPPORTED_ARCHS = {"8.0", "9.0", "12.0"}\n')
    assert yes(gate) == {80, 90, 120}


def test_loop_over_a_list_that_looks_for_the_chip() -> None:
    """What lies behind the loop is for the chips that no item is of; the list is what is to be changed."""
    (gate,) = gates(
        """
        import torch

        ARCH = "sm_%d%d" % torch.cuda.get_device_capability()
        IMAGES = ("sm_80", "sm_90", "sm_100")

        def image():
            for name in IMAGES:
                if ARCH == name:
                    return load(name)
            raise FileNotFoundError(ARCH)
        """
    )
    assert (gate.kind, gate.place.line) == (Kind.ALLOW_LIST, 5)
    assert yes(gate) == {80, 90, 100}


def test_loop_over_other_numbers_decides_nothing() -> None:
    assert not gates(
        """
        def tiles(sm):
            for sm in (64, 80, 96):
                if sm == 80:
                    yield sm
        """
    )


def test_list_behind_a_flag_is_the_gate() -> None:
    (gate,) = gates(
        """
        import torch

        TUNED = ["7.5", "8.0", "8.6"]

        def library():
            major, minor = torch.cuda.get_device_capability()
            tuned = f"{major}.{minor}" in TUNED
            return "tuned.so" if tuned else "plain.so"
        """
    )
    assert (gate.kind, gate.place.line) == (Kind.ALLOW_LIST, 4)
    assert yes(gate) == {75, 80, 86} and gate.rest.value == '"plain.so"'


TABLES = {
    "table.py": "CC_SIZES = {\n    (9, 0): 64,\n    (10, 0): 128,\n}\nSUPPORTED_CCS = [(9, 0), (10, 0)]\n",
    "use.py": """
        import torch
        from table import CC_SIZES, SUPPORTED_CCS

        def size():
            cap = torch.cuda.get_device_capability()
            return CC_SIZES[cap]

        def check():
            cap = torch.cuda.get_device_capability()
            if cap not in SUPPORTED_CCS:
                raise ValueError("unsupported")
        """,
}


def test_table_and_list_of_another_module_are_gates_there() -> None:
    """The reader's file finds them; they are filed with the file that they stand in."""
    found = {f.path: f.gates for f in merged(scan(TABLES).values())}
    assert not found["use.py"]
    table, listed = found["table.py"]
    assert (table.kind, table.place.line, table.rest.does) == (Kind.TABLE, 1, Does.RAISES)
    assert [(r.path, r.line) for r in table.related] == [("use.py", 7)]
    assert (listed.kind, listed.place.line, listed.rest.message) == (Kind.ALLOW_LIST, 5, "unsupported")
    assert yes(listed) == {90, 100}


def test_capability_as_one_number() -> None:
    gate = deciding("cap is not None and int(cap.to_int()) == 103", "cap = platform.get_device_capability()\n")
    assert yes(gate) == {103}


def test_generation_in_a_name_that_nobody_defines() -> None:
    """10.0 surely is a Blackwell; whether 12.0 is one differs from project to project."""
    (arm,) = deciding("platform().is_blackwell").arms
    assert {t.sm for t in UNIVERSE.members(arm.own.yes)} == {100, 103}
    assert {90, 89} <= {t.sm for t in UNIVERSE.members(arm.own.no)}
    assert 120 not in {t.sm for t in UNIVERSE.members(arm.own.yes | arm.own.no)}


def test_generation_or_newer_in_a_name() -> None:
    gate = deciding("platform().is_hopper_plus")
    assert {90, 100, 120} <= yes(gate) and 89 in no(gate)


def test_refusal_under_a_default_that_hangs_on_the_chip() -> None:
    """The user may ask for the backend on any chip: the enclosing condition is taken as met where it can be."""
    found = gates(
        """
        import torch

        def check(args):
            if args.backend is None:
                args.backend = "trtllm" if torch.cuda.get_device_capability()[0] == 10 else "triton"
            if args.backend == "trtllm" or args.decode == "trtllm":
                if torch.cuda.get_device_capability()[0] != 10:
                    raise ValueError("needs sm100")
        """
    )
    (gate,) = [g for g in found if g.place.line == 8]
    assert {90, 120} <= yes(gate) and 100 in no(gate)


@pytest.mark.parametrize(
    ("handler", "does"),
    [("ImportError", Does.REFUSES), ("(ImportError, OSError) as e", Does.REFUSES), ("KeyError", Does.RAISES)],
)
def test_raise_that_is_caught_beside_it_is_no_error(handler: str, does: Does) -> None:
    (gate,) = gates(
        f"""
        import torch

        try:
            if torch.cuda.get_device_capability()[0] not in (9, 10):
                raise ImportError("not built")
            from kernels import rotary
        except {handler}:
            rotary = None
        """
    )
    assert gate.arms[0].effect.does is does


def test_missing_row_that_is_caught_picks_a_default() -> None:
    (gate,) = gates(
        """
        import torch

        def tiles():
            table = {(9, 0): [128], (10, 0): [256]}
            try:
                return table[torch.cuda.get_device_capability()]
            except KeyError:
                return [64]
        """
    )
    assert (gate.kind, gate.rest.does, gate.rest.value) == (Kind.TABLE, Does.RETURNS, "[64]")


def test_list_of_a_class_that_its_base_looks_up() -> None:
    (gate,) = gates(
        """
        import torch

        class Base:
            SUPPORTED_CC = ()

            @classmethod
            def check(cls):
                major, minor = torch.cuda.get_device_capability()
                if cls.SUPPORTED_CC and f"{major}.{minor}" not in cls.SUPPORTED_CC:
                    raise ValueError("not supported")

        class Int8(Base):
            SUPPORTED_CC = ("8.0", "9.0")

        class Other(Base):
            NAMES = ("8.0", "9.0")
        """
    )
    assert (gate.kind, gate.place.line) == (Kind.ALLOW_LIST, 14)
    assert yes(gate) == {80, 90} and gate.rest.message == "not supported"


def test_next_rung_of_a_ladder_is_a_way_out() -> None:
    (gate,) = gates(
        """
        import torch

        def choose(x):
            if torch.cuda.get_device_capability()[0] == 10:
                return "umma"
            if can_run_portable(x):
                return "portable"
            raise NotImplementedError("no backend")
        """
    )
    assert (gate.rest.does, gate.rest.value) == (Does.RETURNS, '"portable"')


def test_long_list_of_conditions_goes_by_the_function_that_asks() -> None:
    gate = deciding(
        "can_run(x)",
        """
def can_run(x):
    if x.device_a is None:
        return False
    if x.device_b is None:
        return False
    if x.device_c is None:
        return False
    if x.device_d is None:
        return False
    return torch.cuda.get_device_capability()[0] == 9
""",
    )
    assert yes(gate) == {90} and gate.arms[0].assumes == ("can_run(…)",)


@pytest.mark.parametrize(
    "renamed",
    [
        "100 if x.fp4 and sm == 103 else sm",
        '"sm_90a" if sm == 90 else f"sm_{sm}"',
        "sm if sm in (72, 87) else min(sm, 120)",
    ],
)
def test_chip_that_only_gets_another_name_is_no_gate(renamed: str) -> None:
    assert not gates(f"def module(x, sm):\n    arch = {renamed}\n    return build(arch)\n")


def test_tile_chosen_by_the_chip_is_a_gate() -> None:
    (gate,) = gates("def module(x, sm):\n    tile = 128 if sm == 90 else 64\n    return build(tile)\n")
    assert yes(gate) == {90}


def test_libraries_are_new_enough() -> None:
    assert not gates(
        """
        import torch

        def check(x):
            if torch.cuda.get_device_capability() == (12, 0) and cudnn.backend_version() < 91400:
                raise RuntimeError("needs cuDNN 9.14")
        """
    )
    gate = deciding("cudnn_version >= 91100 and torch.cuda.get_device_capability() == (10, 3)")
    assert yes(gate) == {103} and not gate.arms[0].unknowns


@pytest.mark.parametrize("condition", ["minor > major", "major % minor != 0", "major < 9"])
def test_major_axis_is_no_capability(condition: str) -> None:
    assert not gates(f"def verify(prefix, major, minor):\n    if {condition}:\n        raise ValueError(prefix)\n")


def test_requirement_speaks_with_the_words_of_its_function() -> None:
    (gate,) = gates(
        """
        from flashinfer.utils import backend_requirement, supported_compute_capability

        @supported_compute_capability([100, 103])
        def _cutlass_requirement(a, b):
            return True

        @backend_requirement({"cutlass": _cutlass_requirement, "cudnn": _cudnn_requirement})
        def mm(a, b, backend="auto"):
            return run(a, b, backend)
        """
    )
    assert yes(gate) == {100, 103}
    assert gate.rest.message == "mm does not support backend 'cutlass' with capability {capability}"
    assert [(r.line, r.message) for r in gate.related] == [(9, "mm(backend='cutlass'); others: cudnn")]


def test_requirement_of_all_backends() -> None:
    (gate,) = gates(
        """
        @supported_compute_capability([90])
        def _common(a, b):
            return True

        @backend_requirement({}, common_check=_common)
        def router(a, b):
            return run(a, b)
        """
    )
    assert gate.rest.message == "router does not support capability {capability}"


def test_list_that_is_only_looked_up_is_not_what_is_built() -> None:
    text = "OLD_ARCHS = ('7.5', '8.0')\nflags = ['-gencode=arch=compute_%s']\n"
    found = gates(text + "\ndef flag(arch):\n    if arch in OLD_ARCHS:\n        return 'x'\n    return 'y'\n")
    assert [g.kind for g in found] == [Kind.ALLOW_LIST]


@pytest.mark.parametrize("kept", ['return {"fused": enable}', "x.fused = enable", "return enable, 1"])
def test_flag_that_is_only_kept_is_the_gate(kept: str) -> None:
    (gate,) = gates(
        f"""
        import torch

        def options(x, tp):
            major, _ = torch.cuda.get_device_capability()
            enable = tp > 1 and major in (9, 10)
            {kept}
        """
    )
    assert (gate.kind, gate.place.line) == (Kind.FLAG, 6)
    assert {90, 100} == {sm for sm in yes(gate) if sm < 103} and 120 in no(gate)


def test_flag_that_is_handed_on_is_no_gate() -> None:
    assert not gates(
        """
        import torch

        def options(x):
            fast = torch.cuda.get_device_capability()[0] == 10
            return run(x, fast=fast)
        """
    )


def test_flag_that_decides_is_no_gate_beside_what_it_decides() -> None:
    found = gates(
        """
        import torch

        def options(x):
            fast = torch.cuda.get_device_capability()[0] == 10
            x.fast = fast
            if fast:
                return fused(x)
            return plain(x)
        """
    )
    assert [g.place.line for g in found] == [7]


def test_helper_that_raises_where_a_condition_holds() -> None:
    found = gates(
        """
        import torch

        class Api:
            def _value_error_if(self, condition, message):
                if condition:
                    raise ValueError(message)

            def check(self):
                cc = torch.cuda.get_device_capability()
                allowed = ((10, 0), (10, 3))
                self._value_error_if(cc not in allowed, f"found {cc}")
        """
    )
    (gate,) = found
    assert (gate.kind, gate.place.line) == (Kind.CHECK, 12)
    assert yes(gate) == {100, 103} and gate.rest.does is Does.RAISES


def test_sets_are_compared_as_sets() -> None:
    gate = deciding("{torch.cuda.get_device_capability()[0]} <= {8, 9}")
    assert {80, 86, 89, 90} == {sm for sm in yes(gate) if sm >= 80} and {75, 100} <= no(gate)


def test_attribute_that_is_set_on_an_object_counts() -> None:
    gate = deciding(
        "config.ok()",
        """
class Config:
    allowed = (8, 9)

    def ok(self):
        return torch.cuda.get_device_capability()[0] in self.allowed

config = Config()
config.allowed = (10,)
""",
    )
    assert yes(gate) == {100, 103}


def test_name_that_is_given_what_the_caller_asked_for_is_no_capability() -> None:
    assert not gates(
        """
        import torch

        def plan(requested=(9, 0)):
            cc = torch.cuda.get_device_capability()
            print(cc)
            cc = requested
            if cc == (9, 0):
                return "hopper"
            return "other"
        """
    )


def test_lazily_set_global_is_what_its_function_gives_it() -> None:
    gate = deciding(
        "arch() == 90",
        """
_ARCH = None

def arch():
    global _ARCH
    if _ARCH is None:
        major, minor = torch.cuda.get_device_capability()
        _ARCH = major * 10 + minor
    return _ARCH
""",
    )
    assert yes(gate) == {90}


def test_default_that_is_no_answer_of_any_chip() -> None:
    """A minor of 0 is as good an answer as any: the None before it is the default."""
    gate = deciding(
        "sm(x) >= 80",
        """
def sm(x):
    major, minor = None, None
    if x.device_kind is not None:
        major, minor = torch.cuda.get_device_capability()
    return major * 10 + minor
""",
    )
    assert {80, 86, 90, 100} <= yes(gate) and 75 in no(gate)


ROUTES = """
ROUTES = [((8, 0), (8, 9), "mma"), ((9, 0), (9, 0), "wgmma"), ((10, 0), (10, 0), "umma")]
NAMES = {"mma": (80, 86), "wgmma": (90,)}
"""


def test_row_of_a_table_that_is_gone_through_is_asked_as_a_whole() -> None:
    """10.3 lies above one row's lower and below no row's upper bound: asked one by one, some row would seem to fit."""
    found = gates(
        HEAD
        + ROUTES
        + "def route():\n    cc = torch.cuda.get_device_capability()\n    for lo, hi, name in ROUTES:\n"
        + "        if lo <= cc <= hi:\n            return name\n    raise RuntimeError(f'no kernel for {cc}')\n"
    )
    (gate,) = found
    assert yes(gate) == {80, 86, 89, 90, 100} and 103 in no(gate)
    assert gate.rest.does is Does.RAISES


def test_pairs_of_a_dict_that_are_gone_through() -> None:
    (gate,) = gates(
        HEAD
        + ROUTES
        + "def route(cc):\n    for name, ccs in NAMES.items():\n        if cc in ccs:\n            return name\n"
    )
    assert yes(gate) == {80, 86, 90}


def test_loop_that_passes_over_what_the_chip_is_not() -> None:
    (gate,) = gates(
        HEAD
        + "def route(cc):\n    for known in (80, 86, 90):\n        if cc != known:\n            continue\n"
        + "        return load(known)\n    raise ValueError(cc)\n"
    )
    assert no(gate) == {80, 86, 90}


def test_joined_numbers_of_the_capability() -> None:
    gate = deciding('"".join(map(str, torch.cuda.get_device_capability())) in ("80", "90")')
    assert yes(gate) == {80, 90}
    gate = deciding('".".join(str(part) for part in torch.cuda.get_device_capability()) == "12.1"')
    assert yes(gate) == {121}


def test_key_that_a_helper_makes_is_what_the_table_is_asked_for() -> None:
    """12.1 is looked up as sm_120: it has a row."""
    (gate,) = gates(
        """
        import torch

        def arch_name():
            major, minor = torch.cuda.get_device_capability()
            if (major, minor) == (12, 1):
                return "sm_120"
            return f"sm_{major}{minor}"

        TEMPLATES = {"sm_90": "t90.jinja", "sm_120": "t120.jinja"}

        def template():
            return TEMPLATES[arch_name()]
        """
    )
    assert (gate.kind, yes(gate, 0), yes(gate, 1)) == (Kind.TABLE, {90}, {120, 121})


@pytest.mark.parametrize(
    "reader",
    [
        "return f'GPU ({NAMES.get(cc, \"unknown\")})'",
        "logger.info('GPU: %s', NAMES.get(cc, 'unknown'))",
        "need = NAMES.get(cc)\n    if need is not None and toolkit() < need:\n        raise RuntimeError(cc)",
    ],
)
def test_table_that_refuses_nobody_is_no_gate(reader: str) -> None:
    text = (
        HEAD
        + "NAMES = {(8, 0): 'Ampere', (9, 0): 'Hopper'}\n\ndef show():\n    cc = torch.cuda.get_device_capability()\n"
    )
    assert not [g for g in gates(text + f"    {reader}\n") if g.kind is Kind.TABLE]


def test_value_that_the_chip_has_already_is_nothing_lost() -> None:
    found = gates(
        """
        import torch

        def version():
            cc = torch.cuda.get_device_capability()
            if cc[0] == 10:
                version = 4
            else:
                version = 2
            if version == 4 and cc == (10, 3):
                version = 2
            return version
        """
    )
    gate = next(g for g in found if g.place.line == 10)
    assert gate.reach is not None
    reached = {t.sm for t in UNIVERSE.members(gate.reach.yes)}
    assert 120 not in reached and {100, 103} <= reached


BOUNDS = """
import torch

class Base:
    @classmethod
    def get_min_capability(cls) -> int:
        raise NotImplementedError

class Fp8(Base):
    @classmethod
    def get_min_capability(cls) -> int:
        return 89

class Any(Base):
    @classmethod
    def get_min_capability(cls) -> int:
        return -1
"""


def test_method_that_returns_a_minimum_is_a_window() -> None:
    text = BOUNDS + (
        "\ndef load(config):\n    capability = torch.cuda.get_device_capability()\n"
        "    if capability[0] * 10 + capability[1] < config.get_min_capability():\n"
        "        raise ValueError('not supported')\n"
    )
    (gate,) = gates(text)
    assert (gate.kind, gate.place.line, gate.rest.message) == (Kind.WINDOW, 12, "not supported")
    assert {89, 90, 100, 120} <= yes(gate) and {80, 86} <= no(gate)


def test_minimum_that_nobody_compares_is_no_gate() -> None:
    assert not gates(BOUNDS)


def test_classes_that_are_gone_through_answer_for_themselves() -> None:
    """Some class takes every chip: what each of them leaves out is still said."""
    found = gates(
        """
        import torch

        class Umma:
            @staticmethod
            def supported():
                return torch.cuda.get_device_capability()[0] == 10

        class Mma:
            @staticmethod
            def supported():
                return torch.cuda.get_device_capability()[0] != 10

        def pick():
            for cls in (Umma, Mma):
                if cls.supported():
                    return cls
            raise ValueError("none")
        """
    )
    assert [g.place.line for g in found] == [7, 12]
    assert yes(found[0]) == {100, 103}


def test_table_with_a_row_for_the_others() -> None:
    (gate,) = gates(
        """
        import torch

        SETTINGS = {
            "sm_80": {"stages": 3},
            "sm_90": {"stages": 5},
            "default": {"stages": 2},
        }

        def settings():
            major, minor = torch.cuda.get_device_capability()
            return SETTINGS.get(f"sm_{major}{minor}", SETTINGS["default"])
        """
    )
    assert gate.kind is Kind.TABLE and len(gate.arms) == 2
    assert gate.rest.value == 'SETTINGS["default"]'


@pytest.mark.parametrize("handler", ["", "try/except"])
def test_member_of_an_enumeration_of_chips(handler: str) -> None:
    lookup = "        return cls(major * 10 + minor)\n"
    if handler:
        lookup = (
            "        try:\n            return cls(major * 10 + minor)\n"
            "        except ValueError:\n            return cls.UNKNOWN\n"
        )
    (gate,) = gates(
        HEAD
        + "from enum import IntEnum\n\nclass Arch(IntEnum):\n    UNKNOWN = 0\n    SM80 = 80\n    SM90 = 90\n\n"
        + "    @classmethod\n    def current(cls):\n        major, minor = torch.cuda.get_device_capability()\n"
        + lookup
    )
    assert yes(gate) == {80, 90}
    assert gate.rest.does is (Does.RETURNS if handler else Does.RAISES)


def test_member_of_another_enumeration_is_no_gate() -> None:
    assert not gates(
        "from enum import Enum\n\nclass Kind(Enum):\n    A = 1\n    B = 2\n\ndef f(sm):\n    return Kind(sm)\n"
    )


def test_bound_that_its_reader_tells_is_one_gate() -> None:
    text = BOUNDS + (
        "\ndef load():\n    capability = torch.cuda.get_device_capability()\n"
        "    if capability[0] * 10 + capability[1] < Fp8.get_min_capability():\n"
        "        raise ValueError('not supported')\n"
    )
    (gate,) = gates(text)
    assert gate.kind is Kind.IF and {80, 86} <= yes(gate)


def test_number_that_a_call_returns_is_no_truth() -> None:
    found = gates(
        """
        import torch

        IDS = {"80": 1, "90": 2}

        def tuning_id():
            cc = "".join(map(str, torch.cuda.get_device_capability()))
            return IDS.get(cc, 0)
        """
    )
    assert [g.kind for g in found] == [Kind.TABLE]


@pytest.mark.parametrize("condition", ["cap not in CCS", "not (cap in CCS)", "x.strict and not cap in CCS"])
def test_list_that_refuses_what_it_leaves_out(condition: str) -> None:
    (gate,) = gates(
        HEAD
        + "CCS = [(8, 0), (9, 0)]\n\ndef check(x):\n    cap = torch.cuda.get_device_capability()\n"
        + f"    if {condition}:\n        raise ValueError(cap)\n"
    )
    assert (gate.kind, gate.place.line) == (Kind.ALLOW_LIST, 2)
    assert yes(gate) == {80, 90} and gate.rest.does is Does.RAISES


def test_list_in_an_alternative_stays_where_it_is_asked() -> None:
    (gate,) = gates(
        HEAD
        + "CCS = [(8, 0), (9, 0)]\n\ndef check(x):\n    cap = torch.cuda.get_device_capability()\n"
        + "    if not (cap in CCS) or cap[0] == 9:\n        raise ValueError(cap)\n"
    )
    assert gate.kind is Kind.IF and no(gate) == {80}


@pytest.mark.parametrize(
    ("leaving", "does", "message"),
    [
        ('print("needs 9.x")\n        sys.exit(1)', Does.RAISES, "needs 9.x"),
        ('sys.exit("needs 9.x")', Does.RAISES, "needs 9.x"),
        ("exit(2)", Does.RAISES, None),
        ("sys.exit(0)", Does.SKIPS, None),
        ("sys.exit_handlers(1)", Does.WORK, None),
    ],
)
def test_program_that_ends_there_is_an_error(leaving: str, does: Does, message: str | None) -> None:
    source = (
        "import sys\nimport torch\n\n\ndef main():\n    cap = torch.cuda.get_device_capability()\n"
        f"    if cap[0] != 9:\n        {leaving}\n    if cap[0] < 8:\n        return 1\n    run()\n"
    )
    found = gates(source)
    assert (found[0].arms[0].effect.does, found[0].arms[0].effect.message) == (does, message)
    behind = [g for g in found if g.place.line > found[0].place.line and "< 8" in g.arms[0].condition]
    assert (75 in yes(behind[0])) is (does is Does.WORK)  # who has left does not come to what follows


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("fits = False", Does.REFUSES),
        ('fits = False\n        why = f"odd tiles do not fit {x}"', Does.REFUSES),
        ('fits = False\n        backend = "mnnvl"', Does.ASSIGNS),
        ('why = "odd tiles do not fit"', Does.ASSIGNS),
    ],
)
def test_arm_that_switches_off_refuses(body: str, does: Does) -> None:
    (gate,) = gates(
        HEAD + "def use(x):\n    fits = True\n    cap = torch.cuda.get_device_capability()\n"
        f"    if cap[0] == 10:\n        {body}\n    return run(fits)\n"
    )
    assert gate.arms[0].effect.does is does


def test_message_of_an_exception_is_its_sentence() -> None:
    refusal = 'raise Unsupported("cute", "needs a 9.x")'
    (gate,) = gates(HEAD + f"def use():\n    if torch.cuda.get_device_capability()[0] < 9:\n        {refusal}\n")
    assert gate.arms[0].effect.message == "needs a 9.x"


@pytest.mark.parametrize(("stored", "is_open"), [("Backends.fa3 = True", True), ("backends_fa3 = True", False)])
def test_switch_of_a_class_that_its_module_sets(stored: str, is_open: bool) -> None:
    found = gates(
        HEAD + f"class Backends:\n    fa3 = False\n\ndef load():\n    {stored}\n\ndef use(x):\n"
        "    cap = torch.cuda.get_device_capability()\n"
        "    if cap[0] == 9 and Backends.fa3:\n        return fast(x)\n    return slow(x)\n"
    )
    assert [90 in UNIVERSE.sms(g.arms[0].assumed.yes) for g in found] == ([True] if is_open else [])


def test_capability_that_a_library_gives_as_one_number() -> None:
    before = "import jaxlib_ext\ndef least():\n    return min(jaxlib_ext.get_device_compute_capability(i) for i in n)\n"
    gate = deciding("least() < 100", before)
    assert 90 in yes(gate) and {100, 120} <= no(gate)


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ('return f"sm_{cc[0]}{cc[1]}" + ("a" if cc[0] >= 9 else "")', {90, 100, 103, 120, 121}),
        ('name = "sm"\n    if cc[0] == 9:\n        name += "a"\n    return name', {90, 100, 103, 120, 121}),
        ('return "fast" if cc[0] >= 9 else "a"', {75, 80, 86, 89, 90, 100, 103, 120, 121}),
    ],
)
def test_only_chips_that_have_suffixes_are_left_without(use: str, reached: set[int]) -> None:
    (gate,) = gates(HEAD + f"def name():\n    cc = torch.cuda.get_device_capability()\n    {use}\n")
    assert gate.reach is not None and reached <= UNIVERSE.sms(gate.reach.yes)
    assert 89 in reached or 89 in UNIVERSE.sms(gate.reach.no)


@pytest.mark.parametrize("teller", ["logger.info", "print", "_log_choice", "log_once"])
def test_value_that_is_only_told_decides_nothing(teller: str) -> None:
    (gate,) = gates(
        HEAD
        + f"def use(x):\n    cap = torch.cuda.get_device_capability()\n    {teller}(f'{{8 if cap[0] == 9 else 4}}')\n"
        "    return launch(x, warps=16 if cap[0] == 9 else 4)\n"
    )
    assert gate.place.line == 5


def test_arm_that_only_tells_logs() -> None:
    (gate,) = gates(HEAD + "def use():\n    if torch.cuda.get_device_capability()[0] == 9:\n        _log_choice(9)\n")
    assert gate.arms[0].effect.does is Does.LOGS


@pytest.mark.parametrize(
    "condition",
    [
        "not fits()",
        "not FITS",
        "cap() != (9, 0)",
        "cap() not in [(9, 0)]",
        "not torch.cuda.get_device_capability() == (9, 0)",
    ],
)
def test_negation_before_the_other_way_is_the_gate_of_what_follows(condition: str) -> None:
    before = (
        HEAD + "def cap():\n    return torch.cuda.get_device_capability()\n\n"
        "def fits():\n    return cap()[0] == 9\n\nFITS = fits()\n\n"
    )
    found = gates(
        before + f"def use(x):\n    if {condition}:\n        return slow(x)\n    y = prepare(x)\n    return fast(y)\n"
    )
    (gate,) = [g for g in found if g.kind is Kind.IF]
    assert yes(gate) == {90} and {80, 100, 120} <= no(gate)
    assert (gate.arms[0].effect.value, gate.rest.value) == ("fast(y)", "slow(x)")


@pytest.mark.parametrize("returned", ["None", "False", "x"])
def test_negation_that_refuses_is_read_as_written(returned: str) -> None:
    (gate,) = gates(
        HEAD + "def use(x):\n    cap = torch.cuda.get_device_capability()\n"
        f"    if cap != (9, 0):\n        return {returned}\n    return fast(x)\n"
    )
    assert 90 in no(gate) and {80, 100, 120} <= yes(gate)


@pytest.mark.parametrize(
    ("owner", "is_gate"),
    [
        ('cuda["version"]', False),  # of a toolkit
        ('build["config"]', False),
        ("version_info", False),
        ('gpu["capability"]', True),
        ('gpu["arch_version"]', True),
    ],
)
def test_the_major_number_of_a_version_is_none_of_a_gpu(owner: str, is_gate: bool) -> None:
    before = f'from far import build, cuda, device, gpu, version_info\nmajor = {owner}["major"]\n'
    for condition in (f'{owner}["major"] < 12', f'({owner}["major"], {owner}["minor"]) < (12, 0)', "major < 12"):
        assert bool(gates(before + "\ndef use(x):" + GATED.format(condition))) == is_gate, condition
