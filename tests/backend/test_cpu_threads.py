"""Threads of the CPU backend: errors, Ctrl-C, fork, several launches at once."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcarray
from dcarray.backends.cpu import CpuBackend
from dcarray.backends.cpu.threads import available_threads, cut, run_slices
from dcarray.config import config
from dcarray.ops.program import Inner, Node, Program
from dcarray.ops.spec import Kind, Op

F4 = np.dtype("f")
DENSE = (Inner.CONTIGUOUS, Inner.CONTIGUOUS)
MULTIPLY = Op("multiply", Kind.ELEMENTWISE, np.multiply, 2)
EXP = Op("exp", Kind.ELEMENTWISE, np.exp)
CHAIN = Program(
    (F4, F4),
    (),
    (
        Node(MULTIPLY, (0, 1), (F4,), DENSE),
        Node(EXP, (2,), (F4,), DENSE[:1]),
    ),
    (3,),
)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_slice_runs_once(threads: int) -> None:
    seen: list[int] = []
    run_slices(seen.append, 100, threads)
    assert sorted(seen) == list(range(100))


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_slice_is_raised(threads: int) -> None:
    def task(number: int) -> None:
        if number == 5:
            raise KeyError(number)
        time.sleep(0.001)

    with pytest.raises(KeyError):
        run_slices(task, 1000, threads)
    seen: list[int] = []
    run_slices(seen.append, 10, threads)
    assert len(seen) == 10


def test_slices_cover_all_blocks_without_gaps() -> None:
    for count, elements in ((1, 10), (7, 10**6), (1000, 10**7), (10**5, 10**10)):
        pieces = cut(count, elements, 3, 2)
        assert pieces[0].start == 0 and pieces[-1].stop == count
        for one, other in itertools.pairwise(pieces):
            assert one.stop == other.start
    assert len(cut(100, 100, 1, 8)) == 1
    assert len(cut(10**5, 10**10, 3, 2)) > 1000


def test_the_setting_and_the_affinity_say_how_many_threads() -> None:
    with config(threads=3):
        assert available_threads() == 3
    if hasattr(os, "sched_getaffinity"):
        assert available_threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("engine", ["auto", "interpreter"])
def test_launches_from_several_threads(engine: str) -> None:
    backend = CpuBackend()
    executable = backend.compile(CHAIN)
    wrong: list[int] = []

    def work(seed: int) -> None:
        g = np.random.default_rng(seed)
        a, b = (g.random(200_001, dtype=F4) for _ in range(2))
        wanted, target = np.exp(a * b), np.empty_like(a)
        with config(engine=engine, threads=3):
            for _ in range(10):
                target[...] = 0
                backend.launch(executable, a.shape, [a, b], [], [target])
                if target.tobytes() != wanted.tobytes():
                    wrong.append(seed)

    team = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for member in team:
        member.start()
    for member in team:
        member.join()
    assert not wrong


@pytest.mark.parametrize("engine", ["auto", "interpreter"])
def test_without_new_threads_the_caller_does_it_all(
    monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    backend = CpuBackend()
    executable = backend.compile(CHAIN)
    x = np.full(400_000, 0.5, F4)
    result = np.empty_like(x)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with config(engine=engine, threads=40):
        backend.launch(executable, x.shape, [x, x], [], [result])
    assert result.tobytes() == np.exp(x * x).tobytes()


def interrupted(run: Callable[[], Any]) -> float:
    """Send Ctrl-C after 0.2 s; returns how long it took to come through."""
    moments: list[float] = []

    def send() -> None:
        moments.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    # A job in the background may have been told to ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                run()
        return time.perf_counter() - moments[0]
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
@pytest.mark.parametrize("engine", ["auto", "interpreter"])
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_seen_and_the_backend_works_on(engine: str, threads: int) -> None:
    backend = CpuBackend()
    executable = backend.compile(CHAIN)
    # 1.6 × 10⁹ elements that lie in 6 MB: strides of 0 repeat the rows.
    a = np.broadcast_to(np.ones(500_000, F4), (3200, 500_000))
    target = np.lib.stride_tricks.as_strided(np.empty(500_000, F4), a.shape, (0, 4))
    with config(engine=engine, threads=threads):
        late = interrupted(
            lambda: backend.launch(executable, a.shape, [a, a], [], [target])
        )
        assert late < 1.0
        x = np.full(200_000, 0.5, F4)
        result = np.empty_like(x)
        backend.launch(executable, x.shape, [x, x], [], [result])
        assert result.tobytes() == np.exp(x * x).tobytes()


FORK = """
    import os, sys
    import numpy as np
    from dcarray.backends.cpu import CpuBackend
    from dcarray.config import set_process_default
    from dcarray.ops.program import Inner, Node, Program
    from dcarray.ops.spec import Kind, Op

    set_process_default(threads=3)
    f, dense = np.dtype("f"), (Inner.CONTIGUOUS,)
    exp = Op("exp", Kind.ELEMENTWISE, np.exp)
    nodes = Node(exp, (0,), (f,), dense), Node(exp, (1,), (f,), dense)
    backend = CpuBackend()
    executable = backend.compile(Program((f,), (), nodes, (2,)))
    alone = backend.compile(Program((f,), (), nodes[:1], (1,)))

    def check():
        x = np.linspace(0, 1, 400_000, dtype=f)
        y = np.empty_like(x)
        backend.launch(executable, x.shape, [x], [], [y])
        z = np.empty_like(x)
        backend.launch(alone, x.shape, [x], [], [z])
        return y.tobytes() == np.exp(np.exp(x)).tobytes() and (z == np.exp(x)).all()

    assert check()
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert check()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_its_own_threads() -> None:
    folder = str(Path(dcarray.__file__).parent.parent)
    environment = dict(os.environ, PYTHONPATH=folder)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORK)],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
