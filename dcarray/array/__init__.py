"""`DeviceArray`: a value, the layout through which it is seen, and all of NumPy's
methods on it, thin."""

from .device_array import DeviceArray

__all__ = ["DeviceArray"]
