"""What the user asked for, after the command line and `[tool.archscan]` have been merged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScanSettings:
    """Everything that changes what a scan reads or how conditions evaluate. Part of the cache key."""

    cuda: str = "13.0"  # toolkit assumed
    defines: tuple[tuple[str, str], ...] = ()  # -D NAME[=V]: macros, and environment variables on the Python side
    undefines: tuple[str, ...] = ()
    layers: frozenset[str] = frozenset()  # empty = all
    include_vendored: bool = False
    exclude: tuple[str, ...] = ()  # gitignore-style patterns
    jobs: int = 0  # 0 = as many as there are cores
    use_cache: bool = True
    stdin_name: str = ""  # what standard input is called


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Everything that changes what is reported."""

    problems: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()
    min_risk: str = "info"
    min_severity: str = "info"
    advice: frozenset[str] = frozenset()
    include_leave: bool = False
    include_vendored: bool = False
    include_tests: bool = False
    context: tuple[str, ...] = ()  # "pcie", "tp8": evidence with these conditions weighs more
    focus: tuple[str, ...] = ()  # report only what touches these paths (hook)
    ignored: tuple[tuple[str, frozenset[str]], ...] = ()  # rules that are not reported of paths with this pattern
