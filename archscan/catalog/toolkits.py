"""Compiles rules/facts/toolkits.yaml: what each CUDA toolkit compiles for, and what named lists stand for."""

from __future__ import annotations

import re
from typing import Any

from archscan.catalog.reading import check_keys, mapping, one_of, sequence, text
from archscan.catalog.types import NamedList, Toolkit, Toolkits
from archscan.errors import UserError

ROOT_KEYS = ("sources", "toolkits", "words", "torch", "cmake")
ROW_KEYS = ("release", "measured", "ptx_isa", "driver", "accepts", "deprecated", "source")
WORD_KEYS = ("nvcc", "cmake", "torch", "source")
_NAME = re.compile(r"\d{2,3}[af]?")


def compile_toolkits(raw: Any, where: str) -> Toolkits:
    """The checked and compiled form of toolkits.yaml, releases in ascending order."""
    root = mapping(raw, where)
    check_keys(root, ROOT_KEYS, where, ROOT_KEYS)
    sources = mapping(root["sources"], where)
    rows = tuple(_row(mapping(entry, where), sources, where) for entry in sequence(root["toolkits"], where))
    if not rows or list(rows) != sorted(rows, key=lambda row: row.version):
        raise UserError(f"{where}: toolkits must be there, and in ascending order")
    words = mapping(root["words"], where)
    for word, meaning in words.items():
        check_keys(mapping(meaning, where), WORD_KEYS, f"{where}: {word}", ("source",))
    return Toolkits(
        rows=rows,
        words={word: {key: text(value, where) for key, value in meaning.items()} for word, meaning in words.items()},
        torch=_named(root["torch"], f"{where}: torch"),
        cmake=_named(root["cmake"], f"{where}: cmake"),
    )


def _row(entry: dict[str, Any], sources: dict[str, Any], where: str) -> Toolkit:
    place = f"{where}: {entry.get('release', '?')}"
    check_keys(entry, ROW_KEYS, place, ("release", "ptx_isa", "accepts", "source"))
    for source in text(entry["source"], place).split():
        one_of(source, sources, place)
    driver = entry.get("driver")
    if driver is not None and not isinstance(driver, int):
        raise UserError(f'{place}: "driver" is the number of a branch such as 580, found "{driver}"')
    return Toolkit(
        release=text(entry["release"], place),
        ptx_isa=text(entry["ptx_isa"], place),
        driver=driver,
        accepts=_names(entry["accepts"], place),
        deprecated=_names(entry.get("deprecated", ""), place),
        source="; ".join(text(sources[s], place) for s in text(entry["source"], place).split()),
    )


def _names(value: Any, place: str) -> frozenset[str]:
    names = text(value, place).split()
    for name in names:
        if not _NAME.fullmatch(name):
            raise UserError(f'{place}: expected architectures such as 90 or 90a, found "{name}"')
    return frozenset(names)


def _named(raw: Any, where: str) -> tuple[NamedList, ...]:
    """Rows of names, each from some version of its program on."""
    rows = []
    for entry in sequence(raw, where):
        check_keys(mapping(entry, where), ("since", "names", "accepts", "source"), where, ("since", "source"))
        names = {key: text(value, where) for key, value in mapping(entry.get("names"), where).items()}
        rows.append(
            NamedList(text(entry["since"], where), names, frozenset(text(entry.get("accepts", ""), where).split()))
        )
    return tuple(rows)


def sms_of(word: str, toolkit: Toolkit) -> tuple[int, ...]:
    """The SMs that `all` and `all-major` stand for, ascending; none for other words."""
    plain = toolkit.plain
    if word == "all-major":
        return tuple(sm for sm in plain if sm % 10 == 0 or sm == plain[0])
    return plain if word == "all" else ()
