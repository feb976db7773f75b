"""`CounterGenerator`: random numbers of a counter, made where they are wanted."""

from __future__ import annotations

import copy
import math
import operator
from typing import Any

import numpy as np

from ..api.conversion import as_array, chosen_device, default_dtype
from ..api.creation import full
from ..array import DeviceArray
from ..array.methods import plain
from ..array.state import check_dtype
from ..backends.registry import Device
from .pages import Pages

__all__ = ["CounterGenerator"]

DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)
WORD = 1 << 64
JUMP = 1 << 64
"""Blocks between a generator and the next one that is `jumped`."""


class CounterGenerator:
    """Random numbers of a counter, Philox 4x32 with 10 rounds (Salmon et al. 2011).

    A number follows from the key and its place in the stream alone: not from the
    device, the threads, or how many are drawn at a time.  Nothing is refused, so every
    call takes as many places as it gives numbers.

    Parameters
    ----------
    seed : None, int, array_like or SeedSequence
        As `numpy.random.SeedSequence` takes it; None for one that differs each time.
    key : int, optional
        64 bits; in place of a seed.
    counter : int, optional
        The number of the first block, of 128 bits; 0 with a key, otherwise 2**64 times
        a number from the seed.
    device : str or Device, optional
        Where arrays are made; the default device of each call, if it is None.

    Notes
    -----
    Floats and integers below bounds that are powers of two are made of 32 or 64 bits,
    normal numbers by Box and Muller (1958) of pairs of such words, other integers of 64
    bits, or 128 for more than 2**32 of them, so that none is more likely than another
    by more than 2**-32 of its share.  Numbers that take another count of bits than
    those drawn before begin at the next page of 32 blocks.

    Examples
    --------
    >>> import dcarray as dc
    >>> rng = dc.random.CounterGenerator(5)
    >>> rng.integers(0, 100, 4)
    array([70, 83, 65, 20])
    """

    def __init__(
        self,
        seed: Any = None,
        *,
        key: int | None = None,
        counter: int | None = None,
        device: str | Device | None = None,
    ) -> None:
        self._sequence: Any = None
        upper = 0
        if key is None:
            seed = plain(seed)
            is_sequence = isinstance(seed, np.random.SeedSequence)
            self._sequence = seed if is_sequence else np.random.SeedSequence(seed)
            key, upper = (int(x) for x in self._sequence.generate_state(2, np.uint64))
        elif seed is not None:
            raise ValueError("CounterGenerator: takes a seed or a key, not both")
        first = upper << 64 if counter is None else counter
        self._pages = Pages(key, first)
        self._device = None if device is None else str(chosen_device(device))

    def __repr__(self) -> str:
        key, counter = self._pages.key, self._pages.counter
        where = "" if self._device is None else f", device={self._device!r}"
        return f"CounterGenerator(key=0x{key:x}, counter=0x{counter:x}{where})"

    @property
    def device(self) -> Device:
        """Where arrays are made."""
        return chosen_device(self._device)

    @property
    def state(self) -> dict[str, int]:
        """Where the stream stands: the key, the counter of the page, and how many of
        its numbers, of so many bits, have been taken."""
        return self._pages.__getstate__()

    @state.setter
    def state(self, state: dict[str, int]) -> None:
        self._pages = Pages(**state)

    def jumped(self, jumps: int = 1) -> CounterGenerator:
        """A generator that is 2**64 blocks further, for each jump."""
        found = copy.copy(self)
        found._pages = self._pages.moved(operator.index(jumps) * JUMP)
        return found

    def spawn(self, n_children: int) -> list[CounterGenerator]:
        """Generators with keys of their own, as `numpy.random.Generator.spawn`.

        Raises
        ------
        TypeError
            This one was made of a key, and not of a seed.
        """
        if self._sequence is None:
            raise TypeError("CounterGenerator.spawn: it was made of a key, not a seed")
        return [
            CounterGenerator(child, device=self._device)
            for child in self._sequence.spawn(n_children)
        ]

    def __copy__(self) -> CounterGenerator:
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, _pages=self._pages.moved(0))
        return found

    # --------------------------------------------------------------------------- floats
    def random(
        self,
        size: Any = None,
        dtype: Any = None,
        out: Any = None,
        *,
        device: str | Device | None = None,
    ) -> Any:
        """Numbers from 0 to 1, without 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            The shape; a single number without it.
        dtype : dtype, optional
            float64 or float32; the default one of the device.
        out : DeviceArray, optional
            Where the numbers go.
        device : str or Device, optional
            Where they are made; see the class.
        """
        return self._floats("random", "uniform", 0.0, 1.0, size, dtype, out, device)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = None,
        out: Any = None,
        device: str | Device | None = None,
    ) -> Any:
        """Numbers from ``low`` to ``high``, which are numbers or arrays; see `random`.

        Raises
        ------
        OverflowError
            The range is no finite number.
        ValueError
            ``high`` is below ``low``.
        """
        low, high = _parameter(low), _parameter(high)
        width = high - low
        if _is_number(width):
            if not math.isfinite(width):
                raise OverflowError("high - low range exceeds valid bounds")
            if width < 0:
                raise ValueError("high - low < 0")
        given = (low, width, size, dtype, out, device)
        return self._floats("uniform", "uniform", *given)

    def standard_normal(
        self,
        size: Any = None,
        dtype: Any = None,
        out: Any = None,
        *,
        device: str | Device | None = None,
    ) -> Any:
        """Normal numbers; see `random`."""
        given = (0.0, 1.0, size, dtype, out, device)
        return self._floats("standard_normal", "normal", *given)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = None,
        out: Any = None,
        device: str | Device | None = None,
    ) -> Any:
        """Normal numbers with a mean and a deviation, numbers or arrays; see `random`.

        Raises
        ------
        ValueError
            A deviation below 0.
        """
        scale = _scale(scale)
        given = (_parameter(loc), scale, size, dtype, out, device)
        return self._floats("normal", "normal", *given)

    def standard_exponential(
        self,
        size: Any = None,
        dtype: Any = None,
        out: Any = None,
        *,
        device: str | Device | None = None,
    ) -> Any:
        """Exponential numbers; see `random`."""
        given = (0.0, 1.0, size, dtype, out, device)
        return self._floats("standard_exponential", "exponential", *given)

    def exponential(
        self,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dtype: Any = None,
        out: Any = None,
        device: str | Device | None = None,
    ) -> Any:
        """Exponential numbers with a mean, a number or an array; see `random`.

        Raises
        ------
        ValueError
            A mean below 0.
        """
        scale = _scale(scale)
        given = (0.0, scale, size, dtype, out, device)
        return self._floats("exponential", "exponential", *given)

    def _floats(
        self,
        name: str,
        kind: str,
        low: Any,
        scale: Any,
        size: Any,
        dtype: Any,
        out: Any,
        device: Any,
    ) -> Any:
        """``low + scale * numbers``."""
        place = self._place(out, device)
        given = [x for x in (low, scale) if not _is_number(x)]
        shapes = [np.shape(x) for x in given]
        if size is None and out is None and not any(shapes):
            return self._single(name, kind, low, scale, dtype)
        wanted = default_dtype(DOUBLE, place) if dtype is None else np.dtype(dtype)
        if dtype is None and out is not None:
            wanted = out.dtype
        if wanted not in (DOUBLE, SINGLE):
            raise TypeError(f"{name}: got {wanted}, makes float64 and float32")
        check_dtype(wanted, place)
        if out is not None:
            shape = _shape_of(name, out, size, wanted)
        else:
            shape = np.broadcast_shapes(*shapes) if size is None else _shape(size)
        if np.broadcast_shapes(shape, *shapes) != shape:
            raise ValueError(f"{name}: parameters of {shapes} do not fit into {shape}")
        number: Any = wanted.type
        plain_numbers = (number(1), number(0))
        if not given:
            plain_numbers = (number(scale), number(low))
        bits = 8 * wanted.itemsize
        make = f"{kind}_{bits}"
        is_direct = out is not None and not given and out.flags.c_contiguous
        if is_direct:
            self._pages.fill(out, make, bits, *plain_numbers)
            return out
        target = self._pages.made(shape, wanted, place, make, bits, *plain_numbers)
        if given:
            target = _cast(low, wanted) + _cast(scale, wanted) * target
        if out is None:
            return target
        out[...] = target
        return out

    def _single(self, name: str, kind: str, low: Any, scale: Any, dtype: Any) -> Any:
        wanted = DOUBLE if dtype is None else dtype
        found = self._floats(name, kind, low, scale, 1, wanted, None, "cpu")
        return found.get()[0]

    # ------------------------------------------------------------------------- integers
    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
        *,
        device: str | Device | None = None,
    ) -> Any:
        """Integers from ``low`` to ``high``, without ``high`` unless ``endpoint`` says
        otherwise; from 0 to ``low`` without ``high``.

        Parameters
        ----------
        low, high : int
        size, device
            See `random`.
        dtype : dtype
            Of integers, or bool.
        endpoint : bool
        """
        ends = [low] if high is None else [low, high]
        if not all([isinstance(end, (int, np.integer)) for end in ends]):
            raise TypeError(f"integers: bounds are integers, got {ends}")
        # NumPy says what is wrong, if anything is.
        sample = np.random.Generator(np.random.PCG64(0))
        wanted = sample.integers(low, high, 1, dtype, endpoint).dtype
        first, last = (0, int(low)) if high is None else (int(low), int(high))
        bound = last - first + bool(endpoint)
        place = chosen_device("cpu") if size is None else self._place(None, device)
        check_dtype(wanted, place)
        shape = (1,) if size is None else _shape(size)
        if bound & (bound - 1) == 0:
            bits = 32 if bound <= 1 << 32 else 64
            # The upper bits of a word; one of no bits would be shifted by all of them.
            shift = min(bits - bound.bit_length() + 1, bits - 1)
            numbers = (shift, first)
            make = f"words_{bits}"
        else:
            bits = 64 if bound <= 1 << 32 else 128
            numbers = (bound, first)
            make = f"bounded_{bits}"
        if bound == 1:
            found = full(shape, first, wanted, device=place)
        else:
            words = [np.uint64(x % WORD) for x in numbers]
            found = self._pages.made(shape, wanted, place, make, bits, *words)
        return found.get()[0] if size is None else found

    # ------------------------------------------------------------------------- a stream
    def _place(self, out: Any, device: Any) -> Device:
        if out is not None:
            if not isinstance(out, DeviceArray):
                got = type(out).__name__
                raise TypeError(f"CounterGenerator: out is an array, got {got}")
            return out._device
        return chosen_device(self._device if device is None else device)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating))


def _parameter(x: Any) -> Any:
    """A number as it is, all else as an array."""
    return x if _is_number(x) else as_array(x)


def _scale(x: Any) -> Any:
    """A scale, none of whose numbers is below 0."""
    scale = _parameter(x)
    if _is_number(scale):
        is_below = bool(np.signbit(scale))
    else:
        is_below = bool((scale < 0).any())
    if is_below:
        raise ValueError("scale < 0")
    return scale


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return dtype.type(x) if _is_number(x) else x.astype(dtype)


def _shape(size: Any) -> tuple[int, ...]:
    try:
        return (operator.index(size),)
    except TypeError:
        return tuple([operator.index(length) for length in size])


def _shape_of(
    name: str, out: DeviceArray, size: Any, dtype: np.dtype[Any]
) -> tuple[int, ...]:
    """The shape of an array that is written to, if it fits."""
    shape: tuple[int, ...] = out.shape
    if out.dtype != dtype:
        raise TypeError(f"{name}: out has {out.dtype}, the numbers are {dtype}")
    if size is not None and _shape(size) != shape:
        raise ValueError("size must match out.shape when used together")
    return shape
