"""Calls of NumPy functions that are not native: on the host, counted."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..backends.registry import AUTO, Device, common_device
from ..config import current
from ..layout import Layout, address_of
from ..lazy import recover
from .state import ArrayState, of_host

__all__ = ["MOST_ITEMS", "as_arrays", "call_numpy", "on_host", "own_array"]

Array = TypeVar("Array", bound=ArrayState)

_ndarray, _generic = np.ndarray, np.generic

MOST_ITEMS: int = np.iinfo(np.intc).max
"""More arrays than this in a sequence NumPy does not take."""

# Functions that write to their first argument.
WRITERS = frozenset(
    "copyto put place putmask fill_diagonal put_along_axis shuffle at".split()
)


def on_host(
    cls: type[Array], function: Callable[..., Any], *arguments: Any, **keywords: Any
) -> Any:
    """Call a function on NumPy arrays and wrap what it returns; not counted.

    Results that share memory with an argument become views of it.
    """
    return _Call(cls, function).run(arguments, keywords)


def call_numpy(
    cls: type[Array], function: Callable[..., Any], *arguments: Any, **keywords: Any
) -> Any:
    """`on_host`, counted as a fallback.

    Raises
    ------
    UnsupportedError
        Under the setting ``fallback="error"``.
    """
    recover.fallback_allowed(getattr(function, "__name__", str(function)), "cpu")
    return _Call(cls, function).run(arguments, keywords)


def own_array(x: Any) -> Any:
    """What an object's ``__array__`` gives, where that is an array of ours, which NumPy
    does not take; else the object."""
    if isinstance(x, np.ndarray) or not hasattr(type(x), "__array__"):
        return x
    found = x.__array__()
    return found._array() if isinstance(found, ArrayState) else x


def _place_of_out(function: Callable[..., Any]) -> int:
    """Position of the parameter ``out``; -1 if there is none."""
    if isinstance(function, np.ufunc):
        return function.nin
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, (np.ufunc, types.ModuleType)):
        return _found_place(function)
    return -1  # methods of generators and the like


@functools.lru_cache(maxsize=1024)
def _found_place(function: Callable[..., Any]) -> int:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return -1
    for place, parameter in enumerate(parameters):
        if (
            parameter.name == "out"
            and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ):
            return place
    return -1


class _Call:
    """One call: which arrays went in, and so which memory may come out."""

    def __init__(self, cls: type[Any], function: Callable[..., Any]) -> None:
        self.cls = cls
        self.function = function
        self.writes = getattr(function, "__name__", "") in WRITERS
        self.given: list[ArrayState] = []
        self.foreign: list[np.ndarray[Any, Any]] = []
        self.device: Device = AUTO

    def run(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        out = keywords.get("out")
        written = 0 if self._writes_first(arguments, keywords) else -1
        if any([isinstance(x, ArrayState) for x in arguments[1:]]):
            place = _place_of_out(self.function)
            if 0 < place < len(arguments):
                written, out = place, arguments[place]
        hosts = []
        for position, argument in enumerate(arguments):
            hosts.append(self._host(argument, position == written))
        named = {
            name: self._host(value, name == "out") for name, value in keywords.items()
        }
        try:
            result = self.function(*hosts, **named)
        except ValueError as error:
            if "__array__ method not producing" not in str(error):
                raise
            given = {name: own_array(value) for name, value in named.items()}
            result = self.function(*[own_array(x) for x in hosts], **given)
        if isinstance(out, (ArrayState, np.ndarray)) and type(result) is np.ndarray:
            return out  # also where NumPy gives a view of it
        return as_arrays(self.cls, result, self.given, self.foreign, self.device)

    def _writes_first(
        self, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> bool:
        """Whether the function writes to its first argument."""
        if self.writes or keywords.get("overwrite_input"):
            return True
        if self.function is np.nan_to_num:
            copy = arguments[1] if len(arguments) > 1 else keywords.get("copy", True)
            return not copy
        return False

    def _host(self, x: Any, writing: bool) -> Any:
        if isinstance(x, ArrayState):
            self.given.append(x)
            if x._device is not self.device:
                name = getattr(self.function, "__name__", "call")
                self.device = common_device((self.device, x._device), name)
            return x._writable_array() if writing else x._array()
        kind = type(x)
        if kind is tuple or kind is list:
            if len(x) > MOST_ITEMS:
                return x  # NumPy refuses it, and says so
            return kind([self._host(item, writing) for item in x])
        if kind is dict:
            return {name: self._host(item, writing) for name, item in x.items()}
        if kind is np.ndarray:
            self.foreign.append(x)
        elif kind is np.poly1d and isinstance(x.coeffs, ArrayState):
            return np.poly1d(self._host(x.coeffs, False), variable=x.variable)
        return x


def as_arrays(
    cls: type[Array],
    result: Any,
    given: list[ArrayState],
    foreign: list[np.ndarray[Any, Any]],
    device: Device,
) -> Any:
    """What a function returned, wrapped: tuples and lists item by item.

    Parameters
    ----------
    cls : type
        Of the arrays.
    result : object
    given : list of ArrayState
        The arrays that went in, of which there may be views.
    foreign : list of numpy.ndarray
        NumPy's arrays that went in.
    device : Device
        The label of what is new.
    """
    kind = type(result)
    if kind is _ndarray:
        return _as_array(cls, result, given, foreign, device)
    if isinstance(result, _generic):
        if current().scalars == "numpy":
            return result
        return _made(cls, np.asarray(result), device)
    if kind is tuple or kind is list:
        return kind([as_arrays(cls, x, given, foreign, device) for x in result])
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[as_arrays(cls, x, given, foreign, device) for x in result])
    return result


def _as_array(
    cls: type[Array],
    result: np.ndarray[Any, Any],
    given: list[ArrayState],
    foreign: list[np.ndarray[Any, Any]],
    device: Device,
) -> Any:
    for x in given:
        if x._host is result:
            return x
    # An array that owns its memory, and went in nowhere, shares it with nobody.
    base = result.base
    if base is not None:
        if len(given) == 1 and not foreign:
            host = given[0]._host
            if host is not None and (base is host or base is host.base):
                return given[0]._host_sibling(result)  # there is no other source
        for x in given:
            host = x._host
            if host is not None and _is_view(result, host):
                return x._host_sibling(result)
            if host is None and _shares(result, x):
                return _device_view(result, x)
        for array in foreign:
            if np.may_share_memory(result, array):
                return cls._of_shared(result)
    if result.ndim == 0 and current().scalars == "numpy":
        return result[()]
    return _made(cls, result, device)


def _made(cls: type[Array], result: np.ndarray[Any, Any], device: Device) -> Any:
    if device.is_named:
        return cls._of_host(result, device)
    return of_host(cls, result, device)


def _is_view(result: np.ndarray[Any, Any], host: np.ndarray[Any, Any]) -> bool:
    if result.size:
        return np.may_share_memory(result, host)
    return result.base is not None and (result.base is host or result.base is host.base)


def _shares(result: np.ndarray[Any, Any], x: ArrayState) -> bool:
    buffer = x._bind().value.buffer
    return (
        buffer is not None
        and buffer.root is not None
        and np.may_share_memory(result, buffer.root)
    )


def _device_view(result: np.ndarray[Any, Any], x: ArrayState) -> Any:
    buffer = x._bind().value.buffer
    assert buffer is not None
    offset = address_of(result) - buffer.start
    return x._sibling(Layout(result.shape, result.strides, offset), result.dtype)
