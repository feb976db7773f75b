"""Explicit devices and ``auto``: what a label means, wherever one can be given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dcarray as dc
from dcarray.errors import DeviceMismatchError, UnsupportedError
from dcarray.testing import SimulatedDevice

A = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def device() -> Iterator[SimulatedDevice]:
    with SimulatedDevice() as simulated:
        yield simulated


def on(device: SimulatedDevice, x: Any = A) -> Any:
    return dc.asarray(np.array(x)).to_device(device.label)


# ---------------------------------------------------------------------------- creation
LIKE = dc.asarray(A)
MAKERS: dict[str, Callable[..., Any]] = {
    "arange": lambda **k: dc.arange(5, **k),
    "array": lambda **k: dc.array([1, 2], **k),
    "asanyarray": lambda **k: dc.asanyarray([1, 2], **k),
    "asarray": lambda **k: dc.asarray([1, 2], **k),
    "asarray of an array": lambda **k: dc.asarray(LIKE, **k),
    "asarray of NumPy's": lambda **k: dc.asarray(A, **k),
    "empty": lambda **k: dc.empty(3, **k),
    "empty_like": lambda **k: dc.empty_like(LIKE, **k),
    "eye": lambda **k: dc.eye(3, **k),
    "from_dlpack": lambda **k: dc.from_dlpack(A, **k),
    "full": lambda **k: dc.full(3, 7, **k),
    "full_like": lambda **k: dc.full_like(LIKE, 7, **k),
    "linspace": lambda **k: dc.linspace(0, 1, 5, **k),
    "ones": lambda **k: dc.ones(3, **k),
    "ones_like": lambda **k: dc.ones_like(LIKE, **k),
    "zeros": lambda **k: dc.zeros(3, **k),
    "zeros_like": lambda **k: dc.zeros_like(LIKE, **k),
    "astype": lambda **k: dc.astype(LIKE, np.float64, **k),
    "fftfreq": lambda **k: dc.fft.fftfreq(5, **k),
    "rfftfreq": lambda **k: dc.fft.rfftfreq(5, **k),
}

FROM_ITS_OPERAND = {"asarray of an array", "astype", "from_dlpack"}
"""What stays where its operand is, unless told otherwise."""

makers = pytest.mark.parametrize("name", MAKERS)


@makers
def test_device_by_label_and_by_object(device: SimulatedDevice, name: str) -> None:
    make = MAKERS[name]
    for given in (device.label, dc.Device(device.label)):
        x = make(device=given)
        assert x.device == device.label
        assert isinstance(x.device, dc.Device)
    assert make(device="cpu").device == "cpu"
    assert make(device="auto").device == "auto"
    assert make().device == "auto"
    if not name.startswith("empty"):
        np.testing.assert_array_equal(
            make(device=device.label).get(), make(device="cpu").get()
        )


@makers
def test_device_of_the_settings(device: SimulatedDevice, name: str) -> None:
    make = MAKERS[name]
    with dc.config(device=device.label):
        follows = "_like" in name or name in FROM_ITS_OPERAND
        assert make().device == ("auto" if follows else device.label)
        assert make(device="cpu").device == "cpu"
    with dc.config(device=dc.Device("cpu")):
        assert dc.ones(3).device == "cpu"


@makers
@pytest.mark.parametrize("label", ["nothing:0", "cpu:x", "test:99", ""])
def test_devices_that_are_not_there(name: str, label: str) -> None:
    with pytest.raises(UnsupportedError):
        MAKERS[name](device=label)


def test_likes_follow_their_prototype(device: SimulatedDevice) -> None:
    x = on(device)
    for make in (dc.empty_like, dc.ones_like, dc.zeros_like):
        assert make(x).device == device.label
        assert make(x, device="cpu").device == "cpu"
    assert dc.full_like(x, 3).device == device.label
    assert dc.asarray(x).device == device.label
    assert dc.asarray(x, device="cpu").device == "cpu"
    assert x.copy().device == device.label


def test_random_numbers_are_made_where_the_settings_say(
    device: SimulatedDevice,
) -> None:
    with dc.config(device=device.label):
        assert dc.random.default_rng(1).random(5).device == device.label


# ---------------------------------------------------------------------------- to_device
def test_to_device(device: SimulatedDevice) -> None:
    x = dc.asarray(A)
    with SimulatedDevice() as other:
        labels = [device.label, dc.Device(other.label), "cpu", "auto", device.label]
        for label in labels:
            x = x.to_device(label)
            assert x.device == str(label)
            assert (x.to_device("cpu").get() == A).all()
        for label in ("nothing:0", "test:9999"):
            with pytest.raises(UnsupportedError, match="no device"):
                x.to_device(label)
        assert x.device == device.label


def test_everything_that_makes_arrays_takes_a_device(device: SimulatedDevice) -> None:
    numbers = b"\1\2\3\4"
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("logspace", (0, 1, 3), {}),
        ("geomspace", (1, 2, 3), {}),
        ("identity", (3,), {}),
        ("tri", (3,), {}),
        ("indices", ((2, 3),), {}),
        ("fromfunction", (lambda i, j: i + j, (2, 3)), {}),
        ("frombuffer", (numbers,), {"dtype": np.uint8}),
        ("fromiter", ([1, 2], float), {}),
        ("fromstring", ("1 2",), {"sep": " "}),
        ("loadtxt", (["1 2", "3 4"],), {}),
        ("genfromtxt", (["1 2", "3 4"],), {}),
    ]
    for name, given, options in calls:
        made = getattr(dc, name)(*given, device=device.label, **options)
        assert made.device == device.label, name
        want = getattr(np, name)(*given, **options)
        assert made.dtype == want.dtype
        np.testing.assert_allclose(made.get(), want)
        with dc.config(device=device.label):
            assert getattr(dc, name)(*given, device="cpu", **options).device == "cpu"


def test_what_is_no_device() -> None:
    x = dc.ones(2)
    for given in (3, 1.5, b"cpu", ("cpu",)):
        for call in (x.to_device, lambda d: dc.ones(2, device=d)):
            with pytest.raises(TypeError, match="takes a label"):
                call(given)
    with pytest.raises(UnsupportedError, match="no device"):
        dc.ones(2, device=dc.Device("nothing:0"))


def test_labels() -> None:
    assert dc.Device("cpu") == "cpu" == str(dc.Device("cpu"))
    assert dc.Device(dc.Device("auto")) == "auto"
    assert dc.Device("test") == dc.Device("test:0")
    assert hash(dc.Device("cuda:1")) == hash("cuda:1")
    assert dc.Device("cuda:1") != dc.Device("cuda:0")
    assert dc.Device("cpu") != 0
    assert dc.devices()[:2] == ["auto", "cpu"]


# --------------------------------------------------------------------- several operands
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "maximum": lambda x, y: dc.maximum(x, y),
    "divmod": lambda x, y: dc.divmod(x, y + 1)[0],
    "compare": lambda x, y: x < y,
    "where": lambda x, y: dc.where(x > 2, x, y),
    "where, condition": lambda x, y: dc.where(x > 2, y, 0),
    "clip": lambda x, y: dc.clip(x, y, y + 1),
    "matmul": lambda x, y: x @ y.T,
    "dot": lambda x, y: dc.dot(x, y.T),
    "tensordot": lambda x, y: dc.tensordot(x, y),
    "vecdot": lambda x, y: dc.vecdot(x, y),
    "einsum": lambda x, y: dc.einsum("ij,ij->i", x, y),
    "concatenate": lambda x, y: dc.concatenate([x, y]),
    "stack": lambda x, y: dc.stack([x, y]),
    "take": lambda x, y: dc.take(x, y[0, :3].astype(np.int64)),
    "take_along_axis": lambda x, y: dc.take_along_axis(
        x, (y % 3).astype(np.int64), axis=0
    ),
    "index": lambda x, y: x[y[0, :3].astype(np.int64) % 3],
    "mask": lambda x, y: x[y > 3],
    "searchsorted": lambda x, y: dc.searchsorted(x.reshape(-1), y),
    "isin": lambda x, y: dc.isin(x, y),
    "solve": lambda x, y: dc.linalg.solve(x[:, :3] + dc.eye(3) * 9, y[:, :3]),
    "cross": lambda x, y: dc.cross(x[:, :3], y[:, :3]),
}

pairs = pytest.mark.parametrize("name", PAIRS)


@pairs
def test_two_named_devices_do_not_meet(device: SimulatedDevice, name: str) -> None:
    with SimulatedDevice() as other:
        x, y = on(device), on(other)
        for one, two in ((x, y), (y, x)):
            with pytest.raises(DeviceMismatchError, match="to_device"):
                PAIRS[name](one, two)
        with pytest.raises(DeviceMismatchError):
            PAIRS[name](x, dc.asarray(A, device="cpu"))


@pairs
@pytest.mark.filterwarnings("ignore")
def test_auto_gives_way_to_a_named_device(device: SimulatedDevice, name: str) -> None:
    x, y = on(device), dc.asarray(A)
    want = PAIRS[name](dc.asarray(A), dc.asarray(A))
    assert want.device == "auto"
    for one, two in ((x, y), (y, x), (x, x)):
        got = PAIRS[name](one, two)
        assert got.device == device.label
        np.testing.assert_allclose(got.get(), want.get(), rtol=1e-5)
    cpu = dc.asarray(A, device="cpu")
    assert PAIRS[name](cpu, y).device == "cpu"


INTO: dict[str, Callable[[Any, Any], Any]] = {
    "in place": lambda x, y: x.__iadd__(y),
    "assignment": lambda x, y: x.__setitem__(slice(0, 2), y[:2]),
    "masked assignment": lambda x, y: x.__setitem__(x > 3, y[x > 3]),
    "out": lambda x, y: dc.add(y, y, out=x),
    "copyto": lambda x, y: dc.copyto(x, y),
    "put": lambda x, y: dc.put(x, [0, 1], y[0, :2]),
    "putmask": lambda x, y: dc.putmask(x, x > 3, y),
}


@pytest.mark.parametrize("name", INTO)
def test_what_is_written_stays_where_it_is(device: SimulatedDevice, name: str) -> None:
    want = dc.asarray(A)
    INTO[name](want, dc.asarray(A * 2))
    for x, y in ((on(device), dc.asarray(A * 2)), (dc.asarray(A), on(device, A * 2))):
        label = x.device
        INTO[name](x, y)
        assert x.device == label
        assert (x.get() == want.get()).all()
    with SimulatedDevice() as other, pytest.raises(DeviceMismatchError):
        INTO[name](on(device), on(other))


# ------------------------------------------------------------------------ to the host
@pytest.mark.parametrize("convert", [np.asarray, np.array])
def test_named_devices_turn_to_numpy_on_request(
    device: SimulatedDevice, convert: Callable[[Any], Any]
) -> None:
    x = on(device)
    with pytest.raises(TypeError, match="get\\(\\)"):
        convert(x)
    assert (x.get() == A).all()
    assert (convert(x.to_device("cpu")) == A).all()
    assert (convert(x.to_device("auto")) == A).all()
    with dc.config(implicit_transfer="allow"):
        assert (convert(x) == A).all()
    assert float(x[1, 1]) == 5
    assert "11." in str(x)


def test_an_index_of_no_dimensions_is_a_number(device: SimulatedDevice) -> None:
    one = dc.asarray(1).to_device(device.label)
    assert dc.asarray(A)[one].device == "auto"
    with SimulatedDevice() as other:
        assert (on(other)[one].get() == A[1]).all()


def test_an_index_on_another_device_is_no_target(device: SimulatedDevice) -> None:
    with SimulatedDevice() as other, pytest.raises(DeviceMismatchError):
        on(device)[on(other, A > 3)] = 1
    x = dc.asarray(A)
    x[on(device, A > 3)] = 0
    assert x.device == "auto"
    assert x.get().max() == 3


# ------------------------------------------------------------------------------- flags
def test_flags_of_a_named_device_can_be_set(device: SimulatedDevice) -> None:
    x = on(device)
    assert x.flags.c_contiguous and x.flags["C"] and x.flags.writeable
    x.flags.writeable = False
    assert not x.flags.writeable and not x.flags["WRITEABLE"]
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    x.flags["WRITEABLE"] = True
    x[0] = 1
    assert x.get()[0].tolist() == [1, 1, 1, 1]
    assert not x.T.flags.c_contiguous
    assert repr(x.flags) == repr(np.empty((3, 4), np.float32).flags).replace(
        "OWNDATA : True", "OWNDATA : False"
    )
    with pytest.raises(AttributeError):
        x.flags.c_contiguous = True
