"""Fetches the projects whose build files a test reads: scripts/build_repos.py [DIRECTORY] [NAME...].

DIRECTORY is $ARCHSCAN_BUILD_REPOS when it is not given; what is there already is kept. Each sdist lies unpacked in
DIRECTORY/NAME-VERSION. Needs `pip install unearth`, as scripts/labels_fetch.py does.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from labels_fetch import fetch

REPOSITORIES = Path(__file__).parent.parent / "tests" / "data" / "build_repos.json"


def repositories() -> list[dict[str, Any]]:
    """The projects: name, version, sdist, and the files that ask for nothing, each with why."""
    found: list[dict[str, Any]] = json.loads(REPOSITORIES.read_text("utf-8"))
    return found


def main(arguments: list[str]) -> int:
    """Fetches what is named, or all; 2 without a directory or for a name that is not known."""
    default = os.environ.get("ARCHSCAN_BUILD_REPOS")
    if not arguments and default:
        arguments = [default]
    known = {one["name"]: one for one in repositories()}
    if not arguments or not set(arguments[1:]) <= set(known):
        print(f"{__doc__}\nnames: {', '.join(known)}", file=sys.stderr)
        return 2
    base = Path(arguments[0])
    base.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or known:
        print(fetch(known[name], base))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
