"""Public functions made of rows: NumPy itself on host labels, the device's library on a
named device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..array import DeviceArray, calls, whole
from ..array.fallback import MOST_ITEMS, on_host
from ..array.library import oracle
from ..backends.registry import AUTO, Device
from ..config import current
from ..ops.spec import Op
from .coverage import native

__all__ = [
    "call_row",
    "correction_of",
    "named_device",
    "presented",
    "served",
    "stored_in",
]


def named_device(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Device:
    """The named device on which an argument is, or ``auto``.

    Parameters
    ----------
    arguments : sequence
        Arrays, lists and tuples of arrays, and anything else.
    keywords : mapping
        The same.

    Raises
    ------
    DeviceMismatchError
        Arguments on two of them.
    """
    found = []
    for x in (*arguments, *keywords.values()):
        if isinstance(x, DeviceArray):
            found.append(x)
        elif type(x) in (list, tuple) and len(x) <= MOST_ITEMS:
            found += [item for item in x if isinstance(item, DeviceArray)]
    if all([x._device is AUTO for x in found]):
        return AUTO
    device = calls.device_of(found, "arguments")
    return AUTO if device.kind in ("auto", "cpu") else device


def presented(result: Any) -> Any:
    """A result as the setting ``scalars`` wants it."""
    if isinstance(result, DeviceArray) and not result.shape:
        return result._array()[()] if current().scalars == "numpy" else result
    return result


def correction_of(ddof: float, correction: Any) -> float:
    """What `var` takes off the number of elements: NumPy's name or the standard's."""
    if correction is np._NoValue:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction  # type: ignore[no-any-return]


def stored_in(out: Any, result: Any, casting: Any = "same_kind") -> Any:
    """``result`` in the memory of ``out``, if that is given.

    Raises
    ------
    ValueError, TypeError
        Shapes that differ; a conversion that loses the kind of the numbers.
    """
    if out is None:
        return presented(result)
    if not isinstance(out, (DeviceArray, np.ndarray)):
        raise TypeError("return arrays must be of ArrayType")
    if out.shape != result.shape:
        raise ValueError(
            f"out has wrong shape: {out.shape}, the result has {result.shape}"
        )
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast the result from {result.dtype!r} to {out.dtype!r} with "
            f"casting rule '{casting}'"
        )
    out[...] = result
    return out


def call_row(
    row: Op,
    operands: Sequence[Any],
    out: Any = None,
    casting: Any = "same_kind",
    **options: Any,
) -> Any:
    """A row on a named device.

    Returns
    -------
    DeviceArray or tuple of DeviceArray
    """
    plain = {
        name: x._array()[()] if isinstance(x, DeviceArray) and not x.shape else x
        for name, x in options.items()
    }
    result = calls.library(DeviceArray, row, operands, **plain)
    if isinstance(result, tuple):
        return tuple([presented(item) for item in result])
    return stored_in(out, result, casting)


_UNSIGNED: dict[str, Callable[..., Any]] = {
    "bincount": lambda x, /, weights=None, minlength=0: None,
    "dot": lambda a, b, out=None: None,
    "inner": lambda a, b, /: None,
    "vdot": lambda a, b, /: None,
}
"""Functions whose signature NumPy before 2.4 does not tell."""


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:
        return inspect.signature(_UNSIGNED[function.__name__])


@functools.cache
def _plain_inputs(function: Callable[..., Any], number: int) -> int:
    """The number of operands if they come first and none of them may be left out; -1
    otherwise.  A call with just these needs no binding, which takes long."""
    first = list(_signature(function).parameters.values())[:number]
    plain = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    is_plain = all(x.kind in plain and x.default is x.empty for x in first)
    return number if is_plain else -1


def served(
    row: Op,
    result: Callable[..., Any] | None = None,
    fills: bool = False,
    exact: bool = False,
    recorded: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The public function of a row.

    Parameters
    ----------
    row : Op
        Its oracle is a function of NumPy, whose first `Op.inputs` parameters are the
        operands.
    result : callable, optional
        What makes several results one object, a named tuple for example.
    fills : bool
        Whether the result fills an ``out`` of more axes.
    exact : bool
        Whether ``out`` must be just what the result is without it.
    recorded : callable, optional
        Gives the result as one that is recorded, or None where it does not; called
        with the function's own arguments.

    Returns
    -------
    callable
        With the name, the documentation and the signature of NumPy's function.
    """
    function = row.numpy

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if named_device(arguments, keywords) is AUTO:
            return on_host(DeviceArray, oracle(row), *arguments, **keywords)
        options: dict[str, Any] = {}
        operands: Sequence[Any] = arguments
        if keywords or len(arguments) != _plain_inputs(function, row.inputs):
            options = _signature(function).bind(*arguments, **keywords).arguments
            operands = _taken(function, row.inputs, options)
        if recorded is not None:
            found = recorded(*operands, **options)
            if found is not None:
                return found
        out = options.pop("out", None)
        found = call_row(row, operands, None if fills or exact else out, **options)
        if exact and out is not None:
            return _exactly(out, found)
        if fills and out is not None:
            if out.shape == found.shape:
                return stored_in(out, found)
            out[...] = found
            return out
        if result is not None and isinstance(found, tuple):
            return result(*found)
        return found

    call.__module__ = function.__module__.replace("numpy", "dcarray", 1)
    return whole.function(function)(native(call))


def _exactly(out: Any, found: Any) -> Any:
    """``found`` in the memory of an array that is just like it.

    Raises
    ------
    ValueError
        It is not.
    """
    if out.dtype != found.dtype or out.ndim != found.ndim or not out.flags.c_contiguous:
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of "
            "dimensions, and be a C-Array)"
        )
    if out.shape != found.shape:
        raise ValueError("output array has wrong dimensions")
    return stored_in(out, found)


def _taken(
    function: Callable[..., Any], number: int, options: dict[str, Any]
) -> list[Any]:
    """The operands among the arguments, without those that are None at the end, and
    what is given as ``*args``."""
    operands = []
    for parameter in _signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            operands += options.pop(parameter.name, ())
        elif len(operands) < number and parameter.name in options:
            operands.append(options.pop(parameter.name))
    while operands and operands[-1] is None:
        operands.pop()
    return operands
