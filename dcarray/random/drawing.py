"""How NumPy's drawing functions take and give `DeviceArray`s.

The numbers are drawn on the host, and placed on the generator's device or the default
one; or they are drawn there, where it knows how.  The streams are NumPy's either way.
Single numbers stay what NumPy gives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..api.calling import named_device
from ..api.coverage import native
from ..array import DeviceArray
from ..array.fallback import on_host
from ..backends.registry import AUTO, Device, device_of
from ..config import config, current
from .devices import Place
from .streams import Stream

__all__ = ["drawn", "drawn_globally", "shuffled", "shuffled_globally"]

Function = Callable[..., Any]


def drawn(method: Function, elsewhere: Function | None = None) -> Any:
    """A method of NumPy's generators, with `DeviceArray`s.

    Parameters
    ----------
    method : callable
        Takes the generator first.
    elsewhere : callable, optional
        Draws on a device, see `devices`; takes a `Place` and the arguments.
    """

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        label = getattr(self, "_device", None)
        target = device_of(label, current().device)
        if label is None and target is AUTO:
            target = named_device(arguments, keywords)
        drawing = self
        if target.kind not in ("auto", "cpu") and isinstance(self, np.random.Generator):
            bits = self.bit_generator
            if elsewhere is not None and Stream.has(bits):
                made = elsewhere(Place(bits, target), *arguments, **keywords)
                if made is not None:
                    return made
            # NumPy's methods call each other, and know no devices.
            drawing = np.random.Generator(bits)
        return _draw(method.__get__(drawing), arguments, keywords, target)

    return call


def drawn_globally(function: Function) -> Function:
    """A function of `numpy.random`, with `DeviceArray`s."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        target = device_of(None, current().device)
        return _draw(function, arguments, keywords, target)

    call.__module__ = "dcarray.random"
    return native(call)


def shuffled(method: Function) -> Any:
    """A method that shuffles its first argument in place."""

    @functools.wraps(method)
    def call(self: Any, x: Any, *arguments: Any, **keywords: Any) -> None:
        _shuffle(method.__get__(self), x, arguments, keywords)

    return call


def shuffled_globally(function: Function) -> Function:
    """A function that shuffles its first argument in place."""

    @functools.wraps(function)
    def call(x: Any, *arguments: Any, **keywords: Any) -> None:
        _shuffle(function, x, arguments, keywords)

    call.__module__ = "dcarray.random"
    return native(call)


def _is_plain(x: Any) -> bool:
    """Whether an argument certainly has no array in it."""
    kind = type(x)
    if kind is tuple:
        return all([type(item) is int for item in x])
    return kind in (int, float, str, bool, type) or x is None


def _draw(
    function: Function,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    target: Device,
) -> Any:
    if all([_is_plain(x) for x in (*arguments, *keywords.values())]):
        result = function(*arguments, **keywords)
        if type(result) is np.ndarray:
            return _placed(DeviceArray._of_host(result), target)
        return result
    with config(scalars="numpy"):
        result = on_host(DeviceArray, function, *arguments, **keywords)
    return _placed(result, target) if isinstance(result, DeviceArray) else result


def _placed(result: DeviceArray, target: Device) -> Any:
    """On a device, unless the arguments decided on another."""
    if target.kind == "auto" or result._device.kind != "auto":
        return result
    return result.to_device(target)


def _shuffle(
    function: Function, x: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    if not isinstance(x, DeviceArray):
        function(x, *arguments, **keywords)
        return
    if x._device.kind in ("auto", "cpu"):
        function(x._writable_array(), *arguments, **keywords)
        return
    host = x.get()
    function(host, *arguments, **keywords)
    x[...] = DeviceArray._of_host(host)
