"""Convolutions over one to three axes, and their gradients.

What is called a convolution here is, as in other libraries for neural networks, a
correlation: the kernel is not turned round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..api.conversion import as_array
from ..api.coverage import native
from ..array.repeated import repeated
from ..ops import neural as rows
from .correlation import Correlation, conjugated
from .windows import Sizes, needs

__all__ = [
    "conv1d",
    "conv1d_input_gradient",
    "conv1d_weight_gradient",
    "conv2d",
    "conv2d_input_gradient",
    "conv2d_weight_gradient",
    "conv3d",
    "conv3d_input_gradient",
    "conv3d_weight_gradient",
]

MOST = 1024
"""Checked calls that are kept."""


_Form: TypeAlias = tuple[Correlation, dict[str, Any]]
"""The options of a call that was checked, and what its row is told."""

_FORMS: dict[Any, _Form] = {}


def _form(
    check: Callable[..., _Form],
    name: str,
    x: Any,
    y: Any,
    given: tuple[Any, ...],
    *shape: Any,
) -> _Form:
    """What ``check`` finds, once for each form of a call."""
    key = (name, x.shape, y.shape, *shape, given, *map(type, given))
    try:
        found = _FORMS.get(key)
    except TypeError:  # lists
        found = None
    if found is None:
        found = check(Correlation.of(name, *given), x, y, *shape)
        if all([type(one) in (int, str) for one in given]):
            if len(_FORMS) >= MOST:
                _FORMS.clear()
            _FORMS[key] = found
    return found


def _batched(x: Any, axes: int) -> Any:
    """Images with a batch."""
    return x if x.ndim == axes + 2 else x[None]


# ------------------------------------------------------------------------- convolutions
def _convolved(name: str, x: Any, w: Any, bias: Any, *given: Any) -> Any:
    array, weights = as_array(x), as_array(w)
    correlation, options = _form(_checked, name, array, weights, given)
    whole = _batched(array, correlation.axes)
    found = correlation.called(rows.CONVOLUTION, whole, weights, options, bias)
    return found if whole is array else found[0]


def _checked(correlation: Correlation, x: Any, w: Any) -> _Form:
    images = correlation.images(x)
    correlation.check_weights(w.shape)
    correlation.check_channels(images, w.shape)
    window = w.shape[2:]
    size = correlation.sizes(images.positions, window)
    return correlation, correlation.options(images, window, size=size)


def _positions(options: Correlation, shape: Sizes) -> tuple[int, Sizes]:
    """Batch and positions of images of that shape."""
    axes = options.axes
    needs(
        len(shape) in (axes + 1, axes + 2),
        f"{options.name}: shape is {tuple(shape)}, takes {axes + 2} or {axes + 1} axes",
    )
    whole = tuple(shape) if len(shape) == axes + 2 else (1, *shape)
    last = options.layout.endswith("C")
    return whole[0], whole[1:-1] if last else whole[2:]


# ---------------------------------------------------------------------- input gradients
def _input_gradient(name: str, gradient: Any, w: Any, shape: Any, *given: Any) -> Any:
    array, weights = as_array(gradient), as_array(w)
    form = _form(_checked_input, name, array, weights, given, tuple(shape))
    correlation, options = form
    row, whole = rows.CONVOLUTION_INPUT_GRADIENT, _batched(array, correlation.axes)
    found = correlation.called(row, whole, conjugated(weights), options)
    return found if whole is array else found[0]


def _checked_input(correlation: Correlation, g: Any, w: Any, shape: Sizes) -> _Form:
    results, name = correlation.images(g), correlation.name
    correlation.check_weights(w.shape)
    batch, positions = _positions(correlation, shape)
    size = correlation.sizes(positions, w.shape[2:])
    correlation.check_result(results, batch, size)
    needs(
        results.channels == w.shape[0],
        f"{name}: a gradient of {results.channels} channels, takes {w.shape[0]}, as "
        "the weights have",
    )
    found = results.shaped(w.shape[1] * correlation.groups, positions)
    found = found if results.batched else found[1:]
    needs(
        found == shape,
        f"{name}: shape is {shape}, with these weights it takes {found}",
    )
    options = correlation.options(results, w.shape[2:], size=positions)
    return correlation, options


# --------------------------------------------------------------------- weight gradients
def _weight_gradient(name: str, gradient: Any, x: Any, shape: Any, *given: Any) -> Any:
    results, images = as_array(gradient), as_array(x)
    form = _form(_checked_weights, name, results, images, given, tuple(shape))
    correlation, options = form
    results, images = [_batched(one, correlation.axes) for one in (results, images)]
    row = rows.CONVOLUTION_WEIGHT_GRADIENT
    return correlation.called(row, conjugated(images), results, options)


def _checked_weights(correlation: Correlation, g: Any, x: Any, shape: Sizes) -> _Form:
    results, images = correlation.images(g), correlation.images(x)
    correlation.check_weights(shape)
    correlation.check_channels(images, shape)
    kernel = shape[2:]
    size = correlation.sizes(images.positions, kernel)
    correlation.check_result(results, images.batch, size)
    needs(
        results.channels == shape[0],
        f"{correlation.name}: a gradient of {results.channels} channels, takes "
        f"{shape[0]}",
    )
    return correlation, correlation.options(images, kernel, kernel=kernel)


# ------------------------------------------------------------------------ the functions
@native
@repeated
def conv1d(
    x: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """As `conv2d`, over one axis; ``layout`` may also be written "NCW" or "NWC"."""
    given = (stride, padding, dilation, groups, layout)
    return _convolved("conv1d", x, w, bias, *given)


@native
@repeated
def conv2d(
    x: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """Sums of products of a kernel with every window of an image.

    Parameters
    ----------
    x : array_like
        (batch, channels, height, width), or with ``layout="NHWC"`` (batch, height,
        width, channels).  The batch may be missing.
    w : array_like
        (channels of the result, channels / groups, height, width) of the kernel, in
        either layout.
    stride : int or pair of int
        Steps from one window to the next.
    padding : int, pair of int, "same" or "valid"
        Zeros added on either side.  "same" keeps the size (with stride 1 only; of an
        odd number the larger half goes behind); "valid" adds none.
    dilation : int or pair of int
        Distance of the kernel's elements in the image.
    groups : int
        Groups of channels that know nothing of each other.
    bias : array_like, optional
        A number for each channel of the result, added to it.
    layout : {"NCHW", "NHWC"}
        Order of the axes of x and of the result.

    Returns
    -------
    DeviceArray
        In the layout of x, with ``(size + padding - reach) // stride + 1`` positions
        where ``reach = (kernel - 1) * dilation + 1``; the dtype is the common one.
        Halves are summed in float32.

    Raises
    ------
    ValueError
        Shapes, groups, strides or a padding that do not fit.
    TypeError
        Booleans.

    Notes
    -----
    On the CPU floats are multiplied in registers, tile by tile, on all threads (the
    scheme is that of Georganas et al., "Anatomy of High-Performance Deep Learning
    Convolutions on SIMD Architectures", 2018).
    """
    given = (stride, padding, dilation, groups, layout)
    return _convolved("conv2d", x, w, bias, *given)


@native
@repeated
def conv3d(
    x: Any,
    w: Any,
    /,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    bias: Any = None,
    layout: str = "NCHW",
) -> Any:
    """As `conv2d`, over three axes; ``layout`` may also be written "NCDHW" or
    "NDHWC"."""
    given = (stride, padding, dilation, groups, layout)
    return _convolved("conv3d", x, w, bias, *given)


# ------------------------------------------------------------------------ the gradients
@native
@repeated
def conv1d_input_gradient(
    gradient: Any,
    w: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv2d_input_gradient`, over one axis."""
    given = (stride, padding, dilation, groups, layout)
    return _input_gradient("conv1d_input_gradient", gradient, w, shape, *given)


@native
@repeated
def conv2d_input_gradient(
    gradient: Any,
    w: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """The gradient of `conv2d` in its operand.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    w : array_like
        The weights.  Complex ones count conjugated.
    shape : tuple of int
        Shape of the operand.
    stride, padding, dilation, groups, layout
        As they were given to `conv2d`.

    Returns
    -------
    DeviceArray
        Of that shape.
    """
    given = (stride, padding, dilation, groups, layout)
    return _input_gradient("conv2d_input_gradient", gradient, w, shape, *given)


@native
@repeated
def conv3d_input_gradient(
    gradient: Any,
    w: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv2d_input_gradient`, over three axes."""
    given = (stride, padding, dilation, groups, layout)
    return _input_gradient("conv3d_input_gradient", gradient, w, shape, *given)


@native
@repeated
def conv1d_weight_gradient(
    gradient: Any,
    x: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv2d_weight_gradient`, over one axis."""
    given = (stride, padding, dilation, groups, layout)
    return _weight_gradient("conv1d_weight_gradient", gradient, x, shape, *given)


@native
@repeated
def conv2d_weight_gradient(
    gradient: Any,
    x: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """The gradient of `conv2d` in its weights.

    That in the bias is the sum of ``gradient`` over batch and positions.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result.
    x : array_like
        The operand.  Complex numbers count conjugated.
    shape : tuple of int
        Shape of the weights.
    stride, padding, dilation, groups, layout
        As they were given to `conv2d`.

    Returns
    -------
    DeviceArray
        Of that shape.
    """
    given = (stride, padding, dilation, groups, layout)
    return _weight_gradient("conv2d_weight_gradient", gradient, x, shape, *given)


@native
@repeated
def conv3d_weight_gradient(
    gradient: Any,
    x: Any,
    /,
    shape: Sizes,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    layout: str = "NCHW",
) -> Any:
    """As `conv2d_weight_gradient`, over three axes."""
    given = (stride, padding, dilation, groups, layout)
    return _weight_gradient("conv3d_weight_gradient", gradient, x, shape, *given)
