"""Finds the programs that archscan runs: never one that lies in the current directory, which may be what is scanned."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def program(name: str) -> str | None:
    """The absolute path of a program on PATH, or None. On Windows `shutil.which` would look here first."""
    names = [name]
    if sys.platform == "win32":
        names = [name + suffix for suffix in os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").split(os.pathsep)]
    for folder in search_path():
        for one in names:
            place = Path(folder, one)
            if place.is_file() and os.access(place, os.X_OK):
                return str(place)
    return None


def search_path() -> list[str]:
    """The directories of PATH that programs are taken from: those named in full, without the current one."""
    here = os.path.realpath(Path.cwd())
    named = (folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(folder).is_absolute())
    return [folder for folder in named if os.path.realpath(folder) != here]
