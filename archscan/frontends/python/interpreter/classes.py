"""Finds members: attributes of modules, classes with their bases and objects, and rows of tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.aliases import is_stored, spoiled_attribute
from archscan.frontends.python.interpreter.containers import VersionV
from archscan.frontends.python.interpreter.frames import END, MISSING, Frame, Lazy
from archscan.frontends.python.interpreter.knowledge import UNSTATED
from archscan.frontends.python.interpreter.lanewise import pairwise
from archscan.frontends.python.interpreter.names import resolve
from archscan.frontends.python.interpreter.operations import is_capability
from archscan.frontends.python.interpreter.values import (
    Assumed,
    BuiltinMethod,
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    MemberV,
    ModuleV,
    PatternV,
    PropertiesV,
    Unknown,
    Value,
    any_of,
    assume,
    depends,
    doubted,
    is_constant,
    is_mutable,
    is_nested,
    set_once,
)
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.syntax import heading, operands, text
from archscan.frontends.python.source.triggers import occurrences
from archscan.sources.lines import matches

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


def attribute(interpreter: Interpreter, holder: Value, name: str, full: str) -> Value:
    """An attribute of a value; `full` is the source text."""
    if isinstance(holder, Assumed):
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
        return ExternalV(dotted) if known is UNSTATED else known
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
    if isinstance(holder, MemberV) and name in ("value", "name", "_value_", "_name_"):
        return holder.value if "value" in name else holder.name
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
    maybe: tuple[str, ...] = ()  # what a later row hangs on that may hold the key as well
    for known, value in reversed(table.rows):  # of equal keys the last one holds
        hit = lanes.lift(lambda a, b: pairwise(lanes, "==", a, b), key, known)
        taken = sum(mask for one, mask in lanes.groups(hit) if one is True) & left
        if taken:
            parts.append((doubted(evaluated(interpreter, value), maybe), taken))
            left &= ~taken
        if any(not isinstance(one, bool) for one, _ in lanes.groups(hit)):
            unsure, maybe = True, ("table",)
    return lanes.merge([*parts, (Unknown(("table",)) if unsure else default, left)])


def any_row(interpreter: Interpreter, table: DictV, key: Unknown, *default: Value) -> Value:
    """The value of a table under a key that nobody can tell: one of its rows, or the default."""
    if table.open or key.arch or not 0 < len(table.rows) <= _FEW_ROWS:
        return MISSING
    found = any_of([*(evaluated(interpreter, value) for _, value in table.rows), *default], key.names)
    return MISSING if isinstance(found, Unknown) else found


_FEW_ROWS = 8


def evaluated(interpreter: Interpreter, value: Value) -> Value:
    """The value of a table's row or an object's field, which may have waited until it was asked for."""
    return interpreter.evaluate(value.node, value.frame) if isinstance(value, Lazy) else value


def class_member(interpreter: Interpreter, cls: ClassV, name: str, receiver: Value) -> Value:
    """A class attribute through the bases, methods bound to the receiver; MISSING if there is none."""
    for owner in mro(interpreter, cls):
        frame = interpreter.class_frame(owner)
        if frame.scope.holds(name):
            value = resolve(interpreter, name, frame, END)
            value = _bind(interpreter, value, frame.scope.bindings[name][-1], receiver)
            if is_constant(value) and _is_member(frame.scope.bindings[name], name) and is_enum(owner):
                value = MemberV(f"{owner.module.path}:{owner.node.start_byte}", name, value)
            return unchanged(interpreter, value, owner, name, 0)
    return MISSING


def is_enum(cls: ClassV) -> bool:
    """Whether a class is an enumeration whose members are no numbers or texts themselves."""
    holder = child(cls.node, "superclasses")
    bases = [text(base).rsplit(".", 1)[-1] for base in operands(holder)] if holder is not None else []
    return bases == ["Enum"]


def _is_member(bindings: list[Binding], name: str) -> bool:
    return len(bindings) == 1 and bindings[0].kind == "assign" and not name.startswith("_")


def _bind(interpreter: Interpreter, value: Value, binding: Binding, receiver: Value) -> Value:
    if isinstance(value, FuncV) and binding.kind == "assign":  # a lambda or another function, bound to its object
        return Unknown((binding.name,), lost=True) if isinstance(receiver, InstanceV) else value
    if not isinstance(value, FuncV) or binding.kind != "def":
        return value
    kinds = {text(c.named_children[0]).rsplit(".", 1)[-1] for c in binding.node.named_children if c.type == "decorator"}
    if "staticmethod" in kinds:
        return value
    bound = receiver
    if "classmethod" in kinds and isinstance(receiver, InstanceV):
        bound = receiver.cls
    if not isinstance(bound, InstanceV) and "classmethod" not in kinds:
        return value  # taken from the class itself: its self is yet to be given
    method = FuncV(value.module, value.node, value.frame, bound, True, value.doubt)
    if kinds & {"property", "cached_property"}:
        return interpreter.invoke(method, (), {}).value
    return method


def mro(interpreter: Interpreter, cls: ClassV, seen: tuple[ClassV, ...] = ()) -> list[ClassV]:
    """The class and its scanned bases in the order that Python looks them up."""
    holder = child(cls.node, "superclasses")
    rows: list[list[ClassV]] = []
    bases: list[ClassV] = []
    for base in operands(holder) if holder is not None and len(seen) < 8 else ():
        value = interpreter.evaluate(base, cls.frame) if base.type != "keyword_argument" else None
        if isinstance(value, ClassV) and value not in seen and value is not cls:
            rows.append(mro(interpreter, value, (*seen, cls)))
            bases.append(value)
    found = [cls]
    rows.append(bases)
    while rows := [row for row in rows if row]:
        heads = [row[0] for row in rows]
        first = next((h for h in heads if not any(h in row[1:] for row in rows)), heads[0])
        found.append(first)
        rows = [[c for c in row if c is not first] for row in rows]
    return found


def instance_member(interpreter: Interpreter, instance: InstanceV, name: str) -> Value:
    """An attribute of an object: constructor fields, `self.x` of __init__, then the class, then other methods."""
    if name in instance.fields:
        here = name in instance.stored
        if here and is_intercepted(interpreter, instance.cls, name):
            return Unknown((name,), lost=True)
        return unchanged(interpreter, evaluated(interpreter, instance.fields[name]), instance.cls, name, here)
    classes = mro(interpreter, instance.cls)
    if any(interpreter.class_frame(c).scope.holds("__getattribute__") for c in classes):
        return Unknown((name,), lost=True)
    for owner in _initialised(interpreter, classes):
        frame = interpreter.class_frame(owner)
        value = _set_in_init(interpreter, owner, frame, instance, name)
        if value is not MISSING:
            return _of_heirs(interpreter, value, instance, name)
    held = next((f for f in map(interpreter.class_frame, classes) if f.scope.holds(name)), None)
    if held is not None and _is_default(held.scope.bindings[name], not instance.made and _is_record(classes)):
        return Unknown((name,), lost=True)
    value = class_member(interpreter, instance.cls, name, instance)
    if value is MISSING:
        return _set_by_methods(interpreter, classes, name)
    return _of_heirs(interpreter, value, instance, name)


def is_intercepted(interpreter: Interpreter, cls: ClassV, name: str) -> bool:
    """Whether a class may do something else than to keep what is stored in an attribute: a property does."""
    scopes = [interpreter.class_frame(one).scope for one in mro(interpreter, cls)]
    return any(s.holds("__setattr__") or any(b.kind == "def" for b in s.of(name)) for s in scopes)


def _of_heirs(interpreter: Interpreter, value: Value, instance: InstanceV, name: str) -> Value:
    """What a method's own object has: others that derive from its class may have something else."""
    if instance.made or isinstance(value, Unknown):
        return value
    for heir in heirs(interpreter, instance.cls):
        if interpreter.class_frame(heir).scope.holds(name):
            return doubted(value, set_once(f".{name}"))
    return value


def heirs(interpreter: Interpreter, cls: ClassV) -> list[ClassV]:
    """The classes at the top of the class's module that derive from it."""
    module = cls.module
    key = ("heirs", cls.node.start_byte)
    if key not in module.memo:
        module.memo[key] = []
        found: list[ClassV] = []
        names = [cls.name]
        for one in names:
            for match in _derived(module):
                if one.encode() not in _BASES.findall(match[2]):
                    continue
                path = module.descend(match.start(1))
                node = next((n for n in reversed(path) if n.type == "class_definition"), None)
                if node is not None and node.start_byte != cls.node.start_byte:
                    at = path.index(node)
                    found.append(interpreter.class_of(module, node, interpreter.frame_at(module, path[: at + 1])))
                    names.append(match[1].decode("utf-8", "replace"))
            if len(names) > _MOST_HEIRS:
                break
        module.memo[key] = found
    return module.memo[key]  # type: ignore[no-any-return]


def _derived(module: Module) -> list[re.Match[bytes]]:
    """The classes of a module that name what they derive from."""
    key = ("derived",)
    if key not in module.memo:
        places = (word.start() for word in re.finditer(rb"class[ \t]", module.data))
        module.memo[key] = [match for at in places if (match := _DERIVES.match(module.data, at))]
    return module.memo[key]  # type: ignore[return-value]


_DERIVES = re.compile(rb"\bclass[ \t]+(\w+)[ \t]*\(([^)]*)")
_BASES = re.compile(rb"\w+")
_MOST_HEIRS = 40


def unchanged(interpreter: Interpreter, value: Value, owner: ClassV, name: str, replayed: int) -> Value:
    """An attribute's value, if nothing in the module of its class sets or changes it but what was read."""
    if isinstance(value, (Unknown, ModuleV)) or value is MISSING:
        return value
    module = owner.module
    if module.doubts:
        value = doubted(value, module.doubts)
    stores = _stores_of(interpreter, owner, name)
    if stores > replayed:
        return Unknown((name,), lost=True) if _is_switch(value) else doubted(value, set_once(f".{name}"))
    if is_mutable(value):
        why = spoiled_attribute(interpreter, module, name, is_nested(value))
        if why is not None:
            return why.of(value)
    return value


def _is_switch(value: Value) -> bool:
    return isinstance(value, bool) or value is None


def _stores_of(interpreter: Interpreter, owner: ClassV, name: str) -> int:
    """How often the module of a class gives an attribute of that name a value, unrelated classes left out."""
    module = owner.module
    key = ("stores", owner.node.start_byte, name)
    if key not in module.memo:
        module.memo[key] = _count_stores(interpreter, owner, name)
    return module.memo[key]  # type: ignore[no-any-return]


_SETTERS = re.compile(rb"(?:\bset|\bdel|__set|__del)attr(?:__)?\s*\(([^\n]*)")
_PATCHED = re.compile(rb"patch[^\n]*?[\"'.](\w+)[\"']")
_QUOTED = re.compile(rb"[\"'](\w+)[\"']")
_DICTS = re.compile(
    rb"__dict__\s*(?:\[|\.(?:update|setdefault|pop|clear))|\.__(?:dict|class|bases|getattribute|getattr)__\s*=(?!=)"
    rb"|(?<![\w.])vars\([^)\n]"
)
# What may follow an attribute that is given a value: the longest operators are three characters.
_GIVEN = re.compile(rb"[ \t]*(?:(?:[-+*/|&^%@]|//|>>|<<|\*\*)?=(?!=)|[,)\]:\\]|in\b)")


def _set_by_text(module: Module) -> tuple[bool, frozenset[bytes]]:
    """Whether a module sets attributes of any name, and the names that it sets by a text: `setattr(k, "need", 9)`."""
    key = ("set by text",)
    known = module.memo.get(key)
    if known is None:
        data = module.data
        any_name, names = False, set[bytes]()
        for match in matches(_SETTERS, data, b"attr"):
            quoted = _QUOTED.findall(match[1])
            names.update(quoted)
            any_name = any_name or not quoted or any(sign in match[1] for sign in (b"+", b"f'", b'f"', b"%"))
        names.update(match[1] for match in matches(_PATCHED, data, b"patch"))
        any_name = any_name or any(matches(_DICTS, data, b"__dict__", b".__", b"vars("))
        known = module.memo[key] = (any_name, frozenset(names))
    return known  # type: ignore[return-value]


def _count_stores(interpreter: Interpreter, owner: ClassV, name: str) -> int:
    module = owner.module
    data, word = module.data, name.encode()
    any_name, names = _set_by_text(module)
    found = int(any_name or word in names)
    for offset in occurrences(data, word):
        if data[offset - 1 : offset] != b".":
            continue
        if _GIVEN.match(data, offset + len(word)) is None and not _is_after_word(data, offset):
            continue
        path = module.descend(offset)
        at = next((i for i in range(len(path) - 1, -1, -1) if path[i].type == "attribute"), None)
        if at is None or path[-1].type != "identifier" or path[-1] != child(path[at], "attribute"):
            continue
        if is_stored(path, at) and not _is_of_another(interpreter, owner, path, at):
            found += 1
    return found


def _is_after_word(data: bytes, offset: int) -> bool:
    """Whether the line of an attribute may delete it or bind it with `as`."""
    before = data[data.rfind(b"\n", 0, offset) + 1 : offset]
    return b"del " in before or b" as " in before


def _is_of_another(interpreter: Interpreter, owner: ClassV, path: list[Node], at: int) -> bool:
    """Whether an attribute is of a class that has nothing to do with one."""
    module = owner.module
    receiver = child(path[at], "object")
    if receiver is None or receiver.type != "identifier":
        return False
    around = [i for i, node in enumerate(path) if node.type == "class_definition"]
    if text(receiver) in ("self", "cls") and around:
        cls = interpreter.class_of(module, path[around[-1]], interpreter.frame_at(module, path[: around[-1] + 1]))
    else:
        value = interpreter.evaluate(receiver, interpreter.frame_at(module, path))
        if isinstance(value, ModuleV):
            return True
        if not isinstance(value, (InstanceV, ClassV)):
            return False
        cls = value.cls if isinstance(value, InstanceV) else value
    if not isinstance(cls, ClassV) or cls is owner:
        return False
    return owner not in mro(interpreter, cls) and cls not in mro(interpreter, owner)


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


def _initialised(interpreter: Interpreter, classes: list[ClassV]) -> list[ClassV]:
    """The classes of an object whose constructors run: those behind one that calls no other do not."""
    for number, owner in enumerate(classes, 1):
        for binding in interpreter.class_frame(owner).scope.of("__init__"):
            body = child(binding.value, "body") if binding.value is not None else None
            if body is not None and b"__init__" not in (body.text or b""):
                return classes[:number]
    return classes


def _set_in_init(interpreter: Interpreter, owner: ClassV, frame: Frame, instance: InstanceV, name: str) -> Value:
    for method in ("__init__", "__post_init__", "setup"):
        for binding in frame.scope.of(method):
            if binding.kind != "def" or binding.value is None:
                continue
            inner_frame = interpreter.entry_frame(owner.module, binding.value, frame)
            made = instance.init
            if made is not None and made.scope is inner_frame.scope:
                inner_frame = made
            bound = inner_frame.scope.bindings.get(f"self.{name}")
            if bound is not None:
                value = resolve(interpreter, f"self.{name}", inner_frame, END)
                if is_constant(value) and _is_default(bound, False):
                    later = _set_by_methods(interpreter, [owner], name)
                    return Unknown((name,), lost=True) if later is MISSING else later
                if value is not MISSING:
                    return unchanged(interpreter, value, owner, name, len(bound))
    return MISSING


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
                return unchanged(interpreter, assume(value, set_once(f".{name}")), owner, name, 1)
    return MISSING
