"""No definite answer about random projects is contradicted by a real preprocessor (`ARCHSCAN_PROJECTS` of them)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from preprocessor_projects import Verdicts, compare, live_marks, marked, project

PREPROCESSOR = shutil.which("cpp") or ""
PROJECTS = int(os.environ.get("ARCHSCAN_PROJECTS", "25"))

pytestmark = pytest.mark.skipif(not PREPROCESSOR, reason="there is no cpp to compare with")


def test_no_definite_answer_is_contradicted(tmp_path: Path) -> None:
    verdicts = Verdicts()
    for seed in range(PROJECTS):
        compare(seed, tmp_path, PREPROCESSOR, 3, verdicts)
    assert verdicts.wrong == []
    answers = verdicts.right + verdicts.unknown
    assert answers > 50 * PROJECTS
    assert verdicts.right > 0.5 * answers  # to know nothing is no way out


def test_the_marks_tell_what_is_live(tmp_path: Path) -> None:
    text = "#if A\nint a;\n#elif B\nint b;\n#else\nint c;\n#endif\n"
    (tmp_path / "a.cu").write_text(marked("a.cu", text))
    for given, live in ((["-DA=1"], 1), (["-DB=1"], 3), ([], 5)):
        assert live_marks(tmp_path, given, PREPROCESSOR) == {("a.cu", 0), ("a.cu", live)}


def test_projects_are_the_same_for_the_same_seed_and_have_what_is_to_be_tested() -> None:
    assert project(3) == project(3)
    texts = ["".join(project(seed).files.values()) for seed in range(60)]
    for part in ("#undef", "#elif", "#ifndef FAST", "AT_LEAST", "#pragma once", "h0.cuh", "defined(USE_"):
        assert any(part in text for text in texts), part
