"""Maxima and averages over windows of one to three axes of positions, and their
gradients.

An index says the place of a maximum in its plane (one channel of one image), the rows
of the plane laid end to end.  Of equal elements the first counts; NaN is larger than
any number.
"""

from __future__ import annotations

from typing import Any

from ..api.coverage import native
from ..array.repeated import repeated
from ..ops import neural as rows
from .pools import Pool

__all__ = [
    "avg_pool1d",
    "avg_pool1d_gradient",
    "avg_pool2d",
    "avg_pool2d_gradient",
    "avg_pool3d",
    "avg_pool3d_gradient",
    "max_pool1d",
    "max_pool1d_gradient",
    "max_pool2d",
    "max_pool2d_gradient",
    "max_pool3d",
    "max_pool3d_gradient",
]


def _scattered(pool: Pool, gradient: Any) -> Any:
    """The gradient of the largest elements: each number goes where one was found."""
    results = pool.results(gradient)
    found = pool.row(rows.MAX_POOL_GRADIENT, results.array, pool.images.array)
    return results.given_back(found)


# ------------------------------------------------------------------------------ maxima
@native
@repeated
def max_pool1d(
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `max_pool2d`, over one axis."""
    name = "max_pool1d"
    pool = Pool.of(name, x, kernel, stride, padding, dilation, ceil_mode, layout)
    return pool.largest(return_indices)


@native
@repeated
def max_pool2d(
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """The largest element of every window.

    Parameters
    ----------
    x : array_like
        (batch, channels, height, width) real numbers, or with ``layout="NHWC"`` (batch,
        height, width, channels).  The batch may be missing.
    kernel : int or pair of int
        Size of a window.
    stride : int or pair of int, optional
        Steps from one window to the next; by default the size of a window.
    padding : int or pair of int
        Positions added on either side, which never are the largest; at most half a
        window.
    dilation : int or pair of int
        Distance of a window's elements.
    ceil_mode : bool
        Whether a last window may reach over the edge, if it begins before it.
    return_indices : bool
        Whether the places of the elements are wanted too.
    layout : {"NCHW", "NHWC"}

    Returns
    -------
    DeviceArray, or two of them
        The second one, int64, has the places, each an index into the flat plane.

    Raises
    ------
    ValueError
        Shapes or numbers that do not fit.
    DTypeError
        Booleans and complex numbers.
    """
    name = "max_pool2d"
    pool = Pool.of(name, x, kernel, stride, padding, dilation, ceil_mode, layout)
    return pool.largest(return_indices)


@native
@repeated
def max_pool3d(
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `max_pool2d`, over three axes."""
    name = "max_pool3d"
    pool = Pool.of(name, x, kernel, stride, padding, dilation, ceil_mode, layout)
    return pool.largest(return_indices)


@native
@repeated
def max_pool1d_gradient(
    gradient: Any,
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `max_pool2d_gradient`, over one axis."""
    name = "max_pool1d_gradient"
    pool = Pool.of(name, x, kernel, stride, padding, dilation, ceil_mode, layout)
    return _scattered(pool, gradient)


@native
@repeated
def max_pool2d_gradient(
    gradient: Any,
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """The gradient of `max_pool2d`: all of a window's goes to its largest element.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, kernel, stride, padding, dilation, ceil_mode, layout
        As they were given to `max_pool2d`.

    Returns
    -------
    DeviceArray
        With the shape of x.
    """
    name = "max_pool2d_gradient"
    pool = Pool.of(name, x, kernel, stride, padding, dilation, ceil_mode, layout)
    return _scattered(pool, gradient)


@native
@repeated
def max_pool3d_gradient(
    gradient: Any,
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `max_pool2d_gradient`, over three axes."""
    name = "max_pool3d_gradient"
    pool = Pool.of(name, x, kernel, stride, padding, dilation, ceil_mode, layout)
    return _scattered(pool, gradient)


# ---------------------------------------------------------------------------- averages
@native
@repeated
def avg_pool1d(
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `avg_pool2d`, over one axis."""
    pool = Pool.of("avg_pool1d", x, kernel, stride, padding, 1, ceil_mode, layout)
    return pool.average(count_include_pad)


@native
@repeated
def avg_pool2d(
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """The mean of every window.

    Parameters
    ----------
    x, kernel, stride, ceil_mode, layout
        As for `max_pool2d`.
    padding : int or pair of int
        Zeros added on either side; at most half a window.
    count_include_pad : bool
        Whether the padding counts as elements.  What a last window has beyond it (see
        ``ceil_mode``) never does.

    Returns
    -------
    DeviceArray
        Integers give float64; halves are summed in float32.

    Raises
    ------
    ValueError
        Shapes or numbers that do not fit.
    DTypeError
        Booleans and complex numbers.
    """
    pool = Pool.of("avg_pool2d", x, kernel, stride, padding, 1, ceil_mode, layout)
    return pool.average(count_include_pad)


@native
@repeated
def avg_pool3d(
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `avg_pool2d`, over three axes."""
    pool = Pool.of("avg_pool3d", x, kernel, stride, padding, 1, ceil_mode, layout)
    return pool.average(count_include_pad)


@native
@repeated
def avg_pool1d_gradient(
    gradient: Any,
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `avg_pool2d_gradient`, over one axis."""
    name = "avg_pool1d_gradient"
    pool = Pool.of(name, x, kernel, stride, padding, 1, ceil_mode, layout)
    return pool.average_gradient(gradient, count_include_pad)


@native
@repeated
def avg_pool2d_gradient(
    gradient: Any,
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """The gradient of `avg_pool2d`: every element of a window gets the same share.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x, kernel, stride, padding, ceil_mode, count_include_pad, layout
        As they were given to `avg_pool2d`; of x only the shape counts.

    Returns
    -------
    DeviceArray
        With the shape of x.
    """
    name = "avg_pool2d_gradient"
    pool = Pool.of(name, x, kernel, stride, padding, 1, ceil_mode, layout)
    return pool.average_gradient(gradient, count_include_pad)


@native
@repeated
def avg_pool3d_gradient(
    gradient: Any,
    x: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `avg_pool2d_gradient`, over three axes."""
    name = "avg_pool3d_gradient"
    pool = Pool.of(name, x, kernel, stride, padding, 1, ceil_mode, layout)
    return pool.average_gradient(gradient, count_include_pad)
