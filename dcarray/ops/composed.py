"""Operations that are defined by their bodies: activations and other short formulas.

A row here costs one function.  The CPU records the body's own operations (`trace`), so
that they fuse with what is around them; other devices spell the body like any other.
Operands are real; integers are computed in the default floating-point dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..kernel.language import (
    PI,
    Scalar,
    absolute,
    epsilon,
    exp,
    expm1,
    log1p,
    sin,
    sqrt,
    tanh,
    widen,
)
from . import elementwise
from .elementwise.selection import promote
from .error_function import erf, erfc
from .spec import Kind, Op, Signature

__all__ = [
    "CELU",
    "ELU",
    "ERF",
    "ERFC",
    "GELU",
    "GELU_TANH",
    "HARDTANH",
    "HARD_SHRINK",
    "HARD_SIGMOID",
    "HARD_SWISH",
    "LEAKY_RELU",
    "LOG_SIGMOID",
    "MISH",
    "RELU",
    "RELU6",
    "RSQRT",
    "SELU",
    "SIGMOID",
    "SILU",
    "SINC",
    "SOFTPLUS",
    "SOFTSIGN",
    "SOFT_SHRINK",
    "TABLE",
    "TANHSHRINK",
    "composed_row",
    "trace",
]


# ------------------------------------------------------------------------ bodies
def sigmoid(x: Scalar) -> Scalar:
    a = widen(x)
    e = exp(-absolute(a))
    return (e if a < 0 else 1.0) / (1.0 + e)


def silu(x: Scalar) -> Scalar:
    a = widen(x)
    return a * sigmoid(a)


def gelu(x: Scalar) -> Scalar:
    a = widen(x)
    return 0.5 * a * (1.0 + erf(a * math.sqrt(0.5)))


def gelu_tanh(x: Scalar) -> Scalar:
    a = widen(x)
    inner = math.sqrt(2.0 / PI) * (a + 0.044715 * a * a * a)
    return 0.5 * a * (1.0 + tanh(inner))


def relu(x: Scalar) -> Scalar:
    return 0 if x <= 0 else x


def relu6(x: Scalar) -> Scalar:
    return hardtanh(x, 0.0, 6.0)


def leaky_relu(x: Scalar, slope: Scalar) -> Scalar:
    return x * slope if x <= 0 else x


def elu(x: Scalar, alpha: Scalar) -> Scalar:
    a = widen(x)
    return a if a > 0 else alpha * expm1(0.0 if a > 0 else a)


def celu(x: Scalar, alpha: Scalar) -> Scalar:
    a = widen(x)
    return a if a > 0 else alpha * expm1((0.0 if a > 0 else a) / alpha)


def selu(x: Scalar) -> Scalar:
    """Constants of Klambauer et al., "Self-Normalizing Neural Networks", 2017."""
    a = widen(x)
    return 1.0507009873554805 * elu(a, 1.6732632423543772)


def softplus(x: Scalar) -> Scalar:
    a = widen(x)
    return log1p(exp(-absolute(a))) + relu(a)


def log_sigmoid(x: Scalar) -> Scalar:
    return -softplus(-x)


def tanh_softplus(x: Scalar) -> Scalar:
    """``tanh(log(1 + exp(x)))`` with one exponential, which never overflows."""
    e = exp(-absolute(x))
    over = e * (e + 2.0) if x < 0 else 1.0 + 2.0 * e
    return over / (over + (2.0 if x < 0 else 2.0 * e * e))


def mish(x: Scalar) -> Scalar:
    a = widen(x)
    return a * tanh_softplus(a)


def softsign(x: Scalar) -> Scalar:
    return x / (1.0 + absolute(x))


def tanhshrink(x: Scalar) -> Scalar:
    a = widen(x)
    return a - tanh(a)


def hardtanh(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    raised = low if x < low else x
    return high if raised > high else raised


def hard_sigmoid(x: Scalar) -> Scalar:
    return hardtanh(x + 3.0, 0.0, 6.0) / 6.0


def hard_swish(x: Scalar) -> Scalar:
    return x * hardtanh(x + 3.0, 0.0, 6.0) / 6.0


def hard_shrink(x: Scalar, limit: Scalar) -> Scalar:
    return 0.0 if absolute(x) <= limit else x


def soft_shrink(x: Scalar, limit: Scalar) -> Scalar:
    return x - limit if x > limit else (x + limit if x < -limit else 0.0 * x)


def rsqrt(x: Scalar) -> Scalar:
    return 1.0 / sqrt(x)


def sinc(x: Scalar) -> Scalar:
    """As `numpy.sinc` has it, with an epsilon in the place of 0."""
    scaled = PI * x
    y = epsilon(x) if scaled == 0 else scaled
    return sin(y) / y


# ----------------------------------------------------------------------- tracing
def trace(
    op: Op,
    record: Callable[..., Any],
    operands: Sequence[Any],
    dtypes: Sequence[Any],
) -> tuple[Any, ...]:
    """Run a composed row as the operations that its body is made of.

    Parameters
    ----------
    op : Op
        A row whose body has neither loops nor stores.
    record : callable
        ``record(op, *operands)`` gives the result of an elementwise row; for
        ``CAST`` the second operand is the dtype.
    operands : sequence
        Whatever ``record`` takes, or Python numbers.
    dtypes : sequence
        The operands' dtypes, as for `Op.resolve`.

    Returns
    -------
    tuple
        One result of ``record`` for each output.  Constants of the body are handed to
        ``record`` as NumPy scalars.
    """
    # The kernel language loads with the first composed operation, not with dcarray.
    from ..kernel import nodes
    from .bodies import body_kernel

    signature = op.resolve(tuple(dtypes))
    kernel = body_kernel(op, signature.inputs)
    values: dict[str, Any] = {}
    given = zip(kernel.parameters, operands, dtypes, signature.inputs)
    for parameter, operand, dtype, wanted in given:
        if isinstance(operand, (bool, int, float)):
            operand = wanted.type(operand)
        elif dtype != wanted:
            operand = record(elementwise.CAST, operand, wanted)
        values[parameter.name] = operand

    def atom(node: nodes.Scalar) -> Any:
        if isinstance(node, nodes.Constant):
            return node.dtype.type(node.value)
        assert isinstance(node, nodes.Name), node
        return values[node.name]

    for statement in kernel.body:
        assert isinstance(statement, nodes.Let), f"{op.name} is not straight-line"
        value = statement.value
        if isinstance(value, nodes.Apply):
            row = elementwise.TABLE[value.primitive]
            found = record(row, *[atom(item) for item in value.arguments])
        elif isinstance(value, nodes.Select):
            chosen = (value.condition, value.when_true, value.when_false)
            found = record(elementwise.WHERE, *[atom(item) for item in chosen])
        elif isinstance(value, nodes.Cast):
            found = record(elementwise.CAST, atom(value.argument), value.dtype)
        else:
            found = atom(value)
        values[statement.name] = found
    return tuple(atom(item) for item in kernel.results)


def _dtype(operand: Any) -> Any:
    return type(operand) if type(operand) in (int, float) else np.asarray(operand).dtype


def _run(row: Op, *operands: Any) -> Any:
    return row.numpy(*operands)


def composed_row(
    name: str,
    body: Callable[..., Any],
    inputs: int = 1,
    ulp: float = 8.0,
    integers: bool = False,
    cancelling: int = 0,
) -> Op:
    """A composed row; its NumPy function runs the same operations as `trace`.

    Parameters
    ----------
    name : str
    body : callable
        The meaning, in the kernel language.
    inputs : int
    ulp : float
    integers : bool
        Whether integers stay what they are.
    cancelling : int
        See `Op`.
    """

    def numpy_function(*operands: Any) -> Any:
        return trace(row, _run, operands, [_dtype(item) for item in operands])[0]

    def resolver(operands: tuple[Any, ...]) -> Signature:
        try:
            dtype = promote(*operands)
        except TypeError as error:
            raise DTypeError(f"{name}: {error}") from None
        if dtype.kind == "b" or (dtype.kind in "iu" and not integers):
            dtype = np.dtype(np.float64)
        if dtype.kind not in "fiu":
            raise DTypeError(f"{name}: got {dtype}, needs a real dtype")
        return Signature((dtype,) * inputs, (dtype,))

    row = Op(
        name,
        Kind.ELEMENTWISE,
        numpy_function,
        inputs,
        body=body,
        composed=True,
        ulp=ulp,
        cancelling=cancelling,
        resolver=resolver,
    )
    return row


ERF = composed_row("erf", erf)
ERFC = composed_row("erfc", erfc)
SIGMOID = composed_row("sigmoid", sigmoid)
LOG_SIGMOID = composed_row("log_sigmoid", log_sigmoid)
SILU = composed_row("silu", silu)
MISH = composed_row("mish", mish)
GELU = composed_row("gelu", gelu, cancelling=1)
GELU_TANH = composed_row("gelu_tanh", gelu_tanh, cancelling=1)
RELU = composed_row("relu", relu, ulp=0, integers=True)
RELU6 = composed_row("relu6", relu6, ulp=0)
LEAKY_RELU = composed_row("leaky_relu", leaky_relu, 2, ulp=0)
ELU = composed_row("elu", elu, 2)
CELU = composed_row("celu", celu, 2)
SELU = composed_row("selu", selu)
SOFTPLUS = composed_row("softplus", softplus)
SOFTSIGN = composed_row("softsign", softsign)
TANHSHRINK = composed_row("tanhshrink", tanhshrink, cancelling=1)
HARDTANH = composed_row("hardtanh", hardtanh, 3, ulp=0)
HARD_SIGMOID = composed_row("hard_sigmoid", hard_sigmoid)
HARD_SWISH = composed_row("hard_swish", hard_swish)
HARD_SHRINK = composed_row("hard_shrink", hard_shrink, 2, ulp=0)
SOFT_SHRINK = composed_row("soft_shrink", soft_shrink, 2, ulp=0)
RSQRT = composed_row("rsqrt", rsqrt)
SINC = composed_row("sinc", sinc)

TABLE: dict[str, Op] = {
    row.name: row
    for row in (
        *(ERF, ERFC, SIGMOID, LOG_SIGMOID, SILU, MISH, GELU, GELU_TANH),
        *(RELU, RELU6, LEAKY_RELU, ELU, CELU, SELU, SOFTPLUS, SOFTSIGN, TANHSHRINK),
        *(HARDTANH, HARD_SIGMOID, HARD_SWISH, HARD_SHRINK, SOFT_SHRINK, RSQRT, SINC),
    )
}
"""Rows by name."""
