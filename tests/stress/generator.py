"""Grows random structures: candidate statements, tried with NumPy on small samples."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field

import numpy as np

from .programs import (
    ARITHMETIC,
    ASTRAY,
    BINARY,
    BITWISE,
    COMPLEX,
    DTYPES,
    MOVEMENTS,
    OPERATORS,
    REAL_FLOATING,
    REDUCTIONS,
    SAMPLE_LENGTHS,
    SLICES,
    TWO_RESULTS,
    UFUNCS,
    UNARY,
    UNDECIDED,
    UNSIGNED,
    WEIGHTS,
    Leaf,
    Step,
    Structure,
    Symbol,
    broadcast,
    sample_of,
    scalar_value,
    scalars_in,
)

__all__ = ["structure"]


@dataclass
class Register:
    """What the generator knows of a register."""

    sample: np.ndarray
    shape: tuple[Symbol, ...]
    family: int  # registers of one family may share memory
    leaf: bool = False

    @property
    def kind(self) -> str:
        return self.sample.dtype.kind


@dataclass
class Generator:
    """Grows one structure."""

    random: random.Random
    registers: list[Register] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    scalar_values: list[object] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    # ---------------------------------------------------------------- ingredients
    def start(self) -> None:
        r = self.random
        rank = r.choices((1, 2, 3, 4), (8, 6, 3, 1))[0]
        self.base: tuple[Symbol, ...] = tuple("abcd"[:rank])
        if rank >= 2 and r.random() < 0.25:
            self.base = (*self.base[:-2], self.base[-1], self.base[-1])
        self.palette = r.choices(DTYPES, WEIGHTS, k=r.choices((1, 2, 3), (5, 4, 2))[0])
        if r.random() < 0.05:
            self.palette.append(r.choice(("longdouble", "clongdouble")))
        for _ in range(r.choices((1, 2, 3, 4), (3, 5, 3, 1))[0]):
            self.new_leaf()

    def new_leaf(self) -> int:
        r = self.random
        dtype = r.choice(self.palette) if r.random() < 0.93 else r.choice(DTYPES)
        shape = self.base
        if self.registers:
            chance = r.random()
            if chance < 0.12:
                shape = tuple(1 if r.random() < 0.5 else n for n in shape)
            elif chance < 0.2:
                shape = shape[r.randrange(len(shape) + 1) :]
        sample = sample_of(dtype, [SAMPLE_LENGTHS[n] for n in shape])
        self.leaves.append(Leaf(dtype, tuple(shape)))
        self.registers.append(
            Register(sample, tuple(shape), len(self.registers), leaf=True)
        )
        return len(self.registers) - 1

    def pick(self) -> int:
        """A register, the recent ones more often."""
        count = len(self.registers)
        if self.random.random() < 0.55:
            return count - 1 - min(int(self.random.expovariate(0.9)), count - 1)
        return self.random.randrange(count)

    def partner(self, *shapes: tuple[Symbol, ...]) -> int | None:
        """A register that broadcasts with these shapes."""
        order = list(range(len(self.registers)))
        self.random.shuffle(order)
        for index in order:
            if broadcast(self.registers[index].shape, *shapes) is not None:
                return index
        return None

    def scalar(self, near: Register | None = None) -> str:
        """A new scalar slot, as text."""
        r = self.random
        if r.random() < 0.7:
            kinds = ["int", "float"] if near is None or near.kind in "fc" else ["int"]
            kind = r.choice(kinds)
            if r.random() < 0.08:
                kind = r.choice(("bool", "int", "float", "complex"))
        else:
            kind = "np." + r.choice(self.palette if r.random() < 0.7 else DTYPES)
        self.scalars.append(kind)
        self.scalar_values.append(scalar_value(kind, r))
        return f"s[{len(self.scalars) - 1}]"

    def operand(
        self, other: int, scalars: float = 0.25
    ) -> tuple[str, list[int]] | None:
        """Something to combine with a register: another one or a scalar."""
        if self.random.random() < scalars:
            return self.scalar(self.registers[other]), []
        index = self.partner(self.registers[other].shape)
        return None if index is None else (f"r[{index}]", [index])

    # ------------------------------------------------------------------ statements
    def add(
        self,
        expression: str,
        uses: list[int],
        shape: tuple[Symbol, ...],
        family: int | None = None,
        results: int = 1,
    ) -> bool:
        """Try ``register = expression``; keep it if NumPy takes it."""
        target = list(range(len(self.registers), len(self.registers) + results))
        value, error = self.attempt(expression)
        if error is not None:
            return self.refuse(expression, uses, error)
        values = value if results > 1 else (value,)
        left = ", ".join(f"r[{t}]" for t in target)
        wrapped = f"w({expression})" if results == 1 else f"map(w, {expression})"
        scalars = scalars_in(expression)
        self.steps.append(
            Step(f"{left} = {wrapped}", tuple(uses), tuple(target), (), scalars)
        )
        for one, item in zip(target, values, strict=True):
            sample = np.asarray(item)
            group = one if family is None else family
            self.registers.append(Register(sample, shape, group))
        return True

    def attempt(self, expression: str):
        samples = [register.sample for register in self.registers]
        space = {"m": np, "np": np, "r": samples, "s": self.scalar_values}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                value = eval(expression, space)
        except Exception as error:
            return None, error
        items = value if isinstance(value, tuple) else (value,)
        if any(np.asarray(v).dtype.kind not in "biufc" for v in items):
            return None, TypeError("object")
        return value, None

    def refuse(self, expression: str, uses: list[int], error: Exception) -> bool:
        """Sometimes keep a statement that NumPy refuses, as one that must raise."""
        if self.random.random() < 0.02 and str(error) != "object":
            text = f"raises(lambda: {expression})"
            self.steps.append(Step(text, tuple(uses), (), (), scalars_in(expression)))
            return True
        return False

    def write(self, text: str, target: int, uses: list[int], trial: str) -> bool:
        """Keep a statement that writes into a register, if NumPy takes it."""
        samples = [register.sample for register in self.registers]
        register = self.registers[target]
        saved = register.sample.copy()
        writeable = register.sample.flags.writeable
        if not writeable:
            return False
        space = {"m": np, "np": np, "r": samples, "s": self.scalar_values}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(trial, space)
        except Exception as error:
            register.sample[...] = saved
            if self.random.random() < 0.02 and not text.startswith("r["):
                text = f"raises(lambda: {text})"
                self.steps.append(Step(text, tuple(uses), (), (), scalars_in(text)))
                return not isinstance(error, SyntaxError)
            return False
        self.steps.append(
            Step(text, tuple({*uses, target}), (), (target,), scalars_in(text))
        )
        self.mark_written(register.family)
        return True

    def mark_written(self, family: int) -> None:
        if family < len(self.leaves) and self.registers[family].leaf:
            leaf = self.leaves[family]
            self.leaves[family] = Leaf(leaf.dtype, leaf.shape, True)

    # ------------------------------------------------------- kinds of instruction
    def elementwise(self) -> bool:
        r = self.random
        x = self.pick()
        register = self.registers[x]
        chance = r.random()
        if chance < 0.3:
            name = r.choice(UNARY)
            if name in ("bitwise_not",) and register.kind in "fc":
                return False
            return self.add(f"m.{name}(r[{x}])", [x], register.shape)
        if chance < 0.36:
            form = r.choice(("-r[{}]", "+r[{}]", "abs(r[{}])", "~r[{}]"))
            return self.add(form.format(x), [x], register.shape)
        found = self.operand(x)
        if found is None:
            return False
        other, uses = found
        shape = register.shape
        if uses:
            shape = broadcast(shape, self.registers[uses[0]].shape)
            assert shape is not None
        pair = [f"r[{x}]", other]
        if r.random() < 0.35:
            pair.reverse()
        if chance < 0.7:
            symbol = r.choice(OPERATORS)
            if symbol == "**" and self.tame(pair, x, uses):
                return False
            return self.add(f"{pair[0]} {symbol} {pair[1]}", [x, *uses], shape)
        if chance < 0.96:
            name = r.choice(BINARY)
            if "power" in name and self.tame(pair, x, uses):
                return False
            if name in UNDECIDED:
                pair = [f"{operand} + 0" for operand in pair]
            text = f"m.{name}({pair[0]}, {pair[1]})"
            return self.add(text, [x, *uses], shape)
        name = r.choice(TWO_RESULTS)
        if UFUNCS[name].nin == 1:
            return self.add(f"m.{name}(r[{x}])", [x], register.shape, results=2)
        text = f"m.{name}({pair[0]}, {pair[1]})"
        if r.random() < 0.3:
            text = f"divmod({pair[0]}, {pair[1]})"
        return self.add(text, [x, *uses], shape, results=2)

    def tame(self, pair: list[str], x: int, uses: list[int]) -> bool:
        """Whether a power would nearly always raise (negative integer exponents)."""
        kinds = [self.registers[i].kind for i in (x, *uses)]
        return all(kind in "bi" for kind in kinds) and self.random.random() < 0.85

    def selection(self) -> bool:
        r = self.random
        x = self.pick()
        register = self.registers[x]
        chance = r.random()
        if chance < 0.4:
            masks = [i for i, one in enumerate(self.registers) if one.kind == "b"]
            c = r.choice(masks) if masks and r.random() < 0.8 else self.pick()
            shape = broadcast(register.shape, self.registers[c].shape)
            if shape is None:
                return False
            y = self.partner(shape)
            other = (
                self.scalar(register) if y is None or r.random() < 0.3 else f"r[{y}]"
            )
            uses = [x, c]
            if other.startswith("r"):
                assert y is not None
                uses.append(y)
                shape = broadcast(shape, self.registers[y].shape)
                assert shape is not None
            pair = [f"r[{x}]", other]
            r.shuffle(pair)
            return self.add(f"m.where(r[{c}], {pair[0]}, {pair[1]})", uses, shape)
        if chance < 0.65:
            low, high = self.scalar(register), self.scalar(register)
            texts = (
                f"m.clip(r[{x}], {low}, {high})",
                f"r[{x}].clip({low}, {high})",
                f"m.clip(r[{x}], None, {high})",
                f"m.clip(r[{x}], {low}, None)",
            )
            return self.add(r.choice(texts), [x], register.shape)
        if chance < 0.9:
            dtype = r.choice(self.palette) if r.random() < 0.4 else r.choice(DTYPES)
            return self.cast(x, dtype)
        if register.kind not in "fciu":
            return False
        digits = r.choice((0, 0, 1, 2, -1))
        texts = (f"m.round(r[{x}], {digits})", f"r[{x}].round({digits})")
        return self.add(r.choice(texts), [x], register.shape)

    def cast(self, x: int, dtype: str) -> bool:
        """``astype``; floating → unsigned in range only: else NumPy is undecided."""
        register = self.registers[x]
        text = f"r[{x}]"
        if dtype in UNSIGNED and register.kind in "fc":
            if register.kind == "c":
                return False
            top = 2.0 ** min(8 * np.dtype(dtype).itemsize, 15)
            text = f"m.where((r[{x}] >= 0.0) & (r[{x}] < {top}), r[{x}], 0.0)"
        return self.add(f"{text}.astype(m.{dtype})", [x], register.shape)

    def movement(self) -> bool:
        r = self.random
        x = self.pick()
        register = self.registers[x]
        rank = len(register.shape)
        family = register.family
        kind = r.choice(MOVEMENTS)
        if kind == "transpose":
            if rank < 2 or r.random() < 0.5:
                return self.add(f"r[{x}].T", [x], register.shape[::-1], family)
            axes = tuple(r.sample(range(rank), rank))
            shape = tuple(register.shape[a] for a in axes)
            texts = (f"r[{x}].transpose({axes})", f"m.transpose(r[{x}], {axes})")
            return self.add(r.choice(texts), [x], shape, family)
        if kind == "slice" and rank:
            index, shape = self.index(register.shape)
            return self.add(f"r[{x}][{index}]", [x], shape, family)
        if kind == "newaxis" and rank < 5:
            axis = r.randrange(rank + 1)
            shape = (*register.shape[:axis], 1, *register.shape[axis:])
            index = ", ".join([":"] * axis + ["None", "..."])
            texts = (f"r[{x}][{index}]", f"m.expand_dims(r[{x}], {axis})")
            return self.add(r.choice(texts), [x], shape, family)
        if kind == "broadcast":
            y = self.pick()
            shape = self.registers[y].shape
            if broadcast(register.shape, shape) != shape:
                return False
            text = f"m.broadcast_to(r[{x}], r[{y}].shape)"
            return self.add(text, [x, y], shape, family)
        if kind == "reshape" and rank:
            product = ("product", *sorted(register.shape, key=repr))
            flat: tuple[Symbol, ...] = register.shape if rank == 1 else (product,)
            texts = (
                (f"r[{x}].reshape(-1)", flat),
                (f"r[{x}].reshape(r[{x}].shape[::-1])", register.shape[::-1]),
                (f"r[{x}].ravel()", flat),
                (f"m.reshape(r[{x}], (-1,), order='F')", flat),
                (f"r[{x}].flatten()", flat),
                (f"m.ravel(r[{x}], order='K')", flat),
            )
            text, shape = r.choice(texts)
            return self.add(text, [x], shape, family)
        if kind == "swap" and rank >= 2:
            a, b = r.sample(range(rank), 2)
            axes = list(register.shape)
            axes[a], axes[b] = axes[b], axes[a]
            return self.add(f"m.swapaxes(r[{x}], {a}, {b})", [x], tuple(axes), family)
        if kind == "part" and register.kind == "c":
            part = r.choice(("real", "imag"))
            return self.add(f"r[{x}].{part}", [x], register.shape, family)
        if kind == "flip" and rank:
            axis = r.randrange(rank)
            return self.add(f"m.flip(r[{x}], {axis})", [x], register.shape, family)
        if kind == "copy":
            texts = (f"r[{x}].copy()", f"m.array(r[{x}])", f"m.copy(r[{x}])")
            return self.add(r.choice(texts), [x], register.shape)
        return False

    def index(self, shape: tuple[Symbol, ...]) -> tuple[str, tuple[Symbol, ...]]:
        """A basic index, as text, and the shape that it leaves."""
        r = self.random
        axis = r.randrange(len(shape))
        parts, left = [], []
        for number, length in enumerate(shape):
            if number == axis or r.random() < 0.2:
                if r.random() < 0.12:
                    parts.append(r.choice(("0", "-1", "1")))
                    continue
                text, name = r.choice(SLICES)
                parts.append(text)
                left.append(length if name == "all" else (name, length))
            else:
                parts.append(":")
                left.append(length)
        return ", ".join([*parts, "..."]), tuple(left)

    def reduction(self) -> bool:
        r = self.random
        x = self.pick()
        register = self.registers[x]
        rank = len(register.shape)
        name = r.choice(REDUCTIONS)
        options, shape = "", ()
        if rank and r.random() < 0.6:
            count = 1 if name.startswith("arg") else r.randint(1, rank)
            axes = sorted(r.sample(range(rank), count))
            axis = str(axes[0]) if count == 1 else str(tuple(axes))
            keep = r.random() < 0.4
            options = f"axis={axis}" + (", keepdims=True" if keep else "")
            shape = tuple(
                1 if a in axes else n
                for a, n in enumerate(register.shape)
                if keep or a not in axes
            )
        if name in ("sum", "prod", "mean") and r.random() < 0.1:
            dtype = r.choice(REAL_FLOATING + COMPLEX)
            options += (", " if options else "") + f"dtype=m.{dtype}"
        if name in ("sum", "min", "max") and r.random() < 0.08:
            options += (", " if options else "") + f"initial={self.scalar(register)}"
        method = f"r[{x}].{name}({options})"
        function = f"m.{name}(r[{x}]{', ' if options else ''}{options})"
        return self.add(r.choice((method, function)), [x], shape)

    def in_place(self) -> bool:
        r = self.random
        t = self.pick()
        target = self.registers[t]
        found = self.operand(t)
        if found is None:
            return False
        other, uses = found
        if (
            uses
            and broadcast(target.shape, self.registers[uses[0]].shape) != target.shape
        ):
            return False
        symbol = r.choice(ARITHMETIC[:4] * 3 + ARITHMETIC + BITWISE)
        if symbol == "**" and self.tame([], t, uses):
            return False
        chance = r.random()
        if chance < 0.25 and target.shape:
            index, shape = self.index(target.shape)
            if uses and broadcast(shape, self.registers[uses[0]].shape) != shape:
                return False
            text = f"r[{t}][{index}] {symbol}= {other}"
        elif chance < 0.45 and self.expression(target.shape) is not None:
            right, uses = self.expression(target.shape) or ("", [])
            text = f"r[{t}] {symbol}= {right}" if right else ""
            if not text or symbol == "**":
                return False
        else:
            text = f"r[{t}] {symbol}= {other}"
        return self.write(text, t, uses, text)

    def expression(self, shape: tuple[Symbol, ...]) -> tuple[str, list[int]] | None:
        """A small right-hand side with temporaries of its own."""
        x = self.partner(shape)
        if x is None or broadcast(shape, self.registers[x].shape) != shape:
            return None
        y = self.partner(shape)
        if y is None or broadcast(shape, self.registers[y].shape) != shape:
            return None
        form = self.random.choice(
            ("r[{0}] * r[{1}]", "r[{0}] + r[{1}] * 2", "m.minimum(r[{0}], r[{1}])")
        )
        return f"({form.format(x, y)})", [x, y]

    def assignment(self) -> bool:
        r = self.random
        t = self.pick()
        target = self.registers[t]
        index, shape = "...", target.shape
        if target.shape and r.random() < 0.8:
            index, shape = self.index(target.shape)
        found = self.operand(t, 0.3)
        if found is None:
            return False
        other, uses = found
        if uses:
            value = self.registers[uses[0]]
            if broadcast(shape, value.shape) != shape:
                return False
            if target.kind == "u" and value.kind in "fc":
                return False
        elif target.kind == "u":
            other = str(r.randrange(100))
        if target.kind == "b" and not uses:
            other = r.choice(("True", "False"))
        text = f"r[{t}][{index}] = {other}"
        return self.write(text, t, uses, text)

    def into(self) -> bool:
        """A ufunc with ``out=``, sometimes with ``where=``."""
        r = self.random
        t = self.pick()
        target = self.registers[t]
        x = self.partner(target.shape)
        if (
            x is None
            or broadcast(self.registers[x].shape, target.shape) != target.shape
        ):
            return False
        options = f"out=r[{t}]"
        uses = [x]
        masks = [
            i
            for i, one in enumerate(self.registers)
            if one.kind == "b" and broadcast(one.shape, target.shape) == target.shape
        ]
        if masks and r.random() < 0.5:
            mask = r.choice(masks)
            options += f", where=r[{mask}]"
            uses.append(mask)
        elif r.random() < 0.1:
            options += ", casting='same_kind'"
        if r.random() < 0.4:
            name = r.choice(UNARY)
            if name in ASTRAY:
                return False
            text = f"m.{name}(r[{x}], {options})"
        else:
            name = r.choice(BINARY)
            if "power" in name or name in UNDECIDED:
                return False
            found = self.operand(x)
            if found is None:
                return False
            other, more = found
            if more:
                shape = broadcast(target.shape, self.registers[more[0]].shape)
                if shape != target.shape:
                    return False
            uses += more
            text = f"m.{name}(r[{x}], {other}, {options})"
        return self.write(text, t, uses, text)

    def breaker(self) -> bool:
        """Something that does not fuse, or that hands the value to NumPy."""
        r = self.random
        x = self.pick()
        register = self.registers[x]
        rank = len(register.shape)
        chance = r.random()
        if chance < 0.3 and rank:
            flat: tuple[Symbol, ...] = register.shape
            axis = r.randrange(rank)
            text = r.choice(("m.cumsum(r[{}], axis={})", "m.sort(r[{}], axis={})"))
            return self.add(text.format(x, axis), [x], flat)
        if chance < 0.5 and rank:
            shape = (2, *register.shape[1:])
            return self.add(f"r[{x}][[0, -1]]", [x], shape)
        if chance < 0.75:
            # The exported array is NumPy's; it shares memory with the register.
            text = f"np.asarray(r[{x}])[...] = 1"
            return self.write(text, x, [x], text)
        if chance < 0.9 and register.sample.ndim:
            text = f"r[{x}].fill(2)"
            return self.write(text, x, [x], text)
        text = f"r[{x}] + np.asarray(r[{x}])"
        return self.add(text, [x], register.shape)

    # ----------------------------------------------------------------------- grow
    def grow(self) -> Structure:
        r = self.random
        self.start()
        want = 2 + min(int(r.expovariate(0.22)), 14)
        makers = (
            self.elementwise,
            self.selection,
            self.movement,
            self.reduction,
            self.in_place,
            self.assignment,
            self.into,
            self.breaker,
        )
        # Most structures are mostly pure; some are full of writes.
        weights = (60, 12, 14, 3, 3, 2, 2, 0.5)
        if r.random() < 0.3:
            weights = (40, 10, 20, 6, 14, 8, 6, 3)
        tries = 0
        while len(self.steps) < want and tries < 60:
            tries += 1
            if r.random() < 0.04 and len(self.leaves) < 6 and not self.steps:
                self.new_leaf()
            r.choices(makers, weights)[0]()
        if r.random() < 0.22:
            self.reduction()
        return self.finish()

    def finish(self) -> Structure:
        """Choose the results and drop every other register after its last use."""
        r = self.random
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for index in (*step.uses, *step.defines):
                last[index] = number
        used = {index for step in self.steps for index in step.uses}
        results = []
        drops: dict[int, list[int]] = {}
        for index in range(len(self.registers)):
            if self.registers[index].leaf:
                if self.leaves[index].written:
                    results.append(index)
                continue
            if index not in used or r.random() < 0.12:
                results.append(index)
            else:
                drops.setdefault(last[index], []).append(index)
        steps: list[Step] = []
        for number, step in enumerate(self.steps):
            steps.append(step)
            for index in drops.get(number, ()):
                steps.append(Step(f"r[{index}] = None", (index,)))
        return Structure(
            "".join(sorted(set(map(str, self.base)))),
            tuple(self.leaves),
            tuple(self.scalars),
            tuple(steps),
            tuple(results),
            r.random() < 0.3,
            frozenset(register.shape for register in self.registers),
        )


def structure(seed: object) -> Structure:
    """The structure that belongs to a seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Generator(random.Random(str(seed))).grow()
