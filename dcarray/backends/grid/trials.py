"""The search for the fastest layout of kernels on a device; see `tuning`.

One number of a layout is changed at a time, on a kernel that is typical of its kind.
The device is kept busy meanwhile, and a layout must be faster by more than chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CompileError, LaunchError
from ...layout import Layout
from ...ops.elementwise import ADD, CAST, MULTIPLY
from ...ops.program import Inner, Node, Program, Reduction
from ...ops.reduction import SUM
from ..calibrate import Sample, node, seconds_of
from .tuning import Choice, is_possible

if TYPE_CHECKING:
    from .backend import GridBackend

__all__ = ["search"]

F32 = np.dtype(np.float32)
BETTER = 0.97
"""Share of the time below which another layout is worth it."""

CANDIDATES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "map": {"items": (64, 128, 256), "ahead": (1, 2, 4), "waves": (4, 8, 16, 32)},
    "turn": {"items": (64, 128, 256)},
    "reduce": {"items": (64, 128, 256), "ahead": (1, 4, 8), "waves": (8, 16, 32)},
    "product": {"items": (64, 256), "ahead": (2, 4, 8)},
}
"""What is tried, kind by kind."""

ON_GPUS = ("turn", "ahead")
"""Kinds and numbers that make no difference on other devices."""

FUSED = Program((F32,) * 3, (), (node(MULTIPLY, 0, 1), node(ADD, 3, 2)), (4,))
COPY = Program((F32,), (), (Node(CAST, (0,), (F32,), (Inner.CONTIGUOUS,)),), (1,))
SUMMED = Program((F32,), (), (), (), Reduction(SUM, 0, F32))


def search(
    backend: GridBackend,
    side: int | None = None,
    tell: Callable[[str, Choice, float], None] = lambda *_: None,
) -> Mapping[str, tuple[int, ...]]:
    """Try layouts of every kind on a device, and use the fastest from now on.

    Parameters
    ----------
    backend : GridBackend
    side : int, optional
        Rows and columns of the matrices on which they are tried; an eighth of it in a
        product.  By default as many as keep the device busy.
    tell : callable, optional
        Called with each kind, its layout, and how much faster than before it is.

    Returns
    -------
    dict
        The three numbers of `Choice`, by kind.

    Raises
    ------
    OutOfMemoryError
        The device has no room for such matrices.
    """
    work = _work(backend, side or (4096 if backend.limits.coalesces else 1024))
    layouts = backend.layouts
    spared = () if backend.limits.coalesces else ON_GPUS
    for kind, fields in CANDIDATES.items():
        if kind in spared:
            continue
        start = best = layouts[kind]
        first = least = _seconds(backend, kind, best, work[kind])
        for field, values in fields.items():
            for value in () if field in spared else values:
                tried = replace(best, **{field: value})
                if tried == best or not _fits(backend, kind, tried):
                    continue
                taken = _seconds(backend, kind, tried, work[kind])
                if taken < BETTER * least:
                    best, least = tried, taken
        if best != start:  # whether it was the machine that had less to do meanwhile
            first = min(first, _seconds(backend, kind, start, work[kind]))
            if least >= BETTER * first:
                best, least = start, first
        layouts[kind] = best
        tell(kind, best, first / least)
    return {kind: astuple(layout) for kind, layout in layouts.items()}


def _work(backend: GridBackend, side: int) -> dict[str, Callable[[], list[Any]]]:
    """For each kind what makes its kernels ready, with the layouts in force."""
    shape = (side, side)
    part = max(side // 8, 16)
    left, right = (_matrix(backend, part) for _ in range(2))
    product = backend.native["matmul"]
    return {
        "map": lambda: [Sample(backend, FUSED, shape).run],
        "turn": lambda: [Sample(backend, COPY, shape, lambda a: a.T).run],
        "reduce": lambda: [
            Sample(backend, SUMMED, shape, reduced=kept).run
            for kept in ((1, 1), (1, side), (side, 1))
        ],
        "product": lambda: [lambda: product(left, right)],
    }


def _matrix(backend: GridBackend, side: int) -> Any:
    layout = Layout.dense((side, side), F32.itemsize)
    memory = backend.allocate(layout.size * F32.itemsize)
    backend.upload(np.full(layout.size, 0.5, F32).view(np.uint8), memory)
    return backend.view(memory, layout, F32)


def _fits(backend: GridBackend, kind: str, layout: Choice) -> bool:
    return is_possible(kind, astuple(layout), backend.limits)


def _seconds(
    backend: GridBackend,
    kind: str,
    layout: Choice,
    work: Callable[[], list[Callable[[], object]]],
) -> float:
    """Seconds of a kind's kernels with a layout; endless where it does not run."""
    before = backend.layouts[kind]
    backend.layouts[kind] = layout
    try:
        return sum([seconds_of(one, backend.synchronize) for one in work()])
    except (CompileError, LaunchError):
        return float("inf")
    finally:
        backend.layouts[kind] = before
