"""Calls of public functions compared with NumPy's: on the host, recorded, and on the
simulated device, where no fallback is allowed."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dcarray as dc

__all__ = ["Case", "case", "compare", "everywhere", "run"]

PLACES = {
    "host": ("auto", {}),
    "cpu": ("cpu", {}),
    "recorded": ("auto", {"lazy": "always"}),
    "device": ("test:0", {"fallback": "error"}),
}

everywhere = pytest.mark.parametrize("place", list(PLACES))

RNG = np.random.default_rng(20)


class Case:
    """One call: the function's dotted name and its arguments."""

    def __init__(self, name: str, *arguments: Any, **keywords: Any) -> None:
        self.name = name
        self.arguments = arguments
        self.keywords = keywords

    def __repr__(self) -> str:
        given = [_short(x) for x in self.arguments]
        given += [f"{key}={_short(x)}" for key, x in self.keywords.items()]
        return f"{self.name}({', '.join(given)})"


case = Case


def _short(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype.char}{list(x.shape)}"
    if isinstance(x, (list, tuple)):
        return "[" + " ".join(map(_short, x)) + "]"
    return getattr(x, "__name__", repr(x))


def found(module: Any, name: str) -> Callable[..., Any]:
    return functools.reduce(getattr, name.split("."), module)  # type: ignore[no-any-return]


def on(device: str, x: Any) -> Any:
    """Arguments with arrays on a device in the place of NumPy's."""
    if isinstance(x, np.ndarray):
        return dc.asarray(x, device=device)
    if type(x) in (list, tuple):
        return type(x)([on(device, item) for item in x])
    return x


def outcome(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return error


def run(one: Case, place: str) -> None:
    """One call in one place.

    Raises
    ------
    AssertionError
        Results or errors differ.
    """
    device, settings = PLACES[place]
    expected = outcome(lambda: found(np, one.name)(*one.arguments, **one.keywords))
    with dc.config(**settings):
        arguments = [on(device, x) for x in one.arguments]
        keywords = {key: on(device, x) for key, x in one.keywords.items()}
        got = outcome(lambda: found(dc, one.name)(*arguments, **keywords))
        compare(got, expected, device)


def compare(got: Any, expected: Any, device: str) -> None:
    """Same structure, dtypes, shapes and bits; on a named device, nearly the same
    numbers."""
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected)), repr(got)
        return
    if isinstance(got, Exception):
        raise got
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        assert getattr(got, "_fields", ()) == getattr(expected, "_fields", ())
        for ours, theirs in zip(got, expected, strict=True):
            compare(ours, theirs, device)
        return
    if isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(got, dc.ndarray), type(got)
        assert got.device == device
        ours, theirs = got.get(), np.asarray(expected)
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        if device == "test:0" and theirs.dtype.kind in "fc":
            near = 2e-2 if theirs.dtype.char == "e" else 1e-5
            np.testing.assert_allclose(ours, theirs, rtol=near, atol=1e-6)
        else:
            assert ours.tobytes() == theirs.tobytes()
        return
    assert got == expected or (got != got and expected != expected)


def numbers(
    *shape: int, dtype: Any = np.float64, low: float = -4, high: float = 4
) -> Any:
    """Random numbers, the same in every run of the tests."""
    drawn = RNG.uniform(low, high, shape)
    if np.dtype(dtype).kind == "c":
        drawn = drawn + 1j * RNG.uniform(low, high, shape)
    if np.dtype(dtype).kind == "b":
        return drawn > 0
    if np.dtype(dtype).kind == "u":
        drawn = np.abs(drawn)
    return drawn.astype(dtype)
