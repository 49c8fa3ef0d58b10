"""A client of a few lines, over HTTP, on one connection."""

import http.client
import json
import time
from dataclasses import dataclass

from .servers import Server

PATIENCE = 60


@dataclass
class Answer:
    """`ms` passed from when it was asked for."""

    status: int
    body: dict
    ms: float


class Client:
    def __init__(self, server: Server):
        self.server = server
        self.connection = self.connected()

    def connected(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.http, timeout=PATIENCE)

    def post(self, path: str, body: dict) -> Answer:
        text = json.dumps(body).encode()
        begun = time.perf_counter()
        self.connection.request("POST", path, text)
        answer = self.connection.getresponse()
        came = answer.read()
        ms = (time.perf_counter() - begun) * 1e3
        return Answer(answer.status, json.loads(came) if came else {}, ms)

    def infer(self, model: str, tensor: dict, **more) -> Answer:
        return self.post(f"/v2/models/{model}/infer", {"inputs": [tensor], **more})

    def metric(self, name: str, **labels: str) -> float:
        """Returns the sum of a metric over what has the labels."""
        # Of its own: the server closes connections that were idle.
        asked = self.connected()
        asked.request("GET", "/metrics")
        lines = asked.getresponse().read().decode().splitlines()
        asked.close()
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        is_it = lambda line: line.startswith(name + "{") and all(one in line for one in wanted)
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if is_it(line))


def floats(shape: list[int], data: list[float], name: str = "input") -> dict:
    return {"name": name, "datatype": "FP32", "shape": shape, "data": data}
