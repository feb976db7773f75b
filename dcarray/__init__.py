"""NumPy on the whole machine: the names of NumPy and of the Array API standard.

``import dcarray as np`` runs a NumPy program; ``import dcarray as dc`` gives, besides,
devices, settings and reports.
"""

from __future__ import annotations

import sys as _sys
from typing import Any

import numpy as _np
from numpy import (
    False_ as False_,
    ScalarType as ScalarType,
    True_ as True_,
    _core as _core,  # NumPy's private parts, for programs that reach into them
    asmatrix as asmatrix,
    base_repr as base_repr,
    binary_repr as binary_repr,
    bmat as bmat,
    bool as bool,
    bool_ as bool_,
    broadcast as broadcast,
    busdaycalendar as busdaycalendar,
    byte as byte,
    bytes_ as bytes_,
    cdouble as cdouble,
    character as character,
    clongdouble as clongdouble,
    complex64 as complex64,
    complex128 as complex128,
    complexfloating as complexfloating,
    csingle as csingle,
    datetime64 as datetime64,
    datetime_data as datetime_data,
    double as double,
    dtype as dtype,
    e as e,
    errstate as errstate,
    euler_gamma as euler_gamma,
    flatiter as flatiter,
    flexible as flexible,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    floating as floating,
    format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific,
    frompyfunc as frompyfunc,
    generic as generic,
    get_include as get_include,
    get_printoptions as get_printoptions,
    getbufsize as getbufsize,
    geterr as geterr,
    geterrcall as geterrcall,
    half as half,
    index_exp as index_exp,
    inexact as inexact,
    inf as inf,
    info as info,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int_ as int_,
    intc as intc,
    integer as integer,
    intp as intp,
    iterable as iterable,
    little_endian as little_endian,
    long as long,
    longdouble as longdouble,
    longlong as longlong,
    matrix as matrix,
    memmap as memmap,
    nan as nan,
    ndenumerate as ndenumerate,
    ndindex as ndindex,
    nditer as nditer,
    nested_iters as nested_iters,
    newaxis as newaxis,
    number as number,
    object_ as object_,
    pi as pi,
    poly1d as poly1d,
    printoptions as printoptions,
    recarray as recarray,
    record as record,
    s_ as s_,
    sctypeDict as sctypeDict,
    set_printoptions as set_printoptions,
    setbufsize as setbufsize,
    seterr as seterr,
    seterrcall as seterrcall,
    short as short,
    show_config as show_config,
    show_runtime as show_runtime,
    signedinteger as signedinteger,
    single as single,
    str_ as str_,
    timedelta64 as timedelta64,
    typecodes as typecodes,
    ubyte as ubyte,
    uint as uint,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uintc as uintc,
    uintp as uintp,
    ulong as ulong,
    ulonglong as ulonglong,
    unsignedinteger as unsignedinteger,
    ushort as ushort,
    void as void,
)

from .api.calculus import (
    convolve as convolve,
    correlate as correlate,
    diff as diff,
    ediff1d as ediff1d,
    gradient as gradient,
    interp as interp,
    trapezoid as trapezoid,
    unwrap as unwrap,
)
from .api.contraction import (
    cross as cross,
    dot as dot,
    einsum as einsum,
    einsum_path as einsum_path,
    inner as inner,
    kron as kron,
    matrix_transpose as matrix_transpose,
    outer as outer,
    tensordot as tensordot,
    trace as trace,
    vdot as vdot,
)
from .api.counting import (
    bincount as bincount,
    count_nonzero as count_nonzero,
    digitize as digitize,
    histogram as histogram,
    histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from .api.coverage import fallback as _fallback
from .api.creation import (
    array as array,
    asanyarray as asanyarray,
    asarray as asarray,
    asarray_chkfinite as asarray_chkfinite,
    ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray,
    copy as copy,
    empty as empty,
    empty_like as empty_like,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    require as require,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .api.dtypes import (
    astype as astype,
    can_cast as can_cast,
    common_type as common_type,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    issubdtype as issubdtype,
    min_scalar_type as min_scalar_type,
    mintypecode as mintypecode,
    promote_types as promote_types,
    result_type as result_type,
    typename as typename,
)
from .api.elementwise import (
    abs as abs,
    absolute as absolute,
    acos as acos,
    acosh as acosh,
    add as add,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctan2 as arctan2,
    arctanh as arctanh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    bitwise_and as bitwise_and,
    bitwise_count as bitwise_count,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    cbrt as cbrt,
    ceil as ceil,
    conj as conj,
    conjugate as conjugate,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    degrees as degrees,
    divide as divide,
    divmod as divmod,
    equal as equal,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    fabs as fabs,
    float_power as float_power,
    floor as floor,
    floor_divide as floor_divide,
    fmax as fmax,
    fmin as fmin,
    fmod as fmod,
    frexp as frexp,
    gcd as gcd,
    greater as greater,
    greater_equal as greater_equal,
    heaviside as heaviside,
    hypot as hypot,
    invert as invert,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isnat as isnat,
    lcm as lcm,
    ldexp as ldexp,
    left_shift as left_shift,
    less as less,
    less_equal as less_equal,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    matmul as matmul,
    matvec as matvec,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    modf as modf,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    not_equal as not_equal,
    positive as positive,
    pow as pow,
    power as power,
    rad2deg as rad2deg,
    radians as radians,
    reciprocal as reciprocal,
    remainder as remainder,
    right_shift as right_shift,
    rint as rint,
    sign as sign,
    signbit as signbit,
    sin as sin,
    sinh as sinh,
    spacing as spacing,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    true_divide as true_divide,
    trunc as trunc,
    vecdot as vecdot,
    vecmat as vecmat,
)
from .api.files import (
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromiter as fromiter,
    fromregex as fromregex,
    fromstring as fromstring,
    genfromtxt as genfromtxt,
    load as load,
    loadtxt as loadtxt,
    save as save,
    savetxt as savetxt,
    savez as savez,
    savez_compressed as savez_compressed,
)
from .api.formulas import (
    allclose as allclose,
    angle as angle,
    around as around,
    array_equal as array_equal,
    array_equiv as array_equiv,
    clip as clip,
    fix as fix,
    i0 as i0,
    imag as imag,
    isclose as isclose,
    iscomplex as iscomplex,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    nan_to_num as nan_to_num,
    real as real,
    real_if_close as real_if_close,
    round as round,
    sinc as sinc,
)
from .api.host import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    bartlett as bartlett,
    blackman as blackman,
    busday_count as busday_count,
    busday_offset as busday_offset,
    datetime_as_string as datetime_as_string,
    hamming as hamming,
    hanning as hanning,
    is_busday as is_busday,
    kaiser as kaiser,
    mask_indices as mask_indices,
    packbits as packbits,
    piecewise as piecewise,
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
    roots as roots,
    trim_zeros as trim_zeros,
    unpackbits as unpackbits,
    vander as vander,
)
from .api.indexing import (
    choose as choose,
    compress as compress,
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    extract as extract,
    fill_diagonal as fill_diagonal,
    ix_ as ix_,
    place as place,
    put as put,
    put_along_axis as put_along_axis,
    putmask as putmask,
    ravel_multi_index as ravel_multi_index,
    select as select,
    take as take,
    take_along_axis as take_along_axis,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
    unravel_index as unravel_index,
    where as where,
)
from .api.info import Info as _Info, devices as devices
from .api.joining import (
    append as append,
    array_split as array_split,
    block as block,
    column_stack as column_stack,
    concat as concat,
    concatenate as concatenate,
    delete as delete,
    dsplit as dsplit,
    dstack as dstack,
    hsplit as hsplit,
    hstack as hstack,
    insert as insert,
    row_stack as row_stack,
    split as split,
    stack as stack,
    unstack as unstack,
    vsplit as vsplit,
    vstack as vstack,
)
from .api.manipulation import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    diagonal as diagonal,
    expand_dims as expand_dims,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    ravel as ravel,
    reshape as reshape,
    rollaxis as rollaxis,
    rot90 as rot90,
    squeeze as squeeze,
    swapaxes as swapaxes,
    transpose as transpose,
)
from .api.nan_statistics import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmedian as nanmedian,
    nanmin as nanmin,
    nanpercentile as nanpercentile,
    nanprod as nanprod,
    nanquantile as nanquantile,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)
from .api.ranges import (
    arange as arange,
    diag as diag,
    diagflat as diagflat,
    eye as eye,
    fromfunction as fromfunction,
    geomspace as geomspace,
    identity as identity,
    indices as indices,
    linspace as linspace,
    logspace as logspace,
    meshgrid as meshgrid,
    tri as tri,
    tril as tril,
    triu as triu,
)
from .api.repetition import (
    copyto as copyto,
    pad as pad,
    repeat as repeat,
    resize as resize,
    roll as roll,
    tile as tile,
)
from .api.runtime import (
    evaluate as evaluate,
    explain as explain,
    synchronize as synchronize,
)
from .api.searching import (
    argmax as argmax,
    argmin as argmin,
    argwhere as argwhere,
    flatnonzero as flatnonzero,
    nonzero as nonzero,
    searchsorted as searchsorted,
)
from .api.sets import (
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from .api.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    lexsort as lexsort,
    partition as partition,
    sort as sort,
    sort_complex as sort_complex,
)
from .api.statistics import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    average as average,
    corrcoef as corrcoef,
    cov as cov,
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    max as max,
    mean as mean,
    median as median,
    min as min,
    percentile as percentile,
    prod as prod,
    ptp as ptp,
    quantile as quantile,
    std as std,
    sum as sum,
    var as var,
)
from .api.ufunc import UFunc as _UFunc
from .api.utility import (
    array2string as array2string,
    array_repr as array_repr,
    array_str as array_str,
    c_ as c_,
    iscomplexobj as iscomplexobj,
    isfortran as isfortran,
    isrealobj as isrealobj,
    isscalar as isscalar,
    may_share_memory as may_share_memory,
    mgrid as mgrid,
    ndim as ndim,
    ogrid as ogrid,
    r_ as r_,
    shape as shape,
    shares_memory as shares_memory,
    size as size,
    vectorize as vectorize,
)
from .array import DeviceArray as DeviceArray
from .backends.registry import Device as Device
from .backends.statistics import memory_stats as memory_stats
from .config import config as config
from .errors import (
    CompileError as CompileError,
    ConfigError as ConfigError,
    DeviceError as DeviceError,
    DeviceLostError as DeviceLostError,
    DeviceMismatchError as DeviceMismatchError,
    DTypeError as DTypeError,
    KernelSyntaxError as KernelSyntaxError,
    LaunchError as LaunchError,
    OutOfMemoryError as OutOfMemoryError,
    UnsupportedError as UnsupportedError,
)
from .interop.dlpack import from_dlpack as from_dlpack
from .interop.numpy_protocols import install as _install
from .profile import profile as profile

# NumPy's module of dtype classes, not dcarray's file of the same name.
from numpy import dtypes as dtypes  # isort: skip

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

__all__ = [
    *"""
    CompileError ConfigError DTypeError Device DeviceArray DeviceError
    DeviceLostError DeviceMismatchError False_ KernelSyntaxError LaunchError
    OutOfMemoryError ScalarType True_ UnsupportedError __array_api_version__
    __array_namespace_info__ __version__ abs absolute acos acosh add all allclose
    amax amin angle any append apply_along_axis apply_over_axes arange arccos
    arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort
    argwhere around array array2string array_equal array_equiv array_repr
    array_split array_str asanyarray asarray asarray_chkfinite ascontiguousarray
    asfortranarray asin asinh asmatrix astype atan atan2 atanh atleast_1d atleast_2d
    atleast_3d average bartlett base_repr binary_repr bincount bitwise_and
    bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor blackman block bmat bool bool_ broadcast
    broadcast_arrays broadcast_shapes broadcast_to busday_count busday_offset
    busdaycalendar byte bytes_ c_ can_cast cbrt cdouble ceil char character choose
    clip clongdouble column_stack common_type complex128 complex64 complexfloating
    compress concat concatenate config conj conjugate convolve copy copysign copyto
    core corrcoef correlate cos cosh count_nonzero cov cross csingle ctypeslib
    cumprod cumsum cumulative_prod cumulative_sum datetime64 datetime_as_string
    datetime_data deg2rad degrees delete devices diag diag_indices diag_indices_from
    diagflat diagonal diff digitize divide divmod dot double dsplit dstack dtype
    dtypes e ediff1d einsum einsum_path emath empty empty_like equal errors errstate
    euler_gamma evaluate exceptions exp exp2 expand_dims explain expm1 extract eye
    f2py fabs fft fill_diagonal finfo fix flatiter flatnonzero flexible flip fliplr
    flipud float16 float32 float64 float_power floating floor floor_divide fmax fmin
    fmod format_float_positional format_float_scientific frexp from_dlpack
    frombuffer fromfile fromfunction fromiter frompyfunc fromregex fromstring full
    full_like gcd generic genfromtxt geomspace get_include get_printoptions
    getbufsize geterr geterrcall gradient greater greater_equal half hamming hanning
    heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit hstack
    hypot i0 identity iinfo imag index_exp indices inexact inf info inner insert
    int16 int32 int64 int8 int_ intc integer interp intersect1d intp invert
    is_busday isclose iscomplex iscomplexobj isdtype isfinite isfortran isin isinf
    isnan isnat isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_
    kaiser kron lcm ldexp left_shift less less_equal lexsort lib linalg linspace
    little_endian load loadtxt log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor logspace long longdouble longlong ma
    mask_indices matmul matrix matrix_transpose matvec max maximum may_share_memory
    mean median memmap memory_stats meshgrid mgrid min min_scalar_type minimum
    mintypecode mod modf moveaxis multiply nan nan_to_num nanargmax nanargmin
    nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
    nanquantile nanstd nansum nanvar ndarray ndenumerate ndim ndindex nditer
    negative nested_iters newaxis nextafter nn nonzero not_equal number object_
    ogrid ones ones_like outer packbits pad partition percentile permute_dims pi
    piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul
    polynomial polysub polyval positive pow power printoptions prod profile
    promote_types ptp put put_along_axis putmask quantile r_ rad2deg radians random
    ravel ravel_multi_index real real_if_close rec recarray reciprocal record
    remainder repeat require reshape resize result_type right_shift rint roll
    rollaxis roots rot90 round row_stack s_ save savetxt savez savez_compressed
    sctypeDict searchsorted select set_printoptions setbufsize setdiff1d seterr
    seterrcall setxor1d shape shares_memory short show_config show_runtime sign
    signbit signedinteger sin sinc single sinh size sort sort_complex spacing split
    sqrt square squeeze stack std str_ strings subtract sum swapaxes synchronize
    take take_along_axis tan tanh tensordot test testing tile timedelta64 trace
    transpose trapezoid tri tril tril_indices tril_indices_from trim_zeros triu
    triu_indices triu_indices_from true_divide trunc typecodes typename typing ubyte
    ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong union1d unique
    unique_all unique_counts unique_inverse unique_values unpackbits unravel_index
    unsignedinteger unstack unwrap ushort vander var vdot vecdot vecmat vectorize
    void vsplit vstack where zeros zeros_like
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

        return import_module(f"{__name__}.{name}")
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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install(_sys.modules[__name__])
