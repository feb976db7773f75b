"""One call, at least, of every function that is said to be native.

Each line is an expression over ``np``, which is NumPy or dcarray, and the arrays of
`operands`.  The function that it stands for is the first one named after ``np.``; one
line that begins with ``for`` stands for a family of functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy

__all__ = ["CALLS", "named", "operands"]


def operands(put: Callable[[Any], Any]) -> dict[str, Any]:
    """The arrays of the expressions, each made by ``put`` of NumPy's."""
    rng = numpy.random.default_rng(5)
    floats = rng.uniform(0.1, 0.9, (3, 4))
    square = rng.uniform(-1, 1, (4, 4)) + 4 * numpy.eye(4)
    holes = floats.copy()
    holes[0, 1] = holes[2, 3] = numpy.nan
    made = {
        "a": floats,
        "b": rng.uniform(1.1, 2.0, (3, 4)),
        "c": rng.uniform(-1, 1, (3, 4)) + 1j * rng.uniform(-1, 1, (3, 4)),
        "h": holes,
        "i": rng.integers(1, 6, (3, 4)),
        "j": rng.integers(1, 4, (3, 4)),
        "k": numpy.array([2, 0, 1, 2, 2]),
        "m": square,
        "p": square @ square.T,
        "t": floats > 0.5,
        "u": floats < 0.7,
        "v": rng.uniform(-3, 3, 11),
        "w": rng.uniform(-3, 3, 11),
        "z": numpy.zeros((3, 4)),
    }
    images = numpy.random.default_rng(6).uniform(-1, 1, (2, 4, 5, 4, 3))
    for axes in (1, 2, 3):
        cut = images[(..., *(0,) * (3 - axes))]
        made[f"x{axes}"] = cut
        made[f"g{axes}"] = cut[(..., *(slice(1, None),) * axes)]
        made[f"w{axes}"] = cut[(slice(None), slice(2), *(slice(2),) * axes)]
        made[f"w{axes}"] = numpy.concatenate([made[f"w{axes}"]] * 2)
    return {name: put(array) for name, array in made.items()}


_FAMILIES = """
for abs absolute acos arccos asin arcsin atan arctan arcsinh asinh arctanh atanh cbrt
    ceil cos cosh deg2rad degrees exp exp2 expm1 fabs floor frexp isfinite isinf isnan
    log log10 log1p log2 modf negative positive rad2deg radians reciprocal rint sign
    signbit sin sinh spacing sqrt square tan tanh trunc logical_not fix sinc isneginf
    isposinf isreal iscomplex real imag angle conj conjugate: (a)
for acosh arccosh: (b)
for conj conjugate exp log sqrt square absolute sin cos tanh negative: (c)
for add subtract multiply divide true_divide floor_divide remainder mod fmod divmod
    power pow float_power arctan2 atan2 hypot copysign nextafter maximum minimum fmax
    fmin logaddexp logaddexp2 heaviside equal not_equal less less_equal greater
    greater_equal logical_and logical_or logical_xor: (a, b)
for bitwise_and bitwise_or bitwise_xor left_shift right_shift bitwise_left_shift
    bitwise_right_shift gcd lcm add multiply floor_divide remainder power
    maximum: (i, j)
for bitwise_count bitwise_invert bitwise_not invert: (i)
for sum prod max min amax amin mean std var ptp median argmax argmin all any
    count_nonzero cumsum cumprod sort argsort: (a, axis=1)
for sum prod max min mean std var argmax argmin all any cumulative_sum cumulative_prod
    nonzero flatnonzero argwhere ravel unique unique_all unique_counts unique_inverse
    unique_values: (v)
for nansum nanprod nanmax nanmin nanmean nanstd nanvar nanargmax nanargmin nancumsum
    nancumprod nanmedian: (h, axis=1)
for ones_like zeros_like copy array asarray asanyarray ascontiguousarray asfortranarray
    transpose permute_dims matrix_transpose fliplr flipud flip rot90 squeeze atleast_1d
    atleast_2d atleast_3d ndim shape size iscomplexobj isrealobj isfortran array_repr
    array_str array2string diag diag_indices_from tril triu tril_indices_from
    triu_indices_from diagonal trace unstack: (m)
for vstack hstack dstack column_stack stack concatenate concat row_stack: ([a, b])
for intersect1d union1d setdiff1d setxor1d isin: (i, k)
for isclose allclose array_equal array_equiv: (a, b)
for isclose allclose array_equal array_equiv: (a, a)
for dot vdot inner outer kron convolve correlate vecdot: (v, w)
for matmul dot tensordot: (m, m)
for linalg.det linalg.inv linalg.slogdet linalg.matrix_rank linalg.pinv linalg.qr
    linalg.svdvals linalg.cond linalg.norm linalg.matrix_norm linalg.diagonal
    linalg.trace linalg.matrix_transpose linalg.vector_norm: (m)
for linalg.cholesky linalg.eigvalsh: (p)
for fft.fft fft.ifft fft.rfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.fftn fft.ifftn
    fft.rfftn fft.fftshift fft.ifftshift: (a)
for fft.irfft fft.hfft fft.irfft2 fft.irfftn: (c)
for nn.celu nn.elu nn.erf nn.erfc nn.gelu nn.hard_shrink nn.hard_sigmoid nn.hard_swish
    nn.hardtanh nn.leaky_relu nn.log_sigmoid nn.log_softmax nn.mish nn.relu nn.relu6
    nn.selu nn.sigmoid nn.silu nn.soft_shrink nn.softmax nn.softplus nn.softsign
    nn.tanhshrink: (v)
for nn.celu_gradient nn.elu_gradient nn.erf_gradient nn.erfc_gradient nn.gelu_gradient
    nn.hard_shrink_gradient nn.hard_sigmoid_gradient nn.hard_swish_gradient
    nn.hardtanh_gradient nn.leaky_relu_gradient nn.log_sigmoid_gradient
    nn.log_softmax_gradient nn.mish_gradient nn.relu_gradient nn.relu6_gradient
    nn.selu_gradient nn.sigmoid_gradient nn.silu_gradient nn.soft_shrink_gradient
    nn.softmax_gradient nn.softplus_gradient nn.softsign_gradient
    nn.tanhshrink_gradient: (v, w)
for nn.conv1d nn.conv_transpose1d nn.conv_transpose1d_input_gradient: (x1, w1, groups=2)
for nn.conv1d_input_gradient: (g1, w1, x1.shape, groups=2)
for nn.conv1d_weight_gradient: (g1, x1, w1.shape, groups=2)
for nn.conv_transpose1d_weight_gradient: (x1, g1, w1.shape, groups=2)
for nn.avg_pool1d nn.max_pool1d nn.adaptive_avg_pool1d: (x1, 2)
for nn.adaptive_max_pool1d: (x1, 2, return_indices=True)
for nn.avg_pool1d_gradient nn.max_pool1d_gradient: (g1, x1, 2, 1)
for nn.adaptive_avg_pool1d_gradient
    nn.adaptive_max_pool1d_gradient: (g1, x1, g1.shape[2:])
for nn.conv2d nn.conv_transpose2d nn.conv_transpose2d_input_gradient: (x2, w2, groups=2)
for nn.conv2d_input_gradient: (g2, w2, x2.shape, groups=2)
for nn.conv2d_weight_gradient: (g2, x2, w2.shape, groups=2)
for nn.conv_transpose2d_weight_gradient: (x2, g2, w2.shape, groups=2)
for nn.avg_pool2d nn.max_pool2d nn.adaptive_avg_pool2d: (x2, 2)
for nn.adaptive_max_pool2d: (x2, 2, return_indices=True)
for nn.avg_pool2d_gradient nn.max_pool2d_gradient: (g2, x2, 2, 1)
for nn.adaptive_avg_pool2d_gradient
    nn.adaptive_max_pool2d_gradient: (g2, x2, g2.shape[2:])
for nn.conv3d nn.conv_transpose3d nn.conv_transpose3d_input_gradient: (x3, w3, groups=2)
for nn.conv3d_input_gradient: (g3, w3, x3.shape, groups=2)
for nn.conv3d_weight_gradient: (g3, x3, w3.shape, groups=2)
for nn.conv_transpose3d_weight_gradient: (x3, g3, w3.shape, groups=2)
for nn.avg_pool3d nn.max_pool3d nn.adaptive_avg_pool3d: (x3, 2)
for nn.adaptive_max_pool3d: (x3, 2, return_indices=True)
for nn.avg_pool3d_gradient nn.max_pool3d_gradient: (g3, x3, 2, 1)
for nn.adaptive_avg_pool3d_gradient
    nn.adaptive_max_pool3d_gradient: (g3, x3, g3.shape[2:])
"""

_LINES = """
np.isnat(np.asarray(["NaT"], "M8[s]", device="cpu"))
np.vecmat(v[:4], m)
np.ldexp(a, i)
np.matvec(m, v[:4])
np.clip(a, 0.3, 0.6)
np.round(a * 100)
np.around(v)
np.nan_to_num(h)
np.where(t, a, b)
np.select([t, u], [a, b], 7.0)
np.interp(v, np.sort(w), v)
np.interp(v, w, v, period=2.5)
np.piecewise(v, [v < 0, v > 1], [-1, lambda x: x * 2, 0.5])
np.polyval(a[0], v)
np.vander(v, 3)
np.average(a, axis=0, weights=b)
np.average(a, 1, [1, 2, 3, 4], returned=True)
np.average(i)
np.percentile(a, [10, 50], axis=1)
np.quantile(a, 0.3)
np.nanpercentile(h, 40)
np.nanquantile(h, 0.4)
np.nanquantile(h, [0.1, 0.9], axis=0, keepdims=True)
np.cov(a)
np.cov(a, b, rowvar=False, ddof=0, fweights=i[:, 0], aweights=a[:, 1])
np.cov(c)
np.corrcoef(a)
np.bincount(k)
np.digitize(v, np.linspace(-3, 3, 5))
np.histogram(v, 4)
np.histogram2d(v, w, 3)
np.histogram(v, 4, weights=w)
np.histogram(v, [-3.0, -1.0, 0.5, 3.0], density=True)
np.histogram2d(v, w, [2, 3], weights=v, density=True)
np.histogramdd([v, w, v], 2)
np.histogram_bin_edges(v, 4)
np.diff(a, axis=1)
np.ediff1d(v)
np.ediff1d(v, [1.0, 2.0], 0.0)
np.gradient(v)
np.gradient(a, 2.0, np.cumsum(b[0]), edge_order=2)
np.trapezoid(v)
np.trapezoid(a, np.cumsum(b[0]), axis=1)
np.unwrap(v)
np.unwrap(i, axis=0, period=4)
np.cross(a[:, :3], b[:, :3])
np.einsum("ij,kj->ik", a, b)
np.lexsort((v, w))
np.convolve(v, a[0], "same")
np.correlate(c[0], c[1], "full")
np.partition(v, 3)[3]
np.argpartition(v, 3)[3] >= 0
np.searchsorted(np.sort(v), w)
np.extract(t, a)
np.compress(t[0], a, axis=1)
np.choose(k, [v[:5], w[:5], v[5:10]])
np.choose(i, [a, b, 0.0], mode="wrap")
np.take(a, k, axis=0)
np.take_along_axis(a, np.argsort(a, axis=1), axis=1)
(np.put(z, [1, 5], [2.0, 3.0]), z)[1]
(np.put_along_axis(z, np.argsort(a, axis=1)[:, :1], 5.0, axis=1), z)[1]
(np.putmask(z, t, a), z)[1]
(np.place(z, t, v), z)[1]
(np.fill_diagonal(z, 4.0), z)[1]
(np.copyto(z, a, where=t), z)[1]
(np.copyto(z, a), z)[1]
np.diag_indices(3)
np.tril_indices(3)
np.triu_indices(3)
np.diag(v, 1)
np.diagflat(k)
np.tri(3, 4)
np.eye(3, 4, 1)
np.identity(3)
np.arange(2, 9, 3)
np.linspace(0, 1, 5)
np.logspace(0, 1, 5)
np.geomspace(1, 16, 5)
np.indices((2, 3))
np.meshgrid(v, k)
np.empty((2, 3)).shape
np.empty_like(a).shape
np.zeros((2, 3))
np.ones((2, 3), int)
np.full((2, 3), 7.0)
np.full_like(a, 7)
np.reshape(a, (2, 6))
np.expand_dims(a, 1)
np.moveaxis(a, 0, 1)
np.rollaxis(a, 1)
np.swapaxes(a, 0, 1)
np.broadcast_to(v, (2, 11))
np.broadcast_arrays(a, b[0])
np.broadcast_shapes((3, 1), (4,))
np.block([[a, b], [b, a]])
np.append(a, b)
np.insert(a, 1, 5.0, axis=1)
np.unravel_index(k, (2, 2))
np.packbits(t, axis=1)
np.unpackbits(np.packbits(t))
np.ravel_multi_index((k, k), (3, 4))
np.delete(v, [1, 3])
np.split(v[:10], 2)
np.array_split(v, 3)
np.hsplit(a, 2)
np.vsplit(m, 2)
np.dsplit(np.reshape(a, (3, 2, 2)), 2)
np.repeat(a, 2, axis=1)
np.tile(a, (2, 1))
np.roll(a, 1)
np.roll(a, (1, 2), (0, 1))
np.pad(a, ((1, 2), (0, 1)), constant_values=3.0)
np.pad(a, 1, mode="edge")
np.resize(v, (3, 5))
np.astype(a, np.float32)
np.can_cast(np.int8, np.int16)
np.result_type(a, np.float32)
np.common_type(a, c)
np.min_scalar_type(7)
np.isdtype(np.float64, "real floating")
np.isscalar(3.0)
np.shares_memory(a, a[1:])
np.may_share_memory(a, b)
np.from_dlpack(a).shape
np.frombuffer(b"\\x01\\x02", np.uint8)
np.fromiter(range(4), float)
np.fromstring("1 2 3", sep=" ")
np.loadtxt(io.StringIO("1 2"))
np.genfromtxt(io.StringIO("1 2"))
np.fromfile(__file__, np.uint8, 4)
(lambda f: (np.save(f, a), f.seek(0), np.load(f))[2])(io.BytesIO())
(lambda f: (numpy.save(f, [1, 2]), f.seek(0), np.load(f))[2])(io.BytesIO())
(lambda f: (np.savetxt(f, a), f.getvalue())[1])(io.BytesIO())
(lambda f: (np.savez(f, a), f.seek(0), numpy.load(f)["arr_0"])[2])(io.BytesIO())
(lambda f: (np.savez_compressed(f, x=a), f.tell() > 0)[1])(io.BytesIO())
np.linalg.solve(m, v[:4])
np.linalg.lstsq(m, v[:4])[0]
np.linalg.eigh(p)[0]
np.linalg.svd(m)[1]
abs(np.linalg.eigvals(p)).sum()
abs(np.linalg.eig(p)[0]).sum()
np.linalg.matrix_power(m, 3)
np.linalg.multi_dot([m, p, m])
np.linalg.gemm(m, p, m, 2.0, 0.5, transpose_b=True)
np.linalg.matmul(m, p)
np.linalg.outer(v, w)
np.linalg.cross(a[:, :3], b[:, :3])
np.linalg.tensordot(m, p)
np.linalg.vecdot(v, w)
np.linalg.tensorinv(np.reshape(m, (2, 2, 4)))
np.linalg.tensorsolve(np.reshape(m, (4, 2, 2)), v[:4])
np.fft.fftfreq(5)
np.fft.rfftfreq(5)
np.nn.rsqrt(a)
np.nn.rsqrt_gradient(a, b)
np.nn.max_unpool1d(*np.nn.max_pool1d(x1, 2, return_indices=True), 2, 2, 0, (5,))
np.nn.max_unpool1d_gradient(x1, np.nn.max_pool1d(x1, 2, return_indices=True)[1])
np.nn.max_unpool2d(*np.nn.max_pool2d(x2, 2, return_indices=True), 2, 2, 0, (5, 4))
np.nn.max_unpool2d_gradient(x2, np.nn.max_pool2d(x2, 2, return_indices=True)[1])
np.nn.max_unpool3d(*np.nn.max_pool3d(x3, 2, return_indices=True), 2, 2, 0, (5, 4, 3))
np.nn.max_unpool3d_gradient(x3, np.nn.max_pool3d(x3, 2, return_indices=True)[1])
np.nn.linear(a, a, v[:3])
np.nn.linear_gradient(a[:, :3], a, a)
np.nn.embedding(k, m)
np.nn.embedding_gradient(m, k[:4], 3, 0)
np.nn.dropout(a, 0.3, 5)
np.nn.dropout_gradient(a, t, 0.3)
np.nn.batch_norm(x2, weight=v[:4])
np.nn.batch_norm_gradient(x2, x2)
np.nn.layer_norm(a, v[:4])
np.nn.layer_norm_gradient(a, b)
np.nn.group_norm(x2, 2)
np.nn.group_norm_gradient(x2, x2, 2)
np.nn.rms_norm(a)
np.nn.rms_norm_gradient(a, b)
np.nn.cross_entropy(m, k[:4], label_smoothing=0.1)
np.nn.cross_entropy_gradient(v[:1], m, k[:4])
np.nn.scaled_dot_product_attention(a, b, b, causal=True)
np.nn.scaled_dot_product_attention_gradient(a, a, b, b, mask=t[:, :3])
"""


def _expanded(families: str) -> list[str]:
    lines = []
    for family in re.findall(r"^for ((?:.|\n(?!for ))+?): (.*)$", families, re.M):
        names, call = family
        lines += [f"np.{name}{call}" for name in names.split()]
    return lines


CALLS: tuple[str, ...] = (*_expanded(_FAMILIES), *_LINES.strip().splitlines())
"""The expressions."""


def named(call: str) -> str:
    """The function that an expression stands for."""
    found = re.search(r"\bnp\.((?:linalg\.|fft\.|nn\.)?\w+)\(", call)
    assert found is not None, call
    return found[1]
