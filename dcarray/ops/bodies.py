"""The scalar body of a row as IR: what renderers spell and the interpreter runs."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..kernel import infer, nodes
from ..kernel.parse import parse
from ..kernel.rewrite import simplify
from .spec import DType, Op

__all__ = ["body_kernel", "combine_kernel", "fast_kernel"]


@cache
def body_kernel(
    op: Op, dtypes: tuple[DType, ...], results: tuple[DType, ...] | None = None
) -> nodes.Kernel:
    """The body of an elementwise row for given dtypes.

    Parameters
    ----------
    op : Op
    dtypes : tuple of dtype
        Of the operands, as `Op.resolve` gives them.
    results : tuple of dtype, optional
        Of the results; needed for ``cast`` only, which can give any dtype.

    Returns
    -------
    Kernel
        A scalar function: parameters are `Value`, there is a result for each output.
    """
    if op.body is not None:
        kernel = parse(op.body, dtypes, op.name, op.composed)
    else:
        names = [nodes.Name(f"x{place}", dtype) for place, dtype in enumerate(dtypes)]
        parameters = tuple(nodes.Value(item.name, item.dtype) for item in names)
        value: nodes.Scalar
        if op.name == "cast":
            value = names[0]
        else:
            value = infer.apply(op.name, *names)
        kernel = nodes.Kernel(op.name, parameters, (), (value,))
    wanted = op.resolve(dtypes).outputs if results is None else results
    converted = tuple(
        infer.convert(item, dtype) for item, dtype in zip(kernel.results, wanted)
    )
    kernel = nodes.Kernel(op.name, kernel.parameters, kernel.body, converted)
    return simplify(kernel)


@cache
def fast_kernel(op: Op, dtypes: tuple[DType, ...]) -> nodes.Kernel:
    """The body of a row of `ops.fast`, with the results that are described there."""
    assert op.fast is not None
    return simplify(parse(op.fast, dtypes, op.name))


@cache
def combine_kernel(op: Op, dtype: DType) -> nodes.Kernel:
    """How a reduction or scan makes one partial result of two.

    Parameters
    ----------
    op : Op
    dtype : dtype
        Of the accumulator.

    Returns
    -------
    Kernel
        ``(x, y)`` → one result; for ``argmin`` and ``argmax``, which carry an index
        along, ``(x, x_index, y, y_index)`` → two.
    """
    assert op.body is not None
    if op.name in ("argmin", "argmax"):
        given: tuple[DType, ...] = (dtype, np.dtype(np.intp))
    else:
        given = (dtype,)
    return simplify(parse(op.body, given * 2, op.name))
