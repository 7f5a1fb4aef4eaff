"""Hostile files: nothing crashes, nothing hangs, nothing takes more than linear time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import check

IF = "#if __CUDA_ARCH__ >= 900\n"
NESTED = 10_000
FLOOD = 200_000


def text(piece: str, count: int = FLOOD) -> bytes:
    return (piece * count).encode()


CUDA: dict[str, Callable[[], bytes]] = {
    "nested-if": (IF * NESTED + "int x;\n" + "#endif\n" * NESTED).encode,
    "nested-else": ((IF + "#else\n") * NESTED + "#endif\n" * NESTED).encode,
    "unclosed-if": lambda: text(IF, NESTED),
    "endif-only": lambda: text("#endif\n", NESTED),
    "elif-chain": (IF + "".join(f"#elif __CUDA_ARCH__ == {n}\n" for n in range(3000)) + "#endif\n").encode,
    "parentheses": ("#if " + "(" * NESTED + "__CUDA_ARCH__" + ")" * NESTED + " >= 900\n#endif\n").encode,
    "not-not-not": ("#if " + "!" * NESTED + "__CUDA_ARCH__\n#endif\n").encode,
    "ternaries": ("#if " + "__CUDA_ARCH__ ? 1 : " * 2000 + "0\n#endif\n").encode,
    "long-condition": ("#if " + " || ".join(f"__CUDA_ARCH__ == {n}" for n in range(5000)) + "\n#endif\n").encode,
    "macro-bomb": (
        "#define X0 __CUDA_ARCH__ >= 900\n"
        + "".join(f"#define X{n + 1} (X{n} && X{n})\n" for n in range(60))
        + "#if X60\n#endif\n"
    ).encode,
    "macro-loop": lambda: b"#define A B\n#define B A\n#define F(x) F(F(x))\n#if A || F(__CUDA_ARCH__) >= 900\n#endif\n",
    "continuations": (IF[:-1] + " && \\\n" * FLOOD + "1\n#endif\n").encode,
    "comment-openers": lambda: text("/*"),
    "comment-closers": lambda: text("*/"),
    "raw-string-openers": lambda: text('R"x('),
    "quotes": lambda: text('"'),
    "apostrophes": lambda: text("'"),
    "backslashes": lambda: text("\\"),
    "hashes": lambda: text("#"),
    "blanks": lambda: b"#if" + text(" ") + b"__CUDA_ARCH__\n#endif\n",
    "tabs-before-hash": lambda: text("\t") + IF.encode() + b"#endif\n",
    "newlines": lambda: text("\n"),
    "carriage-returns": lambda: text("\r"),
    "one-long-name": lambda: b"#if " + text("A") + b"\n#endif\n",
    "one-long-number": lambda: b"#if " + text("9") + b" > __CUDA_ARCH__\n#endif\n",
    "templates": lambda: text("template<", 20_000) + IF.encode() + b"#endif\n",
    "angles": lambda: b"kernel" + text("<", 50_000) + b"\n" + IF.encode() + b"#endif\n",
    "braces": lambda: text("{", 20_000) + IF.encode() + b"#endif\n" + text("}", 20_000),
    "brackets": lambda: text("[[", 20_000),
    "calls": lambda: b"int f() { return " + text("g(", 5000) + b"prop.major >= 9" + text(")", 5000) + b"; }\n",
    "host-ladder": lambda: (
        b"void f(int sm) {" + b"".join(b"if (sm == %d) { a(); } else " % n for n in range(1500)) + b"{}}\n"
    ),
    "many-functions": lambda: b"".join(b"__global__ void k%d() {}\n" % n for n in range(5000)),
    "target-macro": lambda: b"NV_IF_TARGET" + text("(", 20_000),
    "asm": lambda: b'asm volatile("' + text("wgmma.mma_async ", 20_000) + b'" ::: "memory");\n',
    "jinja": lambda: text("{% if x %}{{ y }}", 20_000),
    "nul-bytes": lambda: b"#if __CUDA_ARCH__ >= 900\0\0\0\n" + b"\0" * 1000 + b"\n#endif\n",
    "not-utf-8": lambda: bytes(range(128, 256)) * 500 + b"\n" + IF.encode() + b"\xff\xfe\n#endif\n",
    "include-flood": lambda: b"".join(b'#include "a%d.cuh"\n' % n for n in range(10_000)),
    "define-flood": lambda: (
        b"".join(b"#define M%d (M%d + 1)\n" % (n, n + 1) for n in range(10_000)) + b"#if M0\n#endif\n"
    ),
}
CAPABILITY = "torch.cuda.get_device_capability()"
PYTHON: dict[str, Callable[[], bytes]] = {
    "nested-parentheses": f"x = {'(' * 3000}{CAPABILITY}{')' * 3000}\n".encode,
    "nested-calls": f"x = {'f(' * 2000}{CAPABILITY}{')' * 2000}\n".encode,
    "long-or": ("x = " + " or ".join(f"{CAPABILITY} == ({n}, 0)" for n in range(2000)) + "\n").encode,
    "long-sum": (f"major, minor = {CAPABILITY}\nx = " + " + ".join(["major"] * 5000) + "\n").encode,
    "elif-chain": (
        f"def f():\n  major, _ = {CAPABILITY}\n  if major == 0:\n    return 0\n"
        + "".join(f"  elif major == {n}:\n    return {n}\n" for n in range(1, 2000))
    ).encode,
    "nested-if": (
        f"major, _ = {CAPABILITY}\n"
        + "".join(" " * n + f"if major >= {n % 12}:\n" for n in range(400))
        + " " * 400
        + "x = 1\n"
    ).encode,
    "recursion": (
        f"def f(n):\n    if {CAPABILITY} >= (9, 0):\n        return g(n)\n    return f(n)\n"
        "def g(n):\n    return f(n) and g(n)\nif f(1):\n    raise RuntimeError('no')\n"
    ).encode,
    "import-of-itself": lambda: b"from a import x\nfrom . import a\nx = a.x\nif x:\n    raise ValueError\n",
    "deep-call-chain": (
        f"def f0():\n    return {CAPABILITY}[0] >= 9\n"
        + "".join(f"def f{n + 1}():\n    return f{n}()\n" for n in range(1500))
        + "if f1500():\n    raise RuntimeError\n"
    ).encode,
    "power": f"major = {CAPABILITY}[0]\nx = 9 ** 9 ** 9 ** 9\nif major >= x:\n    raise ValueError\n".encode,
    "shift": f"x = 1 << 10 ** 12\ny = [0] * 10 ** 12\nif {CAPABILITY}[0] >= x:\n    raise ValueError\n".encode,
    "string-product": f"x = 'a' * 10 ** 12\nif x == str({CAPABILITY}):\n    raise ValueError\n".encode,
    "range": f"if {CAPABILITY}[0] in range(10 ** 15):\n    raise ValueError\n".encode,
    "format": f"x = '%1000000000d' % 1 + f'{{1:1000000000}}'\nif x == {CAPABILITY}:\n    raise ValueError\n".encode,
    "loop": f"while True:\n    if {CAPABILITY}[0] < 9:\n        continue\nfor i in range(10 ** 9):\n    pass\n".encode,
    "table": ("T = {" + ", ".join(f"({n}, 0): {n}" for n in range(5000)) + f"}}\nx = T[{CAPABILITY}]\n").encode,
    "decorators": lambda: b"@supported_compute_capability([90])\n" * 2000 + b"def f():\n    pass\n",
    "unclosed-string": lambda: b'x = """' + text("torch.cuda.get_device_capability() ", 5000),
    "unclosed-brackets": lambda: b"x = [" + text("(", 20_000),
    "backslashes": lambda: text("\\\n", 20_000),
    "dedents": lambda: b"".join(b" " * (n % 97) + b"if sm >= 90:\n" for n in range(1500)),
    "not-utf-8": lambda: (
        b"x = '" + bytes(range(128, 256)) * 100 + f"'\nif {CAPABILITY} >= (9, 0):\n    pass\n".encode()
    ),
    "cuda-in-strings": lambda: b'SOURCE = r"""' + text(IF + "int x;\n#endif\n", 2000) + b'"""\n',
    "lambdas": f"x = {'lambda: ' * 2000}{CAPABILITY}\n".encode,
    "attributes": lambda: b"x = torch" + text(".cuda", 20_000) + b"\nif x.get_device_capability() >= (9, 0): pass\n",
}
BUILD: dict[str, Callable[[], bytes]] = {
    "nested-if": lambda: b'if(CMAKE_CUDA_ARCHITECTURES MATCHES "90")\n' * 3000 + b"endif()\n" * 3000,
    "parentheses": lambda: b"set(CUDA_ARCHS " + text("(", 20_000) + b"\n",
    "quotes": lambda: b"set(CMAKE_CUDA_ARCHITECTURES " + text('"', 20_000) + b"\n",
    "brackets": lambda: b"set(CMAKE_CUDA_ARCHITECTURES " + text("[=[", 20_000) + b"\n",
    "variables": lambda: b"set(CUDA_ARCHS " + text("${", 20_000) + text("}", 20_000) + b")\n",
    "doubling": lambda: b'set(CUDA_ARCHS "8.0;9.0a")\n' + b"list(APPEND CUDA_ARCHS ${CUDA_ARCHS})\n" * 80,
    "regex": lambda: b'set(CUDA_ARCHS "' + text("1", 3000) + b'")\nstring(REGEX MATCH "(1+)+$" X "${CUDA_ARCHS}x")\n',
    "recursion": lambda: b"function(f)\n f()\nendfunction()\nmacro(g)\n g()\nendmacro()\nf()\ng()\n",
    "loop": lambda: b"while(TRUE)\n set(CUDA_ARCHS 90)\nendwhile()\nforeach(i RANGE 1000000000)\nendforeach()\n",
}
CASES = [
    *((f"cuda-{name}", make, "a.cu") for name, make in CUDA.items()),
    *((f"python-{name}", make, "a.py") for name, make in PYTHON.items()),
    *((f"build-{name}", make, "CMakeLists.txt") for name, make in BUILD.items()),
]
SECONDS = 30  # of CPU: a quadratic scan of these sizes takes minutes


@pytest.mark.parametrize(("make", "path"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hostile_files(make: Callable[[], bytes], path: str) -> None:
    began = time.process_time()
    check(make(), path)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("path", ["a.cu", "a.h", "a.py", "CMakeLists.txt", "a.jinja"])
@pytest.mark.parametrize("data", [b"", b"\n", b"\0", b"\xef\xbb\xbf", b"#", b"\\", b'"', b"/*", b"(", b"\x1a"])
def test_next_to_nothing(data: bytes, path: str) -> None:
    check(data, path)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("ARCHSCAN_SLOW"), reason="takes a minute: set ARCHSCAN_SLOW")
def test_one_line_of_100_megabytes() -> None:
    from archscan.model.facts import Skipped
    from archscan.sources import Unread, read

    data = b"#if __CUDA_ARCH__ >= 900 || " + b"x" * 100_000_000
    (outcome,) = read([Unread("a.cu", "", len(data), data=data)])
    assert isinstance(outcome, Skipped)
    began = time.process_time()
    check(data[: 32 << 20], "a.cu")
    assert time.process_time() - began < 60


def test_every_row_of_the_page_has_its_test() -> None:
    root = Path(__file__).resolve().parents[1]
    page = (root / "docs" / "robustness.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (root / "tests").glob("test_*.py"))
    assert len(named) > 20
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []
