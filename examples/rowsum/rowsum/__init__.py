"""Sums the rows of a matrix on the GPU."""

import torch


def rowsum(x: torch.Tensor) -> torch.Tensor:
    """One sum for each row."""
    if torch.cuda.get_device_capability(x.device) in ((8, 0), (9, 0)):
        from . import _C

        return _C.rowsum(x)
    return x.float().sum(dim=1)
