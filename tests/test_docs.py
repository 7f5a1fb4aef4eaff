"""What is written about archscan is what it does: generated text has no drift, links lead somewhere, hooks exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from archscan import cli
from archscan.config import SETTINGS

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="not in a checkout")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])


def test_generated_text_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_help_in_the_readme_is_what_help_prints(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert cli.run(["--help"]) == 0
    assert capsys.readouterr().out in (ROOT / "README.md").read_text()


def test_every_command_has_its_help_page() -> None:
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert set(script._COMMANDS) == set(cli.archscan.commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in link:
            assert (page.parent / link).exists(), link


def test_every_setting_is_documented_and_an_option() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    options = {param.name for command in cli.archscan.commands.values() for param in command.params}
    for setting in SETTINGS:
        assert f"`{setting.key}`" in page
        assert setting.key.replace("-", "_") in options, setting.key


def test_hooks_call_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["archscan", "archscan-all", "archscan-fix"]
    for hook in hooks:
        _, command, *options = hook["entry"].split()
        known = {option for param in cli.archscan.commands[command].params for option in param.opts}
        assert set(options) <= known
        assert hook["require_serial"] is True
        assert "--unsafe" not in options
    assert hooks[-1]["stages"] == ["manual"]  # all is held back for now, which exits with 1


def test_the_action_takes_every_input_through_the_environment() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    scan = next(step["run"] for step in action["runs"]["steps"] if step.get("id") == "scan")
    assert scan.index("ARCHSCAN_ARGS") < scan.index("--no-fixes") < scan.index('"$archscan" scan')  # it proposes none
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]


def test_the_everyday_table_names_options_that_there_are() -> None:
    lines = (ROOT / "docs" / "everyday.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[2] for line in lines if "|" in line]
    named = {option for row in rows for option in re.findall(r"--[a-z][a-z-]*[a-z]", row)}
    known = {
        option
        for command in cli.archscan.commands.values()
        for p in command.params
        for option in (*p.opts, *p.secondary_opts)
    }
    assert len(named) > 20 and named <= known, named - known
