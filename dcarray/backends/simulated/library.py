"""The vendor's library of the simulated device: every row that does not fuse, computed
by its oracle on the device's private memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...layout import Layout
from ...ops.spec import LIBRARY, Kind, Op
from .faults import Faults
from .memory import Handle, Memory, View

__all__ = ["VendorLibrary"]

HostArray = np.ndarray[Any, Any]
Result = tuple[Handle, Layout, np.dtype[Any]]


class VendorLibrary(Mapping[str, Callable[..., Any]]):
    """Functions by the name of the row that they compute.

    Each takes `View`s and other operands, and the row's options, and returns a tuple
    of ``(memory, layout, dtype)``.
    """

    def __init__(
        self, memory: Memory, faults: Faults, supported: frozenset[np.dtype[Any]]
    ) -> None:
        self._memory = memory
        self._faults = faults
        self._supported = supported

    def __getitem__(self, name: str) -> Callable[..., tuple[Result, ...]]:
        op = LIBRARY[name]

        def call(*operands: Any, **options: Any) -> tuple[Result, ...]:
            return self._call(op, operands, options)

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(LIBRARY)

    def __len__(self) -> int:
        return len(LIBRARY)

    def _call(
        self, op: Op, operands: tuple[Any, ...], options: Mapping[str, Any]
    ) -> tuple[Result, ...]:
        self._faults.strike("library", op.name)
        given = [self._resolved(x) for x in operands]
        named = {name: self._resolved(x) for name, x in options.items()}
        with np.errstate(all="ignore"):
            results = _oracle(op)(*given, **named)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        return tuple([self._stored(op, np.asarray(result)) for result in results])

    def _resolved(self, x: Any) -> Any:
        if isinstance(x, View):
            return self._memory.array(x)
        if type(x) in (tuple, list):
            return type(x)([self._resolved(item) for item in x])
        return x

    def _stored(self, op: Op, result: HostArray) -> Result:
        if result.dtype not in self._supported:
            raise UnsupportedError(
                f"{op.name}: {self._memory.device} has no arrays of {result.dtype}"
            )
        # A dense array with axes in the order in which they lie in NumPy's result.
        layout = Layout(result.shape, np.empty_like(result).strides)
        self._faults.strike("allocate", op.name)
        handle = self._memory.rent(result.nbytes)
        self._memory.array(View(handle, layout, result.dtype))[...] = result
        return handle, layout, result.dtype


def _oracle(op: Op) -> Callable[..., Any]:
    if op.kind is Kind.SCAN and isinstance(op.numpy, np.ufunc):
        return op.numpy.accumulate
    if op.kind is Kind.REDUCTION and isinstance(op.numpy, np.ufunc):
        return op.numpy.reduce
    return op.numpy
