"""The small syntax that C++ is reduced to: enough to evaluate capability conditions, small enough to cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from archscan.model.gate import NOTHING, Effect, FeatureUse, Place


class Op(str, Enum):
    """What an expression is."""

    NUMBER = "number"
    NAME = "name"
    FIELD = "field"  # args[0].name
    CALL = "call"  # name(args), name<targs>(args); a lambda called on the spot has a body
    UNARY = "unary"
    BINARY = "binary"
    CHOICE = "choice"  # args[0] ? args[1] : args[2]
    GROUP = "group"  # {a, b}
    TEXT = "text"  # string literal
    OPAQUE = "opaque"  # anything else; args = what stands in it


BOOLEAN = frozenset({"&&", "||", "!", "==", "!=", "<", "<=", ">", ">="})  # operators that give a truth


@dataclass(frozen=True, slots=True)
class Expr:
    """An expression with its place; `text` is as written, blanks joined."""

    op: Op
    place: Place
    text: str
    name: str = ""  # identifier, field, callee or operator
    scope: str = ""  # what stands before `name` and `::`
    args: tuple[Expr, ...] = ()
    targs: tuple[Expr, ...] = ()  # template arguments
    number: int = 0
    body: Block | None = None  # of a lambda


@dataclass(frozen=True, slots=True)
class BlockEffect:
    """What a piece of code does, read from its bytes."""

    place: Place | None = None
    effect: Effect = NOTHING
    digest: str = ""
    features: tuple[FeatureUse, ...] = ()
    calls: tuple[str, ...] = ()
    exits: bool = False  # control never comes out at the end


@dataclass(frozen=True, slots=True)
class Guard:
    """A preprocessor condition around code: `condition` holds, or fails if `negated`."""

    condition: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Assign:
    """`targets = value`; a constructor's member initialiser is one too. value None = declared without a value."""

    targets: tuple[str, ...]
    value: Expr | None
    place: Place
    declared: bool = False
    compound: bool = False  # +=, |=, ...


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression evaluated for its effect: calls, checks."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class Option:
    """One arm of a branch; condition None = else."""

    condition: Expr | None
    body: Block
    place: Place
    summary: BlockEffect


@dataclass(frozen=True, slots=True)
class Branch:
    """if / else if / else; `rest` is what happens from there to the end of the function."""

    options: tuple[Option, ...]
    place: Place
    constexpr: bool
    rest: BlockEffect
    near: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """The statements between two sets of labels of a switch; `entered` are labels above that go on into it."""

    labels: tuple[Expr, ...]
    default: bool
    guards: tuple[Guard, ...]
    body: Block
    place: Place
    summary: BlockEffect
    falls: bool = False  # surely goes on into the next one
    entered: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Switch:
    subject: Expr
    cases: tuple[Case, ...]
    place: Place
    rest: BlockEffect
    near: str = ""


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None
    place: Place
    near: str = ""  # comments about it


@dataclass(frozen=True, slots=True)
class Leave:
    """throw, break, continue, goto; a label, to which a goto may come."""

    word: str


@dataclass(frozen=True, slots=True)
class Loop:
    body: Block


@dataclass(frozen=True, slots=True)
class Nested:
    """A block among statements that declares names of its own."""

    body: Block


@dataclass(frozen=True, slots=True)
class Directive:
    """#if / #elif / #else among statements; a condition of None is #else."""

    options: tuple[tuple[Expr | None, Block], ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A statement that refuses when its condition fails: CHECK macro, assert, static_assert."""

    condition: Expr
    macro: str
    place: Place
    refusal: Effect
    rest: BlockEffect
    near: str = ""


Statement = Assign | Evaluate | Branch | Switch | Return | Leave | Loop | Nested | Directive | Check
Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function, or a macro whose body holds statements."""

    name: str
    scope: str  # class or namespace named at the definition, or the class around it
    parameters: tuple[str, ...]
    template: tuple[str, ...]
    body: Block
    place: Place
    is_kernel: bool = False
    is_device: bool = False
    is_macro: bool = False
    guards: tuple[Guard, ...] = ()
    types: tuple[str, ...] = ()  # of the parameters, by their last names
    variadic: bool = False
    is_sparse: bool = False  # so long that only what may matter was read
    numbers: int = 0  # the returns of one that asks and returns numbers, and does nothing else
    is_lambda: bool = False  # known by the variable that holds it; its statements are read where they stand


@dataclass(frozen=True, slots=True)
class Constant:
    """A named value: enumerator, constexpr, variable template, object-like macro, class derived from bool_constant."""

    name: str
    scope: str
    template: tuple[str, ...]
    value: Expr
    place: Place
    guards: tuple[Guard, ...] = ()
    special: tuple[Expr, ...] = ()  # arguments of the template specialisation that it is a member of


@dataclass(frozen=True, slots=True)
class Alias:
    """using name = base<targs>."""

    name: str
    base: str
    targs: tuple[Expr, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Unit:
    """What one file says, reduced."""

    functions: tuple[Function, ...] = ()
    constants: tuple[Constant, ...] = ()
    aliases: tuple[Alias, ...] = ()
    templates: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())  # class template -> its parameters
    compiled: tuple[str, ...] = ()  # what is made of `__CUDA_ARCH__`: constants, functions, types


def dotted(expr: Expr) -> str:
    """`config.sm` for a chain of fields; the text for anything else."""
    if expr.op is Op.NAME:
        return expr.name
    if expr.op is Op.FIELD:
        owner = dotted(expr.args[0])
        return expr.name if owner == "this" else f"{owner}.{expr.name}"
    return expr.text


def declared(block: Block) -> frozenset[str]:
    """The names that a block itself declares, which end with it."""
    return frozenset(name for s in block if isinstance(s, Assign) and s.declared for name in s.targets)


def conjunction(guard: Expr, condition: Expr) -> Expr:
    """`condition` with a preprocessor's condition before it; it still reads as written."""
    return Expr(Op.BINARY, condition.place, condition.text, "&&", args=(guard, condition))
