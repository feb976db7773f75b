"""The same work, written for other libraries.  Those not installed are left out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["NAMES", "adders", "chains", "installed"]

Call = Callable[[], object]
HostArray = np.ndarray[Any, Any]

NAMES = {
    "numexpr": "numexpr",
    "torch": "PyTorch eager",
    "numba": "Numba parallel",
    "jax": "jax.jit",
}


def installed() -> dict[str, bool]:
    """Which of the peers can be imported."""
    return {name: importlib.util.find_spec(name) is not None for name in NAMES}


def chains(a: HostArray, b: HostArray, c: HostArray) -> dict[str, Call]:
    """``exp(a*b+c)*0.5-sqrt(a)``, by the name of the module that computes it."""
    builders = {
        "numexpr": _numexpr_chain,
        "torch": _torch_chain,
        "numba": _numba_chain,
        "jax": _jax_chain,
    }
    return {
        name: builders[name](a, b, c)
        for name, present in installed().items()
        if present
    }


def adders(a: HostArray, b: HostArray) -> dict[str, Call]:
    """``a + b`` in PyTorch, if it is installed."""
    if not installed()["torch"]:
        return {}
    import torch

    x, y = torch.from_numpy(a), torch.from_numpy(b)
    return {"torch": lambda: x + y}


def _numexpr_chain(a: HostArray, b: HostArray, c: HostArray) -> Call:
    import numexpr

    operands = {"a": a, "b": b, "c": c, "half": np.float32(0.5)}
    return lambda: numexpr.evaluate("exp(a*b+c)*half-sqrt(a)", operands)


def _torch_chain(a: HostArray, b: HostArray, c: HostArray) -> Call:
    import torch

    x, y, z = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(c)
    return lambda: torch.exp(x * y + z) * 0.5 - torch.sqrt(x)


def _numba_chain(a: HostArray, b: HostArray, c: HostArray) -> Call:
    import numba

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def chain(a: HostArray, b: HostArray, c: HostArray) -> HostArray:
        result = np.empty_like(a)
        for i in numba.prange(a.size):
            result[i] = np.exp(a[i] * b[i] + c[i]) * np.float32(0.5) - np.sqrt(a[i])
        return result

    return lambda: chain(a, b, c)


def _jax_chain(a: HostArray, b: HostArray, c: HostArray) -> Call:
    import jax

    x, y, z = jax.numpy.asarray(a), jax.numpy.asarray(b), jax.numpy.asarray(c)
    chain = jax.jit(lambda a, b, c: jax.numpy.exp(a * b + c) * 0.5 - jax.numpy.sqrt(a))
    return lambda: chain(x, y, z).block_until_ready()
