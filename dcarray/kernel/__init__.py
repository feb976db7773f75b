"""What a kernel is: the frozen IR and everything that works on it without a device.

`nodes` defines the IR and `walk` goes over it.  `language` has the words that kernel
source may use; `parse` turns Python source into IR for given dtypes, reading
`expressions`, `branches` and statements in turn, with `infer` for the dtypes.  `verify`
states the rules, `rewrite` holds the passes, and `interpret` runs a kernel with NumPy
alone.  Nothing here knows an operation of the library, a renderer or a device.
"""

from __future__ import annotations

from typing import Any

from .grid import (
    atomic_add,
    atomic_and,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
    barrier,
    global_id,
    global_size,
    group_count,
    group_id,
    local_id,
    local_size,
    shared,
)

_SUBGROUPS = """
    lane_id subgroup_add subgroup_all subgroup_any subgroup_ballot subgroup_id
    subgroup_max subgroup_min subgroup_shuffle subgroup_shuffle_down subgroup_shuffle_up
    subgroup_shuffle_xor
""".split()
"""Words that load when somebody asks for them."""

__all__ = [
    *_SUBGROUPS,
    "atomic_add",
    "atomic_and",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier",
    "global_id",
    "global_size",
    "group_count",
    "group_id",
    "local_id",
    "local_size",
    "shared",
]


def __getattr__(name: str) -> Any:
    if name in _SUBGROUPS:
        from . import subgroups

        return getattr(subgroups, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
