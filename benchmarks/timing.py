"""Timing contenders in turn, and children that start afresh."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

__all__ = ["in_child", "in_turn"]

Call = Callable[[], object]

SHORTEST = 1e-2
"""A sample lasts at least so many seconds: fast calls are repeated within it."""

PAUSE = 0.2
"""Seconds before a sample: the idle threads of other libraries spin for a while before
they sleep, and would take a core from whoever comes next."""


def in_turn(
    contenders: Mapping[str, Call], rounds: int = 15, seconds: float = 4.0
) -> dict[str, float]:
    """Median seconds of a call, for each contender.

    Every round times each contender once, so that a slow moment of the machine hits
    all of them.  Rounds end early, but not before the fifth, when ``seconds`` for
    each contender have passed.
    """
    loops = {name: _loops(call) for name, call in contenders.items()}
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        for number in range(rounds):
            for name, call in contenders.items():
                time.sleep(PAUSE)
                samples[name].append(_time(call, loops[name]))
            passed = time.perf_counter() - begin
            if number >= 4 and passed > seconds * len(contenders):
                break
    finally:
        gc.enable()
    return {name: statistics.median(found) for name, found in samples.items()}


def _time(call: Call, loops: int) -> float:
    repeat = range(loops)
    start = time.perf_counter()
    for _ in repeat:
        call()
    return (time.perf_counter() - start) / loops


def _loops(call: Call) -> int:
    """Warm up, and find how often to call it for one sample."""
    call()
    call()
    loops = 1
    while True:
        taken = _time(call, loops) * loops
        if taken >= SHORTEST:
            return loops
        loops = max(2 * loops, int(loops * 0.9 * SHORTEST / max(taken, 1e-9)))


def in_child(code: str, environment: Mapping[str, str] | None = None) -> str:
    """What a fresh interpreter prints that runs ``code``.

    Raises
    ------
    RuntimeError
        It failed; the message is its last line of output.
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RuntimeError(lines[-1])
    return done.stdout.strip()
