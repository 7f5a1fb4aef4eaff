"""Evaluates calls: of scanned functions, of what is known by name, of built-ins and methods of constants."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.annotations import returned_object
from archscan.frontends.python.interpreter.classes import attribute, evaluated, row
from archscan.frontends.python.interpreter.frames import MISSING, Frame, Lazy, Outcome
from archscan.frontends.python.interpreter.lanewise import common_to, items_of, logical, truth_of
from archscan.frontends.python.interpreter.operations import (
    BUILTINS,
    CALLABLE,
    COMPARE,
    METHODS,
    apply,
    apply_method,
    is_capability,
    spellings,
)
from archscan.frontends.python.interpreter.patterns import matched, version_of
from archscan.frontends.python.interpreter.values import (
    BuiltinMethod,
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    ListV,
    MatchV,
    Maybe,
    ModuleV,
    PartialV,
    PatternV,
    SetV,
    Split,
    Unknown,
    Value,
    assume,
    depends,
    is_constant,
)
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import arguments, line_of, oneline, text
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.triggers import is_trigger
from archscan.model.gate import Related, Role

if TYPE_CHECKING:
    from archscan.frontends.python.interpreter.evaluate import Interpreter


_WORD = re.compile(rb"[A-Za-z_]\w*")


_LOOKED_AT = 2000
_VERSIONS = frozenset({"Version", "LooseVersion", "parse_version", "parse"})
_MATCHERS = frozenset({"re.match", "re.fullmatch", "re.search"})
_MOST_NAMES = 3
_OF_TARGET = re.compile(r"(?i)target|attrs|device|prop|gpu")  # others' entries are of what was compiled
_FIRST_SM = 20  # a smaller number is a major
_AS_NUMBER = frozenset({"to_int", "as_int"})


def outcome_of(interpreter: Interpreter, node: Node, frame: Frame) -> Outcome:
    """What a call expression returns and where it raises."""
    function = child(node, "function")
    assert function is not None
    positional, keywords = arguments(node)
    name = text(function).rsplit(".", 1)[-1]
    known = _known_call(interpreter, name, node, positional, keywords, frame)
    if known is not MISSING:
        return Outcome(known)
    callee = interpreter.evaluate(function, frame)
    if isinstance(callee, ExternalV):
        return Outcome(_external(interpreter, callee.name, node, positional, keywords, frame))
    method = callee.value if isinstance(callee, Maybe) else callee
    if isinstance(method, BuiltinMethod):
        args = tuple(interpreter.evaluate(a, frame) for a in positional)
        found = _method(interpreter, method, args, node)
        return Outcome(assume(found, callee.names, callee.default) if isinstance(callee, Maybe) else found)
    if isinstance(callee, FuncV) and not _worth(interpreter, callee, [*positional, *keywords.values()], frame):
        return Outcome(_untold(interpreter, callee, name, node, Unknown((oneline(node, 60),))))
    if isinstance(callee, ClassV):  # what an object is made of is evaluated when it is asked for
        named = {k: Lazy(v, frame) for k, v in keywords.items()}
        return interpreter.invoke(callee, tuple(Lazy(a, frame) for a in positional), named)
    if isinstance(callee, (FuncV, PartialV)):
        args = tuple(interpreter.evaluate(a, frame) for a in positional)
        kw = {k: interpreter.evaluate(v, frame) for k, v in keywords.items()}
        outcome = interpreter.invoke(callee, args, kw)
        if isinstance(outcome.value, Unknown):
            unknown = Unknown((oneline(node, 60),), outcome.value.arch)
            return Outcome(_untold(interpreter, callee, name, node, unknown), outcome.raises)
        return Outcome(_summed_up(interpreter, outcome.value, f"{text(function)}(…)"), outcome.raises)
    known = _by_name(interpreter, name, text(function), node)
    if known is not MISSING:
        return Outcome(known)
    if name == "get" and positional and positional[0].type == "string":
        told = _OF_TARGET.search(text(function)) is not None
        held = _entry(interpreter, interpreter.evaluate(positional[0], frame)) if told else None
        if held is not None:
            return Outcome(held)
    if isinstance(callee, Split):
        return Outcome(_each(interpreter, callee, tuple(interpreter.evaluate(a, frame) for a in positional), node))
    return Outcome(Unknown((oneline(node, 60),), given(interpreter, positional[:4], frame)))


def _untold(interpreter: Interpreter, callee: Value, name: str, node: Node, unknown: Unknown) -> Value:
    """What a call gives whose body does not tell: what its name says, or an object of its annotated class."""
    function = child(node, "function")
    known = _by_name(interpreter, name, text(function), node) if function is not None and not unknown.arch else MISSING
    if known is MISSING and not unknown.arch and isinstance(callee, FuncV):
        known = returned_object(interpreter, callee)
    return unknown if known is MISSING else known


def _entry(interpreter: Interpreter, key: Value) -> Value:
    """What an entry of something nobody knows carries by its key, `attrs.get("arch", "")`; None if nothing."""
    seeded = interpreter.seed(key) if isinstance(key, str) else None
    return Capability(True) if isinstance(seeded, Capability) else seeded


def given(interpreter: Interpreter, arguments: list[Node], frame: Frame) -> bool:
    """Whether a name or condition among the arguments holds the target."""
    names = [a for a in arguments if a.type in _CARRIERS]
    return any(_may_carry(interpreter, a, frame) and depends(interpreter.evaluate(a, frame)) for a in names)


_CARRIERS = frozenset(
    {"identifier", "attribute", "subscript", "comparison_operator", "boolean_operator", "not_operator"}
)


def _may_carry(interpreter: Interpreter, node: Node, frame: Frame, hops: int = 4) -> bool:
    """Whether an expression may hold the target, by its words and those its names were bound to: no evaluation."""
    words = set(_WORD.findall((node.text or b"")[:_LOOKED_AT]))
    return any(is_trigger(word) or _name_may_carry(interpreter, word.decode(), frame, hops) for word in words)


def _name_may_carry(interpreter: Interpreter, name: str, frame: Frame, hops: int) -> bool:
    if name in interpreter.asks or not hops:
        return True
    current: Frame | None = frame
    while current is not None:
        if name in current.locals and depends(current.locals[name]):
            return True
        bindings = current.scope.of(name)
        if bindings:
            return _bound_may_carry(interpreter, name, bindings, current, hops)
        current = current.parent
    return False


def _bound_may_carry(interpreter: Interpreter, name: str, bindings: list[Binding], frame: Frame, hops: int) -> bool:
    key = (0, hops, f"{name} carries")
    known = frame.memo.get(key)
    if known is None:
        frame.memo[key] = (False, ())  # what is bound to itself
        values = [b.value for b in bindings if b.value is not None and b.kind not in ("def", "class")]
        known = frame.memo[key] = (any(_may_carry(interpreter, v, frame, hops - 1) for v in values), ())
    return bool(known[0])


def _by_name(interpreter: Interpreter, name: str, full: str, node: Node) -> Value:
    value = interpreter.knowledge.call(full, name, interpreter.lanes)
    return MISSING if value is None else value


def _known_call(
    interpreter: Interpreter, name: str, node: Node, positional: list[Node], keywords: dict[str, Node], frame: Frame
) -> Value:
    """Facades whose comparison is known by name: has_device_capability(90)."""
    sign = interpreter.knowledge.facades.get(name)
    if sign is None or not positional + list(keywords.values()):
        return MISSING
    wanted, *more = [interpreter.evaluate(a, frame) for a in (positional + list(keywords.values()))[:2]]
    minor = more[0] if more and isinstance(more[0], int) else 0
    return interpreter.lanes.lift(lambda w: _facade(interpreter, sign, w, minor), wanted)


def _facade(interpreter: Interpreter, sign: str, wanted: Value, minor: int) -> Value:
    if isinstance(wanted, int) and wanted < _FIRST_SM:
        wanted = wanted * 10 + minor
    if isinstance(wanted, tuple) and len(wanted) == 2:
        wanted = wanted[0] * 10 + wanted[1] if is_constant(wanted) else Unknown()
    if not isinstance(wanted, int):
        return Unknown(("capability",), True)
    if sign == "family":
        return interpreter.lanes.by_target(lambda t: t.major == wanted // 10)
    return interpreter.lanes.by_target(lambda t: bool(COMPARE[sign](t.sm, wanted)))


def _external(
    interpreter: Interpreter, name: str, node: Node, positional: list[Node], keywords: dict[str, Node], frame: Frame
) -> Value:
    short = name.rsplit(".", 1)[-1]
    if short == "partial" and positional:
        return _partial(interpreter, positional, keywords, frame)
    if short in interpreter.knowledge.wrappers:
        return _wrapped(interpreter, positional, node, frame)
    if short in _VERSIONS and positional and (short != "parse" or "version" in name):
        return version_of(interpreter, interpreter.evaluate(positional[0], frame))
    if name in _MATCHERS and len(positional) > 1:
        pattern = interpreter.evaluate(positional[0], frame)
        return matched(interpreter, pattern, short, interpreter.evaluate(positional[1], frame))
    if name == "re.compile" and positional:
        pattern = interpreter.evaluate(positional[0], frame)
        return PatternV(pattern) if isinstance(pattern, str) else Unknown(("re.compile",))
    if short == "import_module" and positional:
        return _imported(interpreter, interpreter.evaluate(positional[0], frame), frame)
    if name in ("os.getenv", "os.environ.get", "getenv", "environ.get"):
        return _getenv(interpreter, positional, frame)
    known = interpreter.knowledge.call(name, short, interpreter.lanes)
    if known is not None:
        return known
    if "." in name or short not in BUILTINS:
        return Unknown((oneline(node, 60),), given(interpreter, positional[:4], frame))
    args = tuple(interpreter.evaluate(a, frame) for a in positional)
    return _builtin(interpreter, short, args, node)


def _imported(interpreter: Interpreter, name: Value, frame: Frame) -> Value:
    """The module that import_module("a.b") gives."""
    found = interpreter.graph.absolute(name, frame.module) if isinstance(name, str) else None
    if found is not None:
        return ModuleV(found)
    return ExternalV(name) if isinstance(name, str) else Unknown(("import_module",))


def _wrapped(interpreter: Interpreter, positional: list[Node], node: Node, frame: Frame) -> Value:
    """lru_cache(f) is f; lru_cache(maxsize=1) is something that gives back what it is called with."""
    return interpreter.evaluate(positional[0], frame) if positional else ExternalV("cache")


def _partial(interpreter: Interpreter, positional: list[Node], keywords: dict[str, Node], frame: Frame) -> Value:
    function = interpreter.evaluate(positional[0], frame)
    args = tuple(interpreter.evaluate(a, frame) for a in positional[1:])
    kw = {k: interpreter.evaluate(v, frame) for k, v in keywords.items()}
    notes = tuple(
        Related(frame.module.path, line_of(v), Role.DEFINITION, f"{k}={oneline(v, 80)}")
        for k, v in keywords.items()
        if (v.type in ("list", "tuple", "set", "integer") and "major" in k) or "capab" in k
    )
    return PartialV(function, args, kw, notes)


def _getenv(interpreter: Interpreter, positional: list[Node], frame: Frame) -> Value:
    if not positional:
        return Unknown(("os.environ",))
    key = interpreter.evaluate(positional[0], frame)
    default = interpreter.evaluate(positional[1], frame) if len(positional) > 1 else None
    return variable(interpreter, key, default)


def variable(interpreter: Interpreter, key: Value, default: Value) -> Value:
    if not isinstance(key, str):
        return Unknown(("os.environ",))
    interpreter.environment[key] = None
    setting = interpreter.knowledge.variable(key)
    if setting is not None:
        return setting
    if default is MISSING:
        return Unknown((key,))
    settled = key in interpreter.knowledge.undefines
    return Maybe(default, (key,), True) if not settled and default in _SWITCHED else default


# What says whether something is on, or set at all.
_SWITCHED = (None, "", "0", "1", "true", "false", "True", "False", "on", "off", "ON", "OFF", "yes", "no", 0, 1)


def _builtin(interpreter: Interpreter, name: str, args: tuple[Value, ...], node: Node) -> Value:
    unknown = Unknown((oneline(node, 60),), any(depends(a) for a in args))
    items = items_of(interpreter.lanes, args[1]) if name == "map" and len(args) == 2 else None
    if items is not None and isinstance(args[0], ExternalV):
        mapped = args[0].name
        return ListV(_builtin(interpreter, mapped, (item,), node) for item in items)
    if name == "getattr" and len(args) > 1 and isinstance(args[1], str):
        found = _named_attribute(interpreter, args[0], args[1])
        # something outside may have the attribute or not: that is why there is a default
        return Unknown(unknown.names) if len(args) > 2 and isinstance(found, ExternalV) else found
    if name in ("isinstance", "hasattr"):  # asks for the type
        return Unknown(unknown.names)
    if name == "iter" and len(args) == 1:
        return args[0]
    alone = args[0] if args and isinstance(args[0], tuple) and len(args[0]) == 1 else None
    if alone is not None and (name == "next" or (name in ("min", "max") and len(args) == 1)):
        return alone[0]
    function = CALLABLE.get(name)
    if function is None or not args:
        return unknown
    if name in ("any", "all") and len(args) == 1 and isinstance(args[0], tuple):
        result: Value = name == "all"
        for item in args[0]:
            result = logical(interpreter.lanes, name == "all", result, truth_of(interpreter.lanes, item))
        return result
    if name == "bool":
        return truth_of(interpreter.lanes, args[0])
    value = interpreter.lanes.lift(lambda *items: apply(function, name, items), *args)
    return unknown if isinstance(value, Unknown) else value


def _summed_up(interpreter: Interpreter, value: Value, call: str) -> Value:
    """An answer that hangs on many conditions inside a function hangs, seen from outside, on the function."""
    if not any(isinstance(one, Maybe) and len(one.names) > _MOST_NAMES for one, _ in interpreter.lanes.groups(value)):
        return value
    return interpreter.lanes.merge(
        (Maybe(one.value, (call,)) if isinstance(one, Maybe) and len(one.names) > _MOST_NAMES else one, mask)
        for one, mask in interpreter.lanes.groups(value)
    )


def _each(interpreter: Interpreter, callee: Split, args: tuple[Value, ...], node: Node) -> Value:
    """What a method gives whose owner differs from target to target."""
    unknown = Unknown((oneline(node, 60),), True)
    return interpreter.lanes.merge(
        (_method(interpreter, one, args, node) if isinstance(one, BuiltinMethod) else unknown, mask)
        for one, mask in callee.groups
    )


def _named_attribute(interpreter: Interpreter, holder: Value, name: str) -> Value:
    lanes = interpreter.lanes
    return lanes.merge((attribute(interpreter, one, name, name), mask) for one, mask in lanes.groups(holder))


def _method(interpreter: Interpreter, method: BuiltinMethod, args: tuple[Value, ...], node: Node) -> Value:
    unknown = Unknown((oneline(node, 60),), depends(method.owner) or any(depends(a) for a in args))
    if isinstance(method.owner, DictV):
        if method.name == "get" and args:
            default = args[1] if len(args) > 1 else None
            return interpreter.lanes.lift(lambda k: row(interpreter, method.owner, k, default), args[0])
        return _of_dict(interpreter, method, unknown)
    if isinstance(method.owner, PatternV) and f"re.{method.name}" in _MATCHERS and args:
        return matched(interpreter, method.owner, method.name, args[0])
    if isinstance(method.owner, MatchV):
        return _group(method, args, unknown)
    if isinstance(method.owner, SetV) and method.name == "intersection" and args:
        return common_to(interpreter.lanes, method.owner, args[0])
    if isinstance(method.owner, Capability):
        return _capability_method(interpreter, method.name, args, unknown)
    if method.name in _AS_NUMBER and is_capability(method.owner):
        return method.owner[0] * 10 + method.owner[1]
    if method.name not in METHODS:
        return unknown
    value = (
        interpreter.lanes.lift(lambda *items: apply_method(method, items), *args) if args else apply_method(method, ())
    )
    return unknown if isinstance(value, Unknown) else value


def _group(method: BuiltinMethod, args: tuple[Value, ...], unknown: Value) -> Value:
    """What a match took: the whole, or a part in brackets."""
    if method.name == "groups":
        return tuple(method.owner[1:])
    at = args[0] if args else 0
    return method.owner[at] if method.name == "group" and type(at) is int and at < len(method.owner) else unknown


def _of_dict(interpreter: Interpreter, method: BuiltinMethod, unknown: Value) -> Value:
    """What a table holds: its keys, values or pairs."""
    if method.owner.open or method.name not in ("keys", "values", "items"):
        return unknown
    rows = [(k, evaluated(interpreter, v)) for k, v in method.owner.rows]
    return ListV(row if method.name == "items" else row[method.name == "values"] for row in rows)


def _capability_method(interpreter: Interpreter, name: str, args: tuple[Value, ...], unknown: Value) -> Value:
    if name in _AS_NUMBER:
        return interpreter.lanes.sm
    if name in ("replace", "strip", "lower", "removeprefix", "lstrip", "rstrip"):
        return Capability(False)
    if name == "split" and args == (".",):
        lanes = interpreter.lanes
        return ListV((lanes.by_target(lambda t: str(t.major)), lanes.by_target(lambda t: str(t.minor))))
    if name in ("startswith", "endswith") and args and isinstance(args[0], (str, tuple)):
        wanted = args[0] if isinstance(args[0], tuple) else (args[0],)
        if all(isinstance(w, str) and any(c.isdigit() for c in w) for w in wanted):
            return interpreter.lanes.by_target(lambda t: any(getattr(s, name)(w) for s in spellings(t) for w in wanted))
    return unknown


def _worth(interpreter: Interpreter, callee: FuncV, arguments: list[Node], frame: Frame) -> bool:
    """Whether a call may have to do with the target: it gets it, asks for it, or is too short to tell."""
    node = callee.node
    if node.end_point[0] - node.start_point[0] <= 6:
        return True
    offsets = callee.module.index.triggers
    at = bisect_left(offsets, node.start_byte)
    if at < len(offsets) and offsets[at] < node.end_byte:
        return True
    return given(interpreter, arguments, frame)
