#!/usr/bin/env python3
"""Makes the images of this folder, and what Pillow 11.3.0 and torchvision's steps make of them.

    pip install pillow==11.3.0 numpy && python3 make.py
"""
import json
import pathlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
random = np.random.default_rng(5)


def noise(height, width, channels):
    return random.integers(0, 256, (height, width, channels), dtype=np.uint8)


def smooth(height, width):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin((x * a + y * b) / 9) for a, b in [(1, 2), (2, -1), (-1, 1)]]
    return np.stack(waves, axis=-1).astype(np.uint8)


def save(name, image, **options):
    image.save(HERE / name, **options)


def write():
    colours = noise(23, 31, 3)
    save("noise.png", Image.fromarray(colours), optimize=True)
    save("alpha.png", Image.fromarray(noise(5, 4, 4)))
    save("palette.png", Image.fromarray(colours[:6, :7]).quantize(5), transparency=2)
    save("bits.png", Image.fromarray(noise(5, 9, 1)[:, :, 0]).convert("1"))
    photo = Image.fromarray(smooth(29, 40))
    save("photo.jpg", photo, quality=90)
    save("progressive.jpeg", photo, quality=90, progressive=True, subsampling=0)
    save("grey.jpg", photo.convert("L"), quality=90)
    save("inks.jpg", photo.convert("CMYK"), quality=95)
    turned = Image.Exif()
    turned[0x0112] = 6
    save("turned.jpg", photo, quality=90, exif=turned)
    save("lossy.webp", photo, quality=90)
    save("lossless.webp", Image.fromarray(noise(6, 5, 4)), lossless=True, exact=True)


def sized(image, height, width, resize, crop):
    """torchvision's Resize((height, width)), or Resize(resize) and CenterCrop((height, width))."""
    if resize is None and not crop:
        return image.resize((width, height), Image.BILINEAR)
    if resize is not None:
        w, h = image.size
        short, long = min(w, h), max(w, h)
        longer = int(resize * long / short)
        w, h = (resize, longer) if w <= h else (longer, resize)
        image = image.resize((w, h), Image.BILINEAR)
    w, h = image.size
    top = int(round((h - height) / 2.0))
    left = int(round((w - width) / 2.0))
    return image.crop((left, top, left + width, top + height))


# File, channels, height, width, shorter side, whether the centre is cut out.
CASES = [
    ("noise.png", 3, 23, 31, None, False),
    ("noise.png", 1, 23, 31, None, False),
    ("noise.png", 3, 7, 9, None, False),
    ("noise.png", 3, 40, 10, None, False),
    ("noise.png", 3, 11, 50, None, False),
    ("noise.png", 3, 1, 1, None, False),
    ("noise.png", 1, 30, 45, None, False),
    ("noise.png", 3, 12, 12, None, True),
    ("noise.png", 3, 7, 10, None, True),
    ("noise.png", 3, 8, 8, 10, True),
    ("noise.png", 3, 9, 9, 12, True),
    ("noise.png", 1, 16, 21, 16, True),
    ("noise.png", 3, 15, 16, 29, True),
    ("alpha.png", 3, 5, 4, None, False),
    ("alpha.png", 1, 5, 4, None, False),
    ("palette.png", 3, 6, 7, None, False),
    ("bits.png", 1, 5, 9, None, False),
    ("bits.png", 3, 3, 3, None, False),
    ("lossless.webp", 3, 6, 5, None, False),
    ("photo.jpg", 3, 10, 10, 12, True),
    ("photo.jpg", 1, 29, 40, None, False),
    ("progressive.jpeg", 3, 10, 10, 12, True),
    ("grey.jpg", 1, 10, 10, 12, True),
    ("grey.jpg", 3, 10, 10, 12, True),
    ("inks.jpg", 3, 10, 10, 12, True),
    ("turned.jpg", 3, 10, 12, None, False),
    ("lossy.webp", 3, 10, 10, 12, True),
]


def main():
    write()
    made = []
    for file, channels, height, width, resize, crop in CASES:
        image = Image.open(HERE / file).convert("RGB" if channels == 3 else "L")
        values = np.asarray(sized(image, height, width, resize, crop))
        planes = values.reshape(height, width, channels).transpose(2, 0, 1)
        case = {"file": file, "shape": [channels, height, width], "resize": resize, "crop": crop}
        made.append(case | {"values": planes.flatten().tolist()})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in made)
    (HERE / "expected.json").write_text(f"[\n{lines}\n]\n")


main()
