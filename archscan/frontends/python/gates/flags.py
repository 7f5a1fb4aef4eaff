"""Gates that are compiler flags: code compiled at run time, or by a command, that some GPUs cannot load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.build.images import Image, flag_images, images_note, loaded_by, suffix_features
from archscan.frontends.python.gates.definitions import definition
from archscan.frontends.python.gates.lists import emit
from archscan.frontends.python.interpreter.conditions import Answer
from archscan.frontends.python.interpreter.frames import Frame
from archscan.frontends.python.interpreter.values import Assumed, Unknown, Value
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import inner, line_of, oneline, operands, text
from archscan.model.gate import Does, Effect, Kind, Layer, Related, Role
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector

_NAMES_TARGET = re.compile(r"(?i)arch|gencode|compute|sm_|flags")
_HOLDS_FLAGS = re.compile(r"(?i)flags|options|compile_args|nvcc")
_ONLY_CODE = re.compile(r"(?<![\w-])-?-cubin\b")  # else a bare -arch=sm_90 puts PTX in as well
_COMPILER = re.compile(r"(?i)nvcc")


def visit_flags(scan: GateCollector, path: list[Node]) -> bool:
    """Adds the gate of flags handed to what compiles: `extra_cuda_cflags=sm90a_flags`; whether they name targets."""
    node = path[-2]
    value, name = child(node, "value"), child(node, "name")
    call = next((n for n in reversed(path[:-2]) if n.type == "call"), None)
    if call is None or value is None or name is None or not _HOLDS_FLAGS.search(text(name)):
        return False
    return scan.once(node, "flags") and _flags_gate(scan, [*path[:-1], value], call, value)


def visit_command(scan: GateCollector, path: list[Node]) -> None:
    """`["nvcc", "-cubin", "-arch", ARCH, ...]`: a command line with the compiler at its head."""
    command = path[-2]
    parts = operands(command)
    if len(parts) > 2 and _COMPILER.search(text(parts[0])) and scan.once(command, "command"):
        _flags_gate(scan, path, command, command)


def _flags_gate(scan: GateCollector, path: list[Node], compiles: Node, value: Node) -> bool:
    scan.traced()
    frame = scan.frame(path)
    images = _images(scan, scan.interpreter.evaluate(value, frame))
    own = _compiled(scan, images)
    if own is not None:
        spot = inner(value)
        related = _definitions(scan, spot, frame)
        used = suffix_features(tuple(image for some, _ in images for image in some))
        rest = Effect(Does.SKIPS, line_of(spot))
        made = images_note(image for some, _ in images for image in some)
        emit(scan, Kind.BUILD_LIST, spot, own, rest, related, path, frame, Layer.JIT, compiles, used, made)
    return any(some for some, _ in images)


def _images(scan: GateCollector, values: Value) -> list[tuple[tuple[Image, ...], int]]:
    """What is compiled on which lanes; lanes on which nobody knows are left out."""
    lanes = scan.interpreter.lanes
    found = []
    for one, mask in lanes.groups(lanes.whole(values)):
        words = _words(one)
        if words is not None:
            only_code = _ONLY_CODE.search(words) is not None
            images = flag_images(words, scan.catalog)
            found.append((tuple(i for i in images if not (only_code and i.ptx)), mask))
    return found


def _words(flags: Value) -> str | None:
    """The flags as a command line; None where one that may name a target is not known."""
    flags = flags.value if isinstance(flags, Assumed) else flags
    if isinstance(flags, str):
        return flags
    if not isinstance(flags, tuple):
        return None
    words = []
    for flag in flags:
        if isinstance(flag, str):
            words.append(flag)
        elif not isinstance(flag, Unknown) or flag.arch or any(map(_NAMES_TARGET.search, flag.names)):
            return None
    return " ".join(words)


def _compiled(scan: GateCollector, found: list[tuple[tuple[Image, ...], int]]) -> Answer | None:
    """The GPUs that can load what is compiled for them; None where all or none can. No target named means the own."""
    yes = no = 0
    for images, mask in found:
        loads = mask
        for target, bit in scan.interpreter.lanes.targets if images else ():
            if bit & mask and not loaded_by(images, target.sm, scan.catalog):
                loads &= ~bit
        yes, no = yes | loads, no | (mask & ~loads)
    truth = Truth(yes, no)
    return Answer(truth, truth, arch=True) if yes and no else None


def _definitions(scan: GateCollector, value: Node, frame: Frame) -> tuple[Related, ...]:
    """Where the lists are written that a value names."""
    stack, found = [value], []
    while stack:
        node = stack.pop()
        if node.type in ("identifier", "attribute"):
            known = definition(text(node), frame, scan.interpreter)
            if known is not None:
                where, written = known
                shown = f"{text(node)} = {oneline(written, 80)}"
                found.append(Related(where.module.path, line_of(written), Role.DEFINITION, shown))
        elif node.type != "keyword_argument":
            stack.extend(reversed(node.named_children))
    return tuple(found)
