"""``dcarray bench``: a short set of NumPy's work, timed beside NumPy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["bench"]

Call = Callable[[Any, Any], Any]

ROUNDS = 5

SHORTEST = 5e-3
"""A sample lasts at least so many seconds: fast calls are repeated within it."""

SIDE = 2048


def _jacobi(module: Any, x: Any) -> Any:
    x, new = x.copy(), x.copy()
    for _ in range(5):
        new[1:-1, 1:-1] = 0.25 * (
            x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
        )
        x, new = new, x
    return x


def _softmax(module: Any, x: Any) -> Any:
    powers = module.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


WORK: dict[str, Call] = {
    "exp(x*x+x)*0.5-sqrt(x)": lambda m, x: m.exp(x * x + x) * 0.5 - m.sqrt(x),
    "(x - x.mean(0)) / x.std(0)": lambda m, x: (x - x.mean(0)) / x.std(0),
    "softmax of rows": _softmax,
    "x.sum(axis=0)": lambda m, x: x.sum(axis=0),
    "x[x > 0.5].sum()": lambda m, x: x[x > 0.5].sum(),
    "five steps of a stencil": _jacobi,
    "sort of all elements": lambda m, x: m.sort(x, axis=None),
    "x @ x": lambda m, x: x @ x,
    "x + 1 of 16 elements": lambda m, x: x[0, :16] + 1,
}
"""Each takes NumPy or dcarray, and a matrix of float32 between 0 and 1."""


def bench(root: ModuleType, side: int = SIDE) -> int:
    """Time the work with NumPy and with dcarray in turn; the exit status.

    Parameters
    ----------
    root : module
        dcarray.
    side : int
        Rows and columns of the matrix.

    Returns
    -------
    int
        1 if a result differs from NumPy's, else 0.
    """
    matrix = np.random.default_rng(5).random((side, side), np.float32)
    mine = root.asarray(matrix)
    table = Table(
        title=f"dcarray beside NumPy {np.__version__}, float32, {side} x {side}",
        title_justify="left",
    )
    for heading in ("work", "NumPy", "dcarray", "times as fast", "result"):
        table.add_column(heading)
    console = Console()
    wrong = 0
    for name, work in WORK.items():
        ours, theirs = _calls(root, work, mine, matrix)
        same = _same(ours(), theirs())
        wrong += not same
        samples: tuple[list[float], list[float]] = ([], [])
        loops = [_loops(call) for call in (theirs, ours)]
        for _ in range(ROUNDS):
            for found, call, count in zip(samples, (theirs, ours), loops, strict=True):
                found.append(_seconds(call, count))
        numpys, own = (statistics.median(found) for found in samples)
        result = "the same bits" if same else "OTHER BITS"
        ratio = f"{numpys / own:.2f}"
        table.add_row(escape(name), _written(numpys), _written(own), ratio, result)
    console.print(table)
    return 1 if wrong else 0


def _calls(
    root: ModuleType, work: Call, mine: Any, matrix: Any
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    def ours() -> Any:
        found = work(root, mine)
        root.evaluate(found)
        root.synchronize()
        return found

    return ours, lambda: work(np, matrix)


def _same(found: Any, wanted: Any) -> bool:
    return np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


def _seconds(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _loops(call: Callable[[], Any]) -> int:
    return max(1, int(SHORTEST / max(_seconds(call, 1), 1e-7)))


def _written(seconds: float) -> str:
    if seconds < 1e-4:
        return f"{1e6 * seconds:.3g} µs"
    return f"{1e3 * seconds:.3g} ms"
