"""Functions of arrays, captured once and run again at one call.

On a CUDA device all launches of a function become a graph of CUDA's.  It reads copies
of the arguments, made in memory of its own, and its results are copied out: what it
returned before does not change.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from ..array import DeviceArray
from ..backends.base import Memory
from ..backends.buffer import Buffer, device_buffer
from ..backends.exchange import Capturing
from ..backends.registry import Device, backend_for
from ..config import Settings, current
from ..errors import CaptureError, DeviceMismatchError, OutOfMemoryError
from ..layout import Layout
from ..lazy import execute, recover
from ..lazy.graph import State
from ..profile import Event, count, emit, is_active

__all__ = ["Graph", "graph"]

MOST = 16
"""Graphs of one function; the one that was not used for longest goes."""

P = ParamSpec("P")
R = TypeVar("R")


class _Slot:
    """The place of an array in arguments or results."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Graph(Generic[P, R]):
    """A function that is captured; made by `dcarray.graph`."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._known: dict[Any, _Captured] = {}
        # It runs once as it is before it is captured: that builds the kernels.
        self._seen: set[Any] = set()
        self._last: _Captured | None = None
        self._lock = threading.RLock()

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R:
        """Call the function, or run its graph."""
        last = self._last
        if last is not None and not keywords and last.takes(arguments):
            with self._lock:
                backend = last.backend
                if not backend.is_capturing and last.still_holds(backend):
                    given: Any = arguments
                    found = last.run(backend, last.device, given)
                    return found  # type: ignore[no-any-return]
        return self._call(arguments, keywords)

    def _call(self, arguments: Any, keywords: Any) -> R:
        """The long way: find the graph for these arguments, or capture it."""
        arrays: list[DeviceArray] = []
        given = _taken_apart((arguments, keywords), arrays)
        device = _one_device(arrays)
        backend: Any = None
        if device is not None and device.kind not in ("auto", "cpu"):
            backend = backend_for(str(device))
        # To ask whether it is `Capturing` takes as long as half of all this.
        if device is None or not hasattr(backend, "captured"):
            return self._function(*arguments, **keywords)
        if backend.is_capturing:  # becomes part of the graph around it
            return self._function(*arguments, **keywords)
        key = (str(device), _key(given), *map(_lies, arrays))
        with self._lock:
            last, self._last = self._last, None
            if last is not None:  # it was used since
                self._known[last.key] = self._known.pop(last.key, last)
            known = self._known.pop(key, None)
            if known is not None and known.still_holds(backend):
                self._known[key] = known
                self._last = known
                return known.run(backend, device, arrays)  # type: ignore[no-any-return]
            if known is None and key not in self._seen:
                result = self._function(*arguments, **keywords)
                self._seen.add(key)
                return result
            made = _Captured(backend, device, self._function, given, arrays)
            made.key = key
            self._known[key] = made
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]
            return made.run(backend, device, arrays)  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Forget the graphs: the next call of each kind captures anew."""
        with self._lock:
            self._last = None
            self._known.clear()
            self._seen.clear()


def graph(function: Callable[P, R], /) -> Graph[P, R]:
    """A function of arrays, whose launches become one graph on a CUDA device.

    It runs as it is the first time, is captured the second time, and from then on all
    its launches start at once, with little work for the host.  Other shapes, dtypes,
    strides, settings or Python values among the arguments make another graph.  Only
    arrays are new at each call: what the function does besides, in Python, is done
    while it is captured and then no more.  Arrays that it takes from outside are read
    where they were then.

    On other devices the function is simply called.

    Parameters
    ----------
    function : callable
        Its arguments are arrays on one device, or other values, also in lists, tuples
        and dicts; so is its result.  It must not read arrays on the host, assign to
        arrays that were there before, bring data of the host to the device, nor draw
        random numbers.

    Returns
    -------
    Graph
        To be called like the function; ``clear()`` forgets what was captured.

    Raises
    ------
    CaptureError
        At the call that captures: the function does one of these things.
    TypeError
        At a call: an argument is neither an array of dcarray's nor hashable.

    Examples
    --------
    >>> import dcarray as dc
    >>> @dc.graph
    ... def step(x, rate):
    ...     return x - rate * dc.sin(x)
    >>> step(dc.ones(3), 0.5).shape
    (3,)
    """
    return Graph(function)


class _Captured:
    """A function, captured for arguments of one kind."""

    def __init__(
        self,
        backend: Capturing,
        device: Device,
        function: Callable[..., Any],
        given: Any,
        arrays: list[DeviceArray],
    ) -> None:
        self._name = getattr(function, "__name__", "graph")
        self.key: Any = None
        self.backend: Any = backend
        self.device = device
        self._settings: Settings = current()
        self._lock = threading.Lock()
        self._inputs: list[Memory] = []
        self._input_bytes: list[int] = []
        stand_ins = [self._stand_in(backend, device, x) for x in arrays]
        found: list[DeviceArray] = []

        def run() -> Any:
            arguments, keywords = _put_together(given, stand_ins)
            result = _taken_apart(function(*arguments, **keywords), found)
            execute.evaluate([x._read().value for x in found])
            return result

        self._views = _plain_views(given, arrays)
        self._result, self._graph = backend.captured(run)
        for x in found:
            if x._device != device:
                raise CaptureError(
                    f"{self._name}: a result is on {x._device}", device=str(device)
                )
        self._outputs = [_lies_in(backend, x) for x in found]
        inputs = set(map(id, self._inputs))
        held = []
        for buffer in recover.resident(str(device)):  # type: ignore[attr-defined]
            memory = buffer._copy_on(str(device))
            if id(memory) in self._graph.others and id(memory) not in inputs:
                buffer.hold()
                held.append((buffer, memory))
        self._held: list[tuple[Buffer, Memory]] = held

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_ending():
            return
        for buffer, _ in getattr(self, "_held", ()):
            buffer.release()

    def _stand_in(
        self, backend: Capturing, device: Device, x: DeviceArray
    ) -> DeviceArray:
        """An array that lies like another one, in memory that the graph reads."""
        layout = x._layout
        low, high = layout.span(x.dtype.itemsize)
        buffer = recover.empty(max(high - low, 1), str(device))
        self._inputs.append(buffer.read_on(backend_for(str(device))))
        self._input_bytes.append(high - low)
        layout = Layout(layout.shape, layout.strides, layout.offset - low)
        return DeviceArray._of_buffer(buffer, layout, x.dtype, device)

    def takes(self, arguments: tuple[Any, ...]) -> bool:
        """Whether arguments are arrays that lie as those did, and nothing else."""
        views = self._views
        if views is None or len(views) != len(arguments):
            return False
        if backend_for(self.device.label) is not self.backend:
            return False
        for x, view in zip(arguments, views, strict=True):
            if type(x) is not DeviceArray or x._view is not view:
                return False
            if x._device is not self.device:
                return False
        return True

    def still_holds(self, backend: Any) -> bool:
        """Whether settings and arrays from outside are what they were."""
        if self._settings is not current() and self._settings != current():
            return False
        for buffer, memory in self._held:
            is_near = buffer.is_valid_on(backend.device)  # not written elsewhere since
            if not is_near and buffer.read_on(backend) is not memory:
                return False
        return True

    def run(self, backend: Any, device: Device, arrays: list[DeviceArray]) -> Any:
        """Copy the arguments in, launch, copy the results out."""
        started = time.perf_counter()
        graph = self._graph
        for x, target, nbytes in zip(
            arrays, self._inputs, self._input_bytes, strict=True
        ):
            read = x._read()
            value = read.value
            if value.state != State.STORED:
                execute.evaluate((value,))
            if nbytes:
                assert value.buffer is not None
                memory = value.buffer.read_on(backend)
                start = (
                    read.layout.span(x.dtype.itemsize)[0] if read.layout.offset else 0
                )
                graph.copy_in(memory, start, target, nbytes)
        graph.launch()
        for buffer, memory in self._held:  # it may have written there
            if buffer.seen is not None or buffer.is_valid_on("cpu"):
                buffer.wrote_on(backend, memory)
        results = []
        for memory, low, nbytes, layout, dtype in self._outputs:
            try:
                made = device_buffer(
                    backend.device, backend.allocate(nbytes or 1), nbytes or 1
                )
            except OutOfMemoryError:
                made = recover.empty(nbytes or 1, str(device))
            if nbytes:
                backend.copy(memory, low, made.read_on(backend), nbytes)
            results.append(DeviceArray._of_buffer(made, layout, dtype, device))
        if is_active():
            seconds = time.perf_counter() - started
            label = str(device)
            emit(Event("graph", self._name, label, seconds=seconds, start=started))
        else:
            count("graph")
        return _put_together(self._result, results)


def _one_device(arrays: list[DeviceArray]) -> Device | None:
    """The device of all arrays; None if there is none."""
    found = dict.fromkeys([x._device for x in arrays])
    if len(found) > 1 and not any([d.kind in ("auto", "cpu") for d in found]):
        raise DeviceMismatchError(f"graph: arrays on {', '.join(map(str, found))}")
    return next(iter(found)) if len(found) == 1 else None


def _lies(x: DeviceArray) -> tuple[Any, ...]:
    return x.shape, x.dtype, x.strides


def _lies_in(
    backend: Any, x: DeviceArray
) -> tuple[Memory, int, int, Layout, np.dtype[Any]]:
    """The memory of an array, its part of it, and how it lies there."""
    read = x._read()
    assert read.value.buffer is not None
    layout = read.layout
    low, high = layout.span(x.dtype.itemsize)
    own = Layout(layout.shape, layout.strides, layout.offset - low)
    return read.value.buffer.read_on(backend), low, high - low, own, x.dtype


def _taken_apart(x: Any, arrays: list[DeviceArray]) -> Any:
    """Lists, tuples and dicts with slots in the place of arrays."""
    if isinstance(x, DeviceArray):
        for number, known in enumerate(arrays):
            if known is x:
                return _Slot(number)
        arrays.append(x)
        return _Slot(len(arrays) - 1)
    if type(x) in (list, tuple):
        return type(x)([_taken_apart(item, arrays) for item in x])
    if type(x) is dict:
        return {name: _taken_apart(item, arrays) for name, item in x.items()}
    return x


def _plain_views(given: Any, arrays: list[DeviceArray]) -> tuple[Any, ...] | None:
    """How the arguments lie, where they are different arrays and nothing else."""
    arguments, keywords = given
    if keywords or len(arguments) != len(arrays):
        return None
    if any([type(x) is not _Slot for x in arguments]):
        return None
    views = tuple([x._view for x in arrays])
    return None if None in views else views


def _put_together(x: Any, arrays: list[DeviceArray]) -> Any:
    """What `_taken_apart` took apart, with other arrays."""
    if type(x) is _Slot:
        return arrays[x.number]
    if type(x) in (list, tuple):
        return type(x)([_put_together(item, arrays) for item in x])
    if type(x) is dict:
        return {name: _put_together(item, arrays) for name, item in x.items()}
    return x


def _key(x: Any) -> Any:
    """What of the arguments makes another graph."""
    if type(x) is _Slot:
        return (_Slot, x.number)
    if type(x) in (list, tuple):
        return (type(x), *map(_key, x))
    if type(x) is dict:
        return (dict, *[(name, _key(item)) for name, item in x.items()])
    with contextlib.suppress(TypeError):
        hash(x)
        return (type(x), x)
    raise TypeError(
        f"graph: got an argument of type {type(x).__name__}, takes arrays of dcarray's "
        "and hashable values"
    )
