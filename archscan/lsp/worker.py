"""The process that reads the code: requests in, answers out, so that the server itself never waits and never dies."""

from __future__ import annotations

import asyncio
import os
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from archscan.lsp.pages import Prove, Refresh, Refused


class Worker:
    """One process beside the server, started when it is first asked, and again after it died."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._turn = asyncio.Lock()

    async def ask(self, request: Refresh | Prove) -> Any:
        """The answer to a request, or why there is none. One request is worked on at a time."""
        async with self._turn:
            return await asyncio.to_thread(self._asked, request)

    def _asked(self, request: Refresh | Prove) -> Any:
        pipe = self._started()
        try:
            pipe.send(request)
            return pipe.recv()
        except (EOFError, OSError):
            self.stop()
            return Refused("the process that reads the code died", "it is started again when a file is saved")

    def _started(self) -> Connection:
        if self._pipe is None or self._process is None or not self._process.is_alive():
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs,), name="archscan-reader")
            self._process.start()
            theirs.close()
        return self._pipe

    def stop(self) -> None:
        """Ends the process, whatever it is doing: it writes nothing but its cache, and that whole or not at all."""
        if self._process is not None:
            self._process.kill()
        self._process = self._pipe = None


def serve(pipe: Connection) -> None:
    """The life of the process: answers until the server is gone."""
    os.dup2(2, 1)  # standard output belongs to the protocol
    from archscan.cache import stay_resident, write_behind
    from archscan.lsp.project import Projects

    stay_resident()
    projects = Projects()
    while True:
        try:
            if not pipe.poll(_AT_REST):
                write_behind()
            request = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            write_behind()
            return
        pipe.send(_answered(request, projects))


_AT_REST = 0.5  # seconds without a request, after which there is time to write


def _answered(request: Refresh | Prove, projects: Any) -> Any:
    from archscan.errors import UserError

    try:
        project = projects.of(request.path)
        if isinstance(request, Prove):
            return project.proven(request.fingerprint)
        return project.answer(request.opened, request.saved, request.options)
    except UserError as error:
        return Refused(error.title, error.hint)
    except Exception as error:
        import traceback

        traceback.print_exc()
        return Refused(f"archscan failed: {type(error).__name__}: {error}", "this is a bug; please report it")
