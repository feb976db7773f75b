"""Numbers added at places that may come several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops.elementwise import ADD, EQUAL, WHERE
from ....ops.indexing import filled
from ..views import GridView
from .keys import selected
from .places import gather, turns
from .pooling import TABLE as POOLING
from .work import Work

__all__ = ["TABLE"]


def _add_at(work: Work, x: Any, value: Any, *arrays: GridView, key: Any) -> GridView:
    """``x`` after ``numpy.add.at(x, key, value)``."""
    x = work.dense(work.put(x))
    numbers = turns(work, x.shape, max(1, x.size))
    found = selected(work, numbers, filled(key, arrays))
    places = gather(work, found.view, found.places)
    given = work.cast(work.put(value), x.dtype)
    try:
        spread = given.through(lambda a: np.broadcast_to(a, places.shape))
    except ValueError:
        raise ValueError("array is not broadcastable to correct shape") from None
    if not places.size:
        return work.copy(x)
    rows = work.reshaped(spread, (-1, 1))
    flat = work.reshaped(places, (-1,))
    sums = POOLING["nn.embedding_gradient"](work, rows, flat, count=x.size)
    sums = sums.through(lambda a: a.reshape(x.shape))
    # Where nothing is added, -0.0 stays what it is.
    kept = work.map(EQUAL, sums, 0)
    return work.map(WHERE, kept, x, work.map(ADD, x, sums))


TABLE: dict[str, Callable[..., Any]] = {"add_at": _add_at}
"""Functions by the name of their rows."""
