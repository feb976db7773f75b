"""Which loops a group on the CPU does together, and what stands before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcarray.kernel import atomic_add, barrier, global_id, local_id, nodes, shared
from dcarray.kernel.language import exp
from dcarray.kernel.lower import lower
from dcarray.kernel.specialise import ArrayOf, over_grid, specialise
from dcarray.kernel.walk import statements
from dcarray.render.llvm_functions import has_instructions
from dcarray.render.llvm_grid import render_grid
from dcarray.render.llvm_items import apart, invariants_first, placed, within

ONE = ArrayOf(np.dtype(np.float32), 1)
TWO = ArrayOf(np.dtype(np.float32), 2)


def pull(p, q, out):
    i = global_id(0)
    total = 0.0
    for j in range(len(q)):
        apart = p[i] - q[j]
        total += apart * apart
    out[i] = total


def rows(a, b, out):
    i = global_id(0)
    total = 0.0
    for j in range(a.shape[1]):
        total += a[i, j]
    out[i] = total


def columns(a, b, out):
    i = global_id(0)
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j, i]
    out[i] = total


def differing(p, q, out):
    i = global_id(0)
    total = 0.0
    for j in range(i):
        total += q[j]
    out[i] = total


def calling(p, q, out):
    i = global_id(0)
    total = 0.0
    for j in range(len(q)):
        total += exp(q[j])
    out[i] = total


def counting(p, q, out):
    i = global_id(0)
    for _ in range(len(q)):
        atomic_add(out, 0, p[i])


def short(p, q, out):
    i = global_id(0)
    total = 0.0
    for j in range(3):
        total += q[j]
    out[i] = total


def ready(function: Any, *types: Any, group: Any = None) -> nodes.Kernel:
    given = specialise(function, types, group=group)
    if group is None:
        given = over_grid(given, 1)
    return within(invariants_first(placed(lower(given.kernel))))[0]


@pytest.mark.parametrize(
    ("function", "kind", "wanted"),
    [
        (pull, ONE, 1),
        (columns, TWO, 1),
        (rows, TWO, 0),  # each item reads neighbours
        (differing, ONE, 0),
        (calling, ONE, 0),
        (counting, ONE, 0),
        (short, ONE, 0),
    ],
)
def test_loops_that_are_taken_apart(function: Any, kind: Any, wanted: int) -> None:
    kernel = ready(function, kind, kind, ONE)
    assert len(apart(kernel, has_instructions)) == wanted


def test_what_stays_the_same_stands_before_the_loop() -> None:
    kernel = ready(pull, ONE, ONE, ONE)
    loop = next(x for x in statements(kernel.body) if isinstance(x, nodes.For))

    def loads(body: nodes.Body) -> set[str]:
        found = [
            x.value
            for x in statements(body)
            if isinstance(x, (nodes.Let, nodes.Assign))
        ]
        return {x.array for x in found if isinstance(x, nodes.Load)}

    assert loads(loop.body) == {"q"}
    before = kernel.body[: kernel.body.index(loop)]
    assert loads(before) == {"p"}
    guard = next(x for x in before if isinstance(x, nodes.If))
    assert loads(guard.body) == {"p"}  # it is read only if there are rounds


def meeting(p, q, out):
    tile = shared(p.dtype, 8)
    mine = local_id(0)
    tile[mine] = p[global_id(0)]
    barrier()
    total = 0.0
    for k in range(8):
        total += tile[k] * mine
    out[global_id(0)] = total


def test_a_known_group_stands_in_the_text() -> None:
    kernel = specialise(meeting, [ONE, ONE, ONE], group=(8, 1, 1)).kernel
    open_size, known = render_grid(kernel)[0], render_grid(kernel, (8, 1, 1))[0]
    assert "%size0 = load i64" in open_size
    assert "%size0 = add i64 0, 8" in known
    # Before the barrier, before the loop, in it, and after it.
    assert known.count("br label %axis0_") == 2 * 4
