"""Running a specialised kernel on the device of its arguments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...array import DeviceArray
from ...array.state import is_writeable
from ...backends.base import Backend
from ...backends.registry import CPU, Device
from ...errors import CompileError, DeviceError, LaunchError, UnsupportedError
from ...kernel.nodes import Array
from ...kernel.plain import run_plain
from ...kernel.specialise import Specialised
from ...lazy import recover, route
from ...lazy.places import Into
from ...profile import Event, count, emit, is_active
from .arguments import HostArray, flat, settle

__all__ = ["interpret", "launch"]

Sizes = tuple[int, ...]


def launch(
    given: Specialised,
    arguments: Sequence[Any],
    lengths: Sizes,
    grid: Sizes,
    group: Sizes,
    device: Device,
) -> None:
    """Run a kernel.

    Parameters
    ----------
    given : Specialised
    arguments : sequence
        Arrays, NumPy's among them, and NumPy scalars.
    lengths : tuple of int
        Of the grid that the source sees, where ``grid`` may exceed it.
    grid, group : tuple of int
        Work items in all, and those of a group.
    device : Device

    Raises
    ------
    LaunchError, CompileError
        The device refused.
    IndexError
        An index outside of its array, if the kernel checks.
    """
    name = given.source.tree.name
    settle(name, arguments, given.written)
    started = time.perf_counter()
    refused: list[Exception] = []

    def attempt(backend: Backend) -> None:
        refused.clear()
        try:
            _run(backend, given, arguments, lengths, grid, group)
        except (CompileError, LaunchError, UnsupportedError, IndexError) as error:
            refused.append(error)

    buffers = (
        [x._read().value.buffer for x in arguments if isinstance(x, DeviceArray)]
        if device.kind not in ("auto", "cpu")
        else []
    )
    reads = tuple(dict.fromkeys([b for b in buffers if b is not None]))
    elements = math.prod(grid)
    work = route.Work(name, elements, 1, reads, 0)
    here = CPU if device.kind == "auto" else device
    ran_on = recover.run(attempt, lambda: work, here)
    if refused:
        raise _named(refused[0], given)
    if not is_active():
        count("kernel")
        return
    emit(
        Event(
            "kernel",
            name,
            ran_on,
            elements=elements,
            nbytes=sum([b.nbytes for b in reads]),
            seconds=time.perf_counter() - started,
            start=started,
        )
    )


def _run(
    backend: Backend,
    given: Specialised,
    arguments: Sequence[Any],
    lengths: Sizes,
    grid: Sizes,
    group: Sizes,
) -> None:
    run: Any = getattr(backend, "run", None)
    if run is None:
        raise UnsupportedError(f"{backend.device} runs no kernels of the user")
    for dtype in given.dtypes:
        if dtype.kind in "biufc" and dtype not in backend.supported:
            raise UnsupportedError(f"{backend.device} has no {dtype}")
    on_host = backend.device == "cpu"
    places = [
        _Placed(x, on_host, place in given.written, backend)
        if isinstance(x, (DeviceArray, np.ndarray))
        else x
        for place, x in enumerate(arguments)
    ]
    flags: dict[str, Any] = {}
    values: list[Any] = []
    for parameter, role in zip(given.kernel.parameters, given.roles, strict=True):
        if role.kind == "grid":
            values.append(lengths[role.axis])
        elif role.kind in ("flag", "found"):
            assert isinstance(parameter, Array)
            flags[role.kind] = _Report(parameter.dtype, backend, on_host)
            values.append(flags[role.kind].memory)
        else:
            place = places[role.place]
            if role.kind == "number":
                values.append(place)
            elif role.kind == "array":
                values.append(place.memory)
            elif role.kind == "offset":
                values.append(place.offset)
            elif role.kind == "stride":
                values.append(place.strides[role.axis])
            else:
                values.append(place.shape[role.axis])
    run(given.kernel, grid, group, values)
    for item in places:
        if isinstance(item, _Placed):
            item.finish()
    if flags:
        number = int(flags["flag"].read()[0])
        if number:
            raise _outside(given, number - 1, flags["found"].read())


def interpret(
    function: Callable[..., Any],
    grid: Sizes,
    group: Sizes,
    arguments: Sequence[Any],
    types: Sequence[Any],
    constants: Mapping[str, Any],
) -> None:
    """Run a kernel's function as plain Python; arrays of a device are copied to the
    host and back."""
    given: list[Any] = []
    back: list[tuple[DeviceArray, HostArray]] = []
    for item, kind in zip(arguments, types, strict=True):
        if not isinstance(item, DeviceArray):
            given.append(int(item) if kind is int else item)
        elif item._device.kind in ("auto", "cpu") and is_writeable(item):
            given.append(item._writable_array())
        else:
            host = item._array().copy()
            given.append(host)
            if is_writeable(item):
                back.append((item, host))
    run_plain(function, grid, group, given, constants)
    for array, host in back:
        if not np.array_equal(array._array(), host, equal_nan=host.dtype.kind in "fc"):
            array[...] = host


class _Placed:
    """An array where the device can reach it."""

    def __init__(
        self, array: Any, on_host: bool, writes: bool, backend: Backend
    ) -> None:
        self.backend = backend
        self.shape = array.shape
        self.into: Into | None = None
        self.back: tuple[HostArray, HostArray] | None = None
        self.fetched: tuple[HostArray, DeviceArray] | None = None
        if on_host:
            if isinstance(array, DeviceArray):
                host = array._writable_array() if writes else array._array()
            else:
                host = array
            found = flat(host)
            if found is None:
                copied = host.astype(host.dtype.newbyteorder("="), "C")
                found = flat(copied)
                assert found is not None
                self.back = (host, copied) if writes else None
            self.memory, self.offset, self.strides = found
            return
        if not isinstance(array, DeviceArray):
            copied = np.array(array, array.dtype.newbyteorder("="), order="C")
            device = Device(backend.device)
            moved = DeviceArray._of_host(copied, device)
            self.fetched = (array, moved) if writes else None
            array = moved
        read = array._read()
        buffer = read.value.buffer
        assert buffer is not None
        if writes:
            self.into = Into(read, whole=False)
            self.memory = self.into.prepare(backend)
        else:
            self.memory = buffer.read_on(backend)
        view = backend.view(self.memory, read.layout, read.dtype)
        self.offset, self.strides = view.elements()

    def finish(self) -> None:
        """The kernel has been started: what it wrote is what counts now."""
        if self.into is not None:
            self.into.wrote(self.backend, self.memory)
        if self.back is not None:
            np.copyto(*self.back)
        if self.fetched is not None:
            np.copyto(self.fetched[0], self.fetched[1]._array())


class _Report:
    """Four numbers that the kernel writes when an index is outside."""

    def __init__(self, dtype: np.dtype[Any], backend: Backend, on_host: bool) -> None:
        self.host = np.zeros(4, dtype)
        self.backend = backend
        self.memory: Any = self.host
        if not on_host:
            self.memory = backend.allocate(self.host.nbytes)
            backend.upload(self.host.view(np.uint8), self.memory)

    def read(self) -> HostArray:
        """What the kernel wrote."""
        if self.memory is not self.host:
            self.backend.download(self.memory, self.host.view(np.uint8))
        return self.host


def _line(given: Specialised, source: Any, node: Any) -> str:
    file, line, _, text, *_ = source.place(node)
    return f'File "{file}", line {line}: {text.strip()}'


def _outside(given: Specialised, number: int, found: HostArray) -> IndexError:
    site = given.sites[number]
    return IndexError(
        f"{given.source.tree.name}: index {int(found[0])} is out of bounds for axis "
        f"{site.axis} of {site.label} with size {int(found[1])}\n  "
        f"{_line(given, site.source, site.node)}"
    )


def _named(error: Exception, given: Specialised) -> Exception:
    """The error with the line of the kernel that it is about."""
    if isinstance(error, DeviceError):
        error.kernel = given.source.tree.name
        if error.source_line is None:
            file, line, *_ = given.source.place(given.source.tree)
            error.source_line = f"{file}:{line}"
        return error
    if not isinstance(error, UnsupportedError):
        return error
    text = str(error)
    place: Any = (given.source, given.source.tree)
    for dtype, where in given.dtypes.items():
        if text.endswith(f"no {dtype}"):
            place = where
            break
    else:
        if "atomic" in text and given.atomics:
            place = next(iter(given.atomics.values()))
    name = given.source.tree.name
    return UnsupportedError(f"{name}: {text}\n  {_line(given, *place)}")
