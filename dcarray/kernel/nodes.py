"""The kernel IR: frozen, typed, and small enough to read in one sitting.

A :class:`Kernel` is a list of parameters and a body of statements.  Every scalar
expression carries its dtype.  Nothing here computes or checks anything: see
`verify` for the rules and `interpret` for the meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, dataclass_transform, final

import numpy as np

__all__ = [
    "INDEX_KINDS",
    "Apply",
    "Array",
    "Assign",
    "Atomic",
    "Barrier",
    "Body",
    "Cast",
    "Constant",
    "For",
    "If",
    "Index",
    "Kernel",
    "Let",
    "Load",
    "Name",
    "Scalar",
    "Select",
    "Shared",
    "Statement",
    "Store",
    "Value",
    "While",
]

DType: TypeAlias = np.dtype[Any]
T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def _node(cls: type[T]) -> type[T]:
    """A frozen dataclass to type checkers, who see every assignment.

    Passes make a hundred thousand of these for a thousand kernels, and one that also
    refused assignments at run time would take six times as long to make.
    """
    own = "__hash__" in vars(cls)
    return dataclass(slots=True, unsafe_hash=not own)(cls)


# ----------------------------------------------------------- scalar expressions
@final
@_node
class Constant:
    """A literal; ``value`` is a Python bool, int, float or complex.

    Two constants are equal when they are the same number: 0.0 differs from -0.0, and
    NaN is equal to itself.
    """

    value: bool | int | float | complex
    dtype: DType

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return self.dtype == other.dtype and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.dtype, repr(self.value)))


@final
@_node
class Name:
    """The value of a scalar parameter or of a local variable."""

    name: str
    dtype: DType

    def __hash__(self) -> int:
        return hash(self.name)


@final
@_node
class Apply:
    """A primitive applied to scalars, ``Apply("add", (x, y), float32)``."""

    primitive: str
    arguments: tuple[Scalar, ...]
    dtype: DType


@final
@_node
class Cast:
    """A conversion with NumPy's ``astype`` meaning."""

    argument: Scalar
    dtype: DType


@final
@_node
class Select:
    """``when_true if condition else when_false``; both sides may be evaluated."""

    condition: Scalar
    when_true: Scalar
    when_false: Scalar
    dtype: DType


@final
@_node
class Load:
    """One element of an array; ``index`` counts elements from its start."""

    array: str
    index: Scalar
    dtype: DType


@final
@_node
class Index:
    """Where a work item is: ``kind`` is one of `INDEX_KINDS`, ``axis`` 0 to 2."""

    kind: str
    axis: int
    dtype: DType


INDEX_KINDS = (
    "global_id",
    "local_id",
    "group_id",
    "global_size",
    "local_size",
    "group_count",
)

Scalar: TypeAlias = Constant | Name | Apply | Cast | Select | Load | Index


# -------------------------------------------------------------------- statements
@final
@_node
class Let:
    """Defines a local variable."""

    name: str
    value: Scalar


@final
@_node
class Assign:
    """Gives a variable that a `Let` defined another value."""

    name: str
    value: Scalar


@final
@_node
class Store:
    """Writes one element of an array."""

    array: str
    index: Scalar
    value: Scalar


@final
@_node
class For:
    """``for name in range(start, stop, step)``."""

    name: str
    start: Scalar
    stop: Scalar
    step: Scalar
    body: Body


@final
@_node
class While:
    """``while condition``."""

    condition: Scalar
    body: Body


@final
@_node
class If:
    """``if condition`` with an ``else`` that may be empty."""

    condition: Scalar
    body: Body
    otherwise: Body = ()


@final
@_node
class Barrier:
    """All work items of a group meet here."""


@final
@_node
class Shared:
    """An array that the work items of one group share."""

    name: str
    dtype: DType
    size: int


@final
@_node
class Atomic:
    """``array[index] = operation(array[index], value)`` in one step.

    ``result`` names a variable that gets the old element, unless it is empty.
    ``compare_exchange`` stores only where the old element is ``expected``.
    """

    operation: str
    array: str
    index: Scalar
    value: Scalar
    result: str = ""
    expected: Scalar | None = None


Statement: TypeAlias = (
    Let | Assign | Store | For | While | If | Barrier | Shared | Atomic
)
Body: TypeAlias = tuple[Statement, ...]


# ------------------------------------------------------------------------ kernel
@dataclass(frozen=True, slots=True)
class Value:
    """A scalar parameter."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Array:
    """An array parameter; ``writable`` ones may be stored to.

    ``apart`` promises that no work item reads from it what another one stores, through
    this parameter or any other; ``run`` that it starts where as many elements, a power
    of 2, can be read at once.
    """

    name: str
    dtype: DType
    writable: bool = False
    apart: bool = False
    run: int = 1


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function over arrays and scalars.

    ``results`` is used by scalar functions (op bodies): the expressions that they
    return, one for each output.  Array kernels return nothing and store instead.
    ``memo`` holds what passes found out about it, and is no part of it.
    """

    name: str
    parameters: tuple[Value | Array, ...]
    body: Body
    results: tuple[Scalar, ...] = ()
    memo: dict[str, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Computed once: kernels are keys, and may be long."""
        found = self._hash
        if not found:
            found = hash((self.name, self.parameters, self.body, self.results)) or 1
            object.__setattr__(self, "_hash", found)
        return found
