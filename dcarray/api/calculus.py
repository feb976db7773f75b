"""Differences, integrals and other sums over neighbours.

On a named device they are made of operations that fuse; on the host NumPy does them.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..array import DeviceArray, calls
from ..ops import contraction, elementwise as ops, indexing as picks
from . import calling
from .calling import served
from .conversion import as_array, default_dtype
from .hosted import hosted
from .joining import concatenate
from .placing import on_device, placed
from .searching import searchsorted
from .sorting import argsort

__all__ = [
    "convolve",
    "correlate",
    "diff",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]

diff = served(picks.DIFF)
convolve = served(contraction.CONVOLVE)
correlate = served(contraction.CORRELATE)


def _where(condition: Any, x: Any, y: Any) -> Any:
    return calls.elementwise(DeviceArray, ops.WHERE, (condition, x, y))


def _part(axis: int, *ends: Any) -> tuple[Any, ...]:
    """The key of a slice along an axis."""
    return (slice(None),) * axis + (slice(*ends),)


# ------------------------------------------------------------------------- differences
@hosted(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the flattened array, as `numpy.ediff1d`.

    Parameters
    ----------
    ary : array_like
    to_end, to_begin : array_like, optional
        What comes behind and before the differences.
    """
    x = placed(ary, to_end, to_begin).ravel()
    parts = [diff(x)]
    for place, given in ((0, to_begin), (2, to_end)):
        if given is None:
            continue
        part = on_device(given, x._device).ravel()
        if not np.can_cast(part.dtype, x.dtype, "same_kind"):
            name = "to_end" if place else "to_begin"
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the "
                "`same_kind` rule."
            )
        parts.insert(place, part.astype(x.dtype))
    return parts[0] if len(parts) == 1 else concatenate(parts)


@hosted(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Differences of second order inside, of the wanted one at the ends, as
    `numpy.gradient`.

    Parameters
    ----------
    f : array_like
    *varargs : number or array_like
        Distances: one for all axes, or one for each, or coordinates along it.
    axis : int or tuple of int, optional
    edge_order : {1, 2}
        Order of the differences at the ends.
    """
    f = placed(f, *varargs)
    axes = tuple(range(f.ndim))
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    steps = list(varargs) or [1.0]
    if len(steps) == 1 and not np.ndim(steps[0]):
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind == "b":
        np.gradient(np.zeros((3,) * f.ndim, bool))  # says what is wrong
    if f.dtype.kind not in "fc":
        f = f.astype(default_dtype(np.float64, f._device))
    if any([f.shape[one] < edge_order + 1 for one in axes]):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )
    found = [
        _slope(f, one, _spacing(step, f, one), edge_order)
        for one, step in zip(axes, steps, strict=True)
    ]
    return found[0] if len(axes) == 1 else tuple(found)


def _spacing(step: Any, f: DeviceArray, axis: int) -> Any:
    """One distance, or those of neighbours along an axis."""
    if not np.ndim(step):
        return step
    x = on_device(step, f._device)
    if x.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if x.shape[0] != f.shape[axis]:
        raise ValueError(
            "when 1d, distances must match the length of the corresponding dimension"
        )
    if x.dtype.kind in "biu":
        x = x.astype(default_dtype(np.float64, f._device))
    apart = diff(x)
    if bool((apart == apart[0]).all()):
        return apart[0]
    return apart.reshape((-1,) + (1,) * (f.ndim - axis - 1))


def _slope(f: DeviceArray, axis: int, step: Any, edge_order: int) -> DeviceArray:
    """The gradient along one axis."""

    def at(*ends: Any) -> Any:
        return f[_part(axis, *ends)]

    uniform = not np.ndim(step)
    found = DeviceArray._empty(f.shape, f.dtype, f._device)
    if uniform:
        inside = (at(2, None) - at(None, -2)) / (2.0 * step)
    else:
        before, behind = step[:-1], step[1:]
        total = before + behind
        inside = -behind / (before * total) * at(None, -2)
        inside = inside + (behind - before) / (before * behind) * at(1, -1)
        inside = inside + before / (behind * total) * at(2, None)
    found[_part(axis, 1, -1)] = inside
    for end in (0, -1):
        found[_part(axis, end, end + 1 or None)] = _end(at, step, end, edge_order)
    return found


def _end(at: Any, step: Any, end: int, edge_order: int) -> Any:
    """The gradient at the first or the last place."""
    uniform = not np.ndim(step)
    sign = 1 if end == 0 else -1
    places = [end + sign * k for k in range(edge_order + 1)]
    rows = [at(place, place + 1 or None) for place in places]
    near = step if uniform else step[end : end + 1 or None]
    if edge_order == 1:
        return sign * (rows[1] - rows[0]) / near
    if uniform:
        a, b, c = -1.5 / step, 2.0 / step, -0.5 / step
    else:
        far = step[places[1] : places[1] + 1 or None]
        a = -(2.0 * near + far) / (near * (near + far))
        b = (near + far) / (near * far)
        c = -near / (far * (near + far))
    return sign * (a * rows[0] + b * rows[1] + c * rows[2])


# --------------------------------------------------------------------------- integrals
@hosted(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral along an axis by trapezoids, as `numpy.trapezoid`.

    Parameters
    ----------
    y : array_like
    x : array_like, optional
        Where the values lie.
    dx : number
        How far they are apart, where ``x`` is not given.
    axis : int
    """
    y = placed(y, x, dx)
    axis = np.lib.array_utils.normalize_axis_index(axis, y.ndim)
    apart = dx
    if x is not None:
        places = on_device(x, y._device)
        apart = diff(places, axis=0 if places.ndim == 1 else axis)
        if places.ndim == 1:
            apart = apart.reshape((-1,) + (1,) * (y.ndim - axis - 1))
    middle = y[_part(axis, 1, None)] + y[_part(axis, None, -1)]
    return (apart * middle / 2.0).sum(axis)


# ------------------------------------------------------------------- between neighbours
@hosted(np.unwrap)
def unwrap(
    p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi
) -> Any:
    """Large steps taken out by multiples of a period, as `numpy.unwrap`.

    Parameters
    ----------
    p : array_like
    discont : number, optional
        Steps from which on they are large; half a period.
    axis : int
    period : number
    """
    p = as_array(p)
    axis = np.lib.array_utils.normalize_axis_index(axis, p.ndim)
    step = diff(p, axis=axis)
    dtype = np.result_type(step, period)
    if discont is None:
        discont = period / 2
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        both = rest == 0
    else:
        high, both = period / 2, True
    low = -high
    moved = (step - low) % period + low
    if both:
        moved = _where((moved == low) & (step > 0), high, moved)
    correction = _where(abs(step) < discont, 0, moved - step)
    rest = p[_part(axis, 1, None)] + correction.cumsum(axis)
    first = p[_part(axis, None, 1)].astype(dtype)
    return concatenate([first, rest.astype(dtype)], axis=axis)


@hosted(np.interp)
def interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: Any = None,
    right: Any = None,
    period: Any = None,
) -> Any:
    """Values between points of a line, as `numpy.interp`.

    Parameters
    ----------
    x : array_like
        Where values are wanted.
    xp, fp : array_like
        Where points lie, in increasing order, and their values.
    left, right : number, optional
        What is given before the first point and behind the last one; their values.
    period : number, optional
        The line goes on periodically; points may be in any order.
    """
    x = placed(x, xp, fp)
    xp, fp = on_device(xp, x._device), on_device(fp, x._device)
    double = default_dtype(np.float64, x._device)
    x, xp = x.astype(double), xp.astype(double)
    fp = fp.astype(
        np.result_type(double, np.complex64) if fp.dtype.kind == "c" else double
    )
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, abs(period))
        left = right = None
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("object too deep for desired array")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.size:
        raise ValueError("array of sample points is empty")
    if fp.dtype.kind != "c":
        if isinstance(left, complex) or isinstance(right, complex):
            raise TypeError("must be real number, not complex")
        return calling.presented(_line(x, xp, fp, left, right, x).astype(fp.dtype))
    found = DeviceArray._empty(x.shape, fp.dtype, x._device)
    for name, missing in (("real", x), ("imag", 0.0)):
        part = operator.attrgetter(name)
        one, other = (None if y is None else part(y) for y in (left, right))
        part(found)[...] = _line(x, xp, part(fp), one, other, missing)
    return calling.presented(found)


def _line(x: Any, xp: Any, fp: Any, left: Any, right: Any, missing: Any) -> Any:
    """Real values on a line; ``missing`` where ``x`` is NaN."""
    first = fp[0] if left is None else left
    last = fp[-1] if right is None else right
    if xp.size == 1:
        found = fp[0] + 0 * x
    else:
        found = _between(x, xp, fp)
    found = _where(x < xp[0], first, _where(x > xp[-1], last, found))
    return _where(x != x, missing, found)


def _periodic(x: Any, xp: Any, fp: Any, period: float) -> tuple[Any, Any, Any]:
    """Points within one period, in order, and the neighbours before and behind it."""
    if not period:
        raise ValueError("period must be a non-zero value")
    x, xp = x % period, xp % period
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


def _between(x: Any, xp: Any, fp: Any) -> Any:
    """Values within the points."""
    place = searchsorted(xp, x, "right") - 1
    place = place.clip(0, xp.size - 2)
    one, other = xp[place], xp[place + 1]
    low, high = fp[place], fp[place + 1]
    slope = (high - low) / (other - one)
    found = slope * (x - one) + low
    # As NumPy: from the other side, where an infinity makes NaN of it.
    again = slope * (x - other) + high
    again = _where((again != again) & (low == high), low, again)
    found = _where(found != found, again, found)
    return _where(x == other, high, _where(x == one, low, found))
