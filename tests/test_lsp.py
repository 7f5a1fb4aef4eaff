"""The language server, asked by a real client over stdio. Needs pygls and pytest-lsp, which `.[test]` brings."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: pip install '.[test]'")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed: pip install '.[test]'")

from lsprotocol import types as lsp  # noqa: E402
from pytest_lsp.client import LanguageClient, make_test_lsp_client  # noqa: E402

ROOT = Path(__file__).parent.parent
HEADER = "data/include/flashinfer/comm/trtllm_allreduce.cuh"
KERNEL = 175  # the line of a kernel whose body is compiled out
PATIENCE = 120  # seconds; other tests run beside
OPEN = "#if __CUDA_ARCH__ >= 900\nvoid work();\n#endif\n"
SHUT = "#if __CUDA_ARCH__ == 900\nvoid work();\n#endif\n"
Script = Callable[[LanguageClient], Awaitable[None]]


def play(script: Script, folder: Path | None, state: Path, *arguments: str, resolves: bool = True, **said: Any) -> None:
    """Runs a script against a fresh server that has a folder open, as Visual Studio Code would."""
    capabilities = pytest_lsp.client_capabilities("visual-studio-code")
    if not resolves:
        capabilities.text_document.code_action.resolve_support = None

    @asynccontextmanager
    async def served() -> AsyncIterator[LanguageClient]:
        client = make_test_lsp_client()
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(state),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        }
        await client.start_io(sys.executable, "-m", "archscan", "lsp", *arguments, env=environment, cwd=state)
        folders = [lsp.WorkspaceFolder(folder.as_uri(), folder.name)] if folder else None
        await client.initialize_session(
            lsp.InitializeParams(
                capabilities=capabilities,
                workspace_folders=folders,
                initialization_options=said or None,
            )
        )
        try:
            yield client
        finally:
            await client.shutdown_session()
            await client.stop()

    async def run() -> None:
        async with served() as client:
            await asyncio.wait_for(script(client), PATIENCE)

    asyncio.run(run())


async def opened(client: LanguageClient, file: Path, text: str | None = None) -> str:
    """The URI of a file that the client has opened, once its diagnostics are there."""
    text = file.read_bytes().decode() if text is None else text
    item = lsp.TextDocumentItem(file.as_uri(), "cuda-cpp", 1, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    return file.as_uri()


async def saved(client: LanguageClient, file: Path, text: str) -> None:
    """A file with a new text, as an editor writes it, once its diagnostics are there."""
    version = lsp.VersionedTextDocumentIdentifier(uri=file.as_uri(), version=2)
    whole = lsp.TextDocumentContentChangeWholeDocument(text)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(version, [whole]))
    file.write_bytes(text.encode())
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(file.as_uri())))
    await client.wait_for_notification("textDocument/publishDiagnostics")


def at(uri: str, line: int) -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
    return lsp.TextDocumentIdentifier(uri), lsp.Position(line - 1, 1)


def place(location: lsp.Location) -> tuple[str, int]:
    return Path(location.uri).name, location.range.start.line + 1


def disk(change: lsp.TextDocumentEdit) -> Path:
    return Path(unquote(urlsplit(change.text_document.uri).path))


def edited(lines: Sequence[str], change: lsp.TextDocumentEdit) -> list[str]:
    """Lines after edits that each stay on one line; those further right first."""
    after = list(lines)
    for edit in sorted(change.edits, key=lambda edit: -edit.range.start.character):
        assert isinstance(edit, lsp.TextEdit)
        start, end = edit.range.start, edit.range.end
        assert start.line == end.line
        after[start.line] = after[start.line][: start.character] + edit.new_text + after[start.line][end.character :]
    return after


async def actions(client: LanguageClient, uri: str, line: int) -> list[lsp.CodeAction]:
    document, position = at(uri, line)
    asked = lsp.CodeActionParams(document, lsp.Range(position, position), lsp.CodeActionContext([]))
    found = await client.text_document_code_action_async(asked)
    return [action for action in found or [] if isinstance(action, lsp.CodeAction)]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "flashinfer"
    shutil.copytree(ROOT / "examples" / "flashinfer", folder)
    return folder


def small(tmp_path: Path, text: str, name: str = "a.cu") -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_diagnostics_are_the_findings_of_a_scan(example: Path, tmp_path: Path) -> None:
    async def script(client: LanguageClient) -> None:
        uri = await opened(client, example / HEADER)
        found = {(d.range.start.line + 1, d.code): d for d in client.diagnostics[uri]}
        kernel = found[KERNEL, "upper-bound-gate"]
        assert kernel.severity is lsp.DiagnosticSeverity.Error
        assert kernel.source == "archscan"
        assert kernel.message.startswith("kernel body is empty on sm_120")
        assert "to open: only together with the launch code at lines 288" in kernel.message
        places = {
            (Path(r.location.uri).name, r.location.range.start.line + 1) for r in kernel.related_information or ()
        }
        assert ("comm.py", 27) in places and ("trtllm_allreduce.cuh", 288) in places
        assert found[99, "upper-bound-gate"].severity is lsp.DiagnosticSeverity.Information

    play(script, example, tmp_path, target="sm120")


def test_hover_says_who_gets_in_what_is_behind_and_on_what_evidence(example: Path, tmp_path: Path) -> None:
    async def script(client: LanguageClient) -> None:
        uri = await opened(client, example / HEADER)
        shown = await client.text_document_hover_async(lsp.HoverParams(*at(uri, KERNEL)))
        assert shown is not None and isinstance(shown.contents, lsp.MarkupContent)
        lines = shown.contents.value.split("\n")
        assert lines[0] == "**sm_120: shut out** (high)"
        head = [cell.strip() for cell in lines[2].strip("|").split("|")]
        row = [cell.strip() for cell in lines[4].strip("|").split("|")]
        gets = dict(zip(head, row, strict=True))
        assert (gets["89"], gets["90"], gets["110"], gets["120"]) == ("-", "yes", "yes", "-")
        assert any(line.startswith("**behind it:** cluster, griddep") for line in lines)
        assert any("flashinfer-ai/flashinfer\\#3903" in line for line in lines)
        assert any(line.startswith("**chain trtllm\\_comm:** shut by") for line in lines)
        assert await client.text_document_hover_async(lsp.HoverParams(*at(uri, KERNEL + 3))) is None

    play(script, example, tmp_path, target="sm120")


def test_a_gate_leads_to_what_goes_with_it_and_to_its_chain(example: Path, tmp_path: Path) -> None:
    async def script(client: LanguageClient) -> None:
        uri = await opened(client, example / "jit" / "comm.py")
        document, position = at(uri, 27)
        context = lsp.ReferenceContext(include_declaration=True)
        chain = await client.text_document_references_async(lsp.ReferenceParams(context, document, position)) or ()
        places = {place(one) for one in chain}
        assert places == {("comm.py", 27), ("aot.py", 78), *(("trtllm_allreduce.cuh", n) for n in (61, 99, KERNEL))}
        together = await client.text_document_definition_async(lsp.DefinitionParams(document, position))
        names = {Path(one.uri).name for one in together or () if isinstance(one, lsp.Location)}
        assert names == {"aot.py", "compilation_context.py", "trtllm_allreduce.cuh"}
        nowhere = lsp.DefinitionParams(document, lsp.Position(0, 0))
        assert await client.text_document_definition_async(nowhere) is None

    play(script, example, tmp_path, target="sm120")


@pytest.mark.parametrize("resolves", [True, False])
def test_a_code_action_opens_a_gate_with_its_halves(example: Path, tmp_path: Path, resolves: bool) -> None:
    async def script(client: LanguageClient) -> None:
        uri = await opened(client, example / HEADER)
        (fix,) = [a for a in await actions(client, uri, KERNEL) if "do not report" not in a.title]
        assert (fix.edit is None) is resolves
        fix = await client.code_action_resolve_async(fix) if resolves else fix
        title = client.messages[-1].message if resolves else fix.title
        assert title.startswith("archscan: open 5 gates for sm_120, ") and "(unsafe: " in title
        assert not fix.is_preferred
        assert fix.edit is not None
        changed = {}
        for change in fix.edit.document_changes or ():
            assert isinstance(change, lsp.TextDocumentEdit)
            assert change.text_document.version == (1 if change.text_document.uri == uri else None)
            file = disk(change)
            before = file.read_text().split("\n")
            after = edited(before, change)
            changed.update({(file.name, n): line for n, line in enumerate(after, 1) if line != before[n - 1]})
        assert changed["trtllm_allreduce.cuh", KERNEL].endswith("(__CUDA_ARCH__ < 1300))"), (
            "a list of majors names the family"
        )
        assert changed["comm.py", 27].strip() == "supported_major_versions=[9, 10, 12]"
        assert {name for name, _ in changed} == {"trtllm_allreduce.cuh", "comm.py", "aot.py"}

    play(script, example, tmp_path, resolves=resolves, target="sm120")


def test_where_no_edit_is_proven_none_is_made(example: Path, tmp_path: Path) -> None:
    async def script(client: LanguageClient) -> None:
        uri = await opened(client, example / HEADER)
        (fix,) = [a for a in await actions(client, uri, KERNEL) if "do not report" not in a.title]
        fix.data = {"uri": uri, "fingerprint": "of another run"}
        assert (await client.code_action_resolve_async(fix)).edit is None
        assert "no edit of this gate is proven" in client.messages[-1].message

    play(script, example, tmp_path, target="sm120")


def test_a_suppression_silences_the_finding_once_it_is_saved(tmp_path: Path) -> None:
    file = small(tmp_path, "int x;\n" + SHUT)

    async def script(client: LanguageClient) -> None:
        uri = await opened(client, file)
        assert [d.range.start.line for d in client.diagnostics[uri]] == [1]
        assert await actions(client, uri, 1) == []
        (action,) = [a for a in await actions(client, uri, 2) if "do not report" in a.title]
        assert action.title == f"archscan: do not report {client.diagnostics[uri][0].code} here"
        assert action.edit is not None
        (change,) = action.edit.document_changes or ()
        assert isinstance(change, lsp.TextDocumentEdit)
        (edit,) = change.edits
        assert isinstance(edit, lsp.TextEdit)
        assert edit.range.start == edit.range.end == lsp.Position(1, 0)
        await saved(client, file, "int x;\n" + edit.new_text + SHUT)
        assert client.diagnostics[uri] == ()

    play(script, file.parent, tmp_path, target="sm120")


def test_a_save_answers_for_every_open_file(tmp_path: Path) -> None:
    file = small(tmp_path, '#include "b.h"\n#if FAST\nvoid work();\n#endif\n')
    header = file.with_name("b.h")
    header.write_text("#define FAST (__CUDA_ARCH__ >= 900)\n")

    async def script(client: LanguageClient) -> None:
        await opened(client, file)
        await opened(client, header)
        assert client.diagnostics[file.as_uri()] == ()
        text = "#define FAST (__CUDA_ARCH__ == 900)\n"
        await saved(client, header, text)
        for _ in range(100):
            if client.diagnostics[file.as_uri()]:
                break
            await asyncio.sleep(0.05)
        assert [d.range.start.line for d in client.diagnostics[file.as_uri()]] == [1]

    play(script, file.parent, tmp_path, target="sm120")


def test_nothing_is_edited_in_a_buffer_that_was_changed_since(tmp_path: Path) -> None:
    file = small(tmp_path, SHUT)

    async def script(client: LanguageClient) -> None:
        uri = await opened(client, file, "\n\n" + SHUT)
        assert await actions(client, uri, 3) == []
        shown = await client.text_document_hover_async(lsp.HoverParams(*at(uri, 3)))
        assert shown is not None, "the line reads the same: it is still that gate"
        assert await client.text_document_hover_async(lsp.HoverParams(*at(uri, 1))) is None

    play(script, file.parent, tmp_path, target="sm120")


def test_columns_are_in_the_clients_units(tmp_path: Path) -> None:
    file = small(tmp_path, "/* \U0001f600 */ #if __CUDA_ARCH__ == 900\nvoid work();\n#endif\n")
    units = file.read_text().split("\n")[0].encode("utf-16-le")

    async def script(client: LanguageClient) -> None:
        uri = await opened(client, file)
        (found,) = [d.range for d in client.diagnostics[uri]]
        covered = units[2 * found.start.character : 2 * found.end.character].decode("utf-16-le")
        assert (covered, found.end.character) == ("#if __CUDA_ARCH__ == 900", len(units) // 2)

    play(script, file.parent, tmp_path, "--target", "sm120")


def test_without_a_target_it_is_said_once_and_the_config_names_one(tmp_path: Path) -> None:
    file = small(tmp_path, SHUT)

    async def script(client: LanguageClient) -> None:
        item = lsp.TextDocumentItem(file.as_uri(), "cuda-cpp", 1, SHUT)
        client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        await client.wait_for_notification("window/showMessage")
        assert client.messages[0].message.startswith("archscan: no target; name the GPU")
        file.with_name("archscan.toml").write_text('target = "sm120"\n')
        await saved(client, file, SHUT)
        assert len(client.diagnostics[file.as_uri()]) == 1
        assert len(client.messages) == 1

    play(script, file.parent, tmp_path)


def test_a_file_outside_of_any_folder_is_read_alone(tmp_path: Path) -> None:
    file = small(tmp_path, OPEN)
    file.with_name("b.cu").write_text(SHUT)

    async def script(client: LanguageClient) -> None:
        uri = await opened(client, file)
        assert client.diagnostics[uri] == ()
        other = await opened(client, file.with_name("b.cu"))
        assert len(client.diagnostics[other]) == 1

    play(script, None, tmp_path, target="sm120")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_reader_is_gone_when_the_server_is(tmp_path: Path) -> None:
    file = small(tmp_path, SHUT)
    running: list[int] = []

    async def script(client: LanguageClient) -> None:
        await opened(client, file)
        server = client._server
        assert server is not None
        for children in Path(f"/proc/{server.pid}/task").glob("*/children"):
            running.extend(map(int, children.read_text().split()))
        assert running

    play(script, file.parent, tmp_path, target="sm120")
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in running):
            return
        time.sleep(0.05)
    raise AssertionError(f"still there: {running}")
