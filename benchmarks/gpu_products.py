"""Products of matrices: every precision, stacks, factors and biases."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from gpu_card import SIDE, Call, Card, Data, ran, random
from report import Row

import dcarray as dc

__all__ = ["products"]


class _Precision(NamedTuple):
    """What the factors are, and how each library is told so."""

    name: str
    dtype: Any
    ours: str
    jax: str | None


PRECISIONS = (
    _Precision("float32", np.float32, "ieee", "highest"),
    _Precision("TF32", np.float32, "tf32", "tensorfloat32"),
    _Precision("float16", np.float16, "ieee", "default"),
    _Precision("bfloat16", ml_dtypes.bfloat16, "ieee", "default"),
    _Precision("float64", np.float64, "ieee", None),
)
SIDES = (512, 1024, 2048, 4096, 8192)


@contextlib.contextmanager
def _set(precision: _Precision) -> Iterator[None]:
    """The same precision for all."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = precision.ours == "tf32"
    with contextlib.ExitStack() as stack:
        stack.enter_context(dc.config(matmul_precision=precision.ours))
        if precision.jax and importlib.util.find_spec("jax"):
            import jax

            stack.enter_context(jax.default_matmul_precision(precision.jax))
        yield
    torch.backends.cuda.matmul.allow_tf32 = False


def _calls(x: Data, y: Data, precision: _Precision) -> dict[str, Call]:
    import torch

    calls: dict[str, Call] = {
        "dcarray": lambda: dc.evaluate(x.dc @ y.dc),
        "torch": lambda: torch.matmul(x.torch, y.torch),
    }
    if x.cupy is not None and precision.ours == "ieee":  # it has no TF32 to ask for
        calls["cupy"] = lambda: x.cupy @ y.cupy
    if x.jax is not None and precision.jax:
        import jax

        multiply = jax.jit(jax.numpy.matmul)
        calls["jax"] = lambda: multiply(x.jax, y.jax)
    return calls


def products(card: Card) -> Iterator[Row]:
    """Products of matrices."""
    for precision in PRECISIONS:
        with _set(precision):
            for side in SIDES:
                shape, dtype = (side, side), precision.dtype
                x, y = (
                    Data(card, random(*shape, dtype=dtype, seed=k)) for k in range(2)
                )
                calls = _calls(x, y, precision)
                yield card.row(f"matmul, {precision.name}, {side}", calls, _bars(calls))
    with _set(PRECISIONS[0]):
        x, y = (Data(card, random(64, 512, 512, seed=k)) for k in range(2))
        calls = _calls(x, y, PRECISIONS[0])
        yield card.row("matmul, float32, 64 of 512", calls, _bars(calls))
        yield from _with_factors(card)
        yield from _layers(card)
        m, v = Data(card, random(SIDE, SIDE)), Data(card, random(SIDE))
        calls = {
            "dcarray": ran(lambda: m.dc @ v.dc),
            "cupy": lambda: m.cupy @ v.cupy,
            "torch": lambda: m.torch @ v.torch,
        }
        yield card.row("matrix times vector, 8192", calls, {}, 4 * SIDE * SIDE, 0.9)


def _bars(calls: dict[str, Call]) -> dict[str, float]:
    """0.98 of the better one of CuPy and PyTorch."""
    return {name: 0.98 for name in ("cupy", "torch") if name in calls}


def _with_factors(card: Card) -> Iterator[Row]:
    """alpha x.T @ y.T + beta z, written as it stands."""
    import torch

    x, y, z = (Data(card, random(1024, 1024, seed=k)) for k in range(3))
    calls: dict[str, Call] = {
        "dcarray": ran(lambda: 2.0 * (x.dc.T @ y.dc.T) + 0.5 * z.dc),
        "torch": lambda: torch.addmm(
            z.torch, x.torch.T, y.torch.T, beta=0.5, alpha=2.0
        ),
        "cupy": lambda: 2.0 * (x.cupy.T @ y.cupy.T) + 0.5 * z.cupy,
    }
    yield card.row("2 x.T @ y.T + z / 2, float32, 1024", calls, {"torch": 0.98})


def _layers(card: Card) -> Iterator[Row]:
    """Linear layers with a bias and a rectifier."""
    import torch
    from torch.nn import functional

    for dtype in ("float32", "float16"):
        x, w = (Data(card, random(2048, 2048, dtype=dtype, seed=k)) for k in range(2))
        b = Data(card, random(2048, dtype=dtype))
        calls: dict[str, Call] = {
            "dcarray": ran(
                lambda x=x, w=w, b=b: dc.nn.linear(  # type: ignore[misc]
                    x.dc, w.dc, b.dc, activation=dc.nn.relu
                )
            ),
            "torch": lambda x=x, w=w, b=b: torch.relu(  # type: ignore[misc]
                functional.linear(x.torch, w.torch, b.torch)
            ),
        }
        yield card.row(f"relu(x @ w.T + b), {dtype}, 2048", calls, {"torch": 1})
