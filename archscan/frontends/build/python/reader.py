"""Reads build scripts in Python, and Starlark: the flags that they make, evaluated in memory; runs nothing."""

from __future__ import annotations

from archscan.frontends.build.python.lists import lists_of, unread
from archscan.frontends.build.python.running import evaluated, parsed
from archscan.frontends.build.python.script import MAX_STEPS
from archscan.frontends.build.reading import Given, Reading, finished


def read_python(data: bytes, given: Given) -> Reading:
    """The lists of a build script in Python."""
    tree = parsed(data)
    if isinstance(tree, str):
        return Reading(unread=((0, tree),))
    script = evaluated(data, tree, given)
    problems = ("too long to evaluate: what comes late in it was not looked at",) if script.steps > MAX_STEPS else ()
    lists = finished(lists_of(script))
    left = tuple((at, end) for at, end in script.left.items() if at not in script.entered)
    return Reading(lists, tuple(unread(script, lists)), problems, told=((0, len(data)),), left=left)


def read_starlark(data: bytes, given: Given) -> Reading:
    """The lists of a BUILD or .bzl file, which are Python as far as syntax goes."""
    return read_python(data, given)
