"""Plans of cuFFT, made once for each way in which transforms lie, and called directly.

CuPy's own way to them takes longer than a transform of a million numbers, copies what
does not lie along the last axis, and refuses to be captured.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base import Start
from .calling import FourierPlan, Transform

if TYPE_CHECKING:
    from .backend import CudaBackend

__all__ = ["Fourier", "Lies"]

CODES = {
    "fF": 0x2A,
    "Ff": 0x2C,
    "FF": 0x29,
    "dD": 0x6A,
    "Dd": 0x6C,
    "DD": 0x69,
}
"""cufftType by the dtypes of what goes in and of what comes out."""

NAMES = {
    "fF": "cufftExecR2C",
    "Ff": "cufftExecC2R",
    "FF": "cufftExecC2C",
    "dD": "cufftExecD2Z",
    "Dd": "cufftExecZ2D",
    "DD": "cufftExecZ2Z",
}

MOST = 64
"""Plans that are kept."""

REFUSED: Any = ()
"""In the place of a plan that cuFFT does not make."""


class Lies(NamedTuple):
    """How far the elements of one transform, and the transforms, lie apart, counted in
    elements."""

    step: int
    apart: int


class Fourier:
    """cuFFT on one device.

    Parameters
    ----------
    backend : CudaBackend
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._plans: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def starter(
        self,
        dtypes: tuple[np.dtype[Any], np.dtype[Any]],
        lengths: Sequence[int],
        count: int,
        lies: tuple[Lies, Lies] | None = None,
        inverse: bool = False,
        begin: int = 0,
    ) -> Start | None:
        """What transforms one block into another; None where cuFFT cannot.

        Parameters
        ----------
        dtypes : pair of dtype
            Of the source, which the real inverse transform overwrites, and the target.
        lengths : sequence of int
            Of a transform, along up to three axes.
        count : int
            Transforms.
        lies : pair of Lies, optional
            Of the source and the target, for transforms along one axis; both are dense
            otherwise.
        inverse : bool
        begin : int
            Bytes before the source, in its block.

        Raises
        ------
        LaunchError
            By what is returned: cuFFT failed.
        """
        library = _library()
        if library is None:
            return None
        backend, lock, plans = self._backend, self._lock, self._plans
        kind = dtypes[0].char + dtypes[1].char
        key = (kind, *lengths, count, lies)
        with lock:
            if self._plan(library, key, kind, lengths, count, lies) is REFUSED:
                return None
        turn = 1 if inverse else -1

        def find() -> FourierPlan:
            found = plans.get(key)
            if found is None:  # others took its place
                found = self._plan(library, key, kind, lengths, count, lies)
            return found  # type: ignore[no-any-return]

        return Transform(backend, lock, find, library, turn, begin)

    def _plan(
        self,
        library: Any,
        key: Any,
        kind: str,
        lengths: Sequence[int],
        count: int,
        lies: tuple[Lies, Lies] | None,
    ) -> Any:
        """The plan of a key, made at its first use."""
        plan = self._plans.get(key)
        if plan is None:
            self._backend._enter()
            self._make_room()
            plan = _planned(library, kind, lengths, count, lies)
            self._plans[key] = plan
        return plan

    def _make_room(self) -> None:
        """Destroy the oldest plan where there are many, once no transform runs."""
        backend = self._backend
        if len(self._plans) >= MOST and not backend.is_capturing:
            backend.synchronize()
            del self._plans[next(iter(self._plans))]


def _planned(
    library: Any,
    kind: str,
    lengths: Sequence[int],
    count: int,
    lies: tuple[Lies, Lies] | None,
) -> Any:
    handle = ctypes.c_int()
    if library.cufftCreate(ctypes.byref(handle)):
        return REFUSED
    nbytes = ctypes.c_size_t()
    rank = len(lengths)
    sizes = (ctypes.c_longlong * rank)(*lengths)
    inside, outside = lies or (Lies(1, 0), Lies(1, 0))
    embedded = None if lies is None else sizes
    status = library.cufftSetAutoAllocation(handle, 0) or library.cufftMakePlanMany64(
        *(handle, rank, sizes),
        *(embedded, *inside, embedded, *outside),
        *(CODES[kind], count, ctypes.byref(nbytes)),
    )
    execute = ctypes.cast(getattr(library, NAMES[kind]), ctypes.c_void_p).value or 0
    plan = FourierPlan(library.cufftDestroy, execute, handle.value, nbytes.value)
    return REFUSED if status else plan


@cache
def _library() -> Any:
    """CuPy's own cuFFT; None where it is not to be found."""
    try:
        from cupy.cuda import cufft

        major = cufft.getVersion() // 1000
        name = f"cufft64_{major}.dll" if os.name == "nt" else f"libcufft.so.{major}"
        library = ctypes.CDLL(name)
    except (ImportError, OSError):
        return None
    pointer, number, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
    library.cufftCreate.argtypes = (pointer,)
    library.cufftDestroy.argtypes = (number,)
    library.cufftSetAutoAllocation.argtypes = (number, number)
    library.cufftSetStream.argtypes = (number, pointer)
    library.cufftSetWorkArea.argtypes = (number, pointer)
    library.cufftMakePlanMany64.argtypes = (
        *(number, number, pointer),
        *(pointer, long, long, pointer, long, long),
        *(number, long, pointer),
    )
    for kind, name in NAMES.items():
        function = getattr(library, name)
        function.argtypes = (number, pointer, pointer)
        if kind[0] == kind[1]:
            function.argtypes += (number,)
    return library
