"""Property fuzzing of everything that reads what others wrote: no input crashes it, whatever it says is consistent.

ARCHSCAN_FUZZ_EXAMPLES sets the number of inputs for each test (the nightly job takes 20,000). What scripts/fuzz.py
found to reach much code, and what once failed, is kept in tests/data/fuzz/ and run too.
"""
# ruff: noqa: E501  the tables of pieces

from __future__ import annotations

import importlib.util
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hostile import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archscan.errors import UserError
from archscan.model.settings import ScanSettings
from archscan.sources import discover, read

EXAMPLES = int(os.environ.get("ARCHSCAN_FUZZ_EXAMPLES", "40"))
CORPUS = Path(__file__).parent / "data" / "fuzz"
QUICK = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)

CUDA_PIECES = [
    "#if ", "#ifdef ", "#ifndef ", "#elif ", "#else", "#endif", "#define ", "#undef ", "#error no", "#include <a.h>",
    "__CUDA_ARCH__", ">= 900", "< 1200", "== 1000", " && ", " || ", "!", "(", ")", "defined(X)", "defined", "X", "F(1)", "F(x, ...)",
    "\n", "\n", "\r\n", "\\\n", "/*", "*/", "//", '"', "'", 'R"(', ')"', " ", "\t", "%:if ", "??=if ", "{", "}", ";",
    "__global__ void k(int* p) {", "asm volatile(\"wgmma.fence;\");", "cudaGridDependencySynchronize();", "return;",
    "printf(\"no\");", "assert(false);", "__trap();", "if (prop.major >= 9) {", "else", "switch (sm) {", "case 90:",
    "default:", "if constexpr (kArch >= 900)", "TORCH_CHECK(sm >= 90, \"no\");", "NV_IF_TARGET(NV_PROVIDES_SM_90, (x;))",
    "template <int kArch>", "getSMVersion()", "{{ x }}", "{% if a %}", "1'200", "900ull", "0x384", "and", "or", "not",
]  # fmt: skip
PYTHON_PIECES = [
    "import torch\n", "from a import b\n", "import a.b as c\n", "def f(x):\n", "class C:\n", "    ", "        ", "\n",
    "if ", "elif ", "else:\n", "return ", "raise RuntimeError('no')\n", "assert ", "x", " = ", "major, minor", "cap",
    "torch.cuda.get_device_capability()", "get_sm_version()", " >= ", " < ", " in ", " not in ", "(9, 0)", "[9, 10]", "90",
    "'sm_90a'", "\"9.0\"", "{90: 1, 100: 2}", "[cap]", ".major", "@supported_compute_capability([90, 100])\n",
    "supported_major_versions=[9, 10]", "f(", ")", ":\n", " and ", " or ", "not ", "lambda: ", "lru_cache(", "partial(f, ",
    "for i in x:\n", "while x:\n", "try:\n", "except E:\n", "with a as b:\n", "match x:\n", "case 9:\n", "f'{x}'", "# note\n",
    "# archscan: ignore[upper-bound-gate] reason\n", "\"\"\"", "yield x\n", "x[0] * 10 + x[1]", "*", "**", "global x\n",
    "x.append(90)\n", "if has_sm100:\n", "'-gencode=arch=compute_90a,code=sm_90a'", ",", "async def g():\n", "await x\n",
]  # fmt: skip
BUILD_PIECES = [
    "set(", "if(", "elseif(", "else()", "endif()", "foreach(a ", "endforeach()", "function(f a)", "endfunction()", "macro(m)",
    "endmacro()", "list(APPEND ", "string(REGEX REPLACE ", "CMAKE_CUDA_ARCHITECTURES", "CUDA_ARCHS", " 90a", ";100f", "8.0",
    "\"", ")", "(", "${", "}", "$<", ">", "#[[", "]]", "# x\n", "\n", " ", "MATCHES ", "VERSION_GREATER_EQUAL ", "IN_LIST ",
    "cuda_archs_loose_intersection(X \"9.0a\" \"${CUDA_ARCHS}\")", "message(FATAL_ERROR \"no\")", "\\", "-gencode arch=",
]  # fmt: skip


def texts(pieces: list[str]) -> st.SearchStrategy[bytes]:
    """Texts of pieces that mean something, now and then with bytes that do not."""
    meaningful = st.lists(st.sampled_from(pieces), max_size=60).map(lambda parts: "".join(parts).encode())
    return (
        meaningful | st.tuples(meaningful, st.binary(max_size=12), meaningful).map(b"".join) | st.binary(max_size=200)
    )


@QUICK
@given(texts(CUDA_PIECES), st.sampled_from(["a.cu", "a.cuh", "a.hpp", "a.cpp", "a.cu.jinja"]))
def test_cuda(data: bytes, path: str) -> None:
    check(data, path)


@QUICK
@given(texts(PYTHON_PIECES))
def test_python(data: bytes) -> None:
    check(data, "pkg/a.py")


@QUICK
@given(texts(BUILD_PIECES), st.sampled_from(["CMakeLists.txt", "a.cmake", "setup.py"]))
def test_build_files(data: bytes, path: str) -> None:
    check(data, path)


def _fuzz_targets() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).parents[1] / "scripts" / "fuzz.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.TARGETS)


@pytest.mark.parametrize("target", sorted(path.name for path in CORPUS.iterdir()))
def test_inputs_that_reach_much_code_or_once_failed(target: str) -> None:
    for path in sorted((CORPUS / target).iterdir()):
        began = time.process_time()
        _fuzz_targets()[target](path.read_bytes())
        assert time.process_time() - began < 5, path.name


def _yaml(value: Any) -> bytes:
    import yaml

    return yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["upper-bound-gate", "excluded", "sm_120", "high", "*", "error", "9.0"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["id", "title", "problem", "match", "what", "why", "example", "order", "features", "source"])
        | st.text(max_size=6),
        inner,
        max_size=6,
    ),
    max_leaves=20,
)  # fmt: skip


@QUICK
@given(st.binary(max_size=80) | values.map(_yaml), st.sampled_from(["facts/", ""]))
def test_rules_of_others(tmp_path: Path, data: bytes, folder: str) -> None:
    from archscan.catalog import load

    for name in ("features", "evidence", "messages", "packages"):
        path = tmp_path / "rules" / folder / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    try:
        load([tmp_path / "rules"])
    except UserError as error:
        assert error.title


@QUICK
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_config_files(tmp_path: Path, data: bytes) -> None:
    from archscan.config import merged

    (tmp_path / "pyproject.toml").write_bytes(b"[tool.archscan]\n" + data)
    try:
        merged({}, [str(tmp_path)])
    except UserError as error:
        assert "pyproject.toml" in error.title + error.hint


@QUICK
@given(st.lists(st.sampled_from(["archscan:", " ignore", "[", "]", "upper-bound-gate", ",", "//", "#", "\n", "*/", "x"]),
                max_size=30).map("".join))  # fmt: skip
def test_suppressions(text: str) -> None:
    from archscan.frontends.suppressions import suppressions

    for found in suppressions(text.encode()):
        assert 1 <= found.line <= text.count("\n") + 1


@QUICK
@given(st.text(alphabet="sm_120afcompute.RTXPROcuda ×é\n\0", max_size=16))
def test_targets(text: str) -> None:
    from hostile import catalog

    from archscan.catalog.targets import select

    try:
        assert select(text, catalog()).mask
    except UserError as error:
        assert error.title


@QUICK
@given(st.binary(max_size=300))
def test_archives(tmp_path: Path, data: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "good.whl", "w") as archive:
        archive.writestr("a.cu", b"#if 1\n#endif\n" * 20)
    good = (tmp_path / "good.whl").read_bytes()
    for name, content in (
        ("a.whl", data),
        ("b.whl", good[: len(data)] + data),
        ("c.tar.gz", data),
        ("d.whl", good + data),
    ):
        (tmp_path / name).write_bytes(content)
        try:
            list(read(discover([str(tmp_path / name)], ScanSettings()).sources))
        except UserError as error:
            assert error.title
