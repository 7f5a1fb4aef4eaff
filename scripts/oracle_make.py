"""Makes an oracle of a package: every `#if` region of some files, live or dead per target as nvcc's preprocessor says.

    python scripts/oracle_make.py CORPORA/PACKAGE-VERSION/PACKAGE ORACLE.jsonl.gz [FILES [TARGET,...]]

Takes FILES files that test the architecture (default 40), spread evenly over the package, each as the main file of its
own compilation. Behind every conditional directive it inserts a marker and runs the host compiler with exactly the
options that `nvcc -gencode` gives it; a marker that comes out is in a live region. Headers found nowhere are empty.
The result is for scripts/oracle_diff.py. Needs nvcc.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from archscan.frontends.cuda.preprocessor.directives import CONDITIONALS, OPENERS, scan
from archscan.frontends.cuda.preprocessor.events import Directive
from archscan.sources.kinds import CUDA_SUFFIXES

Row = dict[str, Any]
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120", "sm_120a", "sm_121a")
MARK = b"__ARCHSCAN_MARK__"
_ARCHITECTURE = re.compile(r"__CUDA_ARCH|__CUDA_HAS_ARCH")
_DERIVED = re.compile(r"SM\d+\w*_ENABLED|_ARCH_")
_MISSING = re.compile(r"fatal error: (.+): No such file")
_MOST_STUBS = 40


def preprocessor(target: str, folder: Path) -> list[str]:
    """The command, without input and output, that nvcc runs for the device pass of a target."""
    source = folder / "empty.cu"
    source.write_bytes(b"")
    number = target.removeprefix("sm_")
    options = ["-gencode", f"arch=compute_{number},code={target}", "-dryrun", "-c", str(source)]
    printed = subprocess.run(["nvcc", *options], capture_output=True, text=True, check=True).stderr
    line = next(text for text in printed.splitlines() if " -E " in text and "-D__CUDA_ARCH__=" in text)
    words = shlex.split(line.removeprefix("#$ "))
    return words[: words.index(str(source))]


def marked(data: bytes, directives: Sequence[Directive]) -> bytes:
    """The file with a marker behind each conditional directive but `#endif`."""
    pieces, position = [], 0
    for directive in directives:
        if directive.name in CONDITIONALS - {"endif"}:
            pieces += [data[position : directive.end], b"\n%s %d\n" % (MARK, directive.line)]
            position = directive.end
    return b"".join([*pieces, data[position:]])


def live_lines(path: Path, text: bytes, command: list[str], roots: Sequence[Path], folder: Path) -> set[int] | None:
    """The lines of the directives whose regions are live; None if the preprocessor gives up.

    A file that <cuda_runtime.h> includes has been read before it begins: then it is read without.
    """
    found = _live_lines(path, text, command, roots, folder)
    if found == set() and "-include" in command:
        at = command.index("-include")
        return _live_lines(path, text, [*command[:at], *command[at + 2 :]], roots, folder) or None
    return found


def _live_lines(path: Path, text: bytes, command: list[str], roots: Sequence[Path], folder: Path) -> set[int] | None:
    copy, stubs = folder / "main" / path.name, folder / "stubs"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(text)
    options = ["-iquote", str(path.parent), *_searched(roots), "-idirafter", str(stubs)]
    for _ in range(_MOST_STUBS):
        run = subprocess.run([*command, *options, "-x", "c++", str(copy)], capture_output=True, check=False)
        missing = _MISSING.search(run.stderr.decode("utf-8", "replace"))
        if missing is None:
            fatal = b"fatal error" in run.stderr
            return None if fatal else {int(n) for n in re.findall(MARK + rb" (\d+)", run.stdout)}
        stub = stubs / missing[1]
        if ".." in stub.parts or stub.exists():
            return None
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_bytes(b"")
    return None


def _searched(roots: Sequence[Path]) -> list[str]:
    """The options for include folders; one that has headers as the standard library names them comes last."""
    shadowing = [root for root in roots if any(p.is_file() and "." not in p.name for p in root.iterdir())]
    last = [word for root in shadowing for word in ("-idirafter", str(root))]
    return [*(f"-I{root}" for root in roots if root not in shadowing), *last]


def include_roots(paths: Sequence[Path], folder: Path) -> tuple[Path, ...]:
    """The folders of a package from which its own includes are found, the most used first."""
    by_name: dict[str, list[Path]] = {}
    for path in paths:
        by_name.setdefault(path.name, []).append(path)
    found: Counter[Path] = Counter()
    for path in paths:
        for written in set(re.findall(rb"#\s*include\s*[<\"]([\w./+-]+)[>\"]", path.read_bytes())):
            parts = Path(written.decode()).parts
            beside = ".." in parts or (path.parent / written.decode()).is_file()
            for other in by_name.get(parts[-1], ()) if not beside else ():
                root = other.parents[len(parts) - 1] if other.parts[-len(parts) :] == parts else None
                if root is not None and root.is_relative_to(folder):
                    found[root] += 1
    return tuple(root for root, _ in found.most_common())


def sample(paths: Sequence[Path], count: int) -> list[Path]:
    """Files with a conditional on the architecture, spread evenly."""
    testing = [
        p for p in paths if any(d.name in CONDITIONALS and _ARCHITECTURE.search(d.text) for d in scan(p.read_bytes()))
    ]
    step = max(len(testing) / count, 1.0)
    return [testing[int(i * step)] for i in range(min(count, len(testing)))]


def rows(folder: Path, count: int, targets: Sequence[str]) -> Iterator[Row]:
    """The oracle's rows."""
    package, version = folder.parent.name.split("-", 1)
    paths = sorted(p for p in folder.rglob("*") if p.name.endswith(CUDA_SUFFIXES) and p.is_file())
    roots = include_roots(paths, folder)
    with tempfile.TemporaryDirectory() as scratch:
        commands = {target: preprocessor(target, Path(scratch)) for target in targets}
        for path in sample(paths, count):
            data = path.read_bytes()
            directives = scan(data)
            text = marked(data, directives)
            shutil.rmtree(Path(scratch) / "main", ignore_errors=True)
            live = {t: live_lines(path, text, command, roots, Path(scratch)) for t, command in commands.items()}
            for chain in _chains(directives):
                direct = any(_ARCHITECTURE.search(arm.text) for arm in chain)
                differs = any(len({arm.line in lines for lines in live.values() if lines}) > 1 for arm in chain)
                for directive in chain if direct or differs else ():
                    yield {
                        "package": package,
                        "version": version,
                        "path": path.relative_to(folder).as_posix(),
                        "line": directive.line,
                        "condition": f"{directive.name} {directive.text}".strip(),
                        "live": [t for t, lines in live.items() if lines is not None and directive.line in lines],
                        "dead": [t for t, lines in live.items() if lines is not None and directive.line not in lines],
                    }


def _asks(directive: Directive) -> bool:
    return bool(_ARCHITECTURE.search(directive.text) or _DERIVED.search(directive.text))


def _chains(directives: Sequence[Directive]) -> Iterator[list[Directive]]:
    """The arms of each conditional."""
    open_: list[list[Directive]] = []
    for directive in directives:
        if directive.name in OPENERS:
            open_.append([directive])
        elif directive.name == "endif" and open_:
            yield open_.pop()
        elif directive.name in CONDITIONALS and open_:
            open_[-1].append(directive)


def main(arguments: list[str]) -> int:
    """Writes the oracle."""
    if not 2 <= len(arguments) <= 4:
        print(__doc__, file=sys.stderr)
        return 2
    count = int(arguments[2]) if len(arguments) > 2 else 40
    targets = tuple(arguments[3].split(",")) if len(arguments) > 3 else TARGETS
    with gzip.open(arguments[1], "wt", encoding="utf-8") as out:
        for row in rows(Path(arguments[0]).absolute(), count, targets):
            out.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
