"""Coverage-guided fuzzing of everything that reads what others wrote: scripts/fuzz.py TARGET [--seconds N] [--merge].

Needs atheris (pip install atheris). Starts from the inputs in tests/data/fuzz/TARGET; what crashes or hangs is left
there as a file whose name says so, and tests/test_robustness_fuzz.py runs every file there. --merge keeps only the
new inputs that reach more code than those already kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "data" / "fuzz"
LONGEST = 4096  # bytes of an input
SLOWEST = 20  # seconds of an input, under instrumentation


def cuda(data: bytes) -> None:
    """Directives, macros, conditions and host code."""
    check(data, "a.cu")


def python(data: bytes) -> None:
    """The Python interpreter."""
    check(data, "pkg/a.py")


def build(data: bytes) -> None:
    """The CMake interpreter."""
    check(data, "CMakeLists.txt")


def condition(data: bytes) -> None:
    """One condition over a universe of four targets."""
    from archscan.frontends.cuda.preprocessor.conditions import Evaluator
    from archscan.frontends.cuda.preprocessor.macros import open_state, parse_define, uniform
    from archscan.model.condition import truth

    text, _, definitions = data.decode("utf-8", "replace").partition("\n")
    known = dict(found for line in definitions.split("\n") if (found := parse_define(line)))
    when = Evaluator(15).answer(text, lambda n: uniform(known[n], 15) if n in known else open_state(n, 15)).when
    assert not truth(when, 15).yes & truth(when, 15).no


def suppression(data: bytes) -> None:
    """Comments that silence findings."""
    from archscan.frontends.suppressions import suppressions

    suppressions(data)


def check(data: bytes, path: str) -> None:
    """Every front end on one file; a contradiction or a place outside of it is a crash."""
    from hostile import check as checked

    checked(data, path)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "cuda": cuda, "python": python, "build": build, "condition": condition, "suppression": suppression,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Fuzzes one target; does not return where libFuzzer ends the process (always, unless atheris is missing)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--merge", metavar="DIR", help="keep what is new in DIR, an earlier --corpus")
    parser.add_argument("--corpus", metavar="DIR", help="where new inputs go; a temporary directory by default")
    options = parser.parse_args(arguments)
    try:
        import atheris
    except ImportError:
        print("atheris is missing: pip install atheris", file=sys.stderr)
        return 2
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    with atheris.instrument_imports(include=["archscan"]):
        import hostile

        import archscan.frontends.suppressions  # noqa: F401

        hostile.facts(b"#if __CUDA_ARCH__ >= 900\n#endif\n", "a.cu")  # what is imported late
        hostile.facts(b"import torch\nif torch.cuda.get_device_capability() >= (9, 0):\n    pass\n", "a.py")
        hostile.facts(b"set(CUDA_ARCHS 90)\n", "CMakeLists.txt")
    kept = CORPUS / options.target
    kept.mkdir(parents=True, exist_ok=True)
    found = options.corpus or tempfile.mkdtemp(prefix="archscan-fuzz-")
    flags = [f"-max_len={LONGEST}", f"-timeout={SLOWEST}", f"-artifact_prefix={kept}/", "-print_final_stats=1"]
    if options.merge:
        flags += ["-merge=1", str(kept), options.merge]
    else:
        flags += [f"-max_total_time={options.seconds}", found, str(kept), str(ROOT / "tests" / "fixtures")]
    atheris.Setup([sys.argv[0], *flags], TARGETS[options.target])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
