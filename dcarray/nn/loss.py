"""Cross entropy of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.conversion import as_array, convert
from ..api.coverage import native
from ..api.elementwise import exp
from ..api.indexing import take, take_along_axis, where
from .composing import floating, narrowed, total
from .softmax import log_softmax
from .windows import needs

__all__ = ["cross_entropy", "cross_entropy_gradient"]


class _Classes:
    """What the target says: for each example the weight of each class."""

    def __init__(
        self,
        name: str,
        x: Any,
        target: Any,
        weight: Any,
        ignore_index: int,
        reduction: str,
        label_smoothing: float,
    ) -> None:
        self.name = name
        self.given = as_array(x)
        needs(self.given.ndim >= 1, f"{name}: got a number, takes an array")
        self.x = floating(name, self.given)
        self.axis = 1 if self.given.ndim > 1 else 0
        self.count = self.given.shape[self.axis]
        needs(
            reduction in ("mean", "sum", "none"),
            f"{name}: reduction is {reduction!r}, takes 'mean', 'sum' or 'none'",
        )
        needs(
            0 <= label_smoothing <= 1,
            f"{name}: label_smoothing is {label_smoothing}, takes 0 to 1",
        )
        self.reduction = reduction
        self.smoothing = label_smoothing
        self.weight = self._weight(weight)
        self.target = as_array(target)
        self.by_index = self.target.dtype.kind in "iu"
        if self.by_index:
            self._check_indices(ignore_index)
        else:
            needs(
                self.target.shape == self.given.shape,
                f"{name}: probabilities of shape {tuple(self.target.shape)}, takes "
                f"{tuple(self.given.shape)}, or integers for classes",
            )

    def _weight(self, weight: Any) -> Any:
        if weight is None:
            return None
        array = floating(self.name, as_array(weight)).astype(self.x.dtype)
        needs(
            array.shape == (self.count,),
            f"{self.name}: weight has shape {tuple(array.shape)}, takes "
            f"({self.count},)",
        )
        return array

    def _check_indices(self, ignore_index: int) -> None:
        shape = self.given.shape
        wanted = (*shape[: self.axis], *shape[self.axis + 1 :])
        needs(
            self.target.shape == wanted,
            f"{self.name}: classes of shape {tuple(self.target.shape)}, takes {wanted}",
        )
        self.valid = self.target != ignore_index
        self.index = where(self.valid, self.target, 0).astype(np.int64)
        outside = (self.index < 0) | (self.index >= self.count)
        if bool(outside.any()):
            raise IndexError(
                f"{self.name}: a class outside of 0 to {self.count - 1} that is not "
                f"ignore_index ({ignore_index})"
            )

    def _along(self, x: Any) -> Any:
        """Numbers for each class, against the array."""
        ones = (1,) * (self.given.ndim - self.axis - 1)
        return x.reshape(-1, *ones)

    def chosen_weight(self) -> Any:
        """The weight of each example's class; 0 of those to be ignored."""
        if self.weight is None:
            return self.valid.astype(self.x.dtype)
        # Without an axis, `take` gives the shape of the indices.
        return where(self.valid, take(self.weight, self.index), 0.0)

    def shares(self) -> Any:
        """What each logarithm of a probability counts, with the sign turned."""
        even = self.smoothing / self.count
        if not self.by_index:
            found = self.target.astype(self.x.dtype) * (1.0 - self.smoothing) + even
            return found if self.weight is None else found * self._along(self.weight)
        places = convert(np.arange(self.count), device=self.given._device)
        chosen = self._along(places) == self._expanded(self.index)
        whole = chosen.astype(self.x.dtype) * (1.0 - self.smoothing) + even
        if self.weight is not None:
            whole = whole * self._along(self.weight)
        return where(self._expanded(self.valid), whole, 0.0)

    def _expanded(self, x: Any) -> Any:
        shape = self.given.shape
        return x.reshape(*shape[: self.axis], 1, *shape[self.axis + 1 :])

    def losses(self) -> Any:
        """The loss of each example."""
        logs = log_softmax(self.x, self.axis)
        if not self.by_index or self.smoothing:
            return -total(self.shares() * logs, self.axis, keepdims=False)
        picked = take_along_axis(logs, self._expanded(self.index), self.axis)
        return -picked.reshape(self.target.shape) * self.chosen_weight()

    def divisor(self) -> Any:
        """What a mean is divided by."""
        if self.by_index:
            return total(self.chosen_weight(), None, keepdims=False)
        return max(1, self.given.size // max(1, self.count))


@native
def cross_entropy(
    x: Any,
    target: Any,
    /,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The negative logarithm of the probability that `softmax` gives the right class.

    Parameters
    ----------
    x : array_like
        (batch, classes, \\*positions), or (classes,).
    target : array_like
        Integers, the right classes: the shape of x without its axis of classes.  Or
        probabilities, of the shape of x.
    weight : array_like, optional
        What each class counts.
    ignore_index : int
        A target of this value does not count.
    reduction : {"mean", "sum", "none"}
        "mean" divides the sum by the weights of the targets (of probabilities, by their
        number); without any target that counts it is NaN.
    label_smoothing : float
        The part of the probability that goes to all classes alike.

    Raises
    ------
    ValueError
        Shapes that do not fit, unknown words.
    IndexError
        A target that is no class.
    """
    classes = _Classes(
        "cross_entropy", x, target, weight, ignore_index, reduction, label_smoothing
    )
    losses = classes.losses()
    if reduction == "none":
        return narrowed(losses, classes.given)
    whole = total(losses, None, keepdims=False)
    if reduction == "mean":
        whole = whole / classes.divisor()
    return narrowed(whole, classes.given)


@native
def cross_entropy_gradient(
    gradient: Any,
    x: Any,
    target: Any,
    /,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The gradient of `cross_entropy` in x.

    Parameters
    ----------
    gradient : array_like
        The gradient in the result: a number, or with ``reduction="none"`` one for each
        target.
    x, target, weight, ignore_index, reduction, label_smoothing
        As they were given to `cross_entropy`.
    """
    name = "cross_entropy_gradient"
    classes = _Classes(
        name, x, target, weight, ignore_index, reduction, label_smoothing
    )
    g = floating(name, as_array(gradient))
    if reduction == "none":
        shape = classes.given.shape
        wanted = (*shape[: classes.axis], *shape[classes.axis + 1 :])
        needs(
            g.shape == wanted,
            f"{name}: a gradient of shape {tuple(g.shape)}, takes {wanted}",
        )
        g = classes._expanded(g)
    else:
        needs(
            g.size == 1,
            f"{name}: a gradient of shape {tuple(g.shape)}, takes one number",
        )
        g = g.reshape(())
        if reduction == "mean":
            g = g / classes.divisor()
    shares = classes.shares()
    whole = total(shares, classes.axis).astype(shares.dtype)
    probabilities = exp(log_softmax(classes.x, classes.axis))
    return narrowed((probabilities * whole - shares) * g, classes.given)
