"""archscan finds the architecture gates in CUDA and Python code and says what they do to one GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "images", "scan", "trace"]

if TYPE_CHECKING:
    from archscan.api import images, scan, trace


def __getattr__(name: str) -> Any:
    """What archscan/api.py offers, imported when it is asked for: the command line starts without it."""
    if name in __all__:
        from archscan import api

        return getattr(api, name)
    raise AttributeError(f"module 'archscan' has no attribute '{name}'")
