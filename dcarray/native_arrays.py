"""What small arrays of the host ask NumPy for, without its preparations.

Modules that are compiled use the functions of ``native_arrays.pxd`` instead: they call
the inner loop that NumPy would choose, or make the view that it would make, where that
is plain to see, and else do what stands here.  This module itself is never compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "applied",
    "applied_alone",
    "are_same",
    "changed",
    "dotted",
    "item_at",
    "product",
    "put",
    "size_of",
]


def applied(ufunc: np.ufunc, function: Callable[..., Any], a: Any, b: Any) -> Any:
    """What a function makes of two operands; ``ufunc`` is NumPy's name for it."""
    return function(a, b)


def applied_alone(ufunc: np.ufunc, function: Callable[..., Any], a: Any) -> Any:
    """The same of one operand."""
    return function(a)


def changed(ufunc: np.ufunc, function: Callable[..., Any], a: Any, b: Any) -> None:
    """The same in place: ``function`` writes to ``a``."""
    function(a, b)


def product(ufunc: np.ufunc, function: Callable[..., Any], a: Any, b: Any) -> Any:
    """A product of matrices or vectors, as ``@`` has it."""
    return function(a, b)


def dotted(a: Any, b: Any) -> Any:
    """What `numpy.dot` makes of two vectors of floating-point numbers; None where it is
    better asked."""
    return None


def item_at(array: Any, key: Any) -> Any:
    """``array[key]``."""
    return array[key]


def are_same(a: Any, b: Any) -> bool:
    """Whether NumPy arrays show the same elements of the same memory."""
    return (
        type(a) is type(b)
        and a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
        and bool(a.ctypes.data == b.ctypes.data)
    )


def put(array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    array[key] = value


def size_of(array: np.ndarray[Any, Any]) -> int:
    """Number of elements."""
    return array.size
