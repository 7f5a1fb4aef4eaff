"""The Python front end on small modules: which gate stands where, and for which targets it is open."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import yaml

from archscan.catalog.types import Catalog, MacroFacts
from archscan.frontends.protocol import Context
from archscan.frontends.python import PythonFrontEnd
from archscan.frontends.python.source.triggers import triggers, words
from archscan.model.facts import FileFacts, Source
from archscan.model.gate import Does, Gate, Kind, Layer
from archscan.model.settings import ScanSettings
from archscan.model.target import HOST, Target, Universe

_SMS = (
    "50",
    "75",
    "80",
    "86",
    "89",
    "90",
    "90a",
    "100",
    "100a",
    "100f",
    "103",
    "103a",
    "110",
    "120",
    "120a",
    "120f",
    "121",
    "121a",
)


def _target(name: str) -> Target:
    return Target(int(name.rstrip("af")), name.lstrip("0123456789"))


UNIVERSE = Universe((HOST, *(_target(name) for name in _SMS)))
PACKAGES = yaml.safe_load((Path(__file__).parent.parent / "rules/facts/packages.yaml").read_text())


def context(**settings: object) -> Context:
    catalog = Catalog(UNIVERSE, {}, {}, MacroFacts({}, {}, {}, {}, frozenset()), {}, (), {}, PACKAGES, ())
    return Context(catalog, ScanSettings(**settings))  # type: ignore[arg-type]


def scan(files: dict[str, str], **settings: object) -> dict[str, FileFacts]:
    front, where = PythonFrontEnd(), context(**settings)
    sources = [Source(path, textwrap.dedent(text).encode(), path) for path, text in files.items()]
    indexes = {s.path: index for s in sources if (index := front.index(s, where)) is not None}
    project = front.link(indexes, where)
    return {path: front.gates(index, project, where) for path, index in indexes.items()}


def gates(text: str, **settings: object) -> list[Gate]:
    found = scan({"m.py": text}, **settings)
    return list(found["m.py"].gates) if found else []


def yes(gate: Gate, arm: int = 0) -> set[int]:
    """The SMs whose plain variant takes the arm, unknown other conditions taken as met."""
    return {t.sm for t in UNIVERSE.members(gate.arms[arm].assumed.yes) if not t.suffix}


def no(gate: Gate, arm: int = 0) -> set[int]:
    return {t.sm for t in UNIVERSE.members(gate.arms[arm].assumed.no) if not t.suffix}


def test_keyword_list_stands_at_its_literal() -> None:
    (gate,) = gates(
        """
        def gen_comm_module():
            flags = context.get_nvcc_flags_list(
                supported_major_versions=[9, 10]
            )
        """
    )
    assert (gate.kind, gate.layer, gate.place.line) == (Kind.KEYWORD_LIST, Layer.JIT, 4)
    assert yes(gate) == {90, 100, 103}
    assert 110 in no(gate) and 120 in no(gate)
    assert gate.rest.does is Does.RAISES and "major versions" in (gate.rest.message or "")


def test_predicates_over_modules_give_the_chain() -> None:
    files = {
        "pkg/__init__.py": "from .common import is_sm90_supported\n",
        "pkg/common.py": """
            from functools import lru_cache, partial
            import torch

            def _check(majors, cuda_version):
                return torch.cuda.get_device_capability()[0] in majors

            is_sm90_supported = lru_cache(maxsize=1)(
                partial(_check, majors=[9], cuda_version=(12, 3))
            )
            """,
        "pkg/use.py": """
            from pkg import is_sm90_supported
            _fast = is_sm90_supported()

            def run(x):
                if _fast:
                    return kernel(x)
                return slow(x)
            """,
    }
    found = scan(files)
    (gate,) = found["pkg/use.py"].gates
    assert gate.place.line == 6
    assert yes(gate) == {90}
    assert [(r.path, r.line) for r in gate.related][:3] == [
        ("pkg/use.py", 3),
        ("pkg/common.py", 8),
        ("pkg/common.py", 5),
    ]
    assert not found["pkg/common.py"].gates


@pytest.mark.parametrize(
    ("condition", "admitted"),
    [
        ("cap >= (9, 0)", {90, 100, 103, 110, 120, 121}),
        ("cap[0] == 10", {100, 103}),
        ("(8, 9) <= cap < (10, 0)", {89, 90}),
        ("cap not in ((10, 0), (10, 3))", {50, 75, 80, 86, 89, 90, 110, 120, 121}),
        ("cap[0] * 10 + cap[1] in (86, 89)", {86, 89}),
        ("f'sm_{cap[0]}{cap[1]}' == 'sm_90'", {90}),
        ("not (cap[0] < 12)", {120, 121}),
    ],
)
def test_spellings_of_one_question(condition: str, admitted: set[int]) -> None:
    (gate,) = gates(
        f"import torch\ndef f(x):\n    cap = torch.cuda.get_device_capability()\n    if {condition}:\n        go(x)\n"
    )
    assert yes(gate) == admitted
    assert no(gate) == {t.sm for t in UNIVERSE.targets if t.sm} - admitted


@pytest.mark.parametrize(
    "text",
    [
        "def f(elapsed):\n    return elapsed >= 900 and elapsed < 1200\n",
        "import torch\nP = torch.cuda.get_device_properties(0)\ndef f():\n    return P.multi_processor_count >= 120\n",
        "def f(arch):\n    if arch == 'LlamaForCausalLM':\n        return 1\n    return 2\n",
        "def f(version):\n    if Version(version).major >= 12:\n        return 1\n    return 2\n",
        "def f(q, sm_scale):\n    if sm_scale > 90:\n        raise ValueError\n",
        "def f(mma_sm):\n    if mma_sm not in [1, 2]:\n        raise ValueError('mma_sm')\n",
    ],
)
def test_lookalikes_stay_silent(text: str) -> None:
    assert gates(text) == []


def test_ladder_is_one_gate_with_the_final_else() -> None:
    (gate,) = gates(
        """
        def arch_for(compute_capability):
            major, minor = compute_capability
            if (major, minor) == (9, 0):
                return "sm_90a"
            if (major, minor) == (10, 0):
                return "sm_100a"
            raise ValueError(f"no cubin for {major}.{minor}")
        """
    )
    assert [yes(gate, i) for i in range(2)] == [{90}, {100}]
    assert (gate.rest.does, gate.rest.message) == (Does.RAISES, "no cubin for {major}.{minor}")


def test_table_takes_the_effect_of_its_reader() -> None:
    (gate,) = gates(
        """
        import torch
        ROWS = {
            (9, 0): "kernel_sm90",
            (10, 0): "kernel_sm100",
        }

        def pick():
            row = ROWS.get(torch.cuda.get_device_capability())
            return row
        """
    )
    assert (gate.kind, gate.place.line, [a.place.line for a in gate.arms]) == (Kind.TABLE, 3, [4, 5])
    assert [yes(gate, i) for i in range(2)] == [{90}, {100}]
    assert gate.rest.does is Does.ASSIGNS


def test_named_list_is_the_gate_and_its_use_related() -> None:
    (gate,) = gates(
        """
        import torch
        SUPPORTED = [(9, 0), (10, 0)]

        def check():
            if torch.cuda.get_device_capability() not in SUPPORTED:
                raise RuntimeError("needs Hopper or B200")
        """
    )
    assert (gate.kind, gate.place.line) == (Kind.ALLOW_LIST, 3)
    assert yes(gate) == {90, 100} and 120 in no(gate)
    assert (gate.rest.does, gate.rest.message) == (Does.RAISES, "needs Hopper or B200")
    assert [r.line for r in gate.related] == [6]


def test_class_bounds_make_a_window_at_the_maximum() -> None:
    found = gates(
        """
        import torch

        class Op:
            MAX_CC = None

            @classmethod
            def reasons(cls):
                if cls.MAX_CC is not None and torch.cuda.get_device_capability() > cls.MAX_CC:
                    return f"at most {cls.MAX_CC}"

        class Old(Op):
            MIN_CC = (8, 0)
            MAX_CC = (9, 0)
        """
    )
    (gate,) = [g for g in found if g.kind is Kind.WINDOW]
    assert gate.place.line == 14
    assert yes(gate) == {80, 86, 89, 90}
    assert gate.rest.message == "at most {cls.MAX_CC}"


def test_requirement_decorator_of_the_same_file() -> None:
    found = gates(
        """
        import torch

        def needs(ccs):
            def deco(fn):
                def inner(*args):
                    major, minor = torch.cuda.get_device_capability()
                    if major * 10 + minor not in ccs:
                        raise ValueError("not supported")
                    return fn(*args)
                return inner
            return deco

        @needs([100, 103])
        def gemm(x):
            return x
        """
    )
    (gate,) = found
    assert (gate.kind, gate.place.line) == (Kind.ALLOW_LIST, 14)
    assert yes(gate) == {100, 103}
    assert gate.scope is not None and gate.scope.name == "gemm"


def test_text_order_is_told_apart() -> None:
    (gate,) = gates("def f(rec):\n    return rec['compute_cap'] >= '7.0'\n")
    assert (gate.kind, gate.note("encoding")) == (Kind.STRING_COMPARE, "text")
    assert 90 in yes(gate) and 120 in no(gate)


def test_decision_mixed_with_other_conditions_stands_where_it_is_made() -> None:
    found = gates(
        """
        import torch
        _is_new = torch.cuda.get_device_capability()[0] >= 10

        def use_fusion(batch):
            return (
                _is_new
                and batch > 0
            )

        def run(batch):
            if use_fusion(batch):
                return 1
            return 2
        """
    )
    assert [(g.kind, g.place.line) for g in found] == [(Kind.RETURNED_TRUTH, 7)]
    assert found[0].arms[0].assumes == ("batch > 0",)
    assert [r.line for r in found[0].related] == [3]


@pytest.mark.parametrize(
    "asked", ['"ARCHS" not in os.environ', 'not os.getenv("ARCHS")', 'os.environ.get("ARCHS", "0") == "0"']
)
def test_variables_are_unset_however_one_asks(asked: str) -> None:
    text = f"""
        import os
        import torch

        if {asked}:
            if torch.cuda.get_device_capability() >= (9, 0):
                raise RuntimeError("no")
        """
    (gate,) = gates(text)
    assert yes(gate) == {90, 100, 103, 110, 120, 121}
    assert gates(text, defines=(("ARCHS", "9.0"),)) == []


def test_what_only_a_set_variable_reaches_is_reached_by_nobody() -> None:
    text = """
        import os
        import torch

        if "ARCHS" in os.environ:
            pass
        elif torch.cuda.get_device_capability() >= (9, 0):
            raise RuntimeError("no")
        """
    (gate,) = gates(text)
    assert (yes(gate, 0), yes(gate, 1)) == (set(), {90, 100, 103, 110, 120, 121})


def test_environment_variables_settle_and_are_named() -> None:
    text = """
        import os
        import torch

        def check():
            if torch.cuda.get_device_capability()[0] == 12 and os.environ.get("ALLOW") != "1":
                raise RuntimeError("not validated on this GPU")
        """
    (gate,) = gates(text)
    assert gate.arms[0].effect.environment == ("ALLOW",)
    assert yes(gate) == {120, 121}
    assert gates(text, defines=(("ALLOW", "1"),)) == []


@pytest.mark.parametrize(
    "data", [b"", b"\x00\xff\xfe" * 50, b"if cc >= (\n" * 40, b"x = " + b"(" * 3000 + b"cc >= 90" + b")" * 3000]
)
def test_hostile_files_end_in_facts(data: bytes) -> None:
    front, where = PythonFrontEnd(), context()
    index = front.index(Source("m.py", data, "m.py"), where)
    if index is not None:
        front.gates(index, front.link({"m.py": index}, where), where)


def test_error_node_spoils_only_its_statement() -> None:
    (gate,) = gates(
        "import torch\ndef f(x):\n    y = = 3\n    if torch.cuda.get_device_capability()[0] >= 9:\n        go(x)\n"
    )
    assert gate.place.line == 4


def test_an_elif_condition_is_asked_before_any_arm_has_run() -> None:
    (gate,) = gates(
        """
        import torch

        def plan(arch_given):
            cc = torch.cuda.get_device_capability()[0]
            if arch_given:
                cc = 9
            elif cc == 10:
                return tuned()
            return plain()
        """
    )
    assert yes(gate, 1) == {100, 103}


def test_a_target_that_the_next_if_serves_misses_nothing() -> None:
    found = gates(
        """
        import torch

        def limit(n):
            cc = torch.cuda.get_device_capability()
            if cc == (12, 1):
                if n > 4:
                    return 256
            n += 1
            if cc == (12, 0):
                return 384
            return 64
        """
    )
    by_line = {g.place.line: g for g in found}
    plain = UNIVERSE.bit(_target("120"))
    assert by_line[6].reach is not None and by_line[6].reach.no & plain
    assert by_line[10].reach is not None and not by_line[10].reach.no & plain


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("return", Does.SKIPS),
        ("_validate_head_dims(x)", Does.NOTHING),
        ("use_fast = False", Does.REFUSES),
        ("use_fast = True", Does.ASSIGNS),
    ],
)
def test_what_an_arm_does(body: str, does: Does) -> None:
    text = f"""
    import torch

    def run(x, use_fast):
        if torch.cuda.get_device_capability()[0] == 9:
            {body}
        return work(x)
    """
    (gate,) = gates(text)
    assert gate.arms[0].effect.does is does


def test_switched_off_with_a_word_about_it() -> None:
    (gate,) = gates(
        """
        import torch

        def choose(use_fast, loud):
            if use_fast and torch.cuda.get_device_capability() != (9, 0):
                if loud:
                    logger.debug("off")
                use_fast = False
            return use_fast
        """
    )
    assert (gate.arms[0].effect.does, gate.arms[0].effect.value) == (Does.REFUSES, "use_fast=False")


def test_a_flag_over_several_lines_is_asked_further_down() -> None:
    found = gates(
        """
        import torch

        def _is_sm_10x():
            return torch.cuda.get_device_capability()[0] == 10

        _kernels_available = (
            _is_sm_10x() and torch.cuda.is_available()
        )

        if _kernels_available:
            from lib import quantize
        else:
            def quantize(x):
                raise NotImplementedError("needs SM 10.x")
        """
    )
    assert [(g.place.line, yes(g)) for g in found] == [(11, {100, 103})]


def test_ifs_that_add_to_a_list_are_no_alternatives() -> None:
    found = gates(
        """
        def specs(has_sm90, has_sm120):
            made = []
            if has_sm90:
                made.append(gen_sm90())
            if has_sm120:
                made += [gen_sm120()]
            return made
        """
    )
    assert [g.reach is None or not g.reach.no for g in found] == [True, True]


def test_a_choice_in_brackets_is_part_of_the_ladder() -> None:
    (gate,) = gates(
        """
        import torch

        cc = torch.cuda.get_device_capability()[0]
        size = LARGE if cc > 10 else (MEDIUM if cc == 10 else 1)
        """
    )
    assert [yes(gate, i) for i in range(2)] == [{110, 120, 121}, {100, 103}]


def test_an_arm_that_only_checks_is_no_loss() -> None:
    (gate,) = gates(
        """
        import torch

        def run(tile):
            if torch.cuda.get_device_capability()[0] == 9:
                if tile not in (64, 128):
                    raise ValueError("tile")
            return work(tile)
        """
    )
    assert gate.arms[0].effect.does is Does.NOTHING


@pytest.mark.parametrize(
    "source", ["major = int(str(raw).split('.', 1)[0])", "cuda_major, minor = map(int, cuda_version.split('.')[:2])"]
)
def test_the_numbers_of_a_version_are_no_capability(source: str) -> None:
    name = source.partition(" ")[0].rstrip(",")
    assert not gates(f"""
        def extra(raw, cuda_version):
            {source}
            if {name} == 12:
                return "cuda12"
            return None
        """)


def test_a_choice_behind_another_question_stays_a_gate() -> None:
    (gate,) = gates(
        """
        import torch

        def backend(is_diffusion):
            return (
                "plain"
                if is_diffusion
                else ("fast" if torch.cuda.get_device_capability()[0] == 10 else "plain")
            )
        """
    )
    assert (gate.place.line, yes(gate)) == (8, {100, 103})


def test_an_else_behind_another_question_serves_the_rest() -> None:
    (gate,) = gates(
        """
        import torch

        def run(plain, x):
            if plain:
                return usual(x)
            elif torch.cuda.get_device_capability()[0] == 10:
                return fast(x)
            else:
                return slow(x)
        """
    )
    assert (yes(gate, 1), yes(gate, 2) & {90, 100, 120}) == ({100, 103}, {90, 120})


def test_a_use_in_a_large_method_without_a_telling_word_is_found() -> None:
    filler = "\n".join(f"        value_{i} = transform(value_{i}, {i})" for i in range(600))
    found = gates(
        "class Backend:\n"
        "    def __init__(self):\n"
        "        self.wide = torch.cuda.get_device_capability()[0] >= 10\n\n"
        f"    def plain(self):\n{filler}\n\n"
        f"    def forward(self):\n{filler}\n"
        "        if self.wide:\n"
        "            return fast()\n"
        "        return slow()\n"
    )
    assert [g.place.line for g in found] == [1208]


def test_words_in_docstrings_and_comments_ask_for_nothing() -> None:
    text = (
        'def f(x):\n    """If the major version is 9:\n    sm_90 only."""\n    # if major == 9:\n    return x\n'
        "def g(major):\n    return major >= 9\n"
    )
    found = triggers(text.encode(), words(text.encode()))
    assert {text.encode()[:at].count(b"\n") for at in found} == {5, 6}


def test_a_flag_that_a_function_sets_is_not_what_it_begins_as() -> None:
    found = gates(
        "READY = None\n\ndef start():\n    global READY\n    READY = probe()\n\n"
        "def use():\n    if READY and torch.cuda.get_device_capability()[0] == 9:\n        return fast()\n"
        "    return slow()\n"
    )
    assert [g.place.line for g in found] == [8]


@pytest.mark.parametrize(
    ("turned_on", "leaves", "wide", "missing"),
    [
        ("self.disabled = False", "if not self.usable():\n            return None", '"9.0"', False),
        ("self.disabled = False", "if self.disabled:\n            return None", '"9.0"', False),
        ("self.disabled = False", "if self.disabled:\n            return None", '"12.0"', True),  # lets others in
        ("self.disabled = False", "print(self.disabled)", '"9.0"', True),  # nobody leaves
        ("pass", "if self.disabled:\n            return None", '"9.0"', True),  # it is not told who turns it on
    ],
)
def test_a_table_behind_a_switch_that_stays_off(turned_on: str, leaves: str, wide: str, missing: bool) -> None:
    text = f"""
import torch

SIZES = {{"8.0": 1, "10.0": 2, {wide}: 3}}


class Communicator:
    WORLDS = {{"8.0": [4], "9.0": [4, 8], "10.0": [8]}}

    def __init__(self):
        self.disabled = True
        major, minor = torch.cuda.get_device_capability()
        self.capability = f"{{major}}.{{minor}}"
        if self.capability not in SIZES:
            return
        {turned_on}

    def usable(self):
        if self.disabled:
            return False
        return True

    def reduce(self, size):
        {leaves}
        return size in self.WORLDS[self.capability]
"""
    (table,) = [g for g in scan({"m.py": text})["m.py"].gates if g.kind is Kind.TABLE and g.place.line == 8]
    reached = {t.sm for t in UNIVERSE.targets if table.reach is None or not table.reach.no & UNIVERSE.bit(t)}
    assert (120 in reached) is missing
    assert {80, 100} <= reached
