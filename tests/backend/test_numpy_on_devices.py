"""What NumPy's own tests found on named devices, and groups that are known again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import install, remove
from dcarray.lazy import execute, fuse

from .interpreted_device import InterpretedBackend

A = np.arange(12.0, dtype=np.float32).reshape(3, 4)
F = {"order": "f"}
UNSAFE = {"casting": "unsafe"}


@pytest.fixture(scope="module")
def device() -> Iterator[str]:
    made = InterpretedBackend()
    install(made)
    yield made.device
    remove(made.device)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (1, 2)]),
        ("ij,jk->ik", [(3, 1), (4, 2)]),
        ("i,i->i", [(3,), (1,)]),
        ("ij,ij->", [(1, 4), (3, 4)]),
        ("ij,i,i->j", [(3, 4), (1,), (3,)]),
    ],
)
def test_einsum_repeats_axes_of_length_one(
    device: str, text: str, shapes: list[tuple[int, ...]]
) -> None:
    hosts = [np.arange(np.prod(s), dtype="f4").reshape(s) + 1 for s in shapes]
    with dc.config(fallback="error"):
        got = dc.einsum(text, *[dc.asarray(x, device=device) for x in hosts])
    np.testing.assert_allclose(got.get(), np.einsum(text, *hosts), rtol=1e-6)


def test_span_of_a_histogram_on_the_device(device: str) -> None:
    x, span = (dc.asarray(a, device=device) for a in (A, np.array([2.0, 9.0])))
    counts, edges = dc.histogram(x, bins=3, range=span)
    wanted = np.histogram(A, bins=3, range=(2, 9))
    assert np.array_equal(counts.get(), wanted[0])
    np.testing.assert_allclose(edges.get(), wanted[1])


def test_padding_that_turns_what_it_mirrors(device: str) -> None:
    x = dc.asarray(A, device=device)
    for mode in ("reflect", "symmetric"):
        got = dc.pad(x, 1, mode, reflect_type="odd")
        assert np.array_equal(got.get(), np.pad(A, 1, mode, reflect_type="odd"))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.partition(x, 4),
        lambda m, x: m.argpartition(x, -5),
        lambda m, x: x.partition(3, 0),
        lambda m, x: m.copyto(x.astype(np.int32), 3.2),
        lambda m, x: m.concatenate([x, x], out=m.zeros((6, 4), np.int32)),
        lambda m, x: m.concatenate([x, x], out=m.zeros((6, 4)), dtype="f8"),
        lambda m, x: m.concatenate([x[0], x[1]], axis=1),
        lambda m, x: m.concatenate([x[0], x]),
        lambda m, x: m.concatenate([x, x, x[:, 1:]]),
        lambda m, x: m.stack([x[0], x[0, 0]], axis=1),
        lambda m, x: m.stack([]),
        lambda m, x: m.putmask(x.astype("i4"), x > 3, x[0]),
        lambda m, x: m.putmask(x, x[0] > 1, 1),
        lambda m, x: m.place(x.astype("i4"), x > 3, x[0]),
        lambda m, x: m.round(x, 1, out=m.zeros((3, 4), "i4")),
        lambda m, x: m.compress([0, 1, 1], x[:, 1] / 2, out=m.zeros(2, "i4")),
        lambda m, x: m.take(x[0], [0, 1], out=m.zeros(2, "i4")),
        lambda m, x: m.dot(x, x.T, out=m.zeros((3, 3))),
        lambda m, x: m.dot(x, x.T, out=m.zeros((3, 3), "f4", "F")),
        lambda m, x: m.dot(x, x.T, out=m.zeros((3, 4), "f4")),
        lambda m, x: m.partition(m.asarray(x[0, 0]), 2),
        lambda m, x: m.argpartition(m.asarray(x[0, 0]), 0, axis=3),
        lambda m, x: m.gradient(x > 3),
        lambda m, x: m.pad(x, 1.5),
        lambda m, x: m.pad(x, -1),
        lambda m, x: m.isin(x, x, kind="other"),
        lambda m, x: m.isin(x, x, kind="table"),
        lambda m, x: m.isin(m.array([1]), m.array([-100, 100], np.int8), kind="table"),
        lambda m, x: m.copyto(x, x, where=x),
        lambda m, x: m.einsum("ij->i", x, out=m.zeros(3, np.int32)),
        lambda m, x: m.einsum("ij->i", x, dtype=np.int32),
        lambda m, x: m.einsum(x, [0, 52]),
        lambda m, x: m.einsum("ij,jk", x, x.T, optimize=["einsum_path", (2, 3)]),
        lambda m, x: m.fft.fft(x, out=""),
        lambda m, x: m.histogramdd(x[:, :2], bins=[0.5, 2]),
        lambda m, x: m.histogramdd(x[:, :2], bins=[2, 2.5]),
        lambda m, x: m.linalg.outer(x, x),
        lambda m, x: m.nanargmax(m.zeros((0, 3))),
        lambda m, x: m.nanmin(m.zeros((0, 3))),
        lambda m, x: m.place(x, m.ones((3, 5), bool), [1]),
        lambda m, x: m.put_along_axis(x, m.zeros((1, 2), int), 1, None),
        lambda m, x: m.ravel_multi_index((m.zeros(2, int),), (2,), "other"),
        lambda m, x: m.ravel_multi_index((m.zeros(2, int),) * 2, (2.0, 3)),
        lambda m, x: m.unravel_index(m.zeros(2, int), (2, 3), "V"),
        lambda m, x: m.reshape(x, 12, copy="False"),
        lambda m, x: m.resize(x, (-2, 3)),
        lambda m, x: m.percentile(x, m.zeros((1, 2, 2))),
        lambda m, x: m.nanquantile(x, m.zeros((1, 2, 2))),
        lambda m, x: m.searchsorted(x[0], x, sorter=[0, 1]),
        lambda m, x: m.searchsorted(x[0], x, sorter=[0.0, 1, 2, 3]),
        lambda m, x: m.cov(x, dtype=int),
        lambda m, x: m.cov(x[:1], x, rowvar=False, dtype="i1"),
        lambda m, x: m.digitize(x, [3, 3, 2, 4]),
        lambda m, x: m.pad(x, 1, other=3),
        lambda m, x: m.pad(x, 1, "edge", constant_values=3),
        lambda m, x: m.bincount(x.astype(int)[0], minlength="a"),
        lambda m, x: m.bincount(x[0]),
        lambda m, x: m.convolve(x[0], x[0], None),
        lambda m, x: m.interp(x, x[0], x[0], left=1j),
        lambda m, x: m.linalg.multi_dot([x]),
        lambda m, x: m.linalg.norm(m.zeros((2, 2, 2)), None, (0, 1, 2)),
        lambda m, x: m.roll(x, "a", axis=0),
        lambda m, x: x.flat[None],
        lambda m, x: x.flat[1, 2],
        lambda m, x: x.flat[[True, True]],
        lambda m, x: x.flat[np.ones(11, bool)],
        lambda m, x: x.flat.__setitem__((), 1),
        lambda m, x: x.flat.__setitem__((...,), 1),
        lambda m, x: m.ones((1,) * 64)[(np.array([0]),) * 64],
    ],
)
def test_errors_of_numpy(device: str, call: Callable[[Any, Any], Any]) -> None:
    try:
        call(np, A.copy())
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        wanted = error
    else:
        pytest.skip("no error in this version of NumPy")
    with dc.config(device=device), pytest.raises(type(wanted)) as got:
        call(dc, dc.asarray(A, device=device))
    assert str(got.value) == str(wanted)


KEYS = (
    *((), (1,), (slice(1, 3),), (...,), ..., slice(0, 5, 2), 4, np.int8(3)),
    *(np.array(2), [-1, 2], [[1, 2], [3, 4]], (np.array([1, 2]),), [], [True, 1]),
    *(A.ravel() % 2 == 0, slice(20, 30)),
)


@pytest.mark.parametrize("key", KEYS)
def test_flat_takes_keys_and_repeats_values(device: str, key: Any) -> None:
    x = dc.asarray(A, device=device)
    wanted = A.flat[key]
    assert np.array_equal(dc.asarray(x.flat[key]).get(), wanted)
    for value in (7, [50, 60]):
        host, x = A.copy(), dc.asarray(A, device=device)
        try:
            host.flat[key] = value
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                x.flat[key] = value
            continue
        x.flat[key] = value
        assert np.array_equal(x.get(), host)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: x.flat[True],
        lambda m, x: x.flat[[1.0, 2.0]],
        lambda m, x: m.nanmedian(x + np.nan, axis=0),
        lambda m, x: m.nanmedian(x + np.nan * 1j, axis=1),
        lambda m, x: m.nanmedian(m.zeros((0, 3)), axis=0),
        lambda m, x: m.nanpercentile(m.zeros((0, 3)), 50),
        lambda m, x: m.nanquantile(x + np.nan, [0.5, 0.25], axis=0),
        lambda m, x: m.nanvar(m.zeros((0, 3)), axis=0),
        lambda m, x: m.nanmean(x + np.nan),
        lambda m, x: m.multiply(x * 1j, 2, out=m.zeros((3, 4)), **UNSAFE),
        lambda m, x: m.add(x * 1j, x, dtype="f8", **UNSAFE),
        lambda m, x: m.sum(x * 1j, 1, dtype="f8"),
        lambda m, x: m.mean(x * 1j, dtype="f4"),
        lambda m, x: m.cumsum(x * 1j, dtype=int),
    ],
)
@pytest.mark.parametrize("scalars", ["array", "numpy"])
def test_warnings_of_numpy(
    device: str, call: Callable[[Any, Any], Any], scalars: str
) -> None:
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        answer = call(np, A.copy())
    x = dc.asarray(A, device=device)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with dc.config(device=device, scalars=scalars):
            found = dc.asarray(call(dc, x))
    assert [str(w.message) for w in seen] == [str(w.message) for w in wanted]
    np.testing.assert_array_equal(found.get(), answer)


class Subclass(tuple[Any, ...]):
    """A tuple of another type."""


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: x[Subclass(([1, 2], [1, 0]))],
        lambda m, x: m.einsum("ij->i", x, dtype="f8", out=m.zeros(3, "i4"), **UNSAFE),
        lambda m, x: m.einsum("i,i->", x[0], x[1], out=m.array(0, "i4"), **UNSAFE),
        lambda m, x: m.einsum("ij->ji", x, order="F"),
        lambda m, x: m.einsum("ij->ij", x.T, order="A"),
        lambda m, x: m.einsum("i,j->ij", x[0], x[1], order="A"),
        lambda m, x: m.einsum("ij,jk->ik", x, x.T, order="F"),
        lambda m, x: m.einsum("ij,kj->ki", x, x),
        lambda m, x: m.einsum("ij,k->k", x > 3, x[0].astype("i4")),
        lambda m, x: m.einsum("ij,jkk->k", x > 3, m.ones((4, 3, 3), "i2")),
        lambda m, x: m.einsum("ij,j->j", x.astype("u1") + 200, x[0].astype("i8")),
        lambda m, x: m.einsum("...ft,mf->...mt", x.reshape(2, 3, 2), x[:, :3]),
        lambda m, x: m.einsum("ij,j->ij", x.T, x[:, 0]),
        lambda m, x: m.pad(x.T, ((1, 2), (2, 1)), constant_values=((1, 2), (3, 4))),
        lambda m, x: m.concatenate([x.T, x.T[1:]]),
        lambda m, x: m.concatenate([x.T, x.T.copy()], axis=1),
        lambda m, x: m.stack([x.T, x.T], axis=1),
        lambda m, x: m.block([[x.T, x.T], [x.T, x.T]]),
        lambda m, x: m.choose(x[0] > 1, [x[0] / 2, x[1]], out=m.zeros(4, "i4")),
        lambda m, x: m.compress([0, 1, 1], x[:, 1] / 2, out=m.zeros(2, "i2")),
        lambda m, x: m.pad(x, [[1, 2], [0, 3]], "mean", stat_length=((1, 2), (3, 1))),
        lambda m, x: m.dot(x, x.T, out=m.zeros((3, 3), "f4")),
        lambda m, x: m.einsum("->", m.array(3, "f2"), dtype="f8"),
        lambda m, x: m.argpartition(m.asarray(x[0, 0]), 0),
        lambda m, x: m.sum(x > 3, 1, out=m.zeros(3, bool)),
        lambda m, x: m.cumulative_sum(x, axis=0, out=m.zeros((3, 4), "f2")),
        lambda m, x: m.cumulative_prod(x > 2, axis=1, out=m.zeros((3, 4), bool)),
        lambda m, x: m.cumulative_sum(x.astype("i2"), axis=1, out=m.zeros((3, 4), "?")),
        lambda m, x: m.pad(x.T, 1, "edge"),
        lambda m, x: m.pad(x.T, ((1, 0), (0, 2)), "wrap"),
        lambda m, x: m.ravel_multi_index((x.astype(int), x.astype(int)), (12, 13), **F),
        lambda m, x: m.ravel_multi_index((m.ones(5, bool),) * 2, (8, 4)),
        lambda m, x: m.stack(m.unravel_index(x.astype(int), (3, 4), **F)),
        lambda m, x: m.reshape(x.T, (2, 6), order="f"),
        lambda m, x: m.reshape(x[:, ::2].T, (3, 2), order="a"),
        lambda m, x: m.roll(x, "1", axis=0),
        lambda m, x: m.roll(x, (1, 2), axis=(0, 1)),
        lambda m, x: m.setxor1d(x % 5, x[0], assume_unique=True),
        lambda m, x: m.setxor1d(x % 5, x[1] + np.array([np.nan, 0, np.nan, 0], "f4")),
        lambda m, x: m.nanmedian(m.where(x > 3, x, np.nan) * (1 + 2j)),
        lambda m, x: x[((0, 1), (1, 2))],
        lambda m, x: x[((0, 1),)],
        lambda m, x: x[((True, False, True),)],
        lambda m, x: m.linalg.norm(x[:0], np.inf),
        lambda m, x: m.linalg.norm(x[:0], np.inf, 0),
        lambda m, x: m.delete(x.T, [0, 1], axis=0),
        lambda m, x: m.delete(x.T, slice(1, None, 2), axis=0),
        lambda m, x: m.bincount(x.ravel().astype("u8")),
        lambda m, x: m.cov(x, fweights=m.arange(4) + 1, aweights=m.arange(4.0) + 1),
        lambda m, x: m.piecewise(m.array(3.0), m.array(3.0) > 4, [4, 1]),
        lambda m, x: m.interp(x / 6, x[0], m.array([1, complex(0, np.inf), 2j, 5])),
        lambda m, x: m.interp(x / 6, x[0], m.array([1, complex(np.inf, 1), 2, 3])),
        lambda m, x: m.isclose(x[0, 1], 1 - 2.0**-40, rtol=0, atol=0),
        lambda m, x: m.isclose(x[0, 1], np.float64(1 - 2.0**-40), rtol=0, atol=0),
        lambda m, x: m.isclose(x, 2, rtol=0.5),
        lambda m, x: m.bincount(x[0, :0].astype(int), weights=x[0, :0]),
        lambda m, x: m.digitize(x, m.array([1, 3, 3, 8, np.nan])),
        lambda m, x: m.digitize(x, m.array([np.nan, 8, 3, 1]), right=True),
        lambda m, x: m.piecewise(x, True, [-10, 10]),
        lambda m, x: m.vander(x[0], 3),
        lambda m, x: m.correlate(x[0], x.ravel(), "valid"),
        lambda m, x: m.cov(x[:, :3], x[:1, :3], rowvar=False),
        lambda m, x: m.histogramdd(x[:, :2], 3, [(0, 5), (1, 7)])[1][0],
        lambda m, x: m.mean(x, 0, dtype=int),
        lambda m, x: m.var(x, 1, out=m.zeros(3, "i4")),
        lambda m, x: m.std(x, dtype="c16"),
        lambda m, x: m.nanmean(x.astype(int), 0, out=m.zeros(4, int)),
        lambda m, x: m.zeros((2, 3), order="f"),
        lambda m, x: m.percentile(x, np.float64(50)),
        lambda m, x: m.nanpercentile(x, np.float64(50)),
        lambda m, x: m.percentile(x, 50.0, out=m.zeros((1, 1))),
        lambda m, x: x.ravel()[x.astype(int).T],
        lambda m, x: x[x.astype(int).T % 3, 0],
        lambda m, x: x[m.zeros((2, 1), int), x[:2, :2].astype(int).T.copy().T % 4],
    ],
)
def test_values_and_orders_of_numpy(
    device: str, call: Callable[[Any, Any], Any]
) -> None:
    wanted = call(np, A.copy())
    with dc.config(device=device):
        got = call(dc, dc.asarray(A, device=device))
    assert got.dtype == wanted.dtype
    assert got.strides == wanted.strides
    np.testing.assert_allclose(got.get(), wanted, rtol=1e-14)
    with dc.config(device=device, scalars="numpy"):
        got = dc.asarray(call(dc, dc.asarray(A, device=device)))
    np.testing.assert_allclose(got.get(), wanted, rtol=1e-14)


def test_einsum_gives_views_as_numpy_does(device: str) -> None:
    host, x = A[:, :3].copy(), dc.asarray(A[:, :3], device=device)
    for y, m in ((host, np), (x, dc)):
        m.einsum("ii->i", y)[...] = -1
        m.einsum("ij->ji", y, dtype="f8")[2, 0] = 7
        m.einsum("i...->...", y)[...] = 0  # a sum, and no view
    assert np.array_equal(x.get(), host)


def test_what_shows_a_part_is_a_view(device: str) -> None:
    x = dc.asarray(A, device=device)
    assert x[...].base is x[1:].T.base is x
    assert x.astype("c8").real.base.dtype == "c8"
    assert x.base is None
    for made in (dc.zeros_like(x.T), x.copy("F"), dc.block(x), dc.stack([x.T, x.T])):
        assert made.flags.owndata
        assert made.T.base is made
    assert not x[...].flags.owndata
    assert x.flags.owndata
    assert not x[1:].flags["OWNDATA"]
    x[1:].base[0, 0] = 5
    assert x.get()[0, 0] == 5
    assert dc.require(x[:, ::2], None, "O").flags.owndata


def test_integers_of_one_size_stay_apart(device: str) -> None:
    for code in "lq":
        x = dc.asarray(A.astype(code), device=device)
        for view in (x[1:], x.T, x.reshape(12), x[None], x[..., ::2]):
            assert view.dtype.char == code


def test_where_of_copyto_can_be_any_number(device: str) -> None:
    for where in (0, 4, -4, 3.5, 2j, False):
        x, host = dc.asarray(A, device=device), A.copy()
        dc.copyto(x, 7, where=where)
        np.copyto(host, 7, where=where)
        assert np.array_equal(x.get(), host)


def test_a_polynomial_of_a_polynomial_is_one(device: str) -> None:
    p, q = dc.asarray([1, 2, 3], device=device), np.poly1d([2, 1])
    got = dc.polyval(p, q)
    assert isinstance(got, np.poly1d)
    assert np.array_equal(got.coeffs, np.polyval([1, 2, 3], q).coeffs)


def test_arrays_of_the_host_as_out_of_a_device(device: str) -> None:
    x, out = dc.asarray(A, device=device), np.zeros((3, 4))
    with pytest.raises(TypeError, match="implicit_transfer"):
        dc.add(x, 1, out=out)
    with dc.config(implicit_transfer="allow"):
        assert dc.add(x, 1, out=out) is out
        x.clip(1, 3, out=out[:, :])
    assert np.array_equal(out, A.clip(1, 3))


def test_masked_values_stay_masked_beside_arrays_of_a_device(device: str) -> None:
    y = np.ma.array([0.0, 1, 4, 9], mask=[0, 0, 1, 0])
    places = dc.asarray(np.arange(4.0), device=device)
    with dc.config(implicit_transfer="allow"):
        assert dc.trapezoid(y, places) == np.trapezoid(y, np.arange(4.0))
        wanted = np.trapezoid(np.arange(4.0), y)
        assert dc.trapezoid(places, y) == wanted


def test_bounded_integers_are_drawn_for_programs_of_numpy(device: str) -> None:
    with dc.config(device=device, scalars="numpy"):
        drawn = dc.random.default_rng(3).integers(0, 7, 50).get()
    assert drawn.min() >= 0 and drawn.max() < 7


def test_arrays_by_their_type_are_on_the_default_device(device: str) -> None:
    for order in "CF":
        with dc.config(device=device):
            x = dc.ndarray((3, 4), np.float32, order=order)
        assert x.device == device
        x[...] = A
        assert np.array_equal(x.get(), A)
    assert dc.ndarray((2,), buffer=np.zeros(2)).device == "auto"


# --------------------------------------------------------------- groups known again
def step(m: Any, x: Any) -> None:
    x[1:-1, 1:-1] = (x[1:-1, 1:-1] + x[2:, 1:-1]) * 0.5 + 0.0
    y = m.maximum(x - 0.0, 0.0) * (x + 0.0)
    x[:, ::-1] = y * 0.25


def test_writing_into_parts_is_planned_once(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, x = A.copy(), dc.asarray(A, device=device)
    for _ in range(3):
        step(np, host)
        step(dc, x)
        assert np.array_equal(x.get(), host)
    fused = []

    def counted(target: Any) -> Any:
        fused.append(target)
        return fuse.fuse(target)

    monkeypatch.setattr(execute, "fuse", counted)
    step(np, host)
    step(dc, x)
    assert np.array_equal(x.get(), host)
    assert not fused


def test_what_is_used_twice_counts_once(device: str) -> None:
    host, x = A / 20, dc.asarray(A / 20, device=device)
    with dc.profile() as p:
        for _ in range(30):  # two operations, that use the one before twice
            host = host * host + np.float32(0.1)
            x = x * x + np.float32(0.1)
        assert np.array_equal(x.get(), host)
    assert [event.nodes for event in p.groups] == [60]


def test_numbers_are_brought_once(device: str) -> None:
    x = dc.zeros((3, 4), device=device)
    x[1] = 7
    with dc.profile() as p:
        y = dc.zeros((3, 4), device=device)
        y[:, 2] = 7
        dc.evaluate(y)
    assert not p.of_kind("transfer")
    assert np.array_equal(y.get()[0], [0, 0, 7, 0])


def test_results_of_the_wrong_shape_name_the_reduction(device: str) -> None:
    x = dc.asarray(A, device=device)
    for function, name in ((dc.nanmin, "fmin"), (dc.nanmax, "fmax")):
        with pytest.raises(ValueError, match=f"reduction operation {name}"):
            function(x, out=dc.zeros(2, device=device))


def test_views_of_an_element_that_waits(device: str) -> None:
    one = dc.asarray([7, 2, 3], device=device)[0]
    assert dc.atleast_2d(one).tolist() == [[7]]
    one = dc.asarray([7, 2, 3], device=device)[0]
    assert dc.broadcast_to(one, (3,)).tolist() == [7, 7, 7]


def test_places_are_bounded_as_they_are_read(device: str) -> None:
    x = dc.asarray(np.arange(4.0), device=device)
    wide = dc.asarray(np.full(2, (9 << 32) + 1), device=device)
    for _ in range(3):
        places = wide.view(np.int32)  # 1, 9, 1, 9: beyond the end of x
        with pytest.raises(IndexError):
            dc.evaluate(x[places])
