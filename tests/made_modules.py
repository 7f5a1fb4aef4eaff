"""Random Python modules of ordinary ways to change a value, with conditions on it, and what a run of them does.

A module is a row of fragments, each of which makes or changes numbers, lists, tables, sets, predicates or classes,
then asks the capability about them. It is run under a fake torch of many capabilities.
"""

from __future__ import annotations

import collections
import random
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field

CAPABILITIES = ((7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1))
MAJOR = "torch.cuda.get_device_capability()[0]"
MOST_STEPS = 3000
HEAD = (
    "import torch\nimport os, copy, functools, contextlib, operator, itertools, enum, collections, types, math, bisect\n"
    "from dataclasses import dataclass, field\nfrom typing import NamedTuple\n"
)


@dataclass(eq=False)
class Maker:
    """What a module under construction holds: its lines, and the names of each sort that may be asked for."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 0
    numbers: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)  # functions without arguments that give a truth
    objects: list[str] = field(default_factory=list)  # with .need, .held and .ok()
    classes: list[str] = field(default_factory=list)  # with .need, .held and .ok()
    asks: list[str] = field(default_factory=list)  # conditions on what was made otherwise
    made: int = 0

    def say(self, *lines: str) -> None:
        for line in lines:
            for one in line.split("\n"):
                self.lines.append("    " * self.indent + one)

    def name(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def pick(self, names: list[str], make: Callable[[Maker], None]) -> str:
        if not names or self.rng.random() < 0.2:
            make(self)
        return self.rng.choice(names)

    def number(self) -> str:
        return self.pick(self.numbers, new_number)

    def list(self) -> str:
        return self.pick(self.lists, new_list)

    def table(self) -> str:
        return self.pick(self.tables, new_table)

    def set(self) -> str:
        return self.pick(self.sets, new_set)

    def answer(self) -> str:
        return self.pick(self.answers, new_answer)

    def object(self) -> str:
        return self.pick(self.objects, new_object)

    def cls(self) -> str:
        return self.pick(self.classes, new_class)

    def small(self) -> int:
        return self.rng.choice((7, 8, 9, 10, 11, 12))

    def some(self) -> str:
        return ", ".join(str(self.small()) for _ in range(self.rng.randint(1, 3)))

    def value(self) -> str:
        """An expression of a number."""
        kind = self.rng.random()
        if kind < 0.5:
            return str(self.small())
        if kind < 0.6 and self.numbers:
            return self.rng.choice(self.numbers)
        if kind < 0.65:
            return "M"
        if kind < 0.7:
            return f"({self.small()} if {self.condition(1)} else {self.small()})"
        if kind < 0.75 and self.lists:
            return f"{self.rng.choice(('min', 'max', 'sum', 'len'))}({self.rng.choice(self.lists)} or [9])"
        if kind < 0.8 and self.tables:
            return f"{self.rng.choice(self.tables)}.get({self.small()}, {self.small()})"
        if kind < 0.85 and self.objects:
            return f"{self.rng.choice(self.objects)}.need"
        if kind < 0.9 and self.classes:
            return f"{self.rng.choice(self.classes)}.need"
        if kind < 0.93:
            return f"{self.small()} + {self.rng.choice((-1, 0, 1))}"
        return self.calculated()

    def calculated(self) -> str:
        """An expression of a number that some function of Python makes."""
        a, b, some = self.small(), self.small(), self.some()
        return self.rng.choice((
            f"int('{a}')", f"min({a}, {b})", f"max({some}, {a})", f"divmod({a * 10 + 2}, 10)[0]", f"operator.add({a}, {b}) - {b}",
            f"next(m for m in ({some}, {a}) if m >= {a})", f"sorted(({some}, {a}))[0]", f"sum([{a}, 1]) - 1", f"abs(-{a})",
            f"len('{'x' * a}')", f"({some}, {a})[-1]", f"-(-{a})", f"{a} // 2 + {a} % 2", f"round({a}.4)", f"max(({some}, {a}), key=lambda m: -m)",
            f"min((m for m in ({some}) if m > 9), default={a})", f"int(f'{{{a}}}')", f"int(str({a}).zfill(3))", f"functools.reduce(lambda p, q: max(p, q), ({some}, {a}))",
            f"math.floor({a} / 2) * 2", f"[{some}, {a}].index({a}) + 8", f"{a} ^ 1", f"~-{a}", f"{a} or {b}", f"({a} and {b})", f"(0 or {a})", f"(M >= {a} and {b}) or {a}",
            f"dict(zip(({some}, {a}), range(7, 12)))[{a}]", f"bisect.bisect((8, 9, 12), {a}) + 8", f"{{{a}: {b}}}.get(M, {a})", f"int('{a}.5'.split('.')[0])",
            f"(lambda n: n + 1)({a})", f"(lambda n={a}: n)()", f"operator.itemgetter(0)([{a}])", f"2 ** 3 + {a} - 8", "1 << 3", f"int({a} / 1)", f"len({{{some}}}) + 8",
            f"ord('{a}'[-1]) - 48", f"min(M, {a})", f"max(M, {a}) - 1", "M // 2 + 4", f"divmod(M, {a})[1]", "len(str(M)) + 8", f"sum(m <= M for m in ({some})) + 8",
        ))  # fmt: skip

    def plain(self) -> str:
        """A condition in one of the many ways to write a comparison."""
        a, b, some = self.small(), self.small(), self.some()
        cap = "torch.cuda.get_device_capability()"
        return self.rng.choice((
            f"M >= {a}", f"M == {a}", f"{a} <= M", f"operator.ge(M, {a})", f"operator.eq(M, {a})", f"operator.contains([{some}], M)",
            f"divmod(M, {a})[0] == 1", f"min(M, {a}) == {a}", f"max(M, {a}) == {a}", f"{cap} >= ({a}, {self.rng.randint(0, 5)})", f"{cap}[:1] == ({a},)",
            f"{cap} in [({a}, 0), ({b}, 1)]", f"f'{{M}}' == '{a}'", f"f'{{M:02d}}' >= '{a:02d}'", f"'%d' % M in '{a} {b}'", "str(M).startswith('1')", f"int(f'{{M}}0') >= {a}0",
            f"'sm_{{}}'.format(M) == 'sm_{a}'", f"M - {a} == 0", f"-M <= -{a}", f"not M < {a}", f"M // 2 == {a // 2}", f"M % {a} == 0", f"(M >= {a}) + (M >= {b}) == 2",
            f"(M >= {a}) == (M < {b})", f"(M >= {a}) ^ (M >= {b})", f"(M >= {a}) is True", f"{a} < M <= {b}", f"{a} != M != {b}", f"[m for m in ({some}, {a}) if m == M]", f"not [m for m in ({some}, {a}) if m >= M]",
            f"any(m == M for m in ({some}, {a}))", f"all(m <= M for m in ({some}, {a}))", f"next((m for m in ({some}, {a}) if m == M), None)", f"next((m for m in ({some}, {a}) if m >= M), {b}) > {a}",
            f"sorted([M, {a}])[0] == M", f"sorted([M, {a}], reverse=True)[0] == M", f"list(filter(lambda m: m == M, ({some}, {a})))", f"M in list(map(lambda m: m + 1, ({some}, {a})))",
            f"{{{a}: True, {b}: False}}.get(M)", f"{{{a}: 1, {b}: 2}}.get(M, 0) > 1", f"M in {{m: m for m in ({some}, {a})}}", f"M in range({a}, {b} + 2)", f"(x_ := M) and x_ >= {a}",
            f"isinstance(M, int) and M >= {a}", f"isinstance(M, str) or M >= {a}", f"type(M) is int and M >= {a}", f"M in {{{some}}} - {{{a}}}", f"{{M}} < {{{some}, {a}}}", f"{{M, {a}}} == {{{a}}}",
            f"(M, {a}) > ({a}, {b})", f"({a}, M)[1] >= {b}", f"bool(M >= {a})", f"(M >= {a} and 3) or M == {b}", f"(M == {a} and {b}) == {b}", f"(None or M) >= {a}", f"abs(M - {a}) <= 1",
            f"M in sum([[{a}], [{b}]], [])", f"M in [*({some}, {a}), {b}]", f"dict(a=M)['a'] >= {a}", f"(lambda m: m >= {a})(M)", f"(lambda *m: M in m)({some}, {a})", f"functools.partial(operator.le, {a})(M)",
            f"str(M) in ['{a}', '{b}']", f"M in enumerate([{a}]) or M == {b}", f"(M, {a}) in zip(({some}, {a}), ({a}, {b}, {a}))", f"math.ceil(M / 2) == {a // 2}", "bisect.bisect([8, 9, 11], M) == 2", f"M in itertools.chain(({a},), [{b}])",
            f"len([m for m in ({some}, {a}) if m <= M]) > 1", f"'{a}' < str(M)", f"{cap} == [{a}, 0] or M == {b}", f"{cap} != ({a}, 0)", f"{cap}[-1] > 2", f"sum({cap}) >= {a}", f"tuple([M]) == ({a},)", f"M * 10 + {cap}[1] >= {a}0", f"M is not None and M >= {a}",
        ))  # fmt: skip

    def condition(self, depth: int = 0) -> str:
        rng = self.rng
        ways: list[Callable[[], str]] = [
            lambda: f"M >= {self.small()}",
            lambda: f"M == {self.small()}",
            self.plain,
            self.plain,
        ]
        if self.numbers:
            ways += [
                lambda: f"M {rng.choice(('>=', '<', '==', '!='))} {rng.choice(self.numbers)}",
                lambda: f"{self.small()} <= M < {rng.choice(self.numbers)}",
            ]
        if self.lists:
            one = rng.choice(self.lists)
            ways += [
                lambda: f"M in {one}", lambda: f"M not in {one}", lambda: f"{one} and M >= {one}[0]",
                lambda: f"len({one}) > {rng.randint(1, 3)} and M >= 9", lambda: f"M == max({one} or [9])",
                lambda: f"any(M == m for m in {one})", lambda: f"all(M >= m for m in {one})",
                lambda: f"(M, 0) in [(m, 0) for m in {one}]", lambda: f"M in {one}[:2]", lambda: f"M in {one}[-1:]",
                lambda: f"M in sorted({one})[1:]", lambda: f"[M] == {one}", lambda: f"M in set({one})",
            ]  # fmt: skip
        if self.tables:
            other = rng.choice(self.tables)
            ways += [
                lambda: f"M in {other}", lambda: f"{other}.get(M)", lambda: f"{other}.get(M, 0) >= {self.small()}",
                lambda: f"M in {other}.values()", lambda: f"M in list({other}.keys())", lambda: f"len({other}) > 2 or M >= 10",
                lambda: f"M in {{**{other}}}",
            ]  # fmt: skip
        if self.sets:
            held = rng.choice(self.sets)
            ways += [
                lambda: f"M in {held}", lambda: f"{{M}} <= {held}", lambda: f"{{M}} & {held}",
                lambda: f"len({held}) == {rng.randint(1, 3)} and M >= 9", lambda: f"M in {held} | {{7}}",
                lambda: f"M in {held} - {{9}}",
            ]  # fmt: skip
        if self.answers:
            ways += [lambda: f"{rng.choice(self.answers)}()"] * 3
        if self.asks:
            ways += [lambda: rng.choice(self.asks)] * 4
        for one in (*self.objects[-2:], *self.classes[-2:]):
            ways += [lambda one=one: f"M >= {one}.need", lambda one=one: f"M in {one}.held"]  # type: ignore[misc]
        for one in self.objects[-2:]:
            ways += [lambda one=one: f"{one}.ok()"]  # type: ignore[misc]
        if depth < 2:
            ways += [
                lambda: f"not ({self.condition(depth + 1)})",
                lambda: f"({self.condition(depth + 1)}) and ({self.condition(depth + 1)})",
                lambda: f"({self.condition(depth + 1)}) or ({self.condition(depth + 1)})",
                lambda: f"(({self.condition(depth + 1)}) if M >= 9 else ({self.condition(depth + 1)}))",
            ]
            name = self.name("w")
            ways += [lambda: f"({name} := {self.value()}) and M >= {name}"]
        return rng.choice(ways)()

    def gate(self) -> None:
        self.say(f"if {self.condition()}:", "    x = 1")
        if self.rng.random() < 0.3:
            self.say(f"elif {self.condition()}:", "    x = 3")
        if self.rng.random() < 0.7:
            self.say("else:", "    x = 2")

    def inside(self, *heads: str) -> Indented:
        self.say(*heads)
        return Indented(self)


@dataclass(eq=False)
class Indented:
    maker: Maker

    def __enter__(self) -> None:
        self.maker.indent += 1

    def __exit__(self, *_: object) -> None:
        self.maker.indent -= 1


def new_number(m: Maker) -> None:
    name = m.name("n")
    m.say(f"{name} = {m.value()}")
    m.numbers.append(name)


def new_list(m: Maker) -> None:
    name = m.name("L")
    way = m.rng.randint(0, 6)
    if way == 0 and m.lists:
        old = m.rng.choice(m.lists)
        m.say(
            f"{name} = "
            + m.rng.choice(
                (old, old, f"list({old})", f"{old}[:]", f"copy.copy({old})", f"{old} + [12]", f"sorted({old})")
            )
        )
    elif way == 1:
        m.say(f"{name} = [m for m in ({m.some()}, 9) if m >= {m.small()}]")
    elif way == 2:
        other = m.name("L")
        m.say(m.rng.choice((f"{name}, {other} = [{m.some()}], [{m.some()}]", f"{name} = {other} = [{m.some()}]")))
        m.lists.append(other)
    elif way == 3:
        m.say(f"{name} = list(range({m.small()}, {m.small() + 3}))")
    else:
        m.say(f"{name} = [{m.some()}]")
    m.lists.append(name)


def new_table(m: Maker) -> None:
    name = m.name("T")
    rows = ", ".join(f"{m.small()}: {m.small()}" for _ in range(m.rng.randint(1, 3)))
    way = m.rng.randint(0, 4)
    if way == 0:
        m.say(f"{name} = {{m: m + 1 for m in ({m.some()}, 9)}}")
    elif way == 1 and m.tables:
        old = m.rng.choice(m.tables)
        m.say(
            f"{name} = "
            + m.rng.choice((old, f"dict({old})", f"{{**{old}, {rows}}}", f"{old} | {{{rows}}}", f"{old}.copy()"))
        )
    elif way == 2:
        m.say(f"{name} = dict([({m.small()}, {m.small()}), ({m.small()}, 0)])")
    else:
        m.say(f"{name} = {{{rows}}}")
    m.tables.append(name)


def new_set(m: Maker) -> None:
    name = m.name("S")
    way = m.rng.randint(0, 4)
    if way == 0 and m.sets:
        old = m.rng.choice(m.sets)
        m.say(
            f"{name} = "
            + m.rng.choice(
                (old, f"set({old})", f"{old} | {{{m.some()}}}", f"{old}.union([{m.some()}])", f"{old} - {{9}}")
            )
        )
    elif way == 1:
        m.say(f"{name} = {{m for m in ({m.some()}, 9) if m != {m.small()}}}")
    else:
        m.say(f"{name} = {{{m.some()}}}")
    m.sets.append(name)


DECORATORS = (
    ("def {d}(f):\n    def g(): return not f()\n    return g", "{d}"),
    ("def {d}(f): return lambda: False", "{d}"),
    ("def {d}(f):\n    @functools.wraps(f)\n    def g(*a, **k):\n        return f(*a, **k)\n    return g", "{d}"),
    ("def {d}(f):\n    @functools.wraps(f)\n    def g():\n        try: return f()\n        except RuntimeError: return False\n    return g", "{d}"),
    ("def {d}(n):\n    def deco(f):\n        return lambda: f() and M != n\n    return deco", "{d}(12)"),
    ("def {d}(f):\n    f.mark = 1\n    return f", "{d}"),
    ("{d}_seen = []\ndef {d}(f):\n    {d}_seen.append(f)\n    return f", "{d}"),
    ("class {d}:\n    def __init__(self, f): self.f = f\n    def __call__(self): return not self.f()", "{d}"),
    ("def {d}(f):\n    r = f()\n    return lambda: r", "{d}"),
    ("import functools as {d}", "{d}.lru_cache(maxsize=None)"),
    ("{d} = functools.cache", "{d}"),
    ("{d} = lambda f: f", "{d}"),
)  # fmt: skip


PREDICATES = (
    "{name} = lambda: {condition}",
    "{name} = functools.partial(lambda n: M >= n, {value})",
    "def {name}(n={value}): return M >= n",
    "def {name}():\n    if {condition}: return True\n    return {other}",
    "def {name}():\n    for m in ({some}, 12):\n        if {loop}: {leave}\n        if M == 10: return True\n    return {condition}",
    "def {name}():\n    try:\n        v = {{9: True, 10: False}}[{value}]\n        return {condition}\n"
    "    except KeyError:\n        return {other}\n    finally:\n        pass",
    "def {name}():\n    match M:\n        case {small}: return True\n        case {small2} | 11: return False\n"
    "        case v if v > {value}: return True\n    return {condition}",
    "def {name}():\n    held = [{some}]\n    held.{change}\n    return M in held",
    "def {name}():\n    n = {value}\n    def g(): return M >= n\n    n = {value2}\n    return g()",
    "def {name}():\n    n = {value}\n    def g():\n        nonlocal n\n        n = {value2}\n    g()\n    return M >= n",
    "def {name}():\n    n = {value}\n    def g():\n        nonlocal n\n        n = {value2}\n    return M >= n",
    "def {name}_(*a, n=9, **k): return M >= k.get('m', n)\ndef {name}(): return {name}_({given})",
    "def {name}():\n    n = {value}\n    while n < {small}:\n        n += {step}\n    return M >= n",
    "def {name}():\n    with contextlib.suppress(KeyError):\n        v = {{9: 1}}[{value}]\n        return True\n    return {condition}",
    "def {name}():\n    if M == {small}: raise RuntimeError\n    return {condition}",
    "def {name}(seen=[{some}]):\n    seen.append(M)\n    return {seen}",
    "def {name}(): return {condition}",
    "def {name}(): return {condition}",
)  # fmt: skip


def new_answer(m: Maker) -> None:
    name, rng = m.name("ok"), m.rng
    row = rng.choice(PREDICATES)
    if row.startswith("def {name}(") and rng.random() < 0.25:
        before, deco = rng.choice(DECORATORS)
        d = m.name("deco")
        m.say(before.format(d=d), f"@{deco.format(d=d)}")
    made = row.format(
        name=name, condition=m.condition(1), other=m.condition(1), value=m.value(), value2=m.value(), small=m.small(),
        small2=m.small(), some=m.some(), step=rng.choice((1, 2)), loop=rng.choice(("m == M", "M >= m", "M < m")),
        leave=rng.choice(("return m > 9", "return True", "break", "continue")),
        change=rng.choice(("append(12)", "pop()", "extend((10, 12))", "insert(0, 8)", "clear()", "reverse()", "remove(held[0])")),
        given=rng.choice(("m=12", "n=10", "8, n=12", "*[8], **dict(m=11)", "*(8, 9)")),
        seen=rng.choice(("len(seen) > 2", "M in seen[:1]")),
    )  # fmt: skip
    m.say(made)
    m.answers.append(name)


def new_class(m: Maker) -> None:
    name = m.name("K")
    base = f"({m.rng.choice(m.classes)})" if m.classes and m.rng.random() < 0.4 else ""
    with m.inside(f"class {name}{base}:"):
        if not base or m.rng.random() < 0.5:
            m.say(f"need = {m.value()}")
        if not base or m.rng.random() < 0.5:
            m.say(f"held = [{m.some()}]")
        way = m.rng.randint(0, 9)
        if way == 0:
            m.say(f"def __init__(self): self.need = {m.value()}")
        elif way == 1:
            m.say("def __init__(self):", f"    self.held = [{m.some()}]", f"    self.held.append({m.value()})")
        elif way == 2:
            m.say("def __getattr__(self, name): return 9")
        elif way == 3:
            m.say(
                "def __init__(self, need=9):",
                "    self.need = need",
                f"    if {m.condition(1)}: self.need = {m.small()}",
            )
        elif way == 4:
            m.say("@property", f"def need(self): return {m.value()}")
        elif way == 5:
            m.say("@classmethod", f"def up(cls): cls.need = {m.value()}")
        if not base or m.rng.random() < 0.5:
            m.say(f"def ok(self): return {m.rng.choice(('M >= self.need', 'M in self.held', m.condition(1)))}")
        if way == 6:
            m.say(f"def grow(self): self.held.append({m.value()})")
        if way == 7:
            m.say(f"def grow(self):\n    self.need = {m.value()}\n    return self")
    m.classes.append(name)
    made = m.name("k")
    m.say(f"{made} = {name}()")
    m.objects.append(made)
    if way in (5, 6, 7) and m.rng.random() < 0.7:
        m.say(f"{name}.up()" if way == 5 else f"{made}.grow()")


def new_object(m: Maker) -> None:
    name, cls = m.name("k"), m.cls()
    m.say(f"{name} = " + m.rng.choice((f"{cls}()", f"{cls}()", f"copy.copy({cls}())")))
    m.objects.append(name)


# What is made and, after a bar, conditions on it: {n} is a fresh name, {a}, {b} and {c} are small numbers, {v} is a value.
ASKED = (
    # objects that answer operators themselves
    "class {n}:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o): return self.v == o + 1 | {n}(M) == {a} | {a} == {n}(M) | {n}(M) != {a} | {n}(M) in ({a}, {b})",
    "class {n}:\n    def __init__(self, v): self.v = v\n    def __lt__(self, o): return self.v < o | {n}(M) < {a} | {a} > {n}(M) | {n}({a}) < M",
    "class {n}:\n    v = {v}\n    def __ge__(self, o): return o >= self.v\n    def __le__(self, o): return False | {n}() >= M | {n}() <= M or M == {a} | M <= {n}() | M >= {n}()",
    "class {n}:\n    def __contains__(self, x): return x in ({a}, {b}) | M in {n}() | M not in {n}()",
    "class {n}:\n    def __iter__(self): return iter(({a}, {b})) | M in {n}() | M in list({n}()) | any(m == M for m in {n}())",
    "class {n}:\n    t = {{{a}: True, {b}: False}}\n    def __getitem__(self, x): return self.t.get(x, M >= {c}) | {n}()[M] | not {n}()[M]",
    "class {n}:\n    def __class_getitem__(cls, x): return x >= {a} | {n}[M]",
    "class {n}:\n    def __init__(self, k): self.k = k\n    def __call__(self, x=0): return x >= self.k\n{n}_ = {n}({v}) | {n}_(M) | {n}_() or M == {a}",
    "class {n}:\n    def __bool__(self): return M >= {a} | {n}() | not {n}() | {n}() and M < {b} | bool({n}())",
    "class {n}:\n    def __len__(self): return 2 if M >= {a} else 0 | {n}() | len({n}()) == 2 | not {n}()",
    "class {n}:\n    def __getattr__(self, name): return {a} if name == 'need' else {b} | M >= {n}().need | M >= {n}().other",
    "class {n}:\n    def __add__(self, x): return x + 1\n    def __radd__(self, x): return x + 2\n    def __neg__(self): return {a} | {n}() + M >= {a} | M + {n}() >= {a} | M >= -{n}()",
    "class {n}:\n    def __str__(self): return '{a}'\n    def __int__(self): return {b} | str(M) == str({n}()) | f'{{M}}' == f'{{{n}()}}' | M >= int({n}())",
    "class {n}(int):\n    def __ge__(self, o): return False | {n}(M) >= {a} or M == {b}",
    "class {n}(list):\n    def __contains__(self, x): return x == {a} | M in {n}([{b}])",
    "class {n}(dict):\n    def __missing__(self, k): return k == {a} | {n}({{{b}: True}})[M]",
    "class {n}:\n    def __get__(self, o, t): return {a}\nclass {n}_:\n    need = {n}() | M >= {n}_().need | M >= {n}_.need",
    "class {n}:\n    def __set_name__(self, o, name): setattr(o, 'other', {b})\nclass {n}_:\n    other = {a}\n    need = {n}() | M >= {n}_.other",
    "class {n}:\n    def __setattr__(self, name, v): object.__setattr__(self, name, v + 1)\n{n}_ = {n}()\n{n}_.need = {a} | M >= {n}_.need",
    "@functools.total_ordering\nclass {n}:\n    def __init__(self, v): self.v = v\n    def __lt__(self, o): return self.v < o.v\n    def __eq__(self, o): return self.v == o.v | {n}(M) >= {n}({a}) | {n}(M) == {n}({b})",
    # data classes, named tuples, enumerations
    "@dataclass\nclass {n}:\n    need: int = {a}\n    other: int = {b}\n{n}_ = {n}({v}) | M >= {n}_.need | M >= {n}_.other | {n}(M) == {n}({a}) | {n}(M, {a}) != {n}({a}, {a})",
    "@dataclass(order=True)\nclass {n}:\n    x: int\n    y: int = 0 | {n}(M) >= {n}({a}) | {n}(M, 1) > {n}({a}) | {n}(y=M, x={a}) == {n}({a}, {b})",
    "@dataclass(frozen=True)\nclass {n}:\n    need: list = field(default_factory=lambda: [{a}, {b}])\n{n}_ = {n}()\n{n}_.need.append({c}) | M in {n}_.need | M in {n}().need",
    "@dataclass\nclass {n}:\n    need: int = {a}\n    def __post_init__(self): self.need += 1 | M >= {n}().need | M >= {n}({b}).need",
    "@dataclass\nclass {n}:\n    need: int = {a}\n@dataclass\nclass {n}_({n}):\n    other: int = {b} | M >= {n}_({c}).need | M >= {n}_({c}).other | M >= {n}_({c}, {a}).other",
    "@dataclass\nclass {n}:\n    need: int = {a}\n    @property\n    def ok(self): return M >= self.need\n{n}_ = {n}()\n{n}_.need = {b} | {n}_.ok | {n}().ok",
    "class {n}(NamedTuple):\n    major: int\n    minor: int = 0\n{n}_ = {n}(*torch.cuda.get_device_capability()) | {n}_ >= ({a}, 0) | {n}_.major >= {a} | {n}_[0] == {a} | {n}(M)._replace(minor=5) > ({a}, 3)",
    "class {n}(NamedTuple):\n    minor: int\n    major: int\n{n}_ = {n}(*torch.cuda.get_device_capability()) | {n}_ >= ({a}, 0) | {n}_.major >= 2 | {n}_.minor >= {a}",
    "{n} = collections.namedtuple('{n}', 'major minor')\n{n}_ = {n}(*torch.cuda.get_device_capability()) | {n}_.major >= {a} | {n}_ >= ({b}, 1)",
    "{n} = collections.namedtuple('{n}', ['minor', 'major'])\n{n}_ = {n}(*torch.cuda.get_device_capability()) | {n}_.major >= 2 | {n}_.minor >= {a}",
    "class {n}(enum.Enum):\n    A = {a}\n    B = {b} | M == {n}.A or M == {c} | M == {n}.B.value | {n}.A == {n}.A and M >= {c} | M in [m.value for m in {n}] | {n}({a}) is {n}.A and M == {b} | M in list({n}) or M == {c}",
    "class {n}(enum.IntEnum):\n    A = {a}\n    B = enum.auto() | M >= {n}.A | M >= {n}.B | M in list({n}) | M == {n}['A'] | M >= {n}({a})",
    "class {n}(enum.Enum):\n    A = {a}\n    B = {b}\n    def ok(self): return M >= self.value | {n}.A.ok() | {n}.B.ok()",
    # properties, inheritance, class state
    "class {n}:\n    def __init__(self): self._v = {a}\n    @property\n    def need(self): return self._v\n    @need.setter\n    def need(self, v): self._v = v + 1\n{n}_ = {n}()\n{n}_.need = {b} | M >= {n}_.need | M >= {n}().need",
    "class {n}:\n    @property\n    def need(self): return {a}\nclass {n}_({n}):\n    @property\n    def need(self): return super().need + 1 | M >= {n}_().need | M >= {n}().need",
    "class {n}:\n    @property\n    def need(self): return {a}\nclass {n}_({n}):\n    need = {b} | M >= {n}_().need",
    "class {n}:\n    def __init__(self): self.need = {a}\nclass {n}_({n}):\n    def __init__(self):\n        super().__init__()\n        self.need += 1 | M >= {n}_().need",
    "class {n}:\n    def __init__(self): self.need = {a}\nclass {n}_({n}):\n    need = {b}\n    def __init__(self): pass | M >= {n}_().need",
    "class {n}:\n    def __init__(self): self.need = {a}\nclass {n}_({n}):\n    def __init__(self):\n        self.need = {b}\n        super().__init__() | M >= {n}_().need",
    "class {n}:\n    def need(self): return {a}\n    def ok(self): return M >= self.need()\nclass {n}_({n}):\n    def need(self): return {b} | {n}_().ok() | {n}().ok()",
    "class {n}:\n    need = {a}\n    @classmethod\n    def ok(cls): return M >= cls.need\nclass {n}_({n}): need = {b} | {n}_.ok() | {n}.ok() | {n}_().ok()",
    "class {n}:\n    need = {a}\n{n}_ = {n}()\n{n}.need = {b} | M >= {n}_.need",
    "class {n}:\n    need = {a}\n    def set(self, v):\n        self.need = v\n        return self\n{n}_ = {n}().set({b}) | M >= {n}_.need | M >= {n}().set({c}).need",
    "class {n}:\n    def ok(self): return M >= {a}\n    good = ok\n    bad = lambda self: not self.ok() | {n}().good() | {n}().bad()",
    "class {n}:\n    need = {a}\n    def ok(self): return M >= self.need\n{n}_ = {n}()\n{n}_f = {n}_.ok\n{n}_.need = {b} | {n}_f()",
    "class {n}:\n    if M >= {a}: need = {b}\n    else: need = {c} | M >= {n}.need",
    "class {n}:\n    held = []\n    for m in ({a}, {b}): held.append(m) | M in {n}.held",
    "class {n}:\n    n = {a}\n    t = {{m: m + 1 for m in ({a}, {b})}}\n    need = t[n] | M >= {n}.need | M in {n}.t",
    "class {n}:\n    _i = None\n    need = {a}\n    def __new__(cls):\n        if cls._i is None: cls._i = super().__new__(cls)\n        return cls._i\n{n}().need = {b} | M >= {n}().need",
    "class {n}:\n    def __init_subclass__(cls): cls.need = {b}\nclass {n}_({n}): need = {a} | M >= {n}_.need",
    "def {n}_(c):\n    c.need = {b}\n    return c\n@{n}_\nclass {n}: need = {a} | M >= {n}.need",
    "class {n}:\n    need = {a}\n    @functools.cached_property\n    def ok(self): return M >= self.need\n{n}_ = {n}()\n{n}_.ok\n{n}_.need = {b} | {n}_.ok",
    "class {n}: need = {a} | M >= getattr({n}, 'need', {b}) | M >= getattr({n}(), 'other', {b}) | hasattr({n}, 'other') or M == {c}",
    "class {n}:\n    def __init__(self, l): self.l = l\n{n}_l = [{a}]\n{n}_, {n}__ = {n}({n}_l), {n}({n}_l)\n{n}_.l.append({b}) | M in {n}__.l | M in {n}_l",
    "class {n}: pass\ndef {n}_(k): k.need = {a}\n{n}__ = {n}()\n{n}_({n}__) | M >= {n}__.need",
    "{n} = types.SimpleNamespace(need={a})\n{n}.need = {b} | M >= {n}.need",
    "{n} = type('{n}', (), {{'need': {a}}}) | M >= {n}.need",
    # containers of the library
    "{n} = collections.defaultdict(lambda: {a}, {{{b}: {c}}}) | M >= {n}[M] | {n}[{b}] >= M | M in {n}",
    "{n} = collections.Counter([{a}, {a}, {b}]) | {n}[M] == 2 | {n}[M] | M in {n}",
    "{n} = collections.OrderedDict([({a}, 1), ({b}, 2)])\n{n}[{c}] = 3 | M in {n} | {n}.get(M) == 2",
    "{n} = collections.ChainMap({{{a}: 1}}, {{{b}: 2}}) | M in {n} | {n}.get(M, 0) == 2",
    "{n} = {{{a}: 1}}\n{n}_ = types.MappingProxyType({n})\n{n}[{b}] = 2 | M in {n}_",
    "{n} = collections.deque([{a}, {b}])\n{n}.appendleft({c}) | M in {n} | M >= {n}[0]",
    "{n} = [{a}, {b}]\n{n}_ = {n}.pop() | M >= {n}_ | M in {n}",
    "{n} = [{a}, {b}, {c}]\n{n}[1:] = [{v}] | M in {n} | len({n}) == 2 and M >= {a}",
    "{n} = [[{a}]] * 2\n{n}[0].append({b}) | M in {n}[1]",
    "{n} = [[{a}], [{b}]]\n{n}_ = copy.copy({n})\n{n}_[0].append({c}) | M in {n}[0]",
    "{n} = {{'k': {{{a}: 1}}}}\n{n}['k'][{b}] = 1 | M in {n}['k'] | {n}['k'].get(M)",
    "{n} = {{'k': {a}}}\n{n}['k'] += 1\n{n}_ = [{b}]\n{n}_[0] += 1 | M >= {n}['k'] | M >= {n}_[0]",
    "{n} = {{{a}: lambda: M >= {b}, {c}: lambda: False}} | {n}.get(M, lambda: True)() | {n}[{a}]()",
    "{n} = {{(m, 0): m for m in ({a}, {b})}} | torch.cuda.get_device_capability() in {n} | {n}.get(torch.cuda.get_device_capability(), 0) > {a}",
    "{n} = {{True: {a}, 1: {b}, 1.0: {c}}} | M >= {n}[1] | len({n}) == 1 and M == {a}",
    "{n} = {{f'sm_{{m}}': m for m in ({a}, {b})}} | f'sm_{{M}}' in {n} | {n}.get(f'sm_{{M}}') == {a}",
    "{n} = ({a}, {b}, {c})\n{n}_i = 1 | M in {n}[{n}_i:] | M in {n}[:-{n}_i] | M in {n}[::-1][:1] | M >= {n}[-{n}_i]",
    "({n}, {n}_), *{n}__ = ({a}, {b}), {c}, {a} | M >= {n}_ | M in {n}__",
    # functions
    "def {n}(k):\n    return lambda: M >= k\n{n}_, {n}__ = {n}({a}), {n}({b}) | {n}_() | {n}__()",
    "def {n}():\n    fs = []\n    for k in ({a}, {b}): fs.append(lambda: M >= k)\n    return fs | {n}()[0]()",
    "def {n}():\n    fs = []\n    for k in ({a}, {b}): fs.append(lambda k=k: M >= k)\n    return fs | {n}()[0]() | {n}()[1]()",
    "{n} = [lambda: M >= k for k in ({a}, {b})] | {n}[0]()",
    "def {n}():\n    k = {a}\n    def up():\n        nonlocal k\n        k += 1\n        return k\n    return up\n{n}_ = {n}()\n{n}_() | M >= {n}_()",
    "def {n}():\n    l = [{a}]\n    def add(x): l.append(x)\n    def ok(): return M in l\n    return add, ok\n{n}_, {n}__ = {n}()\n{n}_({b}) | {n}__()",
    "def {n}(k): return k if k >= {a} else {n}(k + 1) | M >= {n}({b})",
    "def {n}(k): return 0 if k < 1 else 1 + {n}(k - 1) | {n}(M) == {a}",
    "def {n}(x, l=[]):\n    l.append(x)\n    return l\n{n}({a}) | M in {n}({b})",
    "def {n}(k=None):\n    k = k or {a}\n    return M >= k | {n}() | {n}({b}) | {n}(0)",
    "def {n}(k=None):\n    if k is None: k = {a}\n    return M >= k | {n}() | {n}({b})",
    "def {n}(a, /, b={a}, *c, d={b}, **e): return a <= M < b + d or M in c or M in e.values() | {n}({a}) | {n}({a}, {b}, {c}) | {n}({b}, x={c}) | {n}({a}, d={c})",
    "def {n}_(k={a}): return M >= k\ndef {n}(*a, **k): return {n}_(*a, **k) | {n}() | {n}({b}) | {n}(k={c})",
    "def {n}_(f):\n    @functools.wraps(f)\n    def g(*a, **k): return f(*a, **{{**k, 'k': {b}}})\n    return g\n@{n}_\ndef {n}(k={a}): return M >= k | {n}() | {n}(k={c})",
    "def {n}_(f): pass\n@{n}_\ndef {n}(): return M >= {a} | {n} is None and M >= {b}",
    "def {n}_(f): return not f()\n@{n}_\ndef {n}(): return M >= {a} | {n} | not {n}",
    "def {n}():\n    yield {a}\n    if M > {a}: yield M | M in {n}() | M in list({n}()) | next({n}()) >= M",
    "def {n}():\n    try: return M >= {a}\n    finally: return M >= {b} | {n}()",
    "def {n}():\n    k = {a}\n    try: return M >= k\n    finally: k = {b} | {n}()",
    "def {n}_():\n    if M < {a}: raise RuntimeError('x')\n    return True\ndef {n}():\n    try:\n        {n}_()\n    except RuntimeError: return False\n    return M < {b} | {n}()",
    "def {n}():\n    try:\n        assert M >= {a}\n    except AssertionError: return M == {b}\n    return True | {n}()",
    "class {n}_(ValueError): pass\ndef {n}():\n    try:\n        if M >= {a}: raise {n}_\n        return False\n    except ValueError: return M != {b} | {n}()",
    "def {n}():\n    for m in ({a}, {b}):\n        try:\n            if m == M: raise KeyError\n        except KeyError: return m > {c}\n    else: return M == {c}\n    return False | {n}()",
    "def {n}():\n    k = 0\n    for m in ({a}, {b}, {c}):\n        if m > M: break\n        k = m\n    return k | {n}() == {a} | {n}()",
    "def {n}():\n    k = 7\n    while k < M: k += 2\n    return k | {n}() == M | {n}() >= {a}",
    "def {n}():\n    while M >= {a}: return True\n    return M == {b} | {n}()",
    "def {n}(x):\n    match x:\n        case ({a}|{b}) as r: return r == {a}\n        case int() if x > {c}: return True\n        case _: return False | {n}(M)",
    "class {n}_: k = {a}\ndef {n}(x):\n    match x:\n        case {n}_.k: return True\n    return x > {b} | {n}(M)",
    "def {n}(x):\n    match x:\n        case {{'m': {a}}}: return True\n        case [{b}, *_]: return True\n        case (m, 0): return m >= {c}\n    return False | {n}({{'m': M}}) | {n}([M, 1]) | {n}(torch.cuda.get_device_capability())",
    "{n} = lambda *a, k={a}: M >= k or M in a | {n}() | {n}({b}) | {n}(k={c})",
    "def {n}(): return M >= {a}, M >= {b}\n{n}_, {n}__ = {n}() | {n}_ | {n}__ | {n}()[1]",
    "if M >= {a}:\n    def {n}(): return M < {b}\nelse:\n    def {n}(): return M == {c} | {n}()",
    "{n} = (lambda: M < {b}) if M >= {a} else (lambda: M == {c}) | {n}()",
    "if M >= {a}: from operator import ge as {n}\nelse: from operator import lt as {n} | {n}(M, {b})",
    "len_ = len\ndef {n}():\n    len = lambda x: {a}\n    return len('') == M | {n}()",
    "max, {n} = (lambda *a: {a}), max | max(M, {b}) == {a} and M >= {c} | {n}(M, {b}) == M",
    # statements
    "try: {n} = [{a}][{b} - {b}]\nexcept IndexError: {n} = {c} | M >= {n}",
    "try: {n} = [{a}][1]\nexcept (KeyError, IndexError) as e: {n} = {c}\nelse: {n} = {b} | M >= {n}",
    "try: {n} = {{{a}: {b}}}[M]\nexcept LookupError: {n} = {c} | {n} == {b} | {n} >= M",
    "try: {n} = {a} // (M - {b})\nexcept ZeroDivisionError: {n} = {c}\nfinally: {n}_ = {a} | {n} == {c} | M >= {n}_",
    "try:\n    try:\n        {n} = {a}\n        raise KeyError\n    except ValueError: {n} = {b}\n    finally: {n}_ = {b}\nexcept KeyError: {n}_ = {c} | M >= {n} | M >= {n}_",
    "try: {n} = int('x')\nexcept Exception: {n} = {a} | M >= {n}",
    "try:\n    {n} = {a}\n    if M >= {b}: raise RuntimeError\n    {n} = {c}\nexcept RuntimeError: pass\nelse: {n} += 1 | M >= {n}",
    "{n} = 0\nfor m in ({a}, {b}, {c}):\n    if m == M: continue\n    {n} += m\nelse: {n} += 1 | {n} > 20 | {n} == {a} + {b} + {c} + 1",
    "{n} = {{}}\nfor i, m in enumerate(({a}, {b})): {n}[m] = i | M in {n} | {n}.get(M) == 1",
    "{n} = []\nfor m in range({a}, {b} + 3):\n    if m % 2: {n}.append(m)\n    elif m == M: {n}.insert(0, {c}) | M in {n} | {n} and M >= {n}[0]",
    "{n} = {a}\nfor i in range(3):\n    for j in range(2):\n        if j and {n} > {b}: break\n        {n} += 1\n    {n} -= 1 | M >= {n}",
    "{n} = [{a}]\nwhile {n}[-1] < {b} and len({n}) < 9: {n}.append({n}[-1] + 1) | M in {n} | len({n}) > 2 and M >= {c}",
    "{n}, {n}_ = {a}, 0\nwhile {n} < M:\n    {n} += 1\n    if {n} == {b}: continue\n    {n}_ += 1\nelse: {n}_ += 1 | {n}_ > 1 | {n} == M",
    "{n} = {a}\nfor i in (1, 2):\n    try:\n        if i == 1: raise ValueError\n        {n} = {b}\n    except ValueError: {n} = {c}\n    finally: {n} += 1 | M >= {n}",
    "class {n}_:\n    def __enter__(self): return {a}\n    def __exit__(self, *e): return True\nwith {n}_() as {n}:\n    {n} += 1\n    {{}}[0]\n    {n} = {b} | M >= {n}",
    "@contextlib.contextmanager\ndef {n}_():\n    yield {a}\nwith {n}_() as {n}: pass | M >= {n}",
    "{n} = {a}\nif ({n}_ := M) > {b} and ({n} := {c}): pass | M >= {n} | {n}_ >= {a}",
    "{n} = {a}\n{n}_ = M >= {b} or ({n} := {c}) | M >= {n}",
    "[{n} := m for m in ({a}, {b})] | M >= {n}",
    "{n} = M >= {a} and {b}\n{n}_ = {n} or {c} | {n} == {b} | {n}_ == {c} | {n}_ > {a}",
    "{n} = {a}\ndel {n}\n{n} = {b}; {n}_ = {n} | M >= {n}_",
    "{n} = iter(({a}, {b}, {c}))\n{n}_ = next({n}) | M >= {n}_ | M >= next({n}) | M in {n}",
    "{n} = (m for m in ({a}, {b}))\nlist({n}) | M in {n} or M == {c}",
    "{n} = [m for m in ({a}, {b}) if m != M] or [{c}] | M in {n} | len({n}) == 1 | {n}[0] > M",
    "{n} = {a}\ndef {n}_():\n    global {n}\n    {n} += 1\n    return {n}\n{n}_() | M >= {n} | {n}_() == M",
    "{n} = {a} if os.environ.get('NOT_SET_{n}') else {b} | M >= {n}",
    "{n} = int(os.environ.get('NOT_SET_{n}', {a})) | M >= {n}",
)  # fmt: skip


def new_asked(m: Maker, row: str = "") -> None:
    """Adds what one of those rows makes, and its conditions."""
    made, *asks = (row or m.rng.choice(ASKED)).split(" | ")
    if not m.indent or "global" not in made:
        words = {"n": m.name("z"), "a": m.small(), "b": m.small(), "c": m.small(), "v": m.value()}
        m.say(made.format(**words))
        m.asks += [f"({ask.format(**words)})" for ask in asks]


def change_list(m: Maker) -> None:
    held, v = m.list(), m.value()
    ways = [
        f"{held}.append({v})", f"{held}.extend([{m.some()}])", f"{held} += [{v}]", f"{held}[0:0] = [{v}]", f"{held}.insert(0, {v})",
        f"{held}[:] = [{m.some()}]", f"{held}.reverse()", f"{held}.sort()", f"del {held}[0:1]", f"{held}.clear()",
        f"{held} = {held} + [{v}]", f"operator.iadd({held}, [{v}])", f"list.append({held}, {v})", f"[{held}.append(m) for m in (8, 12)]",
        f"for m in ({m.some()}):\n    {held}.append(m)", f"({held}).append({v})", f"getattr({held}, 'append')({v})",
        f"{held} *= 1", f"x, *{held} = [1, {m.some()}]", f"for {held} in ([9], [{m.some()}]): pass", f"({held}, [1])[0].append({v})",
    ]  # fmt: skip
    alias = m.name("A")
    ways += [f"{alias} = {held}\n{way.replace(held, alias)}" for way in ways[:4]]
    ways += [
        f"{alias} = {held}.append\n{alias}({v})",
        f"{alias} = [{held}]\n{alias}[0].append({v})",
        f"{alias} = dict(k={held})\n{alias}['k'].append({v})",
        f"for {alias} in [{held}]:\n    {alias}.append({v})",
        f"def {alias}(l): l.append({v})\n{alias}({held})",
        f"def {alias}(): {held}.append({v})\n{alias}()",
        f"def {alias}(): return {held}\n{alias}().append({v})",
        f"def {alias}(l={held}): l.append({v})\n{alias}()",
        f"def {alias}(*l): l[0].append({v})\n{alias}({held})",
        f"def {alias}():\n    {held}.append({v})\n    yield 1\nlist({alias}())",
        f"({alias} := {held}).append({v})",
        f"if M >= {m.small()}:\n    {held}.append({v})",
        f"try:\n    {held}.append({v})\n    {held}.append({{}}[0])\nexcept KeyError: pass",
        f"with contextlib.nullcontext({held}) as {alias}:\n    {alias}.append({v})",
        f"globals()['{held}'] = [{v}]",
        f"globals()['{held}'].append({v})",
        f"class {alias}:\n    l = {held}\n{alias}.l.append({v})",
        f"class {alias}:\n    def __init__(s, l): s.l = l\n{alias}({held}).l.append({v})",
        f"list(map({held}.append, ({m.some()},)))",
        f"{alias} = lambda: {held}.append({v})\n{alias}()",
        f"match {held}:\n    case {alias}: {alias}.append({v})",
    ]
    if m.indent:  # these need the name to be a global one
        ways = [way for way in ways if "globals" not in way]
    else:
        ways.append(f"def {alias}():\n    global {held}\n    {held} = [{v}]\n{m.rng.choice((alias + '()', 'pass'))}")
        ways.append(f"exec('{held} = [{v}]')")
    m.say(m.rng.choice(ways))


def change_table(m: Maker) -> None:
    held, v, k = m.table(), m.value(), m.small()
    alias = m.name("A")
    ways = [
        f"{held}[{k}] = {v}", f"{held}.update({{{k}: {v}}})", f"{held}.pop({k}, 0)", f"{held}.setdefault({k}, {v})", f"{held}.clear()",
        f"{held} |= {{{k}: {v}}}", f"{held}.popitem()", f"{held}[M] = {v}", f"{alias} = {held}\n{alias}[{k}] = {v}",
        f"def {alias}(t): t[{k}] = {v}\n{alias}({held})", f"def {alias}(): {held}[{k}] = {v}\n{alias}()",
        f"def {alias}(f):\n    {held}[{k}] = 1\n    return f\n@{alias}\ndef {alias}_(): pass",
        f"for m in ({m.some()}, 8): {held}[m] = {v}", f"if M >= {k}: {held}[{k}] = {v}", f"if {k} in {held}: del {held}[{k}]",
        f"{held} = {{a: b for a, b in {held}.items() if a != {k}}}", f"operator.setitem({held}, {k}, {v})", f"{held}.__setitem__({k}, {v})",
        f"{held}.update(dict([({k}, {v})]))", f"dict.update({held}, {{{k}: {v}}})", f"{alias} = {held}.setdefault\n{alias}({k}, {v})",
        f"for {held}[{k}] in (8, 12): pass", f"{held}[{k}], {alias} = 1, 2", f"class {alias}:\n    {held}[{k}] = {v}",
    ]  # fmt: skip
    m.say(m.rng.choice(ways))


def change_set(m: Maker) -> None:
    held, v = m.set(), m.value()
    alias = m.name("A")
    m.say(m.rng.choice((
        f"{held}.add({v})", f"{held}.discard({v})", f"{held} |= {{{v}}}", f"{held} -= {{9}}", f"{held}.update(({m.some()},))",
        f"{held} &= {{9, 12}}", f"{held} ^= {{12}}", f"{held}.difference_update([{m.some()}])", f"{held}.clear()",
        f"{alias} = {held}\n{alias}.add({v})", f"def {alias}(s): s.add({v})\n{alias}({held})", f"def {alias}(): {held}.discard({v})\n{alias}()",
        f"{alias} = {held}\n{alias} |= {{{v}}}", f"{alias} = {held}\n{alias} = {alias} | {{{v}}}", f"set.add({held}, {v})",
        f"for m in ({m.some()}, 8): {held}.add(m)",
    )))  # fmt: skip


def change_number(m: Maker) -> None:
    n, v = m.number(), m.value()
    alias = m.name("A")
    ways = [
        f"{n} = {v}", f"{n} += 1", f"{n}, {alias} = {v}, {n}", f"for {n} in ({m.some()}, {m.small()}): pass",
        f"[{n} for {n} in (8, 9)]", f"try:\n    {n} = {v}\nfinally:\n    pass", f"try:\n    {n} = {{9: 8}}[{v}]\nexcept KeyError:\n    {n} = {m.small()}",
        f"try:\n    {n} = {v}\n    raise ValueError\nexcept ValueError:\n    pass", f"while {n} < {m.small()}: {n} += 2",
        f"if {m.condition()}:\n    {n} = {v}\nelif {m.condition()}:\n    {n} = {m.small()}", f"match M:\n    case {m.small()}: {n} = {v}\n    case _: pass",
        f"match M:\n    case {n}: pass", f"match [M, {v}]:\n    case [_, {n}]: pass", f"({n} := {v})", f"[({n} := m) for m in ({m.some()}, 9)]",
        f"with contextlib.suppress(KeyError):\n    {n} = {{9: 8}}[{v}]", f"with contextlib.nullcontext({v}) as {n}: pass",
        f"for m in ({m.some()}, 12):\n    if M == m: {n} = m", f"for m in ({m.some()}, 12):\n    {n} = m\n    if M >= m: break\nelse:\n    {n} = {v}",
        f"if os.environ.get('NOT_SET'): {n} = {v}", f"*{alias}, {n} = [{m.some()}, {v}]", f"({alias}, {n}) = ({v}, {v})",
        f"for m in range(2):\n    if m: {n} = {v}", f"assert ({n} := {v})", f"{alias} = [{n} := {v}]", f"if ({n} := {v}): pass",
        f"try:\n    raise ValueError({v})\nexcept ValueError as {alias}:\n    {n} = {alias}.args[0]",
        f"for m in (1,): \n    {n} = {v}\n    continue\n    {n} = 7", f"{n} = {v} if {m.condition(1)} else {n}",
        f"{n} = next(iter(({m.some()}, 9)))", f"{n} = next((m for m in ({m.some()}, 9) if m >= M), {v})",
        f"{n} = functools.reduce(lambda a, b: max(a, b), ({m.some()}, 9))", f"{n} = -(-{n} // 1)", f"{n} = abs(-{n})",
    ]  # fmt: skip
    if not m.indent:
        ways += [
            f"globals()['{n}'] = {v}", f"exec('{n} = {m.small()}')", f"globals().update({n}={v})",
            f"def {alias}():\n    global {n}\n    {n} = {v}\n{m.rng.choice((alias + '()', 'pass'))}",
            f"def {alias}():\n    global {n}\n    {n} += 1\n    return {n}\n{alias}()",
            f"class {alias}:\n    global {n}\n    {n} = {v}", f"import sys as {alias}\n{alias}.modules[__name__] if 0 else None\nvars()['{n}'] = {v}",
            f"del {n}\n{n} = {v}", f"def {alias}():\n    for {n} in (7,): pass\n{alias}()",
        ]  # fmt: skip
    m.say(m.rng.choice(ways))


def change_answer(m: Maker) -> None:
    old = m.answer()
    ways = [
        f"def {old}(): return {m.condition(1)}", f"{old}()", f"{old} = lambda f={old}: not f()", f"{old}.__defaults__ = ({m.value()},)",
        f"if {m.condition(1)}:\n    def {old}(): return {m.condition(1)}", f"{old}.__code__ = (lambda: False).__code__",
    ]  # fmt: skip
    result = m.name("r")
    ways += [f"{result} = {old}()\n{result}_ok = lambda: {result}"]
    pick = m.rng.choice(ways)
    m.say(pick)
    if f"{result}_ok" in pick:
        m.answers.append(f"{result}_ok")


def change_class(m: Maker) -> None:
    cls, v = m.cls(), m.value()
    alias = m.name("A")
    m.say(m.rng.choice((
        f"{cls}.need = {v}", f"setattr({cls}, 'need', {v})", f"{cls}.held.append({v})", f"{cls}.ok = lambda self: {m.condition(1)}",
        f"{alias} = {cls}\n{alias}.need = {v}", f"type({cls}()).need = {v}", f"{cls}.need += 1", f"{cls}.held = [{m.some()}]",
        f"def {alias}(c): c.need = {v}\n{alias}({cls})", f"del {cls}.need\n{cls}.need = {v}", f"class {cls}({cls}):\n    need = {v}",
        f"for {cls}.need in (8, 12): pass", f"({cls}.need, {alias}) = ({v}, 1)", f"setattr({cls}, 'ne' + 'ed', {v})",
        f"{cls}.__getattribute__ = lambda self, n: 9",
    )))  # fmt: skip


def change_object(m: Maker) -> None:
    obj, v = m.object(), m.value()
    alias = m.name("A")
    m.say(m.rng.choice((
        f"{obj}.need = {v}", f"setattr({obj}, 'need', {v})", f"{obj}.held.append({v})", f"{obj}.held += [{v}]", f"{alias} = {obj}\n{alias}.need = {v}",
        f"def {alias}(k): k.need = {v}\n{alias}({obj})", f"{obj}.__dict__['need'] = {v}", f"vars({obj}).update(need={v})", f"{obj}.ok = lambda: {m.condition(1)}",
        f"{obj}.__class__.need = {v}", f"[{obj}][0].need = {v}", f"{alias} = {obj}.held\n{alias}.append({v})", f"{obj} = {m.rng.choice(m.objects)}",
        f"{obj}.held = [{m.some()}]", f"object.__setattr__({obj}, 'need', {v})", f"if {m.condition(1)}: {obj}.need = {v}",
    )))  # fmt: skip


def gate_in_loop(m: Maker) -> None:
    way = m.rng.randint(0, 4)
    head = (f"for m in ({m.some()}, 9):", "for i in range(2):", f"for m in {m.list()}[:]:" if m.lists else "for m in (9, 12):",
            "for m in [9]:", "for i in (1, 2):")[way]  # fmt: skip
    with m.inside(head):
        if m.rng.random() < 0.5:
            change(m)
        if " m in" in head and m.rng.random() < 0.7:
            if m.rng.random() < 0.4:
                m.say(f"if {m.rng.choice(('M == m', 'M >= m', 'm == 9'))}: {m.rng.choice(('continue', 'break'))}")
            m.say(
                f"if {m.rng.choice(('M == m', 'M >= m', 'M < m and M > 8', f'M == m or {m.condition(1)}'))}:",
                "    x = 1",
            )
            m.say(*m.rng.choice((("else:", "    x = 2"), ("elif M == 9:", "    x = 3"), ())))
        else:
            m.gate()
        if m.rng.random() < 0.5:
            change(m)


def gate_in_function(m: Maker) -> None:
    name = m.name("fin")
    held = {k: list(v) for k, v in vars(m).items() if isinstance(v, list) and k != "lines"}
    with m.inside(f"def {name}():"):
        local = Maker(m.rng, m.lines, m.indent, made=m.made + 1000)
        for _ in range(m.rng.randint(0, 2)):
            change(local)
        for key, names in held.items():  # names of around are read, not bound here
            getattr(local, key).extend(names)
        if m.rng.random() < 0.3:
            local.say(f"if {local.condition()}: return")
        local.gate()
        m.made = local.made
    m.say(f"{name}()")
    if m.rng.random() < 0.3:
        change(m)
        m.say(f"{name}()")


CHANGES = (change_list, change_list, change_table, change_set, change_number, change_number, change_answer, change_class, change_object)  # fmt: skip
NEW = (new_number, new_list, new_table, new_set, new_answer, new_answer, new_class, new_object, new_asked, new_asked, new_asked)  # fmt: skip


def change(m: Maker) -> None:
    m.rng.choice(CHANGES)(m)


def asked_module(seed: int) -> str:
    """The text of a module that asks everything of one or two things that it makes."""
    m = Maker(random.Random(seed))
    row = ASKED[seed % len(ASKED)]
    new_asked(m, row)
    if m.rng.random() < 0.4:
        new_asked(m)
    for ask in m.asks:
        lines = (f"if {ask}:", "    x = 1", "else:", "    x = 2")
        if m.rng.random() < 0.5:
            name = m.name("fin")
            with m.inside(f"def {name}():"):
                m.say(*lines)
            m.say(f"{name}()")
        else:
            m.say(*lines)
    return re.sub(r"\bM\b", MAJOR, HEAD + "\n".join(m.lines) + "\n")


def module(seed: int) -> str:
    """The text of a module."""
    m = Maker(random.Random(seed))
    for _ in range(m.rng.randint(1, 3)):
        m.rng.choice(NEW)(m)
    for _ in range(m.rng.randint(0, 3)):
        change(m)
    for _ in range(m.rng.randint(1, 2)):
        m.rng.choice((Maker.gate, Maker.gate, gate_in_function, gate_in_loop))(m)
        if m.rng.random() < 0.3:
            change(m)
    m.gate()
    return re.sub(r"\bM\b", MAJOR, HEAD + "\n".join(m.lines) + "\n")


def fake(capability: tuple[int, int]) -> dict[str, types.ModuleType]:
    """The modules of a torch that sees one GPU."""
    torch, cuda = types.ModuleType("torch"), types.ModuleType("torch.cuda")
    torch.cuda, torch.version = cuda, types.SimpleNamespace(cuda="13.0", hip=None)  # type: ignore[attr-defined]
    cuda.get_device_capability = lambda *a: capability  # type: ignore[attr-defined]
    cuda.is_available = lambda: True  # type: ignore[attr-defined]
    return {"torch": torch, "torch.cuda": cuda}


def execute(text: str, capability: tuple[int, int]) -> tuple[collections.Counter[int], set[int]]:
    """How often each line runs, and the lines on which something is raised."""
    ran: collections.Counter[int] = collections.Counter()
    raised: set[int] = set()
    steps = 0

    def trace(frame: types.FrameType, event: str, arg: object) -> object:
        nonlocal steps
        if frame.f_code.co_filename != "<made>":
            return None
        steps += 1
        if steps > MOST_STEPS:
            ran.clear()
            raise TimeoutError
        if event == "line":
            ran[frame.f_lineno] += 1
        elif event == "exception":
            raised.add(frame.f_lineno)
        return trace

    before = {name: sys.modules.get(name) for name in ("torch", "torch.cuda")}
    sys.modules.update(fake(capability))
    previous = sys.gettrace()
    code = compile(text, "<made>", "exec", dont_inherit=True)
    sys.settrace(trace)
    try:
        exec(code, {"__name__": "made"})
    except BaseException:
        pass
    finally:
        if sys.gettrace() is None:  # lost at the limit of recursion: what was raised after that was not seen
            ran.clear()
        sys.settrace(previous)
        for name, held in before.items():
            if held is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = held
    return ran, raised
