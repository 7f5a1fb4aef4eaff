"""`archscan probe`: runs small kernels on the user's GPU, or compiles them where there is none."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from archscan.errors import UserError
from archscan.probing import reading
from archscan.probing.evidence import Found, document
from archscan.probing.supervising import Supervisor
from archscan.probing.types import BROKEN, COMPILES, Gpu, Probe
from archscan.reporting.probes import compiled, gpu_line, listed, result_lines

if TYPE_CHECKING:
    from archscan.catalog.types import Catalog
    from archscan.model.finding import Finding

FIRST_SM = 75  # what the probes say of targets begins there


def run_probe(given: Mapping[str, Any]) -> int:
    """Prints what was found; 1 where what compiles is not what the probes say."""
    from archscan.catalog import load
    from archscan.commands.scan import terminal_width, write

    catalog = load()
    probes = reading.chosen(given["features"], checked(catalog))
    if given["for_"] and (given["list_"] or given["compile_only"]):
        if len(given["target"]) != 1:
            raise UserError("--for needs to know the GPU where none is used", "name one: --target sm120")
        probes = wanted(probes, given["for_"], given["target"][0], catalog)
    if given["list_"]:
        write(listed(probes, terminal_width()), None)
        return 0
    if given["compile_only"]:
        return _compile_only(probes, given, catalog)
    found = [_on_gpu(device, probes, given, catalog) for device in _devices(given)]
    if given["json_"]:
        write(_dumped(**document(found, datetime.date.today().isoformat())), given["json_"])
    return 0


def _dumped(**parts: Any) -> str:
    """A document of this command as text, its version first."""
    from archscan.reporting.json_format import SCHEMA_VERSION

    return json.dumps({"schema_version": SCHEMA_VERSION, **parts}, indent=1, ensure_ascii=False) + "\n"


def checked(catalog: Catalog, root: Path | None = None) -> tuple[Probe, ...]:
    """Every probe there is; UserError for a feature or a target that does not exist."""
    from archscan.catalog.masks import decode
    from archscan.catalog.measurements import SUBJECTS
    from archscan.catalog.reading import one_of

    root = root or reading.directory()
    known = {*catalog.features, *(f.group for f in catalog.features.values()), *SUBJECTS}
    probes = tuple(reading.read_probe(root / name) for name in reading.names(root))
    for probe in probes:
        where = f"{probe.name}/probe.yaml"
        for word in probe.settles:
            one_of(word, known, f"{where}: settles")
        for mask in (probe.targets, probe.elsewhere):
            decode(mask, catalog.universe, where)
    return probes


def wanted(probes: Sequence[Probe], paths: Sequence[str], target: str, catalog: Catalog) -> tuple[Probe, ...]:
    """The probes that settle what is open in the findings of a scan; says so where there is none."""
    from archscan.commands.scan import judged
    from archscan.config import merged

    settings = merged({"target": target}, paths, None, False)
    report = judged(paths, settings, catalog, ())
    asked = open_features(report.findings)
    chosen = tuple(p for p in probes if asked & _names(p, catalog))
    if not chosen:
        place = ", ".join(paths)
        uses = f" by what it uses, or no probe settles it: {', '.join(sorted(asked))}" if asked else ""
        click.echo(f"nothing in {place} is contested or unknown for {target}{uses}", err=True)
    return chosen


def open_features(findings: Iterable[Finding]) -> frozenset[str]:
    """What the guarded code uses where sources disagree, a loss is reported, or nobody knows whether it can run."""
    from archscan.model.finding import Advice, Capability

    unsettled = (Advice.CONTESTED, Advice.INVESTIGATE, Advice.WIDEN_PERF_RISK)
    return frozenset(
        feature
        for finding in findings
        if finding.advice in unsettled
        or (finding.capability is Capability.UNKNOWN and finding.advice is not Advice.LEAVE)
        for feature in finding.features
    )


def _names(probe: Probe, catalog: Catalog) -> set[str]:
    """What a probe settles, and the groups that reports show it as."""
    return {*probe.settles, *(catalog.features[f].group for f in probe.settles if f in catalog.features)}


# --- without a GPU


def _compile_only(probes: Sequence[Probe], given: Mapping[str, Any], catalog: Catalog) -> int:
    from archscan.commands.scan import write

    targets = _targets(given["target"], catalog)
    supervisor = Supervisor(0, given["time_limit_each"], given["time_limit"])
    answers: dict[str, dict[str, Any]] = {}
    for number, probe in enumerate(probes, 1):
        _progress(number, len(probes), probe.name)
        told = supervisor.compile(str(reading.directory() / probe.name), targets)
        if isinstance(told, str):
            raise UserError(f"{probe.name}: {told}", "archscan probe needs NVRTC: pip install 'archscan[probe]'")
        answers[probe.name] = told["targets"]
    seen = [t for t in targets if any(by_target[t] is not None for by_target in answers.values())]
    differ = [line for probe in probes for line in differing(probe, answers[probe.name], catalog)]
    if given["json_"]:
        write(_dumped(targets=seen, probes=answers, differing=differ), given["json_"])
    write(compiled(answers, differ, seen), None)
    return 1 if differ else 0


def _targets(words: Sequence[str], catalog: Catalog) -> list[str]:
    """The variants that these words name; all from sm_75 on for none."""
    from archscan.catalog.targets import resolve

    universe = catalog.universe
    if not words:
        return [t.name for t in universe.targets if t.sm >= FIRST_SM]
    found: list[str] = []
    for word in words:
        target, exact = resolve(word, catalog)
        if target.sm < FIRST_SM:
            raise UserError(f"{target.name} is older than what probes are written for", "they begin with sm_75")
        found += [t.name for t in ((target,) if exact else universe.variants(target.sm))]
    return list(dict.fromkeys(found))


def differing(probe: Probe, answers: Mapping[str, Any], catalog: Catalog) -> list[str]:
    """What a compiler says otherwise than the probe, a line each. Targets that it does not know say nothing."""
    from archscan.catalog.masks import decode

    universe, lines = catalog.universe, []
    for arm, text in (("feature", probe.targets), ("elsewhere", probe.elsewhere)):
        mask = decode(text, universe, probe.name)
        for target, told in answers.items():
            if told is None:
                continue
            outcome, why = told[arm]
            what = "its feature arm" if arm == "feature" else "what it is measured against"
            if outcome == BROKEN:
                lines.append(f"{probe.name}: {target}: {what} could not be compiled: {why}")
            elif (outcome == COMPILES) != bool(mask & universe.bit(universe.by_name[target])):
                says = "refuses" if outcome != COMPILES else "takes"
                lines.append(f"{probe.name}: {target} {says} {what}" + (f": {why}" if why else ""))
    return lines


# --- on a GPU


def _devices(given: Mapping[str, Any]) -> list[int]:
    """The GPUs to use: one, unless more are named and the user agrees."""
    devices = list(dict.fromkeys(given["device"] or (0,)))
    asked = len(devices) > 1 and not given["yes"]
    if asked and not click.confirm(f"this runs kernels on {len(devices)} GPUs; go on?", err=True):
        raise UserError("nothing was run", "--device N names one GPU; --yes agrees to several")
    return devices


def _on_gpu(device: int, probes: Sequence[Probe], given: Mapping[str, Any], catalog: Catalog) -> Found:
    from archscan.commands.scan import terminal_width

    supervisor = Supervisor(device, given["time_limit_each"], given["time_limit"])
    gpu = supervisor.describe()
    if isinstance(gpu, str):
        hint = "archscan probe --compile-only and --list need no GPU"
        raise UserError(f"nothing can be run: {gpu}", hint)
    click.echo(gpu_line(gpu))
    if given["for_"]:
        probes = wanted(probes, given["for_"], f"sm_{gpu.sm}", catalog)
    seed = given["seed"] if given["seed"] is not None else int.from_bytes(os.urandom(4), "little")
    pairs = []
    for number, probe in enumerate(probes, 1):
        _progress(number, len(probes), probe.name)
        folder = str(reading.directory() / probe.name)
        result = supervisor.run(probe, folder, variants_of(gpu, probe, catalog), given["runs"], seed)
        for line in result_lines(result, terminal_width()):
            click.echo(line)
        pairs.append((probe, result))
    return gpu, pairs


def variants_of(gpu: Gpu, probe: Probe, catalog: Catalog) -> list[str]:
    """The compile targets to try for a GPU, the most general first: a plain one that has the feature says most."""
    from archscan.catalog.masks import decode

    universe = catalog.universe
    variants = sorted(universe.variants(gpu.sm), key=lambda t: ("", "f", "a").index(t.suffix))
    if not variants:
        return [f"sm_{gpu.sm}"]
    mask = decode(probe.targets, universe, probe.name)
    return [t.name for t in variants if mask & universe.bit(t)] or [t.name for t in variants]


def _progress(number: int, total: int, name: str) -> None:
    """Says on standard error what is run, where somebody watches."""
    import sys

    if sys.stderr.isatty():
        click.echo(f"[{number}/{total}] {name}", err=True)
