"""A small producer package with a JIT module of two operators, and a consumer that calls one of them."""

from __future__ import annotations

from pathlib import Path

PRODUCER = {
    "ringlib/__init__.py": "",
    "ringlib/jit/__init__.py": "from .ring import gen_ring_module as gen_ring_module\n",
    "ringlib/jit/env.py": 'import pathlib\n\nCSRC_DIR = pathlib.Path(__file__).parent / "data" / "csrc"\n',
    "ringlib/jit/context.py": """
class Context:
    def flags(self, supported_major_versions=None):
        found = [a for a in self.archs if a[0] in supported_major_versions]
        if not found:
            raise RuntimeError(f"No usable architecture among major versions {supported_major_versions}.")
        return found


context = Context()
""",
    "ringlib/jit/ring.py": """
from . import env
from .context import context
from .core import gen_jit_spec


def gen_ring_module():
    flags = context.flags(
        supported_major_versions=[9, 10]
    )
    return gen_jit_spec(
        "ring",
        [
            env.CSRC_DIR / "ring_reduce.cu",
            env.CSRC_DIR / "ring_gather.cu",
        ],
        extra_cuda_cflags=flags,
    )
""",
    "ringlib/jit/core.py": "def gen_jit_spec(name, sources, extra_cuda_cflags=None):\n    return name, sources\n",
    "ringlib/aot.py": """
import torch

from .jit.ring import gen_ring_module


def gen_all():
    specs = []
    has_sm100 = torch.cuda.get_device_capability()[0] == 10
    if has_sm100:
        specs.append(gen_ring_module())
    return specs
""",
    "ringlib/ops.py": """
import functools
from types import SimpleNamespace

from .jit import gen_ring_module


@functools.cache
def get_ring_module():
    module = gen_ring_module().build_and_load()

    def ring_reduce(x):
        module.ring_reduce(x)

    def ring_gather(x):
        module.ring_gather(x)

    return SimpleNamespace(ring_reduce=ring_reduce, ring_gather=ring_gather)


def ring_reduce(x):
    get_ring_module().ring_reduce(x)


def ring_gather(x):
    get_ring_module().ring_gather(x)
""",
    "ringlib/data/csrc/ring_reduce.cu": """
#include "ring_reduce.cuh"

void reduce_host(float* x) { launch_reduce(x); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(ring_reduce, reduce_host);
""",
    "ringlib/data/csrc/ring_gather.cu": """
#include "ring_gather.cuh"

void gather_host(float* x) { launch_gather(x); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(ring_gather, gather_host);
""",
    "ringlib/data/csrc/ring_reduce.cuh": """
#pragma once
#include "shared.cuh"

__global__ void reduce_kernel(float* x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  x[threadIdx.x] += shared_helper(x[0]);
#endif
}

inline void launch_reduce(float* x) { reduce_kernel<<<1, 32>>>(x); }
""",
    "ringlib/data/csrc/ring_gather.cuh": """
#pragma once
#include "shared.cuh"

__global__ void gather_kernel(float* x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  x[threadIdx.x] = shared_helper(x[1]);
#endif
}

inline void launch_gather(float* x) { gather_kernel<<<1, 32>>>(x); }
""",
    "ringlib/data/csrc/shared.cuh": """
#pragma once
#include "ring_reduce.cuh"

__device__ inline float shared_helper(float x) { return x * 2.f; }
""",
    "ringlib/data/csrc/unrelated.cuh": """
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1200 && __CUDA_ARCH__ >= 900
__device__ inline float unrelated(float x) { return x; }
#endif
""",
}

CONSUMER = {
    "app/__init__.py": "",
    "app/settings.py": """
import torch


class Settings:
    enable_ring_gathering: bool = False

    def adjust(self):
        if torch.cuda.get_device_capability()[0] in (9, 10):
            self.enable_ring_gathering = True


def get_settings():
    return Settings()
""",
    "app/layer.py": """
import ringlib.ops as ring_ops
import torch

from .settings import get_settings

_is_hopper = torch.cuda.get_device_capability()[0] in (9, 10)


def may_gather(x):
    return _is_hopper and x.shape[0] > 0 and get_settings().enable_ring_gathering


def unrelated_gate():
    return torch.cuda.get_device_capability()[0] == 9


def forward(x):
    if may_gather(x):
        ring_ops.ring_gather(x)
    return x
""",
}


def write(files: dict[str, str], root: Path) -> str:
    """The files below `root`; returns it as a PATH for the command line."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(root)


def opened(files: dict[str, str]) -> dict[str, str]:
    """The producer's next version: the list and the bound let major 12 in."""
    changed = {name: text.replace("[9, 10]", "[9, 10, 12]") for name, text in files.items()}
    return {
        name: text.replace(" && __CUDA_ARCH__ < 1200\n  x[threadIdx.x] += ", "\n  x[threadIdx.x] += ")
        for name, text in changed.items()
    }


LIBRARY = {
    "mykit/__init__.py": "",
    "mykit/ops.py": """
import torch


def summed(x):
    return torch.ops.mykit.summed.default(x)
""",
    "csrc/bind.cpp": """
#include "kernels.h"

TORCH_LIBRARY_FRAGMENT(mykit, m) {
  m.def("summed(Tensor x) -> Tensor");
  m.impl("summed", torch::kCUDA, &summed_cuda);
}
""",
    "csrc/kernels.h": "#pragma once\nvoid summed_cuda(float* x);\n",
    "csrc/kernels.cu": """
#include "kernels.h"

__global__ void sum_kernel(float* x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
  x[threadIdx.x] += 1.f;
#endif
}

void summed_cuda(float* x) { sum_kernel<<<1, 32>>>(x); }
""",
}
