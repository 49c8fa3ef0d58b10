"""The steps that a request waited for one after another, as the server's traces tell them, against its latency."""

import threading
from dataclasses import dataclass

from .client import Client, floats
from .collector import Collector, Span
from .servers import Server

CLIENTS = 4
ASKED = 50


@dataclass
class CriticalPath:
    """Of a call: nanoseconds of the parts of the path, from when its first step could run to the end of its last, and
    of the whole call."""

    parts: int
    within: int
    call: int

    @property
    def off(self) -> float:
        return abs(self.parts - self.within) / self.within


def ask(server: Server, collector: Collector, model: str, shape: list[int], count: int) -> list[CriticalPath]:
    """Asks by some clients at once; returns the path of each call."""
    tensor = floats(shape, [float(at * 7 % 17) for at in range(count)])

    def asks() -> None:
        client = Client(server)
        for _ in range(ASKED):
            client.infer(model, tensor)

    clients = [threading.Thread(target=asks) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    calls = collector.calls(f"POST /v2/models/{model}/infer", CLIENTS * ASKED)
    return [of_call(call) for call in calls]


def of_call(spans: list[Span]) -> CriticalPath:
    """Goes back from the step that ended last, each time to the one that ended last before it could run."""
    call, *steps = spans
    at = max(steps, key=lambda step: step.end)
    end, parts = at.end, 0
    while True:
        # What a step took is its wait, its copies and its computing, each measured by itself.
        parts += at.ns
        before = [step for step in steps if step.end <= at.start and step.start < at.start]
        if not before:
            return CriticalPath(parts, end - at.start, call.ns)
        at = max(before, key=lambda step: step.end)
