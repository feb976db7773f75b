"""Heat equation: a hot plate cools, two dimensions, five-point stencil, in place."""

import numpy as np

SIZE = 1000
STEPS = 60


def plate():
    """Two hot discs and a cold bar on a plate at 20 degrees."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / SIZE
    t = np.full((SIZE, SIZE), 20.0)
    t[(x - 0.3) ** 2 + (y - 0.3) ** 2 < 0.02] = 100.0
    t[(x - 0.7) ** 2 + (y - 0.6) ** 2 < 0.03] = 80.0
    t[int(0.8 * SIZE) : int(0.85 * SIZE), SIZE // 5 : 4 * SIZE // 5] = -20.0
    return t


def step(t, conductivity):
    """One explicit step; the rim loses heat to the air."""
    middle = t[1:-1, 1:-1]
    flow = t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:] - 4 * middle
    middle += conductivity * flow
    t[0] = 0.9 * t[1] + 2.0
    t[-1] = 0.9 * t[-2] + 2.0
    t[:, 0] = 0.9 * t[:, 1] + 2.0
    t[:, -1] = 0.9 * t[:, -2] + 2.0


def run():
    t = plate()
    y = np.linspace(0, np.pi, SIZE - 2)
    conductivity = 0.15 + 0.08 * np.sin(y)[:, None] * np.sin(y)
    for _ in range(STEPS):
        step(t, conductivity)
    return t, t.mean(), t.max(axis=0)


if __name__ == "__main__":
    t, mean, _ = run()
    print(f"after {STEPS} steps: mean {mean:.4f}, hottest {t.max():.3f} degrees")
