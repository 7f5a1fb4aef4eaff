"""Reads YAML: workflows and actions of GitHub, pipelines of GitLab and others, compose files, conda recipes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from archscan.frontends.build.archlists import ArchList, named_list
from archscan.frontends.build.reading import Given, Reading, finished, of_command, of_variable
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.shell import script_at
from archscan.frontends.build.traced import Text, Ways, combined, readable, unknown, written

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

_SCRIPTS = frozenset({"run", "script", "before_script", "after_script", "command", "cmd", "commands", "install"})
_SETTINGS = frozenset({"env", "environment", "variables", "script_env", "args", "build_args"})
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_JINJA = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_FILLED = re.compile(r"(?<!\$)\{\{.*?\}\}", re.DOTALL)
_SELECTOR = re.compile(r"#\s*\[(.+?)\]\s*$")
_JINJA_SET = re.compile(r"\{%-?\s*set\s+(\w+)\s*=\s*[\"']([^\"']*)[\"']")
_TOOLKIT = re.compile(r"(?i)cuda[-_]?(?:toolkit|version|compiler[-_]version)?")
_LINE = re.compile(r"^[ \t]*(?:--?[\w-]+[= ])?([A-Za-z_]\w*)=[\"']?([^\"'\n]*)[\"']?[ \t]*$", re.MULTILINE)
_NAMED_TOOLKIT = re.compile(rb"(?i)cuda[^\n]{0,30}?\b(1[0-9])\.(\d)|\bcu(1[0-9])(\d)\b")
_RELEASE = re.compile(r"\b(1[0-9])\.(\d)")
_LARGEST = 400_000
MAX_NODES = 20_000
MAX_DEPTH = 40


def read_yaml(data: bytes, given: Given) -> Reading:
    """The lists of a YAML file."""
    import yaml

    if len(data) > _LARGEST:
        return Reading(problems=("too large to be read as a workflow",))
    try:
        text = data.decode("utf-8")
        plain = _without_jinja(text)
        documents = list(yaml.compose_all(plain, Loader=yaml.SafeLoader))
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        return Reading(unread=((0, f"not read as YAML: {' '.join(str(error).split())[:120]}"),))
    named = {(m[1] or m[3], m[2] or m[4]) for m in _NAMED_TOOLKIT.finditer(data)}
    if named:  # the toolkits that the jobs build with
        release = ".".join(part.decode() for part in next(iter(named))) if len(named) == 1 else ""
        given = replace(given, release=release)
    reader = _Workflow(data, text, given)
    for match in _JINJA_SET.finditer(text):
        reader.around[match[1]] = (written(match[2], reader.at(match.start(2))),)
    for document in documents:
        if document is not None:
            reader.node(document, "", reader.around, given)
    return Reading(finished(reader.lists), told=tuple(reader.told), unread=tuple(reader.unread))


def _without_jinja(text: str) -> str:
    """The text with what Jinja puts in as plain words of the same length."""
    text = _JINJA.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return _FILLED.sub(lambda m: re.sub(r"[^\w\n]", "_", m[0]), text)


@dataclass
class _Workflow:
    """A document while it is read."""

    data: bytes
    text: str
    given: Given
    lists: list[ArchList] = field(default_factory=list)
    told: list[tuple[int, int]] = field(default_factory=list)
    unread: list[tuple[int, str]] = field(default_factory=list)
    around: dict[str, Ways] = field(default_factory=dict)  # by name: variables, and expressions as matrix.x
    nodes: int = 0
    depth: int = 0

    def at(self, index: int) -> int:
        """The byte offset of a character."""
        if self.text.isascii():
            return index
        return len(self.text[:index].encode())

    def node(self, node: Any, key: str, variables: dict[str, Ways], given: Given) -> None:
        """Goes through a node with the variables around it."""
        self.nodes += 1
        if self.nodes > MAX_NODES or self.depth > MAX_DEPTH:  # an alias may stand within what it names
            return
        self.depth += 1
        self.inside(node, key, variables, given)
        self.depth -= 1

    def inside(self, node: Any, key: str, variables: dict[str, Ways], given: Given) -> None:
        if node.id == "mapping":
            self.mapping(node, key, dict(variables), given)
        elif node.id == "sequence":
            if all(item.id == "scalar" for item in node.value) and self.listed(node, key, given):
                return
            shared = dict(variables)
            for item in node.value:
                if item.id == "scalar" and key in _SCRIPTS:
                    shared = self.script(item, shared, given)
                else:
                    self.node(item, key, shared, given)
        elif key in _SCRIPTS:
            self.script(node, variables, given)
        else:
            self.scalar(node, key, variables, given)

    def mapping(self, node: MappingNode, key: str, variables: dict[str, Ways], given: Given) -> None:
        """A mapping: its variables hold for everything in it."""
        pairs = [(name.value, value) for name, value in node.value if name.id == "scalar"]
        for name, value in pairs:
            if value.id == "mapping":
                self.note(name, value, variables)
            elif value.id == "scalar" and _TOOLKIT.fullmatch(name) and (found := _RELEASE.search(value.value)):
                given = replace(given, release=f"{found[1]}.{found[2]}")
        for name, value in pairs:
            if key == "inputs" or name == "description":
                self.told.append((self.at(value.start_mark.index), self.at(value.end_mark.index)))
            else:
                self.node(value, name if name not in ("include", "matrix") else key, variables, given)

    def note(self, name: str, value: MappingNode, variables: dict[str, Ways]) -> None:
        """What a mapping of this name says about variables, rows of a matrix and inputs."""
        if name in _SETTINGS:
            for inner, held in value.value:
                if inner.id == "scalar" and held.id == "scalar":
                    ways = self.resolved(self.value(held), variables)
                    variables[inner.value] = variables[f"env.{inner.value}"] = ways
        elif name == "matrix":
            self.matrix(value, variables)
        elif name in ("strategy", "parallel"):
            for inner, held in value.value:
                if inner.id == "scalar" and inner.value == "matrix" and held.id == "mapping":
                    self.matrix(held, variables)
        elif name == "inputs":
            self.inputs(value, variables)

    def matrix(self, node: MappingNode, variables: dict[str, Ways]) -> None:
        """The rows of a matrix: what matrix.x may be."""
        rows: dict[str, list[Text]] = {}
        for name, value in node.value:
            if name.id != "scalar" or value.id != "sequence":
                continue
            for item in value.value:
                if item.id == "scalar":
                    rows.setdefault(name.value, []).append(self.value(item))
                elif item.id == "mapping":
                    for inner, held in item.value:
                        if inner.id == "scalar" and held.id == "scalar":
                            rows.setdefault(
                                inner.value if name.value == "include" else f"{name.value}.{inner.value}", []
                            ).append(self.value(held))
        for name, texts in rows.items():
            variables[f"matrix.{name}"] = tuple(dict.fromkeys(texts))[:12]

    def inputs(self, node: MappingNode, variables: dict[str, Ways]) -> None:
        """Inputs of an action or workflow: what they are by default."""
        for name, value in node.value:
            if name.id != "scalar" or value.id != "mapping":
                continue
            default = next((v for k, v in value.value if k.value == "default" and v.id == "scalar"), None)
            if default is not None:
                text = self.value(default)
                variables[f"inputs.{name.value}"] = (text,)
                self.lists += of_variable(name.value, (text,), self.given, name.value)

    def listed(self, node: SequenceNode, key: str, given: Given) -> bool:
        """A list of architectures under a name, as in a matrix."""
        if not is_arch_name(key) or not node.value:
            return False
        parts = [part for item in node.value for part in (*self.value(item), *written(" "))]
        found = named_list(key, tuple(parts), given.catalog, given.release)
        if found is not None:
            self.lists.append(found)
        return found is not None

    def scalar(self, node: ScalarNode, key: str, variables: dict[str, Ways], given: Given) -> None:
        """A text: the value of a variable, or options of some command."""
        if key in ("name", "description", "title", "summary"):
            self.told.append((self.at(node.start_mark.index), self.at(node.end_mark.index)))
            return
        lines = list(
            _LINE.finditer(self.data[self.at(node.start_mark.index) : self.at(node.end_mark.index)].decode("latin-1"))
        )
        if node.style in ("|", ">") and len(lines) > 0:  # NAME=value lines, as for build arguments
            for line in lines:
                value = written(line[2], self.at(node.start_mark.index) + line.start(2))
                for way in self.resolved(value, variables):
                    self.lists += of_variable(line[1], (way,), given, line[1])
            return
        for way in self.resolved(self.value(node), variables):
            found = list(of_variable(key, (way,), given, key)) if is_arch_name(key) else []
            self.lists += found or of_command(way, given)

    def script(self, node: ScalarNode, variables: dict[str, Ways], given: Given) -> dict[str, Ways]:
        """A script: read as a shell does; the variables after it."""
        start, end = self.at(node.start_mark.index), self.at(node.end_mark.index)
        lead = 0
        if node.style in ("|", ">"):
            header = self.data.find(b"\n", start, end)
            lead = (header + 1 - start) if header >= 0 else 0
        elif node.style in ("'", '"'):
            lead, end = 1, end - 1
        names = dict(variables)
        part = self.data[start + lead : end].decode("latin-1")

        def renamed(match: re.Match[str]) -> str:
            name = re.sub(r"\W", "_", match[0][2:-1])
            names[name] = self.expression(match[1], variables)
            return "${" + name + "}"

        whole = b" " * (start + lead) + _EXPRESSION.sub(renamed, part).encode("latin-1")
        script = script_at(whole, start + lead, len(whole), given, names)
        self.lists += script.lists
        self.told += script.told
        return script.variables

    def expression(self, text: str, variables: dict[str, Ways]) -> Ways:
        """What ${{ ... }} may be: a variable, a row of the matrix, a default; else unknown."""
        name = text.strip()
        if name in variables:
            return variables[name]
        parts = [part.strip() for part in name.split("||")]
        known = [variables[part] for part in parts if part in variables]
        quoted = re.fullmatch(r"'([^']*)'", parts[-1])
        if len(parts) > 1 and quoted and not known:
            return (written(quoted[1]),)
        return tuple(way for ways in known for way in ways) or (unknown(readable(name)),)

    def resolved(self, text: Text, variables: dict[str, Ways]) -> Ways:
        """A text with its expressions put in."""
        return combined(self._resolved(text, variables))

    def _resolved(self, text: Text, variables: dict[str, Ways]) -> Iterator[Ways]:
        for run in text:
            position, whole = 0, run.text or ""
            for match in _EXPRESSION.finditer(whole):
                yield (written(whole[position : match.start()], run.at + position if run.at >= 0 else -1),)
                yield self.expression(match[1], variables)
                position = match.end()
            yield (written(whole[position:], run.at + position if run.at >= 0 else -1),)

    def value(self, node: ScalarNode) -> Text:
        """The text of a scalar, where it stands."""
        start = self.at(node.start_mark.index)
        end = self.at(node.end_mark.index)
        lead = 1 if node.style in ("'", '"') else 0
        raw = self.data[start + lead : end - lead].decode("latin-1")
        text = str(node.value).encode().decode("latin-1")
        if raw.rstrip() == text:
            return written(text, start + lead)
        if node.style in ("|", ">"):
            header = raw.find("\n") + 1
            found: list[Any] = []
            position = header
            for line in raw[header:].splitlines(keepends=True):
                bare = line.lstrip(" ")
                found += written(bare.rstrip("\r\n") + " ", start + position + len(line) - len(bare))
                position += len(line)
            return tuple(found)
        return written(text, start + lead)
