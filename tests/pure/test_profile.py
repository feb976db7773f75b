"""Counters and collected events."""

from __future__ import annotations

import threading

import pytest

from dcarray.profile import Event, count, counters, emit, is_active, profile


def test_events_are_collected_while_open() -> None:
    emit(Event("group", "before"))
    with profile() as p:
        assert is_active()
        emit(Event("group", "add", nodes=1, elements=10, nbytes=80, seconds=0.5))
        emit(Event("fallback", "median"))
    emit(Event("group", "after"))
    assert [event.name for event in p.events] == ["add", "median"]
    assert [event.name for event in p.groups] == ["add"]
    assert [event.name for event in p.fallbacks] == ["median"]
    assert p.of_kind("transfer") == []
    assert p.seconds > 0


def test_profiles_nest() -> None:
    with profile() as outer:
        emit(Event("group", "one"))
        with profile() as inner:
            emit(Event("group", "two"))
        emit(Event("group", "three"))
    assert [event.name for event in outer.events] == ["one", "two", "three"]
    assert [event.name for event in inner.events] == ["two"]


def test_a_profile_can_be_opened_again() -> None:
    p = profile()
    for name in ("one", "two"):
        with p:
            emit(Event("group", name))
    assert [event.name for event in p.events] == ["one", "two"]


def test_an_exception_closes_the_profile() -> None:
    with pytest.raises(ZeroDivisionError), profile() as p:
        emit(Event("group", "one"))
        1 / 0  # noqa: B018
    emit(Event("group", "two"))
    assert len(p.events) == 1


def test_counters_are_always_kept() -> None:
    before = counters["spill"]
    emit(Event("spill", "buffer"))
    count("spill")
    count("spill", 3)
    assert counters["spill"] == before + 5


def test_table() -> None:
    with profile() as p:
        for seconds in (0.25, 0.5):
            emit(Event("group", "add", "cpu", elements=5, nbytes=8, seconds=seconds))
        emit(Event("group", "add", "cuda:0", seconds=2.0))
        emit(Event("transfer", "copy", "cpu -> cuda:0", nbytes=100, seconds=0.1))
    rows = p.table()
    assert [row["seconds"] for row in rows] == [2.0, 0.75, 0.1]
    assert rows[1] == {
        "kind": "group",
        "name": "add",
        "device": "cpu",
        "count": 2,
        "elements": 10,
        "nbytes": 16,
        "seconds": 0.75,
    }


def test_threads_emit() -> None:
    with profile() as p:

        def work() -> None:
            for _ in range(1000):
                emit(Event("group", "add"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(p.groups) == 4000


def test_events_do_not_change() -> None:
    event = Event("group", "add")
    with pytest.raises(AttributeError):
        event.name = "subtract"  # type: ignore[misc]
    assert event.start > 0
