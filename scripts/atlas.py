"""Writes docs/atlas.md: real packages against GPUs, from an environment in which they are installed.

    python scripts/atlas.py --prefix DIR [--date 2026-11-30]

What stands there is what `archscan env --matrix` says of that environment, with the versions that were read.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from archscan.catalog import load  # noqa: E402
from archscan.catalog.targets import select  # noqa: E402
from archscan.environment.facts import package_facts  # noqa: E402
from archscan.environment.machine import Machine  # noqa: E402
from archscan.environment.model import Question, Row, State  # noqa: E402
from archscan.environment.places import Asked, environments  # noqa: E402
from archscan.environment.rows import rows  # noqa: E402
from archscan.environment.shelves import stock  # noqa: E402

GPUS = (75, 80, 86, 89, 90, 100, 103, 120)
_MARKS = {State.WORKS: "yes", State.SLOW: "PTX", State.PARTLY: "part", State.FAILS: "**no**", State.UNKNOWN: "?"}
_PAGE = """\
# Atlas

Which GPUs the wheels of some packages hold code for, read in their wheels for x86-64 on {date} by `scripts/atlas.py`.
**yes**: machine code for the GPU, or for an earlier one of its major; **PTX**: compiled by the driver at first use;
**part**: some library of it does not load; **no**: nothing loads, at the first kernel "no kernel image is available";
**?**: kernels are compiled when they are used, or it cannot be told. It is about images: which kernels a program asks
for, what a gate in its sources says, and what a package does without its libraries, it does not know.

{table}

12.1 (DGX Spark) and 11.0 (Jetson Thor) come with Arm processors: their wheels are others. Read in the same way, torch
2.14.1 for aarch64 runs on both: of its two libraries one holds code for 12.1 itself, the other for 12.0, which a 12.1
loads; on 11.0 both hold its own.
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    given = parser.parse_args()
    catalog = load()
    facts = package_facts(catalog)
    (environment,) = environments(Asked(prefixes=(given.prefix,)), {})
    found = stock(environment, use_cache=True)
    by_name: dict[str, list[Row]] = {}
    for sm in GPUS:
        for row in rows(found, Question(select(f"sm_{sm}", catalog), catalog, facts, {}, Machine())):
            by_name.setdefault(row.installed.key, []).append(row)
    shown = {name: them for name, them in sorted(by_name.items()) if any(row.parts or row.first_use for row in them)}
    head = "| package | version | " + " | ".join(f"{sm // 10}.{sm % 10}" for sm in GPUS) + " |"
    lines = [head, "| --- " * (len(GPUS) + 2) + "|"]
    for them in shown.values():
        one = them[0].installed
        lines.append(f"| {one.name} | {one.version} | " + " | ".join(_MARKS[row.state] for row in them) + " |")
    page = _PAGE.format(date=given.date, table="\n".join(lines))
    (ROOT / "docs" / "atlas.md").write_text(page, encoding="utf-8")
    print(f"written: docs/atlas.md, {len(shown)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
