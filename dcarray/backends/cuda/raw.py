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

from ...kernel.nodes import Array, Barrier, Kernel, Value
from ...layout import Layout
from ..grid.library.work import INT64, Work
from ..grid.views import GridView
from .functions import Function

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Raw", "signature"]

FLOAT64 = np.dtype(np.float64)
UINT32 = np.dtype(np.uint32)
_BYTE = np.dtype(np.uint8)

MOST = 1 << 13
"""Calls of rows whose launches are kept."""

COUNTS = 256
"""Bytes of counts for each unit of the device."""

_COUNTS = -1
"""Stands for their size in a plan."""


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
        Bytes of the arrays that are made; `_COUNTS` for the counts of a stream.
    steps : list
        What starts a function and the numbers of its arrays; or None, and the number
        of an array that is to be zero.
    result : int
        The number of the array that is the result.
    layout, dtype
        Of the result.
    """

    sizes: list[int] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    result: int = -1
    layout: Layout | None = None
    dtype: np.dtype[Any] | None = None


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
        self._making.plan = None
        return self._work

    # ------------------------------------------------------------------------- the row
    def call(
        self,
        name: str,
        row: Callable[..., GridView | None],
        operands: Sequence[Any],
        options: Mapping[str, Any],
    ) -> GridView | None:
        """Call a row whose launches depend on how its operands lie alone, or do again
        what it did for operands that lie like these."""
        views = [x for x in operands if isinstance(x, GridView)]
        whole = len(views) == len(operands)
        memories = [id(x.memory) for x in views]
        same = [memories.index(one) for one in memories[1:]]
        lies = [(x.layout, x.dtype) for x in views]
        key = (name, *same, *lies, *options.items())
        try:
            plan = self._plans.get(key) if whole else None
        except TypeError:  # an option that is no key
            plan, whole = None, False
        if plan is not None:
            return self._again(plan, views)
        if not whole:
            return row(self, *operands, **options)
        made = self._making
        made.plan = plan = _Plan()
        made.places = {id(x.memory): k for k, x in enumerate(views)}
        made.held = [x.memory for x in views]  # so that no other gets its identity
        try:
            found = row(self, *operands, **options)
            if found is not None and made.plan is plan:
                plan.result = made.places[id(found.memory)]
                plan.layout, plan.dtype = found.layout, found.dtype
                if len(self._plans) >= MOST:
                    self._plans.clear()
                self._plans[key] = plan
        finally:
            made.plan = made.places = made.held = None
        return found

    def _again(self, plan: _Plan, views: Sequence[GridView]) -> GridView:
        backend = self.backend
        memories = [x.memory for x in views]
        memories += [
            self._counting() if nbytes == _COUNTS else backend.allocate(nbytes)
            for nbytes in plan.sizes
        ]
        for start, places in plan.steps:
            if start is None:
                memory = memories[places]
                backend._clear(memory.pointer, memory.nbytes)
            else:
                start([memories[k] for k in places], ())
        assert plan.layout is not None and plan.dtype is not None
        return GridView(memories[plan.result], plan.layout, plan.dtype)

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
        """Unsigned integers that are 0: 64 for each unit of the device.  A launch that
        takes them leaves zeros, so that they need not be cleared."""
        memory = self._counting()
        self._note(memory, _COUNTS)
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
        plan = getattr(self._making, "plan", None)
        if plan is not None:
            place = self._making.places[id(made.memory)]
            plan.steps.append((None, place))
        self.backend._clear(made.memory.pointer, made.memory.nbytes)
        return made

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
        memories = [x.memory for x in arguments if isinstance(x, GridView)]
        rest = [x for x in arguments if not isinstance(x, GridView)]
        grid = (groups[0] * threads, *groups[1:])
        plan = getattr(self._making, "plan", None)
        if plan is not None:
            places = [self._making.places[id(x)] for x in memories]
            start = self.start(text, kernel, groups, threads, *rest)
            plan.steps.append((start, places))
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
