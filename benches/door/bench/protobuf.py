"""Messages of protobuf, read by the numbers of their fields."""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
SIZES = {FIXED64: 8, FIXED32: 4}


def varint(message: memoryview, at: int) -> tuple[int, int]:
    """Returns the number that begins at a byte, and where the next field begins."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(message: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yields the number and the value of each field: a whole number, or bytes."""
    message, at = memoryview(message), 0
    while at < len(message):
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(message, at)
        elif kind == BYTES:
            size, at = varint(message, at)
            value, at = message[at : at + size], at + size
        else:
            size = SIZES[kind]
            value, at = int.from_bytes(message[at : at + size], "little"), at + size
        yield number, value


def inner(message: bytes | memoryview, *path: int) -> Iterator[memoryview]:
    """Yields the messages that lie at a path of numbers."""
    for number, value in fields(message):
        if number == path[0]:
            yield from inner(value, *path[1:]) if path[1:] else [value]
