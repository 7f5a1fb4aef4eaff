"""Names and attributes: variables, what a build on Linux for CUDA settles, and the release of the toolkit."""

from __future__ import annotations

import ast
import re

from archscan.frontends.build.python.functions import BUILTINS
from archscan.frontends.build.python.script import Script, name_of
from archscan.frontends.build.python.values import Opaque, Release, Str, Unknown, Value
from archscan.frontends.build.traced import written

_ROCM = re.compile(
    r"(?i)(?:^|[._])(?:is_)?(?:rocm|hip|musa|xpu|hipify|sycl)(?:$|[._])|rocm_home|hip_version|is_hip|torch\.version\.hip"
)
_SETTLED: dict[str, Value] = {
    "sys.platform": Str(written("linux")),
    "os.name": Str(written("posix")),
    "torch.version.hip": None,
    "IS_WINDOWS": False,
    "os.sep": Str(written("/")),
}


def name_(script: Script, node: ast.Name, frame: dict[str, Value]) -> Value:
    if node.id in frame:
        held = frame[node.id]
        return False if isinstance(held, Opaque) and _ROCM.search(node.id) else held  # imported: not ROCm here
    if node.id in _SETTLED:
        return _SETTLED[node.id]
    if _ROCM.search(node.id):
        return False
    user = script.given.value(node.id)
    if user is not None:
        return Str(written(user))
    if script.is_toolkit(node.id) and node.id.lower() != "cuda":
        return script.toolkit(node.id)
    return Opaque(node.id) if node.id in BUILTINS or node.id in ("dict", "bool") else Unknown((node.id,))


def attribute(script: Script, node: ast.Attribute, frame: dict[str, Value]) -> Value:
    name = name_of(node)
    return frame[name] if name in frame else attribute_of(script, node, script.value(node.value, frame))


def attribute_of(script: Script, node: ast.Attribute, owner: Value) -> Value:
    """An attribute of what is evaluated already."""
    name = name_of(node)
    full = f"{owner.name}.{node.attr}" if isinstance(owner, Opaque) else name
    if full in _SETTLED:
        return _SETTLED[full]
    if full == "torch.version.cuda":
        return Str(written(script.given.release)) if script.given.release else Unknown((full,))
    if _ROCM.search(full):
        return False
    if isinstance(owner, Release) and node.attr in ("major", "minor"):
        index = node.attr == "minor"
        return owner.numbers[index] if len(owner.numbers) > index else 0
    if isinstance(owner, Opaque):
        return Opaque(full)
    return Unknown((full or node.attr,))
