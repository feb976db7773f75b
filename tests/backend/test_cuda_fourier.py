"""Which plans of cuFFT a transform takes: one of NumPy stands for it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cuda import fourier
from dcarray.backends.registry import counted
from dcarray.errors import LaunchError

from ..cuda_simulator import Runtime, installed

pytestmark = pytest.mark.skipif(bool(counted("cuda")), reason="there is a real one")

RNG = np.random.default_rng(4)
KINDS = {code: kind for kind, code in fourier.CODES.items()}


class Library:
    """cuFFT's functions, on memory of the host.

    Parameters
    ----------
    runtime : Runtime

    Attributes
    ----------
    plans : dict
        What was asked for, by handle.
    status : int
        Of all transforms.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._streams: dict[int, int] = {}
        self.plans: dict[int, Any] = {}
        self.made = 0
        self.status = 0
        whole, place = ctypes.c_int, ctypes.c_void_p
        # The compiled core calls it by its address.
        self._function = ctypes.CFUNCTYPE(whole, whole, place, place, whole)(self._run)

    def cufftCreate(self, handle: Any) -> int:
        self.made += 1
        handle._obj.value = self.made
        return 0

    def cufftDestroy(self, handle: int) -> int:
        del self.plans[handle]
        return 0

    def cufftSetAutoAllocation(self, handle: Any, wanted: int) -> int:
        return wanted

    def cufftSetStream(self, handle: int, stream: int) -> int:
        self._streams[handle] = stream
        return 0

    def cufftSetWorkArea(self, handle: int, pointer: int) -> int:
        return not pointer

    def cufftMakePlanMany64(
        self, handle: Any, rank: int, sizes: Any, *rest: Any
    ) -> int:
        inside, step, apart, outside, out_step, out_apart, code, count, nbytes = rest
        assert (inside is None) == (outside is None)
        lies = None
        if inside is not None:
            lies = ((step, apart), (out_step, out_apart))
            assert min(step, apart, out_step, out_apart) > 0
        self.plans[handle.value] = (list(sizes), lies, KINDS[code], count)
        nbytes._obj.value = 32
        return 0

    def _seen(self, address: int, code: str, shape: Any, lies: Any) -> Any:
        size = np.dtype(code).itemsize
        strides = [n * size for n in (lies[1], lies[0])] if lies else None
        reach = int(np.prod(shape))
        if lies:
            reach = 1 + sum((n - 1) * s for n, s in zip(shape, lies[::-1], strict=True))
        raw = (ctypes.c_char * (reach * size)).from_address(address)
        return np.ndarray(shape, code, raw, strides=strides)

    def _run(self, handle: int, *rest: int) -> int:
        def call() -> None:
            self._transform(handle, *rest)

        self._runtime._run("transform", self._streams[handle], call)
        return self.status

    def _transform(self, handle: int, source: int, target: int, sign: int = 0) -> None:
        lengths, lies, kind, count = self.plans[handle]
        shapes = [[count, *lengths], [count, *lengths]]
        half = lengths[-1] // 2 + 1
        for place in range(2):
            if kind[0] != kind[1] and kind[place].isupper():
                shapes[place][-1] = half
        x = self._seen(source, kind[0], shapes[0], lies and lies[0])
        out = self._seen(target, kind[1], shapes[1], lies and lies[1])
        axes = range(1, len(lengths) + 1)
        if kind[0] == kind[1]:
            name, norm = ("fftn", "backward") if sign < 0 else ("ifftn", "forward")
            out[...] = getattr(np.fft, name)(x, axes=axes, norm=norm)
        elif kind[0].islower():
            out[...] = np.fft.rfftn(x, axes=axes)
        else:
            out[...] = np.fft.irfftn(x, lengths, axes=axes, norm="forward")
            x[...] = -99

    def __getattr__(self, name: str) -> Any:
        if name in fourier.NAMES.values():
            return self._function
        raise AttributeError(name)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    with installed() as runtime, dc.config(fallback="error"):
        made = Library(runtime)
        monkeypatch.setattr(fourier, "_library", lambda: made)
        yield made


def put(x: Any) -> Any:
    return dc.asarray(x, device="cuda:0")


def complexes(*shape: int) -> Any:
    return (RNG.random(shape) + 1j * RNG.random(shape)).astype(np.complex64)


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.get(), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_along_an_axis(library: Library, name: str, axis: int) -> None:
    norm = "forward" if name in ("ifft", "irfft", "ihfft") else "backward"
    host = complexes(3, 4, 6)
    if name in ("rfft", "ihfft"):
        host = host.real.copy()
    ours, numpys = getattr(dc.fft, name), getattr(np.fft, name)
    x = put(host)
    for n in (None, 3, 4, 9):
        got = ours(x, n, axis, norm)
        same(got, numpys(host, n, axis, norm))
    plans = library.made
    assert plans == len(library.plans) >= 3
    same(ours(x, None, axis, norm), numpys(host, None, axis, norm))
    assert library.made == plans
    assert np.array_equal(x.get(), host)
    part = x[1:, ::2, ::-1]
    same(
        ours(part, axis=axis, norm=norm),
        numpys(host[1:, ::2, ::-1], axis=axis, norm=norm),
    )


def test_each_dtype(library: Library) -> None:
    for code in ("?", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "c16"):
        host = (RNG.random(12) * 9).astype(code)
        same(dc.fft.fft(put(host)), np.fft.fft(host))
        if host.dtype.kind != "c":
            same(dc.fft.rfft(put(host)), np.fft.rfft(host))
        if code != "f2":
            back = dc.fft.irfft(put(host), norm="forward")
            same(back, np.fft.irfft(host, norm="forward"))


def test_along_the_last_axes(library: Library) -> None:
    host = complexes(2, 4, 3, 6)
    x, real = put(host), put(host.real.copy())
    for axes in ((3,), (2, 3), (3, 2), (-3, -2, -1)):
        same(dc.fft.fftn(x, axes=axes), np.fft.fftn(host, axes=axes))
        if axes[-1] in (3, -1):
            same(dc.fft.rfftn(real, axes=axes), np.fft.rfftn(host.real, axes=axes))
            back = dc.fft.irfftn(x, axes=list(axes), norm="forward")
            same(back, np.fft.irfftn(host, axes=axes, norm="forward"))
    same(dc.fft.fft2(x), np.fft.fft2(host))
    same(dc.fft.fft2(x.mT), np.fft.fft2(host.mT))
    same(dc.fft.ifft2(x, norm="forward"), np.fft.ifft2(host, norm="forward"))
    assert np.array_equal(x.get(), host)


def test_plans_are_not_kept_for_ever(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fourier, "MOST", 4)
    for length in range(2, 12):
        dc.fft.fft(put(complexes(length)))
    assert library.made == 10
    assert len(library.plans) == 4


def test_lengths_are_whole_numbers(library: Library) -> None:
    x = put(complexes(5))
    same(dc.fft.fft(x, np.int64(3)), np.fft.fft(x.get(), 3))
    with pytest.raises(TypeError):
        dc.fft.fft(x, 2.5)


def test_a_failure_is_told(library: Library) -> None:
    library.status = 6
    with pytest.raises(LaunchError, match="cufft 6"):
        dc.fft.fft(put(complexes(5)))


def test_transforms_are_captured(library: Library) -> None:
    step = dc.graph(lambda x: dc.fft.fft(dc.fft.ifft(x, norm="forward")))
    for _ in range(3):
        host = complexes(2, 8)
        same(step(put(host)), host * 8)
