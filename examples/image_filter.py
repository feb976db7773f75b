"""Image filter: a Julia set, coloured, blurred into a glow and written as a PNG."""

import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT = 960, 600
ROUNDS = 110


def escape(width, height, rounds):
    """For each point of the plane, how slowly z*z + c leaves it; 0 if it never does."""
    x, y = np.meshgrid(np.linspace(-1.6, 1.6, width), np.linspace(-1.0, 1.0, height))
    speed = np.zeros((height, width))
    inside = np.ones((height, width), dtype=bool)
    for number in range(rounds):
        x, y = x * x - y * y - 0.79, 2 * x * y + 0.156
        size = x * x + y * y
        gone = inside & (size > 64.0)
        smooth = number + 1 - np.log2(np.log(np.where(gone, size, 100.0)) / 4.16)
        speed = np.where(gone, smooth, speed)
        inside = inside & ~gone
        x = np.where(inside, x, 0.0)
        y = np.where(inside, y, 0.0)
    return speed


def colour(speed):
    """Violet far away, white and turquoise near the set, by cosines."""
    t = np.sqrt(speed / 90.0)
    lit = np.minimum(speed, 1.0)
    red = (0.52 - 0.52 * np.cos(6.2832 * (0.95 * t + 0.02))) * lit
    green = (0.48 - 0.48 * np.cos(6.2832 * (0.85 * t - 0.03))) * lit
    blue = (0.56 - 0.44 * np.cos(6.2832 * (0.70 * t + 0.12))) * lit
    return np.stack([red, green, blue])


def blur(image, radius):
    """A Gaussian blur, separable: along one axis, then along the other."""
    weights = np.exp(-0.5 * (np.arange(-2 * radius, 2 * radius + 1) / radius) ** 2)
    weights = (weights / weights.sum()).tolist()
    for axis in (1, 2):
        padded = np.pad(
            image,
            [(0, 0)] + [(2 * radius,) * 2 if a == axis else (0, 0) for a in (1, 2)],
            mode="edge",
        )
        length = image.shape[axis]
        total = 0.0
        for shift, weight in enumerate(weights):
            part = [slice(None)] * 3
            part[axis] = slice(shift, shift + length)
            total = total + weight * padded[tuple(part)]
        image = total
    return image


def develop(image):
    """Glow, vignette, contrast, and 8 bits a channel."""
    _, height, width = image.shape
    glow = blur(np.maximum(image - 0.55, 0.0), 6)
    bright = image + 0.9 * glow
    y = np.linspace(-1, 1, height)[:, None]
    x = np.linspace(-1, 1, width)
    bright = bright * (1.0 - 0.28 * (x * x + y * y))
    film = 1.0 - np.exp(-1.7 * bright)
    curve = film * film * (3.0 - 2.0 * film) * 0.55 + film * 0.45
    return np.clip(curve * 255.0 + 0.5, 0, 255).astype(np.uint8).transpose(1, 2, 0)


def write_png(path, pixels):
    """height x width x 3 bytes as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, 3 * width)

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        )
        file.write(chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)))
        file.write(chunk(b"IEND", b""))


def run():
    return (develop(colour(escape(WIDTH, HEIGHT, ROUNDS))),)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "julia.png"
    write_png(target, run()[0])
    print(f"wrote {target}")
