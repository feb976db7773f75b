"""Products of matrices by cuBLAS, called directly.

CuPy's own way to it takes longer than a small product, knows no bfloat16, and refuses
to be captured.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...config import current
from ...errors import LaunchError
from ...layout import Layout
from ..base import Start
from ..grid.views import GridView
from . import vectors
from .driver import runtime
from .mapped import copied

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .raw import Raw
    from .streams import Stream

__all__ = ["TABLE", "Blas"]


class _Kind(NamedTuple):
    """How cuBLAS calls a dtype, the type of its sums, and that of alpha and beta."""

    data: int
    compute: int
    scale: str


SINGLE, TENSOR = 68, 77
"""CUBLAS_COMPUTE_32F and CUBLAS_COMPUTE_32F_FAST_TF32."""

KINDS = {
    "float16": _Kind(2, SINGLE, "<f4"),
    "bfloat16": _Kind(14, SINGLE, "<f4"),
    "float32": _Kind(0, SINGLE, "<f4"),
    "float64": _Kind(1, 70, "<f8"),
    "complex64": _Kind(4, SINGLE, "<c8"),
    "complex128": _Kind(5, 70, "<c16"),
}

_POINTER, _INT, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
GEMM = (
    *(_INT, _INT, _INT, _INT, _INT, _POINTER),
    *(_POINTER, _INT, _INT, _LONG),
    *(_POINTER, _INT, _INT, _LONG),
    *(_POINTER, _POINTER, _INT, _INT, _LONG),
    *(_INT, _INT, _INT),
)
"""Types of what cublasGemmStridedBatchedEx takes behind the handle."""

NOT_TURNED, TURNED = 0, 1
DEFAULT = -1
"""CUBLAS_GEMM_DEFAULT."""

WORKSPACE = 32 << 20
"""Bytes that cuBLAS asks for on Hopper."""

MOST_CALLS = 64
"""Of one product, whose stacks do not lie evenly."""

MOST_PLANS = 1 << 15

INT = 1 << 31


class _Matrix(NamedTuple):
    """A stack of matrices as cuBLAS takes it; strides are counted in elements."""

    turned: int
    leading: int
    step: int


class _Plan(NamedTuple):
    """A product, but for where its operands are.

    Attributes
    ----------
    starts : list of tuple of int
        Where the operands of each call begin, in bytes.
    arguments : tuple
        Of all calls, as C has them: making them takes longer than the call.
    pointers : tuple of c_void_p
        Those among the arguments for the second operand, the first one and the result,
        which differ from call to call.
    nbytes : int
        Of the result of one call.
    layout : Layout
    """

    starts: list[tuple[int, int]]
    arguments: tuple[Any, ...]
    pointers: tuple[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    nbytes: int
    layout: Layout


REFUSED: Any = ()
"""In the place of a plan: cuBLAS cannot have the operands as they lie."""


class Blas:
    """cuBLAS on one device.

    Parameters
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._library: Any = None
        self._handle = ctypes.c_void_p()
        self._lock = threading.Lock()
        self._is_there: bool | None = None
        self._gemm: Any = None
        self._stream: Stream | None = None
        self._plans: dict[Any, _Plan] = {}

    def _opened(self) -> bool:
        """Whether there is a handle; made at the first call."""
        with self._lock:
            if self._is_there is None:
                self._is_there = False
                library = _library()
                if library is not None:
                    self._backend._enter()
                    self._check(library.cublasCreate_v2(ctypes.byref(self._handle)))
                    self._library = library
                    self._gemm = library.cublasGemmStridedBatchedEx
                    self._is_there = True
            return self._is_there

    def product(
        self, x: GridView, y: GridView, is_within: bool = False
    ) -> GridView | None:
        """``x @ y`` of stacks of matrices of one dtype, none of them empty; None where
        cuBLAS cannot have them as they lie.

        The rows of a single stack may lie side by side: all first ones, then all second
        ones, where ``is_within`` says so.

        Raises
        ------
        LaunchError
            cuBLAS failed.
        """
        if x.shape[-2] == 1 or y.shape[-1] == 1:
            found: GridView | None
            found = self._backend.raw.call("product", vectors.product, (x, y), {})
            if found is not None:
                return found
        precision = current().matmul_precision
        key = (x.layout, y.layout, x.dtype, precision, is_within)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) > MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = _plan(x, y, precision, is_within) or REFUSED
        if plan is REFUSED:
            return None
        if not self._opened():
            return None
        made = self._backend.raw.new(plan.layout.shape, x.dtype)
        found = GridView(made.memory, plan.layout, x.dtype)
        start = self._starter(plan)
        self._backend.raw.did(start, x, y, found)
        start((x.memory, y.memory, found.memory), ())
        return found

    def _starter(self, plan: _Plan) -> Start:
        """What multiplies two blocks into a third one."""
        second, first, result = plan.pointers
        lock, begin, gemm, handle = self._lock, self._begin, self._gemm, self._handle
        starts, arguments, nbytes = plan.starts, plan.arguments, plan.nbytes

        def start(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            x, y, out = memories
            with lock:
                begin(x, y)
                target = out.pointer
                for here, there in starts:
                    second.value = y.pointer + there
                    first.value = x.pointer + here
                    result.value = target
                    status = gemm(handle, *arguments)
                    if status:
                        self._check(status)
                    target += nbytes

        return start

    def _begin(self, *operands: Any) -> None:
        """The handle works on the current stream, which may use the memory."""
        backend, library = self._backend, self._library
        backend._enter()
        streams = backend.streams
        stream = streams.current
        if streams.several:
            with streams.entered():
                for memory in operands:
                    streams.use(memory, False, stream)
        if stream is self._stream:
            return
        self._check(library.cublasSetStream_v2(self._handle, stream.pointer))
        self._stream = stream if stream.capture is None else None
        if stream.capture is not None:
            if stream.capture.workspace is None:
                stream.capture.workspace = backend.allocate(WORKSPACE)
            pointer = stream.capture.workspace.pointer
            self._check(library.cublasSetWorkspace_v2(self._handle, pointer, WORKSPACE))

    def _check(self, status: int) -> None:
        if status:
            raise LaunchError(
                "cuBLAS failed", device=self._backend.device, code=f"cublas {status}"
            )


def _plan(x: GridView, y: GridView, precision: str, is_within: bool) -> _Plan | None:
    kind = KINDS.get(x.dtype.name)
    if kind is None:
        return None
    m, k = x.shape[-2:]
    n = y.shape[-1]
    if max(m, n, k) >= INT:
        return None
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    size = x.dtype.itemsize
    places = _places(x, y, batch, size)
    if places is None:
        return None
    first, second, count, starts = places
    layout = Layout.plain_for((*batch, m, n), size)
    leading, step = n, m * n
    if is_within and len(batch) == 1 and len(starts) == 1:
        leading, step = count * n, n
        layout = Layout((count, m, n), (n * size, leading * size, size))
    compute = kind.compute
    if compute == SINGLE and precision == "tf32":
        compute = TENSOR
    one, zero = _factors(kind.scale)
    pointers = (ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p())
    # Rows of ours are columns of cuBLAS: it computes y.T @ x.T.
    given = (
        *(second.turned, first.turned, n, m, k, one),
        *(pointers[0], kind.data, second.leading, second.step),
        *(pointers[1], kind.data, first.leading, first.step),
        *(zero, pointers[2], kind.data, leading, step),
        *(count, compute, DEFAULT),
    )
    arguments = [
        of(x) if type(x) is int else x for of, x in zip(GEMM, given, strict=True)
    ]
    return _Plan(
        *(starts, tuple(arguments), pointers, count * m * n * size),
        layout,
    )


def _places(
    x: GridView, y: GridView, batch: tuple[int, ...], size: int
) -> tuple[_Matrix, _Matrix, int, list[tuple[int, int]]] | None:
    """Both operands, the matrices of a call, and where each call begins, in bytes."""
    strides = []
    for view in (x, y):
        layout = view.layout
        missing = len(batch) - (view.ndim - 2)
        steps = [0] * missing + [
            0 if length == 1 else step
            for length, step in zip(view.shape[:-2], layout.strides, strict=False)
        ]
        strides.append(steps)
    axes = [a for a, length in enumerate(batch) if length != 1]
    count = 1
    steps = [0, 0]
    while axes:
        axis = axes[-1]
        here = [row[axis] for row in strides]
        if count > 1 and any(
            [h != s * count for h, s in zip(here, steps, strict=True)]
        ):
            break
        if count == 1:
            steps = here
        count *= batch[axis]
        axes.pop()
    calls = int(np.prod([batch[a] for a in axes], dtype=np.int64))
    if calls > MOST_CALLS:
        return None
    starts = [
        (
            x.layout.offset + _sum(at, axes, strides[0]),
            y.layout.offset + _sum(at, axes, strides[1]),
        )
        for at in np.ndindex(*[batch[a] for a in axes])
    ]
    matrices = [
        _matrix(view.shape[-2:], view.layout.strides[-2:], step, size)
        for view, step in zip((x, y), steps, strict=True)
    ]
    if None in matrices:
        return None
    first, second = matrices
    assert first is not None and second is not None
    return first, second, count, starts


def _sum(at: tuple[int, ...], axes: list[int], strides: list[int]) -> int:
    return sum([i * strides[axis] for i, axis in zip(at, axes, strict=True)])


def _matrix(
    shape: tuple[int, ...], strides: tuple[int, ...], step: int, size: int
) -> _Matrix | None:
    """How cuBLAS takes a matrix with these strides, in bytes."""
    if any([s % size for s in (*strides, step)]) or step < 0:
        return None
    rows, columns = shape
    down, across = (s // size for s in strides)
    if across == 1 or columns == 1:
        leading = columns if rows == 1 else down
        if columns <= leading < INT:
            return _Matrix(NOT_TURNED, leading, step // size)
    if down == 1 or rows == 1:
        leading = rows if columns == 1 else across
        if rows <= leading < INT:
            return _Matrix(TURNED, leading, step // size)
    return None


@cache
def _factors(scale: str) -> tuple[Any, Any]:
    """The addresses of 1 and 0, where cuBLAS reads them."""
    numbers = np.array([1, 0], scale)
    addresses = [numbers[k:].ctypes.data_as(ctypes.c_void_p) for k in range(2)]
    return addresses[0], addresses[1]  # they keep the numbers


@cache
def _library() -> Any:
    """CuPy's own cuBLAS; None where it is not to be found."""
    from cupy.cuda import cublas  # noqa: F401 - which loads it

    major = runtime().runtimeGetVersion() // 1000
    name = f"cublas64_{major}.dll" if os.name == "nt" else f"libcublas.so.{major}"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return None
    library.cublasCreate_v2.argtypes = (ctypes.c_void_p,)
    library.cublasSetStream_v2.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    workspace = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    library.cublasSetWorkspace_v2.argtypes = workspace
    return library


def _matmul(raw: Raw, x: Any, y: Any, **options: Any) -> GridView | None:
    """`numpy.matmul` of arrays of one dtype; None for all else."""
    if options or type(x) is not GridView or type(y) is not GridView:
        return None
    first, second = x.layout.shape, y.layout.shape
    if not first or not second or 0 in first or 0 in second or x.dtype != y.dtype:
        return None
    if first[-1] != (second[-2] if len(second) > 1 else second[0]):
        return None
    blas = raw.backend._blas
    if len(first) > 1 and len(second) > 1:
        return blas.product(x, y) or _product_of_copies(raw, x, y)
    shape = (*first[:-1], *second[:-2], *(second[-1:] if len(second) > 1 else ()))
    if len(first) == 1:
        x = x.through(lambda a: a[None, :])
    if len(second) == 1:
        y = y.through(lambda a: a[:, None])
    found = blas.product(x, y) or _product_of_copies(raw, x, y)
    return None if found is None else found.through(lambda a: a.reshape(shape))


def _product_of_copies(raw: Raw, x: GridView, y: GridView) -> GridView | None:
    """``x @ y`` of matrices that cuBLAS cannot have as they lie, reversed ones say."""
    if x.ndim > 2 or y.ndim > 2 or x.dtype.name not in KINDS:
        return None
    given = []
    for view in (x, y):
        layout, size = view.layout, view.dtype.itemsize
        if layout.offset % size or any([step % size for step in layout.strides]):
            return None
        lies = _matrix(layout.shape, layout.strides, 0, size)
        given.append(copied(raw, view) if lies is None else view)
    if given[0] is x and given[1] is y:
        return None
    return raw.backend._blas.product(given[0], given[1])


def _dot(raw: Raw, x: Any, y: Any, **options: Any) -> GridView | None:
    """`numpy.dot`, where it is the same."""
    if type(x) is not GridView or type(y) is not GridView:
        return None
    return _matmul(raw, x, y, **options) if max(x.ndim, y.ndim) <= 2 else None


TABLE: Mapping[str, Callable[..., GridView | None]] = {"matmul": _matmul, "dot": _dot}
"""Functions by the name of their rows."""
