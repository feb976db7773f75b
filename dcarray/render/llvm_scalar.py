"""Scalar operations in LLVM IR: the allowlist, and how each entry is spelled.

Every row is compared with NumPy's loop bit by bit in `tests/backend`.
What is not here runs through NumPy's own loop.  Fast-math flags are never set, but for
`accumulate`, which asks for one.
"""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np

from ..kernel.nodes import Apply, Cast, Constant, Name, Scalar, Select
from .llvm_elementary import ELEMENTARY

__all__ = [
    "TEMPLATES",
    "WORDS",
    "ScalarWriter",
    "can_cast",
    "can_lower",
    "declarations",
    "llvm_type",
]

DType = np.dtype[Any]


def kind_of(dtype: DType) -> str:
    """``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float32 or float64, or empty."""
    if not dtype.isnative or dtype.itemsize > 8:
        return ""
    if dtype.kind == "f":
        return "f" if dtype.itemsize > 2 else ""
    return dtype.kind if dtype.kind in "biu" else ""


def llvm_type(dtype: DType) -> str:
    """Type of a value in a register; in memory a bool is an ``i8``."""
    kind = kind_of(dtype)
    if kind == "b":
        return "i1"
    if kind == "f":
        return "float" if dtype.itemsize == 4 else "double"
    return f"i{8 * dtype.itemsize}"


# In the templates {n} is the result's name, {0} {1} are arguments, {t} their type, {s}
# the suffix of intrinsics, {i} the integer type of the same width, {bits} the width.
_COMPARE = {
    "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"),
    "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
    "equal": ("oeq", "eq", "eq"),
    "not_equal": ("une", "ne", "ne"),
}

_FLOAT = {
    "add": "{n} = fadd {t} {0}, {1}",
    "subtract": "{n} = fsub {t} {0}, {1}",
    "multiply": "{n} = fmul {t} {0}, {1}",
    "divide": "{n} = fdiv {t} {0}, {1}",
    "square": "{n} = fmul {t} {0}, {0}",
    "reciprocal": "{n} = fdiv {t} 1.0, {0}",
    "negative": "{n} = fneg {t} {0}",
    "positive": "{n} = bitcast {t} {0} to {t}",
    "conjugate": "{n} = bitcast {t} {0} to {t}",
    "absolute": "{n} = call {t} @llvm.fabs.{s}({t} {0})",
    "fabs": "{n} = call {t} @llvm.fabs.{s}({t} {0})",
    "sqrt": "{n} = call {t} @llvm.sqrt.{s}({t} {0})",
    "floor": "{n} = call {t} @llvm.floor.{s}({t} {0})",
    "ceil": "{n} = call {t} @llvm.ceil.{s}({t} {0})",
    "trunc": "{n} = call {t} @llvm.trunc.{s}({t} {0})",
    "rint": "{n} = call {t} @llvm.rint.{s}({t} {0})",
    "copysign": "{n} = call {t} @llvm.copysign.{s}({t} {0}, {t} {1})",
    # fmax and llvm.maximum know another order of zeros and NaN.
    "maximum": (
        "{n}.a = fcmp ogt {t} {0}, {1}\n{n}.b = fcmp uno {t} {0}, {0}\n"
        "{n}.c = or i1 {n}.a, {n}.b\n{n} = select i1 {n}.c, {t} {0}, {t} {1}"
    ),
    "minimum": (
        "{n}.a = fcmp olt {t} {0}, {1}\n{n}.b = fcmp uno {t} {0}, {0}\n"
        "{n}.c = or i1 {n}.a, {n}.b\n{n} = select i1 {n}.c, {t} {0}, {t} {1}"
    ),
    "fmax": (
        "{n}.a = fcmp ogt {t} {0}, {1}\n{n}.b = fcmp uno {t} {1}, {1}\n"
        "{n}.c = or i1 {n}.a, {n}.b\n{n} = select i1 {n}.c, {t} {0}, {t} {1}"
    ),
    "fmin": (
        "{n}.a = fcmp olt {t} {0}, {1}\n{n}.b = fcmp uno {t} {1}, {1}\n"
        "{n}.c = or i1 {n}.a, {n}.b\n{n} = select i1 {n}.c, {t} {0}, {t} {1}"
    ),
    "sign": (
        "{n}.a = fcmp ogt {t} {0}, 0.0\n{n}.b = fcmp olt {t} {0}, 0.0\n"
        "{n}.c = fcmp oeq {t} {0}, 0.0\n"
        "{n}.d = select i1 {n}.c, {t} 0.0, {t} {0}\n"
        "{n}.e = select i1 {n}.b, {t} -1.0, {t} {n}.d\n"
        "{n} = select i1 {n}.a, {t} 1.0, {t} {n}.e"
    ),
    "signbit": "{n}.a = bitcast {t} {0} to {i}\n{n} = icmp slt {i} {n}.a, 0",
    "isnan": "{n} = fcmp uno {t} {0}, {0}",
    "isinf": (
        "{n}.a = call {t} @llvm.fabs.{s}({t} {0})\n{n} = fcmp oeq {t} {n}.a, {infinity}"
    ),
    # By its bits: an ordered comparison would raise "invalid" for NaN.
    "isfinite": (
        "{n}.a = bitcast {t} {0} to {i}\n{n}.b = and {i} {n}.a, {exponent}\n"
        "{n} = icmp ne {i} {n}.b, {exponent}"
    ),
    "logical_not": "{n} = fcmp oeq {t} {0}, 0.0",
    "logical_and": (
        "{n}.a = fcmp une {t} {0}, 0.0\n{n}.b = fcmp une {t} {1}, 0.0\n"
        "{n} = and i1 {n}.a, {n}.b"
    ),
    "logical_or": (
        "{n}.a = fcmp une {t} {0}, 0.0\n{n}.b = fcmp une {t} {1}, 0.0\n"
        "{n} = or i1 {n}.a, {n}.b"
    ),
    "logical_xor": (
        "{n}.a = fcmp une {t} {0}, 0.0\n{n}.b = fcmp une {t} {1}, 0.0\n"
        "{n} = xor i1 {n}.a, {n}.b"
    ),
}

_INTEGER = {
    "add": "{n} = add {t} {0}, {1}",
    "subtract": "{n} = sub {t} {0}, {1}",
    "multiply": "{n} = mul {t} {0}, {1}",
    "square": "{n} = mul {t} {0}, {0}",
    "negative": "{n} = sub {t} 0, {0}",
    "positive": "{n} = bitcast {t} {0} to {t}",
    "conjugate": "{n} = bitcast {t} {0} to {t}",
    "bitwise_and": "{n} = and {t} {0}, {1}",
    "bitwise_or": "{n} = or {t} {0}, {1}",
    "bitwise_xor": "{n} = xor {t} {0}, {1}",
    "invert": "{n} = xor {t} {0}, -1",
    "logical_not": "{n} = icmp eq {t} {0}, 0",
    "logical_and": (
        "{n}.a = icmp ne {t} {0}, 0\n{n}.b = icmp ne {t} {1}, 0\n"
        "{n} = and i1 {n}.a, {n}.b"
    ),
    "logical_or": "{n}.a = or {t} {0}, {1}\n{n} = icmp ne {t} {n}.a, 0",
    "logical_xor": (
        "{n}.a = icmp ne {t} {0}, 0\n{n}.b = icmp ne {t} {1}, 0\n"
        "{n} = xor i1 {n}.a, {n}.b"
    ),
    # A shift by the width or more (a negative count is one) has a meaning in NumPy.
    "left_shift": (
        "{n}.a = icmp ult {t} {1}, {bits}\n{n}.b = and {t} {1}, {last}\n"
        "{n}.c = shl {t} {0}, {n}.b\n{n} = select i1 {n}.a, {t} {n}.c, {t} 0"
    ),
}

_SIGNED = {
    "absolute": "{n} = call {t} @llvm.abs.{t}({t} {0}, i1 false)",
    "maximum": "{n} = call {t} @llvm.smax.{t}({t} {0}, {t} {1})",
    "minimum": "{n} = call {t} @llvm.smin.{t}({t} {0}, {t} {1})",
    "fmax": "{n} = call {t} @llvm.smax.{t}({t} {0}, {t} {1})",
    "fmin": "{n} = call {t} @llvm.smin.{t}({t} {0}, {t} {1})",
    "sign": (
        "{n}.a = icmp sgt {t} {0}, 0\n{n}.b = ashr {t} {0}, {last}\n"
        "{n} = select i1 {n}.a, {t} 1, {t} {n}.b"
    ),
    "right_shift": (
        "{n}.a = icmp ult {t} {1}, {bits}\n"
        "{n}.b = select i1 {n}.a, {t} {1}, {t} {last}\n{n} = ashr {t} {0}, {n}.b"
    ),
}

_UNSIGNED = {
    "absolute": "{n} = bitcast {t} {0} to {t}",
    "maximum": "{n} = call {t} @llvm.umax.{t}({t} {0}, {t} {1})",
    "minimum": "{n} = call {t} @llvm.umin.{t}({t} {0}, {t} {1})",
    "fmax": "{n} = call {t} @llvm.umax.{t}({t} {0}, {t} {1})",
    "fmin": "{n} = call {t} @llvm.umin.{t}({t} {0}, {t} {1})",
    "sign": "{n}.a = icmp ne {t} {0}, 0\n{n} = zext i1 {n}.a to {t}",
    "right_shift": (
        "{n}.a = icmp ult {t} {1}, {bits}\n{n}.b = and {t} {1}, {last}\n"
        "{n}.c = lshr {t} {0}, {n}.b\n{n} = select i1 {n}.a, {t} {n}.c, {t} 0"
    ),
}

_BOOL = {
    "add": "{n} = or i1 {0}, {1}",
    "multiply": "{n} = and i1 {0}, {1}",
    "maximum": "{n} = or i1 {0}, {1}",
    "minimum": "{n} = and i1 {0}, {1}",
    "fmax": "{n} = or i1 {0}, {1}",
    "fmin": "{n} = and i1 {0}, {1}",
    "logical_and": "{n} = and i1 {0}, {1}",
    "logical_or": "{n} = or i1 {0}, {1}",
    "logical_xor": "{n} = xor i1 {0}, {1}",
    "logical_not": "{n} = xor i1 {0}, true",
    "bitwise_and": "{n} = and i1 {0}, {1}",
    "bitwise_or": "{n} = or i1 {0}, {1}",
    "bitwise_xor": "{n} = xor i1 {0}, {1}",
    "invert": "{n} = xor i1 {0}, true",
    "absolute": "{n} = bitcast i1 {0} to i1",
    "equal": "{n}.a = xor i1 {0}, {1}\n{n} = xor i1 {n}.a, true",
    "not_equal": "{n} = xor i1 {0}, {1}",
    "less": "{n}.a = xor i1 {0}, true\n{n} = and i1 {n}.a, {1}",
    "less_equal": "{n}.a = xor i1 {0}, true\n{n} = or i1 {n}.a, {1}",
    "greater": "{n}.a = xor i1 {1}, true\n{n} = and i1 {0}, {n}.a",
    "greater_equal": "{n}.a = xor i1 {1}, true\n{n} = or i1 {0}, {n}.a",
}

TEMPLATES: dict[str, dict[str, str]] = {
    "f": _FLOAT
    | {k: f"{{n}} = fcmp {v[0]} {{t}} {{0}}, {{1}}" for k, v in _COMPARE.items()},
    "i": _INTEGER
    | _SIGNED
    | {k: f"{{n}} = icmp {v[1]} {{t}} {{0}}, {{1}}" for k, v in _COMPARE.items()},
    "u": _INTEGER
    | _UNSIGNED
    | {k: f"{{n}} = icmp {v[2]} {{t}} {{0}}, {{1}}" for k, v in _COMPARE.items()},
    "b": _BOOL,
}
"""The allowlist: kind of the operands, name of the operation, spelling."""

WORDS = {
    "accumulate": "{n} = fadd reassoc {t} {0}, {1}",
    "plain_sqrt": "{n} = call {t} @llvm.sqrt.{s}({t} {0})",
    "fma": "{n} = call {t} @llvm.fma.{s}({t} {0}, {t} {1}, {t} {2})",
    "float_to_bits": "{n} = bitcast {t} {0} to {o}",
    "bits_to_float": "{n} = bitcast {t} {0} to {o}",
}
"""Words of the kernel language that no loop of NumPy's stands for.  {o} is the type of
the result."""

_ON_X86 = platform.machine().lower() in ("x86_64", "amd64")


def can_lower(name: str, inputs: tuple[DType, ...], output: DType) -> bool:
    """Whether an operation on these dtypes is on the allowlist."""
    if name == "cast":
        return can_cast(inputs[0], output)
    if name == "where":  # moves bits, so any number will do
        movable = output.isnative and output.char in "?bBhHiIlLqQefdFD"
        return movable and inputs[0].kind == "b" and inputs[1] == inputs[2] == output
    kind = kind_of(inputs[0])
    if any(dtype != inputs[0] for dtype in inputs[1:]):
        return False
    if name not in TEMPLATES.get(kind, {}):
        return False
    return output == inputs[0] or output.kind == "b"


def can_cast(source: DType, target: DType) -> bool:
    """Whether a conversion is on the allowlist.

    From float to integer only where the processor does what C compilers rely on, and
    never to the wide unsigned ones, where NumPy itself gives one answer here and
    another there.
    """
    given, wanted = kind_of(source), kind_of(target)
    if not given or not wanted:
        return False
    if given != "f" or wanted not in "iu":
        return True
    return _ON_X86 and (wanted == "i" or target.itemsize <= 2)


class ScalarWriter:
    """Writes scalar expressions, one instruction a line.

    Parameters
    ----------
    prefix : str
        Keeps the names of one loop apart from those of another.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self._count = 0

    def fresh(self) -> str:
        """A new register."""
        self._count += 1
        return f"%{self.prefix}{self._count}"

    def write(self, scalar: Scalar) -> str:
        """Registers hold the operands; returns the register of the result."""
        if isinstance(scalar, Name):
            return self.names[scalar.name]
        if isinstance(scalar, Constant):
            return _constant(scalar)
        if isinstance(scalar, Cast):
            argument = self.write(scalar.argument)
            return self._cast(argument, scalar.argument.dtype, scalar.dtype)
        if isinstance(scalar, Select):
            kind = llvm_type(scalar.dtype)
            operands = scalar.condition, scalar.when_true, scalar.when_false
            test, one, two = (self.write(operand) for operand in operands)
            return self._line(f"{{n}} = select i1 {test}, {kind} {one}, {kind} {two}")
        assert isinstance(scalar, Apply)
        return self._apply(scalar)

    def _apply(self, scalar: Apply) -> str:
        arguments = [self.write(argument) for argument in scalar.arguments]
        dtype = scalar.arguments[0].dtype
        bits = 8 * dtype.itemsize
        facts = {
            "t": llvm_type(dtype),
            "o": llvm_type(scalar.dtype),
            "s": f"f{bits}",
            "i": f"i{bits}",
            "bits": bits,
            "last": bits - 1,
            "infinity": "0x7FF0000000000000",
            "exponent": 0x7F800000 if bits == 32 else 0x7FF0000000000000,
        }
        template = ELEMENTARY.get((scalar.primitive, dtype))
        if template is None:
            template = WORDS.get(scalar.primitive)
        if template is None:
            template = TEMPLATES[kind_of(dtype)][scalar.primitive]
        return self._line(template, *arguments, **facts)

    def _cast(self, value: str, source: DType, target: DType) -> str:
        given, wanted = kind_of(source), kind_of(target)
        old, new = llvm_type(source), llvm_type(target)
        if old == new:
            return value
        if wanted == "b":
            test = "fcmp une" if given == "f" else "icmp ne"
            return self._line(f"{{n}} = {test} {old} {value}, {_zero(source)}")
        if given == "f" and wanted == "f":
            verb = "fpext" if target.itemsize > source.itemsize else "fptrunc"
            return self._line(f"{{n}} = {verb} {old} {value} to {new}")
        if given == "f":
            # C goes through int for the short types; `freeze` keeps LLVM from making
            # something else of it for values out of range.
            wide = "i64" if target.itemsize == 8 else "i32"
            found = self._line(
                f"{{n}}.a = fptosi {old} {value} to {wide}\n"
                f"{{n}} = freeze {wide} {{n}}.a"
            )
            if wide == new:
                return found
            return self._line(f"{{n}} = trunc {wide} {found} to {new}")
        if wanted == "f":
            verb = "sitofp" if given == "i" else "uitofp"
            return self._line(f"{{n}} = {verb} {old} {value} to {new}")
        if given == "b" or target.itemsize > source.itemsize:
            verb = "sext" if given == "i" else "zext"
        else:
            verb = "trunc"
        return self._line(f"{{n}} = {verb} {old} {value} to {new}")

    def _line(self, template: str, *arguments: str, **facts: Any) -> str:
        name = self.fresh()
        self.lines.extend(template.format(*arguments, n=name, **facts).split("\n"))
        return name


def _zero(dtype: DType) -> str:
    return "0.0" if dtype.kind == "f" else "0"


def _constant(scalar: Constant) -> str:
    kind = kind_of(scalar.dtype)
    if kind == "b":
        return "true" if scalar.value else "false"
    if kind == "f":
        value = np.float64(np.asarray(scalar.value, scalar.dtype))
        return f"0x{value.view(np.uint64):016X}"
    return str(int(np.asarray(scalar.value, scalar.dtype)))


_INTRINSIC = re.compile(r"call (\S+) (@llvm\.(\w+)\.\w+)\(")
_BINARY = ("copysign", "smax", "smin", "umax", "umin")


def declarations(text: str) -> list[str]:
    """A declaration for every intrinsic that ``text`` calls."""
    found = {}
    for kind, name, verb in _INTRINSIC.findall(text):
        parameters = kind
        if verb in _BINARY:
            parameters = f"{kind}, {kind}"
        elif verb == "abs":
            parameters = f"{kind}, i1"
        elif verb == "fma":
            parameters = f"{kind}, {kind}, {kind}"
        found[name] = f"declare {kind} {name}({parameters})"
    return [found[name] for name in sorted(found)]
