"""What every backend must keep, as a class of tests."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.base import DeviceProperties, Rates
from ..layout import Layout
from ..ops import (
    contraction,
    elementwise,
    indexing,
    neural,
    reduction,
    solving,
    statistics,
    transforms,
)
from ..ops.program import Inner, Program, Reduction
from ..ops.spec import LIBRARY, Op
from . import operands
from .accuracy import batches, measure
from .adversarial import adversarial
from .workbench import Workbench, node, single, together

__all__ = ["BackendSuite"]

HostArray = np.ndarray[Any, Any]
DType = np.dtype[Any]

ROWS = (
    *(contraction, indexing, neural, reduction),
    *(solving, statistics, transforms),
)
"""Modules whose rows enter `LIBRARY` when they are imported."""

FLOAT = np.dtype(np.float32)
AXES = ((0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2))
SHAPES = ((), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 4), (1, 9), (100003,))


class BackendSuite(Workbench):
    """The contract of `Backend`, checked.

    Derive from it in a test module, and say how the backend is made::

        class TestMine(BackendSuite):
            def make(self):
                return MyBackend()

    pytest finds the methods.  Nothing here needs pytest itself, so that
    ``TestMine().run()`` does the same.
    """

    # ------------------------------------------------------------------- what it says
    def test_label(self) -> None:
        kind, _, number = self.backend.device.partition(":")
        assert kind
        assert not number or number.isdecimal()

    def test_supported(self) -> None:
        supported = self.backend.supported
        assert isinstance(supported, frozenset)
        assert all(isinstance(dtype, np.dtype) for dtype in supported)
        assert {np.dtype(code) for code in "?if"} <= supported

    def test_rates(self) -> None:
        rates = self.backend.rates
        assert isinstance(rates, Rates)
        assert rates.launch >= 0
        assert rates.bandwidth > 0
        assert rates.operations > 0
        assert rates.transfer_latency >= 0
        assert rates.transfer_bandwidth > 0

    def test_properties(self) -> None:
        ask: Any = getattr(self.backend, "properties", None)
        if ask is None:
            return
        found = ask()
        assert isinstance(found, DeviceProperties)
        assert found.device == self.backend.device
        assert found.dtypes == self.backend.supported
        assert found.status == "ok"
        if found.memory_total is not None and found.memory_free is not None:
            assert 0 <= found.memory_free <= found.memory_total

    def test_native_is_a_mapping_to_callables(self) -> None:
        for name, function in self.backend.native.items():
            assert name in LIBRARY, f"{name} is no operation of a library"
            assert callable(function)

    # ------------------------------------------------------------------------- memory
    def test_blocks_are_as_large_as_asked_for(self) -> None:
        for nbytes in (0, 1, 511, 512, 513, 4097, 1 << 20):
            assert self.backend.allocate(nbytes).nbytes >= nbytes

    def test_bytes_come_back(self) -> None:
        rng = np.random.default_rng(1)
        for nbytes in (0, 1, 7, 512, 1000, 1 << 20):
            sent = rng.integers(0, 256, nbytes, np.uint8)
            memory = self.upload(sent)
            got = self.download(memory, np.zeros(nbytes, np.uint8))
            assert got.tobytes() == sent.tobytes()

    def test_blocks_do_not_overlap(self) -> None:
        sent = [np.full(1000, number, np.uint8) for number in range(20)]
        memories = [self.upload(array) for array in sent]
        for array, memory in zip(sent, memories, strict=True):
            got = self.download(memory, np.zeros(1000, np.uint8))
            assert got.tobytes() == array.tobytes()

    def test_part_of_a_block(self) -> None:
        memory = self.upload(np.arange(100, dtype=np.uint8))
        self.backend.upload(np.full(10, 200, np.uint8), memory)
        got = self.download(memory, np.zeros(100, np.uint8))
        assert got[:10].tolist() == [200] * 10
        assert got[10:].tolist() == list(range(10, 100))
        assert self.download(memory, np.zeros(3, np.uint8)).tolist() == [200] * 3

    def test_memory_is_used_again(self) -> None:
        pool: Any = getattr(self.backend, "pool", None)
        if pool is None:
            return
        self.backend.allocate(123_456)
        before = pool.statistics()
        for _ in range(50):
            self.backend.allocate(123_456)
        after = pool.statistics()
        assert after.hits - before.hits == 50
        assert after.held == before.held
        assert after.held == after.in_use + after.idle

    def test_too_much_memory(self) -> None:
        try:
            self.backend.allocate(1 << 60)
        except MemoryError:
            return
        raise AssertionError("2 ** 60 bytes, and no MemoryError")

    # ------------------------------------------------------------------ memory, seen
    def test_views(self) -> None:
        """Strides of any sign, offsets, repeated elements; inputs and outputs."""
        source = np.arange(60, dtype=np.float32).reshape(5, 12)
        functions: list[Callable[[HostArray], HostArray]] = [
            lambda a: a,
            lambda a: a.T,
            lambda a: a[::-1],
            lambda a: a[1:4, ::3],
            lambda a: a[::-2, ::-5],
            lambda a: a[2],
            lambda a: a[2, 3, ...],
            lambda a: a[:0],
            lambda a: np.broadcast_to(a[1], (4, 12)),
            lambda a: np.broadcast_to(a[:, 3:4], (5, 6)),
        ]
        for function in functions:
            self._check_input(source, function)
        for function in functions[:-2]:
            self._check_output(source, function)

    def _check_input(
        self, source: HostArray, function: Callable[[HostArray], HostArray]
    ) -> None:
        backend = self.backend
        want = function(source)
        layout, dtype = Layout.dense(source.shape, 4).apply(FLOAT, function)
        given = backend.view(self.upload(source), layout, dtype)
        target = backend.allocate(want.nbytes)
        out = backend.view(target, Layout.dense(want.shape, 4), FLOAT)
        executable = backend.compile(single(elementwise.NEGATIVE, (FLOAT,)))
        backend.launch(executable, want.shape, [given], (), [out])
        backend.synchronize()
        got = self.download(target, np.empty(want.shape, np.float32))
        assert np.array_equal(got, -want)

    def _check_output(
        self, source: HostArray, function: Callable[[HostArray], HostArray]
    ) -> None:
        backend = self.backend
        want = source.copy()
        inside = function(want)
        values = np.arange(inside.size, dtype=np.float32).reshape(inside.shape)
        inside[...] = -values
        layout, dtype = Layout.dense(source.shape, 4).apply(FLOAT, function)
        memory = self.upload(source)
        out = backend.view(memory, layout, dtype)
        executable = backend.compile(single(elementwise.NEGATIVE, (FLOAT,)))
        backend.launch(executable, values.shape, [self.operand(values)], (), [out])
        backend.synchronize()
        got = self.download(memory, np.empty_like(source))
        assert np.array_equal(got, want)

    # ---------------------------------------------------------------------- programs
    def test_every_operation(self) -> None:
        """Each elementwise row, for all dtypes, within its bound."""
        for ops, dtypes in batches(self.backend.supported):
            for found in measure(self, ops, dtypes, adversarial(ops[0], dtypes, 1000)):
                assert found.is_kept, str(found)

    def test_casts(self) -> None:
        """Of all numbers that the target can hold, to the bit but for NaN."""
        for source in self.dtypes("?bBhHiIlLefdFD"):
            codes = "?FD" if source.kind == "c" else "?bBhHiIlLefdFD"
            targets = list(self.dtypes(codes))
            rows = [(elementwise.CAST, (target,)) for target in targets]
            (sent,) = adversarial(elementwise.NEGATIVE, (source,), 1000)
            found = self.execute(together(rows, (source,)), sent.shape, [sent])
            for got, target in zip(found, targets, strict=True):
                held = operands.fits(sent, target)
                with np.errstate(over="ignore", invalid="ignore"):
                    want = sent.astype(target)
                wrong = held & (got != want) & ((got == got) | (want == want))
                assert not wrong.any(), (source, target, sent[wrong][0])

    def test_shapes(self) -> None:
        rng = np.random.default_rng(2)
        program = single(elementwise.ADD, (FLOAT, FLOAT))
        for shape in SHAPES:
            x, y = (np.asarray(rng.random(shape), FLOAT) for _ in range(2))
            (got,) = self.execute(program, shape, [x, y])
            assert got.tobytes() == np.asarray(x + y).tobytes(), shape

    def test_chain_with_scalars_and_several_outputs(self) -> None:
        """``t = x * s; t + y`` and ``t`` itself."""
        program = Program(
            (FLOAT, FLOAT),
            (FLOAT,),
            (
                node(elementwise.MULTIPLY, (0, 2), (FLOAT,), (Inner.SCALAR,)),
                node(elementwise.ADD, (3, 1), (FLOAT,)),
            ),
            (4, 3),
        )
        x = np.arange(1000, dtype=np.float32)
        y = np.sqrt(x)
        total, product = self.execute(program, (1000,), [x, y], [np.float32(3)])
        assert np.array_equal(product, x * np.float32(3))
        assert np.array_equal(total, x * np.float32(3) + y)

    def test_operation_with_two_results(self) -> None:
        x = np.linspace(-5, 5, 101, dtype=np.float32)
        program = single(elementwise.MODF, (FLOAT,))
        got = self.execute(program, x.shape, [x])
        for one, want in zip(got, np.modf(x), strict=True):
            assert np.array_equal(one, want)

    def test_no_inputs(self) -> None:
        """A program over scalars alone fills its output."""
        program = Program(
            (),
            (FLOAT,),
            (node(elementwise.NEGATIVE, (0,), (FLOAT,), (Inner.SCALAR,)),),
            (1,),
        )
        (got,) = self.execute(program, (3, 4), [], [np.float32(2)])
        assert np.array_equal(got, np.full((3, 4), -2, np.float32))

    def test_output_may_be_an_input(self) -> None:
        backend = self.backend
        x = np.arange(100_000, dtype=np.float32)
        memory = self.upload(x)
        view = backend.view(memory, Layout.dense(x.shape, 4), FLOAT)
        executable = backend.compile(single(elementwise.ADD, (FLOAT, FLOAT)))
        for _ in range(3):
            backend.launch(executable, x.shape, [view, view], (), [view])
        backend.synchronize()
        assert np.array_equal(self.download(memory, np.empty_like(x)), x * 8)

    def test_compiled_once_run_often(self) -> None:
        backend = self.backend
        executable = backend.compile(single(elementwise.SQUARE, (FLOAT,)))
        for shape in ((5,), (3, 4), (70000,), ()):
            x = np.full(shape, 3, np.float32)
            target = backend.allocate(x.nbytes)
            out = backend.view(target, Layout.dense(shape, 4), FLOAT)
            backend.launch(executable, shape, [self.operand(x)], (), [out])
            backend.synchronize()
            assert (self.download(target, np.empty_like(x)) == 9).all()

    # --------------------------------------------------------------------- reductions
    def test_reductions(self) -> None:
        """All of them, with the choices of axes in turn: each row meets each choice."""
        rows = (
            *(reduction.SUM, reduction.PROD, reduction.MIN, reduction.MAX),
            *(reduction.ANY, reduction.ALL),
        )
        for place, op in enumerate(rows):
            is_logic = op in (reduction.ANY, reduction.ALL)
            for turn, dtype in enumerate(self.dtypes("?" if is_logic else "lLfdFD")):
                first = (place + turn) % len(AXES)
                for axes in AXES if is_logic else AXES[first : first + 1]:
                    self._check_reduction(op, dtype, axes)

    def _check_reduction(self, op: Op, dtype: DType, axes: tuple[int, ...]) -> None:
        shape = (3, 50, 7)
        x = operands.moderate(dtype, math.prod(shape)).reshape(shape)
        if op is reduction.PROD and dtype.kind in "fc":
            x = np.asarray(1 + x / 50, dtype)
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
        program = Program((dtype,), (), (), (), Reduction(op, 0, dtype))
        (got,) = self.execute(program, shape, [x], kept=kept)
        ufunc = op.numpy
        assert isinstance(ufunc, np.ufunc)
        want = ufunc.reduce(x, axis=axes, keepdims=True, dtype=dtype)
        if dtype.kind in "fc" and op in (reduction.SUM, reduction.PROD):
            bound = (
                64
                * np.finfo(dtype).eps
                * ufunc.reduce(np.abs(x), axis=axes, keepdims=True)
            )
            assert (np.abs(got - want) <= bound).all()
        else:
            assert np.array_equal(got, want), (op, dtype, axes)

    def test_reduction_of_an_expression_that_is_also_stored(self) -> None:
        program = Program(
            (FLOAT,),
            (),
            (node(elementwise.NEGATIVE, (0,), (FLOAT,)),),
            (1,),
            Reduction(reduction.SUM, 1, FLOAT),
        )
        x = np.arange(1000, dtype=np.float32)
        stored, total = self.execute(program, (1000,), [x], kept=(1,))
        assert np.array_equal(stored, -x)
        assert total[0] == -499500

    def test_nan_wins(self) -> None:
        x = np.array([[1, np.nan, 3], [4, 5, 6]], np.float32)
        for op in (reduction.MIN, reduction.MAX):
            program = Program((FLOAT,), (), (), (), Reduction(op, 0, FLOAT))
            (got,) = self.execute(program, (2, 3), [x], kept=(2, 1))
            assert np.isnan(got[0, 0])
            assert got[1, 0] == (4 if op is reduction.MIN else 6)

    # ------------------------------------------------------------------------ library
    def test_native_operations(self) -> None:
        """What the vendor's library offers gives what NumPy gives."""
        native = self.backend.native
        for name, given, options in operands.library_calls():
            if name in native:
                self._check_native(name, given, options)

    def _check_native(self, name: str, given: Any, options: dict[str, Any]) -> None:
        oracle: Any = LIBRARY[name].numpy
        if isinstance(oracle, np.ufunc) and oracle.signature is None:
            oracle = oracle.accumulate
        wanted = oracle(*given, **options)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        involved = {np.asarray(x).dtype for x in (*given, *wanted)}
        if not involved <= self.backend.supported:
            return
        found = self.backend.native[name](*[self.operand(x) for x in given], **options)
        self.backend.synchronize()
        for (memory, layout, dtype), want in zip(found, wanted, strict=True):
            assert layout.shape == np.shape(want), name
            assert dtype == want.dtype, name
            raw = self.download(memory, np.empty(memory.nbytes, np.uint8))
            got = np.ndarray(layout.shape, dtype, raw, layout.offset, layout.strides)
            assert np.allclose(got, want, rtol=1e-4), name

    # ------------------------------------------------------------------------ threads
    def test_threads(self) -> None:
        executable = self.backend.compile(single(elementwise.ADD, (FLOAT, FLOAT)))
        wrong: list[Any] = []

        def work(number: int) -> None:
            try:
                self._add_often(executable, number)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]

    def _add_often(self, executable: Any, number: int) -> None:
        x = np.full(3000, number, np.float32)
        for times in range(20):
            target = self.backend.allocate(x.nbytes)
            out = self.backend.view(target, Layout.dense(x.shape, 4), FLOAT)
            y = np.full(3000, times, np.float32)
            given = [self.operand(x), self.operand(y)]
            self.backend.launch(executable, x.shape, given, (), [out])
            self.backend.synchronize()
            got = self.download(target, np.empty_like(x))
            assert (got == number + times).all()
