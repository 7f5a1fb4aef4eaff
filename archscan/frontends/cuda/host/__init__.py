"""Host and device C++: capability comparisons, checks, launch attributes and resources, features through calls.

The truth of a C++ gate is that of the GPU: a suffix variant counts as its SM. The host pass has no GPU, so its bit
stays unknown in every truth made here.
"""

from __future__ import annotations

from collections.abc import Mapping

from archscan.frontends.cuda.host.gating import HostFacts, host_facts
from archscan.frontends.cuda.host.indexing import HostIndex, indexed, vocabulary_of
from archscan.frontends.cuda.host.linking import HostProject, linked
from archscan.frontends.cuda.host.reach import Reached
from archscan.frontends.cuda.includes import Includes
from archscan.frontends.cuda.memory import Linking
from archscan.frontends.cuda.presence import PresenceMap
from archscan.frontends.cuda.seen import Seen
from archscan.frontends.protocol import Context
from archscan.model.facts import Source

__all__ = [
    "HostFacts",
    "HostIndex",
    "HostProject",
    "Reached",
    "host_gates",
    "host_index",
    "host_link",
    "host_reached",
]


def host_index(source: Source, context: Context) -> HostIndex | None:
    """What one file contributes, from its bytes alone; None if it holds nothing of interest."""
    return indexed(source, context)


def host_link(
    indexes: Mapping[str, HostIndex],
    context: Context,
    includes: Includes | None = None,
    seen: Seen | None = None,
    linking: Linking | None = None,
) -> HostProject:
    """What the files say together: helpers, constants, members, and the features that functions reach."""
    return linked(indexes, context, includes, seen, linking)


def host_gates(index: HostIndex, project: HostProject, liveness: PresenceMap, context: Context) -> HostFacts:
    """The gates and sites of one file; `liveness` is the truth of the #if regions around a byte offset."""
    return host_facts(index, project, liveness, context)


def host_reached(project: HostProject, context: Context) -> Reached:
    """The features that names reach."""
    return project.callables.in_words_of(vocabulary_of(context))
