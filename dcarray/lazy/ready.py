"""Launches that are prepared: what is left of a group that ran on its device before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backends.base import Placing, Preparing
from ..backends.buffer import Buffer, device_buffer
from ..backends.gate import gate
from ..backends.residents import moment
from ..backends.starting import allocator_of, starter_of
from .compiled import executable_for
from .places import Into

if TYPE_CHECKING:
    from .found import Found
    from .plans import Plan

__all__ = ["Anywhere", "Ready"]


class Ready:
    """A plan on a device.

    Parameters
    ----------
    backend : Backend
        It prepares launches.
    plan : Plan
        It has run there.
    """

    __slots__ = ("allocator", "backend", "device", "sizes", "starter")

    def __init__(self, backend: Preparing, plan: Plan) -> None:
        executable, _ = executable_for(backend, plan.program)
        reduced = plan.reduced
        self.backend = backend
        self.device = backend.device
        start: Any = backend.prepare(
            executable,
            plan.shape,
            plan.leaves,
            plan.outputs,
            None if reduced is None else reduced.kept,
        )
        self.starter = starter_of(start)
        self.allocator = allocator_of(backend)
        self.sizes = [layout.size * dtype.itemsize for layout, dtype in plan.outputs]
        if reduced is not None:
            self.sizes.append(reduced.nbytes)

    def run(self, found: Found, into: Into | None = None) -> list[Buffer | None] | None:
        """Launch; the buffers of the outputs, and of a reduction behind them.

        None, and nothing has happened, where something that is read must be brought to
        the device first.  Nothing is lost by an error.  The first output goes ``into``
        memory that lies as the plan's, and has no buffer of its own then.
        """
        return self._run(found, into, self.sizes)

    def _start(self, found: Found, memories: list[Any]) -> None:
        self.starter.start(memories, found.scalars)

    def _run(
        self, found: Found, into: Into | None, sizes: list[int]
    ) -> list[Buffer | None] | None:
        backend, device, allocator = self.backend, self.device, self.allocator
        memories: list[Any] = []
        buffers: list[Buffer | None] = []
        _gate.enter()
        try:
            now = moment()
            for value in found.leaves:
                buffer = value.buffer
                if buffer is None:
                    return None
                valid, copies = buffer._valid, buffer._copies
                if valid is None or copies is None or device not in valid:
                    return None
                # Whoever holds it keeps it, also when the buffer gives it up.
                memory = copies.get(device)
                if memory is None:
                    return None
                buffer.last_used = now
                memories.append(memory)
            if into is not None:
                written = into.prepare(backend)
                memories.append(written)
                buffers.append(None)
                sizes = sizes[1:]
            # No buffer shows the new memory before the launch: nobody can spill it.
            place = len(memories)
            for nbytes in sizes:
                memories.append(allocator.allocate(nbytes))
            self._start(found, memories)
            if into is not None:
                into.wrote(backend, written)
            for nbytes in sizes:
                buffers.append(device_buffer(device, memories[place], nbytes))
                place += 1
            return buffers
        finally:
            _gate.leave()


class Anywhere(Ready):
    """A program on a device, for plans of one run: where things lie is an argument.

    Parameters
    ----------
    backend : Backend
        It prepares launches.
    executable : Placing
    """

    __slots__ = ("executable",)

    def __init__(self, backend: Preparing, executable: Placing) -> None:
        self.backend = backend
        self.device = backend.device
        self.allocator = allocator_of(backend)
        self.executable = executable

    def run(self, found: Found, into: Into | None = None) -> list[Buffer | None] | None:
        """See `Ready.run`."""
        plan: Plan = found.plan
        sizes: list[int] = []
        for layout, dtype in plan.outputs:
            sizes.append(layout.size * dtype.itemsize)
        if plan.reduced is not None:
            sizes.append(plan.reduced.nbytes)
        return self._run(found, into, sizes)

    def _start(self, found: Found, memories: list[Any]) -> None:
        plan: Plan = found.plan
        places = plan.leaves + plan.outputs
        reduced = plan.reduced
        if reduced is not None:
            places = (*places, reduced.kept)
        self.executable.start(
            plan.shape, places, reduced is not None, memories, found.scalars
        )


_gate = gate
