"""The front ends, in the order in which they are asked. A table to read, not a plug-in search."""

from __future__ import annotations

from archscan.frontends.protocol import FrontEnd


def front_ends(layers: frozenset[str] = frozenset()) -> tuple[FrontEnd, ...]:
    """The front ends that serve `layers` (empty = all). Imports only what is asked for."""
    chosen: list[FrontEnd] = []
    if not layers or layers & {"preprocessor", "device", "host"}:
        from archscan.frontends.cuda import CudaFrontEnd

        chosen.append(CudaFrontEnd())
    if not layers or layers & {"python", "jit", "build"}:
        from archscan.frontends.python import PythonFrontEnd

        chosen.append(PythonFrontEnd())
    if not layers or "build" in layers:
        from archscan.frontends.build import BuildFrontEnd

        chosen.append(BuildFrontEnd())
    from archscan.frontends.links import LinksFrontEnd

    chosen.append(LinksFrontEnd())
    return tuple(chosen)
