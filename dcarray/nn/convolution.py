"""Convolutions over one to three axes, and their gradients.

What is called a convolution here is, as in other libraries for neural networks, a
correlation: the kernel is not turned round.
"""

from __future__ import annotations

from typing import Any

from ..api.conversion import as_array
from ..api.coverage import native
from .correlation import Correlation, conjugated
from .windows import Images, Sizes, needs

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


_FORMS: dict[Any, tuple[Correlation, Sizes, Sizes, bool, bool]] = {}
"""Calls that were checked: their options, positions of the result, padding in front,
whether there is a batch, and whether channels come last."""


def _convolved(name: str, x: Any, w: Any, bias: Any, *given: Any) -> Any:
    array, weights = as_array(x), as_array(w)
    key = (name, array.shape, weights.shape, *given)
    is_plain = all([type(one) in (int, str) for one in given])  # 1.0 would be found
    form = _FORMS.get(key) if is_plain else None
    if form is None:
        options = Correlation.of(name, *given)
        images = options.images(array)
        options.check_weights(weights.shape)
        options.check_channels(images, weights.shape)
        window = weights.shape[2:]
        size, (low, _) = options.sizes(images.positions, window), options.pads(window)
        form = (options, size, low, images.batched, images.last)
        if is_plain:
            if len(_FORMS) >= MOST:
                _FORMS.clear()
            _FORMS[key] = form
    options, size, low, batched, last = form
    images = Images(array if batched else array[None], batched, last)
    return images.given_back(options.forward(images, weights, size, bias, low))


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


def _input_gradient(options: Correlation, gradient: Any, w: Any, shape: Sizes) -> Any:
    results, weights = options.images(gradient), options.weights(w)
    batch, positions = _positions(options, shape)
    size = options.sizes(positions, weights.shape[2:])
    options.check_result(results, batch, size)
    needs(
        results.channels == weights.shape[0],
        f"{options.name}: a gradient of {results.channels} channels, takes "
        f"{weights.shape[0]}, as the weights have",
    )
    found = options.backward(results, conjugated(weights), positions)
    found = results.given_back(found)
    needs(
        found.shape == tuple(shape),
        f"{options.name}: shape is {tuple(shape)}, with these weights it takes "
        f"{tuple(found.shape)}",
    )
    return found


def _weight_gradient(options: Correlation, gradient: Any, x: Any, shape: Sizes) -> Any:
    results, images = options.images(gradient), options.images(x)
    options.check_weights(shape)
    options.check_channels(images, shape)
    kernel = tuple(shape[2:])
    options.check_result(results, images.batch, options.sizes(images.positions, kernel))
    needs(
        results.channels == shape[0],
        f"{options.name}: a gradient of {results.channels} channels, takes {shape[0]}",
    )
    seen = Images(conjugated(images.array), images.batched, images.last)
    return options.outward(seen, results, kernel)


# ------------------------------------------------------------------------ the functions
@native
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
    On the CPU tiles of windows are laid out as matrices that stay in cache (im2col,
    Chellapilla et al. 2006) and multiplied by BLAS, on all threads.
    """
    given = (stride, padding, dilation, groups, layout)
    return _convolved("conv2d", x, w, bias, *given)


@native
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
    name = "conv1d_input_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _input_gradient(options, gradient, w, shape)


@native
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
    name = "conv2d_input_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _input_gradient(options, gradient, w, shape)


@native
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
    name = "conv3d_input_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _input_gradient(options, gradient, w, shape)


@native
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
    name = "conv1d_weight_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _weight_gradient(options, gradient, x, shape)


@native
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
    name = "conv2d_weight_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _weight_gradient(options, gradient, x, shape)


@native
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
    name = "conv3d_weight_gradient"
    options = Correlation.of(name, stride, padding, dilation, groups, layout)
    return _weight_gradient(options, gradient, x, shape)
