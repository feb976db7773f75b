"""What `gpu.py` measures beyond single operations: memory, streams, whole programs."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from gpu_card import LARGE, Call, Card, Data, ran, random
from report import Row, milliseconds
from timing import in_child

import dcarray as dc
from dcarray.backends.registry import backend_for

__all__ = ["SECTIONS"]

MILLION = 10**6


# ---------------------------------------------------------------------- moving, memory
def transfers(card: Card) -> Iterator[Row]:
    """A gigabyte to the device and back."""
    import torch

    host = np.zeros(2**28, np.float32)
    there = torch.from_numpy(host).cuda()
    ours = dc.asarray(host, device=card.device)
    fixed = dc.pinned_empty(host.shape, dc.float32)
    fixed[:] = 0
    theirs = torch.from_numpy(host).pin_memory()
    ways: dict[str, tuple[Call, Call, Call, Call]] = {
        "to the device": (
            lambda: dc.asarray(host, device=card.device),
            lambda: torch.from_numpy(host).cuda(),
            lambda: dc.asarray(fixed, device=card.device),
            lambda: theirs.cuda(),
        ),
        "from the device": (
            ours.get,
            lambda: there.cpu(),
            lambda: ours.get(out=fixed),
            lambda: theirs.copy_(there),
        ),
    }
    for way, (pageable, torchs, pinned, torchs_pinned) in ways.items():
        calls = {"dcarray": pageable, "torch": torchs}
        yield card.row(f"1 GB {way}, pageable", calls, {"torch": 0.95})
        calls = {"dcarray": pinned, "torch": torchs_pinned, "pageable": pageable}
        bars = {"torch": 0.95, "pageable": 2}
        yield card.row(f"1 GB {way}, pinned", calls, bars)


def memory(card: Card) -> Iterator[Row]:
    """A block from the pool and back; the driver has small ones at hand, too."""
    backend: Any = backend_for(card.device)
    runtime = card.cupy.cuda.runtime
    for nbytes, bars in ((4096, {}), (1 << 24, {"malloc": 10.0})):
        calls: dict[str, Call] = {
            "dcarray": lambda n=nbytes: backend.allocate(n),  # type: ignore[misc]
            "malloc": lambda n=nbytes: runtime.free(  # type: ignore[misc]
                runtime.malloc(n)
            ),
        }
        row = card.row(f"{nbytes} bytes and back", calls, bars)
        own = row.figures["seconds"]["dcarray"]
        row.bar += ", 1 µs" if bars else "1 µs"
        row.met = row.met is not False and own <= 1e-6
        yield row


def streams(card: Card) -> Iterator[Row]:
    """Chains of small products, each a graph, on one stream and on four."""
    weights = [dc.asarray(random(64, 64, seed=k), device=card.device) for k in range(4)]
    inputs = [dc.asarray(random(8, 64, seed=k), device=card.device) for k in range(4)]

    def chain(x: Any, w: Any) -> Any:
        for _ in range(64):
            x = dc.tanh(x @ w)
        return x

    graphs = [dc.graph(chain) for _ in range(4)]
    several = [dc.stream() for _ in range(4)]

    def on_one() -> None:
        for graph, x, w in zip(graphs, inputs, weights, strict=True):
            dc.evaluate(graph(x, w))

    other = [dc.graph(chain) for _ in range(4)]

    def on_four() -> None:
        for graph, x, w, stream in zip(other, inputs, weights, several, strict=True):
            with stream:
                dc.evaluate(graph(x, w))

    calls: dict[str, Call] = {"dcarray": on_four, "one": on_one}
    yield card.row("4 chains of 64 products, 4 streams", calls, {"one": 1.5})


# ----------------------------------------------------------------------- array programs
def functional(card: Card) -> Iterator[Row]:
    """Map and filter, of a million numbers on the device."""
    host, second = random(MILLION), random(MILLION, seed=1)
    a, b = Data(card, host), Data(card, second)

    def added(x: Any, y: Any) -> Any:
        return x + y

    def mapped(x: Any, y: Any) -> Any:
        return x * 2

    def filtered(x: Any, y: Any) -> Any:
        return x[x > 0.5]

    def chained(x: Any, y: Any) -> Any:
        z = x * 2
        return z[z > 1.0] + 1

    bars = {added: 8, mapped: 10, filtered: 6, chained: 10}
    names = ("a + b", "map, a * 2", "filter, a[a > t]", "map, filter, map")
    for name, (work, bar) in zip(names, bars.items(), strict=True):
        calls: dict[str, Call] = {
            "dcarray": ran(lambda f=work: f(a.dc, b.dc)),  # type: ignore[misc]
            "numpy": lambda f=work: f(host, second),  # type: ignore[misc]
            "cupy": lambda f=work: f(a.cupy, b.cupy),  # type: ignore[misc]
        }
        if a.torch is not None:
            calls["torch"] = lambda f=work: f(a.torch, b.torch)  # type: ignore[misc]
        least = {"numpy": bar, "cupy": 1, "torch": 1}
        yield card.row(f"{name}, 1e6", calls, least)


def adam(card: Card) -> Iterator[Row]:
    """A step of Adam over 10⁸ parameters, written as array code."""
    import torch

    state = [dc.asarray(random(LARGE, seed=k), device=card.device) for k in range(4)]

    def step(number: int = 10) -> tuple[Any, Any, Any]:
        p, g, m, v = state
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * (g * g)
        size = dc.sqrt(v * (1 / (1 - 0.999**number))) + 1e-8
        return p - (1e-3 / (1 - 0.9**number)) * m / size, m, v

    def ours() -> None:
        dc.evaluate(*step())

    ours()
    with dc.profile() as seen:
        ours()
    parameter = torch.rand(LARGE, device="cuda", requires_grad=True)
    parameter.grad = torch.rand(LARGE, device="cuda")
    optimizer = torch.optim.Adam([parameter], fused=True)
    calls: dict[str, Call] = {"dcarray": ours, "torch": optimizer.step}
    row = card.row("Adam step, 1e8", calls, {"torch": 1}, 28 * LARGE)
    launches = len(seen.groups) + len(seen.of_kind("library"))
    row.measured += f", {launches} kernel" + "s" * (launches > 1)
    row.bar += ", one kernel"
    row.met = bool(row.met) and launches == 1
    yield row


def pooling(card: Card) -> Iterator[Row]:
    """Windows of images, and their gradients."""
    import torch
    from torch.nn import functional

    aten: Any = torch.ops.aten
    x = Data(card, random(32, 64, 112, 112))
    g = Data(card, random(32, 64, 56, 56, seed=1))
    three: dict[str, Any] = {"stride": 2, "padding": 1}
    _, places = functional.max_pool2d(x.torch, 3, 2, 1, return_indices=True)
    pairs: dict[str, tuple[Callable[[], Any], Call]] = {
        "max pooling": (
            lambda: dc.nn.max_pool2d(x.dc, 3, **three),
            lambda: functional.max_pool2d(x.torch, 3, **three),
        ),
        "average pooling": (
            lambda: dc.nn.avg_pool2d(x.dc, 3, **three),
            lambda: functional.avg_pool2d(x.torch, 3, **three),
        ),
        "gradient of max pooling": (
            lambda: dc.nn.max_pool2d_gradient(g.dc, x.dc, 3, **three),
            lambda: aten.max_pool2d_with_indices_backward(
                g.torch, x.torch, [3, 3], [2, 2], [1, 1], [1, 1], False, places
            ),
        ),
        "gradient of average pooling": (
            lambda: dc.nn.avg_pool2d_gradient(g.dc, x.dc, 3, **three),
            lambda: aten.avg_pool2d_backward(
                g.torch, x.torch, [3, 3], [2, 2], [1, 1], False, True, None
            ),
        ),
    }
    for what, (ours, theirs) in pairs.items():
        calls: dict[str, Call] = {"dcarray": ran(ours), "torch": theirs}
        yield card.row(f"{what}, (32,64,112²), 3², stride 2", calls, {"torch": 1})


def normal(card: Card) -> Iterator[Row]:
    """Random numbers: by generators of a counter, and by NumPy's own stream."""
    cupy = card.cupy
    theirs = cupy.random.default_rng(1)  # XORWOW, and cuRAND's Box-Muller
    ours: dict[str, Any] = {
        "CounterGenerator: Philox 4x32": dc.random.CounterGenerator(1),
        "default_rng: NumPy's PCG64 and ziggurat": dc.random.default_rng(1),
    }
    peers: dict[str, Call] = {
        "cupy": lambda: theirs.standard_normal(LARGE, dtype=np.float32)
    }
    if importlib.util.find_spec("torch"):
        import torch

        options = {"device": "cuda", "dtype": torch.float32}
        peers["torch"] = lambda: torch.randn(LARGE, **options)  # Philox 4x32
    with dc.config(device=card.device):
        for what, rng in ours.items():
            calls: dict[str, Call] = {
                "dcarray": ran(lambda r=rng: r.standard_normal(LARGE, dtype=np.float32))  # type: ignore[misc]
            }
            calls |= peers
            row = f"standard normal, 1e8 float32, {what}"
            yield card.row(row, calls, {"cupy": 1}, 4 * LARGE)


# ----------------------------------------------------------------------- whole networks
def _late(card: Card, what: str, ours: Call, theirs: Call | None, most: float) -> Row:
    """A line on how long a call takes that is waited for."""
    own, late = card.late(ours)
    measured = f"{milliseconds(own)}, p99 {milliseconds(late)}"
    figures = {"seconds": {"dcarray": own}, "p99": {"dcarray": late}}
    bar, met = f"p99 {milliseconds(most)}", late <= most
    if theirs is not None:
        other, others_late = card.late(theirs)
        measured += f", {other / own:.2f}x PyTorch's graph"
        figures["seconds"]["graphed"] = other
        figures["p99"]["graphed"] = others_late
        bar += ", 1x PyTorch's graph"
        met = met and own <= other
    return Row(what, measured, bar, met, figures)


def captured(card: Card) -> Iterator[Row]:
    """Networks at batch 1, captured; results are waited for.  Both sides multiply with
    TensorFloat-32, as PyTorch's convolutions do anyway."""
    import torch

    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    with dc.config(matmul_precision="tf32"):
        yield _late(card, "CNN at batch 1, captured", *_network(card), 1e-2)
        yield _late(card, "transformer block, captured", *_transformer(card), 1e-2)
    torch.backends.cuda.matmul.allow_tf32 = False


def _graphed(call: Callable[[Any], Any], x: Any) -> Call:
    """PyTorch's graph of a call, whose input is copied in at each call, and whose
    result out, as `dcarray.graph` does."""
    import torch

    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                call(x)
        torch.cuda.synchronize()
        within = x.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = call(within)

    def run() -> Any:
        within.copy_(x)
        graph.replay()
        return result.clone()

    return run


def _network(card: Card) -> tuple[Call, Call]:
    import torch
    from torch.nn import functional

    sizes = (3, 32, 64, 128, 128)
    image = Data(card, random(1, 3, 128, 128))
    weights = [
        Data(card, 0.1 * random(after, before, 3, 3, seed=k))
        for k, (before, after) in enumerate(pairwise(sizes))
    ]
    last = Data(card, 0.1 * random(10, 128))

    def ours(x: Any) -> Any:
        for w in weights:
            x = dc.nn.relu(dc.nn.conv2d(x, w.dc, padding=1))
            x = dc.nn.max_pool2d(x, 2)
        return dc.nn.softmax(dc.nn.linear(x.mean((2, 3)), last.dc), axis=-1)

    def theirs(x: Any) -> Any:
        for w in weights:
            x = torch.relu(functional.conv2d(x, w.torch, padding=1))
            x = functional.max_pool2d(x, 2)
        return torch.softmax(functional.linear(x.mean((2, 3)), last.torch), -1)

    graph = dc.graph(ours)
    return ran(lambda: graph(image.dc)), _graphed(theirs, image.torch)


def _transformer(card: Card) -> tuple[Call, Call]:
    from torch.nn import functional

    width, heads, places = 512, 8, 128
    shapes: Mapping[str, tuple[int, ...]] = {
        **dict.fromkeys("qkvo", (width, width)),
        "up": (4 * width, width),
        "down": (width, 4 * width),
        "scale": (width,),
        "bias": (width,),
    }
    w = {name: Data(card, 0.05 * random(*shape)) for name, shape in shapes.items()}
    x = Data(card, random(1, places, width))

    def ours(x: Any) -> Any:
        nn = dc.nn

        def headed(name: str, y: Any) -> Any:
            found = nn.linear(y, w[name].dc).reshape(1, places, heads, -1)
            return found.transpose(0, 2, 1, 3)

        y = nn.layer_norm(x, w["scale"].dc, w["bias"].dc)
        found = nn.scaled_dot_product_attention(*[headed(name, y) for name in "qkv"])
        joined = found.transpose(0, 2, 1, 3).reshape(1, places, width)
        x = x + nn.linear(joined, w["o"].dc)
        y = nn.layer_norm(x, w["scale"].dc, w["bias"].dc)
        return x + nn.linear(nn.gelu(nn.linear(y, w["up"].dc)), w["down"].dc)

    def theirs(x: Any) -> Any:
        def normal(y: Any) -> Any:
            norm = functional.layer_norm
            return norm(y, (width,), w["scale"].torch, w["bias"].torch)

        def headed(name: str, y: Any) -> Any:
            found = functional.linear(y, w[name].torch).reshape(1, places, heads, -1)
            return found.transpose(1, 2)

        y = normal(x)
        attend = functional.scaled_dot_product_attention
        found = attend(*[headed(name, y) for name in "qkv"])
        joined = found.transpose(1, 2).reshape(1, places, width)
        x = x + functional.linear(joined, w["o"].torch)
        inner = functional.gelu(functional.linear(normal(x), w["up"].torch))
        return x + functional.linear(inner, w["down"].torch)

    graph = dc.graph(ours)
    return ran(lambda: graph(x.dc)), _graphed(theirs, x.torch)


def image(card: Card) -> Iterator[Row]:
    """A frame of 4096 x 2160, from pinned memory and back: blur, edges, tone."""
    frame = dc.pinned_empty((2160, 4096, 3), dc.uint8)
    frame[...] = np.random.default_rng(0).integers(0, 256, frame.shape, np.uint8)
    result = dc.pinned_empty(frame.shape, dc.uint8)
    taps = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)

    def blurred(x: Any, axis: int) -> Any:
        edges = [(2, 2) if k == axis else (0, 0) for k in range(3)]
        wide = dc.pad(x, edges, mode="edge")
        length = x.shape[axis]
        parts = [
            wide[(slice(None),) * axis + (slice(k, k + length),)] for k in range(5)
        ]
        return sum(tap * part for tap, part in zip(taps, parts, strict=True))

    def filtered() -> None:
        x = dc.asarray(frame, device=card.device).astype(dc.float32) * (1 / 255)
        soft = blurred(blurred(x, 0), 1)
        sharp = dc.clip(x + 1.5 * (x - soft), 0, 1)
        gray = sharp[..., 0] * 0.299 + sharp[..., 1] * 0.587 + sharp[..., 2] * 0.114
        toned = sharp ** (1 / 2.2) * (0.7 + 0.3 * gray)[..., None]
        (toned * 255).astype(dc.uint8).get(out=result)

    yield _late(card, "4096 x 2160, filtered", filtered, None, 16.7e-3)


PROGRAM = """
import numpy as np
import dcarray as dc
from dcarray.profile import counters
x = dc.asarray(np.ones((300, 400), np.float32), device={device!r})
unit = dc.asarray(np.eye(300, dtype=np.float32), device={device!r})
y = dc.exp(x * 2 + 1).sum(axis=0)
z = dc.sort(y) + dc.cumsum(y)
m = dc.linalg.cholesky(x @ x.T + 1e4 * unit)
dc.evaluate(z, dc.nn.softmax(x, axis=-1), m, x.argmax(1), x[x > 0.5])
print(counters["compile"])
"""


def again(card: Card) -> Iterator[Row]:
    """A second process compiles nothing."""
    code = PROGRAM.format(device=card.device)
    with tempfile.TemporaryDirectory() as folder:
        where = {"DCARRAY_CACHE_DIR": folder}
        first, second = (int(in_child(code, where)) for _ in range(2))
        held = sum(
            os.path.getsize(os.path.join(path, name))
            for path, _, names in os.walk(folder)
            for name in names
        )
    measured = f"{first} kernels, then {second}; {held / 1e6:.1f} MB on disk"
    met = second == 0 < first and held <= 100e6
    yield Row("the same work in a second process", measured, "0, 100 MB", met)


SECTIONS = (
    *(transfers, memory, streams, functional, adam),
    *(pooling, normal, captured, image, again),
)
