"""Writes the measured part of rules/facts/macros.yaml: what nvcc defines for each target, in both passes.

usage: facts_macros.py [--json FILE] [--check]

Without --json it asks the nvcc on PATH. --json reads an earlier measurement ({"tool", "targets": {"sm_120a":
{"device_only_macros": {...}}}}). --check writes nothing: it says "no drift", or what differs, and exits with 1.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "rules" / "facts" / "macros.yaml"
BEGIN = "# --- measured by scripts/facts_macros.py: do not edit below"
END = "# --- end of the measured part"
ARCH_MACRO = re.compile(r"__CUDA_ARCH(?:__|_FEAT_\w+|_SPECIFIC__|_FAMILY_SPECIFIC__)")
# SMs that nvcc 13.0 does not know, with their variants: older toolkits and 13.4 define macros by the same rules
EXTENDED = ("50", "52", "53", "60", "61", "62", "70", "72", "101", "101a", "101f", "107", "107a", "107f")


def by_rule(target: str) -> dict[str, str]:
    """What the rules seen in the measurement give for a target such as `107a`."""
    sm, suffix = target.rstrip("af"), target.lstrip("0123456789")
    macros = {"__CUDA_ARCH__": f"{sm}0"}
    if suffix == "a":
        macros |= {f"__CUDA_ARCH_FEAT_SM{sm}_ALL": "1", "__CUDA_ARCH_SPECIFIC__": f"{sm}0"}
    if suffix:
        macros["__CUDA_ARCH_FAMILY_SPECIFIC__"] = f"{sm}0"
    return macros


def arch_macros(defined: dict[str, str]) -> dict[str, str]:
    """The architecture macros among those defined, by name."""
    return {name: value for name, value in sorted(defined.items()) if ARCH_MACRO.fullmatch(name)}


def measured_targets() -> list[str]:
    """Every real architecture of the nvcc on PATH, variants included, as `120a`."""
    listing = subprocess.run(["nvcc", "--list-gpu-code"], capture_output=True, text=True, check=True).stdout
    plain = re.findall(r"sm_(\d+)", listing)
    return [sm + suffix for sm in plain for suffix in ("", "a", "f") if nvcc_flags(sm + suffix) is not None]


def nvcc_flags(target: str) -> list[str] | None:
    """The preprocessor command of the device pass for a target; None where nvcc does not know it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cu")
        source.touch()
        gencode = f"arch=compute_{target},code=sm_{target}"
        command = ["nvcc", "-gencode", gencode, "-dryrun", "-c", str(source), "-o", str(Path(folder, "empty.o"))]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            return None
        line = next(line for line in run.stderr.splitlines() if " -E " in line and "__CUDA_ARCH__=" in line)
        words = shlex.split(line.removeprefix("#$ "))
        return [word for word in words if word.startswith("-D")]


def measure() -> dict[str, dict[str, str]]:
    """Target -> architecture macros, as the nvcc on PATH defines them."""
    found = {}
    for target in measured_targets():
        flags = [flag[2:].partition("=") for flag in nvcc_flags(target) or []]
        found[f"sm_{target}"] = arch_macros({name: value if equals else "1" for name, equals, value in flags})
    return found


def tool_name() -> str:
    """The nvcc on PATH in words."""
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return "nvcc " + re.search(r"V([\d.]+)", version)[1]  # type: ignore[index]


def render(tool: str, targets: dict[str, dict[str, str]]) -> str:
    """The measured part of the file."""
    lines = [BEGIN, f'tool: "{tool}"', "measured:"]
    lines += [f"  {target}: {_flow(macros)}" for target, macros in targets.items()]
    lines += ["# not known to that nvcc: the same rules, not measured", "extended:"]
    lines += [f"  sm_{target}: {_flow(by_rule(target))}" for target in EXTENDED]
    return "\n".join([*lines, END, ""])


def _flow(macros: dict[str, str]) -> str:
    return "{" + ", ".join(f'{name}: "{value}"' for name, value in sorted(macros.items())) + "}"


def main() -> int:
    """Exit code: 0 written or no drift, 1 drift."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.json:
        raw = json.loads(options.json.read_text())
        tool = re.match(r"nvcc [\d.]+", raw["tool"])[0]  # type: ignore[index]
        targets = {n: arch_macros(t["device_only_macros"]) for n, t in raw["targets"].items() if n.startswith("sm_")}
    else:
        tool, targets = tool_name(), measure()
    old = FILE.read_text()
    new = old[: old.index(BEGIN)] + render(tool, targets)
    if not options.check:
        FILE.write_text(new)
        return 0
    differing = [line for line in set(old.splitlines()) ^ set(new.splitlines()) if not line.startswith("tool:")]
    print("\n".join(["drift:", *sorted(differing)]) if differing else "no drift")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
