"""Which Python code is looked at: whatever names a capability, however it is spelled; and nothing hangs on that."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_scan import catalog

import archscan.frontends.python as front_end
from archscan.frontends.protocol import Context
from archscan.frontends.python.source import triggers as words_of
from archscan.model.facts import Source
from archscan.model.settings import ScanSettings

FIXTURES = Path(__file__).parent / "fixtures"
SPELLINGS = [
    "if p.major >= 9:",
    "if 9 == p.major:",
    "if 8 < p.major:",
    "if p.major == (9):",
    "if p.major - 9 == 0:",
    "if not p.major < 9:",
    "if wide(p.major):",
]


def _gates(sources: list[Source]) -> dict[str, set[tuple[object, ...]]]:
    context = Context(catalog(), ScanSettings())
    end = front_end.PythonFrontEnd()
    indexes = {s.path: end.index(s, context) for s in sources}
    project = end.link(indexes, context)
    found = {path: end.gates(index, project, context).gates for path, index in indexes.items()}
    decided = {
        path: {
            (g.place.line, g.kind.value, g.arms[0].condition)
            for g in gates
            if any(arm.assumed.yes and arm.assumed.no for arm in g.arms)
        }
        for path, gates in found.items()
    }
    return {path: gates for path, gates in decided.items() if gates}


def _unfiltered(monkeypatch: pytest.MonkeyPatch, sources: list[Source]) -> dict[str, set[tuple[object, ...]]]:
    """The gates where every word of a file is one that may carry a capability."""
    with monkeypatch.context() as patch:
        patch.setattr(front_end, "words", lambda data: frozenset(words_of._WORD.findall(data)))
        return _gates(sources)


@pytest.mark.parametrize("condition", SPELLINGS)
def test_the_only_gate_of_a_file_is_found_however_it_is_spelled(condition: str) -> None:
    code = (
        "import torch\n\n\ndef wide(v):\n    return v >= 9\n\n\ndef f():\n"
        f"    p = torch.cuda.get_device_properties(0)\n    {condition}\n        return fast()\n    return slow()\n"
    )
    assert [line for line, *_ in _gates([Source("a.py", code.encode())])["a.py"]] == [10]


@pytest.mark.parametrize(
    "line",
    [
        "FLAGS = base + sm90_flags",
        "launch(x, major=major)",
        'logger.info("%s", fast() if major >= 9 else slow())',
        'print("fast" if major >= 9 else "slow")',
    ],
)
def test_a_line_that_names_a_capability_is_looked_at(line: str) -> None:
    data = line.encode()
    assert words_of.triggers(data, words_of.words(data))


@pytest.mark.parametrize(
    "text",
    ["# major >= 9", "from x import sm90", "import sm90", 'def f():\n    """Asks the major."""', "smile = smooth"],
)
def test_a_line_that_only_speaks_of_one_is_not(text: str) -> None:
    data = text.encode()
    assert words_of.triggers(data, words_of.words(data)) == ()


def test_the_short_question_is_never_stricter_than_the_long_one() -> None:
    data = b"".join(p.read_bytes() for p in sorted(FIXTURES.rglob("*.py")))
    asking = {word for word in words_of._WORD.findall(data) if words_of.is_trigger(word)}
    assert len(asking) > 40
    assert words_of.words(data) == asking


def test_nothing_hangs_on_what_is_looked_at_in_the_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted(FIXTURES.rglob("*.py"))
    for folder in sorted({p.parent for p in paths}):
        sources = [Source(p.name, p.read_bytes()) for p in paths if p.parent == folder]
        assert _gates(sources) == _unfiltered(monkeypatch, sources), folder
