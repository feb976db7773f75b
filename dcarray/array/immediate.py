"""The shortest way of an operation: one NumPy call on small arrays of the host."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from .. import native_arrays
from ..backends.registry import AUTO
from ..config import limits
from ..ops.elementwise import POWER
from ..ops.spec import Op
from .operands import spreads, wrap
from .state import ArrayState, of_host, settled, writable

__all__ = [
    "COMPARISONS",
    "SCALARS",
    "at_once",
    "constant",
    "number_first",
    "small",
    "wrapped",
]

Array = TypeVar("Array", bound=ArrayState)

_ndarray = np.ndarray

SCALARS = frozenset({complex, *(np.dtype(code).type for code in "?bBhHiIlLqQefdFD")})
"""Types of numbers, beside int and float, that NumPy and the graph take as they are."""

_scalars = SCALARS

COMPARISONS = frozenset(
    {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
)
"""NumPy 2.4 ends the process where an int beyond the dtype meets an ``out``."""


def at_once(
    cls: type[Array], function: Any, operands: tuple[Any, ...], out: Any = None
) -> Any:
    """The shortest way of a function, for small arrays of the host on one label, and
    numbers: one NumPy call, wrapped, or into ``out``.  None for all else."""
    if len(operands) == 1 and out is None:
        return _alone(cls, function, operands[0])
    limit = limits().small
    device: Any = None
    hosts: list[Any] = []
    count = 1.0
    foreign = number = False
    for x in operands:
        kind = type(x)
        if kind is cls:
            array = x
            host = array._host
            if host is None:
                host = settled(array)
            if host is None:
                return None
            size = native_arrays.size_of(host)
            if size >= limit:
                return None
            if device is not array._device:
                if device is not None:
                    return None
                device = array._device
            hosts.append(host)
            count *= size
        elif kind is _ndarray:
            size = native_arrays.size_of(x)
            if size >= limit:
                return None
            hosts.append(x)
            count *= size
            foreign = True
        elif kind is float or kind is int:
            hosts.append(x)
            number = True
        elif kind in _scalars:
            hosts.append(x)
        else:
            return None
    if number and len(hosts) == 2 and function in UNIFORM:
        _convert(hosts)
    if out is not None:
        return _at_once_into(out, function, hosts, device, limit)
    if device is None:
        return None if foreign else wrap(cls, function(*hosts), AUTO)
    if count >= limit and spreads(hosts, limit):
        return None
    if len(hosts) == 2:  # to unpack them takes longer
        result = native_arrays.applied(function, function, hosts[0], hosts[1])
    else:
        result = function(*hosts)
    if type(result) is _ndarray:
        return of_host(cls, result, device)
    return wrap(cls, result, device)


def _alone(cls: type[Array], function: Any, x: Any) -> Any:
    """The same of one operand."""
    kind = type(x)
    if kind is cls:
        array = x
        host = array._host
        if host is None:
            host = settled(array)
        if host is None or native_arrays.size_of(host) >= limits().small:
            return None
        result = native_arrays.applied_alone(function, function, host)
        if type(result) is _ndarray:
            return of_host(cls, result, array._device)
        return wrap(cls, result, array._device)
    if kind is not float and kind is not int and kind not in _scalars:
        return None
    return wrap(cls, native_arrays.applied_alone(function, function, x), AUTO)


def _at_once_into(
    out: Any, function: Any, hosts: list[Any], device: Any, limit: int
) -> Any:
    """The same into a small array on the operands' label."""
    target = out
    host = target._host
    if host is None or host.size >= limit:
        return None
    if device is not target._device and device is not None:
        return None
    if function in COMPARISONS and host.dtype.char != "?":
        return None
    host = writable(target)
    # By its name, and unpacked, it takes longer.
    if len(hosts) == 1:
        function(hosts[0], host)
    elif len(hosts) == 2:
        function(hosts[0], hosts[1], host)
    else:
        function(*hosts, host)
    return out


_float64, _float32, _int64 = map(np.dtype, (np.float64, np.float32, np.int64))

MOST_CONSTANTS = 1024

# For the dtypes of the arrays beside them.
_floats64: dict[float, Any] = {}
_floats32: dict[float, Any] = {}
_whole_floats64: dict[int, Any] = {}
_whole_floats32: dict[int, Any] = {}
_whole64: dict[int, Any] = {}


def constant(dtype: Any, number: Any) -> Any:
    """One of Python's numbers beside an array of a dtype, converted as NumPy converts
    it at each call, which takes longer than the operation; else the number."""
    if type(number) is float:
        # NaN is left out, and zero, which is equal to -0.0.
        if dtype is _float64 and (number < 0 or number > 0):
            table: dict[Any, Any] = _floats64
        elif dtype is _float32 and (-1e38 < number < 0 or 0 < number < 1e38):
            table = _floats32
        else:
            return number
    elif not -(1 << 53) < number < 1 << 53:
        return number
    elif dtype is _float64:
        table = _whole_floats64
    elif dtype is _int64:
        table = _whole64
    elif dtype is _float32 and -(1 << 24) < number < 1 << 24:
        table = _whole_floats32
    else:
        return number
    found = table.get(number)
    if found is None:
        if len(table) >= MOST_CONSTANTS:
            table.clear()
        found = table[number] = np.array(number, dtype)
    return found


UNIFORM = frozenset(
    {np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum}
)
"""Functions whose operands have one dtype, all of them."""


def _convert(hosts: list[Any]) -> None:
    """Of two operands, an array and a number: the number as an array."""
    first, second = hosts
    if type(first) is _ndarray:
        hosts[1] = constant(first.dtype, second)
    elif type(second) is _ndarray:
        hosts[0] = constant(second.dtype, first)


def small(op: Op, x: ArrayState, a: Any, size: int, other: Any, limit: int) -> Any:
    """The other operand for a NumPy call at once; None if it takes the long way.

    ``a`` is what ``x`` has on the host, of ``size`` elements.
    """
    kind = type(other)
    if kind is float or kind is int:
        # NumPy computes some powers by simpler operations.
        return other if op is POWER else constant(a.dtype, other)
    if kind in _scalars:
        return other
    if kind is type(x):
        y = other
        if y._device is not x._device:
            return None
        b = y._host
        if b is None:
            b = settled(y)
            if b is None:
                return None
    elif kind is _ndarray:
        b = other
    else:
        return None
    length = native_arrays.size_of(b)
    if length >= limit:
        return None
    # A number of elements that they cannot exceed needs no look at their axes.
    count = 1.0 * size * length
    if count >= limit and a.shape != b.shape and spreads((a, b), limit):
        return None
    return b


def wrapped(x: ArrayState, result: Any) -> Any:
    """What NumPy returned, on the label of ``x``."""
    if type(result) is _ndarray:
        return of_host(type(x), result, x._device)
    return wrap(type(x), result, x._device)


def number_first(x: ArrayState, ufunc: np.ufunc, number: Any) -> Any:
    """One of NumPy's numbers and a small array of the host; None for all else."""
    host = x._host
    if host is None or type(number) not in _scalars:
        return None
    if native_arrays.size_of(host) >= limits().small:
        return None
    return wrapped(x, native_arrays.applied(ufunc, ufunc, number, host))
