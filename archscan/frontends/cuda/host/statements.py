"""Reduces tree-sitter nodes of C++ statements to the small syntax, and says what the arms of branches do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile

from tree_sitter import Node

from archscan.frontends.cuda.blocks import failed_check
from archscan.frontends.cuda.host.asking import is_between
from archscan.frontends.cuda.host.expressions import Expressions
from archscan.frontends.cuda.host.naming_conventions import (
    check_operator,
    convention_of,
    fails_when_true,
    is_check,
    speaks_of_architecture,
)
from archscan.frontends.cuda.host.out_parameters import ATTRIBUTE, pointee
from archscan.frontends.cuda.host.summaries import EffectClassifier
from archscan.frontends.cuda.host.syntax import (
    Assign,
    Block,
    BlockEffect,
    Branch,
    Case,
    Check,
    Directive,
    Evaluate,
    Expr,
    Guard,
    Leave,
    Loop,
    Nested,
    Op,
    Option,
    Return,
    Statement,
    Switch,
    conjunction,
    declared,
    dotted,
)
from archscan.frontends.cuda.host.traversal import parts

_MAY_MATTER = re.compile(
    rb"[?&]|[=!<>]=|[<>] ?\d|\]\s*\{|\]\s*\(|FuncSetAttribute"
)  # a choice, an address, a comparison, a lambda
_PREDICATE = re.compile(
    rb"\b(?:is|has|can|supports?|use|enable)\w*\(|\w(?:supported|available)\(|_(?:EQ|NE|GE|GT|LE|LT)\("
)
_GIVEN = re.compile(rb"\b(?:sm|cc|arch|major|minor)_?\s*=[^=]")  # what such a name holds, whatever that is
_LEAVES = re.compile(rb"\b(?:break|return|goto|throw|continue|exit|abort)\b")
_ALWAYS_READ = frozenset(  # also in very long functions: blocks, and what leaves them
    {"compound_statement", "return_statement", "throw_statement", "break_statement", "continue_statement"}
    | {"goto_statement", "labeled_statement"}
)
_SURELY_RUN = frozenset({"expression_statement", "declaration", "return_statement"})
_CHANGED = re.compile(rb"\b(\w+)\s*(?:--|\+\+|(?:[-+*/%]|<<|>>)?=(?!=))|(?:--|\+\+)\s*(\w+)")
_SHORT_LAMBDA = 200  # bytes: one that may be a helper
_NESTING = 100  # statements in each other; what is deeper is left out


@dataclass
class Statements(Expressions):
    """Reads the statements of one buffer."""

    summariser: EffectClassifier = field(kw_only=True)
    asked: tuple[int, ...] = ()  # where the buffer may ask for the architecture
    known: frozenset[str] = frozenset()  # functions and constants of other files that answer for the architecture
    helpers: frozenset[str] = field(init=False)  # those, and functions of the buffer
    nesting: int = 0
    sparse: bool = False  # reading a function so long that only what may matter is read
    suspects: set[str] = field(default_factory=set)  # names given values that may be capabilities
    _counted: tuple[int, int] = (0, 0)  # how many suspects and helpers have been searched for
    _searched: set[str] = field(default_factory=set)
    _mentions: list[int] = field(default_factory=list)  # where the buffer names one of them, in order

    def __post_init__(self) -> None:
        super().__post_init__()
        self.helpers = self.known
        self.suspects |= self.known

    def declare(self, node: Node) -> None:
        """Takes note of what a statement declares beside variables: types, functions, macros."""

    def name_lambda(self, name: str, node: Node, value: Expr) -> Expr:
        """A lambda with the name of the variable that holds it."""
        return value

    def asks(self, node: Node) -> bool:
        """Whether code names anything that may carry a capability or ask for a chip."""
        return is_between(self.asked, node.start_byte, node.end_byte)

    def _guard(self, node: Node) -> Guard | None:
        name = node.child_by_field_name("name")
        if name:
            directive = self.data[node.start_byte : node.start_byte + 12]
            defined = Expr(Op.CALL, self.place(name), f"defined({self.text(name)})", "defined", args=(self.expr(name),))
            return Guard(defined, b"ndef" in directive)
        condition = node.child_by_field_name("condition")
        return Guard(self.expr(condition)) if condition else None

    def block_of(self, node: Node) -> Block:
        """The statements in a pair of braces."""
        return self._block(node.named_children)

    def _block(self, nodes: Iterable[Node], after: tuple[Node, ...] = ()) -> Block:
        siblings = [n for n in nodes if n.type != "comment"]
        found: list[Statement] = []
        position = 0
        while position < len(siblings):
            if self.sparse and not self._relevant(siblings[position]):
                position += 1
                continue
            options, used = self._continued(siblings, position, after) if found else ([], 0)
            previous = found[-1] if found else None
            if options and isinstance(previous, Branch):
                position += used
                rest = self._rest_of(tuple(siblings[position:]) or after)
                found[-1] = replace(previous, options=(*previous.options, *options), rest=rest)
                continue
            found += self._statement(siblings[position], tuple(siblings[position + 1 :]) or after)
            position += 1
        return tuple(found)

    def _relevant(self, node: Node) -> bool:
        """Whether a statement of a very long function is worth reading: it asks, or leaves, or uses a suspect."""
        if node.type in _ALWAYS_READ:
            return True
        text = self._bytes(node)
        return (
            self._names_known(node)
            or (len(text) < _SHORT_LAMBDA and b"= [" in text)
            or _GIVEN.search(text) is not None
            or self.asks(node)
            or _PREDICATE.search(text) is not None
        )

    def _names_known(self, node: Node) -> bool:
        """Whether code names a suspect or a helper: each is searched for in the buffer once, when it is met."""
        if (len(self.suspects), len(self.helpers)) != self._counted:
            self._counted = len(self.suspects), len(self.helpers)
            fresh = (self.suspects | self.helpers) - self._searched
            self._searched |= fresh
            self._mentions = sorted([*self._mentions, *(at for name in fresh for at in self._found(name.encode()))])
        return is_between(self._mentions, node.start_byte, node.end_byte)

    def _found(self, name: bytes) -> Iterator[int]:
        at = self.data.find(name)
        while at >= 0:
            yield at
            at = self.data.find(name, at + max(len(name), 1))

    def _continued(self, siblings: list[Node], position: int, after: tuple[Node, ...]) -> tuple[list[Option], int]:
        """Arms of the `if` before that an #if cut off: the grammar reads `else if (c) {` as a declaration of `if`."""
        node = siblings[position]
        following = siblings[position + 1] if position + 1 < len(siblings) else None
        condition = _cut_off_condition(node)
        if condition is not None and following is not None and following.type == "compound_statement":
            body = self._block([following], after)
            expr = self.expr(condition)
            return [Option(expr, body, expr.place, self.summarise((following,)))], 2
        if node.type == "expression_statement" and self._bytes(node).startswith((b"else ", b"else{", b"else\n")):
            return [
                Option(None, (), self.place(node), self.summariser.summary(self._bytes(node)[4:], self.place(node)))
            ], 1
        if node.type in ("preproc_if", "preproc_ifdef") and node.child_by_field_name("alternative") is None:
            return self._continued_under(node, after), 1
        return [], 0

    def _continued_under(self, node: Node, after: tuple[Node, ...]) -> list[Option]:
        """Such arms inside an #if: each asks for its condition too."""
        guard = self._guard(node)
        heads = {n.id for n in (node.child_by_field_name("condition"), node.child_by_field_name("name")) if n}
        inner = [n for n in node.named_children if n.id not in heads and n.type != "comment"]
        found: list[Option] = []
        position = 0
        while position < len(inner) and guard:
            options, used = self._continued(inner, position, after)
            if not options:
                return []
            found += options
            position += used
        return [replace(o, condition=_under(guard, o.condition)) for o in found if guard and o.condition]

    def _statement(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        if self.nesting > _NESTING:
            return []
        self.nesting += 1
        found = self._statement_of(node, after)
        self.nesting -= 1
        return found

    def _statement_of(  # noqa: PLR0912 one case per kind of node
        self, node: Node, after: tuple[Node, ...]
    ) -> list[Statement]:
        match node.type:
            case "compound_statement":
                block = self._block(node.named_children, after)
                return [Nested(block)] if declared(block) else list(block)
            case "else_clause":
                return list(self._block(node.named_children, after))
            case "if_statement":
                return self._if(node, after)
            case "switch_statement":
                return self._switch(node, after)
            case "return_statement" | "co_return_statement":
                value = node.named_children[0] if node.named_children else None
                return [Return(self.expr(value) if value else None, self.place(node), self._near_return(node))]
            case "throw_statement":
                return [Leave("throw")]
            case "break_statement" | "continue_statement" | "goto_statement":
                return [Leave(node.type.split("_")[0])]
            case "for_statement" | "while_statement" | "do_statement" | "for_range_loop":
                body = node.child_by_field_name("body")
                block = self._block([body], after) if body else ()
                if body is None:
                    return []
                if node.type == "while_statement":
                    return [self._while(node, body, block, after)]
                looked_up = self._looked_up(node, block, after) if node.type == "for_range_loop" else None
                return [looked_up or Loop(block)]
            case "declaration":
                return self._local(node, after)
            case "expression_statement":
                return self._expression_statement(node, after)
            case "static_assert_declaration":
                check = self._static_assert(node, after)
                return [check] if check else []
            case "preproc_if" | "preproc_ifdef":
                return [Directive(tuple(self._directive_options(node, after)))]
            case "labeled_statement":
                return [Leave("label"), *self._block(node.named_children, after)]
            case "try_statement":  # a handler runs once, or not at all, whatever the body has come to
                handlers = [c for c in node.named_children if c.type == "catch_clause"]
                bodies = [b for c in handlers if (b := c.child_by_field_name("body")) is not None]
                others = [c for c in node.named_children if c.type != "catch_clause"]
                return [*(Loop(self._block([b], after)) for b in bodies), *self._block(others, after)]
            case "ERROR" | "attributed_statement":
                return list(self._block(node.named_children, after))
            case "function_definition" | "struct_specifier" | "class_specifier":
                self.declare(node)
                return []
            case "preproc_def" | "preproc_function_def" | "alias_declaration":
                self.declare(node)
                return []
            case _:
                return []

    def _while(self, node: Node, body: Node, block: Block, after: tuple[Node, ...]) -> Loop:
        """A loop that only some targets enter is a loop over an `if`."""
        clause = node.child_by_field_name("condition")
        condition = self._condition(clause) if clause else None
        if condition is None or not self._may_ask(condition) or self._steps(condition, body):
            return Loop(block)
        option = Option(condition, block, condition.place, self.summarise((body,)))
        rest = self._rest_of(after) if option.summary.exits else BlockEffect()
        return Loop((Branch((option,), self.place(node), False, rest, self._near(node)),))

    def _steps(self, condition: Expr, body: Node) -> bool:
        """Whether a loop changes what it asks for: it goes on until something comes out."""
        names = {part.name.encode() for part in parts(condition) if part.op in (Op.NAME, Op.FIELD)}
        return any({found[1], found[2]} & names for found in _CHANGED.finditer(self._bytes(body)))

    def _looked_up(self, node: Node, block: Block, after: tuple[Node, ...]) -> Branch | None:
        """`for (m : table) if (m.sm == sm) return m;` as the question whether the table has a row for it."""
        branch = block[0] if len(block) == 1 else None
        declarator, container = node.child_by_field_name("declarator"), node.child_by_field_name("right")
        if not isinstance(branch, Branch) or len(branch.options) != 1 or not declarator or not container:
            return None
        option, row = branch.options[0], self._declared(declarator)
        condition = option.condition
        if condition is None or condition.name != "==" or not option.summary.exits:
            return None
        asked = [a for a in condition.args if not _is_of_row(a, row)]
        if len(asked) != 1:
            return None
        owner = Expr(Op.OPAQUE, condition.place, self.text(container), "owner", args=(self.expr(container),))
        held = Expr(Op.CALL, condition.place, condition.text, "contains", args=(asked[0], owner))
        rest = self._rest_of(after) if after else branch.rest
        return replace(branch, options=(replace(option, condition=held),), rest=rest)

    def _directive_options(self, node: Node, after: tuple[Node, ...]) -> Iterable[tuple[Expr | None, Block]]:
        guard = self._guard(node) if node.type != "preproc_else" else None
        alternative = node.child_by_field_name("alternative")
        skip = {
            n.id for n in (alternative, node.child_by_field_name("condition"), node.child_by_field_name("name")) if n
        }
        children = [n for n in node.named_children if n.id not in skip]
        condition = guard.condition if guard else None
        if guard and guard.negated and condition:
            condition = Expr(Op.UNARY, condition.place, f"!{condition.text}", "!", args=(condition,))
        yield condition, self._block(children, after)
        if alternative:
            yield from self._directive_options(alternative, after)

    def _if(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        options: list[Option] = []
        bodies: list[Node] = []
        before: list[Statement] = []
        asking = False
        current: Node | None = node
        while current is not None and current.type == "if_statement":
            clause, body = current.child_by_field_name("condition"), current.child_by_field_name("consequence")
            if not clause or not body:
                break
            before += self._condition_initialiser(clause)
            condition = self._condition(clause)
            before += self._filling(condition)
            asking = asking or self._may_ask(condition)
            options.append(Option(condition, self._block([body], after), condition.place, BlockEffect()))
            bodies.append(body)
            current = self._else_of(current)
        if current is not None and current.type != "if_statement":
            options.append(Option(None, self._block([current], after), self.place(current), BlockEffect()))
            bodies.append(current)
        summaries = [self.summarise((b,)) if asking else self.summariser.outline(self._bytes(b)) for b in bodies]
        options = [replace(o, summary=summary) for o, summary in zip(options, summaries, strict=True)]
        constexpr = b"constexpr" in self.data[node.start_byte : node.start_byte + 30].split(b"(")[0]
        rest = self._rest_of(after) if asking and any(o.summary.exits for o in options) else BlockEffect()
        return [*before, Branch(tuple(options), self.place(node), constexpr, rest, self._near(node))]

    def _may_ask(self, expr: Expr) -> bool:
        """Whether an expression names anything that may carry a capability; it is decided only in the project."""
        for part in parts(expr):
            if part.name in self.suspects or (part.op is Op.CALL and part.name in self.helpers):
                return True
            if part.op is Op.FIELD and dotted(part) in self.suspects:
                return True
            if part.op in (Op.NAME, Op.FIELD) and (convention_of(part.name) or part.name == "__CUDA_ARCH__"):
                return True
            called = part.op is Op.CALL or bool(part.targs)
            if called and (convention_of(part.name, call=True) or speaks_of_architecture(part.name)):
                return True
        return False

    def _suspect(self, targets: tuple[str, ...], value: Expr) -> None:
        if self._may_ask(value):
            self.suspects.update(targets)

    def _else_of(self, node: Node) -> Node | None:
        alternative = node.child_by_field_name("alternative")
        if alternative is None:
            return None
        inner = [n for n in alternative.named_children if n.type != "comment"]
        if alternative.type == "else_clause":
            return inner[0] if len(inner) == 1 else alternative
        return alternative

    def _condition_initialiser(self, clause: Node) -> list[Statement]:
        found = clause.child_by_field_name("initializer")
        inner = found.named_children[0] if found and found.named_children else None
        return self._statement(inner, ()) if inner else []

    def _condition(self, clause: Node) -> Expr:
        value = clause.child_by_field_name("value")
        if value is None and clause.named_children:
            value = clause.named_children[-1]
        if value is not None and value.type == "declaration":
            value = value.child_by_field_name("value") or value
        return self.expr(value if value is not None else clause)

    def _filling(self, condition: Expr) -> list[Statement]:
        """The calls in a condition that may write a capability: `if (cuDeviceGetAttribute(&major, …) != OK)`."""
        calls = [p for p in parts(condition) if p.op is Op.CALL and (p.name in ATTRIBUTE or p.name in self.helpers)]
        written = [dotted(pointee(a)) for call in calls for a in call.args if a.op is Op.UNARY and a.name == "&"]
        self.suspects.update(written)
        return [Evaluate(call) for call in calls] if written else []

    def _switch(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        clause, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if not clause or not body:
            return []
        cases = tuple(self._merged(list(self._cases(body, (), after))))
        return [Switch(self._condition(clause), cases, self.place(node), self._rest_of(after), self._near(node))]

    def _cases(self, node: Node, guards: tuple[Guard, ...], after: tuple[Node, ...]) -> Iterable[Case]:
        for child in node.named_children:
            if child.type == "case_statement":
                yield self._case(child, guards, after)
            elif child.type in ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"):
                guard = self._guard(child) if child.type != "preproc_else" else None
                yield from self._cases(child, (*guards, guard) if guard else guards, after)

    def _case(self, node: Node, guards: tuple[Guard, ...], after: tuple[Node, ...]) -> Case:
        value = node.child_by_field_name("value")
        children = [n for n in node.named_children if value is None or n.id != value.id]
        labels = (self.expr(value),) if value else ()
        place = self.place(value) if value else self.place(node)
        summary = self.summarise(tuple(children), case=True)
        falls = not summary.exits and _LEAVES.search(self._bytes(node)) is None
        return Case(labels, value is None, guards, self._block(children, after), place, summary, falls)

    def _merged(self, cases: list[Case]) -> Iterable[Case]:
        """Cases with empty bodies joined to the one they fall into (`case 80: case 86: ...`)."""
        pending: list[Case] = []
        entered: tuple[Expr, ...] = ()
        for case in cases:
            if not case.body and case.summary.place is None and not case.guards:
                pending.append(case)
                continue
            labels = tuple(label for p in pending for label in p.labels) + case.labels
            place = pending[0].place if pending else case.place
            default = case.default or any(p.default for p in pending)
            yield replace(case, labels=labels, default=default, place=place, entered=entered)
            entered = (*entered, *labels) if case.falls else ()
            pending = []
        yield from pending

    def _local(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        found: list[Statement] = []
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type != "init_declarator":
                if declarator.type != "function_declarator" and (name := self._declared(declarator)):
                    found.append(Assign((name,), None, self.place(node), declared=True))
                continue
            target, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
            if target is None or value is None:
                continue
            names = (
                tuple(self.text(n) for n in target.named_children)
                if target.type == "structured_binding_declarator"
                else (self._declared(target),)
            )
            if value.type == "argument_list" and value.named_child_count == 1:
                value = value.named_children[0]
            expr = self.expr(value)
            if value.type == "lambda_expression":
                expr = self.name_lambda(names[0], value, expr)
            self._suspect(names, expr)
            found.append(Assign(names, expr, self.place(declarator), declared=True))
        return found

    def _expression_statement(self, node: Node, after: tuple[Node, ...]) -> list[Statement]:
        inner = node.named_children[0] if node.named_children else None
        if inner is None:
            return []
        if inner.type == "assignment_expression":
            return self._assignment(inner)
        call = _leftmost_call(inner)
        if call is not None and (name := self._callee(call)) and is_check(name):
            check = self._check(call, name, node, after)
            if check:
                return [check]
        if call is not None and self._callee(call) in self.helpers:
            expr = self.expr(inner)
            self.suspects.update(dotted(pointee(a)) for a in expr.args if a.op in (Op.UNARY, Op.NAME))
            return [Evaluate(expr)]
        return [Evaluate(self.expr(inner))] if _MAY_MATTER.search(self._bytes(inner)) else []

    def _assignment(self, node: Node) -> list[Statement]:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if not left or not right:
            return []
        if left.type == "subscript_expression" and not _MAY_MATTER.search(self._bytes(right)):
            return []
        target = self.expr(left)
        names = (
            tuple(a.text for a in target.args) if target.name == "tie" and target.op is Op.CALL else (dotted(target),)
        )
        compound = bool(operator and self.text(operator) != "=")
        value = self.expr(right)
        self._suspect(names, value)
        return [Assign(names, value, self.place(node), compound=compound)]

    def _callee(self, call: Node) -> str:
        function = call.child_by_field_name("function")
        return self._last_name(function) if function and function.type != "lambda_expression" else ""

    def _check(self, call: Node, name: str, statement: Node, after: tuple[Node, ...]) -> Check | None:
        arguments = call.child_by_field_name("arguments")
        operands = [n for n in arguments.named_children if n.type != "comment"] if arguments else []
        operator = check_operator(name)
        if not operands or (operator and len(operands) < 2):
            return None
        first = self.expr(operands[0])
        condition = first
        if operator:
            second = self.expr(operands[1])
            place = self.place(operands[0], operands[1])
            condition = Expr(Op.BINARY, place, f"{first.text} {operator} {second.text}", operator, args=(first, second))
        if fails_when_true(name):
            condition = Expr(Op.UNARY, first.place, f"!({first.text})", "!", args=(first,))
        if condition.op is Op.NAME and condition.name == "false":
            return None
        refusal = failed_check(name, self._bytes(statement), self.place(statement).line)
        rest = self.summarise(after) if self._may_ask(condition) else BlockEffect()
        return Check(condition, name, self.place(statement), refusal, rest, self._near(statement))

    def _static_assert(self, node: Node, after: tuple[Node, ...]) -> Check | None:
        condition = node.child_by_field_name("condition")
        if condition is None:
            return None
        refusal = failed_check("static_assert", self.data[node.start_byte : node.end_byte], self.place(node).line)
        asked = self.expr(condition)
        rest = self.summarise(after) if self._may_ask(asked) or self.asks(condition) else BlockEffect()
        return Check(asked, "static_assert", self.place(node), refusal, rest)

    def summarise(self, nodes: tuple[Node, ...], case: bool = False) -> BlockEffect:
        """What a run of sibling statements does, or a case of a switch."""
        if not nodes:
            return BlockEffect()
        start, end = nodes[0].start_byte, nodes[-1].end_byte
        return self.summariser.summary(self.data[start:end], self.place(nodes[0], nodes[-1]), case)

    def _rest_of(self, nodes: tuple[Node, ...]) -> BlockEffect:
        """What a run of sibling statements does, and what those use that surely run."""
        if not nodes:
            return BlockEffect()
        code = self.data[nodes[0].start_byte : nodes[-1].end_byte]
        effect = self.summariser.effect(code, self._line(nodes[0]))
        run = [self.summarise((n,)) for n in nodes if n.type in _SURELY_RUN and b"(" in self._bytes(n)]
        features = dict.fromkeys(use for one in run for use in one.features)
        calls = dict.fromkeys(name for one in run for name in one.calls)
        return BlockEffect(effect=effect, features=tuple(features), calls=tuple(calls))

    def _near(self, node: Node) -> str:
        """The comments right above a statement, at the head of its body and above the function around it."""
        body = node.child_by_field_name("consequence")
        inside = () if body is None else takewhile(_is_comment, body.named_children)
        return "\n".join((*self._above(_function_around(node)), *self._above(node), *map(self.text, inside)))

    def _near_return(self, node: Node) -> str:
        """The comments right above a statement; where a function does nothing else, those above the function too."""
        body = node.parent
        alone = body is not None and all(n == node or _is_comment(n) for n in body.named_children)
        around = _function_around(node) if alone and body is not None and _is_body(body) else None
        return "\n".join((*self._above(around), *self._above(node)))

    def _above(self, node: Node | None) -> list[str]:
        """The comment lines right above a node."""
        lines: list[str] = []
        previous = node.prev_sibling if node is not None else None
        while previous is not None and _is_comment(previous) and len(lines) < 8:
            lines.append(self.text(previous))
            previous = previous.prev_sibling
        return lines[::-1]


def _is_comment(node: Node) -> bool:
    return node.type == "comment"


def _is_body(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "function_definition"


def _function_around(node: Node) -> Node | None:
    """The definition of the function around a statement, with its template head."""
    around: Node | None = node
    while around is not None and around.type != "function_definition":
        around = around.parent
    parent = around.parent if around is not None else None
    return parent if parent is not None and parent.type == "template_declaration" else around


def _is_of_row(expr: Expr, row: str) -> bool:
    """Whether an expression is an entry of a list of capabilities, or the capability in a row of a table."""
    if expr.op is Op.FIELD:
        return expr.args[0].name == row and (expr.name == "first" or convention_of(expr.name) is not None)
    return expr.op is Op.NAME and expr.name == row


def _cut_off_condition(node: Node) -> Node | None:
    """The condition of an `else if (c)` that the grammar took for a declaration; None for anything else."""
    kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if node.type != "declaration" or not kind or kind.text != b"else" or not declarator:
        return None
    name, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
    if not name or name.text != b"if" or not value or len(value.named_children) != 1:
        return None
    return value.named_children[0]


def _under(guard: Guard, condition: Expr) -> Expr:
    """The condition, and the preprocessor's before it."""
    head = guard.condition
    if guard.negated:
        head = Expr(Op.UNARY, head.place, f"!{head.text}", "!", args=(head,))
    return conjunction(head, condition)


def _leftmost_call(node: Node) -> Node | None:
    """The macro call in `CHECK(x) << "text" << y`."""
    while node.type == "binary_expression" and (left := node.child_by_field_name("left")):
        node = left
    return node if node.type == "call_expression" else None
