"""Gradients of norms as machine code: a row's mean and variance, two sums of products
with the gradient, and the result, while the row is in cache."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import engine
from .moments import FIELDS, PART, NormText, Values
from .writing import machine_for

__all__ = ["norm_gradient_code", "norm_gradient_text"]

GRADIENT_FIELDS = {
    **dict.fromkeys(("x", "g", "weight", "out", "of.weight", "of.bias"), "ptr"),
    **{name: kind for name, kind in FIELDS.items() if kind != "ptr"},
}
"""The words of `norm_gradient_text`."""


def norm_gradient_code(
    dtype: np.dtype[Any], centred: bool, weighted: bool, single: bool
) -> Callable[[bytes], None] | None:
    """The function of `norm_gradient_text`; None where there is none."""
    machine = machine_for(dtype)
    if machine is None:
        return None
    nbytes = machine.vector_bytes
    return _built(dtype, nbytes, centred, weighted, single)


@functools.cache
def _built(
    dtype: np.dtype[Any], nbytes: int, *options: bool
) -> Callable[[bytes], None]:
    machine = engine()
    assert machine is not None
    number = "float" if dtype.itemsize == 4 else "double"
    text = norm_gradient_text(number, nbytes, *options)
    kernel = machine.kernel(text, GradientText.name, "gradients of norms")
    return ctypes.CFUNCTYPE(None, ctypes.c_char_p)(kernel.address)


def norm_gradient_text(
    number: str, nbytes: int, centred: bool, weighted: bool, single: bool
) -> str:
    """The text of ``void dcarray_norm_gradient(ptr words)``.

    Words are those of `norm_text`, with the gradient in the result after the elements
    and, in place of bias and result, the gradient in x and the shares of the rows in
    those in weight and bias: of a row that is a ``single`` run added to numbers for
    each element, and else stored as a number in double precision for each row and run.
    """
    return str(GradientText(number, nbytes, centred, weighted, False, single))


class GradientText(NormText):
    """See `norm_gradient_text`."""

    name = "dcarray_norm_gradient"
    fields = GRADIENT_FIELDS

    def row(self) -> None:
        factor = self.factors()
        self._sums(factor)
        sizes = self.counted(self.times("%runs", "%length"))
        means = []
        for name in ("all", "along"):
            mean = self.real("fdiv", f"%{name}", sizes)
            means.append(self.spread(self.rounded(mean)))
        with self.loop("to", "%runs"):
            slope = None
            if self.weighted and not self.single:
                slope = self.spread(self._slope("%to"))
            bases = [self.run(base, "%to") for base in ("%x", "%g", "%out")]

            def store(index: str, new: str | None, alone: bool) -> None:
                self._store(index, bases, slope, (factor, *means), new, alone)

            whole, back, single = self.tails("%length")
            with self.loop("o", whole, self.length):
                store("%o", None, False)
            with self.loop("o.back", back):
                last = self.let(f"sub i64 %length, {self.length}")
                new = self.since(self.let(f"sub i64 {whole}, {last}"))
                store(last, new, False)
            with self.loop("o.one", single):
                store("%o.one", None, True)

    def _slope(self, run: str) -> str:
        return self.load(self.element("%weight", self.place(run)), self.number)

    def _sums(self, factor: str) -> None:
        """``all``, the sum of the gradient times the weights, and ``along``, that of
        its products with the normal numbers."""
        kept = ("all", "along")
        many = 3 if self.weighted and self.single else 2

        def products(given: Values, sums: Values) -> Values:
            x, g, *weight = given
            if weight:
                g = self.apply("fmul", g, weight[0])
            normal = self.apply("fmul", self.distance(x), factor)
            return [self.apply("fadd", sums[0], g), self.fma(g, normal, sums[1])]

        with self.loop("p", "%runs", carried=dict.fromkeys(kept, ("double", "0.0"))):
            bases = [self.run("%x", "%p"), self.run("%g", "%p"), "%weight"][:many]
            inside = {f"{name}.run": ("double", "0.0") for name in kept}
            with self.loop("piece", "%length", PART, inside):
                left = self.let("sub i64 %length, %piece")
                count = self.smaller(left, str(PART))
                here = [self.element(base, "%piece") for base in bases]
                nothing = [self.all_of(0.0)] * many
                found = self.sums("m", here, count, nothing, products, 2, True)
                for name, sums in zip(kept, found):
                    whole = self.real("fadd", f"%{name}.run", self.total(sums))
                    self.named(whole, f"%{name}.run.next", "double")
            if not self.single:
                place = self.let(f"add i64 {self.times('%row', '%runs')}, %p")
                skip = self.times(place, 8)
                self.store("%all.run", self.at("%of.bias", skip), "double")
                self.store("%along.run", self.at("%of.weight", skip), "double")
            slope = None
            if self.weighted and not self.single:
                slope = self.widened(self._slope("%p"))
            for name in kept:
                own = f"%{name}.run"
                if slope is not None:
                    own = self.real("fmul", own, slope)
                self.named(
                    self.real("fadd", f"%{name}", own), f"%{name}.next", "double"
                )

    def _store(
        self,
        index: str,
        bases: Values,
        slope: str | None,
        known: tuple[str, ...],
        new: str | None,
        alone: bool,
    ) -> None:
        """The gradient in a vector of x, or in one element; ``new`` are the lanes that
        were not there before."""
        factor, mean, along = known

        def place(base: str) -> str:
            return self.element(base, index)

        def given(base: str) -> str:
            if alone:
                return self.spread(self.load(place(base), self.number))
            return self.load(place(base))

        def store(value: str, base: str) -> None:
            if alone:
                one = self.let(f"extractelement {self.vector} {value}, i32 0")
                self.store(one, place(base), self.number)
            else:
                self.store(value, place(base))

        x, g = given(bases[0]), given(bases[1])
        normal = self.apply("fmul", self.distance(x), factor)
        if self.single:
            share = self.apply("fmul", g, normal)
            for more, base in ((share, "%of.weight"), (g, "%of.bias")):
                if new is not None:
                    more = self.select(new, more, self.zero)
                store(self.apply("fadd", given(base), more), base)
            if self.weighted:
                g = self.apply("fmul", g, given("%weight"))
        elif slope is not None:
            g = self.apply("fmul", g, slope)
        less = self.apply("fmul", normal, along)
        rest = self.apply("fsub", g, less)
        if self.centred:
            rest = self.apply("fsub", rest, mean)
        store(self.apply("fmul", rest, factor), bases[2])
