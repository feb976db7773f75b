"""Rows and matrices of numbers that a program asks for time and again: on a named
device they are made once, and a call that comes again records a copy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..array.made import again, keep
from .conversion import chosen_device

__all__ = ["named", "recurring"]

Function = TypeVar("Function", bound=Callable[..., Any])

_PLAIN = frozenset({str, type(None), type})
"""Types of options that are what they are equal to."""

_NUMBERS = frozenset({int, float, bool})
"""The same of numbers, but for their signs of zero and among themselves."""


def recurring(function: Function) -> Function:
    """Decorate a function that makes an array of numbers alone, on ``device=``."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        target = chosen_device(keywords.get("device"))
        if not target.is_named:
            return function(*arguments, **keywords)
        given: Sequence[Any] = arguments
        if keywords:
            for option, x in keywords.items():
                if option != "device":
                    given = (*given, option, x)
        name = named((function, len(arguments), target.label), given)
        if name is None:
            return function(*arguments, **keywords)
        found = again(name)
        if found is None:
            found = keep(name, function(*arguments, **keywords))
        return found

    return call  # type: ignore[return-value]


def named(head: tuple[Any, ...], given: Sequence[Any]) -> tuple[Any, ...] | None:
    """A name for a call with these arguments; None where they are no plain numbers."""
    name = [*head]
    for x in given:
        kind = type(x)
        if kind in _PLAIN:
            name.append(x)
        elif kind in _NUMBERS:
            name.append(kind)
            name.append(x or repr(x))  # -0.0 is not 0.0
        elif kind is tuple:
            inner = named((len(x),), x)
            if inner is None:
                return None
            name.append(inner)
        elif isinstance(x, np.dtype) and not x.metadata and x.names is None:
            name.append((x, x.num))
        else:
            return None
    return tuple(name)
