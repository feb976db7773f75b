"""What all pooling does: windows of one size over images, and their operations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..api.conversion import convert
from ..array import DeviceArray, calls
from ..errors import DTypeError
from ..ops import neural as rows
from ..ops.spec import Op
from .correlation import narrowed, widened
from .windows import Images, Sizes, images_of, needs, numbers, sizes_after

__all__ = ["Pool", "axes_of", "check_real"]


def axes_of(name: str) -> int:
    """Axes of positions: the digit in a function's name."""
    return next(int(c) for c in name if c.isdigit())


def check_real(name: str, x: Any) -> None:
    """Refuse what has no order.

    Raises
    ------
    DTypeError
        Complex numbers and what is no number.
    """
    if x.dtype.kind in "bcOSUMmT" or x.dtype.names is not None:
        raise DTypeError(f"{name}: got {x.dtype}, takes real numbers")


@lru_cache(256)
def _counts(padded: bool, *along: Sizes) -> np.ndarray[Any, Any]:
    """Elements in each window: of positions, kernel, stride, padding, dilation and
    size, one number for each axis."""
    axes = len(along[0])
    result: np.ndarray[Any, Any] = np.ones((1,) * axes)
    for axis, (n, k, s, p, d, m) in enumerate(zip(*along)):
        places = np.arange(m)[:, None] * s + np.arange(k) * d - p
        low, high = (-p, n + p) if padded else (0, n)
        found = ((places >= low) & (places < high)).sum(1)
        shape = [1] * axes
        shape[axis] = m
        result = result * found.reshape(shape)
    result.flags.writeable = False
    return result


@dataclass(frozen=True, slots=True)
class Pool:
    """Windows over images.

    Attributes
    ----------
    name : str
        The public function, for messages.
    images : Images
        What is pooled; of a gradient's function an array of the operand's shape.
    kernel, stride, padding, dilation : tuple of int
    size : tuple of int
        Positions of the result.
    """

    name: str
    images: Images
    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    size: Sizes

    @classmethod
    def of(
        cls,
        name: str,
        x: Any,
        kernel: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        layout: str,
    ) -> Pool:
        """Checked windows.

        Raises
        ------
        ValueError
            Numbers or shapes that do not fit, or a padding of more than half a window.
        """
        axes = axes_of(name)
        images = images_of(name, x, axes, layout)
        check_real(name, images.array)
        kernel = numbers(name, "kernel", kernel, axes)
        steps = kernel if stride is None else numbers(name, "stride", stride, axes)
        pad = numbers(name, "padding", padding, axes, 0)
        gaps = numbers(name, "dilation", dilation, axes)
        needs(
            all([2 * p <= (k - 1) * d + 1 for p, k, d in zip(pad, kernel, gaps)]),
            f"{name}: padding {pad} and windows of {kernel}, takes at most half a "
            "window",
        )
        size = sizes_after(
            name, images.positions, kernel, steps, (pad, pad), gaps, ceil_mode
        )
        pool = cls(name, images, kernel, steps, pad, gaps, size)
        needs(
            max(gaps) == 1 or 0 not in pool.counts(False),
            f"{name}: padding {pad}, dilation {gaps} and positions {images.positions}, "
            "takes windows with at least one position in the array",
        )
        return pool

    # ------------------------------------------------------------------------ elements
    def counts(self, padded: bool) -> np.ndarray[Any, Any]:
        """Elements in each window: within the padded array, or within the array."""
        windows = (self.kernel, self.stride, self.padding, self.dilation)
        return _counts(padded, self.images.positions, *windows, self.size)

    def divisors(self, count_include_pad: bool, dtype: np.dtype[Any]) -> Any:
        """What the sums of windows are divided by: a number, or an array of them."""
        counts = self.counts(count_include_pad)
        least = counts.min(initial=math.inf)
        if not counts.size or least == counts.max():
            return float(least)
        array = counts.astype(dtype)
        if self.images.last:
            array = array[..., None]
        return convert(array, device=self.images.array.device)

    # ---------------------------------------------------------------------- operations
    def row(self, op: Op, *arrays: Any, size: Sizes | None = None) -> Any:
        """A row with these windows."""
        return calls.library(
            DeviceArray,
            op,
            arrays,
            kernel=self.kernel,
            stride=self.stride,
            low=self.padding,
            dilation=self.dilation,
            size=self.size if size is None else size,
            channels_last=self.images.last,
        )

    def largest(self, with_indices: bool) -> Any:
        """The largest element of each window, and its place."""
        x = self.images.array
        if not with_indices:
            return self.images.given_back(self.row(rows.MAX_POOL, x))
        found, places = self.row(rows.MAX_POOL_WITH_INDICES, x)
        return self.images.given_back(found), self.images.given_back(places)

    def average(self, count_include_pad: bool) -> Any:
        """The mean of each window."""
        dtype, x = self.floating(self.images.array)
        total = self.row(rows.SUM_POOL, x)
        found = total / self.divisors(count_include_pad, x.dtype)
        return self.images.given_back(narrowed(found, dtype))

    def average_gradient(self, gradient: Any, count_include_pad: bool) -> Any:
        """The adjoint of `average`."""
        results = self.results(gradient)
        dtype, g = self.floating(results.array)
        shares = g / self.divisors(count_include_pad, g.dtype)
        found = self.row(rows.SUM_POOL_GRADIENT, shares, size=self.images.positions)
        return results.given_back(narrowed(found, dtype))

    def floating(self, x: Any) -> tuple[np.dtype[Any], Any]:
        """The dtype of a mean, and an operand in the dtype in which it is computed."""
        if x.dtype.kind in "iu":
            x = x.astype(np.float64)
        dtype, (wide,) = widened(self.name, x)
        return dtype, wide

    def results(self, gradient: Any) -> Images:
        """A gradient in the result.

        Raises
        ------
        ValueError
            It has not the result's shape.
        """
        layout = "NHWC" if self.images.last else "NCHW"
        found = images_of(self.name, gradient, len(self.size), layout)
        wanted = self.images.shaped(self.images.channels, self.size)
        needs(
            found.array.shape == wanted,
            f"{self.name}: a gradient of shape {tuple(found.array.shape)}, takes "
            f"{wanted}",
        )
        return found
