"""`Generator`: NumPy's, with `DeviceArray`s as arguments and results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.conversion import chosen_device
from ..api.coverage import native
from ..array.methods import plain
from ..backends.registry import Device
from . import devices
from .drawing import drawn, shuffled

__all__ = ["Generator", "default_rng"]

_Numpy = np.random.Generator


class Generator(_Numpy):
    """Random numbers from a bit generator, the same streams as
    `numpy.random.Generator` gives.

    Parameters
    ----------
    bit_generator : BitGenerator
        `PCG64` and its kin.
    device : str or Device, optional
        Where arrays are made; the default device of each call, if it is None.

    Notes
    -----
    On a named device `random`, `uniform`, `integers`, `choice` with replacement,
    `normal`, `lognormal`, `exponential` and the standard forms are drawn by the device
    itself, if the bit generator is `PCG64` or `Philox`: the same numbers, and the same
    state afterwards.
    """

    def __init__(
        self, bit_generator: Any, *, device: str | Device | None = None
    ) -> None:
        super().__init__(bit_generator)
        self._device = None if device is None else str(chosen_device(device))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.bit_generator, self._device)

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return f"Generator({type(self.bit_generator).__name__})"

    @property
    def device(self) -> Device:
        """Where arrays are made."""
        return chosen_device(self._device)

    def spawn(self, n_children: int) -> list[Any]:
        """Generators of streams of their own, as `numpy.random.Generator.spawn`."""
        bits: Any = self.bit_generator
        return [_again(type(self), one, self._device) for one in bits.spawn(n_children)]

    shuffle = shuffled(_Numpy.shuffle)
    beta = drawn(_Numpy.beta)
    binomial = drawn(_Numpy.binomial)
    bytes = drawn(_Numpy.bytes)
    chisquare = drawn(_Numpy.chisquare)
    choice = drawn(_Numpy.choice, devices.choice)
    dirichlet = drawn(_Numpy.dirichlet)
    exponential = drawn(_Numpy.exponential, devices.exponential)
    f = drawn(_Numpy.f)
    gamma = drawn(_Numpy.gamma)
    geometric = drawn(_Numpy.geometric)
    gumbel = drawn(_Numpy.gumbel)
    hypergeometric = drawn(_Numpy.hypergeometric)
    integers = drawn(_Numpy.integers, devices.integers)
    laplace = drawn(_Numpy.laplace)
    logistic = drawn(_Numpy.logistic)
    lognormal = drawn(_Numpy.lognormal, devices.lognormal)
    logseries = drawn(_Numpy.logseries)
    multinomial = drawn(_Numpy.multinomial)
    multivariate_hypergeometric = drawn(_Numpy.multivariate_hypergeometric)
    multivariate_normal = drawn(_Numpy.multivariate_normal)
    negative_binomial = drawn(_Numpy.negative_binomial)
    noncentral_chisquare = drawn(_Numpy.noncentral_chisquare)
    noncentral_f = drawn(_Numpy.noncentral_f)
    normal = drawn(_Numpy.normal, devices.normal)
    pareto = drawn(_Numpy.pareto)
    permutation = drawn(_Numpy.permutation)
    permuted = drawn(_Numpy.permuted)
    poisson = drawn(_Numpy.poisson)
    power = drawn(_Numpy.power)
    random = drawn(_Numpy.random, devices.random)
    rayleigh = drawn(_Numpy.rayleigh)
    standard_cauchy = drawn(_Numpy.standard_cauchy)
    standard_exponential = drawn(
        _Numpy.standard_exponential, devices.standard_exponential
    )
    standard_gamma = drawn(_Numpy.standard_gamma)
    standard_normal = drawn(_Numpy.standard_normal, devices.standard_normal)
    standard_t = drawn(_Numpy.standard_t)
    triangular = drawn(_Numpy.triangular)
    uniform = drawn(_Numpy.uniform, devices.uniform)
    vonmises = drawn(_Numpy.vonmises)
    wald = drawn(_Numpy.wald)
    weibull = drawn(_Numpy.weibull)
    zipf = drawn(_Numpy.zipf)


def _again(kind: Any, bit_generator: Any, device: str | None) -> Any:
    """A generator as it was when it was copied."""
    return kind(bit_generator, device=device)


@native
def default_rng(seed: Any = None, *, device: str | Device | None = None) -> Generator:
    """A generator on the default bit generator, as `numpy.random.default_rng`.

    Parameters
    ----------
    seed : None, int, array_like, SeedSequence, BitGenerator, Generator or RandomState
        A `Generator` is given back as it is, unless a device is named.
    device : str or Device, optional
        Where its arrays are made, see `Generator`.
    """
    found = np.random.default_rng(plain(seed))
    if isinstance(found, Generator) and device is None:
        return found
    return Generator(found.bit_generator, device=device)
