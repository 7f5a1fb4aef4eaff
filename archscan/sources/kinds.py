"""Which file names hold code that some front end may read. Wider than any one front end, narrower than everything."""

from __future__ import annotations

SUFFIXES = frozenset({
    ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inl", ".inc", ".ipp", ".tcc", ".c", ".cc", ".cpp", ".cxx",
    ".c++", ".py", ".pyi", ".cmake", ".mk", ".jinja", ".jinja2", ".j2", ".tpl", ".in", ".toml", ".cfg",
})  # fmt: skip
NAMES = frozenset({"cmakelists.txt", "makefile", "gnumakefile", "setup.py", "pyproject.toml", "setup.cfg"})
# Of these suffixes only files that are known by name, or whose name goes on with a suffix above (kernel.cu.in).
_ONLY_BY_NAME = frozenset({".toml", ".cfg", ".in", ".j2", ".tpl", ".jinja", ".jinja2"})
_TEMPLATES = frozenset({".in", ".j2", ".tpl", ".jinja", ".jinja2"})
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz", ".egg")


def is_source(name: str, folder: str = "") -> bool:
    """Whether a file of that name in that folder may hold code that archscan reads."""
    lower = name.lower()
    if lower in NAMES:
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


def may_be_header(name: str, folder: str) -> bool:
    """Whether a file without a suffix may be a header as those of the standard library are: include/cuda/std/atomic."""
    return name.isidentifier() and name.islower() and "include" in folder.replace("\\", "/").split("/")


def is_cmake(path: str) -> bool:
    """Whether a file is CMake's, by its name."""
    return path.rsplit("/", 1)[-1] == "CMakeLists.txt" or path.endswith((".cmake", ".cmake.in"))


def is_archive(name: str) -> bool:
    """Whether a file of that name is a wheel, sdist or zip that is read in place."""
    return name.lower().endswith(ARCHIVES)
