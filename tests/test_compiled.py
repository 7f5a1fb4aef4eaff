"""What mypyc compiles for the wheels (pyproject.toml) holds nothing that it cannot compile, or makes slower."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pathspec
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"][
    "mypyc"
]


def compiled() -> list[str]:
    names = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "archscan").rglob("*.py"))]
    taken = pathspec.PathSpec.from_lines("gitignore", HOOK["include"])
    left = pathspec.PathSpec.from_lines("gitignore", HOOK["exclude"])
    return [name for name in names if taken.match_file(name) and not left.match_file(name)]


def test_the_core_and_the_front_ends_are_compiled() -> None:
    names = compiled()
    assert len(names) > 80
    assert {"archscan/model/condition.py", "archscan/frontends/cuda/host/flow.py"} <= set(names)
    assert "archscan/frontends/cuda/preprocessor/expansion.py" not in names


def test_what_is_left_out_is_there() -> None:
    assert not [name for name in HOOK["exclude"] if "/" in name and not (ROOT / name).is_file()]


@pytest.mark.parametrize("name", compiled())
def test_compiles(name: str) -> None:
    """No class in a function, none made of tuple or str, no cached_property: mypyc computes it each time anew."""
    tree = ast.parse((ROOT / name).read_text())
    top = {id(node) for node in tree.body}
    later = names_for_type_checks(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            assert id(node) in top, f"{name}:{node.lineno}: a class in a class or function"
            bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
            assert "Enum" in bases or not bases & {"tuple", "str", "dict", "list"}, f"{name}:{node.lineno}: of {bases}"
            fields = [ast.unparse(s.annotation) for s in node.body if isinstance(s, ast.AnnAssign)]
            if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
                assert not [f for f in fields if f in later], f"{name}:{node.lineno}: a field of a class not yet loaded"
                made = [f for f in fields if f.startswith("ClassVar")]
                assert not made, f"{name}:{node.lineno}: a constant of a class becomes a field"
        if isinstance(node, ast.Compare):  # mypyc 2.4: an internal error
            asked = zip(node.ops, node.comparators, strict=True)
            assert not [c for op, c in asked if isinstance(op, ast.In | ast.NotIn) and starred(c)]
        if isinstance(node, ast.FunctionDef):
            assert not [d for d in node.decorator_list if ast.unparse(d).endswith("cached_property")]


def starred(made: ast.expr) -> bool:
    literal = isinstance(made, ast.Tuple | ast.List | ast.Set)
    return literal and any(isinstance(one, ast.Starred) for one in made.elts)


def names_for_type_checks(tree: ast.Module) -> set[str]:
    """The names imported under `if TYPE_CHECKING`: a compiled dataclass looks its fields' types up when it is made."""
    return {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in node.body
        if isinstance(inner, ast.ImportFrom)
        for alias in inner.names
    }
