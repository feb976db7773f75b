"""Functions that LLVM computes in NumPy's stead, for every float32 there is.

``python -m tests.stress.elementary`` takes a minute for each function.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dcarray.backends.cpu import CpuBackend
from dcarray.backends.cpu.same_loops import can_inline
from dcarray.ops.program import Inner, Node, Program
from dcarray.ops.spec import Kind, Op
from dcarray.render.llvm_elementary import ELEMENTARY

PIECE = 1 << 22

FLOAT = np.dtype("f")


def differences(name: str, starts: range, piece: int = PIECE) -> Iterator[Any]:
    """Inputs for which the function is not NumPy's, piece by piece."""
    op = Op(name, Kind.ELEMENTWISE, getattr(np, name), 1)
    # Twice over, because one operation alone is not compiled.
    node = Node(op, (0,), (FLOAT,), (Inner.CONTIGUOUS,))
    backend = CpuBackend()
    executable = backend.compile(Program((FLOAT,), (), (node, node), (1, 2)))
    found = [np.empty(piece, FLOAT) for _ in range(2)]
    for start in starts:
        x = np.arange(start, start + piece, dtype=np.uint32).view(FLOAT)
        with np.errstate(all="ignore"):
            wanted = op.numpy(x)
        backend.launch(executable, x.shape, [x], [], found)
        assert any(bound is not None for bound in executable._bound.values())
        same = found[0].view(np.uint32) == wanted.view(np.uint32)
        yield x[~same & ~(np.isnan(wanted) & np.isnan(found[0]))]


def main() -> int:
    """Print what differs; 1 if anything does."""
    wrong = 0
    for name, dtype in ELEMENTARY:
        if not can_inline(name, (dtype,)):
            print(f"{name}: NumPy runs another loop on this processor")
            continue
        pieces = list(differences(name, range(0, 1 << 32, PIECE)))
        count = sum(piece.size for piece in pieces)
        print(f"{name}: {count} of {1 << 32} inputs differ")
        wrong += count
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
