"""Calls of operations that do not fuse: sorting, picking, products, solvers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..backends.cpu import extremes
from ..backends.registry import Device
from ..config import current
from ..dtypes import is_recordable
from ..lazy import joining, route
from ..lazy.libraries import call_library
from ..ops.reduction import ARGMAX, ARGMIN
from ..ops.spec import Kind, Op
from .operands import as_host, as_operand, device_of, wrap
from .repeated import repeated
from .state import ArrayState

__all__ = ["library", "oracle"]

Array = TypeVar("Array", bound=ArrayState)

_OWN: dict[Op, Callable[..., Any]] = {
    ARGMAX: extremes.argmax,
    ARGMIN: extremes.argmin,
}
"""The CPU's own way for rows; called like their oracles."""

_WHOLE = frozenset(
    {
        Kind.CONTRACTION,
        Kind.INDEXING,
        Kind.SCAN,
        Kind.SOLVER,
        Kind.STATISTIC,
        Kind.TRANSFORM,
    }
)
"""Kinds of rows among which some are whole functions of NumPy on all cores."""


@functools.cache
def oracle(op: Op) -> Callable[..., Any]:
    """The host's function for a whole operation: NumPy's, or the CPU's own."""
    if op.name.startswith("nn."):
        from ..backends.cpu.neural import FUNCTIONS  # only who uses it pays for it

        return FUNCTIONS.get(op, op.numpy)
    if op in _OWN:
        return _OWN[op]
    if op.kind in _WHOLE:
        from ..backends.cpu import wholes  # only who uses them pays for it

        if op in wholes.FUNCTIONS:
            return wholes.FUNCTIONS[op]
    return op.numpy.accumulate if op.kind is Kind.SCAN else op.numpy  # type: ignore[attr-defined]


def library(cls: type[Array], op: Op, operands: Sequence[Any], **options: Any) -> Any:
    """Call an operation that does not fuse, on the operands' device."""
    return _library(cls, op, *operands, **options)


@repeated
def _library(cls: type[Array], op: Op, /, *given: Any, **options: Any) -> Any:
    operands: Sequence[Any] = [
        x if type(x) is cls else as_operand(x) if _is_arraylike(x) else x for x in given
    ]
    device = device_of(operands, op.name)
    if not device.is_named and (
        route.candidates(device) == ["cpu"] or _is_host_only(operands, device)
    ):
        hosts = [as_host(x) for x in operands]
        named = {name: as_host(x) for name, x in options.items()}
        began = time.perf_counter() if joining.may_join(device) else 0.0
        found = oracle(op)(*hosts, **named)
        if began:
            joining.spent(time.perf_counter() - began)
        return wrap(cls, found, device)
    reads = [
        x._read()
        if type(x) is cls
        else _moved(cls, x, device)._read()
        if _is_array(x)
        else x
        for x in operands
    ]
    for name, x in options.items():
        if isinstance(x, ArrayState):
            options[name] = x._read()
    results = [
        cls._of_buffer(buffer, layout, dtype, device)
        for buffer, layout, dtype in call_library(
            op, oracle(op), reads, device, options
        )
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _is_host_only(operands: Sequence[Any], device: Device) -> bool:
    """Whether ``auto`` has no choice: the arrays are small, or of dtypes that other
    devices do not know."""
    arrays = [x for x in operands if _is_array(x)]
    return sum([x.size for x in arrays]) < current().whole_below or not all(
        [is_recordable(x.dtype) for x in arrays]
    )


def _is_array(x: Any) -> bool:
    return isinstance(x, (ArrayState, np.ndarray))


def _is_arraylike(x: Any) -> bool:
    return (
        not isinstance(x, (str, bytes, slice)) and x is not None and x is not Ellipsis
    )


def _moved(cls: type[Array], x: Any, device: Device) -> ArrayState:
    return x if isinstance(x, ArrayState) else cls._of_shared(x)
