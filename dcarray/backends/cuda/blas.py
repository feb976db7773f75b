"""Products of matrices by cuBLAS, called directly.

CuPy's own way to it takes longer than a small product, knows no bfloat16, and refuses
to be captured.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...config import current
from ...errors import LaunchError
from ...layout import Layout
from ...ops.composed import RELU as RELU_ROW
from ...ops.elementwise import ADD
from ..base import Start
from ..grid.views import GridView
from . import vectors
from .calling import Call, Prepared
from .mapped import copied
from .memory import Room
from .products import BIAS, PLAIN, RELU, Products, loaded
from .stacks import ALIGNED, INT, NOT_TURNED, Matrix, alignment, matrix_of, places

if TYPE_CHECKING:
    from .backend import CudaBackend
    from .raw import Raw
    from .streams import Stream

__all__ = ["TABLE", "Blas"]


class _Kind(NamedTuple):
    """How cuBLAS calls a dtype and the type of its sums, and what alpha and beta are:
    for cuBLAS, and for NumPy."""

    data: int
    compute: int
    factor: int
    scale: str


SINGLE, TENSOR = 68, 77
"""CUBLAS_COMPUTE_32F and CUBLAS_COMPUTE_32F_FAST_TF32."""

KINDS = {
    "float16": _Kind(2, SINGLE, 0, "<f4"),
    "bfloat16": _Kind(14, SINGLE, 0, "<f4"),
    "float32": _Kind(0, SINGLE, 0, "<f4"),
    "float64": _Kind(1, 70, 1, "<f8"),
    "complex64": _Kind(4, SINGLE, 4, "<c8"),
    "complex128": _Kind(5, 70, 5, "<c16"),
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

DEFAULT = -1
"""CUBLAS_GEMM_DEFAULT."""

WORKSPACE = 32 << 20
"""Bytes that cuBLAS asks for on Hopper."""


MOST_PLANS = 1 << 15


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
    ready : Call or None
        The same by cuBLASLt, where that has it.
    """

    starts: list[tuple[int, int]]
    arguments: tuple[Any, ...]
    pointers: tuple[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    nbytes: int
    layout: Layout
    ready: Call | None


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
        self._products = Products(backend)
        self._room = Room(backend.allocator)

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
        if x.ndim > 2 == y.ndim and x.layout.plain:
            flat = self.product(_rows_of(x), y)
            return None if flat is None else _shaped(flat, x.shape[:-1])
        if x.shape[-2] == 1 or y.shape[-1] == 1:
            found: GridView | None
            found = self._backend.raw.call("product", vectors.product, (x, y), {})
            if found is not None:
                return found
        plan = self._plan_of(x, y, is_within, PLAIN)
        if plan is REFUSED or not self._opened():
            return None
        start = self._usual(plan)
        if plan.ready is not None:
            start = self._prepared(plan, plan.ready, start)
        return self._run(plan, start, x, y)

    def linear(
        self, x: GridView, y: GridView, bias: GridView | None, is_cut: bool
    ) -> GridView | None:
        """``x @ y + bias`` of two matrices in one launch, and what is below 0 made 0 if
        ``is_cut``; None where cuBLASLt does not have it.

        Raises
        ------
        LaunchError
            cuBLASLt failed.
        """
        operands = [x, y] if bias is None else [x, y, bias]
        if any([z.memory.pointer % ALIGNED for z in operands]):
            return None
        epilogue = (RELU if is_cut else 0) | (0 if bias is None else BIAS)
        plan = self._plan_of(x, y, False, epilogue or PLAIN)
        if plan is REFUSED or plan.ready is None:
            return None
        start = self._prepared(plan, plan.ready, None)
        return self._run(plan, start, *operands)

    def _plan_of(
        self, x: GridView, y: GridView, is_within: bool, epilogue: int
    ) -> _Plan:
        precision = current().matmul_precision
        key = (x.layout, y.layout, x.dtype, precision, is_within, epilogue)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) > MOST_PLANS:
                self._plans.clear()
            found = _plan(self._products, x, y, precision, is_within, epilogue)
            plan = self._plans[key] = found or REFUSED
        return plan

    def _run(self, plan: _Plan, start: Start, *operands: GridView) -> GridView:
        raw = self._backend.raw
        made = raw.new(plan.layout.shape, operands[0].dtype)
        found = GridView(made.memory, plan.layout, made.dtype)
        raw.did(start, found, *operands)
        start([z.memory for z in (found, *operands)], ())
        return found

    def _prepared(self, plan: _Plan, call: Call, usual: Start | None) -> Start:
        """What multiplies two blocks into the first one by cuBLASLt, or as ``usual``
        where they begin elsewhere than blocks of the pool."""
        check = self._products.check
        starts, nbytes = plan.starts, plan.nbytes
        return Prepared(self._backend, call, starts, nbytes, self._room, usual, check)

    def _usual(self, plan: _Plan) -> Start:
        """What multiplies two blocks into the first one."""
        second, first, result = plan.pointers
        lock, begin, gemm, handle = self._lock, self._begin, self._gemm, self._handle
        starts, arguments, nbytes = plan.starts, plan.arguments, plan.nbytes

        def start(memories: Sequence[Any], scalars: Sequence[Any]) -> None:
            out, x, y = memories
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


def _plan(
    products: Products,
    x: GridView,
    y: GridView,
    precision: str,
    is_within: bool,
    epilogue: int,
) -> _Plan | None:
    kind = KINDS.get(x.dtype.name)
    if kind is None:
        return None
    m, k = x.shape[-2:]
    n = y.shape[-1]
    if max(m, n, k) >= INT:
        return None
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    size = x.dtype.itemsize
    found = places(x, y, batch, size)
    if found is None:
        return None
    first, second, count, starts = found
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
    nbytes = count * m * n * size
    aligned = [
        alignment([*ends, matrix.leading * size, matrix.step * size])
        for ends, matrix in zip(zip(*starts, strict=True), (first, second), strict=True)
    ]
    ready = products.product(
        (kind.data, compute, kind.factor),
        (n, m, k, count),
        (second, first, Matrix(NOT_TURNED, leading, step)),
        (one, zero),
        (aligned[1], aligned[0], alignment([nbytes, leading * size, step * size])),
        epilogue,
    )
    return _Plan(starts, tuple(arguments), pointers, nbytes, layout, ready)


@cache
def _factors(scale: str) -> tuple[Any, Any]:
    """The addresses of 1 and 0, where cuBLAS reads them."""
    numbers = np.array([1, 0], scale)
    addresses = [numbers[k:].ctypes.data_as(ctypes.c_void_p) for k in range(2)]
    return addresses[0], addresses[1]  # they keep the numbers


@cache
def _library() -> Any:
    """CuPy's own cuBLAS; None where it is not to be found."""
    library = loaded("cublas")
    if library is None:
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
    if len(first) == len(second) == 1:
        short = vectors.dot(raw, x, y)
        if short is not None:
            return short
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
        lies = matrix_of(layout.shape, layout.strides, 0, size)
        given.append(copied(raw, view) if lies is None else view)
    if given[0] is x and given[1] is y:
        return None
    return raw.backend._blas.product(given[0], given[1])


def _dot(raw: Raw, x: Any, y: Any, **options: Any) -> GridView | None:
    """`numpy.dot`, where it is the same."""
    if type(x) is not GridView or type(y) is not GridView:
        return None
    return _matmul(raw, x, y, **options) if max(x.ndim, y.ndim) <= 2 else None


def _linear(raw: Raw, x: GridView, w: GridView, *rest: GridView, cut: bool) -> GridView:
    """`ops.contraction.LINEAR` of arrays of one dtype."""
    (bias,) = rest or (None,)
    y = w.through(lambda a: a.T)
    blas = raw.backend._blas
    if x.ndim > 1 and x.size and w.size and (x.ndim == 2 or x.layout.plain):
        flat = blas.linear(_rows_of(x) if x.ndim > 2 else x, y, bias, cut)
        if flat is not None:
            return _shaped(flat, x.shape[:-1])
    work = raw.work
    (made,) = raw.backend.native["matmul"](x, y)
    found = GridView(*made)
    if bias is not None:
        found = work.map(ADD, found, bias)
    return work.map(RELU_ROW, found) if cut else found


def _rows_of(x: GridView) -> GridView:
    """All rows of a stack of matrices as those of one."""
    return x.through(lambda a: a.reshape(-1, a.shape[-1]))


def _shaped(flat: GridView, before: tuple[int, ...]) -> GridView:
    """The rows of a matrix along several axes."""
    layout = Layout.plain_for((*before, flat.shape[-1]), flat.dtype.itemsize)
    return GridView(flat.memory, layout, flat.dtype)


TABLE: Mapping[str, Callable[..., GridView | None]] = {
    "matmul": _matmul,
    "dot": _dot,
    "nn.linear": _linear,
}
"""Functions by the name of their rows."""
