"""The CPU: NumPy's own loops and compiled segments, block by block, on all cores.

Read `geometry` (how a group walks over memory), `interpreter` (the block interpreter,
which defines every result), `loops` (NumPy's inner loops), `plan` (what is compiled),
`engine` (how it runs), `reductions`, `threads` and last `backend`.
"""

from .backend import CpuBackend

__all__ = ["CpuBackend"]
