"""Launches of the texts that turn stacks of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .kernels.turning import THREADS, Turn, turn_text, two_turns_text
from .raw import Raw, signature

__all__ = ["Turn", "turner"]

_TURN = signature("turn", "rwqqqqq")
_BOTH = signature("turn_both", "rrwqqqqqqqqqqq")


def turner(raw: Raw, turns: Sequence[tuple[Turn, int, int]]) -> Any:
    """What turns one stack, or two at once, given their memory and then that of what
    is made of them.

    Parameters
    ----------
    raw : Raw
    turns : sequence
        Of each the turn, and the bytes at which the stack and the result begin.
    """
    numbers: list[int] = []
    for turn, start, begin in turns:
        size = turn.size
        numbers += [start // size, begin // size, turn.rows, turn.columns, turn.pitch]
    kinds = [turn for turn, _, _ in turns]
    groups = [turn.groups for turn in kinds]
    if len(turns) == 1:
        return raw.start(turn_text(*kinds), _TURN, groups, THREADS, *numbers)
    text = two_turns_text(*kinds)
    return raw.start(text, _BOTH, [sum(groups)], THREADS, *numbers, groups[0])
