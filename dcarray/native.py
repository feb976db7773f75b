"""What the compiled core asks the interpreter for without a call of Python.

Modules that are compiled use the functions of ``native.pxd`` instead, which are C and
do the same: this module itself is never compiled.
"""

from __future__ import annotations

import sys
import threading
import weakref
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, TypeVar

__all__ = [
    "address",
    "count",
    "drive",
    "frame",
    "identity",
    "is_aligned",
    "item",
    "launch",
    "lie",
    "mixed",
    "new",
    "place",
    "reference",
    "referent",
    "replaced",
    "setting",
    "thread",
]

T = TypeVar("T")


def frame() -> FrameType:
    """The innermost frame of Python: no compiled function has one."""
    return sys._getframe(1)


def place(frame: FrameType) -> tuple[CodeType, int, dict[str, Any]]:
    """Code, instruction and globals."""
    return frame.f_code, frame.f_lasti, frame.f_globals


def new(base: Any, cls: type[T]) -> T:
    """An object of a class, made as its base makes those of its own."""
    made: T = base.__new__(cls)
    return made


def count(totals: dict[str, int], kind: str) -> None:
    """Add one to a total."""
    totals[kind] = totals.get(kind, 0) + 1


def drive(
    entry: int,
    frame: bytes,
    place: int,
    addresses: list[int],
    tail: bytes,
    watch: int,
    stop: int,
    scratch: int,
) -> int:
    """Run blocks of a launch, see `render.llvm_driver`.

    Parameters
    ----------
    entry : int
        The address of ``dcarray_drive``.
    frame : bytes
        The frame as it is before each launch, with offsets for addresses.
    place : int
        The word where addresses begin.
    addresses : list of int
    tail : bytes
        What follows the addresses: numbers, as they lie.
    watch : int
        The flags to look for.
    stop : int
        How many blocks there are.
    scratch : int
        The address of scratch memory.

    Returns
    -------
    int
        The block that was reached; -3 if ``dcarray_single`` saw flags, and -1 if it
        cannot be called so.
    """
    return -1


def identity(x: Any) -> int:
    """Python's ``id``."""
    return id(x)


def reference(x: Any) -> weakref.ref[Any]:
    """A weak reference without a callback."""
    return weakref.ref(x)


def referent(reference: weakref.ref[Any]) -> Any:
    """What a weak reference refers to; None if that is gone."""
    return reference()


def thread() -> int:
    """The number of the running thread."""
    return threading.get_ident()


def replaced(references: list[Any], reference: Any) -> bool:
    """Put a weak reference in the place of a list's last one, if what that referred to
    is gone; whether it was.  Never here, where another thread may run between the two.
    """
    return False


def setting(variable: ContextVar[Any], default: Any) -> Any:
    """The value of a context variable."""
    return variable.get(default)


def mixed(a: Any, b: Any, c: Any) -> int:
    """A number for three objects, by their identities; others may have it, too."""
    return (id(a) >> 4) + (id(b) >> 3) + (id(c) >> 5)


def address(array: Any) -> int:
    """The address of the first element of an array of NumPy's."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def is_aligned(array: Any) -> bool:
    """Whether its elements begin where their dtype asks for."""
    return array.flags.aligned  # type: ignore[no-any-return]


def lie(array: Any, start: int) -> Any:
    """A key for how an array of NumPy's lies in memory that begins at ``start``: for
    its place, its shape, its strides and whether it is aligned."""
    place = address(array) - start
    return place, is_aligned(array), array.shape, array.strides


def item(x: tuple[Any, ...], place: int) -> Any:
    """An element of a tuple, of a subclass too; ``place`` is one that there is."""
    return x[place]


def launch(
    entry: int,
    function: int,
    sizes: bytes,
    stream: int,
    codes: bytes,
    arguments: list[Any],
    tail: bytes,
) -> int:
    """Call the driver's ``cuLaunchKernel``.

    Parameters
    ----------
    entry : int
        The address of that function.
    function, stream : int
        What it takes.
    sizes : bytes
        Blocks and their threads along three axes, as six unsigned integers of C.
    codes : bytes
        For each argument its letter in `struct`, and that of the first one in ``tail``.
    arguments : list
        Numbers.
    tail : bytes
        Further arguments, as they lie.

    Returns
    -------
    int
        The driver's result; -1 if it cannot be called so.
    """
    return -1
