"""A CUDA device against its peers: ``python benchmarks/gpu.py [--only NAME ...]``.

Every figure is the median of calls in a row, what Python needs for them included, of
all contenders in turn in one process on one card.  Shares are of the bandwidth of a
plain copy of 10⁸ float32, measured in the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gpu_more
import numpy as np
from gpu_card import LARGE, SIDE, Call, Card, Data, ran, random
from gpu_products import products
from report import Row, parser, report

import dcarray as dc


# --------------------------------------------------------------------------- the table
def chain(card: Card) -> Iterator[Row]:
    """Fused elementwise work."""
    for size in (10**5, 10**6, LARGE):
        yield _chained(card, size)
    yield _added(card, LARGE, {"torch": 1})


def _chained(card: Card, size: int) -> Row:
    a, b, c = (Data(card, random(size, seed=k)) for k in range(3))
    cupy = card.cupy
    calls: dict[str, Call] = {
        "dcarray": ran(lambda: dc.exp(a.dc * b.dc + c.dc) * 0.5 - dc.sqrt(a.dc)),
        "cupy": lambda: cupy.exp(a.cupy * b.cupy + c.cupy) * 0.5 - cupy.sqrt(a.cupy),
    }
    if a.torch is not None:
        import torch

        def formula(x: Any, y: Any, z: Any) -> Any:
            return torch.exp(x * y + z) * 0.5 - torch.sqrt(x)

        compiled: Any = torch.compile(formula)
        calls["torch"] = lambda: formula(a.torch, b.torch, c.torch)
        calls["compiled"] = lambda: compiled(a.torch, b.torch, c.torch)
    if a.jax is not None:
        import jax
        import jax.numpy as jnp

        jitted = jax.jit(lambda x, y, z: jnp.exp(x * y + z) * 0.5 - jnp.sqrt(x))
        calls["jax"] = lambda: jitted(a.jax, b.jax, c.jax)
    what = f"exp(a*b+c)*0.5-sqrt(a), {size:.0e}"
    if size < LARGE:
        return card.row(what, calls, {"torch": 2.5})
    bars = {"cupy": 7, "torch": 3.4, "compiled": 1, "jax": 1}
    return card.row(what, calls, bars, 16 * size, 1.05)


def small(card: Card) -> Iterator[Row]:
    """What one operation costs."""
    yield _added(card, 16, {"cupy": 1, "torch": 1})


def _added(card: Card, size: int, bars: Mapping[str, float]) -> Row:
    a, b = (Data(card, random(size, seed=k)) for k in range(2))
    calls: dict[str, Call] = {
        "dcarray": lambda: dc.evaluate(a.dc + b.dc),
        "cupy": lambda: a.cupy + b.cupy,
    }
    if a.torch is not None:
        calls["torch"] = lambda: a.torch + b.torch
    nbytes = 12 * size if size == LARGE else 0
    return card.row(f"a + b, {size:.0e}", calls, bars, nbytes)


def reductions(card: Card) -> Iterator[Row]:
    """Reductions of a square matrix."""
    a = Data(card, random(SIDE, SIDE))
    nbytes = 4 * SIDE * SIDE
    for name in ("sum", "max", "mean", "var", "argmax"):
        for axis in (0, 1, None):
            ours, cupys = getattr(a.dc, name), getattr(a.cupy, name)
            calls: dict[str, Call] = {
                "dcarray": ran(lambda f=ours, k=axis: f(axis=k)),  # type: ignore[misc]
                "cupy": lambda f=cupys, k=axis: f(axis=k),  # type: ignore[misc]
            }
            if a.torch is not None:
                import torch

                theirs = getattr(torch, "amax" if name == "max" else name)
                given = {} if axis is None else {"dim": axis}
                calls["torch"] = lambda f=theirs, g=given: f(  # type: ignore[misc]
                    a.torch, **g
                )
            where = "all" if axis is None else f"axis {axis}"
            yield card.row(f"{name}, {where}", calls, {"torch": 1}, nbytes, 0.9)


def rows(card: Card) -> Iterator[Row]:
    """Softmax and layer normalisation along rows."""
    a = Data(card, random(SIDE, SIDE))
    weight, bias = (Data(card, random(SIDE, seed=k)) for k in (1, 2))
    nbytes = 8 * SIDE * SIDE
    soft: dict[str, Call] = {"dcarray": ran(lambda: dc.nn.softmax(a.dc, axis=-1))}
    norm: dict[str, Call] = {
        "dcarray": ran(lambda: dc.nn.layer_norm(a.dc, weight.dc, bias.dc))
    }
    if a.torch is not None:
        import torch

        soft["torch"] = lambda: torch.softmax(a.torch, -1)
        norm["torch"] = lambda: torch.nn.functional.layer_norm(
            a.torch, (SIDE,), weight.torch, bias.torch
        )
    yield card.row("softmax", soft, {"torch": 1.9}, nbytes, 0.95)
    yield card.row("layer norm", norm, {"torch": 1.5}, nbytes, 0.95)


def movement(card: Card) -> Iterator[Row]:
    """Copies that are not straight."""
    a = Data(card, random(SIDE, SIDE))
    cupy = card.cupy
    calls: dict[str, Call] = {
        "dcarray": ran(lambda: dc.copy(a.dc.T, order="C")),
        "cupy": lambda: cupy.ascontiguousarray(a.cupy.T),
    }
    if a.torch is not None:
        calls["torch"] = lambda: a.torch.T.contiguous()
    yield card.row("transpose, copied", calls, {"best": 3}, 8 * SIDE * SIDE)
    calls = {
        "dcarray": ran(lambda: dc.copy(a.dc[::2, 1::2])),
        "cupy": lambda: a.cupy[::2, 1::2].copy(),
    }
    if a.torch is not None:
        calls["torch"] = lambda: a.torch[::2, 1::2].contiguous()
    yield card.row("a[::2, 1::2], copied", calls, {"best": 1.5})
    table = Data(card, random(10**6, 32))
    places = Data(card, np.random.default_rng(1).integers(0, 10**6, 10**7))
    calls = {
        "dcarray": ran(lambda: dc.take(table.dc, places.dc, axis=0)),
        "cupy": lambda: cupy.take(table.cupy, places.cupy, axis=0),
    }
    if a.torch is not None:
        calls["torch"] = lambda: table.torch.index_select(0, places.torch)
    yield card.row("gather of 1e7 rows of 32", calls, {"best": 1})


def selection(card: Card) -> Iterator[Row]:
    """Scans, sorting, masks."""
    cupy = card.cupy
    a = Data(card, random(LARGE))
    calls: dict[str, Call] = {
        "dcarray": ran(lambda: dc.cumulative_sum(a.dc)),
        "cupy": lambda: cupy.cumsum(a.cupy),
    }
    if a.torch is not None:
        calls["torch"] = lambda: a.torch.cumsum(0)
    yield card.row("cumulative sum, 1e8", calls, {"best": 1}, 8 * LARGE)
    calls = {
        "dcarray": ran(lambda: a.dc[a.dc > 0.5]),
        "cupy": lambda: a.cupy[a.cupy > 0.5],
    }
    if a.torch is not None:
        calls["torch"] = lambda: a.torch[a.torch > 0.5]
    yield card.row("a[a > 0.5], 1e8", calls, {"best": 1})
    b = Data(card, random(10**7))
    calls = {
        "dcarray": ran(lambda: dc.sort(b.dc)),
        "cupy": lambda: cupy.sort(b.cupy),
    }
    if a.torch is not None:
        calls["torch"] = lambda: b.torch.sort()
    yield card.row("sort, 1e7", calls, {"best": 1})


def library(card: Card) -> Iterator[Row]:
    """Transforms, solvers, random numbers."""
    cupy = card.cupy
    z = random(2**20) + 1j * random(2**20, seed=1)
    a = Data(card, z.astype(np.complex64))
    calls: dict[str, Call] = {
        "dcarray": ran(lambda: dc.fft.fft(a.dc)),
        "cupy": lambda: cupy.fft.fft(a.cupy),
    }
    yield card.row("FFT, 2^20 complex64", calls, {"cupy": 1})
    square = random(256, 64, 64) + 64 * np.eye(64, dtype=np.float32)
    m = Data(card, square @ square.transpose(0, 2, 1))
    right = Data(card, random(256, 64, 4))
    calls = {
        "dcarray": ran(lambda: dc.linalg.solve(m.dc, right.dc)),
        "cupy": lambda: cupy.linalg.solve(m.cupy, right.cupy),
    }
    yield card.row("solve, 256 of 64", calls, {"cupy": 1})
    calls = {
        "dcarray": ran(lambda: dc.linalg.cholesky(m.dc)),
        "cupy": lambda: cupy.linalg.cholesky(m.cupy),
    }
    yield card.row("Cholesky, 256 of 64", calls, {"cupy": 1})


CONVOLUTIONS = (
    (32, 64, 56, 64, 3, 1),
    (32, 3, 224, 64, 7, 2),
    (32, 256, 14, 256, 3, 1),
    (8, 128, 512, 128, 3, 1),
    (1, 64, 224, 64, 3, 1),
)
"""Images, channels, side, channels of the result, side of the kernel, stride."""


def convolution(card: Card) -> Iterator[Row]:
    """Convolutions of images, with TensorFloat-32 on both sides."""
    import torch

    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    with dc.config(matmul_precision="tf32"):
        yield from _convolved(card)


def _convolved(card: Card) -> Iterator[Row]:
    import torch

    for dtype in ("float32", "float16"):
        for images, channels, side, wanted, width, stride in CONVOLUTIONS:
            x = Data(card, random(images, channels, side, side, dtype=dtype))
            w = Data(card, random(wanted, channels, width, width, dtype=dtype))
            options = {"stride": stride, "padding": width // 2}
            calls: dict[str, Call] = {
                "dcarray": ran(
                    lambda x=x, w=w, o=options: dc.nn.conv2d(  # type: ignore[misc]
                        x.dc, w.dc, **o
                    )
                ),
                "torch": lambda x=x, w=w, o=options: (  # type: ignore[misc]
                    torch.nn.functional.conv2d(x.torch, w.torch, **o)
                ),
            }
            what = f"conv2d, {dtype}, ({images},{channels},{side},{wanted},{width}²)"
            yield card.row(what, calls, {"torch": 1})


def attention(card: Card) -> Iterator[Row]:
    """Attention of 16 heads over 4096 places of 64 float16."""
    import torch

    shape = (1, 16, 4096, 64)
    q, k, v = (Data(card, random(*shape, dtype="float16", seed=n)) for n in range(3))
    attend = torch.nn.functional.scaled_dot_product_attention
    for causal in (False, True):
        options = {"causal": causal}
        theirs = {"is_causal": causal}
        calls: dict[str, Call] = {
            "dcarray": ran(
                lambda o=options: dc.nn.scaled_dot_product_attention(  # type: ignore[misc]
                    q.dc, k.dc, v.dc, **o
                )
            ),
            "torch": lambda o=theirs: attend(  # type: ignore[misc]
                q.torch, k.torch, v.torch, **o
            ),
        }
        what = f"attention, 16 heads of 4096 x 64{', causal' if causal else ''}"
        yield card.row(what, calls, {"torch": 1})


SECTIONS = {
    section.__name__: section
    for section in (
        *(small, chain, reductions, rows, movement),
        *(selection, products, library, convolution, attention),
        *gpu_more.SECTIONS,
    )
}


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--device", type=int, default=0, help="number of the card")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    given = options.parse_args()
    card = Card(given.device, given.rounds)

    def measured() -> Iterator[Row]:
        for name in given.only:
            try:
                yield from SECTIONS[name](card)
            except Exception as error:  # the other sections are worth having
                yield Row(name, f"{type(error).__name__}: {error}", met=False)
            card.cupy.get_default_memory_pool().free_all_blocks()

    title = f"{card.name}: a copy moves {card.bandwidth / 1e12:.2f} TB/s"
    return report(title, measured(), given, ("cupy-cuda13x", "torch", "jax"))


if __name__ == "__main__":
    raise SystemExit(main())
