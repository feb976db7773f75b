"""`numpy.fft` on all cores, through SciPy where that is installed.

SciPy's transforms (`scipy.fft`) are NumPy's own code further on: they take several rows
at a time into vector registers, and share them among threads; one long row is cut up
before (`splitting`).  Short ones, and dtypes
and arguments that are out of the ordinary, are left to NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..threads import available_threads
from .splitting import transformed

__all__ = ["along_axes", "along_axis"]

HostArray = np.ndarray[Any, Any]
Function = Callable[..., Any]

LEAST = 1 << 16
"""Elements from which SciPy is worth its import."""

NORMS = frozenset({None, "backward", "ortho", "forward"})

FROM_REAL = frozenset({"rfft", "ihfft", "rfftn", "rfft2"})
TO_REAL = frozenset({"irfft", "hfft", "irfftn", "irfft2"})


@functools.cache
def _scipy() -> Any:
    try:
        import scipy.fft  # some 0.1 s, for long transforms alone
    except ImportError:
        return None
    return scipy.fft


def _taken(name: str, a: Any, norm: Any, out: Any) -> HostArray | None:
    """An operand as a function of SciPy takes it, or None."""
    if type(a) is not np.ndarray or a.size < LEAST or out is not None:
        return None
    if not (norm is None or type(norm) is str) or norm not in NORMS:
        return None
    if not a.dtype.isnative or not a.flags.aligned:
        return None
    if a.dtype.kind in "iu" and name not in TO_REAL:
        return a.astype(np.float64)
    if a.dtype.char not in ("FD" if name in TO_REAL else "fdFD"):
        return None
    return None if name in FROM_REAL and a.dtype.kind == "c" else a


def _in_blocks(
    library: Any, name: str, x: HostArray, options: dict[str, Any]
) -> HostArray | None:
    """A single long row of complex numbers, which SciPy leaves to one thread."""
    whole = x.ndim == 1 and options.get("n") in (None, x.size)
    if name not in ("fft", "ifft") or x.dtype.kind != "c" or not whole:
        return None
    return transformed(library, x, name == "ifft", options["norm"])


def _transformed(
    name: str, x: HostArray, over: Sequence[int], **options: Any
) -> HostArray | None:
    """What a function of SciPy gives, laid out as NumPy does; None where a number is
    infinite or NaN, of which NumPy has a warning to give."""
    library = _scipy()
    if library is None:
        return None
    with np.errstate(all="ignore"):
        found = _in_blocks(library, name, x, options)
        if found is None:
            function = getattr(library, name)
            found = function(x, workers=available_threads(), **options)
        # The first element adds up all operands, but for imaginary parts where the
        # result is real, which are in the next one.
        few = slice(2 if name in TO_REAL else 1)
        some = found[tuple([few if k in over else slice(None) for k in range(x.ndim)])]
        if not np.isfinite(some).all():
            return None
    laid: HostArray = np.empty_like(x, found.dtype, shape=found.shape)
    if laid.strides == found.strides:
        return found
    laid[...] = found
    return laid


def along_axis(function: Function) -> Function:
    """A function like `numpy.fft.fft`, with one axis."""
    name = function.__name__

    @functools.wraps(function)
    def call(
        a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None
    ) -> Any:
        x = _taken(name, a, norm, out)
        known = n is None or (type(n) is int and n > 0)
        if x is not None and known and type(axis) is int and -x.ndim <= axis < x.ndim:
            over = [axis % x.ndim]
            found = _transformed(name, x, over, n=n, axis=axis, norm=norm)
            if found is not None:
                return found
        return function(a, n, axis, norm, out)

    return call


def along_axes(function: Function, axes_left_out: Any = None) -> Function:
    """A function like `numpy.fft.fftn`, with several axes."""
    name = function.__name__

    @functools.wraps(function)
    def call(
        a: Any,
        s: Any = None,
        axes: Any = axes_left_out,
        norm: Any = None,
        out: Any = None,
    ) -> Any:
        x = _taken(name, a, norm, out)
        if x is not None and s is None:
            over = _axes(axes, x.ndim)
            if over:
                found = _transformed(name, x, over, axes=axes, norm=norm)
                if found is not None:
                    return found
        return function(a, s, axes, norm, out)

    return call


def _axes(axes: Any, ndim: int) -> list[int]:
    """Axes counted from the first one; none if NumPy has to look at them."""
    if axes is None:
        return list(range(ndim))
    if type(axes) not in (tuple, list) or any([type(k) is not int for k in axes]):
        return []
    if any([not -ndim <= k < ndim for k in axes]):
        return []
    found = [k % ndim for k in axes]
    return found if len(set(found)) == len(found) else []
