"""Whole functions of NumPy on all cores: products, sorting, counting and so on.

Each one is called like NumPy's, with all of its parameters, and gives what NumPy gives:
it does the part that pays (large arrays of numbers, plain options) and leaves the rest
to NumPy, which also says what is wrong with arguments.  `products` takes matrices of
integers and short floats through BLAS; `sorting` shares sorting among threads, merges
parts of a long run (`merging`) and has its stable order by digits (`radix`);
`selecting` goes by masks and index arrays; `transforms` asks SciPy, for one long row in
blocks (`splitting`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ops import (
    contraction,
    indexing,
    reduction,
    solving,
    statistics,
    transforms as fft,
)
from ....ops.spec import Op
from . import counting, products, quantiles, rowwise, scanning, selecting, sorting
from .transforms import along_axes, along_axis

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[Op, Callable[..., Any]] = {
    contraction.DOT: products.dot,
    contraction.EINSUM: products.einsum,
    contraction.INNER: products.inner,
    contraction.MATMUL: products.matmul,
    contraction.TENSORDOT: products.tensordot,
    indexing.ARGSORT: sorting.argsort,
    reduction.CUMULATIVE_PROD: scanning.accumulate(np.multiply),
    reduction.CUMULATIVE_SUM: scanning.accumulate(np.add),
    statistics.BINCOUNT: counting.bincount,
    indexing.COUNT_NONZERO: rowwise.count_nonzero,
    solving.NORM: rowwise.by_rows(np.linalg.norm, 1),
    statistics.MEDIAN: quantiles.of_runs(
        np.median, False, rowwise.by_rows(np.median, 0)
    ),
    statistics.PERCENTILE: quantiles.of_runs(np.percentile, True, np.percentile),
    statistics.QUANTILE: quantiles.of_runs(np.quantile, True, np.quantile),
    statistics.DIGITIZE: counting.digitize,
    statistics.HISTOGRAM: counting.histogram,
    indexing.ARGWHERE: selecting.argwhere,
    indexing.COMPRESS: selecting.compress,
    indexing.EXTRACT: selecting.extract,
    indexing.FLATNONZERO: selecting.flatnonzero,
    indexing.GET: selecting.get,
    indexing.NONZERO: selecting.nonzero,
    indexing.SEARCHSORTED: counting.searchsorted,
    indexing.SORT: sorting.sort,
    indexing.TAKE: selecting.take,
    indexing.UNIQUE: sorting.unique,
    indexing.UNIQUE_COUNTS: sorting.unique_counts,
    indexing.UNIQUE_VALUES: sorting.unique_values,
    **{
        row: along_axis(row.numpy)
        for row in (fft.FFT, fft.IFFT, fft.RFFT, fft.IRFFT, fft.HFFT, fft.IHFFT)
    },
    **{
        row: along_axes(row.numpy)
        for row in (fft.FFTN, fft.IFFTN, fft.RFFTN, fft.IRFFTN)
    },
    **{
        row: along_axes(row.numpy, (-2, -1))
        for row in (fft.FFT2, fft.IFFT2, fft.RFFT2, fft.IRFFT2)
    },
}
"""The CPU's own way for rows; called like their oracles."""
