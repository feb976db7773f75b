"""What an operation is: one row of a table.

A row says what the operation means (its NumPy oracle and, for elementwise ones, a
scalar body in the kernel language), never how a device runs it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DTypeError

__all__ = ["LIBRARY", "Kind", "Op", "Signature"]

DType = np.dtype[Any]


class Kind(enum.Enum):
    """How an operation walks over its operands."""

    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    SCAN = "scan"
    CONTRACTION = "contraction"
    INDEXING = "indexing"
    STATISTIC = "statistic"
    SOLVER = "solver"
    TRANSFORM = "transform"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Signature:
    """The dtypes that a loop takes and gives for one choice of operands."""

    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Kept, because signatures are in the key of every plan.
        object.__setattr__(self, "_hash", hash((self.inputs, self.outputs)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation.  Rows are unique objects: compare them with ``is``.

    Parameters
    ----------
    name : str
        NumPy's name of the operation.
    kind : Kind
    numpy : callable
        The oracle.  For an elementwise row that is a ufunc, its result bits are the
        definition.
    inputs, outputs : int
        Number of operands and results.
    body : callable or None
        The scalar meaning, a function in the kernel language.  None for a primitive
        that every renderer spells itself.
    composed : bool
        The operation is *defined* by its body: the CPU runs the body's own
        operations, there is no ufunc to call.
    ulp : float
        The bound, in units in the last place, that a device other than the CPU keeps
        for real results; see `bound`.
    cancelling : int
        So many of the first operands may cancel each other within the operation: its
        error is measured against the largest of them where that exceeds the result.
    fast : callable or None
        The body of a row that stands for another one under ``config(math="fast")``,
        see `ops.fast`.
    resolver : callable or None
        dtypes of operands → `Signature`, for rows whose oracle is no ufunc.
    """

    name: str
    kind: Kind
    numpy: Callable[..., Any]
    inputs: int = 1
    outputs: int = 1
    body: Callable[..., Any] | None = None
    composed: bool = False
    ulp: float = 0.0
    cancelling: int = 0
    fast: Callable[..., Any] | None = None
    resolver: Callable[[tuple[Any, ...]], Signature] | None = None
    signatures: dict[tuple[Any, ...], Signature] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.kind is not Kind.ELEMENTWISE:
            LIBRARY[self.name] = self

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    def bound(self, dtype: DType) -> float:
        """The bound for results of a dtype, in units in the last place.

        Complex functions are products and quotients of real ones, in NumPy's libraries
        too; their bound is twice as wide.  A product has one of its own: it depends on
        the processor whether NumPy rounds its parts once or twice.
        """
        if dtype.kind != "c":
            return self.ulp
        return 2.0 if self.name in ("multiply", "square") else 2 * self.ulp

    def resolve(self, operands: tuple[Any, ...]) -> Signature:
        """Dtypes of the loop for these operands.

        Parameters
        ----------
        operands : tuple
            A dtype for each operand, or one of the types ``int``, ``float`` and
            ``complex`` for a Python scalar, which promotes weakly.

        Raises
        ------
        DTypeError
            No loop takes these dtypes.
        """
        # C's integers of one size are equal as dtypes, and are not the same.
        key = (operands, *[x.num for x in operands if type(x) is not type])
        signature = self.signatures.get(key)
        if signature is None:
            signature = self.signatures[key] = self._resolve(operands)
        return signature

    def _resolve(self, operands: tuple[Any, ...]) -> Signature:
        if len(operands) != self.inputs:
            taken = f"takes {self.inputs} arguments, got {len(operands)}"
            raise DTypeError(f"{self.name}: {taken}")
        if self.resolver is not None:
            return self.resolver(operands)
        ufunc = self.numpy
        assert isinstance(ufunc, np.ufunc)
        try:
            found = ufunc.resolve_dtypes(operands + (None,) * self.outputs)
        except TypeError as error:
            raise DTypeError(f"{self.name}: {error}") from None
        return Signature(found[: self.inputs], found[self.inputs :])


LIBRARY: dict[str, Op] = {}
"""Every row that does not fuse, by name; rows enter themselves."""
