"""Groups that run on the host, wherever their arrays lie."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.buffer import Buffer, device_buffer
from . import joining
from .callers import line_of
from .places import Into
from .ready import Ready

if TYPE_CHECKING:
    from .found import Found
    from .plans import Plan

__all__ = ["HostAnywhere"]

HostArray = np.ndarray[Any, Any]

MOST = 1024
"""Ways in which operands of one program lie that are remembered."""

SMALL = 1 << 14
"""Bytes from which memory comes from the pool."""

_MISSING = object()


class HostAnywhere(Ready):
    """A program on the host, for plans of one run: where things lie is an argument.

    Parameters
    ----------
    backend : CpuBackend
    executable : Executable
    """

    __slots__ = ("executable", "launches")

    def __init__(self, backend: Any, executable: Any) -> None:
        self.backend = backend
        self.device = "cpu"
        self.executable = executable
        self.launches: dict[Any, Any] = {}

    def run(self, found: Found, into: Into | None = None) -> list[Buffer | None] | None:
        """Run it; see `Ready.run`.  What raises flags is in ``found.raised``, with the
        operations to blame."""
        plan: Plan = found.plan
        backend: Any = self.backend
        reduced = plan.reduced
        roots: list[Any] = []
        addresses: list[int] = []
        strides: list[Any] = []
        buffers: list[Buffer | None] = []
        for place, value in enumerate(found.leaves):
            buffer = value.buffer
            if buffer is None or buffer._valid is not None:
                return None
            layout = plan.leaves[place][0]
            roots.append(buffer.root)
            addresses.append(buffer.start + layout.offset)
            strides.append(layout.strides)
        for layout, dtype in plan.outputs:
            if into is not None and not buffers:
                buffer = into.read.value.buffer
                if buffer is None or buffer._valid is not None:
                    return None
                layout = into.read.layout
                buffers.append(None)
            else:
                buffer = _room(backend, layout.size * dtype.itemsize)
                buffers.append(buffer)
            roots.append(buffer.root)
            addresses.append(buffer.start + layout.offset)
            strides.append(layout.strides)
        watch = 0
        for value in found.values:
            expr = value.expr
            assert expr is not None
            watch |= expr.errstate
        key: Any = (plan.shape, tuple(strides), reduced)
        launch = self.launches.get(key, _MISSING)
        target: Any = None
        if reduced is not None:
            watch |= found.accumulator.errstate
            buffer = _room(backend, reduced.nbytes)
            buffers.append(buffer)
            target = backend.view(buffer.root, *reduced.kept)
        if launch is _MISSING:
            launch = self._launch(plan, key, target)
        arrays = partial(_arrays, backend.view, plan, roots, into)
        began = 0.0
        if joining.may_join((found.stored or found.leaves)[0].device):
            began = _now()
        raised = None
        if reduced is not None:
            raised = launch.start(addresses, arrays, found.scalars, target, watch)
        elif launch is not None:
            raised = launch.start(addresses, found.scalars, watch, arrays)
        if raised is None:
            inputs, outputs = arrays()
            raised = self.executable.run(
                plan.shape, inputs, found.scalars, outputs, watch
            )
        if began:
            joining.spent(_now() - began)
        if raised:
            found.raised = raised, _to_blame(found)
        return buffers

    def _launch(self, plan: Plan, key: Any, target: Any) -> Any:
        """What launches the program on operands that lie so; None where nothing is
        compiled for it."""
        backend: Any = self.backend
        shape, strides, reduced = key
        if reduced is not None:
            launch = backend.folded(
                self.executable, shape, strides, target, reduced.order
            )
        else:
            launch = backend.prepared(self.executable, shape, plan.leaves, plan.outputs)
        if len(self.launches) >= MOST:
            self.launches.clear()
        self.launches[key] = launch
        return launch


def _room(backend: Any, nbytes: int) -> Buffer:
    """New memory: what is small is NumPy's, which takes less time than the pool."""
    memory = np.empty(nbytes, np.uint8) if nbytes < SMALL else backend.allocate(nbytes)
    return device_buffer("cpu", memory, nbytes)


def _arrays(
    view: Any, plan: Plan, roots: list[Any], into: Into | None
) -> tuple[list[HostArray], list[HostArray]]:
    """What is read and written, as arrays."""
    places: list[Any] = [*plan.leaves, *plan.outputs]
    count = len(plan.leaves)
    if into is not None:
        places[count] = into.read.layout, into.read.dtype
    shown = [view(root, *lying) for root, lying in zip(roots, places, strict=True)]
    return shown[:count], shown[count:]


def _to_blame(found: Found) -> list[Any]:
    """For each node of the program, and for a reduction behind them, the operation,
    what NumPy was told to do, and the user's line."""
    plan, values = found.plan, found.values
    exprs: list[Any] = [values[number].expr for number in plan.sources]
    where: list[Any] = [(e.named, e.errstate, e.frame) for e in exprs]
    reduction, accumulator = plan.program.reduction, found.accumulator
    if accumulator is not None:
        assert reduction is not None
        line = line_of(accumulator.place)
        where.append((reduction.op, accumulator.errstate, line))
    return where


_now = time.perf_counter
