"""NumPy's functions, called with `DeviceArray`s, become dcarray's own.

``numpy.concatenate([x, y])`` of arrays of dcarray asks ``x.__array_function__``, which
looks here.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from ..array import DeviceArray

__all__ = ["FunctionTable", "install"]

_SUBMODULES = ("linalg", "fft")


class FunctionTable(dict[Any, Any]):
    """dcarray's function for each of NumPy's.

    It fills when it is asked for the first time, and with a submodule's functions when
    one of those is.
    """

    def __init__(self, module: ModuleType) -> None:
        super().__init__()
        self.module = module
        self.waiting = list(_SUBMODULES)
        self.begun = False

    def _add(self, theirs: ModuleType, ours: ModuleType) -> None:
        for name in ours.__all__:
            function = vars(theirs).get(name)
            mine = vars(ours).get(name)
            if mine is None or mine is function or not callable(function):
                continue
            if not isinstance(function, (type, np.ufunc)):
                self[function] = mine

    def get(self, key: Any, default: Any = None) -> Any:
        """The function for ``key``, a function of NumPy."""
        if not self.begun:
            self._add(np, self.module)
            self.begun = True
        found = super().get(key)
        if found is None and self.waiting:
            home = getattr(key, "__module__", None) or ""
            for name in self.waiting:
                if home.startswith(f"numpy.{name}"):
                    theirs = importlib.import_module(f"numpy.{name}")
                    ours = importlib.import_module(f"{self.module.__name__}.{name}")
                    self._add(theirs, ours)
                    self.waiting = [other for other in self.waiting if other != name]
                    return super().get(key, default)
        return default if found is None else found


def install(module: ModuleType) -> None:
    """Make ``module`` the namespace of all arrays.

    Parameters
    ----------
    module : module
        The package: it has the functions, and ``linalg`` and ``fft`` below it.
    """
    DeviceArray.array_functions = FunctionTable(module)
    DeviceArray.namespaces[:] = [module]
