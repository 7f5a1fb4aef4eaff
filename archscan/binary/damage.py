"""What is raised where an image, a container or a file is not what it says it is."""

from __future__ import annotations


class Damaged(ValueError):
    """Bytes that cannot be read as what they claim to be; the message says what is wrong."""
