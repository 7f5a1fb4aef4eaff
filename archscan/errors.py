"""Errors that are the user's: a title that says what is wrong and a hint that says what would help."""

from __future__ import annotations


class UserError(Exception):
    """Shown as `error: TITLE` and `hint: HINT`; the command exits with 2."""

    def __init__(self, title: str, hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint
