"""Functions of the array API standard on devices, with drawn arguments.

data-apis/array-api-tests does this at length; here are a few examples of each function.
The oracle is NumPy, and the host does nothing.  An interpreted device has the kernels
of all others, and needs no compiler; with those, it takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as arrays

import dcarray as dc
from dcarray.backends import registry
from dcarray.backends.opencl import count
from dcarray.testing import operands
from tests.backend.interpreted_device import InterpretedBackend
from tests.metal_simulator import Simulator, installed
from tests.metal_simulator.library import compiler

HostArray = np.ndarray[Any, Any]

FUNCTIONS = """
xp.abs(s) xp.acos(s) xp.acosh(s) xp.asin(s) xp.asinh(s) xp.atan(s) xp.atanh(s)
xp.ceil(s) xp.cos(x) xp.cosh(x) xp.exp(s) xp.expm1(s) xp.floor(s) xp.isfinite(s)
xp.isinf(s) xp.isnan(s) xp.log(s) xp.log10(s) xp.log1p(s) xp.log2(s) xp.negative(s)
xp.positive(s) xp.reciprocal(s) xp.round(s) xp.sign(s) xp.signbit(s) xp.sin(x)
xp.sinh(x) xp.sqrt(s) xp.square(s) xp.tan(x) xp.tanh(s) xp.trunc(s)
xp.logical_not(t) xp.bitwise_invert(i) xp.abs(i) xp.sign(i) xp.square(i)

xp.add(s,r) xp.atan2(s,r) xp.copysign(s,r) xp.divide(s,r) xp.equal(s,r)
xp.floor_divide(x,y) xp.greater(s,r) xp.greater_equal(s,r) xp.hypot(s,r) xp.less(s,r)
xp.less_equal(s,r) xp.logaddexp(x,y) xp.maximum(s,r) xp.minimum(s,r) xp.multiply(s,r)
xp.nextafter(s,r) xp.not_equal(s,r) xp.pow(x,y) xp.remainder(x,y) xp.subtract(s,r)
xp.add(i,j) xp.bitwise_and(i,j) xp.bitwise_left_shift(i,n) xp.bitwise_or(i,j)
xp.bitwise_right_shift(i,n) xp.bitwise_xor(i,j) xp.floor_divide(i,j) xp.remainder(i,j)
xp.multiply(i,j) xp.less(i,j) xp.maximum(i,j)
xp.logical_and(t,u) xp.logical_or(t,u) xp.logical_xor(t,u)
xp.clip(x,-n,n) xp.where(t,x,y) xp.astype(x,xp.int32) xp.astype(i,xp.float32)

xp.sum(x,axis=axis,keepdims=flag) xp.prod(i,axis=axis,keepdims=flag)
xp.max(s,axis=axis,keepdims=flag) xp.min(s,axis=axis,keepdims=flag)
xp.mean(x,axis=axis,keepdims=flag) xp.var(x,axis=axis,correction=part)
xp.std(x,axis=axis,correction=part) xp.any(t,axis=axis) xp.all(t,axis=axis)
xp.count_nonzero(i,axis=axis) xp.argmax(i,axis=along) xp.argmin(i,axis=along)
xp.cumulative_sum(i,axis=along,include_initial=flag)
xp.cumulative_prod(i,axis=along,include_initial=flag) xp.diff(i,axis=along)

xp.sort(s,axis=along) xp.argsort(i,axis=along,stable=True) xp.nonzero(i)
xp.searchsorted(xp.sort(v),v,side=side) xp.unique_all(i) xp.unique_counts(i)
xp.unique_inverse(i) xp.sort(xp.unique_values(i)) xp.isin(i,w,invert=flag)

xp.take(x,w%len(x),axis=0) xp.take_along_axis(i,xp.abs(i)%2,axis=along)
x[t] x[0,::-1] x[...,1:] x[w%len(x)] xp.reshape(x,(-1,)) xp.flip(x,axis=axis)
xp.roll(x,n,axis=axis) xp.repeat(x,n,axis=along) xp.tile(x,(n,2))
xp.concat([x,x],axis=axis)
xp.stack([x,x],axis=along) xp.expand_dims(x,axis=along) xp.permute_dims(x,(1,0))
xp.moveaxis(x,along,0) xp.squeeze(xp.expand_dims(x,axis=0),axis=0)
xp.broadcast_to(x,(2,*x.shape)) xp.broadcast_arrays(x,v[:1]) xp.unstack(x,axis=along)
xp.meshgrid(v,w) xp.tril(x,k=n-2) xp.triu(x,k=n-2) xp.zeros_like(x)
xp.full_like(x,n) xp.matrix_transpose(x)

xp.matmul(x,xp.matrix_transpose(x)) xp.tensordot(x,x,axes=((along,),(along,)))
xp.vecdot(x,y,axis=along) x@v[:x.shape[1]]
""".split()
"""``xp`` is NumPy or dcarray; for the other names see `DRAWN`."""

UNITS = 16
"""Units in the last place that any function may be off; each has a bound of its own in
`BackendSuite.test_every_operation`."""

SHAPES = st.tuples(st.integers(2, 4), st.integers(2, 5))
NICE = st.integers(-12, 12).map(lambda n: n / 4)
SPECIAL = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 3e38])
SMALL = st.integers(-9, 9)
FILLED = {
    "x": (np.float32, NICE),
    "y": (np.float32, NICE),
    "s": (np.float32, SPECIAL | st.floats(-100, 100, width=32, allow_subnormal=False)),
    "r": (np.float32, SPECIAL | st.floats(-100, 100, width=32, allow_subnormal=False)),
    "i": (np.int32, SMALL),
    "j": (np.int32, SMALL.filter(bool)),
    "t": (np.bool_, st.booleans()),
    "u": (np.bool_, st.booleans()),
}
"""Arrays with two axes, all of one shape: their dtype, and their elements."""

DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "v": arrays.arrays(np.float32, 7, elements=NICE),
    "w": arrays.arrays(np.int32, 6, elements=st.integers(0, 9)),
    "axis": st.sampled_from([0, 1, -1, -2, None]),
    "along": st.sampled_from([0, 1, -1, -2]),
    "flag": st.booleans(),
    "n": st.integers(1, 3),
    "part": st.sampled_from([0.0, 1.0, 0.5]),
    "side": st.sampled_from(["left", "right"]),
}


class Names(dict[str, Any]):
    """The names of an expression, each drawn when it is met first."""

    def __init__(self, data: st.DataObject) -> None:
        super().__init__()
        self.data = data
        self.shape = data.draw(SHAPES, "shape")

    def __missing__(self, name: str) -> Any:
        if name in FILLED:
            dtype, elements = FILLED[name]
            filled = arrays.arrays(dtype, self.shape, elements=elements)
            self[name] = self.data.draw(filled, name)
        elif name in DRAWN:
            self[name] = self.data.draw(DRAWN[name], name)
        else:
            raise KeyError(name)
        return self[name]


class Placed(dict[str, Any]):
    """The same names, with arrays on a device."""

    def __init__(self, names: Names, device: str) -> None:
        super().__init__(xp=dc)
        self.names = names
        self.device = device

    def __missing__(self, name: str) -> Any:
        found = self.names[name]
        if isinstance(found, np.ndarray):
            found = dc.asarray(found, device=self.device)
        self[name] = found
        return found


@pytest.fixture(
    scope="module",
    params=[
        "grid:0",
        pytest.param("opencl:0", marks=pytest.mark.long),
        pytest.param("metal:0", marks=pytest.mark.long),
    ],
)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "opencl:0":
        if not count():
            pytest.skip("needs pyopencl and a driver")
        yield request.param
    elif request.param == "metal:0":
        if not compiler():
            pytest.skip("needs g++")
        with installed(Simulator()):
            yield request.param
            registry.remove(request.param)
    else:
        registry.install(InterpretedBackend(request.param))
        yield request.param
        registry.remove(request.param)


def assert_same(got: Any, want: Any, device: str) -> None:
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, device)
        return
    want = np.asarray(want)
    assert isinstance(got, dc.DeviceArray)
    assert got.device == device
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    host = got.get()
    if want.dtype.kind == "f":
        assert operands.distance(host, want) <= UNITS, (host, want)
    else:
        np.testing.assert_array_equal(host, want)


@pytest.mark.parametrize("call", FUNCTIONS)
@settings(
    max_examples=5,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_as_numpy(device: str, call: str, data: st.DataObject) -> None:
    names = Names(data)
    with np.errstate(all="ignore"):
        want = eval(call, {"xp": np}, names)
        with dc.config(fallback="error"):
            assert_same(eval(call, {}, Placed(names, device)), want, device)
