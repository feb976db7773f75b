"""Operations that do not fuse: calls of a device's library, or of NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.base import Backend
from ..backends.buffer import Buffer, device_buffer
from ..backends.gate import gate
from ..backends.registry import Device, backend_for
from ..dtypes import DType
from ..errors import DeviceError, UnsupportedError
from ..layout import Layout
from ..ops.spec import Kind, Op
from ..profile import Event, count, emit, is_active
from . import recover, route
from .callers import name_line, user_frame
from .execute import evaluate, host_view
from .graph import Read
from .noting import notes
from .running import view_on

__all__ = ["call_library", "owned"]

HostArray = np.ndarray[Any, Any]

DENSE = 16
"""Products of numbers that a library does in the time of one operation of a kernel."""

_seen: set[tuple[str, str]] = set()
"""Devices and operations whose library was called before, and so is loaded.  It grows
no further than the tables of operations."""

Result = tuple[Buffer, Layout, DType]


def call_library(
    op: Op,
    oracle: Callable[..., Any],
    operands: Sequence[Any],
    device: Device,
    options: dict[str, Any],
) -> list[Result]:
    """Call an operation that does not fuse; runs now.

    Parameters
    ----------
    op : Op
    oracle : callable
        NumPy's function, for the host.
    operands : sequence
        `Read`s, which are evaluated, and other objects, which are passed on.
    device : Device
        Label of the result.
    options : dict
        Passed on by keyword, `Read`s among them as the operands are.

    Returns
    -------
    list of (Buffer, Layout, dtype)
        One for each result.
    """
    reads = [x for x in (*operands, *options.values()) if type(x) is Read]
    noting = notes()
    places = None if noting is None else noting.reading(reads)
    evaluate([read.value for read in reads])
    failure: Exception | None = None
    if device.is_named and not is_active():
        try:  # the short way: nobody watches, and there is no choice
            backend = backend_for(device.label)
            with gate:
                results = _on_device(op, backend, operands, options)
            count("library")
            if noting is not None:
                noting.called(op, backend, operands, options, places, results)
            return results
        except (DeviceError, UnsupportedError) as error:
            failure = recover.without_locals(error)
    started = time.perf_counter()
    work = _work(op, reads)
    results = []

    def attempt(backend: Backend) -> None:
        nonlocal results, failure
        if failure is not None:
            first, failure = failure, None
            raise first
        launched = time.perf_counter()
        if backend.device == "cpu":
            results = _on_host(oracle, operands, options)
        else:
            results = _on_device(op, backend, operands, options)
        if len(route.candidates(device)) > 1:
            called = (backend.device, op.name)
            route.measure(backend, work, launched, called not in _seen)
            _seen.add(called)

    try:
        ran_on = recover.run(attempt, lambda: work, device)
    except DeviceError as error:
        name_line(error, user_frame())
        raise
    emit(
        Event(
            "library",
            op.name,
            ran_on,
            elements=work.elements,
            nbytes=sum([b.nbytes for b in (*work.reads, *[r[0] for r in results])]),
            seconds=time.perf_counter() - started,
            start=started,
        )
    )
    return results


def _work(op: Op, reads: Sequence[Read]) -> route.Work:
    elements = sum([read.layout.size for read in reads])
    if op.kind is Kind.CONTRACTION:
        operations = _products(reads) // (DENSE * max(elements, 1)) + 1
    else:  # sorting and its kin take the logarithm
        operations = elements.bit_length() + 1
    buffers = [r.value.buffer for r in reads if r.value.buffer is not None]
    return route.Work(op.name, elements, operations, tuple(dict.fromkeys(buffers)), 0)


def _products(reads: Sequence[Read]) -> int:
    """How many products of two numbers a contraction of two arrays takes: for each
    element of one, those of the other one that it meets."""
    sizes = sorted([read.layout.size for read in reads])
    if len(sizes) < 2:
        return sizes[0] if sizes else 0
    shared = max([1, *set(reads[0].layout.shape) & set(reads[1].layout.shape)])
    return sizes[-1] * max(sizes[-2] // shared, 1)


def _on_device(
    op: Op, backend: Backend, operands: Sequence[Any], options: dict[str, Any]
) -> list[Result]:
    native = backend.native.get(op.name)
    if native is None:
        raise UnsupportedError(f"{op.name}: not native on {backend.device}")

    def given(x: Any) -> Any:
        if type(x) is not Read:
            return x
        if x.dtype not in backend.supported:
            raise UnsupportedError(f"{op.name}: {backend.device} has no {x.dtype}")
        return view_on(backend, x)

    found = native(
        *[given(x) for x in operands], **{name: given(x) for name, x in options.items()}
    )
    return [
        (device_buffer(backend.device, memory, memory.nbytes), layout, dtype)
        for memory, layout, dtype in found
    ]


def _on_host(
    oracle: Callable[..., Any], operands: Sequence[Any], options: dict[str, Any]
) -> list[Result]:
    hosts: list[HostArray] = []

    def given(x: Any) -> Any:
        if type(x) is not Read:
            return x
        hosts.append(host_view(x))
        return hosts[-1]

    found = oracle(
        *[given(x) for x in operands], **{name: given(x) for name, x in options.items()}
    )
    if not isinstance(found, tuple):
        found = (found,)
    results = [np.asarray(result) for result in found]
    return [
        owned(r.copy("K") if any(np.may_share_memory(r, h) for h in hosts) else r)
        for r in results
    ]


def owned(array: HostArray) -> Result:
    """Take over a new array of NumPy's."""
    buffer = Buffer.of_host(array)
    return buffer, Layout.of(array, buffer.start), array.dtype
