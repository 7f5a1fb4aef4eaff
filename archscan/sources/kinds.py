"""Which file names hold code that some front end may read. Wider than any one front end, narrower than everything."""

from __future__ import annotations

import re
from functools import lru_cache

SUFFIXES = frozenset({
    ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".inc", ".ipp", ".tcc", ".c", ".cc", ".cpp", ".cxx",
    ".c++", ".py", ".pyi", ".cmake", ".mk", ".jinja", ".jinja2", ".j2", ".tpl", ".in", ".toml", ".cfg",
})  # fmt: skip
NAMES = frozenset({"cmakelists.txt", "makefile", "gnumakefile", "setup.py", "pyproject.toml", "setup.cfg"})
# Of these suffixes only files that are known by name, or whose name goes on with a suffix above (kernel.cu.in).
_ONLY_BY_NAME = frozenset({".toml", ".cfg", ".in", ".j2", ".tpl", ".jinja", ".jinja2"})
_TEMPLATES = frozenset({".in", ".j2", ".tpl", ".jinja", ".jinja2"})
# Compiled: libraries, objects and images that are loaded by themselves; libnccl.so.2 too
_LIBRARY = re.compile(r".+\.(?:so(?:\.\d+)*|dll|pyd|a|lib|o|obj|cubin|fatbin|ptx)", re.IGNORECASE)
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz", ".egg")


def is_source(name: str, folder: str = "") -> bool:
    """Whether a file of that name in that folder may hold code that archscan reads."""
    lower = name.lower()
    if lower in NAMES or (_MAY_BUILD.search(lower) is not None and build_kind(f"{folder}/{name}") is not None):
        return True
    stem, dot, suffix = lower.rpartition(".")
    if not dot:
        return may_be_header(name, folder)
    suffix = dot + suffix
    if suffix not in SUFFIXES or lower.startswith("._"):  # ._x.py: what macOS leaves beside x.py, no code
        return False
    if suffix in (".jinja", ".jinja2"):
        return True
    return suffix not in _ONLY_BY_NAME or (suffix in _TEMPLATES and is_source(stem))


def is_library(name: str) -> bool:
    """Whether a file of that name may hold GPU images."""
    return _LIBRARY.fullmatch(name) is not None and not name.startswith("._")


# Build files besides CMake's and Python's: what reads them -> what their path looks like. The first that fits counts.
BUILD_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?:^|/)(?:{pattern})$", re.IGNORECASE))
    for kind, pattern in (
        (
            "make",
            r"(?:gnu)?makefile(?:\.(?!in$|py$|md$)[\w-]+)?|[^/]+\.(?:mk|mak)|make\.(?:inc|config|defs)[\w.-]*",
        ),
        ("shell", r"[^/]+\.(?:sh|bash|zsh|ksh)|configure"),
        ("batch", r"[^/]+\.(?:bat|cmd)"),
        ("docker", r"(?:docker|container)file(?:[.-][\w.-]+)?|[^/]+\.(?:docker|container)file"),
        ("presets", r"cmake(?:user)?presets\.json"),
        ("bazelrc", r"[\w.-]*\.bazelrc|bazelrc"),
        ("starlark", r"(?:build|workspace|module)(?:\.bazel)?|[^/]+\.bzl"),
        ("meson", r"meson\.build|meson_options\.txt|meson\.options|[^/]+\.meson"),
        ("config", r"(?:pyproject|pixi|uv)\.toml|(?:setup|tox)\.cfg|tox\.ini|[\w.-]*meson[\w.-]*\.ini"),
        ("environment", r"(?:[\w-]*\.)?env(?:\.[\w-]+)?"),
        ("yaml", r"\.(?:github|circleci|buildkite|azure-pipelines|ci|gitlab|kokoro)/(?:[^/]+/)*[^/]+\.ya?ml"),
        ("yaml", r"action\.ya?ml|\.?(?:gitlab-ci|travis|appveyor|cirrus|azure-pipelines|woodpecker)[\w.-]*\.ya?ml"),
        ("yaml", r"(?:docker-)?compose[\w.-]*\.ya?ml|conda[^/]*/(?:[^/]+/)*[^/]+\.ya?ml"),
        ("yaml", r"(?:meta|recipe|conda_build_config|environment[\w.-]*|conda[\w.-]*|cog)\.ya?ml"),
    )
)
_MAY_BUILD = re.compile(
    r"make|\.(?:mk|mak|bat|cmd|sh|bash|zsh|ksh|bzl|bazel|ya?ml|ini)$|dockerfile|containerfile|presets\.json$|bazelrc|^build$|^workspace$"
    r"|meson|^configure$|^(?:pixi|uv)\.toml$|^tox|env"
)
_CMAKE_TEMPLATE = re.compile(r"(?:[^.]|\.(?!(?:h|hh|hpp|hxx|c|cc|cpp|cxx|py|pc|rc|json|xml|txt)\.))*\.cmake\.in")
# Hidden directories that hold files of builds
BUILD_DIRECTORIES = frozenset({".github", ".circleci", ".buildkite", ".azure-pipelines", ".ci", ".gitlab", ".kokoro"})


def build_kind(path: str) -> str | None:
    """What reads a build file of that path; None for others, and for those of CMake and Python."""
    path = path.replace("\\", "/")
    return next((kind for kind, pattern in BUILD_KINDS if pattern.search(path)), None)


def may_be_header(name: str, folder: str) -> bool:
    """Whether a file without a suffix may be a header as those of the standard library are: include/cuda/std/atomic."""
    return name.isidentifier() and name.islower() and "include" in folder.replace("\\", "/").split("/")


def is_cmake(path: str) -> bool:
    """Whether a file is CMake's, by its name; config.h.cmake.in is a header that cmake fills in."""
    name = path.rsplit("/", 1)[-1]
    return name == "CMakeLists.txt" or name.endswith(".cmake") or _CMAKE_TEMPLATE.fullmatch(name) is not None


CUDA_SUFFIXES = (
    ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".inc", ".ipp", ".tcc",
    ".c", ".cc", ".cpp", ".cxx", ".c++",
)  # fmt: skip
CUDA_TEMPLATES = (".jinja", ".jinja2", ".j2", ".tpl", ".in")
CUDA_IN_TEXT = b"__CUDA_ARCH"  # what Python has in it that holds kernels in its texts
LINKED_SUFFIXES = (
    ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".c", ".cc", ".cpp", ".cxx", ".jinja",
)  # fmt: skip


def may_be_cuda(path: str) -> bool:
    """Whether a file is C++ by its name, may be, or may hold such in its texts."""
    return path.endswith((*CUDA_SUFFIXES, ".py")) or is_cuda_template(path) or is_bare(path)


def is_bare(path: str) -> bool:
    """Whether a file has no suffix, as the headers of <cuda/std/…> do."""
    return "." not in path.rpartition("/")[2]


def is_cuda_template(path: str) -> bool:
    """Whether a program completes the file: kernel.cu.jinja, config.h.in."""
    stem, dot, suffix = path.rpartition(".")
    return dot + suffix in CUDA_TEMPLATES and stem.endswith(CUDA_SUFFIXES)


def is_python(path: str) -> bool:
    """Whether a file is a module or a stub of Python, by its name."""
    return path.endswith((".py", ".pyi"))


@lru_cache(maxsize=1 << 16)  # every step asks it of all files
def is_build_script(path: str) -> bool:
    """Whether a file is a build file other than CMake's, by its path."""
    return build_kind(path) is not None


def may_link(path: str) -> bool:
    """Whether a file may include, build or export another, by its name."""
    return path.endswith((*LINKED_SUFFIXES, ".py")) or is_cmake(path)


def is_archive(name: str) -> bool:
    """Whether a file of that name is a wheel, sdist or zip that is read in place."""
    return name.lower().endswith(ARCHIVES)
