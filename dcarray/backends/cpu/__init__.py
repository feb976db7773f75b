"""The CPU: NumPy's own loops and compiled segments, block by block, on all cores.

Read `geometry` (how a group walks over memory), `interpreter` (the block interpreter,
which defines every result), `loops` (NumPy's inner loops), `sketch` and `plan` (what is
compiled), `engine` and `launch` (how it runs), `team` and `threads`, `execute` and
`alone` (which way a program goes), `reductions` and `fold`, and last `backend`.
"""

from .backend import CpuBackend

__all__ = ["CpuBackend"]
