"""Functions of modules that were not scanned ask for nothing, whatever the way to them is called."""

from __future__ import annotations

import pytest
from host_scan import catalog

from archscan.frontends.protocol import Context
from archscan.frontends.python import PythonFrontEnd
from archscan.frontends.python.source.outside import leading, spoken
from archscan.frontends.python.source.triggers import triggers, words
from archscan.model.facts import Source
from archscan.model.settings import ScanSettings

HEAD = "import cutlass.cute as cute\n"


def found(text: str) -> list[tuple[str, str, str]]:
    data = text.encode()
    return [(module, space, function) for _, module, space, function in leading(data, triggers(data, words(data)))]


def test_a_way_through_a_module_leads_to_its_function() -> None:
    assert found(HEAD + "def f():\n    cute.arch.fence()\n") == [("cutlass.cute", "cutlass.cute.arch", "fence")]


def test_a_module_that_is_called_like_a_chip_leads_there_too() -> None:
    text = "import helpers.blackwell as sm100_utils\nx = sm100_utils.layout(1)\n"
    assert found(text) == [("helpers.blackwell", "helpers.blackwell", "layout")]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "x = cute.arch\n",  # a value
        HEAD + "x = cute.arch.major\n",  # of which a part is asked
        HEAD + "def f(cute):\n    cute.arch.fence()\n",  # not the module
        HEAD + "cute = other\ncute.arch.fence()\n",
        HEAD + "for cute in all_of_them:\n    cute.arch.fence()\n",
        HEAD + "cute.arch = mine\ncute.arch.fence()\n",
        HEAD + "def cute(): ...\ncute.arch.fence()\n",
        HEAD + "patch(\n    cute\n)\ncute.arch.fence()\n",  # given to somebody
        HEAD + "from mine import cute\ncute.arch.fence()\n",
        HEAD + "import other as cute\ncute.arch.fence()\n",
        HEAD + "self.cute.arch.fence()\n",
        "cute.arch.fence()\n",  # nobody says what it is
    ],
)
def test_another_form_may_ask(text: str) -> None:
    assert found(text) == []


def told(text: str) -> list[str]:
    """The words of a line's texts that the call at its first such word is given, and of what they are given as."""
    data = text.encode()
    first, *rest = triggers(data, words(data))
    assert len(rest) > 0
    return [text[at:].split("'", maxsplit=1)[0] for at in spoken(data, first, (first, *rest))]


def test_a_text_that_a_statement_gives_to_such_a_function_asks_for_nothing() -> None:
    assert told("cute.arch.free(1, arch='sm_100')\nx = arch\n") == ["arch=", "sm_100"]


@pytest.mark.parametrize(
    "text",
    [
        "x = cute.arch.columns('sm_100')\n",  # of which something may be made
        "cute.arch.free(arch, 1)\n",  # a value
        "cute.arch.free(arch=arch)\n",
        "cute.arch.free(device(arch='sm_100'))\n",  # given to another function
        "cute.arch.free(\n    arch='sm_100')\n",
        "if x: cute.arch.free(arch='sm_100')\n",
        "cute.arch.free(arch='sm_100') if arch else None\n",
    ],
)
def test_another_text_may(text: str) -> None:
    assert told(text) == []


def gates_of(files: dict[str, str], path: str) -> int:
    context, end = Context(catalog(), ScanSettings()), PythonFrontEnd()
    indexes = {name: end.index(Source(name, text.encode()), context) for name, text in files.items()}
    return len(end.gates(indexes[path], end.link(indexes, context), context).gates)


def test_a_module_that_was_scanned_is_asked() -> None:
    asking = "import gpu\n\n\ndef f():\n    if gpu.arch.can_fuse():\n        return fused()\n    return None\n"
    chip = "import torch\n\n\ndef can_fuse():\n    return torch.cuda.get_device_capability() >= (9, 0)\n"
    scanned = {"a.py": asking, "gpu/__init__.py": "from . import arch\n", "gpu/arch.py": chip}
    assert (gates_of(scanned, "a.py"), gates_of({"a.py": asking}, "a.py")) == (1, 0)
