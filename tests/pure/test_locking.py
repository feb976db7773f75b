"""The graph's lock."""

from __future__ import annotations

import os
import threading
import time

import pytest

from dcarray.lazy.locking import Lock, new_lock


def test_its_owner_may_take_it_again() -> None:
    lock = Lock()
    with lock, lock:
        assert lock._is_owned()
        lock.release()
        assert lock._is_owned()
        lock.acquire()
    assert not lock._is_owned()
    with pytest.raises(RuntimeError, match="un-acquired"):
        lock.release()


def test_others_cannot_release_it() -> None:
    lock = Lock()
    errors = []

    def release() -> None:
        try:
            lock.release()
        except RuntimeError as error:
            errors.append(error)

    with lock:
        thread = threading.Thread(target=release)
        thread.start()
        thread.join()
        assert lock._is_owned()
    assert len(errors) == 1


def test_one_thread_at_a_time() -> None:
    """Also where the one that has it sleeps, and many wait."""
    lock = Lock()
    inside = 0
    most = 0
    total = 0

    def work() -> None:
        nonlocal inside, most, total
        for turn in range(200):
            with lock:
                inside += 1
                most = max(most, inside)
                before = total
                if not turn % 20:
                    time.sleep(0.0002)
                total = before + 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert most == 1 and total == 1600
    assert lock._waiting == 0


def test_conditions_give_all_of_it_back() -> None:
    lock = Lock()
    condition = threading.Condition(lock)  # type: ignore[arg-type]
    told = False

    def tell() -> None:
        nonlocal told
        with condition:
            told = True
            condition.notify_all()

    with lock, condition:
        thread = threading.Thread(target=tell)
        thread.start()
        assert condition.wait_for(lambda: told, 10)
        lock.release()
        assert lock._is_owned()  # as often as before
        lock.acquire()
        assert not condition.wait(0.01)
    thread.join()
    assert not lock._is_owned()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_process_waits_for_nobody() -> None:
    lock = Lock()
    lock.acquire()
    waiting = threading.Thread(target=lambda: lock.acquire() and lock.release())
    waiting.start()
    while not lock._waiting:
        time.sleep(0.001)
    child = os.fork()
    if not child:
        lock.after_fork()
        os._exit(0 if not lock._is_owned() and lock.acquire() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    lock.release()
    waiting.join(10)
    assert not waiting.is_alive()


def test_the_graph_has_one_of_its_kind() -> None:
    lock = new_lock()
    with lock:
        assert lock._is_owned()
        assert lock.acquire()
        lock.release()
