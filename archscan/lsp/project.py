"""One project as an editor asks for it: the report for the target, page by page, and the fix of a finding."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archscan.catalog.types import Catalog
from archscan.config import Settings
from archscan.errors import UserError
from archscan.fixing.ignores import comment_for
from archscan.fixing.plan import fix_for, never_fixed
from archscan.lsp.hover import hover
from archscan.lsp.pages import NOTHING, Answer, Asked, Change, Options, Page, Proven, Spot, Told, digest_of
from archscan.model.finding import Finding
from archscan.model.gate import Arm, Place, Role
from archscan.model.report import Chain, Report
from archscan.reporting.places import Places
from archscan.reporting.plain import opening, said, verb
from archscan.reporting.sources import Sources
from archscan.tracing.states import OPEN, GateState, states

if TYPE_CHECKING:
    from archscan.fixing.prove import Workbench

_REASON = "say why"  # a person writes it: the comment is theirs
_DECIDES = (Role.DEFINITION, Role.PAIR, Role.ALSO_CHANGE)


class Project:
    """Everything below one PATH. Read again when a file was written; what a fix needs is kept until then."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: _Known | None = None
        self._options: Options | None = None

    def answer(self, opened: Iterable[str], saved: bool, options: Options) -> Answer:
        """The pages of these files. Raises UserError where there is no target, or the settings are wrong."""
        files = tuple(opened)
        known = self._known
        if known is None or saved or options != self._options or any(_written(f) >= known.began for f in files):
            self._known = known = _Known.of(self.path, options, known)
            self._options = options
        pages = {file: known.page(file) for file in files}
        return Answer(known.report.selection.name, pages, known.warnings)

    def proven(self, fingerprint: str) -> Proven | None:
        """The fix of a finding; None if there is none."""
        return self._known.proven(fingerprint) if self._known else None


def _written(disk: str) -> int:
    """When a file was last written; 0 if it is not there."""
    try:
        return Path(disk).stat().st_mtime_ns
    except OSError:
        return 0


class _Known:
    """What one reading of a project came to."""

    def __init__(
        self, path: str, settings: Settings, catalog: Catalog, judged: Report, report: Report, began: int
    ) -> None:
        """`report` is what is told of all that was `judged`."""
        self.judged = judged
        self.report = report
        self.began = began
        self.warnings = tuple(f"{one.path}: {one.reason}" for one in report.failed)
        self._path, self._settings, self._catalog = path, settings, catalog
        self._sources: Sources = Places(report.facts).sources()
        folders: dict[str, str] = {}
        self._disks = {file.path: _real(file.disk, folders) for file in report.facts.files if file.disk}
        self._paths = {disk: path for path, disk in self._disks.items()}
        self._states = states(report)
        self._chains = {chain.id: chain for chain in report.chains}
        self._on_chain = {(s.path, s.line): chain for chain in reversed(report.chains) for s in chain.steps if s.line}
        self._bench: Workbench | None = None
        self._proven: dict[str, Proven | None] = {}

    @classmethod
    def of(cls, path: str, options: Options, before: _Known | None) -> _Known:
        """The project as it lies on disk now, with the settings in force for it; by what was known `before`."""
        from archscan import baseline
        from archscan.commands import scan as run

        began = time.time_ns()
        given = {"target": options.target, "config": options.config, "isolated": options.isolated}
        settings = run.effective(given, (path,))
        catalog = run.loaded_catalog(settings)
        earlier = before.judged if before is not None and before._is_by(settings, catalog) else None
        report = judged = run.judged((path,), settings, catalog, before=earlier)
        if settings["baseline"]:
            report = baseline.without(report, baseline.known_fingerprints(settings["baseline"]))
        if before is not None and judged is earlier and report.findings == before.report.findings:
            before.began = began
            return before
        return cls(path, settings, catalog, judged, report, began)

    def _is_by(self, settings: Settings, catalog: Catalog) -> bool:
        """Whether the project was judged by these."""
        known = self._catalog
        return settings == self._settings and (catalog.digest, catalog.evidence) == (known.digest, known.evidence)

    def page(self, disk: str) -> Page:
        """Everything about one file on disk; NOTHING if it was not read, or holds no gate."""
        path = self._paths.get(os.path.realpath(disk))
        data = self._sources.data(path) if path is not None else None
        if path is None or data is None:
            return NOTHING
        lines = self._sources.lines(path) or ()
        told = [self._told(f, data) for f in self.report.findings if f.path == path and self._is_told(f)]
        asked = [one for state in self._states.get(path, ()) for one in self._asked(state, lines)]
        return Page(digest_of(data.decode("utf-8", "backslashreplace")), tuple(told), tuple(asked))

    def _is_told(self, finding: Finding) -> bool:
        """Whether it is told one by one, as in the text report."""
        return finding.listed or bool(self._settings["include-leave"] or self._settings["advice"])

    def _told(self, finding: Finding, data: bytes) -> Told:
        related = [(self._line(r.path, r.line), r.message) for r in finding.related if r.path in self._disks]
        return Told(
            self._spot(finding.path, finding.place),
            finding.severity,
            finding.rule,
            f"{said(finding)}\n{verb(finding)}: {opening(finding)}",
            tuple(related),
            finding.fingerprint,
            not never_fixed(finding),
            comment_for(finding, data, _REASON),
        )

    def _asked(self, state: GateState, lines: Sequence[str]) -> Iterable[Asked]:
        """A place for each arm of a gate that has a condition, the gate's own first."""
        finding = state.finding
        chain = self._chains.get(finding.chain or "") if finding else None
        chain = chain or self._on_chain.get((state.gate.path, state.line))
        text = hover(state, chain, self.report.selection, self.report.universe)
        decides = [r for r in (finding.related if finding else state.gate.related) if r.role in _DECIDES]
        places = [state.gate.place, *([finding.place] if finding else []), *_conditions(state.gate.arms)]
        for place in dict.fromkeys(places):
            spot = self._spot(state.gate.path, place)
            yield Asked(
                spot,
                lines[spot.line - 1] if 0 < spot.line <= len(lines) else "",
                text,
                tuple(self._line(r.path, r.line) for r in decides if r.path in self._disks),
                self._others(chain),
            )

    def _others(self, chain: Chain | None) -> tuple[Spot, ...]:
        """The gates of a chain that shut the target out, or of which it is not known."""
        steps = [s for s in chain.steps if s.line and s.state not in (OPEN, "clean")] if chain else []
        return tuple(dict.fromkeys(self._line(s.path, s.line or 1) for s in steps if s.path in self._disks))

    def _spot(self, path: str, place: Place) -> Spot:
        return Spot(self._disks[path], place.line, place.column, place.end_line, place.end_column)

    def _line(self, path: str, line: int) -> Spot:
        return Spot(self._disks[path], line, 1, line, 1)

    def proven(self, fingerprint: str) -> Proven | None:
        """The fix of a finding, proven on the files as they were read; None if there is none."""
        if fingerprint not in self._proven:
            self._proven[fingerprint] = self._made(fingerprint)
        return self._proven[fingerprint]

    def _made(self, fingerprint: str) -> Proven | None:
        from archscan.fixing.commands import workbench

        finding = next((f for f in self.report.findings if f.fingerprint == fingerprint), None)
        if finding is None or never_fixed(finding):
            return None
        if self._bench is None:
            self._bench = workbench((self._path,), self._catalog, self._settings.scan())
        report = self.report
        fix = fix_for(finding, report.findings, report.selection, self._catalog, self._bench, halves=True)
        if fix is None:
            return None
        changes, digests = [], {}
        for edit in fix.edits:
            start, end = (self._sources.position(edit.path, at) for at in (edit.start, edit.end))
            data = self._sources.data(edit.path)
            if start is None or end is None or data is None:
                return None
            disk = self._disks[edit.path]
            digests[disk] = digest_of(data.decode("utf-8", "backslashreplace"))
            changes.append(Change(Spot(disk, *start, *end), edit.text))
        return Proven(fix.title, fix.safe, fix.reasons, tuple(changes), digests)


def _real(disk: str, folders: dict[str, str]) -> str:
    """The path without links. Folders are resolved once: there are thousands of files in few of them."""
    folder, name = os.path.split(disk)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    path = f"{folders[folder].rstrip(os.sep)}{os.sep}{name}"
    return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114  (a Path for each of thousands)


def _conditions(arms: Iterable[Arm]) -> list[Place]:
    return [arm.place for arm in arms if not arm.is_else]


class Projects:
    """The projects of one editor, by PATH."""

    def __init__(self) -> None:
        self._projects: dict[str, Project] = {}

    def of(self, path: str) -> Project:
        """The project below a PATH. Raises UserError if nothing is there."""
        if not Path(path).exists():
            raise UserError(f"{path} is not there", "save the file first")
        return self._projects.setdefault(path, Project(path))
