"""Kernels in CUDA C++ of our own: they compile, and take what they are called with."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dcarray.backends.cuda import (
    copying,
    counting,
    drawing,
    picking,
    placing,
    pooling,
    rows,
    scores,
    selecting,
    solvers,
    sorting,
    transforms,
    vectors as products,
)
from dcarray.backends.cuda.kernels import (
    choosing,
    counting as tallies,
    elimination,
    folding,
    halving,
    placing as places,
    pooling as windows,
    rows as normal,
    scaling,
    scanning,
    scores as softmax,
    selecting as selects,
    vectors,
    ziggurats,
)
from dcarray.backends.cuda.raw import Raw
from dcarray.backends.grid import GridView, Limits
from dcarray.backends.starting import Allocator
from dcarray.kernel.nodes import Array, Kernel
from dcarray.layout import Layout
from dcarray.render.cuda import OPTIONS

from .. import nvrtc

needs_nvrtc = pytest.mark.skipif(
    not nvrtc.available(), reason="needs nvidia-cuda-nvrtc, for Linux and Windows"
)

FOLDS = [rows._ROWS, rows._COLUMNS]
F2, F4, F8, I8 = map(np.dtype, ("f2", "f4", "f8", "i8"))
TILE = elimination.Tile(8, 4, 1)
TEXTS = {
    "scan": (scanning.scan_text("cumulative_sum", F2, F4), [rows._SCAN]),
    "place": (folding.place_text(F2, True), FOLDS),
    "variance": (folding.variance_text(F8, F8), FOLDS),
    "norm": (normal.row_text("layer_norm", F4, 64, 1, 3), [rows._ROW]),
    "scores": (softmax.scores_text(F4, 64), [scores._SCORES]),
    "mask": (
        choosing.mask_text(16),
        [picking._COUNT, picking._ADD, picking._CHOOSE, placing._PUT],
    ),
    "select": (selects.select_text(16), [selecting._SELECT]),
    "select places": (selects.select_text(0), [selecting._SELECT]),
    "places": (
        places.place_text(16, True, 2),
        [placing._find(2), placing._CLAIM, placing._FILL, placing._STORE],
    ),
    "take": (choosing.take_text(2, "i8", "raise"), [picking.TAKE]),
    "search": (choosing.search_text(F2, True), [picking._SEARCH]),
    "ends": (tallies.ends_text(F2), [counting._ENDS]),
    "histogram": (
        tallies.histogram_text(F2, F8, F8, I8),
        [counting._HISTOGRAM],
    ),
    "counts": (tallies.histogram_text(F4, F4, F4, None), [counting._HISTOGRAM]),
    "along and down": (
        vectors.vector_text(F8),
        [products._ALONG, products._SHORT, products._DOWN, products.DOT],
    ),
    "halve": (halving.halving_text(2), [copying._HALVE]),
    "normal": (ziggurats.normal_text(F4, 3.65), [drawing._PCG, drawing._NORMAL]),
    "windows": (
        windows.window_text(F2, "indexed", (3, 2), (2, 3), (1, 1)),
        [pooling._WINDOWS],
    ),
    "spread": (windows.gradient_text(I8, (3, 3), (2, 2), (1, 1)), [pooling._SPREAD]),
    "returned": (
        windows.maxima_gradient_text(F4, (3, 2), (1, 3), (1, 0)),
        [pooling._RETURNED],
    ),
    "cholesky": (elimination.cholesky_text(F4, TILE), [solvers._CHOLESKY]),
    "eliminate": (
        elimination.elimination_text(F8, TILE, "solve"),
        [solvers._ELIMINATE],
    ),
    "scale": (scaling.scale_text(F4), [transforms._SCALE]),
    "steady": (choosing.steady_text(F4), [sorting._STEADY]),
}


def taken(kernel: Kernel) -> str:
    return "".join(
        "p" if isinstance(x, Array) else "d" if x.dtype.kind == "f" else "q"
        for x in kernel.parameters
    )


@needs_nvrtc
@pytest.mark.parametrize("name", TEXTS)
def test_it_compiles(name: str) -> None:
    text, kernels = TEXTS[name]
    ptx = nvrtc.compiled(text, "sm_75", ("--std=c++17", *OPTIONS))
    found = re.findall(r"\.entry (\w+)\((.*?)\)", ptx, re.DOTALL)
    assert {name for name, _ in found} == {kernel.name for kernel in kernels}
    for kernel in kernels:
        head = re.search(rf"void[^{{;]*\b{kernel.name}\(([^)]*)\)", text)
        assert head is not None
        listed = [
            "p" if "*" in one else "d" if "double" in one else "q"
            for one in head.group(1).split(",")
        ]
        assert "".join(listed) == taken(kernel)


def test_rows_fit_into_a_group() -> None:
    for length in (128, 129, 1000, 4096, 8192, 8193, normal.LONGEST):
        threads, each = normal.layout_of(length)
        assert threads <= 1024
        assert threads % 32 == 0
        assert threads * each * 4 >= length
        assert (threads - 32) * each * 4 < length


# ----------------------------------------------------------------- launches, done again
class Memory:
    def __init__(self, nbytes: int) -> None:
        self.pointer = id(self)
        self.nbytes = nbytes


class Device:
    """Says what is started."""

    device = "cuda:0"
    supported = frozenset((F4, I8))
    limits = Limits(group=1024, units=4, shared=1 << 15, items=256)
    streams = SimpleNamespace(current=SimpleNamespace(pointer=0, capture=None))

    def __init__(self) -> None:
        self.started: list[tuple[Any, ...]] = []
        self.allocator = Allocator(cast(Any, self))

    def allocate(self, nbytes: int) -> Memory:
        return Memory(nbytes)

    def _clear(self, pointer: int, nbytes: int) -> None:
        self.started.append(("clear", pointer, nbytes))

    def build(self, text: str, kernel: Kernel) -> str:
        return kernel.name

    def enqueue(
        self, function: str, kernel: Kernel, grid: Any, group: Any, given: Any
    ) -> None:
        arguments = [id(x) if isinstance(x, Memory) else x for x in given]
        self.started.append((function, tuple(grid), tuple(group), *arguments))

    def starter(
        self, function: str, kernel: Any, grid: Any, group: Any, rest: Any
    ) -> Any:
        last = [number.item() for number in rest]
        return lambda memories, _: self.enqueue(
            function, kernel, grid, group, [*memories, *last]
        )


def numbered(started: list[tuple[Any, ...]], views: list[GridView]) -> Any:
    """Launches with memory by the order in which it is first seen."""
    known = {id(x.memory): f"operand {k}" for k, x in enumerate(views)}
    return [
        [
            known.setdefault(one, f"new {len(known)}")
            if isinstance(one, int) and one > 1 << 32
            else one
            for one in launch
        ]
        for launch in started
    ]


CALLS: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    (
        "variance",
        [(512, 512)],
        {"axes": (0,), "keepdims": False, "number": 5.0, "root": True},
    ),
    (
        "variance",
        [(1 << 20,)],
        {"axes": (0,), "keepdims": True, "number": 5.0, "root": False},
    ),
    ("argmax", [(300, 512)], {"axis": 1}),
    ("cumulative_sum", [(100_000,)], {"axis": 0}),
    ("nn.layer_norm", [(30, 512), (512,), (512,)], {"epsilon": 1e-5}),
]


@pytest.mark.parametrize(("name", "shapes", "options"), CALLS)
def test_done_again(name: str, shapes: Any, options: dict[str, Any]) -> None:
    device = Device()
    raw = Raw(cast(Any, device))
    raw.counts()  # which are cleared once

    def call(views: list[GridView]) -> tuple[Any, Any]:
        device.started.clear()
        found = raw.call(name, rows.TABLE[name], views, options)
        assert found is not None
        launches = numbered(device.started, views)
        place = [k for k, x in enumerate(device.started) if id(found.memory) in x]
        return launches, (found.layout, found.dtype, place)

    def views() -> list[GridView]:
        layouts = [Layout.dense(shape, 4) for shape in shapes]
        return [GridView(Memory(4 * x.size), x, F4) for x in layouts]

    first = call(views())
    assert first == call(views()) == call(views())
    assert len(raw._plans) == 1
    if len(shapes) > 2:  # weights and bias are one array, and two again
        one, two, _ = views()
        same = call([one, two, two])
        assert same != first
        assert same == call([one, two, two])
        assert call(views()) == first
