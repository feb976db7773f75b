"""What `dc.kernel` makes of a function."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ...backends.registry import backend_for
from ...config import current
from ...errors import KernelTypeError, LaunchError
from ...kernel.calls import MEANINGS
from ...kernel.source import source_of
from ...kernel.specialise import Specialised, over_grid, specialise
from ...lazy.callers import name_line, user_frame
from ...ops.composed import TABLE
from ...ops.elementwise import BY_UFUNC
from .arguments import bound, operands
from .decorator import found_by_name
from .launching import interpret, launch
from .ready import Key, Ready, again, key_of, ready

__all__ = ["Kernel", "Launcher", "layout_on"]

Size: TypeAlias = int | Sequence[int]
Sizes: TypeAlias = tuple[int, ...]

MEANINGS.update(BY_UFUNC)
MEANINGS.update({f"nn.{name}": row for name, row in TABLE.items()})

_DOUBLE = np.dtype(np.float64)

_MOST = 256
"""Specialisations that a kernel keeps."""


class Kernel:
    """A function in the kernel language, to be run over a grid of work items.

    ``kernel[grid, group](*arguments)`` runs it over ``grid`` work items in groups of
    ``group``, each a number or a tuple of up to three; the grid is a whole number of
    groups along each axis.  ``kernel[grid](*arguments)`` leaves the groups to the
    device, and ``kernel(*arguments)`` takes the shape of the first array that the
    kernel stores to for a grid; both are for kernels in which work items do not meet.

    Attributes
    ----------
    function : callable
        The Python function.
    """

    def __init__(self, function: Callable[..., Any], constants: Sequence[str]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.source_code = source_of(function)
        if function.__name__ == "<lambda>":
            tree = self.source_code.tree
            self.source_code.fail(tree, "a kernel is a function made by 'def'")
        unknown = set(constants) - set(self.source_code.parameters)
        if unknown:
            tree = self.source_code.tree
            self.source_code.fail(tree, f"has no parameter {min(unknown)!r}")
        self.constants = frozenset(constants)
        self._count = len(self.source_code.parameters)
        self._known: dict[Any, Specialised] = {}
        self._ready: dict[Any, Ready] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<kernel {self.source_code.tree.name}>"

    def __reduce__(self) -> Any:
        """By name where a module holds it under that of its function."""
        name = self.function.__qualname__
        if found_by_name(self.function.__module__, name) is self:
            return name
        return Kernel, (self.function, tuple(self.constants))

    @property
    def body(self) -> Callable[..., Any]:
        """What another kernel that calls this one runs."""
        return self.function

    def __getitem__(self, sizes: Any) -> Launcher:
        if isinstance(sizes, tuple) and len(sizes) == 2:
            return Launcher(self, _sizes(self, sizes[0]), _sizes(self, sizes[1]))
        return Launcher(self, _sizes(self, sizes), None)

    def __call__(
        self, *arguments: Any, size: Size | None = None, **constants: Any
    ) -> None:
        """Run over a grid of this size, or of the shape of the first array that the
        kernel stores to."""
        grid = None if size is None else _sizes(self, size)
        self.run(arguments, constants, grid, None)

    @property
    def interpret(self) -> Interpreted:
        """The kernel as plain Python: ``kernel.interpret[grid, group](*arguments)``.

        Work items run one after the other, up to their barriers, so that ``print`` and
        breakpoints in the kernel work.
        """
        return Interpreted(self)

    def source(
        self,
        target: str,
        *arguments: Any,
        group: Sequence[int] | None = None,
        **constants: Any,
    ) -> str:
        """The text that is generated.

        Parameters
        ----------
        target : {"cuda", "opencl", "metal", "llvm"}
        *arguments
            What the kernel is called with, or its types: a dtype for a number, a pair
            of a dtype and a number of axes for an array.  Without any, annotations and
            the use of the parameters tell.
        group : sequence of int, optional
            Work items of a group, for ``kernel[grid, group]``.
        **constants
            As in a call.

        Raises
        ------
        KernelSyntaxError, KernelTypeError
            What is wrong with the kernel, and where.
        UnsupportedError
            The language lacks a dtype or an operation.

        Examples
        --------
        >>> print(scale.source("opencl", (np.float32, 1), (np.float32, 1), np.float32))
        ... # doctest: +SKIP
        """
        from .tools import source  # renderers load when somebody asks

        return source(self, target, arguments, group, constants)

    def specialised(
        self,
        types: Sequence[Any],
        constants: Mapping[str, Any],
        group: tuple[int, int, int] | None,
        axes: int = 0,
        doubles: bool = True,
        lanes: bool = False,
    ) -> Specialised:
        """The kernel for arguments of these types; see `kernel.specialise`."""
        checks = current().bounds_check
        try:
            known = _known(constants)
            key = (tuple(types), known, group, checks, axes, doubles, lanes)
            found = self._known.get(key)
        except TypeError:
            raise KernelTypeError(
                f"{self.source_code.tree.name}: constants are numbers, tuples, dtypes "
                f"and functions, got {dict(constants)}"
            ) from None
        if found is not None and found.is_current():
            return found
        with self._lock:
            found = specialise(
                self.function, types, constants, group, checks, doubles, lanes
            )
            if axes:
                found = over_grid(found, axes)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = found
        return found

    def split(
        self, arguments: Sequence[Any], constants: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments that are given to the device, and those that are known."""
        source = self.source_code
        given: list[Any] = []
        known = dict(constants)
        for place, label in enumerate(source.parameters):
            if place < len(arguments):
                value = arguments[place]
            elif label in known:
                value = known.pop(label)
            else:
                continue
            if label in self.constants:
                known[label] = value
            else:
                given.append(value)
        return [*given, *arguments[len(source.parameters) :]], known

    def run(
        self,
        arguments: Sequence[Any],
        constants: Mapping[str, Any],
        grid: Sizes | None,
        group: Sizes | None,
    ) -> None:
        """Run over a grid; see the class."""
        if constants or self.constants or len(arguments) != self._count:
            arguments, constants = self.split(arguments, constants)
        key = key_of(arguments, grid, group)
        if key is not None and constants:
            key = (*key, _known(constants)) if _is_hashable(constants) else None
        way = self._ready.get(key)
        if way is not None and again(way, arguments, grid, group):
            return
        name = self.source_code.tree.name
        device = bound(name, arguments)
        given, types = operands(name, arguments, device)
        backend = backend_for("cpu" if device.kind == "auto" else str(device))
        doubles = _DOUBLE in backend.supported
        layout: Any = None
        if group is not None:
            assert grid is not None
            whole = (*group, 1, 1)[:3]
            _check(name, grid, group, backend)
            sizes = (whole[0], whole[1], whole[2])
            lanes = bool(getattr(backend, "lanes", False))
            found = self.specialised(types, constants, sizes, 0, doubles, lanes)
            lengths = grid
        else:
            lengths = self.grid_of(given, types, constants) if grid is None else grid
            found = self.specialised(types, constants, None, len(lengths), doubles)
            layout = layout_on(backend)
            grid, group = layout(lengths)
        if math.prod(lengths):
            launch(found, given, lengths, grid, group, device)
            if key is not None:
                self._remember(key, found, group, layout)

    def _remember(
        self, key: Key, found: Specialised, group: Sizes, layout: Any
    ) -> None:
        """The next launch like this one may go the short way."""
        way = ready(found, group, layout)
        if len(self._ready) >= _MOST:
            self._ready.clear()
        if way is not None:
            self._ready[key] = way

    def grid_of(
        self, given: Sequence[Any], types: Sequence[Any], constants: Mapping[str, Any]
    ) -> Sizes:
        """The shape of the first array that the kernel stores to."""
        name = self.source_code.tree.name
        written = self.specialised(types, constants, None).written
        if not written:
            raise LaunchError(f"{name}: it stores to no array: give a size")
        found = tuple(given[written[0]].shape)
        if len(found) > 3:
            raise LaunchError(
                f"{name}: an array of {len(found)} axes is no grid: give a size"
            )
        return found


class Launcher:
    """A kernel with a grid: call it with the arguments."""

    __slots__ = ("grid", "group", "kernel")

    def __init__(self, kernel: Kernel, grid: Sizes, group: Sizes | None) -> None:
        self.kernel = kernel
        self.grid = grid
        self.group = group

    def __call__(self, *arguments: Any, **constants: Any) -> None:
        """Run the kernel over the grid."""
        self.kernel.run(arguments, constants, self.grid, self.group)


class Interpreted:
    """A kernel that runs as plain Python; see `Kernel.interpret`."""

    __slots__ = ("kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __getitem__(self, sizes: Any) -> Callable[..., None]:
        found = self.kernel[sizes]
        return functools.partial(self._run, found.grid, found.group)

    def __call__(
        self, *arguments: Any, size: Size | None = None, **constants: Any
    ) -> None:
        """Run over a grid of this size, or of the shape of the first array that the
        kernel stores to."""
        grid = None if size is None else _sizes(self.kernel, size)
        self._run(grid, None, *arguments, **constants)

    def _run(
        self,
        grid: Sizes | None,
        group: Sizes | None,
        *arguments: Any,
        **constants: Any,
    ) -> None:
        kernel = self.kernel
        name = kernel.source_code.tree.name
        given, known = kernel.split(arguments, constants)
        given, types = operands(name, given, bound(name, given))
        if grid is None:
            grid = kernel.grid_of(given, types, known)
        if group is None:
            group = (1,) * len(grid)
        _check(name, grid, group, backend_for("cpu"))
        interpret(kernel.function, grid, group, given, types, known)


def _known(constants: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple([(name, _keyed(constants[name])) for name in sorted(constants)])


def _is_hashable(constants: Mapping[str, Any]) -> bool:
    return all(type(x).__hash__ is not None for x in constants.values())


def _keyed(value: Any) -> Any:
    """A constant as part of a key: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if isinstance(value, tuple):
        return tuple([_keyed(item) for item in value])
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return (type(value), repr(value))
    return value


def _flat(sizes: Sequence[Any]) -> bool:
    return all(isinstance(n, (int, np.integer)) for n in sizes)


def _sizes(kernel: Kernel, given: Any) -> Sizes:
    if type(given) is int and given >= 0:
        return (given,)
    found = tuple(given) if np.iterable(given) else (given,)
    if not 1 <= len(found) <= 3 or not _flat(found) or any(n < 0 for n in found):
        name = kernel.source_code.tree.name
        raise _misfit(f"{name}: a grid has one to three lengths, got {given!r}")
    return tuple([int(n) for n in found])


def _check(name: str, grid: Sizes, group: Sizes, backend: Any) -> None:
    """Refuse groups that do not fill the grid, or that the device cannot have."""
    facts: dict[str, Any] = {"device": backend.device, "kernel": name, "grid": grid}
    if len(grid) != len(group):
        raise _misfit(f"a grid {grid} in groups of {group}", **facts)
    if any(m < 1 or n % m for n, m in zip(grid, group, strict=True)):
        padded = tuple([-(-n // max(m, 1)) * max(m, 1) for n, m in zip(grid, group)])
        raise _misfit(
            f"groups of {group} do not fill the grid",
            hint=f"round it up to {padded} and let the kernel look where it is",
            **facts,
        )
    limits = getattr(backend, "limits", None)
    most = limits.group if limits is not None else 1 << 16
    if math.prod(group) > most:
        raise _misfit(f"groups of {group}; a group has {most} items at most", **facts)


def _misfit(message: str, **facts: Any) -> LaunchError:
    """An error that names the line of the launch."""
    error = LaunchError(message, **facts)
    name_line(error, user_frame())
    return error


def layout_on(backend: Any) -> Callable[[Sizes], tuple[Sizes, Sizes]]:
    """How a backend lays out a grid of some lengths: ``(lengths) -> (grid, group)``."""
    limits = getattr(backend, "limits", None)
    return _on_host if limits is None else partial(_on_device, limits.items)


def _on_host(lengths: Sizes) -> tuple[Sizes, Sizes]:
    """Grid and group for the CPU, which has its loop along the first axis."""
    return _whole(lengths, _group(lengths, _host_items(math.prod(lengths)), 1024))


def _on_device(items: int, lengths: Sizes) -> tuple[Sizes, Sizes]:
    """Grid and group for a device with a bundle of items along its first axis."""
    return _whole(lengths, _group(lengths, items, 32))


def _whole(lengths: Sizes, group: Sizes) -> tuple[Sizes, Sizes]:
    """The grid of whole groups that holds so many items along each axis."""
    pairs = zip(reversed(lengths), group, strict=True)
    return tuple([-(-n // m) * m for n, m in pairs]), group


def _host_items(count: int) -> int:
    """Work items of a group on the CPU: small grids, too, are for several threads."""
    return 1 << min(10, max(5, (count // 16).bit_length()))


@functools.lru_cache(1024)
def _group(lengths: Sizes, items: int, along: int) -> Sizes:
    """A group for a grid, the device's first axis first, which gets ``along`` items."""
    found = []
    for place, length in enumerate(reversed(lengths)):
        share = min(items, along) if place == 0 and len(lengths) > 1 else items
        size = 1
        while size < min(share, length):
            size *= 2
        size = min(size, max(share, 1))
        found.append(size)
        items = max(1, items // size)
    return tuple(found)
