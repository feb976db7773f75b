"""Kernels over complex numbers and halves, lowered: they give what NumPy gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dcarray.errors import UnsupportedError
from dcarray.kernel import infer, nodes
from dcarray.kernel.formats import format_of
from dcarray.kernel.grid import atomic_add, atomic_exchange, barrier, global_id, shared
from dcarray.kernel.interpret import interpret
from dcarray.kernel.language import PRIMITIVES, Scalar, cast, exp, imag, make_complex
from dcarray.kernel.lower import lower
from dcarray.kernel.parse import parse
from dcarray.kernel.verify import verify
from dcarray.kernel.walk import expressions, parts, statements
from dcarray.ops.bodies import body_kernel
from dcarray.ops.elementwise import CAST, TABLE
from dcarray.ops.spec import Op
from dcarray.testing import operands

from . import op_values

HALF = np.dtype(np.float16)
SINGLE = np.dtype(np.float32)
DOUBLE = np.dtype(np.float64)
COMPLEX = np.dtype(np.complex64)
INT = np.dtype(np.int64)

HostArray = np.ndarray[Any, Any]

CASES = [
    pytest.param(op, dtypes, id=f"{op.name}-{''.join(d.char for d in dtypes)}")
    for op in TABLE.values()
    if op.name not in ("cast", "isnat")
    for dtypes in op_values.signatures(op)
    if {"e", "F", "D"} & {d.char for d in dtypes}
]


# ------------------------------------------------------------------------- helpers
def given_parts(arrays: Sequence[HostArray]) -> list[HostArray]:
    """Arguments of the kernel for those of the one that it was."""
    found: list[HostArray] = []
    for array in arrays:
        if array.dtype.kind == "c":
            found.extend((array.real.copy(), array.imag.copy()))
        else:
            found.append(array.astype(SINGLE) if array.dtype == HALF else array)
    return found


def run(kernel: nodes.Kernel, arrays: Sequence[HostArray]) -> list[HostArray]:
    """What the lowered kernel gives, with the dtypes of the kernel itself."""
    low = lower(kernel)
    check_dtypes(low)
    results = iter(interpret(low, given_parts(arrays)))
    found = []
    for wanted in kernel.results:
        first = next(results)
        if wanted.dtype.kind == "c":
            whole = np.empty(first.shape, wanted.dtype)
            whole.real, whole.imag = first, next(results)
            found.append(whole)
        elif wanted.dtype == HALF:
            half = first.astype(HALF)
            assert np.array_equal(half.astype(SINGLE), first, equal_nan=True)
            found.append(half)
        else:
            found.append(first)
    return found


def check_dtypes(kernel: nodes.Kernel) -> None:
    """No complex number, and halves in arrays alone."""
    for parameter in kernel.parameters:
        assert parameter.dtype.kind != "c"
        assert isinstance(parameter, nodes.Array) or parameter.dtype != HALF
    for node in statements(kernel.body):
        for item in expressions(node):
            for part in parts(item):
                assert part.dtype.kind != "c"
                if part.dtype == HALF:
                    stored = isinstance(node, nodes.Store) and part is node.value
                    assert stored or isinstance(part, nodes.Load)
                if isinstance(part, nodes.Apply):
                    assert all(x.dtype != HALF for x in part.arguments)
    for item in kernel.results:
        assert all(part.dtype not in (HALF, COMPLEX) for part in parts(item))


def oracle(op: Op, given: Sequence[HostArray]) -> list[HostArray]:
    with np.errstate(all="ignore"):
        found = op.numpy(*given)
    return list(found) if isinstance(found, tuple) else [found]


# ---------------------------------------------------------------------------- rows
@pytest.mark.parametrize(("op", "dtypes"), CASES)
def test_row_keeps_its_bound(op: Op, dtypes: tuple[np.dtype[Any], ...]) -> None:
    given = operands.values(op, dtypes)
    kernel = body_kernel(op, dtypes)
    scale = operands.scale(op, given)
    found = run(kernel, given)
    wanted = oracle(op, given)
    assert len(found) == len(wanted)
    for got, want in zip(found, wanted, strict=True):
        assert operands.distance(got, want, scale) <= op.bound(want.dtype)


@pytest.mark.parametrize(("op", "dtypes"), CASES)
def test_special_values(op: Op, dtypes: tuple[np.dtype[Any], ...]) -> None:
    given = op_values.grid(dtypes)
    kernel = body_kernel(op, dtypes)
    scale = operands.scale(op, given)
    if dtypes[0].kind == "c":
        given, scale = well_conditioned(op, given, scale)
    bodies = interpret(kernel, given)
    for got, want, body in zip(
        run(kernel, given), oracle(op, given), bodies, strict=True
    ):
        apart = op_values.units(got, want, scale)
        if op.name == "nextafter" and want.dtype == HALF:
            # From 0.0 to -0.0: NumPy before 2.5 stays where it is.
            apart[(got == 0) & (want == 0)] = 0
        bound = np.fmax(op_values.units(body, want, scale), op.bound(want.dtype))
        worst = int(np.argmax(np.where(apart > bound, apart, 0)))
        at = [operand[worst] for operand in given]
        assert (apart <= bound).all(), f"{at}: got {got[worst]}, want {want[worst]}"


def well_conditioned(
    op: Op, given: list[HostArray], scale: HostArray | None
) -> tuple[list[HostArray], HostArray | None]:
    """Without operands for which the last place of an intermediate result decides.

    Where a product overflows or is subnormal, it depends on the processor what NumPy's
    multiplication gives; the error of a power grows with the exponent.
    """
    if op.name in ("multiply", "square"):
        limits = np.finfo(given[0].dtype)
        kept = np.ones(given[0].shape, bool)
        with np.errstate(all="ignore"):
            for x, y in itertools.product(
                (given[0].real, given[0].imag), (given[-1].real, given[-1].imag)
            ):
                size = np.abs(x * y)
                exact = (x == 0) | (y == 0)
                kept &= exact | ((size < limits.max / 4) & (size > limits.tiny))
    elif op.name in ("power", "float_power"):
        with np.errstate(all="ignore"):
            size = np.abs(given[1] * np.log(given[0]))
            kept = ~((size > 2) & np.isfinite(given[0]) & np.isfinite(given[1]))
    else:
        return given, scale
    assert 0.15 < kept.mean() < 1
    return [x[kept] for x in given], None if scale is None else scale[kept]


@pytest.mark.parametrize("target", op_values.NUMERIC)
@pytest.mark.parametrize("source", op_values.NUMERIC)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_cast(source: str, target: str) -> None:
    x = op_values.values(np.dtype(source))
    dtype = np.dtype(target)
    if x.dtype.kind in "fc" and dtype.kind in "iu":
        # Out of range the result depends on the processor.
        x = x[np.isfinite(x) & (np.abs(x.real) < 100) & (x.real >= 0)]
    (got,) = run(body_kernel(CAST, (x.dtype,), (dtype,)), [x])
    with np.errstate(all="ignore"):
        want = x.astype(dtype)
    assert got.dtype == dtype
    assert not op_values.units(got, want).any()


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_every_primitive_of_complex_numbers_is_known(name: str) -> None:
    arity = PRIMITIVES[name].arity
    try:
        taken = infer.loop_dtypes(name, (COMPLEX,) * arity)[:-1] == (COMPLEX,) * arity
        taken = taken and name not in ("truncate_divide", "truncate_remainder")
    except (TypeError, AttributeError):
        taken = False
    if not taken or not isinstance(PRIMITIVES[name].numpy, np.ufunc):
        return
    x = [nodes.Name(f"x{place}", COMPLEX) for place in range(arity)]
    values = tuple(nodes.Value(item.name, COMPLEX) for item in x)
    kernel = nodes.Kernel(name, values, (), (infer.apply(name, *x),))
    given = [operands.moderate(COMPLEX, seed=place) for place in range(arity)]
    (got,) = run(kernel, given)
    assert np.allclose(got, PRIMITIVES[name].numpy(*given), rtol=1e-5)


# -------------------------------------------------------------------------- halves
FORMATS = [
    *("float16", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
]


def narrow_dtype(name: str) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(
        np.float16 if name == "float16" else getattr(ml_dtypes, name)
    )
    return found


def every(dtype: np.dtype[Any]) -> HostArray:
    """All numbers of a narrow dtype, by their bits."""
    bits = 8 * dtype.itemsize
    return np.arange(1 << bits).astype(f"u{dtype.itemsize}").view(dtype)


@pytest.mark.parametrize("name", FORMATS)
def test_all_narrow_numbers_and_their_bits(name: str) -> None:
    dtype = narrow_dtype(name)
    narrow = format_of(dtype)
    assert narrow is not None
    numbers = every(dtype)
    patterns = numbers.view(f"u{dtype.itemsize}")
    (wide,) = interpret(parse(narrow.from_bits, [patterns.dtype]), [patterns])
    single = numbers.astype(SINGLE)
    assert np.array_equal(wide, single, equal_nan=True)
    assert np.array_equal(np.signbit(wide), np.signbit(single))
    (back,) = interpret(parse(narrow.to_bits, [SINGLE]), [wide])
    nan = np.isnan(single)
    assert np.array_equal(back[~nan], patterns[~nan])
    assert np.isnan(back.view(dtype)[nan].astype(SINGLE)).all()


@pytest.mark.parametrize("source", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_casts_are_rounded_as_numpy_does_it(name: str, source: np.dtype[Any]) -> None:
    dtype = narrow_dtype(name)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.unique(every(dtype).astype(source))
        numbers = np.abs(numbers[np.isfinite(numbers)])
        ties = (numbers[1:] + numbers[:-1]) / 2
        near = [np.nextafter(ties, 0), ties, np.nextafter(ties, source.type(np.inf))]
        beyond = numbers.max() * np.array([1.001, 1.1, 1.5, 2.0], source)
        others = np.array([1e30, 1e-30, 0.0, np.inf, np.nan], source)
        x = np.concatenate([numbers, *near, beyond, others])
        x = np.concatenate([x, -x])
        (got,) = interpret(lower(body_kernel(CAST, (source,), (dtype,))), [x])
        want = x.astype(dtype).astype(SINGLE)
    assert np.array_equal(got, want, equal_nan=True)
    assert np.array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0])


@pytest.mark.parametrize("name", FORMATS[1:])
@pytest.mark.parametrize(
    "row", ["add", "divide", "exp", "fmax", "sign", "nextafter", "floor_divide"]
)
def test_rows_over_narrow_numbers(row: str, name: str) -> None:
    op, dtype = TABLE[row], narrow_dtype(name)
    numbers = every(dtype)[:: 257 if dtype.itemsize == 2 else 3]
    axes = np.meshgrid(*[numbers] * op.inputs)
    given = [np.ascontiguousarray(axis.ravel()) for axis in axes]
    kernel = body_kernel(op, (dtype,) * op.inputs)
    (body,) = interpret(kernel, given)
    low = lower(kernel)
    (got,) = interpret(low, [x.astype(SINGLE) for x in given])
    assert np.array_equal(got, body.astype(SINGLE), equal_nan=True)


def add_one(x: Any, out: Any, i: Scalar) -> None:
    out[i] = x[i] + 1.0


def test_arrays_of_bits() -> None:
    dtype = np.dtype(ml_dtypes.bfloat16)
    arrays = [nodes.Array("x", dtype), nodes.Array("out", dtype, True)]
    low = lower(parse(add_one, [*arrays, INT]))
    assert [item.dtype for item in low.parameters] == [np.uint16, np.uint16, INT]
    x = operands.moderate(dtype=SINGLE).astype(dtype)
    out = np.zeros_like(x)
    arguments: list[HostArray] = [
        x.view(np.uint16),
        out.view(np.uint16),
        np.arange(x.size),
    ]
    interpret(low, arguments)
    assert np.array_equal(out, x + dtype.type(1))


def test_a_format_that_is_not_known() -> None:
    dtype = np.dtype(ml_dtypes.float8_e8m0fnu)
    with pytest.raises(UnsupportedError, match="float8_e8m0fnu"):
        lower(parse(add_one, [nodes.Array("x", dtype, True)] * 2 + [INT]))


# ---------------------------------------------------------------------- statements
def mandelbrot(c: Scalar, count: Scalar) -> tuple[Scalar, Scalar]:
    z = cast(0.0, c)
    steps = cast(0, count)
    while abs(z) < 2.0 and steps < count:
        z = z * z + c
        steps = steps + 1
    return z, steps


def turned(x: Scalar, n: Scalar) -> Scalar:
    a = x
    b = x * 2.0
    for _ in range(n):
        a = make_complex(imag(a), a.real)
        a, b = b, a
    return a - b


def test_loops_over_complex_variables() -> None:
    x = operands.moderate(COMPLEX)
    count = np.asarray(6)
    for function, given in (
        (mandelbrot, [x, count]),
        (turned, [x, np.asarray(5)]),
    ):
        kernel = parse(function, [COMPLEX, INT])
        for got, want in zip(run(kernel, given), interpret(kernel, given), strict=True):
            assert np.allclose(got, want, rtol=1e-4, atol=1e-5)


def converge(x: Scalar) -> Scalar:
    while x * 3.0 > 1.0:
        x = x * 0.7
    return x


def test_condition_over_halves() -> None:
    x = np.abs(operands.moderate(HALF))
    kernel = parse(converge, [HALF])
    (got,) = run(kernel, [x])
    assert np.array_equal(got, interpret(kernel, [x])[0])


def rows(z: Any, h: Any, out: Any, small: Any, i: Scalar, factor: Scalar) -> None:
    k = np.int32(i)
    if i > 2:
        out[k] = exp(z[k]) * factor
        small[i] = h[i] * h[i] + 1.5
    else:
        out[k] = z[i]
        small[i] = h[i]


def test_arrays() -> None:
    z, h = operands.moderate(COMPLEX, 9), operands.moderate(HALF, 9)
    arrays = [
        nodes.Array("z", COMPLEX),
        nodes.Array("h", HALF),
        nodes.Array("out", COMPLEX, True),
        nodes.Array("small", HALF, True),
    ]
    kernel = verify(parse(rows, [*arrays, INT, COMPLEX]))
    factor = np.asarray(1 + 2j, COMPLEX)
    items = np.arange(9)
    want, narrow = np.zeros(9, COMPLEX), np.zeros(9, HALF)
    interpret(kernel, [z, h, want, narrow, items, factor])
    low = lower(kernel)
    check_dtypes(low)
    names = [parameter.name for parameter in low.parameters]
    assert names == ["z", "h", "out", "small", "i", "factor_re", "factor_im"]
    got, small = np.zeros(9, COMPLEX), np.zeros(9, HALF)
    interpret(
        low,
        [z.view(SINGLE), h, got.view(SINGLE), small, items, factor.real, factor.imag],
    )
    assert np.allclose(got, want, rtol=1e-6)
    assert np.array_equal(small, narrow)


def total(x: Any, out: Any) -> None:
    i = global_id()
    mine = shared(np.complex64, 8)
    mine[i] = x[i]
    barrier()
    atomic_add(out, 0, mine[i] * 2.0)


def previous(x: Any, out: Any) -> None:
    i = global_id()
    old = atomic_add(out, 0, x[i])
    out[1] = old


def exchanged(x: Any, out: Any) -> None:
    atomic_exchange(out, 0, x[0])


def test_groups_and_atomics() -> None:
    arrays = [nodes.Array("x", COMPLEX), nodes.Array("out", COMPLEX, True)]
    low = lower(parse(total, arrays))
    check_dtypes(low)
    kinds = [type(node) for node in low.body]
    assert kinds.count(nodes.Atomic) == 2
    assert kinds.count(nodes.Barrier) == 1
    (memory,) = [node for node in low.body if isinstance(node, nodes.Shared)]
    assert (memory.dtype, memory.size) == (SINGLE, 16)
    adding = lower(parse(previous, arrays)).body
    results = [node.result for node in adding if isinstance(node, nodes.Atomic)]
    assert len(set(results)) == 2
    assert "" not in results


@pytest.mark.parametrize(
    ("function", "dtype"), [(exchanged, COMPLEX), (exchanged, HALF), (previous, HALF)]
)
def test_atomics_that_no_device_has(
    function: Callable[..., Any], dtype: np.dtype[Any]
) -> None:
    arrays = [nodes.Array("x", dtype), nodes.Array("out", dtype, True)]
    with pytest.raises(UnsupportedError, match="atomic"):
        lower(parse(function, arrays))
