"""Requests that nobody waits for any more in the middle of a step that takes a second: their deadline has passed, or
their client is gone."""

import json
import socket
import time
from dataclasses import dataclass

from . import slow
from .client import Client, floats
from .servers import Server

MODEL = "chain"
STEP_S = 1.0
DEADLINE_MS = 50
TURNS = 8

# The step has begun by then, and has ended by then.
WITHIN_S, AFTER_S = 0.2, 1.5

TENSOR = floats([1, slow.WIDTH], slow.ROW)


@dataclass
class Late:
    """What the requests were answered, the slowest of which took so long; and the rows that each step ran."""

    statuses: set[int]
    slowest_ms: float
    first: int
    later: int


def rows(client: Client, step: str) -> int:
    return int(client.metric("divisi_step_rows_total", step=step))


def check_that_steps_are_counted(client: Client) -> None:
    """A request that somebody waits for runs both steps."""
    answer = client.infer(MODEL, TENSOR)
    ran = [rows(client, step) for step in ["first", "later"]]
    if answer.status != 200 or ran != [1, 1] or answer.ms < STEP_S * 1e3:
        raise SystemExit(f"a step of {STEP_S} s: {answer}, rows {ran}")


def deadlines(server: Server) -> Late:
    client = Client(server)
    check_that_steps_are_counted(client)
    answers = []
    for _ in range(TURNS):
        answers.append(client.infer(MODEL, TENSOR, parameters={"timeout": DEADLINE_MS * 1000}))
        time.sleep(AFTER_S)
    slowest = max(answer.ms for answer in answers)
    ran = [rows(client, step) - 1 for step in ["first", "later"]]
    return Late({answer.status for answer in answers}, slowest, *ran)


def clients_gone(server: Server) -> Late:
    client = Client(server)
    check_that_steps_are_counted(client)
    body = json.dumps({"inputs": [TENSOR]}).encode()
    head = f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    for _ in range(TURNS):
        with socket.create_connection(("127.0.0.1", server.http)) as gone:
            gone.sendall(head.encode() + body)
            time.sleep(WITHIN_S)
        time.sleep(AFTER_S)
    ran = [rows(client, step) - 1 for step in ["first", "later"]]
    return Late(set(), 0.0, *ran)
