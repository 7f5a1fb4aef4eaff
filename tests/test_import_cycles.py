"""The modules of archscan import each other in one direction: what a module needs to be imported never needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import archscan

ROOT = Path(archscan.__file__).parent


def modules(root: Path) -> dict[str, Path]:
    """Every module below a package by its name."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST, known: Mapping[str, Path], typing: bool) -> Iterator[str]:
    """The modules that are imported with a module: not inside of functions, and for types alone only if asked for."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for below in node.body if typing else []:
                yield from imports(ast.Module([below], []), known, typing)
            for below in node.orelse:
                yield from imports(ast.Module([below], []), known, typing)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module
        else:
            yield from imports(node, known, typing)


def graph(root: Path, typing: bool = False) -> dict[str, set[str]]:
    known = modules(root)
    found = {}
    for name, path in known.items():
        named = set(imports(ast.parse(path.read_bytes()), known, typing)) & known.keys()
        found[name] = named - {name}
    return found


def cycles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules of which each leads to each, found by taking away what leads nowhere, from both ends."""
    left = {name: set(targets) for name, targets in edges.items()}
    while True:
        named = {target for targets in left.values() for target in targets}
        idle = [name for name, targets in left.items() if not targets or name not in named]
        if not idle:
            break
        for name in idle:
            del left[name]
        for targets in left.values():
            targets.difference_update(idle)
    reached = {name: _reached(name, left) for name in left}
    groups = [{other for other in reached[name] if name in reached[other]} for name in left]
    return [group for i, group in enumerate(groups) if group and group not in groups[:i]]


def _reached(name: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    queue = [name]
    while queue:
        new = edges[queue.pop()] - seen
        seen |= new
        queue += new
    return seen


def test_the_modules_form_no_cycle() -> None:
    edges = graph(ROOT)
    assert len(edges) > 400 and "archscan.model.gate" in edges["archscan.judge.verdicts"]
    assert cycles(edges) == []


def test_facts_and_their_analysis_need_no_opinion() -> None:
    """The model knows nobody, the analysis the model and the data, and no front end the judge or a report."""
    edges = graph(ROOT, typing=True)
    allowed = {
        "archscan.model": ("archscan.model",),
        "archscan.analysis": ("archscan.model", "archscan.analysis", "archscan.catalog"),
    }
    for package, mays in allowed.items():
        wrong = {(n, t) for n, ts in edges.items() if n.startswith(package) for t in ts if not t.startswith(mays)}
        assert wrong == set(), package
    above = ("archscan.judge", "archscan.reporting", "archscan.tracing", "archscan.fixing", "archscan.lsp")
    wrong = {(n, t) for n, ts in edges.items() if n.startswith("archscan.frontends") for t in ts if t.startswith(above)}
    assert wrong == set()


def test_a_cycle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from p import b\n")
    (package / "b.py").write_text(
        "import p.c\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.d import x\n"
    )
    (package / "c.py").write_text("def later():\n    from p import a\n")
    (package / "d.py").write_text("from p.b import y\n")
    assert cycles(graph(package)) == []
    assert cycles(graph(package, typing=True)) == [{"p.b", "p.d"}]
    (package / "c.py").write_text("try:\n    from p.a import z\nexcept ImportError:\n    z = None\n")
    assert cycles(graph(package)) == [{"p.a", "p.b", "p.c"}]
