"""Clients that mean harm or do not care, while another one asks as it should."""

import json
import resource
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from .servers import Server

PATH = "/v2/models/empty/infer"
ROW = {"name": "x", "datatype": "FP32", "shape": [1, 16], "data": [0.0] * 16}
BODY = json.dumps({"inputs": [ROW]}).encode()
ASKED = 2000


@dataclass
class Seen:
    """Memory over that of before, and the latency of the client that asks as it should."""

    memory_mb: float
    p99_before_ms: float
    p99_ms: float


@dataclass
class Attack:
    """So many connections, each of which `begin`s and then does as `goes_on` says."""

    name: str
    count: int
    begin: Callable[[socket.socket], None]
    goes_on: Callable[[socket.socket], None] | None = None
    aim: str = "≤ 300 MB, ≤ 1.5 ×"


def request(body: bytes, *headers: str) -> bytes:
    head = [f"POST {PATH} HTTP/1.1", "host: x", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


def nothing(_: socket.socket) -> None:
    pass


def send(text: bytes) -> Callable[[socket.socket], None]:
    return lambda client: client.sendall(text)


def large_answers(client: socket.socket) -> None:
    """Asks for much, again and again, and reads none of it."""
    rows = 4096
    tensor = {**ROW, "shape": [rows, 16], "data": [0.5] * (16 * rows)}
    asked = request(json.dumps({"inputs": [tensor]}).encode())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            client.send(asked)


HEAD = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 1073741824\r\n\r\n".encode()

ATTACKS = [
    Attack("connections that are idle", 5000, nothing),
    Attack("senders of a byte a second", 500, send(request(BODY)[:20]), send(b"x")),
    Attack("readers who do not read", 200, large_answers),
    Attack("claims of 1 GB in a header", 200, send(HEAD)),
]


def percentile(latencies: list[float], share: float) -> float:
    return sorted(latencies)[int(len(latencies) * share)] * 1e3


def ask(server: Server, times: int) -> list[float]:
    """Asks one after another by one connection; returns seconds a request."""
    latencies = []
    with socket.create_connection(("127.0.0.1", server.http)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(times):
            began = time.perf_counter()
            client.sendall(request(BODY))
            answer = client.recv(65536)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"not answered: {answer[:200]!r}")
            latencies.append(time.perf_counter() - began)
    return latencies


def run(server: Server, attack: Attack) -> Seen:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, attack.count + 1000), hard))
    ask(server, ASKED)
    before, memory = percentile(ask(server, ASKED), 0.99), server.memory_mb()
    clients = [socket.create_connection(("127.0.0.1", server.http)) for _ in range(attack.count)]
    ended = threading.Event()
    try:
        for client in clients:
            with suppress(OSError):
                attack.begin(client)
        goes_on = threading.Thread(target=keep_on, args=(attack, clients, ended))
        goes_on.start()
        during = percentile(ask(server, ASKED), 0.99)
        most = server.memory_mb()
        ended.set()
        goes_on.join()
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return Seen(max(most - memory, 0.0), before, during)


def keep_on(attack: Attack, clients: list[socket.socket], ended: threading.Event) -> None:
    while attack.goes_on and not ended.wait(1):
        for client in clients:
            with suppress(OSError):
                attack.goes_on(client)
