"""Writes the generated parts of README.md and docs/: outputs of real commands, help pages, rule pages.

Usage: python scripts/docs.py [--check]        --check writes nothing and exits with 1 if something would change

A block is generated if it stands below a comment such as `<!-- output: archscan --help -->`; a pipe into `head -n N` or
`tail -n N` cuts it. Commands run in the repository, in a terminal of 100 columns without colour.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from archscan import cli  # noqa: E402
from archscan.catalog import load  # noqa: E402
from archscan.catalog.types import Rule  # noqa: E402
from archscan.config import SETTINGS  # noqa: E402
from archscan.reporting.sarif import rule_markdown  # noqa: E402

_BLOCK = re.compile(r"<!-- output: (?P<command>[^\n]+?) -->\n```(?P<language>\w*)\n.*?```", re.DOTALL)
_SETTINGS = re.compile(r"<!-- settings -->.*?<!-- /settings -->", re.DOTALL)
_COMMANDS = ("scan", "trace", "explain", "diff", "fix", "revert", "matrix", "targets", "rules", "config", "cache")


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated file with the text it should have."""
    yield ROOT / "docs" / "cli.md", _help_pages()
    rules = sorted(load().rules.values(), key=lambda rule: rule.id)
    yield ROOT / "docs" / "rules" / "index.md", _rule_index(rules)
    for rule in rules:
        yield ROOT / "docs" / "rules" / f"{rule.id}.md", _rule_page(rule)
    path = ROOT / "docs" / "configuration.md"
    yield path, _SETTINGS.sub(lambda match: _settings_table(), path.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        if _BLOCK.search(text) and path.name != "cli.md":
            yield path, _BLOCK.sub(_with_output, text)


def _settings_table() -> str:
    rows = ["| key | kind | default | meaning |", "| --- | --- | --- | --- |"]
    for setting in SETTINGS:
        default = json.dumps(list(setting.default) if isinstance(setting.default, tuple) else setting.default)
        rows.append(f"| `{setting.key}` | {setting.kind} | `{default}` | {setting.says} |")
    return "<!-- settings -->\n" + "\n".join(rows) + "\n<!-- /settings -->"


def _with_output(match: re.Match[str]) -> str:
    output = _output(match["command"])
    return f"<!-- output: {match['command']} -->\n```{match['language']}\n{output}```"


def _output(command: str) -> str:
    """What a command prints, cut as its pipe says."""
    call, _, pipe = command.partition(" | ")
    text = _run(shlex.split(call)[1:])
    if not pipe:
        return text
    tool, _, number = shlex.split(pipe)
    lines = text.splitlines(keepends=True)
    return "".join(lines[: int(number)] if tool == "head" else lines[-int(number) :])


def _run(arguments: list[str]) -> str:
    """Standard output of archscan, in this process: no installed command is needed."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = io.StringIO()
    with redirect_stdout(stream), redirect_stderr(errors):
        code = cli.run(arguments)
    if code == 2:
        raise SystemExit(f"archscan {shlex.join(arguments)}: {errors.getvalue()}")
    stream.seek(0)
    return stream.read()


def _help_pages() -> str:
    pages = ["# Command line", "", "Generated from `--help`.", "", "```text", _run(["--help"]).rstrip(), "```", ""]
    for command in _COMMANDS:
        pages += [f"## archscan {command}", "", "```text", _run([command, "--help"]).rstrip(), "```", ""]
    return "\n".join(pages)


def _rule_index(rules: list[Rule]) -> str:
    lines = ["# Rules", "", "| rule | problem | what |", "| --- | --- | --- |"]
    lines += [f"| [{rule.id}]({rule.id}.md) | {rule.problem} | {rule.title} |" for rule in rules]
    return "\n".join([*lines, ""])


def _rule_page(rule: Rule) -> str:
    facts = f"{rule.problem}, {rule.severity}, precision {rule.precision}"
    return f"# {rule.id}\n\n**{rule.title}** ({facts})\n\n{rule_markdown(rule)}\n"


def main(arguments: list[str]) -> int:
    """Writes what changed, or says what would."""
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    os.environ.pop("FORCE_COLOR", None)
    os.chdir(ROOT)
    check = "--check" in arguments
    stale = []
    wanted = dict(generated())
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(ROOT))
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in sorted((ROOT / "docs" / "rules").glob("*.md")):
        if path not in wanted:
            stale.append(path.relative_to(ROOT))
            if not check:
                path.unlink()
    for name in stale:
        print(f"{'out of date' if check else 'written'}: {name}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
