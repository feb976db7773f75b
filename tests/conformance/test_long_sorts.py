"""Sorting of long runs and of many rows, on several threads: what NumPy gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.cpu.wholes import merging, sorting
from dcarray.config import current

SIZE = 5001


@pytest.fixture(autouse=True, params=[1, 2, 5])
def threads(request: Any, monkeypatch: Any) -> Iterator[None]:
    for name in ("LEAST", "ROWS", "ORDERED"):
        monkeypatch.setattr(sorting, name, 100)
    with dc.config(threads=request.param):
        yield


def runs(dtype: Any) -> dict[str, Any]:
    """Runs of all sorts, the ends of the range among them."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(5)
    if dtype.kind == "f":
        wide = rng.normal(0, 1, SIZE) * 10.0 ** rng.integers(-4, 4, SIZE)
        ends: list[Any] = [np.inf, -np.inf, np.nan, 0.0, -0.0, np.finfo(dtype).max]
    else:
        limits = np.iinfo(dtype)
        wide = rng.integers(limits.min, limits.max, SIZE, dtype, endpoint=True)
        ends = [limits.min, limits.max, 0, 1]
    wide = wide.astype(dtype)
    few = rng.choice(np.array(ends, dtype), SIZE)
    wide[:: SIZE // 50] = few[:: SIZE // 50]
    return {
        "wide": wide,
        "few": few,
        "close": (rng.integers(0, 100, SIZE) + 20).astype(dtype),
        "ordered": np.sort(wide),
        "backwards": np.sort(wide)[::-1],
        "equal": np.full(SIZE, 7, dtype),
        "strided": np.repeat(wide, 3)[::3],
    }


def same(found: Any, wanted: Any) -> None:
    found = found._array()
    assert (found.dtype, found.strides) == (wanted.dtype, wanted.strides)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("char", "bBhHiIlLqQefd")
def test_orders(char: str) -> None:
    for x in runs(char).values():
        a = dc.asarray(x)
        same(dc.sort(a, kind="stable"), np.sort(x, kind="stable"))
        np.testing.assert_array_equal(dc.sort(a)._array(), np.sort(x))
        same(dc.argsort(a), np.argsort(x, kind="stable"))
        same(dc.argsort(a, stable=True), np.argsort(x, kind="stable"))
        turned = x.size - 1 - np.argsort(x[::-1], kind="stable")[::-1]
        same(dc.argsort(a, descending=True), np.ascontiguousarray(turned))
        same(dc.sort(a, descending=True), x[turned])
        a = a.copy()
        a.sort(stable=True)
        same(a, np.sort(x, kind="stable"))


@pytest.mark.parametrize("char", "hIqfd")
def test_unique(char: str) -> None:
    for x in runs(char).values():
        a = dc.asarray(x)
        np.testing.assert_array_equal(dc.unique(a)._array(), np.unique(x))
        for options in ({"return_counts": True}, {"equal_nan": False}):
            found, wanted = dc.unique(a, **options), np.unique(x, **options)
            if not isinstance(found, tuple):
                found, wanted = (found,), (wanted,)
            assert type(found) is type(wanted)
            for one, other in zip(found, wanted, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one._array(), other)
        for one, other in zip(
            dc.unique(a, return_inverse=True), np.unique(x, return_inverse=True)
        ):
            np.testing.assert_array_equal(one._array(), other)


@pytest.mark.parametrize("char", "Bqf")
def test_parts_of_unique(char: str) -> None:
    for x in runs(char).values():
        a = dc.asarray(x)
        wanted = np.unique(x, return_counts=True, equal_nan=False)
        found = dc.unique_counts(a)
        assert type(found) is type(np.unique_counts(x))
        np.testing.assert_array_equal(found.values._array(), wanted[0])
        np.testing.assert_array_equal(found.counts._array(), wanted[1])
        values = dc.unique_values(a)._array()
        np.testing.assert_array_equal(np.sort(values), wanted[0])


def test_odd_memory() -> None:
    x = runs("f")["wide"]
    unaligned = np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view(np.float32)
    for odd in (unaligned, x.astype(">f4")):
        np.testing.assert_array_equal(sorting.sort(odd), np.sort(odd))
        np.testing.assert_array_equal(
            sorting.argsort(odd, stable=True), np.argsort(x, stable=True)
        )


def test_axes_and_rows() -> None:
    x = np.random.default_rng(1).integers(0, 50, (7, 30, 40)).astype(np.float32)
    a = dc.asarray(x)
    for axis in (None, 0, 1, -1, 2):
        same(dc.sort(a, axis=axis), np.sort(x, axis))
        same(dc.argsort(a, axis=axis), np.argsort(x, axis, kind="stable"))
    c = x * (1 + 1j)
    same(dc.sort(dc.asarray(c)), np.sort(c))
    with dc.config(scalars="numpy"):
        same(dc.argsort(a), np.argsort(x))
    for wrong in ({"axis": 3}, {"kind": "odd"}, {"kind": "stable", "stable": True}):
        for ours, theirs in ((dc.sort, np.sort), (dc.argsort, np.argsort)):
            with pytest.raises(ValueError) as here:
                ours(a, **wrong)
            with pytest.raises(ValueError) as there:
                theirs(x, **wrong)
            assert str(here.value) == str(there.value)


def test_without_machine_code() -> None:
    x = runs("f")["wide"]
    with dc.config(engine="interpreter"):
        same(dc.argsort(dc.asarray(x)), np.argsort(x, kind="stable"))
        same(dc.sort(dc.asarray(x), stable=True), np.sort(x, kind="stable"))


@pytest.mark.parametrize("char", "iqQfd")
def test_merged(char: str) -> None:
    several = current().threads > 1 and merging.sorts_by_vectors()
    for name, x in runs(char).items():
        found = merging.merged_run(np.ascontiguousarray(x))
        if name == "wide" and several:
            assert found is not None
        if name in ("close", "equal") or not several:
            assert found is None
        if found is not None:
            np.testing.assert_array_equal(found, np.sort(x))
