"""Build scripts in Python, and Starlark, evaluated in memory: what they make of architectures; runs nothing.

`script.py` holds what is known while a script is evaluated, `statements.py` and `expressions.py` evaluate it,
`running.py` says what is evaluated, `lists.py` and `known.py` what it comes to.
"""

from archscan.frontends.build.python.known import Known, known_lists
from archscan.frontends.build.python.lists import lists_of, unread
from archscan.frontends.build.python.reader import read_python, read_starlark
from archscan.frontends.build.python.running import evaluated, parsed, run_script
from archscan.frontends.build.python.script import Extension, Script

__all__ = [
    "Extension",
    "Known",
    "Script",
    "evaluated",
    "known_lists",
    "lists_of",
    "parsed",
    "read_python",
    "read_starlark",
    "run_script",
    "unread",
]
