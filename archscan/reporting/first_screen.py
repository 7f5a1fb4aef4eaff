"""The first screen: the GPU, what was read, and the features that are shut, wrong or slow; what is only counted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from archscan.model.finding import Advice, Level
from archscan.model.gate import Layer
from archscan.reporting.canvas import COLORS, Canvas
from archscan.reporting.features import Feature, row, to_open, today
from archscan.reporting.options import RenderOptions
from archscan.reporting.page import Page
from archscan.reporting.plain import NOTHING_TO_OPEN, verb
from archscan.reporting.words import counted, few, size, targets, visible

MOST = 5  # features told one by one
_MOST_FOLDERS = 5
_LEGEND = "(x shut, o lets it in, ? unknown)"


def first_screen(features: Sequence[Feature], canvas: Canvas) -> list[str]:
    """The answer: the GPU, what was read, and the features that are shut, wrong or slow, the worst first."""
    report, options = canvas.report, canvas.options
    told = [f for f in features if not f.is_right]
    variants = targets([v.name for v in report.selection.variants])
    names = [report.selection.name, *([f"({options.gpu})"] if options.gpu else [])]
    assumed = f", CUDA {options.toolkit}" if options.toolkit else ""
    gates = sum(len(file.gates) for file in report.facts.files)
    read = counted(report.facts.files_read or len(report.facts.files), "file")
    lines = [
        *canvas.wrapped("", "  ", f"{' '.join(names)}, judged as {variants}{assumed}"),
        f"{read} read ({size(report.facts.bytes_read)}), {counted(gates, 'gate')}",
        "",
    ]
    if not told:
        return []
    levels = Counter(f.severity for f in told)
    kinds = ", ".join(f"{levels[level]:,} {level.value}" for level in Level if levels[level])
    head = f"{counted(len(told), 'feature')} shut, wrong or slow: {kinds}"
    beside = len(head) + 2 + len(_LEGEND) <= options.width
    legend = canvas.paint(_LEGEND, dim=True)
    lines += [f"{canvas.paint(head, bold=True)}  {legend}"] if beside else [canvas.paint(head, bold=True), legend]
    unknown = sum(feature.met.advice is Advice.INVESTIGATE for feature in told)
    if unknown:
        lines.append(f"what opening would do is not known of {unknown:,}")
    lines.append("")
    for number, feature in enumerate(told[:MOST], 1):
        lines += [*_feature(number, feature, canvas), ""]
    if len(told) > MOST:
        rest = told[MOST:]
        lines += [*canvas.wrapped("", "  ", f"and {len(rest)} more: {few([_named(f) for f in rest], 6)}"), ""]
    return lines


def _named(feature: Feature) -> str:
    name = visible(feature.name)
    return f"{name} and {len(feature.also)} more" if feature.also else name


def _feature(number: int, feature: Feature, canvas: Canvas) -> list[str]:
    """A feature in a few lines: what happens today, where it is shut, whether it can be opened, the next command."""
    level = feature.severity
    head = f"{number}. {level.value} {_named(feature)}: "
    lines = canvas.wrapped(head, "   ", today(feature))
    if canvas.options.color:
        name = canvas.paint(f"{number}. {level.value}", COLORS[level], bold=True)
        lines[0] = lines[0].replace(f"{number}. {level.value}", name, 1)
    layers = row(feature)
    answer = to_open(feature, canvas.report.selection.name)
    answer = answer if answer.startswith(NOTHING_TO_OPEN) else f"{verb(feature.met)}: {answer}"
    lines += canvas.wrapped("   ", "     ", f"{layers} | {answer}" if layers else answer)
    command = next_command(feature, canvas.report.selection.name, canvas.options)
    return [*lines, *([f"   {canvas.paint(command, dim=True)}"] if command else [])]


def next_command(feature: Feature, target: str, options: RenderOptions) -> str:
    """What to type next, to be pasted as it is; empty where there is nothing more to see."""
    name = feature.name if feature.chain else feature.path
    if not feature.chain and feature.met.gate.layer in (Layer.BUILD, Layer.BINARY):
        return ""
    words = ["archscan", "trace", name, "--target", target, *(options.paths or (".",))]
    return shlex.join(visible(word) for word in words)


def counted_lines(shown: Page, canvas: Canvas) -> list[str]:
    """What is not told one by one, as counted lines with the option that lists it."""
    unknown = [f for f in shown.leave if f.advice is not Advice.LEAVE]
    if not unknown or canvas.options.verbosity < 0:
        return []
    name = canvas.report.selection.name
    folders = Counter(canvas.path(f.path).rpartition("/")[0] or "." for f in unknown)
    head = f"{counted(len(unknown), 'gate')} shut{'s' * (len(unknown) == 1)} {name} out and nothing is known about"
    head += (
        f" {'it' if len(unknown) == 1 else 'them'}: --advice investigate lists {'it' if len(unknown) == 1 else 'them'}"
    )
    common = sorted(folders.items(), key=lambda item: (-item[1], item[0]))
    lines = canvas.wrapped("", "  ", head)
    lines += [f"{number:>6}  {folder}" for folder, number in common[:_MOST_FOLDERS]]
    rest = common[_MOST_FOLDERS:]
    if rest:
        lines.append(f"{sum(number for _, number in rest):>6}  in {counted(len(rest), 'more folder')}")
    return [*lines, ""]
