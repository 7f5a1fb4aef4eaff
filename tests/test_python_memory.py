"""What a pass over a module leaves behind: no trees, and the same answers once everything was dropped."""

from __future__ import annotations

import pytest
from host_scan import catalog

import archscan.frontends.python as front_end
from archscan.frontends.protocol import Context
from archscan.frontends.python.gates.effects import block_effect
from archscan.model.facts import FileFacts, Source
from archscan.model.settings import ScanSettings

CHIP = "import torch\n\n\ndef newest():\n    return torch.cuda.get_device_capability() >= (10, 0)\n"
ASKING = "from chip import newest\n\n\ndef f{0}():\n    if newest():\n        return fast()\n    raise ValueError\n"
FILES = {"chip.py": CHIP, **{f"a{i}.py": ASKING.format(i) for i in range(4)}}


def found() -> list[FileFacts]:
    context, end = Context(catalog(), ScanSettings()), front_end.PythonFrontEnd()
    indexes = {path: end.index(Source(path, text.encode()), context) for path, text in FILES.items()}
    project = end.link(indexes, context)
    return [end.gates(index, project, context) for index in indexes.values()]


def test_nothing_hangs_on_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = found()
    monkeypatch.setattr(front_end, "_MOST_READ", 0)
    assert found() == kept
    assert sum(len(facts.gates) for facts in kept) >= 4


def test_no_block_is_kept_with_the_tree_of_its_module() -> None:
    found()
    assert block_effect.cache_info().currsize == 0
