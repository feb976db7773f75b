"""Pooling to a given size.

Windows of adaptive pooling cover the positions as evenly as whole numbers can: window k
of m over n positions goes from ``floor(k n / m)`` to ``ceil((k + 1) n / m)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.conversion import convert
from ..api.coverage import native
from ..array import DeviceArray, calls
from ..array.repeated import repeated
from ..ops import neural as rows
from ..ops.neural.windows import adaptive_edges
from ..ops.spec import Op
from .correlation import narrowed, widened
from .pools import axes_of, check_real
from .windows import Images, Sizes, images_of, needs, numbers

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool1d_gradient",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool2d_gradient",
    "adaptive_avg_pool3d",
    "adaptive_avg_pool3d_gradient",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_gradient",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_gradient",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_gradient",
]


# ---------------------------------------------------------------------------- the work
class _Adaptive:
    """Windows of equal share over images."""

    def __init__(self, name: str, x: Any, size: Any, layout: str) -> None:
        axes = axes_of(name)
        self.name = name
        self.images = images_of(name, x, axes, layout)
        check_real(name, self.images.array)
        self.size = _asked(name, size, self.images.positions)
        needs(
            0 not in self.images.positions,
            f"{name}: positions {self.images.positions}, takes at least one",
        )

    def row(self, op: Op, operands: tuple[Any, ...], size: Sizes) -> Any:
        return calls.library(
            DeviceArray, op, operands, size=size, channels_last=self.images.last
        )

    def places(self) -> tuple[Any, Any]:
        row = rows.ADAPTIVE_MAX_POOL
        found, places = self.row(row, (self.images.array,), self.size)
        return found, places

    def lengths(self, x: Any) -> Any:
        """How many elements each window has."""
        result: np.ndarray[Any, Any] = np.ones((1,) * len(self.size), x.dtype)
        for axis, (n, m) in enumerate(zip(self.images.positions, self.size)):
            along = np.diff(adaptive_edges(n, m), axis=1).astype(x.dtype)
            shape = [1] * len(self.size)
            shape[axis] = m
            result = result * along.reshape(shape)
        if self.images.last:
            result = result[..., None]
        return convert(result, device=x.device)

    def floating(self, x: Any) -> tuple[np.dtype[Any], Any]:
        x = x.astype(np.float64) if x.dtype.kind in "iu" else x
        dtype, (wide,) = widened(self.name, x)
        return dtype, wide

    def results(self, gradient: Any) -> Images:
        layout = "NHWC" if self.images.last else "NCHW"
        found = images_of(self.name, gradient, len(self.size), layout)
        wanted = self.images.shaped(self.images.channels, self.size)
        needs(
            found.array.shape == wanted,
            f"{self.name}: a gradient of shape {tuple(found.array.shape)}, takes "
            f"{wanted}",
        )
        return found


def _asked(name: str, size: Any, positions: Sizes) -> Sizes:
    """Sizes of the result; None means that of the operand."""
    axes = len(positions)
    if isinstance(size, (tuple, list)) and len(size) == axes:
        size = [n if m is None else m for m, n in zip(size, positions)]
    return numbers(name, "size", size, axes)


def _averaged(name: str, x: Any, size: Any, layout: str) -> Any:
    pool = _Adaptive(name, x, size, layout)
    dtype, wide = pool.floating(pool.images.array)
    total = pool.row(rows.ADAPTIVE_SUM_POOL, (wide,), pool.size)
    return pool.images.given_back(narrowed(total / pool.lengths(wide), dtype))


def _averaged_gradient(name: str, gradient: Any, x: Any, size: Any, layout: str) -> Any:
    pool = _Adaptive(name, x, size, layout)
    results = pool.results(gradient)
    dtype, wide = pool.floating(results.array)
    shares = wide / pool.lengths(wide)
    found = pool.row(rows.ADAPTIVE_SUM_POOL_GRADIENT, (shares,), pool.images.positions)
    return results.given_back(narrowed(found, dtype))


def _largest(name: str, x: Any, size: Any, return_indices: bool, layout: str) -> Any:
    pool = _Adaptive(name, x, size, layout)
    found, places = pool.places()
    found = pool.images.given_back(found)
    return (found, pool.images.given_back(places)) if return_indices else found


def _largest_gradient(name: str, gradient: Any, x: Any, size: Any, layout: str) -> Any:
    pool = _Adaptive(name, x, size, layout)
    results = pool.results(gradient)
    operands = (results.array, pool.places()[1])
    found = pool.row(rows.SCATTER_POSITIONS, operands, pool.images.positions)
    return results.given_back(found)


# ---------------------------------------------------------------------- averages
@native
@repeated
def adaptive_avg_pool1d(
    x: Any,
    /,
    size: Any,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `adaptive_avg_pool2d`, over one axis."""
    return _averaged("adaptive_avg_pool1d", x, size, layout)


@native
@repeated
def adaptive_avg_pool2d(
    x: Any,
    /,
    size: Any,
    *,
    layout: str = "NCHW",
) -> Any:
    """The mean of as many windows as are asked for.

    Parameters
    ----------
    x : array_like
        As for `avg_pool2d`.
    size : int, or pair of int or None
        Positions of the result; None leaves an axis as it is.
    layout : {"NCHW", "NHWC"}

    Raises
    ------
    ValueError
        Shapes or sizes that do not fit.
    """
    return _averaged("adaptive_avg_pool2d", x, size, layout)


@native
@repeated
def adaptive_avg_pool3d(
    x: Any,
    /,
    size: Any,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `adaptive_avg_pool2d`, over three axes."""
    return _averaged("adaptive_avg_pool3d", x, size, layout)


@native
@repeated
def adaptive_avg_pool1d_gradient(
    gradient: Any, x: Any, /, size: Any, *, layout: str = "NCHW"
) -> Any:
    """As `adaptive_avg_pool2d_gradient`, over one axis."""
    name = "adaptive_avg_pool1d_gradient"
    return _averaged_gradient(name, gradient, x, size, layout)


@native
@repeated
def adaptive_avg_pool2d_gradient(
    gradient: Any, x: Any, /, size: Any, *, layout: str = "NCHW"
) -> Any:
    """The gradient of `adaptive_avg_pool2d`.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, size, layout
        As they were given to `adaptive_avg_pool2d`.
    """
    name = "adaptive_avg_pool2d_gradient"
    return _averaged_gradient(name, gradient, x, size, layout)


@native
@repeated
def adaptive_avg_pool3d_gradient(
    gradient: Any, x: Any, /, size: Any, *, layout: str = "NCHW"
) -> Any:
    """As `adaptive_avg_pool2d_gradient`, over three axes."""
    name = "adaptive_avg_pool3d_gradient"
    return _averaged_gradient(name, gradient, x, size, layout)


# ---------------------------------------------------------------------- maxima
@native
@repeated
def adaptive_max_pool1d(
    x: Any,
    /,
    size: Any,
    return_indices: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `adaptive_max_pool2d`, over one axis."""
    return _largest("adaptive_max_pool1d", x, size, return_indices, layout)


@native
@repeated
def adaptive_max_pool2d(
    x: Any,
    /,
    size: Any,
    return_indices: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """The largest element of as many windows as are asked for.

    Parameters
    ----------
    x, size, layout
        As for `adaptive_avg_pool2d`.
    return_indices : bool
        Whether the places of the elements are wanted too; see `max_pool2d`.
    """
    return _largest("adaptive_max_pool2d", x, size, return_indices, layout)


@native
@repeated
def adaptive_max_pool3d(
    x: Any,
    /,
    size: Any,
    return_indices: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `adaptive_max_pool2d`, over three axes."""
    return _largest("adaptive_max_pool3d", x, size, return_indices, layout)


@native
@repeated
def adaptive_max_pool1d_gradient(
    gradient: Any, x: Any, /, size: Any, *, layout: str = "NCHW"
) -> Any:
    """As `adaptive_max_pool2d_gradient`, over one axis."""
    name = "adaptive_max_pool1d_gradient"
    return _largest_gradient(name, gradient, x, size, layout)


@native
@repeated
def adaptive_max_pool2d_gradient(
    gradient: Any, x: Any, /, size: Any, *, layout: str = "NCHW"
) -> Any:
    """The gradient of `adaptive_max_pool2d`.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, size, layout
        As they were given to `adaptive_max_pool2d`.
    """
    name = "adaptive_max_pool2d_gradient"
    return _largest_gradient(name, gradient, x, size, layout)


@native
@repeated
def adaptive_max_pool3d_gradient(
    gradient: Any, x: Any, /, size: Any, *, layout: str = "NCHW"
) -> Any:
    """As `adaptive_max_pool2d_gradient`, over three axes."""
    name = "adaptive_max_pool3d_gradient"
    return _largest_gradient(name, gradient, x, size, layout)
