"""Methods of texts and builtin functions, over values that may be partly unknown."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from archscan.frontends.build.python.calling import run
from archscan.frontends.build.python.values import (
    Either,
    Function,
    Items,
    Opaque,
    Release,
    Str,
    Table,
    Unknown,
    Value,
    either,
    key_of,
    names_in,
    text_of,
    version_in,
)
from archscan.frontends.build.traced import Run, Text, cut, parted, shown, substituted, under, written

if TYPE_CHECKING:
    from archscan.frontends.build.python.script import Script

MAX_LOOP = 200


def constant(key: object) -> Value:
    """A key of a table as a value."""
    return Str(written(key)) if isinstance(key, str) else key


def percent(template: Text, values: list[Value]) -> Value:
    """`template % values`."""
    whole, runs, position = shown(template), list[Run](), 0
    rest = iter(values)
    for match in re.finditer(r"%[-+ #0-9.]*[sdifr]|%%", whole):
        runs += cut(template, position, match.start())
        runs += written("%") if match[0] == "%%" else text_of(next(rest, Unknown()))
        position = match.end()
    return Str((*runs, *cut(template, position, len(whole))))


def _format(owner: Str, arguments: list[Value]) -> Value:
    """`owner.format(...)`: of one argument that varies each way; of two nobody knows which values come together."""
    varying = [i for i, argument in enumerate(arguments) if isinstance(argument, Either)]
    if len(varying) == 1 and isinstance(varies := arguments[varying[0]], Either):
        before, after = arguments[: varying[0]], arguments[varying[0] + 1 :]
        return either(_format(owner, [*before, one, *after]) for one in varies.values)
    whole, runs, position = shown(owner.runs), list[Run](), 0
    automatic = 0
    for match in re.finditer(r"\{(\d*|\w+)(?:[:!][^{}]*)?\}", whole):
        runs += cut(owner.runs, position, match.start())
        index = int(match[1]) if match[1].isdigit() else automatic
        automatic += match[1] == ""
        named = match[1] and not match[1].isdigit()
        runs += text_of(Unknown((match[1],)) if named or index >= len(arguments) else arguments[index])
        position = match.end()
    return Str((*runs, *cut(owner.runs, position, len(whole))))


def _known_texts(arguments: list[Value]) -> list[str] | None:
    texts = [a.known if isinstance(a, Str) else None for a in arguments]
    return None if None in texts else [t or "" for t in texts]


def _text_replace(owner: Str, arguments: list[Value]) -> Value:
    texts = _known_texts(arguments[:2])
    if texts is None or len(texts) < 2 or not texts[0]:
        return Unknown(names_in(owner))
    return Str(substituted(owner.runs, re.compile(re.escape(texts[0])), texts[1].replace("\\", "\\\\")))


def _text_split(owner: Str, arguments: list[Value]) -> Value:
    texts = _known_texts(arguments[:1])
    if texts is None:
        return Unknown(names_in(owner))
    if owner.known is None and not any(run.text for run in owner.runs):
        return Items([], is_open=names_in(owner) or ("?",))
    separator = re.escape(texts[0]) if texts and texts[0] else r"\s+"
    parts: list[Text] = []
    whole, position = shown(owner.runs), 0
    for match in re.finditer(separator, whole):
        parts.append(cut(owner.runs, position, match.start()))
        position = match.end()
    parts.append(cut(owner.runs, position, len(whole)))
    return Items([(Str(part), ()) for part in parts if part or texts])


def _text_join(owner: Str, arguments: list[Value]) -> Value:
    items = arguments[0] if arguments else None
    if isinstance(items, Either):
        return either(_text_join(owner, [one]) for one in items.values)
    if not isinstance(items, Items):
        return Unknown(names_in(items))
    runs: list[Run] = []
    for i, (value, when) in enumerate(items.items):
        runs += owner.runs if i else ()
        runs += under(text_of(value), when)
    return Str((*runs, *(text_of(Unknown(items.is_open)) if items.is_open else ())))


def _text_strip(side: str) -> Callable[[Str, list[Value]], Value]:
    def strip(owner: Str, arguments: list[Value]) -> Value:
        whole = shown(owner.runs)
        texts = _known_texts(arguments[:1])
        chars = texts[0] if texts else None
        left = len(whole) - len(whole.lstrip(chars)) if side != "r" else 0
        right = len(whole.rstrip(chars)) if side != "l" else len(whole)
        return Str(cut(owner.runs, left, max(left, right)))

    return strip


def _text_asks(ask: Callable[[str, str], bool]) -> Callable[[Str, list[Value]], Value]:
    def answer(owner: Str, arguments: list[Value]) -> Value:
        texts = _known_texts(arguments[:1])
        if owner.known is None or not texts:
            return Unknown(names_in(owner))
        return ask(owner.known, texts[0])

    return answer


def _text_changed(change: Callable[[str], str]) -> Callable[[Str, list[Value]], Value]:
    def changed(owner: Str, arguments: list[Value]) -> Value:
        return Str(tuple(replace(run, text=change(run.text)) if run.text is not None else run for run in owner.runs))

    return changed


TEXT_METHODS: dict[str, Callable[[Str, list[Value]], Value]] = {
    "replace": _text_replace,
    "split": _text_split,
    "join": _text_join,
    "format": _format,
    "strip": _text_strip(""),
    "lstrip": _text_strip("l"),
    "rstrip": _text_strip("r"),
    "lower": _text_changed(str.lower),
    "upper": _text_changed(str.upper),
    "startswith": _text_asks(str.startswith),
    "endswith": _text_asks(str.endswith),
    "isdigit": lambda owner, a: owner.known.isdigit() if owner.known is not None else Unknown(names_in(owner)),
    "encode": lambda owner, a: owner,
    "decode": lambda owner, a: owner,
    "splitlines": lambda owner, a: Items([(Str(part), ()) for part in parted(owner.runs, r"\n")]),
}


def _items_of(value: Value) -> Items | None:
    if isinstance(value, Items):
        return value
    if isinstance(value, Either):
        found = [one for one in value.values if isinstance(one, Items)]
        return found[0] if found else None
    return None


def _as_list(kind: str) -> Callable[[Script, list[Value]], Value]:
    def make(script: Script, arguments: list[Value]) -> Value:
        if not arguments:
            return Items([], kind)
        if isinstance(arguments[0], Table):
            return Items([(constant(k), ()) for k in arguments[0].items], kind)
        items = _items_of(arguments[0])
        if items is None:
            return Items([], kind, names_in(arguments[0]) or ("?",))
        return Items(list(items.items), kind, items.is_open)

    return make


def _sorted(script: Script, arguments: list[Value]) -> Value:
    items = _items_of(arguments[0]) if arguments else None
    if items is None:
        return Unknown(names_in(arguments[0]) if arguments else ())
    with contextlib.suppress(TypeError):
        ordered = sorted(items.items, key=lambda one: key_of(one[0]))
        return Items(ordered, "list", items.is_open)
    return Items(list(items.items), "list", items.is_open)


def _number(script: Script, arguments: list[Value]) -> Value:
    with contextlib.suppress(TypeError, ValueError):
        return int(key_of(arguments[0])) if arguments else 0
    return Unknown(names_in(arguments[0]) if arguments else ())


def _decimal(script: Script, arguments: list[Value]) -> Value:
    with contextlib.suppress(TypeError, ValueError):
        return float(key_of(arguments[0])) if arguments else 0.0
    return Unknown(names_in(arguments[0]) if arguments else ())


def _mapped(script: Script, arguments: list[Value]) -> Value:
    items = _items_of(arguments[1]) if len(arguments) > 1 else None
    if items is None:
        return Unknown()
    function = arguments[0]
    made = []
    for value, when in items.items:
        if isinstance(function, Function):
            made.append((run(script, function, [value], {}), when))
        elif isinstance(function, Opaque) and function.name in BUILTINS:
            made.append((BUILTINS[function.name](script, [value]), when))
        else:
            made.append((Unknown(names_in(function)), when))
    return Items(made, "list", items.is_open)


def _range(script: Script, arguments: list[Value]) -> Value:
    bounds = [a for a in arguments[:3] if isinstance(a, int)]
    if bounds and len(bounds) == len(arguments[:3]):
        with contextlib.suppress(ValueError):
            return Items([(n, ()) for n in range(*bounds)[:MAX_LOOP]])
    return Unknown()


def _enumerated(script: Script, arguments: list[Value]) -> Value:
    items = _items_of(arguments[0]) if arguments else None
    if items is None:
        return Unknown()
    return Items([(Items([(i, ()), (v, ())], "tuple"), when) for i, (v, when) in enumerate(items.items)])


def _zipped(script: Script, arguments: list[Value]) -> Value:
    lists = [_items_of(a) for a in arguments]
    if not lists or any(one is None for one in lists):
        return Unknown()
    rows = zip(*(one.values() for one in lists if one is not None), strict=False)
    return Items([(Items([(v, ()) for v in row], "tuple"), ()) for row in rows])


def _length(script: Script, arguments: list[Value]) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, Items) and not value.is_open and not any(when for _, when in value.items):
        return len(value.items)
    if isinstance(value, Str) and value.known is not None:
        return len(value.known)
    return len(value.items) if isinstance(value, Table) else Unknown(names_in(value))


def _version(script: Script, arguments: list[Value]) -> Value:
    value = arguments[0] if arguments else None
    if isinstance(value, Str) and value.known is not None:
        return version_in(value.known) or Unknown()
    return value if isinstance(value, Release) else Unknown(names_in(value))


def _truth(script: Script, arguments: list[Value]) -> Value:
    answer = script.truth(arguments[0]) if arguments else False
    return Unknown(names_in(arguments[0])) if answer is None else answer


def _string(script: Script, arguments: list[Value]) -> Value:
    return Str(text_of(arguments[0])) if arguments else Str(())


def _selected(script: Script, arguments: list[Value]) -> Value:
    """select({...}) of Bazel: one of its values."""
    if arguments and isinstance(arguments[0], Table) and arguments[0].items:
        return either(arguments[0].items.values())
    return Unknown(("select()",))


def _extreme(pick: Callable[..., Value]) -> Callable[[Script, list[Value]], Value]:
    def extreme(script: Script, arguments: list[Value]) -> Value:
        items = (
            arguments
            if len(arguments) > 1
            else (arguments[0].values() if arguments and isinstance(arguments[0], Items) else [])
        )
        with contextlib.suppress(TypeError, ValueError):
            return pick(items, key=key_of)
        return Unknown()

    return extreme


def _any(wanted: bool) -> Callable[[Script, list[Value]], Value]:
    def any_(script: Script, arguments: list[Value]) -> Value:
        items = _items_of(arguments[0]) if arguments else None
        answers = [script.truth(v) for v in items.values()] if items is not None and not items.is_open else [None]
        return wanted if wanted in answers else Unknown() if None in answers else not wanted

    return any_


_TYPES = {"str": Str, "int": int, "float": float, "dict": Table, "bool": bool}


def _type(script: Script, arguments: list[Value]) -> Value:
    """type(x) of what is known, as the name of the class."""
    value = arguments[0] if len(arguments) == 1 else None
    if isinstance(value, Items):
        return Opaque(value.kind)
    return next((Opaque(name) for name, kind in _TYPES.items() if type(value) is kind), Unknown(("type()",)))


def _isinstance(script: Script, arguments: list[Value]) -> Value:
    """isinstance(x, class or classes) for the classes that are known."""
    if len(arguments) != 2:
        return Unknown(("isinstance()",))
    kind = _type(script, arguments[:1])
    classes = arguments[1].values() if isinstance(arguments[1], Items) else [arguments[1]]
    names = {one.name for one in classes if isinstance(one, Opaque)}
    known = len(names) == len(classes) and names <= {*_TYPES, "list", "tuple", "set"}
    return kind.name in names if known and isinstance(kind, Opaque) else Unknown(("isinstance()",))


def _arch_flags(script: Script, arguments: list[Value]) -> Value:
    """nvcc_arch_flags(nvcc, entries...) of Meson's cuda module: machine code for each entry, +PTX adds PTX."""
    named = script.given.catalog.toolkits.cmake[-1].names
    flags: list[tuple[Value, tuple[str, ...]]] = []
    for argument in arguments[1:]:
        values = argument.items if isinstance(argument, Items) else [(argument, ())]
        for value, when in values:
            for part in parted(value.runs, r"[\s,;]+") if isinstance(value, Str) else ():
                whole = shown(part).removesuffix("+PTX")
                numbers = named[whole].split() if whole in named else [whole]
                at = next((run.at for run in part if run.at >= 0), -1)
                for number in numbers:
                    if not re.fullmatch(r"\d+\.\d[af]?", number):
                        continue
                    digits = written(number.replace(".", ""), at)
                    kinds = ("sm", "compute") if shown(part).endswith("+PTX") else ("sm",)
                    for kind in kinds:
                        runs = (*written("-gencode=arch=compute_"), *digits, *written(f",code={kind}_"), *digits)
                        flags.append((Str(runs), when))
    return Items(flags) if flags else Items([], is_open=("the GPU of the machine that builds",))


BUILTINS: dict[str, Callable[[Script, list[Value]], Value]] = {
    "list": _as_list("list"),
    "tuple": _as_list("tuple"),
    "set": _as_list("set"),
    "frozenset": _as_list("set"),
    "sorted": _sorted,
    "int": _number,
    "float": _decimal,
    "str": _string,
    "len": _length,
    "map": _mapped,
    "range": _range,
    "enumerate": _enumerated,
    "zip": _zipped,
    "max": _extreme(max),
    "min": _extreme(min),
    "bool": _truth,
    "any": _any(True),
    "all": _any(False),
    "type": _type,
    "isinstance": _isinstance,
    "Version": _version,
    "LooseVersion": _version,
    "StrictVersion": _version,
    "parse": _version,
    "select": _selected,
    "nvcc_arch_flags": _arch_flags,
    "deepcopy": lambda script, a: (
        Items(list(a[0].items), a[0].kind, a[0].is_open) if a and isinstance(a[0], Items) else (a or [None])[0]
    ),
}
