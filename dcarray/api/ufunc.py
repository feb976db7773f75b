"""`UFunc`: NumPy's universal functions for `DeviceArray`s."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import DeviceArray, calls, indexing, reductions
from ..array.fallback import call_numpy, on_host
from ..array.library import oracle
from ..array.methods import plain
from ..array.quick import Function
from ..array.state import is_foreign
from ..backends.registry import AUTO
from ..ops.elementwise import BY_UFUNC
from ..ops.reduction import (
    ALL,
    ANY,
    CUMULATIVE_MAX,
    CUMULATIVE_MIN,
    CUMULATIVE_PROD,
    CUMULATIVE_SUM,
    MAX,
    MIN,
    PROD,
    SUM,
)
from ..ops.spec import Op
from .calling import call_row, named_device, stored_in
from .conversion import as_array
from .coverage import NATIVE
from .folding import FOLDABLE, folded

__all__ = ["Contraction", "UFunc"]

_missing: Any = np._NoValue

_REDUCTIONS: dict[np.ufunc, Op] = {
    np.add: SUM,
    np.multiply: PROD,
    np.minimum: MIN,
    np.maximum: MAX,
    np.logical_or: ANY,
    np.logical_and: ALL,
}

_SCANS: dict[np.ufunc, Op] = {
    np.add: CUMULATIVE_SUM,
    np.multiply: CUMULATIVE_PROD,
    np.minimum: CUMULATIVE_MIN,
    np.maximum: CUMULATIVE_MAX,
}

_PARAMETERS = {
    1: "x : array_like\n    The operand.",
    2: "x1, x2 : array_like\n    The operands, broadcast against each other.",
}


class _Kind(type):
    """NumPy's own ufuncs are instances too: other libraries bring theirs."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, np.ufunc)


class UFunc(Function, metaclass=_Kind):
    """A function of single elements, over arrays.

    It has the attributes and methods of `numpy.ufunc`.  Elementwise results of large
    arrays are recorded and fused.

    Parameters
    ----------
    ufunc : numpy.ufunc
        NumPy's own.
    summary : str
        One line for the documentation.
    """

    __dcarray_coverage__ = NATIVE

    def __init__(self, ufunc: np.ufunc, summary: str) -> None:
        self.numpy = ufunc
        self.row = self.op = BY_UFUNC.get(ufunc)
        self.arrays = DeviceArray
        self.nin = ufunc.nin
        self.nout = ufunc.nout
        self.nargs = ufunc.nargs
        self.ntypes = ufunc.ntypes
        self.types = ufunc.types
        self.identity = ufunc.identity
        self.signature = ufunc.signature
        self.__name__ = ufunc.__name__
        self.__qualname__ = ufunc.__name__
        self.__module__ = "dcarray"
        self.__doc__ = _documentation(ufunc, summary)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __eq__(self, other: object) -> bool:
        """NumPy's own ufunc is the same function."""
        return other is self or (type(other) is np.ufunc and other is self.numpy)

    def __hash__(self) -> int:
        return hash(self.numpy)

    def __reduce__(self) -> str:
        return self.__name__

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            return _call_signature(self.numpy)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    # -------------------------------------------------------------------------- calls
    def _slowly(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if len(operands) > self.nin:
            if "out" in keywords:
                raise TypeError(
                    "cannot specify 'out' as both a positional and keyword argument"
                )
            outs = operands[self.nin : self.nargs]
            keywords["out"] = outs + (None,) * (self.nout - len(outs))
            if len(operands) > self.nargs:
                raise TypeError(
                    f"{self.__name__}() takes from {self.nin} to {self.nargs} "
                    f"positional arguments but {len(operands)} were given"
                )
            operands = operands[: self.nin]
        elif len(operands) < self.nin:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional "
                f"arguments but {len(operands)} were given"
            )
        out = keywords.get("out", ...)
        if (
            out is ...
            or out is None
            or (type(out) is tuple and all(target is None for target in out))
        ):
            keywords.pop("out", None)
        for x in operands:
            if type(x) is not DeviceArray and _is_foreign(x):
                return self._by_numpy(operands, keywords)
        return self._run(operands, keywords)

    def _run(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        assert self.op is not None
        return calls.elementwise(DeviceArray, self.op, operands, **keywords)

    def _by_numpy(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Operands with rules of their own: masked arrays, data frames ..."""
        if any(is_foreign(x) for x in operands):
            return on_host(DeviceArray, self.numpy, *operands, **keywords)
        return self.numpy(*operands, **keywords)

    # ------------------------------------------------------------------------ methods
    def reduce(
        self,
        array: Any,
        /,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _missing,
        where: Any = True,
    ) -> Any:
        """Combine the elements along axes, as `numpy.ufunc.reduce`."""
        if type(out) is tuple:
            (out,) = out
        mask = _missing if where is True else where
        op = _REDUCTIONS.get(self.numpy)
        x = array if _is_foreign(array) else as_array(array)
        if op is not None and type(x) is DeviceArray and x.dtype.kind in "biufcmMO":
            return reductions.reduction(
                x,
                op,
                self.numpy.reduce,
                plain(axis),
                keepdims,
                out,
                dtype,
                initial=initial,
                where=mask,
            )
        given = {"initial": initial, "where": mask}
        options = {k: v for k, v in given.items() if v is not _missing}
        if not options and dtype is None and self.numpy in FOLDABLE and _is_placed(x):
            found = folded(self, self.numpy, x, plain(axis), keepdims)
            return stored_in(out, found)
        return call_numpy(
            DeviceArray, self.numpy.reduce, array, axis, dtype, out, keepdims, **options
        )

    def accumulate(
        self, array: Any, /, axis: int = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Partial results along an axis, as `numpy.ufunc.accumulate`."""
        op = _SCANS.get(self.numpy)
        if op is not None and out is None and not _is_foreign(array):
            x = as_array(array)
            return calls.library(DeviceArray, op, (x,), axis=plain(axis), dtype=dtype)
        return call_numpy(DeviceArray, self.numpy.accumulate, array, axis, dtype, out)

    def outer(self, A: Any, B: Any, /, **keywords: Any) -> Any:
        """The function of every pair of elements, as `numpy.ufunc.outer`."""
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        if self.signature is not None or _is_foreign(A) or _is_foreign(B):
            return call_numpy(DeviceArray, self.numpy.outer, A, B, **keywords)
        x, y = as_array(A), as_array(B)
        return self(x.reshape(x.shape + (1,) * y.ndim), y, **keywords)

    def at(self, a: Any, indices: Any, b: Any = _missing, /) -> None:
        """Apply the function in place to picked elements, as `numpy.ufunc.at`."""
        if b is not _missing and self.numpy in (np.add, np.subtract) and _is_placed(a):
            given = b if _is_number(b) else as_array(b)
            if indexing.add_at(a, indices, given, self.numpy is np.subtract):
                return
        rest = () if b is _missing else (b,)
        call_numpy(DeviceArray, self.numpy.at, a, indices, *rest)

    def reduceat(
        self,
        array: Any,
        /,
        indices: Any,
        axis: int = 0,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Reductions over slices, as `numpy.ufunc.reduceat`."""
        return call_numpy(
            DeviceArray, self.numpy.reduceat, array, indices, axis, dtype, out
        )

    def resolve_dtypes(self, dtypes: Any, **keywords: Any) -> Any:
        """The dtypes that the function works in, as `numpy.ufunc.resolve_dtypes`."""
        return self.numpy.resolve_dtypes(dtypes, **keywords)


def _is_number(x: Any) -> bool:
    return type(x) in (int, float, complex) or isinstance(x, np.generic)


def _is_placed(x: Any) -> bool:
    """Whether an operand is on a named device."""
    return type(x) is DeviceArray and x._device.kind not in ("auto", "cpu")


def _is_foreign(x: Any) -> bool:
    """Whether an operand is an array with rules of its own."""
    kind = type(x)
    if kind is np.ndarray or isinstance(x, (DeviceArray, np.generic)):
        return False
    if is_foreign(x):
        return True
    handler = getattr(kind, "__array_ufunc__", _missing)
    return handler is not _missing


def _call_signature(ufunc: np.ufunc) -> Any:
    """What `inspect.signature` shows."""
    from inspect import Parameter, Signature, signature  # only tools ask

    try:
        return signature(ufunc)
    except ValueError:
        pass  # NumPy before 2.4 has none
    names = ["x"] if ufunc.nin == 1 else [f"x{n + 1}" for n in range(ufunc.nin)]
    found = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    found.append(Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=None))
    options: dict[str, Any] = {"where": True}
    if ufunc.signature is not None:
        options = {"axes": _missing, "axis": _missing, "keepdims": False}
    options |= {"casting": "same_kind", "order": "K", "dtype": None, "subok": True}
    for name, default in options.items():
        found.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
    return Signature(found)


def _documentation(ufunc: np.ufunc, summary: str) -> str:
    parameters = _PARAMETERS.get(ufunc.nin, "")
    kind = "array" if ufunc.nout == 1 else f"tuple of {ufunc.nout} arrays"
    return f"""{summary}

Parameters
----------
{parameters}
out : array, or tuple of arrays and None, optional
    Where the result goes.
where : array_like, optional
    Elsewhere, ``out`` keeps what it holds.
**kwargs
    The other options of a ufunc: ``casting``, ``order``, ``dtype``, ``subok`` and
    ``signature``.

Returns
-------
{kind}
    Recorded and fused where it is large.

See Also
--------
numpy.{ufunc.__name__} : the definition, bit for bit on the CPU.
"""


class Contraction(UFunc):
    """A ufunc that sums products over axes: `matmul` and its kin."""

    def __init__(self, function: Any, op: Op, summary: str) -> None:
        # NumPy before 2.2 has no ufunc for some of them.
        super().__init__(
            function if isinstance(function, np.ufunc) else np.matmul, summary
        )
        self.numpy = function
        self.op = op
        self.row = None  # sums of products run at the call
        self.__name__ = self.__qualname__ = op.name

    def _run(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        assert self.op is not None
        if keywords.get("axis", -1) == -1 and keywords.keys() <= {"axis"}:
            return calls.library(DeviceArray, self.op, operands)
        if named_device(operands, {}) is not AUTO:
            out = keywords.pop("out", None)
            if type(out) is tuple:
                (out,) = out
            return call_row(self.op, operands, out, **keywords)
        return on_host(DeviceArray, oracle(self.op), *operands, **keywords)
