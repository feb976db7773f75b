"""Functions that run on the host: counted, warned about or refused, as wished."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.api import host
from dcarray.api.coverage import FALLBACK

NAMES = sorted(set(host.__all__) - {"vectorize"})


CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("apply_along_axis", (np.sum, 0, np.ones((2, 3)))),
    ("apply_over_axes", (np.sum, np.ones((2, 3)), [0])),
    ("trim_zeros", (np.array([0, 1, 2, 0]),)),
    ("polyfit", (np.arange(5.0), np.arange(5.0) ** 2, 2)),
    ("roots", (np.array([1.0, -3.0, 2.0]),)),
    ("hanning", (5,)),
    ("mask_indices", (3, np.triu)),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_the_call_is_numpys_and_counted(name: str, arguments: tuple[Any, ...]) -> None:
    given = [dc.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments]
    expected = getattr(np, name)(*arguments)
    with dc.profile() as profile:
        got = getattr(dc, name)(*given)
    assert [event.name for event in profile.fallbacks] == [name]
    ours = got if isinstance(got, tuple) else (got,)
    theirs = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, dc.ndarray)
        assert one.get().tobytes() == np.asarray(other).tobytes()


def test_refused_where_the_settings_say_so() -> None:
    with dc.config(fallback="error"), pytest.raises(TypeError, match="not native"):
        dc.roots(dc.asarray([1.0, -3.0, 2.0]))


def test_warned_about_where_the_settings_say_so() -> None:
    with dc.config(fallback="warn"), pytest.warns(RuntimeWarning, match="roots"):
        dc.roots(dc.asarray([1.0, -3.0, 2.0]))


def test_results_keep_the_label() -> None:
    x = dc.asarray([1.0, -3.0, 2.0], device="test:0")
    assert dc.roots(x).device == "test:0"


@pytest.mark.parametrize("name", NAMES)
def test_functions_look_like_numpys(name: str) -> None:
    ours, theirs = getattr(dc, name), getattr(np, name)
    assert ours.__name__ == theirs.__name__
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert ours.__doc__ == theirs.__doc__
    assert ours.__dcarray_coverage__ == FALLBACK


def test_what_numpy_calls_for_us_is_counted_too() -> None:
    with dc.profile() as profile:
        result = np.roots(dc.asarray([1.0, -3.0, 2.0]))
    assert isinstance(result, dc.ndarray)
    assert len(profile.fallbacks) == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x: dc.nan_to_num(x, copy=False),
        lambda x: dc.nan_to_num(x, False),
        lambda x: dc.median(x, overwrite_input=True),
        lambda x: dc.copyto(x, 7.0),
        lambda x: dc.put(x, 0, 7.0),
        lambda x: dc.place(x, x > 0, [7.0]),
        lambda x: dc.putmask(x, x > 0, [7.0]),
        lambda x: dc.put_along_axis(x, dc.asarray([1]), 7.0, 0),
        lambda x: np.add.at(x, [0, 0], 7.0),
        lambda x: dc.cumsum(x, 0, None, x),
    ],
)
def test_a_function_that_writes_leaves_recorded_values_alone(write: Any) -> None:
    numbers = np.array([3.0, np.nan, 1.0, 2.0])
    with dc.config(lazy="always"):
        x = dc.asarray(numbers)
        pending = x + 0
        write(x)
    assert pending.get().tobytes() == numbers.tobytes()
    assert x.get().tobytes() != numbers.tobytes()


@pytest.mark.parametrize("name", ["array", "zeros", "median", "sum", "roots", "exp"])
def test_functions_are_pickled_by_name(name: str) -> None:
    function = getattr(dc, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_creation_functions_kept_in_a_class_stay_functions() -> None:
    class Model:
        array = dc.array

    assert Model().array([1, 2]).tolist() == [1, 2]
    assert "function array at" in repr(dc.array)


@pytest.mark.parametrize("name", ["reshape", "moveaxis", "zeros_like", "sum", "sort"])
def test_masked_arrays_stay_masked(name: str) -> None:
    arguments = {"reshape": (-1,), "moveaxis": (0, 1), "sum": (0,)}.get(name, ())
    masked = np.ma.masked_array(np.ones((2, 2)), mask=[[0, 1], [0, 0]])
    assert isinstance(getattr(dc, name)(masked, *arguments), np.ma.MaskedArray)


class Arraylike:
    """As a NumPy program writes it: its ``np.array`` makes arrays of ours."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return dc.asarray([1, 2, 2])


@pytest.mark.parametrize("name", ["asarray", "bincount", "sum", "median", "unique"])
def test_objects_that_turn_into_our_arrays(name: str) -> None:
    got = getattr(dc, name)(Arraylike())
    assert got.get().tolist() == getattr(np, name)([1, 2, 2]).tolist()
