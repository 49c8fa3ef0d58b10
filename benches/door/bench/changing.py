"""Models loaded, unloaded and replaced by newer versions through the protocol while perf_analyzer asks one of them, and
checks each answer."""

import itertools
import json
import shutil
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import models, onnx_file
from .client import Client
from .servers import Server

ASKED, OTHER, PIPELINE = "asked", "other", "both"
WIDTH = 16
# The asked one's file has changed, and keeps its version: perf_analyzer asks for the statistics of the one it found.
CYCLE = [(ASKED, "load"), (OTHER, "load"), (PIPELINE, "unload"), (OTHER, "unload"), (OTHER, "load"), (PIPELINE, "load")]
CLIENTS = 2
CHANGES = 10_000
# Of one run of perf_analyzer; runs follow each other until all changes are made.
REQUESTS = 50_000


@dataclass
class Answers:
    """Milliseconds of each request, and between one answer and the next; requests not answered exactly once."""

    latencies: list[float]
    gaps: list[float]
    not_once: int

    def add(self, more: "Answers") -> None:
        self.latencies += more.latencies
        self.gaps += more.gaps
        self.not_once += more.not_once

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.latencies, n=100)[-1]


@dataclass
class Changed:
    """Before and while so many changes were made; a client that is refused or answered wrongly ends the run."""

    changes: int
    quiet: Answers
    during: Answers


def repository(folder: Path) -> list[str]:
    """Two models and a pipeline of both; returns how they are served."""
    for name in [ASKED, OTHER]:
        version(folder, name, 1)
    steps = [(ASKED, {"x": "input"}, "a"), (OTHER, {"x": "a"}, "y")]
    models.ensemble(folder, PIPELINE, [WIDTH], steps)
    names = [("--load-model", name) for name in [ASKED, OTHER, PIPELINE]]
    return ["--model-control", "explicit", *itertools.chain(*names)]


def version(folder: Path, name: str, number: int, graph: str = "network") -> None:
    place = folder / name / str(number)
    place.mkdir(parents=True, exist_ok=True)
    (place / "model.onnx").write_bytes(onnx_file.identity(WIDTH, graph))


def changes(folder: Path):
    """What is asked of the server, without end."""
    for number in itertools.count(2):
        version(folder, ASKED, 1, f"network-{number}")
        version(folder, OTHER, number)
        shutil.rmtree(folder / OTHER / str(number - 1))
        for model, what in CYCLE:
            yield f"{model}/{what}"


class Asking:
    """perf_analyzer on the model; its answers are compared with what they must be."""

    def __init__(self, program: Path, server: Server, work: Path):
        row = {"content": [float(at) for at in range(WIDTH)], "shape": [WIDTH]}
        data, self.report = work / "changes.json", work / "requests.json"
        data.write_text(json.dumps({"data": [{"x": row}], "validation_data": [{"y": row}]}))
        command = [program, "-m", ASKED, "-u", server.address("grpc"), "-i", "grpc", "--input-data", data]
        command += ["--concurrency-range", f"{CLIENTS}:{CLIENTS}", "--request-count", REQUESTS]
        self.command = [*map(str, command), "--profile-export-file", str(self.report)]

    def once(self) -> Answers:
        self.report.unlink(missing_ok=True)
        done = subprocess.run(self.command, capture_output=True, text=True)
        if done.returncode or "had error" in done.stdout + done.stderr:
            raise SystemExit(f"perf_analyzer: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return read(json.loads(self.report.read_text())["experiments"][0]["requests"])


def read(requests: list[dict]) -> Answers:
    once = [one for one in requests if len(one["response_timestamps"]) == 1]
    answered = sorted(one["response_timestamps"][0] for one in once)
    latencies = [(one["response_timestamps"][0] - one["timestamp"]) / 1e6 for one in once]
    gaps = [(later - earlier) / 1e6 for earlier, later in itertools.pairwise(answered)]
    return Answers(latencies, gaps, REQUESTS - len(once))


def ask(server: Server, program: Path, folder: Path, work: Path) -> Changed:
    asking, client = Asking(program, server, work), Client(server)
    quiet = asking.once()
    to_make, made, during = changes(folder), 0, Answers([], [], 0)
    with ThreadPoolExecutor(1) as turns:
        while made < CHANGES:
            turn = turns.submit(asking.once)
            while not turn.done():
                change(client, next(to_make))
                made += 1
            during.add(turn.result())
    return Changed(made, quiet, during)


def change(client: Client, what: str) -> None:
    answer = client.post(f"/v2/repository/models/{what}", {})
    if answer.status != 200:
        raise SystemExit(f"{what}: {answer}")
