"""Running every group on a second device as well, and comparing.

Under ``config(validate="cpu")`` a group's results are compared with those of the named
device, element by element, within the bound that `bounds` works out for the group.
What ran on that device itself is not compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ..backends.base import Backend
from ..backends.buffer import Buffer, device_buffer
from ..backends.gate import gate
from ..backends.registry import backend_for, device_of
from ..config import current, logger
from ..dtypes import DType
from ..errors import ConfigError, DeviceError, UnsupportedError, ValidationError
from ..layout import Layout, view_host
from ..ops.program import Program
from ..profile import Event, emit
from . import recover, route
from .bounds import Total, difference, slot_bounds
from .compiled import executable_for
from .fuse import Group
from .graph import Read
from .places import Accumulator, Into

__all__ = ["Second", "begin"]

HostArray = np.ndarray[Any, Any]

BATCH = 1 << 18
"""Elements whose bounds are worked out at a time."""


def begin(group: Group, into: Into | None) -> Second:
    """Get ready to run a group on the device that the settings name as the second.

    Raises
    ------
    ConfigError
        The setting names no single device.
    """
    label = current().validate
    if device_of(label, label).kind == "auto":
        raise ConfigError(f"validate: got {label!r}, takes a named device")
    return Second(group, into, label)


class Second:
    """A group on the second device.

    Parameters
    ----------
    group : Group
    into : Into or None
        Memory that the group writes: what it reads there is kept.
    label : str
        The second device.
    """

    def __init__(self, group: Group, into: Into | None, label: str) -> None:
        self.group = group
        self.into = into
        self.label = label
        kept: dict[int, Buffer] = {}
        self.leaves: list[tuple[Buffer, Read]] = []
        for read in group.leaves:
            buffer = read.value.buffer
            assert buffer is not None
            if into is not None and (buffer is into.buffer or into.buffer.is_shared):
                if id(buffer) not in kept:
                    kept[id(buffer)] = _copied(buffer)
                buffer = kept[id(buffer)]
            self.leaves.append((buffer, read))

    def compare(self, device: str, accumulator: Accumulator | None) -> None:
        """Run the group again and compare with what ``device`` computed.

        Raises
        ------
        ValidationError
            They differ by more than the operations may.
        """
        if device == self.label:
            return
        group = self.group
        got = self._results(accumulator)
        try:
            with gate:
                wanted = self._run(accumulator)
        except (DeviceError, UnsupportedError) as error:
            name = group.program.describe()
            logger().warning("%s: not compared with %s: %s", name, self.label, error)
            return
        emit(Event("validate", group.program.describe(), self.label))
        for slot, ours, theirs in zip(group.program.outputs, got, wanted):
            self._compare_elements(device, slot, ours, theirs)
        if accumulator is not None:
            self._compare_rows(device, got[-1], wanted[-1])

    # ------------------------------------------------------------------------ running
    def _places(
        self, accumulator: Accumulator | None
    ) -> list[tuple[Buffer | None, Layout, DType]]:
        """Where the results lie, each seen with the shape of the group."""
        places: list[tuple[Buffer | None, Layout, DType]] = []
        for value, layout in self.group.outputs:
            places.append((value.buffer, layout, value.dtype))
        if self.into is not None:
            read = self.into.read
            places[0] = (self.into.buffer, read.layout, read.dtype)
        if accumulator is not None:
            places.append((accumulator.buffer, accumulator.layout, accumulator.dtype))
        return places

    def _results(self, accumulator: Accumulator | None) -> list[HostArray]:
        found = []
        for buffer, layout, dtype in self._places(accumulator):
            assert buffer is not None
            found.append(_on_host(buffer, layout, dtype))
        return found

    def _run(self, accumulator: Accumulator | None) -> list[HostArray]:
        group = self.group
        made: list[tuple[Buffer, Layout, DType]] = []

        def attempt(backend: Backend) -> None:
            made.clear()
            executable, _ = executable_for(backend, group.program)
            inputs = [
                backend.view(buffer.read_on(backend), read.layout, read.dtype)
                for buffer, read in self.leaves
            ]
            views = []
            for _, layout, dtype in self._places(accumulator):
                dense = Layout.dense(layout.shape, dtype.itemsize)
                nbytes = dense.size * dtype.itemsize
                memory = backend.allocate(nbytes)
                buffer = device_buffer(backend.device, memory, nbytes)
                made.append((buffer, dense, dtype))
                views.append(backend.view(buffer.read_on(backend), dense, dtype))
            reduced = None if accumulator is None else views.pop()
            order = None if accumulator is None else accumulator.order
            backend.launch(
                executable, group.shape, inputs, group.scalars, views, reduced, order
            )

        reads = tuple({id(b): b for b, _ in self.leaves}.values())
        work = route.Work(group.program.describe(), math.prod(group.shape), 0, reads, 0)
        recover.with_relief(attempt, backend_for(self.label), work)
        return [_on_host(buffer, layout, dtype) for buffer, layout, dtype in made]

    # ---------------------------------------------------------------------- comparing
    def _inputs(self) -> list[HostArray]:
        return [_on_host(buffer, r.layout, r.dtype) for buffer, r in self.leaves]

    def _compare_elements(
        self, device: str, slot: int, got: HostArray, wanted: HostArray
    ) -> None:
        program = self.group.program
        inputs = self._inputs()
        for places in _batches(_differing(got, wanted), BATCH):
            where = np.unravel_index(places, got.shape)
            slots = slot_bounds(program, [x[where] for x in inputs], self.group.scalars)
            bounds = np.broadcast_to(slots[slot][1], places.shape)
            bounds = self._allowed(device, bounds)
            bad = np.flatnonzero(difference(got[where], wanted[where]) > bounds)
            if bad.size:
                index = tuple([int(axis[bad[0]]) for axis in where])
                read = [x[index] for x in inputs]
                self._raise(device, index, got, wanted, bounds[bad[0]], read)

    def _compare_rows(self, device: str, got: HostArray, wanted: HostArray) -> None:
        program = self.group.program
        assert program.reduction is not None
        shape = self.group.shape
        kept = [axis for axis, n in enumerate(got.shape) if n == shape[axis]]
        along = [axis for axis in range(got.ndim) if axis not in kept]
        inputs = [x.transpose(kept + along) for x in self._inputs()]
        row = tuple([shape[axis] for axis in along])
        results = got.transpose(kept + along), wanted.transpose(kept + along)
        ours, theirs = [x.reshape(x.shape[: len(kept)]) for x in results]
        count = max(1, BATCH // max(1, math.prod(row)))
        for places in _batches(_differing(ours, theirs), count):
            where = np.unravel_index(places, ours.shape) if kept else ()
            total = Total(program, len(places))
            for part in _parts(row):
                inside = (slice(None),) * len(kept) + part
                given = [x[inside][where].reshape(-1) for x in inputs]
                slots = slot_bounds(program, given, self.group.scalars)
                size = len(places) * math.prod([p.stop - p.start for p in part])
                values, errors = [
                    np.broadcast_to(x, size).reshape(len(places), -1)
                    for x in slots[program.reduction.slot]
                ]
                total.add(values, errors)
            bounds = self._allowed(device, total.bounds(theirs[where]))
            bad = np.flatnonzero(difference(ours[where], theirs[where]) > bounds)
            if bad.size:
                at = tuple([int(axis[bad[0]]) for axis in where])
                index = [0] * got.ndim
                for axis, place in zip(kept, at, strict=True):
                    index[axis] = place
                read = [x[at] for x in inputs]
                self._raise(device, tuple(index), got, wanted, bounds[bad[0]], read)

    def _allowed(self, device: str, bounds: HostArray) -> HostArray:
        """Where neither device is the CPU, whose results are NumPy's, both may err."""
        return bounds if "cpu" in (device, self.label) else 2 * bounds

    def _raise(
        self,
        device: str,
        index: tuple[int, ...],
        got: HostArray,
        wanted: HostArray,
        bound: float,
        read: Sequence[Any],
    ) -> NoReturn:
        program = self.group.program
        inputs = {f"leaf{place}": x.copy() for place, x in enumerate(read)}
        inputs |= {f"scalar{k}": x for k, x in enumerate(self.group.scalars)}
        listed = ", ".join(f"{name} = {_shown(x)}" for name, x in inputs.items())
        frame = self.group.last_frame
        raise ValidationError(
            f"element {index} is {got[index]} on {device} and {wanted[index]} on "
            f"{self.label}, and they may be {float(bound):.3g} apart; computed from "
            f"{listed or 'nothing'}",
            index=index,
            got=got[index],
            wanted=wanted[index],
            bound=float(bound),
            inputs=inputs,
            device=device,
            kernel=program.describe(),
            source=_source(device, program),
            source_line=None if frame is None else f"{frame[0]}:{frame[1]}",
            grid=self.group.shape,
        )


def _copied(buffer: Buffer) -> Buffer:
    """The same bytes in memory of their own."""
    layout = Layout((buffer.nbytes,), (1,))
    return Buffer.of_host(_on_host(buffer, layout, np.dtype(np.uint8)).copy())


def _on_host(buffer: Buffer, layout: Layout, dtype: DType) -> HostArray:
    return view_host(buffer.read_on(backend_for("cpu")), layout, dtype)


def _differing(got: HostArray, wanted: HostArray) -> HostArray:
    """Places of elements that are not equal, in C order; NaN equals NaN."""
    with np.errstate(all="ignore"):
        same = got == wanted
        if not same.all():
            same |= np.isnan(got) & np.isnan(wanted)
    return np.flatnonzero(~same)


def _batches(places: HostArray, count: int) -> Iterator[HostArray]:
    for start in range(0, len(places), count):
        yield places[start : start + count]


def _parts(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Parts of an array of this shape with at most `BATCH` elements."""
    steps = []
    left = BATCH
    for length in reversed(shape):
        steps.append(max(1, min(length, left)))
        left //= max(1, length)
    ranges = [
        [slice(start, min(start + step, length)) for start in range(0, length, step)]
        for length, step in zip(shape, reversed(steps), strict=True)
    ]
    return itertools.product(*ranges)


def _shown(x: Any) -> str:
    return np.array2string(np.asarray(x), threshold=8)


def _source(device: str, program: Program) -> str:
    """The kernel's text, or the program's where the backend keeps none."""
    executable, _ = executable_for(backend_for(device), program)
    text = getattr(executable, "source", None)
    if isinstance(text, str):
        return text
    names = [f"leaf{place}" for place in range(len(program.leaves))]
    names += [f"scalar{place}" for place in range(len(program.scalars))]
    lines = []
    for number, node in enumerate(program.nodes):
        given = ", ".join(names[slot] for slot in node.inputs)
        made = [f"node{number}_{index}" for index in range(len(node.dtypes))]
        dtypes = ", ".join(map(str, node.dtypes))
        lines.append(f"{', '.join(made)} = {node.op.name}({given})  # {dtypes}")
        names += made
    lines += [f"store {names[slot]}" for slot in program.outputs]
    if program.reduction is not None:
        reduction = program.reduction
        lines.append(f"{reduction.op.name} of {names[reduction.slot]}")
    return "\n".join(lines)
