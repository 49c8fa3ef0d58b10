"""ONNX files of a few nodes, written without the onnx package: fields of protobuf by number."""

FLOAT = 1


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def inner(field: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name: str, dims: list[int]) -> bytes:
    """A float32 tensor whose first dimension is the batch."""
    sizes = [inner(1, inner(2, "batch")), *(inner(1, number(1, size)) for size in dims)]
    typed = number(1, FLOAT) + inner(2, b"".join(sizes))
    return inner(1, name) + inner(2, inner(1, typed))


def node(kind: str, reads: str, makes: str, attributes: bytes = b"") -> bytes:
    return inner(1, inner(1, reads) + inner(2, makes) + inner(4, kind) + attributes)


def model(nodes: bytes, reads: bytes, makes: bytes, name: str = "network") -> bytes:
    graph = nodes + inner(2, name) + inner(11, reads) + inner(12, makes)
    return number(1, 8) + inner(7, graph) + inner(8, inner(1, "") + number(2, 17))


def identity(width: int, name: str = "network") -> bytes:
    return model(node("Identity", "x", "y"), tensor("x", [width]), tensor("y", [width]), name)


def image_mean(dims: list[int]) -> bytes:
    """The mean of each channel of images."""
    axes = inner(5, inner(1, "axes") + number(20, 7) + number(8, 2) + number(8, 3))
    keep = inner(5, inner(1, "keepdims") + number(20, 2) + number(3, 0))
    nodes = node("ReduceMean", "x", "y", axes + keep)
    return model(nodes, tensor("x", dims), tensor("y", dims[:1]))
