#!/usr/bin/env python3
"""Makes the JPEGs in `jpegs` and, as PNGs of the same names, the pixels that libjpeg reads from them.

    apt install libjpeg-turbo-progs && pip install pillow==13.0.0 numpy && python3 make_jpegs.py
"""
import io
import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent / "jpegs"
random = np.random.default_rng(6)

SAMPLINGS = {"444": "1x1", "420": "2x2", "422": "2x1", "440": "1x2", "411": "4x1", "410": "4x2"}
EACH = "0;\n1;\n2;\n"
COLOURS_FIRST = "2;\n1;\n0;\n"
LUMA_THEN_BOTH = "0;\n1 2;\n"
BOTH_THEN_LUMA = "1 2;\n0;\n"
# Each component in a scan of its own from the first coefficient on, and refined.
STEPS = """
0: 0-0, 0, 1; 2: 0-0, 0, 1; 1: 0-0, 0, 1; 1: 1-63, 0, 2; 0: 1-5, 0, 2; 2: 1-63, 0, 2; 0: 6-63, 0, 2;
0: 1-63, 2, 1; 0: 0-0, 1, 0; 1: 0-0, 1, 0; 2: 0-0, 1, 0; 2: 1-63, 2, 1; 1: 1-63, 2, 1;
0: 1-63, 1, 0; 1: 1-63, 1, 0; 2: 1-63, 1, 0;
"""


def smooth(height, width):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 100 * np.sin((x * a + y * b) / 9) for a, b in [(1, 2), (2, -1), (-1, 1)]]
    return Image.fromarray(np.stack(waves, axis=-1).astype(np.uint8))


def noise(height, width):
    return Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))


def run(program, data, *options, scans=None):
    with tempfile.NamedTemporaryFile("w", suffix=".scans") as script:
        script.write(scans or "")
        script.flush()
        options += ("-scans", script.name) if scans else ()
        return subprocess.run([program, *options], input=data, capture_output=True, check=True).stdout


def cjpeg(image, *options, quality=85, scans=None):
    file = io.BytesIO()
    image.save(file, "PPM")
    return run("cjpeg", file.getvalue(), "-quality", str(quality), *options, scans=scans)


def inks(scans, subsampling):
    file = io.BytesIO()
    smooth(29, 37).convert("CMYK").save(file, "JPEG", quality=85, subsampling=subsampling)
    return run("jpegtran", file.getvalue(), scans=scans)


def segment(marker, content):
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2, "big") + content


JFIF = segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")


def adobe(transform):
    return segment(0xEE, b"Adobe\0\x64\0\0\0\0" + bytes([transform]))


def marked(markers, ids=(1, 2, 3)):
    """A file with these markers alone, and these names of components."""
    file = cjpeg(smooth(12, 20), "-sample", "1x1", quality=70)
    assert file[2:].startswith(JFIF)
    file = file[:2] + markers + file[2 + len(JFIF):]
    for number, id in enumerate(ids, 1):
        frame = file.index(b"\xff\xc0") + 10 + 3 * (number - 1)
        scan = file.index(b"\xff\xda") + 5 + 2 * (number - 1)
        assert file[frame] == file[scan] == number
        file = file[:frame] + bytes([id]) + file[frame + 1:]
        file = file[:scan] + bytes([id]) + file[scan + 1:]
    return file


def wide_tables():
    """A file whose quantisation tables have 16 bits, beyond 255 among them."""
    file = cjpeg(smooth(20, 24), "-sample", "2x2", quality=2)
    assert b"\xff\xdb\0\x83\x10" in file
    return file


def files():
    picture = smooth(29, 37)
    for name, sampling in SAMPLINGS.items():
        options = ("-sample", sampling)
        yield f"each-{name}", cjpeg(picture, *options, scans=EACH)
        yield f"together-{name}", cjpeg(picture, *options, "-restart", "2B")
        yield f"steps-{name}", cjpeg(picture, *options, scans=STEPS)
    yield "colours-first", cjpeg(picture, "-sample", "2x2", scans=COLOURS_FIRST)
    yield "luma-then-both", cjpeg(picture, "-sample", "2x2", scans=LUMA_THEN_BOTH)
    yield "both-then-luma", cjpeg(picture, "-sample", "2x1", scans=BOTH_THEN_LUMA)
    yield "each-restart", cjpeg(picture, "-sample", "2x2", "-restart", "3B", scans=EACH)
    yield "progressive-restart", cjpeg(picture, "-progressive", "-restart", "1B")
    yield "mixed", cjpeg(picture, "-sample", "2x2,2x1,1x2", scans=EACH)
    yield "three", cjpeg(picture, "-sample", "3x1", scans=EACH)
    yield "coarse-luma", cjpeg(picture, "-sample", "1x1,2x2,2x2")
    yield "uneven", cjpeg(picture, "-sample", "4x1,2x1,1x1", scans=EACH)
    yield "inks", inks("0 1 2 3;\n", 0)
    yield "inks-each", inks("0;\n1;\n2;\n3;\n", 0)
    yield "inks-each-420", inks("3;\n0;\n1;\n2;\n", 2)
    for name in ("420", "422", "440"):
        for height, width in ((1, 1), (5, 2), (9, 3), (7, 4), (11, 20), (3, 22), (24, 17)):
            file = cjpeg(noise(height, width), "-sample", SAMPLINGS[name], quality=90)
            yield f"noise-{name}-{width}x{height}", file
    yield "jfif", marked(JFIF)
    yield "jfif-adobe-0", marked(JFIF + adobe(0))
    yield "adobe-0-jfif", marked(adobe(0) + JFIF)
    yield "jfif-adobe-1", marked(JFIF + adobe(1))
    yield "adobe-0", marked(adobe(0))
    yield "adobe-1", marked(adobe(1))
    yield "adobe-2", marked(adobe(2))
    yield "names-rgb", marked(b"", b"RGB")
    yield "names-rgb-jfif", marked(JFIF, b"RGB")
    yield "names-rgb-adobe-1", marked(adobe(1), b"RGB")
    yield "names-012", marked(b"", (0, 1, 2))
    yield "names-same", marked(b"", (5, 5, 5))
    yield "wide-tables", wide_tables()


def main():
    HERE.mkdir(exist_ok=True)
    for name, data in files():
        (HERE / f"{name}.jpg").write_bytes(data)
        pixels = Image.open(io.BytesIO(data)).convert("RGB")
        pixels.save(HERE / f"{name}.png", optimize=True)


main()
