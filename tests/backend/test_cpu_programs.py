"""Random programs: interpreter and engine against NumPy, bit by bit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu import CpuBackend
from dcarray.config import config
from dcarray.layout import inner_axis
from dcarray.ops.program import Inner, Node, Program
from dcarray.ops.spec import Kind, Op

F4, F8, F2 = (np.dtype(kind) for kind in "fde")
DTYPES = [np.dtype(kind) for kind in "?bBhHiIlLefdFD"]
_names = (
    "add subtract multiply divide sqrt square absolute negative positive reciprocal "
    "exp log sin tanh expm1 cbrt floor ceil trunc rint maximum minimum fmax fmin hypot "
    "arctan2 copysign sign signbit less less_equal greater greater_equal equal "
    "not_equal "
    "logical_and logical_or logical_not logical_xor isnan isinf isfinite power "
    "floor_divide remainder fmod bitwise_and bitwise_or bitwise_xor invert left_shift "
    "right_shift nextafter spacing ldexp frexp modf divmod heaviside conjugate "
    "logaddexp degrees rad2deg gcd"
).split()
OPS = {
    name: Op(name, Kind.ELEMENTWISE, f, f.nin, f.nout)
    for name in _names
    for f in [getattr(np, name)]
}
CAST = Op("cast", Kind.ELEMENTWISE, np.asarray, 1)
WHERE = Op("where", Kind.ELEMENTWISE, np.where, 3)
LENGTHS = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 255, 257, 1000, 1025, 2047]
LENGTHS += [2049, 4095, 4097, 8191, 8193, 20000]


class Draw:
    """One random program, its operands and what NumPy makes of it."""

    def __init__(
        self, seed: int, nodes: int = 0, dtypes: list[Any] | None = None
    ) -> None:
        self.random = random.Random(seed)
        self.generator = np.random.default_rng(seed)
        self.dtypes = dtypes or self.random.choice(
            [[F4], [F8], [F4, F8], [np.dtype("i4"), np.dtype("i8")], DTYPES]
        )
        self.shape = self.draw_shape()
        self.leaves: list[Any] = []
        self.scalars: list[Any] = []
        for _ in range(self.random.randint(1, 4)):
            self.leaves.append(self.draw_leaf())
        for _ in range(self.random.randint(0, 2)):
            dtype = self.random.choice(self.dtypes)
            self.scalars.append(self.draw_values((), dtype)[()])
        self.values: list[Any] = [*self.leaves, *self.scalars]
        self.nodes: list[Node] = []
        wanted = nodes or self.random.randint(1, 10)
        tries = 0
        with np.errstate(all="ignore"):
            while len(self.nodes) < wanted and tries < 200:
                tries += 1
                self.draw_node()
        first = len(self.leaves) + len(self.scalars)
        slots = list(range(first, len(self.values)))
        read = {slot for node in self.nodes for slot in node.inputs}
        # What nobody reads is an output: programs have no dead nodes.
        outputs = {s for s in slots if s not in read or self.random.random() < 0.1}
        self.program = Program(
            tuple(a.dtype for a in self.leaves),
            tuple(s.dtype for s in self.scalars),
            tuple(self.nodes),
            tuple(sorted(outputs)),
        )

    def draw_shape(self) -> tuple[int, ...]:
        pick = self.random
        kind = pick.random()
        if kind < 0.5:
            return (pick.choice(LENGTHS),)
        if kind < 0.8:
            return (pick.randint(1, 9), pick.choice(LENGTHS[:18]))
        if kind < 0.9:
            return (pick.choice(LENGTHS[:14]), pick.randint(1, 5))
        return (pick.randint(1, 5), pick.randint(1, 5), pick.randint(1, 40))

    def draw_values(self, shape: tuple[int, ...], dtype: Any) -> Any:
        g = self.generator
        if dtype.kind == "b":
            return g.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            kind = self.random.random()
            low, high = (info.min, info.max) if kind < 0.4 else (max(info.min, -9), 9)
            return np.asarray(g.integers(low, high, shape, dtype, endpoint=True))
        real = g.standard_normal(shape) * 10.0 ** self.random.choice([0, 0, 1, 6, -6])
        if dtype.kind == "c":
            real = real + 1j * g.standard_normal(shape)
        with np.errstate(over="ignore"):
            values = np.asarray(real.astype(dtype) if shape else dtype.type(real))
        if shape and self.random.random() < 0.4:
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, 1e30, -1e30, 2.0, 0.5]
            hits = g.random(shape) < 0.3
            with np.errstate(all="ignore"):
                picked = g.choice(special, shape).astype(dtype)
            values = np.where(hits, picked, values)
        return values

    def draw_leaf(self) -> Any:
        pick, shape = self.random, self.shape
        dtype = pick.choice(self.dtypes)
        kind = pick.random()
        if kind < 0.55:
            return self.draw_values(shape, dtype)
        if kind < 0.65:  # strided along the last axis
            wide = (*shape[:-1], shape[-1] * 2)
            return self.draw_values(wide, dtype)[..., :: pick.choice([2, -2])]
        if kind < 0.75:  # Fortran order
            return np.asfortranarray(self.draw_values(shape, dtype))
        if kind < 0.85:  # broadcast
            small = tuple(1 if pick.random() < 0.5 else n for n in shape)
            return np.broadcast_to(self.draw_values(small, dtype), shape)
        if kind < 0.92:
            return self.draw_values(shape, dtype)[
                tuple(slice(None, None, -1) for _ in shape)
            ]
        wide = tuple(n + 3 for n in shape)
        return self.draw_values(wide, dtype)[tuple(slice(1, n + 1) for n in shape)]

    def inner_of(self, operands: list[Any]) -> tuple[Inner, ...]:
        rows = [np.broadcast_to(a, self.shape).strides for a in operands]
        axis = inner_axis(self.shape, rows)
        kinds = []
        for array, row in zip(operands, rows):
            if np.ndim(array) == 0 or (axis is not None and row[axis] == 0):
                kinds.append(Inner.SCALAR)
            elif axis is None or row[axis] == array.itemsize:
                kinds.append(Inner.CONTIGUOUS)
            else:
                kinds.append(Inner.STRIDED)
        return tuple(kinds)

    def pick_slot(self) -> int:
        count = len(self.values)
        if self.random.random() < 0.5:
            return self.random.randrange(max(0, count - 3), count)
        return self.random.randrange(count)

    def draw_node(self) -> None:
        kind = self.random.random()
        if kind < 0.1:
            slot = self.pick_slot()
            target = self.random.choice(self.dtypes)
            source = self.values[slot]
            if source.dtype.kind == "f" and target.kind == "u" and target.itemsize > 2:
                return  # values out of range have no defined result
            if source.dtype.kind == "c" and target.kind != "c":
                return
            if np.ndim(source):
                self.add_node(CAST, (slot,), (source.astype(target),))
            return
        if kind < 0.2:
            slots = [self.pick_slot() for _ in range(3)]
            c, x, y = (self.values[s] for s in slots)
            if c.dtype.kind == "b" and x.dtype == y.dtype and np.ndim(c):
                self.add_node(WHERE, tuple(slots), (self.where(c, x, y),))
            return
        op = OPS[self.random.choice(_names)]
        slots = [self.pick_slot() for _ in range(op.inputs)]
        operands = [self.values[s] for s in slots]
        if not any(np.ndim(a) for a in operands):
            return
        ufunc: Any = op.numpy
        dtypes = tuple(a.dtype for a in operands)
        try:
            found = ufunc.resolve_dtypes(dtypes + (None,) * op.outputs)
        except TypeError:
            return
        if found[: op.inputs] != dtypes:
            return
        if op.name == "power" and dtypes[0].kind in "iu":
            return
        results = ufunc(*operands)
        self.add_node(op, tuple(slots), results if op.outputs > 1 else (results,))

    def where(self, c: Any, x: Any, y: Any) -> Any:
        result = np.empty_like(c, dtype=x.dtype)
        result[...] = y
        np.copyto(result, x, where=c)
        return result

    def add_node(self, op: Op, slots: tuple[int, ...], results: Any) -> None:
        if any(r.shape != self.shape for r in results):
            results = tuple(np.broadcast_to(r, self.shape) for r in results)
            return
        inner = self.inner_of([self.values[s] for s in slots])
        self.nodes.append(Node(op, slots, tuple(r.dtype for r in results), inner))
        self.values.extend(results)

    def operands(self) -> list[Any]:
        return [np.broadcast_to(a, self.shape) for a in self.leaves]

    def targets(self) -> list[Any]:
        return [np.empty_like(self.values[s]) for s in self.program.outputs]


def same_bits(found: Any, wanted: Any) -> bool:
    """Equal bit by bit; NaN may differ in sign and payload."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    if found.dtype.kind == "c":
        return same_bits(found.real, wanted.real) and same_bits(found.imag, wanted.imag)
    if found.dtype.kind != "f":
        return bool(np.array_equal(found, wanted))
    equal = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    return bool(np.all(equal | (np.isnan(found) & np.isnan(wanted))))


def flags_of(draw: Draw) -> dict[int, int]:
    """The floating-point flags that NumPy raises for each node."""
    bits = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}
    found: dict[int, int] = {}
    at = [0]

    def note(kind: str, status: int) -> None:
        found[at[0]] = found.get(at[0], 0) | bits[kind]

    with np.errstate(all="call", call=note):
        for number, node in enumerate(draw.program.nodes):
            at[0] = number
            inputs = [draw.values[slot] for slot in node.inputs]
            if node.op is CAST:
                inputs[0].astype(node.dtypes[0])
            elif node.op is not WHERE:
                node.op.numpy(*inputs)
    return found


def check(draw: Draw, backend: CpuBackend, engine: str, watch: int = 0) -> None:
    targets = draw.targets()
    # A text that LLVM does not take is an error here, and no reason to interpret.
    with config(engine=engine, validate="cpu"):
        executable = backend.compile(draw.program)
        raised = backend.launch(
            executable, draw.shape, draw.operands(), draw.scalars, targets, watch=watch
        )
    compare(draw, targets)
    if watch:
        wanted = {n: f & watch for n, f in flags_of(draw).items() if f & watch}
        assert {entry.node: entry.flags for entry in raised} == wanted


def compare(draw: Draw, targets: list[Any]) -> None:
    for slot, target in zip(draw.program.outputs, targets):
        assert same_bits(target, draw.values[slot]), (
            draw.program.describe(),
            draw.shape,
            slot,
        )


@pytest.fixture(scope="module")
def backend() -> CpuBackend:
    return CpuBackend()


@pytest.mark.parametrize("chunk", range(10))
def test_interpreter_gives_numpys_bits(backend: CpuBackend, chunk: int) -> None:
    for seed in range(chunk * 60, chunk * 60 + 60):
        check(Draw(seed), backend, "interpreter")


@pytest.mark.parametrize("chunk", range(10))
def test_engine_gives_numpys_bits(backend: CpuBackend, chunk: int) -> None:
    for seed in range(chunk * 40, chunk * 40 + 40):
        check(Draw(seed), backend, "auto")


def test_most_programs_are_compiled(backend: CpuBackend) -> None:
    compiled = 0
    for seed in range(60):
        draw = Draw(seed, nodes=5)
        executable = backend.compile(draw.program)
        backend.launch(
            executable, draw.shape, draw.operands(), draw.scalars, draw.targets()
        )
        compiled += any(bound is not None for bound in executable._bound.values())
    assert compiled > 40


@pytest.mark.parametrize("engine", ["interpreter", "auto"])
@pytest.mark.parametrize("chunk", range(5))
def test_flags_name_the_nodes_that_numpy_warns_about(
    backend: CpuBackend, engine: str, chunk: int
) -> None:
    for seed in range(chunk * 40, chunk * 40 + 40):
        check(Draw(seed), backend, engine, watch=11)


def test_comparing_nan_raises_nothing_and_stays_compiled(
    backend: CpuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.linspace(-1, 1, 100_000, dtype=F4)
    x[::7] = np.nan
    dense = (Inner.CONTIGUOUS, Inner.CONTIGUOUS)
    nodes = (
        Node(OPS["maximum"], (0, 1), (F4,), dense),
        Node(OPS["sqrt"], (2,), (F4,), dense[:1]),
    )
    executable = backend.compile(Program((F4, F4), (), nodes, (3,)))
    target = np.empty_like(x)

    def refuse(*arguments: Any) -> dict[int, int]:
        raise AssertionError("interpreted")

    monkeypatch.setattr(executable.interpreter, "run", refuse)
    y = np.abs(x)
    assert not backend.launch(executable, x.shape, [x, y], [], [target], watch=11)
    assert same_bits(target, np.sqrt(np.maximum(x, y)))
    monkeypatch.undo()
    raised = backend.launch(executable, x.shape, [x, x], [], [target], watch=11)
    assert [(entry.node, entry.flags) for entry in raised] == [(1, 8)]


def test_a_value_that_is_only_tested_raises_its_flags(backend: CpuBackend) -> None:
    x = np.linspace(-1, 1, 10_000, dtype=F4)
    truth, dense = np.dtype("?"), (Inner.CONTIGUOUS,)
    for name in ("isnan", "isfinite", "signbit"):
        nodes = (
            Node(OPS["sqrt"], (0,), (F4,), dense),
            Node(OPS["negative"], (1,), (F4,), dense),
            Node(OPS[name], (2,), (truth,), dense),
        )
        executable = backend.compile(Program((F4,), (), nodes, (3,)))
        target = np.empty(x.shape, truth)
        raised = backend.launch(executable, x.shape, [x], [], [target], watch=11)
        assert [(entry.node, entry.flags) for entry in raised] == [(0, 8)]


@pytest.mark.parametrize("engine", ["interpreter", "auto"])
@pytest.mark.parametrize("watch", [0, 11])
def test_outputs_may_be_inputs(backend: CpuBackend, engine: str, watch: int) -> None:
    tried = 0
    for seed in range(150):
        draw = Draw(seed, nodes=4, dtypes=[F4, np.dtype("?")])
        slot = draw.program.outputs[-1]
        dtype = draw.values[slot].dtype
        order = draw.values[slot].strides
        fits = [
            k
            for k, leaf in enumerate(draw.leaves)
            if leaf.dtype == dtype and leaf.strides == order and leaf.flags.writeable
        ]
        if not fits:
            continue
        tried += 1
        targets = draw.targets()
        targets[-1] = targets[-1].copy(order="K")
        targets[-1][...] = draw.leaves[fits[0]]
        inputs = draw.operands()
        inputs[fits[0]] = targets[-1]
        with config(engine=engine):
            executable = backend.compile(draw.program)
            backend.launch(
                executable, draw.shape, inputs, draw.scalars, targets, watch=watch
            )
        compare(draw, targets)
    assert tried > 25


@pytest.mark.parametrize("watch", [0, 11])
@pytest.mark.parametrize("columns", [2, 3, 30, 255])
def test_short_rows_share_a_block(
    backend: CpuBackend, columns: int, watch: int
) -> None:
    g = np.random.default_rng(columns)
    shape = (40_001 // columns, columns)
    x = g.standard_normal(shape).astype(F4)
    row, column = (g.standard_normal(n).astype(F4) for n in ((columns,), shape[:1]))
    inputs = [x, np.broadcast_to(row, shape), np.broadcast_to(column[:, None], shape)]
    dense = Inner.CONTIGUOUS
    nodes = (
        Node(OPS["subtract"], (0, 1), (F4,), (dense, dense)),
        Node(OPS["exp"], (3,), (F4,), (dense,)),
        Node(OPS["multiply"], (4, 2), (F4,), (dense, Inner.SCALAR)),
        Node(OPS["log"], (0,), (F4,), (dense,)),
        Node(OPS["add"], (5, 6), (F4,), (dense, dense)),
    )
    executable = backend.compile(Program((F4,) * 3, (), nodes, (7,)))
    for order in "CF":
        target = np.empty(shape, F4, order)
        with np.errstate(all="ignore"):
            wanted = np.exp(x - row) * column[:, None] + np.log(x)
        raised = backend.launch(executable, shape, inputs, [], [target], watch=watch)
        assert same_bits(target, wanted)
        assert [(e.node, e.flags) for e in raised] == ([(3, 8)] if watch else [])
    built = [bound.built.plan for bound in executable._bound.values() if bound]
    assert any(plan.rowwise for plan in built)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_the_number_of_threads_does_not_matter(
    backend: CpuBackend, threads: int
) -> None:
    g = np.random.default_rng(0)
    for shape in [(300_001,), (3, 100_003), (100_003, 3), (40, 50, 60)]:
        a, b = (g.standard_normal(shape).astype(F4) for _ in range(2))
        dense = (Inner.CONTIGUOUS, Inner.CONTIGUOUS)
        nodes = (
            Node(OPS["multiply"], (0, 1), (F4,), dense),
            Node(OPS["exp"], (2,), (F4,), dense[:1]),
            Node(OPS["subtract"], (3, 0), (F4,), dense),
        )
        executable = backend.compile(Program((F4, F4), (), nodes, (4,)))
        target = np.empty_like(a)
        for engine in ("auto", "interpreter"):
            target[...] = 0
            with config(threads=threads, engine=engine):
                backend.launch(executable, shape, [a, b], [], [target])
            assert same_bits(target, np.exp(a * b) - a)
