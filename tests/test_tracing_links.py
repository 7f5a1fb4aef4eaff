"""What link extraction finds in one file: extension modules, sources, exports, includes."""

from __future__ import annotations

from archscan.frontends.links.cuda import links as cuda_links
from archscan.frontends.links.python import links as links_of
from archscan.model.facts import Link, LinkKind

BUILDERS = ("gen_jit_spec", "JitSpec", "load_jit")


def python_links(code: bytes, path: str) -> tuple[Link, ...]:
    return links_of(code, path, BUILDERS)


def _found(links: tuple[Link, ...], kind: LinkKind) -> list[tuple[str, str, int]]:
    return [(link.source, link.target, link.line) for link in links if link.kind is kind]


def test_a_jit_spec_with_sources_of_joined_paths() -> None:
    code = b"""
def gen_moe_module() -> JitSpec:
    return gen_jit_spec(
        "moe",  # the name
        [
            jit_env.CSRC_DIR / "moe.cu",
            jit_env.CSRC_DIR
            / "nv"
            / "kernels/all.cu",
        ],
    )
"""
    links = python_links(code, "pkg/jit/moe.py")
    assert _found(links, LinkKind.JIT_SPEC) == [("gen_moe_module", "moe", 3)]
    assert _found(links, LinkKind.JIT_SOURCE) == [
        ("gen_moe_module", "moe.cu", 6),
        ("gen_moe_module", "nv/kernels/all.cu", 8),
    ]
    assert {link.detail for link in links if link.kind is LinkKind.JIT_SOURCE} == {"jit_env.CSRC_DIR"}


def test_placeholders_of_a_name_become_stars() -> None:
    code = b'def gen_x(arch):\n    return gen_jit_spec(f"fp4_{arch}", [D / f"k_{arch}.cu"])\n'
    links = python_links(code, "x.py")
    assert _found(links, LinkKind.JIT_SPEC) == [("gen_x", "fp4_*", 2)]
    assert _found(links, LinkKind.JIT_SOURCE) == [("gen_x", "k_*.cu", 2)]


def test_a_computed_name_is_taken_from_the_function() -> None:
    code = b"def gen_batch_module(uri, paths):\n    return gen_jit_spec(uri, paths)\n"
    assert _found(python_links(code, "x.py"), LinkKind.JIT_SPEC) == [("gen_batch_module", "batch", 2)]


def test_exports_that_python_names() -> None:
    code = b"""
def _jit_norm_module(dtype):
    args = make_cpp_args(dtype)
    return load_jit(
        "norm",
        cuda_files=["elementwise/norm.cuh"],
        cuda_wrappers=[("norm", f"NormKernel<{args}>::run"), ("plain", "plain_norm")],
    )


def norm(x):
    _jit_norm_module(x.dtype).norm(x)
"""
    links = python_links(code, "norm.py")
    assert _found(links, LinkKind.REGISTERS) == [("NormKernel::run", "norm", 7), ("plain_norm", "plain", 7)]
    assert _found(links, LinkKind.CALLS) == [("norm", "_jit_norm_module", 12)]


def test_the_definition_of_a_builder_and_comments_are_no_modules() -> None:
    code = b'def gen_jit_spec(name, sources):\n    return JitSpec(name)\n\n# gen_jit_spec("old", [])\n'
    assert _found(python_links(code, "core.py"), LinkKind.JIT_SPEC) == []


def test_named_directories() -> None:
    code = b'X_CSRC_DIR: pathlib.Path = _root / "data" / "csrc"\nCACHE_DIR = cache()\n'
    assert _found(python_links(code, "env.py"), LinkKind.DEFINES) == [("X_CSRC_DIR", "data/csrc", 1)]


def test_includes_of_project_files_only() -> None:
    code = b'#include <cstdint>\n  #  include "../utils.cuh"\n// #include "no.h"\n#include <cutlass/gemm.h>\n'
    assert _found(cuda_links(code, "a.cu"), LinkKind.INCLUDES) == [("", "../utils.cuh", 2), ("", "cutlass/gemm.h", 4)]


def test_exported_operators() -> None:
    code = b"""
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, ns::impl);
TORCH_LIBRARY_FRAGMENT(mylib, m) {
  m.def("reduce(Tensor x) -> ()");
  m.impl("reduce", torch::kCUDA, &reduce_cuda);
}
"""
    found = _found(cuda_links(code, "a.cu"), LinkKind.REGISTERS)
    assert ("impl", "run", 2) in found
    assert ("reduce_cuda", "reduce", 5) in found


def test_an_operator_is_told_from_what_wraps_it_and_from_its_schema() -> None:
    code = b"""
TORCH_LIBRARY(lib, ops) {
  ops.def("gemm(Tensor! out, Tensor a,"
          " Tensor b) -> ()");
  ops.impl("gemm", TORCH_BOX(&gemm_entry));
  ops.impl("norm", torch::kCUDA, norm_cuda);
}
"""
    found = _found(cuda_links(code, "a.cu"), LinkKind.REGISTERS)
    assert found == [("gemm", "gemm", 3), ("gemm_entry", "gemm", 5), ("norm_cuda", "norm", 6)]


def test_methods_of_a_bound_class() -> None:
    code = b"""
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<ns::Buffer>(m, "Buffer")
      .def(pybind11::init<int>())
      .def("send", &ns::Buffer::send, py::arg("x"), py::arg("n") = f(1))
      .def("receive", &ns::Buffer::receive);
}
"""
    found = _found(cuda_links(code, "a.cpp"), LinkKind.REGISTERS)
    assert found == [("send", "send", 5), ("receive", "receive", 6)]


def test_hostile_bytes_do_no_harm() -> None:
    noise = b'\xff\x00"' * 1000 + b"gen_jit_spec(" * 200 + b"#include \xff\n" + b"(" * 5000
    assert isinstance(python_links(noise, "x.py"), tuple)
    assert isinstance(cuda_links(noise, "x.cu"), tuple)


def test_an_operator_of_a_library_named_by_a_macro() -> None:
    code = b'TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {\n  ops.def("gemm(Tensor a) -> Tensor");\n}\n'
    found = [(link.detail, link.target) for link in cuda_links(code, "bind.cpp") if link.kind is LinkKind.REGISTERS]
    assert found == [("TORCH_EXTENSION_NAME", "gemm")]


def test_a_function_that_gets_a_name_and_sources_builds() -> None:
    code = (
        b'def spec(name, sources):\n    return name\n\n\ndef gen_topk():\n    return spec("topk", ["csrc/topk.cu"])\n'
    )
    links = python_links(code, "x.py")
    assert _found(links, LinkKind.JIT_SPEC) == [("gen_topk", "topk", 6)]
    assert _found(links, LinkKind.JIT_SOURCE) == [("gen_topk", "csrc/topk.cu", 6)]
    assert _found(python_links(code.replace(b'"topk", ', b""), "x.py"), LinkKind.JIT_SPEC) == []
