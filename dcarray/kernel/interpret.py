"""Runs a kernel with NumPy alone: the plain meaning of the IR.

Every scalar of the kernel is an array here, with one element for each *work item*, and
the work items run in step.  Branches and loops whose conditions differ between items
run under a mask: an item that is masked out keeps its variables and stores nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .language import PRIMITIVES

__all__ = ["convert", "interpret"]

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def interpret(
    kernel: nodes.Kernel,
    arguments: Sequence[NDArray],
    grid: Sequence[int] | None = None,
    group: Sequence[int] | None = None,
) -> tuple[NDArray, ...]:
    """Run a kernel.

    Parameters
    ----------
    kernel : Kernel
    arguments : sequence of ndarray
        One for each parameter, with its dtype.  What is given for scalars broadcasts
        to one shape, that of the work items.  Arrays are read and written in place.
    grid, group : sequence of int, optional
        For a kernel over a grid: work items in all, a multiple of those of a group.

    Returns
    -------
    tuple of ndarray
        The kernel's results, each with the shape of the work items.

    Raises
    ------
    TypeError
        An argument has another dtype than its parameter.
    IndexError
        A load or store outside its array.
    """
    names: dict[str, NDArray] = {}
    arrays: dict[str, NDArray] = {}
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if argument.dtype != parameter.dtype:
            got = f"{parameter.name}: got {argument.dtype}"
            raise TypeError(f"{kernel.name}: {got}, needs {parameter.dtype}")
        if isinstance(parameter, nodes.Array):
            arrays[parameter.name] = argument
        else:
            names[parameter.name] = argument
    if grid is None:
        shape = np.broadcast_shapes(*[item.shape for item in names.values()])
        places: dict[tuple[str, int], NDArray] = {}
    else:
        places = _places(grid, group or (1,) * len(grid))
        shape = (math.prod(grid),)
    run = _Run(names, arrays, shape, places)
    with np.errstate(all="ignore"):
        run.body(kernel.body, None)
        results = [run.scalar(item, None) for item in kernel.results]
    return tuple(np.array(np.broadcast_to(item, shape)) for item in results)


def convert(value: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """``value.astype(dtype)`` without a warning for a lost imaginary part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return value.astype(dtype)


def _places(
    grid: Sequence[int], group: Sequence[int]
) -> dict[tuple[str, int], NDArray]:
    """Where each work item is; those of one group follow each other."""
    sizes = [*group, 1, 1][:3]
    counts = [n // m for n, m in zip([*grid, 1, 1][:3], sizes, strict=True)]
    axes = np.indices((*reversed(counts), *reversed(sizes))).reshape(6, -1)[::-1]
    found: dict[tuple[str, int], NDArray] = {}
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        local, number = axes[axis], axes[3 + axis]
        found["local_id", axis] = local
        found["group_id", axis] = number
        found["global_id", axis] = number * size + local
        found["local_size", axis] = np.asarray(size)
        found["group_count", axis] = np.asarray(count)
        found["global_size", axis] = np.asarray(size * count)
    return found


class _Run:
    def __init__(
        self,
        names: Mapping[str, NDArray],
        arrays: Mapping[str, NDArray],
        shape: tuple[int, ...],
        places: Mapping[tuple[str, int], NDArray],
    ) -> None:
        self.names = dict(names)
        self.arrays = dict(arrays)
        self.shape = shape
        self.places = places
        self.shared: dict[str, int] = {}

    # --------------------------------------------------------------- expressions
    def scalar(self, node: nodes.Scalar, mask: NDArray | None) -> NDArray:
        """The value of an expression for every work item."""
        if isinstance(node, nodes.Name):
            return self.names[node.name]
        if isinstance(node, nodes.Constant):
            return np.asarray(node.value, node.dtype)
        if isinstance(node, nodes.Cast):
            return convert(self.scalar(node.argument, mask), node.dtype)
        if isinstance(node, nodes.Apply):
            operands = [self.scalar(item, mask) for item in node.arguments]
            return np.asarray(PRIMITIVES[node.primitive].numpy(*operands))
        if isinstance(node, nodes.Select):
            condition = self.scalar(node.condition, mask)
            when_true = self.scalar(node.when_true, mask)
            return np.where(condition, when_true, self.scalar(node.when_false, mask))
        if isinstance(node, nodes.Index):
            return self.places[node.kind, node.axis].astype(node.dtype)
        index, active = self.index(node.array, node.index, mask)
        if not active:
            return np.zeros(index.shape, node.dtype)
        return np.asarray(self.arrays[node.array].reshape(-1)[index])

    def index(
        self, name: str, index: nodes.Scalar, mask: NDArray | None
    ) -> tuple[NDArray, bool]:
        """Checked indices into an array, and whether any work item uses its own."""
        size = self.shared.get(name) or self.arrays[name].size
        found = np.asarray(self.scalar(index, mask)).astype(np.intp)
        if mask is not None:
            found = np.where(mask, found, 0)
        active = bool(found.size if mask is None else mask.any())
        if active and (found.min() < 0 or found.max() >= size):
            bad = found.min() if found.min() < 0 else found.max()
            raise IndexError(f"index {bad} of {name}, which has {size} elements")
        if name in self.shared:
            found = found + size * self.group_number()
        return found, active

    def group_number(self) -> NDArray:
        """The number of each work item's group; without a grid there is one group."""
        number = np.asarray(0)
        for axis in (2, 1, 0) if self.places else ():
            number = number * self.places["group_count", axis]
            number = number + self.places["group_id", axis]
        return number

    # ---------------------------------------------------------------- statements
    def body(self, body: nodes.Body, mask: NDArray | None) -> None:
        """Run statements for the work items that ``mask`` lets through."""
        for node in body:
            if isinstance(node, nodes.Let):
                self.names[node.name] = self.scalar(node.value, mask)
            elif isinstance(node, nodes.Assign):
                self.assign(node.name, self.scalar(node.value, mask), mask)
            elif isinstance(node, nodes.Store):
                self.store(node, mask)
            elif isinstance(node, nodes.If):
                condition = self.scalar(node.condition, mask)
                self.branch(node.body, _also(mask, condition))
                self.branch(node.otherwise, _also(mask, ~condition))
            elif isinstance(node, nodes.While):
                active = _also(mask, self.scalar(node.condition, mask))
                while active.any():
                    self.body(node.body, active)
                    active = active & self.scalar(node.condition, active)
            elif isinstance(node, nodes.For):
                self.count(node, mask)
            elif isinstance(node, nodes.Shared):
                groups = int(self.group_number().max(initial=0)) + 1
                self.arrays[node.name] = np.zeros(groups * node.size, node.dtype)
                self.shared[node.name] = node.size
            elif isinstance(node, nodes.Atomic):
                self.atomic(node, mask)
            # Work items that run in step always stand at the same barrier.

    def branch(self, body: nodes.Body, mask: NDArray) -> None:
        if mask.any():
            self.body(body, mask)

    def assign(self, name: str, value: NDArray, mask: NDArray | None) -> None:
        old = self.names[name]
        self.names[name] = value if mask is None else np.where(mask, value, old)

    def count(self, node: nodes.For, mask: NDArray | None) -> None:
        start, stop, step = (
            self.scalar(item, mask) for item in (node.start, node.stop, node.step)
        )
        counter = start
        while True:
            ahead = np.where(step > 0, counter < stop, counter > stop)
            active = _also(mask, ahead & (step != 0))
            if not active.any():
                return
            self.names[node.name] = counter
            self.body(node.body, active)
            following = (counter + step).astype(counter.dtype)
            # A counter that wraps round at the end of its dtype has passed the stop.
            mask = active & ((following > counter) == (step > 0))
            counter = following

    def store(self, node: nodes.Store, mask: NDArray | None) -> None:
        index, _ = self.index(node.array, node.index, mask)
        value = self.scalar(node.value, mask)
        places, values = self.selected(index, value, mask)
        self.arrays[node.array].flat[places] = values

    def atomic(self, node: nodes.Atomic, mask: NDArray | None) -> None:
        index, _ = self.index(node.array, node.index, mask)
        value = self.scalar(node.value, mask)
        places, values = self.selected(index, value, mask)
        if node.expected is None:
            wanted = values
        else:
            expected = self.scalar(node.expected, mask)
            _, wanted = self.selected(index, expected, mask)
        array = self.arrays[node.array]
        flat = array.reshape(-1)
        olds = np.empty(len(places), array.dtype)
        # One after the other, in the order of the work items.
        for position, place in enumerate(places):
            old = flat[place]
            olds[position] = old
            if node.operation == "exchange":
                flat[place] = values[position]
            elif node.operation == "compare_exchange":
                if old == wanted[position]:
                    flat[place] = values[position]
            else:
                flat[place] = getattr(np, node.operation)(old, values[position])
        array[...] = flat.reshape(array.shape)
        if node.result:
            found = np.zeros(self.shape, array.dtype)
            chosen = np.broadcast_to(True if mask is None else mask, self.shape)
            found[chosen] = olds
            self.names[node.result] = found

    def selected(
        self, index: NDArray, value: NDArray, mask: NDArray | None
    ) -> tuple[NDArray, NDArray]:
        """Indices and values of the work items that are let through."""
        indices = np.broadcast_to(index, self.shape)
        values = np.broadcast_to(value, self.shape)
        if mask is None:
            return indices.reshape(-1), values.reshape(-1)
        chosen = np.broadcast_to(mask, self.shape)
        return indices[chosen], values[chosen]


def _also(mask: NDArray | None, condition: NDArray) -> NDArray:
    return condition if mask is None else mask & condition
