"""What a function of arrays came to: its calls of a library, and what it recorded.

All else that a function does, checks and geometry, depends on how its operands lie and
on its options alone.  So it is done once, and a call that comes again is what is here:
memory, launches, and operations that are written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import native
from ..backends.base import Backend
from ..backends.buffer import Buffer, device_buffer
from ..backends.gate import gate
from ..backends.registry import Device
from ..backends.residents import moment
from ..dtypes import DType
from ..layout import Layout
from ..ops.spec import Op
from ..profile import counters
from .callers import user_place
from .errstate import capture
from .execute import evaluate
from .graph import Form, Read, State, Value, View, value_of
from .record import written

__all__ = ["Notes", "Tape"]

MOST = 16
"""Steps of a function that is kept."""

TRIES = 4
"""Calls after which a library has a call ready, if it ever has."""

_STORED = State.STORED

_READ = object()
"""In the place of an array."""

Result = tuple[Buffer, Layout, DType]


class Written:
    """An operation that a function recorded.

    Attributes
    ----------
    form : Form
    sources : tuple
        Numbers; None for a value.
    places : tuple of int
        The numbers of values, -1 for a number.
    """

    __slots__ = ("form", "places", "sources")

    def __init__(
        self, form: Form, sources: tuple[Any, ...], places: tuple[int, ...]
    ) -> None:
        self.form = form
        self.sources = sources
        self.places = places


class Called:
    """A call of a device's library.

    Attributes
    ----------
    backend : Backend
    name : str
        Of the operation.
    operands, options
        As it got them, `_READ` for each array.
    places : tuple of int
        The numbers of the values that are read.
    views : tuple of View
        How each is read.
    results : tuple of View
    start : callable or None
        What the library has ready: memory of what is read → that of the results, or
        None where it cannot be used.
    tries : int
        How often to ask for that still.
    """

    __slots__ = (
        "backend",
        "name",
        "operands",
        "options",
        "places",
        "results",
        "start",
        "tries",
        "views",
    )

    def __init__(
        self,
        backend: Backend,
        name: str,
        operands: Sequence[Any],
        options: Mapping[str, Any],
        places: tuple[int, ...],
        results: tuple[View, ...],
    ) -> None:
        reads = [x for x in (*operands, *options.values()) if type(x) is Read]
        self.backend = backend
        self.name = name
        self.operands = [_READ if type(x) is Read else x for x in operands]
        self.options = {
            option: _READ if type(x) is Read else x for option, x in options.items()
        }
        self.places = places
        self.views = tuple([View.of(read.layout, read.dtype) for read in reads])
        self.results = results
        self.start: Callable[[list[Any]], Any] | None = None
        self.tries = TRIES

    def usual(self, memories: Sequence[Any]) -> Any:
        """Call the library; None where its results lie otherwise."""
        native, backend = self.backend.native, self.backend
        views = [
            backend.view(memory, *view)
            for memory, view in zip(memories, self.views, strict=True)
        ]
        given = iter(views)
        operands = [next(given) if x is _READ else x for x in self.operands]
        options = {
            name: next(given) if x is _READ else x for name, x in self.options.items()
        }
        found = native[self.name](*operands, **options)
        if self.tries:
            self.tries -= 1
            ready: Any = getattr(native, "ready", None)  # asking the type takes longer
            if ready is not None:
                self.start = ready(self.name, operands, options)
        if [(layout, dtype) for _, layout, dtype in found] != [
            tuple(view) for view in self.results
        ]:
            return None
        return [memory for memory, _, _ in found]


class Tape:
    """What a function came to, for operands that lie so and options that are so.

    Attributes
    ----------
    device : Device
    steps : list of Written and Called
    results : list of (int, View)
        The numbers of the results, and how they are seen.
    settings : Settings
        Those in force.
    is_single : bool
        Whether the function returns an array, and not a tuple.
    """

    __slots__ = ("device", "is_single", "label", "results", "settings", "steps")

    def __init__(
        self,
        device: Device,
        steps: list[Any],
        results: list[tuple[int, View]],
        settings: Any,
        is_single: bool,
    ) -> None:
        self.device = device
        self.label = device.label
        self.is_single = is_single
        self.steps = steps
        self.results = results
        self.settings = settings

    def run(self, values: list[Any]) -> bool:
        """Do it again: values of all steps are added to those of the operands.

        False, and nothing has happened that anybody sees, where it cannot be done so.
        """
        for step in self.steps:
            if type(step) is Called:
                if not self._call(step, values):
                    return False
            else:
                record = step
                sources = list(record.sources)
                for place, number in enumerate(record.places):
                    if number >= 0:
                        sources[place] = values[number]
                mask = max(capture(), 0)
                device = self.device
                values.extend(
                    written(record.form, tuple(sources), device, mask, user_place())
                )
        return True

    def _call(self, step: Called, values: list[Any]) -> bool:
        label = self.label
        memories: list[Any] = []
        for number in step.places:
            value = values[number]
            if value.state != _STORED:
                evaluate((value,))
        _gate.enter()
        try:
            now = moment()
            for number in step.places:
                value = values[number]
                buffer = value.buffer
                buffer.last_used = now
                copies = buffer._copies
                memory = None
                if copies is not None and label in buffer._valid:
                    # Whoever holds it keeps it, also when the buffer gives it up.
                    memory = copies.get(label)
                if memory is None:
                    memory = buffer.read_on(step.backend)
                memories.append(memory)
            start = step.start
            found = None if start is None else start(memories)
            if found is None:
                found = step.usual(memories)
                if found is None:
                    return False
            for place, view in enumerate(step.results):
                memory = found[place]
                buffer = device_buffer(label, memory, memory.nbytes)
                values.append(value_of(view, self.device, None, 0, buffer))
        finally:
            _gate.leave()
        native.count(counters, "library")
        return True


class _UnknownError(Exception):
    """Something comes from elsewhere."""


class Notes:
    """What a function does, while it runs for the first time.

    Parameters
    ----------
    values : sequence of Value
        Its operands.
    device : Device

    Attributes
    ----------
    is_known : bool
        Whether all that it did so far is here.
    """

    def __init__(self, values: Sequence[Value], device: Device) -> None:
        self._device = device
        self._count = self._made = len(values)
        self._held: list[Any] = list(values)  # so that no other gets its identity
        self._places: dict[int, int] = {}
        for place, value in enumerate(values):
            self._places.setdefault(id(value), place)
        self._steps: list[Any] = []
        self.is_known = True

    def reading(self, operands: Sequence[Any]) -> tuple[int, ...] | None:
        """A library is going to read; the numbers of what it reads."""
        if not self.is_known:
            return None
        try:
            return tuple([self._place(x.value) for x in operands if type(x) is Read])
        except _UnknownError:
            self.is_known = False
            return None

    def called(
        self,
        op: Op,
        backend: Backend,
        operands: Sequence[Any],
        options: Mapping[str, Any],
        places: tuple[int, ...] | None,
        results: Sequence[Result],
    ) -> None:
        """A library was called."""
        if places is None or backend.device != self._device.label:
            self.is_known = False
            return
        views: list[View] = []
        for buffer, layout, dtype in results:
            self._add(buffer, self._made + len(views))
            views.append(View.of(layout, dtype))
        self._step(
            Called(backend, op.name, operands, options, places, tuple(views)),
            len(views),
        )

    def tape(
        self,
        results: Sequence[tuple[Value, View]],
        settings: Any,
        is_single: bool,
    ) -> Tape | None:
        """All of it; None where it depends on something else."""
        found: list[tuple[int, View]] = []
        try:
            for value, view in results:
                place = self._place(value)
                if place < self._count or place in [number for number, _ in found]:
                    return None
                found.append((place, view))
        except _UnknownError:
            return None
        if not self.is_known or len(self._steps) > MOST or not self._steps:
            return None
        return Tape(self._device, self._steps, found, settings, is_single)

    def _add(self, thing: Any, place: int) -> None:
        self._held.append(thing)
        self._places[id(thing)] = place

    def _step(self, step: Any, results: int) -> None:
        self._steps.append(step)
        self._made += results

    def _place(self, value: Value) -> int:
        """The number of a value; what was recorded becomes a step."""
        place = self._places.get(id(value))
        if place is not None:
            return place
        place = self._places.get(id(value.buffer))
        if place is not None and value.buffer is not None:
            self._add(value, place)
            return place
        expr = value.expr
        if expr is None or len(self._steps) > MOST:
            raise _UnknownError
        first = self._places.get(id(expr))
        if first is None:
            views = expr.form.inputs
            places = [
                -1 if view is None else self._place(source)
                for source, view in zip(expr.sources, views, strict=True)
            ]
            sources = [
                source if view is None else None
                for source, view in zip(expr.sources, views, strict=True)
            ]
            first = self._made
            self._add(expr, first)
            step = Written(expr.form, tuple(sources), tuple(places))
            self._step(step, len(expr.form.outputs))
        self._add(value, first + value.output)
        return first + value.output


_gate = gate
