"""Lists of architectures in build scripts: nvcc flags written out, and the default of an environment variable."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.analysis.decisions import TAKEN_FOR_GRANTED, About, listed, serving
from archscan.catalog.recognise import Recogniser
from archscan.catalog.types import Catalog
from archscan.frontends.build.archgates import compiled_as
from archscan.frontends.build.images import (
    Image,
    entry_images,
    flag_images,
    images_note,
    loaded_by,
    suffix_features,
)
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.python.gates.clamped_flags import Clamp, clamped_flags
from archscan.frontends.python.gates.generated_flags import Looped, looped_flags
from archscan.frontends.python.gates.reach import reach_of
from archscan.frontends.python.source.comments import said_above
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.syntax import arguments, is_prose, line_of, oneline, place, text
from archscan.frontends.python.source.syntax import field as child
from archscan.model.gate import Does, Effect, FeatureUse, Gate, Kind, Layer, Related, Role
from archscan.model.truth import Truth

if TYPE_CHECKING:
    from archscan.frontends.python.gates.collector import GateCollector
    from archscan.frontends.python.interpreter.evaluate import Interpreter

_LARGEST = 300_000  # build scripts are short
_ENTRIES = re.compile(r"[;,\s]+")
_MAKES_PTX = re.compile(rb"code=\[?\\?[\"']?(?:sm_\{[^}]*\},\s*)?compute_\{")
_MAKES_CODE = re.compile(rb"compute_\{|compute_%s|arch=compute_[\"']?\s*\+|CUDAExtension|cpp_extension")
_TOOLKIT = re.compile(r"(?i)cuda\w*version|version|nvcc|toolkit|bare_metal|environ|getenv|rocm|hip")
_TELLING = re.compile(rb"[\"'][;,\s]*(?:(?:sm|compute)_)?\d|arch(?:itecture)?[= ](?:sm|compute)_\d")
_CHIP = re.compile(r"(?i)sm_?\d{2,3}")
_ENVIRONMENT = re.compile(r"(?:\w+\.)*(?:environ\.(?:get|setdefault)|getenv)")


@dataclass(frozen=True)
class _Entry:
    """A string that stands for code, with what is around it."""

    node: Node
    images: tuple[Image, ...]
    asked: str = ""  # text of the list that has to hold its name: `"80" in archs`


def build_lists(interpreter: Interpreter, module: Module, catalog: Catalog, recogniser: Recogniser) -> list[Gate]:
    """A gate for each list of a file that decides what code is built."""
    data = module.data
    if len(data) > _LARGEST or (b"gencode" not in data and not _may_ask(data)):
        return []
    strings = _strings(module)
    writer = _Writer(data, module.path, catalog, recogniser)
    looped = _looped(interpreter, module, writer)
    defaults = [gate for node in strings if (gate := _default(node, writer)) and gate.place.start not in looped]
    groups: dict[tuple[str, int], list[_Entry]] = {}
    for node in strings:
        images = flag_images(_content(node), catalog)
        guard = _guard(node, catalog) if images else None
        if guard is not None:
            groups.setdefault(_holder(node), []).append(_Entry(node, images, guard))
    defaults = [_with_branches(gate, [e for group in groups.values() for e in group]) for gate in defaults]
    flags = [gate for key, group in groups.items() if (gate := _flags(key[0], group, defaults, writer))]
    clamped = (writer.clamped(clamp) for clamp in clamped_flags(interpreter, module, catalog))
    return [*defaults, *looped.values(), *flags, *(gate for gate in clamped if gate is not None)]


def _with_branches(gate: Gate, flags: list[_Entry]) -> Gate:
    """A default with the chips that the build has flags for, where it only makes flags for those that it asks for."""
    if not flags or any(not entry.asked for entry in flags):
        return gate
    made = sorted({image.target.sm for entry in flags for image in entry.images})
    return replace(gate, extra=(*gate.extra, ("branches", " ".join(map(str, made)))))


def _looped(interpreter: Interpreter, module: Module, writer: _Writer) -> dict[int, Gate]:
    """The gates of the lists that a loop writes flags of, by where they begin; flags that all want are no gate."""
    found: dict[int, list[Looped]] = {}
    for one in looped_flags(interpreter, module, writer.catalog):
        if _guard(one.loop, writer.catalog) == "":
            found.setdefault(one.literal.start_byte, []).append(one)
    made = ((at, writer.gate(some[0].literal, _all_images(some), some[0].entry, "")) for at, some in found.items())
    return {at: gate for at, gate in made if gate is not None}


def _all_images(flags: list[Looped]) -> tuple[Image, ...]:
    return tuple(image for flag in flags for image in flag.images)


def _may_ask(data: bytes) -> bool:
    """Whether a list of architectures may be given to a build: by the environment, or in a file that makes flags."""
    return b"ARCH" in data and (b"environ" in data or b"getenv" in data or _MAKES_CODE.search(data) is not None)


def reached(scan: GateCollector, gate: Gate) -> Gate:
    """A list with whom the refusals before it leave over: `if capability != (9, 0): raise` above `ARCH = "sm_90a"`."""
    scan.interpreter.steps = 0
    left = reach_of(scan, scan.module.descend(gate.place.start)).truth
    if not left.no & scan.interpreter.lanes.all:
        return gate
    arms = tuple(replace(arm, truth=arm.truth & left, assumed=arm.assumed & left) for arm in gate.arms)
    return replace(gate, arms=arms, reach=left)


def with_build_lists(found: list[Gate], built: list[Gate]) -> list[Gate]:
    """All gates of a file: what is looked up in a list that the build goes by is refused there, or not built."""
    refusing = {g.place.start for g in found if g.kind is Kind.ALLOW_LIST and g.rest.does is Does.RAISES}
    built = [g for g in built if g.place.start not in refusing]
    places = {g.place.start for g in built}
    lines = {g.place.line for g in built}
    told = (Kind.ALLOW_LIST, Kind.IF)  # a list that is looked something up in, a step before a flag
    kept = [g for g in found if not ((g.kind in told and g.place.start in places) or _is_told(g, lines))]
    return sorted((*kept, *built), key=lambda g: (g.place.start, g.kind))


def _is_told(gate: Gate, lines: set[int]) -> bool:
    """Whether flags that are handed on are a list of the same file that is a gate of its own."""
    return gate.kind is Kind.BUILD_LIST and bool(lines & {gate.place.line, *(r.line for r in gate.related)})


def _strings(module: Module) -> list[Node]:
    """Every string without interpolation that begins with a target or holds a flag, in source order."""
    found: dict[int, Node] = {}
    for match in _TELLING.finditer(module.data):
        node = next((n for n in reversed(module.descend(match.start())) if n.type == "string"), None)
        if node is not None and not is_prose(node) and not any(c.type == "interpolation" for c in node.children):
            found[node.start_byte] = node
    return list(found.values())


def _content(node: Node) -> str:
    return "".join(text(c) for c in node.children if c.type == "string_content")


# --- defaults


def _default(node: Node, writer: _Writer) -> Gate | None:
    """The gate of a text or list of texts that names architectures and is what the build goes by."""
    whole = _literal(node)
    if whole is None:
        return None
    name, environment = _named(whole)
    if not name or not is_arch_name(name):
        return None
    if not environment and (not writer.makes_code or _is_looked_up(name, writer.data)):
        return None
    texts = [node] if whole is node else [c for c in whole.named_children if c.type == "string"]
    entries = [e for t in texts for e in _ENTRIES.split(_content(t)) if e]
    found = [entry_images(entry, writer.catalog) for entry in entries]
    alone = len(entries) == 1 and bool(environment) and not _is_switched_off(whole)
    if (len(entries) < 2 and not alone) or any(images is None for images in found):
        return None
    makes_ptx = writer.makes_ptx
    images = tuple(
        i for e, some in zip(entries, found, strict=True) for i in some or () if not i.ptx or makes_ptx or _is_ptx(e)
    )
    if makes_ptx:
        images += tuple(Image(i.target, True) for i in images)
    targets = {i.target.sm for i in images}
    images += tuple(i for i in writer.written if i.ptx and i.target.sm in targets)
    return writer.gate(whole, images, name, environment)


def _is_switched_off(node: Node) -> bool:
    """Whether a default is for those who set another variable: `if int(os.getenv("NO_SM90", 0)): ...`."""
    below, current = node, node.parent
    while current is not None:
        condition = child(current, "condition") if current.type == "if_statement" else None
        if condition is not None and below == child(current, "consequence") and "env" in text(condition):
            return True
        below, current = current, current.parent
    return False


def _is_looked_up(name: str, data: bytes) -> bool:
    """Whether a name is only ever looked something up in: then it is no list of what is built."""
    word = re.escape(name.encode()) + rb"\b"
    uses = len(re.findall(rb"\b" + word, data)) - 1
    looked_up = len(re.findall(rb"(?<!for)(?:\s+|[(\[,])\w+\s+(?:not\s+)?in\s+" + word, data))
    return 0 < uses == looked_up


def _is_ptx(entry: str) -> bool:
    return entry.upper().endswith("+PTX") or entry.startswith("compute_") or entry.endswith("-virtual")


def _literal(node: Node) -> Node | None:
    """The list a string is the first of, or the string where it stands alone."""
    parent = node.parent
    if parent is None or parent.type not in ("list", "tuple", "set"):
        return node
    first, at = parent.named_child(0), 1
    while first is not None and first.type == "comment":
        first, at = parent.named_child(at), at + 1
    if first != node:
        return None
    return parent if all(c.type in ("string", "comment") for c in parent.named_children) else None


def _named(node: Node) -> tuple[str, str]:
    """The name that a literal is given to, and the environment variable that overrides it."""
    environment = ""
    while node.parent is not None:
        parent = node.parent
        if parent.type == "call":
            function = child(parent, "function")
            if function is not None and _ENVIRONMENT.fullmatch(text(function)):
                positional, _ = arguments(parent)
                environment = _content(positional[0]) if positional and positional[0].type == "string" else ""
                return environment, environment
        elif parent.type == "assignment":
            left = child(parent, "left")
            return _assigned(left) if left is not None else ("", "")
        elif parent.type not in ("argument_list", "attribute", "parenthesized_expression", "boolean_operator"):
            return "", ""
        node = parent
    return "", ""


def _assigned(left: Node) -> tuple[str, str]:
    shown = text(left)
    match = re.fullmatch(r"(?:\w+\.)*environ\[\s*[\"'](\w+)[\"']\s*\]", shown)
    return (match[1], match[1]) if match else (shown if shown.isidentifier() else "", "")


# --- flags


def _guard(node: Node, catalog: Catalog) -> str | None:
    """The list that must hold the name of a flag, "" where nothing is asked; None where something else is."""
    found = ""
    below, current = node, node.parent
    while current is not None and current.type != "function_definition":
        if current.type in ("if_statement", "elif_clause") and below.type == "block":
            condition = child(current, "condition")
            shown = oneline(condition) if condition is not None else ""
            match = re.fullmatch(r"[\"']([\w.]+)[\"'] in ([\w.]+(?:\(\))?)", shown)
            if match and entry_images(match[1], catalog):
                found = match[2]
            elif not _TOOLKIT.search(shown):
                return None
        elif current.type in ("dictionary", "conditional_expression", "comparison_operator"):
            return None if not _is_options(current, below) else found
        below, current = current, current.parent
    return found


def _is_options(holder: Node, pair: Node) -> bool:
    """Whether the entry of a dictionary holds options of a compiler: `{"nvcc": [...]}`."""
    key = child(pair, "key") if holder.type == "dictionary" and pair.type == "pair" else None
    return key is not None and _content(key) in ("nvcc", "cuda", "nvcc_dlink")


def _holder(node: Node) -> tuple[str, int]:
    """What a flag is put into: the variable with its function, else the literal around it."""
    literal, current = node, node.parent
    while current is not None:
        if current.type in ("list", "tuple", "binary_operator", "concatenated_string"):
            literal = current
        if current.type in ("assignment", "augmented_assignment"):
            left = child(current, "left")
            return (text(left) if left is not None else "", _function_start(current))
        if current.type == "call":
            function = child(current, "function")
            owner, _, method = text(function).rpartition(".") if function is not None else ("", "", "")
            if method in ("append", "extend", "insert") and owner:
                return owner, _function_start(current)
        if current.type in ("block", "module"):
            break
        current = current.parent
    return "", literal.start_byte


def _function_start(node: Node) -> int:
    current = node.parent
    while current is not None and current.type != "function_definition":
        current = current.parent
    return current.start_byte if current is not None else 0


def _flags(name: str, group: list[_Entry], defaults: list[Gate], writer: _Writer) -> Gate | None:
    """The gate of the flags that go into one variable; one chip alone is a choice, not a list."""
    images = tuple(i for entry in group for i in entry.images)
    if len({i.target.sm for i in images}) < 2 or _CHIP.search(name):
        return None
    first = group[0].node
    while first.parent is not None and first.parent.type in ("list", "tuple") and all(e.asked == "" for e in group):
        first = first.parent
    reach = defaults[0].arms[0].truth if defaults and all(entry.asked for entry in group) else None
    users = tuple(Related(writer.path, line_of(e.node), Role.DUPLICATE, "adds to it") for e in group[1:8])
    made = writer.gate(first, images, name, "", reach, users if group[0].asked else ())
    notes = compiled_as((_content(entry.node), entry.images) for entry in group)
    return replace(made, extra=(*made.extra, *notes)) if made is not None and notes else made


# --- gates


@dataclass(frozen=True)
class _Writer:
    """What every gate of a file is made with."""

    data: bytes
    path: str
    catalog: Catalog
    recogniser: Recogniser

    @cached_property
    def written(self) -> tuple[Image, ...]:
        """The images of all flags that are written out."""
        return flag_images(self.data.decode("utf-8", "replace"), self.catalog)

    @cached_property
    def makes_ptx(self) -> bool:
        return _MAKES_PTX.search(self.data) is not None

    @cached_property
    def makes_code(self) -> bool:
        return _MAKES_CODE.search(self.data) is not None

    def gate(
        self,
        node: Node,
        images: tuple[Image, ...],
        name: str,
        environment: str,
        reach: Truth | None = None,
        related: tuple[Related, ...] = (),
    ) -> Gate | None:
        """The gate of a list, None where every device finds code in it, or none does."""
        universe = self.catalog.universe
        yes = universe.mask(t for t in universe.targets if t.sm and loaded_by(images, t.sm, self.catalog))
        if not yes or yes == universe.device:
            return None
        own = Truth(yes, (universe.device | universe.host) & ~yes)
        truth = own if reach is None else Truth(own.yes & reach.yes, own.no | reach.no)
        spot = place(node, self.data)
        near = self._near(node)
        arm = serving(spot, oneline(node), own, truth)
        arm = replace(arm, features=self._features(images, f"{name} {near}", spot.line))
        about = About(
            reach=reach,
            related=related,
            near=near,
            symbols=(name,) if name else (),
            assumptions=TAKEN_FOR_GRANTED,
            notes=(("images:0", images_note(images)),),
        )
        rest = Effect(Does.SKIPS, spot.line, environment=(environment,) if environment else ())
        return listed(self.path, Layer.BUILD, Kind.BUILD_LIST, arm, rest, about)

    def clamped(self, clamp: Clamp) -> Gate | None:
        """The gate of a step before a flag: who is built for as another GPU, and finds no code in that."""
        universe = self.catalog.universe
        lost = universe.mask(
            t for t in universe.members(clamp.met) if t.sm and not loaded_by(clamp.images, t.sm, self.catalog)
        )
        if not lost:
            return None
        truth = Truth(universe.device & ~lost, universe.host | lost)
        spot = place(clamp.condition, self.data)
        made = images_note(clamp.images)
        notes = (("images:0", made), ("open", "for others what was found"), ("taken-for", made))
        about = About(near=self._near(clamp.condition), assumptions=TAKEN_FOR_GRANTED, notes=notes)
        rest = Effect(Does.SKIPS, spot.line)
        return listed(
            self.path, Layer.BUILD, Kind.BUILD_LIST, serving(spot, oneline(clamp.condition), truth), rest, about
        )

    def _features(self, images: tuple[Image, ...], words: str, line: int) -> tuple[FeatureUse, ...]:
        """What names and comments say, and what suffixes are for."""
        meant = suffix_features(images)
        said = self.recogniser.in_words(words)
        return tuple(FeatureUse(name, line, confidence="low") for name in dict.fromkeys((*said, *meant)))

    def _near(self, node: Node) -> str:
        """The comments above the statement."""
        return " ".join(said_above(node))[:600]
