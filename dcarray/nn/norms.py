"""What all normalisations do: means over some axes, and what goes back through them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..api.conversion import as_array
from ..api.elementwise import sqrt
from .composing import accumulator, floating, narrowed, total
from .windows import needs

__all__ = ["Norm", "wide"]


def wide(name: str, x: Any) -> Any:
    """An operand in the dtype in which sums are made."""
    x = floating(name, x)
    return x.astype(accumulator(x))


@dataclass(frozen=True, slots=True)
class Norm:
    """A normalisation of one array.

    Attributes
    ----------
    name : str
        The public function, for messages.
    given : DeviceArray
        The operand, which decides on dtype and shape.
    x : DeviceArray
        The same as it is computed with, perhaps with another shape.
    axes : tuple of int
        Axes over which means are made.
    kept : tuple of int
        The shape of weight and bias against x.
    parameters : tuple of int
        The shape that the caller gives them.
    """

    name: str
    given: Any
    x: Any
    axes: tuple[int, ...]
    kept: tuple[int, ...]
    parameters: tuple[int, ...]

    def parameter(self, what: str, value: Any, default: float) -> Any:
        """Weight or bias, shaped to meet x."""
        if value is None:
            return default
        array = as_array(value)
        needs(
            array.shape == self.parameters,
            f"{self.name}: {what} has shape {tuple(array.shape)}, takes "
            f"{self.parameters}",
        )
        return wide(self.name, array).reshape(self.kept)

    def count(self) -> int:
        """Elements of a mean."""
        lengths: list[int] = [self.x.shape[axis] for axis in self.axes]
        return max(1, math.prod(lengths))

    def mean(self, x: Any) -> Any:
        return x.sum(self.axes, keepdims=True) / self.count()

    def centred(self, epsilon: float) -> tuple[Any, Any]:
        """Normalised numbers, and what they were multiplied by."""
        apart = self.x - self.mean(self.x)
        factor = 1.0 / sqrt(self.mean(apart * apart) + epsilon)
        return apart * factor, factor

    def scaled(self, normal: Any, weight: Any, bias: Any) -> Any:
        """The result."""
        if weight is not None:
            normal = normal * self.parameter("weight", weight, 1.0)
        if bias is not None:
            normal = normal + self.parameter("bias", bias, 0.0)
        return narrowed(normal, self.given).reshape(self.given.shape)

    def gradient_of(self, gradient: Any) -> Any:
        """The gradient in the result, shaped as x."""
        array = as_array(gradient)
        needs(
            array.shape == self.given.shape,
            f"{self.name}: a gradient of shape {tuple(array.shape)}, takes "
            f"{tuple(self.given.shape)}",
        )
        return wide(self.name, array.reshape(self.x.shape))

    def back(
        self, g: Any, weight: Any, normal: Any, factor: Any, centred: bool = True
    ) -> Any:
        """The gradient in x where the means come from x itself."""
        g = g * self.parameter("weight", weight, 1.0)
        rest = g - normal * self.mean(g * normal)
        if centred:
            rest = rest - self.mean(g)
        return narrowed(rest * factor, self.given).reshape(self.given.shape)

    def of_parameters(self, x: Any) -> Any:
        """The gradient in weight or bias: sums over what they were repeated along."""
        axes = tuple([k for k, n in enumerate(self.kept) if n == 1])
        found = total(x, axes) if axes else x
        return narrowed(found.reshape(self.parameters), self.given)
