"""Texts of our own in CUDA C++, built and launched like those of the renderer.

What a row did once it does again without its Python: its launches are kept, by how its
operands lie and by its options, and only memory is filled in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...config import current
from ...kernel.nodes import Array, Barrier, Kernel, Value
from ...layout import Layout
from ..base import Start
from ..grid.library.work import INT64, Work
from ..grid.views import GridView
from .calling import COUNTS as COUNTED, Again
from .functions import Function
from .stacks import ALIGNED

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Raw", "signature"]

FLOAT64 = np.dtype(np.float64)
UINT32 = np.dtype(np.uint32)
_BYTE = np.dtype(np.uint8)

MOST = 1 << 15
"""Calls of rows whose launches are kept."""

COUNTS = 256
"""Bytes of counts for each unit of the device."""


def signature(name: str, code: str) -> Kernel:
    """What a function of a text takes: ``r`` for an array that it reads, ``w`` for one
    that it writes, ``q`` for an integer, ``d`` for a float64."""
    parameters: list[Value | Array] = []
    for place, one in enumerate(code):
        label = f"p{place}"
        if one in "rw":
            parameters.append(Array(label, _BYTE, one == "w"))
        else:
            parameters.append(Value(label, INT64 if one == "q" else FLOAT64))
    return Kernel(name, tuple(parameters), (Barrier(),))


@dataclass(slots=True)
class _Plan:
    """The launches of a call: arrays by number, those of the caller first.

    Attributes
    ----------
    sizes : list of int
        Bytes of the arrays that are made; `COUNTED` for the counts of a stream.
    steps : list
        What does it again, and the numbers of the arrays that it takes.
    results : list of (int, Layout, dtype)
        The numbers of the arrays that are results, and how they lie.
    is_single : bool
        Whether the row returns one, and not a tuple.
    again : Again or None
        What does all of it, once it was asked for.
    """

    sizes: list[int] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    results: list[tuple[int, Layout, np.dtype[Any]]] = field(default_factory=list)
    is_single: bool = True
    again: Again | None = None


class Raw:
    """The functions of one device.

    Attributes
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self._work = Work(backend)
        self._functions: dict[tuple[str, Kernel], Function] = {}
        self._building = threading.Lock()
        self._plans: dict[Any, _Plan] = {}
        self._kept: dict[Any, Any] = {}
        self._counts: dict[int, Any] = {}
        self._making = threading.local()

    @property
    def work(self) -> Work:
        """Maps and reductions for what surrounds the texts; what uses them is not
        kept."""
        self.forget()
        return self._work

    # ------------------------------------------------------------------------- the row
    def call(
        self,
        name: str,
        row: Callable[..., Any],
        operands: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Any:
        """Call a row whose launches depend on how its operands lie alone, or do again
        what it did for operands that lie like these."""
        made = self._making
        if getattr(made, "places", None) is not None:  # a part of another row
            return row(self, *operands, **options)
        views = [x for x in operands if isinstance(x, GridView)]
        key = _key(name, operands, options)
        plan = None if key is None else self._plans.get(key)
        if plan is not None and _are_aligned(views):
            memories = self._again(plan).run([x.memory for x in views])
            found = [
                GridView(memory, layout, dtype)
                for memory, (_, layout, dtype) in zip(
                    memories, plan.results, strict=True
                )
            ]
            return found[0] if plan.is_single else tuple(found)
        if key is None or not _are_aligned(views):
            return row(self, *operands, **options)
        made.plan = plan = _Plan()
        made.places = {id(x.memory): k for k, x in reversed(list(enumerate(views)))}
        made.held = [x.memory for x in views]  # so that no other gets its identity
        try:
            found = row(self, *operands, **options)
            if found is not None and made.plan is plan:
                plan.is_single = type(found) is not tuple
                for x in (found,) if plan.is_single else found:
                    place = made.places[id(x.memory)]
                    plan.results.append((place, x.layout, x.dtype))
                if len(self._plans) >= MOST:
                    self._plans.clear()
                self._plans[key] = plan
        finally:
            made.plan = made.places = made.held = None
        return found

    def ready(
        self, name: str, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> Callable[[list[Any]], list[Any] | None] | None:
        """What does again what a row did: memory of its arrays → that of its results,
        or None for memory that begins elsewhere.  None where nothing is kept."""
        plan = self._plans.get(_key(name, operands, options))
        if plan is None:
            return None
        return self._again(plan)

    def _again(self, plan: _Plan) -> Again:
        again = plan.again
        if again is None:
            places = [place for place, _, _ in plan.results]
            allocator, counting = self.backend.allocator, self._counting
            again = Again(allocator, counting, plan.sizes, plan.steps, places)
            plan.again = again
        return again

    # ------------------------------------------------------------------------ its parts
    def new(self, shape: Sequence[int], dtype: np.dtype[Any]) -> GridView:
        """A C-contiguous array with any content."""
        plan = getattr(self._making, "plan", None)
        kind = Layout.dense if plan is None else Layout.plain_for
        layout = kind(tuple(shape), dtype.itemsize)
        nbytes = layout.size * dtype.itemsize
        memory = self.backend.allocate(nbytes)
        self._note(memory, nbytes)
        return GridView(memory, layout, dtype)

    def counts(self) -> GridView:
        """Unsigned integers that are 0: 64 for each unit of the device, where fewer
        than 24 results a unit are ever cut into parts.  A launch that takes them leaves
        zeros, so that they need not be cleared."""
        memory = self._counting()
        self._note(memory, COUNTED)
        return GridView(memory, Layout.plain_for((memory.nbytes // 4,), 4), UINT32)

    def _counting(self) -> Any:
        """The counts of the current stream; a function that is captured has its own."""
        backend = self.backend
        stream = backend.streams.current
        found = None if stream.capture else self._counts.get(stream.pointer)
        if found is None:
            found = backend.allocate(COUNTS * backend.limits.units)
            backend._clear(found.pointer, found.nbytes)
            if not stream.capture:
                self._counts[stream.pointer] = found
        return found

    def _note(self, memory: Any, nbytes: int) -> None:
        """Memory that was made belongs to the plan in the making."""
        plan = getattr(self._making, "plan", None)
        if plan is not None:
            self._making.places[id(memory)] = len(self._making.held)
            self._making.held.append(memory)
            plan.sizes.append(nbytes)

    def zeros(self, words: int) -> GridView:
        """Words of 8 bytes that are 0."""
        made = self.new((words,), INT64)
        self.clear(made)
        return made

    def clear(self, made: GridView) -> None:
        """Fill new memory with zeros."""
        self.did(self._clear, made)
        self._clear((made.memory,), ())

    def _clear(self, memories: Sequence[Any], scalars: Sequence[Any]) -> None:
        (memory,) = memories
        self.backend._clear(memory.pointer, memory.nbytes)

    def did(self, start: Start, *views: GridView) -> None:
        """Keep what was done to the memory of some views, given as what does it
        again."""
        plan = getattr(self._making, "plan", None)
        if plan is not None:
            places = [self._making.places[id(x.memory)] for x in views]
            plan.steps.append((start, places))

    def forget(self) -> None:
        """What the row does now is not what it does again."""
        self._making.plan = None

    def function(self, text: str, kernel: Kernel) -> Function:
        """A function of a text, built at its first use."""
        function = self._functions.get((text, kernel))
        if function is None:
            with self._building:
                function = self.backend.build(text, kernel)
                self._functions[text, kernel] = function
        return function

    def run(
        self,
        text: str,
        kernel: Kernel,
        groups: Sequence[int],
        threads: int,
        *arguments: Any,
    ) -> None:
        """Start a function of a text.

        Parameters
        ----------
        text : str
        kernel : Kernel
            Its `signature`: arrays, then numbers.
        groups : sequence of int
            Along up to two axes.
        threads : int
            Of a group.
        arguments
            Views, which stand for their memory, and numbers.
        """
        function = self.function(text, kernel)
        views = [x for x in arguments if isinstance(x, GridView)]
        rest = [x for x in arguments if not isinstance(x, GridView)]
        grid = (groups[0] * threads, *groups[1:])
        if getattr(self._making, "plan", None) is not None:
            self.did(self.start(text, kernel, groups, threads, *rest), *views)
        memories = [x.memory for x in views]
        self.backend.enqueue(function, kernel, grid, (threads,), [*memories, *rest])

    def start(
        self,
        text: str,
        kernel: Kernel,
        groups: Sequence[int],
        threads: int,
        *numbers: float,
    ) -> Any:
        """What starts a function with memory of the moment, before these numbers."""
        given = [np.float64(x) if type(x) is float else np.int64(x) for x in numbers]
        grid, function = (groups[0] * threads, *groups[1:]), self.function(text, kernel)
        return self.backend.starter(function, kernel, grid, (threads,), given)

    def kept(self, key: Any, make: Callable[[Raw, Any], Any]) -> Any:
        """What ``make(raw, key)`` gives, once for each key."""
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MOST:
                self._kept.clear()
            found = self._kept[key] = make(self, key)
        return found


def _key(
    name: str, operands: Sequence[Any], options: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """What the launches of a row depend on; None where they depend on more."""
    key: list[Any] = [name, current().matmul_precision]
    seen: list[int] = []
    for x in operands:
        if isinstance(x, GridView):
            memory = id(x.memory)
            key += [seen.index(memory) if memory in seen else -1, x.layout, x.dtype]
            seen.append(memory)
        elif x is None:
            key.append(None)
        else:
            return None
    for option, value in options.items():
        if isinstance(value, GridView):
            return None
        key += [option, type(value), value]
    try:
        hash(found := tuple(key))
    except TypeError:
        return None
    return found


def _are_aligned(views: Sequence[GridView]) -> bool:
    """Whether all memory begins as that of the pool does."""
    return not any([x.memory.pointer % ALIGNED for x in views])
