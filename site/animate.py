#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Makes the animations in docs/images again, with the solutions of their exercises.

The programs write each frame in 32 bits a pixel. Here the frames get a palette, which halves them,
and a still: the picture that those see who see no animation, as on paper and in e-readers.
"""

import struct
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, List, Tuple

ROOT = Path(__file__).resolve().parents[1]
SIZE = 160  # pixels a side
MOST = 200_000  # bytes of a file


@dataclass(frozen=True)
class Animation:
    exercise: str
    arguments: Tuple[str, ...]
    still: int  # the frame that says most


ANIMATIONS = {
    "ripple": Animation("04.2", ("--frames", "44"), still=0),
    "heat": Animation("08.4", ("--frames", "30", "--steps", "90"), still=20),
}


@dataclass
class Frames:
    width: int
    height: int
    delay_ms: int
    still: bytes  # RGB, three bytes a pixel
    pixels: List[bytes]  # of each frame


def read(png: bytes) -> Frames:
    """Of what pack() or lab::animation has written."""
    width = height = channels = delay = 0
    palette = b""
    still = b""
    frames: List[bytes] = []
    for name, data in _chunks(png):
        if name == b"IHDR":
            width, height, _, kind = struct.unpack(">IIBB", data[:10])
            channels = 1 if kind == 3 else 4
        elif name == b"PLTE":
            palette = data
        elif name == b"fcTL":
            delay = struct.unpack(">H", data[20:22])[0]
            frames.append(b"")
        elif name == b"IDAT":
            still += data
            if frames:
                frames[-1] += data
        elif name == b"fdAT":
            frames[-1] += data[4:]

    def pixels(data: bytes) -> bytes:
        raw = _unfiltered(zlib.decompress(data), width * channels, channels)
        if channels == 1:
            return b"".join(palette[3 * i : 3 * i + 3] for i in raw)
        return b"".join(raw[i : i + 3] for i in range(0, len(raw), 4))

    return Frames(width, height, delay, pixels(still), [pixels(frame) for frame in frames])


def pack(frames: Frames) -> bytes:
    """A PNG file with a palette: the still, and the animation, which it is no part of."""
    colours = sorted({f[i : i + 3] for f in frames.pixels for i in range(0, len(f), 3)}, key=_light)
    # One after the other they hardly differ: where there are too many, neighbours share an entry.
    share = -(-len(colours) // 256)
    palette = colours[share // 2 :: share]
    index = {c: min(i // share, len(palette) - 1) for i, c in enumerate(colours)}

    def data(pixels: bytes) -> bytes:
        raw = bytes(index[pixels[i : i + 3]] for i in range(0, len(pixels), 3))
        ways = (_filtered(raw, frames.width, way) for way in range(3))
        return min((zlib.compress(way, 9) for way in ways), key=len)

    def control(sequence: int) -> bytes:
        size = struct.pack(">IIIII", sequence, frames.width, frames.height, 0, 0)
        return size + struct.pack(">HHBB", frames.delay_ms, 1000, 0, 0)

    header = struct.pack(">IIBBBBB", frames.width, frames.height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"acTL", struct.pack(">II", len(frames.pixels), 0))]
    chunks += [(b"PLTE", b"".join(palette)), (b"IDAT", data(frames.still))]
    for i, pixels in enumerate(frames.pixels):
        chunks.append((b"fcTL", control(2 * i)))
        chunks.append((b"fdAT", struct.pack(">I", 2 * i + 1) + data(pixels)))
    return _file([*chunks, (b"IEND", b"")])


def still(png: bytes) -> bytes:
    """The file without its animation, if it has one."""
    moving = (b"acTL", b"fcTL", b"fdAT")
    return _file([chunk for chunk in _chunks(png) if chunk[0] not in moving])


def _light(colour: bytes) -> Tuple[int, bytes]:
    return sum(colour), colour


def _chunks(png: bytes) -> Iterator[Tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        yield name, png[at + 8 : at + 8 + length]
        at += 12 + length


def _file(chunks: List[Tuple[bytes, bytes]]) -> bytes:
    parts = [b"\x89PNG\r\n\x1a\n"]
    for name, data in chunks:
        parts += [struct.pack(">I", len(data)), name, data]
        parts.append(struct.pack(">I", zlib.crc32(name + data)))
    return b"".join(parts)


def _predicted(way: int, left: int, up: int, corner: int) -> int:
    """What a filter of PNG expects of a byte, from those before it."""
    if way < 3:
        return (0, left, up)[way]
    if way == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda byte: abs(guess - byte))


def _filtered(raw: bytes, width: int, way: int) -> bytes:
    out = bytearray()
    above = bytes(width)
    for start in range(0, len(raw), width):
        row = raw[start : start + width]
        out.append(way)
        for x, byte in enumerate(row):
            left, corner = (row[x - 1], above[x - 1]) if x else (0, 0)
            out.append((byte - _predicted(way, left, above[x], corner)) & 255)
        above = row
    return bytes(out)


def _unfiltered(data: bytes, stride: int, step: int) -> bytes:
    rows = bytearray()
    above = bytes(stride)
    for start in range(0, len(data), stride + 1):
        way = data[start]
        row = bytearray(data[start + 1 : start + 1 + stride])
        for x in range(stride if way else 0):
            left, corner = (row[x - step], above[x - step]) if x >= step else (0, 0)
            row[x] = (row[x] + _predicted(way, left, above[x], corner)) & 255
        rows += row
        above = bytes(row)
    return bytes(rows)


def main() -> int:
    for name, animation in ANIMATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "made.png"
            size = ("--width", str(SIZE), "--height", str(SIZE), "--out", str(made))
            lab = [str(ROOT / "scripts/lab"), "run", animation.exercise]
            lab += ["--solution", "--device", "cpu", "--", *animation.arguments, *size]
            if subprocess.run(lab, stdout=subprocess.DEVNULL, check=False).returncode:
                return 1
            frames = read(made.read_bytes())
        frames.still = frames.pixels[animation.still]
        packed = pack(frames)
        if len(packed) > MOST:
            print(f"{name}.png would have {len(packed)} bytes, more than {MOST}", file=sys.stderr)
            return 1
        file = ROOT / f"docs/images/{name}.png"
        if not file.is_file() or file.read_bytes() != packed:
            file.write_bytes(packed)
            print(file.relative_to(ROOT).as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main())
