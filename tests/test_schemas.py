"""Every JSON document that a command writes says its version, and is what its schema in archscan/schema says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import archscan
from archscan import cli

SCHEMAS = Path(archscan.__file__).parent / "schema"
FIXTURE = "tests/fixtures/upper-bound-gate"
TARGET = ("--target", "sm120", "--isolated", "--no-cache")
JSON = ("--format", "json")

COMMANDS = {
    "scan": ("archscan", ("scan", *TARGET, FIXTURE)),
    "trace": ("archscan", ("trace", *TARGET, "bad.cu", FIXTURE)),
    "statistics": ("statistics", ("scan", *TARGET, "--statistics", FIXTURE)),
    "explain a rule": ("explain", ("explain", "upper-bound-gate")),
    "explain a word": ("explain", ("explain", "pair")),
    "explain a message": ("explain", ("explain", "no kernel image is available", FIXTURE)),
    "explain a gate": ("explain", ("explain", *TARGET, f"{FIXTURE}/bad.cu:5", FIXTURE)),
    "explain a gate for no target": ("explain", ("explain", "--isolated", f"{FIXTURE}/bad.cu:5", FIXTURE)),
    "diff": ("diff", ("diff", *TARGET, FIXTURE, "tests/fixtures/equality-gate")),
    "images": ("images", ("images", "--kernels", "--target", "sm120", "tests/fixtures/hollow-kernel/bad_gated.fatbin")),
    "check": ("check", ("check", "--declared", "sm_90a,sm_120f", FIXTURE)),
    "builds": ("builds", ("builds", "--for", "sm120", "tests/fixtures/build-arch-list")),
    "env": ("env", ("env", "--no-cache", "--target", "sm120", "--site-packages", "{folder}")),
    "targets": ("targets", ("targets", "sm120", "sm90")),
    "rules": ("rules", ("rules",)),
    "config": ("settings", ("config", "--isolated", FIXTURE)),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_document_follows_its_schema(
    name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    schema, words = COMMANDS[name]
    words = tuple(word.format(folder=tmp_path) for word in words)
    assert cli.run([words[0], *JSON, *words[1:]]) in (0, 1)
    document = json.loads(capsysbinary.readouterr().out)
    assert document["schema_version"] == "1.1"
    read = json.loads((SCHEMAS / f"{schema}-1.1.schema.json").read_text("utf-8"))
    assert read["$id"] == f"{schema}-1.1.schema.json"
    jsonschema.Draft202012Validator(read).validate(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(read).validate({**document, "schema_version": "2.0"})


def test_every_schema_is_asked_for() -> None:
    asked = {f"{schema}-1.1.schema.json" for schema, _ in COMMANDS.values()}
    asked.add("probe-1.1.schema.json")  # by tests/test_probe_command.py, without a GPU
    assert {path.name for path in SCHEMAS.glob("*-1.1.schema.json")} == asked
