"""k-means: Fisher's irises, clustered from two thousand random starts at once."""

from pathlib import Path

import numpy as np

STARTS = 2000
CLUSTERS = 3
ROUNDS = 12


def measurements():
    """150 flowers x 4 lengths, each length scaled to mean 0 and deviation 1."""
    path = Path(__file__).with_name("iris.csv")
    table = np.loadtxt(path, delimiter=",")
    lengths, species = table[:, :4], table[:, 4].astype(int)
    return (lengths - lengths.mean(axis=0)) / lengths.std(axis=0), species


def squared_distances(points, centres):
    """From every point to every centre: starts x clusters x points."""
    total = 0.0
    for axis in range(points.shape[1]):
        total = total + (points[:, axis] - centres[:, :, axis, None]) ** 2
    return total


def run():
    points, species = measurements()
    generator = np.random.default_rng(1936)
    chosen = generator.integers(0, len(points), (STARTS, CLUSTERS))
    centres = points[chosen]
    for _ in range(ROUNDS):
        distances = squared_distances(points, centres)
        nearest = distances.argmin(axis=1)
        member = nearest[:, None, :] == np.arange(CLUSTERS)[:, None]
        count = np.maximum(member.sum(axis=2), 1)
        for axis in range(points.shape[1]):
            inside = np.where(member, points[:, axis], 0.0).sum(axis=2)
            centres[:, :, axis] = inside / count
    inertia = distances.min(axis=1).sum(axis=1)
    best = int(inertia.argmin())
    return nearest[best], centres[best], inertia, species


if __name__ == "__main__":
    label, centres, inertia, species = run()
    print(f"best inertia {inertia.min():.4f}, worst {inertia.max():.4f}")
    for cluster in range(CLUSTERS):
        kinds = np.bincount(species[label == cluster], minlength=3)
        print(f"cluster {cluster}: setosa, versicolor, virginica = {kinds.tolist()}")
