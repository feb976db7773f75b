"""Loops that record the same again and again, and what is computed beside it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import dcarray as dc
from dcarray.lazy import execute, plans

SIZE = 5000


@pytest.fixture(autouse=True)
def always_lazy():
    with dc.config(lazy="always"):
        yield


def same(array, host):
    got = np.asarray(array)
    assert got.dtype == host.dtype
    assert got.shape == host.shape
    assert got.tobytes() == host.tobytes()


def near(np, c, steps):
    """How many steps numbers stay near."""
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, np.int32)
    for _ in range(steps):
        close = z.real * z.real + z.imag * z.imag < 4.0
        counts += close
        z = np.where(close, z * z + c, z)
    return z, counts


@pytest.fixture(params=[np.complex64, np.complex128])
def plane(request):
    x, y = np.linspace(-2, 1, 90), np.linspace(-1, 1, 70)
    return (x + 1j * y[:, None]).astype(request.param)


def test_rounds_of_a_loop_are_one_program(plane):
    with dc.profile() as p:
        found = near(dc, dc.asarray(plane), 50)
        dc.evaluate(*found)
    names = [event.name for event in p.groups]
    assert len(names) <= 8
    assert len(set(names[1:-1])) == 1  # the first and the last group may be others
    assert sum(name.count("less") for name in names) == 50  # nothing twice
    for got, want in zip(found, near(np, plane, 50), strict=True):
        same(got, want)


def test_all_but_one_round_hands_over_in_registers(plane):
    with dc.profile() as p:
        dc.evaluate(*near(dc, dc.asarray(plane), 50))
    # Numbers, their counts and what is added are read; numbers, counts, and what is
    # close in the end are written.
    most = plane.nbytes * 3 + plane.size * (4 + 4 + 1)
    assert all(event.nbytes <= most for event in p.groups)


def test_parts_of_what_a_group_computes_are_found_again(plane, monkeypatch):
    dc.evaluate(near(dc, dc.asarray(plane), 30)[1])
    fused = []
    fuse = execute.fuse
    for module in (execute, plans):
        monkeypatch.setattr(module, "fuse", lambda t: fused.append(t) or fuse(t))
    with dc.profile() as p:
        same(near(dc, dc.asarray(plane), 30)[1], near(np, plane, 30)[1])
    assert p.groups
    assert not fused


@pytest.mark.parametrize("bound", [8, 13, 20, 64])
def test_chains_are_cut_where_a_round_begins(bound):
    a = np.linspace(0, 1, SIZE)

    def rounds(np, x):
        for _ in range(40):
            x = np.sqrt(x * 0.5 + 1) - x
        return x

    with dc.config(max_group_nodes=bound), dc.profile() as p:
        found = rounds(dc, dc.asarray(a))
        dc.evaluate(found)
    names = [event.name for event in p.groups]
    whole = bound // 4 * 4
    body = "multiply add sqrt subtract"
    assert names[:-1] == [" ".join([body] * (whole // 4))] * (len(names) - 1)
    assert " ".join(names) == " ".join([body] * 40)
    same(found, rounds(np, a))


def test_a_long_chain_without_rounds_is_run_whole():
    a = np.linspace(1, 2, SIZE)
    x, host = dc.asarray(a), a
    with dc.config(max_group_nodes=6), dc.profile() as p:
        for name in "sin cos exp tanh sqrt log1p expm1 sinh".split():
            x, host = getattr(dc, name)(x), getattr(np, name)(host)
    assert [event.nodes for event in p.groups] == [7]
    same(x, host)


def test_rounds_in_the_older_half_do_not_cut():
    a = np.linspace(1, 2, SIZE)
    x, host = dc.asarray(a), a
    with dc.config(max_group_nodes=6), dc.profile() as p:
        for name in "sin sin cos exp tanh sqrt log1p".split():
            x, host = getattr(dc, name)(x), getattr(np, name)(host)
    assert [event.nodes for event in p.groups] == [7]
    same(x, host)


def test_two_chains_of_one_loop():
    a = np.linspace(0, 1, SIZE)

    def orbit(np, x):
        v = np.ones_like(x)
        for _ in range(60):
            v = v - x * 0.1
            x = x + v * 0.1
        return x, v

    found = orbit(dc, dc.asarray(a))
    for got, want in zip(found, orbit(np, a), strict=True):
        same(got, want)


# ------------------------------------------------------------------ what goes along
def test_readers_of_one_value_are_one_group():
    a = np.linspace(0, 1, SIZE)
    x = dc.asarray(a)
    for _ in range(2):  # put together, and found again
        with dc.profile() as p:
            t = x * 2
            one, two = t + 1, dc.sqrt(t)
            del t
            dc.evaluate(one)
        assert [sorted(event.name.split()) for event in p.groups] == [
            ["add", "multiply", "sqrt"]
        ]
        with dc.profile() as p:
            same(two, np.sqrt(a * 2))
            same(one, a * 2 + 1)
        assert not p.groups


def test_a_reader_that_nobody_wants_is_left_out():
    x = dc.asarray(np.linspace(0, 1, SIZE))
    with dc.profile() as p:
        t = x * 2
        one, two = t + 1, dc.sqrt(t)
        del t, two
        gc.collect()
        dc.evaluate(one)
    assert [event.name for event in p.groups] == ["multiply add"]


@pytest.mark.parametrize(
    "reader",
    [
        lambda np, t, other: t[1:] * 3,
        lambda np, t, other: t[::-1] * 3,
        lambda np, t, other: t + other,
        lambda np, t, other: np.divmod(t, 2.0)[0],
        lambda np, t, other: t + t[:1],
    ],
)
def test_a_reader_in_another_loop_runs_later(reader):
    a = np.linspace(0, 1, SIZE)
    for _ in range(2):
        x = dc.asarray(a)
        with dc.profile() as p:
            t = x * 2
            one, two = t + 1, reader(dc, t, x[::-1] * 5)
            dc.evaluate(one)
        assert [event.name for event in p.groups] == ["multiply add"]
        host = a * 2
        same(one, host + 1)
        same(two, reader(np, host, a[::-1] * 5))
        same(t, host)


def test_readers_along_another_axis_run_later():
    a = np.linspace(0, 1, SIZE).reshape(50, 100)
    square = np.linspace(0, 1, 4900).reshape(70, 70)
    for host in (a, square):
        for _ in range(2):
            x = dc.asarray(host)
            t = x * 2
            one, two = t + 1, t.T * 3
            dc.evaluate(one)
            same(two, (host * 2).T * 3)
            same(one, host * 2 + 1)


def test_readers_of_readers_go_along():
    a = np.linspace(0, 1, SIZE)
    for _ in range(2):
        x = dc.asarray(a)
        total = dc.zeros(SIZE, dtype=np.int64)
        t = x * 2
        for limit in (0.5, 1.0, 1.5):
            total += t > limit
        one = t + 1
        del t
        with dc.profile() as p:
            dc.evaluate(one)
            same(
                total, sum((a * 2 > limit).astype(np.int64) for limit in (0.5, 1, 1.5))
            )
        assert len(p.groups) == 1
        same(one, a * 2 + 1)


def test_what_goes_along_keeps_its_old_elements():
    a = np.linspace(0, 1, SIZE)
    x = dc.asarray(a)
    t = x * 2
    one, two = t + 1, t + x
    del t
    dc.evaluate(one)
    x[:] = 7
    same(two, a * 2 + a)
    same(one, a * 2 + 1)


def test_a_write_computes_nothing_beside_it():
    a = np.linspace(0, 1, SIZE)
    x, y = dc.asarray(a), dc.zeros(SIZE)
    t = x * 2
    one, two = t + 1, t + y
    y[:] = one
    same(two, a * 2)
    same(y, a * 2 + 1)


def test_groups_with_company_stay_within_twice_the_bound():
    a = np.linspace(0, 1, SIZE)
    x = dc.asarray(a)
    with dc.config(max_group_nodes=4), dc.profile() as p:
        t = x * 2
        many = [t + k for k in range(20)]
        dc.evaluate(many[0])
    assert p.groups[-1].nodes == 8
    for k, found in enumerate(many):
        same(found, a * 2 + k)


def test_warnings_of_what_goes_along_are_its_own():
    x = dc.asarray(np.linspace(0, 1, SIZE))
    t = x * 2
    one, two = t + 1, dc.log(t)
    del t
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        dc.evaluate(one)
    assert np.asarray(two)[0] == -np.inf


# -------------------------------------------------------------- every other element
@pytest.mark.parametrize("length", [1, 2, 7, 8, 15, 16, 33, 300])
@pytest.mark.parametrize("dtype", ["f", "d", "i", "B", "F", "D", "?"])
def test_every_other_element(length, dtype):
    rng = np.random.default_rng(length)
    host = rng.integers(0, 9, (5, 2 * length)).astype(dtype)
    x = dc.asarray(host)
    got = (x[:, ::2] + x[:, 1::2]) * x[:, ::2]
    same(got, (host[:, ::2] + host[:, 1::2]) * host[:, ::2])
    target, wanted = dc.zeros_like(x), np.zeros_like(host)
    target[:, 1::2] = (x[:, ::2] + x[:, 1::2]) * x[:, 1::2]
    wanted[:, 1::2] = (host[:, ::2] + host[:, 1::2]) * host[:, 1::2]
    same(target, wanted)
    assert np.asarray(x).tobytes() == host.tobytes()
