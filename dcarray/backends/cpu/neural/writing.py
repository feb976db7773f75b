"""Functions of vectors as LLVM IR, written value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....config import current
from ....ops.fast.coefficients import (
    EXP_DOUBLE,
    EXP_SINGLE,
    LN2_DOUBLE,
    LN2_SINGLE,
)
from ..engine import Engine, engine

__all__ = ["Text", "machine_for"]

LOG2E = 1.4426950408889634


def machine_for(dtype: np.dtype[Any]) -> Engine | None:
    """What runs such functions of a dtype; None where the settings or the processor
    have nothing that does."""
    machine = engine()
    if dtype.char not in "fd" or current().engine != "auto" or machine is None:
        return None
    return machine if machine.has_fused else None


class Text:
    """Lines of text, for vectors of some bytes of ``float`` or ``double``.

    Attributes
    ----------
    lines : list of str
    number, whole, vector, wholes : str
        Types of a number, of an integer of its width, and of vectors of both.
    size, length : int
        Bytes of a number, and numbers of a vector.
    """

    def __init__(self, number: str, nbytes: int) -> None:
        self.lines: list[str] = []
        self.number = number
        self.size = 4 if number == "float" else 8
        self.length = nbytes // self.size
        self.whole = f"i{8 * self.size}"
        self.vector = f"<{self.length} x {number}>"
        self.wholes = f"<{self.length} x {self.whole}>"
        self._fma = f"@llvm.fma.v{self.length}f{8 * self.size}"
        self._block = "entry"
        self._names = 0

    def __str__(self) -> str:
        three = ", ".join([self.vector] * 3)
        declared = f"declare {self.vector} {self._fma}({three})"
        return "\n".join([*self.lines, declared]) + "\n"

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """A function without a result."""
        self._block = "entry"
        self.lines += [f"define {head} {{", "entry:"]
        yield
        self.lines += ["ret void", "}"]

    @contextmanager
    def loop(
        self,
        name: str,
        count: str | int,
        step: str | int = 1,
        carried: Mapping[str, tuple[str, str]] | None = None,
        begin: str = "0",
    ) -> Iterator[None]:
        """A loop with a counter ``%name``, from ``begin`` to ``count``.

        ``carried`` are other values, of a type and with a first value each, for which
        the body gives the next one, ``%value.next``.
        """
        values = {name: ("i64", begin), **(carried or {})}
        self.lines += [f"br label %{name}.loop", f"{name}.loop:"]
        for own, (kind, first) in values.items():
            ways = f"[ {first}, %{self._block} ], [ %{own}.next, %{name}.end ]"
            self.lines.append(f"%{own} = phi {kind} {ways}")
        self.lines += [
            f"%{name}.more = icmp slt i64 %{name}, {count}",
            f"br i1 %{name}.more, label %{name}.body, label %{name}.done",
            f"{name}.body:",
        ]
        self._block = f"{name}.body"
        yield
        self.lines += [
            f"br label %{name}.end",
            f"{name}.end:",
            f"%{name}.next = add i64 %{name}, {step}",
            f"br label %{name}.loop",
            f"{name}.done:",
        ]
        self._block = f"{name}.done"

    # --------------------------------------------------------------------------- values
    def let(self, expression: str, name: str | None = None) -> str:
        """The name of a value."""
        if name is None:
            self._names += 1
            name = f"%t{self._names}"
        self.lines.append(f"{name} = {expression}")
        return name

    def constant(self, value: float) -> str:
        """A number as text, rounded to the type of numbers."""
        rounded = np.float64(np.float32(value) if self.size == 4 else value)
        return f"0x{rounded.view(np.uint64):016X}"

    def all_of(self, value: float) -> str:
        """A vector of a constant."""
        one = f"{self.number} {self.constant(value)}"
        return f"<{', '.join([one] * self.length)}>"

    def all_wholes(self, value: int) -> str:
        return f"<{', '.join([f'{self.whole} {value}'] * self.length)}>"

    def spread(self, value: str, kind: str | None = None) -> str:
        """A vector of a number."""
        kind = kind or self.number
        vector, zeros = f"<{self.length} x {kind}>", f"<{self.length} x i32>"
        one = self.let(f"insertelement {vector} poison, {kind} {value}, i32 0")
        return self.let(
            f"shufflevector {vector} {one}, {vector} poison, {zeros} zeroinitializer"
        )

    def at(self, base: str, skip: str | int) -> str:
        return self.let(f"getelementptr i8, ptr {base}, i64 {skip}")

    def times(self, one: str, other: str | int) -> str:
        return self.let(f"mul i64 {one}, {other}")

    def smaller(self, one: str, other: str) -> str:
        less = self.let(f"icmp slt i64 {one}, {other}")
        return self.let(f"select i1 {less}, i64 {one}, i64 {other}")

    def load(self, address: str, kind: str | None = None) -> str:
        kind = kind or self.vector
        return self.let(f"load {kind}, ptr {address}, align {self.size}")

    def store(self, value: str, address: str, kind: str | None = None) -> None:
        kind = kind or self.vector
        self.lines.append(f"store {kind} {value}, ptr {address}, align {self.size}")

    def apply(self, operation: str, one: str, other: str) -> str:
        """An operation, or a comparison, of two vectors."""
        return self.let(f"{operation} {self.vector} {one}, {other}")

    def add(self, one: str, other: str) -> str:
        return self.apply("fadd", one, other)

    def subtract(self, one: str, other: str) -> str:
        return self.apply("fsub", one, other)

    def select(self, which: str, one: str, other: str) -> str:
        vector, bits = self.vector, f"<{self.length} x i1>"
        return self.let(f"select {bits} {which}, {vector} {one}, {vector} {other}")

    def fma(self, x: str, y: str, z: str, name: str | None = None) -> str:
        """``x * y + z``"""
        three = ", ".join([f"{self.vector} {value}" for value in (x, y, z)])
        return self.let(f"call {self.vector} {self._fma}({three})", name)

    def falling(self, x: str) -> str:
        """See `ops.kernels.rows.falling`."""
        single = self.size == 4
        low = self.all_of(-88.0 if single else -709.0)
        x = self.select(self.apply("fcmp olt", x, low), low, x)
        biased = self.all_of(12583039.0 if single else 6755399441056767.0)
        shifted = self.fma(x, self.all_of(LOG2E), biased)
        k = self.apply("fsub", shifted, biased)
        r = x
        for part in LN2_SINGLE if single else LN2_DOUBLE:
            r = self.fma(k, self.all_of(-part), r)
        rest = self._polynomial(r, EXP_SINGLE if single else EXP_DOUBLE)
        one = self.all_of(1.0)
        near = self.fma(self.fma(rest, r, one), r, one)
        whole = self.let(f"bitcast {self.vector} {shifted} to {self.wholes}")
        places = self.all_wholes(23 if single else 52)
        moved = self.let(f"shl {self.wholes} {whole}, {places}")
        power = self.let(f"bitcast {self.wholes} {moved} to {self.vector}")
        return self.apply("fmul", near, power)

    def _polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        result = self.all_of(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, self.all_of(coefficient))
        return result
