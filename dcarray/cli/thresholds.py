"""The sizes from which something else is faster on this CPU, measured.

Three settings follow from them: how much of the cache a block may fill, from how much
work on a second thread helps, and from which size on a result is better recorded than
computed at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from ..api.creation import asarray
from ..api.elementwise import exp, sqrt
from ..api.runtime import evaluate
from ..backends.base import Backend
from ..backends.calibrate import CHAIN, F32, Sample, node
from ..backends.cpu.threads import available_threads
from ..config import config, current
from ..ops.elementwise import ADD, LOG, MULTIPLY, SQRT
from ..ops.program import Program

__all__ = ["crossing", "measured_settings"]

Call = Callable[[], object]
Key = TypeVar("Key")
Lazy = Literal["never", "always"]

BLOCKS = (1 << 13, 1 << 14, 1 << 15, 1 << 16)
STEPS = Program(
    (F32, F32),
    (),
    (
        node(MULTIPLY, 0, 1),
        node(LOG, 2),
        node(ADD, 3, 0),
        node(SQRT, 1),
        node(MULTIPLY, 4, 5),
    ),
    (6,),
)
"""What takes steps: NumPy's loop for the logarithm stands between compiled ones."""

LONG = 1 << 18
"""Elements of the arrays that blocks are tried on."""

SIZES = tuple(1 << power for power in range(10, 19))
"""Elements of the arrays that are tried on one thread and several, at once and
recorded."""

PAYS = 0.97
"""Of the time before: less is worth another setting."""

BATCH = 1e-3
"""Seconds of calls between two looks at the clock."""


def measured_settings(
    backend: Backend, sizes: Sequence[int] = SIZES, long: int = LONG, rounds: int = 25
) -> dict[str, int]:
    """The settings that suit this CPU.

    Parameters
    ----------
    backend : Backend
        That of the CPU.
    sizes : sequence of int
        Elements of the arrays to measure with, from small to large.
    long : int
        Elements of those that blocks are tried on.
    rounds : int
        How often each contender has its turn; its least time counts.

    Returns
    -------
    dict
        ``block_bytes``, ``thread_work`` where there is a second thread, and
        ``small_array``.
    """
    found = {"block_bytes": _block_bytes(backend, long, rounds)}
    with config(**found):
        if available_threads() > 1:
            found["thread_work"] = _thread_work(backend, sizes, rounds)
    with config(**found):
        found["small_array"] = _small_array(sizes, rounds)
    return found


def crossing(
    sizes: Sequence[int], before: Sequence[float], after: Sequence[float], usual: float
) -> int | None:
    """The size from which on one should do what takes the times ``after``.

    It is where the product of all times is least, so that one size at which the machine
    was busy does not decide; twice the largest if it never is worth it.  None where the
    ``usual`` size is as good, but for chance.
    """

    def cost(threshold: float) -> float:
        times = zip(sizes, before, after, strict=True)
        return sum([math.log(new if n >= threshold else old) for n, old, new in times])

    best = min((*sizes, 2 * sizes[-1]), key=cost)
    return best if cost(best) < cost(usual) + math.log(PAYS) else None


def _block_bytes(backend: Backend, size: int, rounds: int) -> int:
    calls = {}
    for nbytes in BLOCKS:
        with config(block_bytes=nbytes, threads=1):
            sample = Sample(backend, STEPS, (size,))
            sample.run()  # is planned now
        calls[nbytes] = sample.run
    with config(threads=1):
        times = _in_turn(calls, rounds)
    usual = current().block_bytes
    best = min(times, key=lambda nbytes: times[nbytes])
    is_better = usual not in times or times[best] < PAYS * times[usual]
    return best if is_better else usual


def _thread_work(backend: Backend, sizes: Sequence[int], rounds: int) -> int:
    several = available_threads()
    alone, together = [], []
    for size in sizes:
        calls = {
            threads: partial(
                _shared,
                config(threads=threads, thread_work=0),
                Sample(backend, CHAIN, (size,)).run,
            )
            for threads in (1, several)
        }
        times = _in_turn(calls, rounds)
        alone.append(times[1])
        together.append(times[several])
    usual = current().thread_work
    nodes = len(CHAIN.nodes)
    found = crossing(sizes, alone, together, usual / nodes)
    return usual if found is None else nodes * found


def _shared(way: config, run: Call) -> None:
    with way:
        run()


def _small_array(sizes: Sequence[int], rounds: int) -> int:
    at_once, recorded = [], []
    for size in sizes:
        host = np.full(size, 0.5, np.float32)
        given = [asarray(host, device="cpu") for _ in range(3)]
        means: dict[Lazy, float] = {"never": 1.0, "always": 1.0}
        for work in (_short, _longer):
            calls = {
                lazy: partial(_evaluated, config(lazy=lazy), work, given)
                for lazy in means
            }
            for lazy, seconds in _in_turn(calls, rounds).items():
                means[lazy] *= math.sqrt(seconds)
        at_once.append(means["never"])
        recorded.append(means["always"])
    usual = current().small_array
    found = crossing(sizes, at_once, recorded, usual)
    return usual if found is None else found


def _evaluated(way: config, work: Callable[..., Any], given: Sequence[Any]) -> None:
    with way:
        evaluate(work(*given))


def _short(x: Any, y: Any, z: Any) -> Any:
    return x * y + z


def _longer(x: Any, y: Any, z: Any) -> Any:
    return exp(x * y + z) * 0.5 - sqrt(x)


def _in_turn(calls: Mapping[Key, Call], rounds: int) -> dict[Key, float]:
    """The least seconds of a call of each; what else the machine does makes it longer
    only."""
    loops = {}
    for name, call in calls.items():
        call()
        loops[name] = max(1, int(BATCH / max(_seconds(call, 1), 1e-9)))
    least = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], _seconds(call, loops[name]))
    return least


def _seconds(call: Call, loops: int) -> float:
    begin = time.perf_counter()
    for _ in range(loops):
        call()
    return (time.perf_counter() - begin) / loops
