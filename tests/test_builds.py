"""`archscan builds`: what would be made, for whom that is enough, and what to set for one GPU."""

# ruff: noqa: E501

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

import archscan as package
from archscan.builds.model import gets
from archscan.catalog import load
from archscan.cli import archscan
from archscan.frontends.build.images import Image
from archscan.model.target import Target

CATALOG = load()
SCHEMA = json.loads((Path(package.__file__).parent / "schema" / "builds-1.1.schema.json").read_text("utf-8"))


def builds(folder: Path, *options: str, **files: str) -> dict[str, Any]:
    """The document of a project of these files; __ in a name is a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    run = CliRunner().invoke(archscan, ["builds", "--no-cache", "-f", "json", *options, str(folder)])
    assert run.exit_code == 0, run.output
    document: dict[str, Any] = json.loads(run.stdout)
    jsonschema.validate(document, SCHEMA)
    return document


def images(build: dict[str, Any]) -> list[str]:
    return [f"{'ptx:' if i['kind'] == 'ptx' else ''}{i['arch']}:{i['line']}" for i in build["images"]]


@pytest.mark.parametrize(
    ("made", "sm", "word"),
    [
        ("90", 90, "native"), ("90a", 90, "native"), ("90a", 100, "none"), ("80", 89, "compatible"), ("80", 90, "none"),
        ("80p", 90, "jit"), ("80p", 75, "none"), ("120f", 121, "compatible"), ("120a", 121, "none"), ("120", 121, "compatible"),
        ("80", 87, "unknown"), ("87", 87, "native"), ("80p", 87, "jit"), ("101", 110, "unknown"), ("100fp", 103, "jit"),
        ("100fp", 110, "none"), ("100", 110, "none"), ("100", 101, "compatible"),
    ],
)  # fmt: skip
def test_what_a_gpu_gets(made: str, sm: int, word: str) -> None:
    number = made.rstrip("afp")
    image = Image(Target(int(number), made[len(number) :].rstrip("p")), made.endswith("p"))
    assert gets((image,), sm, CATALOG) == word


SETUP = """from torch.utils.cpp_extension import CUDAExtension
from setuptools import setup
setup(ext_modules=[
    CUDAExtension("own", ["a.cu"], extra_compile_args={"nvcc": ["-gencode=arch=compute_90a,code=sm_90a"]}),
    CUDAExtension("torchs", ["b.cu"]),
    CUDAExtension("host", ["c.cpp"]),
])
"""


def test_extensions(tmp_path: Path) -> None:
    found = builds(tmp_path, setup__py=SETUP)["builds"]
    assert [(b["name"], b["kind"], b["line"], images(b)) for b in found] == [
        ("own", "extension", 4, ["sm_90a:4"]),
        ("torchs", "extension", 5, []),
    ]
    assert found[1]["unknowns"] == ["TORCH_CUDA_ARCH_LIST", "the GPU of the machine that builds"]
    assert (found[0]["gets"]["sm_90"], found[0]["gets"]["sm_100"], found[1]["gets"]["sm_90"]) == (
        "native",
        "none",
        "unknown",
    )


def test_the_newest_is_found_by_number(tmp_path: Path) -> None:
    text = """from torch.utils.cpp_extension import CUDAExtension
archs = ["80", "90", "120"]
newest = max([a for a in archs if a.isdigit()], key=int)
flags = [f"-gencode=arch=compute_{newest},code=compute_{newest}"]
ext = CUDAExtension("k", ["k.cu"], extra_compile_args={"nvcc": flags + ["-arch=sm_" + sorted(archs, key=lambda a: int(a))[1]]})
"""
    (one,) = builds(tmp_path, setup__py=text)["builds"]
    assert sorted(i["arch"] + i["kind"][0] for i in one["images"]) == ["sm_120p", "sm_90c", "sm_90p"]


def test_what_the_user_sets_reaches_what_torch_builds(tmp_path: Path) -> None:
    document = builds(tmp_path, "--set", "TORCH_CUDA_ARCH_LIST=8.0;12.0+PTX", setup__py=SETUP)
    own, torchs = document["builds"]
    assert images(own) == ["sm_90a:4"]  # its flags are there already: torch adds none
    assert images(torchs) == ["sm_80:5", "sm_120:5", "ptx:sm_120:5"]
    assert torchs["settings"] == {"TORCH_CUDA_ARCH_LIST": "8.0;12.0+PTX"}
    assert [torchs["gets"][f"sm_{sm}"] for sm in (75, 80, 89, 90, 120, 121)] == [
        "none", "native", "compatible", "none", "native", "compatible",
    ]  # fmt: skip


def test_an_entry_that_torch_or_the_toolkit_refuses(tmp_path: Path) -> None:
    (_, torchs) = builds(tmp_path, "--set", "TORCH_CUDA_ARCH_LIST=12.0f", setup__py=SETUP)["builds"]
    assert [d["asked"] for d in torchs["dropped"]] == ["12.0f"]
    (_, old) = builds(tmp_path, "--set", "TORCH_CUDA_ARCH_LIST=7.0;9.0", setup__py=SETUP)["builds"]
    assert set(old["gets"].values()) == {"none"}  # 13.0 refuses 7.0, and builds nothing at all
    (_, new) = builds(tmp_path, "--cuda", "12.8", "--set", "TORCH_CUDA_ARCH_LIST=7.0;9.0", setup__py=SETUP)["builds"]
    assert (new["gets"]["sm_70"], new["gets"]["sm_90"]) == ("native", "native")


CMAKE = """cmake_minimum_required(VERSION 3.24)
project(x LANGUAGES CXX)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90-real)
endif()
enable_language(CUDA)
add_library(k SHARED k.cu)
add_library(h SHARED h.cu)
set_target_properties(h PROPERTIES CUDA_ARCHITECTURES "90a;120f")
add_library(c SHARED c.cpp)
add_subdirectory(sub)
"""


def test_targets(tmp_path: Path) -> None:
    sub = {"sub/CMakeLists__txt": "set(CMAKE_CUDA_ARCHITECTURES 100)\nadd_library(s SHARED s.cu)\n"}
    found = builds(tmp_path, CMakeLists__txt=CMAKE, **sub)["builds"]
    assert [(b["name"], b["path"], images(b)) for b in found] == [
        ("k", "CMakeLists.txt", ["sm_80:4", "ptx:sm_80:4", "sm_90:4"]),
        ("h", "CMakeLists.txt", ["sm_90a:9", "ptx:sm_90a:9", "sm_120f:9", "ptx:sm_120f:9"]),
        ("s", "sub/CMakeLists.txt", ["sm_100:1", "ptx:sm_100:1"]),
    ]
    assert {i["arch"] for i in found[1]["images"]} == {"sm_90a", "sm_120f"}
    (asked, *_) = builds(tmp_path, "-DCMAKE_CUDA_ARCHITECTURES=75-real")["builds"]
    assert [i["arch"] for i in asked["images"]] == ["sm_75"]


def test_the_language_brings_the_default_of_nvcc(tmp_path: Path) -> None:
    """After project(... CUDA) the variable is set: a default that comes later is never used."""
    text = CMAKE.replace("LANGUAGES CXX)", "LANGUAGES CXX CUDA)")
    assert [i["arch"] for i in builds(tmp_path, CMakeLists__txt=text)["builds"][0]["images"]] == ["sm_75", "sm_75"]
    old = builds(tmp_path, "--cuda", "12.8")["builds"][0]
    assert [i["arch"] for i in old["images"]] == ["sm_52", "sm_52"]


def test_what_is_asked_and_dropped(tmp_path: Path) -> None:
    text = """set(KNOWN "9.0;12.0")
foreach(a IN LISTS TORCH_CUDA_ARCH_LIST)
  if(a IN_LIST KNOWN)
    string(REPLACE "." "" n "${a}")
    list(APPEND F "-gencode=arch=compute_${n},code=sm_${n}")
  endif()
endforeach()
add_library(k k.cu)
target_compile_options(k PRIVATE ${F})
"""
    (one,) = builds(tmp_path, "--set", "TORCH_CUDA_ARCH_LIST=9.0;12.1", CMakeLists__txt=text)["builds"]
    assert [i["arch"] for i in one["images"]] == ["sm_90"]
    assert [d["asked"] for d in one["dropped"]] == ["12.1"]
    assert (one["gets"]["sm_90"], one["gets"]["sm_121"]) == ("native", "none")


def test_what_to_set(tmp_path: Path) -> None:
    """The form that the code needs: e2m1 conversions assemble on `a` and `f` only."""
    code = '__global__ void k() { asm volatile("griddepcontrol.wait;"); }\n'
    plain = builds(tmp_path, "--for", "sm120", setup__py=SETUP, b__cu=code)["set"]
    assert (plain[0]["how"], plain[0]["text"]) == ("environment", 'TORCH_CUDA_ARCH_LIST="12.0"')
    assert (plain[0]["form"], plain[0]["toolkit"]) == ("plain", ">=12.8")
    fp4 = '__global__ void k() { asm volatile("cvt.rn.satfinite.e2m1x2.f32 t, %0, %1;" :: "f"(0.f), "f"(0.f)); }\n'
    suffixed = builds(tmp_path, "--for", "sm120", b__cu=fp4)["set"]
    assert suffixed[0]["form"] == "f" and suffixed[0]["toolkit"] == ">=12.9"
    assert builds(tmp_path, "--for", "sm_120a")["set"][0]["text"] == 'TORCH_CUDA_ARCH_LIST="12.0a"'
    cmake = builds(tmp_path / "c", "--for", "sm121", CMakeLists__txt=CMAKE)["set"]
    assert ("cmake", "-DCMAKE_CUDA_ARCHITECTURES=121-real", ">=12.9") in {
        (a["how"], a["text"], a["toolkit"]) for a in cmake
    }


def test_text_and_matrix(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("F := -gencode arch=compute_80,code=sm_80\n")
    text = CliRunner().invoke(archscan, ["builds", "--no-cache", str(tmp_path)]).stdout
    assert "images    sm_80  from Makefile:1" in text and "same major: 86 88 89" in text
    matrix = CliRunner().invoke(archscan, ["builds", "--no-cache", "-f", "matrix", str(tmp_path)]).stdout
    assert matrix.splitlines()[1].split() == ["F", ".", "N", "c", "?", "c", ".", ".", ".", ".", ".", "."]


def test_a_setting_without_a_value_is_refused(tmp_path: Path) -> None:
    from archscan.cli import run

    (tmp_path / "Makefile").write_text("x:\n")
    assert run(["builds", "--set", "X", str(tmp_path)]) == 2


def test_what_is_not_read_is_in_the_document_too(tmp_path: Path) -> None:
    text = 'import os\nflags = ["-gencode=arch=compute_{0},code=sm_{0}".format(load())]\nsetup(flags)\n'
    assert builds(tmp_path / "a", setup__py="def broken(:  # -gencode\n")["not_read"] != []
    assert builds(tmp_path / "b", setup__py=SETUP)["not_read"] == []
    assert builds(tmp_path / "c", setup__py=text)["builds"] == []


def test_a_build_that_the_toolkit_stops_says_so(tmp_path: Path) -> None:
    text = "nvcc -gencode arch=compute_{},code=sm_{} -c a.cu\n"
    (one,) = builds(tmp_path / "a", build__sh=text.format(70, 70))["builds"]
    (other,) = builds(tmp_path / "b", build__sh=text.format(75, 75))["builds"]
    assert (one["stops"], one["gets"]["sm_75"]) == (True, "none")
    assert (other["stops"], other["gets"]["sm_75"]) == (False, "native")


@pytest.mark.parametrize(
    ("value", "hangs"),
    [("native", ["the GPU of the machine that builds"]), ("${FOUND}", ["FOUND"]), ("86", []), ("ampere", ["ampere"])],
)
def test_nothing_is_only_said_of_what_is_known(value: str, hangs: list[str], tmp_path: Path) -> None:
    text = f"project(p LANGUAGES CUDA)\nadd_library(a a.cu)\nset_target_properties(a PROPERTIES CUDA_ARCHITECTURES {value})\n"
    (one,) = builds(tmp_path, CMakeLists__txt=text)["builds"]
    assert one["unknowns"] == hangs
    assert one["gets"]["sm_75"] == ("unknown" if hangs else "none")


def test_flags_that_are_not_known_are_told(tmp_path: Path) -> None:
    """Nothing was said of them: a list that comes from elsewhere is no list that asks for nothing."""
    text = (
        "from distutils.extension import Extension\n"
        'args = ["-gencode=arch=compute_" + cc + ",code=sm_" + cc for cc in CHIPS]\n'
        'ext = Extension("k", sources=["k.cu"], extra_compile_args={"nvcc": args})\nsetup(ext_modules=[ext])\n'
    )
    (tmp_path / "setup.py").write_text("CHIPS = load()\n" + text)
    (build,) = builds(tmp_path)["builds"]
    assert build["unknowns"] == ["load()"]
    assert set(build["gets"].values()) == {"unknown"}
    (tmp_path / "setup.py").write_text('CHIPS = ["80"]\n' + text)
    (build,) = builds(tmp_path)["builds"]
    assert (build["unknowns"], build["gets"]["sm_80"]) == ([], "native")


@pytest.mark.parametrize(("release", "images"), [("11.8", {"sm_52", "ptx:sm_52"}), ("13.0", {"sm_75", "ptx:sm_75"})])
def test_no_architectures_are_those_of_nvcc(release: str, images: set[str], tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "project(p LANGUAGES CXX CUDA)\nadd_library(k k.cu)\nset_target_properties(k PROPERTIES CUDA_ARCHITECTURES OFF)\n"
    )
    (build,) = builds(tmp_path, "--cuda", release)["builds"]
    assert {("ptx:" if i["kind"] == "ptx" else "") + i["arch"] for i in build["images"]} == images


@pytest.mark.parametrize(
    ("release", "entry", "stops"),
    [("8.0", "2.0", False), ("9.0", "2.0", True), ("10.2", "3.0", False), ("11.0", "3.0", True), ("11.0", "8.6", True),
     ("11.1", "8.6", False), ("11.8", "Kepler", False), ("12.0", "Kepler", True)],
)  # fmt: skip
def test_old_toolkits(release: str, entry: str, stops: bool, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(f'ENV TORCH_CUDA_ARCH_LIST="{entry};6.0"\n')
    (build,) = builds(tmp_path, "--cuda", release)["builds"]
    assert build["stops"] is stops


def test_device_code_that_comes_later(tmp_path: Path) -> None:
    """As xgboost does: a folder by its variable, sources by pattern, the list of a function, set before the target."""
    files = {
        "CMakeLists.txt": "project(p LANGUAGES CXX)\nif(USE_CUDA)\n  enable_language(CUDA)\n  set(CMAKE_CUDA_ARCHITECTURES 80-real)\nendif()\n"
        "add_subdirectory(${p_SOURCE_DIR}/src)\n",
        "src/CMakeLists.txt": "file(GLOB_RECURSE CPU *.cc)\nadd_library(k OBJECT)\ntarget_sources(k PRIVATE ${CPU})\nadd_library(host ${CPU})\n"
        "file(GLOB GPU *.cu)\ntarget_sources(k PRIVATE ${GPU})\ntarget_compile_options(host PRIVATE -march=native)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (build,) = builds(tmp_path, "-D", "USE_CUDA=ON")["builds"]
    assert (build["name"], images(build)) == ("k", ["sm_80:4"])


def test_a_loop_over_the_names_of_lists(tmp_path: Path) -> None:
    """As llama.cpp does: `foreach(a IN LISTS ${NAME})`."""
    (tmp_path / "CMakeLists.txt").write_text(
        "project(p LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_ARCHITECTURES 80-real 120-real)\n"
        "foreach(NAME IN ITEMS CMAKE_CUDA_ARCHITECTURES)\n  set(OUT)\n  foreach(A IN LISTS ${NAME})\n"
        '    string(REPLACE "120" "120a" A "${A}")\n    list(APPEND OUT ${A})\n  endforeach()\n  set(${NAME} ${OUT})\nendforeach()\n'
        "add_library(k k.cu)\n"
    )
    (build,) = builds(tmp_path)["builds"]
    assert [i.partition(":")[0] for i in images(build)] == ["sm_80", "sm_120a"]


FLASH = """
import functools, os, platform, shlex
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, CppExtension, IS_HIP_EXTENSION
SKIP = os.getenv("PROJECT_SKIP", "FALSE") == "TRUE"
if os.environ.get("BUILD_TARGET", "auto") == "auto":
    IS_ROCM = True if IS_HIP_EXTENSION else False
@functools.lru_cache(maxsize=None)
def cuda_archs():
    return os.getenv("PROJECT_CUDA_ARCHS", "80;90").split(";")
flags = []
if not SKIP and not IS_ROCM:
    for sm in ("80", "90", "120"):
        if sm in cuda_archs():
            flags += ["-gencode", f"arch=compute_{sm},code=sm_{sm}"]
    if platform.machine() == "aarch64":
        flags += ["-gencode", "arch=compute_87,code=sm_87"]
    ext = CUDAExtension("flash", ["a.cu"], extra_compile_args={"nvcc": flags})
elif not SKIP and IS_ROCM:
    ext = CUDAExtension("flash", ["a.hip.cu"])
setup(ext_modules=[ext])
"""


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ((), {"sm_80", "sm_90"}),
        (("--set", "PROJECT_CUDA_ARCHS=120"), {"sm_120"}),
        (("--set", "PROJECT_SKIP=TRUE"), None),
    ],
)
def test_what_a_script_takes_by_default_holds(options: tuple[str, ...], made: set[str] | None, tmp_path: Path) -> None:
    """As flash-attn does: one extension, nothing that hangs on what nobody set, no build of a list that is only asked."""
    (tmp_path / "setup.py").write_text(FLASH)
    found = builds(tmp_path, *options)["builds"]
    extensions = [build for build in found if build["kind"] == "extension"]
    assert [{i["arch"] for i in build["images"]} for build in extensions] == ([made] if made else [])
    assert len(found) == len(extensions) or made is None
    assert all(build["unknowns"] == [] for build in extensions)


@pytest.mark.parametrize(
    ("options", "made", "unknowns"),
    [
        (("--set", "FORCE_CUDA=1"), set(), ["TORCH_CUDA_ARCH_LIST", "the GPU of the machine that builds"]),
        (("--set", "FORCE_CUDA=1", "--set", "TORCH_CUDA_ARCH_LIST=9.0"), {"sm_90"}, []),
        (("--set", "FORCE_CUDA=1", "--set", "NVCC_FLAGS=-gencode arch=compute_80,code=sm_80"), {"sm_80"}, []),
    ],
)
def test_an_extension_without_a_word_on_flags(
    options: tuple[str, ...], made: set[str], unknowns: list[str], tmp_path: Path
) -> None:
    """As torchvision does: torch's variable decides, or the user's flags."""
    (tmp_path / "setup.py").write_text(
        "import os, shlex, torch\nfrom setuptools import setup\n"
        "from torch.utils.cpp_extension import CppExtension, CUDAExtension\n"
        'FORCE = os.getenv("FORCE_CUDA", "0") == "1"\nNVCC_FLAGS = os.getenv("NVCC_FLAGS", None)\n'
        "CUDA = torch.cuda.is_available() or FORCE\nargs = {'cxx': []}\n"
        "if CUDA:\n    Extension = CUDAExtension\n    args['nvcc'] = [] if NVCC_FLAGS is None else shlex.split(NVCC_FLAGS)\n"
        "else:\n    Extension = CppExtension\n"
        "setup(ext_modules=[Extension(name='vision._C', sources=sorted(glob('*.cu')), extra_compile_args=args)])\n"
    )
    (build,) = builds(tmp_path, *options)["builds"]
    assert ({i["arch"] for i in build["images"]}, build["unknowns"]) == (made, unknowns)


@pytest.mark.parametrize(
    ("text", "given", "made"),
    [
        ("set(CMAKE_CUDA_ARCHITECTURES 80)\n", "90", {"sm_80"}),
        ('set(CMAKE_CUDA_ARCHITECTURES 80 CACHE STRING "")\n', "90", {"sm_90"}),
        ('set(CMAKE_CUDA_ARCHITECTURES 80 CACHE STRING "" FORCE)\n', "90", {"sm_80"}),
        ("if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES 80)\nendif()\n", "90", {"sm_90"}),
        ("list(APPEND CMAKE_CUDA_ARCHITECTURES 80)\n", "90", {"sm_80", "sm_90"}),
    ],
)
def test_what_a_file_sets_stands_before_what_is_given(text: str, given: str, made: set[str], tmp_path: Path) -> None:
    """As cmake does: -D makes an entry of the cache, which a plain set() hides."""
    (tmp_path / "CMakeLists.txt").write_text(f"{text}project(p LANGUAGES CXX CUDA)\nadd_library(k k.cu)\n")
    (build,) = builds(tmp_path, "-D", f"CMAKE_CUDA_ARCHITECTURES={given}")["builds"]
    assert {i["arch"] for i in build["images"]} == made


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('set(OWN_CUDA_ARCHS 80 CACHE STRING "")\nset(CMAKE_CUDA_ARCHITECTURES ${OWN_CUDA_ARCHS})\n', "-DOWN_CUDA_ARCHS=120"),
        ("if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES 80)\nendif()\n",
         "-DCMAKE_CUDA_ARCHITECTURES=120-real"),
        ("set(CMAKE_CUDA_ARCHITECTURES 80)\n", "line 1: add 120, spelled as the entries there"),
        ("set(CMAKE_CUDA_ARCHITECTURES ${SITE_ARCHS})\n", "-DSITE_ARCHS=120"),
        ("set(CMAKE_CUDA_ARCHITECTURES 80 120)\n", None),
    ],
)  # fmt: skip
def test_a_variable_is_named_only_where_it_reaches_the_build(text: str, line: str | None, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(f"{text}project(p LANGUAGES CXX CUDA)\nadd_library(k k.cu)\n")
    assert [one["text"] for one in builds(tmp_path, "--for", "sm120")["set"]] == ([line] if line else [])


def test_the_variable_of_a_script_is_named(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(FLASH)
    (one,) = builds(tmp_path, "--for", "sm120")["set"]
    assert (one["how"], one["text"]) == ("environment", 'PROJECT_CUDA_ARCHS="120"')
    assert builds(tmp_path, "--for", "sm90")["set"] == []


@pytest.mark.parametrize(
    ("flags", "made"),
    [("set(CUDA_NVCC_FLAGS -arch=sm_90)\n", {"ptx:sm_90", "sm_90"}), ("", {"ptx:sm_75", "sm_75"}),
     ('set(CMAKE_CUDA_FLAGS "-arch=sm_80")\n', {"ptx:sm_75", "sm_75"})],
)  # fmt: skip
def test_targets_of_the_old_module(flags: str, made: set[str], tmp_path: Path) -> None:
    """cuda_add_library() hands on CUDA_NVCC_FLAGS; what CMake keeps for the language CUDA is not for it."""
    (tmp_path / "CMakeLists.txt").write_text(
        f"project(p LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_ARCHITECTURES 100)\n{flags}cuda_add_library(k k.cu)\n"
    )
    (build,) = builds(tmp_path)["builds"]
    assert {("ptx:" if i["kind"] == "ptx" else "") + i["arch"] for i in build["images"]} == made


@pytest.mark.parametrize(("cuda", "stops"), [("13.0", True), ("12.9", False)])
def test_a_configure_that_ends_builds_nothing(cuda: str, stops: bool, tmp_path: Path) -> None:
    text = (
        "cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES CXX CUDA)\n"
        'if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)\n  message(FATAL_ERROR "CUDA 12 only")\nendif()\n'
        "set(CMAKE_CUDA_ARCHITECTURES 90)\nadd_library(k k.cu)\n"
    )
    (build,) = builds(tmp_path, "--cuda", cuda, CMakeLists__txt=text)["builds"]
    assert (build["stops"], build["gets"]["sm_90"]) == (stops, "none" if stops else "native")
    assert [(one["line"], one["why"]) for one in build["dropped"]] == (
        [(4, "message(FATAL_ERROR): CUDA 12 only")] if stops else []
    )


@pytest.mark.parametrize(
    ("name", "default", "line"),
    [
        ("torch_cuda_arch_list", "8.0;9.0", "-Dtorch_cuda_arch_list=12.0"),
        ("torch_cuda_arch_list", "80;90", "-Dtorch_cuda_arch_list=12.0"),
        ("KERNEL_ARCHS", "8.0;9.0", "-DKERNEL_ARCHS=12.0"),
        ("KERNEL_ARCHS", "80;90", "-DKERNEL_ARCHS=120"),
    ],
)
def test_a_variable_is_given_in_its_own_spelling(name: str, default: str, line: str, tmp_path: Path) -> None:
    text = (
        "cmake_minimum_required(VERSION 3.24)\nproject(p LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_ARCHITECTURES OFF)\n"
        f'set({name} "{default}" CACHE STRING "")\nset(flags "")\nforeach(arch IN LISTS {name})\n'
        '  string(REPLACE "." "" number "${arch}")\n'
        '  list(APPEND flags "-gencode=arch=compute_${number},code=sm_${number}")\nendforeach()\n'
        'add_library(k k.cu)\ntarget_compile_options(k PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${flags}>")\n'
    )
    found = builds(tmp_path, "--for", "sm120", CMakeLists__txt=text)
    assert {one["arch"] for one in found["builds"][0]["images"]} == {"sm_80", "sm_90"}
    assert [one["text"] for one in found["set"]] == [line]


@pytest.mark.parametrize(
    ("named", "made"),
    [
        ("set_source_files_properties(k.cpp PROPERTIES LANGUAGE CUDA)", True),
        ("set_property(SOURCE a.cpp k.cpp PROPERTY LANGUAGE CUDA)", True),
        ("set_source_files_properties(other.cpp PROPERTIES LANGUAGE CUDA)", False),
        ("set_source_files_properties(k.cpp PROPERTIES LANGUAGE CXX)", False),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_a_source_is_device_code_by_its_property(named: str, made: bool, first: bool, tmp_path: Path) -> None:
    lines = ["add_library(k k.cpp)", named]
    text = (
        "cmake_minimum_required(VERSION 3.24)\nset(CMAKE_CUDA_ARCHITECTURES 90-real)\nproject(p LANGUAGES CXX CUDA)\n"
        + "\n".join([*(reversed(lines) if first else lines), "add_library(beside beside.cu)", ""])
    )
    found = builds(tmp_path, CMakeLists__txt=text)["builds"]
    assert {one["name"] for one in found} == ({"k", "beside"} if made else {"beside"})
    assert {i["arch"] for one in found for i in one["images"]} == {"sm_90"}
