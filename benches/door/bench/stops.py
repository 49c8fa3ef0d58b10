"""Servers that are stopped while clients ask, and connections that are held open: what it costs the others."""

import json
import os
import resource
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

from .attack import request, BODY
from .servers import Server

CLIENTS, HELD = 24, 8192

# Large requests, and their rows and values a row.
LARGE, ROWS, WIDE = 32, 15, 1 << 20

# The first bytes of HTTP/2, and an empty frame of settings.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + struct.pack(">HBBBI", 0, 0, 4, 0, 0)


@dataclass
class Stop:
    """Requests that were answered and that were lost, of each stop, and the seconds that the stop took."""

    answered: int = 0
    lost: int = 0
    seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


def ask_until_the_last(server: Server, stop: Stop) -> None:
    """Asks on one connection, one request after another, until an answer says that it is the last."""
    answered, lost, last = 0, 0, False
    with socket.create_connection(("127.0.0.1", server.http)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not last and not lost:
            try:
                client.sendall(request(BODY))
                answer = client.recv(65536)
            except OSError:
                answer = b""
            answered += answer.startswith(b"HTTP/1.1 200")
            lost += not answer.startswith(b"HTTP/1.1 200")
            last = b"connection: close" in answer.lower()
    with stop.lock:
        stop.answered += answered
        stop.lost += lost


def stopped(server: Server, how: int = signal.SIGTERM) -> Stop:
    """Stops a server while clients ask as fast as they can."""
    stop = Stop()
    clients = [threading.Thread(target=ask_until_the_last, args=(server, stop)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(0.5)
    began = time.monotonic()
    os.kill(server.process.pid, how)
    for client in clients:
        client.join()
    server.process.wait()
    stop.seconds = time.monotonic() - began
    return stop


def live(server: Server) -> float:
    """Asks over HTTP whether the server is alive, by a new connection; returns the seconds."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.http)) as client:
        client.sendall(b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = client.recv(65536)
    if not answer.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"not answered: {answer[:200]!r}")
    return time.monotonic() - began


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def literal(name: bytes, value: bytes) -> bytes:
    """A header of HTTP/2 that nobody is to remember."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def live_by_grpc(server: Server) -> float:
    """The same over gRPC."""
    path = b"/inference.GRPCInferenceService/ServerLive"
    head = b"\x83\x86" + literal(b":path", path) + literal(b":authority", b"x")
    head += literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers")
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.grpc)) as client:
        client.settimeout(60)
        client.sendall(PREFACE + frame(1, 4, 1, head) + frame(0, 1, 1, b"\0" * 5))
        answer = b""
        # The one message of the answer: `live` is true. It may come in several frames.
        while data_of(answer) != b"\0\0\0\0\x02\x08\x01":
            more = client.recv(65536)
            if not more:
                raise SystemExit(f"not answered: {answer[:200]!r}")
            answer += more
    return time.monotonic() - began


def data_of(answer: bytes) -> bytes:
    """Returns the data of all whole frames of HTTP/2 in an answer."""
    data = b""
    while len(answer) >= 9:
        length, kind = int.from_bytes(answer[:3], "big"), answer[3]
        if kind == 0:
            data += answer[9 : 9 + length]
        answer = answer[9 + length :]
    return data


def beside_silent_ones(server: Server, address: int, ask) -> float:
    """Holds silent connections open, as many as the server takes; returns the seconds of a newcomer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, HELD + 1000), hard))
    held = [socket.create_connection(("127.0.0.1", address)) for _ in range(HELD)]
    try:
        return max(ask(server) for _ in range(20))
    finally:
        for client in held:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def large_requests(model: str) -> list[bytes]:
    """Requests of 60 MB to an identity, as JSON and as binary data."""
    tensor = {"name": "x", "datatype": "FP32", "shape": [ROWS, WIDE]}
    written = json.dumps({**tensor, "data": [0]}).encode().replace(b"[0]", b"[" + b"0.5," * (ROWS * WIDE - 1) + b"0.5]")
    size = 4 * ROWS * WIDE
    binary = {**tensor, "parameters": {"binary_data_size": size}}
    head = json.dumps({"inputs": [binary], "parameters": {"binary_data_output": True}}).encode()
    length = f"inference-header-content-length: {len(head)}"
    bodies = [(b'{"inputs":[' + written + b"]}", []), (head + bytes(size), [length])]
    asked = []
    for body, headers in bodies:
        lines = [f"POST /v2/models/{model}/infer HTTP/1.1", "host: x", "connection: close"]
        lines += [f"content-length: {len(body)}", *headers, "", ""]
        asked.append("\r\n".join(lines).encode() + body)
    return asked


def kept_after_large_bodies(server: Server, model: str) -> tuple[float, float]:
    """Sends large requests, four at once. Returns the server's memory in MB before, and five seconds after the
    last answer."""
    before, all = server.memory_mb(), large_requests(model)
    for turn in range(LARGE // 4):
        asked = all[turn % len(all)]
        clients = [threading.Thread(target=ask_once, args=(server, asked)) for _ in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    time.sleep(5)
    return before, server.memory_mb()


def ask_once(server: Server, asked: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.http)) as client:
        client.sendall(asked)
        answer = client.recv(1 << 20)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"not answered: {answer[:200]!r}")
        while client.recv(1 << 20):
            pass
