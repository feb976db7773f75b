"""How arrays of the host lie, as the graph says it: found once for each way."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native
from ..backends.buffer import Buffer
from ..layout import Layout
from .views import View

__all__ = ["host_layout", "host_view"]

MOST = 1 << 16

_views: dict[tuple[Any, ...], View] = {}
"""By all that `host_layout` looks at."""


def host_view(host: np.ndarray[Any, Any], buffer: Buffer) -> View:
    """How an array of the host lies in a buffer, and what its elements are."""
    dtype = host.dtype
    key = (native.lie(host, buffer.start), dtype)
    found = _views.get(key)
    if found is None or found[1] is not dtype:
        found = View.of(host_layout(host, buffer), dtype)
        if len(_views) > MOST:
            _views.clear()
        _views[key] = found
    return found


def host_layout(host: np.ndarray[Any, Any], buffer: Buffer) -> Layout:
    """Where an array of the host lies in a buffer."""
    offset = native.address(host) - buffer.start
    flags = host.flags
    if not offset and flags.c_contiguous and flags.aligned and host.size:
        plain = Layout.plain_for(host.shape, host.dtype.itemsize)
        if plain.strides == host.strides:  # of one element they can be any
            return plain
    return Layout(host.shape, host.strides, offset)
