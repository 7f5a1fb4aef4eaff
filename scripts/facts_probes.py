"""Writes tests/data/probe_targets.json: where the rows that a probe stands on were measured to assemble.

usage: facts_probes.py --json FILE      from a measurement {"features": {row: {accepted: {toolkit: "90 90a"}}}}

A probe's targets are what all of its rows have in common. tests/test_probe_command.py compares them with probe.yaml,
and `archscan probe --compile-only` compares that with a compiler.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from archscan.probing.reading import directory, names, read_probe  # noqa: E402

TABLE = ROOT / "tests" / "data" / "probe_targets.json"
TOOLKIT = "13.0.88"
FIRST_SM = 75


def table(measurement: dict[str, Any]) -> dict[str, Any]:
    """Every target of the toolkit, and of each probe those that accept all of its rows."""
    features = measurement["features"]
    everything = measurement["_meta"]["toolkits"][TOOLKIT]["targets"]
    known = [t[3:] for t in everything if int(t[3:].rstrip("af")) >= FIRST_SM]
    found = {}
    for name in names():
        common = set(known)
        for row in read_probe(directory() / name).rows:
            if row not in features:
                raise SystemExit(f"{name}: {row} was not measured")
            common &= set(features[row]["accepted"].get(TOOLKIT, "").split())
        found[name] = " ".join(t for t in known if t in common)
    return {"toolkit": TOOLKIT, "targets": " ".join(known), "probes": found}


def main() -> int:
    """Exit code: 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    TABLE.write_text(json.dumps(table(json.loads(options.json.read_text())), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
