"""Products of matrices by cuBLASLt, prepared once: descriptors, and the algorithm.

What cuBLAS does at each call, to choose an algorithm, takes longer than a small
product.  Here it is done once for each way that operands lie.  A bias, and what is
below 0 made 0, are part of the same launch.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ...errors import LaunchError
from .calling import BIAS_POINTER, Call
from .driver import runtime
from .stacks import ALIGNED, Matrix

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["BIAS", "PLAIN", "RELU", "Products", "loaded"]

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_INT, _LONG = ctypes.c_int32, ctypes.c_int64

PLAIN, RELU, BIAS = 1, 2, 4
"""CUBLASLT_EPILOGUE_DEFAULT, _RELU and _BIAS; 6 is both of these."""

_TURN_A, _TURN_B, _EPILOGUE = 3, 4, 7
"""Attributes of a descriptor."""
_BATCH_COUNT, _BATCH_STEP = 5, 6
"""Of a layout."""
_WORKSPACE, _ALIGNMENT = 1, 5
"""Of a preference; the latter for the first of four matrices."""

WORKSPACE = 32 << 20
"""Bytes that an algorithm may use, as NVIDIA recommends for Hopper."""


class _Choice(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("status", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


class Products:
    """cuBLASLt on one device.

    Parameters
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._handle = ctypes.c_void_p()
        self._lock = threading.Lock()
        self._library: Any = None
        self._is_there: bool | None = None

    def _opened(self) -> bool:
        """Whether there is a handle; made at the first call."""
        with self._lock:
            if self._is_there is None:
                self._is_there = False
                library = _library()
                if library is not None:
                    self._backend._enter()
                    self.check(library.cublasLtCreate(ctypes.byref(self._handle)))
                    self._library = library
                    self._is_there = True
            return self._is_there

    def product(
        self,
        kinds: tuple[int, int, int],
        lengths: tuple[int, int, int, int],
        matrices: tuple[Matrix, Matrix, Matrix],
        factors: tuple[Any, Any],
        aligned: tuple[int, int, int],
        epilogue: int = PLAIN,
    ) -> Call | None:
        """Prepare a product; None where there is no algorithm for it.

        Parameters
        ----------
        kinds : tuple of int
            How cuBLAS calls the dtype, that of its sums, and that of its factors.
        lengths : tuple of int
            Rows, columns, what is summed over, and how many products.
        matrices : tuple of Matrix
            First, second and result, with columns that lie in one piece.
        factors : tuple of address
            Of 1 and 0.
        aligned : tuple of int
            Bytes to which these three are aligned.
        epilogue : int
            `PLAIN`, or `RELU` and `BIAS` together or alone.

        Raises
        ------
        LaunchError
            cuBLASLt failed.
        """
        if not self._opened():
            return None
        library = self._library
        data, compute, scale = kinds
        rows, columns, inner, count = lengths
        first, second, _ = matrices
        description = self._made(library.cublasLtMatmulDescCreate, compute, scale)
        change = library.cublasLtMatmulDescSetAttribute
        for attribute, number in (
            (_TURN_A, first.turned),
            (_TURN_B, second.turned),
            (_EPILOGUE, epilogue),
        ):
            self._set(change, description, attribute, _INT(number))
        sizes = [(rows, inner), (inner, columns), (rows, columns)]
        layouts = []
        for (down, across), matrix in zip(sizes, matrices, strict=True):
            if matrix.turned:
                down, across = across, down
            layout = self._made(
                library.cublasLtMatrixLayoutCreate,
                *(data, ctypes.c_uint64(down), ctypes.c_uint64(across)),
                _LONG(matrix.leading),
            )
            if count > 1:
                attributes = library.cublasLtMatrixLayoutSetAttribute
                self._set(attributes, layout, _BATCH_COUNT, _INT(count))
                self._set(attributes, layout, _BATCH_STEP, _LONG(matrix.step))
            layouts.append(layout)
        if epilogue & BIAS:  # which is to be taken for as well aligned as this number
            self._set(change, description, BIAS_POINTER, ctypes.c_void_p(ALIGNED))
        choice = self._choose(description, layouts, aligned)
        if choice is None:
            self._drop(description, layouts)
            return None
        return self._ready(description, layouts, factors, choice, bool(epilogue & BIAS))

    def _choose(
        self, description: Any, layouts: Sequence[Any], aligned: Sequence[int]
    ) -> _Choice | None:
        """The algorithm that cuBLASLt thinks best."""
        library = self._library
        wish = self._made(library.cublasLtMatmulPreferenceCreate)
        change = library.cublasLtMatmulPreferenceSetAttribute
        self._set(change, wish, _WORKSPACE, ctypes.c_uint64(WORKSPACE))
        for place, number in enumerate((*aligned, aligned[2])):
            self._set(change, wish, _ALIGNMENT + place, ctypes.c_uint32(number))
        choice, returned = _Choice(), ctypes.c_int()
        a, b, c = layouts
        status = library.cublasLtMatmulAlgoGetHeuristic(
            *(self._handle, description, a, b, c, c, wish, 1),
            *(ctypes.byref(choice), ctypes.byref(returned)),
        )
        library.cublasLtMatmulPreferenceDestroy(wish)
        return choice if not status and returned.value and not choice.status else None

    def _ready(
        self,
        description: Any,
        layouts: Sequence[Any],
        factors: tuple[Any, Any],
        choice: _Choice,
        with_bias: bool,
    ) -> Call:
        library = self._library
        change = library.cublasLtMatmulDescSetAttribute
        first, second, result = [layout.value for layout in layouts]
        one, zero = [_at(factor) for factor in factors]
        call = Call(
            (_at(library.cublasLtMatmul), _at(change) if with_bias else 0),
            self._handle.value or 0,
            description.value,
            (one, zero),
            (first, second, result),
            ctypes.addressof(choice),
            int(choice.workspace),
            (choice, factors),
        )
        weakref.finalize(call, self._drop, description, layouts).atexit = False
        return call

    def _drop(self, description: Any, layouts: Sequence[Any]) -> None:
        self._library.cublasLtMatmulDescDestroy(description)
        for layout in layouts:
            self._library.cublasLtMatrixLayoutDestroy(layout)

    # ------------------------------------------------------------------------ its parts
    def _made(self, create: Any, *arguments: Any) -> Any:
        found = ctypes.c_void_p()
        self.check(create(ctypes.byref(found), *arguments))
        return found

    def _set(self, change: Any, thing: Any, attribute: int, value: Any) -> None:
        size = _SIZE(ctypes.sizeof(value))
        self.check(change(thing, attribute, ctypes.byref(value), size))

    def check(self, status: int) -> None:
        """Say that cuBLASLt failed, if it did."""
        if status:
            raise LaunchError(
                "cuBLASLt failed",
                device=self._backend.device,
                code=f"cublas {status}",
            )


def _at(thing: Any) -> int:
    """The address of a function, or the one that a pointer has."""
    return ctypes.cast(thing, ctypes.c_void_p).value or 0


@cache
def _library() -> Any:
    """CuPy's own cuBLASLt; None where it is not to be found."""
    return loaded("cublasLt")


def loaded(stem: str) -> Any:
    """One of the libraries that CuPy brings with cuBLAS; None where it is not there."""
    from cupy.cuda import cublas  # noqa: F401 - which loads them

    major = runtime().runtimeGetVersion() // 1000
    name = f"{stem}64_{major}.dll" if os.name == "nt" else f"lib{stem}.so.{major}"
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
