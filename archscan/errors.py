"""Errors: the user's, with a title that says what is wrong and a hint that says what would help; and ours, in words."""

from __future__ import annotations


class UserError(Exception):
    """Shown as `error: TITLE` and `hint: HINT`; the command exits with 2."""

    def __init__(self, title: str, hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint


def internal(error: Exception) -> str:
    """An error of ours in one file, in words that can be reported."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].name}:{frames[-1].lineno}" if frames else ""
    return f"internal error{where}: {type(error).__name__}: {error}; please report it"
