"""How often a large request is copied by a server: what goes through memcpy and memmove, which are replaced by
ones that count. What the system copies from the socket, and what a loop converts, is not in it."""

import json
import mmap
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .added import Connection
from .servers import Server

SHAPE = [8, 3, 224, 224]
SIZE = 8 * 3 * 224 * 224 * 4
ASKED = 16


def library(work: Path) -> Path | None:
    """Builds the library that counts; none where there is no compiler."""
    compiler, built = shutil.which("cc"), work / "copies.so"
    if not compiler:
        return None
    source = Path(__file__).with_name("copies.c")
    subprocess.run([compiler, "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", built, source], check=True)
    return built


class Copied:
    def __init__(self, work: Path):
        self.path = work / "copied"
        self.path.write_bytes(bytes(8))

    def bytes(self) -> int:
        with self.path.open("r+b") as file, mmap.mmap(file.fileno(), 8) as counter:
            return int.from_bytes(counter[:], "little")


@contextmanager
def counting(built: Path, work: Path) -> Iterator[Copied]:
    """Programs that are started meanwhile count."""
    copied = Copied(work)
    os.environ.update(LD_PRELOAD=str(built), COPIES=str(copied.path))
    try:
        yield copied
    finally:
        del os.environ["LD_PRELOAD"], os.environ["COPIES"]


def request(model: str) -> bytes:
    tensor = {"name": "x", "shape": SHAPE, "datatype": "FP32"}
    tensor["parameters"] = {"binary_data_size": SIZE}
    header = json.dumps({"inputs": [tensor]}).encode()
    lines = [
        f"POST /v2/models/{model}/infer HTTP/1.1",
        "Host: localhost",
        f"Inference-Header-Content-Length: {len(header)}",
        f"Content-Length: {len(header) + SIZE}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + header + bytes(SIZE)


def of_a_request(server: Server, copied: Copied, model: str) -> float:
    """Returns the bytes copied for a byte of a request."""
    connection, asked = Connection(server.http), request(model)
    connection.ask(asked)
    before = copied.bytes()
    for _ in range(ASKED):
        connection.ask(asked)
    return (copied.bytes() - before) / ASKED / SIZE
