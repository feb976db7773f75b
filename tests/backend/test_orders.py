"""Copies and rows of elements in every order, of every layout, as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import dcarray as dc

BASE = np.arange(24, dtype=np.int32)


def layouts() -> Iterator[Callable[[Any], Any]]:
    for shape in ((2, 3, 4), (6, 4), (24,), (24, 1)):
        axes = range(len(shape))
        for steps, turned in product(
            product((1, -1), repeat=len(shape)), permutations(axes)
        ):
            for last in (1, 2) if steps[0] == 1 else (1,):
                cut = (*[slice(None, None, s) for s in steps[:-1]],)
                cut = (*cut, slice(None, None, steps[-1] * last))
                yield lambda a, shape=shape, cut=cut, turned=turned: a.reshape(shape)[
                    cut
                ].transpose(turned)
    yield lambda a: a[3:4].reshape(())
    yield lambda a: a.reshape(2, 12)[:, :0]
    for repeated in ((4, 3), (3, 4)):
        yield lambda a, shape=repeated: like(a).broadcast_to(a[: shape[1]], shape)
        yield (
            lambda a, shape=repeated: like(a).broadcast_to(a[: shape[0], None], shape).T
        )


def like(a: Any) -> Any:
    return np if isinstance(a, np.ndarray) else dc


LAYOUTS = list(layouts())
ORDERS: dict[str, Callable[[Any], Any]] = {
    **{f"ravel-{o}": lambda a, o=o: a.ravel(o) for o in "CFAK"},
    **{f"flatten-{o}": lambda a, o=o: a.flatten(o) for o in "CFAK"},
    **{f"copy-{o}": lambda a, o=o: a.copy(o) for o in "CFAK"},
    **{f"reshape-{o}": lambda a, o=o: a.reshape(a.shape[::-1], order=o) for o in "CFA"},
    "ascontiguousarray": lambda a: like(a).ascontiguousarray(a),
}


@pytest.mark.parametrize(
    ("device", "name"),
    [("test:0", name) for name in ORDERS]
    + [("auto", name) for name in ("copy-C", "copy-A", "flatten-F")],
)
def test_orders(device: str, name: str) -> None:
    function = ORDERS[name]
    given = dc.asarray(BASE - 1, device=device)
    for place, layout in enumerate(LAYOUTS):
        with dc.config(lazy="always", fallback="error"):
            got = function(layout(given + 1))  # of what is pending
            want = function(layout(BASE))
            assert got.shape == want.shape, place
            assert np.array_equal(got.get(), want), place
            if want.size:
                seen = [
                    [s for s, n in zip(a.strides, a.shape, strict=True) if n != 1]
                    for a in (got, want)
                ]
                assert seen[0] == seen[1], place
