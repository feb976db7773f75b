"""Norms of rows as machine code.

Elements of a row are read once for its mean and variance and once for the result.  A
part of a row that is in the first-level cache is gone through twice: its deviations are
from a mean that is almost its own, and parts are put together in double precision
(T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for Computing the Sample Variance",
1983).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import engine
from .spelling import words
from .writing import Text, machine_for

__all__ = ["FIELDS", "PART", "NormText", "Values", "norm_code", "norm_text"]

PART = 2048
"""Elements of a part, which may be of two arrays."""

TURNS = 4
"""Vectors at a time, whose sums do not wait for each other."""

AHEAD = 4096
"""Bytes from what is summed to what is fetched meanwhile: often the next row, which the
processor does not foresee."""

FIELDS = {
    **dict.fromkeys(("x", "weight", "bias", "out"), "ptr"),
    **dict.fromkeys(("start", "stop", "runs", "length", "row.step", "run.step"), "i64"),
    **dict.fromkeys(("weights", "weight.row", "weight.run"), "i64"),
    "epsilon": "double",
}
"""The words of `norm_text`."""

Values = list[str]


def norm_code(
    dtype: np.dtype[Any], centred: bool, weighted: bool, biased: bool, single: bool
) -> Callable[[bytes], None] | None:
    """The function of `norm_text`; None where there is none."""
    machine = machine_for(dtype)
    if machine is None:
        return None
    nbytes = machine.vector_bytes
    return _built(dtype, nbytes, centred, weighted, biased, single)


@functools.cache
def _built(
    dtype: np.dtype[Any], nbytes: int, *options: bool
) -> Callable[[bytes], None]:
    machine = engine()
    assert machine is not None
    number = "float" if dtype.itemsize == 4 else "double"
    text = norm_text(number, nbytes, *options)
    kernel = machine.kernel(text, "dcarray_norm", "norms of rows")
    return ctypes.CFUNCTYPE(None, ctypes.c_char_p)(kernel.address)


def norm_text(
    number: str, nbytes: int, centred: bool, weighted: bool, biased: bool, single: bool
) -> str:
    """The text of ``void dcarray_norm(ptr words)``, for vectors of so many bytes.

    Rows are divided by the root of their mean square and ``epsilon``, after their mean
    was subtracted if they are ``centred``.  A row is made of runs of elements that lie
    together.  Words are: addresses of the elements, of weights and bias (anything where
    there is none), and of the result; the first row and the one after the last; how
    many runs a row has, how long they are, and from one row and from one run to the
    next.  If a row is a ``single`` run, each of its elements has a weight.  Else each
    run has one: there are as many as the next number says, and their places, counted
    round, are so far from one row and from one run to the next as the two after that.
    The last word is ``epsilon``.
    """
    return str(NormText(number, nbytes, centred, weighted, biased, single))


class NormText(Text):
    """See `norm_text`."""

    name = "dcarray_norm"
    fields = FIELDS

    def __init__(
        self,
        number: str,
        nbytes: int,
        centred: bool,
        weighted: bool,
        biased: bool,
        single: bool,
    ) -> None:
        super().__init__(number, nbytes)
        self.centred = centred
        self.weighted = weighted
        self.biased = biased
        self.single = single
        self.zero = self.all_of(-0.0)
        self.middle: tuple[str, ...] = ()
        self.wide = f"<{self.length} x double>"
        with self.function(f"void @{self.name}(ptr %words)"):
            self.lines += words(self.fields)
            with self.loop("row", "%stop", begin="%start"):
                self.row()
        self.lines += [
            "declare double @llvm.sqrt.f64(double)",
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            f"declare double @llvm.vector.reduce.fadd.v{self.length}f64"
            f"(double, {self.wide})",
        ]

    # --------------------------------------------------------------------- small pieces
    def real(self, operation: str, one: str, other: str) -> str:
        """An operation of two numbers in double precision."""
        return self.let(f"{operation} double {one}, {other}")

    def counted(self, count: str) -> str:
        return self.let(f"sitofp i64 {count} to double")

    def rounded(self, value: str) -> str:
        """A number in double precision as one of the elements' type."""
        if self.size == 8:
            return value
        return self.let(f"fptrunc double {value} to float")

    def widened(self, value: str) -> str:
        return value if self.size == 8 else self.let(f"fpext float {value} to double")

    def total(self, sums: str) -> str:
        """The sum of a vector in double precision."""
        if self.size == 4:
            sums = self.let(f"fpext {self.vector} {sums} to {self.wide}")
        return self.let(
            f"call reassoc double @llvm.vector.reduce.fadd.v{self.length}f64"
            f"(double -0.0, {self.wide} {sums})"
        )

    def named(self, value: str, name: str, kind: str) -> None:
        nothing = "-0.0" if kind == "double" else self.zero
        self.let(f"fadd {kind} {value}, {nothing}", name)

    def element(self, base: str, index: str) -> str:
        return self.at(base, self.times(index, self.size))

    def run(self, base: str, run: str) -> str:
        """Where a run of the row begins."""
        place = self.let(
            f"add i64 {self.times('%row', '%row.step')}, {self.times(run, '%run.step')}"
        )
        return self.element(base, place)

    def tails(self, count: str) -> tuple[str, str, str]:
        """Elements in whole vectors; whether a last vector, which reaches back, has the
        rest; and otherwise how many there are one by one."""
        whole = self.let(f"and i64 {count}, {-self.length}")
        rest = self.let(f"sub i64 {count}, {whole}")
        short = self.let(f"icmp slt i64 %length, {self.length}")
        one = self.let(f"select i1 {short}, i64 0, i64 1")
        back = self.smaller(rest, one)
        return whole, back, self.let(f"select i1 {short}, i64 {rest}, i64 0")

    # ----------------------------------------------------------------------------- sums
    def sums(
        self,
        name: str,
        here: Values,
        count: str,
        nothing: Values,
        add: Callable[[Values, Values], Values],
        many: int,
        ahead: bool = False,
    ) -> Values:
        """Sums over some elements of arrays: ``add`` gives them with a vector of each
        more.  ``nothing`` are vectors of elements that add none."""
        block = TURNS * self.length
        most = self.let(f"and i64 {count}, {-block}")
        names = [f"{name}.{turn}.{i}" for turn in range(TURNS) for i in range(many)]
        carried = dict.fromkeys(names, (self.vector, self.zero))
        with self.loop(name, most, block, carried):
            starts = [self.element(base, f"%{name}") for base in here]
            for turn in range(TURNS):
                places = [self.at(s, turn * self.length * self.size) for s in starts]
                if ahead:
                    for place in places:
                        far = f"ptr {self.at(place, AHEAD)}, i32 0, i32 3, i32 1"
                        self.lines.append(f"call void @llvm.prefetch.p0({far})")
                own = names[turn * many : (turn + 1) * many]
                found = add([self.load(at) for at in places], [f"%{n}" for n in own])
                for value, one in zip(found, own):
                    self.named(value, f"%{one}.next", self.vector)
        sums = []
        for i in range(many):
            value = f"%{names[i]}"
            for turn in range(1, TURNS):
                value = self.apply("fadd", value, f"%{names[turn * many + i]}")
            sums.append(value)
        whole, back, single = self.tails(count)
        last = self.let(f"sub i64 {count}, {self.length}")
        new = self.since(self.let(f"sub i64 {whole}, {last}"))
        for tag, first, stop, step in (
            ("whole", most, whole, self.length),
            ("back", "0", back, 1),
            ("one", "0", single, 1),
        ):
            own = [f"{name}.{tag}.{i}" for i in range(many)]
            carried = {one: (self.vector, value) for one, value in zip(own, sums)}
            with self.loop(f"{name}.{tag}", stop, step, carried, first):
                index = last if tag == "back" else f"%{name}.{tag}"
                given = []
                for base, none in zip(here, nothing):
                    address = self.element(base, index)
                    if tag == "one":
                        x = self.load(address, self.number)
                        ways = f"{self.vector} {none}, {self.number} {x}, i32 0"
                        given.append(self.let(f"insertelement {ways}"))
                    else:
                        x = self.load(address)
                        given.append(self.select(new, x, none) if tag == "back" else x)
                found = add(given, [f"%{one}" for one in own])
                for value, one in zip(found, own):
                    self.named(value, f"%{one}.next", self.vector)
            sums = [f"%{one}" for one in own]
        return sums

    def since(self, first: str) -> str:
        """Which lanes are not before one of them."""
        lanes = ", ".join([f"i64 {i}" for i in range(self.length)])
        begun = self.spread(first, "i64")
        return self.let(f"icmp sge <{self.length} x i64> <{lanes}>, {begun}")

    def part(self, here: str, count: str) -> tuple[str, str]:
        """The mean of a part, and the sum of the squares of its deviations from it."""
        if not self.centred:
            given = ([here], count, [self.zero])
            (squares,) = self.sums("s", *given, self.squares, 1, True)
            return "0.0", self.total(squares)
        number = self.counted(count)
        # Distances from some element are sums that stay finite.
        some = self.load(here, self.number)
        some_all = self.spread(some)

        def distances(x: Values, sums: Values) -> Values:
            return [self.apply("fadd", sums[0], self.apply("fsub", x[0], some_all))]

        (sums,) = self.sums("a", [here], count, [some_all], distances, 1)
        far = self.real("fdiv", self.total(sums), number)
        near = self.rounded(self.real("fadd", self.widened(some), far))
        near_all = self.spread(near)

        def deviations(x: Values, sums: Values) -> Values:
            apart = self.apply("fsub", x[0], near_all)
            added = self.apply("fadd", sums[0], apart)
            return [added, *self.squares([apart], sums[1:])]

        off, squares = self.sums("s", [here], count, [near_all], deviations, 2, True)
        whole = self.total(off)
        more = self.real("fdiv", whole, number)
        less = self.real("fsub", self.total(squares), self.real("fmul", whole, more))
        return self.real("fadd", self.widened(near), more), less

    def squares(self, x: Values, sums: Values) -> Values:
        return [self.fma(x[0], x[0], sums[0])]

    def moments(self) -> tuple[str, str]:
        """The mean of a row and its variance, or, if not centred, 0 and mean square."""
        kept = ("many", "mean", "square")
        before = dict.fromkeys(kept, ("double", "0.0"))
        inside = {f"{name}.run": ("double", f"%{name}") for name in kept}
        with self.loop("run", "%runs", carried=before):
            base = self.run("%x", "%run")
            with self.loop("begin", "%length", PART, inside):
                left = self.let("sub i64 %length, %begin")
                count = self.smaller(left, str(PART))
                mean, square = self.part(self.element(base, "%begin"), count)
                number = self.counted(count)
                many = self.real("fadd", "%many.run", number)
                self.named(many, "%many.run.next", "double")
                if self.centred:
                    apart = self.real("fsub", mean, "%mean.run")
                    share = self.real("fdiv", number, many)
                    moved = self.real("fmul", apart, share)
                    mean = self.real("fadd", "%mean.run", moved)
                    between = self.real("fmul", moved, apart)
                    more = self.real("fmul", between, "%many.run")
                    square = self.real("fadd", square, more)
                self.named(mean, "%mean.run.next", "double")
                square = self.real("fadd", "%square.run", square)
                self.named(square, "%square.run.next", "double")
            for name in kept:
                self.named(f"%{name}.run", f"%{name}.next", "double")
        return "%mean", self.real("fdiv", "%square", "%many")

    # --------------------------------------------------------------------------- result
    def factors(self) -> str:
        """What a row is divided by, as a factor; `distance` knows its mean."""
        mean, square = self.moments()
        whole = self.real("fadd", square, "%epsilon")
        root = self.let(f"call double @llvm.sqrt.f64(double {whole})")
        high = self.rounded(mean)
        low = self.rounded(self.real("fsub", mean, self.widened(high)))
        self.middle = (self.spread(high), self.spread(low))
        return self.spread(self.rounded(self.real("fdiv", "1.0", root)))

    def distance(self, x: str) -> str:
        """From the mean, if that is subtracted."""
        if self.centred:
            for part in self.middle:
                x = self.apply("fsub", x, part)
        return x

    def place(self, run: str) -> str:
        """Which weight a run has."""
        by_row = self.times("%row", "%weight.row")
        by_run = self.times(run, "%weight.run")
        return self.let(f"srem i64 {self.let(f'add i64 {by_row}, {by_run}')}, %weights")

    def row(self) -> None:
        factor = self.factors()
        with self.loop("to", "%runs"):
            slope, shift = factor, None
            if not self.single:
                own = self.place("%to")
                if self.weighted:
                    one = self.load(self.element("%weight", own), self.number)
                    slope = self.apply("fmul", slope, self.spread(one))
                if self.biased:
                    one = self.load(self.element("%bias", own), self.number)
                    shift = self.spread(one)
            source, target = self.run("%x", "%to"), self.run("%out", "%to")

            def store(index: str, alone: bool) -> None:
                def given(base: str) -> str:
                    address = self.element(base, index)
                    if alone:
                        return self.spread(self.load(address, self.number))
                    return self.load(address)

                x = self.distance(given(source))
                bias = given("%bias") if self.single and self.biased else shift
                if self.single and self.weighted:
                    x = self.apply("fmul", x, slope)
                    by = given("%weight")
                else:
                    by = slope
                found = self.fma(x, by, bias) if bias else self.apply("fmul", x, by)
                address = self.element(target, index)
                if alone:
                    one = self.let(f"extractelement {self.vector} {found}, i32 0")
                    self.store(one, address, self.number)
                else:
                    self.store(found, address)

            most, back, single = self.tails("%length")
            with self.loop("o", most, self.length):
                store("%o", False)
            with self.loop("o.back", back):
                store(self.let(f"sub i64 %length, {self.length}"), False)
            with self.loop("o.one", single):
                store("%o.one", True)
