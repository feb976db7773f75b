"""What is called time and again to start a prepared launch.

The classes are those of backends that have nothing of their own, and what compiled
modules know of those that have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Backend, Start

__all__ = ["Allocator", "Starter"]


class Allocator:
    """Where memory for results comes from.

    Parameters
    ----------
    backend : Backend
    """

    __slots__ = ("backend",)

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def allocate(self, nbytes: int) -> Any:
        """A block of the backend's memory."""
        return self.backend.allocate(nbytes)


class Starter:
    """A launch that is prepared.

    Parameters
    ----------
    usual : callable
        What `Preparing.prepare` gives.
    """

    __slots__ = ("usual",)

    def __init__(self, usual: Start) -> None:
        self.usual = usual

    def __call__(self, memories: Sequence[Any], scalars: Sequence[Any]) -> None:
        """As a function that starts."""
        self.start(list(memories), scalars)

    def start(self, memories: list[Any], scalars: Sequence[Any]) -> None:
        """Launch, with the memories of the operands and with numbers."""
        self.usual(memories, scalars)
