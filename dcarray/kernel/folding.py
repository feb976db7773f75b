"""What depends on constants alone is computed when a kernel is written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import nodes
from .language import PRIMITIVES
from .walk import assigned, rebuild, rebuild_body

__all__ = ["fold", "fold_constants"]


def fold_constants(kernel: nodes.Kernel) -> nodes.Kernel:
    """Compute what depends on constants alone."""
    variables = assigned(kernel.body)
    known: dict[str, nodes.Constant] = {}

    def change(node: nodes.Scalar) -> nodes.Scalar:
        if type(node) is nodes.Name:
            return known.get(node.name, node)
        return fold(node)

    def done(node: nodes.Statement) -> None:
        if type(node) is not nodes.Let or node.name in variables:
            return
        if type(node.value) is nodes.Constant:
            known[node.name] = node.value

    body = rebuild_body(kernel.body, change, done)
    results = tuple([rebuild(item, change) for item in kernel.results])
    return replace(kernel, body=body, results=results)


def fold(node: nodes.Scalar) -> nodes.Scalar:
    """An operation over constants as a constant; anything else as it is."""
    if type(node) is nodes.Apply:
        for argument in node.arguments:
            if type(argument) is not nodes.Constant:
                return node
        return _computed(node)
    if type(node) is nodes.Select:
        if type(node.condition) is nodes.Constant:
            return node.when_true if node.condition.value else node.when_false
        return node.when_true if node.when_true == node.when_false else node
    if type(node) is nodes.Cast and type(node.argument) is nodes.Constant:
        value = np.asarray(node.argument.value, node.argument.dtype)
        with np.errstate(all="ignore"):
            return nodes.Constant(value.astype(node.dtype).item(), node.dtype)
    return node


def _computed(node: nodes.Apply) -> nodes.Constant:
    values = [np.asarray(x.value, x.dtype) for x in node.arguments]  # type: ignore[union-attr]
    with np.errstate(all="ignore"):
        found = np.asarray(PRIMITIVES[node.primitive].numpy(*values))
    return nodes.Constant(found.astype(node.dtype).item(), node.dtype)
