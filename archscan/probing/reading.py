"""Reads probes: a folder each, with probe.yaml (what is asked, and how it is launched) and kernel.cu."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from archscan.bounded import small_file
from archscan.catalog.reading import check_keys, mapping, nearest, one_of, parse, rules_directory, sequence, text, texts
from archscan.errors import UserError
from archscan.probing.types import ANSWERS, DEFAULT_MARGIN, RIGHT, Arm, Launch, Measure, Probe, TensorMap

SHARED_SOURCE = "probe.cuh"  # put before every kernel.cu
MOST_SOURCE = 1 << 20  # bytes
MOST_WORDS = 1 << 28  # of one buffer: 1 GiB
_REQUIRED = ("title", "asks", "settles", "targets", "words", "right", "arms")
_KEYS = (*_REQUIRED, "rows", "elsewhere", "tensor", "measures", "note")
_ARM_KEYS = ("launches", "feature", "answer", "optional", "ptx")
_LAUNCH_KEYS = ("kernel", "grid", "block", "shared", "cluster", "cooperative", "dependent")
_MEASURE_KEYS = ("of", "against", "by", "decides", "margin")
_ALL_TARGETS = "75 80 86 87 88 89 90* 100* 101* 103* 107* 110* 120* 121*"
_BLOCKS = re.compile(r"(?:(\d+) ?\* ?)?sms")
_LIMIT = re.compile(r"limit(?: ?([+-]) ?(\d+))?")


def directory() -> Path:
    """The folder of the probes that come with archscan."""
    return rules_directory() / "probes"


def names(root: Path | None = None) -> tuple[str, ...]:
    """The names of the probes in a folder, sorted."""
    root = root or directory()
    return tuple(sorted(path.parent.name for path in root.glob("*/probe.yaml")))


def chosen(wanted: Sequence[str], probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """The probes that these words name, by their own name or by what they settle; all for none."""
    if not wanted:
        return tuple(probes)
    known = {word for probe in probes for word in (probe.name, *probe.settles)}
    for word in wanted:
        if word not in known:
            hint = nearest(word, known)
            raise UserError(f"no probe is called {word}, and none settles it", hint or "archscan probe --list")
    return tuple(p for p in probes if {p.name, *p.settles} & set(wanted))


def read_probe(folder: Path) -> Probe:
    """The probe in a folder; UserError, with the nearest known word, for what is wrong in it."""
    where = f"{folder.name}/probe.yaml"
    try:
        raw = mapping(parse(small_file(folder / "probe.yaml", MOST_SOURCE), where), where)
        shared = small_file(folder.parent / SHARED_SOURCE, MOST_SOURCE).decode("utf-8")
        own = small_file(folder / "kernel.cu", MOST_SOURCE).decode("utf-8")
    except OSError as error:
        raise UserError(
            f"{error.filename}: cannot be read: {error.strerror}", "a probe is a folder of two files"
        ) from error
    check_keys(raw, _KEYS, where, _REQUIRED)
    arms = mapping(raw["arms"], f"{where}: arms")
    read = tuple(_arm(name, value, f"{where}: arms: {name}") for name, value in arms.items())
    if not any(arm.feature for arm in read):
        raise UserError(f"{where}: no arm uses the feature", "an arm says `feature: true`")
    return Probe(
        name=folder.name,
        title=text(raw["title"], where),
        asks=text(raw["asks"], where),
        source=f'#line 1 "{SHARED_SOURCE}"\n{shared}\n#line 1 "{folder.name}/kernel.cu"\n{own}',
        targets=text(raw["targets"], where),
        elsewhere=text(raw.get("elsewhere", _ALL_TARGETS), where),
        settles=texts(raw["settles"], where),
        rows=texts(raw.get("rows"), where),
        words=_words(raw["words"], f"{where}: words"),
        right=_arm("right", raw["right"], f"{where}: right"),
        arms=read,
        measures=tuple(_measure(m, arms, f"{where}: measures") for m in sequence(raw.get("measures"), where)),
        tensor=_tensor(raw.get("tensor"), f"{where}: tensor"),
        note=text(raw.get("note", ""), where),
    )


def _words(value: Any, where: str) -> dict[str, int]:
    raw = mapping(value, where)
    check_keys(raw, ("in", "mid", "out"), where, ("in", "out"))
    raw = {"mid": raw["out"], **raw}
    return {name: _number(raw[name], f"{where}: {name}", 1, MOST_WORDS) for name in ("out", "in", "mid")}


def _number(value: Any, where: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError(f'{where}: expected a number from {low} to {high}, found "{value}"')
    return value


def _flag(raw: dict[str, Any], key: str, where: str) -> bool:
    value = raw.get(key, False)
    if not isinstance(value, bool):
        raise UserError(f'{where}: {key}: expected true or false, found "{value}"')
    return value


def _arm(name: str, value: Any, where: str) -> Arm:
    raw = mapping(value, where)
    check_keys(raw, _ARM_KEYS, where, ("launches",))
    launches = tuple(_launch(one, where) for one in sequence(raw["launches"], where))
    if not launches:
        raise UserError(f"{where}: it launches nothing")
    return Arm(
        name=name,
        launches=launches,
        feature=_flag(raw, "feature", where),
        answer=one_of(raw.get("answer", RIGHT), ANSWERS, f"{where}: answer"),
        optional=_flag(raw, "optional", where),
        ptx=text(raw.get("ptx", ""), where),
    )


def _launch(value: Any, where: str) -> Launch:
    raw = mapping(value, where)
    check_keys(raw, _LAUNCH_KEYS, where, ("kernel",))
    grid, per_sm = _blocks(raw.get("grid", 1), f"{where}: grid")
    shared, of_limit = _shared(raw.get("shared", 0), f"{where}: shared")
    return Launch(
        kernel=text(raw["kernel"], where),
        grid=grid,
        per_sm=per_sm,
        block=_number(raw.get("block", 256), f"{where}: block", 1, 1024),
        shared=shared,
        of_limit=of_limit,
        cluster=_number(raw.get("cluster", 0), f"{where}: cluster", 0, 16),
        cooperative=_flag(raw, "cooperative", where),
        dependent=_flag(raw, "dependent", where),
    )


def _blocks(value: Any, where: str) -> tuple[int, bool]:
    """A number of blocks, or `sms`, or `4*sms`."""
    match = _BLOCKS.fullmatch(value) if isinstance(value, str) else None
    if match:
        return int(match[1] or 1), True
    return _number(value, where, 1, 1 << 24), False


def _shared(value: Any, where: str) -> tuple[int, bool]:
    """Bytes, or `limit`, or `limit+16`."""
    match = _LIMIT.fullmatch(value) if isinstance(value, str) else None
    if match:
        return int(f"{match[1] or '+'}{match[2] or 0}"), True
    return _number(value, where, 0, 1 << 20), False


def _measure(value: Any, arms: dict[str, Any], where: str) -> Measure:
    raw = mapping(value, where)
    check_keys(raw, _MEASURE_KEYS, where, ("of", "against"))
    of, against = (one_of(raw[key], arms, f"{where}: {key}") for key in ("of", "against"))
    by = one_of(raw.get("by", "time"), ("time", "load"), where)
    margin = raw.get("margin", DEFAULT_MARGIN)
    if not isinstance(margin, float) or not 0 < margin < 1:
        raise UserError(f'{where}: margin: expected a part of 1, found "{margin}"')
    return Measure(of, against, by, _flag(raw, "decides", where), margin)


def _tensor(value: Any, where: str) -> TensorMap | None:
    if value is None:
        return None
    raw = mapping(value, where)
    keys = ("columns", "rows", "box_columns", "box_rows")
    check_keys(raw, keys, where, keys)
    return TensorMap(*(_number(raw[key], f"{where}: {key}", 1, 1 << 24) for key in keys))
