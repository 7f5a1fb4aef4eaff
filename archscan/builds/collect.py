"""Reads a project's build files and works out what each build would make."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from archscan.builds.model import Build, Dropped, Made
from archscan.frontends.build import python
from archscan.frontends.build.archlists import ArchList, Entry, flag_entries, named_list
from archscan.frontends.build.flags import code_makes_flags, makes_flags
from archscan.frontends.build.images import Image, list_entries
from archscan.frontends.build.interpreter import Built, Project, Stopped, Trace, evaluate
from archscan.frontends.build.places import line_at
from archscan.frontends.build.python.lists import NUMBER_LEFT_OPEN
from archscan.frontends.build.python.values import Items, Unknown, strings
from archscan.frontends.build.readers import read
from archscan.frontends.build.reading import Given, finished, mentions, of_flags
from archscan.frontends.build.request import (
    Request,
    default_architecture,
    inputs_of,
    is_arch_name,
    settable,
    spellings_of,
)
from archscan.frontends.build.syntax import Listfile, parse
from archscan.frontends.build.traced import because, shown, written
from archscan.model.facts import Source
from archscan.model.target import Target
from archscan.sources.kinds import build_kind, is_cmake

TORCH_LIST = "TORCH_CUDA_ARCH_LIST"
_TORCH_EXTENSIONS = re.compile(rb"CUDAExtension|cpp_extension")
_CUDA_SOURCE = re.compile(r"\.(?:cu|cuh)\b")


@dataclass
class Collected:
    """What a project's build files come to."""

    builds: list[Build] = field(default_factory=list)
    not_read: list[tuple[str, str]] = field(default_factory=list)
    cuda: list[Source] = field(default_factory=list)  # device code of the project
    settable: dict[str, str] = field(default_factory=dict)  # variables of the user -> the file that reads them
    dotted: frozenset[str] = frozenset()  # those of them whose default is spelled with dots


def collect(sources: Iterable[Source], given: Given, extra: Mapping[str, bytes] = {}) -> Collected:
    """Every build that the files describe, by path; `extra` are CMake files from outside by name."""
    found = Collected()
    cmake: dict[str, tuple[Source, Listfile]] = {}
    for source in sorted(sources, key=lambda one: one.path):
        if is_cmake(source.path):
            cmake[source.path] = (source, parse(source.data))
            found.settable |= dict.fromkeys(settable(cmake[source.path][1]), source.path) | found.settable
            defaults = inputs_of(cmake[source.path][1], given.catalog)
            found.dotted |= {name for name, first in defaults.items() if "." in first}
        elif source.path.endswith(".py") and (makes_flags(source.data) or _TORCH_EXTENSIONS.search(source.data)):
            _of_python(source, given, found)
        elif build_kind(source.path) is not None and mentions(source.data):
            reading = read(source.path, source.data, given)
            found.builds += [_of_list(one, source, given) for one in reading.lists]
            found.not_read += [(source.path, why) for _, why in reading.unread] + [
                (source.path, p) for p in reading.problems
            ]
        elif source.path.endswith((".cu", ".cuh")):
            found.cuda.append(source)
    found.builds += _of_cmake(cmake, given, extra)
    return found


# --- lists as they are written


def _of_list(one: ArchList, source: Source, given: Given, kind: str = "project") -> Build:
    """The build of a list that stands for itself."""
    sure = set() if one.gaps else set(one.assumes)  # where something else may be there instead, nothing is sure
    made = [_made(i, e, source, one) for e in one.entries if set(e.when) <= sure for i in e.images]
    refused = one.refused(given.catalog)
    dropped = [_refused(e, source, one.toolkit) for e in refused]
    settings = {one.environment: one.shown} if one.environment else {}
    return Build(
        one.name or source.path.rsplit("/", 1)[-1],
        kind,
        source.path,
        line_at(source.data, one.start),
        tuple(dict.fromkeys(m for m in made if not refused or m.image.target.sm)),
        tuple(dropped),
        (*one.unknowns, *one.assumes),
        settings,
        bool(refused),
        one.consumer,
    )


def _made(image: Image, entry: Entry, source: Source, one: ArchList) -> Made:
    return Made(image, source.path, line_at(source.data, entry.at if entry.at >= 0 else one.start))


def _refused(entry: Entry, source: Source, release: str) -> Dropped:
    line = line_at(source.data, max(entry.at, 0))
    return Dropped(entry.text, source.path, line, f"CUDA {release} does not compile for it: the build stops")


# --- Python


def _of_python(source: Source, given: Given, found: Collected) -> None:
    tree = python.parsed(source.data)
    if isinstance(tree, str):
        found.not_read.append((source.path, tree))
        return
    if not code_makes_flags(source.data, tree) and not _declares(tree):
        return
    script = python.evaluated(source.data, tree, given)
    lists = finished(python.lists_of(script))
    asked = (name for name in script.environment.values() if is_arch_name(name))
    found.settable |= dict.fromkeys(asked, source.path) | found.settable
    named = [one for one in lists if _is_torch_list(one)]
    told: set[int] = set()
    for extension in script.extensions:
        build = _of_extension(extension, script, source, given, named)
        if build is not None:
            found.builds.append(build)
            told |= {made.line for made in build.images} | {extension.line}
    found.not_read += [
        (source.path, f"line {line_at(source.data, at)}: {why}") for at, why in python.unread(script, lists)
    ]
    rest = [one for one in lists if not {line_at(source.data, e.at) for e in one.entries if e.at >= 0} & told]
    if any(one.path == source.path and one.images for one in found.builds):  # a list that only the script asks is in it
        rest = [one for one in rest if one.is_flags or one.consumer or one.words]
    found.builds += [_of_list(one, source, given) for one in rest if not one.is_built]


def _declares(tree: ast.Module) -> bool:
    """Whether a script declares an extension for CUDA, though it says nothing of flags."""
    return any(
        isinstance(node, ast.Name | ast.Attribute) and _called(node) == "CUDAExtension" for node in ast.walk(tree)
    )


def _called(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _is_torch_list(one: ArchList) -> bool:
    return TORCH_LIST in (one.name, one.environment)


def _of_extension(
    extension: python.Extension, script: python.Script, source: Source, given: Given, named: list[ArchList]
) -> Build | None:
    """An extension module: its own flags, else what torch makes of its variable."""
    for text in strings(extension.nvcc):
        flags = of_flags(extension.name, text, given)
        if flags is not None:
            return replace(_of_list(flags, source, given, "extension"), line=extension.line, reads="")
        entries, gaps, words = flag_entries(text, given.catalog, given.release)
        if entries or words:  # the user's own, from outside of the file
            begin = source.data.rfind(b"\n", 0, extension.at) + 1
            own = ArchList(extension.name, entries, begin, begin, "", gaps, "", given.release, words, is_flags=True)
            return replace(_of_list(own, source, given, "extension"), line=extension.line)
    open_flags = [because(text) for text in strings(extension.nvcc) if NUMBER_LEFT_OPEN.search(shown(text))]
    if open_flags:
        names = tuple(dict.fromkeys(name for names in open_flags for name in names)) or ("flags for nvcc",)
        return Build(extension.name, "extension", source.path, extension.line, unknowns=names)
    texts = [text for value in extension.values for text in strings(value)]
    unseen = any(isinstance(v, Unknown) or (isinstance(v, Items) and v.is_open) for v in extension.values)
    device = (extension.is_cuda and unseen) or any(
        _CUDA_SOURCE.search(run.text or "") for text in texts for run in text
    )
    if not device or not _TORCH_EXTENSIONS.search(source.data):
        return None
    user = given.value(TORCH_LIST)
    if user:
        one = named_list(TORCH_LIST, written(user, 0), given.catalog, given.release)
        if one is None:
            entry = Entry(user, (), -1)
            return Build(
                extension.name,
                "extension",
                source.path,
                extension.line,
                dropped=(_not_torch(entry, source, extension.line, given),),
                settings={TORCH_LIST: user},
                stops=True,
                reads="torch",
            )
        made = tuple(Made(i, source.path, extension.line) for e in one.entries for i in e.images)
        dropped = tuple(
            _not_torch(e, source, extension.line, given) for e in one.entries if _unknown_to_torch(e, given)
        )
        stops = bool(one.refused(given.catalog) or dropped)
        return Build(
            extension.name,
            "extension",
            source.path,
            extension.line,
            made,
            dropped,
            (),
            {TORCH_LIST: user},
            stops,
            "torch",
        )
    if named:
        build = _of_list(named[-1], source, given, "extension")
        return replace(build, name=extension.name, line=extension.line, reads="torch")
    unknowns = (TORCH_LIST, "the GPU of the machine that builds")
    return Build(extension.name, "extension", source.path, extension.line, unknowns=unknowns, reads="torch")


def _unknown_to_torch(entry: Entry, given: Given) -> bool:
    known = given.catalog.toolkits.torch[-1]
    return entry.text.removesuffix("+PTX") not in known.accepts and entry.text.partition("+")[0] not in known.names


def _not_torch(entry: Entry, source: Source, line: int, given: Given) -> Dropped:
    since = given.catalog.toolkits.torch[-1].since
    return Dropped(
        entry.text, source.path, line, f"torch {since} knows no such entry: Unknown CUDA arch ({entry.text})"
    )


# --- CMake


def _of_cmake(
    files: Mapping[str, tuple[Source, Listfile]], given: Given, extra: Mapping[str, bytes]
) -> Iterator[Build]:
    """The targets of every project: a CMakeLists.txt that no other one takes in."""
    from archscan.frontends.build.front_end import functions_of

    listfiles = {path: listfile for path, (_, listfile) in files.items()}
    listfiles |= {name: parse(data) for name, data in extra.items()}
    functions = functions_of(listfiles)
    by_name = {path.rsplit("/", 1)[-1].removesuffix(".cmake"): (path, listfile) for path, listfile in listfiles.items()}
    taken: set[str] = set()
    roots = [path for path in sorted(files, key=lambda p: (p.count("/"), p)) if path.endswith("CMakeLists.txt")]
    alone = [path for path in files if path.endswith(".cmake")] if not roots else []
    for path in (*roots, *alone):
        if path in taken:
            continue
        source, listfile = files[path]
        project = Project(functions, by_name, listfiles)
        trace, request = _evaluated(path, listfile, project, given)
        taken |= trace.entered
        yield from _targets(trace, source, files, given, request)


def _evaluated(path: str, listfile: Listfile, project: Project, given: Given) -> tuple[Trace, Request]:
    request = Request(
        target=None,
        inputs=inputs_of(listfile, given.catalog),
        spellings=spellings_of(listfile, given.catalog),
        cuda=given.release,
        given=dict(given.values),
        unset=given.unset,
        is_default=True,
    )
    return evaluate(path, listfile, request, project, given.catalog), request


def _targets(
    trace: Trace, source: Source, files: Mapping[str, tuple[Source, Listfile]], given: Given, request: Request
) -> Iterator[Build]:
    if trace.stopped is not None:
        yield _stopped(trace.stopped, source, files)
        return
    asked = given.value("CMAKE_CUDA_ARCHITECTURES") or given.value(TORCH_LIST) or ""
    by_target: dict[str, list[Built]] = {}
    for built in trace.built:
        by_target.setdefault(built.target, []).append(built)
    everywhere = by_target.pop("", [])
    settings = {name: given.values[name] for name in given.values}
    for target, parts in by_target.items():
        own = [one for one in parts if one.is_list][-1:]  # a property overrides what it began with
        flags = [one for one in (*everywhere, *parts) if not one.is_list and _asks(one, given)]
        if own or flags:
            yield _target(target, "target", [*own, *flags], source, files, given, asked, settings)
    if not by_target:
        held = [
            Built("", value, name == "CMAKE_CUDA_ARCHITECTURES", 0, source.path)
            for name, value in trace.held.items()
            if name in ("CMAKE_CUDA_ARCHITECTURES", "CMAKE_CUDA_FLAGS", "CUDA_NVCC_FLAGS")
            and (value.text or value.because)
        ]
        if held or everywhere:
            yield _target(_project_name(source), "project", [*held, *everywhere], source, files, given, asked, settings)


def _stopped(stopped: Stopped, source: Source, files: Mapping[str, tuple[Source, Listfile]]) -> Build:
    """A project whose configure ends before anything is built."""
    at = files[stopped.path][0] if stopped.path in files else source
    line = line_at(at.data, stopped.at)
    why = f"message(FATAL_ERROR): {stopped.text or 'the configure ends'}"
    return Build(
        _project_name(source),
        "project",
        at.path,
        line,
        dropped=(Dropped("configure", at.path, line, why),),
        stops=True,
        reads="cmake",
    )


def _project_name(source: Source) -> str:
    """What a project without targets of its own is called: its folder."""
    return source.path.rsplit("/", 1)[0] if "/" in source.path else source.path


def _asks(flags: Built, given: Given) -> bool:
    """Whether flags ask nvcc for anything, or may."""
    return flags.value.text is None or any(flag_entries(written(flags.value.text, 0), given.catalog, given.release))


def _target(
    name: str,
    kind: str,
    parts: Sequence[Built],
    source: Source,
    files: Mapping[str, tuple[Source, Listfile]],
    given: Given,
    asked: str,
    settings: dict[str, str],
) -> Build:
    """The images of a target: its architectures, and what its flags add."""
    made: list[Made] = []
    dropped: list[Dropped] = []
    unknowns: list[str] = []
    stops = False
    for part in parts:
        at = files[part.path][0] if part.path in files else source
        line = line_at(at.data, part.at)
        if part.value.text is None:
            unknowns += part.value.because or ("CMAKE_CUDA_ARCHITECTURES" if part.is_list else "CMAKE_CUDA_FLAGS",)
            continue
        asked_for = part.value.text
        if part.is_list and asked_for.upper() in ("OFF", "FALSE"):
            if any(not other.is_list for other in parts):
                continue
            asked_for = default_architecture(given.release)  # CMake says nothing to nvcc
        text = written(asked_for, 0)
        one: ArchList | None
        if part.is_list:
            one = named_list("CMAKE_CUDA_ARCHITECTURES", text, given.catalog, given.release)
        else:
            entries, gaps, words = flag_entries(text, given.catalog, given.release)
            one = ArchList("", entries, 0, 0, "", gaps, "", given.release, words)
        if one is None:
            unknowns.append(asked_for or "CMAKE_CUDA_ARCHITECTURES")
            continue
        unknowns += one.unknowns
        for entry in one.entries:
            where, at_line = _place(entry, part, files, at.path, line)
            made += [Made(image, where, at_line) for image in entry.images]
        for entry in one.refused(given.catalog):
            stops = True
            why = f"CUDA {given.release} does not compile for it: the build stops"
            dropped.append(Dropped(entry.text, at.path, line, why))
    have = {m.image.target for m in made}
    for word in list_entries(asked):
        target = _asked_target(word)
        if target is not None and target not in have and parts:
            dropped.append(
                Dropped(word, source.path, line_at(source.data, parts[0].at), "asked for, and not among what is made")
            )
    first = parts[0]
    path = first.path or source.path
    data = files[path][0].data if path in files else source.data
    return Build(
        name, kind, path, line_at(data, first.at), tuple(dict.fromkeys(made)), tuple(dict.fromkeys(dropped)),
        tuple(dict.fromkeys(unknowns)), settings, stops, "cmake",
    )  # fmt: skip


def _asked_target(word: str) -> Target | None:
    match = re.fullmatch(r"(\d{1,2})\.?(\d)([af]?)(?:-real|-virtual|\+PTX)?", word)
    return Target(int(match[1] + match[2]), match[3]) if match else None


def _place(
    entry: Entry, part: Built, files: Mapping[str, tuple[Source, Listfile]], path: str, line: int
) -> tuple[str, int]:
    """Where an entry is written: the literal that it came from, if one holds its number."""
    number = re.sub(r"\D", "", entry.text[-6:])
    for origin_path, offset in sorted(part.value.origins):
        source = files.get(origin_path)
        if source is not None and re.search(rb"\d", source[0].data[offset : offset + 40]):
            end = source[0].data.find(b"\n", offset)
            digits = re.sub(rb"[^\d]", b"", source[0].data[offset:end])
            if number.encode()[-3:] in digits or number.encode()[-2:] in digits:
                return origin_path, line_at(source[0].data, offset)
    return path, line
