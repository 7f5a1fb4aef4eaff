"""`archscan builds` against what builds really ask nvcc for.

`tests/data/build_truths.jsonl` has one target or extension a line. `how` says where `images` come from: *cmake*, the
compile commands of a configured project, with a compiler that says no more than its version; *setup.py*, the options
that the script hands to torch 2.14's own code for flags, with a torch that finds no GPU; *its function*, called alone.
What a build asks the machine (`unknown`) is not known to archscan either. Rows with `files` are written anew, in small.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from archscan.cli import archscan

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "build_truths.jsonl").read_text("utf-8").splitlines()
]
BASE = os.environ.get("ARCHSCAN_BUILD_REPOS", "")


def _folder(row: dict[str, Any], folder: Path) -> Path:
    """The project of a row: its folder among the sdists, or its files written into `folder`."""
    real = Path(BASE) / f"{row['project']}-{row['version']}"
    if ("copied" in row or "files" not in row) and not (BASE and real.is_dir()):
        pytest.skip("set ARCHSCAN_BUILD_REPOS to a folder of unpacked sdists, NAME-VERSION each")
    if "files" not in row:
        return real / str(row.get("path", ""))
    for name, text in row["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name, source in row.get("copied", {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(real / source, folder / name)
    return folder


@pytest.mark.parametrize("row", ROWS, ids=lambda one: "-".join([one["project"], one["cuda"], *one["given"][1::2]]))
def test_images(row: dict[str, Any], tmp_path: Path) -> None:
    options = ["--isolated", "--no-cache", "-j", "1", "--include-vendored", "--cuda", row["cuda"], *row["given"]]
    run = CliRunner().invoke(archscan, ["builds", "-f", "json", *options, str(_folder(row, tmp_path))])
    assert run.exit_code == 0, run.output
    builds = [one for one in json.loads(run.stdout)["builds"] if one["name"] == row["name"]]
    assert builds
    for build in builds:
        images = {("ptx:" if i["kind"] == "ptx" else "") + i["arch"] for i in build["images"]}
        assert images == set(row.get("images", ()))
        assert bool(build["unknowns"]) is ("unknown" in row)
        assert not build["stops"]


def test_every_row_is_one_or_the_other() -> None:
    assert all(("images" in row) is not ("unknown" in row) for row in ROWS)
    assert len({row["project"] for row in ROWS}) >= 10
