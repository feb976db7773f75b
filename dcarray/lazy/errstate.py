"""NumPy's floating-point error handling, read when an operation is recorded."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.base import Raised
from ..ops.spec import Op

__all__ = ["IMMEDIATE", "capture", "warn"]

IMMEDIATE = -1
"""The answer of `capture` when an operation must run at its call."""

# NumPy's flag bits, names of `numpy.errstate`, and the words of its warnings, in the
# order in which NumPy reports them.
FLAGS = (
    (1, "divide", "divide by zero"),
    (2, "over", "overflow"),
    (4, "under", "underflow"),
    (8, "invalid", "invalid value"),
)

# The context variable behind `numpy.errstate`: its value is a new object at each change,
# so that its identity tells whether what we know still holds.
_variable: Any = getattr(np._core.umath, "_extobj_contextvar", None)
_last_state: object = None
_last_mask = 0

_last_filters: tuple[object, int, object] = (None, 0, None)
_last_escalates = False


def capture() -> int:
    """The flags to warn about now, as a mask; `IMMEDIATE` under ``raise``, ``call``,
    ``print`` and ``log``, and where a filter turns warnings into errors."""
    global _last_state, _last_mask
    if _escalates():
        return IMMEDIATE
    state = _variable.get() if _variable is not None else None
    if state is not None and state is _last_state:
        return _last_mask
    mask = 0
    modes = np.geterr()
    for bit, name, _ in FLAGS:
        if modes[name] == "warn":  # type: ignore[literal-required]
            mask |= bit
        elif modes[name] != "ignore":  # type: ignore[literal-required]
            mask = IMMEDIATE
            break
    _last_mask = mask
    _last_state = state
    return mask


def _escalates() -> bool:
    """Whether a filter turns a RuntimeWarning into an error."""
    global _last_filters, _last_escalates
    filters = warnings.filters
    first = filters[0] if filters else None
    known, length, head = _last_filters
    if known is filters and length == len(filters) and head is first:
        return _last_escalates
    _last_escalates = any(
        entry[0] == "error" and issubclass(RuntimeWarning, entry[2])
        for entry in filters
    )
    _last_filters = (filters, len(filters), first)
    return _last_escalates


def warn(raised: Sequence[Raised], where: Sequence[tuple[Op, int, Any]]) -> None:
    """Issue NumPy's warnings.

    Parameters
    ----------
    raised : sequence of Raised
    where : sequence of (Op, int, frame)
        For each node: its op, the mask that was captured, and the user's line.
    """
    for event in sorted(raised, key=lambda event: event.node):
        op, mask, frame = where[event.node]
        filename, line, space = frame
        for bit, _, words in FLAGS:
            if event.flags & mask & bit:
                warnings.warn_explicit(
                    f"{words} encountered in {name_in_warnings(op)}",
                    RuntimeWarning,
                    filename,
                    line,
                    module=space.get("__name__"),
                    registry=space.setdefault("__warningregistry__", {}),
                )


def name_in_warnings(op: Op) -> str:
    """What NumPy calls the operation in its messages."""
    return getattr(op.numpy, "__name__", op.name) if op.name != "cast" else "cast"
