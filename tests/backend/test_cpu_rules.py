"""The rules of the CPU engine that have no file of their own."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from dcarray.backends.cpu import CpuBackend
from dcarray.backends.cpu.plan import plan_for
from dcarray.backends.cpu.sketch import MAX_SEGMENTS, sketch_of
from dcarray.config import config
from dcarray.layout import Layout
from dcarray.ops.program import Inner, Node, Program
from dcarray.ops.spec import Kind, Op
from dcarray.render.plan import LoopCall, Segment, Stride

F4 = np.dtype("f")
DENSE = Inner.CONTIGUOUS
CAST = Op("cast", Kind.ELEMENTWISE, np.asarray)


def op(name: str) -> Op:
    ufunc = getattr(np, name)
    return Op(name, Kind.ELEMENTWISE, ufunc, ufunc.nin, ufunc.nout)


def chain(dtype: Any, *ops: Op) -> Program:
    """Each operation on the result before it, twice if it takes two operands."""
    dtype = np.dtype(dtype)
    nodes = tuple(
        Node(one, (number,) * one.inputs, (dtype,), (DENSE,) * one.inputs)
        for number, one in enumerate(ops)
    )
    return Program((dtype,), (), nodes, (len(ops),))


@pytest.fixture
def backend() -> CpuBackend:
    return CpuBackend()


def run(backend: CpuBackend, program: Program, *inputs: Any, **options: Any) -> Any:
    target = np.empty(inputs[0].shape, program.slot_dtypes()[program.outputs[0]])
    executable = backend.compile(program)
    scalars = options.pop("scalars", ())
    backend.launch(executable, target.shape, inputs, scalars, [target], **options)
    return target


# ------------------------------------------------------------------------ rule 2
@pytest.mark.parametrize("exponent", [2.0, 0.5, -1.0, 3.0])
@pytest.mark.parametrize("engine", ["auto", "interpreter"])
def test_an_exponent_is_seen_as_numpy_sees_it(
    backend: CpuBackend, exponent: float, engine: str
) -> None:
    x = np.random.default_rng(0).random(5000).astype(F4) * 9
    y = np.full_like(x, exponent)
    for inner, leaf, wanted in (
        (Inner.SCALAR, np.broadcast_to(y[:1], x.shape), np.power(x, y[:1])),
        (Inner.CONTIGUOUS, y, np.power(x, y)),
        (Inner.CONTIGUOUS, np.broadcast_to(y[:1], x.shape), np.power(x, y)),
        (Inner.STRIDED, np.repeat(y, 2)[::2], np.power(x, np.repeat(y, 2)[::2])),
    ):
        nodes = (
            Node(op("power"), (0, 1), (F4,), (DENSE, inner)),
            Node(op("negative"), (2,), (F4,), (DENSE,)),
        )
        with config(engine=engine):
            found = run(backend, Program((F4, F4), (), nodes, (3,)), x, leaf)
        assert found.tobytes() == (-wanted).tobytes()


def test_a_scalar_operand_is_a_parameter(backend: CpuBackend) -> None:
    x = np.linspace(0, 2, 5000, dtype=F4)
    nodes = (
        Node(op("power"), (0, 1), (F4,), (DENSE, Inner.SCALAR)),
        Node(op("add"), (2, 1), (F4,), (DENSE, Inner.SCALAR)),
    )
    program = Program((F4,), (F4,), nodes, (3,))
    executable = backend.compile(program)
    target = np.empty_like(x)
    for value in map(np.float32, (2.0, 0.5, 3.7)):
        backend.launch(executable, x.shape, [x], [value], [target])
        assert target.tobytes() == (np.power(x, value) + value).tobytes()
    assert len(executable._bound) == 1


# ------------------------------------------------------------------------ rule 7
@pytest.mark.parametrize("engine", ["auto", "interpreter"])
def test_integer_powers_fail_as_numpy_fails(backend: CpuBackend, engine: str) -> None:
    program = chain("i8", op("negative"), op("power"), op("negative"))
    x = np.full(100_000, 3)
    assert sketch_of(program) is None
    with config(engine=engine, threads=2), pytest.raises(ValueError, match="negative"):
        run(backend, program, x)
    with config(engine=engine):
        assert (run(backend, program, -x) == -27).all()


# ------------------------------------------------------------------------ rule 8
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_short_floats_are_rounded_after_each_operation(
    backend: CpuBackend, name: str
) -> None:
    kinds = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(kinds, name))
    assert dtype in backend.supported
    x = np.random.default_rng(0).standard_normal(20_000).astype(dtype)
    found = run(backend, chain(dtype, op("multiply"), op("add"), op("tanh")), x)
    y = x * x
    assert found.tobytes() == np.tanh(y + y).tobytes()


# ------------------------------------------------------------------------ rule 9
def test_a_group_has_few_segments(backend: CpuBackend) -> None:
    pair = [op("sin"), op("negative")]
    fits = chain(F4, *(pair * (MAX_SEGMENTS - 1)))
    sketch = sketch_of(fits)
    assert sketch is not None
    dense = [Stride.CONTIGUOUS]
    plan = plan_for(sketch, dense, dense, fits.outputs, [False])
    assert plan is not None
    assert sum(isinstance(step, Segment) for step in plan.steps) < MAX_SEGMENTS
    assert sum(isinstance(step, LoopCall) for step in plan.steps) == MAX_SEGMENTS - 1
    more = chain(F4, *(pair * MAX_SEGMENTS))
    assert sketch_of(more) is None
    x = np.linspace(-1, 1, 10_000, dtype=F4)
    for program, times in ((fits, MAX_SEGMENTS - 1), (more, MAX_SEGMENTS)):
        wanted = x
        for _ in range(times):
            wanted = -np.sin(wanted)
        assert run(backend, program, x).tobytes() == wanted.tobytes()


def test_buffers_are_used_again() -> None:
    program = chain(F4, *([op("exp"), op("log")] * 10))
    sketch = sketch_of(program)
    assert sketch is not None
    dense = [Stride.CONTIGUOUS]
    plan = plan_for(sketch, dense, dense, program.outputs, [False])
    assert plan is not None
    long = chain(F4, *([op("sin"), op("negative")] * (MAX_SEGMENTS - 1)))
    sketch = sketch_of(long)
    assert sketch is not None
    plan = plan_for(sketch, dense, dense, long.outputs, [False])
    assert plan is not None and len(plan.buffers) <= 3


@pytest.mark.parametrize("size", [10, 5000, 200_000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_single_operation_is_never_compiled(
    backend: CpuBackend, size: int, order: str
) -> None:
    x = np.asarray(np.random.default_rng(0).random((2, size)), F4, order)
    executable = backend.compile(chain(F4, op("exp")))
    target = np.empty_like(x)
    backend.launch(executable, x.shape, [x], [], [target])
    assert target.tobytes("A") == np.exp(x).tobytes("A")
    assert executable._built == {}
    raised = backend.launch(executable, x.shape, [x * 1000], [], [target], watch=2)
    assert [(entry.node, entry.flags) for entry in raised] == [(0, 2)]
    backend.launch(executable, x.shape, [x], [], [x], watch=11)
    backend.launch(executable, x.shape, [x], [], [target])
    assert np.isfinite(target).all()


def test_a_single_cast_runs_in_pieces(backend: CpuBackend) -> None:
    x = np.random.default_rng(0).standard_normal((700, 800))
    node = Node(CAST, (0,), (F4,), (DENSE,))
    found = run(backend, Program((x.dtype,), (), (node,), (1,)), x)
    assert found.tobytes() == x.astype(F4).tobytes()


# ------------------------------------------------------------------- odd operands
def test_unaligned_and_empty_operands(backend: CpuBackend) -> None:
    raw = np.zeros(4 * 5000 + 1, np.uint8)[1:].view(F4)
    raw[:] = np.linspace(0, 1, 5000)
    assert not raw.flags.aligned
    program = chain(F4, op("multiply"), op("exp"))
    assert run(backend, program, raw).tobytes() == np.exp(raw * raw).tobytes()
    assert run(backend, program, raw[:0]).shape == (0,)
    point = np.array(0.5, F4)
    assert run(backend, program, point) == np.exp(point * point)
    cube = np.zeros((1, 3, 1), F4)
    assert run(backend, program, cube).shape == (1, 3, 1)


# ------------------------------------------------------------------------ memory
def test_memory_goes_back_to_the_pool(backend: CpuBackend) -> None:
    block = backend.allocate(100_000)
    assert block.nbytes == 100_000 and block.dtype == np.uint8
    assert block.ctypes.data % 64 == 0
    view = backend.view(block, Layout((5, 10), (80, 4), 8), F4)
    assert type(view) is np.ndarray and view.ctypes.data == block.ctypes.data + 8
    part = view[1:, ::2]
    del block, view
    gc.collect()
    assert backend.pool.statistics().in_use > 0
    del part
    gc.collect()
    assert backend.pool.statistics().in_use == 0
    backend.allocate(100_000)
    assert backend.pool.statistics().hits == 1


def test_copies_between_host_and_block(backend: CpuBackend) -> None:
    block = backend.allocate(16)
    backend.upload(np.arange(16, dtype=np.uint8), block)
    found = np.zeros(16, np.uint8)
    backend.download(block, found)
    assert (found == np.arange(16)).all()
