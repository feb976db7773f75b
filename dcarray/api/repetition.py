"""Elements repeated, shifted, padded and copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, calls, whole
from ..array.fallback import call_numpy, on_host
from ..array.movement import empty_along, often
from ..backends.registry import AUTO
from ..ops import indexing as picks
from ..ops.elementwise import WHERE
from .calling import named_device, served
from .conversion import as_array, unwrapped
from .coverage import fallback, native
from .hosted import hosted
from .joining import concatenate
from .manipulation import broadcast_to

__all__ = ["copyto", "pad", "repeat", "resize", "roll", "tile", "trim_zeros"]


repeat = served(picks.REPEAT, recorded=often)


@hosted(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """The whole array several times along each axis."""
    x = as_array(A)
    counts = unwrapped(reps)
    times = tuple(counts) if np.iterable(counts) else (counts,)
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    apart = [n for length in shape for n in (1, length)]
    spread = [n for pair in zip(times, shape, strict=True) for n in pair]
    grown = broadcast_to(x.reshape(apart), tuple(spread))
    whole = [n * length for n, length in zip(times, shape, strict=True)]
    return grown.copy().reshape(whole)


@hosted(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along axes; what leaves at the end comes back at the start.

    Parameters
    ----------
    a : array_like
    shift : int or tuple of int
    axis : int or tuple of int, optional
        None rolls the flattened array, and gives it the old shape.
    """
    x = as_array(a)
    if axis is None:
        return roll(x.ravel(), shift, 0).reshape(x.shape)
    axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    by = np.broadcast(np.asarray(unwrapped(shift)), np.asarray(axes))
    if by.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    result = x.copy()
    for some, place in by:
        steps = int(some)
        length = result.shape[place]
        cut = length - steps % length if length else 0
        before = (slice(None),) * place
        parts = result[(*before, slice(cut, None))], result[(*before, slice(0, cut))]
        result = concatenate(parts, place)
    return result


# ---------------------------------------------------------------------------- padding
@whole.function(np.pad)
@native
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array with a border.

    Parameters
    ----------
    array : array_like
    pad_width : int, sequence or dict
        Elements before and after, for all axes or for each.
    mode : str or callable
        ``"constant"``, ``"edge"``, ``"wrap"``, ``"reflect"`` ..., as in NumPy.
    **kwargs
        Options of the mode: ``constant_values`` ...
    """
    if named_device((array,), {}) is AUTO:
        return on_host(DeviceArray, np.pad, array, pad_width, mode, **kwargs)
    if set(kwargs) - _OPTIONS.get(mode, set()):
        one = np.zeros((1,) * as_array(array).ndim)
        np.pad(one, 0, mode, **kwargs)  # says what is wrong
    values = kwargs.get("constant_values", 0)
    if mode == "constant" and not isinstance(values, DeviceArray):
        return _with_constants(array, unwrapped(pad_width), values)
    even = kwargs.get("reflect_type", "even") == "even"
    if mode in ("edge", "wrap", "reflect", "symmetric") and even:
        return _with_elements(array, unwrapped(pad_width), mode, kwargs)
    return call_numpy(DeviceArray, np.pad, array, pad_width, mode, **kwargs)


_OPTIONS = {
    "constant": {"constant_values"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
}
"""Options of the modes that the device knows."""


def _widths(pad_width: Any, ndim: int) -> Any:
    if isinstance(pad_width, dict):
        pairs = np.zeros((ndim, 2), int)
        for axis, pair in pad_width.items():
            pairs[axis] = pair
        return pairs
    widths = np.asarray(pad_width)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    return np.broadcast_to(widths, (ndim, 2))


def _with_constants(x: DeviceArray, pad_width: Any, values: Any) -> Any:
    widths = _widths(pad_width, x.ndim).tolist()
    constants = np.broadcast_to(np.asarray(values), (x.ndim, 2))
    lengths = [n + sum(pair) for n, pair in zip(x.shape, widths, strict=True)]
    axes = range(x.ndim)
    slowest_first = axes[::-1] if x.flags.fnc else axes
    result = empty_along(DeviceArray, lengths, slowest_first, x.dtype, x._device)
    whole = [slice(a, a + n) for (a, _), n in zip(widths, x.shape, strict=True)]
    result[tuple(whole)] = x
    for axis, (before, after) in enumerate(widths):
        # Axes before this one are filled already, the later ones only inside.
        place: list[Any] = [slice(None)] * axis + whole[axis:]
        if before:
            place[axis] = slice(0, before)
            result[tuple(place)] = constants[axis, 0]
        if after:
            place[axis] = slice(before + x.shape[axis], None)
            result[tuple(place)] = constants[axis, 1]
    return result


def _with_elements(x: DeviceArray, pad_width: Any, mode: Any, options: Any) -> Any:
    """Padding with the array's own elements: NumPy pads the indices."""
    pairs = _widths(pad_width, x.ndim)
    if x.flags.fnc:
        return _with_elements(x.T, pairs[::-1], mode, options).T
    result: Any = x
    for axis, pair in enumerate(pairs.tolist()):
        if any(pair):
            places: Any = np.pad(np.arange(x.shape[axis]), pair, mode, **options)
            result = result[(slice(None),) * axis + (places,)]
    return result


# ---------------------------------------------------------------------------- copying
@hosted(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated as often as another shape needs."""
    x = as_array(a).ravel()
    shape = unwrapped(new_shape)
    count = int(np.prod(shape))
    if np.any(np.less(shape, 0)):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not x.size or not count:
        return call_numpy(DeviceArray, np.resize, a, shape)
    return tile(x, -(-count // x.size))[:count].reshape(shape)


trim_zeros = fallback(np.trim_zeros)


@native
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Store the elements of ``src`` in ``dst``, where a mask is true."""
    if named_device((dst, src, where), {}) is AUTO:
        on_host(DeviceArray, np.copyto, dst, src, casting, where)
        return
    source = calls.as_operand(src)
    if type(source) in (bool, int, float, complex):
        np.copyto(np.empty((), dst.dtype), source, casting)  # NumPy's errors
    if not np.can_cast(getattr(source, "dtype", dst.dtype), dst.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {source.dtype!r} to {dst.dtype!r} according "
            f"to the rule '{casting}'"
        )
    if where is True:
        dst[...] = src
        return
    if isinstance(where, (int, float, complex)):
        where = bool(where)
    where = as_array(where)
    if not np.can_cast(where.dtype, np.bool, "safe"):
        raise TypeError(
            f"Cannot cast array data from {where.dtype!r} to dtype('bool') according "
            "to the rule 'safe'"
        )
    chosen = calls.elementwise(DeviceArray, WHERE, (where, source, dst))
    dst[...] = chosen
