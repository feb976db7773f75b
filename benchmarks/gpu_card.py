"""One card, how calls on it are timed, and the same arrays for every library."""

from __future__ import annotations

import gc
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from report import Row, milliseconds

import dcarray as dc

__all__ = ["LARGE", "PEERS", "SIDE", "Call", "Card", "Data", "ran", "random"]

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

Call = Callable[[], object]

PEERS = {
    "cupy": "CuPy",
    "torch": "PyTorch",
    "compiled": "torch.compile",
    "jax": "jax.jit",
    "numpy": "NumPy",
    "graphed": "PyTorch's graph",
    "eager": "the eager form",
    "one": "one stream",
    "pageable": "pageable",
    "malloc": "cudaMalloc",
}
"""Contenders, as the table names them."""

LARGE = 10**8
SIDE = 8192
SAMPLE = 2e-2
"""Seconds that a sample lasts at least: many calls in a row, so that the Python before
the first kernel and the wait after the last one count little."""


class Card:
    """The device, and how calls on it are timed.

    Parameters
    ----------
    index : int
    rounds : int
        Samples of each contender.
    """

    def __init__(self, index: int, rounds: int) -> None:
        import cupy

        self.device = f"cuda:{index}"
        self.rounds = rounds
        self.cupy = cupy
        self._wait = cupy.cuda.runtime.deviceSynchronize
        found = dc.Device(self.device).properties()
        self.name = f"{found.name}, {found.driver}"
        source = cupy.zeros(LARGE, np.float32)
        target = cupy.empty_like(source)
        copied = self.times({"copy": lambda: cupy.copyto(target, source)})["copy"]
        self.bandwidth = 2 * source.nbytes / copied

    def _row(self, call: Call, count: int) -> float:
        begin = time.perf_counter()
        found: object = None
        for _ in range(count):
            found = call()
        if hasattr(found, "block_until_ready"):
            found.block_until_ready()
        self._wait()
        return (time.perf_counter() - begin) / count

    def late(self, call: Call, count: int = 500) -> tuple[float, float]:
        """Median seconds of a call that is waited for, and those that 99 of 100 calls
        take at most."""
        for _ in range(5):
            call()
        self._wait()
        samples = []
        gc.collect()
        gc.disable()
        try:
            for _ in range(count):
                begin = time.perf_counter()
                call()
                self._wait()
                samples.append(time.perf_counter() - begin)
        finally:
            gc.enable()
        return statistics.median(samples), float(np.quantile(samples, 0.99))

    def times(self, contenders: Mapping[str, Call]) -> dict[str, float]:
        """Median seconds of a call, for each contender, in turn."""
        counts = {}
        for name, call in contenders.items():
            self._row(call, 2)
            once = self._row(call, 3)
            counts[name] = max(3, min(500, int(SAMPLE / once)))
        samples: dict[str, list[float]] = {name: [] for name in contenders}
        gc.collect()
        gc.disable()
        try:
            for _ in range(self.rounds):
                for name, call in contenders.items():
                    samples[name].append(self._row(call, counts[name]))
        finally:
            gc.enable()
        return {name: statistics.median(found) for name, found in samples.items()}

    def row(
        self,
        what: str,
        contenders: Mapping[str, Call],
        bars: Mapping[str, float],
        nbytes: int = 0,
        share: float = 0.0,
    ) -> Row:
        """A line of the table.

        Parameters
        ----------
        what : str
        contenders : mapping
            Calls by the names of `PEERS`; ``"dcarray"`` is ours.
        bars : mapping
            How many times as fast as a peer we have to be; ``"best"`` stands for the
            fastest of them.
        nbytes : int
            That the work has to read and write.
        share : float
            Of the bandwidth of a copy that it has to reach.
        """
        seconds = self.times(contenders)
        own = seconds["dcarray"]
        ratios = {name: s / own for name, s in seconds.items() if name != "dcarray"}
        if ratios:
            ratios["best"] = min(ratios.values())
        parts = [milliseconds(own)]
        parts += [f"{ratios[n]:.2f}x {PEERS[n]}" for n in PEERS if n in ratios]
        wanted = [f"{bar:g}x {PEERS.get(n, n)}" for n, bar in bars.items()]
        met = [ratios[n] >= bar for n, bar in bars.items() if n in ratios]
        reached = nbytes / own / self.bandwidth
        if nbytes:
            parts.append(f"{100 * reached:.0f} % of a copy")
        if share:
            wanted.append(f"{100 * share:.0f} %")
            met.append(reached >= share)
        figures = {"seconds": seconds, "share": reached if nbytes else None}
        return Row(
            what,
            ", ".join(parts),
            ", ".join(wanted),
            all(met) if met else None,
            figures,
        )


class Data:
    """The same array for every library.

    Attributes
    ----------
    dc, cupy, torch, jax
        It, or None where the library is not installed.
    """

    def __init__(self, card: Card, host: Any) -> None:
        self.dc = dc.asarray(host, device=card.device)
        self.cupy = self.torch = self.jax = None
        is_plain = host.dtype.kind != "V"  # bfloat16 is no dtype of NumPy's own
        if is_plain:
            self.cupy = card.cupy.asarray(host)
        if importlib.util.find_spec("torch"):
            import torch

            plain = host if is_plain else host.view(np.int16)
            self.torch = torch.from_numpy(plain).cuda()
            if not is_plain:
                self.torch = self.torch.view(torch.bfloat16)
        if importlib.util.find_spec("jax"):
            import jax

            self.jax = jax.device_put(host)


def ran(call: Callable[[], Any]) -> Call:
    """A call of ours whose result is computed, not only recorded."""

    def run() -> None:
        dc.evaluate(call())

    return run


def random(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    """Random numbers on the host."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype) in (np.float32, np.float64):
        return rng.random(shape, dtype)
    return rng.random(shape, np.float32).astype(dtype)
