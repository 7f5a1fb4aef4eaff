"""Definite answers about Python are never contradicted by running it: random modules, and ones that were wrong once."""

from __future__ import annotations

import collections
import os
import re
import warnings
from collections.abc import Callable

import pytest

from archscan.model.gate import Gate, Kind
from archscan.model.target import HOST, Target, Universe
from tests import test_python_cases
from tests.made_modules import ASKED, CAPABILITIES, HEAD, MAJOR, asked_module, execute, module

UNIVERSE = Universe((HOST, *(Target(major * 10 + minor) for major, minor in CAPABILITIES)))
COUNT = int(os.environ.get("ARCHSCAN_MADE_MODULES", "150"))
assert len(ASKED) <= COUNT  # each of them once at least
GATE = "if {}:\n    x = 1\nelse:\n    x = 2\n"


def gates_of(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Gate]:
    monkeypatch.setattr(test_python_cases, "UNIVERSE", UNIVERSE)
    return [g for g in test_python_cases.scan({"m.py": text})["m.py"].gates if g.kind is Kind.IF]


def contradictions(text: str, gates: list[Gate]) -> tuple[collections.Counter[str], list[str]]:
    """How many answers are definite and how many unknown, and those that running the module contradicts."""
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    lines = text.split("\n")
    for capability in CAPABILITIES:
        ran, raised = execute(text, capability)
        bit = UNIVERSE.bit(Target(capability[0] * 10 + capability[1]))
        for gate in gates:
            if not ran[gate.place.line] or any(arm.place.line in raised for arm in gate.arms):
                continue
            for arm in gate.arms:
                body = _body(lines, arm.place.line, arm.condition)
                if not body:
                    continue
                known = bool((arm.truth.yes | arm.truth.no) & bit)
                counts["definite" if known else "unknown"] += 1
                if known and bool(arm.truth.yes & bit) != bool(ran[body]):
                    wrong.append(f"{capability} line {arm.place.line}: {lines[arm.place.line - 1].strip()}")
    return counts, wrong


def _body(lines: list[str], at: int, condition: str) -> int:
    """The first line of an arm's block; 0 where it stands beside its condition."""
    head = lines[at - 1].strip()
    if head.startswith(("if ", "elif ", "case ")):
        return at + 1 if head.endswith(":") else 0
    return at if not condition else 0


@pytest.mark.parametrize("make", [module, asked_module])
@pytest.mark.parametrize("first", range(0, COUNT, 50))
def test_no_definite_answer_is_contradicted_by_running_it(
    first: int, make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings.simplefilter("ignore", SyntaxWarning)
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, min(first + 50, COUNT)):
        text = make(seed)
        try:
            compile(text, "made", "exec", dont_inherit=True)
        except SyntaxError:
            continue
        found, wrong = contradictions(text, gates_of(text, monkeypatch))
        assert not wrong, f"seed {seed}: {wrong[:3]}\n{text}"
        counts += found
    assert counts["definite"] > counts["unknown"] / 2  # unknown everywhere would be no answer


# What goes before, and a condition: each was answered wrong once. The first sort is followed to its end.
FOLLOWED = {
    "range_as_list": ("L = range(9, 12)", "M >= 9 and L != [9, 10, 11]"),
    "range_made_a_list": ("L = list(range(9, 12))", "M >= 9 and L == [9, 10, 11]"),
    "values_as_list": ("T = {'a': 9}", "M >= 9 and T.values() != [9]"),
    "nested_range": ("L = (9, range(3))", "M >= 9 and L != (9, [0, 1, 2])"),
    "list_method": ("L = [9, 10]\nL.extend((11, 12))\nL.remove(9)", "M in L"),
    "list_subscript": ("L = [9, 10]\nL[0] = 12", "M in L"),
    "list_deleted": ("L = [9, 12]\ndel L[1]", "M in L or M == 7"),
    "list_reversed": ("L = [12, 9]\nL.reverse()", "M >= L[0]"),
    "table_row_under_condition": ("T = {9: 'h'}\nif M >= 9:\n    T[12] = 'b'", "M in T or M == 7"),
    "table_of_equal_keys": ("T = {9: 7, 9: 12}", "M >= T[9]"),
    "table_merged": ("T = {9: 1} | {12: 1}", "M in T"),
    "table_by_comprehension": ("T = {m: m > 9 for m in (9, 10, 12)}", "T.get(M)"),
    "set_changed": ("S = {9, 12}\nS.add(10)\nS.discard(12)", "M in S"),
    "set_operators": ("S = ({9} | {12, 10}) - {9}", "M in S"),
    "decorator_that_negates": ("def no(f):\n    def g(): return not f()\n    return g\n@no\ndef ok(): return M >= 9", "ok()"),
    "decorator_that_drops": ("def off(f): return lambda: False\n@off\ndef ok(): return M >= 9", "ok() or M == 12"),
    "decorator_that_passes_on": (
        "def w(f):\n    @functools.wraps(f)\n    def g(*a, **k):\n        return f(*a, **k)\n    return g\n@w\ndef ok(n): return M >= n",
        "ok(12)",
    ),
    "default_bound_early": ("n = 9\ndef ok(n=n): return M >= n\nn = 12", "ok()"),
    "keywords_passed_on": ("def ok(**k): return M >= k.get('n', 9)", "ok(n=12)"),
    "spread_arguments": ("def ok(n=9): return M >= n", "ok(*[12])"),
    "list_is_no_tuple": ("", "list(torch.cuda.get_device_capability()) == (12, 0) or M == 9"),
    "slice": ("", "M in (9, 12, 10)[:2]"),
    "two_clauses": ("", "(M, 9) in [(a, b) for a in (9, 12) for b in (7, 9)]"),
    "escape_in_text": ("", "str(M) == '\\x39'"),
    "walrus": ("n = 9\nif (n := 12): pass", "M >= n"),
    "star": ("*a, n = 7, 9, 12", "M >= n"),
    "right_order_of_bases": (
        "class A: need = 9\nclass B(A): pass\nclass C(A): need = 12\nclass D(B, C): pass", "M >= D.need",
    ),
    "constructor": ("class K:\n    def __init__(self, need): self.need = need + 3\nk = K(9)", "M >= k.need"),
    "handler_that_cannot_be_come_to": ("try:\n    n = M\nexcept ValueError:\n    n = 7", "n >= 9"),
    "match_in_function": ("def ok():\n    match M:\n        case 9 | 10: return True\n        case _: return False", "ok()"),
    "loop_in_function": ("def f():\n    for m in (8, 9, 12):\n        if m == M: return m > 9\n    return False", "f()"),
}  # fmt: skip
LOST = {
    "binding_behind_continue": (
        "import os\nn = 9\nfor m in (1,):\n    n = 11 + len(os.sep * 0)\n    continue\n    n = 7",
        "8 <= M < n",
    ),
    "binding_behind_break": (
        "import os\nn = 9\nwhile True:\n    n = 11 if os.path.exists('/') else 12\n    if n: break\n    n = 7",
        "8 <= M < n",
    ),
    "flag_as_a_truth": ("import os\nX = os.path.exists('/')", "(X == (M >= 9)) and M >= 8"),
    "flag_not_a_truth": ("import os\nX = os.path.exists('/')", "(X != (M >= 9)) or M >= 12"),
    "flag_no_truth": ("import os\nX = os.environ.get('PATH')", "X == (M >= 9)"),
    "variable_set": ("os.environ['N'] = '12'", "M >= int(os.environ.get('N', '9'))"),
    "cached_list": ("@functools.lru_cache\ndef f(): return [9]\nf().append(12)", "M in f()"),
    "largest_by_key": ("n = max((9, 12, 10), key=lambda m: -m)", "M >= n"),
    "sorted_the_other_way": ("L = sorted([9, 12, 10], reverse=True)", "M >= L[0]"),
    "constant_patched": ("import torch as t\nt.version.cuda = None", "torch.version.cuda and M >= 9"),
    "table_row": ("T = {9: 'h'}\nT[12] = 'b'", "M in T or M == 7"),
    "table_deleted": ("T = {9: 'h', 12: 'b'}\ndel T[12]", "M in T or M == 7"),
    "alias": ("L = [9, 10]\nA = L\nA += [12]", "M in L"),
    "argument": ("L = [9]\ndef add(l): l.append(12)\nadd(L)", "M in L"),
    "nested": ("L = [[9, 10]]\nL[0].append(12)", "M in L[0]"),
    "chained": ("A = B = [9]\nB.append(12)", "M in A"),
    "returned": ("L = [9]\ndef get(): return L\nget().append(12)", "M in L"),
    "bound_method": ("L = [9]\nadd = L.append\nadd(12)", "M in L"),
    "kept_by_keyword": ("L = [9]\nd = dict(k=L)\nd['k'].append(12)", "M in L"),
    "one_of_several": ("L = [9]\nmax(L, [7]).append(12)", "M in L"),
    "in_function": ("T = {9: 1}\ndef reg():\n    T[12] = 1\nreg()", "M in T"),
    "registered": ("T = {9: 1}\ndef reg(m):\n    def d(f):\n        T[m] = f\n        return f\n    return d\n@reg(12)\ndef k(): pass", "M in T"),
    "generator": ("L = [9]\ndef g():\n    L.append(12)\n    yield 1\nlist(g())", "M in L"),
    "generator_is_true": ("def g():\n    yield 1", "g() and M >= 9"),
    "mutable_default": ("def ok(seen=[7]):\n    seen.append(M)\n    return len(seen) > 2\nok()", "ok()"),
    "class_attribute": ("class K: need = 9\nK.need = 12", "M >= K.need"),
    "class_list": ("class K: held = [9]\nK.held.append(12)", "M in K.held"),
    "setattr": ("class K: need = 9\nsetattr(K, 'ne' + 'ed', 12)", "M >= K.need"),
    "type_of": ("class K: need = 9\nk = K()\ntype(k).need = 12", "M >= k.need"),
    "method_patched": ("class K:\n    @staticmethod\n    def ok(): return M >= 9\nK.ok = staticmethod(lambda: M >= 12)", "K.ok()"),
    "classmethod": ("class K:\n    n = 9\n    @classmethod\n    def up(cls): cls.n = 12\nK.up()", "M >= K.n"),
    "object_by_function": ("class K: need = 9\nk = K()\ndef up(o): o.need = 12\nup(k)", "M >= k.need"),
    "heir": ("class A:\n    need = 9\nclass B(A): need = 12", "M >= A.need and M >= B().need"),
    "getattribute": ("class K: need = 12\nk = K()\nK.__getattribute__ = lambda s, n: 9", "M >= k.need"),
    "metaclass": ("class Meta(type):\n    def __contains__(c, x): return x == 12\nclass K(metaclass=Meta): pass", "M in K"),
    "setter": ("class K:\n    n = 9\n    @property\n    def need(self): return self.n\n    @need.setter\n    def need(self, v): self.n = v\nk = K()\nk.need = 12", "M >= k.need"),
    "late": ("n = 9\n@functools.lru_cache\ndef ok(): return M >= n\nok()\nn = 12", "ok()"),
    "redefined": ("n = 9\ndef ok(): return M >= n\nr = ok()\nn = 12", "r"),
    "global": ("n = M >= 9\ndef g():\n    global n\n    n = M >= 12\ng()", "n"),
    "global_in_class": ("n = 9\nclass A:\n    global n\n    n = 12", "M >= n"),
    "nonlocal": ("def f():\n    n = 9\n    def g():\n        nonlocal n\n        n = 12\n    g()\n    return M >= n", "f()"),
    "handler": ("v = 9\ntry:\n    {}[0]\nexcept KeyError:\n    v = 12", "M >= v"),
    "half_a_body": ("v = 9\ntry:\n    v = 12\n    raise ValueError\nexcept ValueError:\n    pass", "M >= v"),
    "raised_in_function": ("def f(): raise ValueError\nv = 9\ntry:\n    f()\n    v = 10\nexcept ValueError:\n    v = 12", "M >= v"),
    "suppressed": ("v = 9\nwith contextlib.suppress(KeyError):\n    {}[0]\n    v = 12", "M >= v"),
    "while": ("L = [9]\nwhile L[-1] < 12:\n    L.append(L[-1] + 1)", "M in L"),
    "carried_round": ("n = 9\nfor i in (1, 2):\n    m = n\n    n = 12", "M >= m"),
    "capture": ("n = 9\nmatch M:\n    case n: pass", "n >= 12"),
    "deleted": ("n = 9\ndel n\nfor n in (7, 12): pass", "M >= n"),
    "exec": ("n = 9\nexec('n = 12')", "M >= n"),
    "globals": ("n = 9\nglobals()['n'] = 12", "M >= n"),
    "patched": ("torch.cuda.get_device_capability = lambda: (9, 0)", "torch.cuda.get_device_capability()[0] >= 10 or M == 12"),
    "unknown_decorator": ("import operator as library\n@library.not_\ndef ok(): return M >= 9", "ok and M == 12"),
    "iterator_once": ("it = iter([9])\nnext(it)", "M >= next(it, 12)"),
    "order_of_a_set": ("n = list({12, 9, 10})[0]", "M >= n"),
    "bytes_are_no_text": ("", "str(M).encode() == '12' or M == 9"),
    "conversion": ("", "f'{str(M)!r}' == '12' or M == 9"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_a_module_does_is_followed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = re.sub(r"\bM\b", MAJOR, f"{HEAD}{FOLLOWED[name][0]}\n{GATE.format(FOLLOWED[name][1])}")
    counts, wrong = contradictions(text, gates_of(text, monkeypatch))
    assert not wrong and counts["definite"] and not counts["unknown"]


@pytest.mark.parametrize("name", LOST)
@pytest.mark.parametrize("inside", [False, True])
def test_what_is_not_followed_is_unknown(name: str, inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    before, condition = LOST[name]
    gate = GATE.format(condition)
    if inside:
        gate = "def use():\n" + "".join(f"    {line}\n" for line in gate.splitlines()) + "use()\n"
    text = re.sub(r"\bM\b", MAJOR, f"{HEAD}{before}\n{gate}")
    assert not contradictions(text, gates_of(text, monkeypatch))[1]
