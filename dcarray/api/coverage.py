"""Which public functions are native, and which go through NumPy on the host.

`native` and `fallback` mark functions where they are defined; `rows` reads the marks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from ..array import DeviceArray
from ..array.fallback import call_numpy

__all__ = [
    "FALLBACK",
    "NATIVE",
    "NOT_ON_GRIDS",
    "REEXPORTED",
    "Row",
    "fallback",
    "native",
    "rows",
    "unbound",
]

NATIVE = "native"
FALLBACK = "fallback"
REEXPORTED = "re-exported"

NOT_ON_GRIDS = frozenset(
    """
    fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft
    fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals
    linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr
    linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensorinv
    linalg.tensorsolve
    """.split()
)
"""Native functions for which OpenCL and Metal have no kernels: the host computes them,
which counts as a fallback."""

Function = TypeVar("Function", bound=Callable[..., Any])

_MARK = "__dcarray_coverage__"


def native(function: Function) -> Function:
    """Mark a function that works on every device without NumPy."""
    setattr(function, _MARK, NATIVE)
    return function


def fallback(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function on the host; arguments and results are `DeviceArray`s.

    Parameters
    ----------
    function : callable
        A public function of NumPy.

    Returns
    -------
    callable
        With the name, the documentation and the signature of ``function``.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return call_numpy(DeviceArray, function, *arguments, **keywords)

    call.__module__ = function.__module__.replace("numpy", "dcarray", 1)
    setattr(call, _MARK, FALLBACK)
    return call


class _Unbound(staticmethod):  # type: ignore[type-arg]
    """A function that does not become a method; pickled by its name."""

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def unbound(function: Function) -> Function:
    """A function that stays one where it is kept in a class, as NumPy's own C functions
    do: ``class Model: array = np.array``."""
    held: Any = _Unbound(function)
    setattr(held, _MARK, getattr(function, _MARK, REEXPORTED))
    return held  # type: ignore[no-any-return]


class Row(NamedTuple):
    """One public function: its module, its name, and one of the three kinds."""

    module: str
    name: str
    kind: str


def rows(modules: Mapping[str, ModuleType]) -> Iterator[Row]:
    """Every public function of some modules.

    Parameters
    ----------
    modules : mapping
        Modules by the name to be shown.

    Yields
    ------
    Row
    """
    for shown, module in modules.items():
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                kind = getattr(value, _MARK, REEXPORTED)
                yield Row(shown, name, kind)
