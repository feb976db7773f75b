"""Four kernels, written once: n-body, matrix product, histogram, heat in a plate.

python examples/kernels.py opencl:0
"""

import sys

import numpy as np

import dcarray as dc
from dcarray.kernel import atomic_add, barrier, global_id, local_id, shared

TILE = 16


@dc.kernel
def attraction(position, mass, force, softening):
    """The pull of all bodies on each one: bodies x 3."""
    i = global_id(0)
    x, y, z = 0.0, 0.0, 0.0
    for j in range(len(mass)):
        dx = position[j, 0] - position[i, 0]
        dy = position[j, 1] - position[i, 1]
        dz = position[j, 2] - position[i, 2]
        square = dx * dx + dy * dy + dz * dz + softening
        pull = mass[j] / (square * np.sqrt(square))
        x += pull * dx
        y += pull * dy
        z += pull * dz
    force[i, 0] = x
    force[i, 1] = y
    force[i, 2] = z


@dc.kernel
def product(a, b, c, *, tile=TILE):
    """``c = a @ b``, tile by tile through the memory that a group shares."""
    left = shared(a.dtype, (tile, tile))
    right = shared(b.dtype, (tile, tile))
    column, row = global_id(0), global_id(1)
    x, y = local_id(0), local_id(1)
    rows, inner = a.shape
    columns = b.shape[1]
    total = 0.0
    for start in range(0, inner, tile):
        left[y, x] = a[row, start + x] if row < rows and start + x < inner else 0
        right[y, x] = (
            b[start + y, column] if start + y < inner and column < columns else 0
        )
        barrier()
        for k in range(tile):
            total += left[y, k] * right[k, x]
        barrier()
    if row < rows and column < columns:
        c[row, column] = total


@dc.kernel
def histogram(values, low, high, counts):
    """How many values fall into each of the bins between two limits."""
    i = global_id(0)
    place = (values[i] - low) / (high - low) * len(counts)
    if place >= 0 and place < len(counts):
        atomic_add(counts, int(place), 1)


@dc.kernel
def heat(old, new, rate):
    """One step of the heat equation; the edge of the plate keeps its temperature."""
    i, j = global_id(0), global_id(1)
    rows, columns = old.shape
    if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
        new[i, j] = old[i, j]
    else:
        around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
        new[i, j] = old[i, j] + rate * (around - 4 * old[i, j])


def run(device="auto"):
    """Run all four; their results by name, as NumPy arrays."""
    generator = np.random.default_rng(7)

    def on_device(array):
        return dc.asarray(array, device=device)

    bodies = on_device(generator.random((500, 3), np.float32))
    mass = on_device(generator.random(500, np.float32))
    force = dc.zeros((500, 3), dtype=np.float32, device=device)
    attraction(bodies, mass, force, 1e-3, size=500)

    a = on_device(generator.random((70, 50), np.float32))
    b = on_device(generator.random((50, 90), np.float32))
    c = dc.zeros((70, 90), dtype=np.float32, device=device)
    product[(96, 80), (TILE, TILE)](a, b, c)

    values = on_device(generator.normal(size=100_000).astype(np.float32))
    counts = dc.zeros(32, dtype=np.int32, device=device)
    histogram(values, -3.0, 3.0, counts, size=values.size)

    plate = dc.zeros((64, 64), dtype=np.float32, device=device)
    plate[0] = 100
    other = dc.zeros((64, 64), dtype=np.float32, device=device)
    for _ in range(50):
        heat(plate, other, 0.2)
        plate, other = other, plate
    results = {"force": force, "product": c, "histogram": counts, "heat": plate}
    return {name: array.get() for name, array in results.items()}


if __name__ == "__main__":
    for name, result in run(*sys.argv[1:]).items():
        print(f"{name:10} {result.shape!s:12} sum {result.sum(dtype=np.float64):.6g}")
