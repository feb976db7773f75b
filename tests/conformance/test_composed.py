"""Functions that a named device makes of several operations, in all their forms."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.backends.grid.library.quantiles import METHODS, placed
from dcarray.backends.registry import install, remove
from tests.backend.interpreted_device import InterpretedBackend

CALLS = """
np.interp(x,xp,fp)
np.interp(x,xp,fp,left=-9,right=9)
np.interp(x,xp,fp*1j)
np.interp(x.astype(np.float32),xp,xp.astype(np.float32))
np.interp(0.3,xp,xp**2)
np.interp(i,np.array([0,2,3]),np.array([0,5,6]))
np.interp(x[:5],xp[:1],fp[:1])
np.interp(x[:5],xp,fp[:2])
np.interp(x[:5],xp,xp,period=0)
np.gradient(f32)
np.gradient(f,axis=1)
np.gradient(f,0.5,axis=(1,))
np.gradient(i)
np.gradient(f,np.array([1.,2,4,7]),3.0)
np.gradient(f,np.array([1.,2,4,7]),np.arange(5.),edge_order=2)
np.gradient(f,np.array([1.,2,4,7]),axis=0)
np.gradient(f,2,3,4)
np.gradient(v[:1])
np.gradient(v,edge_order=2)
np.gradient(u)
np.gradient(c)
np.gradient(f, np.array([1,2,3]))
np.trapezoid(f32)
np.trapezoid(i)
np.trapezoid(f,x=np.cumsum(f**2,0),axis=0)
np.trapezoid(f,dx=2,axis=0)
np.trapezoid(b)
np.unwrap(f*9)
np.unwrap(f32*9,axis=0)
np.unwrap(i,period=3)
np.unwrap(v*3,discont=4.0)
np.ediff1d(i)
np.ediff1d(f)
np.ediff1d(i,to_end=7,to_begin=[1,2])
np.ediff1d(i,to_end=0.5)
np.ediff1d(u)
np.average(f32)
np.average(f,axis=(0,1),weights=f**2)
np.average(i,axis=0)
np.average(i,axis=0,weights=np.arange(4))
np.average(f,weights=np.zeros((4,5)))
np.average(f,weights=v)
np.average(f,axis=0,weights=v)
np.average(f32,axis=1,weights=np.arange(5,dtype=np.float32),keepdims=True)
np.average(f,axis=(1,0),weights=(f**2).T)
np.average(c,axis=0,returned=True)
np.cov(f32)
np.cov(i)
np.cov(v)
np.cov(f,bias=True)
np.cov(v,v*2,ddof=3)
np.cov(f,fweights=np.arange(5))
np.cov(f,aweights=f[0])
np.cov(f,aweights=f[0]**2)
np.cov(f,aweights=f[0]**2,ddof=0)
np.cov(f[:,:1])
np.cov(f,dtype=np.float32)
np.corrcoef(f)
np.corrcoef(v)
np.corrcoef(v,v**2)
np.corrcoef(c)
np.corrcoef(f32)
np.quantile(f, [0.1, 0.35], axis=1, method="nearest")
np.quantile(i, 0.35, method="lower")
np.quantile(i, [0.2, 0.9], method="midpoint")
np.percentile(h, 40, axis=0, method="higher")
np.percentile(f32, 40, method="hazen")
np.quantile(f, 0.4, axis=0, method="closest_observation", keepdims=True)
np.quantile(f, 0.4, method="what")
np.nanmedian(h)
np.nanmedian(h,axis=1)
np.nanmedian(h,axis=0,keepdims=True)
np.nanmedian(h,axis=(0,1))
np.nanmedian(i,axis=1)
np.nanmedian(f32)
np.nanmedian(h[1])
np.nanvar(h, axis=0)
np.nanstd(h, axis=1, ddof=1)
np.nanquantile(h,[0,0.25,1],axis=1)
np.nanquantile(h,0.3)
np.nanquantile(f32,0.3,axis=0)
np.nanquantile(f32,[[0.3,0.4]],axis=0)
np.nanquantile(h,0.3,axis=(0,1),keepdims=True)
np.nanquantile(i,0.3)
np.nanpercentile(h,[30.0,100],axis=0)
np.nanpercentile(h,130)
np.nanquantile(f.astype(np.float16),0.7,axis=1)
np.histogram(f,weights=i)
np.histogram(f,5,(-1,1),weights=f32)
np.histogram(f,5,(-1,1),density=True)
np.histogram(i,4,density=True)
np.histogram(f,weights=c)
np.histogram(f,weights=v)
np.histogram(v,np.array([-1.,0,0.2,3]),weights=v)
np.histogram2d(v,v**2)
np.histogram2d(v,v**2,[np.array([-1.,0,1]),4])
np.histogram2d(v,v**2,np.array([0,.5,1,2]))
np.histogram2d(v,v**2,5,[[-1,1],[0,1]],density=True)
np.histogram2d(v,v[:3])
np.histogramdd(f,3)
np.histogramdd(v,3)
np.histogramdd((v,v),[2,3],weights=v)
np.histogramdd(f,3,density=True)
np.choose(i,[f,f*2,1,i])
np.choose(i,[f,f*2])
np.choose(i,[f[0],f[1]],mode="clip")
np.choose(i-2,[f[0],f[1],3],mode="wrap")
np.choose(i%2,np.array([[1],[2]]))
np.choose(f,[1,2])
np.piecewise(v,[v<0,v>=0],[lambda q:-q,lambda q:q])
np.piecewise(v,v<0,[-1,1])
np.piecewise(i,[i<2],[lambda q,k:q*k],3)
np.piecewise(v,[v<0,v>=0],[1,2,3,4])
np.polyval(i[0],i)
np.polyval(f[0],v)
np.polyval([1,2,3],f32)
np.polyval(f[0],2.0)
np.vander(i[0])
np.vander(f32[0],3,increasing=True)
np.vander(u,1)
np.vander(v,0)
np.einsum("...j,j->...", f, f[0])
np.einsum("i...,i...", f, f)
np.einsum("...j,...j", f[:1], f)
np.einsum("ij...->...", f)
np.einsum("...j->j", f)
np.bitwise_or.reduce(i)
np.bitwise_xor.reduce(i, axis=1, keepdims=True)
np.bitwise_and.reduce(u[:0])
np.logical_xor.reduce(f, axis=None)
np.fmax.reduce(h, axis=1)
np.fmin.reduce(v[:0])
np.gcd.reduce(i * 6, axis=(0, 1))
np.lcm.reduce(u[1:])
np.hypot.reduce(f, axis=0)
np.hypot.reduce(i[:1])
np.logaddexp.reduce(v)
np.logaddexp.reduce(f, axis=1, out=f[:, 0].copy())
np.bitwise_or.reduce(f)
np.packbits(b)
np.packbits(b, axis=0, bitorder="little")
np.packbits(i, axis=-1)
np.packbits(u[:0])
np.packbits(f)
np.packbits(b, bitorder="middle")
np.unpackbits(u)
np.unpackbits(u.reshape(2, 3), axis=0, count=5)
np.unpackbits(u.reshape(2, 3), axis=1, count=-3, bitorder="little")
np.unpackbits(u, count=60)
np.unpackbits(i)
np.unpackbits(u, count=-100)
np.insert(v, 2, 9.0)
np.insert(v, -1, [1, 2])
np.insert(f, [1, 3], 7.0, axis=1)
np.insert(f, 1, v[:4], axis=1)
np.insert(f, [1], v[:4, None], axis=1)
np.insert(f, slice(0, 2), f[:2], axis=0)
np.insert(f, 99, 1.0, axis=1)
np.insert(i, 3, 2.7)
np.insert(v, v > 0, 0.0)
np.unravel_index(i, (4, 5))
np.unravel_index(i, (4, 5), order="F")
np.unravel_index(i, 3)
np.unravel_index(f, (4, 5))
np.ravel_multi_index((i, i), (4, 5))
np.ravel_multi_index((i, i - 1), (4, 5), mode=("raise", "wrap"), order="F")
np.ravel_multi_index((i, i), (2, 5), mode="clip")
np.ravel_multi_index((i, i), (2, 5))
np.convolve(v,f[0])
np.convolve(f[0],v,"same")
np.convolve(f[0],v,"valid")
np.convolve(i[0],u)
np.convolve(b[0],b[1])
np.correlate(v,f[0])
np.correlate(f[0],v,"same")
np.correlate(f[0],v,"full")
np.correlate(c[0],c[1,:3],"full")
np.correlate(c[1,:3],c[0],"full")
np.convolve(v,v[:0])
np.convolve(f,v)
np.convolve(v,3.0)
np.convolve(v,v[:4],"what")
np.convolve(v,v[:4],1)
""".strip().splitlines()


MISTAKES = (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)


def operands() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    f = rng.normal(size=(4, 5))
    i = rng.integers(0, 4, (4, 5))
    h = f.copy()
    h[1] = h[0, 2] = np.nan
    h[2, :3] = np.inf
    x = [-3, -1.0, 0, 0.5, 2, np.nan, 3, 3.5, np.inf, -np.inf]
    return {
        "b": f > 0,
        "c": f + 1j * f[::-1],
        "f": f,
        "f32": f.astype(np.float32),
        "fp": np.array([1.0, np.inf, 5, 7]),
        "h": h,
        "i": i,
        "u": np.arange(6, dtype=np.uint8),
        "v": rng.normal(size=9),
        "x": np.array(x),
        "xp": np.array([-1.0, 0, 2, 3]),
    }


@pytest.fixture(scope="module")
def grid() -> Iterator[str]:
    made = InterpretedBackend()
    install(made)
    yield made.device
    remove(made.device)


def evaluated(call: str, module: Any, given: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return eval(call, {"np": module, **given})
        except (
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            RuntimeError,
        ) as error:
            return error


def same(got: Any, want: Any, device: str) -> None:
    if isinstance(want, (tuple, list)):
        assert isinstance(got, (tuple, list))
        for one, other in zip(got, want, strict=True):
            same(one, other, device)
        return
    assert str(got.device) == device
    want = np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    coarse = want.dtype.kind in "fc" and np.finfo(want.dtype).eps > 1e-10
    near = 2e-3 if want.dtype == np.float16 else 1e-5 if coarse else 1e-11
    np.testing.assert_allclose(got.get(), want, rtol=near, atol=near / 10)


@pytest.mark.parametrize("call", CALLS)
def test_calls_agree_with_numpy(call: str, grid: str) -> None:
    want = evaluated(call, np, operands())
    with dc.config(fallback="error"):
        put = {name: dc.asarray(x, device=grid) for name, x in operands().items()}
        got = evaluated(call, dc, put)
    if isinstance(want, Exception):
        assert type(got) is type(want)
    else:
        same(got, want, grid)


@pytest.mark.parametrize("method", METHODS)
def test_places_of_quantiles(method: str) -> None:
    rng = np.random.default_rng(0)
    for length in (1, 2, 3, 4, 7, 10, 101):
        x = np.arange(float(length))
        shares = [0.1, 0.25, 1 / 3, 0.6, *np.arange(length + 1) / length]
        for share in (*shares, *rng.random(5)):
            below, rest = placed(method, length, float(share))
            above = min(below + 1, length - 1)
            found = below + (above - below) * (rest or 0)
            assert abs(found - np.quantile(x, share, method=method)) < 1e-9
