"""A client that asks for little while others send large JSON, one request after another."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

from . import attack
from .servers import Server

CLIENTS, ROWS, ASKED = 4, 2048, 3000

# Each is a process of its own, so that none of them waits for the client that is measured.
CLIENT = """
import re, socket, sys
asked = sys.stdin.buffer.read()
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    client.sendall(asked)
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += client.recv(1 << 16)
    head, body = head.split(b"\\r\\n\\r\\n", 1)
    left = int(re.search(rb"content-length: ([0-9]+)", head).group(1)) - len(body)
    while left > 0:
        left -= len(client.recv(1 << 18))
"""


@dataclass
class Beside:
    """Milliseconds of the requests before and beside the others."""

    before: list[float]
    beside: list[float]


def ask(server: Server) -> Beside:
    attack.ask(server, attack.ASKED)
    before = attack.ask(server, ASKED)
    with large(server):
        return Beside(before, attack.ask(server, ASKED))


@contextmanager
def large(server: Server):
    tensor = {**attack.ROW, "shape": [ROWS, 16], "data": [0.5] * (16 * ROWS)}
    asked = attack.request(json.dumps({"inputs": [tensor]}).encode())
    clients = [started(server, asked) for _ in range(CLIENTS)]
    try:
        time.sleep(1)
        yield
    finally:
        for client in clients:
            client.kill()
            client.wait()


def started(server: Server, asked: bytes) -> subprocess.Popen:
    command = [sys.executable, "-c", CLIENT, str(server.http)]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client.stdin.write(asked)
    client.stdin.close()
    return client
