"""Graphs of cuDNN, through its Python front end where that is installed.

A graph is built once for each form of a call.  cuDNN has several plans for it, best
guess first; where a call is worth it they are timed at its first run, and the fastest
is kept.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...config import logger
from ...errors import DeviceError, LaunchError
from ...profile import Event, emit
from ..base import Start
from ..grid.views import GridView
from .raw import signature

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .raw import Raw

__all__ = [
    "ALIGNED",
    "KINDS",
    "SINGLE",
    "Graphs",
    "Plan",
    "aligned",
    "fastest",
    "kind_of",
    "module",
    "short",
    "widened",
]

KINDS = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BFLOAT16"}
"""What cuDNN calls the dtypes that it computes with here."""

SHORT = frozenset(
    (
        *("nn.convolution", "nn.convolution_input_gradient"),
        *(
            "nn.convolution_weight_gradient",
            "nn.attention_alone",
            "nn.attention_adjoint",
        ),
    )
)
"""Rows that take floats shorter than float32 as they are."""

SINGLE = np.dtype(np.float32)

MOST = 16
"""Plans that are timed."""

PATIENCE = 0.5
"""Seconds after which no further plan is built to be timed."""

NEAR = 1.25
"""A plan that took so many times as long as the fastest one is timed again."""

ROOM = 1 << 32
"""Bytes of memory to work in that a plan may ask for."""

KEPT = 1024
"""Graphs and calls that are kept."""

PAUSE = 150_000
"""Nanoseconds in which Python starts a call."""

_PAUSE = signature("pause", "q")
PAUSE_TEXT = """
__device__ inline long long now() {
  long long found;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(found));
  return found;
}

extern "C" __global__ void pause(long long nanoseconds) {
  const long long end = now() + nanoseconds;
  while (now() < end) {}
}
"""

ALIGNED = 16
"""Bytes that cuDNN reads at once."""

_Start = Callable[[Sequence[int], int], None]
Describe = Callable[[Any, Any], tuple[Any, Sequence[Any]]]


@cache
def module() -> Any:
    """cuDNN's front end, or None."""
    if importlib.util.find_spec("cudnn") is None:
        return None
    try:
        import cudnn

        cudnn.backend_version()
    except Exception as error:  # of its loader, whatever that raises
        logger().info("cuDNN: %s", error)
        return None
    return cudnn


def short() -> frozenset[str]:
    """Rows that take floats shorter than float32, and sum in float32."""
    return frozenset() if module() is None else SHORT


def kind_of(dtype: np.dtype[Any]) -> Any:
    """What cuDNN calls a dtype."""
    return getattr(module().data_type, KINDS[dtype.name])


@dataclass(slots=True)
class _Way:
    """One plan of a graph: what starts it, the bytes it works in, its number."""

    start: _Start
    room: int
    index: int


@dataclass(slots=True)
class Plan:
    """A graph, ready to run.

    Attributes
    ----------
    graph : pygraph
    tensors : sequence
        Its operands and results.
    way : _Way
        The plan that runs.
    others : bool
        Whether there may be faster ones: they are timed at the next run.
    """

    graph: Any
    tensors: Sequence[Any]
    way: _Way
    others: bool


class Graphs:
    """cuDNN on one device.

    Parameters
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._handle: Any = None
        self._stream = 0
        self._lock = threading.Lock()
        self._plans: dict[Any, Plan | None] = {}
        self._calls: dict[Any, Any] = {}

    def call(self, key: Any, make: Callable[..., Any], *given: Any) -> Any:
        """What ``make(*given)`` gives, once for each key."""
        try:
            return self._calls[key]
        except KeyError:
            pass
        found = make(*given)
        if len(self._calls) >= KEPT:
            self._calls.clear()
        self._calls[key] = found
        return found

    def plan(
        self,
        key: Any,
        describe: Describe,
        notes: Sequence[str] = (),
        worth: bool = False,
    ) -> Plan | None:
        """The plan of a graph; None where cuDNN has none.

        Parameters
        ----------
        key
            What the graph depends on.
        describe : callable
            Makes the graph of the front end and its handle: the graph, and its tensors.
        notes : sequence of str
            Numerical notes that its plan must not have.
        worth : bool
            Whether the work is worth to time several plans.
        """
        with self._lock:
            if key not in self._plans:
                if len(self._plans) >= KEPT:
                    self._plans.clear()
                self._plans[key] = self._built(str(key[0]), describe, notes, worth)
            return self._plans[key]

    def _built(
        self, name: str, describe: Describe, notes: Sequence[str], worth: bool
    ) -> Plan | None:
        cudnn, backend = module(), self._backend
        if cudnn is None:
            return None
        with backend.streams.entered():
            if self._handle is None:
                self._handle = cudnn.create_handle()
            try:
                graph, tensors = describe(cudnn, self._handle)
                graph.validate()
                graph.build_operation_graph()
                modes = cudnn.heur_mode
                graph.create_execution_plans([modes.A, modes.FALLBACK])
                if notes:
                    found = [getattr(cudnn.numerical_note, note) for note in notes]
                    graph.deselect_numeric_notes(found)
                graph.check_support()
            except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:
                logger().info("cuDNN: %s", error)
                return None
            ways = self._ways(graph, tensors)
            first = next(ways, None)
        if first is None:
            return None
        emit(Event("compile", f"cudnn {name}", backend.device))
        return Plan(graph, tensors, first, worth)

    def _ways(self, graph: Any, tensors: Sequence[Any]) -> Iterator[_Way]:
        """The plans that can be had, one after the other."""
        for index in range(min(MOST, int(graph.get_execution_plan_count()))):
            try:
                graph.build_plan_at_index(index)
                room = int(graph.get_workspace_size_plan_at_index(index))
            except (module().cudnnGraphNotSupportedError, RuntimeError) as error:
                logger().info("cuDNN: %s", error)
                continue
            if room <= ROOM:
                yield _Way(self._starter(graph, tensors, index), room, index)

    def _starter(self, graph: Any, tensors: Sequence[Any], index: int) -> _Start:
        """What runs a plan that was built, given addresses of its tensors."""
        handle, numbers = self._handle, [tensor.get_uid() for tensor in tensors]
        direct = getattr(graph, "_lowered_graph", None)
        direct = getattr(direct, "_execute_with_raw_ptrs", None)
        plans = getattr(graph, "plans", ())
        place_of = plans[index].cpp_index if index < len(plans) else None
        if direct is None or place_of is None:

            def usual(addresses: Sequence[int], room: int) -> None:
                given = dict(zip(numbers, addresses, strict=True))
                graph.execute_plan_at_index(given, room, index, handle)

            return usual
        # The front end's own way takes longer than a small convolution.
        count, whose = len(numbers), handle.backend_handle
        order = sorted(range(count), key=numbers.__getitem__)
        table = (ctypes.c_void_p * count)()
        place = ctypes.addressof(table)

        def start(addresses: Sequence[int], room: int) -> None:
            for k, which in enumerate(order):
                table[k] = addresses[which]
            direct(place, count, room, whose, place_of)

        return start

    # ------------------------------------------------------------------------- running
    def run(
        self,
        plan: Plan,
        memories: Sequence[Any],
        addresses: Sequence[int],
        space: int = 0,
    ) -> None:
        """Run a plan on the current stream.

        Parameters
        ----------
        plan : Plan
        memories : sequence
            Blocks that it reads.
        addresses : sequence of int
            Of its tensors; results are new memory.
        space : int
            Address of memory that it may work in, as much as its way says; 0 for new
            memory.

        Raises
        ------
        LaunchError
            cuDNN failed.
        """
        backend = self._backend
        streams = backend.streams
        stream = streams.current
        backend._enter()
        with self._lock:
            if streams.several:
                with streams.entered():
                    for memory in memories:
                        streams.use(memory, False, stream)
            if stream.pointer != self._stream:
                module().set_stream(self._handle, stream.pointer)
                self._stream = stream.pointer
            try:
                if plan.others and stream.capture is None:
                    self._choose(plan, addresses)
                    space = 0
                way = plan.way
                if way.room and not space:
                    room = backend.allocate(way.room)
                    space = room.pointer
                way.start(addresses, space)
            except RuntimeError as error:
                if isinstance(error, DeviceError):
                    raise
                raise LaunchError(f"cuDNN: {error}", device=backend.device) from None

    def starter(self, plan: Plan, count: int, offsets: Sequence[int]) -> Start:
        """What runs a plan on blocks, of which it reads some and makes the others; each
        array begins so many bytes behind its block."""
        run = self.run

        def start(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            addresses = [
                memory.pointer + offset
                for memory, offset in zip(memories, offsets, strict=True)
            ]
            run(plan, memories[:count], addresses)

        return start

    def _choose(self, plan: Plan, addresses: Sequence[int]) -> None:
        """Time the plans of a graph."""
        plan.others = False
        begin = time.perf_counter()
        ways = []
        for way in self._ways(plan.graph, plan.tensors):
            ways.append(way)
            if time.perf_counter() - begin > PATIENCE:
                break
        calls = [partial(self._tried, way.start, addresses, way.room) for way in ways]
        plan.way = ways[fastest(self._backend, calls)]

    def _tried(
        self, start: Callable[..., None], addresses: Sequence[int], room: int
    ) -> None:
        start(addresses, self._backend.allocate(max(1, room)).pointer)


def fastest(backend: CudaBackend, ways: Sequence[Callable[[], None]]) -> int:
    """Which of several calls is the fastest, by the device's clock.

    One that fails is not.
    """
    times = []
    for way in ways:
        try:
            times.append(_timed(backend, way, 2))
        except RuntimeError as error:
            logger().info("cuDNN: %s", error)
            times.append(math.inf)
    near = [k for k, took in enumerate(times) if took <= NEAR * min(times)]
    if len(near) == 1:
        return near[0]
    again = [(_timed(backend, ways[k], 6), k) for k in near * 2]
    return min(again)[1]


def _timed(backend: CudaBackend, way: Callable[[], None], count: int) -> float:
    """Seconds of a call, the first one not counted."""
    way()
    stream = backend.streams.current
    # The device waits until it has been given all: Python's time is not counted.
    pause = backend.raw.start(PAUSE_TEXT, _PAUSE, [1], 1, count * PAUSE)
    pause((), ())
    before = stream.record()
    for _ in range(count):
        way()
    return float(stream.record().since(before)) / count


def aligned(raw: Raw, view: GridView, as_it_lies: bool) -> GridView:
    """A view that cuDNN can read: it takes 16 bytes at once."""
    if as_it_lies and not (view.memory.pointer + view.layout.offset) % ALIGNED:
        return view
    return raw.work.copy(view)


def widened(
    raw: Raw, name: str, operands: Sequence[Any], options: Mapping[str, Any]
) -> tuple[GridView, ...] | None:
    """A row for short floats that cuDNN does not take, computed in float32; None where
    the operands are none."""
    dtype = operands[0].dtype
    if dtype.itemsize > 2 or dtype.kind not in "fV":
        return None
    work = raw.work

    def wide(x: Any) -> Any:
        is_short = isinstance(x, GridView) and x.dtype == dtype
        return work.cast(x, SINGLE) if is_short else x

    given = {option: wide(x) for option, x in options.items()}
    found = raw.backend.native[name](*[wide(x) for x in operands], **given)
    return tuple([work.cast(GridView(*one), dtype) for one in found])
