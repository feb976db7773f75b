"""Fourier transforms by cuFFT, with NumPy's rules for lengths and axes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

__all__ = ["rows"]

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = {
    "fftn": None,
    "ifftn": None,
    "rfftn": None,
    "irfftn": None,
    "fft2": (-2, -1),
    "ifft2": (-2, -1),
    "rfft2": (-2, -1),
    "irfft2": (-2, -1),
}
"""Transforms along several axes, and their default axes."""


def rows() -> dict[str, Callable[..., Any]]:
    """The functions by the names of their rows; they take CuPy's arrays."""
    from cupy import fft

    found = {f"fft.{name}": getattr(fft, name) for name in ONE}
    return found | {
        f"fft.{name}": partial(_along, name, axes) for name, axes in MANY.items()
    }


def _along(
    name: str,
    default: Sequence[int] | None,
    x: Any,
    s: Any = None,
    axes: Any = ...,
    norm: str | None = None,
) -> Any:
    """A transform along several axes, each of which may stand there more than once."""
    from cupy import fft

    chosen = default if axes is ... else axes
    lengths, wanted = _lengths(x.shape, s, chosen, name.startswith("irfft"))
    if not wanted:
        raise TypeError(f"{name}: CuPy takes one axis or more")
    if len(set(wanted)) == len(wanted):
        return getattr(fft, name)(x, s=lengths, axes=wanted, norm=norm)
    one = name[:-1]  # fftn, rfft2
    inner = "ifft" if one.startswith("i") else "fft"
    steps = list(zip(lengths, wanted, strict=True))
    if one == "irfft":
        for length, axis in steps[:-1]:
            x = fft.ifft(x, length, axis, norm)
        return fft.irfft(x, *steps[-1], norm)
    x = getattr(fft, one)(x, *steps[-1], norm)
    for length, axis in reversed(steps[:-1]):
        x = getattr(fft, inner)(x, length, axis, norm)
    return x


def _lengths(
    shape: Sequence[int], s: Any, axes: Any, is_real_inverse: bool
) -> tuple[list[int], list[int]]:
    """The length along each axis, as `numpy.fft.fftn` understands its arguments.

    Raises
    ------
    ValueError
        ``s`` and ``axes`` have different lengths.
    AxisError
        There is no such axis.
    """
    ndim = len(shape)
    if axes is None:
        axes = list(range(ndim)) if s is None else list(range(-len(s), 0))
        if s is not None:
            warnings.warn(
                "`axes` should not be None where `s` is given: NumPy deprecated it",
                DeprecationWarning,
                stacklevel=2,
            )
    normal = np.lib.array_utils.normalize_axis_index
    wanted = [int(normal(axis, ndim)) for axis in axes]
    given = [-1] * len(wanted) if s is None else list(s)
    if len(given) != len(wanted):
        raise ValueError("Shape and axes have different lengths.")
    if None in given:
        warnings.warn(
            "`s` should not contain None: NumPy deprecated it, -1 means the same",
            DeprecationWarning,
            stacklevel=2,
        )
    lengths = [
        shape[axis] if n is None or n == -1 else int(n)
        for n, axis in zip(given, wanted, strict=True)
    ]
    if is_real_inverse and wanted and s is None:
        lengths[-1] = (shape[wanted[-1]] - 1) * 2
    return lengths, wanted
