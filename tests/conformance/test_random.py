"""Random numbers: NumPy's streams, as arrays of dcarray."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dcarray as dc

DRAWS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("random", ((3, 4),), {}),
    ("random", (), {"size": 5, "dtype": np.float32}),
    ("integers", (2, 9, (2, 2)), {}),
    ("normal", (), {"loc": [0.0, 3.0], "scale": 2.0, "size": (4, 2)}),
    ("standard_normal", (6,), {}),
    ("choice", (10, 4), {"replace": False}),
    ("permutation", (7,), {}),
    ("multivariate_normal", ([0.0, 1.0], np.eye(2), 3), {}),
    ("dirichlet", ([1.0, 2.0],), {}),
    ("poisson", (3.0, 4), {}),
    ("bytes", (5,), {}),
    ("random", (), {}),
    ("integers", (7,), {}),
]


@pytest.mark.parametrize(("name", "arguments", "keywords"), DRAWS)
def test_generator(
    name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    ours, theirs = dc.random.default_rng(5), np.random.default_rng(5)
    expected = getattr(theirs, name)(*arguments, **keywords)
    got = getattr(ours, name)(*arguments, **keywords)
    if isinstance(expected, np.ndarray):
        assert isinstance(got, dc.ndarray)
        assert got.dtype == expected.dtype
        assert got.get().tobytes() == expected.tobytes()
    else:
        assert type(got) is type(expected)
        assert got == expected
    assert ours.random() == theirs.random()  # the streams go on together


LEGACY = [
    ("rand", (3,)),
    ("randn", (2, 2)),
    ("randint", (0, 9, 5)),
    ("random_sample", ()),
    ("uniform", (-1.0, 1.0, 4)),
    ("permutation", (6,)),
    ("choice", (5, 3)),
]


@pytest.mark.parametrize(("name", "arguments"), LEGACY)
def test_legacy_functions_share_numpys_state(
    name: str, arguments: tuple[Any, ...]
) -> None:
    np.random.seed(3)
    expected = [getattr(np.random, name)(*arguments) for _ in range(2)]
    dc.random.seed(3)
    first = getattr(dc.random, name)(*arguments)
    second = getattr(np.random, name)(*arguments)
    assert np.asarray(first).tobytes() == np.asarray(expected[0]).tobytes()
    assert np.asarray(second).tobytes() == np.asarray(expected[1]).tobytes()
    state = dc.random.RandomState(3)
    again = getattr(state, name)(*arguments)
    assert np.asarray(again).tobytes() == np.asarray(expected[0]).tobytes()


@pytest.mark.parametrize("device", ["auto", "test:0"])
def test_shuffle_in_place(device: str) -> None:
    expected = np.arange(10)
    np.random.default_rng(1).shuffle(expected)
    x = dc.arange(10, device=device)
    view = x[2:]
    dc.random.default_rng(1).shuffle(x)
    assert (x.get() == expected).all()
    assert (view.get() == expected[2:]).all()
    numbers = list(range(10))
    dc.random.default_rng(1).shuffle(numbers)
    assert numbers == expected.tolist()


def test_out() -> None:
    out = dc.zeros(4)
    pending = out + 1
    assert dc.random.default_rng(2).random(out=out) is out
    assert (out.get() == np.random.default_rng(2).random(4)).all()
    assert (pending.get() == 1).all()


def test_arguments_that_are_arrays() -> None:
    scale = dc.asarray([1.0, 2.0, 3.0])
    got = dc.random.default_rng(4).normal(0, scale)
    assert (got.get() == np.random.default_rng(4).normal(0, [1.0, 2.0, 3.0])).all()


def test_results_are_made_on_the_settings_device() -> None:
    with dc.config(device="test:0"):
        assert dc.random.default_rng(1).random(3).device == "test:0"
        assert dc.random.rand(3).device == "test:0"


def test_generators_are_copied_with_their_state() -> None:
    for made in (dc.random.default_rng(8), dc.random.RandomState(8)):
        made.standard_normal(3)
        for twin in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
            assert type(twin) is type(made)
            expected = copy.deepcopy(made).standard_normal(4)
            assert (twin.standard_normal(4).get() == expected.get()).all()


def test_spawned_generators_are_ours() -> None:
    ours = dc.random.default_rng(9).spawn(2)
    theirs = np.random.default_rng(9).spawn(2)
    assert isinstance(ours[1].random(3), dc.ndarray)
    assert ours[0].random() == theirs[0].random()


def test_default_rng_takes_what_numpys_takes() -> None:
    generator = dc.random.default_rng(1)
    assert dc.random.default_rng(generator) is generator
    theirs = np.random.default_rng(1)
    shared = dc.random.default_rng(theirs)
    assert shared.bit_generator is theirs.bit_generator
    assert dc.random.default_rng(dc.asarray([1, 2])).random() == (
        np.random.default_rng([1, 2]).random()
    )


def test_state_goes_around() -> None:
    state = dc.random.get_state()
    first = dc.random.rand(3)
    dc.random.set_state(state)
    assert (dc.random.rand(3).get() == first.get()).all()


def test_every_name_is_there() -> None:
    assert not set(np.random.__all__) - set(dir(dc.random))
