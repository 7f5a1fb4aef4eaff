"""Draws candidate lines from Python packages by plain text search, for labelling by hand; prints JSON lines.

The search knows nothing of archscan: it takes non-comment lines with an architecture word and something that decides,
and draws with a fixed seed. `python scripts/draw_python_sites.py CORPORA > sites.jsonl`
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

PACKAGES = {"flashinfer-0.7.2": 50, "sglang-0.5.23": 50}
SEED = 20251129
WORD = re.compile(
    r"capabilit|compute_cap|supported_major|(?<![a-z])is_\w*sm_?\d|has_sm\d|blackwell|hopper|(?<![a-z])sm_?\d{2,3}[af]?\b"
    r"|\bmajor\b|\bcc\b|\bsm_version\b|device_sm|\barch\b|gencode|support_pdl",
    re.IGNORECASE,
)
DECIDES = re.compile(
    r"^\s*(?:if|elif|assert|while|return|and|or|not)\b.*[\w\])]\s*(?:[<>=!]=|[<>]|\bin\b|[(.])|[<>=!]=\s*[\w(\[\"']|^\s*@|\w+\s*=.*\bif\b"
    r"|supported_major_versions\s*=|\b(?:not )?in [(\[{_A-Z]|^\s*\(\d+, \d\):"
)
LEFT_OUT = re.compile(
    r"(?:^|/)(?:data/cutlass|data/cccl|third_party|3rdparty|tests?|testing|benchmarks?)/|/cute/sm_|kernel_src/|cake_\w+_cute/|_fused\.py$"
)
PROSE = re.compile(
    r"^\s*(?:#|[rf]?\"|[rf]?'|from |import |def |class |logger|print|[A-Z][a-z]+ [a-z]+ |\* |- |\.\.)|\"\"\""
)


def candidates(root: Path) -> list[tuple[str, int, str]]:
    """(path, line number, text) of every candidate under a package, in path order."""
    found: list[tuple[str, int, str]] = []
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root).as_posix()
        if LEFT_OUT.search(relative):
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if len(line) >= 200 or "cute.arch." in line or PROSE.search(line):
                continue
            if WORD.search(line) and DECIDES.search(line):
                found.append((relative, number, line.strip()))
    return found


def main() -> None:
    """Prints the drawn sites of every package."""
    generator = random.Random(SEED)
    for package, count in PACKAGES.items():
        for path, line, text in sorted(generator.sample(candidates(Path(sys.argv[1]) / package), count)):
            print(json.dumps({"package": package, "path": path, "line": line, "text": text}))


if __name__ == "__main__":
    main()
