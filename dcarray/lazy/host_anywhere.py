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


class HostAnywhere(Ready):
    """A program on the host, for plans of one run: where things lie is an argument.

    Parameters
    ----------
    backend : CpuBackend
    executable : Executable
    """

    __slots__ = ("executable",)

    def __init__(self, backend: Any, executable: Any) -> None:
        self.backend = backend
        self.device = "cpu"
        self.executable = executable

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
                nbytes = layout.size * dtype.itemsize
                buffer = device_buffer("cpu", backend.allocate(nbytes), nbytes)
                buffers.append(buffer)
            roots.append(buffer.root)
            addresses.append(buffer.start + layout.offset)
            strides.append(layout.strides)
        watch = 0
        for value in found.values:
            expr = value.expr
            assert expr is not None
            watch |= expr.errstate
        target, order = None, None
        if reduced is not None:
            watch |= found.accumulator.errstate
            order = reduced.order
            nbytes = reduced.nbytes
            buffer = device_buffer("cpu", backend.allocate(nbytes), nbytes)
            buffers.append(buffer)
            target = backend.view(buffer.root, *reduced.kept)
        began = 0.0
        if joining.may_join():
            began = _now()
        raised = backend.launch_at(
            self.executable,
            plan.shape,
            tuple(strides),
            addresses,
            partial(_arrays, backend.view, plan, roots, into),
            found.scalars,
            target,
            order,
            watch,
        )
        if began:
            joining.spent(_now() - began)
        if raised:
            found.raised = raised, _to_blame(found)
        return buffers


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
