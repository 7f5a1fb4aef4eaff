"""Which names of a file can come from another package: imported, passed on, or set from those."""

from __future__ import annotations

import pytest

from archscan.model.facts import Origin
from archscan.tracing.borrowed import Outside
from archscan.tracing.code import Code

FILES = {
    "made/__init__.py": b"def op(): pass\n",
    "user/__init__.py": b"",
    "user/direct.py": b"from made import op as fast\nimport made.comm\nimport numpy\nslow = numpy.dot\nkept = fast\n",
    "user/passing.py": b"from user.direct import fast, slow\n\ndef get():\n    return fast\n\n# not made here\n",
    "user/starred.py": b"from .direct import *  # of made\n",
    "user/apart.py": b"from user.direct import fast\n",
}


@pytest.fixture
def outside() -> Outside:
    code = Code(dict.fromkeys(FILES, Origin.OWN), lambda path: FILES[path], ())
    return Outside("made", code)


def test_files_that_name_the_package(outside: Outside) -> None:
    assert set(outside.paths) == {"user/direct.py", "user/passing.py", "user/starred.py"}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("user/direct.py", {"fast", "made", "kept"}),
        ("user/passing.py", {"fast", "get"}),
        ("user/starred.py", {"fast", "made", "kept"}),
    ],
)
def test_names(outside: Outside, path: str, names: set[str]) -> None:
    assert outside.names(path) == names


def test_whole_words_only() -> None:
    files = {"a.py": b"def run(): pass\nrun_all()\nrun (1)\n", "b.py": b"rerun(1)\n", "c.py": b"x = run(2)\n"}
    code = Code(dict.fromkeys(files, Origin.OWN), lambda path: files[path], ())
    assert code.naming("run") == ["a.py", "c.py"]
    assert code.calling("run") == ["c.py"]
    assert code.defining("run") == ["a.py"]
