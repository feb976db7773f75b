"""`dc.kernel`: the decorator, and the words of kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from ...kernel import grid as words

if TYPE_CHECKING:
    from .user_kernel import Kernel

__all__ = ["Decorator", "found_by_name", "kernel"]


def found_by_name(module: str | None, name: str) -> Any:
    """What a module holds under a name, as ``pickle`` looks for it; None if nothing."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class Decorator:
    """``@dc.kernel``: makes a kernel of a function.

    The words of the language are its attributes: ``dc.kernel.global_id`` ...; they can
    also be imported from ``dcarray.kernel``.

    Examples
    --------
    >>> import dcarray as dc
    >>> @dc.kernel
    ... def scale(x, y, factor):
    ...     i = dc.kernel.global_id(0)
    ...     y[i] = factor * x[i]
    >>> x = dc.arange(4.0)
    >>> y = dc.empty(4)
    >>> scale(x, y, 2.0)
    >>> y
    array([0., 2., 4., 6.])
    """

    kernel_words = True

    global_id = words.global_id
    local_id = words.local_id
    group_id = words.group_id
    global_size = words.global_size
    local_size = words.local_size
    group_count = words.group_count
    shared = words.shared
    barrier = words.barrier
    atomic_add = words.atomic_add
    atomic_min = words.atomic_min
    atomic_max = words.atomic_max
    atomic_and = words.atomic_and
    atomic_or = words.atomic_or
    atomic_xor = words.atomic_xor
    atomic_exchange = words.atomic_exchange
    atomic_compare_exchange = words.atomic_compare_exchange

    def __repr__(self) -> str:
        return "<dcarray.kernel>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("subgroup_") or name == "lane_id":
            from ...kernel import subgroups  # loads the words of the language

            return getattr(subgroups, name)
        raise AttributeError(f"dcarray.kernel has no {name!r}")

    @overload
    def __call__(self, function: Callable[..., Any], /) -> Kernel: ...

    @overload
    def __call__(
        self, function: None = None, /, *, constants: Sequence[str] = ()
    ) -> Callable[[Callable[..., Any]], Kernel]: ...

    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        constants: Sequence[str] = (),
    ) -> Any:
        """Make a kernel.

        Parameters
        ----------
        function : callable
            A plain ``def`` in the kernel language.
        constants : sequence of str
            Parameters that are known when it is compiled, as keyword-only ones are.

        Raises
        ------
        KernelSyntaxError
            Its source cannot be read.
        """
        from .user_kernel import Kernel  # the language loads with the first kernel

        if function is None:
            return lambda given: Kernel(given, constants)
        return Kernel(function, constants)


kernel = Decorator()
