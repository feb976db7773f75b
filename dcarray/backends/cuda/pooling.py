"""Pooling of images by our own texts in CUDA C++: see `kernels.pooling`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..grid.library.work import INT64
from ..grid.views import GridView
from .kernels import pooling
from .kernels.common import is_known
from .picking import is_dense
from .raw import Raw, signature

__all__ = ["INDEXED", "TABLE"]

Sizes = tuple[int, ...]

MOST = 49
"""Positions of a window at most: loops over them are unrolled."""

MOST_STEPS = 16
"""Positions that the beginnings of two windows lie apart."""

_WINDOWS = signature("windows", "rwwqqqqqq")
_SPREAD = signature("spread", "rwqqqqqq")
_RETURNED = signature("returned", "rrwqqqqqqq")


def _planes(x: Any, channels_last: bool) -> bool:
    """Whether an operand is planes in one piece, with places that 32 bits hold."""
    return (
        isinstance(x, GridView)
        and x.ndim == 4
        and 0 < x.size < 1 << 31
        and not channels_last
        and is_known(x.dtype)
        and x.layout.offset % x.dtype.itemsize == 0
        and is_dense(x)
    )


def _fits(kernel: Sizes, stride: Sizes, dilation: Sizes) -> bool:
    return (
        len(kernel) == 2
        and math.prod(kernel) <= MOST
        and math.prod(stride) <= MOST_STEPS
        and max(dilation) == 1
    )


def _windows(
    what: str,
    raw: Raw,
    x: Any,
    *,
    size: Sizes,
    channels_last: bool,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
) -> Any:
    """Maxima or sums of windows; for "indexed" the places of maxima as well."""
    if not _planes(x, channels_last) or not _fits(kernel, stride, dilation):
        return None
    if 0 in size or (x.dtype.kind not in "iuf" and what == "sum"):
        return None
    lines = x.shape[0] * x.shape[1] * size[0]
    items = lines * -(-size[1] // pooling.PAIR)
    if items * pooling.PAIR >= 1 << 31:
        return None
    found = raw.new((*x.shape[:2], *size), x.dtype)
    places = raw.new(found.shape, INT64) if what == "indexed" else found
    text = pooling.window_text(x.dtype, what, kernel, stride, low)
    offset = x.layout.offset // x.dtype.itemsize
    groups = (-(-items // pooling.THREADS),)
    given = (x, found, places, *x.shape[2:], *size, items, offset)
    raw.run(text, _WINDOWS, groups, pooling.THREADS, *given)
    return (found, places) if what == "indexed" else found


def _sum_pool_gradient(
    raw: Raw,
    gradient: Any,
    *,
    size: Sizes,
    channels_last: bool,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
) -> GridView | None:
    """The adjoint of sums."""
    g = gradient
    if not _planes(g, channels_last) or not _fits(kernel, stride, dilation):
        return None
    if 0 in size or g.dtype.kind not in "iuf":
        return None
    lines = g.shape[0] * g.shape[1] * size[0]
    items = lines * -(-size[1] // pooling.PAIR)
    if items * pooling.PAIR >= 1 << 31:
        return None
    found = raw.new((*g.shape[:2], *size), g.dtype)
    text = pooling.gradient_text(g.dtype, kernel, stride, low)
    offset = g.layout.offset // g.dtype.itemsize
    groups = (-(-items // pooling.THREADS),)
    given = (g, found, *g.shape[2:], *size, items, offset)
    raw.run(text, _SPREAD, groups, pooling.THREADS, *given)
    return found


def _max_pool_gradient(
    raw: Raw,
    gradient: Any,
    x: Any,
    *,
    size: Sizes,
    channels_last: bool,
    kernel: Sizes,
    stride: Sizes,
    low: Sizes,
    dilation: Sizes,
) -> GridView | None:
    """The adjoint of maxima: an item finds them again for all windows that meet its
    positions."""
    g = gradient
    if not _planes(x, channels_last) or not _planes(g, channels_last):
        return None
    if not _fits(kernel, stride, dilation) or g.dtype != x.dtype:
        return None
    blocks = [-(-n // s) for n, s in zip(x.shape[2:], stride, strict=True)]
    items = x.shape[0] * x.shape[1] * math.prod(blocks)
    # What an item reads stays in its registers.
    read = [k + 2 * s for k, s in zip(kernel, stride, strict=True)]
    if math.prod(read) > MOST or x.dtype.kind not in "iuf":
        return None
    found = raw.new(x.shape, x.dtype)
    text = pooling.maxima_gradient_text(x.dtype, kernel, stride, low)
    offsets = [one.layout.offset // one.dtype.itemsize for one in (x, g)]
    groups = (-(-items // pooling.THREADS),)
    given = (x, g, found, *x.shape[2:], *g.shape[2:], items, *offsets)
    raw.run(text, _RETURNED, groups, pooling.THREADS, *given)
    return found


TABLE: Mapping[str, Callable[..., Any]] = {
    "nn.max_pool": partial(_windows, "max"),
    "nn.sum_pool": partial(_windows, "sum"),
    "nn.sum_pool_gradient": _sum_pool_gradient,
    "nn.max_pool_gradient": _max_pool_gradient,
}
"""Functions by the name of their rows."""

INDEXED: Mapping[str, Callable[..., Any]] = {
    "nn.max_pool_with_indices": partial(_windows, "indexed")
}
"""The one with two results."""
