"""Draws the images of this ensemble.

    pip install pillow
    python draw.py
"""

from pathlib import Path

from PIL import Image, ImageDraw

HERE = Path(__file__).resolve().parent / "images"
SKY, SEA, GRASS, SAND = (150, 200, 240), (40, 90, 150), (90, 150, 70), (220, 200, 150)


def scene(size, sky, ground, horizon=0.6):
    """An image with a graded sky above the ground."""
    width, height = size
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    end = int(height * horizon)
    for row in range(end):
        lighter = 60 * row // end
        draw.line([(0, row), (width, row)], fill=tuple(min(c + lighter, 255) for c in sky))
    return image, draw


def boat():
    image, draw = scene((320, 240), SKY, SEA)
    draw.polygon([(90, 150), (230, 150), (205, 185), (115, 185)], fill=(120, 60, 30))
    draw.line([(160, 40), (160, 150)], fill=(60, 40, 20), width=5)
    draw.polygon([(166, 45), (166, 140), (225, 140)], fill=(250, 250, 240))
    return image


def house():
    image, draw = scene((300, 300), SKY, GRASS)
    draw.rectangle([80, 140, 220, 250], fill=(190, 90, 70))
    draw.polygon([(65, 140), (150, 65), (235, 140)], fill=(90, 50, 40))
    draw.rectangle([135, 190, 165, 250], fill=(60, 40, 30))
    for left in (95, 180):
        draw.rectangle([left, 160, left + 25, 185], fill=(250, 240, 170))
    return image


def ball():
    image, draw = scene((260, 340), SKY, SAND, 0.7)
    draw.ellipse([70, 180, 190, 300], fill=(220, 40, 50))
    draw.chord([70, 180, 190, 300], 200, 340, fill=(250, 250, 250))
    draw.ellipse([60, 292, 200, 312], outline=(150, 130, 90), width=4)
    return image


def tree():
    image, draw = scene((240, 320), SKY, GRASS, 0.75)
    draw.rectangle([108, 170, 132, 290], fill=(90, 60, 30))
    for x, y, r in [(120, 100, 60), (80, 140, 45), (160, 140, 45)]:
        draw.ellipse([x - r, y - r, x + r, y + r], fill=(40, 110, 50))
    return image


def mountains():
    image, draw = scene((400, 260), (230, 170, 130), (80, 90, 100), 0.75)
    draw.ellipse([290, 40, 350, 100], fill=(255, 230, 150))
    for left, peak, right, top in [(0, 110, 220, 70), (150, 270, 400, 50)]:
        draw.polygon([(left, 200), (peak, top), (right, 200)], fill=(90, 80, 110))
        draw.polygon(
            [(peak - 25, top + 30), (peak, top), (peak + 25, top + 30)], fill=(245, 245, 250)
        )
    return image


def fish():
    image, draw = scene((360, 240), (60, 140, 190), (30, 90, 140), 0.9)
    draw.ellipse([90, 80, 250, 160], fill=(240, 150, 40))
    draw.polygon([(235, 120), (300, 75), (300, 165)], fill=(240, 150, 40))
    draw.ellipse([115, 100, 130, 115], fill=(20, 20, 20))
    for x, y in [(60, 60), (45, 40), (70, 25)]:
        draw.ellipse([x, y, x + 12, y + 12], outline=(220, 240, 250), width=2)
    return image


def main():
    HERE.mkdir(exist_ok=True)
    for picture in (boat, house, ball):
        picture().save(HERE / f"{picture.__name__}.jpg", quality=85)
    for picture in (tree, mountains, fish):
        picture().save(HERE / f"{picture.__name__}.png", optimize=True)


if __name__ == "__main__":
    main()
