"""Which reader reads a build file, by its kind: one table."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from archscan.frontends.build.reading import Given, Reading
from archscan.sources.kinds import build_kind

Reader = Callable[[bytes, Given], Reading]

# Imported when a file is read.
_READERS = {
    "make": ("make", "read_make"),
    "shell": ("shell", "read_shell"),
    "batch": ("batch", "read_batch"),
    "docker": ("docker", "read_docker"),
    "presets": ("settings", "read_presets"),
    "bazelrc": ("settings", "read_bazelrc"),
    "config": ("settings", "read_config"),
    "environment": ("settings", "read_environment"),
    "yaml": ("workflows", "read_yaml"),
    "meson": ("meson", "read_meson"),
    "starlark": ("python", "read_starlark"),
}


def read(path: str, data: bytes, given: Given) -> Reading:
    """The lists of a build file, by the reader for its name."""
    kind = build_kind(path)
    if kind is None:
        return Reading()
    module, function = _READERS[kind]
    reader = cast(Reader, getattr(import_module(f"archscan.frontends.build.{module}"), function))
    return reader(data, given)
