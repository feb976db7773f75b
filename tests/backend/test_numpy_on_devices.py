"""What NumPy's own tests found on named devices, and groups that are known again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import install, remove
from dcarray.lazy import execute, fuse

from .interpreted_device import InterpretedBackend

A = np.arange(12.0, dtype=np.float32).reshape(3, 4)


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
        lambda m, x: m.pad(x, 1.5),
        lambda m, x: m.pad(x, -1),
        lambda m, x: m.isin(x, x, kind="other"),
    ],
)
def test_errors_of_numpy(device: str, call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as wanted:
        call(np, A.copy())
    with dc.config(device=device), pytest.raises(type(wanted.value)) as got:
        call(dc, dc.asarray(A, device=device))
    assert str(got.value) == str(wanted.value)


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
