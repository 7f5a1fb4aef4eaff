"""Writes expected.txt of every fixture folder: the text report on its bad files. Annotations are never rewritten."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fixture_files import FIXTURES, shown


def main() -> int:
    """Rewrites what changed and names it."""
    for folder in sorted(p for p in FIXTURES.iterdir() if p.is_dir()):
        path, text = folder / "expected.txt", shown(folder)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(path.relative_to(FIXTURES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
