"""A stateful machine: NumPy is the model, the library the system.

Registers hold the same array twice.  Rules record operations, make views, write in
place, drop, evaluate, export and copy, in any order; after each rule that reads, both
sides agree in dtype, shape, strides and bits.
"""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import dcarray as dc
from tests.stress.compare import difference, same_error
from tests.stress.data import NAMES, layout_of, pool
from tests.stress.programs import BINARY, DTYPES, UNARY, UNDECIDED

SHAPES = ((), (1,), (5,), (8,), (0,), (3, 5), (5, 5), (4, 1), (1, 5), (2, 3, 4), (130,))
INDICES = (
    "...",
    "::-1, ...",
    "1:, ...",
    ":-1, ...",
    "::2, ...",
    "..., ::-2",
    "..., None",
    "None, ...",
    "..., 0",
    "-1, ...",
    "..., 1:3",
)
DECIDED = [name for name in BINARY if name not in UNDECIDED]
OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "==", ">=")
SCALARS = (0, 1, 2, 3, 0.5, -1.5, 2.0, True, np.float32(0.25), np.int16(3), 1j)
MOST = 12

pick = st.integers(0, MOST - 1)


class Machine(RuleBasedStateMachine):
    """Pairs of a NumPy array and an array of the library."""

    lazy = "always"
    engine = "interpreter"

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[np.ndarray, Any]] = []
        self.setting = dc.config(
            lazy=self.lazy, engine=self.engine, small_array=64, threads=1
        )
        self.setting.__enter__()
        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("ignore")
        self.state = np.errstate(all="ignore")
        self.state.__enter__()

    def teardown(self) -> None:
        try:
            for mine, theirs in self.pairs:
                self.agree(mine, theirs)
        finally:
            self.state.__exit__(None, None, None)
            self.caught.__exit__(None, None, None)
            self.setting.__exit__(None, None, None)

    # ------------------------------------------------------------------- helpers
    def keep(self, mine: Any, theirs: Any) -> None:
        mine = mine if type(mine) is np.ndarray else np.asarray(mine)
        if mine.dtype.kind not in "biufc" or mine.dtype.char in "gG" or mine.ndim > 5:
            return
        assert isinstance(theirs, dc.ndarray)
        if len(self.pairs) >= MOST:
            del self.pairs[0]
        self.pairs.append((mine, theirs))

    def at(self, index: int) -> tuple[np.ndarray, Any]:
        return self.pairs[index % len(self.pairs)]

    def agree(self, mine: np.ndarray, theirs: Any) -> None:
        reason = difference(theirs, mine)
        assert reason is None, reason

    def both(self, call: Any) -> tuple[bool, Any, Any]:
        """``call(module, side)`` on both sides: whether it worked, and the results."""
        results: list[Any] = []
        errors: list[Exception | None] = []
        for side, module in enumerate((np, dc)):
            try:
                results.append(call(module, side))
                errors.append(None)
            except Exception as error:
                results.append(None)
                errors.append(error)
        assert same_error(errors[1], errors[0]), (errors[1], errors[0])
        return errors[0] is None, results[0], results[1]

    def record(self, call: Any) -> None:
        worked, mine, theirs = self.both(call)
        if worked:
            mine = mine if isinstance(mine, tuple) else (mine,)
            theirs = theirs if isinstance(theirs, tuple) else (theirs,)
            for one, other in zip(mine, theirs, strict=True):
                self.keep(one, other)

    # --------------------------------------------------------------------- rules
    @initialize(shape=st.sampled_from(SHAPES), dtype=st.sampled_from(DTYPES))
    def first(self, shape: tuple[int, ...], dtype: str) -> None:
        self.make(shape, dtype, "C", 0, "calm")

    @rule(
        shape=st.sampled_from(SHAPES),
        dtype=st.sampled_from(DTYPES),
        layout=st.sampled_from(sorted(set(NAMES))),
        offset=st.integers(0, 500),
        flavour=st.sampled_from(("calm", "positive", "odd")),
    )
    def make(
        self, shape: tuple[int, ...], dtype: str, layout: str, offset: int, flavour: str
    ) -> None:
        plan = layout_of(shape, layout, random.Random(offset))
        count = int(np.prod(plan.stored, dtype=np.int64))
        values = pool(dtype, flavour)[offset : offset + count].reshape(plan.stored)
        self.keep(plan.apply(values.copy(), np), plan.apply(dc.asarray(values), dc))

    @rule(x=pick, name=st.sampled_from(UNARY))
    def unary(self, x: int, name: str) -> None:
        pair = self.at(x)
        self.record(lambda m, side: getattr(m, name)(pair[side]))

    @rule(x=pick, y=pick, name=st.sampled_from(DECIDED))
    def binary(self, x: int, y: int, name: str) -> None:
        a, b = self.at(x), self.at(y)
        self.record(lambda m, side: getattr(m, name)(a[side], b[side]))

    @rule(x=pick, y=pick, symbol=st.sampled_from(OPERATORS))
    def operator(self, x: int, y: int, symbol: str) -> None:
        a, b = self.at(x), self.at(y)
        code = f"x {symbol} y"
        self.record(lambda m, side: eval(code, {"x": a[side], "y": b[side]}))

    @rule(
        x=pick,
        scalar=st.sampled_from(SCALARS),
        symbol=st.sampled_from(OPERATORS),
        left=st.booleans(),
    )
    def with_scalar(self, x: int, scalar: Any, symbol: str, left: bool) -> None:
        a = self.at(x)
        code = f"s {symbol} x" if left else f"x {symbol} s"
        self.record(lambda m, side: eval(code, {"x": a[side], "s": scalar}))

    @rule(c=pick, x=pick, y=pick)
    def where(self, c: int, x: int, y: int) -> None:
        a, b, d = self.at(c), self.at(x), self.at(y)
        self.record(lambda m, side: m.where(a[side], b[side], d[side]))

    @rule(x=pick, dtype=st.sampled_from(DTYPES))
    def cast(self, x: int, dtype: str) -> None:
        a = self.at(x)
        if dtype.startswith("u") and a[0].dtype.kind in "fc":
            dtype = "float32"  # out of range, NumPy itself has no one answer
        self.record(lambda m, side: a[side].astype(dtype))

    @rule(x=pick, index=st.sampled_from(INDICES))
    def view(self, x: int, index: str) -> None:
        a = self.at(x)
        code = f"x[{index}]"
        self.record(lambda m, side: kept(eval(code, {"x": a[side]}), m))

    @rule(x=pick)
    def transpose(self, x: int) -> None:
        a = self.at(x)
        self.record(lambda m, side: a[side].T)

    @rule(x=pick, y=pick)
    def broadcast(self, x: int, y: int) -> None:
        a, b = self.at(x), self.at(y)
        self.record(lambda m, side: m.broadcast_to(a[side], b[side].shape))

    @rule(x=pick, order=st.sampled_from("CF"))
    def flat(self, x: int, order: str) -> None:
        a = self.at(x)
        self.record(lambda m, side: a[side].reshape(-1, order=order))

    @rule(
        x=pick,
        name=st.sampled_from(
            ("sum", "prod", "mean", "var", "min", "max", "argmax", "any")
        ),
        axis=st.sampled_from((None, 0, -1)),
        keep=st.booleans(),
    )
    def reduce(self, x: int, name: str, axis: int | None, keep: bool) -> None:
        a = self.at(x)
        self.record(lambda m, side: getattr(m, name)(a[side], axis=axis, keepdims=keep))

    # -------------------------------------------------------------------- writes
    def wrote(self, call: Any, target: int) -> None:
        """Run a write; after an error, what it left is not specified."""
        worked, _, _ = self.both(call)
        if not worked:
            mine = self.at(target)[0]
            if mine.flags.writeable:
                self.both(lambda m, side: self.at(target)[side].fill(1))

    @rule(x=pick, y=pick, symbol=st.sampled_from(OPERATORS[:9]))
    def in_place(self, x: int, y: int, symbol: str) -> None:
        a, b = self.at(x), self.at(y)
        code = f"x {symbol}= y"
        self.wrote(lambda m, side: exec(code, {"x": a[side], "y": b[side]}), x)

    @rule(
        x=pick,
        scalar=st.sampled_from(SCALARS),
        index=st.sampled_from(INDICES),
        symbol=st.sampled_from(("", "+", "*")),
    )
    def assign_scalar(self, x: int, scalar: Any, index: str, symbol: str) -> None:
        a = self.at(x)
        if a[0].dtype.kind == "u" and isinstance(scalar, float | complex | np.floating):
            scalar = 1
        code = f"x[{index}] {symbol}= s"
        self.wrote(lambda m, side: exec(code, {"x": a[side], "s": scalar}), x)

    @rule(
        x=pick, y=pick, index=st.sampled_from(INDICES), other=st.sampled_from(INDICES)
    )
    def assign(self, x: int, y: int, index: str, other: str) -> None:
        a, b = self.at(x), self.at(y)
        if a[0].dtype.kind == "u" and b[0].dtype.kind in "fc":
            return
        code = f"x[{index}] = y[{other}]"
        self.wrote(lambda m, side: exec(code, {"x": a[side], "y": b[side]}), x)

    @rule(x=pick, y=pick, z=pick, name=st.sampled_from(DECIDED))
    def into(self, x: int, y: int, z: int, name: str) -> None:
        a, b, out = self.at(x), self.at(y), self.at(z)
        self.wrote(lambda m, side: getattr(m, name)(a[side], b[side], out=out[side]), z)

    @rule(x=pick)
    def export_and_write(self, x: int) -> None:
        a = self.at(x)
        if a[0].size and a[0].flags.writeable:
            for side in (0, 1):
                np.asarray(a[side])[...] = 3

    # --------------------------------------------------------------------- reads
    @rule(x=pick)
    def drop(self, x: int) -> None:
        if len(self.pairs) > 1:
            del self.pairs[x % len(self.pairs)]

    @rule(x=pick)
    def read(self, x: int) -> None:
        self.agree(*self.at(x))

    @rule(x=pick, y=pick)
    def evaluate(self, x: int, y: int) -> None:
        dc.evaluate(self.at(x)[1], self.at(y)[1])

    @rule(x=pick, how=st.sampled_from(("copy", "deepcopy", "pickle", "array")))
    def duplicate(self, x: int, how: str) -> None:
        calls = {
            "copy": lambda a, m: copy.copy(a),
            "deepcopy": lambda a, m: copy.deepcopy(a),
            "pickle": lambda a, m: pickle.loads(pickle.dumps(a)),
            "array": lambda a, m: m.array(a),
        }
        a = self.at(x)
        self.record(lambda m, side: calls[how](a[side], m))

    @precondition(lambda self: self.pairs)
    @invariant()
    def described(self) -> None:
        """Shape, dtype and strides are known without running anything."""
        mine, theirs = self.pairs[-1]
        assert (theirs.shape, theirs.dtype) == (mine.shape, mine.dtype)
        assert theirs.strides == mine.strides


def kept(value: Any, module: Any) -> Any:
    """A single element read by an index is a copy in NumPy: so it is here."""
    return module.asarray(value).copy() if getattr(value, "ndim", 0) == 0 else value


class CompiledMachine(Machine):
    """The same with compiled kernels."""

    engine = "auto"


class DefaultMachine(CompiledMachine):
    """The same with laziness as it is by default."""

    lazy = "auto"


def short(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


TestInterpreted = Machine.TestCase
TestInterpreted.settings = short(200)
TestCompiled = CompiledMachine.TestCase
TestCompiled.settings = short(60)
TestDefault = DefaultMachine.TestCase
TestDefault.settings = short(100)
