"""Small parts of memory that a kernel reads and writes over: it reads copies of them.

``path[:] = minimum(path, path[:, k, None] + path[k])`` then runs in the memory of
``path``, and the same kernel serves each ``k``.
"""

from __future__ import annotations

import numpy as np

from ..backends.buffer import Buffer
from ..backends.registry import backend_for
from ..layout import view_host
from . import route
from .graph import Expr, Read, State, Value, View, lock, stored
from .host_views import host_layout
from .record import form_of

__all__ = ["set_apart"]

SMALLER = 8
"""How many times larger than such a part what is written has to be."""

MOST = 64
"""Operations that are looked at."""

Part = tuple[Value, View]


def set_apart(target: Read, source: Value) -> None:
    """Have a pending value read copies of small parts of the memory that it goes into.

    Nothing happens on other devices than the CPU, nor where a copy would make NumPy's
    loop another one.
    """
    if source.expr is None or route.candidates(target.value.device) != ["cpu"]:
        return
    with lock:
        found = _parts(target, source)
    copies = {part: _copy(*part) for part in {part for _, _, part in found}}
    with lock:
        for expr, place, part in found:
            _substitute(expr, place, part, copies[part])


def _parts(target: Read, source: Value) -> list[tuple[Expr, int, Part]]:
    """The operands that are small parts, each by its operation and place there."""
    memory = target.value.buffer
    most = target.layout.size // SMALLER
    found: list[tuple[Expr, int, Part]] = []
    exprs = [source.expr]
    for expr in exprs:
        if expr is None or len(exprs) > MOST:
            return []
        form = expr.form
        for place in form.arrays:
            read = expr.sources[place]
            view = form.inputs[place]
            assert view is not None
            if read.expr is not None:
                if read.expr not in exprs:
                    exprs.append(read.expr)
            elif read.buffer is memory and view[0].size <= most:
                found.append((expr, place, (read, view)))
    return found


def _copy(value: Value, view: View) -> Value:
    """What is seen of a stored value, in memory of its own."""
    memory = value.buffer
    assert memory is not None
    array = np.array(view_host(memory.read_on(backend_for("cpu")), *view))
    buffer = Buffer.of_host(array)
    return stored(buffer, host_layout(array, buffer), view[1], value.device)


def _substitute(expr: Expr, place: int, part: Part, copy: Value) -> None:
    """Have an operation read a copy, if that changes nothing else."""
    form = expr.form
    if expr.sources[place] is not part[0] or form.inputs[place] is not part[1]:
        return
    result = expr.results[0]()
    if result is None or result.state != State.PENDING:
        return
    sources = list(expr.sources)
    kinds = [
        source.dtype if view is None else view
        for source, view in zip(sources, form.inputs, strict=True)
    ]
    sources[place], kinds[place] = copy, copy.view
    other = form_of(form.op, kinds, form.signature)
    if (
        other.outputs == form.outputs
        and other.inner == form.inner
        and other.inner_axis == form.inner_axis
    ):
        expr.form, expr.sources = other, tuple(sources)
