"""Plays an editor's session with `archscan lsp` and writes what was said into docs/editors.md, or times edits.

Usage: python scripts/editor_session.py                          writes the log of a session on examples/flashinfer
       python scripts/editor_session.py PATH FILE... [--runs N]  prints how long the server takes to answer for an edit
                                                                  of each FILE (below PATH, which is copied first)

The client is the editor's side of the protocol over standard input and output, and nothing else: what it prints is what
an editor gets. Times are from the save to the diagnostics of that file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "editors.md"
BLOCK = re.compile(r"<!-- session -->.*?<!-- /session -->", re.DOTALL)
HEADER = "data/include/flashinfer/comm/trtllm_allreduce.cuh"
KERNEL = 175  # a line of it: a kernel whose body is compiled out
_WIDTH = 110


class Client:
    """An editor, as far as the protocol goes."""

    def __init__(self, folder: Path, state: Path) -> None:
        environment = {**os.environ, "XDG_CACHE_HOME": str(state), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "archscan", "lsp", "--target", "sm120", "--isolated"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._number = 0
        self.folder = folder
        self.asked("initialize", processId=None, rootUri=folder.as_uri(), capabilities={})
        self.told("initialized")

    def told(self, method: str, **params: Any) -> None:
        """Sends a notification."""
        self._send({"method": method, "params": params})

    def asked(self, method: str, **params: Any) -> Any:
        """The answer to a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        return next(m for m in self._received() if m.get("id") == self._number and "method" not in m).get("result")

    def diagnostics(self, file: str, version: int) -> list[dict[str, Any]]:
        """The next diagnostics of a file in this version."""
        for message in self._received():
            params = message.get("params") or {}
            if message.get("method") != "textDocument/publishDiagnostics" or params["uri"] != self.uri(file):
                continue
            if params.get("version") == version:  # a save is answered for every open file
                return list(params["diagnostics"])
        raise SystemExit("the server is gone")

    def opened(self, file: str) -> list[dict[str, Any]]:
        """The diagnostics of a file that is opened."""
        text = (self.folder / file).read_text(encoding="utf-8")
        self.told(
            "textDocument/didOpen", textDocument={**self.document(file), "languageId": "x", "version": 1, "text": text}
        )
        return self.diagnostics(file, 1)

    def saved(self, file: str, text: str, version: int) -> list[dict[str, Any]]:
        """The diagnostics of a file that is edited and saved."""
        changed = {**self.document(file), "version": version}
        self.told("textDocument/didChange", textDocument=changed, contentChanges=[{"text": text}])
        (self.folder / file).write_text(text, encoding="utf-8")
        self.told("textDocument/didSave", textDocument=self.document(file))
        return self.diagnostics(file, version)

    def uri(self, file: str) -> str:
        return (self.folder / file).as_uri()

    def document(self, file: str) -> dict[str, str]:
        return {"uri": self.uri(file)}

    def stop(self) -> None:
        """Ends the session as an editor does."""
        self.asked("shutdown")
        self.told("exit")
        self._process.wait(30)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def _received(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            length = 0
            while line.strip():
                name, _, value = line.decode().partition(":")
                length = int(value) if name.lower() == "content-length" else length
                line = self._process.stdout.readline()
            yield json.loads(self._process.stdout.read(length))


def session(client: Client) -> Iterator[str]:
    """A person opens a header, asks about a kernel, edits it and saves: what was sent and what came back."""
    text = (client.folder / HEADER).read_text(encoding="utf-8")
    yield f"--> textDocument/didOpen  {HEADER}"
    yield from _told(client.opened(HEADER))
    cursor = {"textDocument": client.document(HEADER), "position": {"line": KERNEL - 1, "character": 1}}
    yield f"--> textDocument/hover  line {KERNEL}"
    hover = client.asked("textDocument/hover", **cursor)["contents"]["value"]
    lines = [line for line in hover.split("\n") if line.strip()]
    yield from (f"    {_short(line)}" for line in lines[:12])
    if len(lines) > 12:
        yield f"    ({len(lines) - 12} more lines)"
    yield f"--> textDocument/references  line {KERNEL}: the gates of the chain that shut the target out"
    for place in client.asked("textDocument/references", **cursor, context={"includeDeclaration": True}) or ():
        yield f"    {_where(place, client)}"
    here = {"start": cursor["position"], "end": cursor["position"]}
    yield f"--> textDocument/codeAction  line {KERNEL}"
    asked = {"textDocument": client.document(HEADER), "range": here, "context": {"diagnostics": []}}
    for action in client.asked("textDocument/codeAction", **asked) or ():
        yield f"    {_short(action['title'])}"
    yield f"--> textDocument/didChange, didSave  line {KERNEL}: `< 1200` becomes `<= 1200`"
    changed = text.split("\n")
    changed[KERNEL - 1] = changed[KERNEL - 1].replace("< 1200", "<= 1200")
    yield from _told(client.saved(HEADER, "\n".join(changed), 2))


def _told(found: list[dict[str, Any]]) -> Iterator[str]:
    names = {1: "error", 2: "warning", 3: "information", 4: "hint"}
    yield f"<-- textDocument/publishDiagnostics  {len(found)}"
    for one in found[:4]:
        head = one["message"].split("\n")[0]
        yield f"    line {one['range']['start']['line'] + 1}: {names[one['severity']]} [{one['code']}] {_short(head)}"
    if len(found) > 4:
        yield f"    ({len(found) - 4} more)"


def _where(place: dict[str, Any], client: Client) -> str:
    return f"{place['uri'].removeprefix(client.folder.as_uri() + '/')}:{place['range']['start']['line'] + 1}"


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def timed(client: Client, files: list[str], runs: int) -> Iterator[str]:
    """How long the first answer takes, and the answer to an edit of each file."""
    for file in files:
        began = time.perf_counter()
        found = client.opened(file)
        yield f"{file}: opened, {len(found)} diagnostics, {time.perf_counter() - began:.2f} s"
    for file in files:
        text = (client.folder / file).read_text(encoding="utf-8")
        mark = "#" if file.endswith(".py") else "//"
        took = []
        for run in range(runs):
            began = time.perf_counter()
            client.saved(file, f"{text}{mark} edit {run}\n", run + 2)
            took.append(time.perf_counter() - began)
        least, most = min(took), max(took)
        yield f"{file}: edit to diagnostics {statistics.median(took):.2f} s (of {runs}: {least:.2f} to {most:.2f})"


def main() -> None:
    """Writes the log, or prints times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as state:
        folder = Path(state) / "work" / (asked.path or ROOT / "examples" / "flashinfer").name
        shutil.copytree(asked.path or ROOT / "examples" / "flashinfer", folder)
        client = Client(folder, Path(state) / "cache")
        if asked.path:
            for line in timed(client, asked.files, asked.runs):
                print(line, flush=True)
        else:
            log = "\n".join(session(client))
            text = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(BLOCK.sub(lambda match: f"<!-- session -->\n```text\n{log}\n```\n<!-- /session -->", text))
        client.stop()


if __name__ == "__main__":
    main()
