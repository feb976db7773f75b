"""Solvers and Fourier transforms on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import counted
from dcarray.errors import CaptureError

pytestmark = pytest.mark.skipif(not counted("cuda"), reason="needs CuPy and a GPU")

DEVICE = "cuda:0"
HALVED = ("rfft", "hfft")
"""Ends of the names of transforms that take no single element."""


@pytest.fixture(autouse=True)
def at_home() -> Any:
    """Nothing is left to the host."""
    with dc.config(fallback="error"):
        yield


def put(x: Any) -> Any:
    return dc.asarray(x, device=DEVICE)


def numbers(code: str, shape: Any) -> Any:
    """The same ones, whichever tests ran before."""
    rng = np.random.default_rng([ord(code[0]), *np.atleast_1d(shape)])
    found = rng.standard_normal(shape)
    if code in "FD":
        found = found + 1j * rng.standard_normal(shape)
    return (found * 5 if code in "iB" else found).astype(code)


def same(got: Any, want: Any, rtol: float | None = None) -> None:
    if isinstance(want, tuple):
        for one, other in zip(got, want, strict=True):
            same(one, other, rtol)
        return
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if rtol is None:
        rtol = 2e-3 if want.dtype.char in "fF" else 1e-9
    scale = np.abs(want).max(initial=0)
    np.testing.assert_allclose(got.get(), want, rtol, rtol * scale)


# ------------------------------------------------------------------------------ solvers
@pytest.mark.parametrize("code", ["f", "d", "i", "F", "D"])
@pytest.mark.parametrize(
    "shape",
    [(1, 1), (3, 3), (32, 32), (33, 33), (5, 64, 64), (2, 3, 100, 100), (150, 150)],
)
def test_square_matrices(code: str, shape: tuple[int, ...]) -> None:
    a = numbers(code, shape) + (4 * np.eye(shape[-1])).astype(code)
    x = put(a)
    for columns in (1, 4, 70, 200):
        b = numbers(code, (*shape[:-1], columns))
        same(dc.linalg.solve(x, put(b)), np.linalg.solve(a, b))
    v = numbers(code, shape[-1])
    if len(shape) == 2:
        same(dc.linalg.solve(x, put(v)), np.linalg.solve(a, v))
    same(dc.linalg.inv(x), np.linalg.inv(a))
    same(dc.linalg.slogdet(x), np.linalg.slogdet(a), 1e-3)
    # Integers as they are: a tenth of them is singular at times, and what NumPy
    # and others give for a determinant then is rounding alone.
    small = a if code == "i" else (a / 10).astype(a.dtype)
    same(dc.linalg.det(put(small)), np.linalg.det(small), 1e-2)
    same(dc.linalg.inv(x.mT), np.linalg.inv(a.mT))
    assert np.array_equal(x.get(), a)


@pytest.mark.parametrize("code", ["f", "d", "F", "D"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (64, 64), (7, 100, 100), (150, 150)])
def test_positive_definite_matrices(code: str, shape: tuple[int, ...]) -> None:
    a = numbers(code, shape)
    a = a @ a.conj().mT + np.eye(shape[-1], dtype=code)
    same(dc.linalg.cholesky(put(a)), np.linalg.cholesky(a))
    if code in "fd":
        got = dc.linalg.cholesky(put(a), upper=True)
        same(got, np.linalg.cholesky(a, upper=True))
    a[..., -1, -1] = -1
    with pytest.raises(np.linalg.LinAlgError):
        dc.linalg.cholesky(put(a))


@pytest.mark.parametrize("side", [2, 40, 90, 200])
def test_matrices_that_cannot_be_had(side: int) -> None:
    a = np.ones((3, side, side), np.float32)
    a[0] = np.eye(side)
    for call in (dc.linalg.inv, lambda x: dc.linalg.solve(x, x)):
        with pytest.raises(np.linalg.LinAlgError):
            call(put(a))
        same(call(put(a[:1])), a[:1])  # and nothing is left of it
    signs, sizes = dc.linalg.slogdet(put(a))
    assert list(signs.get()) == [1, 0, 0]
    assert list(sizes.get()) == [0, -np.inf, -np.inf]
    assert list(dc.linalg.det(put(a)).get()) == [1, 0, 0]
    a[1, 0, 1] = np.nan
    assert np.isnan(dc.linalg.det(put(a[1])).get())


def test_stacks_that_broadcast() -> None:
    a, b = numbers("d", (4, 1, 6, 6)), numbers("d", (5, 6, 2))
    same(dc.linalg.solve(put(a), put(b)), np.linalg.solve(a, b))
    same(dc.linalg.solve(put(a[0, 0]), put(b)), np.linalg.solve(a[0, 0], b))
    single = b.astype("f")
    same(dc.linalg.solve(put(a), put(single)), np.linalg.solve(a, single))
    part = numbers("f", (9, 20, 20))
    got = dc.linalg.inv(put(part)[1::2, 2:12, 2:12])
    same(got, np.linalg.inv(part[1::2, 2:12, 2:12]))


@pytest.mark.parametrize("code", ["f", "d", "D"])
def test_by_singular_values(code: str) -> None:
    for shape in ((6, 4), (4, 6), (3, 5, 5)):
        a = numbers(code, shape)
        a[..., -1] = a[..., 0]  # there is one rank less
        x = put(a)
        same(dc.linalg.svdvals(x), np.linalg.svdvals(a))
        for options in ({}, {"rtol": 1e-2}, {"tol": 0.5}):
            got = dc.linalg.matrix_rank(x, **options)
            assert np.array_equal(got.get(), np.linalg.matrix_rank(a, **options))
        for options in ({"rtol": None}, {"rtol": 1e-3}, {"rcond": 1e-3}):
            same(dc.linalg.pinv(x, **options), np.linalg.pinv(a, **options))
    a = numbers(code, (9, 5))
    same(dc.linalg.cond(put(a)), np.linalg.cond(a))
    for b in (numbers(code, 9), numbers(code, (9, 3))):
        for one, other in zip(
            dc.linalg.lstsq(put(a), put(b)), np.linalg.lstsq(a, b), strict=True
        ):
            same(one, np.asarray(other))
    a = numbers(code, (4, 6, 8, 3))
    same(dc.linalg.tensorinv(put(a)), np.linalg.tensorinv(a))
    b = numbers(code, (4, 6))
    same(dc.linalg.tensorsolve(put(a), put(b)), np.linalg.tensorsolve(a, b))


def test_either_triangle_of_a_symmetric_matrix() -> None:
    a = numbers("d", (5, 5))
    for half in "LlUu":
        got, want = dc.linalg.eigh(put(a), half), np.linalg.eigh(a, half)
        same(got.eigenvalues, want.eigenvalues)
        same(dc.linalg.eigvalsh(put(a), half), want.eigenvalues)


def test_one_tolerance_of_a_rank() -> None:
    with pytest.raises(ValueError, match="can't be both set"):
        dc.linalg.matrix_rank(put(np.eye(3)), 0.1, rtol=0.1)


@pytest.mark.parametrize("code", ["f", "D"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (2, 5, 5)])
def test_triangles(code: str, shape: tuple[int, ...]) -> None:
    a = numbers(code, shape)
    for mode in ("reduced", "complete"):
        q, r = dc.linalg.qr(put(a), mode)
        for one, other in zip((q, r), np.linalg.qr(a, mode), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
        same(q @ r, a)
        assert np.array_equal(np.tril(r.get(), -1), np.zeros(r.shape))
    same(dc.linalg.qr(put(a), "r"), r.get()[..., : min(shape[-2:]), :])


# --------------------------------------------------------------------------- transforms
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("code", ["f", "d", "F", "D", "i", "e", "?"])
def test_along_an_axis(name: str, code: str) -> None:
    if name in ("rfft", "ihfft") and code in "FD":
        return
    if code == "e" and name in ("irfft", "hfft"):
        return
    ours, numpys = getattr(dc.fft, name), getattr(np.fft, name)
    rtol = 3e-3 if code == "e" else 2e-5  # NumPy divides by a half
    for shape in ((24,), (6, 35), (4, 6, 10), (1, 1)):
        host = numbers(code, shape)
        x = put(host)
        for axis in range(-1, len(shape) - 1):
            for norm in (None, "ortho", "forward"):
                for n in (None, 5, 8, 70):
                    if n is None and shape[axis] == 1 and name[-4:] in HALVED:
                        continue
                    got = ours(x, n, axis, norm)
                    same(got, numpys(host, n, axis, norm), rtol)
        assert np.array_equal(x.get(), host)
    host = numbers(code, (9, 8, 7))
    same(ours(put(host)[1:, ::2, ::-1]), numpys(host[1:, ::2, ::-1]), rtol)
    same(ours(put(host)[0, 0, 1:]), numpys(host[0, 0, 1:]), rtol)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "rfft2"])
@pytest.mark.parametrize("code", ["f", "D"])
def test_along_several_axes(name: str, code: str) -> None:
    if name.startswith("rfft") and code == "D":
        return
    ours, numpys = getattr(dc.fft, name), getattr(np.fft, name)
    host = numbers(code, (3, 4, 5, 6))
    x = put(host)
    for axes in ((2, 3), (3, 2), (0, 1), (1, 2, 3), (0, 2), (-1,)):
        for norm in (None, "ortho", "forward"):
            got = ours(x, axes=axes, norm=norm)
            same(got, numpys(host, axes=axes, norm=norm), 2e-5)
        s = [7 - k for k in range(len(axes))]
        same(ours(x, s=s, axes=axes), numpys(host, s=s, axes=axes), 2e-5)
    same(ours(x.T), numpys(host.T), 2e-5)
    assert np.array_equal(x.get(), host)


def test_long_transforms() -> None:
    for length in (1 << 20, 1_000_003, 3 * 5 * 7 * 11 * 13 * 17):
        host = numbers("F", length)
        same(dc.fft.fft(put(host)), np.fft.fft(host), 1e-4)
        same(
            dc.fft.irfft(
                dc.fft.rfft(put(host.real.copy()), norm="ortho"), length, norm="ortho"
            ),
            host.real,
            1e-4,
        )


def test_transforms_on_streams_and_in_graphs() -> None:
    hosts = [numbers("F", (64, 1000)) for _ in range(4)]
    several = [dc.stream() for _ in hosts]
    xs = [put(host) for host in hosts]
    found = []
    for x, stream in zip(xs, several, strict=True):
        with stream:
            found.append(dc.fft.fft(dc.fft.ifft(x) * 2))
    for got, host in zip(found, hosts, strict=True):
        same(got, host * 2, 1e-4)
    step = dc.graph(lambda x: dc.fft.fft(x, axis=0) * dc.fft.fft2(x).sum())
    for host, x in zip(hosts, xs, strict=True):
        same(step(x), np.fft.fft(host, axis=0) * np.fft.fft2(host).sum(), 1e-3)
    det = dc.graph(lambda x: dc.linalg.det(x) + 1)
    a = numbers("d", (6, 9, 9))
    for _ in range(3):
        same(det(put(a)), np.linalg.det(a) + 1)
    with pytest.raises(CaptureError):
        solve = dc.graph(lambda x: dc.linalg.inv(x))
        for _ in range(2):
            solve(put(a))
