"""One self-contained HTML page for environments: a row for each distribution that opens, no script."""

from __future__ import annotations

import html
import shlex
from collections.abc import Iterable, Sequence
from importlib.resources import files

from archscan import __version__
from archscan.environment.model import Fit, Part, Row, State
from archscan.reporting.environment import Judged, footer, header, imported, sections
from archscan.reporting.words import counted, visible

_FITS = {
    Fit.NATIVE: "native",
    Fit.COMPATIBLE: "same major",
    Fit.JIT: "from PTX, compiled at first use",
    Fit.JIT_LINK: "linked anew by the driver",
    Fit.UNKNOWN: "sources disagree",
    Fit.NONE: "nothing that loads",
    Fit.OTHERS: "made for other chips",
    Fit.ELSEWHERE: "for another processor",
}
_MOST_PARTS = 60


def env_html(judged: Sequence[Judged], date: str = "") -> str:
    """The page of all environments and GPUs that were asked for."""
    gpus = ", ".join(dict.fromkeys(one.selection.name for one in judged))
    template = (files("archscan.reporting") / "environment.html").read_text(encoding="utf-8")
    words = {"title": f"This environment on {gpus}", "version": __version__, "date": date}
    for key, text in words.items():
        template = template.replace(f"<!--{key}-->", html.escape(visible(text)))
    several = len(judged) > 1
    return template.replace("<!--environments-->", "\n".join(_environment(one, several) for one in judged))


def _environment(one: Judged, several: bool) -> str:
    parts = [f"<h2>{_text(one.selection.name)}</h2>"] if several else []
    parts.append(_list(header(one)))
    for title, rows in sections(one):
        parts += [f"<h3>{_text(title)}</h3>", *(_row(row, one) for row in rows)]
    return "\n".join([*parts, _list(footer(one))])


def _list(pairs: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{_text(label)}</dt><dd>{_text(said)}</dd></div>" for label, said in pairs)
    return f'<dl class="head">{rows}</dl>'


def _row(row: Row, one: Judged) -> str:
    gates = row.gates.in_words(one.selection.name) if row.gates is not None else ""
    name = f"{row.installed.name} {row.installed.version or '(no metadata)'}"
    heading = (
        f'<span class="name">{_text(name)}</span><span>{_text(row.says)}</span><span class="soft">{_text(gates)}</span>'
    )
    if row.do and row.do != "nothing":
        heading += f'<span class="do">do: {_text(row.do)}</span>'
    detail = [f"<p>{_text(imported(row))}</p>"] if row.use is not None and row.use.files else []
    detail += [f"<p>{_text(row.runs.in_words())}</p>"] if row.runs is not None else []
    detail += [f"<p>{_text(f'conflict: {text}')}</p>" for text in row.conflicts]
    detail += [_parts(row.parts)] if row.parts else []
    detail += [_findings(row)] if row.gates is not None and row.gates.worst else []
    detail.append(f"<p><code>{_text(_command(row, one))}</code></p>")
    state = row.state.value if row.state is not State.NO_CODE else "none"
    return f'<details class="{state}"><summary>{heading}</summary><div class="detail">{"".join(detail)}</div></details>'


def _parts(parts: Sequence[Part]) -> str:
    """The libraries, with what is in them and what the GPU gets."""
    rows = [
        f"<tr><td><code>{_text(part.library.path)}</code></td><td>{_text(part.held)}</td><td>{_text(_FITS[part.fit])}</td></tr>"
        for part in parts[:_MOST_PARTS]
    ]
    if len(parts) > _MOST_PARTS:
        rows.append(f"<tr><td>{_text(counted(len(parts) - _MOST_PARTS, 'more library', 'more libraries'))}</td></tr>")
    return f"<table><tr><th>library</th><th>holds</th><th>gets</th></tr>{''.join(rows)}</table>"


def _findings(row: Row) -> str:
    assert row.gates is not None
    rows = [
        f'<li><span class="{one.severity}">{_text(one.severity)}</span> {_text(one.message)}'
        f" <code>{_text(one.place)}</code> <span class='soft'>{_text(one.rule)}</span></li>"
        for one in row.gates.worst
    ]
    rest = sum(row.gates.by_severity.values()) - len(row.gates.worst)
    more = f"<p class='soft'>and {rest:,} more</p>" if rest > 0 else ""
    return f"<ul>{''.join(rows)}</ul>{more}"


def _command(row: Row, one: Judged) -> str:
    """What opens the row on the command line, in the environment that the page is of."""
    if row.installed.path.endswith(".whl"):
        return shlex.join(["archscan", "--target", one.selection.name, row.installed.path])
    place = one.stock.environment.option
    return shlex.join(["archscan", "env", "--target", one.selection.name, *place, row.installed.name])


def _text(text: str) -> str:
    return html.escape(visible(text))
