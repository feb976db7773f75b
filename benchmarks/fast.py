"""``config(math="fast")`` beside compilers: ``python benchmarks/fast.py --json FILE``.

Two chains, of float32 and float64: NumPy's own, that of `cpu.py`, and one of 12
operations, half of them polynomial, half elementary functions.  Contenders run in turn,
on as many threads; every figure is a median.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from peers import installed
from report import Row, milliseconds, parser, report
from timing import in_turn

import dcarray as dc
from dcarray.ops.fast import FUNCTIONS

HostArray = np.ndarray[Any, Any]
Call = Callable[[], object]

CHAINS = {
    "exp(a*b+c)*0.5-sqrt(a)": "{m}exp(a*b+c)*{half}-{m}sqrt(a)",
    "12 operations": ("((a*{half}+b)*a+c)*a+{m}sin(a)*{m}cos(b)-{m}exp(c)*{m}tanh(a)"),
}

PEERS = ("jax", "numba", "numexpr", "torch")
NAMES = {
    "jax": "jax.jit",
    "numba": "Numba parallel",
    "numexpr": "numexpr",
    "torch": "torch.compile",
}


def inputs(size: int, dtype: Any) -> tuple[HostArray, ...]:
    generator = np.random.default_rng(7)
    return tuple(generator.random(size).astype(dtype) for _ in range(3))


def _ours(text: str, arrays: tuple[HostArray, ...], math: str) -> Call:
    names = dict(zip("abc", map(dc.asarray, arrays), strict=True))
    code = compile(text.format(m="dc.", half=0.5), "chain", "eval")
    settings = dc.config(math=math)

    def call() -> Any:
        with settings:
            result = eval(code, {"dc": dc, **names})
        dc.evaluate(result)
        return result

    return call


def _numpy(text: str, arrays: tuple[HostArray, ...]) -> Call:
    names = {"np": np, **dict(zip("abc", arrays, strict=True))}
    code = compile(text.format(m="np.", half=0.5), "chain", "eval")
    return lambda: eval(code, names)


def _numexpr(text: str, arrays: tuple[HostArray, ...]) -> Call:
    import numexpr

    names = dict(zip("abc", arrays, strict=True))
    names["half"] = arrays[0].dtype.type(0.5)
    expression = text.format(m="", half="half")
    return lambda: numexpr.evaluate(expression, names)


def _jax(text: str, arrays: tuple[HostArray, ...]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    space: dict[str, Any] = {"jnp": jax.numpy}
    exec(f"def chain(a, b, c): return {text.format(m='jnp.', half=0.5)}", space)
    chain = jax.jit(space["chain"])
    given = [jax.numpy.asarray(x) for x in arrays]
    return lambda: chain(*given).block_until_ready()


def _torch(text: str, arrays: tuple[HostArray, ...]) -> Call:
    import torch

    space: dict[str, Any] = {"torch": torch}
    exec(f"def chain(a, b, c): return {text.format(m='torch.', half=0.5)}", space)
    chain = torch.compile(space["chain"])
    given = [torch.from_numpy(x) for x in arrays]
    return lambda: chain(*given)


def _numba(text: str, arrays: tuple[HostArray, ...]) -> Call:
    import numba

    one = re.sub(r"\b([abc])\b", r"\1[i]", text.format(m="np.", half="half"))
    kind = arrays[0].dtype.name
    lines = [
        "def chain(a, b, c):",
        "    result = np.empty_like(a)",
        f"    half = np.{kind}(0.5)",
        "    for i in numba.prange(a.size):",
        f"        result[i] = {one}",
        "    return result",
    ]
    space: dict[str, Any] = {"np": np, "numba": numba}
    exec("\n".join(lines), space)
    chain = numba.njit(parallel=True, fastmath=True)(space["chain"])
    return lambda: chain(*arrays)


BUILDERS = {"jax": _jax, "numba": _numba, "numexpr": _numexpr, "torch": _torch}


def rows(sizes: list[int]) -> Iterator[Row]:
    here = installed()
    for title, text in CHAINS.items():
        for dtype in (np.float32, np.float64):
            for size in sizes:
                arrays = inputs(size, dtype)
                calls: dict[str, Call] = {
                    "fast": _ours(text, arrays, "fast"),
                    "exact": _ours(text, arrays, "exact"),
                    "numpy": _numpy(text, arrays),
                }
                for name in PEERS:
                    if here[name]:
                        calls[name] = BUILDERS[name](text, arrays)
                wanted = np.asarray(calls["numpy"]())
                got = np.asarray(calls["fast"]())
                eps = float(np.finfo(dtype).eps)
                close = np.allclose(got, wanted, rtol=16 * eps, atol=16 * eps)
                times = in_turn(calls)
                peers = {name: times[name] for name in PEERS if name in times}
                best = min(peers, key=lambda name: peers[name], default="numpy")
                ratio = times[best] / times["fast"]
                listed = ", ".join(
                    f"{NAMES.get(name, name)} {milliseconds(taken)}"
                    for name, taken in times.items()
                )
                label = f"{title}, {np.dtype(dtype)}, {size:.0e}".replace("e+0", "e")
                yield Row(
                    label,
                    f"{listed}; {ratio:.2f} x {NAMES.get(best, best)}"
                    + ("" if close else "; values DIFFER"),
                    ">= 1.0 x the best",
                    bool(ratio >= 1.0 and close),
                    {"size": size, "dcarray": times["fast"], **times},
                )


def functions() -> Iterator[Row]:
    """Each function alone, on one thread: CPU time, the least of some calls."""
    for name in sorted(FUNCTIONS - {"erf"}):
        figures: dict[str, float] = {}
        for dtype in ("float32", "float64"):
            x = dc.asarray(inputs(10**6, dtype)[0] * 0.9 + (name == "arccosh") + 0.05)
            given = (x, x) if name in ("arctan2", "hypot", "power") else (x,)
            for math in ("fast", "exact"):
                with dc.config(math=math, threads=1):
                    taken = [_cpu_time(getattr(dc, name), given) for _ in range(9)]
                figures[f"{dtype} {math}"] = min(taken) * 1e3
        listed = ", ".join(f"{what} {figures[what]:.1f}" for what in figures)
        yield Row(name, f"ns an element: {listed}", figures=figures)


def _cpu_time(function: Callable[..., Any], operands: tuple[Any, ...]) -> float:
    start = time.thread_time()
    dc.evaluate(function(*operands))
    return time.thread_time() - start


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--functions", action="store_true", help="one by one instead")
    options.add_argument("--sizes", type=int, nargs="*", default=[10**6, 10**7])
    given = options.parse_args()
    if given.functions:
        return report("fast elementary functions", functions(), given)
    os.environ.setdefault("NUMBA_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    return report("fast elementary functions", rows(given.sizes), given, PEERS)


if __name__ == "__main__":
    sys.exit(main())
