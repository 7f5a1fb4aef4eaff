"""Writes the measured part of rules/facts/features.yaml, or checks it against a ptxas.

usage: facts_features.py --json FILE          from a measurement {"features": {row: {accepted, lowering_..., snippet}}}
       facts_features.py --check [--sample N] [--ptxas FILE]

--check assembles every probe of rules/facts/probes.yaml for every target that this ptxas knows, compares with the
committed table, says "no drift" or what differs, and exits with 1 on drift. The table is that of CUDA 13.0: another
ptxas is refused unless --any-version is given (pip install nvidia-cuda-nvcc==13.0.88 brings the right one).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from archscan.catalog.architectures import compile_architectures  # noqa: E402
from archscan.catalog.features import compile_features  # noqa: E402
from archscan.catalog.masks import encode  # noqa: E402
from archscan.model.target import Universe  # noqa: E402

FACTS = ROOT / "rules" / "facts"
BEGIN = "# --- measured by scripts/facts_features.py: do not edit below"
END = "# --- end of the measured part"
REFERENCE = "13.0.88"
NEWEST = "13.5.37"
BEFORE_TURING = "12.9.86"
# Registers that the probes name, and the address space they point to
PRELUDE = """.reg .b32 %r<128>; .reg .f32 %f<128>; .reg .b64 %l<8>; .reg .b16 %h<8>; .reg .f64 %d<128>;
.reg .pred %p<4>; .reg .b128 %q<4>; .reg .b32 %s<4>; .reg .b64 %g<4>;"""


@dataclass(frozen=True)
class Probe:
    """A snippet of PTX, with directives of its entry."""

    row: str
    snippet: str
    entry: str


def universe() -> Universe:
    """The universe of archscan."""
    return compile_architectures(yaml.safe_load((FACTS / "architectures.yaml").read_bytes()), "architectures").universe


# --- from a measurement


def accepted(row: dict[str, Any], toolkit: str) -> set[str]:
    """The targets (`120a`) that a toolkit accepted a row for."""
    return set(row["accepted"].get(toolkit, "").split())


def targets_of(row: dict[str, Any]) -> tuple[set[str], str, str]:
    """The targets that have a row, the tool that says so, and the first toolkit that knows it if 13.0 does not.

    Targets of 13.0 come from 13.0; sm_107 from the newest; SMs before 7.5 from 12.9; 101 is the old name of 110.
    """
    tool = REFERENCE if accepted(row, REFERENCE) else NEWEST
    found = accepted(row, tool) | {t for t in accepted(row, NEWEST) if t.startswith("107")}
    found |= {t for t in accepted(row, BEFORE_TURING) if int(t.rstrip("af")) < 75}
    found |= {t.replace("110", "101", 1) for t in found if t.startswith("110")}
    since = next((v for v in sorted(row["accepted"], key=_version) if accepted(row, v)), "") if tool == NEWEST else ""
    return found, f"ptxas {tool}", ".".join(since.split(".")[:2])


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def lowering_of(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Class -> targets for which some row is not one native instruction."""
    found: dict[str, set[str]] = {}
    for row in rows:
        for name, targets in row.get(f"lowering_{REFERENCE}", {}).items():
            if name != "native":
                found.setdefault(name, set()).update(targets.split())
    for targets in found.values():
        targets |= {t.replace("110", "101", 1) for t in targets if t.startswith("110")}
    return found


def mask_text(targets: set[str], everything: Universe) -> str:
    """Such targets in the notation of the facts."""
    known = [everything.by_name[f"sm_{t}"] for t in targets if f"sm_{t}" in everything.by_name]
    return encode(everything.mask(known), everything)


def measured_line(name: str, feature: dict[str, Any], rows: list[dict[str, Any]], everything: Universe) -> str:
    """The measured line of one feature; SystemExit where its rows are accepted by different targets."""
    answers = {(frozenset(found), tool, since) for found, tool, since in map(targets_of, rows)}
    if len(answers) != 1:
        raise SystemExit(f"{name}: its rows are accepted by different targets: split the feature")
    found, tool, since = answers.pop()
    parts = [f'have: "{mask_text(set(found), everything)}"', f"source: {tool}"]
    parts += [f'since: "{since}"'] if since else []
    lowering = {} if "ignore_lowering" in feature else lowering_of(rows)
    if feature.get("emulated"):
        lowering = {kind.replace("expanded", "emulated"): targets for kind, targets in lowering.items()}
    texts = [f'{kind}: "{mask_text(targets & set(found), everything)}"' for kind, targets in sorted(lowering.items())]
    parts += [f"lowering: {{{', '.join(texts)}}}"] if texts else []
    return f"  {name}: {{{', '.join(parts)}}}"


def write(measurement: dict[str, Any]) -> None:
    """The measured part of features.yaml and the probes, from a measurement."""
    file = FACTS / "features.yaml"
    old = file.read_text()
    features = yaml.safe_load(old)["features"]
    everything, rows = universe(), measurement["features"]
    lines = [BEGIN, "measured:"]
    lines += [
        measured_line(name, feature, [rows[row] for row in feature["rows"]], everything)
        for name, feature in features.items()
        if feature["rows"]
    ]
    file.write_text(old[: old.index(BEGIN)] + "\n".join([*lines, END, ""]))
    used = [row for feature in features.values() for row in feature["rows"]]
    probes = ["# PTX that scripts/facts_features.py assembles: row: [snippet, directives of the entry]", ""]
    probes += [f"{json.dumps(row)}: {json.dumps([rows[row]['snippet'], rows[row].get('entry', '')])}" for row in used]
    (FACTS / "probes.yaml").write_text("\n".join(probes) + "\n")


# --- against a ptxas


def find_ptxas() -> str | None:
    """ptxas on PATH, or the one that pip's nvidia-cuda-nvcc brought."""
    places = [Path(place) for place in sys.path if place]
    wheels = [str(file) for place in places for file in place.glob("nvidia/*/bin/ptxas")]
    return shutil.which("ptxas") or next(iter(wheels), None)


def version_of(ptxas: str) -> str:
    """13.0.88"""
    text = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"V([\d.]+)", text)[1]  # type: ignore[index]


def known_targets(ptxas: str) -> list[str]:
    """The targets of a ptxas, as `120a`."""
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"'sm_(\d+[af]?)'", text)), key=lambda t: (int(t.rstrip("af")), t))


def module(probes: list[Probe], target: str, isa: str) -> tuple[str, list[tuple[int, int]]]:
    """One PTX module with an entry per probe, and the range of lines of each."""
    lines = [f".version {isa}", f".target sm_{target}", ".address_size 64"]
    spans = []
    for number, probe in enumerate(probes):
        first = len(lines) + 1
        lines += [
            f".entry probe_{number}() {probe.entry}",
            "{",
            *PRELUDE.splitlines(),
            *probe.snippet.splitlines(),
            "ret;",
            "}",
        ]
        spans.append((first, len(lines)))
    return "\n".join(lines) + "\n", spans


def rejected(ptxas: str, probes: list[Probe], target: str, isa: str) -> set[str]:
    """The rows that ptxas refuses for a target; a message without a line makes every probe run alone."""
    text, spans = module(probes, target, isa)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probes.ptx")
        source.write_text(text)
        command = [ptxas, f"-arch=sm_{target}", str(source), "-o", str(Path(folder, "probes.cubin"))]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if not run.returncode:
        return set()
    if len(probes) == 1:
        return {probes[0].row}
    lines = {int(n) for n in re.findall(r"line (\d+); error", run.stderr)}
    found = {p.row for p, (a, b) in zip(probes, spans, strict=True) if any(a <= line <= b for line in lines)}
    rest = [p for p in probes if p.row not in found]
    if found:
        return found | (rejected(ptxas, rest, target, isa) if rest else set())
    half = len(probes) // 2
    return rejected(ptxas, probes[:half], target, isa) | rejected(ptxas, probes[half:], target, isa)


def check(ptxas: str, sample: int) -> list[str]:
    """What differs between a ptxas and the committed table, in words."""
    everything = universe()
    raw = yaml.safe_load((FACTS / "features.yaml").read_bytes())
    features = compile_features(raw, everything, "features.yaml")
    snippets = yaml.safe_load((FACTS / "probes.yaml").read_bytes())
    old = {name: feature for name, feature in features.items() if not feature.toolkit}
    names = {row: name for name in old for row in raw["features"][name]["rows"]}
    probes = [Probe(row, *snippets[row]) for row in names][:: max(1, len(names) // sample) if sample else 1]
    drift = []
    for target in known_targets(ptxas):
        if (member := everything.by_name.get(f"sm_{target}")) is None:
            continue
        refused = rejected(ptxas, probes, target, "9.0")
        for probe in probes:
            has = bool(old[names[probe.row]].mask & everything.bit(member))
            if has == (probe.row in refused):
                drift.append(f"{names[probe.row]} ({probe.row}): {member.name} {'refuses' if has else 'accepts'} it")
    return drift


def main() -> int:
    """Exit code: 0 written or no drift, 1 drift, 2 nothing to check with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--ptxas", default=find_ptxas())
    parser.add_argument("--any-version", action="store_true")
    options = parser.parse_args()
    if options.json:
        write(json.loads(options.json.read_text()))
        return 0
    if not options.check or options.ptxas is None:
        parser.error("nothing to do" if not options.check else "no ptxas found: pip install nvidia-cuda-nvcc==13.0.88")
    version = version_of(options.ptxas)
    if not version.startswith("13.0.") and not options.any_version:
        parser.error(f"the table is that of CUDA 13.0, this is ptxas {version}")
    drift = check(options.ptxas, options.sample)
    print("\n".join(["drift:", *drift]) if drift else "no drift")
    return 1 if drift else 0


if __name__ == "__main__":
    sys.exit(main())
