"""What the host side asks of the preprocessor side."""

from __future__ import annotations

from typing import Protocol

from archscan.model.truth import Truth


class Liveness(Protocol):
    """Truth of the #if regions around a byte offset."""

    def at(self, offset: int) -> Truth: ...
