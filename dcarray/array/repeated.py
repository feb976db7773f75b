"""Functions whose work on a device is found once, and done again from then on.

What a function does for arrays that lie so, with options that are so, is kept under one
key, see `lazy.tape`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..backends.registry import when_removed
from ..config import current
from ..errors import DeviceError, UnsupportedError
from ..lazy.cutting import keep_within_bounds
from ..lazy.noting import noted, notes
from ..lazy.tape import Notes, Tape
from ..ops.spec import Op
from ..profile import collectors
from .state import ArrayState, showing

__all__ = ["repeated"]

MOST = 1 << 16
"""Calls that are kept."""

Function = TypeVar("Function", bound=Callable[..., Any])

_NAMES = frozenset({int, str, bool, type(None), type, Op})
"""Types of options that are what they are equal to, among themselves."""

_SAME = object()
_REFUSED: Any = object()

_tapes: dict[Any, Any] = {}
"""What calls came to; `_REFUSED` for those that depend on something else as well."""


def repeated(function: Function) -> Function:
    """Have a function do its work on a device again without its Python.

    What it does depends on how its arrays lie, on its options and on the settings, not
    on elements; it writes to no array that is there already, and keeps nothing.  One
    that reads elements on the host, or writes, is done as it is each time.
    """

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for x in arguments:
            if isinstance(x, ArrayState):
                if x._device.is_named and not collectors:
                    return _again(function, arguments, keywords)
                break
        return function(*arguments, **keywords)

    return call  # type: ignore[return-value]


def _again(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    settings = current()
    # So many by their places: a keyword is no argument of that text.
    key: list[Any] = [function, len(arguments), settings.matmul_precision]
    values: list[Any] = []
    cls: Any = None
    device: Any = None
    given: Any = arguments
    if keywords:
        given = list(arguments)
        for option, x in keywords.items():
            given.append(option)
            given.append(x)
    for x in given:
        kind = type(x)
        if isinstance(x, ArrayState):
            array = x
            binding = array._binding
            view = array._view
            if binding is None or view is None or array._device is not device:
                if binding is None or view is None or device is not None:
                    return function(*arguments, **keywords)
                device = array._device
                cls = kind
            value = binding._value
            if value is None or kind is not cls:
                return function(*arguments, **keywords)
            buffer = value.buffer
            if buffer is not None and buffer._sharer is not None:
                return function(*arguments, **keywords)
            for place, other in enumerate(values):
                if other is value:
                    key.append(_SAME)
                    key.append(place)
                    break
            values.append(value)
            key.append(view)
        elif kind in _NAMES:
            key.append(kind)
            key.append(x)
        elif not _name(x, key):
            return function(*arguments, **keywords)
    key.append(device)
    name = tuple(key)
    known = _tapes.get(name)
    if known is _REFUSED or notes() is not None:
        return function(*arguments, **keywords)
    if known is None:
        return _noted(function, arguments, keywords, name, values, device, settings)
    tape = known
    if tape.settings is not settings and tape.settings != settings:
        return function(*arguments, **keywords)
    try:
        if not tape.run(values):
            _tapes[name] = _REFUSED  # the results' shapes depend on the elements
            return function(*arguments, **keywords)
    except (DeviceError, UnsupportedError):  # the function may find another way
        return function(*arguments, **keywords)
    tape.settings = settings
    arrays = []
    for place, view in tape.results:
        value = values[place]
        array = showing(cls, value)
        if view is not value.view:
            array._view = view
        if value.expr is not None:
            keep_within_bounds(value)
        arrays.append(array)
    return arrays[0] if tape.is_single else tuple(arrays)


def _name(x: Any, key: list[Any]) -> bool:
    """Add an option to a key; whether it can be one."""
    kind = type(x)
    if kind is float:
        key.append(kind)
        key.append(x or repr(x))  # -0.0 is not 0.0
    elif kind is tuple:
        key.append(len(x))
        for one in x:
            if type(one) is not int:
                return False
        key.append(x)
    elif isinstance(x, np.dtype) and not x.metadata and x.names is None:
        key.append(np.dtype)
        key.append((x, x.num))
    else:
        return False
    return True


def _noted(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    name: tuple[Any, ...],
    values: list[Any],
    device: Any,
    settings: Any,
) -> Any:
    """Run the function, and keep what it came to."""
    made = Notes(values, device)
    with noted(made):
        found = function(*arguments, **keywords)
    results = found if type(found) is tuple else (found,)
    tape: Tape | None = None
    if all([_is_plain(x, device) for x in results]) and not settings.validate:
        shown = [(x._binding._value, x._view) for x in results]
        tape = made.tape(shown, settings, type(found) is not tuple)
    if len(_tapes) >= MOST:
        _tapes.clear()
    _tapes[name] = _REFUSED if tape is None else tape
    return found


def _is_plain(x: Any, device: Any) -> bool:
    return (
        isinstance(x, ArrayState)
        and x._device is device
        and not x._locked
        and x._binding is not None
        and x._binding._value is not None
        and x._view is not None
    )


def _forget(device: str) -> None:
    _tapes.clear()


when_removed(_forget)
