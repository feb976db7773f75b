"""Neural networks on the CPU beside PyTorch: ``python benchmarks/nn.py --json FILE``.

Times are medians of contenders in turn, in float32.  Errors are the largest distance to
PyTorch's result in float64, in units of float32's epsilon times the largest element.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from report import Row, milliseconds, parser, report
from timing import in_turn
from torch.nn import functional as F

import dcarray as dc
from dcarray import nn

EPSILON = float(np.finfo(np.float32).eps)


Pair = tuple[str, Callable[..., Any], Callable[..., Any], list[np.ndarray[Any, Any]]]


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(sum(shape))
    return generator.standard_normal(shape, np.float32)


def convolutions() -> Iterator[Pair]:
    """Layers of usual networks: operand, weights, stride, padding, groups."""
    layers = {
        "3x3, 64 channels, 56x56": ((8, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
        "7x7 / 2, 3 channels, 224x224": ((8, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1),
        "3x3, 256 channels, 14x14": ((8, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1),
        "1x1, 256 to 64 channels, 28x28": ((8, 256, 28, 28), (64, 256, 1, 1), 1, 0, 1),
        "3x3, 512 channels, 7x7": ((8, 512, 7, 7), (512, 512, 3, 3), 1, 1, 1),
        "3x3 / 2, 128 channels, 56x56": ((8, 128, 56, 56), (128, 128, 3, 3), 2, 1, 1),
        "3x3, 32 groups of 4, 28x28": ((8, 128, 28, 28), (128, 4, 3, 3), 1, 1, 32),
        "3x3, channel by channel": ((8, 128, 56, 56), (128, 1, 3, 3), 1, 1, 128),
    }
    for what, (images, weights, stride, padding, groups) in layers.items():
        x, w = numbers(*images), numbers(*weights)
        given = {"stride": stride, "padding": padding, "groups": groups}
        size = F.conv2d(torch.from_numpy(x), torch.from_numpy(w), **given).shape
        g = numbers(*size)
        yield f"conv2d {what}", *_convolution(given), [x, w]
        yield "  input gradient", *_of_input(given, x.shape), [g, w]
        yield "  weight gradient", *_of_weights(given, w.shape), [g, x]


def _convolution(given: dict[str, int]) -> tuple[Callable[..., Any], ...]:
    return (
        lambda x, w: nn.conv2d(x, w, **given),
        lambda x, w: F.conv2d(x, w, **given),
    )


def _of_input(given: dict[str, int], shape: Any) -> tuple[Callable[..., Any], ...]:
    return (
        lambda g, w: nn.conv2d_input_gradient(g, w, shape, **given),
        lambda g, w: torch.nn.grad.conv2d_input(shape, w, g, **given),
    )


def _of_weights(given: dict[str, int], shape: Any) -> tuple[Callable[..., Any], ...]:
    return (
        lambda g, x: nn.conv2d_weight_gradient(g, x, shape, **given),
        lambda g, x: torch.nn.grad.conv2d_weight(x, shape, g, **given),
    )


def others() -> Iterator[Pair]:
    x, w = numbers(16, 64, 56, 56), numbers(64)
    yield (
        "max_pool2d 3 / 2",
        lambda x: nn.max_pool2d(x, 3, 2, 1),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        [x],
    )
    yield (
        "avg_pool2d 3 / 2",
        lambda x: nn.avg_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        [x],
    )
    yield (
        "batch_norm",
        lambda x, w: nn.batch_norm(x, weight=w, bias=w),
        lambda x, w: F.batch_norm(x, None, None, w, w, True),
        [x, w],
    )
    yield (
        "group_norm",
        lambda x, w: nn.group_norm(x, 8, w, w),
        lambda x, w: F.group_norm(x, 8, w, w),
        [x, w],
    )
    rows, row = numbers(4096, 1024), numbers(1024)
    yield (
        "layer_norm",
        lambda x, w: nn.layer_norm(x, w, w),
        lambda x, w: F.layer_norm(x, (1024,), w, w),
        [rows, row],
    )
    yield "softmax", nn.softmax, lambda x: F.softmax(x, -1), [rows]
    yield "linear", nn.linear, F.linear, [rows, numbers(512, 1024)]
    attention = F.scaled_dot_product_attention
    for shape in ((8, 1024, 64), (1, 8192, 64)):
        yield (
            f"attention {shape}",
            lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, causal=True),
            lambda q, k, v: attention(q[None], k[None], v[None], is_causal=True)[0],
            [numbers(*shape), numbers(*shape[:-1], 64), numbers(*shape)],
        )


def measured(pair: Pair) -> Row:
    what, ours, theirs, operands = pair
    mine = [dc.asarray(x) for x in operands]
    tensors = [torch.from_numpy(x) for x in operands]
    want = theirs(*[t.double() for t in tensors]).numpy()
    unit = EPSILON * float(np.abs(want).max())
    times = in_turn(
        {
            "dcarray": lambda: dc.evaluate(ours(*mine)),
            "torch": lambda: theirs(*tensors),
        },
        rounds=7,
        seconds=1.0,
    )
    mine_error = float(np.abs(ours(*mine).get() - want).max()) / unit
    its_error = float(np.abs(theirs(*tensors).numpy() - want).max()) / unit
    ratio = times["torch"] / times["dcarray"]
    return Row(
        what,
        f"{milliseconds(times['dcarray'])} : {milliseconds(times['torch'])} = "
        f"{ratio:.2f} x, errors {mine_error:.2f} : {its_error:.2f}",
        figures={**times, "dcarray_error": mine_error, "torch_error": its_error},
    )


def main() -> int:
    options = parser(__doc__).parse_args()
    rows = (measured(pair) for part in (convolutions, others) for pair in part())
    threads = len(os.sched_getaffinity(0))
    title = f"Neural networks beside PyTorch {torch.__version__}, {threads} threads"
    return report(title, rows, options, ("torch",))


if __name__ == "__main__":
    raise SystemExit(main())
