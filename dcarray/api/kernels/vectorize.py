"""`vectorize`: a function of single numbers as an operation over arrays."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ...array import DeviceArray
from ...array.fallback import on_host
from ...config import current
from .decorator import found_by_name

__all__ = ["vectorize"]

_missing: Any = np._NoValue


class vectorize(np.vectorize):
    """A function of single numbers, over arrays, with broadcasting.

    Where the function is in the kernel language (see `kernel`) it is one operation: it
    is recorded and fused with what is around it, and runs on every device.  Dtypes are
    those that it gives for NumPy's scalars.  Any other function, and one for which
    ``otypes``, ``excluded``, ``cache`` or ``signature`` is given, is called for each
    element as `numpy.vectorize` does; so are all while the setting ``scalars`` is
    "numpy".

    Parameters
    ----------
    pyfunc : callable
    otypes, doc, excluded, cache, signature
        As for `numpy.vectorize`.

    Examples
    --------
    >>> import dcarray as dc
    >>> @dc.vectorize
    ... def clipped(x, low):
    ...     return low if x < low else x
    >>> clipped(dc.arange(4.0), 1.5)
    array([1.5, 1.5, 2. , 3. ])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "pyfunc", _missing) is _missing:
            return super().__call__(*args, **kwargs)
        if (args or kwargs) and self._is_plain():
            from .rows import natively  # the language loads with the first function

            found = natively(self.pyfunc, self.__dict__, args, kwargs)
            if found is not None:
                return found
        return on_host(DeviceArray, super().__call__, *args, **kwargs)

    @property
    def body(self) -> Any:
        """What a kernel that calls this runs."""
        return self.pyfunc

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name where a module holds it under that of its function."""
        pyfunc = getattr(self, "pyfunc", None)
        place = [getattr(pyfunc, x, "") for x in ("__module__", "__qualname__")]
        if found_by_name(*place) is self:
            return _by_name, tuple(place)
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:
        return {key: x for key, x in self.__dict__.items() if key != "_rows"}

    def _is_plain(self) -> bool:
        asked = (self.otypes, self.signature, self.excluded, self.cache)
        return not any(asked) and current().scalars == "array"


def _by_name(module: str, name: str) -> Any:
    importlib.import_module(module)
    return found_by_name(module, name)
