"""``config(validate=...)``: a second device runs every group, and they agree."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.errors import ConfigError, DeviceError, UnsupportedError, ValidationError
from dcarray.lazy.bounds import Total, difference, slot_bounds
from dcarray.ops import elementwise, reduction
from dcarray.ops.program import Inner, Node, Program, Reduction
from dcarray.testing import SimulatedDevice

FLOAT = np.dtype(np.float32)
DOUBLE = np.dtype(np.float64)


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    with SimulatedDevice() as simulated, dc.config(lazy="always", validate="cpu"):
        yield simulated


def on(device: SimulatedDevice, x: Any) -> Any:
    return dc.asarray(np.array(x)).to_device(device.label)


class Liar:
    """Runs programs with one bit of the result of an operation changed."""

    def __init__(self, device: SimulatedDevice, name: str, at: int) -> None:
        self.device = device
        self.name = name
        self.at = at

    def __enter__(self) -> Liar:
        backend = self.device.backend
        launch = backend.launch

        def lying(executable: Any, shape: Any, inputs: Any, *rest: Any) -> Any:
            raised = launch(executable, shape, inputs, *rest)
            if self.name in executable.program.describe().split():
                outputs, reduced = rest[1], rest[2] if len(rest) > 2 else None
                view = outputs[0] if reduced is None else reduced
                array = backend._memory.array(view)
                place = np.unravel_index(self.at, array.shape)
                array[place] = array[place] + array.dtype.type(1)
            return raised

        backend.launch = lying  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        del self.device.backend.launch


# ------------------------------------------------------------------------- agreement
def test_every_group_runs_on_both(device: SimulatedDevice) -> None:
    x = on(device, np.linspace(0.1, 3, 1000, dtype=np.float32))
    with dc.profile() as seen:
        total = (dc.exp(x) * 2 - dc.sqrt(x)).sum()
        y = (x + 1).T.reshape(10, 100)
        dc.evaluate(y)
    assert total.device == device.label
    names = [event.name for event in seen.groups]
    assert [event.name for event in seen.of_kind("validate")] == names
    assert {event.device for event in seen.of_kind("validate")} == {"cpu"}
    assert {event.device for event in seen.groups} == {device.label}


def test_nothing_runs_twice_on_one_device() -> None:
    with dc.config(lazy="always", validate="cpu"), dc.profile() as seen:
        assert float((dc.ones(1000) + 1).sum()) == 2000
    assert not seen.of_kind("validate")
    with dc.config(lazy="always"), dc.profile() as seen:
        assert float((dc.ones(1000, device="test:0") + 1).sum()) == 2000
    assert not seen.of_kind("validate")


def test_the_cpu_against_a_device(device: SimulatedDevice) -> None:
    with dc.config(validate=device.label), dc.profile() as seen:
        x = dc.asarray(np.arange(1000.0)) * 2 + 1
        assert float(x.sum()) == 1_000_000
    assert {event.device for event in seen.of_kind("validate")} == {device.label}
    assert {event.device for event in seen.groups} == {"cpu"}


def amplified(x: Any) -> Any:
    return dc.exp(100 * dc.sin(x * 7)) * 0.5 - dc.sqrt(abs(x))


CHAINS = {
    "amplified": amplified,
    "cancelled": lambda x: dc.exp(x) - dc.exp(x + 1e-3),
    "rounded": lambda x: dc.floor(dc.exp(dc.log(abs(x) + 1)) * 3),
    "compared": lambda x: dc.where(dc.sin(x) ** 2 + dc.cos(x) ** 2 >= 1, x, -x),
    "as integers": lambda x: (dc.exp(x) * 100).astype(dc.int64) % 7,
    "nan and inf": lambda x: dc.log(x - x[3:4]) / (x - x[3:4]),
    "narrow": lambda x: dc.sin(x.astype(dc.float16)) * 3 + 1,
    "complex": lambda x: dc.exp(x + 1j * x) * (x - 2j),
    "sum": lambda x: dc.exp(x).sum(axis=0),
    "sums of all": lambda x: dc.sin(x * 3).sum(),
    "product": lambda x: (1 + dc.sin(x) / 100).prod(axis=1),
    "largest": lambda x: dc.sinh(x).max(axis=-1),
    "any": lambda x: (dc.sin(x) ** 2 + dc.cos(x) ** 2 > 1).any(axis=0),
    "mean": lambda x: dc.tanh(x).mean(axis=(0, 1)),
    "of a view": lambda x: dc.exp(x[::-1, ::3].T).sum(axis=1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.filterwarnings("ignore")
def test_right_results_are_not_blamed(
    device: SimulatedDevice, name: str, dtype: str
) -> None:
    """Also where small errors grow large: the bounds know by how much."""
    rng = np.random.default_rng(5)
    x = on(device, rng.uniform(-3, 3, (60, 70)).astype(dtype))
    with np.errstate(all="ignore"):
        CHAINS[name](x).get()


def test_in_place(device: SimulatedDevice) -> None:
    """What the group overwrites is kept for the second run."""
    x = on(device, np.arange(1000, dtype=np.float32))
    x *= 3
    x[100:] += x[100:]
    x += dc.exp(x / 10_000)
    want = np.arange(1000, dtype=np.float32) * 3
    want[100:] *= 2
    np.testing.assert_allclose(x.get(), want + np.exp(want / 10_000), rtol=1e-6)


def test_memory_shared_with_the_host(device: SimulatedDevice) -> None:
    """Written in place on the CPU, read by the second device from a copy."""
    host = np.arange(1000.0)
    x = dc.asarray(host, copy=False)
    with dc.config(validate=device.label):
        x += x
        y = dc.asarray(np.arange(1000.0))
        y[1:] += 2 * y[1:]
    assert host[-1] == 1998
    assert y.get()[-1] == 2997


# ---------------------------------------------------------------------- disagreement
def test_the_first_wrong_element(device: SimulatedDevice) -> None:
    x = on(device, np.arange(600, dtype=np.float32).reshape(20, 30))
    y = x * 2 + 5
    with Liar(device, "add", 77), pytest.raises(ValidationError) as caught:
        y.get()
    error = caught.value
    assert error.index == (2, 17)
    assert error.got == 2 * 77 + 6
    assert error.wanted == 2 * 77 + 5
    assert error.bound == 0
    assert error.device == device.label
    assert error.kernel == "multiply add"
    assert error.grid == (20, 30)
    assert error.inputs == {"leaf0": 77, "scalar0": 2, "scalar1": 5}
    assert error.source is not None
    assert "multiply(leaf0, scalar0)" in error.source
    assert error.source_line is not None and __file__ in error.source_line
    said = str(error)
    assert "element (2, 17) is 160.0 on" in said
    assert "159.0 on cpu" in said
    assert "leaf0 = 77" in said
    assert isinstance(error, DeviceError)
    with pytest.raises(ValidationError):
        y.get()  # the value has failed for good


def test_a_wrong_output_among_several(device: SimulatedDevice) -> None:
    x = on(device, np.arange(100, dtype=np.float32))
    with Liar(device, "modf", 9), pytest.raises(ValidationError) as caught:
        dc.evaluate(*dc.modf(x + 0.5))
    assert caught.value.index == (9,)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_wrong_reduction(
    device: SimulatedDevice, name: str, axis: Any, dtype: str
) -> None:
    rng = np.random.default_rng(1)
    # Few twos, so that 1 is beyond the rounding of the products.
    host = (1 + (rng.random((3, 4, 5)) < 0.1)).astype(dtype)
    x = on(device, host)
    wanted = getattr(host, name)(axis=axis, keepdims=True)
    last = wanted.size - 1
    with Liar(device, name, last), pytest.raises(ValidationError) as caught:
        getattr(x, name)(axis=axis).get()
    assert caught.value.index == np.unravel_index(last, wanted.shape)
    assert caught.value.wanted == wanted.flat[last]
    (row,) = caught.value.inputs.values()
    assert row.size == host.size // wanted.size


def test_a_wrong_truth(device: SimulatedDevice) -> None:
    x = on(device, np.zeros((4, 5), bool))
    with Liar(device, "any", 2), pytest.raises(ValidationError) as caught:
        x.any(axis=1).get()
    assert caught.value.index == (2, 0)


def test_long_reductions_are_taken_in_parts(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcarray.lazy import validate

    monkeypatch.setattr(validate, "BATCH", 64)
    x = on(device, np.linspace(0, 1, 12_000, dtype=np.float32).reshape(40, 300))
    dc.exp(x).sum().get()
    dc.exp(x).sum(axis=0).get()
    dc.exp(x).sum(axis=1).get()
    dc.exp(x).get()
    with Liar(device, "sum", 30), pytest.raises(ValidationError) as caught:
        dc.sin(x).sum(axis=1).get()
    assert caught.value.index == (30, 0)


def test_the_kernel_of_the_backend_is_shown(device: SimulatedDevice) -> None:
    compile = device.backend.compile

    def with_source(program: Program) -> Any:
        executable = compile(program)

        class Spelled:
            source = "kernel void fused() {}"
            program = executable.program
            run = executable.run

        return Spelled()

    device.backend.compile = with_source  # type: ignore[method-assign, assignment]
    x = on(device, np.ones(9))
    with Liar(device, "add", 0), pytest.raises(ValidationError) as caught:
        (x + 1).get()
    assert caught.value.source == "kernel void fused() {}"


# ------------------------------------------------------------------------ no answer
def test_a_second_device_that_cannot(
    device: SimulatedDevice, caplog: pytest.LogCaptureFixture
) -> None:
    with SimulatedDevice(without=["float64"]) as second:
        x = on(device, np.ones(100))
        with dc.config(validate=second.label), caplog.at_level(logging.WARNING):
            assert float((x + 1).sum().get()) == 200
    assert f"not compared with {second.label}" in caplog.text


def test_a_second_device_that_fails_for_a_while(device: SimulatedDevice) -> None:
    with SimulatedDevice() as second, dc.config(validate=second.label):
        second.fail("launch", transient=True)
        with dc.profile() as seen:
            assert float((on(device, np.ones(100)) + 1).sum().get()) == 200
        assert len(seen.of_kind("validate")) == len(seen.groups) > 0


@pytest.mark.parametrize(
    ("label", "error"), [("auto", ConfigError), ("nothing:0", UnsupportedError)]
)
def test_no_second_device(
    device: SimulatedDevice, label: str, error: type[Exception]
) -> None:
    x = on(device, np.ones(100)) + 1
    with dc.config(validate=label), pytest.raises(error):
        x.get()


# ----------------------------------------------------------------------------- bounds
def chain(*ops: Any, dtype: np.dtype[Any] = FLOAT) -> Program:
    """Each operation on the result of the one before."""
    nodes = [Node(op, (k,), (dtype,), (Inner.CONTIGUOUS,)) for k, op in enumerate(ops)]
    return Program((dtype,), (), tuple(nodes), (len(ops),))


def test_exact_chains_have_no_bound() -> None:
    program = chain(elementwise.NEGATIVE, elementwise.FLOOR, elementwise.SQUARE)
    x = np.linspace(-9, 9, 50, dtype=FLOAT)
    for _, bound in slot_bounds(program, [x], ()):
        assert not bound.any()


def test_bounds_add_up() -> None:
    """exp(sin(x)): that of exp, and that of sin times the slope of exp."""
    program = chain(elementwise.SIN, elementwise.EXP, dtype=DOUBLE)
    x = np.linspace(0.1, 1.5, 50)
    bound = slot_bounds(program, [x], ())[-1][1]
    sine = elementwise.SIN.ulp * np.spacing(np.sin(x))
    result = np.exp(np.sin(x))
    want = elementwise.EXP.ulp * np.spacing(result) + result * sine
    np.testing.assert_allclose(bound, want, rtol=0.3)


def test_differences() -> None:
    inf, nan = np.inf, np.nan
    got = np.array([1, nan, nan, inf, inf, -inf], FLOAT)
    want = np.array([3, nan, 1, inf, 1, inf], FLOAT)
    assert difference(got, want).tolist() == [2, 0, inf, 0, inf, inf]
    assert difference(np.array([True, False]), np.array([True, True])).tolist() == [
        0,
        1,
    ]
    large = np.array([2**62, 2**62], np.int64)
    assert difference(large, large + np.array([0, 1])).tolist() == [0, 1]


@np.errstate(over="ignore")
def totals(op: Any, x: np.ndarray, errors: np.ndarray) -> float:
    total = Total(Program((x.dtype,), (), (), (), Reduction(op, 0, x.dtype)), 1)
    total.add(x[None], errors[None])
    return float(total.bounds(op.numpy.reduce(x)[None])[0])


def test_bounds_of_reductions() -> None:
    x = np.array([1.5, -2.0, 4.0], FLOAT)
    none, some = np.zeros(3), np.array([0, 0.5, 0.25])
    eps = float(np.finfo(FLOAT).eps)
    assert totals(reduction.SUM, x, none) == pytest.approx(
        (64 + 4 * 3**0.5) * eps * 7.5
    )
    assert totals(reduction.SUM, x, some) == pytest.approx(0.75, rel=1e-4)
    assert totals(reduction.MAX, x, none) == 0
    assert totals(reduction.MIN, x, some) == 0.5
    assert totals(reduction.PROD, x, none) == pytest.approx(3 * eps * 12)
    assert totals(reduction.PROD, x, some) == pytest.approx(
        12 * (1.25 * 1.0625 - 1), rel=1e-4
    )
    assert totals(reduction.SUM, np.array([3e38, 3e38, -3e38], FLOAT), none) == np.inf
    numbers = np.array([1, 2, 3])
    assert totals(reduction.SUM, numbers, none) == 0
    assert totals(reduction.SUM, numbers, np.ones(3)) == 3
    assert totals(reduction.PROD, numbers, np.ones(3)) == np.inf
    truths = np.array([True, False, False])
    assert totals(reduction.ANY, truths, none) == 0
    assert totals(reduction.ALL, truths, np.array([0, 1.0, 0])) == np.inf
