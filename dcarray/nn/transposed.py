"""Transposes of convolutions ("deconvolutions"), and their gradients.

`conv_transpose2d` is to `conv2d` what a transposed matrix is to a matrix.
"""

from __future__ import annotations

from typing import Any

from ..api.coverage import native
from ..array.repeated import repeated
from .correlation import Correlation, conjugated
from .windows import Images, Sizes, needs, numbers

__all__ = [
    "conv_transpose1d",
    "conv_transpose1d_input_gradient",
    "conv_transpose1d_weight_gradient",
    "conv_transpose2d",
    "conv_transpose2d_input_gradient",
    "conv_transpose2d_weight_gradient",
    "conv_transpose3d",
    "conv_transpose3d_input_gradient",
    "conv_transpose3d_weight_gradient",
]


def _transposed(
    options: Correlation, x: Any, w: Any, output_padding: Any, bias: Any
) -> Any:
    images, weights = options.images(x), options.weights(w)
    name = options.name
    needs(
        images.channels == weights.shape[0],
        f"{name}: {images.channels} channels and weights of shape "
        f"{tuple(weights.shape)}, takes as many channels as their first axis has",
    )
    more = numbers(name, "output_padding", output_padding, options.axes, 0)
    most = [max(s, d) for s, d in zip(options.stride, options.dilation)]
    needs(
        all([n < m for n, m in zip(more, most)]),
        f"{name}: output_padding is {output_padding!r}, takes less than stride or "
        f"dilation ({options.stride}, {options.dilation})",
    )
    low, high = options.pads(weights.shape[2:])
    size = tuple(
        [
            (n - 1) * s + (k - 1) * d + 1 + extra - before - behind
            for n, s, k, d, extra, before, behind in zip(
                images.positions,
                options.stride,
                weights.shape[2:],
                options.dilation,
                more,
                low,
                high,
            )
        ]
    )
    needs(
        all([n > 0 for n in size]),
        f"{name}: a result of positions {size}; takes less padding, or a larger array",
    )
    return images.given_back(options.backward(images, weights, size, bias))


def _input_gradient(
    options: Correlation, gradient: Any, w: Any, output_padding: Any
) -> Any:
    results, weights = options.images(gradient), options.weights(w)
    options.check_channels(results, weights.shape)
    size = _sizes(options, results, weights.shape[2:], output_padding)
    found = options.forward(results, conjugated(weights), size)
    return results.given_back(found)


def _weight_gradient(
    options: Correlation, gradient: Any, x: Any, shape: Sizes, output_padding: Any
) -> Any:
    results, images = options.images(gradient), options.images(x)
    options.check_weights(shape)
    options.check_channels(results, shape)
    kernel = tuple(shape[2:])
    size = _sizes(options, results, kernel, output_padding)
    options.check_result(images, results.batch, size)
    needs(
        images.channels == shape[0],
        f"{options.name}: {images.channels} channels, takes {shape[0]}",
    )
    seen = Images(conjugated(images.array), images.batched, images.last)
    return options.outward(results, seen, kernel)


def _sizes(
    options: Correlation, results: Images, kernel: Sizes, output_padding: Any
) -> Sizes:
    """Positions of the operand, which a stride alone leaves open."""
    more = numbers(options.name, "output_padding", output_padding, options.axes, 0)
    whole = tuple([n - extra for n, extra in zip(results.positions, more)])
    return options.sizes(whole, kernel)


# ------------------------------------------------------------------------ the functions
@native
@repeated
def conv_transpose1d(
    x: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """As `conv_transpose2d`, over one axis."""
    name = "conv_transpose1d"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _transposed(options, x, w, output_padding, bias)


@native
@repeated
def conv_transpose2d(
    x: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """The transpose of `conv2d`: every element of x adds a kernel to the result.

    Parameters
    ----------
    x : array_like
        Images, as `conv2d` takes them.
    w : array_like
        (channels of x, channels of the result / groups, height, width) of the kernel.
    stride : int or pair of int
        Steps in the result from one element of x to the next.
    padding : int or pair of int
        Positions cut off on either side of the result: what `conv2d` would have added.
    output_padding : int or pair of int
        Positions more at the end, less than stride or dilation; where a stride makes
        several sizes possible it says which.
    groups, dilation, bias, layout
        As for `conv2d`.

    Returns
    -------
    DeviceArray
        ``(size - 1) * stride - 2 * padding + (kernel - 1) * dilation + output_padding
        + 1`` positions.

    Raises
    ------
    ValueError
        Shapes or numbers that do not fit.
    """
    name = "conv_transpose2d"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _transposed(options, x, w, output_padding, bias)


@native
@repeated
def conv_transpose3d(
    x: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """As `conv_transpose2d`, over three axes."""
    name = "conv_transpose3d"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _transposed(options, x, w, output_padding, bias)


# ------------------------------------------------------------------------ the gradients
@native
@repeated
def conv_transpose1d_input_gradient(
    gradient: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv_transpose2d_input_gradient`, over one axis."""
    name = "conv_transpose1d_input_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _input_gradient(options, gradient, w, output_padding)


@native
@repeated
def conv_transpose2d_input_gradient(
    gradient: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """The gradient of `conv_transpose2d` in its operand: a `conv2d` of the gradient.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    w : array_like
        The weights.  Complex ones count conjugated.
    stride, padding, output_padding, groups, dilation, layout
        As they were given to `conv_transpose2d`.
    """
    name = "conv_transpose2d_input_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _input_gradient(options, gradient, w, output_padding)


@native
@repeated
def conv_transpose3d_input_gradient(
    gradient: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv_transpose2d_input_gradient`, over three axes."""
    name = "conv_transpose3d_input_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _input_gradient(options, gradient, w, output_padding)


@native
@repeated
def conv_transpose1d_weight_gradient(
    gradient: Any,
    x: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv_transpose2d_weight_gradient`, over one axis."""
    name = "conv_transpose1d_weight_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _weight_gradient(options, gradient, x, shape, output_padding)


@native
@repeated
def conv_transpose2d_weight_gradient(
    gradient: Any,
    x: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """The gradient of `conv_transpose2d` in its weights.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x : array_like
        The operand.  Complex numbers count conjugated.
    shape : tuple of int
        Shape of the weights.
    stride, padding, output_padding, groups, dilation, layout
        As they were given to `conv_transpose2d`.
    """
    name = "conv_transpose2d_weight_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _weight_gradient(options, gradient, x, shape, output_padding)


@native
@repeated
def conv_transpose3d_weight_gradient(
    gradient: Any,
    x: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv_transpose2d_weight_gradient`, over three axes."""
    name = "conv_transpose3d_weight_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _weight_gradient(options, gradient, x, shape, output_padding)
