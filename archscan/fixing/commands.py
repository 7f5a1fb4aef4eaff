"""What `archscan fix` and `archscan revert` do: plan, show or write, say what is stale and how to go back."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from archscan.catalog.types import Catalog
from archscan.engine import indexes
from archscan.errors import UserError
from archscan.fixing.apply import Change, apply, recover, revert
from archscan.fixing.caches import FoundCache, clear, found_caches, known_caches
from archscan.fixing.distribution import distribution_of
from archscan.fixing.journal import Journal, Run, digest
from archscan.fixing.patch import patch
from archscan.fixing.plan import FixOptions, Plan, plan
from archscan.fixing.proposal import applied
from archscan.fixing.prove import Workbench
from archscan.fixing.saved import edited, read_plan
from archscan.fixing.verify import Verification, verify
from archscan.frontends.protocol import Context, located
from archscan.frontends.registry import front_ends
from archscan.model.facts import Source
from archscan.model.report import Report
from archscan.model.settings import ScanSettings
from archscan.sources import discover


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What a fix run has to show."""

    plan: Plan
    diff: bytes
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


def workbench(paths: Sequence[str], catalog: Catalog, settings: ScanSettings) -> Workbench:
    """The project under `paths`, indexed for proofs."""
    discovery = discover(paths, settings)
    context = Context(catalog, settings)
    indexed = (
        (one.path, name, located(pickle.loads(blob), one.outcome.disk))
        for one in indexes(discovery, context)
        if isinstance(one.outcome, Source)
        for name, blob in one.indexes
    )
    return Workbench(front_ends(settings.layers), discovery.sources, context, indexed)


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
        changes=tuple(Change(Path(s.disk), digest(s.data), after[p]) for p, s in before.items()),
        disks={path: source.disk for path, source in before.items()},
        verifications=checked,
        caches=_stale(made),
        notes=_distribution_notes(before[p].disk for p in before),
    )


def chain_ids(report: Report, name: str) -> frozenset[str]:
    """The ids of the chains of that id or name. UserError with the names there are."""
    found = frozenset(chain.id for chain in report.chains if name in (chain.id, chain.name))
    if not found:
        names = sorted({chain.name for chain in report.chains})
        near = get_close_matches(name, names, 5) or names[:12]
        raise UserError(f"no chain is called {name!r}", f"chains here: {', '.join(near) or 'none'}")
    return found


def write(outcome: FixOutcome, journal: Journal) -> Run | None:
    """The journalled run, or None if the files hold these bytes already."""
    return apply(outcome.changes, journal, "; ".join(unit.title for unit in outcome.plan.units))


def apply_saved(path: Path, journal: Journal) -> Run | None:
    """Writes a saved plan, if every file still has the digest it was made from."""
    saved = read_plan(path)
    return apply([Change(one.disk, one.before, edited(one)) for one in saved], journal, f"plan {path.name}")


def undo(run_id: str | None, force: bool, journal: Journal) -> Run:
    """The run that was reverted, byte for byte."""
    return revert(journal, run_id, force)


def interrupted(journal: Journal) -> tuple[Run, ...]:
    """Runs that were killed half way and are rolled back now."""
    with journal.locked():
        return recover(journal)


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
