"""Traces through packages as they are commonly built: torch extensions, setup.py, autograd functions, macros that
define kernels, templates that a source instantiates.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import trace_samples

from archscan import pipeline
from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.catalog.types import Catalog
from archscan.frontends.links import builders_of
from archscan.frontends.links.cmake import links as cmake_links
from archscan.frontends.links.python import links as python_links
from archscan.model.facts import LinkKind
from archscan.model.report import Chain
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.sources.kinds import is_cmake
from archscan.tracing.commands import read_code
from archscan.tracing.cuda_calls import read
from archscan.tracing.modules import extensions
from archscan.tracing.paths import Paths
from archscan.tracing.trace import trace

SETTINGS = ScanSettings(jobs=1, use_cache=False)

LOADED = {
    "lib/arch.py": """
import torch


def needs(majors):
    def decorate(fn):
        def wrapper(*args):
            if torch.cuda.get_device_capability()[0] not in majors:
                raise RuntimeError("needs another GPU")
            return fn(*args)
        return wrapper
    return decorate
""",
    "lib/ops.py": """
import functools
from pathlib import Path

from torch.utils.cpp_extension import load as build

from .arch import needs

_HERE = Path(__file__).parent / "csrc"


@functools.cache
def _module():
    return build(name="norm", sources=[str(_HERE / "norm.cu"), str(_HERE / "bind.cpp")])


@needs([9, 10])
def norm(x):
    return _module().norm(x)
""",
    "lib/csrc/bind.cpp": 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def("norm", &norm);\n}\n',
    "lib/csrc/norm.cu": '#include "norm.cuh"\nvoid norm(float* x) {\n  norm_kernel<<<1, 32>>>(x);\n}\n',
    "lib/csrc/norm.cuh": """
__global__ void norm_kernel(float* x) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  x[0] = 1.f;
#endif
}
__global__ void other_kernel(float* x) {
#if __CUDA_ARCH__ == 900
  x[0] = 2.f;
#endif
}
""",
}

WRAPPED = {
    "setup.py": """
import glob
import os

from torch.utils.cpp_extension import BuildExtension, CUDAExtension

here = os.path.join("csrc", "scan")
sources = ["csrc/bind.cpp"]
sources += glob.glob(os.path.join(here, "*.cu"))
if True:
    extension = CUDAExtension(
        name="scan_cuda",
        sources=sources,
        extra_compile_args={"nvcc": ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"]},
    )
    other = CUDAExtension(name="other_cuda", sources=["csrc/other.cu"])
""",
    "scanlib/ops.py": """
import torch

try:
    import scan_rocm as backend
except ImportError:
    import scan_cuda as backend


class Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return backend.scan_fwd(x)


class Layer(torch.nn.Module):
    def forward(self, x):
        return Scan.apply(x)


def run(x):
    layer = Layer()
    return layer(x)
""",
    "csrc/bind.cpp": """
template <typename T> void scan_cuda(T* x);
void scan_fwd(float* x) { scan_cuda<float>(x); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scan_fwd", &scan_fwd, "forward");
}
""",
    "csrc/scan/scan_fp32.cu": '#include "scan.cuh"\ntemplate void scan_cuda<float>(float* x);\n',
    "csrc/scan/scan.cuh": """
#define DEFINE_KERNEL(name, ...) template <__VA_ARGS__> __global__ void name(float* x)
DEFINE_KERNEL(scan_kernel, int N) {
#if __CUDA_ARCH__ == 900
  x[0] = N;
#endif
}
template <typename T> void scan_cuda(T* x) {
  scan_kernel<8><<<1, 32>>>(x);
}
template <typename T> void unused_cuda(T* x) {
#if __CUDA_ARCH__ == 900
  x[0] = 0;
#endif
}
""",
    "csrc/other.cu": "__global__ void other(float* x) {\n#if __CUDA_ARCH__ == 900\n  x[0] = 1;\n#endif\n}\n",
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def _chains(name: str, files: dict[str, str], tmp_path: Path, catalog: Catalog) -> tuple[Chain, ...]:
    paths = [trace_samples.write(files, tmp_path / "project")]
    facts = pipeline.scan(paths, catalog, SETTINGS)
    report = pipeline.report(facts, select("sm120", catalog), catalog, JudgeSettings())
    return trace(name, report, read_code(paths, SETTINGS, catalog))


def _with(chain: Chain, state: str, reach: str = "run") -> list[tuple[str, int | None]]:
    return [(s.path.rpartition("/")[2], s.line) for s in chain.steps if s.state == state and s.reach in (reach, "")]


def test_an_extension_that_torch_loads(tmp_path: Path, catalog: Catalog) -> None:
    (chain,) = _chains("norm", LOADED, tmp_path, catalog)
    assert _with(chain, "shut") == [("ops.py", 17), ("norm.cuh", 3)]
    assert _with(chain, "shut", "built") == [("norm.cuh", 8)]
    assert chain.sentence == (  # all that it builds
        "shut by 3 of 3 gates; not known what opening would do: lib/ops.py:17; shut besides: lib/csrc/norm.cuh:3,8"
    )


def test_an_extension_of_setup_py_behind_autograd(tmp_path: Path, catalog: Catalog) -> None:
    (chain,) = _chains("scanlib.ops.run", WRAPPED, tmp_path, catalog)
    assert _with(chain, "shut") == [("setup.py", 14), ("scan.cuh", 4)]
    assert _with(chain, "shut", "built") == [("scan.cuh", 12)]
    assert "other.cu" not in {name for name, _ in _with(chain, "clean", "built")}


def test_what_was_not_scanned_is_said(tmp_path: Path, catalog: Catalog) -> None:
    files = {"lib/__init__.py": "", "lib/a.py": "import json\n\nimport fastkernels.ops as k\n\nfrom . import _C\n\n\n"}
    files["lib/a.py"] += "def run(x):\n    json.dumps(x)\n    _C.scale(x)\n    return k.norm(x)\n"
    (chain,) = _chains("run", files, tmp_path, catalog)
    assert chain.sentence == (
        "no gate on the way; called on the way, not scanned and so not followed: ._C, fastkernels"
    )


def test_gates_further_down_are_on_the_way(tmp_path: Path, catalog: Catalog) -> None:
    code = (
        "import torch\n\n\ndef check():\n    if torch.cuda.get_device_capability()[0] != 9:\n"
        "        raise RuntimeError('no')\n    return pick()\n\n\ndef pick():\n    return 1\n\n\n"
        "def middle():\n    return check()\n\n\ndef run():\n    return middle()\n"
    )
    (chain,) = _chains("run", {"lib/a.py": code}, tmp_path, catalog)
    assert _with(chain, "shut") == [("a.py", 5)]


def test_methods_of_the_classes_that_a_class_extends(tmp_path: Path, catalog: Catalog) -> None:
    base = (
        "import torch\n\n\nclass Base:\n    def check(self):\n"
        "        if torch.cuda.get_device_capability()[0] != 9:\n            raise RuntimeError('no')\n"
        "        return self.pick()\n\n    def pick(self):\n        return 1\n"
    )
    own = "from .base import Base\n\n\nclass Middle(Base):\n    pass\n\n\n"
    own += "class Model(Middle):\n    def run(self):\n        return self.check()\n"
    (chain,) = _chains(
        "Model.run", {"lib/__init__.py": "", "lib/base.py": base, "lib/model.py": own}, tmp_path, catalog
    )
    assert _with(chain, "shut") == [("base.py", 6)]


def test_classes_that_extend_each_other_end(tmp_path: Path, catalog: Catalog) -> None:
    code = "class A(B):\n    def run(self):\n        return self.missing()\n\n\nclass B(A):\n    pass\n"
    (chain,) = _chains("A.run", {"lib/a.py": code}, tmp_path, catalog)
    assert chain.sentence.startswith("no gate on the way")


def _modules(code: str, files: list[str], catalog: Catalog) -> dict[str, tuple[str, ...]]:
    found = python_links(code.encode(), "setup.py", builders_of(catalog.packages))
    return {e.name: e.sources for e in extensions({"setup.py": found}, Paths.of(["setup.py", *files]))}


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ('glob.glob("csrc/*.cu")', ("csrc/a.cu",)),
        ('glob.glob("csrc/**/*.cu", recursive=True)', ("csrc/a.cu", "csrc/deep/b.cu")),
        ('list(ROOT.rglob("*.cu"))', ("csrc/a.cu", "csrc/deep/b.cu")),
        ('list((ROOT / "deep").glob("*.cu"))', ("csrc/deep/b.cu",)),
    ],
)
def test_sources_by_pattern(pattern: str, wanted: tuple[str, ...], catalog: Catalog) -> None:
    code = f'ROOT = Path("csrc")\n\n\ndef build():\n    return CUDAExtension("m", {pattern})\n'
    assert _modules(code, ["csrc/a.cu", "csrc/deep/b.cu", "csrc/a.h"], catalog) == {"m": wanted}


def test_modules_of_one_file_keep_their_sources(catalog: Catalog) -> None:
    code = (
        'NAME = "first"\nfirst = CUDAExtension(NAME, ["a.cu"])\n'
        'Extension = CUDAExtension\nsecond = Extension(name="second", sources=["b.cu"])\n'
    )
    assert _modules(code, ["a.cu", "b.cu"], catalog) == {"first": ("a.cu",), "second": ("b.cu",)}


def test_sources_made_before_the_call(catalog: Catalog) -> None:
    code = (
        'made = ["a.cu"]\nmade.append("b.cu")\nmade += [\n    "c.cu",\n]\nCUDAExtension("m", made)\nother = ["d.cu"]\n'
    )
    assert _modules(code, ["a.cu", "b.cu", "c.cu", "d.cu"], catalog) == {"m": ("a.cu", "b.cu", "c.cu")}


@pytest.mark.parametrize(
    "code",
    [
        b"CUDAExtension('x', s)\n" + b"s = (\n" * 50_000,
        b"def f():\n CUDAExtension('x', " + b"glob(" * 20_000,
        b"CUDAExtension('x', glob(" + b"a," * 200_000,
        b"from x.cpp_extension import load\n" * 10_000 + b"load('a', ['x.cu'])\n" * 3_000,
    ],
    ids=["lists never closed", "nested globs", "many names", "many calls"],
)
def test_hostile_builders_end(code: bytes, catalog: Catalog) -> None:
    began = time.process_time()
    python_links(code, "a.py", builders_of(catalog.packages))
    assert time.process_time() - began < 5


def test_only_imported_names_build(catalog: Catalog) -> None:
    builders = builders_of(catalog.packages)
    plain = b'def f():\n    return load("x", ["a.cu"])\n'
    assert python_links(plain, "a.py", builders) == ()
    imported = b"from torch.utils.cpp_extension import (\n    CUDA_HOME,\n    load,\n)\n" + plain
    found = python_links(imported, "a.py", builders)
    assert [link.target for link in found if link.kind is LinkKind.JIT_SPEC] == ["x"]


def test_functions_named_by_a_macro_and_by_themselves() -> None:
    code = b"DEFINE(first, int n) {\n}\nvoid SECOND(int) {\n}\nTEST(Suite, Name) {\n}\nFOURTH(float) {\n}\n"
    assert [d.name for d in read(code, "a.cu").definitions] == ["first", "SECOND", "TEST", "FOURTH"]


CMAKE = """
set(COMMON_SRC csrc/bind.cpp)
file(GLOB KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/csrc/gemm_*.cu)
list(APPEND EXT_SRC ${COMMON_SRC} ${KERNELS})
if(BUILD_OTHER)
  list(APPEND EXT_SRC "csrc/other.cu")
endif()
define_extension_target(_C DESTINATION lib LANGUAGE CUDA SOURCES ${EXT_SRC} USE_SABI 3)
install(FILES csrc/other.cu DESTINATION src)
"""
LIBRARY = {
    "CMakeLists.txt": CMAKE,
    "lib/__init__.py": "",
    "lib/ops.py": "import torch\n\nfrom lib import _C\n\n\ndef gemm(x):\n    return torch.ops.lib.gemm(x)\n",
    "csrc/bind.cpp": 'TORCH_LIBRARY(lib, ops) {\n  ops.impl("gemm", torch::kCUDA, BOXED(&gemm_entry));\n}\n',
    "csrc/gemm_90.cu": "__global__ void k(float* x) {\n#if __CUDA_ARCH__ == 900\n  x[0] = 1;\n#endif\n}\n"
    "void gemm_entry(float* x) {\n  k<<<1, 1>>>(x);\n}\n",
    "csrc/other.cu": "__global__ void other(float* x) {\n#if __CUDA_ARCH__ == 900\n  x[0] = 1;\n#endif\n}\n",
}


def test_a_library_that_cmake_builds(tmp_path: Path, catalog: Catalog) -> None:
    (chain,) = _chains("gemm", LIBRARY, tmp_path, catalog)
    assert _with(chain, "shut") == [("gemm_90.cu", 2)]
    assert chain.id == "_C/gemm"
    assert chain.sentence == (
        "shut by the one gate on the way; open this one: csrc/gemm_90.cu:2; "
        "2 more files are compiled into _C, and nothing of them is run by it"
    )


def test_sources_of_a_cmake_target() -> None:
    files = ["csrc/bind.cpp", "csrc/gemm_80.cu", "csrc/gemm_90.cu", "csrc/other.cu", "csrc/none.cu"]
    found = cmake_links(CMAKE.encode(), "CMakeLists.txt")
    (module,) = extensions({"CMakeLists.txt": found}, Paths.of(["CMakeLists.txt", *files]))
    assert (module.name, set(module.sources)) == ("_C", set(files[:4]))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (b"set(A ${A} a.cu)\nadd_library(x ${A})\n", ["x", "a.cu"]),
        (b"add_library(x a.cu\n" * 2000, ["x", "a.cu"]),
        (b"\xff(.cu", []),
        (b"set(A ${B})\nset(B ${A} b.cu)\nadd_library(x ${A} ${B})\n", ["x", "b.cu"]),
        (b"add_library(x a.cpp)\n# .cu", []),
    ],
    ids=["of itself", "never closed", "no text", "in a circle", "no device code"],
)
def test_hostile_cmake_does_no_harm(code: bytes, found: list[str]) -> None:
    assert [link.target for link in cmake_links(code, "CMakeLists.txt")] == found


@pytest.mark.parametrize(
    ("path", "is_one"),
    [("CMakeLists.txt", True), ("a/CMakeLists.txt", True), ("a/x.cmake", True), ("x.cmake.in", True),
     ("a/myCMakeLists.txt", False), ("x.cmake.py", False)],
)  # fmt: skip
def test_cmake_files_by_name(path: str, is_one: bool) -> None:
    assert is_cmake(path) is is_one
