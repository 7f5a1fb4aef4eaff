"""Reads build scripts in Python, and Starlark: the flags that they make, evaluated in memory; runs nothing."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from archscan.frontends.build.archlists import ArchList, consumer_of
from archscan.frontends.build.flags import BUILDS
from archscan.frontends.build.pyfunctions import BUILTINS, MAX_LOOP, TEXT_METHODS, constant, percent
from archscan.frontends.build.pyvalues import (
    Either,
    Function,
    Items,
    Opaque,
    Release,
    Str,
    Table,
    Unknown,
    Value,
    either,
    key_of,
    names_in,
    strings,
    text_of,
    together,
    version_in,
)
from archscan.frontends.build.reading import Given, Reading, finished, of_command, of_flags, of_variable
from archscan.frontends.build.request import ARCH_NAME
from archscan.frontends.build.traced import (
    HOLE,
    Text,
    because,
    cut,
    readable,
    shown,
    under,
    written,
)
from archscan.model.target import Target

MAX_STEPS = 60_000
MAX_DEPTH = 14
LARGEST_NUMBER = 2**64
_MOST_ROUNDS = 6  # of names that lead to what is built
_LARGEST = 400_000
_TOOLKIT = re.compile(
    r"(?i)(?:_*(?:torch|bare_metal|nvcc|toolkit|system)_?)?_*(?:cuda|nvcc|toolkit|bare_metal)(?:_?(?:toolkit|runtime|compiler|bare_metal|bare))*"
    r"_?(?P<part>ver(?:sion)?(?:_?(?:major|minor|str|string|tuple|num))?|major|minor)?"
)
_ROCM = re.compile(
    r"(?i)(?:^|[._])(?:is_)?(?:rocm|hip|musa|xpu|hipify|sycl)(?:$|[._])|rocm_home|hip_version|is_hip|torch\.version\.hip"
)
_EXTENSIONS = frozenset(
    {"CUDAExtension", "CppExtension", "Extension", "load", "load_inline", "CMakeExtension", "make_extension"}
)
_SETTLED: dict[str, Value] = {
    "sys.platform": Str(written("linux")),
    "os.name": Str(written("posix")),
    "torch.version.hip": None,
    "IS_WINDOWS": False,
    "os.sep": Str(written("/")),
}


class _Leaves(Exception):
    """break, continue, return or raise on its way out."""

    def __init__(self, kind: str, value: Value = None) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


@dataclass(frozen=True)
class Extension:
    """An extension module that a script declares."""

    name: str
    line: int
    at: int
    values: tuple[Value, ...]
    nvcc: Value | None  # its options for nvcc; None: it gives none


@dataclass(frozen=True)
class Refusal:
    """A `raise` that was reached for sure, with the literals that the condition before it looked into."""

    at: int
    message: str
    literals: tuple[tuple[int, int], ...]


@dataclass
class Script:
    """A script while it is evaluated."""

    data: bytes
    given: Given
    starts: list[int] = field(default_factory=list)
    top: dict[str, Value] = field(default_factory=dict)
    asked: tuple[str, ...] = ()  # conditions around what runs that nobody can answer
    early: list[Value] = field(default_factory=list)  # what the function that runs may already have returned
    steps: int = 0
    depth: int = 0
    called: set[int] = field(default_factory=set)
    kept: list[tuple[str, Value, tuple[str, ...]]] = field(
        default_factory=list
    )  # what goes into calls, names and returns
    extensions: list[Extension] = field(default_factory=list)
    environment: dict[int, str] = field(default_factory=dict)  # offset of a default -> the variable that overrides it
    set_here: list[tuple[str, Value]] = field(default_factory=list)  # environment variables that the script sets
    refusals: list[Refusal] = field(default_factory=list)
    looked_in: list[tuple[int, int]] = field(default_factory=list)
    by_release: bool = False  # the condition that is looked at compares with the release of the toolkit
    left: dict[int, int] = field(default_factory=dict)  # branches for other toolkits: from where to where
    entered: set[int] = field(default_factory=set)  # where branches begin that were taken
    requested: bool = False  # evaluated for a request: a raise that is reached counts

    # --- statements

    def body(self, nodes: Iterable[ast.stmt], frame: dict[str, Value]) -> None:
        for node in nodes:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise _Leaves("exhausted")
            run = _STATEMENTS.get(type(node))
            if run is not None:
                run(self, node, frame)

    def expression_statement(self, node: ast.Expr, frame: dict[str, Value]) -> None:
        self.value(node.value, frame)

    def assign(self, node: ast.Assign, frame: dict[str, Value]) -> None:
        value = self.value(node.value, frame)
        for target in node.targets:
            self.store(target, value, frame)

    def annotated(self, node: ast.AnnAssign, frame: dict[str, Value]) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value, frame), frame)

    def augmented(self, node: ast.AugAssign, frame: dict[str, Value]) -> None:
        old, new = self.value(node.target, frame), self.value(node.value, frame)
        if isinstance(old, Items) and isinstance(node.op, ast.Add):
            self.extend(old, new)
            self.keep(_name(node.target), old)
        else:
            self.store(node.target, self.binary(node.op, old, self.conditioned(new)), frame)

    def conditioned(self, value: Value) -> Value:
        """A value that is only there under the conditions around it."""
        return Str(under(value.runs, self.asked)) if isinstance(value, Str) and self.asked else value

    def extend(self, items: Items, more: Value) -> None:
        if isinstance(more, Items):
            items.add([(value, (*when, *self.asked)) for value, when in more.items], more.is_open)
        elif isinstance(more, Either):
            for value in more.values:
                self.extend(items, value)
        elif isinstance(more, Str):
            items.add([(more, self.asked)])
        else:
            items.add([], names_in(more))

    def store(self, target: ast.expr, value: Value, frame: dict[str, Value]) -> None:
        if isinstance(target, ast.Name):
            frame[target.id] = self.versioned(target.id, value)
            self.keep(target.id, value)
        elif isinstance(target, ast.Attribute):
            owner = _name(target.value)
            frame[f"{owner}.{target.attr}"] = value
            self.keep(target.attr, value)
        elif isinstance(target, ast.Subscript):
            holder, key = self.value(target.value, frame), self.value(target.slice, frame)
            if isinstance(holder, Opaque) and holder.name.endswith("environ") and isinstance(key, Str):
                self.set_environment(key.known or "", value)
            elif isinstance(holder, Table):
                with contextlib.suppress(TypeError):
                    holder.items[key_of(key)] = value
                self.keep(_name(target.value), holder)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = value.values() if isinstance(value, Items) else []
            for i, inner in enumerate(target.elts):
                fits = len(parts) == len(target.elts)
                self.store(inner, parts[i] if fits else Unknown(names_in(value) or (_name(inner),)), frame)

    def versioned(self, name: str, value: Value) -> Value:
        """The release of the toolkit where a name says so and nothing is known: `cuda_version = get_version()`."""
        return self.toolkit(name) if isinstance(value, Unknown | Opaque) and self.is_toolkit(name) else value

    def is_toolkit(self, name: str) -> bool:
        match = _TOOLKIT.fullmatch(name.rpartition(".")[2])
        return bool(match) and bool(self.given.release)

    def toolkit(self, name: str) -> Value:
        numbers = tuple(int(part) for part in self.given.release.split("."))
        match = _TOOLKIT.fullmatch(name.rpartition(".")[2])
        part = (match["part"] or "").lower() if match else ""
        if "major" in part:
            return numbers[0]
        return numbers[1] if "minor" in part and len(numbers) > 1 else Release(numbers)

    def set_environment(self, name: str, value: Value) -> None:
        self.set_here.append((name, self.conditioned(value)))

    def keep(self, name: str, value: Value) -> None:
        """Remembers what has a name or goes somewhere: its flags are read when all is evaluated."""
        if isinstance(value, Str | Items | Table | Either) and len(self.kept) < 5000:
            self.kept.append((name, value, self.asked))

    def if_(self, node: ast.If, frame: dict[str, Value]) -> None:
        before = len(self.looked_in)
        self.by_release = False
        answer = self.truth(self.value(node.test, frame))
        looked = tuple(self.looked_in[before:])
        if answer is not None:
            self.note_left(node.orelse if answer else node.body, node.body if answer else node.orelse)
            self.guarded(node.body if answer else node.orelse, frame, looked)
            return
        asked = readable(self.source(node.test))[:80]
        before_frame, outer = dict(frame), self.asked
        ends: list[dict[str, Value]] = []
        leaves: list[_Leaves] = []
        for body, condition in ((node.body, asked), (node.orelse, f"not ({asked})")):
            frame.clear()
            frame.update(before_frame)
            self.asked = (*outer, condition)
            try:
                self.body(body, frame)
                ends.append(dict(frame))
            except _Leaves as left:
                if left.kind == "exhausted":
                    raise
                leaves.append(left)
            finally:
                self.asked = outer
        frame.clear()
        frame.update(_joined(ends or [before_frame]))
        for leaving in leaves:
            self.keep("", leaving.value)
            if leaving.kind == "return":
                self.early.append(leaving.value)
        if not ends:
            raise next((left for left in leaves if left.kind == "return"), leaves[0])

    def note_left(self, left: list[ast.stmt], taken: list[ast.stmt]) -> None:
        """Notes the branch that another toolkit would take."""
        if taken:
            self.entered.add(self.offset(taken[0]))
        if left and self.by_release:
            self.left[self.offset(left[0])] = self.end(left[-1])

    def guarded(self, nodes: list[ast.stmt], frame: dict[str, Value], looked: tuple[tuple[int, int], ...]) -> None:
        """A branch that is taken: what it raises is a refusal by the lists that were looked into."""
        if self.requested and not self.asked and looked and nodes and isinstance(nodes[0], ast.Raise):
            self.refusals.append(Refusal(self.offset(nodes[0]), self.message(nodes[0], frame), looked))
        self.body(nodes, frame)

    def message(self, node: ast.Raise, frame: dict[str, Value]) -> str:
        arguments = node.exc.args if isinstance(node.exc, ast.Call) else []
        return readable(self.source(arguments[0])).strip("f\"'") if arguments else ""

    def for_(self, node: ast.For | ast.AsyncFor, frame: dict[str, Value]) -> None:
        for value, when in self.iterated(self.value(node.iter, frame), _name(node.iter)):
            outer = self.asked
            self.asked = (*outer, *when)
            try:
                self.store(node.target, value, frame)
                self.body(node.body, frame)
            except _Leaves as left:
                if left.kind == "break":
                    break
                if left.kind != "continue":
                    raise
            finally:
                self.asked = outer

    def iterated(self, value: Value, name: str) -> list[tuple[Value, tuple[str, ...]]]:
        """What a loop goes through; something unknown once where nothing is known of it."""
        if isinstance(value, Items):
            more = [(Unknown(value.is_open), value.is_open)] if value.is_open else []
            return [*value.items[:MAX_LOOP], *more]
        if isinstance(value, Table):
            return [(constant(key), ()) for key in list(value.items)[:MAX_LOOP]]
        if isinstance(value, Either):
            return [one for some in value.values for one in self.iterated(some, name)][:MAX_LOOP]
        if isinstance(value, Str) and value.known is not None and len(value.known) < 50:
            return [(Str(cut(value.runs, i, i + 1)), ()) for i in range(len(value.known))]
        return [(Unknown(names_in(value) or (name,)), (f"something in {name}",))]

    def while_(self, node: ast.While, frame: dict[str, Value]) -> None:
        if self.truth(self.value(node.test, frame)) is False:
            return
        outer, self.asked = self.asked, (*self.asked, readable(self.source(node.test))[:80])
        try:
            self.body(node.body, frame)
        except _Leaves as left:
            if left.kind in ("exhausted", "return"):
                raise
        finally:
            self.asked = outer

    def try_(self, node: ast.Try, frame: dict[str, Value]) -> None:
        try:
            self.body(node.body, frame)
            self.body(node.orelse, frame)
        except _Leaves as left:
            if left.kind != "raise" or not node.handlers:
                raise
        outer, self.asked = self.asked, (*self.asked, "an exception")
        copy = dict(frame)
        try:
            for handler in node.handlers:
                with contextlib.suppress(_Leaves):
                    self.body(handler.body, copy)
        finally:
            self.asked = outer
        for name, value in copy.items():
            frame.setdefault(name, value)
        self.body(node.finalbody, frame)

    def with_(self, node: ast.With | ast.AsyncWith, frame: dict[str, Value]) -> None:
        for item in node.items:
            value = self.value(item.context_expr, frame)
            if item.optional_vars is not None:
                self.store(item.optional_vars, value, frame)
        self.body(node.body, frame)

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: dict[str, Value]) -> None:
        frame[node.name] = Function(node, frame)

    def class_(self, node: ast.ClassDef, frame: dict[str, Value]) -> None:
        inner = _Frame(frame)
        self.body(node.body, inner)
        frame[node.name] = Opaque(node.name)
        for method in node.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                frame[f"{node.name}.{method.name}"] = inner[method.name]
                frame.setdefault(f"self.{method.name}", inner[method.name])

    def return_(self, node: ast.Return, frame: dict[str, Value]) -> None:
        value = self.value(node.value, frame) if node.value is not None else None
        self.keep("", value)
        raise _Leaves("return", value)

    def raise_(self, node: ast.Raise, frame: dict[str, Value]) -> None:
        raise _Leaves("raise")

    def break_(self, node: ast.stmt, frame: dict[str, Value]) -> None:
        if not self.asked:
            raise _Leaves("break" if isinstance(node, ast.Break) else "continue")
        raise _Leaves("continue")

    def import_(self, node: ast.Import | ast.ImportFrom, frame: dict[str, Value]) -> None:
        module = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
        for alias in node.names:
            name = alias.asname or alias.name
            full = f"{module}{alias.name}"
            if isinstance(node, ast.Import) and alias.asname is None:
                name = full = alias.name.partition(".")[0]
            frame[name] = Opaque(full)

    # --- expressions

    def value(self, node: ast.expr, frame: dict[str, Value]) -> Value:
        """What an expression stands for."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise _Leaves("exhausted")
        evaluate = _EXPRESSIONS.get(type(node))
        return evaluate(self, node, frame) if evaluate is not None else Unknown((readable(self.source(node))[:60],))

    def constant_(self, node: ast.Constant, frame: dict[str, Value]) -> Value:
        if not isinstance(node.value, str):
            return node.value if isinstance(node.value, bool | int | float) or node.value is None else Unknown()
        text = node.value.encode("utf-8", "surrogatepass").decode("latin-1")
        at, end = self.offset(node), self.end(node)
        raw = self.data[at:end].decode("latin-1")
        lead = re.match(r"[A-Za-z]{0,2}(?:\"\"\"|'''|\"|')", raw)
        inner = raw[lead.end() : len(raw) - len(lead[0].lstrip("rRbBuUfF"))] if lead else raw
        return Str(written(text, at + lead.end() if lead and inner == text else at))

    def name(self, node: ast.Name, frame: dict[str, Value]) -> Value:
        if node.id in frame:
            return frame[node.id]
        if node.id in _SETTLED:
            return _SETTLED[node.id]
        if _ROCM.search(node.id):
            return False
        user = self.given.value(node.id)
        if user is not None:
            return Str(written(user))
        if self.is_toolkit(node.id) and node.id.lower() != "cuda":
            return self.toolkit(node.id)
        return Opaque(node.id) if node.id in BUILTINS else Unknown((node.id,))

    def attribute(self, node: ast.Attribute, frame: dict[str, Value]) -> Value:
        name = _name(node)
        if name in frame:
            return frame[name]
        owner = self.value(node.value, frame)
        full = f"{owner.name}.{node.attr}" if isinstance(owner, Opaque) else name
        if full in _SETTLED:
            return _SETTLED[full]
        if full == "torch.version.cuda":
            return Str(written(self.given.release)) if self.given.release else Unknown((full,))
        if _ROCM.search(full):
            return False
        if isinstance(owner, Release) and node.attr in ("major", "minor"):
            index = node.attr == "minor"
            return owner.numbers[index] if len(owner.numbers) > index else 0
        if isinstance(owner, Opaque):
            return Opaque(full)
        return Unknown((full or node.attr,))

    def list_(self, node: ast.List | ast.Tuple | ast.Set, frame: dict[str, Value]) -> Value:
        kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
        found = Items([], kind)
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.value(element.value, frame)
                if isinstance(inner, Items):
                    found.add(inner.items, inner.is_open)
                else:
                    found.add([], names_in(inner))
            else:
                found.items.append((self.value(element, frame), ()))
        return found

    def dict_(self, node: ast.Dict, frame: dict[str, Value]) -> Value:
        table = Table()
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item, frame)
            if key is None:
                table.items.update(value.items if isinstance(value, Table) else {})
                continue
            with contextlib.suppress(TypeError):
                table.items[key_of(self.value(key, frame))] = value
        return table

    def joined_string(self, node: ast.JoinedStr, frame: dict[str, Value]) -> Value:
        at = self.offset(node)
        parts: list[Value] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(Str(written(str(part.value).encode("utf-8", "replace").decode("latin-1"), at)))
            elif isinstance(part, ast.FormattedValue):
                parts.append(self.value(part.value, frame))
        open_ = {id(part): part for part in parts if isinstance(part, Either)}
        if len(open_) != 1:  # of two that vary nobody knows which values come together
            return Str(tuple(run for part in parts for run in text_of(part)))
        (varies,) = open_.values()
        return either(
            Str(tuple(run for part in parts for run in text_of(value if part is varies else part)))
            for value in varies.values
        )

    def binary_operation(self, node: ast.BinOp, frame: dict[str, Value]) -> Value:
        return self.binary(node.op, self.value(node.left, frame), self.value(node.right, frame))

    def binary(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Either):
            same = left is right  # what is added to itself has one value at a time
            return either(self.binary(op, one, one if same else right) for one in left.values)
        if isinstance(right, Either):
            return either(self.binary(op, left, one) for one in right.values)
        if isinstance(op, ast.Add) and isinstance(left, Items):
            made = Items(list(left.items), left.kind, left.is_open)
            outer, self.asked = self.asked, ()
            self.extend(made, right)
            self.asked = outer
            return made
        if isinstance(op, ast.Add) and isinstance(right, Items) and not isinstance(left, Items):
            return Items(list(right.items), right.kind, together(right.is_open, names_in(left)))
        if isinstance(op, ast.Add) and (isinstance(left, Str) or isinstance(right, Str)):
            return Str((*text_of(left), *text_of(right)))
        if isinstance(op, ast.Mod) and isinstance(left, Str):
            return percent(left.runs, right.values() if isinstance(right, Items) and right.kind == "tuple" else [right])
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if numbers and type(op) in _ARITHMETIC:
            with contextlib.suppress(ArithmeticError, ValueError):
                number = _ARITHMETIC[type(op)](left, right)
                return number if abs(number) < LARGEST_NUMBER else Unknown(("a large number",))
        return Unknown((*names_in(left), *names_in(right)))

    def compare(self, node: ast.Compare, frame: dict[str, Value]) -> Value:
        left = self.value(node.left, frame)
        answers: list[bool | None] = []
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, frame)
            answers.append(self.compared(op, left, right, right_node))
            left = right
        if False in answers:
            return False
        return True if None not in answers else Unknown(names_in(left) or (readable(self.source(node))[:60],))

    def compared(self, op: ast.cmpop, left: Value, right: Value, right_node: ast.expr) -> bool | None:
        if isinstance(op, ast.In | ast.NotIn):
            return self.membership(op, left, right)
        try:
            one, other = key_of(left), key_of(right)
        except TypeError:
            return None
        if isinstance(left, Release) or isinstance(right, Release):
            self.by_release = True
            versions = _as_version(left), _as_version(right)
            if versions[0] is None or versions[1] is None:
                return None
            size = max(map(len, (versions[0], versions[1])))
            one, other = ((*version, *(0,) * (size - len(version))) for version in versions if version is not None)
        if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            return bool(one == other) == isinstance(op, ast.Is | ast.Eq)
        try:
            return bool(_ORDERS[type(op)](one, other))
        except TypeError:
            return None

    def membership(self, op: ast.cmpop, left: Value, right: Value) -> bool | None:
        """x in list, part in text, key in table."""
        try:
            needle = key_of(left)
        except TypeError:
            return None
        found: bool | None = None
        if isinstance(right, Items):
            keys = [_key_or_none(value) for value, when in right.items if not when]
            places = [run.at for value in right.values() if isinstance(value, Str) for run in value.runs if run.at >= 0]
            if places:
                self.looked_in.append((min(places), max(places)))
            unsure = right.is_open or len(keys) < len(right.items) or None in keys
            found = True if needle in keys else None if unsure else False
        elif isinstance(right, Str) and right.known is not None and isinstance(needle, str):
            found = needle in right.known
        elif isinstance(right, Table):
            found = bool(needle in right.items)
        return found if found is None or isinstance(op, ast.In) else not found

    def boolean(self, node: ast.BoolOp, frame: dict[str, Value]) -> Value:
        stops = isinstance(node.op, ast.Or)
        open_: list[Value] = []
        for part in node.values:
            value = self.value(part, frame)
            answer = self.truth(value)
            if answer is None:
                open_.append(value)
            elif answer is stops:
                return (
                    either((*open_, value))
                    if open_ and not isinstance(value, bool)
                    else value
                    if not open_
                    else Unknown(tuple(n for v in open_ for n in names_in(v)))
                    if not stops
                    else value
                )
        if open_:
            plain = [v for v in open_ if not isinstance(v, Unknown | Opaque)]
            return either(plain) if plain else Unknown(tuple(n for v in open_ for n in names_in(v)))
        return value

    def unary(self, node: ast.UnaryOp, frame: dict[str, Value]) -> Value:
        value = self.value(node.operand, frame)
        if isinstance(node.op, ast.Not):
            answer = self.truth(value)
            return Unknown(names_in(value)) if answer is None else not answer
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else Unknown(names_in(value))

    def choice(self, node: ast.IfExp, frame: dict[str, Value]) -> Value:
        answer = self.truth(self.value(node.test, frame))
        if answer is not None:
            return self.value(node.body if answer else node.orelse, frame)
        asked = readable(self.source(node.test))[:80]
        values = []
        for part, condition in ((node.body, asked), (node.orelse, f"not ({asked})")):
            outer, self.asked = self.asked, (*self.asked, condition)
            values.append(self.conditioned(self.value(part, frame)))
            self.asked = outer
        return either(values)

    def subscript(self, node: ast.Subscript, frame: dict[str, Value]) -> Value:
        holder = self.value(node.value, frame)
        if isinstance(node.slice, ast.Slice):
            return self.sliced(holder, node.slice, frame)
        key = self.value(node.slice, frame)
        if isinstance(holder, Opaque) and holder.name.endswith("environ") and isinstance(key, Str):
            return self.read_environment(key.known or "", None, required=True)
        try:
            wanted = key_of(key)
        except TypeError:
            return Unknown(names_in(key))
        if isinstance(holder, Table):
            return holder.items.get(wanted, Unknown((_name(node.value),)))
        if isinstance(holder, Items) and isinstance(wanted, int) and not holder.is_open:
            values = holder.values()
            return values[wanted] if -len(values) <= wanted < len(values) else Unknown()
        if isinstance(holder, Release) and isinstance(wanted, int):
            return holder.numbers[wanted] if -len(holder.numbers) <= wanted < len(holder.numbers) else 0
        if isinstance(holder, Str) and isinstance(wanted, int) and holder.known:
            size = len(holder.known)
            return Str(cut(holder.runs, wanted % size, wanted % size + 1)) if -size <= wanted < size else Unknown()
        if isinstance(holder, Unknown | Opaque) and self.is_toolkit(_name(node.value)) and wanted in (0, 1):
            numbers = [int(part) for part in self.given.release.split(".")]
            return numbers[wanted] if len(numbers) > wanted else 0
        return Unknown(names_in(holder) or (_name(node.value),))

    def sliced(self, holder: Value, part: ast.Slice, frame: dict[str, Value]) -> Value:
        bounds = [self.value(b, frame) if b is not None else None for b in (part.lower, part.upper)]
        if part.step is not None or not all(b is None or isinstance(b, int) for b in bounds):
            return Unknown(names_in(holder))
        span = slice(*bounds)
        if isinstance(holder, Items):
            return Items(holder.items[span], holder.kind, holder.is_open)
        if isinstance(holder, Str) and holder.known is not None:
            start, stop, _ = span.indices(len(holder.known))
            return Str(cut(holder.runs, start, stop))
        return Unknown(names_in(holder))

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: dict[str, Value]
    ) -> Value:
        found = Items([], "set" if isinstance(node, ast.SetComp) else "list")
        table = Table()
        if isinstance(node, ast.DictComp):
            for inner, _ in self.rounds(node.generators, _Frame(frame), ()):
                with contextlib.suppress(TypeError):
                    table.items[key_of(self.value(node.key, inner))] = self.value(node.value, inner)
            return table
        for inner, when in self.rounds(node.generators, _Frame(frame), ()):
            found.items.append((self.value(node.elt, inner), when))
        return found

    def rounds(
        self, generators: list[ast.comprehension], frame: dict[str, Value], when: tuple[str, ...]
    ) -> Iterator[tuple[dict[str, Value], tuple[str, ...]]]:
        """Every round of the loops of a comprehension, with its variables and conditions."""
        if not generators:
            yield frame, when
            return
        first, rest = generators[0], generators[1:]
        for value, condition in self.iterated(self.value(first.iter, frame), _name(first.iter)):
            inner = _Frame(frame)
            self.store(first.target, value, inner)
            answers = [self.truth(self.value(test, inner)) for test in first.ifs]
            if False in answers:
                continue
            asked = tuple(readable(self.source(t))[:80] for t, a in zip(first.ifs, answers, strict=True) if a is None)
            yield from self.rounds(rest, inner, (*when, *condition, *asked))

    def lambda_(self, node: ast.Lambda, frame: dict[str, Value]) -> Value:
        return Function(node, frame)

    def starred(self, node: ast.Starred, frame: dict[str, Value]) -> Value:
        return self.value(node.value, frame)

    def walrus(self, node: ast.NamedExpr, frame: dict[str, Value]) -> Value:
        value = self.value(node.value, frame)
        self.store(node.target, value, frame)
        return frame[node.target.id]

    # --- calls

    def call(self, node: ast.Call, frame: dict[str, Value]) -> Value:
        """A function of the file, a method of a text or list, the environment, else something unknown."""
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, frame)
            method = node.func.attr
            if not isinstance(owner, Opaque | Unknown):
                found = self.method(owner, method, node, frame)
                if found is not None:
                    return found[0]
        function = self.value(node.func, frame)
        arguments = [self.value(a, frame) for a in node.args]
        keywords = {k.arg: self.value(k.value, frame) for k in node.keywords if k.arg}
        for k in node.keywords:
            inner = self.value(k.value, frame) if k.arg is None else None
            if isinstance(inner, Table):
                keywords.update({str(key): v for key, v in inner.items.items()})
        if isinstance(function, Function):
            return self.versioned(_name(node.func), self.run(function, arguments, keywords))
        name = function.name if isinstance(function, Opaque) else _name(node.func)
        last = name.rpartition(".")[2]
        if name.endswith(("environ.get", "os.getenv", "environ.setdefault")) or last == "getenv":
            return self.environment_call(last, node, arguments, keywords)
        if last in ("max", "min", "sorted") and ("key" in keywords or "reverse" in keywords):
            return self.ordered(last, arguments, keywords)
        if last in BUILTINS:
            return BUILTINS[last](self, arguments)
        self.declared(last, node, arguments, keywords)
        for argument in arguments:
            self.keep(last, argument)
        for key, argument in keywords.items():
            self.keep(key, argument)
        return Unknown((f"{name}()",))

    def ordered(self, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """max, min and sorted by a key, or the other way round."""
        items = arguments[0] if len(arguments) == 1 else Items([(value, ()) for value in arguments])
        key, reverse = keywords.get("key"), self.truth(keywords.get("reverse", False))
        if not isinstance(items, Items) or items.is_open or reverse is None or any(when for _, when in items.items):
            return Unknown(names_in(items) or (f"{name}()",))
        try:
            ranked = [
                (key_of(self.applied(key, value) if key is not None else value), value) for value in items.values()
            ]
            ranked.sort(key=lambda one: one[0], reverse=reverse != (name == "max"))
        except TypeError:
            return Unknown((f"{name}()",))
        if name == "sorted":
            return Items([(value, ()) for _, value in ranked])
        return ranked[0][1] if ranked else Unknown((f"{name}()",))

    def applied(self, function: Value, value: Value) -> Value:
        """What a function makes of one value."""
        if isinstance(function, Function):
            return self.run(function, [value], {})
        if isinstance(function, Opaque) and function.name in BUILTINS:
            return BUILTINS[function.name](self, [value])
        return Unknown(names_in(function))

    def declared(self, name: str, node: ast.Call, arguments: list[Value], keywords: dict[str, Value]) -> None:
        """Notes an extension module."""
        if name not in _EXTENSIONS and not name.endswith("Extension"):
            return
        title = keywords.get("name", arguments[0] if arguments else None)
        options = keywords.get("extra_compile_args")
        nvcc = options.items.get("nvcc") if isinstance(options, Table) else None
        nvcc = keywords.get("extra_cuda_cflags", nvcc if nvcc is not None else options)
        label = readable(shown(title.runs)) if isinstance(title, Str) else "?"
        self.extensions.append(Extension(label, node.lineno, self.offset(node), (*arguments, *keywords.values()), nvcc))

    def environment_call(
        self, method: str, node: ast.Call, arguments: list[Value], keywords: dict[str, Value]
    ) -> Value:
        name = arguments[0].known if arguments and isinstance(arguments[0], Str) else None
        default = arguments[1] if len(arguments) > 1 else keywords.get("default")
        if name is None:
            return Unknown(("an environment variable",))
        if method == "setdefault":
            self.set_environment(name, default)
        return self.read_environment(name, default, required=False)

    def read_environment(self, name: str, default: Value, required: bool) -> Value:
        """An environment variable: what the user says, else its default."""
        user = self.given.value(name)
        if user is not None:
            return Str(written(user))
        for known, value in reversed(self.set_here):
            if known == name:
                return value
        if default is None or required:
            return Unknown((name,))
        if isinstance(default, Str):
            for run in default.runs:
                if run.at >= 0:
                    self.environment[run.at] = name
            if not ARCH_NAME.search(name):
                return (
                    Unknown((name,))
                    if default.known in ("", "0", "1", "OFF", "ON", "FALSE", "TRUE", "False", "True")
                    else default
                )
        return default if isinstance(default, Str | Items) else Unknown((name,))

    def run(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """What a function of the file returns."""
        if self.depth >= MAX_DEPTH:
            return Unknown(("a deep call",))
        node = function.node
        frame = _Frame(function.frame)
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        if names[:1] in (["self"], ["cls"]) and len(arguments) < len(names):
            arguments = [Unknown(("self",)), *arguments]
        defaults = [self.value(d, function.frame) for d in node.args.defaults]
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            frame[name] = default
        for argument, default_node in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            frame[argument.arg] = (
                self.value(default_node, function.frame) if default_node is not None else Unknown((argument.arg,))
            )
        for name, value in zip(names, arguments, strict=False):
            frame[name] = value
        for name in names:
            if name not in dict.keys(frame):
                frame[name] = keywords.get(name, Unknown((name,)))
        frame.update(keywords)
        if isinstance(node, ast.Lambda):
            return self.value(node.body, frame)
        self.called.add(id(node))
        self.depth += 1
        outer, self.early = self.early, []
        try:
            self.body(node.body, frame)
            returned: Value = None
        except _Leaves as left:
            if left.kind == "exhausted" or (left.kind == "raise" and not self.early):
                raise
            returned = left.value if left.kind == "return" else self.early[0]
        finally:
            self.depth -= 1
            early, self.early = self.early, outer
        return either([*early, returned])

    def method(self, owner: Value, method: str, node: ast.Call, frame: dict[str, Value]) -> tuple[Value] | None:
        """The result of a method of a text, list or table; None where it is not one that is known."""
        arguments = [self.value(a, frame) for a in node.args]
        if isinstance(owner, Either):
            results = []
            for one in owner.values:
                found = self.method_of(one, method, arguments, node)
                if found is None:
                    return None
                results.append(found[0])
            return (either(results),)
        return self.method_of(owner, method, arguments, node)

    def method_of(self, owner: Value, method: str, arguments: list[Value], node: ast.Call) -> tuple[Value] | None:
        if isinstance(owner, Items) and method in ("append", "extend", "insert", "add", "update"):
            if method in ("extend", "update"):
                for argument in arguments:
                    self.extend(owner, argument)
            elif arguments:
                owner.items.append((arguments[-1], self.asked))
            self.keep(_name(node.func.value) if isinstance(node.func, ast.Attribute) else "", owner)
            return (None,)
        if isinstance(owner, Items) and method == "copy":
            return (Items(list(owner.items), owner.kind, owner.is_open),)
        if isinstance(owner, Table):
            return self.of_table(owner, method, arguments)
        if isinstance(owner, Str) and method in TEXT_METHODS:
            return (TEXT_METHODS[method](owner, arguments),)
        return None

    def of_table(self, table: Table, method: str, arguments: list[Value]) -> tuple[Value] | None:
        if method in ("get", "pop", "setdefault") and arguments:
            with contextlib.suppress(TypeError):
                default = arguments[1] if len(arguments) > 1 else None
                return (table.items.get(key_of(arguments[0]), default),)
            return (Unknown(names_in(arguments[0])),)
        if method == "items":
            return (Items([(Items([(constant(k), ()), (v, ())], "tuple"), ()) for k, v in table.items.items()]),)
        if method == "keys":
            return (Items([(constant(k), ()) for k in table.items]),)
        if method == "values":
            return (Items([(v, ()) for v in table.items.values()]),)
        if method == "update" and arguments and isinstance(arguments[0], Table):
            table.items.update(arguments[0].items)
            return (None,)
        return None

    def truth(self, value: Value) -> bool | None:
        """Whether a value counts as true; None where that is not known."""
        if isinstance(value, Str):
            return bool(value.known) if value.known is not None else True if any(r.text for r in value.runs) else None
        if isinstance(value, Items):
            sure = any(not when for _, when in value.items)
            return True if sure else None if value.items or value.is_open else False
        if isinstance(value, Table):
            return bool(value.items) or None
        if isinstance(value, Either):
            answers = {self.truth(one) for one in value.values}
            return answers.pop() if len(answers) == 1 else None
        if isinstance(value, Unknown | Opaque):
            return None
        return bool(value) if not isinstance(value, Function | Release) else True

    # --- places

    def offset(self, node: ast.AST) -> int:
        return self.starts[getattr(node, "lineno", 1) - 1] + getattr(node, "col_offset", 0)

    def end(self, node: ast.AST) -> int:
        return self.starts[(getattr(node, "end_lineno", None) or 1) - 1] + (getattr(node, "end_col_offset", None) or 0)

    def source(self, node: ast.AST) -> str:
        return " ".join(self.data[self.offset(node) : self.end(node)].decode("latin-1").split())


class _Frame(dict[str, Value]):
    """The variables of a function: its own, then those around it."""

    def __init__(self, outer: dict[str, Value]) -> None:
        super().__init__()
        self.outer = outer

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self.outer

    def __missing__(self, name: str) -> Value:
        return self.outer[name]


def _joined(ends: list[dict[str, Value]]) -> dict[str, Value]:
    """What several ways leave: one of several values where they differ."""
    made: dict[str, Value] = {}
    for name in dict.fromkeys(name for end in ends for name in end):
        values = [end[name] for end in ends if dict.__contains__(end, name)]
        made[name] = either(values)
    return made


def _name(node: ast.expr) -> str:
    """The dotted name of an expression, empty where it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _name(node.value)
        return f"{owner}.{node.attr}" if owner else node.attr
    return _name(node.func) if isinstance(node, ast.Call) else ""


def _key_or_none(value: Value) -> object:
    try:
        return key_of(value)
    except TypeError:
        return None


def _as_version(value: Value) -> tuple[int, ...] | None:
    if isinstance(value, Release):
        return value.numbers
    if isinstance(value, Str):
        found = version_in(value.known or "")
        return found.numbers if found else None
    if isinstance(value, float):
        return tuple(int(part) for part in str(value).split("."))
    if isinstance(value, int) and not isinstance(value, bool):
        return (value // 1000, value % 1000 // 10) if value >= 1000 else (value,)
    if isinstance(value, Items):
        keys = [_key_or_none(v) for v in value.values()]
        return tuple(k for k in keys if isinstance(k, int)) if all(isinstance(k, int) for k in keys) else None
    return None


_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b if abs(a) < 1e9 and abs(b) < 1e9 else 0,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Div: lambda a, b: a / b,
}
_ORDERS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Lt: lambda a, b: a < b,  # type: ignore[operator]
    ast.LtE: lambda a, b: a <= b,  # type: ignore[operator]
    ast.Gt: lambda a, b: a > b,  # type: ignore[operator]
    ast.GtE: lambda a, b: a >= b,  # type: ignore[operator]
}
_STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Expr: Script.expression_statement,
    ast.Assign: Script.assign,
    ast.AnnAssign: Script.annotated,
    ast.AugAssign: Script.augmented,
    ast.If: Script.if_,
    ast.For: Script.for_,
    ast.AsyncFor: Script.for_,
    ast.While: Script.while_,
    ast.Try: Script.try_,
    ast.With: Script.with_,
    ast.AsyncWith: Script.with_,
    ast.FunctionDef: Script.define,
    ast.AsyncFunctionDef: Script.define,
    ast.ClassDef: Script.class_,
    ast.Return: Script.return_,
    ast.Raise: Script.raise_,
    ast.Break: Script.break_,
    ast.Continue: Script.break_,
    ast.Import: Script.import_,
    ast.ImportFrom: Script.import_,
}
_EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: Script.constant_,
    ast.Name: Script.name,
    ast.Attribute: Script.attribute,
    ast.List: Script.list_,
    ast.Tuple: Script.list_,
    ast.Set: Script.list_,
    ast.Dict: Script.dict_,
    ast.JoinedStr: Script.joined_string,
    ast.BinOp: Script.binary_operation,
    ast.Compare: Script.compare,
    ast.BoolOp: Script.boolean,
    ast.UnaryOp: Script.unary,
    ast.IfExp: Script.choice,
    ast.Subscript: Script.subscript,
    ast.ListComp: Script.comprehension,
    ast.SetComp: Script.comprehension,
    ast.GeneratorExp: Script.comprehension,
    ast.DictComp: Script.comprehension,
    ast.Call: Script.call,
    ast.Lambda: Script.lambda_,
    ast.Starred: Script.starred,
    ast.NamedExpr: Script.walrus,
}


def parsed(data: bytes) -> ast.Module | str:
    """The syntax of a script, or why it has none."""
    if len(data) > _LARGEST:
        return "too large to be read as a build script"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"not read: {' '.join(str(error).split())[:120]}"


def evaluated(data: bytes, tree: ast.Module, given: Given, requested: bool = False) -> Script:
    """A script, evaluated: its top level, then every function that nothing called and that has to do with nvcc."""
    return run_script(data, tree, given, _line_starts(data), requested)


def run_script(data: bytes, tree: ast.Module, given: Given, starts: list[int], requested: bool = False) -> Script:
    """The same for a tree whose lines begin at `starts`."""
    script = Script(data, given, starts, requested=requested)
    script.top["__name__"] = Str(written("__main__"))
    with contextlib.suppress(_Leaves, RecursionError):
        script.body(tree.body, script.top)
    for node in _concerned(tree, data, starts):
        if id(node) not in script.called:
            function = _function_of(script.top, node)
            script.asked = ()
            with contextlib.suppress(_Leaves, RecursionError):
                script.run(function or Function(node, script.top), [], {})
    script.asked = ()
    return script


def _concerned(tree: ast.Module, data: bytes, starts: list[int]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that speak of flags, hand something to a build, or name something that does; in order."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    ends = [*starts, len(data)]  # trees that are made of other languages end in the middle of a line
    texts = {
        node: data[starts[node.lineno - 1] : ends[node.end_lineno or node.lineno]] for node in (*functions, *assigned)
    }
    found = {node for node, text in texts.items() if BUILDS.search(text)}
    names = {name for node in found for name in _names_of(node)}
    for _ in range(_MOST_ROUNDS):
        if not names:
            break
        pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b")
        more = {node for node, text in texts.items() if node not in found and pattern.search(text)}
        found |= more
        names = {name for node in more for name in _names_of(node)} - names
    return [node for node in functions if node in found]


def _names_of(node: ast.stmt) -> list[str]:
    """The names that a function or an assignment gives."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _function_of(top: dict[str, Value], node: ast.AST) -> Function | None:
    return next((v for v in top.values() if isinstance(v, Function) and v.node is node), None)


def _line_starts(data: bytes) -> list[int]:
    starts, position = [0], 0
    for line in data.splitlines(keepends=True):
        position += len(line)
        starts.append(position)
    return starts


def read_python(data: bytes, given: Given) -> Reading:
    """The lists of a build script in Python."""
    tree = parsed(data)
    if isinstance(tree, str):
        return Reading(unread=((0, tree),))
    script = evaluated(data, tree, given)
    problems = ("too long to evaluate: what comes late in it was not looked at",) if script.steps > MAX_STEPS else ()
    lists = finished(lists_of(script))
    left = tuple((at, end) for at, end in script.left.items() if at not in script.entered)
    return Reading(lists, tuple(_unread(script, lists)), problems, told=((0, len(data)),), left=left)


@dataclass(frozen=True)
class Known:
    """A literal list that what the user asks for is looked up in, and what is raised for those who are not in it."""

    start: int
    end: int
    message: str
    refused: frozenset[Target]


def known_lists(data: bytes, given: Given) -> tuple[Known, ...]:
    """The lists that a script lets into its flags, by asking it for every target."""
    names = set(re.findall(rb"[\"']([A-Z][A-Z0-9_]*(?:ARCH|ARCHS|ARCHES|ARCH_LIST|CAPABILITIES))[\"']", data))
    asks = names and b"raise" in data and (b"environ" in data or b"getenv" in data)
    tree = parsed(data) if asks else ""
    if isinstance(tree, str):
        return ()
    found: dict[tuple[int, int], tuple[str, set[Target]]] = {}
    first, *others = (target for target in given.catalog.universe.targets if not target.is_host)
    for asked, target in enumerate((first, *reversed(others))):
        if asked == 2 and not found:
            return ()  # a list that holds the oldest and the newest refuses nobody
        dotted = f"{target.major}.{target.minor}{target.suffix}"
        plain = f"{target.sm}{target.suffix}"
        values = {n.decode(): dotted if b"TORCH" in n or _DOTTED.search(data) else plain for n in names}
        script = evaluated(data, tree, replace(given, values={**values, **given.values}), requested=True)
        for refusal in script.refusals:
            for span in refusal.literals[-1:]:
                found.setdefault(span, (refusal.message, set()))[1].add(target)
    every = len(given.catalog.universe.targets) - 1
    return tuple(
        Known(*span, message, frozenset(targets)) for span, (message, targets) in found.items() if len(targets) < every
    )


_DOTTED = re.compile(rb"[\"']\d{1,2}\.\d[\"']")


def read_starlark(data: bytes, given: Given) -> Reading:
    """The lists of a BUILD or .bzl file, which are Python as far as syntax goes."""
    return read_python(data, given)


_ASKED = re.compile(r"environ|device_capability|get_device|native|nvidia-smi|nvidia_smi")
_MADE_OF = re.compile(r"(?:compute|sm)_" + HOLE)


def _unread(script: Script, lists: tuple[ArchList, ...]) -> Iterator[tuple[int, str]]:
    """Flags of which the number is not known, unless the user or the GPU of the machine gives it."""
    seen: set[int] = set()
    made = {entry.made for one in lists for entry in one.entries} | {one.start for one in lists}
    for _, value, _ in script.kept:
        for text in strings(value):
            if not _MADE_OF.search(shown(text)):
                continue
            names = because(text)
            at = next((r.at for r in text if r.at >= 0 and re.search(r"(?:compute|sm)_$", r.text or "")), -1)
            if at < 0 or at in seen or at in made or any(_ASKED.search(n) or ARCH_NAME.search(n) for n in names):
                continue
            seen.add(at)
            yield at, f"made of {', '.join(names[:3]) or 'something'}, which is not known"


def lists_of(script: Script) -> Iterator[ArchList]:
    """Every list that a script makes: flags that go somewhere, and variables of the environment."""
    given = script.given
    for name, value in script.set_here:
        for text in strings(value):
            yield from of_variable(name, (text,), given, name)
    for extension in script.extensions:
        for text in strings(extension.nvcc):
            flags = of_flags(extension.name, text, given)
            if flags is not None:
                yield replace(flags, is_built=True)
    seen: set[int] = set()
    for name, value, asked in script.kept:
        if id(value) in seen:
            continue
        seen.add(id(value))
        for text in strings(value):
            whole = under(text, asked) if isinstance(value, Str) else text
            yield from _named(script, name, value, whole)


def _named(script: Script, name: str, value: Value, text: Text) -> Iterator[ArchList]:
    """The lists in one text that has a name or goes into a call."""
    given = script.given
    environment = next((script.environment[run.at] for run in text if run.at in script.environment), "")
    flags = of_flags(name, text, given)
    if flags is not None:
        yield replace(flags, environment=environment)
        return
    label = environment or name
    if label and (environment or consumer_of(label)) and ARCH_NAME.search(label):
        yield from of_variable(label, (text,), given, environment)
    elif "=" in shown(text) and "ARCH" in shown(text):
        yield from of_command(text, given)
