"""Groups that are ready to run on the host, where that is all there is."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.buffer import Buffer, device_buffer
from ..backends.registry import AUTO, Device
from . import joining, route
from .compiled import executable_for
from .places import Into
from .ready import Ready
from .route import auto_devices

if TYPE_CHECKING:
    from .found import Found
    from .plans import Plan

__all__ = ["HostReady", "host_ready", "is_host_alone"]

HostArray = np.ndarray[Any, Any]


def is_host_alone(device: Device) -> bool:
    """Whether work with this label can run on the host only."""
    if device is AUTO and len(auto_devices) == 1:
        return True
    labels = route.candidates(device)
    return len(labels) == 1 and labels[0] == "cpu"


def host_ready(backend: Any, plan: Plan) -> HostReady | None:
    """A plan that has run on the host; None where the long way is the only one."""
    if plan.reduced is not None:
        return None
    executable, _ = executable_for(backend, plan.program)
    prepared = backend.prepared(executable, plan.shape, plan.leaves, plan.outputs)
    return None if prepared is None else HostReady(backend, plan, prepared)


class HostReady(Ready):
    """A plan on the host.

    Parameters
    ----------
    backend : CpuBackend
    plan : Plan
    prepared : Prepared
    """

    __slots__ = ("offsets", "places", "plan", "prepared")

    def __init__(self, backend: Any, plan: Plan, prepared: Any) -> None:
        self.backend = backend
        self.device = "cpu"
        self.plan = plan
        self.prepared = prepared
        self.offsets = [layout.offset for layout, _ in plan.leaves]
        self.places = [layout.offset for layout, _ in plan.outputs]
        self.sizes = [layout.size * dtype.itemsize for layout, dtype in plan.outputs]

    def run(self, found: Found, into: Into | None = None) -> list[Buffer | None] | None:
        """Run it; see `Ready.run`.  What raises flags is in ``found.raised``, with the
        operations to blame."""
        roots: list[Any] = []
        addresses: list[int] = []
        buffers: list[Buffer | None] = []
        for place, value in enumerate(found.leaves):
            buffer = value.buffer
            if buffer is None or buffer._valid is not None:
                return None
            roots.append(buffer.root)
            addresses.append(buffer.start + self.offsets[place])
        for place, nbytes in enumerate(self.sizes):
            if place == 0 and into is not None:
                buffer = into.read.value.buffer
                if buffer is None or buffer._valid is not None:
                    return None
                roots.append(buffer.root)
                addresses.append(buffer.start + into.read.layout.offset)
                buffers.append(None)
            else:
                buffer = device_buffer("cpu", self.backend.allocate(nbytes), nbytes)
                roots.append(buffer.root)
                addresses.append(buffer.start + self.places[place])
                buffers.append(buffer)
        watch = 0
        for value in found.values:
            expr = value.expr
            assert expr is not None
            watch |= expr.errstate
        began = 0.0
        if joining.may_join(found.stored[0].device):
            began = _now()
        raised = self.prepared.start(
            addresses, found.scalars, watch, partial(self.arrays, roots)
        )
        if raised is None:
            return None
        if began:
            joining.spent(_now() - began)
        if raised:
            values = found.values
            exprs: list[Any] = [values[number].expr for number in self.plan.sources]
            found.raised = raised, [(e.named, e.errstate, e.frame) for e in exprs]
        return buffers

    def arrays(self, roots: list[Any]) -> tuple[list[HostArray], list[HostArray]]:
        """What is read and written, as arrays."""
        plan, view = self.plan, self.backend.view
        shown = [
            view(root, *lying)
            for root, lying in zip(roots, (*plan.leaves, *plan.outputs), strict=True)
        ]
        count = len(plan.leaves)
        return shown[:count], shown[count:]


_now = time.perf_counter
