"""Scans again whenever a file below the PATHs or the config file changes: looked at now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from archscan.config import Settings, nearest
from archscan.errors import UserError
from archscan.reporting.words import visible

_PAUSE = 0.5  # seconds between two looks at least
_SHARE = 10  # a look may take this share of the time: a tree of a million files is looked at less often
_ALONE = ("write_baseline", "add_ignores", "show_files")


def watch(given: Mapping[str, Any], run: Callable[[], int], settings: Callable[[], Settings]) -> int:
    """Runs until it is interrupted; the exit code is that of the last run."""
    paths = tuple(given["paths"]) or (".",)
    if "-" in paths:
        raise UserError("--watch cannot look at standard input", "name a file or a directory")
    for name in _ALONE:
        if given[name]:
            raise UserError(f"--watch does not go with --{name.replace('_', '-')}", "run it once, without --watch")
    code, before = 0, None
    try:
        while True:
            began = time.monotonic()
            now = _state(paths, given, settings)
            took = time.monotonic() - began
            if now != before:
                before = now
                if sys.stdout.isatty():
                    click.clear()
                code = _once(run)
                click.echo("watching for changes; Ctrl-C ends", err=True)
            pause(max(_PAUSE, took * _SHARE))
    except KeyboardInterrupt:
        return code


def pause(seconds: float) -> None:
    """Waits."""
    time.sleep(seconds)


def _once(run: Callable[[], int]) -> int:
    """One run. What is wrong with a file that is being edited is said, and ends nothing."""
    try:
        return run()
    except UserError as error:
        click.echo(f"error: {visible(error.title)}", err=True)
        if error.hint:
            click.echo(f"hint: {visible(error.hint)}", err=True)
        return 2


def _state(paths: Sequence[str], given: Mapping[str, Any], settings: Callable[[], Settings]) -> tuple[object, ...]:
    """What stands for everything that a run reads: equal as long as nothing changed."""
    from archscan.sources import discover

    found = None if given["isolated"] else given["config"] or nearest(paths)
    config = _stamp(str(found)) if found else None
    try:
        discovery = discover(paths, settings().scan())
    except UserError as error:
        return (config, error.title)
    return (config, tuple((one.path, one.stamp) for one in (*discovery.sources, *discovery.libraries)))


def _stamp(file: str) -> tuple[int, ...] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
