"""Resources: constants against the limits of a chip, and tables that hold such limits."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from archscan.catalog.types import Catalog
from archscan.judge.branches import Branch
from archscan.model.facts import Site, SiteKind
from archscan.model.target import Selection, Target

STATIC, DEFAULT, OPT_IN = "static_smem_max_bytes", "smem_per_block_default_bytes", "smem_per_block_optin_bytes"
THREADS, CLUSTER = "max_threads_per_sm", "max_cluster_size_nonportable"
BLOCKS = "max_blocks_per_sm"
PORTABLE_CLUSTER = "max_cluster_size_portable"  # the limit to go by where no larger one is documented
MEMORY = ("smem_per_sm_bytes", OPT_IN)
_EVERYWHERE = 48 * 1024  # bytes of shared memory that a block of every chip has without asking for more
TABLED = (THREADS, OPT_IN, "smem_per_sm_bytes")  # limits with values that nothing else happens to have


@dataclass(frozen=True, slots=True)
class Overrun:
    """A constant that exceeds a limit of some variants of the target."""

    key: str
    value: int
    limit: int  # the lowest among the variants that it exceeds
    exceeds: int  # variants
    fits: int  # variants of the same chip that it fits
    source: str
    is_told: bool = False  # it is not asked for, but told as what the target has


def limit(catalog: Catalog, sm: int, key: str) -> int | None:
    """A limit of an SM, None where it is not documented."""
    architecture = catalog.architectures.get(sm)
    known = architecture.limits.get(key) if architecture else None
    return known.value if known else None


def source(catalog: Catalog, sm: int, key: str) -> str:
    """Where that limit is written down."""
    architecture = catalog.architectures.get(sm)
    known = architecture.limits.get(key) if architecture else None
    return known.source if known else ""


def overrun(site: Site, selection: Selection, catalog: Catalog) -> Overrun | None:
    """How a constant outside every gate exceeds what the target has, or None where it fits."""
    exceeds = fits = 0
    lowest: tuple[int, str] | None = None
    for variant in catalog.universe.variants(selection.sm):
        key = _key(site.kind, variant, catalog)
        cap = limit(catalog, selection.sm, key) if key else None
        bit = catalog.universe.bit(variant)
        if cap is None or key is None or site.value <= cap:
            fits |= bit
        elif site.truth.yes & bit and selection.mask & bit:
            exceeds |= bit
            lowest = min(lowest or (cap, key), (cap, key))
    if not exceeds or lowest is None:
        return None
    return Overrun(lowest[1], site.value, lowest[0], exceeds, fits, source(catalog, selection.sm, lowest[1]))


def _key(kind: SiteKind, variant: Target, catalog: Catalog) -> str | None:
    if kind is SiteKind.STATIC_SHARED:
        # CUDA 13 lets only `a` targets declare up to the real limit; plain and `f` stop at 48 KB (measured)
        return STATIC if variant.suffix == "a" else DEFAULT
    if kind is SiteKind.DYNAMIC_SHARED:
        return OPT_IN
    if kind is SiteKind.CLUSTER_DIMS:
        return PORTABLE_CLUSTER if limit(catalog, variant.sm, CLUSTER) is None else CLUSTER
    return THREADS if kind is SiteKind.LAUNCH_BOUNDS else None


_SIZES = re.compile(r"^(?:[^'\"]|[\"']\w+[\"']\s*:)*\b(?:[1-9]\d+)\b(?:[^'\"]|[\"']\w+[\"']\s*:)*$")


def lumped(branch: Branch, ways: tuple[Branch, ...], selection: Selection, catalog: Catalog) -> Overrun | None:
    """The overrun to fear where sizes are chosen for the target as for chips with more shared memory.

    Another arm must choose other sizes for chips that have as little as the target: then the ladder is about memory.
    """
    own = limit(catalog, selection.sm, OPT_IN)
    mates = [limit(catalog, sm, OPT_IN) for sm in catalog.universe.sms(branch.yes) if sm // 10 != selection.major]
    if (
        own is None
        or (branch.conditional and not branch.own & selection.mask)  # another question chose these sizes
        or not mates
        or any(m is None or m <= own for m in mates)
        or not _SIZES.match(branch.effect.value or "")
    ):
        return None
    for other in ways:
        alike = [limit(catalog, sm, OPT_IN) for sm in catalog.universe.sms(other.yes & selection.peers)]
        differs = other.arm != branch.arm and other.effect.value != branch.effect.value
        if (
            differs
            and other.conditional
            and other.own & selection.peers  # asks for the chip alone
            and alike
            and all(a == own for a in alike)
            and _SIZES.match(other.effect.value or "")
        ):
            return Overrun(OPT_IN, 0, own, selection.mask, 0, source(catalog, selection.sm, OPT_IN))
    return None


def tabled_limit(ways: tuple[Branch, ...], catalog: Catalog) -> str | None:
    """The limit that a table of constants or records holds: every row with a condition gives it right for its SMs.

    Rows of chips that no toolkit of today compiles for are not looked at.
    """
    taken = [b for b in ways if b.conditional and b.yes]
    rows = [(_columns(b.effect.value), catalog.universe.sms(b.yes)) for b in taken]
    kept = [(columns, {sm for sm in numbers if sm >= _OLDEST}) for columns, numbers in rows]
    kept = [(columns, numbers) for columns, numbers in kept if numbers]
    if not kept or not all(columns for columns, _ in rows):
        return None
    for name in kept[0][0]:
        for key in TABLED:
            if all(is_limit(c.get(name), limit(catalog, sm, key), key) for c, numbers in kept for sm in numbers):
                return key
    return None


def told_too_large(branch: Branch, ways: tuple[Branch, ...], selection: Selection, catalog: Catalog) -> Overrun | None:
    """The shared memory that a ladder of limits tells the target, where that is more than a block or an SM of it has.

    It is a ladder of limits if each other arm tells that of the oldest chip that takes it, and two do, or one beside
    what every chip has.
    """
    own = max(limit(catalog, selection.sm, key) or 0 for key in MEMORY)
    told, asks = constant(branch.effect.value), [b for b in ways if b.conditional and b.yes]
    if not own or told is None or not branch.conditional or not branch.own & selection.mask:
        return None
    for key in MEMORY:
        rows = [(constant(b.effect.value), _first(b, key, catalog), b is branch) for b in asks]
        right = [(value, cap) for value, cap, _ in rows if cap is not None and is_limit(value, cap, key)]
        wrong = [is_own for value, cap, is_own in rows if cap is not None and not is_limit(value, cap, key)]
        anybody = any(constant(b.effect.value) == _EVERYWHERE for b in ways if not b.conditional)
        if not right or not all(wrong) or len(right) + anybody < _FEWEST:
            continue
        size = told * 1024 if all(value is not None and value * 1024 == cap for value, cap in right) else told
        if size > own:
            where = source(catalog, selection.sm, key)
            return Overrun(key, size, own, branch.yes & selection.mask, 0, where, is_told=True)
    return None


def _first(branch: Branch, key: str, catalog: Catalog) -> int | None:
    """The limit of the oldest chip that takes a branch; None of chips that no toolkit of today compiles for."""
    taken = catalog.universe.sms(branch.yes)
    return limit(catalog, min(taken), key) if taken and max(taken) >= _OLDEST else None


def gives_a_limit(ways: tuple[Branch, ...], gets: Branch, own: int, catalog: Catalog) -> bool:
    """Whether each chip gets its own count of resident warps or blocks, the target with its value among them.

    Such small numbers may be anything, so that there must be two of them.
    """
    taken = [b for b in ways if b.conditional and b.yes]
    values = [_bounded(b.effect.value) for b in (*taken, gets)]
    if None in values or len(set(values)) < _FEWEST:
        return False
    rows = [(v, catalog.universe.sms(b.yes)) for v, b in zip(values, taken, strict=False)]
    asked = [(value, sm) for value, numbers in (*rows, (values[-1], {own})) for sm in numbers if sm >= _OLDEST]
    for key, size in ((THREADS, 32), (BLOCKS, 1)):
        known = [(value, limit(catalog, sm, key)) for value, sm in asked]
        if known[-1][1] is not None and all(cap is None or value * size == cap for value, cap in known if value):
            return True
    return False


def mostly_blocks(ways: tuple[Branch, ...], catalog: Catalog) -> str | None:
    """The limit of resident blocks, where a ladder tells it: three numbers, each right for some chip, and most are.

    A row may be wrong for some of the chips that take it. Small numbers may be anything, so that there must be three.
    """
    rows = [(constant(b.effect.value), catalog.universe.sms(b.yes)) for b in ways if b.yes]
    told = [(value, limit(catalog, sm, BLOCKS)) for value, taken in rows for sm in sorted(taken) if sm >= _OLDEST]
    known = [(value, cap) for value, cap in told if cap is not None]
    right = [value for value, cap in known if value == cap]
    is_told = len(set(right)) > _FEWEST and {value for value, _ in told} == set(right)
    return BLOCKS if is_told and 2 * len(right) > len(known) else None


_FEWEST = 2
_OLDEST = 75  # that nvcc 13 compiles for
_LEAST = re.compile(r"(?:\w+\s*=\s*)?min\(\s*\w+\s*,\s*(\d+)\s*\)")


def _bounded(text: str | None) -> int | None:
    """The number of a value, or that which it is bounded by: `min(blocks, 16)`."""
    match = _LEAST.fullmatch(text or "")
    return int(match[1]) if match else constant(text)


@lru_cache(4096)
def _columns(text: str | None) -> dict[str, int]:
    """The numbers of a row by name: of a record `Limits(smem=99 * 1024)`, or the one of a constant under no name."""
    value = constant(text)
    if value is not None:
        return {"": value}
    record = _RECORD.match(text or "")
    found = ((name, constant(part)) for name, part in (_FIELD.findall(text or "") if record else ()))
    return {name: value for name, value in found if value is not None}


def holds_limit(text: str | None, known: int | None, key: str) -> bool:
    """Whether a constant is that limit, or a number of a record."""
    return any(is_limit(value, known, key) for value in _columns(text).values())


_RECORD = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\(")  # as it is shown it may be cut
_FIELD = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d[\d\s*+]*?)\s*(?=[,)])")


_ROW = re.compile(r"\{\s*(\d{2,4})\s*,\s*([^{},]+?)\s*\}")


def listed_limit(rows: str, own: int, catalog: Catalog) -> tuple[str, bool] | None:
    """The limit that the rows `{86, 101376}` of a map hold, and whether one of them is that of an SM; None if none."""
    table = [(int(sm), constant(value)) for sm, value in _ROW.findall(rows)]
    if len(table) < 2 or any(sm not in catalog.architectures or value is None for sm, value in table):
        return None
    for key in TABLED:
        if all(is_limit(value, limit(catalog, sm, key), key) for sm, value in table):
            return key, any(is_limit(value, limit(catalog, own, key), key) for _, value in table)
    return None


def is_limit(value: int | None, known: int | None, key: str) -> bool:
    """Whether a constant is that limit; of memory also where it is written in KB, or in thousands for KB: 99000."""
    if value is None or known is None:
        return False
    kilo = value // 1000 if value % 1000 == 0 else value
    return value == known or ("smem" in key and kilo * 1024 == known)


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_DEFINED = re.compile(r"^\w+=(?!=)")
_SUFFIX = re.compile(r"(?<=[0-9a-fA-F])[uUlL]+\b")


@lru_cache(4096)
def constant(text: str | None) -> int | None:
    """The value of a small integer expression such as `99 * 1024` or `LIMIT=1536`, None for anything else."""
    if not text or len(text) > 80:
        return None
    text = _DEFINED.sub("", text)
    try:
        return _value(ast.parse(_SUFFIX.sub("", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("no integer expression")
