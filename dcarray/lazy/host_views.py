"""How arrays of the host lie, as the graph says it: found once for each way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.buffer import Buffer
from .graph import host_layout
from .views import View

__all__ = ["host_view"]

MOST = 1 << 16

_views: dict[tuple[Any, ...], View] = {}
"""By all that `host_layout` looks at."""


def host_view(host: np.ndarray[Any, Any], buffer: Buffer) -> View:
    """How an array of the host lies in a buffer, and what its elements are."""
    dtype = host.dtype
    offset = host.__array_interface__["data"][0] - buffer.start
    key = (offset, host.strides, host.shape, dtype, host.flags.aligned)
    found = _views.get(key)
    if found is None or found[1] is not dtype:
        found = View.of(host_layout(host, buffer), dtype)
        if len(_views) > MOST:
            _views.clear()
        _views[key] = found
    return found
