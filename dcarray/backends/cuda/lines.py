"""Rows wherever they begin, by texts of our own: see `base.Lining`.

Their numbers go to the launch as they are; nothing is prepared for a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel.nodes import Kernel
from .functions import Launcher
from .kernels import choosing, vectors
from .picking import TAKE
from .vectors import DOT, MOST_OF_ONE

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["lines_of"]

DType = np.dtype[Any]

_GROUP = (vectors.THREADS,)
"""Threads of both texts."""

PART = 1024
"""Elements that a group picks."""


class Lines:
    """What one device does with rows.

    Parameters
    ----------
    raw : Raw
    """

    __slots__ = ("_allocator", "_backend", "_launchers", "_raw")

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._backend = raw.backend
        self._allocator = raw.backend.allocator
        self._launchers: dict[Any, Launcher] = {}

    def dot(
        self, x: Any, y: Any, dtype: DType, count: int, lies: tuple[int, ...]
    ) -> Any:
        """See `Lining`."""
        if count > MOST_OF_ONE:
            return None
        size, code = dtype.itemsize, dtype.char
        launcher = self._launchers.get(code)
        if launcher is None:
            launcher = self._launcher(code, vectors.vector_text(dtype), DOT)
        out = self._allocator.allocate(size)
        done = launcher.begin([x, y, out], [count, *lies], launcher.sizes)
        return out if done else None

    def pick(
        self,
        x: Any,
        places: Any,
        kinds: tuple[DType, DType],
        count: int,
        lies: tuple[int, ...],
    ) -> Any:
        """See `Lining`."""
        size, other = kinds[0].itemsize, kinds[1]
        name = (size, other.char)
        launcher = self._launchers.get(name)
        if launcher is None:
            code = f"{other.kind}{other.itemsize}"
            if code not in choosing.PLACES or size not in choosing.WORDS:
                return None
            text = choosing.take_text(size, code, "wrap")
            launcher = self._launcher(name, text, TAKE)
        length, offset, begin = lies
        out = self._allocator.allocate(count * size)
        sizes = launcher.sizes
        if count > PART:
            groups = min(-(-count // PART), 1 << 20)
            sizes = (groups, *sizes[1:])
        numbers = [count, length, 1, length, 1, offset, begin]
        done = launcher.begin([x, places, out, out], numbers, sizes)
        return out if done else None

    def _launcher(self, name: Any, text: str, kernel: Kernel) -> Launcher:
        """What starts a text over any number of groups; its sizes are those of one."""
        function = self._raw.function(text, kernel)
        sizes = function.sizes(_GROUP, _GROUP)
        assert sizes is not None
        launcher = function.launcher(self._backend, sizes)
        self._launchers[name] = launcher
        return launcher


def lines_of(raw: Raw) -> tuple[Any, Any]:
    """The two functions of one device."""
    lines = Lines(raw)
    return lines.dot, lines.pick
