"""One run of `lsp`: serves an editor until it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from archscan.errors import UserError


def run_lsp(given: Mapping[str, Any]) -> int:
    """Serves one client; the exit code is 0. UserError where pygls is not installed."""
    if find_spec("pygls") is None:
        raise UserError("the language server needs pygls", 'pip install "archscan[lsp]"')
    import gc

    from archscan.lsp.pages import Options
    from archscan.lsp.server import serve

    gc.enable()  # a server lives long
    serve(Options(given["target"], given["config"], given["isolated"]))
    return 0
