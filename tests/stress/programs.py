"""Random array programs: structures that do not know their data.

A `Structure` is a list of Python statements over registers ``r``, scalars ``s`` and a
module ``m`` (NumPy or the library under test).  It is found by running candidate
statements with NumPy on small sample arrays; statements that NumPy refuses are mostly
thrown away and sometimes kept as "must raise".  Lengths are symbols, so a structure can
be run with arrays of any size.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Symbol = Hashable

REAL_FLOATING = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *SIGNED, *UNSIGNED, *REAL_FLOATING, *COMPLEX)
WEIGHTS = (2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 7, 7, 2, 2)

UFUNCS = {
    name: ufunc
    for name, ufunc in sorted(vars(np).items())
    if isinstance(ufunc, np.ufunc)
    and ufunc.signature is None
    and ufunc.__name__ == name
    and name not in ("isnat",)
}
UNARY = [n for n, u in UFUNCS.items() if (u.nin, u.nout) == (1, 1)]
BINARY = [n for n, u in UFUNCS.items() if (u.nin, u.nout) == (2, 1)]
# Of two zeros, and of a number and a signalling NaN, NumPy's loops take the one or the
# other, by position in the array: np.signbit(np.fmin(np.zeros(5), np.full(5, -0.0))).
# Adding 0 first makes zeros positive and NaNs quiet.
UNDECIDED = ("fmin", "fmax")
# These loops of NumPy write next to an ``out`` that has gaps:
# out = np.zeros(64, bool)[::2]; np.isnan(np.full(32, np.nan), out=out).
ASTRAY = ("isnan", "isinf", "isfinite", "signbit")
TWO_RESULTS = [n for n, u in UFUNCS.items() if u.nout == 2]

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
BITWISE = ("&", "|", "^", "<<", ">>")
COMPARE = ("<", "<=", "==", "!=", ">", ">=")
OPERATORS = ARITHMETIC[:4] * 4 + ARITHMETIC + BITWISE + COMPARE
REDUCTIONS = (
    *("sum",) * 3,
    *("prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all"),
)

MOVEMENTS = (
    *("transpose", "slice") * 3,
    *("newaxis", "broadcast", "reshape", "swap", "part", "flip", "copy"),
)

SAMPLE_LENGTHS: dict[Symbol, int] = {1: 1, "a": 7, "b": 6, "c": 5, "d": 4}

# Slices and the symbol of the length that they leave: equal symbols, equal lengths.
SLICES = (
    ("::-1", "all"),
    ("::2", "half"),
    ("::-2", "half"),
    ("1::2", "odd"),
    ("1:", "less1"),
    (":-1", "less1"),
    ("1:-1", "less2"),
    ("2:", "less2"),
    (":-2", "less2"),
    (":3", "three"),
    ("-3:", "three"),
)


@dataclass(frozen=True)
class Leaf:
    """An input array: its dtype, symbolic shape, and whether it is written to."""

    dtype: str
    shape: tuple[Symbol, ...]
    written: bool = False


@dataclass(frozen=True)
class Step:
    """One statement: registers that it reads, defines and writes into."""

    text: str
    uses: tuple[int, ...] = ()
    defines: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    scalars: tuple[int, ...] = ()


@dataclass(frozen=True)
class Structure:
    """A program: leaves are registers ``0 .. len(leaves) - 1``."""

    symbols: str
    leaves: tuple[Leaf, ...]
    scalars: tuple[str, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    evaluate: bool = False
    shapes: frozenset[tuple[Symbol, ...]] = frozenset()

    def elements(self, sizes: dict[Symbol, int]) -> int:
        """The length of the longest array, for lengths of the base symbols."""
        return max(size_of(shape, sizes) for shape in self.shapes)

    @cached_property
    def registers(self) -> int:
        last = [len(self.leaves) - 1]
        last += [d for step in self.steps for d in step.defines]
        return max(last) + 1

    @cached_property
    def source(self) -> str:
        """The body of a function ``program(m, r, s, done, raises)``."""
        lines = ["def program(m, r, s, w, done, raises):"]
        for number, step in enumerate(self.steps):
            lines.append(f"    {step.text}")
            lines.append(f"    done[0] = {number + 1}")
        lines.append("    return None")
        return "\n".join(lines)

    @cached_property
    def run(self):
        """The function of `source`."""
        space = {"np": np}
        exec(compile(self.source, "<program>", "exec"), space)
        return space["program"]

    @cached_property
    def key(self) -> str:
        """Equal for equal structures, whatever the data, layouts and sizes."""
        facts = (
            [(leaf.dtype, leaf.shape) for leaf in self.leaves],
            self.scalars,
            [step.text for step in self.steps],
            self.results,
            self.evaluate,
        )
        return hashlib.sha1(repr(facts).encode()).hexdigest()[:16]


# --------------------------------------------------------------------- small parts
def broadcast(*shapes: tuple[Symbol, ...]) -> tuple[Symbol, ...] | None:
    """The symbolic broadcast of shapes, or None."""
    rank = max(map(len, shapes))
    result: list[Symbol] = []
    for axis in range(-rank, 0):
        found: Symbol = 1
        for shape in shapes:
            if -axis <= len(shape) and shape[axis] != 1:
                if found not in (1, shape[axis]):
                    return None
                found = shape[axis]
        result.append(found)
    return tuple(result)


def scalars_in(text: str) -> tuple[int, ...]:
    """The scalar slots that a statement mentions."""
    parts = text.split("s[")[1:]
    return tuple(int(part.split("]")[0]) for part in parts if part[:1].isdigit())


def size_of(shape: tuple[Symbol, ...], sizes: dict[Symbol, int]) -> int:
    """The number of elements of a symbolic shape (at most)."""
    count = 1
    for symbol in shape:
        if symbol in sizes:
            count *= sizes[symbol]
        elif isinstance(symbol, tuple):
            count *= size_of(symbol[1:], sizes)
        else:
            assert isinstance(symbol, int)
            count *= symbol
    return count


def sample_of(dtype: str, sizes: list[int]) -> np.ndarray:
    count = int(np.prod(sizes, dtype=np.int64))
    values = (np.arange(count) % 5 + 1).astype(dtype)
    return values.reshape(sizes)


INTS = (0, 1, 2, 2, 2, 3, 3, 4, 5, 7, 10, 100)
FLOATS = (0.5, 2.0, 1.0, 0.25, 3.0, -1.0, 1.5, 0.1, 1e-3, 100.0, -0.5, 0.0, -0.0)
ODD_FLOATS = (float("nan"), float("inf"), -float("inf"), 1e300, 1e-300, 5e-324)


def scalar_value(kind: str, r: random.Random):
    """A Python or NumPy scalar for a slot."""
    if kind == "bool":
        return r.random() < 0.5
    if kind == "int":
        return r.choice(INTS) if r.random() < 0.93 else -r.choice(INTS)
    if kind == "float":
        return r.choice(FLOATS) if r.random() < 0.93 else r.choice(ODD_FLOATS)
    if kind == "complex":
        return complex(r.choice(FLOATS), r.choice(FLOATS))
    dtype = np.dtype(kind.removeprefix("np."))
    if dtype.kind in "fc":
        value = r.choice(FLOATS) if r.random() < 0.9 else r.choice(ODD_FLOATS)
        with np.errstate(all="ignore"):
            return dtype.type(value)
    return dtype.type(r.choice(INTS))
