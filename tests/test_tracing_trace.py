"""What `trace` shows on a small package: order, states, what runs and what is only built, what is clean or missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import made_gates
import pytest
import trace_samples

from archscan import pipeline
from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.errors import UserError
from archscan.model.finding import Advice, Capability, Problem, Reach
from archscan.model.gate import Layer
from archscan.model.report import Chain, Report, Step, UndecidedGate
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.tracing.chain_summary import chain_summary
from archscan.tracing.commands import diff_text, read_code, trace_text, traced
from archscan.tracing.consumers import with_consumers
from archscan.tracing.diff import compare
from archscan.tracing.messages import explain_message
from archscan.tracing.states import SHUT, GateState
from archscan.tracing.trace import trace

SETTINGS = ScanSettings(jobs=1, use_cache=False)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory, catalog: Catalog) -> Callable[..., tuple[Report, list[str]]]:
    def made(*packages: dict[str, str]) -> tuple[Report, list[str]]:
        paths = [
            trace_samples.write(files, tmp_path_factory.mktemp(f"part{i}") / f"part{i}")
            for i, files in enumerate(packages)
        ]
        facts = pipeline.scan(paths, catalog, SETTINGS)
        return pipeline.report(facts, select("sm120", catalog), catalog, JudgeSettings()), paths

    return made


@pytest.fixture(scope="module")
def both(make: Callable[..., tuple[Report, list[str]]]) -> tuple[Report, list[str]]:
    return make(trace_samples.PRODUCER, trace_samples.CONSUMER)


def _trace(name: str, made: tuple[Report, list[str]], catalog: Catalog) -> tuple[Chain, ...]:
    report, paths = made
    return trace(name, report, read_code(paths, SETTINGS, catalog))


def _short(step: Step) -> str:
    return step.path.rpartition("/")[2]


def _with(chain: Chain, state: str) -> list[tuple[str, int | None, str]]:
    return [(_short(s), s.line, s.reach) for s in chain.steps if s.state == state]


def test_the_chain_of_an_operator_from_the_consumer_down(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (chain,) = _trace("ring_gather", both, catalog)
    shut = _with(chain, "shut")
    assert ("ring.py", 9, "run") in shut  # the JIT list
    assert ("aot.py", 10, "run") in shut  # the ahead-of-time list
    assert ("settings.py", 9, "run") in shut  # what sets the switch that the guard asks
    assert [name for name, _, _ in shut].index("settings.py") < [name for name, _, _ in shut].index("ring.py")
    assert "ring_reduce.cuh" not in [name for name, _, reach in shut if reach == "run"]


def test_gates_of_the_other_operator_are_built_and_not_run(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (gather,) = _trace("ring_gather", both, catalog)
    (reduce,) = _trace("ring_reduce", both, catalog)
    assert ("ring_reduce.cuh", 6, "built") in _with(gather, "shut")
    assert ("ring_reduce.cuh", 6, "run") in _with(reduce, "shut")
    assert "built into the same module" in gather.sentence
    assert "built into the same module" not in reduce.sentence


def test_clean_files_are_listed_and_strangers_are_not(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (chain,) = _trace("ring_gather", both, catalog)
    clean = [name for name, _, _ in _with(chain, "clean")]
    assert {"ring_gather.cu", "ring_gather.cuh", "shared.cuh", "ops.py"} <= set(clean)
    assert "unrelated.cuh" not in {_short(s) for s in chain.steps}


def test_unrelated_gates_of_a_file_on_the_path_are_left_out(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (chain,) = _trace("ring_gather", both, catalog)
    assert 15 not in [line for name, line, _ in _with(chain, "shut") if name == "layer.py"]


def test_a_module_by_its_builder_and_by_its_name(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (by_function,) = _trace("gen_ring_module", both, catalog)
    (by_name,) = _trace("ring", both, catalog)
    assert by_function.steps == by_name.steps
    assert [_short(s) for s in by_function.steps if s.state == "shut"] == ["ring.py", "aot.py", "ring_reduce.cuh"]
    assert by_function.sentence.startswith("shut by 3 of ")


def test_a_kernel_leads_up_to_its_operator(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (chain,) = _trace("reduce_kernel", both, catalog)
    assert ("ring_reduce.cuh", 6, "run") in _with(chain, "shut")
    assert ("ring.py", 9, "run") in _with(chain, "shut")


def test_a_header_leads_to_the_module_it_is_built_into(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    (chain,) = _trace("ring_gather.cuh", both, catalog)
    assert "ring_gather.cu" in {_short(s) for s in chain.steps}


def test_unknown_names_get_near_ones(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    with pytest.raises(UserError) as error:
        _trace("ring_gatter", both, catalog)
    assert "ring_gather" in error.value.hint


def test_missing_and_ambiguous_files_are_named(make: Callable[..., tuple[Report, list[str]]], catalog: Catalog) -> None:
    files = dict(trace_samples.PRODUCER)
    del files["ringlib/data/csrc/ring_gather.cu"]
    files["ringlib/jit/env.py"] = "CSRC_DIR = find()\n"
    files["ringlib/other/ring_reduce.cu"] = files["ringlib/data/csrc/ring_reduce.cu"]
    (chain,) = _trace("gen_ring_module", make(files), catalog)
    assert "ring_gather.cu" in chain.sentence.partition("not found in what was scanned: ")[2]
    assert "ring_reduce.cu is ambiguous" in chain.sentence
    assert [s.state for s in chain.steps if "was not found" in s.message] == ["unknown"]


def test_findings_carry_their_chain(both: tuple[Report, list[str]]) -> None:
    report, _ = both
    chained = {(f.path.rpartition("/")[2], f.place.line): f for f in report.findings if f.chain == "ring"}
    assert set(chained) == {("ring.py", 9), ("aot.py", 10), ("ring_reduce.cuh", 6)}
    also = [(r.path.rpartition("/")[2], r.line) for r in chained["ring.py", 9].related if r.role.value == "also-change"]
    assert ("ring_reduce.cuh", 6) in also  # and aot.py, unless its advice is to leave it
    assert ("ring.py", 9) not in also
    assert [c.id for c in report.chains] == ["ring"]


def test_a_traced_report_holds_what_is_on_the_chain(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    report, paths = both
    cut = traced("ring_gather", report, read_code(paths, SETTINGS, catalog))
    assert {f.chain for f in cut.findings} == {cut.chains[0].id}
    text = trace_text(cut)
    assert "x shut    jit" in text
    assert "(built, not run)" in text


def test_two_versions_differ_by_what_opened(make: Callable[..., tuple[Report, list[str]]]) -> None:
    old, _ = make(trace_samples.PRODUCER)
    new, _ = make(trace_samples.opened(trace_samples.PRODUCER))
    difference = compare(old, new)
    assert [c.place[0].rpartition("/")[2] for c in difference.of("opened")] == ["ring.py", "ring_reduce.cuh"]
    assert [c.place[0].rpartition("/")[2] for c in compare(new, old).of("closed")] == ["ring.py", "ring_reduce.cuh"]
    assert compare(old, old).changes == ()
    (group,) = difference.groups
    assert (group.name, len(group.changes)) == ("ring", 2)
    text = diff_text(difference)
    assert text.startswith(f"ring: {group.before} before, {group.now or 'nothing shut'} now\n  opened: shut before")
    back = diff_text(compare(new, old))
    assert "more: 2 closed" in back and "less:" not in back


@pytest.mark.parametrize("turned", [False, True])
def test_the_counts_of_a_difference_add_up(make: Callable[..., tuple[Report, list[str]]], turned: bool) -> None:
    gate = "#if __CUDA_ARCH__ {}\n__global__ void k() {{ work(); }}\n#endif\n"
    old, _ = make(
        {"stays.cu": gate.format("== 900"), "opens.cu": gate.format("== 900"), "goes.cu": gate.format("== 900")}
    )
    new, _ = make(
        {"stays.cu": gate.format("== 900"), "opens.cu": gate.format(">= 900"), "comes.cu": gate.format("== 800")}
    )
    difference = compare(new, old) if turned else compare(old, new)
    counts = {what: len(difference.of(what)) for what in ("opened", "closed", "undecided", "new", "gone")}
    assert counts == {"opened": not turned, "closed": turned, "undecided": 0, "new": 1, "gone": 1}
    less = counts["opened"] + counts["gone"] + counts["undecided"]
    assert difference.new_shut == difference.old_shut - less + counts["closed"] + counts["new"]
    text = diff_text(difference)
    assert "on no chain\n" in text and "1 gate shut before and now" in text


def test_a_gate_that_is_undecided_now_is_told_apart(make: Callable[..., tuple[Report, list[str]]]) -> None:
    old, _ = make({"a.cu": "#if __CUDA_ARCH__ == 900\n__global__ void k() { work(); }\n#endif\n"})
    hangs = UndecidedGate("a.cu", 1, "__CUDA_ARCH__ == 900", ("LATEST",), ())
    new = replace(old, findings=(), undecided=(hangs,))
    assert [change.what for change in compare(old, new).changes] == ["undecided"]
    assert "less: 1 undecided now" in diff_text(compare(old, new))
    assert [change.what for change in compare(new, old).changes] == ["closed"]


@pytest.mark.parametrize(
    ("layer", "capability", "expected"),
    [
        (Layer.JIT, Capability.CANNOT, "nothing to open: what it makes could not run (kernel.cu:2)"),
        (
            Layer.PREPROCESSOR,
            Capability.CANNOT,
            "nothing to open: it cannot run what is behind kernel.cu:2; shut besides: kernel.cu:9",
        ),
        (
            Layer.PREPROCESSOR,
            Capability.UNKNOWN,
            "to open: kernel.cu:2,9; of kernel.cu:2 nothing says that it would run",
        ),
        (Layer.PREPROCESSOR, Capability.CAN, "open these together: kernel.cu:2,9"),
    ],
)
def test_what_a_chain_says_of_a_step_that_could_not_run(layer: Layer, capability: Capability, expected: str) -> None:
    def state(line: int, layer: Layer, capability: Capability) -> GateState:
        gate = made_gates.gate(lambda t: t.major in (9, 10), layer=layer, line=line)
        finding = made_gates.only(made_gates.report(gate))
        return GateState(gate, SHUT, replace(finding, capability=capability, advice=Advice.PAIR))

    states = (state(2, layer, capability), state(9, Layer.PREPROCESSOR, Capability.CAN))
    assert chain_summary("ring", states, (), []) == f"shut by 2 of 2 gates; {expected}"


def test_a_message_leads_to_where_it_is_raised_and_why(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    report, paths = both
    said = "RuntimeError: No usable architecture among major versions [9, 10]."
    found = explain_message(said, catalog, report.facts, read_code(paths, SETTINGS, catalog))
    assert [(r.path.rpartition("/")[2], r.line) for r in found.raised] == [("context.py", 6)]
    assert ("ring.py", 9) in [(c.gate.path.rpartition("/")[2], c.line) for c in found.causes]


def test_a_family_of_messages_is_known_without_code(catalog: Catalog) -> None:
    found = explain_message("CUDA error: no kernel image is available for execution on the device", catalog)
    assert found.id == "no-kernel-image"
    assert found.raised == ()


def test_deep_nesting_does_not_end_the_run(tmp_path: Path, catalog: Catalog) -> None:
    deep = "x = " + "f(" * 3000 + ")" * 3000 + "\n" + "def ring_gather_deep():\n    pass\n"
    paths = [trace_samples.write({"a.py": deep, "b.cu": "{" * 5000 + "}" * 5000}, tmp_path)]
    report = pipeline.report(
        pipeline.scan(paths, catalog, SETTINGS), select("sm120", catalog), catalog, JudgeSettings()
    )
    (chain,) = trace("ring_gather_deep", report, read_code(paths, SETTINGS, catalog))
    assert chain.sentence.startswith("no gate on the way")


def test_a_consumer_behind_its_producer_is_a_finding(
    make: Callable[..., tuple[Report, list[str]]], catalog: Catalog
) -> None:
    report, paths = make(trace_samples.opened(trace_samples.PRODUCER), trace_samples.CONSUMER)
    found = with_consumers(report, read_code(paths, SETTINGS, catalog), catalog)
    scores = [f.risk.score for f in found.findings]
    assert scores == sorted(scores, reverse=True)
    disagreeing = [f for f in found.findings if f.problem is Problem.DISAGREES]
    assert "settings.py" in {f.path.rpartition("/")[2] for f in disagreeing}
    assert all(any(r.path.endswith("jit/ring.py") and r.line == 9 for r in f.related) for f in disagreeing)
    assert len({f.fingerprint for f in found.findings}) == len(found.findings)


def test_a_producer_that_shuts_too_is_no_disagreement(both: tuple[Report, list[str]], catalog: Catalog) -> None:
    report, paths = both
    found = with_consumers(report, read_code(paths, SETTINGS, catalog), catalog)
    assert not [f for f in found.findings if f.problem is Problem.DISAGREES]
    led = [f for f in found.findings if f.reach is Reach.RUN]  # but steps of one chain, the caller first
    assert {f.path for f in led} == {"part1/app/layer.py", "part1/app/settings.py"}
    assert found.chains[0].steps[0].path in {f.path for f in led}
    assert {f.chain for f in led} == {found.chains[0].id}


def test_an_operator_of_a_library_is_followed_by_name(
    make: Callable[..., tuple[Report, list[str]]], catalog: Catalog
) -> None:
    (chain,) = _trace("mykit.ops.summed", make(trace_samples.LIBRARY), catalog)
    assert ("kernels.cu", 5, "run") in _with(chain, "shut")
    assert "ops.py" in [name for name, _, _ in _with(chain, "clean")]


def test_what_is_built_may_be_shut_where_nobody_runs_it(tmp_path: Path, catalog: Catalog) -> None:
    (tmp_path / "jit.py").write_text(
        "import torch\n\n\ndef flags(supported_major_versions=None):\n"
        "    if torch.cuda.get_device_capability()[0] not in supported_major_versions:\n"
        "        raise RuntimeError('no')\n    return []\n\n\n"
        "def spec(name, sources, flags):\n    return name\n\n\n"
        "def gen_mla():\n    return spec('mla', ['mla.cu'], flags(supported_major_versions=[12]))\n"
    )
    body = "#ifdef __CUDA_ARCH_FEAT_SM100_ALL\n  o[0] = 1.f;\n#endif\n"
    (tmp_path / "mla.cu").write_text(f"__global__ void mla(float* o) {{\n{body}}}\n")
    facts = pipeline.scan([str(tmp_path)], catalog, SETTINGS)
    report = pipeline.report(facts, select("sm120", catalog), catalog, JudgeSettings())
    (chain,) = trace("gen_mla", report, read_code([str(tmp_path)], SETTINGS, catalog))
    assert chain.sentence.startswith("shut by 1 of 2 gates; open this one: mla.cu:2")
    assert [(s.path, s.line, s.reach) for s in chain.steps if s.state == "shut"] == [("mla.cu", 2, "built")]
    assert report.chains[0].sentence.startswith("shut by 1 of 2 gates; open this one: mla.cu:2")


def test_a_module_has_as_many_gates_in_a_trace_as_in_a_report(catalog):
    paths = [str(Path(__file__).parents[1] / "examples" / "flashinfer")]
    report = pipeline.report(
        pipeline.scan(paths, catalog, SETTINGS), select("sm120", catalog), catalog, JudgeSettings()
    )
    (chain,) = report.chains
    (traced,) = trace(chain.name, report, read_code(paths, SETTINGS, catalog))
    assert chain.sentence.startswith("shut by 5 of 6 gates; ")
    assert traced.sentence.startswith("shut by 5 of 6 gates; ")


MODULES = {
    "kit/__init__.py": "",
    "kit/jit/__init__.py": "from .ring import (\n    load as load_ring,  # one\n    gen_ring as gen_ring,\n)\n",
    "kit/jit/core.py": "def gen_jit_spec(name, sources):\n    return name, sources\n",
    "kit/jit/ring.py": (
        "from .core import gen_jit_spec\n\n\ndef gen_ring():\n    return gen_jit_spec('ring', ['ring.cu'])\n\n\n"
        "def load():\n    return gen_ring()\n"
    ),
    "kit/ring.cu": (
        "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n"
        '__global__ void ring() { asm("griddepcontrol.wait;"); }\n#endif\n'
    ),
    "kit/ops.py": (
        "import torch\nfrom .jit import gen_ring\n\n\ndef ring():\n"
        "    if torch.cuda.get_device_capability()[0] == 8:\n        return None  # too old\n    return gen_ring()\n"
    ),
    "kit/other.py": (
        "import torch\nfrom elsewhere import load\n\n\ndef other(atom):\n"
        "    if torch.cuda.get_device_capability() == (9, 0):\n        atom.load()\n        return load()\n"
        "    raise RuntimeError('no')\n"
    ),
}


def test_a_name_alone_makes_no_gate_one_of_a_module(
    make: Callable[..., tuple[Report, list[str]]], catalog: Catalog
) -> None:
    report, paths = make(MODULES)
    (chain,) = report.chains
    assert {(s.path, s.line) for s in chain.steps if s.line} == {("kit/ops.py", 6), ("kit/ring.cu", 1)}
    assert chain.sentence.startswith("shut by 1 of 2 gates; ")
    (traced,) = trace("ring", report, read_code(paths, SETTINGS, catalog, report.facts))
    assert traced.sentence.startswith("shut by 1 of 2 gates; ")


@pytest.mark.parametrize(
    ("statement", "is_its"),
    [
        ("from .jit.ring import load", True),
        ("from .jit import ring", False),
        ("from .jit.ring import *", True),
        ("from kit.jit.ring import (\n    gen_ring,\n    load,\n)", True),
        ("from .jit.core import load", False),
        ("import elsewhere", False),
    ],
)
def test_whose_function_a_call_means_is_looked_up(
    make: Callable[..., tuple[Report, list[str]]], statement: str, is_its: bool
) -> None:
    report, _ = make(
        {**MODULES, "kit/other.py": MODULES["kit/other.py"].replace("from elsewhere import load", statement)}
    )
    (chain,) = report.chains
    assert any(s.path == "kit/other.py" for s in chain.steps) is is_its


def test_a_trace_keeps_to_the_width(catalog):
    paths = [str(Path(__file__).parents[1] / "examples" / "flashinfer")]
    report = pipeline.report(
        pipeline.scan(paths, catalog, SETTINGS), select("sm120", catalog), catalog, JudgeSettings()
    )
    cut = traced("trtllm_comm", report, read_code(paths, SETTINGS, catalog))
    for width in (60, 100):
        lines = trace_text(cut, width=width).splitlines()
        too_long = [line for line in lines if len(line) > width and " " in line[20:].strip()]
        assert too_long == []
    text = " ".join(trace_text(cut).replace("│", "").split())
    assert (
        "61: griddep-wait is compiled out on sm_120: data can be read before it is written; to open: only toge" in text
    )
    assert "change it together with" not in text
