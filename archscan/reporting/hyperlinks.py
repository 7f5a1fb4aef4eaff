"""Links that a terminal opens (OSC 8), and which terminals know them: others print the escape, or swallow the text.

What each terminal needs: https://github.com/zkat/supports-hyperlinks; the sequence:
https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

_VTE = 5000  # 0.50: GNOME Terminal and its relatives
_PROGRAMS = {"iTerm.app": (3, 1), "WezTerm": (20200620,), "vscode": (1, 72), "ghostty": (), "Hyper": (), "rio": ()}
_TERMS = ("xterm-kitty", "alacritty", "foot", "contour", "xterm-ghostty")
_OTHERS = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")


def is_known_to(environment: Mapping[str, str]) -> bool:
    """Whether the terminal that these variables tell of opens links. FORCE_HYPERLINK says so itself."""
    if environment.get("FORCE_HYPERLINK"):
        return environment["FORCE_HYPERLINK"] != "0"
    if "CI" in environment or "TMUX" in environment or environment.get("TERM", "").startswith(("screen", "dumb")):
        return False
    program = environment.get("TERM_PROGRAM", "")
    if program in _PROGRAMS:
        return _version(environment.get("TERM_PROGRAM_VERSION", "")) >= _PROGRAMS[program]
    vte = environment.get("VTE_VERSION", "")
    if vte.isdigit() and int(vte) >= _VTE:
        return True
    return any(name in environment for name in _OTHERS) or environment.get("TERM", "").startswith(_TERMS)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace("-", ".").split(".") if part.isdigit())


def address(disk: str) -> str:
    """The address of a file; with the host, as the file may lie on another machine than the terminal."""
    return f"file://{quote(socket.gethostname())}{quote(Path(disk).absolute().as_posix())}"


def linked(text: str, address: str) -> str:
    """Text that leads to an address."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if address else text
