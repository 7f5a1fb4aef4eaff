"""Speaks the language server protocol: what the client asks in its units, what the pages say in theirs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from archscan import __version__
from archscan.lsp.pages import (
    NOTHING,
    Asked,
    Change,
    Options,
    Page,
    Prove,
    Proven,
    Refresh,
    Refused,
    Spot,
    Told,
    digest_of,
)
from archscan.lsp.worker import Worker
from archscan.model.finding import Level

_SEVERITIES = {
    Level.BLOCKED: lsp.DiagnosticSeverity.Error,
    Level.HIGH: lsp.DiagnosticSeverity.Error,
    Level.MEDIUM: lsp.DiagnosticSeverity.Warning,
    Level.LOW: lsp.DiagnosticSeverity.Information,
    Level.INFO: lsp.DiagnosticSeverity.Hint,
}
_TITLE = "archscan"


def serve(options: Options) -> None:
    """Serves one client over standard input and output, until it says exit or is gone."""
    session = Session(options)
    try:
        session.server.start_io()
    finally:
        session.worker.stop()


class Session:
    """One client: its open files, their pages, and the process that reads the code."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.worker = Worker()
        self.server = LanguageServer(_TITLE, __version__)
        self._pages: dict[str, Page] = {}  # by URI
        self._due: dict[str, bool] = {}  # PATH -> whether something was written there
        self._task: asyncio.Task[None] | None = None
        self._complained = ""
        self._register()

    def _register(self) -> None:
        kinds = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix], resolve_provider=True)
        table: list[tuple[str, Callable[..., Any], Any]] = [
            (lsp.INITIALIZE, self.initialize, None),
            (lsp.SHUTDOWN, self.shutdown, None),
            (lsp.TEXT_DOCUMENT_DID_OPEN, self.opened, None),
            (lsp.TEXT_DOCUMENT_DID_SAVE, self.saved, None),
            (lsp.TEXT_DOCUMENT_DID_CLOSE, self.closed, None),
            (lsp.TEXT_DOCUMENT_HOVER, self.hover, None),
            (lsp.TEXT_DOCUMENT_DEFINITION, self.definition, None),
            (lsp.TEXT_DOCUMENT_REFERENCES, self.references, None),
            (lsp.TEXT_DOCUMENT_CODE_ACTION, self.actions, kinds),
            (lsp.CODE_ACTION_RESOLVE, self.resolve, None),
        ]
        for name, answer, options in table:
            self.server.feature(name, options)(
                partial(answer)
            )  # pygls marks what it is given: no bound method takes it

    def initialize(self, params: lsp.InitializeParams) -> None:
        """Takes the target from `initializationOptions`, where the command line names none."""
        said = params.initialization_options
        target = said.get("target") if isinstance(said, dict) else getattr(said, "target", None)
        if target and not self.options.target:
            self.options = replace(self.options, target=str(target))

    def shutdown(self, params: None) -> None:
        """Ends the process that reads the code."""
        self.worker.stop()

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Asks for the page of a file."""
        self._ask(params.text_document.uri, saved=False)

    def saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Asks for the pages of every open file below the same PATH: a verdict can hang on another file."""
        self._ask(params.text_document.uri, saved=True)

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Forgets a file."""
        uri = params.text_document.uri
        self._pages.pop(uri, None)
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _ask(self, uri: str, saved: bool) -> None:
        path = self._root(uri)
        if path is None:
            return
        self._due[path] = self._due.get(path, False) or saved
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._refresh())

    def _root(self, uri: str) -> str | None:
        """The folder of the workspace that a file lies in, the innermost of several, else the file itself."""
        disk = _disk(uri)
        if disk is None:
            return None
        folders = [_disk(folder) for folder in self.server.workspace.folders] or [self.server.workspace.root_path]
        above = [folder for folder in folders if folder and Path(folder) in Path(disk).parents]
        return max(above, key=len, default=disk)

    async def _refresh(self) -> None:
        """Asks the reader, one PATH after the other, until nothing is due."""
        while self._due:
            path, saved = self._due.popitem()
            documents = {uri: _disk(uri) for uri in self.server.workspace.text_documents if self._root(uri) == path}
            files = tuple(disk for disk in documents.values() if disk)
            answer = await self.worker.ask(Refresh(path, files, saved, self.options))
            if isinstance(answer, Refused):
                self._complain(answer)
                continue
            self._complained = ""
            for warning in answer.warnings:
                self.server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, warning))
            for uri, disk in documents.items():
                if disk and uri in self.server.workspace.text_documents:
                    self._pages[uri] = answer.pages.get(disk, NOTHING)
                    self._publish(uri)

    def _complain(self, refused: Refused) -> None:
        """Says once why there is no answer."""
        text = f"{refused.title}; {refused.hint}" if refused.hint else refused.title
        if text != self._complained:
            self._show(lsp.MessageType.Error, f"{_TITLE}: {text}")
        self._complained = text

    def _publish(self, uri: str) -> None:
        document = self.server.workspace.get_text_document(uri)
        found = [self._diagnostic(told) for told in self._pages[uri].told]
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))

    def _diagnostic(self, told: Told) -> lsp.Diagnostic:
        return lsp.Diagnostic(
            range=self._range(told.spot),
            message=told.message,
            severity=_SEVERITIES[told.severity],
            code=told.rule,
            source=_TITLE,
            related_information=[
                lsp.DiagnosticRelatedInformation(self._location(spot), message) for spot, message in told.related
            ],
            data=told.fingerprint,
        )

    def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """What is known of the gate below the cursor."""
        asked = self._at(params)
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, asked.hover)) if asked else None

    def definition(self, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
        """What decides the gate below the cursor, and what has to change with it."""
        asked = self._at(params)
        return [self._location(spot) for spot in asked.decides] if asked and asked.decides else None

    def references(self, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
        """The gates of the chain that shut the target out."""
        asked = self._at(params)
        return [self._location(spot) for spot in asked.chain] if asked and asked.chain else None

    def _at(self, params: lsp.HoverParams | lsp.DefinitionParams | lsp.ReferenceParams) -> Asked | None:
        """The gate at a position. In a buffer that was edited since, the nearest whose line still reads the same."""
        uri = params.text_document.uri
        page = self._pages.get(uri, NOTHING)
        lines = self.server.workspace.get_text_document(uri).lines
        line = params.position.line + 1
        if self._is_current(uri, page):
            here = [one for one in page.asked if one.spot.line <= line <= one.spot.end_line]
            return min(here, key=lambda one: (one.spot.end_line - one.spot.line, -one.spot.column), default=None)
        text = lines[line - 1].rstrip("\r\n") if line <= len(lines) else ""
        same = [one for one in page.asked if text.strip() and one.text == text]
        return min(same, key=lambda one: abs(one.spot.line - line), default=None)

    def _is_current(self, uri: str, page: Page) -> bool:
        """Whether a buffer holds the text that its page was made from."""
        return digest_of(self.server.workspace.get_text_document(uri).source) == page.digest

    async def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Suppression comments and proven fixes for the findings in a range; none if the buffer was edited since."""
        uri = params.text_document.uri
        page = self._pages.get(uri, NOTHING)
        if not self._is_current(uri, page):
            return []
        first, last = params.range.start.line + 1, params.range.end.line + 1
        here = [told for told in page.told if told.spot.line <= last and first <= told.spot.end_line]
        if self._resolves():
            found = [self._promised(uri, told) for told in here if told.has_fix]
        else:
            found = [action for told in here for action in await self._fixes(uri, told)]
        return [*found, *(action for told in here for action in self._comments(uri, told))]

    def _resolves(self) -> bool:
        """Whether the client asks for an edit once it is chosen: a proof evaluates the project again."""
        document = self.server.client_capabilities.text_document
        support = document.code_action.resolve_support if document and document.code_action else None
        return support is not None and "edit" in support.properties

    def _promised(self, uri: str, told: Told) -> lsp.CodeAction:
        return lsp.CodeAction(
            f"{_TITLE}: edit this gate, and what has to change with it (proven when chosen)",
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(told)],
            data={"uri": uri, "fingerprint": told.fingerprint},
        )

    async def resolve(self, action: lsp.CodeAction) -> lsp.CodeAction:
        """The action with its edit; without one, the reason is shown."""
        data = action.data if isinstance(action.data, dict) else {}
        uri, fingerprint = str(data.get("uri", "")), str(data.get("fingerprint", ""))
        told = next((one for one in self._pages.get(uri, NOTHING).told if one.fingerprint == fingerprint), None)
        found = await self._fixes(uri, told) if told is not None and action.edit is None else []
        for made in found:
            action.edit = made.edit
            self._show(lsp.MessageType.Info if made.is_preferred else lsp.MessageType.Warning, made.title)
        if action.edit is None:
            self._show(lsp.MessageType.Info, f"{_TITLE}: no edit of this gate is proven, so none is made")
        return action

    def _show(self, kind: lsp.MessageType, text: str) -> None:
        self.server.window_show_message(lsp.ShowMessageParams(kind, text))

    def _comments(self, uri: str, told: Told) -> Iterator[lsp.CodeAction]:
        if told.comment is None:
            return
        line, text = told.comment
        disk = told.spot.disk
        title = f"archscan: do not report {told.rule} here"
        edit = self._edit([Change(Spot(disk, line, 1, line, 1), text + "\n")], {disk: uri})
        yield lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, diagnostics=[self._diagnostic(told)], edit=edit)

    async def _fixes(self, uri: str, told: Told) -> Sequence[lsp.CodeAction]:
        path = self._root(uri)
        if not told.has_fix or path is None:
            return ()
        found = await self.worker.ask(Prove(path, told.fingerprint))
        if not isinstance(found, Proven):
            return ()
        known = self._uris(found)
        if known is None:
            return ()
        why = "" if found.is_safe else f" (unsafe: {found.reasons[0]})" if found.reasons else " (unsafe)"
        return [
            lsp.CodeAction(
                f"archscan: {found.title}{why}",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(told)],
                is_preferred=found.is_safe,
                edit=self._edit(found.changes, known),
            )
        ]

    def _uris(self, found: Proven) -> dict[str, str] | None:
        """The URIs of the files that a fix changes; None if one reads otherwise in the editor."""
        opened = {os.path.realpath(disk): uri for uri in self.server.workspace.text_documents if (disk := _disk(uri))}
        known = {disk: opened.get(disk) or Path(disk).as_uri() for disk in found.digests}
        workspace = self.server.workspace
        texts = {disk: digest_of(workspace.get_text_document(uri).source) for disk, uri in known.items()}
        return known if texts == dict(found.digests) else None

    def _edit(self, changes: Iterable[Change], known: dict[str, str]) -> lsp.WorkspaceEdit:
        """The edit for the client, with the versions that it holds for where it takes them."""
        edits: dict[str, list[lsp.TextEdit]] = {}
        for change in changes:
            edits.setdefault(known[change.spot.disk], []).append(lsp.TextEdit(self._range(change.spot), change.text))
        workspace = self.server.client_capabilities.workspace
        if not (workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes):
            return lsp.WorkspaceEdit(changes=edits)
        opened = self.server.workspace.text_documents
        return lsp.WorkspaceEdit(
            document_changes=[
                lsp.TextDocumentEdit(
                    lsp.OptionalVersionedTextDocumentIdentifier(uri, opened[uri].version if uri in opened else None),
                    list(made),
                )
                for uri, made in edits.items()
            ]
        )

    def _location(self, spot: Spot) -> lsp.Location:
        return lsp.Location(Path(spot.disk).as_uri(), self._range(spot))

    def _range(self, spot: Spot) -> lsp.Range:
        """A range in the client's units; columns are converted on the lines of the buffer, or of the file on disk."""
        plain = lsp.Range(
            lsp.Position(spot.line - 1, spot.column - 1), lsp.Position(spot.end_line - 1, spot.end_column - 1)
        )
        if spot.column == 1 and spot.end_column == 1:
            return plain
        document = self.server.workspace.get_text_document(self._uri(spot.disk))
        lines = document.lines
        if spot.end_line > len(lines):
            return plain
        return document.position_codec.range_to_client_units(lines, plain)

    def _uri(self, disk: str) -> str:
        """The URI by which the client knows a file."""
        for uri in self.server.workspace.text_documents:
            found = _disk(uri)
            if found and os.path.realpath(found) == disk:
                return str(uri)
        return Path(disk).as_uri()


def _disk(uri: str | None) -> str | None:
    """The path behind a `file:` URI; None for any other, such as an unsaved buffer."""
    if uri is None or not uri.startswith("file:"):
        return None
    found = uris.to_fs_path(uri)
    return str(found) if found else None
