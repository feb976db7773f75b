"""The reduction at the end of a block, as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

from .llvm_scalar import llvm_type
from .plan import Fold, Start

__all__ = ["write_fold"]

Put = Callable[..., None]
"""Takes lines."""

Loop = Callable[[int, list[tuple[str, str]], str], None]
"""Writes the call of a loop: its number, address and stride of each operand, length."""


def write_fold(
    step: Fold, source: str, result: str, total: str, put: Put, loop: Loop
) -> None:
    """Reduce a block, run by run.

    Parameters
    ----------
    step : Fold
    source, result : str
        Addresses of the block and of what the first run becomes.
    total : str
        Elements of the block.
    put, loop : callable
        See there.
    """
    size = step.dtype.itemsize
    put(
        "%run.whole = icmp eq i64 %run.given, 0",
        f"%run = select i1 %run.whole, i64 {total}, i64 %run.given",
        "br label %fold.enter",
        "fold.enter:",
        "br label %fold",
        "fold:",
        "%done = phi i64 [ 0, %fold.enter ], [ %done.next, %fold.end ]",
        f"%result = phi ptr [ {result}, %fold.enter ], [ %result.next, %fold.end ]",
        f"%read = mul i64 %done, {size}",
        f"%from = getelementptr i8, ptr {source}, i64 %read",
    )
    each = str(size)
    if step.start is None:
        rows = [("%result", each), ("%from", each), ("%result", each)]
        loop(step.entry, rows, "%run")
    elif step.start is Start.PAIRWISE:
        kind = llvm_type(step.dtype)
        put(
            f"%pairs = call {kind} @pairwise(ptr %from, i64 %run)",
            f"store {kind} %pairs, ptr %result, align {size}",
        )
    elif step.start is Start.MINUS_ZERO:
        # The one number that changes no sum: -0 + x is x, also for x = -0.
        part = "float" if size == 4 or step.dtype.char == "F" else "double"
        put(f"store {part} -0.0, ptr %result")
        if step.dtype.kind == "c":
            put(
                f"%imaginary = getelementptr {part}, ptr %result, i64 1",
                f"store {part} -0.0, ptr %imaginary",
            )
        rows = [("%result", "0"), ("%from", each), ("%result", "0")]
        loop(step.entry, rows, "%run")
    else:
        kind = f"i{8 * size}, ptr"
        align = f"align {step.dtype.alignment}"
        put(
            f"%first = load {kind} %from, {align}",
            f"store i{8 * size} %first, ptr %result, {align}",
            f"%others = getelementptr i8, ptr %from, i64 {size}",
            "%fewer = sub i64 %run, 1",
            "%several = icmp sgt i64 %fewer, 0",
            "br i1 %several, label %fold.rest, label %fold.end",
            "fold.rest:",
        )
        rows = [("%result", "0"), ("%others", each), ("%result", "0")]
        loop(step.entry, rows, "%fewer")
    put(
        "br label %fold.end",
        "fold.end:",
        "%done.next = add i64 %done, %run",
        "%result.next = getelementptr i8, ptr %result, i64 %advance",
        f"%fold.more = icmp slt i64 %done.next, {total}",
        "br i1 %fold.more, label %fold, label %fold.out",
        "fold.out:",
    )
