"""A device with grids that interprets its kernels: what OpenCL, Metal and CUDA share,
without any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

import dcarray as dc
from dcarray.backends.base import Rates
from dcarray.backends.grid import GridBackend, Limits
from dcarray.backends.registry import install, remove
from dcarray.kernel.interpret import interpret
from dcarray.kernel.lower import lower
from dcarray.kernel.nodes import Array, Kernel
from dcarray.render.opencl import OPENCL

__all__ = ["InterpretedBackend", "on", "used"]


class InterpretedBackend(GridBackend):
    """Memory is an array of bytes, a kernel runs through `interpret`."""

    dialect = OPENCL
    rates = Rates(1e-5, 1e10, 1e10)
    supported = frozenset(map(np.dtype, "?bBhHiIlLqQefdFD"))

    def __init__(self, device: str = "grid:0", **limits: Any) -> None:
        super().__init__()
        self.device = device
        chosen = {"group": 64, "units": 2, "shared": 1 << 16, "items": 64, **limits}
        self.limits = Limits(**chosen)
        self.launched: list[str] = []

    def allocate(self, nbytes: int) -> Any:
        """New bytes, which hold anything."""
        if nbytes > 1 << 40:
            raise MemoryError(f"{nbytes} bytes")
        return np.full(nbytes, 0xCB, np.uint8)

    def upload(self, source: Any, target: Any) -> None:
        """Copy bytes."""
        target[: source.size] = source

    def download(self, source: Any, target: Any) -> None:
        """Copy bytes."""
        target[...] = source[: target.size]

    def build(self, text: str, kernel: Kernel) -> Kernel:
        """The kernel, over the dtypes that all devices have."""
        assert kernel.name in text
        return lower(kernel)

    def enqueue(
        self,
        function: Kernel,
        kernel: Kernel,
        grid: Sequence[int],
        group: Sequence[int],
        arguments: Sequence[Any],
    ) -> None:
        """Run it."""
        self.launched.append(kernel.name)
        given = []
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            if isinstance(parameter, Array):
                whole = len(argument) // parameter.dtype.itemsize
                given.append(argument.view(parameter.dtype)[:whole])
            else:
                given.append(np.asarray(argument).astype(parameter.dtype))
        interpret(function, given, grid, group)

    def synchronize(self) -> None:
        """Nothing runs behind one's back."""


Made = TypeVar("Made", bound=InterpretedBackend)


@contextmanager
def used(made: Made) -> Iterator[Made]:
    """Have a device, and nothing in its place, as long as the block lasts."""
    install(made)
    with dc.config(retry_delay=0.0, fallback="error"):
        yield made
    remove(made.device)


def on(device: InterpretedBackend, x: Any) -> dc.DeviceArray:
    """An array on it."""
    return dc.asarray(x, device=device.device)
