"""NumPy's older interface: `RandomState`, and functions that share one.

The functions draw from NumPy's own global state, so that a program and the libraries
that it uses continue one stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.coverage import native
from ..array.methods import plain
from .drawing import drawn, drawn_globally, shuffled, shuffled_globally

__all__ = [
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

_Numpy = np.random.RandomState


class RandomState(_Numpy):
    """Random numbers as `numpy.random.RandomState` gives them.

    Parameters
    ----------
    seed : None, int, array_like, SeedSequence or BitGenerator
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(plain(seed))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._bit_generator,), self.get_state(legacy=False)

    def seed(self, seed: Any = None) -> None:
        """Begin anew, as `numpy.random.RandomState.seed`."""
        super().seed(plain(seed))

    def set_state(self, state: Any) -> None:
        """Continue from a state that `get_state` gave."""
        super().set_state(plain(state))

    shuffle = shuffled(_Numpy.shuffle)
    beta = drawn(_Numpy.beta)
    binomial = drawn(_Numpy.binomial)
    chisquare = drawn(_Numpy.chisquare)
    choice = drawn(_Numpy.choice)
    dirichlet = drawn(_Numpy.dirichlet)
    exponential = drawn(_Numpy.exponential)
    f = drawn(_Numpy.f)
    gamma = drawn(_Numpy.gamma)
    geometric = drawn(_Numpy.geometric)
    gumbel = drawn(_Numpy.gumbel)
    hypergeometric = drawn(_Numpy.hypergeometric)
    laplace = drawn(_Numpy.laplace)
    logistic = drawn(_Numpy.logistic)
    lognormal = drawn(_Numpy.lognormal)
    logseries = drawn(_Numpy.logseries)
    multinomial = drawn(_Numpy.multinomial)
    multivariate_normal = drawn(_Numpy.multivariate_normal)
    negative_binomial = drawn(_Numpy.negative_binomial)
    noncentral_chisquare = drawn(_Numpy.noncentral_chisquare)
    noncentral_f = drawn(_Numpy.noncentral_f)
    normal = drawn(_Numpy.normal)
    pareto = drawn(_Numpy.pareto)
    permutation = drawn(_Numpy.permutation)
    poisson = drawn(_Numpy.poisson)
    power = drawn(_Numpy.power)
    rand = drawn(_Numpy.rand)
    randint = drawn(_Numpy.randint)
    randn = drawn(_Numpy.randn)
    random = drawn(_Numpy.random)
    random_integers = drawn(_Numpy.random_integers)
    random_sample = drawn(_Numpy.random_sample)
    rayleigh = drawn(_Numpy.rayleigh)
    standard_cauchy = drawn(_Numpy.standard_cauchy)
    standard_exponential = drawn(_Numpy.standard_exponential)
    standard_gamma = drawn(_Numpy.standard_gamma)
    standard_normal = drawn(_Numpy.standard_normal)
    standard_t = drawn(_Numpy.standard_t)
    tomaxint = drawn(_Numpy.tomaxint)
    triangular = drawn(_Numpy.triangular)
    uniform = drawn(_Numpy.uniform)
    vonmises = drawn(_Numpy.vonmises)
    wald = drawn(_Numpy.wald)
    weibull = drawn(_Numpy.weibull)
    zipf = drawn(_Numpy.zipf)


@native
def seed(seed: Any = None) -> None:
    """Begin the global stream anew, as `numpy.random.seed`."""
    np.random.seed(plain(seed))


@native
def set_state(state: Any) -> None:
    """Continue the global stream from a state that `get_state` gave."""
    np.random.set_state(plain(state))


bytes = np.random.bytes
get_state = np.random.get_state
shuffle = shuffled_globally(np.random.shuffle)
beta = drawn_globally(np.random.beta)
binomial = drawn_globally(np.random.binomial)
chisquare = drawn_globally(np.random.chisquare)
choice = drawn_globally(np.random.choice)
dirichlet = drawn_globally(np.random.dirichlet)
exponential = drawn_globally(np.random.exponential)
f = drawn_globally(np.random.f)
gamma = drawn_globally(np.random.gamma)
geometric = drawn_globally(np.random.geometric)
gumbel = drawn_globally(np.random.gumbel)
hypergeometric = drawn_globally(np.random.hypergeometric)
laplace = drawn_globally(np.random.laplace)
logistic = drawn_globally(np.random.logistic)
lognormal = drawn_globally(np.random.lognormal)
logseries = drawn_globally(np.random.logseries)
multinomial = drawn_globally(np.random.multinomial)
multivariate_normal = drawn_globally(np.random.multivariate_normal)
negative_binomial = drawn_globally(np.random.negative_binomial)
noncentral_chisquare = drawn_globally(np.random.noncentral_chisquare)
noncentral_f = drawn_globally(np.random.noncentral_f)
normal = drawn_globally(np.random.normal)
pareto = drawn_globally(np.random.pareto)
permutation = drawn_globally(np.random.permutation)
poisson = drawn_globally(np.random.poisson)
power = drawn_globally(np.random.power)
rand = drawn_globally(np.random.rand)
randint = drawn_globally(np.random.randint)
randn = drawn_globally(np.random.randn)
random = drawn_globally(np.random.random)
random_integers = drawn_globally(np.random.random_integers)
random_sample = drawn_globally(np.random.random_sample)
ranf = drawn_globally(np.random.ranf)
rayleigh = drawn_globally(np.random.rayleigh)
sample = drawn_globally(np.random.sample)
standard_cauchy = drawn_globally(np.random.standard_cauchy)
standard_exponential = drawn_globally(np.random.standard_exponential)
standard_gamma = drawn_globally(np.random.standard_gamma)
standard_normal = drawn_globally(np.random.standard_normal)
standard_t = drawn_globally(np.random.standard_t)
triangular = drawn_globally(np.random.triangular)
uniform = drawn_globally(np.random.uniform)
vonmises = drawn_globally(np.random.vonmises)
wald = drawn_globally(np.random.wald)
weibull = drawn_globally(np.random.weibull)
zipf = drawn_globally(np.random.zipf)
