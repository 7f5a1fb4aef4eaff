"""Which C++ code is read: told from its bytes, by the same vocabulary that the evaluator asks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_scan import catalog, facts

from archscan.frontends.cuda.host import HostFacts, host_gates, host_index, host_link, indexing, statements
from archscan.frontends.cuda.host.asking import Piece, identifiers, pieces, places
from archscan.frontends.cuda.presence import PresenceMap
from archscan.frontends.protocol import Context
from archscan.model.facts import Source
from archscan.model.settings import ScanSettings

CORPORA = os.environ.get("ARCHSCAN_CORPORA", "")
SPELLINGS = [
    "p.major >= 9",
    "9 == p.major",
    "8 < p.major",
    "p.major == (9)",
    "p.major - 9 == 0",
    "0 == p.major - 9",
    "(p.major) == 9",
    "p.major / 9 == 1",
    "!(p.major != 9)",
    "p->major == 9",
    "sm() == 90",
    "90 <= getSMVersion()",
    "cc / 10 == 9",
    "p.major * 10 + p.minor == 90",
    "is_sm90(device)",
    "hasSM100f(p)",
    "on_hopper()",
    "tg::isArchBlackwell(arch)",
    'strcmp("//", s) && p.major == 9',
    "p.major /* the first */ == 9",
    "is_major_v<9>",
]


@pytest.mark.parametrize("condition", SPELLINGS)
def test_a_condition_is_read_however_it_is_spelled(condition: str) -> None:
    assert places(f"void f() {{\n  if ({condition}) launch();\n}}\n".encode())


@pytest.mark.parametrize(
    "condition", ["p.major >= 9", "9 == p.major", "8 < p.major", "p.major == (9)", "p.major - 9 == 0"]
)
def test_the_only_gate_of_a_file_is_found_however_it_is_spelled(condition: str) -> None:
    found = facts(f"void f(cudaDeviceProp p) {{\n  if ({condition}) fast(); else slow();\n}}\n").gates
    assert [(g.place.line, bool(g.arms[0].truth.yes), bool(g.arms[0].truth.no)) for g in found] == [(2, True, True)]


def test_a_helper_that_is_given_the_major_is_a_gate_where_it_is_asked() -> None:
    text = "bool wide(int v) { return v >= 9; }\nvoid f(Prop p) {\n  if (wide(p.major)) fast(); else slow();\n}\n"
    assert [g.place.line for g in facts(text).gates] == [3]


@pytest.mark.parametrize(
    "code",
    [
        "// of an SM: major is not read here\nint a = b;",
        "/* the major\n version */ int a = b;",
        'log("major");',
        "#if __CUDA_ARCH__ >= 900\n#endif",
        "#if defined(X) && \\\n  __CUDA_ARCH__ >= 900\n#endif",
        "__global__ void attention_hopper(Params const& params) {}",
        "if (isSmall(tile) || is_smem(p)) launch();",
        "using Tag = cutlass::arch::Sm90;",
        "template <class Arch> struct A {};",
        "if (n >= 90) launch();",
        "if (row_major) launch();",
    ],
)
def test_code_that_names_no_gpu(code: str) -> None:
    assert places(code.encode()) == ()


def test_a_long_file_is_cut_into_the_functions_that_ask() -> None:
    other = b"void g() {\n" + b"  work();\n" * 4000 + b"}\n"
    asking = b"void f() {\n  if (p.major == 9) fast();\n}\n"
    found = list(pieces(other + asking + other, identifiers(asking)))
    assert [(p.row, len(p.places)) for p in found] == [(4001, 1)]
    assert (other + asking + other)[found[0].start + found[0].places[0] :].startswith(b"major == 9")


# without the filter: every file and function is read


def _gates(sources: list[Source]) -> dict[str, set[tuple[object, ...]]]:
    context = Context(catalog(), ScanSettings())
    indexes = {s.path: i for s in sources if (i := host_index(s, context)) is not None}
    project = host_link(indexes, context)
    live = PresenceMap(catalog().universe.all)
    found = {path: host_gates(index, project, live, context) for path, index in indexes.items()}
    return {path: set(_said(one)) for path, one in found.items() if one.gates}


def _said(found: HostFacts) -> Iterator[tuple[object, ...]]:
    for gate in found.gates:
        if any(arm.assumed.yes and arm.assumed.no for arm in gate.arms):  # what no target decides is no gate to lose
            yield gate.place.line, gate.kind.value, gate.arms[0].condition


def _everything(data: bytes, words: frozenset[bytes], helpers: frozenset[str] = frozenset()) -> Iterator[Piece]:
    yield Piece(0, len(data), 0, places(data, helpers))


def _unfiltered(monkeypatch: pytest.MonkeyPatch, sources: list[Source]) -> dict[str, set[tuple[object, ...]]]:
    with monkeypatch.context() as patch:
        patch.setattr(indexing, "pieces", _everything)
        patch.setattr(statements.Statements, "asks", lambda self, node: True)
        return _gates(sources)


PROJECT = {
    "cap.h": "inline int getSMVersion() { return query(); }\ninline bool mayFuse() { return getSMVersion() >= 90; }\n",
    "use.cpp": "void run(bool big) {\n  if (big && mayFuse()) fused();\n  else plain();\n}\n",
    "other.cpp": "void run(bool big) {\n  if (big && mayWait()) fused();\n  else plain();\n}\n",
    "prop.cpp": "bool wide(int v) { return 8 < v; }\nvoid f(P p) {\n  if (wide(p.major)) fast();\n  else slow();\n}\n",
    "flag.cuh": "constexpr bool kWide = __CUDA_ARCH__ >= 1000;\n",
    "kernel.cuh": "__device__ int wide_load() {\n  if constexpr (kWide) {\n    return 1;\n  }\n  return 0;\n}\n",
}


def _written(directory: Path, files: dict[str, str]) -> list[Source]:
    for name, text in files.items():
        (directory / name).write_text(text)
    return [Source(name, text.encode(), disk=str(directory / name)) for name, text in files.items()]


def test_who_asks_a_helper_of_another_file_is_read(tmp_path: Path) -> None:
    found = _gates(_written(tmp_path, PROJECT))
    assert {path: [g[0] for g in gates] for path, gates in found.items()} == {
        "use.cpp": [2],
        "prop.cpp": [3],
        "kernel.cuh": [2],
    }


def test_nothing_hangs_on_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = _written(tmp_path, PROJECT)
    assert _gates(sources) == _unfiltered(monkeypatch, sources)


def test_nothing_hangs_on_what_is_read_in_the_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    fixtures = Path(__file__).parent / "fixtures"
    paths = [p for p in sorted(fixtures.rglob("*")) if p.suffix in (".cu", ".cuh", ".cpp", ".h", ".hpp", ".cc")]
    for folder in sorted({p.parent for p in paths}):
        sources = [Source(p.name, p.read_bytes(), disk=str(p)) for p in paths if p.parent == folder]
        assert _gates(sources) == _unfiltered(monkeypatch, sources), folder


@pytest.mark.corpora
@pytest.mark.slow
@pytest.mark.skipif(not CORPORA, reason="ARCHSCAN_CORPORA names no directory with the real packages")
def test_nothing_is_lost_in_a_real_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read without the filter may be known better, and only that: no gate is found that is not with it."""
    root = Path(CORPORA) / "flashinfer-0.6.2"
    below = root / "flashinfer/data/csrc/nv_internal"
    if not below.is_dir():
        pytest.skip("flashinfer 0.6.2 is not among the real packages")
    paths = [p for p in sorted(below.rglob("*")) if p.suffix in (".cu", ".cuh", ".cpp", ".h", ".cc")]
    sources = [Source(str(p.relative_to(root)), p.read_bytes(), disk=str(p)) for p in paths]
    known, every = _gates(sources), _unfiltered(monkeypatch, sources)
    missed = {(path, gate) for path, gates in every.items() for gate in gates - known.get(path, set())}
    assert missed == set()
