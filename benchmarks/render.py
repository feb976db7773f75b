"""How long it takes to write a thousand kernels: ``python benchmarks/render.py``.

The kernels are what programs use: fused maps of 2 to 12 operations over all dtypes, in
the share in which they occur (``float32`` and ``float64`` most, complex numbers and
halves a few), reductions of such, and library kernels.  Each dialect has a process of
its own, in which nothing has been rendered yet; imports are not counted.  Measured are

- from the IR of a thousand kernels to text (bar: 1 s), and what of it is for those of
  complex numbers among them, whose text is six times as long: each operation becomes
  some on their parts;
- from programs to the IR, the parsing of all bodies included.

Times are those of the processor, in one thread.

Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from report import Row, milliseconds, parser, report
from timing import in_child

from dcarray.kernel.nodes import Kernel
from dcarray.kernel.walk import census
from dcarray.ops import composed, elementwise
from dcarray.ops.kernels.gathering import gather_kernel, scatter_kernel
from dcarray.ops.kernels.mapping import map_kernel
from dcarray.ops.kernels.products import product_kernel
from dcarray.ops.kernels.reducing import Tile, reduce_by_group, reduce_by_item
from dcarray.ops.kernels.scanning import scan_by_group, scan_by_item
from dcarray.ops.kernels.sorting import edges_kernel, key_kernel, search_kernel
from dcarray.ops.kernels.tiles import Blocking
from dcarray.ops.kernels.turning import turning_kernel
from dcarray.ops.program import Inner, Node, Program, Reduction
from dcarray.ops.reduction import CUMULATIVE_PROD, CUMULATIVE_SUM, MAX, MIN, PROD, SUM
from dcarray.ops.spec import DType, Op
from dcarray.render.cfamily import render
from dcarray.render.cuda import CUDA
from dcarray.render.metal import METAL
from dcarray.render.opencl import OPENCL

COUNT = 1000
DIALECTS = {dialect.name: dialect for dialect in (OPENCL, CUDA, METAL)}
SHARES = {"f": 42, "d": 26, "l": 10, "i": 6, "B": 5, "?": 4, "F": 2, "D": 2, "e": 3}
"""Of all programs in a hundred, by the dtype of their arrays."""

USUAL = (
    *("add", "subtract", "multiply", "divide", "negative", "absolute", "square"),
    *("exp", "log", "sqrt", "sin", "cos", "tanh", "maximum", "minimum", "where"),
    *("less", "greater", "equal", "power", "floor", "cast", "sigmoid", "relu"),
)
ROWS = {**elementwise.TABLE, **composed.TABLE}

Make = Callable[[], Kernel]


class Programs:
    """Programs of a thousand kernels, always the same."""

    def __init__(self, doubles: bool) -> None:
        self.random = random.Random(7)
        self.doubles = doubles

    def dtype(self) -> DType:
        """Of the arrays of a program."""
        (code,) = self.random.choices(list(SHARES), list(SHARES.values()))
        if not self.doubles:
            code = {"d": "f", "D": "F"}.get(code, code)
        return np.dtype(code)

    def program(self, reduction: Op | None = None) -> Program:
        """A chain of operations over one to three arrays and two numbers."""
        dtype = self.dtype()
        if reduction in (MAX, MIN) and dtype.kind == "c":
            dtype = np.dtype(np.float32)
        leaves = (dtype,) * self.random.randint(1, 3)
        dtypes: list[DType] = [*leaves, dtype, dtype]
        nodes: list[Node] = []
        wanted = self.random.randint(2, 12)
        while len(nodes) < wanted:
            name = self.random.choice(
                USUAL if self.random.random() < 0.9 else list(ROWS)
            )
            self.add(ROWS[name], dtypes, nodes)
        last = len(dtypes) - 1
        if reduction is None:
            return Program(leaves, (dtype, dtype), tuple(nodes), (last,))
        if reduction in (MAX, MIN) and dtypes[last].kind == "c":
            return self.program(reduction)
        ends = Reduction(reduction, last, dtypes[last])
        return Program(leaves, (dtype, dtype), tuple(nodes), (), ends)

    def add(self, op: Op, dtypes: list[DType], nodes: list[Node]) -> None:
        """An operation over a result and what fits to it, if there are loops for it."""
        chosen = [len(dtypes) - 1]
        while len(chosen) < op.inputs:
            chosen.append(self.random.randrange(len(dtypes)))
        if op.name == "cast":
            target = np.dtype(self.random.choice("fl" if not self.doubles else "fdl"))
            if target == dtypes[chosen[0]] or dtypes[chosen[0]].kind == "c":
                return
            nodes.append(Node(op, (chosen[0],), (target,), (Inner.CONTIGUOUS,)))
            dtypes.append(target)
            return
        if op.name == "where":
            bools = [k for k, dtype in enumerate(dtypes) if dtype.kind == "b"]
            if not bools:
                return
            chosen = [self.random.choice(bools), *chosen[:2]]
        try:
            signature = op.resolve(tuple([dtypes[slot] for slot in chosen]))
        except TypeError:
            return
        kinds = {dtype.char for dtype in (*signature.inputs, *signature.outputs)}
        if not kinds <= set(SHARES) | set("bBhHiIlLqQ"):
            return
        if not self.doubles and kinds & set("dD"):
            return
        given = []
        for slot, dtype in zip(chosen, signature.inputs, strict=True):
            if dtypes[slot] != dtype:
                cast = ROWS["cast"]
                nodes.append(Node(cast, (slot,), (dtype,), (Inner.CONTIGUOUS,)))
                dtypes.append(dtype)
                slot = len(dtypes) - 1
            given.append(slot)
        inner = (Inner.CONTIGUOUS,) * len(given)
        nodes.append(Node(op, tuple(given), signature.outputs, inner))
        dtypes.extend(signature.outputs)

    def kernels(self) -> Iterator[Make]:
        """What makes the kernels."""
        yield from self.library()
        for _ in range(200):
            program = self.program(self.random.choice([SUM, SUM, PROD, MAX, MIN]))
            kept, reduced = self.random.choice([(0, 1), (1, 1), (1, 1), (2, 1)])
            assert program.reduction is not None
            dtype = program.reduction.dtype
            sizes = (program, kept, reduced, False)
            if self.random.random() < 0.3:
                yield partial(reduce_by_item, *sizes, dtype)
            else:
                along = self.random.random() < 0.6
                tile = Tile(1, 128, True, 4) if along else Tile(32, 4, False, 4)
                yield partial(reduce_by_group, *sizes, tile, dtype)
        while True:
            program = self.program()
            ndim = self.random.choice([0, 0, 0, 1, 2, 2, 3])
            if ndim == 2 and self.random.random() < 0.2:
                turned = (True,) + (False,) * (len(program.leaves) - 1)
                yield partial(turning_kernel, program, 2, False, turned, 4)
            else:
                ahead = self.random.choice([1, 2])
                yield partial(map_kernel, program, ndim, False, ahead)

    def library(self) -> Iterator[Make]:
        """Kernels that no program leads to."""
        for code in SHARES:
            dtype = np.dtype(code)
            if not self.doubles and code in "dD":
                continue
            for ndim in (1, 2):
                yield partial(gather_kernel, dtype, ndim, False)
                yield partial(scatter_kernel, dtype, ndim, False, False)
            yield partial(edges_kernel, dtype, True)
            if code == "?":
                continue
            blocking = Blocking(8, 4, False, True, False)
            yield partial(product_kernel, dtype, dtype, dtype, blocking, 0, False)
            yield partial(scan_by_item, CUMULATIVE_SUM, dtype, dtype)
            yield partial(scan_by_group, CUMULATIVE_PROD, dtype, dtype, 64)
            if dtype.kind != "c":
                yield partial(key_kernel, dtype, "", False)
                yield partial(key_kernel, dtype, "", True)
        yield partial(search_kernel, np.dtype(np.uint32), True)


def measure(name: str, path: str | None) -> None:
    """Write the kernels of a dialect; print the figures."""
    dialect = DIALECTS[name]
    recipes = Programs(doubles=dialect is not METAL).kernels()
    real: list[Kernel] = []
    complex_: list[Kernel] = []
    start = time.process_time()
    while len(real) + len(complex_) < COUNT:
        kernel = next(recipes)()
        (complex_ if has_complex(kernel) else real).append(kernel)
    built = time.process_time()
    texts = [render(kernel, dialect) for kernel in real]
    written = time.process_time()
    more = [render(kernel, dialect) for kernel in complex_]
    stop = time.process_time()
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(texts + more, file)
    found = {
        "build": built - start,
        "real": written - built,
        "complex": stop - written,
        "complex_count": len(complex_),
        "distinct": len({*texts, *more}),
        "characters": sum(map(len, texts)),
        "complex_characters": sum(map(len, more)),
    }
    print(json.dumps(found))


def has_complex(kernel: Kernel) -> bool:
    """Whether a kernel computes with complex numbers."""
    return any(dtype.kind == "c" for dtype in census(kernel).dtypes)


def rows() -> Iterator[Row]:
    """The table."""
    folder = os.path.dirname(os.path.abspath(__file__))
    given = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    for name in DIALECTS:
        code = f"import render; render.measure({name!r}, None)"
        runs = [json.loads(in_child(code, {"PYTHONPATH": given})) for _ in range(3)]
        runs.sort(key=lambda run: run["real"] + run["complex"])
        found = runs[1]
        total = found["real"] + found["complex"]
        characters = found["characters"] + found["complex_characters"]
        yield Row(
            f"{name}: {COUNT} kernels, {found['distinct']} distinct",
            f"{milliseconds(total)}, {characters / 1e6:.1f} MB",
            "<= 1 s",
            total <= 1.0,
            found,
        )
        yield Row(
            f"  the {found['complex_count']} of complex numbers among them",
            f"{milliseconds(found['complex'])}, "
            f"{found['complex_characters'] / 1e6:.1f} MB",
        )
        yield Row("  their IR, from programs", milliseconds(found["build"]))


def main() -> int:
    """Measure; the exit status."""
    options: argparse.Namespace = parser(__doc__).parse_args()
    return report("Rendering, one process for each dialect", rows(), options)


if __name__ == "__main__":
    sys.exit(main())
