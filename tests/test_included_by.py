"""Who includes a file is the same asked from either side, in the judge and in tracing."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from archscan.catalog import load
from archscan.judge.project import Project
from archscan.model.facts import FileFacts, Link, LinkKind
from archscan.tracing.called import _uses
from archscan.tracing.modules import Includes
from archscan.tracing.paths import Paths

UNIVERSE = load().universe
NAMES = [f"{folder}{name}.h" for folder in ("", "a/", "b/") for name in "xyz"]
EDGES = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from([*NAMES, "gone.h"])), max_size=14)


@given(EDGES)
def test_including_is_the_other_side_of_includes(edges: set[tuple[str, str]]) -> None:
    links = {
        path: tuple(Link(LinkKind.INCLUDES, path, to, 1) for of, to in sorted(edges) if of == path) for path in NAMES
    }
    includes = Includes(links, Paths.of(NAMES))
    project = Project(tuple(FileFacts(path, 1, links=links[path]) for path in NAMES), UNIVERSE)
    for path in NAMES:
        assert includes.including(path) == {one for one in NAMES if path in includes.closure(one)}
        assert project.including(path) == {one for one in NAMES if project.includes(one, path)}


def test_a_file_includes_itself_only_where_it_does() -> None:
    links = {"x.h": (Link(LinkKind.INCLUDES, "x.h", "y.h", 1),), "y.h": ()}
    project = Project(tuple(FileFacts(path, 1, links=found) for path, found in links.items()), UNIVERSE)
    assert project.including("y.h") == {"x.h"} and project.including("x.h") == set()
    assert Includes(links, Paths.of(links)).including("y.h") == {"x.h", "y.h"}


WORDS = st.sampled_from(["f", "ff", "_f", "f1", "int ", "return ", "::", "*", "&", "(", " (", "\n", ">", "\xff", " "])


@given(st.lists(WORDS, max_size=12).map("".join))
def test_uses_are_those_of_a_pattern(text: str) -> None:
    data = text.encode("latin-1")
    found = list(_uses(b"f", data))
    matches = list(re.finditer(rb"\bf\b(\s{0,40}\()?", data))
    assert [at for at, _ in found] == [match.start() for match in matches]
    assert all(match[1] for (_, typed), match in zip(found, matches, strict=True) if typed)


def test_a_type_in_front_and_parameters_behind_define() -> None:
    assert [typed for _, typed in _uses(b"f", b"int f(int x); return f(1); f(2); int f;")] == [
        True,
        False,
        False,
        False,
    ]
