"""A fused group, written down: a straight line of operations over leaves and scalars.

A `Program` is what `lazy.fuse` makes and what a backend compiles.  It is also the key
under which the compiled form is found again, so it holds no shapes, no addresses and no
scalar values.  The values are numbered, in *slots*: first the leaves, then the scalars,
then the outputs of every node in order.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .spec import Op

__all__ = ["Inner", "Node", "Program", "Reduction"]

DType = np.dtype[Any]


class Inner(enum.Enum):
    """The stride at which NumPy's own loop would step through an operand.

    Some loops give other bits for strided than for contiguous data, and for a scalar
    operand (an exponent, say) than for an array of equal values.
    """

    CONTIGUOUS = "contiguous"
    SCALAR = "scalar"
    STRIDED = "strided"


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a program.

    ``inputs`` are slots that already have the loop's dtypes (conversions are nodes of
    their own, with the op ``cast``).  ``inner`` says for each input what NumPy's loop
    would see.
    """

    op: Op
    inputs: tuple[int, ...]
    dtypes: tuple[DType, ...]
    inner: tuple[Inner, ...]

    @property
    def label(self) -> str:
        """The operation's name, with a star where a body of `ops.fast` is meant."""
        fast = self.op.fast is not None and self.dtypes[0].char in "fd"
        return f"{self.op.name}*" if fast else self.op.name


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction that ends a program: ``op`` over the values of ``slot``.

    Which axes are reduced is known from the shape of the result at launch.  The
    accumulator has dtype ``dtype``, equal to the dtype of the slot.
    """

    op: Op
    slot: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Program:
    """A group of elementwise operations, and at most one reduction at its end.

    Parameters
    ----------
    leaves : tuple of dtype
        Arrays read from memory.
    scalars : tuple of dtype
        Numbers bound at launch.
    nodes : tuple of Node
        In an order in which every input comes before its use.
    outputs : tuple of int
        Slots that are stored as arrays of the full shape.
    reduction : Reduction or None
    """

    leaves: tuple[DType, ...]
    scalars: tuple[DType, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    reduction: Reduction | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = (self.leaves, self.scalars, self.nodes, self.outputs, self.reduction)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash

    def slot_dtypes(self) -> list[DType]:
        """The dtype of every slot, in order."""
        found = [*self.leaves, *self.scalars]
        for node in self.nodes:
            found.extend(node.dtypes)
        return found

    def describe(self) -> str:
        """One line for reports, ``multiply add exp sum`` for example."""
        names = [node.label for node in self.nodes]
        if self.reduction is not None:
            names.append(self.reduction.op.name)
        return " ".join(names)
