"""Whether scanned code calls the function that a gate stands in: what nobody calls bites nobody today."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from archscan.judge.findings import in_order
from archscan.model.facts import Origin, SiteKind
from archscan.model.finding import Advice, Finding, Level, Reach, Reason
from archscan.model.gate import Layer
from archscan.model.report import Report
from archscan.tracing.code import Code, words

_MOST_FILES = 60  # that name a function: one that more do is common, and called
_UNITS = (".cu", ".cpp", ".cc", ".cxx")
_BEFORE = re.compile(rb"(?:([A-Za-z_]\w*)|(&&|.))[ \t\r\n]*\Z", re.DOTALL)  # the last word or sign
_PARAMETERS = re.compile(rb"\s{0,40}\(")
_NO_TYPES = frozenset({b"return", b"and", b"or", b"not", b"else", b"do", b"case", b"co_return", b"throw"})


def with_calls(report: Report, load: Callable[[str], bytes | None]) -> Report:
    """The report with medium severity, and the reason, for what stands in a function that nothing scanned calls.

    Asked of functions in device code alone: what is launched is known by its launches. `load` returns the bytes of a
    path.
    """
    files = report.facts.files
    origins, linked = {file.path: file.origin for file in files}, {file.path: file.links for file in files}
    kernels = {s.name.rpartition("::")[2] for file in files for s in file.sites if s.kind is SiteKind.KERNEL}
    asked = [(finding, _function(finding)) for finding in report.findings]
    names = {name for _, name in asked if name and name not in kernels}
    calls = _Calls(Code(origins, lambda path: load(path) or b"", (), linked), names)
    found: list[Finding] = []
    for finding, name in asked:
        if name not in names or finding.path in calls.called(name):
            found.append(finding)
            continue
        risk = replace(finding.risk, reasons=(*finding.risk.reasons, Reason(f"nothing scanned calls {name}")))
        found.append(replace(finding, severity=Level.MEDIUM, reach=Reach.EXISTS, risk=risk))
    return report if found == list(report.findings) else replace(report, findings=in_order(found))


def _function(finding: Finding) -> str:
    """The bare name of the function in device code around a gate that bites hard and might be opened."""
    scope, layer = finding.gate.scope, finding.gate.layer
    is_hard = finding.severity.rank > Level.MEDIUM.rank and finding.advice is not Advice.WIDEN_UNSAFE_COMPILE
    if scope is None or not is_hard or layer not in (Layer.PREPROCESSOR, Layer.DEVICE):
        return ""
    return scope.name.rpartition("::")[2]


class _Calls:
    """Who names what of which file, by text: comments count as calls, so that no call is overlooked."""

    def __init__(self, code: Code, names: Iterable[str]) -> None:
        self._code = code
        sources = [path for path in code.cuda if code.origins[path] is not Origin.TEST]
        self._naming = code.holding_each(names, sources)
        self._units = frozenset(
            path for path in sources if path.endswith(_UNITS) and code.origins[path] is not Origin.VENDORED
        )
        self._called: dict[str, frozenset[str]] = {}

    def called(self, name: str) -> frozenset[str]:
        """The files whose function of that name own code calls: of those that the call sees, the nearest to it."""
        if name not in self._called:
            self._called[name] = self._find(name)
        return self._called[name]

    def _find(self, name: str) -> frozenset[str]:
        naming = self._naming[name]
        own = [path for path in naming if self._code.origins[path] is not Origin.VENDORED]
        if len(own) > _MOST_FILES:
            return frozenset(own)
        uses = {path: dict(_uses(name.encode("utf-8", "backslashreplace"), self._code.peek(path))) for path in naming}
        defining = {path for path in naming if True in uses[path].values()}
        found: set[str] = set()
        for path in own:
            if False in uses[path].values():
                seen = self._seen(path, defining)
                shared = [len(posixpath.commonprefix([path.split("/"), other.split("/")])) for other in seen]
                found.update(other for other, depth in zip(seen, shared, strict=True) if depth == max(shared))
        return frozenset(found)

    def _seen(self, path: str, defining: Iterable[str]) -> list[str]:
        """Those of `defining` that a file includes, else those that the units see which include it: a header may leave
        to them what it needs.
        """
        including = self._code.includes.including
        units = including(path) & self._units
        return [one for one in defining if path in including(one)] or [
            one for one in defining if not units.isdisjoint(including(one))
        ]


def _uses(name: bytes, data: bytes) -> Iterator[tuple[int, bool]]:
    """Where a name stands, and whether it is defined or declared there: a type before it, parameters behind it."""
    for at in words(name, data):
        before = _BEFORE.search(data, max(0, at - 80), at)
        word, sign = before.groups() if before else (None, None)
        typed = bool(word and word not in _NO_TYPES) or sign in (b"*", b"&", b">")
        yield at, typed and bool(_PARAMETERS.match(data, at + len(name)))
