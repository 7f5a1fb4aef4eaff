"""Facts and a target in, a report out: verdict -> needs -> pairs -> consequence -> advice -> risk -> finding."""

from archscan.judge.report import judge, wanted

__all__ = ["judge", "wanted"]
