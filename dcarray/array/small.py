"""The short way of whole functions: small arrays of the host, and plain options.

A function that `whole` lists is then one call of NumPy's on the arrays inside, wrapped.
Whatever else is given, and what NumPy refuses, goes the long way, which knows devices,
pending values, ``out``, subclasses and other libraries' arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import native_arrays
from ..backends.registry import AUTO
from ..config import limits
from .fallback import as_arrays
from .immediate import SCALARS
from .operands import wrap
from .state import ArrayState, host_sibling, of_host

__all__ = ["ANY", "LONGEST", "UNCACHED", "Whole", "arrays_are", "short"]

_ndarray = np.ndarray
_dtype = np.dtype

_PLAIN = frozenset({*SCALARS, int, float, bool, str, type, type(None)})
"""Types of arguments that NumPy takes as they are."""

_NUMBERS, _BLAS = frozenset("?bBhHiIlLqQefdgFDG"), frozenset("fdFD")

_float64, _float32 = np.dtype(np.float64), np.dtype(np.float32)

ANY = 1 << 62
"""More elements than there are."""

UNCACHED = 1 << 24
"""Elements of a matrix that no cache holds: the CPU's own product of a few rows with it
takes less time than NumPy's."""

DEEPEST = 64
"""As many axes as an array of NumPy's can have."""


LONGEST = 1 << 16
"""Items of a list that are looked at one by one: the long way is as fast for more."""


class Whole:
    """How a function is called the short way.

    Parameters
    ----------
    public : callable
        NumPy's function.
    function : callable
        What does the same for NumPy's own arrays; by default `public` without its look
        for arrays of other libraries.
    operands : int
        How many of the first arguments may be arrays, or lists of arrays.
    places : int
        How many arguments are taken without their names.
    options : str
        The names that are taken; none of these arguments is an array.
    most : int
        From so many elements on arrays are not small, if the settings say less.
    integers : int
        From so many elements on arrays of integers (and of float16) are not small: BLAS
        multiplies larger ones.
    makes : bool
        Whether the result is an array where nothing given is one, or has no axes.
    spreads : bool
        Whether the result has an element for each pair of elements: it has to be small
        as well.
    """

    __slots__ = (
        "dots",
        "function",
        "integers",
        "makes",
        "most",
        "operands",
        "options",
        "places",
        "spreads",
    )

    def __init__(
        self,
        public: Callable[..., Any],
        function: Callable[..., Any] | None = None,
        operands: int = 1,
        places: int = 3,
        options: str = "",
        most: int = 0,
        integers: int = ANY,
        makes: bool = False,
        spreads: bool = False,
    ) -> None:
        if function is None:
            function = getattr(public, "__wrapped__", public)
        self.function: Any = function
        self.operands = operands
        self.places = places
        self.options = frozenset(options.split())
        self.most = most
        self.integers = integers
        self.makes = makes
        self.spreads = spreads
        self.dots = public is np.dot


_cls: Any = ArrayState


def arrays_are(cls: type[ArrayState]) -> None:
    """Say which class of arrays there is."""
    global _cls
    _cls = cls


def _answer(rule: Whole, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What the short way gives; None where it is not taken."""
    force = limits()
    most = force.whole
    if not most or len(arguments) > rule.places:
        return None
    if rule.most > most:
        most = rule.most
    if rule.makes and not force.auto:
        return None
    if not keywords and arguments and type(arguments[0]) is _cls:
        made = None
        if len(arguments) == 1:
            made = _of_one(rule, arguments[0], most)
        elif rule.dots and type(arguments[1]) is _cls:
            made = _of_vectors(rule, arguments[0], arguments[1])
        if made is not None:
            return made
    if not rule.operands and not keywords and len(arguments) == 1:
        made = _of_shape(rule, arguments[0])
        if made is not None:
            return made
    given: list[Any] = []
    hosts = _hosts(rule, arguments, given, most, rule.operands, DEEPEST)
    if hosts is None:
        return None
    if keywords:
        for name, x in keywords.items():
            if name not in rule.options or not _is_plain(x):
                return None
    if given:
        array = given[0]
        device = array._device
        if device is not AUTO and device.is_named:
            return None
        for array in given:
            if array._device is not device:
                return None
        if rule.spreads:
            pairs = 1
            for array in given:
                pairs *= array.size
            if pairs >= force.small:
                return None
    elif rule.makes:
        device = AUTO
    else:
        return None
    try:
        if keywords:
            result = rule.function(*hosts, **keywords)
        elif len(hosts) == 1:  # a call of so many is the faster one
            result = rule.function(hosts[0])
        elif len(hosts) == 2:
            result = rule.function(hosts[0], hosts[1])
        else:
            result = rule.function(*hosts)
    except Exception:  # said by the long way, as it has it
        return None
    if len(given) == 1:
        array = given[0]
        return _shown(rule, result, array, array._host)
    kind = type(result)
    if kind is _ndarray:
        if (rule.makes or result.ndim) and result.base is None:
            for array in given:
                if array._host is result:
                    return array
            return of_host(_cls, result, device)
    elif force.numbers and kind in _PLAIN:
        return result
    return as_arrays(_cls, result, given, _NOTHING, device)


def _of_one(rule: Whole, x: ArrayState, most: int) -> Any:
    """The same of one array with floating-point elements, if an array comes of it."""
    host = x._host
    if host is None or not rule.operands or native_arrays.size_of(host) >= most:
        return None
    dtype = host.dtype
    device = x._device
    if (dtype is not _float64 and dtype is not _float32) or device.is_named:
        return None
    try:
        result = rule.function(host)
    except Exception:  # said by the long way, as it has it
        return None
    return _shown(rule, result, x, host)


def _shown(rule: Whole, result: Any, x: ArrayState, host: Any) -> Any:
    """What NumPy made of an array and of nothing else that has memory, as arrays."""
    kind = type(result)
    if kind is _ndarray:
        if result is host:
            return x
        base = result.base
        if base is None:
            if rule.makes or result.ndim:
                return of_host(_cls, result, x._device)
        elif base is host or base is host.base:
            return host_sibling(x, result)
    elif kind in _PLAIN and limits().numbers:
        return result
    return as_arrays(_cls, result, [x], _NOTHING, x._device)


def _of_shape(rule: Whole, shape: Any) -> Any:
    """A new array of a shape."""
    if type(shape) is tuple:
        for length in shape:
            if type(length) is not int:
                return None
    elif type(shape) is not int:
        return None
    try:
        result = rule.function(shape)
    except Exception:  # said by the long way, as it has it
        return None
    return of_host(_cls, result, AUTO)


def _of_vectors(rule: Whole, x: ArrayState, y: ArrayState) -> Any:
    """The same of `numpy.dot`, for vectors."""
    a, b = x._host, y._host
    device = x._device
    if a is None or b is None or y._device is not device or device.is_named:
        return None
    made = native_arrays.dotted(a, b)
    return made if made is None or limits().numbers else wrap(_cls, made, device)


_NOTHING: list[Any] = []


def _hosts(
    rule: Whole,
    items: Sequence[Any],
    given: list[Any],
    most: int,
    operands: int,
    deepest: int,
) -> list[Any] | None:
    """Arguments with NumPy's arrays for ours, which are added to ``given``; None where
    one of them is not small and of the host, or nothing that NumPy takes as it is."""
    hosts: list[Any] = []
    for place, x in enumerate(items):
        kind = type(x)
        if kind is _cls:
            array = x
            host = array._host
            if host is None and array.size < limits().whole:
                host = array._settled()
            if host is None or place >= operands:
                return None
            size = native_arrays.size_of(host)
            dtype = host.dtype
            if size >= most:
                return None
            if dtype is not _float64 and dtype is not _float32:
                char = dtype.char
                if char not in _NUMBERS:
                    return None
                if size >= rule.integers and char not in _BLAS:
                    return None
            given.append(x)
            hosts.append(host)
        elif kind in _PLAIN:
            hosts.append(x)
        elif kind is tuple or kind is list:
            if not deepest or len(x) > LONGEST:
                return None
            within = len(x) if place < operands else 0
            inner = _hosts(rule, x, given, most, within, deepest - 1)
            if inner is None:
                return None
            hosts.append(tuple(inner) if kind is tuple else inner)
        elif isinstance(x, _dtype):
            hosts.append(x)
        else:
            return None
    return hosts


def _is_plain(x: Any) -> bool:
    """Whether an option is nothing but numbers, names and types."""
    kind = type(x)
    if kind in _PLAIN or isinstance(x, _dtype):
        return True
    if kind is tuple or kind is list:
        return _PLAIN.issuperset(map(type, x))
    return False


def short(rule: Whole, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function of ours that takes the short way first.

    Parameters
    ----------
    rule : Whole
    ours : callable
        The long way; it stays the function's ``__wrapped__``.
    """

    @functools.wraps(ours)
    def call(*arguments: Any, **keywords: Any) -> Any:
        made = _answer(rule, arguments, keywords)
        if made is None:
            return ours(*arguments, **keywords)
        return made

    return call
