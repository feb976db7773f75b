"""Rows that treat every plane (one channel of one image) for itself: blocks of planes,
on several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ....ops.spec import Op
from ..threads import available_threads, run_slices

__all__ = ["by_planes"]

HostArray: TypeAlias = np.ndarray[Any, Any]

BLOCK_BYTES = 1 << 18
"""Bytes of a block's operands: a quarter of a usual second-level cache."""


def by_planes(op: Op) -> Callable[..., Any]:
    """The function of a row, which calls its oracle for one block after the other."""

    def call(*operands: HostArray, channels_last: bool, **options: Any) -> Any:
        blocks = _cut(operands, channels_last)

        def found(number: int) -> tuple[HostArray, ...]:
            parts = [x[blocks[number]] for x in operands]
            results = op.numpy(*parts, channels_last=channels_last, **options)
            return results if isinstance(results, tuple) else (results,)

        if len(blocks) == 1:
            results = found(0)
            return results if op.outputs > 1 else results[0]
        first = found(0)
        whole = tuple([_empty(r, operands[0], channels_last) for r in first])

        def task(number: int) -> None:
            results = found(number + 1) if number >= 0 else first
            for target, result in zip(whole, results):
                target[blocks[number + 1]] = result

        task(-1)
        run_slices(task, len(blocks) - 1, available_threads())
        return whole if op.outputs > 1 else whole[0]

    return call


def _cut(operands: tuple[HostArray, ...], channels_last: bool) -> list[Any]:
    """Keys of blocks along the images, or along the channels of each of them."""
    batch = operands[0].shape[0]
    channels = operands[0].shape[-1 if channels_last else 1]
    nbytes = sum([x.nbytes for x in operands])
    if nbytes <= 2 * BLOCK_BYTES:
        return [...]
    images = max(1, batch * BLOCK_BYTES // nbytes)
    some = max(1, min(channels, batch * channels * BLOCK_BYTES // nbytes))
    if images > 1 or some == channels:
        return [slice(k, k + images) for k in range(0, batch, images)]
    if channels_last:
        some = min(channels, max(some, 16))  # a whole line of the cache
    edges = [slice(k, k + some) for k in range(0, channels, some)]
    return [
        (slice(k, k + 1), ..., edge) if channels_last else (slice(k, k + 1), edge)
        for k in range(batch)
        for edge in edges
    ]


def _empty(part: HostArray, operand: HostArray, channels_last: bool) -> HostArray:
    """Memory for all planes, given the result for some."""
    if channels_last:
        shape = (operand.shape[0], *part.shape[1:-1], operand.shape[-1])
    else:
        shape = (*operand.shape[:2], *part.shape[2:])
    return np.empty(shape, part.dtype)
