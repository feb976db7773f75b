"""Every family of kernels, small, for a tool that watches memory and races::

    compute-sanitizer --tool memcheck --report-api-errors no \\
        python -m tests.stress.sanitize --device cuda:0
    compute-sanitizer --tool racecheck python -m tests.stress.sanitize sums scans

Results are compared with NumPy's.  The exit status is 1 if any is wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dcarray as dc

RNG = np.random.default_rng(3)

Put = Callable[[Any], Any]
Pairs = Iterator[tuple[Any, Any]]

CASES: dict[str, Callable[[Put], Pairs]] = {}
"""What each family computes on the device, and what NumPy does."""


def case(call: Callable[[Put], Pairs]) -> Callable[[Put], Pairs]:
    """Put a family into the table."""
    CASES[call.__name__] = call
    return call


def floats(*shape: int) -> Any:
    """Numbers below 1."""
    return RNG.random(shape).astype(np.float32)


@case
def maps(put: Put) -> Pairs:
    a, b = floats(5003), floats(5003)
    x, y = put(a), put(b)
    yield dc.exp(x * y + 1) * 0.5 - dc.sqrt(x), np.exp(a * b + 1) * 0.5 - np.sqrt(a)
    yield x[1:] * y[:-1], a[1:] * b[:-1]
    for code in ("f2", "i1", "u2", "?", "c8", "f8"):
        narrow = (RNG.random(3001) * 4).astype(code)
        yield (put(narrow) + put(narrow))[5:], (narrow + narrow)[5:]
    a = floats(37, 41)
    x = put(a)
    yield x[::-1, ::3] * 2, a[::-1, ::3] * 2
    x[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1]
    a[1:-1, 1:-1] = a[2:, 1:-1] + a[:-2, 1:-1]
    yield x, a


@case
def turned(put: Put) -> Pairs:
    a, b, c = floats(67, 131), floats(131, 67), floats(5, 33, 70)
    yield put(a).T.copy(), a.T.copy()
    yield put(a).T + put(b), a.T + b
    yield put(c).transpose(2, 0, 1).copy(), c.transpose(2, 0, 1).copy()


@case
def sums(put: Put) -> Pairs:
    names = ("sum", "max", "prod", "mean", "var", "std", "argmax", "argmin", "any")
    for shape in ((4099,), (63, 517), (517, 63), (3, 40, 50), (70000,), (300, 5000)):
        a = floats(*shape)
        for axis in (None, *range(a.ndim)):
            for name in names:
                yield getattr(put(a), name)(axis=axis), getattr(a, name)(axis=axis)
            yield dc.sum(put(a) * put(a) + 1, axis=axis), np.sum(a * a + 1, axis=axis)


@case
def scans(put: Put) -> Pairs:
    for shape in ((9001,), (3, 4099), (40, 50)):
        a = floats(*shape)
        for axis in range(a.ndim):
            yield dc.cumsum(put(a), axis=axis), np.cumsum(a, axis=axis)
            ours, theirs = dc.maximum.accumulate, np.maximum.accumulate
            yield ours(put(a), axis=axis), theirs(a, axis=axis)
    yield dc.cumsum(put(np.arange(5000))), np.cumsum(np.arange(5000))


@case
def rows(put: Put) -> Pairs:
    for length in (130, 1000, 4096):
        a, weight, bias = floats(9, length), floats(length), floats(length)
        e = np.exp(a - a.max(1, keepdims=True))
        yield dc.nn.softmax(put(a), axis=-1), e / e.sum(1, keepdims=True)
        apart = a - a.mean(1, keepdims=True)
        wanted = apart / np.sqrt(a.var(1, keepdims=True) + 1e-5) * weight + bias
        yield dc.nn.layer_norm(put(a), put(weight), put(bias)), wanted


@case
def picks(put: Put) -> Pairs:
    a, mask = floats(4097), floats(4097) > 0.6
    places = RNG.integers(-4097, 4097, 333)
    yield put(a)[put(mask)], a[mask]
    yield put(a)[put(places)], a[places]
    yield dc.nonzero(put(mask))[0], np.nonzero(mask)[0]
    a, places = floats(50, 33), RNG.integers(0, 33, 70)
    for axis in (0, 1):
        got = dc.take(put(a), put(places), axis=axis)
        yield got, np.take(a, places, axis=axis)
    yield put(a)[put(places), put(places)], a[places, places]
    x = put(a)
    x[put(places)] = 0
    a[places] = 0
    dc.add.at(x, put(places), 1.0)
    np.add.at(a, places, np.float32(1))
    yield x, a
    ordered, values = np.sort(floats(3001)), floats(99)
    got = dc.searchsorted(put(ordered), put(values))
    yield got, np.searchsorted(ordered, values)


@case
def orders(put: Put) -> Pairs:
    for shape in ((5000,), (7, 300), (40, 40), (100000,)):
        a = floats(*shape)
        a.flat[3] = np.nan
        yield dc.sort(put(a), axis=-1), np.sort(a, axis=-1)
        yield dc.argsort(put(a), stable=True), np.argsort(a, stable=True)
    a = RNG.integers(0, 50, 3000)
    found, wanted = (
        m.unique(x, return_counts=True) for m, x in ((dc, put(a)), (np, a))
    )
    yield from zip(found, wanted, strict=True)
    yield dc.bincount(put(a)), np.bincount(a)
    yield dc.histogram(put(a), bins=7)[0], np.histogram(a, bins=7)[0]


@case
def products(put: Put) -> Pairs:
    for code in ("f4", "f8", "c8", "f2", "i4", "i8"):
        a, b = ((RNG.random(s) * 4).astype(code) for s in ((33, 47), (47, 29)))
        yield put(a) @ put(b), a @ b
    a, b, c = floats(300, 517), floats(4, 20, 30), floats(40000, 16)
    yield put(a) @ put(a[0]), a @ a[0]
    yield put(c).T @ put(c[:, 0]), c.T @ c[:, 0]
    yield dc.einsum("ij,kj->ik", put(a), put(a)), a @ a.T
    yield put(b) @ put(b).transpose(0, 2, 1), b @ b.transpose(0, 2, 1)


@case
def solvers(put: Put) -> Pairs:
    for shape in ((5, 20, 20), (60, 60)):
        a = floats(*shape) + 9 * np.eye(shape[-1], dtype=np.float32)
        b, positive = a[..., :3].copy(), a @ a.mT
        yield dc.linalg.solve(put(a), put(b)), np.linalg.solve(a, b)
        yield dc.linalg.inv(put(a)), np.linalg.inv(a)
        yield dc.linalg.cholesky(put(positive)), np.linalg.cholesky(positive)
        yield dc.linalg.slogdet(put(a))[1], np.linalg.slogdet(a)[1]


@case
def transforms(put: Put) -> Pairs:
    for length in (64, 1000, 4096):
        a = floats(6, length).astype(np.complex64)
        yield dc.fft.fft(put(a)), np.fft.fft(a)
        yield dc.fft.irfft(dc.fft.rfft(put(a.real.copy()))), a.real
    a = floats(32, 48)
    yield dc.fft.fft2(put(a)), np.fft.fft2(a)


@case
def neural(put: Put) -> Pairs:
    x, w, q = floats(2, 3, 20, 20), floats(4, 3, 3, 3), floats(2, 4, 64, 16)
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    yield dc.nn.conv2d(put(x), put(w)), np.einsum("nchwij,ocij->nohw", seen, w)
    tiles = x.reshape(2, 3, 10, 2, 10, 2)
    yield dc.nn.max_pool2d(put(x), 2), tiles.max((3, 5))
    yield dc.nn.avg_pool2d(put(x), 2), tiles.mean((3, 5))
    most = (tiles == tiles.max((3, 5), keepdims=True)).reshape(x.shape)
    g = np.ones((2, 3, 10, 10), np.float32)
    yield dc.nn.max_pool2d_gradient(put(g), put(x), 2), most
    windows = (3, 2, 1)
    g = dc.ones((2, 3, 10, 10), dtype="f4")
    wanted = dc.nn.max_pool2d_gradient(g, dc.asarray(x), *windows)
    yield dc.nn.max_pool2d_gradient(put(g.get()), put(x), *windows), wanted
    e = np.exp(q @ q.mT / 4)
    wanted = e / e.sum(-1, keepdims=True) @ q
    yield dc.nn.scaled_dot_product_attention(put(q), put(q), put(q)), wanted


@case
def draws(put: Put) -> Pairs:
    with dc.config(device=put(floats(1)).device):
        rng = dc.random.default_rng(5)
        found = rng.normal(size=5001), rng.random(333), rng.integers(0, 9, size=100)
        many = {
            code: dc.random.default_rng(7).standard_normal(40_000, code)
            for code in ("f4", "f8")
        }
    for code, got in many.items():
        yield got, np.random.default_rng(7).standard_normal(40_000, code)
    yield abs(found[0].mean()) < 0.1, np.bool(True)
    yield (found[1] < 1).all(), np.bool(True)
    yield (found[2] < 9).all(), np.bool(True)


@case
def moves(put: Put) -> Pairs:
    a = floats(30, 40)
    calls: tuple[Callable[[Any, Any], Any], ...] = (
        lambda m, x: m.concatenate([x, x], 1),
        lambda m, x: m.roll(x, 3, 1),
        lambda m, x: m.repeat(x, 3, 0),
        lambda m, x: m.pad(x, 2),
        lambda m, x: m.where(x > 0.5, x, 0),
        lambda m, x: m.tile(x, (2, 2)),
        lambda m, x: m.tril(x),
        lambda m, x: m.diff(x),
    )
    for call in calls:
        yield call(dc, put(a)), call(np, a)


def wrong(got: Any, want: Any) -> str:
    """How a result differs; empty where it does not."""
    found = got.get() if hasattr(got, "get") else np.asarray(got)
    want = np.asarray(want)
    if found.shape != want.shape:
        return f"shape {found.shape}, not {want.shape}"
    rtol = 1e-2 if found.dtype.itemsize < 4 or found.dtype.kind == "c" else 2e-3
    apart = np.abs(found.astype(complex) - want.astype(complex))
    scale = np.abs(want[~np.isnan(want)]).max(initial=1.0)
    if np.array_equal(np.isnan(found), np.isnan(want)):
        apart = apart[~np.isnan(want)]
    return "" if (apart <= rtol * scale).all() else f"{apart.max()} apart"


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(CASES))
    parser.add_argument("--device", default="cuda:0")
    given = parser.parse_args()
    status = 0

    def put(host: Any) -> Any:
        return dc.asarray(host, device=given.device, copy=True)

    for name in given.names or CASES:
        for place, pair in enumerate(CASES[name](put)):
            how = wrong(*pair)
            if how:
                status = 1
                print(f"{name} {place}: {how}", flush=True)
        print(f"{name} done", flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
