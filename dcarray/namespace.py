# ruff: noqa: F401 - this module is here to have names
"""The public names, every one in writing.

`dcarray` itself loads this module when the first of them is asked for, so that
``import dcarray`` costs little more than ``import numpy``.
"""

from __future__ import annotations

import sys as _sys
from typing import Any

import numpy as _np
from numpy import (
    False_,
    ScalarType,
    True_,
    _core,
    asmatrix,
    base_repr,
    binary_repr,
    bmat,
    bool,
    bool_,
    broadcast,
    busdaycalendar,
    byte,
    bytes_,
    cdouble,
    character,
    clongdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    datetime64,
    datetime_data,
    double,
    dtype,
    dtypes,
    e,
    errstate,
    euler_gamma,
    flatiter,
    flexible,
    float16,
    float32,
    float64,
    floating,
    format_float_positional,
    format_float_scientific,
    frompyfunc,
    generic,
    get_include,
    get_printoptions,
    getbufsize,
    geterr,
    geterrcall,
    half,
    index_exp,
    inexact,
    inf,
    info,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    integer,
    intp,
    iterable,
    little_endian,
    long,
    longdouble,
    longlong,
    matrix,
    memmap,
    nan,
    ndenumerate,
    ndindex,
    nditer,
    nested_iters,
    newaxis,
    number,
    object_,
    pi,
    poly1d,
    printoptions,
    recarray,
    record,
    s_,
    sctypeDict,
    set_printoptions,
    setbufsize,
    seterr,
    seterrcall,
    short,
    show_config,
    show_runtime,
    signedinteger,
    single,
    str_,
    timedelta64,
    typecodes,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
    void,
)

from .api.bitpacking import (
    packbits,
    unpackbits,
)
from .api.calculus import (
    convolve,
    correlate,
    diff,
    ediff1d,
    gradient,
    interp,
    trapezoid,
    unwrap,
)
from .api.contraction import (
    cross,
    dot,
    einsum,
    einsum_path,
    inner,
    kron,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vdot,
)
from .api.counting import (
    bincount,
    count_nonzero,
    digitize,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)
from .api.coverage import (
    fallback as _fallback,
)
from .api.creation import (
    array,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    copy,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    require,
    zeros,
    zeros_like,
)
from .api.dtypes import (
    astype,
    can_cast,
    common_type,
    finfo,
    iinfo,
    isdtype,
    issubdtype,
    min_scalar_type,
    mintypecode,
    promote_types,
    result_type,
    typename,
)
from .api.elementwise import (
    abs,
    absolute,
    acos,
    acosh,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    conj,
    conjugate,
    copysign,
    cos,
    cosh,
    deg2rad,
    degrees,
    divide,
    divmod,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    float_power,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    frexp,
    gcd,
    greater,
    greater_equal,
    heaviside,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    isnat,
    lcm,
    ldexp,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    matvec,
    maximum,
    minimum,
    mod,
    modf,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    power,
    rad2deg,
    radians,
    reciprocal,
    remainder,
    right_shift,
    rint,
    sign,
    signbit,
    sin,
    sinh,
    spacing,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
    vecdot,
    vecmat,
)
from .api.files import (
    frombuffer,
    fromfile,
    fromiter,
    fromregex,
    fromstring,
    genfromtxt,
    load,
    loadtxt,
    save,
    savetxt,
    savez,
    savez_compressed,
)
from .api.formulas import (
    allclose,
    angle,
    around,
    array_equal,
    array_equiv,
    clip,
    fix,
    i0,
    imag,
    isclose,
    iscomplex,
    isneginf,
    isposinf,
    isreal,
    nan_to_num,
    real,
    real_if_close,
    round,
    sinc,
)
from .api.graphs import graph
from .api.host import (
    apply_along_axis,
    apply_over_axes,
    bartlett,
    blackman,
    busday_count,
    busday_offset,
    datetime_as_string,
    hamming,
    hanning,
    is_busday,
    kaiser,
    mask_indices,
    poly,
    polyadd,
    polyder,
    polydiv,
    polyfit,
    polyint,
    polymul,
    polysub,
    roots,
    trim_zeros,
)
from .api.indexing import (
    choose,
    compress,
    diag_indices,
    diag_indices_from,
    extract,
    fill_diagonal,
    ix_,
    place,
    put,
    put_along_axis,
    putmask,
    ravel_multi_index,
    select,
    take,
    take_along_axis,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
    where,
)
from .api.info import (
    Info as _Info,
    devices,
)
from .api.joining import (
    append,
    array_split,
    block,
    column_stack,
    concat,
    concatenate,
    delete,
    dsplit,
    dstack,
    hsplit,
    hstack,
    insert,
    row_stack,
    split,
    stack,
    unstack,
    vsplit,
    vstack,
)
from .api.kernels import (
    kernel,
    vectorize,
)
from .api.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    diagonal,
    expand_dims,
    flip,
    fliplr,
    flipud,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    rollaxis,
    rot90,
    squeeze,
    swapaxes,
    transpose,
)
from .api.moments import (
    average,
    corrcoef,
    cov,
)
from .api.nan_order import (
    nanmedian,
    nanpercentile,
    nanquantile,
)
from .api.nan_statistics import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from .api.polynomials import (
    piecewise,
    polyval,
    vander,
)
from .api.ranges import (
    arange,
    diag,
    diagflat,
    eye,
    fromfunction,
    geomspace,
    identity,
    indices,
    linspace,
    logspace,
    meshgrid,
    tri,
    tril,
    triu,
)
from .api.repetition import (
    copyto,
    pad,
    repeat,
    resize,
    roll,
    tile,
)
from .api.runtime import (
    evaluate,
    explain,
    synchronize,
)
from .api.searching import (
    argmax,
    argmin,
    argwhere,
    flatnonzero,
    nonzero,
    searchsorted,
)
from .api.sets import (
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from .api.sorting import (
    argpartition,
    argsort,
    lexsort,
    partition,
    sort,
    sort_complex,
)
from .api.statistics import (
    all,
    amax,
    amin,
    any,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    median,
    min,
    percentile,
    prod,
    ptp,
    quantile,
    std,
    sum,
    var,
)
from .api.streams import (
    pinned_empty,
    stream,
)
from .api.ufunc import (
    UFunc as _UFunc,
)
from .api.utility import (
    array2string,
    array_repr,
    array_str,
    c_,
    iscomplexobj,
    isfortran,
    isrealobj,
    isscalar,
    may_share_memory,
    mgrid,
    ndim,
    ogrid,
    r_,
    shape,
    shares_memory,
    size,
)
from .array import (
    DeviceArray,
)
from .backends import cpu as _cpu  # its modules load here, not in the first group
from .backends.registry import (
    Device,
)
from .backends.statistics import (
    memory_stats,
)
from .config import (
    config,
)
from .errors import (
    CaptureError,
    CompileError,
    ConfigError,
    DeviceError,
    DeviceLostError,
    DeviceMismatchError,
    DTypeError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    OutOfMemoryError,
    UnsupportedError,
    ValidationError,
)
from .interop.dlpack import (
    from_dlpack,
)
from .interop.numpy_protocols import (
    install as _install,
)
from .profile import (
    profile,
)

ndarray = DeviceArray
ufunc = _UFunc
__array_namespace_info__ = _Info
__version__ = "0.1.0"
__array_api_version__ = "2025.12"

_SOMETIMES = (
    "complex192",
    "complex256",
    "float128",
    "float96",
    "in1d",
    "trapz",
)
"""Names that NumPy has on some machines or in some releases."""

_PACKAGE = __name__.rpartition(".")[0]

__all__ = [
    *"""
    CaptureError CompileError ConfigError DTypeError Device DeviceArray DeviceError
    DeviceLostError DeviceMismatchError False_ KernelSyntaxError KernelTypeError
    LaunchError OutOfMemoryError ScalarType True_ UnsupportedError ValidationError
    __array_api_version__ __array_namespace_info__ __version__ abs absolute acos acosh
    add all allclose amax amin angle any append apply_along_axis apply_over_axes arange
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition
    argsort argwhere around array array2string array_equal array_equiv array_repr
    array_split array_str asanyarray asarray asarray_chkfinite ascontiguousarray
    asfortranarray asin asinh asmatrix astype atan atan2 atanh atleast_1d atleast_2d
    atleast_3d average bartlett base_repr binary_repr bincount bitwise_and bitwise_count
    bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor blackman block bmat bool bool_ broadcast broadcast_arrays
    broadcast_shapes broadcast_to busday_count busday_offset busdaycalendar byte bytes_
    c_ can_cast cbrt cdouble ceil char character choose clip clongdouble column_stack
    common_type complex128 complex64 complexfloating compress concat concatenate config
    conj conjugate convolve copy copysign copyto core corrcoef correlate cos cosh
    count_nonzero cov cross csingle ctypeslib cumprod cumsum cumulative_prod
    cumulative_sum datetime64 datetime_as_string datetime_data deg2rad degrees delete
    devices diag diag_indices diag_indices_from diagflat diagonal diff digitize divide
    divmod dot double dsplit dstack dtype dtypes e ediff1d einsum einsum_path emath
    empty empty_like equal errors errstate euler_gamma evaluate exceptions exp exp2
    expand_dims explain expm1 extract eye f2py fabs fft fill_diagonal finfo fix flatiter
    flatnonzero flexible flip fliplr flipud float16 float32 float64 float_power floating
    floor floor_divide fmax fmin fmod format_float_positional format_float_scientific
    frexp from_dlpack frombuffer fromfile fromfunction fromiter frompyfunc fromregex
    fromstring full full_like gcd generic genfromtxt geomspace get_include
    get_printoptions getbufsize geterr geterrcall gradient graph greater greater_equal
    half hamming hanning heaviside histogram histogram2d histogram_bin_edges histogramdd
    hsplit hstack hypot i0 identity iinfo imag index_exp indices inexact inf info inner
    insert int16 int32 int64 int8 int_ intc integer interp intersect1d intp invert
    is_busday isclose iscomplex iscomplexobj isdtype isfinite isfortran isin isinf isnan
    isnat isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser
    kernel kron lcm ldexp left_shift less less_equal lexsort lib linalg linspace
    little_endian load loadtxt log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor logspace long longdouble longlong ma mask_indices
    matmul matrix matrix_transpose matvec max maximum may_share_memory mean median
    memmap memory_stats meshgrid mgrid min min_scalar_type minimum mintypecode mod modf
    moveaxis multiply nan nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax
    nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar
    ndarray ndenumerate ndim ndindex nditer negative nested_iters newaxis nextafter nn
    nonzero not_equal number object_ ogrid ones ones_like outer packbits pad partition
    percentile permute_dims pi piecewise pinned_empty place poly poly1d polyadd polyder
    polydiv polyfit polyint polymul polynomial polysub polyval positive pow power
    printoptions prod profile promote_types ptp put put_along_axis putmask quantile r_
    rad2deg radians random ravel ravel_multi_index real real_if_close rec recarray
    reciprocal record remainder repeat require reshape resize result_type right_shift
    rint roll rollaxis roots rot90 round row_stack s_ save savetxt savez
    savez_compressed sctypeDict searchsorted select set_printoptions setbufsize
    setdiff1d seterr seterrcall setxor1d shape shares_memory short show_config
    show_runtime sign signbit signedinteger sin sinc single sinh size sort sort_complex
    spacing split sqrt square squeeze stack std str_ stream strings subtract sum
    swapaxes synchronize take take_along_axis tan tanh tensordot test testing tile
    timedelta64 trace transpose trapezoid tri tril tril_indices tril_indices_from
    trim_zeros triu triu_indices triu_indices_from true_divide trunc typecodes typename
    typing ubyte ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong
    union1d unique unique_all unique_counts unique_inverse unique_values unpackbits
    unravel_index unsignedinteger unstack unwrap ushort vander var vdot vecdot vecmat
    vectorize void vsplit vstack where zeros zeros_like
    """.split(),
    *[name for name in _SOMETIMES if name in _np.__all__],
]

_OWN = ("errors", "fft", "lib", "linalg", "nn", "random", "testing")
"""Submodules, imported when they are asked for."""

_NUMPY = (
    "char",
    "core",
    "ctypeslib",
    "emath",
    "exceptions",
    "f2py",
    "ma",
    "polynomial",
    "rec",
    "strings",
    "test",
    "typing",
)
"""Modules that are built on subclasses of NumPy's array, and so are NumPy's own."""

_PRIVATE = ("_NoValue", "_core")
"""Names of NumPy's inner workings that programs use nevertheless."""


def __getattr__(name: str) -> Any:
    if name in _OWN:
        from importlib import import_module

        return import_module(f"{_PACKAGE}.{name}")
    if (
        name in _NUMPY
        or name in _PRIVATE
        or (name in _SOMETIMES and name in _np.__all__)
    ):
        value = getattr(_np, name)
        if name in _SOMETIMES and not isinstance(value, type):
            value = _fallback(value)
        globals()[name] = value
        return value
    raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install(_sys.modules[_PACKAGE])
