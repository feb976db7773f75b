"""Calls of machine code one after the other, with no Python between them."""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..engine import data_address, engine
from .spelling import words
from .writing import Text

__all__ = ["address_of", "run_calls", "run_each", "sequence_text", "table_of"]

HostArray: TypeAlias = np.ndarray[Any, Any]


def sequence_text() -> str:
    """The text of ``void dcarray_sequence(ptr words)``.  Words are: the address of a
    table of functions and of the words of each, and its length."""
    to = Text("float", 4)
    with to.function("void @dcarray_sequence(ptr %words)"):
        to.lines += words({"table": "ptr", "count": "i64"})
        with to.loop("call", "%count"):
            entry = to.at("%table", to.times("%call", 16))
            function, own = [to.load(to.at(entry, skip), "ptr") for skip in (0, 8)]
            to.lines.append(f"call void {function}(ptr {own})")
    return str(to)


@functools.cache
def _built() -> Callable[[int], None]:
    machine = engine()
    assert machine is not None
    kernel = machine.kernel(sequence_text(), "dcarray_sequence", "calls in a row")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)


def run_calls(calls: HostArray) -> None:
    """Call functions of such a table: (calls, 2)."""
    given = np.array([data_address(calls), len(calls)], np.int64)
    _built()(data_address(given))


def run_each(calls: list[tuple[int, tuple[int, ...]]]) -> None:
    """Call functions, each with its words."""
    words, table = array("q"), array("q")
    places = []
    for _, own in calls:
        places.append(words.itemsize * len(words))
        words.extend(own)
    begin = words.buffer_info()[0]
    for place, (function, _) in zip(places, calls, strict=True):
        table.extend((function, begin + place))
    given = array("q", (table.buffer_info()[0], len(calls)))
    _built()(given.buffer_info()[0])


def address_of(function: Any) -> int:
    """That of machine code."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def table_of(fields: Mapping[str, str], count: int, /, **values: Any) -> HostArray:
    """Words of so many calls: numbers, or one for each call, and 0 where there is
    nothing yet."""
    found = np.empty((count, len(fields)), np.int64)
    given = [values.get(name, 0) for name in fields]
    found[:] = [0 if isinstance(one, np.ndarray) else one for one in given]
    for k, one in enumerate(given):
        if isinstance(one, np.ndarray):
            found[:, k] = one
    return found
