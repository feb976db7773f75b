"""What a backend can do besides: exchange its memory with other libraries, run on
several streams, capture what it launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..layout import Layout
from .base import Memory

__all__ = ["Capturing", "CapturedGraph", "Exchanging", "Streaming"]


@runtime_checkable
class Exchanging(Protocol):
    """A backend whose memory other libraries use in place, in an order that both know.

    Streams are numbers as DLPack has them.
    """

    direct_from: int
    """Bytes from which an array that is made of memory of the host is on the device
    alone."""

    def hand_over(self, memory: Memory, stream: int | None) -> None:
        """A stream waits for what was launched, before somebody else uses a block on
        it.

        Raises
        ------
        BufferError
            There is no such stream.
        """

    def takes_over(self) -> int:
        """The stream on which foreign memory has to be ready."""

    def taken(self, capsule: Any) -> tuple[Memory, Layout, np.dtype[Any]]:
        """The memory that a capsule of DLPack's holds, which it keeps alive."""


@runtime_checkable
class Streaming(Protocol):
    """A backend with several streams."""

    def stream(self, foreign: Any = None) -> Any:
        """A new stream, or the one of another library.

        It has ``enter()``, which makes it the current one, ``leave(token)`` with what
        that returned, ``record()``, ``wait(event)``, ``synchronize()`` and ``done``.

        Raises
        ------
        TypeError
            ``foreign`` is no stream.
        """


class CapturedGraph(Protocol):
    """Launches that run again at one call.

    Attributes
    ----------
    own, others : dict
        Blocks that were made while they were captured, and those that they read, by
        identity.
    """

    own: dict[int, Any]
    others: dict[int, Any]

    def launch(self) -> None:
        """Run them."""

    def copy_in(self, source: Any, start: int, target: Any, nbytes: int) -> None:
        """Bytes of a block, from ``start`` on, become those of one that they read."""


@runtime_checkable
class Capturing(Protocol):
    """A backend that can capture what it launches."""

    @property
    def is_capturing(self) -> bool:
        """Whether what the caller launches is being captured."""

    def captured(self, function: Callable[[], Any]) -> tuple[Any, CapturedGraph]:
        """Call a function; its launches do not run, and become a graph.

        Raises
        ------
        CaptureError
            The function does what cannot be repeated.
        """

    def copy(self, source: Any, start: int, target: Any, nbytes: int) -> None:
        """Copy bytes of a block, from ``start`` on, to the beginning of another one."""
