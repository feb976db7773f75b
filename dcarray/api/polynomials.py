"""Values of polynomials, powers of arrays, and functions by pieces.

On a named device they are made of operations that fuse; on the host NumPy does them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import DeviceArray
from . import calling
from .conversion import as_array, default_dtype
from .creation import full, zeros, zeros_like
from .hosted import hosted
from .manipulation import broadcast_to
from .placing import placed
from .statistics import cumprod

__all__ = ["piecewise", "polyval", "vander"]


@hosted(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """The values of a polynomial, as `numpy.polyval`.

    Parameters
    ----------
    p : array_like
        Coefficients, that of the highest power first.
    x : array_like
        Where.
    """
    found: Any = 0
    if not isinstance(x, np.poly1d):  # of which the result is another one
        x = placed(x, p)
        found = zeros_like(x)
    coefficients = list(as_array(p))
    for one in coefficients:
        found = found * x + one
    return found if isinstance(found, np.poly1d) else calling.presented(found)


@hosted(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers of a vector as columns, as `numpy.vander`.

    Parameters
    ----------
    x : array_like
    N : int, optional
        How many; as many as there are elements.
    increasing : bool
        Whether they begin with the power of 0.
    """
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.size if N is None else int(N)
    dtype = np.promote_types(x.dtype, int)
    if dtype.kind != "c":
        dtype = default_dtype(dtype, x._device)
    found = full((x.size, count), 1, dtype, device=x._device)
    if count > 1:
        column = x.astype(dtype)[:, None]
        spread = broadcast_to(column, (x.size, count - 1))
        shown = found if increasing else found[:, ::-1]
        shown[:, 1:] = cumprod(spread, axis=1, dtype=dtype)
    return found


@hosted(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """A function that is given by pieces, as `numpy.piecewise`.

    Parameters
    ----------
    x : array_like
    condlist : sequence of array of bool
        Where each piece holds; the last one that is true does.
    funclist : sequence of callable or number
        As many, or one more, which holds where no condition is true.
    *args, **kw
        Further arguments of the functions.
    """
    x = as_array(x)
    conditions = _conditions(condlist, x.ndim)
    pieces: list[Callable[..., Any] | Any] = list(funclist)
    if len(pieces) == len(conditions) + 1:
        other: Any = conditions[0]
        for condition in conditions[1:]:
            other = other | condition
        conditions.append(~other)
    elif len(pieces) != len(conditions):
        count = len(conditions)
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are "
            "expected"
        )
    found = zeros(x.shape, x.dtype, device=x._device)
    for condition, piece in zip(conditions, pieces, strict=True):
        if not callable(piece):
            found[condition] = piece
            continue
        values = x[condition]
        if values.size:
            found[condition] = piece(values, *args, **kw)
    return found


def _conditions(given: Any, ndim: int) -> list[Any]:
    """The conditions as arrays; a single one may be given without a list."""
    if isinstance(given, DeviceArray):
        alone = given.ndim == ndim
        return [given.astype(bool)] if alone else list(given.astype(bool))
    if not isinstance(given, (list, tuple)) and not np.ndim(given):
        return [as_array(given).astype(bool)]
    items = list(given)
    if items and ndim and not np.ndim(items[0]):
        items = [items]
    return [as_array(item).astype(bool) for item in items]
