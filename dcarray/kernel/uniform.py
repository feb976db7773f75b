"""Barriers that not all work items of a group reach.

A scalar is *uniform* if it is the same for all items of a group: a number that is
given, the number of the group, what is computed from such, and what is loaded from a
place that is.  A barrier under another condition is a mistake, and no device reports
it: some wait for ever, some go on with what is not there yet.
"""

from __future__ import annotations

from . import nodes
from .walk import expressions, parts, statements

__all__ = ["Survey", "stray_barrier", "surveyed"]


def stray_barrier(kernel: nodes.Kernel) -> nodes.Barrier | None:
    """The first barrier that some items of a group may reach and others not."""
    if not any(isinstance(item, nodes.Barrier) for item in statements(kernel.body)):
        return None
    return surveyed(kernel).stray


def surveyed(kernel: nodes.Kernel) -> Survey:
    """What differs between the items of a group."""
    found = Survey()
    count = -1
    while count != len(found.varying):
        count = len(found.varying)
        found.body(kernel.body, True)
    return found


class Survey:
    """Names that differ between the items of a group; they only become more."""

    def __init__(self) -> None:
        self.varying: set[str] = set()
        self.stray: nodes.Barrier | None = None

    def body(self, body: nodes.Body, together: bool) -> None:
        """Look at statements that all items run, or only some."""
        for node in body:
            same = together and all(map(self.uniform, expressions(node)))
            if isinstance(node, (nodes.Let, nodes.Assign)):
                if not same:
                    self.varying.add(node.name)
            elif isinstance(node, nodes.Atomic):
                self.varying.add(node.result)
            elif isinstance(node, nodes.For):
                if not same:
                    self.varying.add(node.name)
                self.body(node.body, same)
            elif isinstance(node, nodes.While):
                self.body(node.body, same)
            elif isinstance(node, nodes.If):
                self.body(node.body, same)
                self.body(node.otherwise, same)
            elif isinstance(node, nodes.Barrier) and not together:
                self.stray = self.stray or node

    def uniform(self, node: nodes.Scalar) -> bool:
        """Whether an expression is the same for all items of a group."""
        for part in parts(node):
            if isinstance(part, nodes.Index) and part.kind in ("global_id", "local_id"):
                return False
            if isinstance(part, nodes.Name) and part.name in self.varying:
                return False
        return True
