"""Renders a report in every format."""

from __future__ import annotations

from collections.abc import Callable

from archscan.errors import UserError
from archscan.model.report import Report
from archscan.reporting.options import RenderOptions

Renderer = Callable[[Report, RenderOptions], str]


def render(report: Report, format: str, options: RenderOptions) -> str:
    """The report in one format, as the text to write. Imports only what that format needs."""
    return renderer(format)(report, options)


def renderer(format: str) -> Renderer:
    """The function for a format, from a table to read."""
    match format:
        case "text":
            from archscan.reporting.text import render_text as chosen
        case "json":
            from archscan.reporting.json_format import render_json as chosen
        case "sarif":
            from archscan.reporting.sarif import render_sarif as chosen
        case _:
            raise UserError(f"unknown format '{format}'", "text, json, sarif")
    return chosen
