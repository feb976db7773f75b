"""The part of a backend that is the same wherever kernels run over a grid."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernel.nodes import Array, Kernel
from ...layout import Layout
from ...ops.program import Program
from ...render.cfamily import entry, render
from ...render.dialect import Dialect
from ..base import Raised, Rates, Start
from .launch import lowered_number
from .library import GridLibrary
from .programs import GridExecutable
from .tuning import Choice, chosen
from .views import GridView

__all__ = ["GridBackend", "GridView", "Limits"]

HostArray = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can launch.

    Attributes
    ----------
    group : int
        Most work items of a group.
    units : int
        Groups that run at the same time.
    shared : int
        Bytes of memory that a group shares.
    items : int
        Work items of a group in maps and reductions.
    ahead : int
        Elements that an item of theirs reads before it computes.
    coalesces : bool
        Whether memory is fast only where neighbours read neighbours, as on a GPU.
    run : int
        Bytes that an item reads at once, if that is more than an element.
    """

    group: int
    units: int
    shared: int
    items: int
    ahead: int = 1
    coalesces: bool = False
    run: int = 1


class GridBackend(ABC):
    """A device that builds kernels from text and runs them over grids.

    A subclass sets the attributes and gives `allocate`, `upload`, `download`,
    `build`, `enqueue` and `synchronize`.
    """

    device: str
    supported: frozenset[np.dtype[Any]]
    rates: Rates
    dialect: Dialect
    limits: Limits
    executable = GridExecutable

    def __init__(self) -> None:
        self.native: Mapping[str, Callable[..., Any]] = GridLibrary(self)
        # By identity: a kernel is a tree, and hashing one takes longer than a launch.
        self._functions: dict[int, tuple[Kernel, Any]] = {}
        self._building = threading.Lock()
        self._layouts: dict[str, Choice] | None = None

    # ------------------------------------------------------------- given by a driver
    @abstractmethod
    def allocate(self, nbytes: int) -> Any:
        """A block of at least ``nbytes`` from the pool; it goes back when it dies."""

    @abstractmethod
    def upload(self, source: HostArray, target: Any) -> None:
        """Copy bytes of the host."""

    @abstractmethod
    def download(self, source: Any, target: HostArray) -> None:
        """Copy bytes to the host."""

    @abstractmethod
    def build(self, text: str, kernel: Kernel) -> Any:
        """The function of a text.

        Raises
        ------
        CompileError
            With the compiler's own message.
        """

    @abstractmethod
    def enqueue(
        self,
        function: Any,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Start a function; ``arguments`` are blocks and NumPy scalars.

        Raises
        ------
        LaunchError
            With the driver's own message.
        """

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until all that was launched has ended."""

    # ------------------------------------------------------------------- the contract
    def view(self, memory: Any, layout: Layout, dtype: np.dtype[Any]) -> GridView:
        """``memory`` seen as an array."""
        return GridView(memory, layout, dtype)

    def compile(self, program: Program) -> GridExecutable:
        """Make a program ready to run; kernels are built when they are first needed."""
        return self.executable(self, program)

    def launch(
        self,
        executable: GridExecutable,
        shape: tuple[int, ...],
        inputs: Sequence[GridView],
        scalars: Sequence[np.generic],
        outputs: Sequence[GridView],
        reduced: GridView | None = None,
        order: tuple[int, ...] | None = None,
        watch: int = 0,
    ) -> Sequence[Raised]:
        """Run over ``shape``.  The device knows no floating-point flags."""
        executable.run(shape, inputs, scalars, outputs, reduced)
        return ()

    def prepare(
        self,
        executable: GridExecutable,
        shape: tuple[int, ...],
        inputs: Sequence[tuple[Layout, np.dtype[Any]]],
        outputs: Sequence[tuple[Layout, np.dtype[Any]]],
        reduced: tuple[Layout, np.dtype[Any]] | None = None,
    ) -> Start:
        """A launch, ready but for the memory and the numbers; see `Preparing`."""
        views = [GridView(None, *lies) for lies in (*inputs, *outputs)]
        target = None
        if reduced is not None:
            target = GridView(None, *reduced)
            views.append(target)
        return executable.prepare(shape, views, target)

    def turn_squares(self, x: GridView) -> None:
        """Transpose the last two of three axes, where the elements lie."""
        from .library.turning import turn_squares  # loads with the first squares

        turn_squares(self, x)

    def put_at(self, x: GridView, value: GridView, *arrays: GridView, key: Any) -> None:
        """``x[key] = value``, where the elements lie; ``key`` has slots for the arrays.

        Nothing is written where an index is wrong, or the shapes do not fit.
        """
        from .library.picking import put_at  # loads with the first of them

        put_at(self, x, value, *arrays, key=key)

    def product(self, x: GridView, y: GridView, dtype: Any) -> GridView | None:
        """``x @ y`` of stacks of matrices by a library of the vendor's, where there is
        one that has the dtypes."""
        return None

    def places_in_order(self, keys: GridView) -> GridView | None:
        """The places of a row of unsigned integers in their order, equal ones as they
        stand, by a library of the vendor's, where that pays."""
        return None

    # ------------------------------------------------------------------------ kernels
    @property
    def layouts(self) -> dict[str, Choice]:
        """How each kind of kernels is laid out; see `tuning`."""
        if self._layouts is None:
            self._layouts = chosen(self)
        return self._layouts

    def function(self, kernel: Kernel) -> Any:
        """A kernel's function, built at its first use."""
        found = self._functions.get(id(kernel))
        if found is None:
            with self._building:
                found = self._functions.get(id(kernel))
                if found is None:
                    text = render(kernel, self.dialect)
                    function = self.build(text, entry(kernel, self.dialect))
                    found = self._functions[id(kernel)] = (kernel, function)
        return found[1]

    def starter(
        self,
        function: Any,
        kernel: Kernel,
        grid: tuple[int, ...],
        group: tuple[int, ...],
        numbers: Sequence[np.generic],
    ) -> Start:
        """What starts a function time and again, with blocks and scalars of the moment
        before the ``numbers``."""
        enqueue = self.enqueue

        def start(memories: Sequence[Any], scalars: Sequence[np.generic]) -> None:
            enqueue(function, kernel, grid, group, [*memories, *scalars, *numbers])

        return start

    def start_once(
        self,
        function: Any,
        kernel: Kernel,
        grid: tuple[int, ...],
        group: tuple[int, ...],
        memories: list[Any],
        scalars: Sequence[np.generic],
        numbers: list[int],
    ) -> None:
        """Do once what `starter` gives; the ``numbers`` are Python's."""
        kind = kernel.parameters[-1].dtype.type
        last = [kind(number) for number in numbers]
        self.enqueue(function, kernel, grid, group, [*memories, *scalars, *last])

    def run(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Run a kernel.

        Parameters
        ----------
        kernel : Kernel
        grid, group : sequence of int
            Work items in all, and those of a group, along up to three axes.
        arguments : sequence
            One for each parameter: a block of memory, or a number.
        """
        given: list[Any] = []
        for parameter, argument in zip(kernel.parameters, arguments, strict=True):
            if isinstance(parameter, Array):
                given.append(argument)
            else:
                given.extend(lowered_number(argument, parameter.dtype))
        self.enqueue(self.function(kernel), kernel, grid, group, given)
