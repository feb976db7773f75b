"""Data, layouts and sizes for random programs.

Leaves are cut from fixed pools of values, so that a draw costs little.  A leaf is made
as an array in plain order and a list of view operations, which are applied on both
sides: the library's arrays then have the layouts that NumPy's have.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .programs import Leaf, Structure, scalar_value

POOL = 1 << 17

LINE = (
    *(1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33) * 4,
    *(63, 64, 65, 127, 128, 129, 255, 257, 300) * 3,
    *(511, 513, 1000, 1023, 1024, 1025, 2047, 2049),
    *(4095, 4096, 4097, 8191, 8192, 8193, 16383, 16385, 20011),
    0,
)
HUGE = (32_767, 49_151, 49_152, 49_153, 65_537, 100_003, 120_000)
SHORT = (1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17)
LONG = (31, 33, 63, 64, 65, 100, 127, 128, 129, 257, 513, 1025)
FLAVOURS = ("calm",) * 6 + ("positive",) * 3 + ("odd", "odd", "bits")
# Signalling NaNs, which only "bits" has, raise flags in some of NumPy's casts and not
# in others.
FLAVOURS_HEARD = ("calm", "calm", "positive", "odd")


@cache
def pool(dtype: str, flavour: str) -> np.ndarray:
    """Many values of one character."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return make_pool(dtype, flavour)


def make_pool(dtype: str, flavour: str) -> np.ndarray:
    rng = np.random.default_rng([len(flavour), *dtype.encode()])
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(POOL) < 0.5
    if kind in "iu":
        return integers(np.dtype(dtype), flavour, rng)
    if kind == "c":
        part = np.dtype(dtype).type(0).real.dtype.name
        both = np.empty(POOL, dtype)
        both.real = pool(part, flavour)
        both.imag = np.roll(pool(part, flavour), 977)
        return both
    return floats(np.dtype(dtype), flavour, rng)


def integers(dtype: np.dtype, flavour: str, rng: np.random.Generator) -> np.ndarray:
    info = np.iinfo(dtype)
    small = rng.integers(max(info.min, -20), 21, POOL).astype(dtype)
    if flavour == "calm":
        return small
    if flavour == "positive":
        return rng.integers(0, min(info.max, 70), POOL).astype(dtype)
    bits = rng.integers(0, 256, POOL * dtype.itemsize, dtype=np.uint8).view(dtype)
    if flavour == "bits":
        return bits
    extremes = [info.min, info.max, info.max - 1, 0, 1, info.max // 2, info.min + 1]
    odd = rng.choice(np.array(extremes, dtype), POOL)
    return np.where(rng.random(POOL) < 0.3, odd, small)


def floats(dtype: np.dtype, flavour: str, rng: np.random.Generator) -> np.ndarray:
    calm = (rng.standard_normal(POOL) * 3).astype(dtype)
    if flavour == "calm":
        return calm
    if flavour == "positive":
        return (rng.random(POOL) * 4).astype(dtype)
    if flavour == "bits" and dtype.itemsize <= 8:
        raw = rng.integers(0, 256, POOL * dtype.itemsize, dtype=np.uint8)
        return raw.view(dtype)
    info = np.finfo(dtype)
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        np.inf,
        -np.inf,
        np.nan,
        88.8,
        710.0,
    ]
    odd = np.array(values, dtype)
    edges = [
        info.max,
        info.min,
        info.tiny,
        -info.tiny,
        info.smallest_subnormal,
        info.eps,
    ]
    whole = [1.5, 2.5, -2.5, 3.0, -7.0, 1 + info.eps, 255.0, 256.0, -128.0, 32768.0]
    odd = np.concatenate([odd, np.array(edges, dtype), np.array(whole, dtype)])
    return np.where(rng.random(POOL) < 0.25, rng.choice(odd, POOL), calm)


@dataclass(frozen=True)
class Layout:
    """How a leaf of ``shape`` is made: a plain array of ``stored`` and views of it.

    ``views`` holds indices, axis permutations (as lists) and shapes to broadcast to
    (as ``("broadcast", shape)``).
    """

    stored: tuple[int, ...]
    views: tuple[Any, ...] = ()
    name: str = "C"

    def apply(self, array: Any, module: Any) -> Any:
        for view in self.views:
            if isinstance(view, list):
                array = array.transpose(view)
            elif view[0] == "broadcast":
                array = module.broadcast_to(array, view[1])
            else:
                array = array[view]
        return array


def layout_of(shape: tuple[int, ...], name: str, r: random.Random) -> Layout:
    """A layout by name for a shape."""
    rank = len(shape)
    everything = [slice(None)] * rank
    if rank == 0 or name == "C":
        return Layout(shape)
    if name == "F":
        return Layout(shape[::-1], (list(range(rank))[::-1],), name)
    axis = r.randrange(rank)
    if name == "permuted":
        axes = r.sample(range(rank), rank)
        stored = tuple(shape[a] for a in axes)
        back = [axes.index(a) for a in range(rank)]
        return Layout(stored, (back,), name)
    if name == "reversed":
        everything[axis] = slice(None, None, -1)
        return Layout(shape, (tuple(everything),), name)
    if name == "stepped":
        stored = list(shape)
        stored[axis] = 2 * shape[axis]
        everything[axis] = slice(r.randrange(2), None, 2)
        return Layout(tuple(stored), (tuple(everything),), name)
    if name == "back":
        stored = list(shape)
        stored[axis] = 3 * shape[axis]
        everything[axis] = slice(None, None, -3)
        return Layout(tuple(stored), (tuple(everything),), name)
    if name == "cut":
        stored = list(shape)
        stored[axis] = shape[axis] + 3
        everything[axis] = slice(1, 1 + shape[axis])
        return Layout(tuple(stored), (tuple(everything),), name)
    if name == "broadcast":
        stored = list(shape)
        stored[axis] = 1
        return Layout(tuple(stored), (("broadcast", shape),), name)
    assert name == "lifted"
    stored = list(shape)
    if shape[axis] != 1:
        return Layout(shape)
    del stored[axis]
    everything[axis] = None
    return Layout(tuple(stored), (tuple(everything),), name)


NAMES = (
    *("C",) * 12,
    *("F", "permuted", "stepped", "cut") * 2,
    *("reversed", "back", "broadcast", "lifted"),
)


@dataclass(frozen=True)
class Input:
    """One leaf of one draw."""

    leaf: Leaf
    shape: tuple[int, ...]
    layout: Layout
    flavour: str
    offset: int

    def values(self) -> np.ndarray:
        """The stored array, fresh."""
        end = self.offset + product(self.layout.stored)
        source = pool(self.leaf.dtype, self.flavour)
        if end > POOL:
            source = np.resize(source, end)
        return source[self.offset : end].reshape(self.layout.stored)


@dataclass(frozen=True)
class Draw:
    """Data, layouts and sizes for a structure."""

    inputs: tuple[Input, ...]
    scalars: tuple[Any, ...]

    def arrays(self, module: Any) -> list[Any]:
        """The leaves as a module's arrays; the first call is NumPy's."""
        found = []
        for one in self.inputs:
            array = module.array(one.values())
            found.append(one.layout.apply(array, module) if one.layout.views else array)
        return found


def lengths(symbols: str, r: random.Random, limit: int) -> dict[Any, int]:
    """A length for each symbol."""
    chosen: dict[Any, int] = {1: 1}
    many = limit > 1 << 15 and r.random() < 0.4
    if len(symbols) == 1:
        chosen[symbols] = min(r.choice(HUGE if many else LINE), limit)
        return chosen
    for symbol in symbols:
        chosen[symbol] = r.choice(SHORT)
    if r.random() < 0.35:
        chosen[r.choice(symbols)] = r.choice(LONG)
    if many:
        symbol = r.choice(symbols)
        rest = 1
        for other in symbols:
            rest *= chosen[other] if other != symbol else 1
        chosen[symbol] = max(r.choice(HUGE) // rest, 1)
    if r.random() < 0.02:
        chosen[r.choice(symbols)] = 0
    return chosen


def draw(
    structure: Structure,
    seed: object,
    names: tuple[str, ...] | None = None,
    limit: int = 1 << 15,
    heard: bool = False,
) -> Draw:
    """The draw that belongs to a seed.

    ``names`` fixes the layouts of the leaves; ``heard`` is for runs whose warnings are
    compared.
    """
    flavours = FLAVOURS_HEARD if heard else FLAVOURS
    r = random.Random(str(seed))
    sizes = lengths(structure.symbols, r, limit)
    shapes = [leaf.shape for leaf in structure.leaves]
    if any(len(set(shape) - {1}) < len(shape) - shape.count(1) for shape in shapes):
        sizes = {n: min(k, 65) for n, k in sizes.items()}
    while structure.elements(sizes) > limit and max(sizes.values()) > 1:
        sizes = {n: (k + 1) // 2 for n, k in sizes.items()}
    inputs = []
    for number, leaf in enumerate(structure.leaves):
        shape = tuple(sizes[n] for n in leaf.shape)
        name = names[number] if names else r.choice(NAMES)
        if name == "broadcast" and leaf.written:
            name = "stepped"
        layout = layout_of(shape, name, r)
        offset = r.randrange(POOL // 2)
        inputs.append(Input(leaf, shape, layout, r.choice(flavours), offset))
    scalars = tuple(scalar_value(kind, r) for kind in structure.scalars)
    return Draw(tuple(inputs), scalars)


def product(shape: tuple[int, ...]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def layout_names(structure: Structure, seed: object) -> tuple[str, ...]:
    """Layouts for the leaves, one for each."""
    r = random.Random(str(seed))
    if r.random() < 0.3:
        return ("C",) * len(structure.leaves)
    return tuple(r.choice(NAMES) for _ in structure.leaves)
