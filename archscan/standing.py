"""Which facts of an earlier scan still stand: those whose file, and all that was read for it, is as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from archscan.cache import Part
from archscan.frontends.protocol import FrontEnd
from archscan.model.facts import FileFacts
from archscan.model.reads import Basis, Question, Reads
from archscan.model.words import words


class Standing:
    """What one front end said of a tree, against the tree as it is now."""

    def __init__(self, end: FrontEnd, project: Any, files: Mapping[str, bytes], before: Part | None) -> None:
        """`files` has what stands for each file that the front end reads now; `before` is what it said last."""
        self._end = end
        self._project = project
        self._files = files
        self._answers: dict[Question, bytes] = {}
        pairs = zip(before.files, before.bases, strict=False) if before is not None else ()
        self._before = {facts.path: (facts, basis) for facts, basis in pairs}

    def of(self, path: str) -> tuple[FileFacts, Basis] | None:
        """The facts of a file with what they rest on; None if they have to be found again."""
        facts, basis = self._before.get(path, (None, None))
        if facts is None or basis is None or basis.own != self._files[path]:
            return None
        return (facts, basis) if basis.digest == self._digest(basis.reads) else None

    def basis(self, path: str, reads: Reads | None) -> Basis | None:
        """What the facts rest on that were just found by reading this."""
        return Basis(self._files[path], reads, self._digest(reads)) if reads is not None else None

    def _digest(self, reads: Reads) -> bytes:
        """What stands for all that was read, as it is now."""
        digest = hashlib.sha256()
        for path in sorted(reads.files):
            digest.update(path.encode("utf-8", "surrogatepass") + b"\0" + self._files.get(path, b"") + b"\1")
        for question in sorted(reads.asked):
            answer = self._answer(question)
            digest.update(repr(question).encode("utf-8", "surrogatepass") + b"\0%d\0" % len(answer) + answer)
        return digest.digest()

    def _answer(self, question: Question) -> bytes:
        found = self._answers.get(question)
        if found is None:
            said = self._end.answer(question, self._project)  # type: ignore[attr-defined]
            told = "\1".join(words(said)).encode("utf-8", "surrogatepass")
            found = told if len(told) < _SHORT else hashlib.sha256(told).digest()
            self._answers[question] = found
        return found


_SHORT = 64  # bytes; an answer that is no longer stands for itself


def shared(bases: Iterable[Basis | None]) -> tuple[Basis | None, ...]:
    """The same with one object for each path and question: those that processes sent are copies of each other."""
    paths: dict[frozenset[str], frozenset[str]] = {}
    questions: dict[frozenset[Question], frozenset[Question]] = {}
    known: dict[Any, Any] = {}

    def one(reads: Reads) -> Reads:
        files, asked = reads.files, reads.asked
        if files not in paths:
            paths[files] = frozenset(known.setdefault(path, path) for path in files)
        if asked not in questions:
            questions[asked] = frozenset(known.setdefault(question, question) for question in asked)
        return Reads(paths[files], questions[asked])

    return tuple(basis and Basis(basis.own, one(basis.reads), basis.digest) for basis in bases)
