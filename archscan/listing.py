"""What `archscan targets`, `rules` and `config` print: what is known and what is in force."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from archscan.catalog.types import Architecture, Catalog, Rule
from archscan.commands.scan import nearest_entry
from archscan.config import Settings, merged
from archscan.errors import UserError
from archscan.reporting.plain import without_marks
from archscan.reporting.words import counted, one_line, size, visible, wrapped

_LIMITS = (
    ("smem_per_block_optin_bytes", "bytes of shared memory a block"),
    ("max_threads_per_sm", "threads an SM"),
    ("max_cluster_size_portable", "blocks a cluster"),
)


def _document(**parts: object) -> str:
    """A document that scripts read."""
    from archscan.reporting.json_format import dumped, headed

    return dumped(headed(**parts)).rstrip("\n")


def show_targets(names: Sequence[str], format: str) -> int:
    """Prints the universe, or what each of `names` means."""
    from archscan.catalog import load
    from archscan.catalog.targets import select

    catalog = load()
    sms = [select(name, catalog).sm for name in names] or sorted(catalog.architectures)
    chosen = [catalog.architectures[sm] for sm in dict.fromkeys(sms)]
    if format == "json":
        click.echo(_document(targets=[_architecture_object(a, catalog) for a in chosen]))
        return 0
    for architecture in chosen:
        click.echo(_architecture_line(architecture, catalog))
        if names:
            for key, limit in sorted(architecture.limits.items()):
                click.echo(f"    {key:<40} {'-' if limit.value is None else limit.value}  [{limit.source}]")
    return 0


def _architecture_line(architecture: Architecture, catalog: Catalog) -> str:
    variants = " ".join(t.name for t in catalog.universe.variants(architecture.sm))
    limits = [
        f"{architecture.limits[key].value:,} {words}"
        for key, words in _LIMITS
        if key in architecture.limits and architecture.limits[key].value is not None
    ]
    products = ", ".join(architecture.products[:4]) + (", ..." if len(architecture.products) > 4 else "")
    return f"{variants:<24} {architecture.name}" + "".join(
        f"\n    {text}" for text in (products, ", ".join(limits)) if text
    )


def _architecture_object(architecture: Architecture, catalog: Catalog) -> dict[str, object]:
    return {
        "sm": architecture.sm,
        "name": architecture.name,
        "variants": [t.name for t in catalog.universe.variants(architecture.sm)],
        "products": list(architecture.products),
        "family": list(architecture.family),
        "nvcc": architecture.nvcc,
        "limits": {k: {"value": v.value, "source": v.source} for k, v in sorted(architecture.limits.items())},
    }


def show_rules(directories: Sequence[str], format: str) -> int:
    """Prints the rules in the order in which they are asked."""
    from archscan.catalog import load

    rules = sorted(load([Path(d) for d in directories]).rules.values(), key=lambda rule: (rule.order, rule.id))
    if format == "json":
        click.echo(_document(rules=[rule_object(rule) for rule in rules]))
        return 0
    width = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        click.echo(f"{rule.id:<{width}}  {rule.problem:<13}  {rule.severity:<7}  {one_line(rule.title)}")
    return 0


def rule_object(rule: Rule) -> dict[str, object]:
    """A rule as plain values."""
    return {
        "id": rule.id,
        "title": rule.title,
        "problem": rule.problem,
        "severity": rule.severity,
        "precision": rule.precision,
        "order": rule.order,
        "tags": list(rule.tags),
        "what": rule.what,
        "why": rule.why,
        "example": rule.example,
        "known_problems": rule.known_problems,
        "fix_safety": rule.fix_safety,
        "references": list(rule.references),
    }


def rule_page(rule: Rule, width: int) -> str:
    """The page of a rule as text, the example as it is."""
    lines = [f"{rule.id}: {one_line(rule.title)}", f"{rule.problem}, {rule.severity}, precision {rule.precision}", ""]
    sections = (
        ("", rule.what),
        ("Why it matters", rule.why),
        ("Example", without_marks(rule.example)),
        ("Known problems", rule.known_problems),
        ("Fix", rule.fix_safety),
        ("References", "\n".join(f"- {reference}" for reference in rule.references)),
    )
    for title, text in sections:
        if text.strip():
            shown = text.strip().split("\n") if title == "Example" else wrapped(text.strip(), width - 2)
            lines += [*([title] if title else []), *(f"  {line}".rstrip() for line in shown), ""]
    return "\n".join(lines)


def show_cache(clear: bool) -> int:
    """Prints what the cache holds; clears it if asked to."""
    from archscan import cache

    held = cache.clear() if clear else cache.kept()
    word = "removed" if clear else "holds"
    click.echo(f"{visible(str(held.directory))}: {word} {counted(held.files, 'file')}, {size(held.bytes)}")
    if held.unused:
        click.echo(f"not used: {visible(held.unused)}")
    elif not clear:
        click.echo(f"at most {size(held.limit)}; the least recently used go first; archscan cache --clear empties it")
    return 0


def show_config(paths: Sequence[str], file: str | None, isolated: bool, format: str = "text") -> int:
    """Prints every setting, its value and its origin; then the rules that it switches off."""
    for path in paths:
        if path != "-" and not os.path.lexists(path):
            raise UserError(f"no such file or directory: {path}", nearest_entry(path))
    settings = merged({}, paths or (".",), file, isolated)
    if format == "json":
        click.echo(_document(**_config_object(settings)))
        return 0
    click.echo(f"config file: {settings.file or 'none found'}")
    for note in settings.notes:
        click.echo(f"note: {note}")
    width = max(len(entry.setting.key) for entry in settings.entries)
    for entry in settings.entries:
        value = json.dumps(list(entry.value) if isinstance(entry.value, tuple) else entry.value, ensure_ascii=False)
        click.echo(f"{entry.setting.key:<{width}} = {value:<12}  # {entry.origin}; {entry.setting.says}")
    for line in _switched_off(settings):
        click.echo(line)
    return 0


def _config_object(settings: Settings) -> dict[str, object]:
    """The settings as plain values."""
    return {
        "file": settings.file,
        "notes": list(settings.notes),
        "settings": [
            {
                "key": entry.setting.key,
                "value": list(entry.value) if isinstance(entry.value, tuple) else entry.value,
                "origin": entry.origin,
            }
            for entry in settings.entries
        ],
        "switched_off": _switched_off(settings),
    }


def _switched_off(settings: Settings) -> list[str]:
    """Why rules are off, a rule a line."""
    from archscan.commands.scan import loaded_catalog, rules_named

    lines = []
    catalog = loaded_catalog(settings)
    chosen, ignored = rules_named(settings["rule"], catalog), rules_named(settings["ignore"], catalog)
    for rule in sorted(catalog.rules.values(), key=lambda rule: rule.id):
        if rule.id in ignored:
            lines.append(f"rule {rule.id} is off: in ignore ({settings.origin('ignore')})")
        elif chosen and rule.id not in chosen:
            lines.append(f"rule {rule.id} is off: not in rule ({settings.origin('rule')})")
        elif settings["problem"] and rule.problem not in settings["problem"]:
            lines.append(f"rule {rule.id} is off: {rule.problem} not in problem ({settings.origin('problem')})")
    return lines
