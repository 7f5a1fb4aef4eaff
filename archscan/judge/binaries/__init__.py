"""Judges compiled libraries for one target: what it loads of them, what is missing, and which kernels do nothing."""

from archscan.judge.binaries.reading import peers_to_read, to_read
from archscan.judge.binaries.report import judge_libraries

__all__ = ["judge_libraries", "peers_to_read", "to_read"]
