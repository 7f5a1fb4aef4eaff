"""What a block does: the same body says the same behind `#if`, `if`, `if constexpr`, in Python and in CMake."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from archscan.analysis.effects import numbers_returned
from archscan.catalog import load
from archscan.frontends.cuda.blocks import block_of, outcome, stripped
from archscan.model.gate import Does, Effect
from archscan.model.settings import ScanSettings
from archscan.pipeline import scan


class Body(NamedTuple):
    """A body in the languages in which it can be written; what it does was told by reading it, before any tool was."""

    name: str
    does: Does
    cpp: str = ""
    python: str = ""
    cmake: str = ""


BODIES = (
    # nothing
    Body("comment", Does.NOTHING, "// not here", "# not here\npass", "# not here"),
    Body("ignored", Does.NOTHING, "(void)x;"),
    Body("ignore", Does.NOTHING, "std::ignore = x;"),
    Body("dead loop", Does.NOTHING, "while (0) { }"),
    Body("namespace", Does.NOTHING, "using namespace cute;"),
    # what only looks at its arguments is nothing that others lose
    Body("check", Does.NOTHING, 'TORCH_CHECK(n % 8 == 0, "n");', 'assert n % 8 == 0, "n"'),
    Body("check function", Does.NOTHING, "check_shape(q, k);", "check_shape(q, k)"),
    Body("own check", Does.NOTHING, 'if (n > 8) { throw E("n"); }', 'if n > 8:\n    raise E("n")',
         'if(N)\nmessage(FATAL_ERROR "n")\nendif()'),
    Body("static check", Does.NOTHING, "static_assert(sizeof(T) == 4);"),
    Body("check on a condition", Does.NOTHING, 'RETURN_ERROR_IF(n > 8, "n");'),
    # a check around a call makes the call
    Body("checked call", Does.WORK, "CUDA_CHECK(cudaDeviceSynchronize());"),
    Body("check then work", Does.WORK, 'TORCH_CHECK(n % 8 == 0, "n"); run(n);', 'assert n % 8 == 0\nrun(n)'),
    # refusals
    Body("throw", Does.RAISES, 'throw std::runtime_error("no");', 'raise RuntimeError("no")'),
    Body("print and throw", Does.RAISES, 'printf("a"); throw E("no");', 'print("a")\nraise E("no")'),
    Body("work and throw", Does.RAISES, 'clear(x); throw E("no");', 'clear(x)\nraise E("no")'),
    Body("failed check", Does.RAISES, 'TORCH_CHECK(false, "no");'),
    Body("failed check with text", Does.RAISES, 'TVM_FFI_ICHECK(false) << "no";'),
    Body("error macro", Does.RAISES, 'FLASHINFER_ERROR("no");'),
    Body("throw macro", Does.RAISES, 'TVM_FFI_THROW(ValueError) << "no";'),
    Body("fatal log", Does.RAISES, 'LOG(FATAL) << "no";'),
    Body("exit", Does.RAISES, 'printf("no"); exit(1);', 'print("no")\nsys.exit(1)'),
    Body("assert macro with a text alone", Does.RAISES, 'RUNTIME_ASSERT("no fp8 here");'),
    Body("abort", Does.RAISES, "std::abort();"),
    Body("raise on both sides", Does.RAISES, 'if (a) { throw E("x"); } else { throw E("y"); }',
         'if a:\n    raise E("x")\nelse:\n    raise E("y")'),
    Body("assert", Does.ASSERTS, "assert(false);", 'assert False, "no"'),
    Body("assert with text", Does.ASSERTS, 'assert(false && "no"); return 0;'),
    Body("assert comma", Does.ASSERTS, 'assert(("no", false));'),
    Body("trap", Does.TRAPS, "__trap();"),
    Body("trap in asm", Does.TRAPS, 'asm volatile("trap;");'),
    Body("print and trap", Does.TRAPS, 'if (threadIdx.x == 0) { printf("no"); } __trap();'),
    Body("thread traps", Does.TRAPS, 'if (threadIdx.x == 0) { printf("no"); __trap(); }'),
    Body("trap macro", Does.TRAPS, 'CUTE_INVALID_CONTROL_PATH("no");'),
    Body("not implemented", Does.TRAPS, "CUTLASS_NOT_IMPLEMENTED();"),
    Body("static assert", Does.ERRORS, 'static_assert(false, "no");', "", 'message(FATAL_ERROR "no")'),
    Body("dependent", Does.ERRORS, 'static_assert(always_false<T>, "no"); return x;'),
    Body("return and error", Does.ERRORS, 'return x;\nstatic_assert(false, "no");'),
    Body("work and error", Does.ERRORS, 'run(x); static_assert(sizeof(T) == 0, "no");', "",
         'add_library(x y.cu)\nmessage(FATAL_ERROR "no")'),
    Body("false", Does.REFUSES, "return false;", "return False"),
    Body("null", Does.REFUSES, "return nullptr;", "return None"),
    Body("pair", Does.REFUSES, 'return {false, "no"};', 'return False, "no"'),
    Body("status", Does.REFUSES, "return Status::kUnsupported;", "return Status.UNSUPPORTED"),
    Body("status with text", Does.REFUSES, 'return Status::Invalid("no");'),
    Body("cuda error", Does.REFUSES, "return cudaErrorNotSupported;"),
    Body("minus one", Does.REFUSES, "return -1;"),
    Body("told and false", Does.REFUSES, 'set_reason("not for this GPU"); return false;',
         'tell("not for this GPU")\nreturn False'),
    Body("logged and false", Does.REFUSES, 'TLLM_LOG_ERROR("no"); return false;', 'logger.error("no")\nreturn False'),
    Body("call and false", Does.REFUSES, "maybe_warn(x); return false;", "maybe_warn(x)\nreturn False"),
    Body("work and none", Does.WORK, "", "run(x)\nreturn None"),
    Body("complains", Does.REFUSES, 'std::cerr << "no"; return 1;'),
    Body("error list", Does.REFUSES, 'errors.push_back("no");', 'errors.append("no")'),
    Body("switch off", Does.REFUSES, "use_fast = false;", "use_fast = False"),
    Body("print", Does.PRINTS, 'printf("no");', 'print("no")', 'message(STATUS "skipping")'),
    Body("thread prints", Does.PRINTS, 'if (threadIdx.x == 0) { printf("no"); }'),
    Body("print and leave", Does.PRINTS, 'printf("no"); return;', 'print("no")\nreturn'),
    Body("leave", Does.SKIPS, "return;", "return", "return()"),
    # what others get, or something else
    Body("asked", Does.LOGS, python='print("slow")\nsaid = input("go on?").lower()\nreturn said == "y"'),
    Body("asked at once", Does.LOGS, python='return click.confirm("go on?")'),
    Body("asked for a name", Does.WORK, python='said = input("which?")\nrun(said)\nreturn load(unsaid)'),
    Body("log", Does.LOGS, 'TLLM_LOG_WARNING("slow");', 'logger.warning("slow")', 'message(STATUS "found")'),
    Body("conditional log", Does.LOGS, 'if (a) { TLLM_LOG_WARNING("slow"); }', 'if a:\n    logger.warning("slow")'),
    Body("defines", Does.DEFINES, "constexpr int kTile = 64;"),
    Body("type", Does.DEFINES, "using Tile = Small;"),
    Body("assign", Does.ASSIGNS, "tile = 64;", "tile = 64", "set(TILE 64)"),
    Body("assign a call", Does.ASSIGNS, "tile = pick(x);", "tile = pick(x)"),
    Body("local", Does.ASSIGNS, "int tile = 64;", "tile: int = 64"),
    Body("print and assign", Does.ASSIGNS, 'printf("slow"); tile = 64;', 'print("slow")\ntile = 64'),
    Body("assign either way", Does.ASSIGNS, "if (a) { tile = 64; } else { tile = 32; }",
         "if a:\n    tile = 64\nelse:\n    tile = 32"),
    Body("told and empty", Does.REFUSES, 'TLLM_LOG_TRACE("not here"); return {};',
         'logger.warning("not here")\nreturn []'),
    Body("empty", Does.RETURNS, "return {};", "return {}"),
    Body("worked out", Does.WORK, "y = slow(x); return y;", "y = slow(x)\nreturn y"),
    Body("number", Does.RETURNS, "return 64;", "return 64"),
    Body("returned call", Does.RETURNS, "return slow(x);", "return slow(x)"),
    Body("last error", Does.RETURNS, "return cudaGetLastError();"),
    Body("success", Does.RETURNS, "return Status::kSuccess;", "return Status.SUCCESS"),
    Body("call", Does.WORK, "run(x);", "run(x)", "add_library(x y.cu)"),
    Body("call and value", Does.WORK, "run(x); return y;", "run(x)\nreturn y"),
    Body("call and leave", Does.WORK, "run(x); return;", "run(x)\nreturn"),
    Body("work on one side", Does.WORK, 'if (a) { run(x); } else { throw E("no"); }',
         'if a:\n    run(x)\nelse:\n    raise E("no")'),
    Body("add in place", Does.WORK, "y[i] += 2;", "y[i] += 2"),
    Body("add to a flag", Does.ASSIGNS, "flags |= FAST;", "flags |= FAST"),
    Body("launch", Does.WORK, "kernel<<<grid, block>>>(x);"),
    Body("asm", Does.WORK, 'asm volatile("wgmma.fence.sync.aligned;");'),
    Body("loop", Does.WORK, "for (int i = 0; i < n; ++i) { x[i] = 0; }", "for i in range(n):\n    x[i] = f(i)"),
    Body("assert of a text", Does.NOTHING, 'assert("no fp8 here");'),
    Body("include", Does.WORK, '#include "fast.inc"'),
    Body("switch of macros", Does.WORK, "switch (n) { CASE(1) CASE(2) DEFAULT_CASE() }"),
    Body("print and nothing", Does.PRINTS, '(void)x; printf("no"); return 0;', 'print("no")\nreturn 0'),
    Body("print and choose", Does.RETURNS, 'printf("four"); return 4;', 'print("four")\nreturn 4'),
    Body("switch", Does.WORK, "switch (n) { case 1: a(); break; default: b(); }"),
    Body("inner #if", Does.WORK, "#ifdef FAST\nrun(x);\n#else\n__trap();\n#endif"),
)  # fmt: skip


def _spelled(body: Body) -> Iterator[tuple[str, str]]:
    """The file of each spelling of a body, which is what sm_90 and newer get."""
    if body.cpp:
        arms = f"{{\n    fast(x);\n  }} else {{\n{body.cpp}\n  }}"
        yield "if.cu", f"void f(int sm, int x) {{\n  if (sm < 90) {arms}\n  go(x);\n}}\n"
        head = "constexpr int kArch = __CUDA_ARCH__;\n__device__ void f(int x) {\n"
        yield "constexpr.cu", f"{head}  if constexpr (kArch < 900) {arms}\n  go(x);\n}}\n"
        arms = f"#if __CUDA_ARCH__ < 900\n  fast(x);\n#else\n{body.cpp}\n#endif"
        yield "hash.cu", f"__device__ void f(int x) {{\n{arms}\n  go(x);\n}}\n"
    if body.python:
        inner = body.python.replace("\n", "\n        ")
        yield (
            "a.py",
            (
                "import torch\n\n\ndef f(x):\n    if torch.cuda.get_device_capability()[0] < 9:\n        fast(x)\n"
                f"    else:\n        {inner}\n    go(x)\n"
            ),
        )
    if body.cmake:
        yield (
            "CMakeLists.txt",
            (f"if(CMAKE_CUDA_ARCHITECTURES LESS 90)\n  add_library(fast fast.cu)\nelse()\n{body.cmake}\nendif()\n"),
        )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Effect]:
    """The effect of each spelling of each body."""
    folder = tmp_path_factory.mktemp("bodies")
    for body in BODIES:
        place = folder / body.name.replace(" ", "_").replace("#", "")
        place.mkdir()
        for name, text in _spelled(body):
            (place / name).write_text(text)
    facts = scan([str(folder)], load(), ScanSettings(use_cache=False, jobs=1))
    effects_: dict[tuple[str, str], Effect] = {}
    for file in facts.files:
        for gate in file.gates:
            if len(gate.arms) == 2 and gate.arms[0].effect.does is Does.WORK and gate.arms[1].is_else:
                body_name, _, spelling = file.path.rpartition("/")
                effects_.setdefault((body_name, spelling), gate.arms[1].effect)
    return effects_


SPELLINGS = [pytest.param(b, name, id=f"{b.name}-{name}") for b in BODIES for name, _ in _spelled(b)]


@pytest.mark.parametrize(("body", "spelling"), SPELLINGS)
def test_a_body_means_the_same_in_every_spelling(
    body: Body, spelling: str, found: dict[tuple[str, str], Effect]
) -> None:
    assert found[body.name.replace(" ", "_").replace("#", ""), spelling].does is body.does


def test_both_spellings_of_cpp_tell_the_same_text_and_value(found: dict[tuple[str, str], Effect]) -> None:
    for body in BODIES:
        if body.cpp:
            name = body.name.replace(" ", "_").replace("#", "")
            one, other = found[name, "hash.cu"], found[name, "if.cu"]
            assert (one.message, one.value) == (other.message, other.value), body.name


@pytest.mark.parametrize(
    "code",
    [
        b"if (a) " * 6000,
        b"{" * 20000,
        b"else " * 6000,
        b"do " * 9000,
        b"a <b> " * 6000,
        b"STATIC " * 5000,
        b"((((" * 8000,
        b"#if A\n" * 6000,
        b"switch (x) { case 1: " * 1500,
        b'"' * 30000,
        b"f(" * 15000 + b")" * 15000,
    ],
    ids=lambda code: code[:8].decode(),
)
def test_what_nobody_writes_is_read_in_time(code: bytes) -> None:
    started = time.process_time()
    outcome(stripped(code), 1)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("code", "returns"),
    [
        ("if (sm >= 90) return 228; return 99;", 2),
        ("{ int n = f(); prepare(n); if (sm >= 90) { return 0x80u; } else if (n) return 1.5f; else return .5f; }", 3),
        ("switch (sm) { case 80: case 86: return 1; case 90: { if (n) return 2; } break; default: return 3; }", 3),
        ("return 99;", 0),  # it asks nothing
        ("if (sm >= 90) return 228; return other();", 0),
        ("if (sm >= 90) return -1; return 99;", 2),
        ("if (sm >= 90) return -n; return 99;", 0),
        ("if (sm >= 90) { n = 3; return 228; } return 99;", 0),
        ("if (sm >= 90) { prepare(); return 228; } return 99;", 0),
        ("if (++sm >= 90) return 228; return 99;", 0),
        ("if (n) return 1; else if ((sm = get()) >= 90) return 228; return 99;", 0),
        ("if (sm <= 90 && n != 2) return 228; return 99;", 2),  # what compares does not assign
        ("switch (sm++) { case 90: return 1; } return 2;", 0),
        ("switch (sm) { case 90: if (n) break; return 1; } return 2;", 0),  # who leaves by it is not told
        ("for (auto m : table) if (m.sm == sm) return 8; return 4;", 0),
        ("try { if (sm >= 90) return 228; } catch (...) { return 1; } return 99;", 0),
        ("#if X\nif (sm >= 90) return 228;\n#endif\nreturn 99;", 0),
        ("if (sm >= 90) throw 1; return 99;", 0),
    ],
)
def test_a_body_that_asks_and_returns_numbers_is_told_from_one_that_does_more(code: str, returns: int) -> None:
    assert numbers_returned(block_of(code.encode(), 1)) == returns


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_comment_that_is_continued_goes_on_in_the_next_line(newline: bytes) -> None:
    commented = b"// not here: \\" + newline + b"return 1;" + newline + b"launch();"
    plain = b"// not here: " + newline + b"return 1;" + newline + b"launch();"
    assert outcome(stripped(commented), 1).effect.does is Does.WORK
    assert outcome(stripped(plain), 1).effect.does is Does.RETURNS
    assert stripped(commented).count(b"\n") == commented.count(b"\n")  # lines stay
