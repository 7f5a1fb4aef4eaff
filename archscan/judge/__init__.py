"""Facts and a target in, a report out: verdict -> needs -> pairs -> consequence -> advice -> risk -> finding."""

from archscan.judge.report import is_shown, judge, wanted

__all__ = ["is_shown", "judge", "wanted"]
