"""Reads makefiles: variables, conditionals, functions and recipes, in memory; `$(shell ...)` stays unknown."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from archscan.frontends.build.archlists import ArchList
from archscan.frontends.build.reading import Given, Reading, finished, of_command, of_variable
from archscan.frontends.build.traced import (
    HOLE,
    MOST_WAYS,
    Run,
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

_LINE = re.compile(rb"[^\\\n]*(?:\\.[^\\\n]*)*(?:\n|\Z)", re.DOTALL)
_ASSIGN = re.compile(
    r"[ \t]*(?:(?:export|override|private|unexport)[ \t]+)*"
    r"(?P<name>[^\s:#=+?!$()]+)[ \t]*(?P<op>\+=|\?=|!=|:{0,3}=)[ \t]*"
)
_OF_TARGET = re.compile(
    r"[ \t]*[^\s:#=$][^:#=]*:[ \t]*(?P<rest>(?:(?:override|private|export)[ \t]+)*[\w.]+[ \t]*[+?:]?=)"
)
_CONDITIONAL = re.compile(
    r"[ \t]*(?P<word>ifeq|ifneq|ifdef|ifndef|else|endif|if(?=[ \t]+!?\w+\s*\Z))\b[ \t]*(?P<rest>.*)", re.DOTALL
)
_QUOTED_PAIR = re.compile(r"(?P<q>[\"'])(?P<a>.*?)(?P=q)\s+(?P<r>[\"'])(?P<b>.*?)(?P=r)\s*\Z", re.DOTALL)
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
_SHELL = re.compile(r"\s*\$[({]shell\b|\s*\x1a\s*$")
_TEST = re.compile(r"\s*(?:test|\[)\s+(?P<test>[^;&|\]]+?)\s*\]?\s*(?:;\s*echo \$\?|&&\s*echo (?P<said>\S+).*)\s*")
_EXPR = re.compile(r"\s*expr\s+\"?(\d+)\"?\s*\\?[\"']?(>=|<=|>|<|=|==)[\"']?\s*\"?(\d+)\"?\s*")
_ORDER = re.compile(r"[\"']?(\d+)[\"']?\s+-(eq|ne|lt|le|gt|ge)\s+[\"']?(\d+)[\"']?")
_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "=": operator.eq, "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_EVALUATED = re.compile(r"\s*\$[({]\s*(?:foreach|eval|call|if|and|or)\b")
_BLANK = written(" ")
MAX_STEPS = 4000
MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Variable:
    """What a variable was given: unexpanded, unless it was assigned with `:=`; what branches leave may be either."""

    raw: Ways = ()
    expanded: Ways = ()
    is_sure: bool = True  # it was given something on every way

    @property
    def ways(self) -> Ways:
        return (*self.expanded, *self.raw)

    @property
    def is_expanded(self) -> bool:
        """Whether what is appended is expanded at once."""
        return bool(self.expanded)

    @classmethod
    def of(cls, ways: Ways, is_expanded: bool) -> Variable:
        """A variable that was given this, in one of the two ways."""
        return cls(expanded=ways) if is_expanded else cls(raw=ways)


@dataclass
class _Open:
    """A conditional that is being read."""

    before: dict[str, Variable]
    ended: list[dict[str, Variable]]  # what each branch that may be taken left
    met: bool | None  # whether the branch that is being read is taken
    decided: bool = False  # an earlier branch is taken for sure
    asked: tuple[str, ...] = ()  # the conditions of the branches so far that nobody can answer
    has_else: bool = False


@dataclass
class _Maker:
    """A makefile while it is read."""

    given: Given
    variables: dict[str, Variable] = field(default_factory=dict)
    opened: list[_Open] = field(default_factory=list)
    commands: list[Text] = field(default_factory=list)
    recipes: list[tuple[Text, tuple[str, ...]]] = field(default_factory=list)  # with the conditions around them
    told: list[tuple[int, int]] = field(default_factory=list)  # lines that this toolkit rules out
    steps: int = 0
    locals: dict[str, Ways] = field(default_factory=dict)
    depth: int = 0

    # --- lines

    def line(self, text: Text) -> None:
        """A logical line outside of a recipe."""
        whole = shown(text)
        if conditional := _CONDITIONAL.match(whole):
            self.conditional(conditional["word"], cut(text, conditional.start("rest"), len(whole)))
        elif not self.is_live:
            return
        elif assign := _ASSIGN.match(whole):
            self.assign(assign["name"], assign["op"], cut(text, assign.end(), len(whole)))
        elif of_target := _OF_TARGET.match(whole):
            self.line(cut(text, of_target.start("rest"), len(whole)))
        elif _EVALUATED.match(whole):
            self.expand(text)
        elif ";" in whole and ":" in whole.partition(";")[0]:
            self.commands.append(under(cut(text, whole.index(";") + 1, len(whole)), self.conditions))

    @property
    def is_live(self) -> bool:
        return all(one.met is not False for one in self.opened)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions around what is being read that nobody can answer."""
        return tuple(one.asked[-1] for one in self.opened if one.met is None and one.asked)

    def assign(self, name: str, op: str, value: Text) -> None:
        """NAME = value, in one of its six spellings."""
        user = self.given.value(name)
        if user is not None:
            self.variables[name] = Variable.of((written(user),), True)
            return
        old = self.variables.get(name)
        if op == "!=":
            self.variables[name] = Variable.of((unknown(f"$(shell) in {name}"),), True)
        elif op == "+=":
            self.variables[name] = self.appended(old or Variable(raw=((),)), value)
        elif op != "?=" or old is None:
            eager = op in (":=", "::=", ":::=")
            ways = self.expand(value) if eager else (value,)
            self.variables[name] = Variable.of(added(ways, old.ways if old else (), self.conditions), eager)
        elif not old.is_sure:
            self.variables[name] = replace(old, raw=(*old.raw, under(value, self.conditions)), is_sure=True)

    def appended(self, old: Variable, value: Text) -> Variable:
        """A variable with more behind it, expanded where what it holds is."""
        now = self.expand(value) if old.expanded else ()
        more = [tuple(under(way, self.conditions) for way in ways) for ways in (now, (value,))]
        expanded, raw = (
            combined([held, (_BLANK,), new]) if held else ()
            for held, new in ((old.expanded, more[0]), (old.raw, more[1]))
        )
        return Variable(raw, expanded)

    # --- conditionals

    def conditional(self, word: str, rest: Text) -> None:
        if word == "endif":
            if self.opened:
                self.close()
            return
        if word != "else":
            self.opened.append(_Open(dict(self.variables), [], True))
            self.enter(word, rest)
            return
        if not self.opened:
            return
        top = self.opened[-1]
        self.leave(top)
        following = _CONDITIONAL.match(shown(rest))
        if following and following["word"].startswith("if"):
            self.enter(following["word"], cut(rest, following.start("rest"), len(shown(rest))))
        else:
            top.has_else = True
            self.take(top, True, "")

    def enter(self, word: str, rest: Text) -> None:
        """A branch with a condition."""
        self.take(
            self.opened[-1], self.answer(word, rest), " ".join(f"{word} {shown(rest)}".split()).replace(HOLE, "…")
        )

    def take(self, top: _Open, answer: bool | None, asked: str) -> None:
        """Goes on in a branch with this answer."""
        top.met = False if top.decided or answer is False else None if answer is None or top.asked else True
        if answer and not top.decided:
            top.decided = True
        if top.met is None:
            top.asked = (*top.asked, asked or " and ".join(f"not {one}" for one in top.asked))
        self.variables = dict(top.before)

    def leave(self, top: _Open) -> None:
        if top.met is not False:
            top.ended.append(self.variables)

    def close(self) -> None:
        """After a conditional: what its branches agree on, else what it may be."""
        top = self.opened.pop()
        self.opened.append(top)
        self.leave(top)
        self.opened.pop()
        ends = top.ended if top.decided and top.ended else [*top.ended, top.before]
        names = dict.fromkeys(name for end in ends for name in end)
        self.variables = {}
        for name in names:
            there = [end[name] for end in ends if name in end]
            if len(there) == len(ends) and all(one is there[0] for one in there):
                self.variables[name] = there[0]
                continue
            self.variables[name] = Variable(
                extended(way for one in there for way in one.raw),
                extended(way for one in there for way in one.expanded),
                len(there) == len(ends) and all(one.is_sure for one in there),
            )

    def answer(self, word: str, rest: Text) -> bool | None:
        """Whether a condition is met; None where that is not known."""
        if word == "if":  # of automake: configure says it
            return None
        whole = shown(rest).strip()
        if word in ("ifdef", "ifndef"):
            user = self.given.value(whole)
            held = bool(user) if user is not None else self.is_given(whole)
            return held if held is None or word == "ifdef" else not held
        texts = _sides(rest)
        if len(texts) != 2:
            return None
        values = [self.one(text) for text in texts]
        for text, other in zip(texts, reversed(values), strict=True):
            unset = re.fullmatch(r"\s*\$[({](\w+)[)}]\s*", shown(text))
            if (
                unset
                and unset[1] not in self.variables
                and unset[1] not in self.locals
                and other is not None
                and not other.strip()
            ):
                return word == "ifeq"  # a default, for those who do not set the variable
        if any(value is None for value in values):
            return None
        same = (values[0] or "").strip() == (values[1] or "").strip()
        return same if word == "ifeq" else not same

    def is_given(self, name: str) -> bool | None:
        """Whether a variable holds anything, before it is expanded; None where that is not known."""
        held = self.variables.get(name)
        if held is None or not held.is_sure:
            return None
        answers = {_is_something(way) for way in held.ways}
        return answers.pop() if len(answers) == 1 else None

    def one(self, text: Text) -> str | None:
        """What a text expands to; None where that is not one known text."""
        ways = self.expand(text)
        return known(ways[0]) if len(ways) == 1 and not conditions(ways[0]) else None

    # --- expansion

    def expand(self, text: Text) -> Ways:
        """Every text that a text with references stands for."""
        self.steps += 1
        if self.steps > MAX_STEPS or self.depth > MAX_DEPTH:
            return (unknown("a long expansion"),)
        self.depth += 1
        try:
            return combined(self.pieces(text))
        finally:
            self.depth -= 1

    def pieces(self, text: Text) -> Iterator[Ways]:
        whole, position = shown(text), 0
        while (at := whole.find("$", position)) >= 0:
            if at > position:
                yield (cut(text, position, at),)
            opening = whole[at + 1 : at + 2]
            if opening in ("(", "{"):
                end = _closing(whole, at + 1)
                yield self.reference(cut(text, at + 2, end), conditions(cut(text, at, at + 1)))
                position = end + 1
            else:
                yield (written("$"),) if opening == "$" else self.variable(opening)
                position = at + 2
        yield (cut(text, position, len(whole)),)

    def reference(self, inside: Text, when: tuple[str, ...]) -> Ways:
        """What $(...) stands for: a function of make, a substitution, or a variable."""
        whole = shown(inside)
        function = re.match(r"\s*([a-z-]+)[ \t\n]+", whole)
        if function and function[1] in _FUNCTIONS:
            arguments = _arguments(cut(inside, function.end(), len(whole)))
            found = _FUNCTIONS[function[1]](self, arguments)
        elif ":" in whole and "=" in whole.partition(":")[2]:
            name, _, pattern = whole.partition(":")
            old, _, new = pattern.partition("=")
            found = tuple(_patsubst(way, old, new) for way in self.variable(name.strip()))
        else:
            ways = self.expand(inside)
            held = known(ways[0]) if len(ways) == 1 else None
            found = self.variable(held.strip()) if held is not None else (unknown(whole),)
        return tuple(under(way, when) for way in found)

    def variable(self, name: str) -> Ways:
        """What a variable stands for; unknown where nothing sets it."""
        if name in self.locals:
            return self.locals[name]
        user = self.given.value(name)
        if user is not None:
            return (written(user),)
        held = self.variables.get(name)
        if held is None or (len(held.ways) == 1 and _SHELL.match(shown(held.ways[0]))):
            version = self.given.version(name)
            if version is not None:
                return (written(version),)
        if held is None:
            return (unknown(name),)
        return (*held.expanded, *(way for raw in held.raw for way in self.expand(raw)))[:MOST_WAYS]

    def foreach(self, arguments: list[Text]) -> Ways:
        """$(foreach name,list,text): the text once for each word."""
        if len(arguments) < 3:
            return ((),)
        name = (self.one(arguments[0]) or "").strip()
        made: list[Ways] = []
        outer = self.locals
        ways = self.expand(arguments[1])
        for way in ways:
            for word in parted(way, r"\s+")[:200]:
                self.locals = {**outer, name: (word,)}
                each = self.expand(_whole(arguments[2:]))
                if names := conditions(word):
                    each = tuple(under(one, names) for one in each)
                if len(ways) > 1 or HOLE in shown(word):  # it is made of one of the ways, or any number of times
                    asked = (f"each of {readable(shown(arguments[1]))}",)
                    each = tuple(
                        (*under(one, asked), *(unknown(*because(word)) if HOLE in shown(word) else ())) for one in each
                    )
                made += [each, (_BLANK,)]
        self.locals = outer
        return combined(made)

    def evaluated(self, arguments: list[Text]) -> Ways:
        """$(eval text): the text as lines of the makefile."""
        for way in self.expand(_whole(arguments)):
            for line in parted(way, r"\n"):
                self.line(line)
        return ((),)

    def called(self, arguments: list[Text]) -> Ways:
        """$(call name,a,b): the variable with $(1), $(2) in it."""
        name = (self.one(arguments[0]) or "").strip() if arguments else ""
        outer = self.locals
        self.locals = {**outer, **{str(i): self.expand(a) for i, a in enumerate(arguments[1:], 1)}}
        try:
            return self.variable(name)
        finally:
            self.locals = outer

    def chosen(self, arguments: list[Text]) -> Ways:
        """$(if condition,then,else)."""
        asked = self.one(arguments[0]) if arguments else None
        ways = [self.expand(a) for a in (*arguments[1:2], _whole(arguments[2:]))]
        if asked is not None:
            return ways[0] if asked.strip() else ways[1]
        condition = " ".join(shown(arguments[0]).split()).replace(HOLE, "…") if arguments else "?"
        met = tuple(under(way, (condition,)) for way in ways[0])
        return extended((*met, *(under(way, (f"not {condition}",)) for way in ways[1])))


Function = Callable[[_Maker, list[Text]], Ways]


def _closing(whole: str, opening: int) -> int:
    """Where the bracket at `opening` is closed."""
    pair = {"(": ")", "{": "}"}[whole[opening]]
    depth = 0
    for position in range(opening, len(whole)):
        if whole[position] == whole[opening]:
            depth += 1
        elif whole[position] == pair:
            depth -= 1
            if not depth:
                return position
    return len(whole)


def _arguments(text: Text) -> list[Text]:
    """The arguments of a function, by the commas outside of brackets."""
    whole, depth, begin, found = shown(text), 0, 0, []
    for position, char in enumerate(whole):
        if char in "({":
            depth += 1
        elif char in ")}":
            depth -= 1
        elif char == "," and not depth:
            found.append(cut(text, begin, position))
            begin = position + 1
    return [*found, cut(text, begin, len(whole))]


def _is_something(text: Text) -> bool | None:
    """Whether a text is not empty; None where that hangs on what is not known."""
    if any(run.text and not run.when for run in text):
        return True
    return None if any(run.text is None or run.text for run in text) else False


def _sides(text: Text) -> list[Text]:
    """The two sides of `ifeq (a,b)` or `ifeq "a" "b"`; what follows the first comma outside of brackets is b."""
    whole = shown(text)
    begin, end = len(whole) - len(whole.lstrip()), len(whole.rstrip())
    if whole[begin : begin + 1] == "(" and whole[:end].endswith(")"):
        parts = _arguments(cut(text, begin + 1, end - 1))
        return [parts[0], _whole(parts[1:])] if len(parts) > 1 else []
    pair = _QUOTED_PAIR.match(whole[begin:end])
    return [cut(text, pair.start(side) + begin, pair.end(side) + begin) for side in "ab"] if pair else []


def _whole(arguments: list[Text]) -> Text:
    """The arguments with the commas that they were parted by."""
    return tuple(run for i, text in enumerate(arguments) for run in ((*written(","), *text) if i else text))


def _spaced(words: list[Text]) -> Text:
    return tuple(run for i, word in enumerate(words) for run in ((*written(" "), *word) if i else word))


def _patsubst(text: Text, old: str, new: str) -> Text:
    """Words of the form `old` as `new`; without % the end of each word."""
    if "%" not in old:
        old, new = f"%{old}", f"%{new}"
    before, _, after = old.partition("%")
    pattern = re.compile(f"{re.escape(before)}(.*){re.escape(after)}")
    made: list[Text] = []
    for word in parted(text, r"\s+"):
        match = pattern.fullmatch(shown(word))
        if HOLE in shown(word):
            made += [under(one, conditions(word)) for one in _open(word)]
        elif match:
            head, _, tail = new.partition("%")
            ends = (written(head), written(tail if "%" in new else ""))
            made.append(under((*ends[0], *cut(word, match.start(1), match.end(1)), *ends[1]), conditions(word)))
        else:
            made.append(word)
    return _spaced(made)


def _like(word: Text, patterns: list[str]) -> bool:
    return any(re.fullmatch(re.escape(p).replace("%", ".*", 1), shown(word)) for p in patterns)


def _listing(change: Callable[[list[Text], list[str]], list[Text]], plain: int = 0, counts: bool = False) -> Function:
    """A function over the words of its last argument; `plain` arguments before it are known texts.

    `counts`: it goes by where the words stand, else it does the same to each.
    """

    def run(maker: _Maker, arguments: list[Text]) -> Ways:
        if len(arguments) <= plain:
            return ((),)
        texts = [maker.one(a) for a in arguments[:plain]]
        if any(text is None for text in texts):
            return (unknown("a function of make"),)
        return tuple(listed(way, [t or "" for t in texts]) for way in maker.expand(_whole(arguments[plain:])))

    def listed(way: Text, texts: list[str]) -> Text:
        words = parted(way, r"\s+")
        if counts and (HOLE in shown(way) or conditions(way)):  # which word is the first is not known
            return unknown(*(because(way) or ("a function of make",)))
        if change is _sorted or (HOLE not in shown(way) and not conditions(way)):
            return _spaced(change(words, texts))
        made = [_open(w) if HOLE in shown(w) else change([w], texts) for w in words]
        return _spaced([under(one, conditions(w)) for w, ones in zip(words, made, strict=True) for one in ones])

    return run


def _open(word: Text) -> list[Text]:
    """Of a word with an unknown part: no word or many, because of what is not known in it."""
    return [unknown(*because(word))]


def _subst(maker: _Maker, arguments: list[Text]) -> Ways:
    if len(arguments) < 3:
        return ((),)
    old, new = maker.one(arguments[0]), maker.one(arguments[1])
    if old is None or new is None or not old:
        return (unknown("$(subst)"),)
    return tuple(
        substituted(way, re.compile(re.escape(old)), new.replace("\\", "\\\\"))
        for way in maker.expand(_whole(arguments[2:]))
    )


def _asked_of_shell(maker: _Maker, arguments: list[Text]) -> Ways:
    """$(shell test 13 -ge 12; echo $$?) and `expr`: known where they compare numbers; programs are not run."""
    command = maker.one(_whole(arguments))
    if command is None:
        return (unknown("$(shell)"),)
    if compared := _EXPR.fullmatch(command):
        return (written(str(int(_ORDERS[compared[2]](int(compared[1]), int(compared[3]))))),)
    asked = _TEST.fullmatch(command)
    answer = _tested(asked["test"]) if asked else None
    if asked is None or answer is None:
        return (unknown("$(shell)"),)
    if asked["said"]:
        return (written(asked["said"]) if answer else (),)
    return (written("0" if answer else "1"),)


def _tested(text: str) -> bool | None:
    """What `test` says of comparisons joined by -a and -o; -a binds tighter."""
    either = []
    for part in re.split(r"\s+-o\s+", text):
        compared = [_ORDER.fullmatch(one.strip()) for one in re.split(r"\s+-a\s+", part)]
        if any(one is None for one in compared):
            return None
        either.append(all(_ORDERS[one[2]](int(one[1]), int(one[3])) for one in compared if one is not None))
    return any(either)


def _number(text: str) -> int:
    return int(text) if text.strip().isdigit() else 0


def _sorted(words: list[Text], _: list[str]) -> list[Text]:
    unique: dict[str, Text] = {}
    for word in sorted(words, key=lambda one: bool(conditions(one))):  # what is there for sure stands for both
        unique.setdefault(shown(word), word)
    return [unique[key] for key in sorted(unique)]


def _first_given(maker: _Maker, arguments: list[Text]) -> Ways:
    """$(or a,b): the first that is not empty."""
    for argument in arguments:
        ways = maker.expand(argument)
        if any(shown(way).strip() for way in ways):
            return ways
    return ((),)


_FUNCTIONS: dict[str, Function] = {
    "foreach": _Maker.foreach,
    "eval": _Maker.evaluated,
    "call": _Maker.called,
    "if": _Maker.chosen,
    "or": _first_given,
    "subst": _subst,
    "patsubst": lambda maker, a: (
        tuple(_patsubst(way, maker.one(a[0]) or "", maker.one(a[1]) or "") for way in maker.expand(_whole(a[2:])))
        if len(a) > 2
        else ((),)
    ),
    "strip": _listing(lambda words, _: words),
    "sort": _listing(_sorted),
    "firstword": _listing(lambda words, _: words[:1], counts=True),
    "lastword": _listing(lambda words, _: words[-1:], counts=True),
    "words": _listing(lambda words, _: [written(str(len(words)))], counts=True),
    "word": _listing(lambda words, t: words[_number(t[0]) - 1 : _number(t[0])] if _number(t[0]) else [], 1, True),
    "wordlist": _listing(lambda words, t: words[max(_number(t[0]) - 1, 0) : _number(t[1])], 2, True),
    "filter": _listing(lambda words, t: [w for w in words if _like(w, t[0].split())], 1),
    "filter-out": _listing(lambda words, t: [w for w in words if not _like(w, t[0].split())], 1),
    "addprefix": _listing(lambda words, t: [(*written(t[0]), *w) for w in words], 1),
    "addsuffix": _listing(lambda words, t: [(*w, *written(t[0])) for w in words], 1),
    "shell": _asked_of_shell,
    "wildcard": lambda maker, a: (unknown("$(wildcard)"),),
    "findstring": lambda maker, a: (
        (
            (written(known_text),)
            if (known_text := maker.one(a[0])) and known_text in (maker.one(_whole(a[1:])) or "")
            else ((),)
        )
        if len(a) > 1 and maker.one(_whole(a[1:])) is not None
        else (unknown("$(findstring)"),)
    ),
    "info": lambda maker, a: ((),),
    "warning": lambda maker, a: ((),),
    "error": lambda maker, a: ((),),
    "value": lambda maker, a: (
        maker.variables[n].ways if (n := (maker.one(a[0]) or "").strip()) in maker.variables else ((),)
    ),
}


def read_make(data: bytes, given: Given) -> Reading:
    """The lists of a makefile."""
    maker = evaluated(data, given)
    return Reading(finished(_lists(maker, given, data)), told=tuple(maker.told))


def evaluated(data: bytes, given: Given) -> _Maker:
    """A makefile, read to its end: its variables and the recipes that it may run."""
    maker = _Maker(given)
    define: str | None = None
    body: list[Run] = []
    in_rule = False
    for match in _LINE.finditer(data):
        raw = match[0].decode("latin-1")
        if not raw:
            break
        bare = raw.strip()
        if define is not None:
            if bare == "endef":
                maker.assign(define, "=", tuple(body))
                define, body = None, []
            else:
                body += written(raw, match.start())
            continue
        if bare.startswith("define ") or bare.startswith("override define "):
            define = bare.split()[-1] if bare.split()[-1] not in ("=", ":=") else bare.split()[-2]
            continue
        if raw.startswith("\t") and in_rule and not _CONDITIONAL.match(raw):
            if not maker.is_live:
                maker.told.append((match.start(), match.end()))
            else:
                maker.recipes.append((_unfolded(raw.strip("\n"), match.start()), maker.conditions))
            continue
        line = _unfolded(_uncommented(raw).rstrip("\\"), match.start())
        if shown(line).strip():
            if not maker.is_live:
                maker.told.append((match.start(), match.end()))
            in_rule = (":" in shown(line) and _ASSIGN.match(shown(line)) is None) or (
                in_rule and bool(_CONDITIONAL.match(raw))
            )
            maker.line(line)
    while maker.opened:
        maker.close()
    return maker


def _lists(maker: _Maker, given: Given, data: bytes) -> Iterator[ArchList]:
    maker.steps = 0
    for raw, asked in maker.recipes:
        for way in maker.expand(raw):
            yield from of_command(under(way, asked), given)
    for name in list(maker.variables):
        used = re.search(rb"\$[({]" + re.escape(name.encode("latin-1")) + rb"[)}:]", data) is not None
        lists = of_variable(name, maker.variable(name), given, name)
        for one in lists:
            if one.is_flags and used:  # what it goes into says it, if anything does for this toolkit
                maker.told += [(e.at, e.at + max(e.size, 1)) for e in one.entries]
            else:
                yield one


def _uncommented(line: str) -> str:
    """The line without its comment."""
    found = re.search(r"(?<!\\)#", line)
    return (line[: found.start()] if found else line).rstrip("\n")


def _unfolded(line: str, at: int) -> Text:
    """A logical line with its continuations as blanks, each part where it stands."""
    found: list[Run] = []
    position = 0
    for match in _CONTINUED.finditer(line):
        found += written(line[position : match.start()], at + position) + written(" ")
        position = match.end()
    return tuple(found) + written(line[position:].rstrip("\r"), at + position)
