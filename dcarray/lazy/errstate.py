"""NumPy's floating-point error handling, read when an operation is recorded."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import native
from ..backends.base import Raised
from ..ops.spec import Kind, Op

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

# The context variable behind `numpy.errstate`: its value is a new object at each
# change, so that its identity tells whether what we know still holds.
_core: Any = getattr(np, "_core", None)
_variable: Any = getattr(getattr(_core, "umath", None), "_extobj_contextvar", None)
_last_state: object = object()  # none that there is
_last_mask = 0

# The same for `warnings.filters`: the list, its length and its first entry.
_space: dict[str, Any] = warnings.__dict__
_last_filters: Any = None
_last_length = -1
_last_head: object = None
_escalates = False


def capture() -> int:
    """The flags to warn about now, as a mask; `IMMEDIATE` under ``raise``, ``call``,
    ``print`` and ``log``, and where a filter turns warnings into errors."""
    filters: list[Any] = _space["filters"]
    if (
        filters is not _last_filters
        or len(filters) != _last_length
        or (_last_length and filters[0] is not _last_head)
    ):
        _read_filters()
    if _escalates:
        return IMMEDIATE
    if _variable is None:
        return _mask()
    state = native.setting(_variable, None)
    if state is not _last_state:
        _read_state(state)
    return _last_mask


def _read_state(state: object) -> None:
    global _last_state, _last_mask
    _last_mask = _mask()
    _last_state = state


def _mask() -> int:
    mask = 0
    modes = np.geterr()
    for bit, name, _ in FLAGS:
        if modes[name] == "warn":  # type: ignore[literal-required]
            mask |= bit
        elif modes[name] != "ignore":  # type: ignore[literal-required]
            return IMMEDIATE
    return mask


def _read_filters() -> None:
    """Whether a filter turns a RuntimeWarning into an error."""
    global _last_filters, _last_length, _last_head, _escalates
    filters = warnings.filters
    _last_filters = filters
    _last_length = len(filters)
    _last_head = filters[0] if filters else None
    _escalates = any(
        entry[0] == "error" and issubclass(RuntimeWarning, entry[2])
        for entry in filters
    )


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
                    module=space.get("__name__") or "<string>",
                    registry=space.setdefault("__warningregistry__", {}),
                )


def name_in_warnings(op: Op) -> str:
    """What NumPy calls the operation in its messages."""
    if op.kind is Kind.REDUCTION:
        return "reduce"
    return getattr(op.numpy, "__name__", op.name) if op.name != "cast" else "cast"
