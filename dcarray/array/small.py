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

from ..backends.registry import AUTO
from ..config import limits
from .fallback import as_arrays
from .immediate import SCALARS
from .state import ArrayState, of_host

__all__ = ["ANY", "LONGEST", "Whole", "arrays_are", "short"]

_ndarray = np.ndarray
_dtype = np.dtype

_PLAIN = frozenset({*SCALARS, int, float, bool, str, type, type(None)})
"""Types of arguments that NumPy takes as they are."""

_NUMBERS, _BLAS = frozenset("?bBhHiIlLqQefdgFDG"), frozenset("fdFD")

_float64, _float32 = np.dtype(np.float64), np.dtype(np.float32)

ANY = 1 << 62
"""More elements than there are."""

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
    """

    __slots__ = (
        "function",
        "integers",
        "makes",
        "most",
        "operands",
        "options",
        "places",
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
            size = host.size
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
