"""Functions of the library by the name of the row that they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .work import Result, Work

if TYPE_CHECKING:
    from ..backend import GridBackend

__all__ = ["GridLibrary"]


@cache
def _table() -> Mapping[str, Callable[..., Any]]:
    """All functions; loaded when one is first looked for."""
    from . import (
        adding,
        attending,
        contraction,
        einsum,
        joining,
        neural,
        ordering,
        picking,
        pooling,
        quantiles,
        random,
        repeating,
        scans,
        searching,
        selecting,
        sets,
        sliding,
        statistics,
        vectors,
    )

    modules = (
        adding,
        searching,
        scans,
        picking,
        quantiles,
        ordering,
        sets,
        contraction,
        einsum,
        joining,
        statistics,
        vectors,
        neural,
        pooling,
        attending,
        random,
        repeating,
        selecting,
        sliding,
    )
    tables = [module.TABLE for module in modules]
    return {name: function for table in tables for name, function in table.items()}


class GridLibrary(Mapping[str, Callable[..., Any]]):
    """What a device computes by library kernels.

    Each function takes `GridView`s and other operands, and the row's options, and
    returns a tuple of ``(memory, layout, dtype)``.  Rows without kernels are missing.
    """

    def __init__(self, backend: GridBackend) -> None:
        self._work = Work(backend)

    def __getitem__(self, name: str) -> Callable[..., tuple[Result, ...]]:
        function = _table()[name]

        def call(*operands: Any, **options: Any) -> tuple[Result, ...]:
            found = function(self._work, *operands, **options)
            views = found if isinstance(found, tuple) else (found,)
            return tuple([(x.memory, x.layout, x.dtype) for x in views])

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(_table())

    def __len__(self) -> int:
        return len(_table())
