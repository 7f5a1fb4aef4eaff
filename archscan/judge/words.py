"""What comments, docstrings, names and messages beside a gate say: reasons for it, and doubts about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from archscan.catalog.types import Catalog
from archscan.model.gate import Gate

# Each begins at a word: tried at every character, such a list of words costs ten times as much
_WORKAROUND = re.compile(
    r"\b(?:work[\s-]?arounds?\b|quirks?\b|picky\b|(?:hardware|driver|compiler|ptxas|library)\s+bug|errat(?:a|um)\b"
    r"|dead-?locks?\b|miscompil|faults? on\b|hangs? on (?:sm|gb|[abh]\d)"
    r"|does(?:n't| not) (?:reliably|honou?r|guarantee)|unreliabl)",
    re.I,
)
_KNOWN_BAD = re.compile(
    r"\b(?:corrupt|wrong (?:output|result)|garbage|illegal (?:instruction|memory)|do not widen|don't widen"
    r"|only validated|intentional|deliberate|broken\b|known[- ]bad|NaNs?\b|not numerically|fails? to (?:build|compile)"
    r"|rejects?\b)",
    re.I,
)
_LACKS = re.compile(
    r"\b(?:lacks?\b|unsupported\b|not supported on|does(?:n't| not) (?:have|support|exist)|no (?:hardware|native) "
    r"|missing on\b|exclud(?:es|ing)\b|except\b)",
    re.I,
)
_PERFORMANCE = re.compile(
    r"\b(?:(?:slower|faster) (?:than|on|for|there|here|by)\b|regress(?:es|ion|ed)?\b"
    r"|\d+(?:\.\d+)? ?% (?:faster|slower)\b|no (?:gain|benefit|speed-?up|win)\b|not worth\b|better off\b|outperforms?\b"
    r"|profitable\b|pays? off\b|performance (?:reasons?|choice|gate)\b"
    r"|for performance\b|loses? to\b|does(?:n't| not) (?:help|pay)\b)",
    re.I,
)
_MEASURED = re.compile(r"\b(?:measured|(?:auto-?)?tuned|benchmarked|profiled|swept) on\b", re.I)
_GAINED = re.compile(r"\b\d+(?:\.\d+)? ?% (?:faster|quicker|more throughput|speed-?up)\b", re.I)
_ONWARDS = re.compile(r"\b(?:(?:newer|later) than|beyond|(?:and|or) (?:newer|later|above|up)\b)", re.I)
_TRIED = re.compile(r"\b(?:validated|verified|tested|tuned|benchmarked)\b", re.I)
_PREFERS = re.compile(r"\b(?:prefers?|preferred|profitable|worthwhile)\b", re.I)
_PORTABLE = re.compile(
    r"\b(?:portable\b|element-?wise\b|no special instructions?\b|mma\.sync\b|cp\.async\b(?!\.bulk)|warp-level\b"
    r"|generic (?:kernel|code|implementation|path|version|c\+\+|cuda)\b|(?:with|ships|embeds|includes) ptx\b"
    r"|pure python\b|any gpu\b|plain (?:loads?|cuda|c\+\+)\b)",
    re.I,
)
_ELEMENT_WISE = re.compile(  # work on each element or row, which no special instruction does
    r"\b(?:(?:rms|layer|group|batch)[_ ]?norm|(?:de)?quantiz\w*|rope|rotary|silu|gelu|swiglu|softmax)(?![a-z])",
    re.I,
)
_MATRIX = re.compile(r"gemm|matmul|\bmm\b|mma|attention|attn|fmha|\bmla\b|moe", re.I)
_BINARY = re.compile(r"cubin|fat-?bin|pre-?built|pre-?compiled|\bshipped binar|\bcompiled for\b|\bimages?\b", re.I)
_MEMORY = re.compile(  # how much of it, not that it is used
    r"\b(?:more|larger|bigger|enough|less|requires?|needs?|fits?|exceeds?|limited|\d{2,3} ?ki?b)\b[^.\n]{0,30}"
    r"\b(?:shared[ -]mem(?:ory)?|smem)\b",
    re.I,
)
_COLLECTIVE = re.compile(
    r"all_?-?reduce|all_?-?gather|reduce_?-?scatter|all_?-?to_?-?all|\bpeers?\b|peer_|_peer|lamport|nvlink|nvls|\bp2p\b|multimem"
    r"|one_?shot|two_?shot|world_size",
    re.I,
)
_BLOCK_SCALED = re.compile(r"\b(?:nv|mx)?fp4|_fp4|fp4_|mxf[48]|e2m1|block[-_ ]?scaled", re.I)
_TUNING = re.compile(
    r"tile|stage|block_?[mnk]\b|num_warps|warps|config|tune|heuristic|split|chunk|launch_?bounds", re.I
)
_LIST_NAME = re.compile(  # not what a build or its user sets: CMAKE_CUDA_ARCHITECTURES, TORCH_CUDA_ARCH_LIST
    r"\b_?(?!\w*CUDA_ARCH)[A-Z][A-Z0-9_]*(?:TARGET|ARCH|CAPABILIT|MAJOR|_CC|_SM)[A-Z0-9_]*\b"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ARCH = re.compile(r"(?<![a-z0-9])(?:sm_?|cc_?)(\d{1,2})(\d|x)[af]?(?![0-9])", re.I)
_CHIP_WORDS = (
    (re.compile(r"volta", re.I), (7,)),
    (re.compile(r"ampere", re.I), (8,)),
    (re.compile(r"hopper", re.I), (9,)),
    (re.compile(r"datacenter blackwell", re.I), (10,)),
    (re.compile(r"(?:^|[^a-z])(?:umma|tcgen05)", re.I), (10, 11)),
)


@dataclass(frozen=True)
class Words:
    """What was said near a gate: each property is the word that says so, "" where nothing does. Looked for when asked.

    `other_chips` tells whether a line speaks of other chips alone: what it says of speed or faults is not about ours.
    """

    said: str = ""  # comments and docstring
    more: str = ""  # messages, values and names of what the gate decides about
    named: str = ""  # symbols and the name of the function around it
    other_chips: Callable[[str], bool] = lambda text: False

    @cached_property
    def workaround(self) -> str:
        return _found(_WORKAROUND, self._apart)

    @cached_property
    def known_bad(self) -> str:
        return self._of_ours(_KNOWN_BAD)

    @cached_property
    def lacks(self) -> str:
        return _found(_LACKS, f"{self.said} {self.more}")

    @cached_property
    def performance(self) -> str:
        """What is said of speed elsewhere, or what the chips that are let in gained by measurement."""
        return self._of_ours(_PERFORMANCE) or _found(_GAINED, self.said)

    @cached_property
    def memory(self) -> str:
        return _found(_MEMORY, self.said)

    @cached_property
    def measured(self) -> str:
        return _found(_MEASURED, self.said)

    @cached_property
    def tried(self) -> str:
        """The word of a text that tells on which chips it was tried."""
        return _found(_TRIED, f"{self.said} {self.more}")

    @cached_property
    def prefers(self) -> str:
        """The name of a predicate that is a preference."""
        return _found(_PREFERS, self.named.replace("_", " "))

    @cached_property
    def portable(self) -> str:
        return _found(_PORTABLE, self.said)

    @cached_property
    def element_wise(self) -> str:
        """The name of work on each element or row, where nothing beside it multiplies matrices."""
        names = _HUMP.sub("_", f"{self.named} {self.more}").replace("_", " ")
        return "" if _MATRIX.search(names) else _found(_ELEMENT_WISE, names)

    @cached_property
    def binary(self) -> str:
        return _found(_BINARY, self._names)

    @cached_property
    def collective(self) -> str:
        return _found(_COLLECTIVE, self._names)

    @cached_property
    def block_scaled(self) -> str:
        return _found(_BLOCK_SCALED, self._names)

    @cached_property
    def tuning(self) -> str:
        return _found(_TUNING, self._names)

    @cached_property
    def second_list(self) -> str:
        """The name of another list that the text goes by."""
        return _found(_LIST_NAME, self.said)

    @cached_property
    def _names(self) -> str:
        """Everything, with the humps of names parted."""
        return _HUMP.sub("_", f"{self.said} {self.named} {self.more}")

    @cached_property
    def _apart(self) -> str:
        return self._names.replace("_", " ")

    @cached_property
    def of_ours(self) -> str:
        """The lines that do not speak of other chips alone."""
        return "\n".join(line for line in self.said.splitlines() if _ONWARDS.search(line) or not self.other_chips(line))

    def _of_ours(self, pattern: re.Pattern[str]) -> str:
        """The word in a line that does not speak of other chips alone; no pattern reaches over lines."""
        return _found(pattern, self.of_ours) if pattern.search(self.said) else ""


def words(gate: Gate, *more: str, other_chips: Callable[[str], bool] = lambda text: False) -> Words:
    """What the comments, docstring, names and messages of a gate say."""
    named = " ".join((*gate.symbols, gate.scope.name if gate.scope else ""))
    return Words(gate.near, " ".join(more), named, other_chips)


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(0).strip() if match else ""


def numbered(sm: int) -> str:
    """A pattern of the ways in which code writes the number of one SM: 121, 1210, "12.1", (12, 1)."""
    major, minor = divmod(sm, 10)
    return rf"(?<![\d.])(?:{sm}0?(?![\d.])|{major}\.{minor}(?![\d.])|{major}\s*,\s*{minor}(?!\d))"


def chips_named(text: str, catalog: Catalog) -> frozenset[int]:
    """The SMs that a text names by number (`sm_90a`, `Sm100`) or by a name of their generation."""
    known: set[int] = set()
    for major, minor in _ARCH.findall(_HUMP.sub("_", text)):
        known |= {sm for sm in catalog.architectures if sm // 10 == int(major) and minor.lower() in ("x", str(sm % 10))}
    for pattern, majors in (*_CHIP_WORDS, *catalog.kernel_families):
        if pattern.search(text):
            known |= {sm for sm in catalog.architectures if sm // 10 in majors}
    return frozenset(known)


def products_named(text: str, catalog: Catalog) -> frozenset[int]:
    """The SMs of the products a text names (`GB10`, `RTX 5090`)."""
    squeezed = re.sub(r"[^a-z0-9]+", " ", text.lower())
    found = set()
    for architecture in catalog.architectures.values():
        for product in architecture.products:
            plain = re.sub(r"[^a-z0-9]+", " ", product.lower()).strip()
            if len(plain) > 3 and re.search(rf"\b{re.escape(plain)}\b", squeezed):
                found.add(architecture.sm)
    return frozenset(found)
