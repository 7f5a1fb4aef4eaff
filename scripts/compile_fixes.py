"""Compiles every safe fix of a project, before and after: scripts/compile_fixes.py TARGET[,TARGET…] DIRECTORY…

For each safe fix of `#if` conditions nvcc compiles the file, or the guarded code in a kernel of its own, as it is and
with the edit, for the target; Python is parsed. A fix that stops a build which went through before, or after which
nothing is gained, is printed and counted as bad. Without nvcc it says so and ends with 0.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from archscan.catalog import load
from archscan.catalog.targets import select
from archscan.fixing.commands import workbench
from archscan.fixing.plan import FixOptions, Unit, plan
from archscan.fixing.proposal import applied
from archscan.fixing.prove import Workbench
from archscan.fixing.verify import find_tool, verify
from archscan.model.settings import JudgeSettings, ScanSettings
from archscan.model.target import Selection
from archscan.pipeline import report, scan

BAD = frozenset({"rejected", "no-difference", "does not parse"})


def main(arguments: Sequence[str]) -> int:
    """Prints what became of each safe fix; 1 where one is bad."""
    if len(arguments) < 2:
        sys.exit(__doc__)
    if find_tool("nvcc") is None:
        print("skipped: nvcc is not here")
        return 0
    catalog, settings, total = load(), ScanSettings(), Counter[str]()
    start = Path.cwd()
    for folder in arguments[1:]:
        os.chdir(start / folder)
        facts = scan(["."], catalog, settings)
        bench = workbench(["."], catalog, settings)
        for target in arguments[0].split(","):
            selection = select(target, catalog)
            found = report(facts, selection, catalog, JudgeSettings()).findings
            made = plan(found, selection, catalog, bench, FixOptions())
            said = [(unit, verdict) for unit in made.units for verdict in verdicts(unit, bench, selection)]
            for unit, (verdict, detail) in said:
                print(f"{verdict:<16} {Path(folder).name} {target} {unit.title}: {detail}", flush=True)
            counts = Counter(verdict for _, (verdict, _) in said)
            unsafe = len(made.shown)
            print(f"{Path(folder).name} {target}: {len(made.units)} safe, {unsafe} unsafe; {dict(counts)}", flush=True)
            total += counts
    print(f"together: {dict(total)}")
    return 1 if any(total[name] for name in BAD) else 0


def verdicts(unit: Unit, bench: Workbench, selection: Selection) -> list[tuple[str, str]]:
    """What the compiler says of each gate of a unit, or Python of each file."""
    found = [
        (one.verdict, f"{one.path}:{one.line} ({one.how}): {one.detail}") for one in verify(unit, bench, selection)
    ]
    for path in sorted({edit.path for edit in unit.edits if edit.path.endswith(".py")}):
        data = applied(bench.source(path).data, tuple(edit for edit in unit.edits if edit.path == path))
        try:
            ast.parse(data)
        except SyntaxError as error:
            found.append(("does not parse", f"{path}: {error}"))
        else:
            found.append(("parses", path))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
