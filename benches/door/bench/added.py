"""What an inference takes longer than a question for health, on one connection over HTTP: the client's own
time and the waking of threads are in both."""

import json
import socket
import statistics
import time
from dataclasses import dataclass

from .servers import Server

ASKED = 2000
ROUNDS = 3


@dataclass
class Asked:
    """Medians in milliseconds."""

    health: float
    infer: float


class Connection:
    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        self.socket.sendall(request)
        came = b""
        while b"\r\n\r\n" not in came:
            came += self.socket.recv(1 << 16)
        head, body = came.split(b"\r\n\r\n", 1)
        lines = [line.lower() for line in head.split(b"\r\n")]
        if b" 200 " not in lines[0] + b" ":
            raise SystemExit(f"asked for a network of 16 values: {came[:500]!r}")
        sizes = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
        while len(body) < sum(sizes):
            body += self.socket.recv(1 << 16)
        return body

    def median_ms(self, request: bytes) -> float:
        took = []
        for _ in range(ASKED):
            begun = time.perf_counter()
            self.ask(request)
            took.append(time.perf_counter() - begun)
        return statistics.median(took) * 1e3


def requests(model: str) -> tuple[bytes, bytes]:
    """A question for health, and an inference of 16 values, in binary."""
    binary = {"name": "x", "shape": [1, 16], "datatype": "FP32"}
    binary["parameters"] = {"binary_data_size": 64}
    wanted = {"name": "y", "parameters": {"binary_data": True}}
    header = json.dumps({"inputs": [binary], "outputs": [wanted]}).encode()
    body = header + bytes(64)
    lines = [
        f"POST /v2/models/{model}/infer HTTP/1.1",
        "Host: localhost",
        f"Inference-Header-Content-Length: {len(header)}",
        f"Content-Length: {len(body)}",
    ]
    infer = "\r\n".join([*lines, "", ""]).encode() + body
    return b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n", infer


def ask(server: Server, model: str) -> Asked:
    """Asks both in turn."""
    health, infer = requests(model)
    connection = Connection(server.http)
    rounds = [(connection.median_ms(health), connection.median_ms(infer)) for _ in range(ROUNDS)]
    healths, infers = zip(*rounds)
    return Asked(statistics.median(healths), statistics.median(infers))
