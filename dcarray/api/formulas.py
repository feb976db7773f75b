"""Elementwise functions that are made of several operations."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..array import DeviceArray, calls, whole
from ..array.fallback import call_numpy, on_host
from ..array.state import is_foreign
from ..backends.registry import AUTO
from ..config import current
from ..ops import elementwise as ops
from .calling import named_device
from .conversion import as_array
from .coverage import fallback, native
from .hosted import hosted, minding_subclasses

__all__ = [
    "allclose",
    "angle",
    "around",
    "array_equal",
    "array_equiv",
    "clip",
    "fix",
    "i0",
    "imag",
    "iscomplex",
    "isclose",
    "isneginf",
    "isposinf",
    "isreal",
    "nan_to_num",
    "real",
    "real_if_close",
    "round",
    "sinc",
]

_missing: Any = np._NoValue


def _apply(op: Any, *operands: Any, **keywords: Any) -> Any:
    return calls.elementwise(DeviceArray, op, operands, **keywords)


# --------------------------------------------------------------------------- rounding
@whole.function(np.clip)
@native
def clip(
    a: Any,
    min: Any = _missing,
    max: Any = _missing,
    out: Any = None,
    *,
    a_min: Any = _missing,
    a_max: Any = _missing,
    **kwargs: Any,
) -> Any:
    """Elements limited to an interval.

    Parameters
    ----------
    a : array_like
    min, max : array_like, optional
        The bounds; None is no bound.
    out : array, optional
        Where the result goes.
    a_min, a_max : array_like, optional
        The bounds by NumPy's older names.
    **kwargs
        Other options of a ufunc.
    """
    older = a_min is not _missing or a_max is not _missing
    if older and not (min is _missing and max is _missing):
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are "
            "provided is forbidden."
        )
    low, high = (a_min, a_max) if older else (min, max)
    low = None if low is _missing else low
    high = None if high is _missing else high
    if is_foreign(a) and type(a) is not np.ndarray:
        return on_host(DeviceArray, np.clip, a, low, high, out, **kwargs)
    return as_array(a).clip(low, high, out, **kwargs)


@whole.function(np.round)
@minding_subclasses(np.round)
@native
def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Numbers with a given count of decimals; halves go to the even digit.

    Parameters
    ----------
    a : array_like
    decimals : int
        Negative: digits before the point.
    out : array, optional
        Where the result goes.
    """
    return as_array(a).round(decimals, out)


@native
def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """`round` by its older name."""
    return as_array(a).round(decimals, out)


@native
def fix(x: Any, out: Any = None) -> Any:
    """The nearest integer towards zero, as floating-point."""
    given = as_array(x)
    if given.dtype.kind in "biu" or given.dtype.kind == "O":
        return on_host(DeviceArray, np.fix, x, out)
    return _apply(ops.TRUNC, given, out=out)


# --------------------------------------------------------------------- complex numbers
@minding_subclasses(np.real)
def _stays_a_number(x: Any) -> bool:
    """Whether NumPy would not make an array of it, in a program written for NumPy."""
    numbers = (int, float, complex, np.generic)
    return isinstance(x, numbers) and current().scalars == "numpy"


@native
def real(val: Any) -> Any:
    """The real part; a view of complex arrays, real ones as they are."""
    if _stays_a_number(val):
        return val.real
    return as_array(val).real


@minding_subclasses(np.imag)
@native
def imag(val: Any) -> Any:
    """The imaginary part; a view of complex arrays, zeros for real ones."""
    if _stays_a_number(val):
        return val.imag
    return as_array(val).imag


@minding_subclasses(np.angle)
@native
def angle(z: Any, deg: bool = False) -> Any:
    """The argument of complex numbers, in radians or degrees."""
    x = as_array(z)
    if x.dtype.kind not in "biufc":
        return call_numpy(DeviceArray, np.angle, x, deg)
    imaginary = x.imag if x.dtype.kind == "c" else 0
    result = _apply(ops.ARCTAN2, imaginary, x.real)
    return _apply(ops.MULTIPLY, result, 180 / np.pi) if deg else result


@native
def isreal(x: Any) -> Any:
    """Whether the imaginary part is zero."""
    return _apply(ops.EQUAL, as_array(x).imag, 0)


@native
def iscomplex(x: Any) -> Any:
    """Whether the imaginary part is not zero."""
    given = as_array(x)
    if given.dtype.kind == "c":
        return _apply(ops.NOT_EQUAL, given.imag, 0)
    return (
        calls.wrap(DeviceArray, np.zeros(given.shape, bool), given._device)
        if (given._device.kind in ("auto", "cpu"))
        else _apply(ops.NOT_EQUAL, given, given)
    )


real_if_close = fallback(np.real_if_close)
i0 = fallback(np.i0)


# --------------------------------------------------------------------- infinities, NaN
def _infinite(x: Any, out: Any, negative: bool) -> Any:
    given = as_array(x)
    name = "isneginf" if negative else "isposinf"
    if given.dtype.kind == "c":
        raise TypeError(
            f"This operation is not supported for {given.dtype} values because it "
            "would be ambiguous."
        )
    if given.dtype.kind not in "biuf":
        return call_numpy(DeviceArray, getattr(np, name), x, out)
    infinite = _apply(ops.ISINF, given)
    signed = _apply(ops.SIGNBIT, given) if given.dtype.kind == "f" else infinite
    chosen = signed if negative else _apply(ops.LOGICAL_NOT, signed)
    return _apply(ops.LOGICAL_AND, infinite, chosen, out=out)


@native
def isneginf(x: Any, out: Any = None) -> Any:
    """Whether it is minus infinity."""
    return _infinite(x, out, negative=True)


@native
def isposinf(x: Any, out: Any = None) -> Any:
    """Whether it is plus infinity."""
    return _infinite(x, out, negative=False)


@hosted(np.nan_to_num)
def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Any:
    """NaN and infinities replaced by numbers.

    Parameters
    ----------
    x : array_like
    copy : bool
        Whether to leave ``x`` as it is.
    nan, posinf, neginf : number, optional
        What to put in their places; 0, and the largest and smallest number.
    """
    given = as_array(x)
    if given.dtype.kind not in "fc":
        return given.copy("K") if copy else given
    result = given.copy("K") if copy else given
    parts = (result.real, result.imag) if given.dtype.kind == "c" else (result,)
    for part in parts:
        limits = np.finfo(part.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        replaced = _apply(ops.WHERE, _apply(ops.ISNAN, part), nan, part)
        replaced = _apply(ops.WHERE, isposinf(part), high, replaced)
        part[...] = _apply(ops.WHERE, isneginf(part), low, replaced)
    return result


# ------------------------------------------------------------------------ comparisons
@hosted(np.isclose)
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether elements are equal up to a tolerance.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : array_like
        ``abs(a - b) <= atol + rtol * abs(b)``.
    equal_nan : bool
        Whether NaN equals NaN.
    """
    tolerances = [x for x in (atol, rtol) if not isinstance(x, DeviceArray)]
    if not all([np.isfinite(x).all() for x in tolerances]):
        warnings.warn(
            f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}",
            RuntimeWarning,
            stacklevel=3,
        )
    # A number of Python's does not decide the dtype.
    x, y = (n if type(n) in (int, float, complex) else as_array(n) for n in (a, b))
    if isinstance(y, DeviceArray) and y.dtype.kind in "biu":
        y = y.astype(np.result_type(y.dtype, 1.0))
    if isinstance(y, DeviceArray):
        bound = _apply(ops.MULTIPLY, rtol, _apply(ops.ABSOLUTE, y))
    else:
        bound = rtol * abs(y)
    if isinstance(bound, DeviceArray) or isinstance(atol, DeviceArray):
        bound = _apply(ops.ADD, atol, bound)
    else:
        bound = atol + bound
    apart = _apply(ops.ABSOLUTE, _apply(ops.SUBTRACT, x, y))
    close = _apply(
        ops.LOGICAL_AND, _apply(ops.LESS_EQUAL, apart, bound), _apply(ops.ISFINITE, y)
    )
    result = _apply(ops.LOGICAL_OR, close, _apply(ops.EQUAL, x, y))
    if equal_nan:
        both = _apply(ops.LOGICAL_AND, _apply(ops.ISNAN, x), _apply(ops.ISNAN, y))
        result = _apply(ops.LOGICAL_OR, result, both)
    return result


@native
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are equal up to a tolerance, see `isclose`."""
    return bool(as_array(isclose(a, b, rtol, atol, equal_nan)).all())


@native
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements."""
    if named_device((a1, a2), {}) is AUTO:
        return bool(on_host(DeviceArray, np.array_equal, a1, a2, equal_nan))
    x, y = as_array(a1), as_array(a2)
    if x.shape != y.shape:
        return False
    same = _apply(ops.EQUAL, x, y)
    if equal_nan:
        both = _apply(ops.LOGICAL_AND, _apply(ops.ISNAN, x), _apply(ops.ISNAN, y))
        same = _apply(ops.LOGICAL_OR, same, both)
    return bool(same.all())


@native
def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays broadcast against each other to the same elements."""
    if named_device((a1, a2), {}) is AUTO:
        return bool(on_host(DeviceArray, np.array_equiv, a1, a2))
    try:
        return bool(_apply(ops.EQUAL, as_array(a1), as_array(a2)).all())
    except ValueError:
        return False


@native
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), and 1 at zero."""
    given = as_array(x)
    if given.dtype.kind not in "biufc":
        return call_numpy(DeviceArray, np.sinc, x)
    scaled = _apply(ops.MULTIPLY, np.pi, given)
    if scaled.dtype.kind == "c" or given.dtype.kind in "biu":
        return on_host(DeviceArray, np.sinc, x)
    tiny = scaled.dtype.type(np.finfo(scaled.dtype).eps)
    y = _apply(ops.WHERE, scaled, scaled, tiny)
    return _apply(ops.DIVIDE, _apply(ops.SIN, y), y)
