"""What a device must be able to do: the contract, on one screen.

A third party implements `Backend`, registers a factory under the entry-point group
``dcarray.backends`` and proves it with `dcarray.testing.BackendSuite`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ..layout import Layout
from ..ops.program import Program
from .pool import PoolStatistics

__all__ = [
    "Backend",
    "DeviceProperties",
    "Executable",
    "Exporting",
    "Lining",
    "Memory",
    "Operand",
    "Preparing",
    "Raised",
    "Rates",
    "Sharing",
    "Start",
]

Memory: TypeAlias = Any  # a block of a backend's own memory; has ``nbytes``
Operand: TypeAlias = Any  # what `Backend.view` gives: memory seen through a layout
Executable: TypeAlias = Any  # what `Backend.compile` gives
Start: TypeAlias = Callable[[Sequence[Memory], Sequence[np.generic]], None]


@dataclass(frozen=True, slots=True)
class Raised:
    """Floating-point flags that one node of a program raised (NumPy's FPE bits:
    1 divide by zero, 2 overflow, 4 underflow, 8 invalid)."""

    node: int
    flags: int


@dataclass(frozen=True, slots=True)
class Rates:
    """What the router needs to predict a time, in seconds, bytes and operations."""

    launch: float
    bandwidth: float
    operations: float
    transfer_latency: float = 0.0
    transfer_bandwidth: float = float("inf")


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """What a device is, and how it is at this moment.

    Attributes
    ----------
    device : str
        Its label.
    name, vendor : str
        As the driver says them; empty if it does not.
    driver : str
        Name and version of what runs the kernels.
    memory_total, memory_free : int or None
        Bytes; None where nobody knows.
    compute_units : int
        Cores of a CPU, multiprocessors of a GPU; 0 where nobody knows.
    dtypes : frozenset of dtype
        Dtypes that arrays on it may have.
    unified_memory : bool
        Whether it computes in the host's own memory.
    pools : tuple of PoolStatistics
        Its pools of memory.
    status : str
        ``"ok"``, or what is wrong.
    """

    device: str
    name: str = ""
    vendor: str = ""
    driver: str = ""
    memory_total: int | None = None
    memory_free: int | None = None
    compute_units: int = 0
    dtypes: frozenset[np.dtype[Any]] = frozenset()
    unified_memory: bool = False
    pools: tuple[PoolStatistics, ...] = ()
    status: str = "ok"


class Backend(Protocol):
    """One device.

    A backend may have, besides, an attribute ``pool`` (a `Pool`), which gives idle
    memory back when room is needed, and a method ``properties()`` that returns its
    `DeviceProperties`.  What it has to say about DLPack is in `Exporting`, about
    launches that are repeated in `Preparing`, and an attribute ``sharing``, a `Sharing`
    or None, is there where its memory is the host's.  An attribute ``short`` has the
    names of the rows in ``native`` that take floats shorter than float32 as they are,
    and sum in float32, as `dcarray.nn` wants it.
    """

    device: str
    """Its label, ``"cpu"`` or ``"cuda:0"``."""
    supported: frozenset[np.dtype[Any]]
    """Dtypes that arrays on it may have."""
    native: Mapping[str, Callable[..., Any]]
    """Operations, by `Op.name`, for which a library of the vendor is used: called with
    operands and options, returns a tuple of ``(memory, layout, dtype)``.

    A method ``ready(name, operands, options)`` may be there too.  It gives what does a
    call again that was just made, memory of its arrays → memory of its results, or None
    for memory that does not do; None where a call depends on more than how they lie."""
    rates: Rates

    def allocate(self, nbytes: int) -> Memory:
        """A block of at least ``nbytes`` from the pool; it goes back when it dies."""

    def view(self, memory: Memory, layout: Layout, dtype: np.dtype[Any]) -> Operand:
        """``memory`` seen as an array."""

    def upload(self, source: np.ndarray[Any, Any], target: Memory) -> None:
        """Copy bytes of the host (one-dimensional uint8) into ``target``."""

    def download(self, source: Memory, target: np.ndarray[Any, Any]) -> None:
        """Copy ``source`` into bytes of the host."""

    def compile(self, program: Program) -> Executable:
        """Make a program ready to run."""

    def launch(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        inputs: Sequence[Operand],
        scalars: Sequence[np.generic],
        outputs: Sequence[Operand],
        reduced: Operand | None = None,
        order: tuple[int, ...] | None = None,
        watch: int = 0,
    ) -> Sequence[Raised]:
        """Run over ``shape``.

        ``inputs`` and ``outputs`` all have that shape (stride 0 where broadcast);
        outputs may be the very same view as an input but do not overlap one
        otherwise.  ``reduced`` has length 1 along the reduced axes, and ``order`` gives
        the strides that NumPy's temporary would have.  ``watch`` is a mask of
        floating-point flags to look for.
        """

    def synchronize(self) -> None:
        """Wait until all that was launched has ended."""


@runtime_checkable
class Preparing(Backend, Protocol):
    """A backend that can have all of a launch ready but the memory and the numbers."""

    def prepare(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        inputs: Sequence[tuple[Layout, np.dtype[Any]]],
        outputs: Sequence[tuple[Layout, np.dtype[Any]]],
        reduced: tuple[Layout, np.dtype[Any]] | None = None,
    ) -> Start:
        """What launches as `Backend.launch` does, for operands that lie so.

        It is called with the memory of the operands, in that order, and with the
        program's numbers, which have its dtypes.  It raises no floating-point flags.
        """


class Placing(Protocol):
    """What the executables of such a backend may be, too: where operands lie is an
    argument of their launches."""

    def start(
        self,
        shape: tuple[int, ...],
        places: Sequence[tuple[Layout, np.dtype[Any]]],
        is_reduced: bool,
        memories: list[Memory],
        scalars: Sequence[Any],
    ) -> None:
        """What `Preparing.prepare` gives, done once.

        ``places`` say how inputs, outputs and the result of a reduction lie, if there
        ``is_reduced`` one; there are elements.
        """


class Selecting(Protocol):
    """A backend that finds the elements where a mask is true by itself, at once."""

    def select(
        self, mask: Memory, source: Memory, count: int, size: int, begin: int
    ) -> tuple[Memory, int] | None:
        """Elements side by side where bools are true, in order, and how many they are;
        None where the library is the way.

        ``mask`` has ``count`` bools, one at least, and ``source`` as many elements of
        ``size`` bytes, which begin ``begin`` elements behind its start; with a ``size``
        of 0 the places of what is true are stored instead, as int64.
        """


class Lining(Protocol):
    """A backend that works on rows wherever they begin, by itself, at once.

    What both functions make is new memory, without gaps; None where the library is the
    way.  Numbers of places count in elements.
    """

    def dot(
        self,
        x: Memory,
        y: Memory,
        dtype: np.dtype[Any],
        count: int,
        lies: tuple[int, int, int, int],
    ) -> Memory | None:
        """The sum of the products of two rows of ``count`` float32 or float64, one at
        least: ``lies`` says where the first row begins, the step from one element to
        the next, and the same of the second."""

    def pick(
        self,
        x: Memory,
        places: Memory,
        kinds: tuple[np.dtype[Any], np.dtype[Any]],
        count: int,
        lies: tuple[int, int, int],
    ) -> Memory | None:
        """Elements of a row at ``count`` places, one at least, which count from its
        beginning or, below 0, from its end, and are right.

        ``kinds`` are the dtypes of the row and of the places, which lie without gaps;
        ``lies`` says how long the row is, and where both begin.
        """


@runtime_checkable
class Exporting(Protocol):
    """A backend whose memory can leave through DLPack."""

    dlpack_type: int
    """The number that DLPack gives this kind of device."""

    def dlpack_handle(self, memory: Memory) -> int:
        """What DLPack calls the data of a block: an address, or a driver's handle."""


class Sharing(Protocol):
    """What a device can do whose memory is the host's, so that nothing is copied.

    A block is the device's when it is new.  Host and device take turns: who asks for
    it, asks here.  Calls for one block come one at a time.
    """

    least: int
    """Bytes below which a copy is cheaper than a turn."""

    def bytes_of(self, memory: Memory) -> np.ndarray[Any, Any]:
        """A block where the host sees it, made with `moving.Bytes`; always the same
        address."""

    def adopted(self, source: np.ndarray[Any, Any], room: int) -> Memory | None:
        """Bytes of the host (one-dimensional uint8) as a block, with the host allowed
        to read; None where they do not lie as the device needs it.

        There is ``room`` from their start on that belongs to nobody else.  The block
        keeps ``source`` alive until no kernel can use it any more.
        """

    def to_host(self, memory: Memory, writing: bool) -> None:
        """Return when the host may read a block, or write it.

        Kernels may read it after `to_host` for reading, and not at all after that for
        writing.
        """

    def to_device(self, memory: Memory, writing: bool) -> None:
        """Kernels that are launched from now on may read a block, or write it.

        The host may read it after `to_device` for reading if it was its turn, and not
        at all after that for writing.
        """
