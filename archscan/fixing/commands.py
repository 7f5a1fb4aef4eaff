"""What `archscan fix` and `archscan revert` do: plan, show or write, say what is stale and how to go back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from archscan.catalog.types import Catalog
from archscan.engine import Workings, indexes, linker
from archscan.errors import UserError
from archscan.fixing.apply import Change, apply, revert
from archscan.fixing.caches import FoundCache, clear, found_caches, known_caches
from archscan.fixing.distribution import distribution_of
from archscan.fixing.journal import APPLYING, Journal, Run, digest
from archscan.fixing.patch import patch
from archscan.fixing.plan import SETTLED, FixOptions, Plan, Unit, plan
from archscan.fixing.proposal import applied
from archscan.fixing.prove import Workbench
from archscan.fixing.saved import read_plan
from archscan.fixing.verify import Verification, verify
from archscan.frontends.protocol import Context, located
from archscan.frontends.registry import front_ends
from archscan.model.facts import Source
from archscan.model.report import Report
from archscan.model.settings import ScanSettings
from archscan.reporting.words import visible
from archscan.sealed import plain
from archscan.sources import discover


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What a fix run has to show."""

    plan: Plan
    diff: bytes
    shown: bytes  # what is held back for safety, as comments: no tool takes it for a patch
    changes: tuple[Change, ...]
    disks: Mapping[str, str]  # reported path -> where it lies
    verifications: tuple[Verification, ...] = ()
    run: Run | None = None  # written, and can be reverted
    caches: tuple[FoundCache, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 while edits remain to be written or were held back, else 0."""
        waiting = bool(self.plan.edits) and self.run is None
        return int(waiting or any(held.flag for held in self.plan.held_back))


def workbench(
    paths: Sequence[str], catalog: Catalog, settings: ScanSettings, workings: Workings | None = None
) -> Workbench:
    """The project under `paths`, indexed for proofs: by what a scan of it left, as far as it did."""
    left = workings or Workings()
    discovery = left.discovery or discover(paths, settings)
    context = Context(catalog, settings)
    found = left.indexed or indexes(discovery, context)
    indexed = (
        (one.path, name, partial(_unpacked, blob, one.outcome.disk))
        for one in found
        if isinstance(one.outcome, Source)
        for name, blob in one.indexes
    )
    link = linker(discovery, context, found, left.projects)
    return Workbench(front_ends(settings.layers), discovery.sources, context, indexed, link)


def _unpacked(blob: bytes, disk: str) -> Any:
    """The index of a file that lies there."""
    return located(plain(blob), disk)


def fix(report: Report, catalog: Catalog, bench: Workbench, options: FixOptions, check: bool = False) -> FixOutcome:
    """The plan for a judged report, its diff and, with `check`, the compiler's word. Nothing is written."""
    made = plan(report.findings, report.selection, catalog, bench, options)
    before = {path: bench.source(path) for path in sorted({edit.path for edit in made.edits})}
    after = {p: applied(s.data, tuple(e for e in made.edits if e.path == p)) for p, s in before.items()}
    archived = [path for path, source in before.items() if not source.disk]
    if archived:
        raise UserError(f"{archived[0]} lies in an archive", "unpack it first: fixes are written to files")
    checked = tuple(v for unit in made.units for v in verify(unit, bench, report.selection)) if check else ()
    return FixOutcome(
        plan=made,
        diff=patch({_shown(s.disk, p): (s.data, after[p]) for p, s in before.items()}),
        shown=b"".join(_commented(unit, bench) for unit in made.shown),
        changes=tuple(Change(Path(s.disk), digest(s.data), after[p]) for p, s in before.items()),
        disks={path: source.disk for path, source in before.items()},
        verifications=checked,
        caches=_stale(made),
        notes=_distribution_notes(before[p].disk for p in before),
    )


def _commented(unit: Unit, bench: Workbench) -> bytes:
    """The diff of a unit that only --unsafe writes, with its reasons, every line a comment."""
    files = {}
    for path in sorted({edit.path for edit in unit.edits}):
        source = bench.source(path)
        after = applied(source.data, tuple(edit for edit in unit.edits if edit.path == path))
        files[_shown(source.disk, path) if source.disk else path] = (source.data, after)
    said = [f"unsafe, needs --unsafe: {visible(unit.title)}", *(f"why: {visible(reason)}" for reason in unit.reasons)]
    lines = [*(line.encode("utf-8", "backslashreplace") for line in said), *patch(files).splitlines()]
    return b"".join(b"# " + line + b"\n" for line in lines)


def chain_ids(report: Report, name: str) -> frozenset[str]:
    """The ids of the chains of that id or name. UserError with the names there are."""
    found = frozenset(chain.id for chain in report.chains if name in (chain.id, chain.name))
    if not found:
        names = sorted({chain.name for chain in report.chains})
        near = get_close_matches(name, names, 5) or names[:12]
        raise UserError(f"no chain is called {name!r}", f"chains here: {', '.join(near) or 'none'}")
    return found


def write(outcome: FixOutcome, journal: Journal, paths: Sequence[str]) -> Run | None:
    """The journalled run, which touches nothing outside of `paths`, or None if the files hold these bytes already."""
    return apply(outcome.changes, journal, "; ".join(unit.title for unit in outcome.plan.units), _roots(paths))


def apply_saved(path: Path, journal: Journal, paths: Sequence[str]) -> Run | None:
    """Writes a saved plan below `paths`, if every file still has the digest it was made from."""
    roots = _roots(paths)
    return apply(read_plan(path, roots), journal, f"plan {path.name}", roots)


def _roots(paths: Sequence[str]) -> list[Path]:
    """The directories that a run on `paths` may touch."""
    return [path if path.is_dir() else path.parent for path in map(Path, paths or (".",))]


def undo(run_id: str | None, force: bool, journal: Journal) -> Run:
    """The run that was reverted, byte for byte."""
    return revert(journal, run_id, force)


def unfinished(journal: Journal) -> list[str]:
    """What the journal holds that needs a person: runs that were interrupted, with what finishes them; damaged ones."""
    lines = []
    for run in journal.runs():
        if run.state == APPLYING:
            files = ", ".join(entry.path for entry in run.entries[:4]) + (", …" if len(run.entries) > 4 else "")
            lines.append(f"fix run {run.id} was interrupted: `archscan revert {run.id}` gives {files} the old bytes")
    lines += [f"fix run {one.id} is left alone: {one.why} (see {one.place})" for one in journal.damaged()]
    return lines


def put_aside(journal: Journal) -> list[str]:
    """Moves damaged runs out of the way, and says where they are."""
    if not journal.damaged():
        return []
    with journal.locked():
        return [
            f"fix run {one.id} was set aside: {one.why} (see {journal.set_aside(one.id)})" for one in journal.damaged()
        ]


def clear_caches(caches: Sequence[FoundCache]) -> int:
    """Bytes freed by emptying the caches."""
    for found in caches:
        clear(found)
    return sum(found.bytes for found in caches)


def summary(outcome: FixOutcome) -> list[str]:
    """The lines beside the diff: what opens, how safe, what is held back and which flag would release it."""
    lines = []
    for unit in outcome.plan.units:
        lines.append(f"{'safe' if unit.safe else 'unsafe'}: {unit.title}")
        lines += [f"  why unsafe: {reason}" for reason in unit.reasons]
    for one in outcome.verifications:
        lines.append(f"verified {one.path}:{one.line} on {one.target}: {one.verdict} ({one.how}): {one.detail}")
    for (reason, flag), count in Counter((h.reason, h.flag) for h in outcome.plan.held_back).items():
        release = f" (release with {flag})" if flag else ""
        if reason == SETTLED:
            halves = "1 other half needs" if count == 1 else f"{count} other halves need"
            lines.append(f"{halves} no edit once these gates open")
            continue
        lines.append(f"held back: {count} finding{'s' if count > 1 else ''}: {reason}{release}")
    lines += outcome.notes
    for found in outcome.caches:
        size = f"{found.bytes / 1e6:.1f} MB in {found.files} files"
        lines.append(f"stale after this: {found.cache.title} in {found.path} ({size}); --clear-caches empties it")
    if outcome.run is not None:
        files = len(outcome.run.entries)
        lines.append(f"wrote {files} file{'s' if files > 1 else ''}; undo with: archscan revert {outcome.run.id}")
    elif outcome.plan.edits:
        lines.append("nothing was written; add --write to write it")
    return lines


def _stale(made: Plan) -> tuple[FoundCache, ...]:
    from archscan.catalog.reading import rules_directory

    layers = frozenset(finding.gate.layer.value for unit in made.units for finding in unit.findings)
    return tuple(found_caches(known_caches(rules_directory()), layers, os.environ))


def _distribution_notes(disks: Iterable[str]) -> tuple[str, ...]:
    owners = Counter(owner for disk in disks if (owner := distribution_of(Path(disk))))
    return tuple(
        f"{count} of these files belong to {owner}: upgrading it undoes the edit; keep the diff (-o fix.patch)"
        for owner, count in sorted(owners.items())
    )


def _shown(disk: str, path: str) -> str:
    """The path a patch names: below the current directory where it lies there, else the reported one."""
    try:
        return Path(disk).absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path
