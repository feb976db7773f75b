"""What convolutions and their transposes share: one set of options, and the operation
with its two adjoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api.conversion import as_array
from ..array import DeviceArray, calls
from ..array.library import oracle
from ..errors import DTypeError
from ..lazy.libraries import call_library
from ..ops import neural as rows
from ..ops.spec import Op
from .composing import takes_short
from .windows import Images, Sizes, images_of, needs, numbers, pads, sizes_after

__all__ = ["Correlation", "conjugated", "narrowed", "widened"]


def widened(
    name: str, *operands: Any, row: Op | None = None
) -> tuple[np.dtype[Any], list[Any]]:
    """The dtype of a result, and the operands in the dtype in which it is computed:
    float32 for shorter floats, unless the device's row takes those.

    Raises
    ------
    DTypeError
        Operands that are no numbers.
    """
    wide = dtype = operands[0].dtype
    if any([x.dtype != dtype for x in operands]):
        wide = dtype = np.result_type(*[x.dtype for x in operands])
    if dtype.kind not in "fciu" or dtype == np.float16:
        if dtype.kind in "bOSUMmT" or dtype.names is not None:
            raise DTypeError(f"{name}: got {dtype}, takes numbers")
        if row is None or not takes_short(row, dtype, *operands):
            wide = np.dtype(np.float32)
    return dtype, [x if x.dtype == wide else x.astype(wide) for x in operands]


def narrowed(x: Any, dtype: np.dtype[Any]) -> Any:
    """The result in its dtype."""
    return x if x.dtype == dtype else x.astype(dtype)


def conjugated(x: Any) -> Any:
    """What an adjoint multiplies by."""
    return x.conj() if x.dtype.kind == "c" else x


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation of images with the weights ``w``.

    Attributes
    ----------
    name : str
        The public function, for messages.
    axes : int
        Axes of positions.
    stride, dilation : tuple of int
    padding : object
        As the user gave it.
    groups : int
    layout : str
    """

    name: str
    axes: int
    stride: Sizes
    padding: Any
    dilation: Sizes
    groups: int
    layout: str

    @classmethod
    def of(
        cls,
        name: str,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        layout: str,
    ) -> Correlation:
        """Checked options; the number of axes is the digit in the name."""
        axes = next(int(c) for c in name if c.isdigit())
        return cls(
            name,
            axes,
            numbers(name, "stride", stride, axes),
            padding,
            numbers(name, "dilation", dilation, axes),
            numbers(name, "groups", groups, 1)[0],
            layout,
        )

    # ----------------------------------------------------------------------- operands
    def images(self, x: Any) -> Images:
        return images_of(self.name, x, self.axes, self.layout)

    def weights(self, w: Any) -> Any:
        """An array of weights.

        Raises
        ------
        ValueError
            It has another number of axes, or channels that the groups do not divide.
        """
        array = as_array(w)
        self.check_weights(array.shape)
        return array

    def check_weights(self, shape: Sequence[int]) -> None:
        needs(
            len(shape) == self.axes + 2,
            f"{self.name}: weights have shape {tuple(shape)}, takes {self.axes + 2} "
            f"axes: two of channels and {self.axes} of the kernel",
        )
        needs(
            shape[0] % self.groups == 0,
            f"{self.name}: weights of shape {tuple(shape)} and {self.groups} groups, "
            "takes a first axis that they divide",
        )
        needs(
            0 not in shape[2:],
            f"{self.name}: weights have shape {tuple(shape)}, takes a kernel of at "
            "least one element",
        )

    def check_channels(self, images: Images, shape: Sequence[int]) -> None:
        """Whether images fit weights of that shape."""
        wanted = shape[1] * self.groups
        needs(
            images.channels == wanted,
            f"{self.name}: {images.channels} channels and weights of shape "
            f"{tuple(shape)} in {self.groups} groups, takes {wanted} channels",
        )

    def pads(self, kernel: Sizes) -> tuple[Sizes, Sizes]:
        return pads(self.name, self.padding, kernel, self.stride, self.dilation)

    def sizes(self, positions: Sizes, kernel: Sizes) -> Sizes:
        """Positions of the result."""
        return sizes_after(
            self.name,
            positions,
            kernel,
            self.stride,
            self.pads(kernel),
            self.dilation,
        )

    def check_result(self, results: Images, batch: int, positions: Sizes) -> None:
        """Whether a gradient has the shape of the result."""
        needs(
            results.positions == positions and results.batch == batch,
            f"{self.name}: a gradient of shape {tuple(results.array.shape)}, takes a "
            f"batch of {batch} and positions {positions}",
        )

    # --------------------------------------------------------------------- operations
    def forward(self, images: Images, w: Any, size: Sizes, bias: Any = None) -> Any:
        """Products with every window."""
        options = self.options(images, w.shape[2:], size=size)
        return self.called(rows.CONVOLUTION, images.array, w, options, bias)

    def backward(self, results: Images, w: Any, size: Sizes, bias: Any = None) -> Any:
        """The adjoint of `forward` in the images: ``size`` are positions of those."""
        options = self.options(results, w.shape[2:], size=size)
        row = rows.CONVOLUTION_INPUT_GRADIENT
        return self.called(row, results.array, w, options, bias)

    def outward(self, images: Images, results: Images, kernel: Sizes) -> Any:
        """The adjoint of `forward` in the weights."""
        options = self.options(images, kernel, kernel=kernel)
        row = rows.CONVOLUTION_WEIGHT_GRADIENT
        return self.called(row, images.array, results.array, options)

    def options(self, images: Images, window: Sizes, **rest: Sizes) -> dict[str, Any]:
        """What the rows want to know."""
        return {
            "stride": self.stride,
            "low": self.pads(tuple(window))[0],
            "dilation": self.dilation,
            "groups": self.groups,
            "channels_last": images.last,
            **rest,
        }

    def called(
        self, row: Op, x: Any, y: Any, options: dict[str, Any], bias: Any = None
    ) -> Any:
        """A row with these `options`, and a number for each channel added."""
        dtype, (x, y) = widened(self.name, x, y, row=row)
        device = x._device
        if device.is_named and y._device.label == device.label:
            reads = (x._read(), y._read())
            ((buffer, layout, made),) = call_library(
                row, oracle(row), reads, device, options
            )
            found = DeviceArray._of_buffer(buffer, layout, made, device)
        else:
            found = calls.library(DeviceArray, row, (x, y), **options)
        if bias is None:
            return narrowed(found, dtype)
        numbers_added = self._bias(bias, options["channels_last"], found)
        common = np.result_type(dtype, numbers_added.dtype)
        return narrowed(found + numbers_added, common)

    def _bias(self, bias: Any, channels_last: bool, result: Any) -> Any:
        """A number for each channel, ready to be added."""
        channels = result.shape[-1 if channels_last else 1]
        array = as_array(bias)
        needs(
            array.shape == (channels,),
            f"{self.name}: bias has shape {tuple(array.shape)}, takes ({channels},)",
        )
        return array if channels_last else array.reshape(-1, *(1,) * self.axes)
