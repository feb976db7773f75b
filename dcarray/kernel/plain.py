"""A kernel as plain Python, work item by work item: for ``print`` and breakpoints.

The items of a group run one after the other in the thread of the caller.  Where they
meet at barriers each has a thread of its own, but only one runs at a time: up to the
next barrier, then the next item has its turn.
"""

from __future__ import annotations

import contextvars
import itertools
import math
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import LaunchError
from .grid import Barrier, running
from .source import source_of

__all__ = ["run_plain"]

HostArray = np.ndarray[Any, Any]


def run_plain(
    function: Callable[..., Any],
    grid: Sequence[int],
    group: Sequence[int],
    arguments: Sequence[Any],
    constants: Mapping[str, Any],
) -> None:
    """Run a function over a grid.

    Parameters
    ----------
    function : callable
        The Python function of a kernel.
    grid, group : sequence of int
        Work items in all, a multiple of those of a group, along up to three axes.
    arguments : sequence
        NumPy arrays, which are written in place, and numbers.
    constants : mapping
        Arguments by keyword.

    Raises
    ------
    LaunchError
        Some items of a group reached a barrier and others did not.
    IndexError
        An index out of range.
    """
    sizes = [*group, 1, 1][:3]
    counts = [n // m for n, m in zip([*grid, 1, 1][:3], sizes, strict=True)]
    given = [x.view(_Strict) if isinstance(x, np.ndarray) else x for x in arguments]
    meet = math.prod(sizes) > 1 and _has_barrier(function, set())

    def run() -> None:
        with np.errstate(all="ignore"):
            function(*given, **constants)

    for number in itertools.product(*map(range, reversed(counts))):
        place = _Group(function.__name__, number[::-1], sizes, counts)
        items = [_Item(place, local) for local in place.locals()]
        if meet:
            _together(items, run)
            continue
        for item in items:
            token = running.set(item)
            try:
                run()
            finally:
                running.reset(token)


def _has_barrier(function: Any, seen: set[Any]) -> bool:
    """Whether a function, or one that it may call, has a barrier."""
    function = getattr(function, "body", function)
    if not isinstance(function, types.FunctionType) or function in seen:
        return False
    seen.add(function)
    source = source_of(function)
    for name in function.__code__.co_names + function.__code__.co_freevars:
        if name == "barrier":
            return True
        try:
            found = source.lookup(name)
        except KeyError:
            continue
        if isinstance(found, Barrier) or _has_barrier(found, seen):
            return True
    return False


class _Strict(np.ndarray[Any, Any]):
    """An array in which a computed index below zero is out of range."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_checked(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_checked(key), value)


def _checked(key: Any) -> Any:
    for index in key if isinstance(key, tuple) else (key,):
        if isinstance(index, np.integer) and index < 0:
            raise IndexError(f"index {index} is out of bounds")
    return key


class _Group:
    """What the work items of one group have in common."""

    def __init__(
        self,
        name: str,
        number: Sequence[int],
        sizes: Sequence[int],
        counts: Sequence[int],
    ) -> None:
        self.name = name
        self.number = number
        self.sizes = sizes
        self.counts = counts
        self.memory: list[HostArray] = []

    def locals(self) -> Iterator[tuple[int, ...]]:
        """Where the items are, in their order."""
        for local in itertools.product(*map(range, reversed(self.sizes))):
            yield local[::-1]


class _Stopped(BaseException):
    """Another item of the group failed."""


class _Item:
    """One work item; see `grid.WorkItem`."""

    def __init__(self, group: _Group, local: tuple[int, ...]) -> None:
        self.group = group
        self.local = local
        self.arrays = 0
        self.threaded = False
        self.turn = threading.Semaphore(0)
        self.back = threading.Semaphore(0)
        self.ended = False
        self.stopped = False
        self.error: BaseException | None = None

    def place(self, kind: str, axis: int) -> int:
        group = self.group
        size, count, number = (
            given[axis] for given in (group.sizes, group.counts, group.number)
        )
        return {
            "global_id": number * size + self.local[axis],
            "local_id": self.local[axis],
            "group_id": number,
            "global_size": size * count,
            "local_size": size,
            "group_count": count,
        }[kind]

    def shared(self, dtype: Any, size: int | tuple[int, ...]) -> HostArray:
        memory = self.group.memory
        if self.arrays == len(memory):
            memory.append(np.zeros(size, dtype).view(_Strict))
        self.arrays += 1
        return memory[self.arrays - 1]

    def barrier(self) -> None:
        if not self.threaded:
            return  # a group of one
        self.back.release()
        self.turn.acquire()
        if self.stopped:
            raise _Stopped

    def atomic(self, operation: str, array: Any, index: Any, *values: Any) -> Any:
        old = array[index]
        if operation == "compare_exchange":
            if old == values[0]:
                array[index] = values[1]
        elif operation == "exchange":
            array[index] = values[0]
        else:
            array[index] = getattr(np, operation)(old, values[0])
        return old

    def work(self, run: Callable[[], None]) -> None:
        """The life of the item's thread."""
        running.set(self)
        self.turn.acquire()
        try:
            if not self.stopped:
                run()
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
        self.ended = True
        self.back.release()

    def step(self) -> None:
        """Let the item run up to its next barrier, or to its end."""
        self.turn.release()
        self.back.acquire()


def _together(items: Sequence[_Item], run: Callable[[], None]) -> None:
    """Run the items of a group, each in a thread, one at a time."""
    threads = []
    for item in items:
        item.threaded = True
        context = contextvars.copy_context()
        name = f"work item {item.local}"
        thread = threading.Thread(
            target=context.run, args=(item.work, run), name=name, daemon=True
        )
        thread.start()
        threads.append(thread)
    error: BaseException | None = None
    try:
        while error is None and not all([item.ended for item in items]):
            for item in items:
                item.step()
                if item.error is not None:
                    error = item.error
                    break
            else:
                error = _parted(items)
    finally:
        for item in items:
            item.stopped = True
            if not item.ended:
                item.step()
        for thread in threads:
            thread.join()
    if error is not None:
        raise error


def _parted(items: Sequence[_Item]) -> LaunchError | None:
    """The error that some items wait and others have ended."""
    waiting = [item for item in items if not item.ended]
    if len(waiting) in (0, len(items)):
        return None
    ended = next(item for item in items if item.ended)
    name = ended.group.name
    return LaunchError(
        f"work item {ended.local} of group {tuple(ended.group.number)} ended while "
        f"{waiting[0].local} waits at a barrier",
        kernel=name,
        hint="all work items of a group reach a barrier, or none does",
    )
