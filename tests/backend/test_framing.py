"""Copies with zeros around them."""

from __future__ import annotations

import numpy as np
import pytest

from dcarray.backends.cpu.engine import Engine, engine
from dcarray.backends.cpu.neural import framing

pytestmark = pytest.mark.skipif(engine() is None, reason="nothing is compiled here")


@pytest.mark.parametrize("nbytes", [32, 64])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_framed(monkeypatch: pytest.MonkeyPatch, dtype: str, nbytes: int) -> None:
    monkeypatch.setattr(Engine, "vector_bytes", nbytes)
    rng = np.random.default_rng(nbytes)
    for _ in range(60):
        shape = tuple(map(int, rng.integers(0, (3, 4, 7, 40))))
        before, after = rng.integers(0, 3, (2, 4))
        if rng.integers(2):
            before[-1] = after[-1] = 0  # the last two axes lie side by side
        source = rng.random((2, *shape))[1].astype(dtype)
        if rng.integers(2):
            source = source[::-1, :, ::2]
        want = np.pad(source, list(zip(before, after)))
        target = np.full(want.size + 64, np.nan, dtype)
        whole = target[: want.size].reshape(want.shape)
        assert framing.copy_framed(source, whole, tuple(map(int, before)))
        np.testing.assert_array_equal(whole, want)
        assert np.isnan(target[want.size :]).all()


def test_elements_that_lie_apart() -> None:
    source, target = np.ones((4, 6))[:, ::2], np.zeros((6, 5))
    assert not framing.copy_framed(source, target, (1, 1))
    assert not framing.copy_framed(np.ones((4, 3), int), target.astype(int), (1, 1))
