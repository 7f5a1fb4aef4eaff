"""Reads build scripts in Python, and Starlark: the flags that they make, evaluated in memory; runs nothing."""

from __future__ import annotations

import ast

from archscan.frontends.build.flags import code_makes_flags
from archscan.frontends.build.python.lists import lists_of, unread
from archscan.frontends.build.python.running import evaluated, parsed
from archscan.frontends.build.python.script import MAX_STEPS
from archscan.frontends.build.reading import Given, Reading, finished


def read_python(data: bytes, given: Given) -> Reading:
    """The lists of a build script in Python; nothing where only its comments speak of flags."""
    tree = parsed(data)
    if isinstance(tree, ast.Module) and not code_makes_flags(data, tree):
        return Reading(told=((0, len(data)),))
    return _read(data, tree, given)


def read_starlark(data: bytes, given: Given) -> Reading:
    """The lists of a BUILD or .bzl file, which are Python as far as syntax goes."""
    return _read(data, parsed(data), given)


def _read(data: bytes, tree: ast.Module | str, given: Given) -> Reading:
    if isinstance(tree, str):
        return Reading(unread=((0, tree),))
    script = evaluated(data, tree, given)
    problems = ("too long to evaluate: what comes late in it was not looked at",) if script.steps > MAX_STEPS else ()
    lists = finished(lists_of(script))
    left = tuple((at, end) for at, end in script.left.items() if at not in script.entered)
    return Reading(lists, tuple(unread(script, lists)), problems, told=((0, len(data)),), left=left)
