"""Reads shell scripts: variables, loops, functions and commands, in memory; what programs print stays unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from archscan.catalog.names import one_of
from archscan.frontends.build.archlists import ArchList
from archscan.frontends.build.reading import Given, Reading, finished, of_command, of_variable
from archscan.frontends.build.request import is_arch_name
from archscan.frontends.build.traced import (
    HOLE,
    MOST_WAYS,
    Text,
    Ways,
    added,
    because,
    combined,
    conditions,
    cut,
    extended,
    known,
    parted,
    readable,
    shown,
    substituted,
    under,
    unknown,
    written,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_STEPS = 6000
MAX_DEPTH = 12
_MOST_WORDS = 100
_BLANK = written(" ")
_ELEMENT = "\x1f"  # stands before each element of an array
_GOES_ON = "the loop goes on"
_UNSET: Ways = ((),)  # by identity: taken away by `unset`
_ORDERS = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b, "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b, "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip
_QUOTED = re.compile(r"(?:-D)?[A-Za-z_]\w*=\S*\s+\S")  # one word: its blanks were in quotes
_LEAVING = frozenset({"exit", "return", "break", "continue"})
_ANSWERS = {"true": True, ":": True, "false": False}


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def read_shell(data: bytes, given: Given) -> Reading:
    """The lists of a shell script."""
    return script_at(data, 0, len(data), given).reading()


def script_at(data: bytes, start: int, end: int, given: Given, variables: dict[str, Ways] | None = None) -> Script:
    """The script that stands in a file between two offsets, read; `variables` are those around it."""
    script = Script(b" " * start + data[start:end], given, dict(variables or {}))
    script.run()
    return script


@dataclass
class Script:
    """A script while it is read."""

    data: bytes
    given: Given
    variables: dict[str, Ways] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    lists: list[ArchList] = field(default_factory=list)
    told: list[tuple[int, int]] = field(default_factory=list)  # texts that are only printed
    asked: tuple[str, ...] = ()  # conditions around what is being read that nobody can answer
    steps: int = 0
    depth: int = 0
    leaving: str = ""  # break or continue, on its way out of a loop
    left: str = ""  # one of them that may have been met
    around: tuple[str, ...] = ()  # the conditions around the loop that runs

    def run(self) -> None:
        """Reads the whole script."""
        self.body(_parser().parse(self.data).root_node.children)

    def reading(self) -> Reading:
        """What the script comes to."""
        problems = ("too long to evaluate: what comes late in it was not looked at",) if self.steps > MAX_STEPS else ()
        return Reading(finished(self.lists), problems=problems, told=tuple(self.told))

    @property
    def toolkit(self) -> Given:
        """What is given, with the toolkit that the script itself names."""
        return self.given.built_with(self.variables)

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("latin-1")

    # --- statements

    def body(self, nodes: Iterable[Node]) -> None:
        left = list(nodes)
        while left:
            if not self.statement(left.pop(0)) or self.leaving:
                return
            if self.left and left:
                kind, self.left = self.left, ""
                self.possibly([(left, _GOES_ON)], False)
                self.left = kind
                return

    def statement(self, node: Node) -> bool:  # noqa: PLR0912 - a table of kinds of statements
        """Runs a statement; False where what follows it is not reached."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            return False
        kind = node.type
        if kind == "variable_assignment":
            self.assign(node)
        elif kind in ("declaration_command", "variable_assignments"):
            self.body(c for c in node.named_children if c.type == "variable_assignment")
        elif kind == "command":
            return self.command(node)
        elif kind == "if_statement":
            self.if_(node)
        elif kind == "case_statement":
            self.case(node)
        elif kind == "for_statement":
            self.for_(node)
        elif kind == "function_definition":
            name = node.child_by_field_name("name")
            if name is not None:
                self.functions[self.text(name)] = node
        elif kind == "list":
            self.listed(node)
        elif kind == "while_statement":
            self.possibly([([c for c in node.named_children if c.type == "do_group"], "a loop")], False)
        elif kind == "unset_command":
            self.unset(node)
        elif kind not in ("comment", "test_command"):
            self.body(node.named_children)
        return True

    def unset(self, node: Node) -> None:
        self.told.append((node.start_byte, node.end_byte))
        for word in self.text(node).split()[1:]:
            self.variables[word] = _UNSET

    def listed(self, node: Node) -> None:
        """a && b, a || b: the second on the condition of the first, where that is a test."""
        left, right = node.named_children[0], node.named_children[-1]
        is_test = left.type in ("test_command", "negated_command") or self.text(left) in _ANSWERS
        answer = self.answer(left) if is_test else True
        if not is_test:
            self.statement(left)
        operator = next((self.text(c) for c in node.children if not c.is_named), "&&")
        if operator == "||" and is_test:
            answer = None if answer is None else not answer
        if operator == "||" and not is_test:
            answer = None if right.type in ("variable_assignment", "command") else True
            if right.type == "command" and self.text(right).split(None, 1)[0] in _LEAVING:
                return
        if answer is None:
            self.possibly([([right], readable(self.text(left)))], False)
        elif answer:
            self.statement(right)

    def assign(self, node: Node) -> None:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None:
            return
        name = self.text(name_node).partition("[")[0]
        user = self.given.value(name)
        ways = self.value(value) if value is not None else ((),)
        if value is not None and value.type != "array":
            ways = tuple(map(_in_line, ways))
        environment = name if f"{{{name}:" in self.text(node) else ""
        if user is not None:
            ways = (written(user, value.start_byte if value is not None else -1),)
        elif any(c.type == "+=" for c in node.children):
            more = tuple(under(way, self.asked) for way in ways)
            ways = combined([self.before(name, value), more])
        else:
            ways = added(ways, self.variables.get(name, ()), self.asked)
        self.steps += sum(map(len, ways)) // 10  # what loops append on conditions grows with each round
        self.variables[name] = ways
        self.lists += of_variable(name, ways, self.toolkit, environment)

    def before(self, name: str, value: Node | None) -> Ways:
        """What `+=` puts more behind: of an array its elements, and what was no array is the first of one."""
        held = self.variables.get(name, ((),))
        if value is not None and value.type == "array":
            return tuple(way if not way or _is_array(way) else (*written(_ELEMENT), *way) for way in held)
        return tuple(unknown(name) if _is_array(way) else way for way in held)

    def command(self, node: Node) -> bool:
        """A command: its settings in front, its words; functions of the script are gone into."""
        for child in node.named_children:
            if child.type == "variable_assignment":
                before = dict(self.variables)
                self.assign(child)
                self.variables = before
        name_node = node.child_by_field_name("name")
        name = self.text(name_node) if name_node is not None else ""
        arguments = [c for c in node.named_children if c.type not in ("variable_assignment", "command_name")]
        words = self.words(arguments)
        if name in self.functions and self.depth < MAX_DEPTH:
            self.call(self.functions[name], words)
            return True
        said = name not in ("echo", "printf", ":")
        settings = [word for word in words if said and any(_QUOTED.match(shown(way)) for way in word)]
        for word in settings:
            for way in word:
                self.setting(way)
        command = self.value(name_node) if name_node is not None else ((),)
        asked = words if _may_compile([command, *words]) else _without_own_option(words)
        texts = combined([w for word in asked if word not in settings for w in (word, (_BLANK,))])
        if said:
            for text in texts:
                self.lists += of_command(under(text, self.asked), self.toolkit)
        else:
            self.told.append((node.start_byte, node.end_byte))
        if name in ("break", "continue"):
            self.leave(name)
            return True
        return name not in _LEAVING or bool(self.asked)

    def leave(self, kind: str) -> None:
        """break or continue: for sure, or on the condition that is around it."""
        if self.asked == self.around:
            self.leaving = kind
        else:
            self.left = kind

    def setting(self, text: Text) -> None:
        """One word `NAME=a b c`, which was in quotes."""
        name, equals, _ = shown(text).partition("=")
        bare = name.removeprefix("-D")
        if equals and is_arch_name(bare):
            value = under(cut(text, len(name) + 1, len(shown(text))), self.asked)
            self.lists += of_variable(bare, (value,), self.toolkit, bare)

    def words(self, nodes: list[Node]) -> list[Ways]:
        """The values of arguments; what stands side by side is one (the grammar parts `a_$1,b_$1` in two)."""
        found: list[Ways] = []
        end = -1
        for node in nodes:
            value = self.value(node)
            if node.start_byte == end and node.type == "number" and self.data[end - 1 : end] == b"$":
                bare = tuple(cut(way, 0, len(shown(way)) - 1) for way in found[-1])
                held = self.held(self.text(node))
                found[-1] = combined([bare, held if held is not None else (unknown(f"${self.text(node)}"),)])
            elif node.start_byte == end:
                found[-1] = combined([found[-1], value])
            else:
                found.append(value)
            end = node.end_byte
        return found

    def call(self, function: Node, words: list[Ways]) -> None:
        body = function.child_by_field_name("body")
        held = {str(i): self.variables.get(str(i)) for i in range(1, 10)}
        for i in range(1, 10):
            self.variables[str(i)] = words[i - 1] if i <= len(words) else ((),)
        self.variables["@"] = combined([w for word in words for w in (word, (_BLANK,))])
        self.depth += 1
        if body is not None:
            self.body(body.named_children)
        self.depth -= 1
        for name, old in held.items():
            if old is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = old

    def if_(self, node: Node) -> None:
        """if, elif, else: the branch that is taken, or all that may be."""
        branches: list[tuple[Node | None, list[Node]]] = []
        condition = next((c for c in node.named_children if c.type != "comment"), None)
        rest = [c for c in node.named_children if c.type not in ("elif_clause", "else_clause") and c is not condition]
        branches.append((condition, [c for c in rest if c != condition]))
        for clause in node.named_children:
            inner = clause.named_children
            if clause.type == "elif_clause" and inner:
                branches.append((inner[0], list(inner[1:])))
            elif clause.type == "else_clause":
                branches.append((None, list(inner)))
        self.choose([(self.answer(c) if c is not None else True, b, readable(self.text(c)) if c is not None else "")
                     for c, b in branches])  # fmt: skip

    def choose(self, branches: list[tuple[bool | None, list[Node], str]]) -> None:
        """Takes the first branch that is answered yes, if no earlier one is open."""
        open_: list[tuple[list[Node], str]] = []
        for answer, body, asked in branches:
            if answer is False:
                self.told += [(node.start_byte, node.end_byte) for node in body]
                continue
            otherwise = "not " + " and not ".join(a for _, a in open_) if open_ else ""
            if answer and not open_:
                self.body(body)
                return
            open_.append((body, asked or otherwise))
            if answer:
                self.possibly(open_, True)
                return
        if open_:
            self.possibly(open_, False)

    def possibly(self, branches: list[tuple[list[Node], str]], is_whole: bool) -> None:
        """Runs branches of which one may be taken; `is_whole`: one of them is."""
        before, asked = dict(self.variables), self.asked
        ends = [] if is_whole else [before]
        for body, condition in branches:
            self.variables, self.asked = dict(before), (*asked, " ".join(condition.split())[:80])
            self.body(body)
            ends.append(self.variables)
        self.asked = asked
        self.variables = {}
        for name in dict.fromkeys(name for end in ends for name in end):
            there = [end[name] for end in ends if name in end]
            alike = len(there) == len(ends) and all(one is there[0] for one in there)
            self.variables[name] = there[0] if alike else extended(way for ways in there for way in ways)

    def case(self, node: Node) -> None:
        subject = node.child_by_field_name("value")
        value = self.one(subject) if subject is not None else None
        branches: list[tuple[bool | None, list[Node], str]] = []
        for item in node.named_children:
            if item.type != "case_item":
                continue
            patterns = item.children_by_field_name("value")
            texts = [known(self.value(p)[0]) or self.text(p) for p in patterns]
            body = [c for c in item.named_children if c not in patterns]
            answer = None if value is None else any(fnmatchcase(value, text) for text in texts)
            answer = True if texts == ["*"] else answer
            asked = f"{readable(self.text(subject))} is {' or '.join(texts)}" if subject is not None else ""
            branches.append((answer, body, asked))
        self.choose(branches)

    def for_(self, node: Node) -> None:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None:
            return
        name, outer = self.text(variable), (self.around, self.left)
        self.around, goes_on = self.asked, True
        words = [word for child in node.children_by_field_name("value") for word in self.elements(child)]
        for word, condition in words[:_MOST_WORDS]:
            self.variables[name] = (word,)
            self.left = ""
            if condition or not goes_on:
                self.possibly([(body.named_children, condition or _GOES_ON)], False)
            else:
                self.body(body.named_children)
            if self.leaving == "break":
                break
            goes_on = goes_on and self.left != "break"
            self.leaving = ""
        self.leaving = ""
        self.around, self.left = outer

    def elements(self, node: Node) -> list[tuple[Text, str]]:
        """The words that a word of the script gives, as `for` goes through them, and what each hangs on."""
        ways, found = self.value(node), list[tuple[Text, str]]()
        quoted = node.type in ("string", "raw_string", "ansi_c_string")
        for way in ways:
            words = [way] if quoted and not _is_array(way) else parted(way, _ELEMENT if _is_array(way) else r"\s+")
            for word in words:
                names = conditions(word)
                is_open = len(ways) > 1 or HOLE in shown(word) or bool(names)
                is_open = is_open or (not word and "[@]" in self.text(node))  # a word for what is set, none for others
                found.append((word, " ".join(names) or readable(self.text(node)) if is_open else ""))
        return found

    # --- conditions

    def answer(self, node: Node) -> bool | None:
        """Whether a test succeeds; None where that is not known."""
        if node.type == "negated_command":
            answer = self.answer(node.named_children[0]) if node.named_children else None
            return None if answer is None else not answer
        if node.type == "list":
            answers = [self.answer(node.named_children[0]), self.answer(node.named_children[-1])]
            deciding = any(self.text(c) == "||" for c in node.children if not c.is_named)
            return deciding if deciding in answers else None if None in answers else not deciding
        if self.text(node) in _ANSWERS:
            return _ANSWERS[self.text(node)]
        if node.type != "test_command" or len(node.named_children) != 1:
            return None
        return self.test(node.named_children[0])

    def test(self, node: Node) -> bool | None:
        kids = node.named_children
        if node.type == "parenthesized_expression" and kids:
            return self.test(kids[0])
        if node.type == "unary_expression" and len(node.children) >= 2:
            operator, operand = self.text(node.children[0]), node.children[-1]
            if operator == "!":
                answer = self.test(operand)
                return None if answer is None else not answer
            if operator not in ("-z", "-n"):
                return None
            value = self.one(operand)
            if value is None and self.is_unset(operand):
                value = ""  # a default, for those who do not set the variable
            return None if value is None else (not value) == (operator == "-z")
        if node.type != "binary_expression" or len(node.children) < 3:
            return None
        left, operator, right = node.children[0], self.text(node.children[1]), node.children[2]
        if operator in ("&&", "||", "-a", "-o"):
            answers, deciding = [self.test(left), self.test(right)], operator in ("||", "-o")
            return deciding if deciding in answers else None if None in answers else not deciding
        is_pattern = "[[" in self.text(node.parent or node)[:2] and right.type not in ("string", "raw_string")
        return _compared(self.one(left), operator, self.one(right), is_pattern)

    def is_unset(self, node: Node) -> bool:
        """Whether an operand is a variable of the user that nobody set in the script: $X, ${X:-}."""
        names = re.fullmatch(r"\"?\$\{?([A-Za-z_]\w*)(?::?-)?\}?\"?", self.text(node))
        return names is not None and names[1] not in self.variables

    def one(self, node: Node) -> str | None:
        """What an operand stands for; None where that is not one known text."""
        ways = self.value(node)
        return known(_in_line(ways[0])) if len(ways) == 1 and not conditions(ways[0]) else None

    # --- values

    def value(self, node: Node) -> Ways:
        """Every text that a word stands for."""
        self.steps += 1
        kind = node.type
        if self.steps > MAX_STEPS:
            return (unknown("a long script"),)
        if kind in ("word", "number", "variable_name", "string_content", "regex", "extglob_pattern", "test_operator"):
            return (written(self.text(node), node.start_byte),)
        if kind in ("raw_string", "ansi_c_string"):
            lead = 2 if kind == "ansi_c_string" else 1
            return (written(self.text(node)[lead:-1], node.start_byte + lead),)
        if kind in ("string", "concatenation", "translated_string", "command_name"):
            return combined(self.parts(node))
        if kind == "array":
            return combined([self.of_array(c) for c in node.named_children])
        if kind in ("simple_expansion", "expansion"):
            return self.expansion(node)
        return (unknown(readable(self.text(node))[:60]),)

    def of_array(self, node: Node) -> Ways:
        """A word of an array literal as its elements: what is not quoted is parted at blanks."""
        ways = self.value(node)
        quoted = node.type in ("string", "raw_string", "ansi_c_string")
        made = []
        for way in ways:
            words = [way] if quoted and not _is_array(way) else parted(way, _ELEMENT if _is_array(way) else r"\s+")
            made.append(tuple(run for word in words for run in (*written(_ELEMENT), *word)))
        return tuple(made)

    def parts(self, node: Node) -> Iterator[Ways]:
        """The pieces of a string; what stands between its nodes is text too."""
        position = node.start_byte + (1 if node.type == "string" else 0)
        end = node.end_byte - (1 if node.type == "string" else 0)
        for child in node.named_children:
            if child.start_byte > position:
                yield (written(self.data[position : child.start_byte].decode("latin-1"), position),)
            yield self.value(child)
            position = max(position, child.end_byte)
        if end > position:
            yield (written(self.data[position:end].decode("latin-1"), position),)

    def expansion(self, node: Node) -> Ways:
        """$X, ${X}, ${X:-default}, ${X//a/b} and their relatives."""
        whole = self.text(node)
        match = re.fullmatch(r"\$\{?([A-Za-z_]\w*|[@*#?0-9])(\[[@*]\])?(.*?)\}?", whole, re.DOTALL)
        if match is None:
            return (unknown(readable(whole)[:60]),)
        name, of_array, rest = match[1], match[2], match[3]
        held = self.held(name)
        if name not in self.variables and self.given.value(name) is None and rest:
            held = None
        if held is not None:
            held = held if of_array == "[@]" else tuple((_in_line if of_array else _first)(way) for way in held)
        if rest[:2] in (":-", ":=", ":+") or rest[:1] in ("-", "=", "+"):
            return self.default(node, name, held, rest)
        if held is None:
            return (unknown(name),)
        if not rest:
            return held
        changed = re.fullmatch(r"(//|/)((?:\\.|[^/\\])*)/?(.*)", rest, re.DOTALL)
        if changed and HOLE not in rest and not re.search(r"[$*?\[#%]", changed[2]) and "$" not in rest:
            pattern = re.compile(re.escape(changed[2].replace("\\", "").strip("\"'")))
            new = changed[3].strip("\"'").replace("\\", "\\\\")
            if changed[1] == "//":
                return tuple(substituted(way, pattern, new) for way in held)
            return tuple(_once(way, pattern, new) for way in held)
        return (unknown(f"{name}{rest}"),)

    def default(self, node: Node, name: str, held: Ways | None, rest: str) -> Ways:
        """${X:-default} and its relatives; of a variable that nobody set the default is taken."""
        inner = [c for c in node.named_children if c.type not in ("variable_name", "subscript")]
        default = combined([self.value(c) for c in inner]) if inner else ((),)
        if held is None or held is _UNSET:
            empty: set[bool | None] = {True}
        else:  # without the colon, what holds nothing is set: whether it is, is not told of what branches leave
            empty = {_is_empty(way) if ":" in rest[:1] else None if _is_empty(way) else False for way in held}
        operator = rest[:2].strip(":")[:1] if rest[:1] == ":" else rest[:1]
        ways: list[Text] = []
        if operator == "+":
            ways = [*(default if empty != {True} else ()), *(((),) if empty != {False} else ())]
        else:
            ways += [way for way in held or () if _is_empty(way) is not True or ":" not in rest[:1]]
            ways += default if empty != {False} else ()
        made = tuple(dict.fromkeys(ways))[:MOST_WAYS] or ((),)
        if operator == "=" and empty != {False}:
            self.variables[name] = made
        return made

    def held(self, name: str) -> Ways | None:
        """What a variable holds; None where nobody set it."""
        user = self.given.value(name)
        if user is not None:
            return (written(user),)
        if name in self.variables:
            return self.variables[name]
        version = self.given.version(name)
        return (written(version),) if version is not None else None


_OWN_OPTION = re.compile(r"--?arch(=.*)?")


@cache
def _compiler() -> re.Pattern[str]:
    return re.compile(rf"(?:.*[/\\])?(?:{one_of('compilers')})(?:-\d+)?(?:\.exe)?")


def _may_compile(words: list[Ways]) -> bool:
    """Whether a command names a compiler of kernels, or nobody knows which program it runs."""
    programs = [known(way) for word in words for way in word]
    unknown_program = any(known(way) is None for way in words[0])
    return unknown_program or any(program is not None and _compiler().fullmatch(program) for program in programs)


def _without_own_option(words: list[Ways]) -> list[Ways]:
    """The arguments of a program that is no compiler without its option `--arch sm_90`: what it does with it, it knows.

    Flags inside of another argument (`--with-nvcc-flags="-arch=sm_90"`) are for a compiler.
    """
    kept: list[Ways] = []
    skips = False
    for word in words:
        option = _OWN_OPTION.fullmatch(shown(word[0])) if len(word) == 1 else None
        if not skips and option is None:
            kept.append(word)
        skips = not skips and option is not None and not option[1]
    return kept


def _compared(one: str | None, operator: str, other: str | None, is_pattern: bool) -> bool | None:
    if one is None or other is None:
        return None
    if operator in ("=", "=="):
        return fnmatchcase(one, other) if is_pattern else one == other
    if operator == "!=":
        return not (fnmatchcase(one, other) if is_pattern else one == other)
    if operator in _ORDERS and re.fullmatch(r"-?\d{1,9}", one) and re.fullmatch(r"-?\d{1,9}", other):
        return bool(_ORDERS[operator](int(one), int(other)))
    return None


def _is_array(text: Text) -> bool:
    return shown(text).startswith(_ELEMENT)


def _in_line(text: Text) -> Text:
    """The elements of an array as one text; another text as it is."""
    if _ELEMENT not in shown(text):
        return text
    words = parted(text, _ELEMENT)
    return tuple(run for i, word in enumerate(words) for run in ((*_BLANK, *word) if i else word))


def _first(text: Text) -> Text:
    """What an array holds where no element is asked for: its first."""
    if not _is_array(text):
        return text
    if shown(text)[1:2] in ("", _ELEMENT):
        return ()  # it is empty
    word = next(iter(parted(text, _ELEMENT)), ())
    return unknown(*because(text)) if HOLE in shown(text) or any(run.when for run in text) else word


def _is_empty(text: Text) -> bool | None:
    """Whether a text is empty; None where that hangs on what is not known."""
    if any(run.text and not run.when for run in text):
        return False
    return None if any(run.text is None or run.text for run in text) else True


def _once(text: Text, pattern: re.Pattern[str], new: str) -> Text:
    """The text with the first match replaced."""
    match = pattern.search(shown(text))
    if match is None or HOLE in shown(text)[: match.start()]:
        return text if match is None and HOLE not in shown(text) else unknown(*because(text))
    end = len(shown(text))
    return (
        *cut(text, 0, match.start()),
        *substituted(cut(text, match.start(), match.end()), pattern, new),
        *cut(text, match.end(), end),
    )
