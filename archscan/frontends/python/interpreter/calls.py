"""Evaluates calls: of scanned functions, of what is known by name, of built-ins and methods of constants."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from tree_sitter import Node

from archscan.frontends.python.interpreter.annotations import returned_object
from archscan.frontends.python.interpreter.classes import any_row, attribute, evaluated, mro, row
from archscan.frontends.python.interpreter.containers import AlikeV, IterV, ListV, MatchV, SetV, ViewV
from archscan.frontends.python.interpreter.frames import MISSING, VARIABLE, Frame, Lazy, Outcome
from archscan.frontends.python.interpreter.lanewise import common_to, items_of, logical, truth_of
from archscan.frontends.python.interpreter.operations import (
    COMPARE,
    LONGEST_LOOP,
    is_capability,
    spellings,
    table_of,
)
from archscan.frontends.python.interpreter.patterns import matched, version_of
from archscan.frontends.python.interpreter.pure import ANY_ORDER, BUILTINS, PURE, applied, method_of
from archscan.frontends.python.interpreter.special import ASKING, sent
from archscan.frontends.python.interpreter.values import (
    Assumed,
    BuiltinMethod,
    Capability,
    ClassV,
    DictV,
    ExternalV,
    FuncV,
    InstanceV,
    ModuleV,
    PartialV,
    Partitioned,
    PatternV,
    PerTarget,
    Unknown,
    Value,
    assume,
    depends,
    doubted,
    is_constant,
    is_mutable,
    set_once,
)
from archscan.frontends.python.source.modules import Module
from archscan.frontends.python.source.scopes import Binding
from archscan.frontends.python.source.syntax import arguments, heading, line_of, oneline, operands, text
from archscan.frontends.python.source.syntax import field as child
from archscan.frontends.python.source.triggers import is_trigger
from archscan.model.gate import Related, Role
from archscan.sources.lines import matches

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
    known = _known_call(interpreter, name, function, positional, keywords, frame)
    if known is not MISSING:
        return Outcome(known)
    callee = interpreter.evaluate(function, frame)
    holder = child(node, "arguments")
    if holder is not None and any(a.type in _SPLATS for a in holder.named_children):
        return _splatted(interpreter, callee, holder, node, frame)
    if isinstance(callee, ExternalV):
        if name in _READERS and _is_changed_library(frame.module, name):
            return Outcome(Unknown((oneline(node, 60),), True, lost=True))
        return Outcome(_external(interpreter, callee.name, node, positional, keywords, frame))
    method = callee.value if isinstance(callee, Assumed) else callee
    if isinstance(method, BuiltinMethod):
        args = tuple(interpreter.evaluate(a, frame) for a in positional)
        named = {k: interpreter.evaluate(v, frame) for k, v in keywords.items()}
        found = _method(interpreter, method, args, named, node)
        return Outcome(assume(found, callee.names, callee.default) if isinstance(callee, Assumed) else found)
    if isinstance(callee, (ClassV, FuncV, PartialV)):
        return _invoked(interpreter, callee, name, node, positional, keywords, frame)
    if isinstance(callee, Unknown) and callee.lost:
        return Outcome(Unknown((oneline(node, 60),), callee.arch, lost=True))
    if isinstance(callee, InstanceV) and not keywords:
        answer = sent(interpreter, callee, "__call__", tuple(interpreter.evaluate(a, frame) for a in positional))
        if answer is not MISSING:
            return Outcome(answer)
    known = _by_name(interpreter, name, text(function), node)
    if known is not MISSING:
        return Outcome(known)
    if name == "get" and positional and positional[0].type == "string":
        told = _OF_TARGET.search(text(function)) is not None
        held = _entry(interpreter, interpreter.evaluate(positional[0], frame)) if told else None
        if held is not None:
            return Outcome(held)
    return _of_unknown(interpreter, callee, node, frame)


def _of_unknown(interpreter: Interpreter, callee: Value, node: Node, frame: Frame) -> Outcome:
    """What a call comes to of something that nobody can tell, or that differs between targets."""
    positional, keywords = arguments(node)
    if isinstance(callee, Partitioned):
        args = tuple(interpreter.evaluate(a, frame) for a in positional)
        named = {k: interpreter.evaluate(v, frame) for k, v in keywords.items()}
        return Outcome(_each(interpreter, callee, args, named, node))
    return Outcome(Unknown((oneline(node, 60),), given(interpreter, positional[:4], frame)))


def _invoked(
    interpreter: Interpreter, callee: ClassV | FuncV | PartialV, name: str, node: Node,
    positional: list[Node], keywords: dict[str, Node], frame: Frame,
) -> Outcome:  # fmt: skip
    """What a call of something scanned comes to."""
    if isinstance(callee, FuncV) and not _worth(interpreter, callee, [*positional, *keywords.values()], frame):
        return Outcome(_untold(interpreter, callee, name, node, Unknown((oneline(node, 60),))))
    if isinstance(callee, ClassV):  # what an object is made of is evaluated when it is asked for
        named: dict[str, Value] = {k: Lazy(v, frame) for k, v in keywords.items()}
        return interpreter.invoke(callee, tuple(Lazy(a, frame) for a in positional), named)
    args = tuple(interpreter.evaluate(a, frame) for a in positional)
    outcome = interpreter.invoke(callee, args, {k: interpreter.evaluate(v, frame) for k, v in keywords.items()})
    if isinstance(callee, FuncV) and is_mutable(outcome.value) and b"cache" in heading(callee.node):
        return Outcome(doubted(outcome.value, set_once(name)), outcome.raises)  # all who call it have the same one
    if isinstance(outcome.value, Unknown):
        asks = outcome.value.arch or any(depends(arg) for arg in args)
        unknown = Unknown((oneline(node, 60),), asks, lost=outcome.value.lost)
        return Outcome(_untold(interpreter, callee, name, node, unknown), outcome.raises)
    function = child(node, "function") or node
    return Outcome(_summed_up(interpreter, outcome.value, f"{text(function)}(…)"), outcome.raises)


_SPLATS = ("list_splat", "dictionary_splat")


def _splatted(interpreter: Interpreter, callee: Value, holder: Node, node: Node, frame: Frame) -> Outcome:
    """What a call comes to whose arguments are spread from containers: they have to be known."""
    spread = _spread(interpreter, holder, frame)
    if spread is None:
        return Outcome(Unknown((oneline(node, 60),), given(interpreter, arguments(node)[0][:4], frame), lost=True))
    args, named = spread
    lost = Unknown((oneline(node, 60),), any(depends(one) for one in (*args, *named.values())), lost=True)
    if callee == _PAIR:
        return Outcome(interpreter.lanes.whole(args))
    if isinstance(callee, ExternalV) and callee.name in PURE:
        return Outcome(_builtin(interpreter, callee.name, args, named, node))
    if not isinstance(callee, (FuncV, PartialV, ClassV)):
        function = text(node.named_children[0])
        known = _by_name(interpreter, function.rsplit(".", 1)[-1], function, node)
        return Outcome(lost if known is MISSING else known)
    outcome = interpreter.invoke(callee, args, named)
    return outcome if not isinstance(outcome.value, Unknown) else Outcome(lost, outcome.raises)


def _spread(interpreter: Interpreter, holder: Node, frame: Frame) -> tuple[tuple[Value, ...], dict[str, Value]] | None:
    """The arguments that are written and spread; None where nobody knows how many there are."""
    args: list[Value] = []
    named: dict[str, Value] = {}
    for argument in operands(holder):
        value = child(argument, "value") if argument.type == "keyword_argument" else argument
        if argument.type in _SPLATS:
            value = argument.named_children[0]
        if value is None:
            return None
        held = interpreter.evaluate(value, frame)
        if argument.type == "list_splat":
            items = items_of(interpreter.lanes, held)
            if items is None or isinstance(held, SetV):
                return None
            args.extend(items)
        elif argument.type == "dictionary_splat":
            rows = [(k, v) for k, v in held.rows if isinstance(k, str)] if isinstance(held, DictV) else []
            if not isinstance(held, DictV) or held.open or len(rows) < len(held.rows):
                return None
            named.update((k, evaluated(interpreter, v)) for k, v in rows)
        elif argument.type == "keyword_argument":
            named[text(argument.named_children[0])] = held
        else:
            args.append(held)
    return tuple(args), named


_PAIR = ExternalV("<pair>")  # a named tuple of major and minor: what it makes is that pair
_FIELDS = re.compile(r"[\[(]?[\"']major(?:,? |[\"'], ?[\"'])minor[\"'][\])]?")
_READERS = frozenset({"get_device_capability", "get_device_properties", "is_available"})
_READ = tuple(sorted(name.encode() for name in _READERS))
_PATCHES = re.compile(rb"(?:setattr|patch|__dict__)[^\n]*?[\"'.](\w+)[\"']|\.(\w+)[ \t]*=(?!=)[ \t]*(?:lambda|\w)")
_REPLACES = re.compile(rb"sys\.modules\[\s*[\"']torch[\w.]*[\"']\s*\]\s*=(?!=)")


def _is_changed_library(module: Module, name: str) -> bool:
    """Whether a module puts something of its own in the place of a library's function."""
    key = ("patched",)
    if key not in module.memo:
        words = module.data if b"get_device_" in module.data or b"is_available" in module.data else b""
        found = {one for match in matches(_PATCHES, words, *_READ) for one in match.groups() if one}
        if words and b"sys.modules" in words and _REPLACES.search(words):
            found |= {one.encode() for one in _READERS}
        module.memo[key] = found
    return name.encode() in module.memo[key]  # type: ignore[operator]


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
    {
        "identifier", "attribute", "subscript", "comparison_operator", "boolean_operator", "not_operator",
        "binary_operator", "tuple",
    }
)  # fmt: skip


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
    interpreter: Interpreter, name: str, function: Node, positional: list[Node], keywords: dict[str, Node], frame: Frame
) -> Value:
    """Facades whose comparison is known by name: has_device_capability(90)."""
    sign = interpreter.knowledge.facades.get(name)
    if sign is None or not positional + list(keywords.values()):
        return MISSING
    if function.type == "identifier" and isinstance(interpreter.evaluate(function, frame), FuncV):
        return MISSING  # the source says what it does
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
    if name == _PAIR.name:
        return interpreter.lanes.whole(tuple(interpreter.evaluate(a, frame) for a in positional))
    if short == "namedtuple" and len(positional) == 2 and _FIELDS.fullmatch(text(positional[1])):
        return _PAIR
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
    if name in PURE or name in BUILTINS:
        args = tuple(interpreter.evaluate(a, frame) for a in positional)
        return _builtin(interpreter, name, args, {k: interpreter.evaluate(v, frame) for k, v in keywords.items()}, node)
    return Unknown((oneline(node, 60),), given(interpreter, positional[:4], frame))


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
    return variable(interpreter, key, default, frame.module)


_STORES = re.compile(
    rb"environ(?:b?\[\s*([^\]\n]*)\]\s*[|+]?=(?!=)|\.(?:update|setdefault|pop|clear)\b|\s*\|=)|\bputenv\b"
)


def _is_set_by(module: Module, key: str) -> bool:
    """Whether a module sets an environment variable itself, or ones that nobody can tell."""
    memo = ("sets variables",)
    if memo not in module.memo:
        words = module.data if b"environ" in module.data or b"putenv" in module.data else b""
        module.memo[memo] = {(match[1] or b"").strip(b"\"' ") for match in _STORES.finditer(words)}
    names = module.memo[memo]
    return any(name == key.encode() or not name.isupper() for name in names)  # type: ignore[attr-defined]


def variable(interpreter: Interpreter, key: Value, default: Value, module: Module) -> Value:
    """What an environment variable holds: what the user settled, else that it is not set."""
    if not isinstance(key, str):
        return Unknown(("os.environ",))
    if _is_set_by(module, key):
        return Unknown((key,), lost=True)
    interpreter.trace.append(Related(VARIABLE, 0, Role.DEFINITION, key))  # remembered with what is evaluated
    setting = interpreter.knowledge.variable(key)
    if setting is not None:
        return setting
    if default is MISSING:
        return Unknown((key,))
    settled = key in interpreter.knowledge.undefines
    return Assumed(default, (key,), True) if not settled and default in _SWITCHED else default


# What says whether something is on, or set at all.
_SWITCHED = (None, "", "0", "1", "true", "false", "True", "False", "on", "off", "ON", "OFF", "yes", "no", 0, 1)


def _builtin(
    interpreter: Interpreter, name: str, args: tuple[Value, ...], keywords: dict[str, Value], node: Node
) -> Value:
    """What a function gives that comes with Python."""
    words = oneline(node, 60)
    unknown = Unknown((words,), any(depends(a) for a in args), lost=bool(keywords))
    if name == "getattr" and len(args) > 1 and isinstance(args[1], str):
        found = _named_attribute(interpreter, args[0], args[1])
        # something outside may have the attribute or not: that is why there is a default
        return Unknown(unknown.names) if len(args) > 2 and isinstance(found, ExternalV) else found
    if name in ("isinstance", "hasattr"):  # asks for the type
        told = _is_of(interpreter, args[0], args[1]) if name == "isinstance" and len(args) == 2 else MISSING
        if told is not MISSING:
            return told
        owner = args[0] if name == "hasattr" and len(args) == 2 else None
        if isinstance(owner, ExternalV) and interpreter.knowledge.holds(f"{owner.name}.{args[1]}"):
            return True
        return Unknown(unknown.names)
    if name == "type" and len(args) == 1:
        kinds = {_kind_of(one) for one, _ in interpreter.lanes.groups(args[0])}
        return ExternalV(kinds.pop()) if len(kinds) == 1 and "" not in kinds else unknown
    if len(args) == 1 and not keywords and name in ASKING:
        found = sent(interpreter, args[0], ASKING[name][0])
        if found is not MISSING and isinstance(found, (ASKING[name][1], Partitioned)):
            return found
    if len(args) == 1 and not keywords and name in _OF_ONE:
        found = _of_one(interpreter, name, args[0])
        if found is not MISSING:
            return found
    if name == "map" and len(args) == 2 and not keywords:
        return _mapped(interpreter, args[0], args[1], node, unknown)
    function = PURE.get(name)
    if function is None or (not args and not keywords):
        return unknown
    value = applied(interpreter, function, args, keywords, name not in ANY_ORDER)
    if value is MISSING:
        return _as_table(args, unknown) if name == "dict" and not keywords else unknown
    return unknown if isinstance(value, Unknown) and not value.lost else value


_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,), "bool": (bool,), "str": (str,), "float": (float,), "bytes": (bytes,), "list": (ListV,),
    "dict": (DictV,), "set": (SetV,),
}  # fmt: skip


def _kind_of(value: Value) -> str:
    """The name of the built-in type that a value is exactly of; nothing where that is not told."""
    if type(value) not in _TOLD:
        return ""
    names = {ListV: "list", SetV: "set", DictV: "dict", type(None): "NoneType"}
    return names.get(type(value), type(value).__name__)


def _is_of(interpreter: Interpreter, value: Value, kind: Value) -> Value:
    """Whether a value is of a type; MISSING where that is not told."""
    if isinstance(kind, tuple):
        answers = [_is_of(interpreter, value, one) for one in kind]
        return MISSING if any(one is MISSING for one in answers) else any(answers)
    groups = interpreter.lanes.groups(value)
    if isinstance(kind, ClassV):
        made = [one for one, _ in groups if isinstance(one, InstanceV) and one.made]
        found = {kind in mro(interpreter, one.cls) for one in made}
        return True if found == {True} and len(made) == len(groups) else MISSING
    if not isinstance(kind, ExternalV) or not all(type(one) in _TOLD for one, _ in groups):
        return MISSING
    if kind.name == "tuple":
        answers = [type(one) is tuple for one, _ in groups]
    elif kind.name in _TYPES:
        answers = [isinstance(one, _TYPES[kind.name]) for one, _ in groups]
    else:
        return MISSING
    return answers[0] if len(set(answers)) == 1 else MISSING


_TOLD = frozenset({int, bool, str, float, bytes, tuple, ListV, SetV, DictV, type(None)})
_OF_ONE = frozenset(
    {
        "any", "all", "bool", "min", "max", "next", "iter", "reversed", "enumerate", "int", "float", "str", "tuple",
        "list", "set", "frozenset", "sorted",
    }
)  # fmt: skip
_COPYING = frozenset({"tuple", "list", "set", "frozenset", "sorted", "iter"})


def _of_one(interpreter: Interpreter, name: str, value: Value) -> Value:
    """What a function gives of one argument that may hold what is not plain; MISSING where it has to be."""
    lanes = interpreter.lanes
    if isinstance(value, Capability):
        return value if name in ("int", "float", "str", "tuple", "list") else MISSING
    if name in ("any", "all") and isinstance(value, tuple):
        result: Value = name == "all"
        for item in value:
            result = logical(lanes, name == "all", result, truth_of(lanes, item))
        return result
    if type(value) is AlikeV:
        if name in ("next", "min", "max"):
            return value[0]
        return value if name in _COPYING else Unknown((name,), True)
    return truth_of(lanes, value) if name == "bool" else _of_items(lanes, name, value)


def _of_items(lanes: PerTarget, name: str, value: Value) -> Value:
    """What a function makes of a container whose items need not be plain."""
    items = items_of(lanes, value)
    if items is None or not isinstance(value, tuple | DictV):
        return MISSING
    if name in ("min", "max") and len(items) == 1:
        return items[0]
    if isinstance(value, SetV) and len(items) > 1:  # in whatever order they come
        return SetV(items) if name in ("tuple", "list", "set", "frozenset") else MISSING
    if name == "next":
        return items[0] if items and isinstance(value, IterV) else MISSING
    if name in ("set", "frozenset"):
        return MISSING if is_constant(items) else SetV(items)
    if name in ("tuple", "list", "iter"):
        return tuple(items) if name == "tuple" else ListV(items) if name == "list" else IterV(items)
    if name == "reversed":
        return IterV(reversed(items))
    return IterV(enumerate(items)) if name == "enumerate" else MISSING


def _mapped(interpreter: Interpreter, function: Value, source: Value, node: Node, unknown: Value) -> Value:
    """What `map` makes of items that are known."""
    items = items_of(interpreter.lanes, source)
    if items is None or isinstance(source, SetV) or len(items) > LONGEST_LOOP:
        return unknown
    if isinstance(function, ExternalV) and function.name in PURE:
        return IterV(_builtin(interpreter, function.name, (item,), {}, node) for item in items)
    if isinstance(function, (FuncV, PartialV)):
        return IterV(interpreter.invoke(function, (item,), {}).value for item in items)
    return unknown


def _as_table(args: tuple[Value, ...], unknown: Value) -> Value:
    """What `dict(…)` makes of another table, or of pairs."""
    if len(args) != 1:
        return unknown
    if isinstance(args[0], DictV):
        return args[0]
    pairs = args[0] if isinstance(args[0], tuple) and not isinstance(args[0], (SetV, AlikeV)) else None
    if pairs is None or not all(isinstance(p, tuple) and len(p) == 2 and is_constant(p[0]) for p in pairs):
        return unknown
    return table_of([(p[0], p[1]) for p in pairs], False)


def _summed_up(interpreter: Interpreter, value: Value, call: str) -> Value:
    """An answer that hangs on many conditions inside a function hangs, seen from outside, on the function."""
    if not any(isinstance(one, Assumed) and len(one.names) > _MOST_NAMES for one, _ in interpreter.lanes.groups(value)):
        return value
    return interpreter.lanes.merge(
        (Assumed(one.value, (call,)) if isinstance(one, Assumed) and len(one.names) > _MOST_NAMES else one, mask)
        for one, mask in interpreter.lanes.groups(value)
    )


def _each(
    interpreter: Interpreter, callee: Partitioned, args: tuple[Value, ...], keywords: dict[str, Value], node: Node
) -> Value:
    """What a method gives whose owner differs from target to target."""
    unknown = Unknown((oneline(node, 60),), True)
    return interpreter.lanes.merge(
        (_arch(_method(interpreter, one, args, keywords, node)) if isinstance(one, BuiltinMethod) else unknown, mask)
        for one, mask in callee.groups
    )


def _arch(value: Value) -> Value:
    """A value of some targets alone: if nobody can tell it, it hangs on the target."""
    return Unknown(value.names, True, lost=value.lost) if isinstance(value, Unknown) else value


def _named_attribute(interpreter: Interpreter, holder: Value, name: str) -> Value:
    lanes = interpreter.lanes
    return lanes.merge((attribute(interpreter, one, name, name), mask) for one, mask in lanes.groups(holder))


def _method(
    interpreter: Interpreter, method: BuiltinMethod, args: tuple[Value, ...], keywords: dict[str, Value], node: Node
) -> Value:
    owner, name = method.owner, method.name
    unknown = Unknown((oneline(node, 60),), depends(owner) or any(depends(a) for a in args))
    if isinstance(owner, DictV):
        if name == "get" and args:
            default = args[1] if len(args) > 1 else None
            found = any_row(interpreter, owner, args[0], default) if isinstance(args[0], Unknown) else MISSING
            if found is not MISSING:
                return found
            return interpreter.lanes.lift(lambda k: row(interpreter, owner, k, default), args[0])
        return _of_dict(interpreter, owner, name, unknown)
    if isinstance(owner, PatternV) and f"re.{name}" in _MATCHERS and args:
        return matched(interpreter, owner, name, args[0])
    if isinstance(owner, MatchV):
        return _group(owner, name, args, unknown)
    if isinstance(owner, Capability):
        return _capability_method(interpreter, name, args, unknown)
    if name in _AS_NUMBER and isinstance(owner, tuple) and is_capability(owner):
        return owner[0] * 10 + owner[1]
    if name == "copy" and isinstance(owner, (SetV, ListV)) and type(owner) is not ViewV and not args:
        return owner
    function = method_of(owner, name)
    if function is None:
        return unknown
    value = applied(interpreter, function, (owner, *args), keywords, type(owner) is not SetV)
    if value is MISSING and isinstance(owner, SetV) and name == "intersection" and args:
        return common_to(interpreter.lanes, owner, args[0])
    return unknown if value is MISSING or isinstance(value, Unknown) else value


def _group(match: MatchV, name: str, args: tuple[Value, ...], unknown: Value) -> Value:
    """What a match took: the whole, or a part in brackets."""
    if name == "groups":
        return tuple(match[1:])
    at = args[0] if args else 0
    return match[at] if name == "group" and type(at) is int and at < len(match) else unknown


def _of_dict(interpreter: Interpreter, table: DictV, name: str, unknown: Value) -> Value:
    """What a table holds: its keys, values or pairs."""
    if name == "copy" and not table.open:
        return table
    if table.open or name not in ("keys", "values", "items"):
        return unknown
    rows = [(k, evaluated(interpreter, v)) for k, v in table.rows]
    return ViewV(row if name == "items" else row[name == "values"] for row in rows)


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
