"""Maxima put back to where they were: the inverses of `max_pool2d` and its kin."""

from __future__ import annotations

import math
from typing import Any

from ..api.coverage import native
from ..api.indexing import take_along_axis
from ..array import DeviceArray, calls
from ..ops import neural as rows
from .pools import axes_of
from .windows import Images, images_of, needs, numbers

__all__ = [
    "max_unpool1d",
    "max_unpool1d_gradient",
    "max_unpool2d",
    "max_unpool2d_gradient",
    "max_unpool3d",
    "max_unpool3d_gradient",
]


def _put_back(
    name: str,
    x: Any,
    indices: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    output_size: Any,
    layout: str,
) -> Any:
    axes = axes_of(name)
    images, places = _matched(name, x, indices, layout)
    kernel = numbers(name, "kernel", kernel, axes)
    steps = kernel if stride is None else numbers(name, "stride", stride, axes)
    pad = numbers(name, "padding", padding, axes, 0)
    if output_size is None:
        given = zip(images.positions, kernel, steps, pad)
        size = tuple([(n - 1) * s - 2 * p + k for n, k, s, p in given])
    else:
        size = numbers(name, "output_size", output_size, axes)
    needs(min(size) > 0, f"{name}: a result of positions {size}, takes at least 1")
    found = calls.library(
        DeviceArray,
        rows.PLACE_POSITIONS,
        (images.array, places),
        size=size,
        channels_last=images.last,
    )
    return images.given_back(found)


def _matched(name: str, x: Any, indices: Any, layout: str) -> tuple[Images, Any]:
    axes = axes_of(name)
    images = images_of(name, x, axes, layout)
    places = images_of(name, indices, axes, layout).array
    needs(
        places.shape == images.array.shape and places.dtype.kind in "iu",
        f"{name}: indices are {places.dtype} of shape {tuple(places.shape)}, takes "
        f"integers of shape {tuple(images.array.shape)}",
    )
    return images, places


def _taken_back(name: str, gradient: Any, indices: Any, layout: str) -> Any:
    axes = axes_of(name)
    images = images_of(name, gradient, axes, layout)
    places = images_of(name, indices, axes, layout)
    needs(
        (places.batch, places.channels) == (images.batch, images.channels)
        and places.array.dtype.kind in "iu",
        f"{name}: indices are {places.array.dtype} of shape "
        f"{tuple(places.array.shape)}, takes integers with batch and channels of "
        f"{tuple(images.array.shape)}",
    )
    count = math.prod(places.positions)
    plane = math.prod(images.positions)
    if images.last:
        flat = images.array.reshape(images.batch, plane, images.channels)
        keys = places.array.reshape(images.batch, count, images.channels)
    else:
        flat = images.array.reshape(images.batch, images.channels, plane)
        keys = places.array.reshape(images.batch, images.channels, count)
    found = take_along_axis(flat, keys, 1 if images.last else 2)
    return places.given_back(found.reshape(places.array.shape))


@native
def max_unpool1d(
    x: Any,
    indices: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `max_unpool2d`, over one axis."""
    name = "max_unpool1d"
    return _put_back(name, x, indices, kernel, stride, padding, output_size, layout)


@native
def max_unpool2d(
    x: Any,
    indices: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    layout: str = "NCHW",
) -> Any:
    """Planes of zeros with elements put to their places: the inverse of `max_pool2d`.

    Parameters
    ----------
    x : array_like
        What `max_pool2d` gave.
    indices : array_like
        The places that it gave; of equal ones the last element counts.
    kernel, stride, padding
        As they were given to `max_pool2d`.
    output_size : int or pair of int, optional
        Positions of the result, where they are not those that the windows cover.
    layout : {"NCHW", "NHWC"}

    Raises
    ------
    ValueError
        Shapes that do not fit.
    IndexError
        An index outside of the plane.
    """
    name = "max_unpool2d"
    return _put_back(name, x, indices, kernel, stride, padding, output_size, layout)


@native
def max_unpool3d(
    x: Any,
    indices: Any,
    /,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `max_unpool2d`, over three axes."""
    name = "max_unpool3d"
    return _put_back(name, x, indices, kernel, stride, padding, output_size, layout)


@native
def max_unpool1d_gradient(
    gradient: Any, indices: Any, /, *, layout: str = "NCHW"
) -> Any:
    """As `max_unpool2d_gradient`, over one axis."""
    return _taken_back("max_unpool1d_gradient", gradient, indices, layout)


@native
def max_unpool2d_gradient(
    gradient: Any, indices: Any, /, *, layout: str = "NCHW"
) -> Any:
    """The gradient of `max_unpool2d`: what it has at the places.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    indices : array_like
        As they were given to `max_unpool2d`.
    layout : {"NCHW", "NHWC"}
    """
    return _taken_back("max_unpool2d_gradient", gradient, indices, layout)


@native
def max_unpool3d_gradient(
    gradient: Any, indices: Any, /, *, layout: str = "NCHW"
) -> Any:
    """As `max_unpool2d_gradient`, over three axes."""
    return _taken_back("max_unpool3d_gradient", gradient, indices, layout)
