"""Proposals for Python gates: lists, comparisons, predicates with the import they need, build flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from archscan.fixing.admission import Admission, Reach
from archscan.fixing.proposal import Proposal, distinct, replaced
from archscan.model.finding import Edit
from archscan.model.gate import Arm

_COLLECTIONS = {"list", "tuple", "set"}
_CONDITION_PARENTS = {
    "boolean_operator",
    "not_operator",
    "comparison_operator",
    "parenthesized_expression",
    "binary_operator",
    "subscript",
    "attribute",
    "call",
    "argument_list",
    "tuple",
    "list",
    "set",
}
_SM_NAME = re.compile(r"(?i)(sm_?)(\d{2,3})(?:x|[af](?![a-z]))?")


@dataclass(frozen=True)
class PythonFile:
    """A Python file to edit and the others it can see. `defines(module, name)` says whether a module binds a name."""

    path: str
    data: bytes
    defines: Callable[[str, str], bool]


def python_open(
    file: PythonFile, arm: Arm, admission: Admission, only: frozenset[str] = frozenset()
) -> Iterator[Proposal]:
    """Ways to let the admission's targets take the arm. `only`: names a statement must mention to be opened."""
    root = _parse(file.data)
    node = _node_at(root, arm)
    yield from distinct(_opened(file, root, node, admission, only))


def python_close(file: PythonFile, arm: Arm, admission: Admission) -> Iterator[Proposal]:
    """Ways to keep the admission's targets out of the arm."""
    root = _parse(file.data)
    for atom in _atoms(_whole_condition(_node_at(root, arm))):
        if atom.type == "comparison_operator":
            for test in _tests(atom, admission):
                text = _text(atom)
                yield replaced(file.path, atom.start_byte, atom.end_byte, f"({text} and not ({test}))", "narrow it")


def _opened(file: PythonFile, root: Node, node: Node, admission: Admission, only: frozenset[str]) -> Iterator[Proposal]:
    collection = _collection(node)
    if collection is not None:
        yield from _extended(file.path, collection, admission)
    whole = _whole_condition(node)
    for atom in reversed(list(_atoms(whole))):
        if atom.type == "comparison_operator":
            yield from _compared(file.path, atom, admission)
        else:
            yield from _asked(file.path, atom, admission)
            yield from _named(file, root, atom, admission, only)
    if node.type in ("string", "string_content"):
        yield from _listed(file.path, node, admission)


def _asked(path: str, atom: Node, admission: Admission) -> Iterator[Proposal]:
    """`is_family(100)` -> `(is_family(100) or is_family(120))`: the same question about the target."""
    arguments = atom.child_by_field_name("arguments") if atom.type == "call" else None
    constants = [node for node in arguments.named_children if _is_constant(node)] if arguments is not None else []
    for constant in constants[-1:]:
        text = atom.text or b""
        before = text[: constant.start_byte - atom.start_byte].decode("utf-8", "surrogateescape")
        after = text[constant.end_byte - atom.start_byte :].decode("utf-8", "surrogateescape")
        for spelt in _spellings(_text(constant), admission):
            for items in ((spelt[0],), spelt):
                edit = _or_edit(path, atom, [f"{before}{item}{after}" for item in items])
                yield Proposal("ask for the target as well", (edit,))


def _listed(path: str, node: Node, admission: Admission) -> Iterator[Proposal]:
    """`"8.0 9.0".split()` -> `"8.0 9.0 12.0".split()`: a list written as one string."""
    content = node if node.type == "string_content" else next(iter(node.named_children[1:2]), node)
    text = _text(content)
    for separator in (";", ",", " "):
        items = [item.strip() for item in text.split(separator)]
        if len(items) > 1 and all(items):
            for every in _string_spellings(items[-1], admission):
                for spelt in dict.fromkeys((every[:1], every)):  # code for the first of a family may run on all of it
                    joined = "".join(f"{separator}{item}" for item in spelt)
                    yield replaced(path, content.end_byte, content.end_byte, joined, "add it to the list")
            return


def _extended(path: str, collection: Node, admission: Admission) -> Iterator[Proposal]:
    """`[9, 10]` -> `[9, 10, 12]`; a list over lines gets a line of its own."""
    elements = [child for child in collection.named_children if child.type != "comment"]
    if not elements or admission.reach is Reach.WIDEN:
        return
    held = {_text(element) for element in elements}
    for every in _spellings(_text(elements[-1]), admission):
        spelt = [item for item in every if item not in held] or every
        last = elements[-1]
        comma = last.next_sibling is not None and last.next_sibling.type == ","
        own_line = comma and last.start_point.row != collection.start_point.row and len(elements) > 1
        if own_line and last.next_sibling is not None:
            indent = " " * last.start_point.column
            text = "".join(f"\n{indent}{item}," for item in spelt)
            yield replaced(path, last.next_sibling.end_byte, last.next_sibling.end_byte, text, "add it to the list")
        else:
            text = ", " + ", ".join(spelt)
            end = last.next_sibling.end_byte if comma and last.next_sibling is not None else last.end_byte
            yield replaced(path, last.end_byte, end, text, "add it to the list")


def _compared(path: str, atom: Node, admission: Admission) -> Iterator[Proposal]:
    """`x == 10` -> `x in (10, 12)`; `a <= x < b` -> `(a <= x < b or x == 120)`."""
    operands, operators = atom.named_children, [c.type for c in atom.children if not c.is_named]
    if len(operands) == 2 and operators[:1] in (["=="], ["!="]) and _is_constant(operands[1]):
        word = "in" if operators[0] == "==" else "not in"
        for spelt in _spellings(_text(operands[1]), admission):
            items = ", ".join(dict.fromkeys((_text(operands[1]), *spelt)))
            yield replaced(
                path, atom.start_byte, atom.end_byte, f"{_text(operands[0])} {word} ({items})", "compare with both"
            )
    if len(operands) == 2 and " ".join(operators) in ("in", "not in", "not  in") and operands[1].type in _COLLECTIONS:
        yield from _extended(path, operands[1], admission)
    for string in _walk(operands[-1], {"string"}):
        yield from _listed(path, string, admission)
    for test in _tests(atom, admission):
        text = _text(atom)
        yield replaced(path, atom.start_byte, atom.end_byte, f"({text} or {test})", "admit it beside the comparison")
        yield replaced(path, atom.start_byte, atom.end_byte, f"({text} and not ({test}))", "let it pass the comparison")


def _tests(atom: Node, admission: Admission) -> Iterator[str]:
    """Expressions on the compared value that hold for the admission's targets only."""
    operands = atom.named_children
    value = next((node for node in operands if not _is_constant(node)), None)
    bound = next((node for node in operands if _is_constant(node)), None)
    if value is None or bound is None:
        return
    name = _text(value)
    if admission.reach is Reach.WIDEN:
        return
    for spelt in _spellings(_text(bound), admission):
        if len(spelt) == 1:
            yield f"{name} == {spelt[0]}"
        elif bound.type == "integer" and int(_text(bound)) >= 50:
            yield f"{name} // 10 == {admission.majors[0]}"
        yield f"{name} in ({', '.join(spelt)})"


def _named(file: PythonFile, root: Node, atom: Node, admission: Admission, only: frozenset[str]) -> Iterator[Proposal]:
    """`is_sm100_supported()` -> `… or is_sm120_supported()`, with import and flag definition where they are needed."""
    name = _head(atom)
    if not _SM_NAME.search(name):
        return
    for siblings in _sibling_names(name, admission):
        support = [_support(file, root, name, sibling, admission) for sibling in siblings]
        if any(edits is None for edits in support):
            continue
        extra = tuple(edit for edits in support if edits for edit in edits)
        texts = [_text(atom).replace(name, sibling) for sibling in siblings]
        moved = _split(file.path, atom, texts, only)
        if moved is not None:
            yield Proposal("open this statement alone", (*extra, moved))
            continue
        yield Proposal("admit it beside the predicate", (*extra, _or_edit(file.path, atom, texts)))


def _or_edit(path: str, atom: Node, texts: list[str]) -> Edit:
    parent = atom.parent
    joined = " or ".join(texts)
    loose = parent is not None and (
        (parent.type == "boolean_operator" and _operator(parent) == "or")
        or parent.type in ("parenthesized_expression", "if_statement", "elif_clause", "assignment", "while_statement")
    )
    if loose:
        return Edit(path, atom.end_byte, atom.end_byte, f" or {joined}")
    return Edit(path, atom.start_byte, atom.end_byte, f"({_text(atom)} or {joined})")


def _split(path: str, atom: Node, texts: list[str], only: frozenset[str]) -> Edit | None:
    """An `if` in front of this one that holds just the statements naming one of `only`; None if all do, or none."""
    statement = atom.parent
    if (
        not only
        or statement is None
        or statement.type != "if_statement"
        or statement.child_by_field_name("alternative")
    ):
        return None
    body = statement.child_by_field_name("consequence")
    if body is None or body.start_point.row == statement.start_point.row:
        return None
    inner = [child for child in body.named_children if child.type != "comment"]
    mine = [child for child in inner if any(re.search(rf"\b{re.escape(n)}\b", _text(child)) for n in only)]
    if not mine or len(mine) == len(inner):
        return None
    outer_indent, indent = " " * statement.start_point.column, " " * inner[0].start_point.column
    rest = [child for child in inner if child not in mine]
    head = f"if {' or '.join([_text(atom), *texts])}:\n" + "".join(f"{indent}{_text(child)}\n" for child in mine)
    tail = f"{outer_indent}if {_text(atom)}:\n" + "\n".join(f"{indent}{_text(child)}" for child in rest)
    if any(child.type == "comment" for child in body.named_children):
        return None  # a comment would be lost
    return Edit(path, statement.start_byte, statement.end_byte, head + tail)


def _support(file: PythonFile, root: Node, name: str, sibling: str, admission: Admission) -> tuple[Edit, ...] | None:
    """The edits that bind `sibling` where `name` is bound; () if it is already, None if it cannot be."""
    if "." in name:
        return ()
    if _bound(file.data, sibling):
        return ()
    imported = _import_of(root, name)
    if imported is not None:
        module, node = imported
        return (_import_edit(file.path, node, sibling),) if file.defines(module, sibling) else None
    definition = _assignment_of(root, name)
    if definition is None:
        return None
    text = _text(definition)
    edits: list[Edit] = []
    for inner in dict.fromkeys(match.group() for match in re.finditer(r"\b\w*(?i:sm)_?\d{2,3}\w*\b", text)):
        if inner == name:
            continue
        for siblings in _sibling_names(inner, admission):
            found = _support(file, root, inner, siblings[0], admission) if len(siblings) == 1 else None
            if found is not None:
                edits += found
                text = re.sub(rf"\b{re.escape(inner)}\b", siblings[0], text)
                break
        else:
            return None
    text = re.sub(rf"\b{re.escape(name)}\b", sibling, text)
    statement = definition.parent or definition
    indent = " " * statement.start_point.column
    return (*edits, Edit(file.path, statement.end_byte, statement.end_byte, f"\n{indent}{text}"))


def _sibling_names(name: str, admission: Admission) -> Iterator[tuple[str, ...]]:
    """Names like this one for the admission: one that may cover the family, then one for each SM."""
    match = list(_SM_NAME.finditer(name))[-1]
    before, after = name[: match.start(2)], name[match.end() :]
    suffix = name[match.end(2) : match.end()]
    spelt = [f"{before}{sm}{tail}{after}" for sm in admission.sms for tail in dict.fromkeys((suffix, ""))]
    for one in spelt:
        yield (one,)
    if len(admission.sms) > 1:
        yield tuple(f"{before}{sm}{suffix}{after}" for sm in admission.sms)
        yield tuple(f"{before}{sm}{after}" for sm in admission.sms)


def _spellings(sample: str, admission: Admission) -> Iterator[tuple[str, ...]]:
    """The admission's targets in the encoding of `sample`; the constant decides the encoding."""
    if re.fullmatch(r"\d+", sample):
        number = int(sample)
        if number <= 20:
            yield tuple(str(major) for major in admission.majors)
        elif number < 200:
            yield tuple(str(sm) for sm in admission.sms)
        else:
            yield tuple(str(sm * 10) for sm in admission.sms)
        return
    if match := re.fullmatch(r"([(\[])\s*\d+\s*,\s*\d+\s*([)\]])", sample):
        yield tuple(f"{match.group(1)}{sm // 10}, {sm % 10}{match.group(2)}" for sm in admission.sms)
        return
    if match := re.fullmatch(r"(?s)([rbf]*)(['\"])(.*)\2", sample):
        prefix, quote, text = match.groups()
        for spelt in _string_spellings(text, admission):
            yield tuple(f"{prefix}{quote}{item}{quote}" for item in spelt)


def _string_spellings(text: str, admission: Admission) -> Iterator[tuple[str, ...]]:
    if match := re.fullmatch(r"(\d+)\.(\d)([af]?)", text):
        yield tuple(f"{sm // 10}.{sm % 10}{match.group(3)}" for sm in admission.sms)
    elif match := re.fullmatch(r"((?:sm_?|compute_|SM_?)?)(\d{2,3})([af]?)", text):
        yield tuple(f"{match.group(1)}{sm}{match.group(3)}" for sm in admission.sms)


def _import_edit(path: str, statement: Node, name: str) -> Edit:
    """`name` added behind the last imported name that sorts before it, on a line of its own where the others are."""
    names = list(statement.children_by_field_name("name"))
    before = [node for node in names if _text(node) < name] or names[:1]
    node = before[-1]
    own_line = len(names) > 1 and names[0].start_point.row != names[1].start_point.row
    text = f",\n{' ' * node.start_point.column}{name}" if own_line else f", {name}"
    return Edit(path, node.end_byte, node.end_byte, text)


def _import_of(root: Node, name: str) -> tuple[str, Node] | None:
    """(module as written, import statement) that binds `name`, or None."""
    for node in _walk(root, {"import_from_statement"}):
        module = node.child_by_field_name("module_name")
        if module is None or len(node.children_by_field_name("name")) == 0:
            continue
        if any(child.type == "dotted_name" and _text(child) == name for child in node.children_by_field_name("name")):
            return _text(module), node
    return None


def _assignment_of(root: Node, name: str) -> Node | None:
    for statement in root.named_children:
        for child in statement.named_children if statement.type == "expression_statement" else ():
            left = child.child_by_field_name("left") if child.type == "assignment" else None
            if left is not None and _text(left) == name:
                return child
    return None


def _bound(data: bytes, name: str) -> bool:
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    pattern = (
        rb"(?m)^\s*(?:def\s+"
        + word
        + rb"\b|"
        + word
        + rb"\s*[:=][^=]|.*\bimport\b.*\b"
        + word
        + rb"\b|"
        + word
        + rb",?\s*$)"
    )
    return re.search(pattern, data) is not None


def _atoms(node: Node) -> Iterator[Node]:
    """The operands of a condition, in source order."""
    if node.type in ("boolean_operator", "not_operator", "parenthesized_expression", "conditional_expression"):
        for child in node.named_children:
            yield from _atoms(child)
    else:
        yield node


def _whole_condition(node: Node) -> Node:
    while node.parent is not None and node.parent.type in _CONDITION_PARENTS:
        node = node.parent
    return node


def _collection(node: Node) -> Node | None:
    current: Node | None = node
    for _ in range(4):
        if current is None:
            return None
        if current.type in _COLLECTIONS:
            return current
        right = current.child_by_field_name("right") or current.child_by_field_name("value")
        if right is not None and right.type in _COLLECTIONS:
            return right
        current = current.parent
    return None


def _head(atom: Node) -> str:
    function = atom.child_by_field_name("function") if atom.type == "call" else atom
    return _text(function) if function is not None else ""


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return _text(operator) if operator is not None else ""


def _is_constant(node: Node) -> bool:
    if node.type in ("integer", "string", "float"):
        return True
    return node.type in ("tuple", "list") and all(child.type == "integer" for child in node.named_children)


def _walk(root: Node, types: set[str]) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in types:
            yield node
        pending.extend(reversed(node.named_children))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")


def _node_at(root: Node, arm: Arm) -> Node:
    return root.named_descendant_for_byte_range(arm.place.start, max(arm.place.start, arm.place.end - 1)) or root


def _parse(data: bytes) -> Node:
    return _parser().parse(data).root_node


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_python.language()))
