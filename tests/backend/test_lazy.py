"""What is deferred, what runs when, and what it sees."""

from __future__ import annotations

import operator
import threading
import warnings

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.registry import backend_for

SIZE = 5000


@pytest.fixture(autouse=True)
def always_lazy():
    with dc.config(lazy="always"):
        yield


@pytest.fixture
def operands():
    rng = np.random.default_rng(7)
    hosts = [rng.random(SIZE, dtype=np.float32) for _ in range(3)]
    return hosts, [dc.asarray(host) for host in hosts]


def same(array, host):
    got = np.asarray(array)
    assert got.dtype == host.dtype
    assert got.shape == host.shape
    assert got.tobytes() == host.tobytes()


def test_chain_and_reduction_are_one_group(operands):
    (a, b, c), (x, y, z) = operands
    with dc.profile() as p:
        total = dc.exp(x * y + z).sum()
    assert [event.name for event in p.groups] == ["multiply add exp sum"]
    same(total, np.exp(a * b + c).sum())


def test_operand_that_dies_with_the_call_is_not_stored(operands):
    (a, b, _), (x, y, _) = operands
    with dc.profile() as p:
        total = (x * y).sum()
        kept = x * y
        kept.sum()
    written = [event.nbytes for event in p.groups]
    assert written[0] < written[1]
    same(total, (a * b).sum())
    same(kept, a * b)


def test_nothing_runs_before_it_is_read(operands):
    _, (x, y, z) = operands
    with dc.profile() as p:
        r = x * y + z
        assert not p.groups
        dc.evaluate(r)
    assert len(p.groups) == 1


def test_unread_expression_is_dropped(operands):
    _, (x, y, _) = operands
    with dc.profile() as p:
        r = x * y
        del r
        x[0] = 1
    assert not p.groups


def test_shared_subexpression_is_computed_once(operands):
    (a, b, _), (x, y, _) = operands
    with dc.profile() as p:
        t = x * y
        r = dc.exp(t) + t
        dc.evaluate(r)
    assert [event.name for event in p.groups] == ["multiply exp add"]
    same(r, np.exp(a * b) + a * b)
    with dc.profile() as p:
        same(t, a * b)  # the second output of the same group
    assert not p.groups


def test_value_that_a_pending_expression_still_needs_is_stored(operands):
    (a, b, _), (x, y, _) = operands
    t = dc.sin(x * y)
    left, right = t + 1, t * 2
    del t
    with dc.profile() as p:
        dc.evaluate(left, right)
    names = " ".join(event.name for event in p.groups)
    assert names.split().count("sin") == 1
    same(left, np.sin(a * b) + np.float32(1))
    same(right, np.sin(a * b) * np.float32(2))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_what_is_evaluated_together_is_one_group_in_any_order(operands, order):
    (a, b, c), (x, y, z) = operands
    mean = x * y
    size = y + z
    step = z - mean / size
    arrays = [mean, size, step]
    with dc.profile() as p:
        dc.evaluate(*[arrays[place] for place in order])
    assert len(p.groups) == 1
    same(mean, a * b)
    same(size, b + c)
    same(step, c - a * b / (b + c))


def test_recorded_value_is_fixed_when_it_is_written_down(operands):
    (a, b, _), (x, y, _) = operands
    r = x + y
    expected = a + b
    x[0] = 9
    same(r, expected)
    assert x[0] == 9


def test_view_written_while_pending(operands):
    (a, b, _), (x, y, _) = operands
    r = x + y
    view = r[1:3]
    view[...] = 9
    expected = a + b
    expected[1:3] = 9
    same(r, expected)
    same(view, expected[1:3])


def test_writing_to_a_pending_value_is_seen_by_its_views(operands):
    (a, b, c), (x, y, z) = operands
    r = x + y
    view = r[::2]
    r += z
    expected = a + b + c
    same(view, expected[::2])
    same(r, expected)


def test_in_place_on_a_pending_value_joins_its_group(operands):
    (a, b, c), (x, y, z) = operands
    with dc.profile() as p:
        r = x * y
        r += z
        r *= 2
        dc.evaluate(r)
    assert [event.name for event in p.groups] == ["multiply add multiply"]
    same(r, (a * b + c) * np.float32(2))


def test_in_place_is_one_kernel_into_the_same_memory(operands):
    (a, b, c), (x, y, z) = operands
    alias = x[:]
    buffer = x._bind().value.buffer
    with dc.profile() as p:
        x += y * z
        x *= 2
        assert not p.groups
        dc.evaluate(x)
    assert [event.name for event in p.groups] == ["multiply add multiply"]
    same(alias, (a + b * c) * np.float32(2))
    assert x._bind().value.buffer is buffer


def test_in_place_leaves_alone_what_was_recorded_before(operands):
    (a, b, _), (x, y, _) = operands
    buffer = x._bind().value.buffer
    later = x * 2
    back = x[::-1]
    x += back
    x += y
    same(x, a + a[::-1] + b)
    same(back, (a + a[::-1] + b)[::-1])
    same(later, a * np.float32(2))
    exported = np.asarray(x)  # from now on others know the memory
    x += 1
    same(exported, a + a[::-1] + b + np.float32(1))
    assert x._bind().value.buffer is not buffer


def test_in_place_cannot_be_done_again_after_an_interrupt(operands, monkeypatch):
    _, (x, y, _) = operands
    x += y * 7 - y / 3 + y * y  # a group that has not run before

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(backend_for("cpu")), "launch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dc.evaluate(x)
    with pytest.raises(dc.DeviceError, match="interrupted"):
        np.asarray(x)


def test_small_operands_of_a_large_result_are_recorded():
    a, b = np.random.default_rng(7).random((2, 300, 8), np.float32)
    x, y = dc.asarray(a), dc.asarray(b)
    with dc.config(lazy="auto"), dc.profile() as p:
        for subtract in (lambda s, t: s - t, dc.subtract):
            apart = (subtract(x[:, None, :], y) ** 2).sum(-1)
            same(apart, ((a[:, None, :] - b) ** 2).sum(-1))
        row = x[0] - y[0]
        with pytest.raises(ValueError, match="broadcast"):
            x[:, None, :] - y[:, :5]
    assert [event.name for event in p.groups] == ["subtract square sum"] * 2
    same(row, a[0] - b[0])


def test_outer_products_are_recorded():
    u, v = (np.random.default_rng(k).random(512) for k in (1, 2))
    x, y = dc.asarray(u), dc.asarray(v)
    with dc.profile() as p:
        found = dc.outer(x, y) + dc.linalg.outer(y, x)
        assert not p.groups
        dc.evaluate(found)
    assert len(p.groups) == 1
    same(found, np.outer(u, v) + np.outer(v, u))


def test_overlapping_assignment_goes_through_a_temporary():
    host = np.arange(20.0)
    x = dc.asarray(host)
    x[1:] = x[:-1] + x[1:]
    host[1:] = host[:-1] + host[1:]
    same(x, host)


@pytest.mark.parametrize("device", ["auto", "test:0"])
def test_an_array_that_was_written_elsewhere_stays_what_it_is(operands, device):
    (_, b, _), hosts = operands
    with dc.config(device=device):
        x, y = (dc.asarray(np.asarray(host)) for host in hosts[:2])
        part = x[1:-1]
        t = y[1:-1] * 2
        with dc.profile() as p:
            x[1:-1] = t
        assert [event.name for event in p.groups] == ["multiply"]
        later = t + 1
        x[...] = 0
        part += 3
        want = b[1:-1] * np.float32(2)
        same(t.get(), want)
        same(later.get(), want + np.float32(1))
        same(x.get()[1:-1], np.full(SIZE - 2, 3, np.float32))
        t[0] = 9
        assert float(x[1]) == 3
        kept = x[::2] - 4
        x[::2] = kept
        del x, part
        same(kept.get()[1:-1], np.full(kept.size - 2, -1, np.float32))


def test_a_small_part_does_not_keep_a_large_array_alive(operands):
    _, (x, y, _) = operands
    t = y[:8] * 2
    x[:8] = t
    assert t._binding.value.expr is None


@pytest.mark.parametrize("device", ["auto", "test:0"])
def test_two_arrays_do_not_share_what_was_stored_while_pending(operands, device):
    (_, b, _), hosts = operands
    with dc.config(device=device):
        x, y = (dc.asarray(np.asarray(host)) for host in hosts[:2])
        for stored in (False, True):
            r, t = x + 1, y * 2
            if stored:
                dc.evaluate(t)
            r[...] = t
            r[0] = 5
            t[1] = 7
            want = b * np.float32(2)
            other = want.copy()
            want[0], other[1] = 5, 7
            same(r.get(), want)
            same(t.get(), other)


def test_adding_the_own_transpose_in_place():
    host = np.arange(10000.0).reshape(100, 100)
    x = dc.asarray(host)
    x += x.T
    host += host.T.copy()
    same(x, host)


def test_export_while_pending_reads_first(operands):
    (a, _, _), (x, _, _) = operands
    r = x * 2
    later = r + 1
    exported = np.asarray(r)
    exported[0] = 100
    assert r[0] == 100
    same(later, a * np.float32(2) + np.float32(1))


def test_shared_memory_is_read_at_once(operands):
    _, (x, y, _) = operands
    exported = np.asarray(x)
    r = x + y
    expected = exported + np.asarray(y)
    exported[...] = 0
    same(r, expected)


def test_memory_is_lazy_again_when_the_export_dies(operands):
    _, (x, y, _) = operands
    exported = np.asarray(x)
    del exported
    with dc.profile() as p:
        r = x + y
        assert not p.groups
        dc.evaluate(r)
    assert len(p.groups) == 1


def test_asarray_copies_and_foreign_operands_are_read_at_once(operands):
    (a, _, _), (x, _, _) = operands
    foreign = a.copy()
    copied = dc.asarray(foreign)
    r = x + foreign
    foreign[...] = 0
    same(copied, a)
    same(r, a + a)


def test_movement_is_pushed_to_the_leaves():
    host = np.random.default_rng(0).random((40, 60))
    x = dc.asarray(host)
    with dc.profile() as p:
        r = (x + 1).T[::-1, 3:] * 2
        dc.evaluate(r)
    assert [event.name for event in p.groups] == ["add multiply"]
    expected = (host + 1).T[::-1, 3:] * 2
    same(r, expected)
    assert r.strides == expected.strides


def test_reduction_over_a_transposed_temporary():
    host = np.random.default_rng(0).random((40, 60), dtype=np.float32)
    x = dc.asarray(host)
    for axis in (None, 0, 1, (0, 1)):
        same((x * 3 + 1).T.sum(axis=axis), (host * 3 + 1).T.sum(axis=axis))


def test_warning_names_the_operation_and_the_users_line(operands):
    _, (x, _, _) = operands
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        r = dc.exp(x * 0 + 1000) * 2
        dc.evaluate(r)
    assert [str(w.message) for w in caught] == ["overflow encountered in exp"]
    assert caught[0].filename == __file__


def test_errstate_is_the_one_of_the_recording(operands):
    _, (x, _, _) = operands
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with dc.errstate(all="ignore"):
            quiet = 1 / (x * 0)
        loud = dc.log(x * 0)
        dc.evaluate(quiet, loud)
    assert [str(w.message) for w in caught] == ["divide by zero encountered in log"]


def test_raise_comes_at_the_call(operands):
    _, (x, _, _) = operands
    zero = x * 0
    with dc.errstate(divide="raise"), pytest.raises(FloatingPointError):
        dc.log(zero)


def test_errors_come_at_the_call(operands):
    _, (x, _, _) = operands
    with pytest.raises(ValueError, match="broadcast"):
        x + dc.asarray(np.ones(3))
    with pytest.raises(TypeError):
        x & 1.5
    with pytest.raises(IndexError):
        (x + 1)[SIZE]


def test_long_chains_run_when_they_reach_their_bound(operands):
    (a, _, _), (x, _, _) = operands
    r, expected = x, a
    for _ in range(300):
        r = r + 1
        expected = expected + np.float32(1)
    same(r, expected)


def test_several_outputs(operands):
    (a, b, _), (x, y, _) = operands
    quotient, rest = divmod(x * 8, y + 1)
    expected = divmod(a * np.float32(8), b + np.float32(1))
    same(rest, expected[1])
    same(quotient, expected[0])


def test_equal_expressions_of_different_operands_are_different_programs(operands):
    (a, b, _), (x, y, _) = operands
    same(dc.exp(x) * dc.exp(x), np.exp(a) * np.exp(a))
    same(dc.exp(x) * dc.exp(y), np.exp(a) * np.exp(b))


def _bytes_from_threads(array, number=4):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(np.asarray(array).tobytes()))
        for _ in range(number)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_share_a_pending_value(operands):
    (a, b, c), (x, y, z) = operands
    expected = (np.exp(a * b) + c).tobytes()
    for _ in range(20):
        assert _bytes_from_threads(dc.exp(x * y) + z) == [expected] * 4


def test_explain_shows_the_plan_and_runs_nothing(operands):
    _, (x, y, z) = operands
    r = dc.exp(x * y + z)
    with dc.profile() as p:
        plan = dc.explain(r)
    assert not p.groups
    assert [group.operations for group in plan.groups] == ["multiply add exp"]
    assert "multiply add exp" in str(plan)
    dc.evaluate(r)
    assert not dc.explain(r).groups


@pytest.mark.parametrize("source", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", ["astype", "rint", "absolute", "trunc"])
def test_integers_on_a_way_through_floats_are_not_cut_off(source, name):
    """LLVM would take their low bits."""
    info = np.iinfo(source)
    some = np.array([1, 5, info.max, info.max // 3, info.max - 2**20], source)
    host = np.resize(some, 300)
    with np.errstate(all="ignore"):
        for through in ("f4", "f8"):
            for target in ("i1", "u1", "i2", "u2", "i4", "u4", "i8"):
                results = []
                for x, module in ((dc.asarray(host), dc), (host, np)):
                    r = x.astype(through)
                    if name != "astype":
                        r = getattr(module, name)(r)
                    results.append(r.astype(target))
                same(*results)


def test_a_number_of_numpys_on_the_left_is_recorded():
    """NumPy hands it over as an array without axes, whose memory is nobody's."""
    host = np.linspace(-1, 1, 50_000, dtype=np.float32)
    x = dc.asarray(host)
    for left in (np.float64(0.25), np.float32(0.25), np.array(0.25)):
        for operation in (operator.le, operator.mul, operator.sub):
            made = operation(left, x)
            assert made._is_pending()
            expected = operation(left, host)
            assert made.dtype == expected.dtype
            assert made.tobytes() == expected.tobytes()


def test_memory_of_numpys_is_read_at_once():
    x, host = dc.zeros(50_000), np.ones(50_000)
    made = x + host
    host[:] = 5
    assert made.sum() == 50_000
