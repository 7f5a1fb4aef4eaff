"""Reads and checks rules/ once per run and hands out the compiled catalog."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from archscan.bounded import small_file
from archscan.catalog import messages
from archscan.catalog.advice import compile_advice
from archscan.catalog.architectures import compile_architectures
from archscan.catalog.evidence import compile_evidence, overlaid
from archscan.catalog.features import check_patterns, compile_features
from archscan.catalog.known import compile_known
from archscan.catalog.macros import compile_macros
from archscan.catalog.messages import compile_messages
from archscan.catalog.packages import compile_packages, merged
from archscan.catalog.ptx_versions import compile_ptx_versions
from archscan.catalog.reading import nearest, parse, rules_directory
from archscan.catalog.rules import compile_rule
from archscan.catalog.stored import keep, stored
from archscan.catalog.toolkits import compile_toolkits
from archscan.catalog.types import Catalog, Rule
from archscan.documents import MAX_YAML
from archscan.errors import UserError

__all__ = ["load", "with_evidence"]

# What a directory of the user can add; architectures and macros are measured and ours alone
ADVICE = "advice.yaml"  # beside the rules, and none of them
EXTRA_FACTS = ("features", "evidence", "messages", "packages")


class _Files:
    """The YAML files below some directories, each read once; the digest stands for all of them."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self._data: dict[Path, bytes] = {}
        for directory in directories:
            for path in (*sorted(directory.glob("*.yaml")), *sorted((directory / "facts").glob("*.yaml"))):
                self._data[path] = _bytes(path)

    @property
    def digest(self) -> str:
        """The digest of all contents and their names."""
        parts = (path.name.encode() + b"\0" + data for path, data in self._data.items())
        return hashlib.sha256(b"\0".join(parts)).hexdigest()

    def read(self, path: Path) -> Any:
        """The content of a file; UserError where it cannot be read or is not YAML."""
        ours = rules_directory() in path.parents
        return parse(self._data[path] if path in self._data else _bytes(path), str(path), ours)


def _bytes(path: Path) -> bytes:
    try:
        return small_file(path, MAX_YAML)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read: {error.strerror}", "it must be a YAML file of at most 4 MB"
        ) from error


def load(extra_dirs: Sequence[Path] = (), kept_in: Path | None = None) -> Catalog:
    """The catalog of the built-in rules and those in `extra_dirs`; UserError for what is wrong in them.

    `kept_in` is a directory of the user in which the compiled form is kept from run to run.
    """
    root = rules_directory()
    for directory in extra_dirs:
        if not directory.is_dir():
            raise UserError(f"{directory}: no such directory of rules", "name one that holds *.yaml or facts/*.yaml")
        _check_names(directory)
    files = _Files([root, *extra_dirs])
    digest = files.digest
    if kept_in is not None and (kept := stored(kept_in, digest)) is not None:
        return kept
    catalog = _built_in(root, files)
    for directory in extra_dirs:
        catalog = _extended(catalog, directory, files)
    catalog = replace(catalog, digest=digest)
    if kept_in is not None:
        keep(kept_in, catalog)
    return catalog


def _check_names(directory: Path) -> None:
    """Nothing if a directory of the user holds rules, and only facts that are read."""
    facts = sorted((directory / "facts").glob("*.yaml"))
    for path in facts:
        if path.stem not in EXTRA_FACTS:
            raise UserError(f"{path}: no facts are read from a file of this name", nearest(path.stem, EXTRA_FACTS))
    if not facts and not any(directory.glob("*.yaml")):
        raise UserError(f"{directory} holds no rules", "rules are files DIR/*.yaml, facts are DIR/facts/*.yaml")


def _built_in(root: Path, files: _Files) -> Catalog:
    """The catalog of the rules that come with archscan."""
    facts = root / "facts"
    architectures = compile_architectures(files.read(facts / "architectures.yaml"), "architectures.yaml")
    universe = architectures.universe
    features = compile_features(files.read(facts / "features.yaml"), universe, "features.yaml")
    return Catalog(
        universe=universe,
        architectures=architectures.by_sm,
        product_names=architectures.product_names,
        macros=compile_macros(files.read(facts / "macros.yaml"), universe, "macros.yaml"),
        features=features,
        evidence=compile_evidence(files.read(facts / "evidence.yaml"), features, architectures.by_sm, "evidence.yaml"),
        rules=_rules(root, files),
        advice=compile_advice(files.read(root / ADVICE), ADVICE),
        packages=compile_packages(files.read(facts / "packages.yaml"), "packages.yaml"),
        messages=compile_messages(files.read(facts / "messages.yaml"), "messages.yaml"),
        known=compile_known(files.read(facts / "toolkit_names.yaml"), "toolkit_names.yaml"),
        images=architectures.images,
        ptx_versions=compile_ptx_versions(files.read(facts / "ptx_versions.yaml"), "ptx_versions.yaml"),
        tegra=architectures.tegra,
        toolkits=compile_toolkits(files.read(facts / "toolkits.yaml"), "toolkits.yaml"),
    )


def with_evidence(catalog: Catalog, paths: Sequence[Path]) -> Catalog:
    """The catalog with the measurements of these files of the user."""
    from archscan.catalog.measurements import compile_measurements

    files = _Files(())
    rows = [row for path in dict.fromkeys(paths) for row in compile_measurements(files.read(path), catalog, str(path))]
    return replace(catalog, evidence=(*catalog.evidence, *rows))


def _rules(directory: Path, files: _Files) -> dict[str, Rule]:
    paths = sorted(path for path in directory.glob("*.yaml") if path.name != ADVICE)
    return {path.stem: compile_rule(files.read(path), path.stem, path.name) for path in paths}


def _extended(catalog: Catalog, directory: Path, files: _Files) -> Catalog:
    """The catalog with the rules and facts of a directory of the user."""
    catalog = replace(catalog, rules={**catalog.rules, **_rules(directory, files)})
    for name in EXTRA_FACTS:
        path = directory / "facts" / f"{name}.yaml"
        if path.exists():
            catalog = _with_facts(catalog, name, files.read(path), str(path))
    return catalog


def _with_facts(catalog: Catalog, name: str, raw: Any, where: str) -> Catalog:
    if name == "features":
        features = compile_features(raw, catalog.universe, where)
        check_patterns(features, where)
        return replace(catalog, features={**catalog.features, **features})
    if name == "evidence":
        rows = compile_evidence(raw, catalog.features, catalog.architectures, where, by_user=True)
        return replace(catalog, evidence=overlaid(catalog.evidence, rows))
    if name == "messages":
        families = compile_messages(raw, where)
        messages.check_patterns(families, where)
        return replace(catalog, messages=(*families, *catalog.messages))
    return replace(catalog, packages=merged([catalog.packages, compile_packages(raw, where)]))
