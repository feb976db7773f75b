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
)
from numpy import (
    ScalarType as ScalarType,
)
from numpy import (
    True_ as True_,
)
from numpy import (
    _core as _core,  # NumPy's private parts, for programs that reach into them
)
from numpy import (
    asmatrix as asmatrix,
)
from numpy import (
    base_repr as base_repr,
)
from numpy import (
    binary_repr as binary_repr,
)
from numpy import (
    bmat as bmat,
)
from numpy import (
    bool as bool,
)
from numpy import (
    bool_ as bool_,
)
from numpy import (
    broadcast as broadcast,
)
from numpy import (
    busdaycalendar as busdaycalendar,
)
from numpy import (
    byte as byte,
)
from numpy import (
    bytes_ as bytes_,
)
from numpy import (
    cdouble as cdouble,
)
from numpy import (
    character as character,
)
from numpy import (
    clongdouble as clongdouble,
)
from numpy import (
    complex64 as complex64,
)
from numpy import (
    complex128 as complex128,
)
from numpy import (
    complexfloating as complexfloating,
)
from numpy import (
    csingle as csingle,
)
from numpy import (
    datetime64 as datetime64,
)
from numpy import (
    datetime_data as datetime_data,
)
from numpy import (
    double as double,
)
from numpy import (
    dtype as dtype,
)
from numpy import (
    e as e,
)
from numpy import (
    errstate as errstate,
)
from numpy import (
    euler_gamma as euler_gamma,
)
from numpy import (
    flatiter as flatiter,
)
from numpy import (
    flexible as flexible,
)
from numpy import (
    float16 as float16,
)
from numpy import (
    float32 as float32,
)
from numpy import (
    float64 as float64,
)
from numpy import (
    floating as floating,
)
from numpy import (
    format_float_positional as format_float_positional,
)
from numpy import (
    format_float_scientific as format_float_scientific,
)
from numpy import (
    frompyfunc as frompyfunc,
)
from numpy import (
    generic as generic,
)
from numpy import (
    get_include as get_include,
)
from numpy import (
    get_printoptions as get_printoptions,
)
from numpy import (
    getbufsize as getbufsize,
)
from numpy import (
    geterr as geterr,
)
from numpy import (
    geterrcall as geterrcall,
)
from numpy import (
    half as half,
)
from numpy import (
    index_exp as index_exp,
)
from numpy import (
    inexact as inexact,
)
from numpy import (
    inf as inf,
)
from numpy import (
    info as info,
)
from numpy import (
    int8 as int8,
)
from numpy import (
    int16 as int16,
)
from numpy import (
    int32 as int32,
)
from numpy import (
    int64 as int64,
)
from numpy import (
    int_ as int_,
)
from numpy import (
    intc as intc,
)
from numpy import (
    integer as integer,
)
from numpy import (
    intp as intp,
)
from numpy import (
    iterable as iterable,
)
from numpy import (
    little_endian as little_endian,
)
from numpy import (
    long as long,
)
from numpy import (
    longdouble as longdouble,
)
from numpy import (
    longlong as longlong,
)
from numpy import (
    matrix as matrix,
)
from numpy import (
    memmap as memmap,
)
from numpy import (
    nan as nan,
)
from numpy import (
    ndenumerate as ndenumerate,
)
from numpy import (
    ndindex as ndindex,
)
from numpy import (
    nditer as nditer,
)
from numpy import (
    nested_iters as nested_iters,
)
from numpy import (
    newaxis as newaxis,
)
from numpy import (
    number as number,
)
from numpy import (
    object_ as object_,
)
from numpy import (
    pi as pi,
)
from numpy import (
    poly1d as poly1d,
)
from numpy import (
    printoptions as printoptions,
)
from numpy import (
    recarray as recarray,
)
from numpy import (
    record as record,
)
from numpy import (
    s_ as s_,
)
from numpy import (
    sctypeDict as sctypeDict,
)
from numpy import (
    set_printoptions as set_printoptions,
)
from numpy import (
    setbufsize as setbufsize,
)
from numpy import (
    seterr as seterr,
)
from numpy import (
    seterrcall as seterrcall,
)
from numpy import (
    short as short,
)
from numpy import (
    show_config as show_config,
)
from numpy import (
    show_runtime as show_runtime,
)
from numpy import (
    signedinteger as signedinteger,
)
from numpy import (
    single as single,
)
from numpy import (
    str_ as str_,
)
from numpy import (
    timedelta64 as timedelta64,
)
from numpy import (
    typecodes as typecodes,
)
from numpy import (
    ubyte as ubyte,
)
from numpy import (
    uint as uint,
)
from numpy import (
    uint8 as uint8,
)
from numpy import (
    uint16 as uint16,
)
from numpy import (
    uint32 as uint32,
)
from numpy import (
    uint64 as uint64,
)
from numpy import (
    uintc as uintc,
)
from numpy import (
    uintp as uintp,
)
from numpy import (
    ulong as ulong,
)
from numpy import (
    ulonglong as ulonglong,
)
from numpy import (
    unsignedinteger as unsignedinteger,
)
from numpy import (
    ushort as ushort,
)
from numpy import (
    void as void,
)

from .api.calculus import (
    convolve as convolve,
)
from .api.calculus import (
    correlate as correlate,
)
from .api.calculus import (
    diff as diff,
)
from .api.calculus import (
    ediff1d as ediff1d,
)
from .api.calculus import (
    gradient as gradient,
)
from .api.calculus import (
    interp as interp,
)
from .api.calculus import (
    trapezoid as trapezoid,
)
from .api.calculus import (
    unwrap as unwrap,
)
from .api.contraction import (
    cross as cross,
)
from .api.contraction import (
    dot as dot,
)
from .api.contraction import (
    einsum as einsum,
)
from .api.contraction import (
    einsum_path as einsum_path,
)
from .api.contraction import (
    inner as inner,
)
from .api.contraction import (
    kron as kron,
)
from .api.contraction import (
    matrix_transpose as matrix_transpose,
)
from .api.contraction import (
    outer as outer,
)
from .api.contraction import (
    tensordot as tensordot,
)
from .api.contraction import (
    trace as trace,
)
from .api.contraction import (
    vdot as vdot,
)
from .api.counting import (
    bincount as bincount,
)
from .api.counting import (
    count_nonzero as count_nonzero,
)
from .api.counting import (
    digitize as digitize,
)
from .api.counting import (
    histogram as histogram,
)
from .api.counting import (
    histogram2d as histogram2d,
)
from .api.counting import (
    histogram_bin_edges as histogram_bin_edges,
)
from .api.counting import (
    histogramdd as histogramdd,
)
from .api.coverage import fallback as _fallback
from .api.creation import (
    array as array,
)
from .api.creation import (
    asanyarray as asanyarray,
)
from .api.creation import (
    asarray as asarray,
)
from .api.creation import (
    asarray_chkfinite as asarray_chkfinite,
)
from .api.creation import (
    ascontiguousarray as ascontiguousarray,
)
from .api.creation import (
    asfortranarray as asfortranarray,
)
from .api.creation import (
    copy as copy,
)
from .api.creation import (
    empty as empty,
)
from .api.creation import (
    empty_like as empty_like,
)
from .api.creation import (
    full as full,
)
from .api.creation import (
    full_like as full_like,
)
from .api.creation import (
    ones as ones,
)
from .api.creation import (
    ones_like as ones_like,
)
from .api.creation import (
    require as require,
)
from .api.creation import (
    zeros as zeros,
)
from .api.creation import (
    zeros_like as zeros_like,
)
from .api.dtypes import (
    astype as astype,
)
from .api.dtypes import (
    can_cast as can_cast,
)
from .api.dtypes import (
    common_type as common_type,
)
from .api.dtypes import (
    finfo as finfo,
)
from .api.dtypes import (
    iinfo as iinfo,
)
from .api.dtypes import (
    isdtype as isdtype,
)
from .api.dtypes import (
    issubdtype as issubdtype,
)
from .api.dtypes import (
    min_scalar_type as min_scalar_type,
)
from .api.dtypes import (
    mintypecode as mintypecode,
)
from .api.dtypes import (
    promote_types as promote_types,
)
from .api.dtypes import (
    result_type as result_type,
)
from .api.dtypes import (
    typename as typename,
)
from .api.elementwise import (
    abs as abs,
)
from .api.elementwise import (
    absolute as absolute,
)
from .api.elementwise import (
    acos as acos,
)
from .api.elementwise import (
    acosh as acosh,
)
from .api.elementwise import (
    add as add,
)
from .api.elementwise import (
    arccos as arccos,
)
from .api.elementwise import (
    arccosh as arccosh,
)
from .api.elementwise import (
    arcsin as arcsin,
)
from .api.elementwise import (
    arcsinh as arcsinh,
)
from .api.elementwise import (
    arctan as arctan,
)
from .api.elementwise import (
    arctan2 as arctan2,
)
from .api.elementwise import (
    arctanh as arctanh,
)
from .api.elementwise import (
    asin as asin,
)
from .api.elementwise import (
    asinh as asinh,
)
from .api.elementwise import (
    atan as atan,
)
from .api.elementwise import (
    atan2 as atan2,
)
from .api.elementwise import (
    atanh as atanh,
)
from .api.elementwise import (
    bitwise_and as bitwise_and,
)
from .api.elementwise import (
    bitwise_count as bitwise_count,
)
from .api.elementwise import (
    bitwise_invert as bitwise_invert,
)
from .api.elementwise import (
    bitwise_left_shift as bitwise_left_shift,
)
from .api.elementwise import (
    bitwise_not as bitwise_not,
)
from .api.elementwise import (
    bitwise_or as bitwise_or,
)
from .api.elementwise import (
    bitwise_right_shift as bitwise_right_shift,
)
from .api.elementwise import (
    bitwise_xor as bitwise_xor,
)
from .api.elementwise import (
    cbrt as cbrt,
)
from .api.elementwise import (
    ceil as ceil,
)
from .api.elementwise import (
    conj as conj,
)
from .api.elementwise import (
    conjugate as conjugate,
)
from .api.elementwise import (
    copysign as copysign,
)
from .api.elementwise import (
    cos as cos,
)
from .api.elementwise import (
    cosh as cosh,
)
from .api.elementwise import (
    deg2rad as deg2rad,
)
from .api.elementwise import (
    degrees as degrees,
)
from .api.elementwise import (
    divide as divide,
)
from .api.elementwise import (
    divmod as divmod,
)
from .api.elementwise import (
    equal as equal,
)
from .api.elementwise import (
    exp as exp,
)
from .api.elementwise import (
    exp2 as exp2,
)
from .api.elementwise import (
    expm1 as expm1,
)
from .api.elementwise import (
    fabs as fabs,
)
from .api.elementwise import (
    float_power as float_power,
)
from .api.elementwise import (
    floor as floor,
)
from .api.elementwise import (
    floor_divide as floor_divide,
)
from .api.elementwise import (
    fmax as fmax,
)
from .api.elementwise import (
    fmin as fmin,
)
from .api.elementwise import (
    fmod as fmod,
)
from .api.elementwise import (
    frexp as frexp,
)
from .api.elementwise import (
    gcd as gcd,
)
from .api.elementwise import (
    greater as greater,
)
from .api.elementwise import (
    greater_equal as greater_equal,
)
from .api.elementwise import (
    heaviside as heaviside,
)
from .api.elementwise import (
    hypot as hypot,
)
from .api.elementwise import (
    invert as invert,
)
from .api.elementwise import (
    isfinite as isfinite,
)
from .api.elementwise import (
    isinf as isinf,
)
from .api.elementwise import (
    isnan as isnan,
)
from .api.elementwise import (
    isnat as isnat,
)
from .api.elementwise import (
    lcm as lcm,
)
from .api.elementwise import (
    ldexp as ldexp,
)
from .api.elementwise import (
    left_shift as left_shift,
)
from .api.elementwise import (
    less as less,
)
from .api.elementwise import (
    less_equal as less_equal,
)
from .api.elementwise import (
    log as log,
)
from .api.elementwise import (
    log1p as log1p,
)
from .api.elementwise import (
    log2 as log2,
)
from .api.elementwise import (
    log10 as log10,
)
from .api.elementwise import (
    logaddexp as logaddexp,
)
from .api.elementwise import (
    logaddexp2 as logaddexp2,
)
from .api.elementwise import (
    logical_and as logical_and,
)
from .api.elementwise import (
    logical_not as logical_not,
)
from .api.elementwise import (
    logical_or as logical_or,
)
from .api.elementwise import (
    logical_xor as logical_xor,
)
from .api.elementwise import (
    matmul as matmul,
)
from .api.elementwise import (
    matvec as matvec,
)
from .api.elementwise import (
    maximum as maximum,
)
from .api.elementwise import (
    minimum as minimum,
)
from .api.elementwise import (
    mod as mod,
)
from .api.elementwise import (
    modf as modf,
)
from .api.elementwise import (
    multiply as multiply,
)
from .api.elementwise import (
    negative as negative,
)
from .api.elementwise import (
    nextafter as nextafter,
)
from .api.elementwise import (
    not_equal as not_equal,
)
from .api.elementwise import (
    positive as positive,
)
from .api.elementwise import (
    pow as pow,
)
from .api.elementwise import (
    power as power,
)
from .api.elementwise import (
    rad2deg as rad2deg,
)
from .api.elementwise import (
    radians as radians,
)
from .api.elementwise import (
    reciprocal as reciprocal,
)
from .api.elementwise import (
    remainder as remainder,
)
from .api.elementwise import (
    right_shift as right_shift,
)
from .api.elementwise import (
    rint as rint,
)
from .api.elementwise import (
    sign as sign,
)
from .api.elementwise import (
    signbit as signbit,
)
from .api.elementwise import (
    sin as sin,
)
from .api.elementwise import (
    sinh as sinh,
)
from .api.elementwise import (
    spacing as spacing,
)
from .api.elementwise import (
    sqrt as sqrt,
)
from .api.elementwise import (
    square as square,
)
from .api.elementwise import (
    subtract as subtract,
)
from .api.elementwise import (
    tan as tan,
)
from .api.elementwise import (
    tanh as tanh,
)
from .api.elementwise import (
    true_divide as true_divide,
)
from .api.elementwise import (
    trunc as trunc,
)
from .api.elementwise import (
    vecdot as vecdot,
)
from .api.elementwise import (
    vecmat as vecmat,
)
from .api.files import (
    frombuffer as frombuffer,
)
from .api.files import (
    fromfile as fromfile,
)
from .api.files import (
    fromiter as fromiter,
)
from .api.files import (
    fromregex as fromregex,
)
from .api.files import (
    fromstring as fromstring,
)
from .api.files import (
    genfromtxt as genfromtxt,
)
from .api.files import (
    load as load,
)
from .api.files import (
    loadtxt as loadtxt,
)
from .api.files import (
    save as save,
)
from .api.files import (
    savetxt as savetxt,
)
from .api.files import (
    savez as savez,
)
from .api.files import (
    savez_compressed as savez_compressed,
)
from .api.formulas import (
    allclose as allclose,
)
from .api.formulas import (
    angle as angle,
)
from .api.formulas import (
    around as around,
)
from .api.formulas import (
    array_equal as array_equal,
)
from .api.formulas import (
    array_equiv as array_equiv,
)
from .api.formulas import (
    clip as clip,
)
from .api.formulas import (
    fix as fix,
)
from .api.formulas import (
    i0 as i0,
)
from .api.formulas import (
    imag as imag,
)
from .api.formulas import (
    isclose as isclose,
)
from .api.formulas import (
    iscomplex as iscomplex,
)
from .api.formulas import (
    isneginf as isneginf,
)
from .api.formulas import (
    isposinf as isposinf,
)
from .api.formulas import (
    isreal as isreal,
)
from .api.formulas import (
    nan_to_num as nan_to_num,
)
from .api.formulas import (
    real as real,
)
from .api.formulas import (
    real_if_close as real_if_close,
)
from .api.formulas import (
    round as round,
)
from .api.formulas import (
    sinc as sinc,
)
from .api.host import (
    apply_along_axis as apply_along_axis,
)
from .api.host import (
    apply_over_axes as apply_over_axes,
)
from .api.host import (
    bartlett as bartlett,
)
from .api.host import (
    blackman as blackman,
)
from .api.host import (
    busday_count as busday_count,
)
from .api.host import (
    busday_offset as busday_offset,
)
from .api.host import (
    datetime_as_string as datetime_as_string,
)
from .api.host import (
    hamming as hamming,
)
from .api.host import (
    hanning as hanning,
)
from .api.host import (
    is_busday as is_busday,
)
from .api.host import (
    kaiser as kaiser,
)
from .api.host import (
    mask_indices as mask_indices,
)
from .api.host import (
    packbits as packbits,
)
from .api.host import (
    piecewise as piecewise,
)
from .api.host import (
    poly as poly,
)
from .api.host import (
    polyadd as polyadd,
)
from .api.host import (
    polyder as polyder,
)
from .api.host import (
    polydiv as polydiv,
)
from .api.host import (
    polyfit as polyfit,
)
from .api.host import (
    polyint as polyint,
)
from .api.host import (
    polymul as polymul,
)
from .api.host import (
    polysub as polysub,
)
from .api.host import (
    polyval as polyval,
)
from .api.host import (
    roots as roots,
)
from .api.host import (
    trim_zeros as trim_zeros,
)
from .api.host import (
    unpackbits as unpackbits,
)
from .api.host import (
    vander as vander,
)
from .api.indexing import (
    choose as choose,
)
from .api.indexing import (
    compress as compress,
)
from .api.indexing import (
    diag_indices as diag_indices,
)
from .api.indexing import (
    diag_indices_from as diag_indices_from,
)
from .api.indexing import (
    extract as extract,
)
from .api.indexing import (
    fill_diagonal as fill_diagonal,
)
from .api.indexing import (
    ix_ as ix_,
)
from .api.indexing import (
    place as place,
)
from .api.indexing import (
    put as put,
)
from .api.indexing import (
    put_along_axis as put_along_axis,
)
from .api.indexing import (
    putmask as putmask,
)
from .api.indexing import (
    ravel_multi_index as ravel_multi_index,
)
from .api.indexing import (
    select as select,
)
from .api.indexing import (
    take as take,
)
from .api.indexing import (
    take_along_axis as take_along_axis,
)
from .api.indexing import (
    tril_indices as tril_indices,
)
from .api.indexing import (
    tril_indices_from as tril_indices_from,
)
from .api.indexing import (
    triu_indices as triu_indices,
)
from .api.indexing import (
    triu_indices_from as triu_indices_from,
)
from .api.indexing import (
    unravel_index as unravel_index,
)
from .api.indexing import (
    where as where,
)
from .api.info import Info as _Info
from .api.info import devices as devices
from .api.joining import (
    append as append,
)
from .api.joining import (
    array_split as array_split,
)
from .api.joining import (
    block as block,
)
from .api.joining import (
    column_stack as column_stack,
)
from .api.joining import (
    concat as concat,
)
from .api.joining import (
    concatenate as concatenate,
)
from .api.joining import (
    delete as delete,
)
from .api.joining import (
    dsplit as dsplit,
)
from .api.joining import (
    dstack as dstack,
)
from .api.joining import (
    hsplit as hsplit,
)
from .api.joining import (
    hstack as hstack,
)
from .api.joining import (
    insert as insert,
)
from .api.joining import (
    row_stack as row_stack,
)
from .api.joining import (
    split as split,
)
from .api.joining import (
    stack as stack,
)
from .api.joining import (
    unstack as unstack,
)
from .api.joining import (
    vsplit as vsplit,
)
from .api.joining import (
    vstack as vstack,
)
from .api.manipulation import (
    atleast_1d as atleast_1d,
)
from .api.manipulation import (
    atleast_2d as atleast_2d,
)
from .api.manipulation import (
    atleast_3d as atleast_3d,
)
from .api.manipulation import (
    broadcast_arrays as broadcast_arrays,
)
from .api.manipulation import (
    broadcast_shapes as broadcast_shapes,
)
from .api.manipulation import (
    broadcast_to as broadcast_to,
)
from .api.manipulation import (
    diagonal as diagonal,
)
from .api.manipulation import (
    expand_dims as expand_dims,
)
from .api.manipulation import (
    flip as flip,
)
from .api.manipulation import (
    fliplr as fliplr,
)
from .api.manipulation import (
    flipud as flipud,
)
from .api.manipulation import (
    moveaxis as moveaxis,
)
from .api.manipulation import (
    permute_dims as permute_dims,
)
from .api.manipulation import (
    ravel as ravel,
)
from .api.manipulation import (
    reshape as reshape,
)
from .api.manipulation import (
    rollaxis as rollaxis,
)
from .api.manipulation import (
    rot90 as rot90,
)
from .api.manipulation import (
    squeeze as squeeze,
)
from .api.manipulation import (
    swapaxes as swapaxes,
)
from .api.manipulation import (
    transpose as transpose,
)
from .api.nan_statistics import (
    nanargmax as nanargmax,
)
from .api.nan_statistics import (
    nanargmin as nanargmin,
)
from .api.nan_statistics import (
    nancumprod as nancumprod,
)
from .api.nan_statistics import (
    nancumsum as nancumsum,
)
from .api.nan_statistics import (
    nanmax as nanmax,
)
from .api.nan_statistics import (
    nanmean as nanmean,
)
from .api.nan_statistics import (
    nanmedian as nanmedian,
)
from .api.nan_statistics import (
    nanmin as nanmin,
)
from .api.nan_statistics import (
    nanpercentile as nanpercentile,
)
from .api.nan_statistics import (
    nanprod as nanprod,
)
from .api.nan_statistics import (
    nanquantile as nanquantile,
)
from .api.nan_statistics import (
    nanstd as nanstd,
)
from .api.nan_statistics import (
    nansum as nansum,
)
from .api.nan_statistics import (
    nanvar as nanvar,
)
from .api.ranges import (
    arange as arange,
)
from .api.ranges import (
    diag as diag,
)
from .api.ranges import (
    diagflat as diagflat,
)
from .api.ranges import (
    eye as eye,
)
from .api.ranges import (
    fromfunction as fromfunction,
)
from .api.ranges import (
    geomspace as geomspace,
)
from .api.ranges import (
    identity as identity,
)
from .api.ranges import (
    indices as indices,
)
from .api.ranges import (
    linspace as linspace,
)
from .api.ranges import (
    logspace as logspace,
)
from .api.ranges import (
    meshgrid as meshgrid,
)
from .api.ranges import (
    tri as tri,
)
from .api.ranges import (
    tril as tril,
)
from .api.ranges import (
    triu as triu,
)
from .api.repetition import (
    copyto as copyto,
)
from .api.repetition import (
    pad as pad,
)
from .api.repetition import (
    repeat as repeat,
)
from .api.repetition import (
    resize as resize,
)
from .api.repetition import (
    roll as roll,
)
from .api.repetition import (
    tile as tile,
)
from .api.runtime import (
    evaluate as evaluate,
)
from .api.runtime import (
    explain as explain,
)
from .api.runtime import (
    synchronize as synchronize,
)
from .api.searching import (
    argmax as argmax,
)
from .api.searching import (
    argmin as argmin,
)
from .api.searching import (
    argwhere as argwhere,
)
from .api.searching import (
    flatnonzero as flatnonzero,
)
from .api.searching import (
    nonzero as nonzero,
)
from .api.searching import (
    searchsorted as searchsorted,
)
from .api.sets import (
    intersect1d as intersect1d,
)
from .api.sets import (
    isin as isin,
)
from .api.sets import (
    setdiff1d as setdiff1d,
)
from .api.sets import (
    setxor1d as setxor1d,
)
from .api.sets import (
    union1d as union1d,
)
from .api.sets import (
    unique as unique,
)
from .api.sets import (
    unique_all as unique_all,
)
from .api.sets import (
    unique_counts as unique_counts,
)
from .api.sets import (
    unique_inverse as unique_inverse,
)
from .api.sets import (
    unique_values as unique_values,
)
from .api.sorting import (
    argpartition as argpartition,
)
from .api.sorting import (
    argsort as argsort,
)
from .api.sorting import (
    lexsort as lexsort,
)
from .api.sorting import (
    partition as partition,
)
from .api.sorting import (
    sort as sort,
)
from .api.sorting import (
    sort_complex as sort_complex,
)
from .api.statistics import (
    all as all,
)
from .api.statistics import (
    amax as amax,
)
from .api.statistics import (
    amin as amin,
)
from .api.statistics import (
    any as any,
)
from .api.statistics import (
    average as average,
)
from .api.statistics import (
    corrcoef as corrcoef,
)
from .api.statistics import (
    cov as cov,
)
from .api.statistics import (
    cumprod as cumprod,
)
from .api.statistics import (
    cumsum as cumsum,
)
from .api.statistics import (
    cumulative_prod as cumulative_prod,
)
from .api.statistics import (
    cumulative_sum as cumulative_sum,
)
from .api.statistics import (
    max as max,
)
from .api.statistics import (
    mean as mean,
)
from .api.statistics import (
    median as median,
)
from .api.statistics import (
    min as min,
)
from .api.statistics import (
    percentile as percentile,
)
from .api.statistics import (
    prod as prod,
)
from .api.statistics import (
    ptp as ptp,
)
from .api.statistics import (
    quantile as quantile,
)
from .api.statistics import (
    std as std,
)
from .api.statistics import (
    sum as sum,
)
from .api.statistics import (
    var as var,
)
from .api.ufunc import UFunc as _UFunc
from .api.utility import (
    array2string as array2string,
)
from .api.utility import (
    array_repr as array_repr,
)
from .api.utility import (
    array_str as array_str,
)
from .api.utility import (
    c_ as c_,
)
from .api.utility import (
    iscomplexobj as iscomplexobj,
)
from .api.utility import (
    isfortran as isfortran,
)
from .api.utility import (
    isrealobj as isrealobj,
)
from .api.utility import (
    isscalar as isscalar,
)
from .api.utility import (
    may_share_memory as may_share_memory,
)
from .api.utility import (
    mgrid as mgrid,
)
from .api.utility import (
    ndim as ndim,
)
from .api.utility import (
    ogrid as ogrid,
)
from .api.utility import (
    r_ as r_,
)
from .api.utility import (
    shape as shape,
)
from .api.utility import (
    shares_memory as shares_memory,
)
from .api.utility import (
    size as size,
)
from .api.utility import (
    vectorize as vectorize,
)
from .array import DeviceArray as DeviceArray
from .backends.registry import Device as Device
from .backends.statistics import memory_stats as memory_stats
from .config import config as config
from .errors import (
    CompileError as CompileError,
)
from .errors import (
    ConfigError as ConfigError,
)
from .errors import (
    DeviceError as DeviceError,
)
from .errors import (
    DeviceLostError as DeviceLostError,
)
from .errors import (
    DeviceMismatchError as DeviceMismatchError,
)
from .errors import (
    DTypeError as DTypeError,
)
from .errors import (
    KernelSyntaxError as KernelSyntaxError,
)
from .errors import (
    LaunchError as LaunchError,
)
from .errors import (
    OutOfMemoryError as OutOfMemoryError,
)
from .errors import (
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


def __getattr__(name: str) -> Any:
    if name in _OWN:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name in _NUMPY or (name in _SOMETIMES and name in _np.__all__):
        value = getattr(_np, name)
        if name in _SOMETIMES and not isinstance(value, type):
            value = _fallback(value)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install(_sys.modules[__name__])
