"""What windows over one to three axes of positions are asked to do, checked: numbers,
layouts and sizes."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..api.conversion import as_array

__all__ = [
    "Images",
    "Sizes",
    "images_of",
    "needs",
    "numbers",
    "pads",
    "sizes_after",
]

Sizes: TypeAlias = tuple[int, ...]

_LAYOUTS = {
    1: {"NCHW": False, "NHWC": True, "NCW": False, "NWC": True},
    2: {"NCHW": False, "NHWC": True},
    3: {"NCHW": False, "NHWC": True, "NCDHW": False, "NDHWC": True},
}


def needs(condition: bool, message: str) -> None:
    """Raise a ValueError unless a condition holds."""
    if not condition:
        raise ValueError(message)


def numbers(name: str, what: str, given: Any, axes: int, least: int = 1) -> Sizes:
    """One number for each axis of positions.

    Parameters
    ----------
    name, what : str
        The function, and what the numbers are, for messages.
    given : int or sequence of int
        A single number stands for all axes.
    axes : int
    least : int
        The smallest number allowed.

    Raises
    ------
    ValueError
        Too many, too few or too small.
    """
    if isinstance(given, (int, np.integer)):
        found = (int(given),) * axes
    else:
        try:
            found = tuple([operator.index(item) for item in given])
        except TypeError:
            raise ValueError(
                f"{name}: {what} is {given!r}, takes an integer or {axes} of them"
            ) from None
    needs(
        len(found) == axes and all([item >= least for item in found]),
        f"{name}: {what} is {given!r}, takes an integer of at least {least}, or "
        f"{axes} of them",
    )
    return found


@dataclass(frozen=True, slots=True)
class Images:
    """A batch of arrays with channels and positions.

    Attributes
    ----------
    array : DeviceArray
        With a batch of one, if the caller gave none.
    batched : bool
        Whether the caller gave a batch.
    last : bool
        Whether the channels come last.
    """

    array: Any
    batched: bool
    last: bool

    @property
    def positions(self) -> Sizes:
        shape: Sizes = self.array.shape
        return shape[1:-1] if self.last else shape[2:]

    @property
    def channels(self) -> int:
        shape: Sizes = self.array.shape
        return shape[-1 if self.last else 1]

    @property
    def batch(self) -> int:
        shape: Sizes = self.array.shape
        return shape[0]

    def shaped(self, channels: int, positions: Sizes) -> Sizes:
        """The shape of such a batch with other channels and positions."""
        if self.last:
            return (self.batch, *positions, channels)
        return (self.batch, channels, *positions)

    def given_back(self, result: Any) -> Any:
        """A result without the batch, if the caller gave none."""
        return result if self.batched else result[0]


def images_of(name: str, x: Any, axes: int, layout: str) -> Images:
    """An operand as a batch of images.

    Raises
    ------
    ValueError
        An unknown layout; too many or too few axes.
    """
    known = _LAYOUTS[axes]
    needs(
        layout in known,
        f"{name}: layout is {layout!r}, takes {' or '.join(map(repr, known))}",
    )
    array = as_array(x)
    needs(
        array.ndim in (axes + 1, axes + 2),
        f"{name}: got an array of shape {array.shape}, takes {axes + 2} axes "
        f"(batch, channels and {axes} of positions; {layout}), or {axes + 1} without "
        "a batch",
    )
    batched = array.ndim == axes + 2
    return Images(array if batched else array[None], batched, known[layout])


def pads(
    name: str,
    padding: Any,
    kernel: Sizes,
    stride: Sizes,
    dilation: Sizes,
) -> tuple[Sizes, Sizes]:
    """Positions added before and behind, for each axis.

    Parameters
    ----------
    name : str
    padding : int, sequence of int, "same" or "valid"
    kernel, stride, dilation : tuple of int

    Raises
    ------
    ValueError
        An unknown word, negative numbers, or "same" with a stride.
    """
    axes = len(kernel)
    if not isinstance(padding, str):
        both = numbers(name, "padding", padding, axes, 0)
        return both, both
    needs(
        padding in ("same", "valid"),
        f"{name}: padding is {padding!r}, takes 'same', 'valid' or integers",
    )
    if padding == "valid":
        return (0,) * axes, (0,) * axes
    needs(
        all([step == 1 for step in stride]),
        f"{name}: padding is 'same' and stride {stride}, takes stride 1 with it",
    )
    total = [(n - 1) * d for n, d in zip(kernel, dilation)]
    low = tuple([n // 2 for n in total])
    return low, tuple([n - before for n, before in zip(total, low)])


def sizes_after(
    name: str,
    positions: Sizes,
    kernel: Sizes,
    stride: Sizes,
    pad: tuple[Sizes, Sizes],
    dilation: Sizes,
    ceil_mode: bool = False,
) -> Sizes:
    """How many windows there are along each axis.

    With ``ceil_mode`` the last one may reach over the edge, if it begins before it.

    Raises
    ------
    ValueError
        A window is longer than the padded array.
    """
    sizes = []
    for n, k, s, low, high, d in zip(positions, kernel, stride, *pad, dilation):
        reach = (k - 1) * d + 1
        room = n + low + high - reach
        needs(
            room >= 0,
            f"{name}: windows of {reach} positions ({k} with dilation {d}) in "
            f"{n + low + high} (with padding); takes windows that are not longer",
        )
        count = room // s + 1
        if ceil_mode and room % s and count * s < n + low:
            count += 1
        sizes.append(count)
    return tuple(sizes)
