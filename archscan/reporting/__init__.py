"""Renders a report in every format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from archscan.errors import UserError
from archscan.model.report import Report
from archscan.reporting.options import RenderOptions

Renderer = Callable[[Report, RenderOptions], str]

# A format and the function that writes it; imported when it is asked for.
RENDERERS = {
    "text": "archscan.reporting.text:render_text",
    "json": "archscan.reporting.json_format:render_json",
    "jsonl": "archscan.reporting.json_format:render_jsonl",
    "sarif": "archscan.reporting.sarif:render_sarif",
    "html": "archscan.reporting.html:render_html",
    "github": "archscan.reporting.github:render_github",
    "markdown": "archscan.reporting.markdown:render_markdown",
    "gitlab": "archscan.reporting.gitlab:render_gitlab",
    "junit": "archscan.reporting.junit:render_junit",
}


def render(report: Report, format: str, options: RenderOptions) -> str:
    """The report in one format, as the text to write."""
    if format not in RENDERERS:
        raise UserError(f"unknown format '{format}'", "one of: " + ", ".join(RENDERERS))
    module, _, name = RENDERERS[format].partition(":")
    return cast(Renderer, getattr(import_module(module), name))(report, options)
