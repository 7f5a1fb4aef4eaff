"""The content of an indexed file: held, or left where the file lies and read again when it is asked for."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from archscan.bounded import small_file

_MOST = 64 << 20  # bytes; no larger file was indexed


class Changed(Exception):
    """The file is not any more what was indexed."""


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a file as they were indexed.

    Those of all files are as much as the scan itself, so what is pickled leaves them out where they can be read again.
    """

    check: int
    held: bytes | None
    disk: str = ""  # where they can be read again

    @classmethod
    def of(cls, data: bytes, disk: str = "") -> Text:
        """The text of these bytes."""
        return cls(zlib.crc32(data), data, disk)

    def __reduce__(self) -> tuple[type[Text], tuple[int, bytes | None, str]]:
        return Text, (self.check, None if self.disk else self.held, self.disk)

    def load(self) -> bytes:
        """The bytes; raises Changed if the file is gone or another."""
        if self.held is not None:
            return self.held
        try:
            data = small_file(self.disk, _MOST)
        except OSError as error:
            raise Changed(self.disk) from error
        if zlib.crc32(data) != self.check:
            raise Changed(self.disk)
        return data
