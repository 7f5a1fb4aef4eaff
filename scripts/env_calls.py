"""Compares what `archscan env` says of the installed packages with one real call of each, on the GPU of this machine.

    python3 scripts/env_calls.py [env.json]        env.json: what `archscan env --format json` wrote; else it is made

Each call runs in a process of its own. Exits with 1 where a row said that a package runs and its call failed, or that
it does not and the call worked; a row that says "not known" is right with either.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 90
_TORCH = "import torch; x = torch.rand(64, 64, device='cuda'); "
_KERNEL = """
import triton, triton.language as tl, torch
@triton.jit
def k(x, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(x + i, tl.load(x + i) + 1)
x = torch.zeros(64, device='cuda'); k[(1,)](x, 64); assert x.sum().item() == 64
"""
_NUMBA = """
from numba import cuda
import numpy as np
@cuda.jit
def k(x):
    x[cuda.grid(1)] += 1
x = np.zeros(32); k[1, 32](x); assert x.sum() == 32
"""
_WARP = """
import warp as wp
@wp.kernel
def k(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0
x = wp.zeros(32, dtype=float, device='cuda:0')
wp.launch(k, 32, inputs=[x], device='cuda:0')
assert x.numpy().sum() == 32
"""
_NCCL = """
import os, torch, torch.distributed as d
os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='29511')
d.init_process_group('nccl', rank=0, world_size=1)
x = torch.ones(8, device='cuda'); d.all_reduce(x); assert x.sum().item() == 8
"""
# By the name of the distribution, without the CUDA that it is for: cupy-cuda13x, nvidia-nccl-cu13
CALLS = {
    "torchvision": _TORCH + "import torchvision; b = torch.tensor([[0., 0., 1., 1.]], device='cuda'); "
    "torchvision.ops.nms(b, torch.ones(1, device='cuda'), .5)",
    "torch": _TORCH + "assert torch.allclose((x + x).cpu(), x.cpu() * 2)",
    "nvidia-cublas": _TORCH + "assert torch.allclose((x @ x).cpu(), x.cpu() @ x.cpu(), atol=1e-1)",
    "nvidia-cudnn": _TORCH + "torch.nn.functional.conv2d(x[None, None], x[None, None, :3, :3]).sum().item()",
    "nvidia-cufft": _TORCH + "torch.fft.fft2(x).abs().sum().item()",
    "nvidia-cusolver": _TORCH + "torch.linalg.svd(x)[1].sum().item()",
    "nvidia-cusparselt": _TORCH + "from torch.sparse import to_sparse_semi_structured as s; "
    "a = torch.tensor([0, 0, 1, 1], dtype=torch.half).tile((64, 16)).cuda(); (s(a) @ x.half()).sum().item()",
    "nvidia-cusparse": _TORCH + "(x.to_sparse_csr() @ x).sum().item()",
    "nvidia-nccl": _NCCL,
    "triton": _KERNEL,
    "cupy": "import cupy as c; assert float((c.ones(64) + 1).sum()) == 128; c.random.rand(8)",
    "numba-cuda": _NUMBA,
    "jax": "import jax, jax.numpy as n; assert jax.devices()[0].platform == 'gpu'; n.ones(8).sum().block_until_ready()",
    "warp-lang": _WARP,
    "xformers": "import torch; from xformers.ops import memory_efficient_attention as a; "
    "q = torch.rand(1, 64, 4, 64, device='cuda', dtype=torch.half); a(q, q, q).sum().item()",
    "bitsandbytes": "import torch, bitsandbytes.functional as f; "
    "f.quantize_4bit(torch.rand(4096, device='cuda').half())",
    "flashinfer-python": "import torch, flashinfer; x = torch.rand(4, 128, device='cuda').half(); "
    "flashinfer.rmsnorm(x, x[0].contiguous()).sum().item()",
    "faiss-gpu": "import faiss, numpy as n; i = faiss.GpuIndexFlatL2(faiss.StandardGpuResources(), 8); "
    "i.add(n.ones((9, 8), 'f'))",
}


def main(arguments: list[str]) -> int:
    """Prints a row for each package with GPU code; how many calls contradict their rows decides the exit code."""
    document = json.loads(Path(arguments[0]).read_text()) if arguments else _document()
    wrong = 0
    for row in document["distributions"]:
        if row["state"] == "no-gpu-code":
            continue
        code = CALLS.get(re.sub(r"-cu(?:da)?\d+x?(?:-plugin|-pjrt)?$", "", row["name"].lower()))
        said, seconds = _call(code) if code else ("no call is known", 0.0)
        contradicts = code is not None and _contradicts(row["state"], said == "ok")
        wrong += contradicts
        mark = "WRONG" if contradicts else "     "
        print(f"{mark} {row['name']:<28} {row['state']:<8} {seconds:6.1f} s  {said}", flush=True)
    print(f"{wrong} contradicted")
    return int(bool(wrong))


def _contradicts(state: str, worked: bool) -> bool:
    return (state == "fails" and worked) or (state in ("works", "slow") and not worked)


def _document() -> Any:
    command = [sys.executable, "-m", "archscan", "env", "--format", "json"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout)


def _call(code: str) -> tuple[str, float]:
    """What came of a call: ok, or the last line that it said; and how long it took."""
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": ""}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "call.py"  # a file: compilers of kernels look at their source
        path.write_text(code)
        command = [sys.executable, str(path)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            return "took too long", SECONDS
    lines = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
    return "ok" if done.returncode == 0 else lines[-1][:150], time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
