"""Finds members: attributes of modules, classes with their bases and objects, and rows of tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.frames import END, MISSING, Frame, Lazy
from archscan.frontends.python.interpreter.knowledge import Knowledge
from archscan.frontends.python.interpreter.lanewise import pairwise
from archscan.frontends.python.interpreter.names import resolve
from archscan.frontends.python.interpreter.operations import is_capability
from archscan.frontends.python.interpreter.values import (
    BuiltinMethod,
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    Maybe,
    ModuleV,
    PatternV,
    PropertiesV,
    Split,
    Unknown,
    Value,
    VersionV,
    assume,
    depends,
    is_constant,
)
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import heading, operands, text
from archscan.frontends.python.source.triggers import occurrences

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


_MISSING_CONSTANT = Knowledge.MISSING


def attribute(interpreter: Interpreter, holder: Value, name: str, full: str) -> Value:
    """An attribute of a value; `full` is the source text."""
    if isinstance(holder, Maybe):
        return assume(attribute(interpreter, holder.value, name, full), holder.names, holder.default)
    value = _scanned_attribute(interpreter, holder, name)
    if isinstance(value, Unknown) and isinstance(holder, InstanceV):
        told = interpreter.knowledge.seed_attribute(full, name, interpreter.lanes)
        value = value if told is None or (value.arch and not isinstance(told, Capability)) else told
    if value is MISSING:
        value = _part(interpreter, holder, name)
    if value is not MISSING:
        return value
    if isinstance(holder, ExternalV):
        dotted = f"{holder.name}.{name}"
        known = interpreter.knowledge.constant(dotted)
        member = _MEMBER.search(dotted)
        if member is not None:
            return int(member[1])
        return ExternalV(dotted) if known is _MISSING_CONSTANT else known
    if isinstance(holder, Capability) and interpreter.seed(name) is not None:  # `arch.sm_version`
        return interpreter.seed(name)
    if isinstance(holder, (str, tuple, DictV, Capability, PatternV)) and not isinstance(holder, Unknown):
        return BuiltinMethod(holder, name)
    return _seeded_attribute(interpreter, holder, name, full)


_MEMBER = re.compile(r"(?:^|\.)[A-Z]\w*\.sm_?(\d{2,3})[af]?$")  # of an enumeration of chips: `Arch.sm_100f`


def _scanned_attribute(interpreter: Interpreter, holder: Value, name: str) -> Value:
    if isinstance(holder, ModuleV):
        holder.module.is_asked = True
        return interpreter.member(holder.module, name)
    if isinstance(holder, ClassV):
        return class_member(interpreter, holder, name, holder)
    return instance_member(interpreter, holder, name) if isinstance(holder, InstanceV) else MISSING


def _part(interpreter: Interpreter, holder: Value, name: str) -> Value:
    """A number of a capability, of a device's properties or of a version; `.value` of a wrapped one is itself."""
    if isinstance(holder, VersionV) and name in ("major", "minor", "release"):
        return holder if name == "release" else (*holder, 0, 0)[0 if name == "major" else 1]
    if name in ("major", "minor") and (isinstance(holder, PropertiesV) or is_capability(holder)):
        if isinstance(holder, tuple):
            return holder[0 if name == "major" else 1]
        return interpreter.lanes.major if name == "major" else interpreter.lanes.minor
    if name in _SHARED and isinstance(holder, PropertiesV):
        return interpreter.lanes.shared
    wrapped = name == "value" and (isinstance(holder, Capability) or type(holder) is int)
    return holder if wrapped else MISSING


_SHARED = frozenset({"shared_memory_per_block_optin", "max_shared_mem"})  # torch 2.14.1, triton 3.9.0


def _seeded_attribute(interpreter: Interpreter, holder: Value, name: str, full: str) -> Value:
    seeded = interpreter.knowledge.seed_attribute(full, name, interpreter.lanes)
    if seeded is not None:
        return seeded
    return Unknown((full[:60],), isinstance(holder, Unknown) and holder.arch and False)


def row(interpreter: Interpreter, table: DictV, key: Value, default: Value) -> Value:
    """The value of a table under a key; of one that is the target itself, each target's."""
    lanes = interpreter.lanes
    parts: list[tuple[Value, int]] = []
    left, unsure = lanes.all, table.open
    for known, value in table.rows:
        hit = pairwise(lanes, "==", key, known) if not isinstance(known, (Unknown, Split)) else False
        if hit is True:
            return lanes.merge([*parts, (evaluated(interpreter, value), left)])
        unsure = unsure or isinstance(hit, (Unknown, Maybe))
        taken = sum(mask for one, mask in lanes.groups(hit) if one is True) & left
        if taken:
            parts.append((evaluated(interpreter, value), taken))
            left &= ~taken
    return lanes.merge([*parts, (Unknown(("table",)) if unsure else default, left)])


def evaluated(interpreter: Interpreter, value: Value) -> Value:
    """The value of a table's row or an object's field, which may have waited until it was asked for."""
    return interpreter.evaluate(value.node, value.frame) if isinstance(value, Lazy) else value


def class_member(interpreter: Interpreter, cls: ClassV, name: str, receiver: Value) -> Value:
    """A class attribute through the bases, methods bound to the receiver; MISSING if there is none."""
    for owner in mro(interpreter, cls):
        frame = interpreter.class_frame(owner)
        if frame.scope.holds(name):
            if _is_default(frame.scope.bindings[name], False) and _is_set(owner, name):
                return Unknown((name,))
            value = resolve(interpreter, name, frame, END)
            return _bind(interpreter, value, frame.scope.bindings[name][-1], receiver)
    return MISSING


def _bind(interpreter: Interpreter, value: Value, binding: Binding, receiver: Value) -> Value:
    if not isinstance(value, FuncV) or binding.kind != "def":
        return value
    kinds = {text(c.named_children[0]).rsplit(".", 1)[-1] for c in binding.node.named_children if c.type == "decorator"}
    if "staticmethod" in kinds:
        return value
    bound = receiver
    if "classmethod" in kinds and isinstance(receiver, InstanceV):
        bound = receiver.cls
    method = FuncV(value.module, value.node, value.frame, bound, True)
    if kinds & {"property", "cached_property"}:
        return interpreter.invoke(method, (), {}).value
    return method


def mro(interpreter: Interpreter, cls: ClassV, seen: tuple[ClassV, ...] = ()) -> list[ClassV]:
    """The class and its scanned bases, nearest first."""
    found = [cls]
    holder = child(cls.node, "superclasses")
    for base in operands(holder) if holder is not None and len(seen) < 8 else ():
        value = interpreter.evaluate(base, cls.frame) if base.type != "keyword_argument" else None
        if isinstance(value, ClassV) and value not in seen and value is not cls:
            found += [c for c in mro(interpreter, value, (*seen, cls)) if c not in found]
    return found


def instance_member(interpreter: Interpreter, instance: InstanceV, name: str) -> Value:
    """An attribute of an object: constructor fields, `self.x` of __init__, then the class, then other methods."""
    if name in instance.fields:
        return evaluated(interpreter, instance.fields[name])
    classes = mro(interpreter, instance.cls)
    for owner in classes:
        frame = interpreter.class_frame(owner)
        value = _set_in_init(interpreter, owner, frame, instance, name)
        if value is not MISSING:
            return value
    held = next((f for f in map(interpreter.class_frame, classes) if f.scope.holds(name)), None)
    if held is not None and _is_default(held.scope.bindings[name], not instance.made and _is_record(classes)):
        return Unknown((name,))
    value = class_member(interpreter, instance.cls, name, instance)
    return _set_by_methods(interpreter, classes, name) if value is MISSING else value


def _is_default(bindings: list[Binding], of_record: bool) -> bool:
    """Whether all that is said of an attribute is what it is by default: on or off; of a record's, any constant."""
    value = bindings[0].value
    return len(bindings) == 1 and value is not None and value.type in (_SETTINGS if of_record else _SWITCHES)


_SWITCHES = frozenset({"true", "false"})
_SETTINGS = _SWITCHES | {"none", "integer", "float", "string", "unary_operator"}


def _is_record(classes: list[ClassV]) -> bool:
    """Whether whoever makes an object of the class gives values to what its body declares."""
    return any(_RECORD.search(heading(cls.node)) for cls in classes)


_RECORD = re.compile(rb"@[\w.]*(?:dataclass|\battrs?\b|define\b)|\b(?:BaseModel|BaseSettings|NamedTuple|Struct)\b")


def _is_set(cls: ClassV, name: str) -> bool:
    """Whether the module of a class sets an attribute of it from outside: `Backends.fa3 = True`."""
    key = ("sets", cls.name, name)
    memo = cls.module.memo
    if key not in memo:
        pattern = rb"(?<![\w.])" + re.escape(f"{cls.name}.{name}".encode()) + rb"\s*=(?!=)"
        memo[key] = re.search(pattern, cls.module.data) is not None
    return bool(memo[key])


def _set_in_init(interpreter: Interpreter, owner: ClassV, frame: Frame, instance: InstanceV, name: str) -> Value:
    for method in ("__init__", "__post_init__", "setup"):
        for binding in frame.scope.of(method):
            if binding.kind != "def" or binding.value is None:
                continue
            inner_frame = interpreter.entry_frame(owner.module, binding.value, frame)
            bound = inner_frame.scope.bindings.get(f"self.{name}")
            if bound is not None:
                value = resolve(interpreter, f"self.{name}", inner_frame, END)
                if is_constant(value) and (_is_default(bound, False) or _is_set_again(owner, name, binding.value)):
                    later = _set_by_methods(interpreter, [owner], name)
                    return Unknown((name,)) if later is MISSING else later
                if value is not MISSING:
                    return value
    return MISSING


def _is_set_again(owner: ClassV, name: str, method: Node) -> bool:
    """Whether an attribute gets a value outside of the method as well."""
    return any(not method.start_byte <= at < method.end_byte for at in _stores(owner, name))


def _stores(owner: ClassV, name: str) -> list[int]:
    """Where the module of a class says `self.name = …`."""
    data, words = owner.module.data, f"self.{name} =".encode()
    return [at for at in occurrences(data, words) if data[at + len(words) : at + len(words) + 1] != b"="]


def _set_by_methods(interpreter: Interpreter, classes: list[ClassV], name: str) -> Value:
    """The value that some method gives an attribute: the one that asks for the target; MISSING if none does."""
    for owner in classes:
        for offset in _stores(owner, name):
            path = owner.module.descend(offset)
            if not any(n.type == "class_definition" and n.start_byte == owner.node.start_byte for n in path):
                continue
            frame = interpreter.frame_at(owner.module, path)
            full = f"self.{name}"
            value = resolve(interpreter, full, frame, END) if full in frame.scope.bindings else MISSING
            if depends(value):
                return value
    return MISSING
