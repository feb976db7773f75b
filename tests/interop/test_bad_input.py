"""Mistakes that users make: the right error, at once, and nothing left behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dcarray as dc


@pytest.fixture(params=["auto", "always"], autouse=True)
def lazy(request: pytest.FixtureRequest) -> Iterator[str]:
    with dc.config(lazy=request.param):
        yield request.param


def works() -> None:
    """The library is sound."""
    x = np.arange(100_000.0)
    y = dc.asarray(x)
    assert (
        np.asarray(dc.sqrt(y * 2 + 1) - y).tobytes()
        == (np.sqrt(x * 2 + 1) - x).tobytes()
    )


def refused(call: Callable[[Any], Any]) -> None:
    """dcarray raises what NumPy raises, with a message, at the call."""
    with pytest.raises(Exception) as theirs:
        call(np)
    base = next(c for c in theirs.type.__mro__ if c.__module__ == "builtins")
    with pytest.raises(base) as ours:
        call(dc)
    assert str(ours.value)
    works()


# ------------------------------------------------------------------------ shapes
@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.zeros(3) + m.zeros(4),
        lambda m: m.zeros((2, 3)) * m.zeros((3, 2)),
        lambda m: (m.zeros(3) * 2) - m.zeros((2, 2)),
        lambda m: m.where(m.zeros(3) > 0, m.zeros(2), 1),
        lambda m: m.zeros(3).__iadd__(m.zeros((2, 3))),
        lambda m: m.zeros(3).__iadd__(m.zeros(2)),
        lambda m: m.zeros(3).__setitem__(slice(None), m.zeros(2)),
        lambda m: m.add(m.zeros(3), m.zeros(3), out=m.zeros(2)),
        lambda m: m.add(m.zeros((2, 3)), 1, out=m.zeros(3)),
        lambda m: m.zeros(3).reshape(2, 2),
        lambda m: m.zeros(4).reshape(-1, -1),
        lambda m: m.zeros(4).reshape(3, -1),
        lambda m: m.broadcast_to(m.zeros(3), (3, 2)),
        lambda m: m.broadcast_to(m.zeros((2, 3)), (3,)),
        lambda m: m.concatenate([m.zeros(3), m.zeros((2, 2))]),
        lambda m: m.stack([m.zeros(3), m.zeros(2)]),
        lambda m: m.zeros((2, 3)) @ m.zeros((2, 3)),
        lambda m: m.zeros((2, 3)).transpose(0, 0),
        lambda m: m.zeros((2, 3)).transpose(0),
        lambda m: m.zeros((2, 3)).squeeze(0),
        lambda m: m.sum(m.zeros((2, 3)), axis=2),
        lambda m: m.sum(m.zeros((2, 3)), axis=(0, 0)),
        lambda m: (m.zeros((2, 3)) + 1).sum(axis=-3),
        lambda m: m.zeros(3).sum(axis=1.5),
        lambda m: m.array([[1, 2], [3]]),
        lambda m: m.max(m.zeros(0)),
        lambda m: m.argmin(m.zeros((0, 3)), axis=0),
    ],
)
def test_shapes_that_do_not_fit(call: Callable[[Any], Any]) -> None:
    refused(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.zeros(-1),
        lambda m: m.ones((2, -3)),
        lambda m: m.empty((-1, -1)),
        lambda m: m.full(-2, 1),
        lambda m: m.broadcast_to(m.zeros(1), (-1,)),
        lambda m: m.eye(-1.5),
        lambda m: m.zeros(2.5),
        lambda m: m.zeros("3"),
        lambda m: m.zeros((2, None)),
        lambda m: m.linspace(0, 1, -1),
    ],
)
def test_dimensions_that_cannot_be(call: Callable[[Any], Any]) -> None:
    refused(call)


# ----------------------------------------------------------------------- indices
@pytest.mark.parametrize(
    "index",
    [
        1.0,
        (0, 1.5),
        [0.0, 1.0],
        np.float32(1),
        "a",
        {1},
        4,
        -5,
        (0, 4),
        (0, 0, 0),
        [9],
        ([0, 1], [0, 1, 2]),
        slice(None, None, 0),
        slice(1.0, 2),
        (Ellipsis, Ellipsis),
        np.zeros(3, dtype=bool),
        2**70,
    ],
    ids=repr,
)
def test_indices_that_cannot_be(index: Any) -> None:
    def read(m: Any) -> Any:
        return m.zeros((4, 4))[index]

    def read_pending(m: Any) -> Any:
        return (m.zeros((4, 4)) * 2 + 1)[index]

    def write(m: Any) -> Any:
        m.zeros((4, 4))[index] = 1

    refused(read)
    refused(read_pending)
    refused(write)


def test_a_device_array_of_floats_is_no_index() -> None:
    refused(lambda m: m.zeros(4)[m.array([0.0, 1.0])])
    refused(lambda m: m.zeros(4)[m.array(1.0)])
    refused(lambda m: [1, 2, 3][m.array(1.0)])
    refused(lambda m: m.take(m.zeros(4), m.array([0.5])))


# ------------------------------------------------------------------------ memory
@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.zeros(2**62),
        lambda m: m.empty(2**60),
        lambda m: m.ones((2**31, 2**31)),
        lambda m: m.full(2**61, 1.0),
        lambda m: m.arange(2**60),
        lambda m: m.broadcast_to(m.zeros(1), (2**50,)) + 1,
        lambda m: m.broadcast_to(m.zeros(1), (2**50,)).copy(),
        lambda m: m.exp(m.broadcast_to(m.ones(1) * 2, (2**45, 8))) + 1.0,
        lambda m: m.multiply.outer(m.zeros(2**24), m.zeros(2**24)),
    ],
)
def test_requests_that_no_machine_can_hold(call: Callable[[Any], Any]) -> None:
    gc.collect()
    before = held()
    with pytest.raises((MemoryError, ValueError)) as theirs:
        call(np)
    base = MemoryError if theirs.errisinstance(MemoryError) else ValueError
    with pytest.raises(base):
        np.asarray(call(dc))
    gc.collect()
    works()
    gc.collect()
    assert held() <= before + (64 << 20)


@pytest.mark.parametrize(
    "shape", [2**63, (2**63,), (2**40, 2**40), (2**64,), (2, 2**63)]
)
def test_shapes_past_the_address_space(shape: Any) -> None:
    for name in ("zeros", "ones", "empty"):
        with pytest.raises((MemoryError, ValueError, OverflowError)):
            np.asarray(getattr(dc, name)(shape))
    works()


def held() -> int:
    """Bytes that the pools hold."""
    return sum(one["held"] for one in dc.memory_stats().values())


# ------------------------------------------------------------------------ writes
class TestReadOnly:
    def arrays(self, m: Any) -> list[Any]:
        locked = m.arange(6.0)
        locked.flags.writeable = False
        return [
            m.broadcast_to(m.zeros(3), (2, 3)),
            m.broadcast_to(m.zeros(3) + 1, (2, 3))[0],
            locked,
            locked[1:],
            locked.reshape(2, 3).T,
            m.diagonal(m.zeros((3, 3))),
        ]

    @pytest.mark.parametrize("number", range(6))
    @pytest.mark.parametrize(
        "write",
        [
            lambda m, x: x.__setitem__(0, 1.0),
            lambda m, x: x.__setitem__(Ellipsis, 1.0),
            lambda m, x: x.__iadd__(1.0),
            lambda m, x: x.fill(1.0),
            lambda m, x: m.add(x, 1.0, out=x),
            lambda m, x: m.copyto(x, 2.0),
            lambda m, x: x[...].__imul__(2.0),
            lambda m, x: x.__setitem__([0], 1.0),
            lambda m, x: m.exp(x, out=x),
        ],
    )
    def test_every_way_of_writing(self, number: int, write: Any) -> None:
        refused(lambda m: write(m, self.arrays(m)[number]))

    def test_an_export_is_read_only_too(self) -> None:
        for array in self.arrays(dc):
            assert not np.asarray(array).flags.writeable

    def test_memory_of_others(self) -> None:
        locked = np.arange(3.0)
        locked.flags.writeable = False
        shared = dc.asarray(locked, copy=False)
        with pytest.raises(ValueError, match="read-only"):
            shared += 1
        assert locked.tolist() == [0, 1, 2]
        with pytest.raises(ValueError, match="read-only"):
            dc.frombuffer(b"\0" * 16)[0] = 1


# ----------------------------------------------------------------- wrong operands
@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.zeros(3) + "a",
        lambda m: m.zeros(3) + None,
        lambda m: m.exp(m.zeros(3), 1, 2, 3),
        lambda m: m.exp(),
        lambda m: m.exp("a"),
        lambda m: m.zeros(3) & m.zeros(3),
        lambda m: ~m.zeros(3),
        lambda m: m.zeros(3) << 1,
        lambda m: -m.zeros(3, dtype=bool),
        lambda m: m.zeros(3, dtype=bool) - m.ones(3, dtype=bool),
        lambda m: m.floor_divide(m.ones(3) * 1j, 2),
        lambda m: m.zeros(3, dtype=complex) % 2,
        lambda m: m.add(m.zeros(3), 1, out=m.zeros(3, dtype=int)),
        lambda m: m.add(m.zeros(3), 1, dtype=int),
        lambda m: m.add(m.zeros(3), 1, casting="no such"),
        lambda m: m.add(m.zeros(3), 1, nonsense=3),
        lambda m: m.zeros(3).astype("nonsense"),
        lambda m: m.zeros(3).astype(int, casting="safe"),
        lambda m: m.zeros(3, dtype="nonsense"),
        lambda m: m.zeros(3).nonsense,
        lambda m: m.zeros(3, int).__iadd__(0.5),
        lambda m: m.arange(3, dtype=m.uint8) + 300,
        lambda m: m.arange(3) ** -1,
        lambda m: m.invert(m.zeros(2, dtype=m.float16)),
        lambda m: hash(m.zeros(3)),
        lambda m: bool(m.zeros(3)),
        lambda m: float(m.zeros(3) + 1),
        lambda m: len(m.zeros(()) + 1),
        lambda m: list(m.zeros(()) + 1),
    ],
)
def test_operands_that_do_not_fit(call: Callable[[Any], Any]) -> None:
    refused(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dc.zeros(3, device="nonsense"),
        lambda: dc.zeros(3, device="cpu:x"),
        lambda: dc.zeros(3).to_device("cuda:99"),
        lambda: dc.zeros(3, device="toaster:0"),
        lambda: dc.config(nonsense=1),
        lambda: dc.config(lazy="perhaps"),
        lambda: dc.config(threads=-1),
        lambda: dc.config(threads="two"),
    ],
)
def test_devices_and_settings_that_do_not_exist(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError)) as found:
        call()
    assert str(found.value)
    works()


# ----------------------------------------------------------------- object arrays
class TestObjects:
    """Python's own numbers, on the host, in chains."""

    @pytest.mark.parametrize(
        "numbers",
        [
            [Decimal("0.1"), Decimal("2.5"), Decimal("-3")],
            [Fraction(1, 3), Fraction(-7, 2), Fraction(5)],
            [10**30, -(10**40) + 1, 7],
        ],
        ids=["decimal", "fraction", "big"],
    )
    def test_chains(self, numbers: list[Any]) -> None:
        def run(m: Any) -> list[Any]:
            x = m.array(numbers, dtype=object)
            y = (x * 2 + x) * x - 1
            z = y[::-1] + x
            z[0] = numbers[0]
            z += x
            w = abs(-z)
            return [
                y.tolist(),
                z.tolist(),
                w.tolist(),
                [x.sum(), x.max(), (x * x).sum(), x.argmin(), m.prod(x)],
                (x > y).tolist(),
                (x // 2).tolist() if not isinstance(numbers[0], Decimal) else [],
                m.where(x > 0, x, -x).tolist(),
                m.sort(x).tolist(),
            ]

        found, wanted = run(dc), run(np)
        assert plain(found) == plain(wanted)
        assert [type(n) for n in found[0]] == [type(n) for n in wanted[0]]

    def test_mixed_with_numbers(self) -> None:
        big = dc.array([10**20, 1], dtype=object)
        found = big + dc.arange(2)
        assert found.dtype == object
        assert found.tolist() == [10**20, 2]
        assert (dc.arange(2) * big).tolist() == [0, 1]

    def test_object_arrays_of_mixed_rubbish(self) -> None:
        refused(lambda m: m.array([1, "a", None], dtype=object) + 1)
        refused(lambda m: m.sin(m.array([Decimal(1)], dtype=object)))
        refused(lambda m: m.sqrt(m.array([10**40], dtype=object)))

    def test_strings_and_dates(self) -> None:
        words = dc.array(["b", "a"])
        assert (words == "a").tolist() == [False, True]
        days = dc.array(["2024-01-01", "2024-03-01"], dtype="datetime64[D]")
        assert (days[1] - days[0]).item().days == 60
        assert (
            np.asarray(days + np.timedelta64(1, "D")).tolist()
            == (np.asarray(days) + np.timedelta64(1, "D")).tolist()
        )


def plain(value: Any) -> Any:
    """Results with 0-d arrays opened."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.item() if hasattr(value, "item") else value


# ---------------------------------------------------------------------- lifetimes
class TestFreedWhilePending:
    def test_operands(self) -> None:
        x = np.arange(50_000.0)
        a = dc.asarray(x)
        b = a * 2
        c = b + a
        del a, b
        gc.collect()
        junk = [dc.zeros(50_000) + 7 for _ in range(4)]
        dc.evaluate(*junk)
        assert np.asarray(c).tobytes() == (x * 2 + x).tobytes()

    def test_never_read(self) -> None:
        a = dc.arange(50_000.0)
        for _ in range(50):
            b = a
            for _ in range(20):
                b = b + 1
        del b
        gc.collect()
        a += 1
        assert float(a[0]) == 1.0

    def test_long_chains_do_not_recurse(self) -> None:
        x = dc.zeros(4)
        for _ in range(20_000):
            x = x + 1
        assert x.tolist() == [20_000.0] * 4
        y = dc.zeros(4)
        for _ in range(20_000):
            y = y + 1
        del y
        gc.collect()
        works()

    def test_views_outlive_their_base(self) -> None:
        a = dc.arange(10.0) * 2
        v = a[2:5]
        w = v + 1
        del a
        gc.collect()
        v[0] = -1
        assert (v.tolist(), w.tolist()) == ([-1, 6, 8], [5, 7, 9])

    def test_an_export_outlives_the_array(self) -> None:
        a = dc.arange(100_000.0) + 1
        host = np.asarray(a)
        del a
        gc.collect()
        junk = dc.zeros(100_000) + 5
        dc.evaluate(junk)
        assert host[:3].tolist() == [1, 2, 3]

    def test_a_cycle_of_garbage(self) -> None:
        a = dc.arange(1000.0)
        holder: dict[str, Any] = {"a": a, "b": a * 2}
        holder["self"] = holder
        del holder, a
        gc.collect()
        works()


# ----------------------------------------------------------------------- profiles
class TestExceptionsInsideAProfile:
    def test_the_profile_closes(self) -> None:
        with pytest.raises(ValueError, match="broadcast"), dc.profile() as p:
            x = dc.arange(100_000.0)
            float((x * 2 + 1).sum())
            x + dc.zeros(3)
        count = len(p.events)
        assert count
        works()
        assert len(p.events) == count

    def test_a_profile_within_a_profile(self) -> None:
        with dc.profile() as outer:
            with pytest.raises(ZeroDivisionError), dc.profile() as inner:
                works()
                raise ZeroDivisionError
            seen = len(inner.events)
            works()
        assert len(inner.events) == seen
        assert len(outer.events) > seen

    def test_settings_are_restored_after_an_error(self) -> None:
        with dc.config() as before:
            pass
        with pytest.raises(KeyError), dc.config(lazy="never", threads=1):
            raise KeyError
        with dc.config() as after:
            assert after == before


def test_an_int_beyond_the_dtype_is_compared_into_floats(lazy: str) -> None:
    """NumPy 2.4 ends the process here."""
    x = np.arange(1000, dtype=np.uint8)
    mask = x % 2 == 0
    for _ in range(50):
        out = dc.asarray(np.full(1000, 7, np.float16))
        found = dc.less(dc.asarray(x), -10, out=out, where=dc.asarray(mask))
        assert found is out
        assert np.array_equal(out.get(), np.where(mask, 0, 7))
        dc.greater(dc.asarray(x), -10, out=out)
        assert np.array_equal(out.get(), np.ones(1000))
    with pytest.raises(TypeError, match="'no'"):
        dc.less(dc.asarray(x), -10, out=out, casting="no")


# ------------------------------------------------------------------ interruption
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("kind", ["fused", "loop", "reduction"])
def test_an_interrupt_ends_a_long_kernel(kind: str, lazy: str) -> None:
    """Ctrl-C ends within a second, and the library works on."""
    work = {
        "fused": "x = x * 1.5 + 2; y = dc.tan(dc.exp(dc.sin(x)) ** 1.1) - x; read(y)",
        "loop": "read(dc.arctanh(x))",
        "reduction": "float((dc.sin(x) * dc.cos(x)).sum())",
    }[kind]
    program = f"""
        import signal, sys, threading, time, os
        import numpy as np
        import dcarray as dc
        # A job in the background may have been told to ignore the signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        dc.config(lazy={lazy!r}).__enter__()
        np.seterr(all="ignore")
        def read(y):
            dc.evaluate(y)
        x = dc.broadcast_to(dc.asarray(np.linspace(0.1, 0.9, 1000)), (30_000, 1000))
        def ring():
            time.sleep(0.4)
            global rung
            rung = time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)
        (dc.arange(9.0) * 2 + 1).sum().item()
        threading.Thread(target=ring).start()
        began = time.monotonic()
        try:
            for _ in range(100):
                {work}
        except KeyboardInterrupt:
            late = time.monotonic() - rung
        else:
            sys.exit("was not interrupted")
        a = np.arange(100_000.0)
        b = dc.asarray(a)
        right = np.asarray(dc.sqrt(b * 2 + 1) - b).tobytes() == (
            np.sqrt(a * 2 + 1) - a).tobytes()
        right = right and float((dc.ones(5) + 1).sum()) == 10
        print("late", late, "right", right)
        sys.exit(0 if right and late < 1.0 else 3)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
