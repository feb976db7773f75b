"""The backend of a simulated device."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...layout import Layout
from ...ops.program import Program
from ..base import DeviceProperties, Raised, Rates
from .faults import Faults
from .launch import Executable
from .library import VendorLibrary
from .memory import Handle, Memory, View

__all__ = ["SimulatedBackend"]

HostArray = np.ndarray[Any, Any]

DTYPES = "?bBhHiIlLqQefdFD"
RATES = Rates(
    launch=10e-6,
    bandwidth=1e12,
    operations=1e13,
    transfer_latency=10e-6,
    transfer_bandwidth=2e10,
)
"""Those of a fast GPU: the simulation itself is slow."""


class SimulatedBackend:
    """A device whose memory NumPy cannot touch.

    Parameters
    ----------
    index : int
        Number in the label, ``"test:0"``.
    memory : int, optional
        Bytes of memory that it has.
    without : iterable of dtype
        Dtypes that it lacks.
    rates : Rates, optional
        What the router believes.

    Attributes
    ----------
    faults : Faults
        Failures on demand, and counts of all calls.
    moved : Counter
        Bytes moved by ``"upload"`` and ``"download"``.
    """

    def __init__(
        self,
        index: int = 0,
        memory: int | None = None,
        without: Iterable[Any] = (),
        rates: Rates = RATES,
    ) -> None:
        self.device = f"test:{index}"
        missing = {np.dtype(dtype) for dtype in without}
        self.supported = frozenset(map(np.dtype, DTYPES)) - missing
        self.rates = rates
        self.faults = Faults(self.device)
        self.moved: Counter[str] = Counter()
        self._memory = Memory(self.device, memory)
        self.pool = self._memory.pool
        self.native: Mapping[str, Callable[..., Any]] = VendorLibrary(
            self._memory, self.faults, self.supported
        )
        self._lock = threading.Lock()

    def allocate(self, nbytes: int) -> Handle:
        """A block of ``nbytes`` from the pool; it goes back when it dies."""
        self.faults.strike("allocate")
        return self._memory.rent(nbytes)

    def view(self, memory: Handle, layout: Layout, dtype: np.dtype[Any]) -> View:
        """A block seen as an array."""
        if not layout.size:  # no element lies anywhere
            layout = Layout(layout.shape, layout.strides)
        low, high = layout.span(dtype.itemsize)
        assert 0 <= low <= high <= memory.nbytes, f"{layout} reaches beyond {memory}"
        return View(memory, layout, dtype)

    def upload(self, source: HostArray, target: Handle) -> None:
        """Copy bytes of the host."""
        self._move("upload", source, self._memory.bytes_of(target)[: source.size])

    def download(self, source: Handle, target: HostArray) -> None:
        """Copy bytes to the host."""
        self._move("download", self._memory.bytes_of(source)[: target.size], target)

    def _move(self, verb: str, source: HostArray, target: HostArray) -> None:
        self.faults.strike(verb)
        np.copyto(target, source)
        if target.size and self.faults.corrupts(verb):
            target[target.size // 2] ^= 0xFF
        with self._lock:
            self.moved[verb] += target.size

    def compile(self, program: Program) -> Executable:
        """Make a program ready to run."""
        self.faults.strike("compile", program.describe())
        return Executable(program)

    def launch(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        inputs: Sequence[View],
        scalars: Sequence[np.generic],
        outputs: Sequence[View],
        reduced: View | None = None,
        order: tuple[int, ...] | None = None,
        watch: int = 0,
    ) -> Sequence[Raised]:
        """Run over ``shape``.  The device knows no floating-point flags."""
        self.faults.strike("launch", executable.program.describe())
        memory = self._memory
        executable.run(
            shape,
            [memory.array(view) for view in inputs],
            scalars,
            [memory.array(view) for view in outputs],
            None if reduced is None else memory.array(reduced),
        )
        return ()

    def properties(self) -> DeviceProperties:
        """What the device pretends to be."""
        free = None
        if self._memory.capacity is not None:
            free = self._memory.capacity - self._memory.used
        return DeviceProperties(
            device=self.device,
            name="simulated device",
            vendor="dcarray",
            driver="interpreter of the kernel language",
            memory_total=self._memory.capacity,
            memory_free=free,
            compute_units=1,
            dtypes=self.supported,
            pools=(self.pool.statistics(),),
            status="lost" if self.faults.lost else "ok",
        )

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when it has ended."""
        if self.faults.lost:
            self.faults.strike("launch")
