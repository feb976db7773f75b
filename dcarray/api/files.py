"""Arrays read from and written to files, buffers and iterators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import DeviceArray
from ..backends.registry import AUTO, Device
from .conversion import chosen_device, placed, unwrapped
from .coverage import fallback, native

__all__ = [
    "frombuffer",
    "fromfile",
    "fromiter",
    "fromregex",
    "fromstring",
    "genfromtxt",
    "load",
    "loadtxt",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
]


def _read(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, whose results become `DeviceArray`s, on a device if one is
    given as ``device``."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        keywords.pop("like", None)
        device = keywords.pop("device", None)
        target = None if device is None else chosen_device(device)
        result = function(*arguments, **keywords)
        if type(result) in (list, tuple):
            return type(result)([_placed(item, target) for item in result])
        return _placed(result, target)

    call.__module__ = "dcarray"
    return native(call)


def _placed(result: Any, device: Device | None) -> Any:
    return placed(result, device) if type(result) is np.ndarray else result


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, which may read `DeviceArray`s wherever they are."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        named = {name: unwrapped(value) for name, value in keywords.items()}
        return function(*[unwrapped(x) for x in arguments], **named)

    call.__module__ = "dcarray"
    return native(call)


@native
def frombuffer(
    buffer: Any,
    dtype: Any = float,
    count: Any = -1,
    offset: Any = 0,
    *,
    device: str | Device | None = None,
    like: Any = None,
) -> DeviceArray:
    """An array on the memory of a buffer, which stays shared.

    Parameters
    ----------
    buffer : object with the buffer protocol
    dtype : dtype
    count : int
        Number of elements; -1 takes all.
    offset : int
        Bytes to skip.
    device : str or Device, optional
        A named one gets a copy.
    like : object
        Taken and ignored.
    """
    host = np.frombuffer(buffer, dtype, count, offset)
    target = AUTO if device is None else chosen_device(device)
    if target.is_named:
        return placed(host.copy(), target)
    return DeviceArray._of_shared(host, target)


fromfile = _read(np.fromfile)
fromiter = _read(np.fromiter)
fromstring = _read(np.fromstring)
# Its results are records, which live on the host.
fromregex = fallback(np.fromregex)
genfromtxt = _read(np.genfromtxt)
load = _read(np.load)
loadtxt = _read(np.loadtxt)

save = _written(np.save)
savetxt = _written(np.savetxt)
savez = _written(np.savez)
savez_compressed = _written(np.savez_compressed)
