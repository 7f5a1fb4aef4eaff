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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from archscan import cli  # noqa: E402
from archscan.catalog import load  # noqa: E402
from archscan.catalog.rules import ATTRIBUTES  # noqa: E402
from archscan.catalog.types import AdviceRow, Rule  # noqa: E402
from archscan.config import SETTINGS, Setting  # noqa: E402
from archscan.reporting.sarif import rule_markdown  # noqa: E402
from scripts.hops import page  # noqa: E402

_BLOCK = re.compile(r"<!-- output: (?P<command>[^\n]+?) -->\n```(?P<language>\w*)\n.*?```", re.DOTALL)
_ATTRIBUTES = re.compile(r"<!-- attributes -->.*?<!-- /attributes -->", re.DOTALL)
_HOPS = re.compile(r"<!-- hops -->.*?<!-- /hops -->", re.DOTALL)
_SETTINGS = re.compile(r"<!-- settings -->.*?<!-- /settings -->", re.DOTALL)
_TRUTHS = re.compile(r"<!-- truths -->.*?<!-- /truths -->", re.DOTALL)
_COMMANDS = (
    "scan",
    "trace",
    "explain",
    "diff",
    "fix",
    "revert",
    "matrix",
    "images",
    "builds",
    "env",
    "probe",
    "check",
    "lsp",
    "targets",
    "rules",
    "config",
    "cache",
)


def generated() -> Iterator[tuple[Path, str]]:
    """Every generated file with the text it should have."""
    yield ROOT / "docs" / "cli.md", _help_pages()
    rules = sorted(load().rules.values(), key=lambda rule: rule.id)
    yield ROOT / "docs" / "rules" / "index.md", _rule_index(rules)
    for rule in rules:
        yield ROOT / "docs" / "rules" / f"{rule.id}.md", _rule_page(rule)
    yield ROOT / "docs" / "advice.md", _advice_page(load().advice)
    yield ROOT / "archscan" / "schema" / "config.schema.json", _config_schema()
    path = ROOT / "docs" / "adding-a-rule.md"
    yield path, _ATTRIBUTES.sub(lambda match: _attributes_table(), path.read_text(encoding="utf-8"))
    path = ROOT / "docs" / "how-it-works.md"
    yield path, _HOPS.sub(lambda match: f"<!-- hops -->\n{page()}\n<!-- /hops -->", path.read_text(encoding="utf-8"))
    path = ROOT / "docs" / "configuration.md"
    yield path, _SETTINGS.sub(lambda match: _settings_table(), path.read_text(encoding="utf-8"))
    path = ROOT / "docs" / "builds.md"
    compared = _TRUTHS.sub(lambda match: _truths_table(), path.read_text(encoding="utf-8"))
    yield path, _BLOCK.sub(_with_output, compared)
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        if _BLOCK.search(text) and path.name not in ("cli.md", "builds.md"):
            yield path, _BLOCK.sub(_with_output, text)


def _attributes_table() -> str:
    rows = ["| attribute | of the case | values |", "| --- | --- | --- |"]
    for name, attribute in ATTRIBUTES.items():
        values = ", ".join(f"`{value}`" for value in attribute.values if value)
        rows.append(f"| `{name}` | {attribute.says} | {values} |")
    return "<!-- attributes -->\n" + "\n".join(rows) + "\n<!-- /attributes -->"


def _settings_table() -> str:
    rows = ["| key | kind | default | meaning |", "| --- | --- | --- | --- |"]
    for setting in SETTINGS:
        default = json.dumps(list(setting.default) if isinstance(setting.default, tuple) else setting.default)
        rows.append(f"| `{setting.key}` | {setting.kind} | `{default}` | {setting.says} |")
    return "<!-- settings -->\n" + "\n".join(rows) + "\n<!-- /settings -->"


def _truths_table() -> str:
    """What builds really ask nvcc for, from the rows that a test compares `archscan builds` with."""
    lines = (ROOT / "tests" / "data" / "build_truths.jsonl").read_text(encoding="utf-8").splitlines()
    rows = ["| project | CUDA | set | target | asks nvcc for | archscan |", "| --- | --- | --- | --- | --- | --- |"]
    for row in map(json.loads, lines):
        given = " ".join(f"`{word}`" for word in row["given"][1::2]) or "–"
        asked = ", ".join(_image(name) for name in row.get("images", row.get("theirs", ()))) or row["unknown"]
        says = f"not known: {row['unknown']}" if "unknown" in row else "the same"
        rows.append(
            f"| {row['project']} {row['version']} | {row['cuda']} | {given} | {row['name']} | {asked} | {says} |"
        )
    return "<!-- truths -->\n" + "\n".join(rows) + "\n<!-- /truths -->"


def _image(name: str) -> str:
    return f"PTX of {name[7:]}" if name.startswith("ptx:") else name[3:]


_TYPES: dict[str, dict[str, object]] = {
    "text": {"type": "string"},
    "path": {"type": "string"},
    "number": {"type": "integer", "minimum": 0},
    "flag": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
    "paths": {"type": "array", "items": {"type": "string"}},
    "table": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
}


def _config_schema() -> str:
    """The JSON schema of `archscan.toml` and of `[tool.archscan]`, as SchemaStore takes it."""
    properties = {setting.key: _property(setting) for setting in sorted(SETTINGS, key=lambda setting: setting.key)}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "archscan",
        "description": "Settings of archscan: archscan.toml, or [tool.archscan] in pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    return json.dumps(schema, indent=2) + "\n"


def _property(setting: Setting) -> dict[str, object]:
    kind = json.loads(json.dumps(_TYPES[setting.kind]))
    if setting.choices:
        kind.get("items", kind)["enum"] = list(setting.choices)
    if setting.default not in (None, ()):
        kind["default"] = setting.default
    return {"description": setting.says, **kind}


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


_ADVICE = """\
# Advice

What to do about a finding is decided by three questions, answered apart: can the target run what is behind the gate
(`capability`), what is the gate for (`intent`), and how does the target stand to those let in (`relation`). The first
row that fits decides; `rules/advice.yaml` is the table itself.

**Capability** rests on an inventory of the guarded code: every instruction in asm text, every intrinsic, every
function and macro it calls, as deep as there is code. Each entry is answered by measured facts. `cannot`: some entry
assembles on no variant of the target. `can`: nothing is missing, and one and the same variant has every entry.
`unknown`: anything else, with the names that are missing. Comments, file and function names are no entries.

**Intent** is read from what the two sides of the gate do: a refusal or nothing is a `requirement`, another
implementation a `path`, other numbers `tuning`, a list of what to build `images`, a value of the chip a `limit`, a gate
that means the target and is false by its spelling a `mistake`, a fence or padding for one chip a `workaround`.

**Severity** is how bad it is today; **risk** is of opening the gate. `leave` and `investigate` never count for
`--fail-on` and never get a fix; what is not listed one by one is counted, and `--advice` shows it.

The last column says how often a row was right over findings in packages that nobody had looked at before.

"""


def _advice_page(rows: Sequence[AdviceRow]) -> str:
    lines = ["| row | capability | intent | relation | besides | advice | right |", "|" + " --- |" * 7]
    for row in rows:
        asked = row.when
        cells = [_alternatives(asked.get(key), "any") for key in ("capability", "intent", "relation")]
        besides = [*sorted(asked.get("problem", ())), *sorted(asked.get("with", ()))]
        besides += [f"not {name}" for name in sorted(asked.get("without", ()))]
        rate = f"{row.rate.right:g} of {row.rate.of}" if row.rate else "-"
        cells += [", ".join(besides) or "-", f"`{row.advice.value}`", rate]
        lines.append(f"| [{row.id}](#{row.id}) | {' | '.join(cells)} |")
    pages = [f"## {row.id}\n\n`{row.advice.value}`: {row.why}\n\n{row.page.strip()}\n" for row in rows]
    return _ADVICE + "\n".join([*lines, "", *pages])


def _alternatives(values: Iterable[str] | None, every: str) -> str:
    return ", ".join(sorted(values)) if values else every


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
