"""Functions that are NumPy's own where the arrays are on the host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import DeviceArray, whole
from ..array.fallback import call_numpy, on_host
from ..backends.registry import AUTO
from .calling import named_device
from .coverage import native

__all__ = ["hosted", "minding_subclasses"]

Function = Callable[..., Any]


def hosted(function: Function, plainly: bool = False) -> Callable[[Function], Function]:
    """Decorate the way a function works on named devices.

    Parameters
    ----------
    function : callable
        NumPy's function, called where no argument is on a named device.
    plainly : bool
        Whether the signature is NumPy's own, without annotations.
    """

    def decorate(elsewhere: Function) -> Function:
        @functools.wraps(elsewhere)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if named_device(arguments, keywords) is AUTO:
                return on_host(DeviceArray, function, *arguments, **keywords)
            if any([_has_rules(x) for x in arguments]):
                return call_numpy(DeviceArray, function, *arguments, **keywords)
            return elsewhere(*arguments, **keywords)

        if plainly:
            call.__wrapped__ = function
        return whole.function(function)(native(call))

    return decorate


def _has_rules(x: Any) -> bool:
    """Whether it is a masked array, a matrix or the like."""
    kind = type(x)
    return issubclass(kind, np.ndarray) and kind not in (np.ndarray, np.memmap)


def minding_subclasses(function: Function) -> Callable[[Function], Function]:
    """Decorate a function whose first argument may be an array with rules of its own:
    masked arrays and matrices, which NumPy's function keeps what they are.

    Parameters
    ----------
    function : callable
        NumPy's function.
    """

    def decorate(ours: Function) -> Function:
        @functools.wraps(ours)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if arguments and _has_rules(arguments[0]):
                return on_host(DeviceArray, function, *arguments, **keywords)
            return ours(*arguments, **keywords)

        return call

    return decorate
