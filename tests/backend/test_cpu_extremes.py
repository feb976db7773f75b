"""Places of extremes on the CPU: NumPy's, whatever the layout and the axis."""

from __future__ import annotations

import numpy as np
import pytest

from dcarray.backends.cpu import extremes


def _data(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 50, shape)  # equal ones: the first counts
    if np.dtype(dtype).kind in "fc":
        made = found.astype(dtype)
        made[rng.random(shape) < 1e-3] = np.nan
        made[rng.random(shape) < 1e-2] = -0.0
        return made
    return (found % 2 if dtype == "?" else found).astype(dtype)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize(
    "shape", [(70, 40), (3, 50, 11), (3000,), (3000, 1), (1, 3000), (2, 9)]
)
def test_the_places_are_numpys(
    shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"THREADED": 500, "TILED": 1000, "TILE": (8, 7), "NARROW": 3}
    for name, value in small.items():
        monkeypatch.setattr(extremes, name, value)
    monkeypatch.setattr(extremes, "available_threads", lambda: 3)
    x = _data(shape, dtype, len(shape))
    layouts = [x, x.T, x[::-1], np.asfortranarray(x)[..., ::2]]
    for source in layouts:
        for axis in (None, *range(-source.ndim, source.ndim)):
            for keepdims in (False, True):
                for ours, theirs in (
                    (extremes.argmax, np.argmax),
                    (extremes.argmin, np.argmin),
                ):
                    want = theirs(source, axis=axis, keepdims=keepdims)
                    found = ours(source, axis=axis, keepdims=keepdims)
                    assert type(found) is type(want)
                    np.testing.assert_array_equal(found, want)


def test_bad_axes_are_numpys_errors() -> None:
    with pytest.raises(np.exceptions.AxisError):
        extremes.argmax(np.zeros((100, 100)), axis=2)
    with pytest.raises(ValueError, match="empty"):
        extremes.argmin(np.zeros((0, 5000)), axis=0)
