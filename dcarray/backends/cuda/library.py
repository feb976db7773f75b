"""What a CUDA device computes by the vendor's libraries, through CuPy.

A row here stands before the library kernel of the same name.  CuPy's functions see our
memory without a copy, and what they allocate comes from our pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from ..grid.library import GridLibrary
from ..grid.views import GridView
from . import decomposing, transforms
from .attention import TABLE as ATTENDED
from .blas import TABLE as MULTIPLIED
from .convolution import TABLE as CONVOLVED
from .counting import TABLE as COUNTED
from .drawing import TABLE as DRAWN
from .driver import failure, failures
from .exchange import as_cupy, from_cupy, inside
from .picking import TABLE as PICKED
from .pooling import INDEXED
from .rows import TABLE as ROWS
from .solvers import TABLE as SOLVED
from .sorting import TABLE as SORTED

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["CudaLibrary", "product"]

Row = Callable[..., Any]

OWN: Mapping[str, Row] = {
    **ROWS,
    **INDEXED,
    **PICKED,
    **COUNTED,
    **SORTED,
    **CONVOLVED,
    **ATTENDED,
    **DRAWN,
    **MULTIPLIED,
    **SOLVED,
    **transforms.TABLE,
}
"""Rows of our own; each may say by None that another one is to compute it."""


KEPT = frozenset(
    ("take", *ROWS, *INDEXED, *CONVOLVED, *ATTENDED, *MULTIPLIED, *transforms.TABLE)
)
"""Rows whose launches are kept, see `raw`."""


class CudaLibrary(Mapping[str, Callable[..., Any]]):
    """Rows of our own, then those of CuPy's libraries, then those of `GridLibrary`.

    Each function takes `GridView`s and other operands, and the row's options, and
    returns a tuple of ``(memory, layout, dtype)``.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._grid = GridLibrary(backend)
        self._raw = backend.raw

    def __getitem__(self, name: str) -> Row:
        own = OWN.get(name)
        if own is not None:
            return partial(self._own, name, own)
        return self._other(name)

    def ready(
        self, name: str, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> Callable[[list[Any]], list[Any] | None] | None:
        """What does again what a row did, see `Raw.ready`."""
        return self._raw.ready(name, operands, options) if name in KEPT else None

    def _other(self, name: str) -> Row:
        """Without those of our own."""
        row = _table().get(name)
        if row is None:
            return self._grid[name]
        return partial(_call, self._backend, row)

    def _own(self, name: str, row: Row, *operands: Any, **options: Any) -> Any:
        found: Any
        if name in KEPT:
            found = self._raw.call(name, row, operands, options)
        else:
            found = row(self._raw, *operands, **options)
        if found is None:
            return self._other(name)(*operands, **options)
        if type(found) is tuple:
            return tuple([(x.memory, x.layout, x.dtype) for x in found])
        return ((found.memory, found.layout, found.dtype),)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*OWN, *_table(), *self._grid])

    def __len__(self) -> int:
        return len(set(OWN) | set(_table()) | set(self._grid))


def _call(backend: CudaBackend, row: Row, *operands: Any, **options: Any) -> Any:
    def given(x: Any) -> Any:
        return as_cupy(backend, x) if isinstance(x, GridView) else x

    with inside(backend):
        try:
            found = row(
                *[given(x) for x in operands],
                **{name: given(x) for name, x in options.items()},
            )
        except failures() as error:
            raise failure(error, backend.device) from None
        except (RuntimeError, TypeError) as error:  # what CuPy does not have
            raise UnsupportedError(f"{backend.device}: {error}") from None
    results = found if isinstance(found, tuple) else (found,)
    views = [from_cupy(x) for x in results]
    return tuple([(x.memory, x.layout, x.dtype) for x in views])


def product(backend: CudaBackend, x: GridView, y: GridView) -> GridView:
    """``x @ y`` by cuBLAS."""
    import cupy

    with inside(backend):
        return from_cupy(cupy.matmul(as_cupy(backend, x), as_cupy(backend, y)))


@cache
def _table() -> Mapping[str, Row]:
    return {**transforms.rows(), **decomposing.rows()}
