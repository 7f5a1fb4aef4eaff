"""What is known without reading it: capability sources, facades, predicates, and names that carry the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from tree_sitter import Node

from archscan.catalog.names import names, one_of
from archscan.frontends.python.interpreter.values import Capability, ExternalV, PerTarget, PropertiesV, Unknown, Value
from archscan.frontends.python.source.syntax import text
from archscan.model.target import Target


@cache
def _deny() -> re.Pattern[str]:
    """What makes a name that looks like a capability's something else; the plural among it."""
    return re.compile(rf"{one_of('unlike')}|_list$|s$", re.IGNORECASE)


@cache
def _capability() -> re.Pattern[str]:
    return re.compile(rf"_*(?:{one_of('owners')})*_*(?:{one_of('holders')})", re.IGNORECASE)


@cache
def _half(which: str) -> re.Pattern[str]:
    """A name of the major or minor number."""
    return re.compile(rf"_*(?:(?:{one_of('halves')})_?)*{which}", re.IGNORECASE)


def _is_half(name: str) -> bool:
    return any(_half(which).fullmatch(name) for which in names()["parts"])


_AMBIGUOUS = re.compile(r"^_*cap$", re.IGNORECASE)  # of a video as well: cv2.VideoCapture
_BUILD = re.compile(r"^has_sm_?(\d{2,3})([afx]?)(?:_\w+)?$")
_PREDICATE = re.compile(
    r"^_*(?:is|has|use|device_is)_(?:nvidia_)?(?:cuda_)?sm_?(\d{2,3})([afx]?)(?:_?(?:supported|family|device|gpu))?$"
)
_GENERATION = re.compile(
    r"^_*(?:is|has|use|on)_(?:nvidia_|cuda_)?([a-z]+?)"
    r"(_?(?:plus|or_(?:newer|later|above|higher)|and_(?:newer|later|above)|or_better))?(?:_(?:gpu|device|arch|supported|family))?$",
    re.IGNORECASE,
)
_PROPERTIES = re.compile(r"prop|arch_version|cap\b|capab|\bcc\b|device_info|gpu_info", re.IGNORECASE)


_OTHER = re.compile(
    r"multi_processor|architectures|smem|shared_mem|version|config|num_|count|softmax|platform\.machine|len\("
    r"|\.split\(\s*[\"']\."  # a version's numbers: of the toolkit, the driver, a package
)
_OF_TWO_DIGITS = re.compile(r"\bint\(\s*[\w.]+\[\s*:\s*2\s*\]\s*\)")  # a toolkit's; GPUs have majors of one digit, too
_DEVICE = re.compile(r"capab|compute|dev|cuda|gpu|arch|prop|nvml|(?<![a-z])(?:cc|sm|cap)(?![a-z])", re.IGNORECASE)


def speaks_of_chips(words: str) -> bool:
    """Whether a text, such as the name of a class, has a word for GPUs or their capability."""
    return _DEVICE.search(words) is not None


_ASKS = re.compile(r"capab|sm_version|compute", re.IGNORECASE)


UNSTATED = ExternalV("<missing>")  # of names that nothing is known of


@dataclass(frozen=True, slots=True)
class Requirement:
    """A keyword, decorator or constructor whose argument lists the targets it admits."""

    name: str
    encoding: str  # major | sm | pair
    layer: str
    message: str
    minimum: str = ""
    maximum: str = ""


@dataclass(frozen=True, eq=False)
class Generations:
    """What is surely meant by the name of a generation: its first and its last SM; newer ones may be meant or not."""

    spans: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The compiled sections of the package facts, and the environment the user settled."""

    sources: dict[str, str] = field(default_factory=dict)
    facades: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    wrappers: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()  # decorators that leave what a function answers as it is
    keywords: dict[str, Requirement] = field(default_factory=dict)
    decorators: dict[str, Requirement] = field(default_factory=dict)
    combiners: dict[str, Requirement] = field(default_factory=dict)  # decorators that name decorated requirements
    windows: dict[str, Requirement] = field(default_factory=dict)
    defines: dict[str, str] = field(default_factory=dict)
    undefines: frozenset[str] = frozenset()
    generations: Generations = field(default_factory=Generations)

    def seed(self, name: str, lanes: PerTarget) -> Value | None:
        """What a bare, unresolved name carries by convention; None if it carries no target."""
        value = _carried(name, self.generations, lanes)
        # two names that each carry a capability may mean two of them
        return Capability(value.is_text) if isinstance(value, Capability) else value

    def seed_unknown(self, name: str, assigned: Node, lanes: PerTarget) -> Value | None:
        """What a name carries by convention although nobody can tell what it was assigned."""
        value = self.seed(name, lanes)
        if value is None:
            return None
        source = text(assigned)
        if (_is_half(name) or _AMBIGUOUS.match(name)) and not _DEVICE.search(source):
            return None
        if _is_half(name) and _OF_TWO_DIGITS.search(source) and not _ASKS.search(source):
            return None
        return None if _OTHER.search(source) and not _ASKS.search(source) else value

    def seed_attribute(self, full: str, name: str, lanes: PerTarget) -> Value | None:
        """What an unresolved attribute carries by convention."""
        if name in self.predicates:
            return self.call(full, name, lanes)
        if name in ("major", "minor"):
            owner = full.rsplit(".", 1)[0]
            if _PROPERTIES.search(owner) or (name != "major" and _capability().fullmatch(owner)):
                return lanes.major if name == "major" else lanes.minor
            return None
        return self.seed(name, lanes)

    def seed_item(self, owner: str, key: str, lanes: PerTarget) -> Value | None:
        """What an item of something unresolved carries by convention: `info["major"]`, but of a version none."""
        if (
            key in ("major", "minor")
            and _OTHER.search(owner)
            and not (_ASKS.search(owner) or _PROPERTIES.search(owner))
        ):
            return None
        return self.seed(key, lanes)

    def call(self, full: str, name: str, lanes: PerTarget) -> Value | None:
        """What calling an unscanned function gives."""
        for key in (full, name):
            source = self.sources.get(key)
            if source is not None:
                return _source(source, lanes)
            predicate = self.predicates.get(key)
            if predicate is not None:
                return _predicate(predicate, lanes)
        return _by_convention(name, self.generations, lanes)

    def stated(self, full: str, lanes: PerTarget) -> Value | None:
        """What a whole expression with a call in it is known to give: get_platform().is_sm90."""
        return self.call(full, full, lanes) if "()." in full else None

    def holds(self, dotted: str) -> bool:
        """Whether a library is known to have a module or function of that dotted name: `torch.cuda`."""
        told = (*self.sources, *(name for name, when in self.predicates.items() if when == "true"))
        return any(name == dotted or name.startswith(f"{dotted}.") for name in told)

    def constant(self, dotted: str) -> Value:
        """The assumed value of a name outside what was scanned (torch.version.hip), or UNSTATED."""
        return self.constants.get(dotted, UNSTATED)

    def variable(self, name: str) -> Value | None:
        """The value the user settled for an environment variable."""
        if name in self.undefines:
            return None
        return self.defines.get(name)

    def may_require(self, call: Node) -> bool:
        """Whether a call written as a statement may be a check that raises."""
        function = call.child_by_field_name("function")
        return function is not None and is_check(text(function).rsplit(".", 1)[-1])


@cache
def _checks() -> re.Pattern[str]:
    return re.compile(one_of("requires"), re.IGNORECASE)


def is_check(name: str) -> bool:
    """Whether a call written as a statement is there to check, by the name of its function."""
    return _checks().search(name) is not None


@lru_cache(maxsize=1 << 13)
def _carried(name: str, generations: Generations, lanes: PerTarget) -> Value | None:
    """What a bare name carries by convention; None if it carries no target."""
    if _capability().fullmatch(name) and not name.isupper():
        return None if _deny().search(name) else Capability(name.endswith("_str"))
    if _half("major").fullmatch(name):
        return lanes.major
    if _half("minor").fullmatch(name):
        return lanes.minor
    build = _BUILD.match(name)
    if build:
        return _named(int(build[1]), build[2], lanes)
    return _by_convention(name, generations, lanes)


@lru_cache(maxsize=1 << 13)
def _by_convention(name: str, generations: Generations, lanes: PerTarget) -> Value | None:
    """What an unscanned predicate answers as far as its name tells; None if it tells nothing."""
    predicate = _PREDICATE.match(name)
    if predicate:
        return _named(int(predicate[1]), predicate[2] or "x", lanes)
    generation = _GENERATION.match(name)
    span = generations.spans.get(generation[1].lower()) if generation else None
    if not generation or span is None:
        return None
    first, last = span
    newer: Value = True if generation[2] else Unknown((name,), True)
    return lanes.by_target(lambda t: False if t.sm < first else True if t.sm <= last else newer)


def _named(digits: int, suffix: str, lanes: PerTarget) -> Value:
    """A flag named after an SM: that SM, or with f or x its family."""
    if suffix in ("f", "x"):
        sm = digits if digits >= 50 else digits * 10
        return lanes.by_target(lambda t: t.sm // 10 == sm // 10)
    return lanes.by_target(lambda t: t.sm == digits)


def _source(gives: str, lanes: PerTarget) -> Value:
    values: dict[str, Value] = {
        "pair": lanes.pair, "major": lanes.major, "minor": lanes.minor, "sm": lanes.sm,
        "properties": PropertiesV(), "target": Capability(), "text": Capability(True),
    }  # fmt: skip
    return values[gives]


_RULE = re.compile(r"^(major|sm|minor)\s*(==|>=|<=|<|>|in)\s*([\d, ]+)$")


def _predicate(rule: str, lanes: PerTarget) -> Value:
    """The value of "sm >= 90", "major in 9, 10", "true", "false" or "unknown"."""
    if rule in ("true", "false"):
        return rule == "true"
    match = _RULE.match(rule)
    if not match:
        return Unknown((rule,), rule == "unknown-arch")
    numbers = [int(n) for n in match[3].replace(",", " ").split()]

    def test(target: Target) -> bool:
        mine = {"major": target.major, "sm": target.sm, "minor": target.minor}[match[1]]
        first = numbers[0]
        return {
            "==": mine == first, ">=": mine >= first, "<=": mine <= first, "<": mine < first, ">": mine > first,
            "in": mine in numbers,
        }[match[2]]  # fmt: skip

    return lanes.by_target(test)


def compile_knowledge(
    packages: Mapping[str, Any],
    defines: Iterable[tuple[str, str]] = (),
    undefines: Iterable[str] = (),
    cuda: str = "13.0",
) -> Knowledge:
    """The knowledge in the package facts, for a toolkit and the user's settings."""
    rows = {name: list(packages.get(name) or ()) for name in _SECTIONS}
    constants: dict[str, Value] = {}
    for row in rows["predicates"]:
        if "constant" in row:
            constants[row["name"]] = cuda if row["constant"] == "toolkit" else row["constant"]
    registries = [
        (
            row.get("form"),
            Requirement(
                row["name"],
                row.get("encoding", "sm"),
                row.get("layer", "python"),
                row.get("message", ""),
                row.get("minimum", ""),
                row.get("maximum", ""),
            ),
        )
        for row in rows["registries"]
    ]
    return Knowledge(
        sources={
            row["name"]: row["gives"]
            for row in (*rows["python_capability_sources"], *rows["facades"])
            if "gives" in row
        },
        facades={row["name"]: row["compares"] for row in rows["facades"] if "compares" in row},
        predicates={
            row["name"]: str(row["when"]) if not isinstance(row["when"], bool) else str(row["when"]).lower()
            for row in (*rows["predicates"], *rows["facades"]) if "when" in row
        },
        constants=constants,
        wrappers=frozenset(row["name"] for row in rows["wrappers"] ),
        transparent=frozenset(row["name"] for row in (*rows["wrappers"], *rows["decorators"])),
        keywords={r.name: r for form, r in registries if form == "keyword"},
        decorators={r.name: r for form, r in registries if form == "decorator"},
        combiners={r.name: r for form, r in registries if form == "combiner"},
        windows={r.name: r for form, r in registries if form == "window"},
        defines=dict(defines),
        undefines=frozenset(undefines),
        generations=Generations({row["name"]: (row["first"], row["last"]) for row in rows["generations"]}),
    )  # fmt: skip


_SECTIONS = (
    "python_capability_sources",
    "facades",
    "predicates",
    "wrappers",
    "decorators",
    "registries",
    "generations",
)
