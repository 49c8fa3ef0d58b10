"""A mean of two of three, of which one answers too late."""

import statistics
from dataclasses import dataclass

from . import slow
from .client import Client, floats
from .servers import Server

MODEL = "quorum"
STOPPED = "stopped"
WAIT_MS = 50
STOPPED_S = 1.0
ASKED = 100


@dataclass
class Quorum:
    """Milliseconds beyond the wait; and how many of the answers said who is missing."""

    median_ms: float
    slowest_ms: float
    told: int


def ask(server: Server) -> Quorum:
    client = Client(server)
    tensor = floats([1, slow.WIDTH], slow.ROW)
    answers = [client.infer(MODEL, tensor) for _ in range(ASKED)]
    wrong = [answer for answer in answers if answer.status != 200]
    if wrong:
        raise SystemExit(f"a quorum of two of three: {wrong[0]}")
    missing = [answer.body.get("parameters", {}).get("divisi_missing") for answer in answers]
    beyond = [answer.ms - WAIT_MS for answer in answers]
    return Quorum(statistics.median(beyond), max(beyond), missing.count(STOPPED))
