"""Kernels of all dtypes → kernels that the renderers of the C family spell.

What is left are bool, integers, float32 and float64, and float16 in arrays alone.
"""

from __future__ import annotations

from . import nodes
from .complex_lowering import lower_complex
from .formats import is_narrow
from .lowering import involves
from .narrow import lower_narrow
from .rewrite import eliminate_dead, simplify
from .verify import verify

__all__ = ["lower", "lower_complex", "lower_narrow"]


def lower(kernel: nodes.Kernel) -> nodes.Kernel:
    """A kernel over the dtypes that every device has.

    * A complex parameter becomes two scalars, an array of complex numbers one of their
      parts, a complex result two.
    * A float16 parameter or result becomes a float32.  Arrays of float16 stay: a load
      is inside of a cast to float32, a cast to float16 inside of a store.
    * The same for bfloat16 and the dtypes with 8 bits of ml_dtypes, but that their
      arrays become arrays of their bits.

    Raises
    ------
    UnsupportedError
        An atomic operation on a dtype that no device changes in one step.
    """
    real = simplify(lower_complex(kernel))
    if not involves(kernel, is_narrow):
        return real
    # Neither shared nor folded again: that would part elements from their casts.
    return verify(eliminate_dead(lower_narrow(real)))
