"""What is called time and again to start a prepared launch.

The classes are those of backends that have nothing of their own, and what compiled
modules know of those that have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Backend, Start

__all__ = ["Allocator", "InParts", "Starter", "allocator_of", "starter_of"]


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


def starter_of(start: Start) -> Starter:
    """What starts, as a `Starter`."""
    return start if isinstance(start, Starter) else Starter(start)


def allocator_of(backend: Backend) -> Allocator:
    """A backend's own `Allocator`, if it has one."""
    found: Allocator | None = getattr(backend, "allocator", None)
    return Allocator(backend) if found is None else found


class InParts(Starter):
    """Two launches: one into memory in between, and one from there into the last of the
    operands.

    Parameters
    ----------
    backend : Backend
    nbytes : int
        Of the memory in between.
    first, last : callable
        What starts them.
    """

    __slots__ = ("allocator", "first", "last", "nbytes")

    def __init__(
        self, backend: Backend, nbytes: int, first: Start, last: Start
    ) -> None:
        super().__init__(first)
        self.allocator = allocator_of(backend)
        self.nbytes = nbytes
        self.first = starter_of(first)
        self.last = starter_of(last)

    def start(self, memories: list[Any], scalars: Sequence[Any]) -> None:
        """See `Starter`."""
        between = self.allocator.allocate(self.nbytes)
        target = memories[-1]
        given = memories[:-1]
        given.append(between)
        self.first.start(given, scalars)
        self.last.start([between, target], ())
