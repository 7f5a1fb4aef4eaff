"""Environment variables: what the user says, what the script sets, their defaults."""

from __future__ import annotations

import ast

from archscan.frontends.build.python.script import Script
from archscan.frontends.build.python.values import Items, Str, Unknown, Value
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.traced import written


def environment_call(
    script: Script, method: str, node: ast.Call, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    name = arguments[0].known if arguments and isinstance(arguments[0], Str) else None
    default = arguments[1] if len(arguments) > 1 else keywords.get("default")
    if name is None:
        return Unknown(("an environment variable",))
    if method == "setdefault":
        script.set_environment(name, default)
    if method == "pop":
        script.take_back(name)
    nothing = default is None and (len(arguments) > 1 or "default" in keywords) and method != "setdefault"
    if nothing and script.given.is_default and not is_arch_name(name) and script.given.value(name) is None:
        return None
    return read_environment(script, name, default, required=False)


def read_environment(script: Script, name: str, default: Value, required: bool) -> Value:
    """An environment variable: what the user says, else its default."""
    user = script.given.value(name)
    if user is not None:
        return Str(written(user))
    for known, value in reversed(script.set_here):
        if known == name:
            return value
    if default is None or required:
        return Unknown((name,))
    if isinstance(default, Str):
        for run in default.runs:
            if run.at >= 0:
                script.environment[run.at] = name
        if not is_arch_name(name) and not script.given.is_default:
            return (
                Unknown((name,))
                if default.known in ("", "0", "1", "OFF", "ON", "FALSE", "TRUE", "False", "True")
                else default
            )
    return default if isinstance(default, Str | Items) else Unknown((name,))
