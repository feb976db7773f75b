"""The backend of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...kernel.nodes import Kernel
from ...layout import Layout
from ...ops.program import Program
from ..base import DeviceProperties, Raised, Rates
from ..pool import Pool
from ..recording import Entry
from . import memory
from .engine import data_address
from .execute import Executable
from .folded import Folded
from .prepared import Prepared, prepared
from .reductions import launch_reduction, reduce

__all__ = ["CpuBackend"]

HostArray = np.ndarray[Any, Any]

RATES = Rates(launch=15e-6, bandwidth=1.2e10, operations=4e9)
"""Measured on one desktop core."""


def _numbers() -> frozenset[np.dtype[Any]]:
    """NumPy's numbers and those of ml_dtypes."""
    found = {np.dtype(kind) for kind in "?bBhHiIlLqQefdgFDG"}
    try:
        import ml_dtypes  # 5 ms, the first time that anything is computed
    except ImportError:
        return frozenset(found)
    names = [name for name in dir(ml_dtypes) if name.startswith(("bfloat", "float"))]
    return frozenset(found | {np.dtype(getattr(ml_dtypes, name)) for name in names})


class CpuBackend:
    """NumPy on the host, fused and on all cores.

    Parameters
    ----------
    pool : Pool, optional
        Where memory comes from.
    """

    device = "cpu"

    def __init__(self, pool: Pool | None = None) -> None:
        self.pool = memory.host_pool() if pool is None else pool
        self.supported = _numbers()
        self.native: Mapping[str, Callable[..., Any]] = {}
        self.rates = RATES

    def allocate(self, nbytes: int) -> HostArray:
        """A block of ``nbytes`` from the pool; it goes back when it dies."""
        return memory.rent(self.pool, nbytes)

    def view(self, block: HostArray, layout: Layout, dtype: np.dtype[Any]) -> HostArray:
        """A block seen as an array."""
        return memory.view(block, layout, dtype)

    def upload(self, source: HostArray, target: HostArray) -> None:
        """Copy bytes."""
        np.copyto(target[: source.size], source)

    def download(self, source: HostArray, target: HostArray) -> None:
        """Copy bytes."""
        np.copyto(target, source[: target.size])

    def compile(self, program: Program) -> Executable:
        """Make a program ready to run; kernels are built when it first runs."""
        return Executable(program)

    def launch(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        inputs: Sequence[HostArray],
        scalars: Sequence[np.generic],
        outputs: Sequence[HostArray],
        reduced: HostArray | None = None,
        order: tuple[int, ...] | None = None,
        watch: int = 0,
    ) -> Sequence[Raised]:
        """Run a program over ``shape``; see `Backend.launch`.

        A `Raised` whose ``node`` is the number of nodes speaks of the reduction.
        """
        if reduced is None:
            return executable.run(shape, inputs, scalars, outputs, watch)
        operands = (*inputs, *outputs)
        return launch_reduction(
            executable,
            self.pool,
            shape,
            tuple([array.strides for array in operands]),
            [data_address(array) for array in operands],
            lambda: (inputs, outputs),
            scalars,
            reduced,
            order,
            watch,
        )

    def folded(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        reduced: HostArray,
        order: tuple[int, ...],
    ) -> Folded:
        """A launch that ends in a reduction and will come again, for inputs and outputs
        that lie so, and results that lie as ``reduced`` does."""
        return Folded(self.pool, executable, shape, strides, reduced, order)

    def prepared(
        self,
        executable: Executable,
        shape: tuple[int, ...],
        leaves: Sequence[tuple[Layout, np.dtype[Any]]],
        outputs: Sequence[tuple[Layout, np.dtype[Any]]],
    ) -> Prepared | None:
        """A launch that will come again, for operands that lie so; None where nothing
        is to be launched."""
        return prepared(executable, shape, leaves, outputs)

    def reduce(
        self,
        ufunc: np.ufunc,
        source: HostArray,
        axes: tuple[int, ...],
        target: HostArray,
    ) -> None:
        """``ufunc.reduce`` of an array, on several threads where the bits allow.

        ``target`` has length 1 along ``axes``.  Floating-point warnings are NumPy's.
        """
        reduce(ufunc, source, axes, target)

    def run(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Run a kernel over a grid; see `GridBackend.run`."""
        from .kernels import run_kernel  # only who has kernels needs it

        run_kernel(kernel, grid, group, arguments)

    def build_ahead(self, entry: Entry) -> None:
        """Put a kernel of a record on disk.

        Raises
        ------
        CompileError
            Its text does not compile.
        UnsupportedError
            Nothing is compiled here: there is no LLVM.
        """
        from .engine import engine  # only who builds ahead needs it here

        found = engine()
        if found is None:
            raise UnsupportedError("cpu: nothing is compiled here")
        found.build_ahead(entry)

    def properties(self) -> DeviceProperties:
        """What the processor and its memory are."""
        from .properties import host_properties  # reads files of the system

        return host_properties(self.supported, self.pool)

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when it has ended."""
