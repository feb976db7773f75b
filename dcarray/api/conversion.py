"""What becomes of lists, NumPy's arrays and those of other libraries: arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..array import DeviceArray
from ..array.fallback import own_array
from ..array.foreign import device_of_foreign, taken
from ..array.movement import copied, moved
from ..array.operands import unwrapped
from ..array.state import HostArray, check_dtype, is_foreign
from ..array.straight import sent
from ..backends.buffer import Buffer
from ..backends.registry import AUTO, Device, backend_for, common_device, device_of
from ..config import current
from ..layout import Layout, is_contiguous
from ..lazy import recover

__all__ = [
    "as_array",
    "chosen_device",
    "convert",
    "default_dtype",
    "hosts_of",
    "locked",
    "placed",
    "unwrapped",
]

_NARROWER = {"d": "f", "D": "F", "l": "i", "q": "i"}
"""Default dtypes of devices that lack NumPy's."""


def chosen_device(device: str | Device | None) -> Device:
    """The device that ``device=`` means, the settings' if it is None."""
    return device_of(device, current().device)


def default_dtype(dtype: Any, device: Device) -> np.dtype[Any]:
    """NumPy's default dtype, or on a device without it the one of half the width."""
    wanted: np.dtype[Any] = np.dtype(dtype)
    if device.kind not in ("auto", "cpu"):
        supported = backend_for(str(device)).supported
        narrower = np.dtype(_NARROWER.get(wanted.char, wanted))
        if wanted not in supported and narrower in supported:
            return narrower
    return wanted


def placed(host: HostArray, device: str | Device | None = None) -> DeviceArray:
    """Memory of the host that nobody else knows, as an array on a device."""
    target = chosen_device(device)
    if target.kind in ("auto", "cpu"):
        return DeviceArray._of_host(host, target)
    check_dtype(host.dtype, target)
    buffer = Buffer.of_host(host)
    recover.place(buffer, str(target))
    layout = Layout.of(host, buffer.start)
    return DeviceArray._of_buffer(buffer, layout, host.dtype, target)


def locked(x: DeviceArray) -> DeviceArray:
    """The array, read-only from now on; call it with a new view."""
    x._locked = True
    if x._host is not None:
        x._host.flags.writeable = False
    return x


def as_array(x: Any) -> DeviceArray:
    """The array itself; of other things, an array like `asarray` makes."""
    if type(x) is DeviceArray:
        return x
    return convert(x)  # type: ignore[no-any-return]


def hosts_of(operands: Sequence[Any]) -> list[Any] | None:
    """The NumPy arrays of arrays on ``auto`` that are on the host and up to date, among
    them Python's numbers; None if there is anything else, or no array."""
    hosts = []
    arrays = False
    for x in operands:
        kind = type(x)
        if kind is DeviceArray:
            host = x._host
            if host is None or x._device is not AUTO:
                return None
            arrays = True
            hosts.append(host)
        elif kind is float or kind is int:
            hosts.append(x)
        else:
            return None
    return hosts if arrays else None


def convert(
    x: Any,
    dtype: Any = None,
    order: Any = None,
    copy: bool | None = None,
    device: str | Device | None = None,
    subok: bool = False,
    ndmin: int = 0,
    **options: Any,
) -> Any:
    """`numpy.array`, with copies of foreign memory.

    Parameters
    ----------
    x : array_like
    dtype, order, copy, subok, ndmin
        As in NumPy.
    device : str or Device, optional
        Where the array is to be; its own place, or the settings' device, if None.
    **options
        Further options of `numpy.array`.

    Returns
    -------
    DeviceArray
        A NumPy array of a subclass if ``x`` is one and ``subok`` is true.
    """
    if isinstance(x, DeviceArray):
        return _converted(x, dtype, order, copy, device, ndmin)
    if is_foreign(x):
        if subok and type(x) is not np.ndarray:
            return np.array(
                x, dtype, copy=copy, order=order, subok=True, ndmin=ndmin, **options
            )
        return _from_numpy(x, dtype, order, copy, device, ndmin)
    place = device_of_foreign(x)
    if place is not None:
        there = taken(DeviceArray, x, place)
        return _converted(there, dtype, order, copy, device, ndmin)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        if copy is False:
            host = np.from_dlpack(x, copy=False)
            return _from_numpy(host, dtype, order, copy, device, ndmin)
        x = np.from_dlpack(x, device="cpu")
    if _holds_arrays(x):
        target = chosen_device(device) if device is not None else _common(x)
        plain = unwrapped(x)
    else:
        target = chosen_device(device)
        plain = own_array(x)
    if copy is False:
        shared = np.array(
            plain, dtype, copy=False, order=order or "K", ndmin=ndmin, **options
        )
        return _shared(shared, target)
    host = np.array(plain, dtype, order=order or "K", ndmin=ndmin, **options)
    if dtype is None and not hasattr(x, "dtype"):
        host = host.astype(default_dtype(host.dtype, target), copy=False)
    return placed(host, target)


def _common(x: Any) -> Device:
    """The device of the arrays in a list, else that of the settings."""
    found = [
        item._device
        for items in _lists(x)
        for item in items
        if isinstance(item, DeviceArray)
    ]
    default = chosen_device(None)
    if not found:
        return default
    common = common_device(found, "asarray")
    return default if common is AUTO else common


def _holds_arrays(x: Any) -> bool:
    """Whether there are arrays in a list, or in its lists."""
    return any(DeviceArray in set(map(type, items)) for items in _lists(x))


def _lists(x: Any) -> Iterator[Sequence[Any]]:
    """A list and those in it, each once: one may contain itself."""
    stack = [x]
    seen = set()
    while stack:
        item = stack.pop()
        if type(item) not in (list, tuple) or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        kinds = set(map(type, item))
        if list in kinds or tuple in kinds:
            stack.extend(item)


def _shared(host: HostArray, target: Device) -> DeviceArray:
    if target.kind not in ("auto", "cpu"):
        raise ValueError(
            f"asarray: memory of the host cannot be shared with {target}; copy=False"
        )
    return DeviceArray._of_shared(host, target)


def _from_numpy(
    x: HostArray,
    dtype: Any,
    order: Any,
    copy: bool | None,
    device: str | Device | None,
    ndmin: int,
) -> DeviceArray:
    target = chosen_device(device)
    if copy is False:
        host = np.array(x, dtype, copy=False, order=order or "K", ndmin=ndmin)
        return _shared(host, target)
    if target.kind not in ("auto", "cpu") and type(x) is np.ndarray:
        host = np.array(x, dtype, copy=None, order=order or "K", ndmin=ndmin)
        made: DeviceArray | None = sent(DeviceArray, host, target)
        if made is not None:
            return made
    return placed(np.array(x, dtype, order=order or "K", ndmin=ndmin), target)


def _converted(
    x: DeviceArray,
    dtype: Any,
    order: Any,
    copy: bool | None,
    device: str | Device | None,
    ndmin: int,
) -> Any:
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    target = x._device if device is None else chosen_device(device)
    result = x
    if target != x._device:
        if copy is False:
            raise ValueError(
                f"Unable to avoid copy while moving an array from {x._device} to "
                f"{target}"
            )
        if target.kind in ("auto", "cpu") and x._device.kind in ("auto", "cpu"):
            result = x.copy("K")
            result._device = target
        else:
            result = x.to_device(target)
    if wanted != x.dtype or (dtype is not None and _spelled_otherwise(x.dtype, wanted)):
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested."
            )
        result = result.astype(wanted, order or "K")
    elif not _in_order(result, order):
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested."
            )
        result = copied(result, order)
    elif copy and result is x:
        result = copied(x, order or "K")
    if ndmin > result.ndim:
        missing = (None,) * (ndmin - result.ndim)
        result = moved(result, lambda a: a[(*missing, ...)])
    return result


def _spelled_otherwise(ours: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Equal dtypes whose names or metadata differ matter for records only."""
    return ours.kind == "V" and ours is not wanted and ours.names != wanted.names


def _in_order(x: DeviceArray, order: Any) -> bool:
    if order is None or order in "Kk":
        return True
    layout, itemsize = x._layout, x.dtype.itemsize
    in_c = is_contiguous(layout.shape, layout.strides, itemsize, "C")
    in_f = is_contiguous(layout.shape, layout.strides, itemsize, "F")
    if order in "Aa":
        return in_c or in_f
    return in_c if order in "Cc" else in_f
