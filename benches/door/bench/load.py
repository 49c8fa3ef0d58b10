"""Load by perf_analyzer, Triton's own client, the same for both servers."""

import csv
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .servers import Server


@dataclass
class Load:
    """How a model is asked."""

    model: str
    protocol: str = "http"
    clients: int = 1
    batch: int = 1


@dataclass
class Measured:
    """Requests a second, latencies in microseconds, and seconds a request: of the server's CPU, and within
    the server by its own statistics."""

    rate: float
    p50: float
    p99: float
    cpu: float
    inside: float


class PerfAnalyzer:
    def __init__(self, program: Path, seconds: float, work: Path):
        self.program, self.seconds, self.work = program, seconds, work

    def ask(self, server: Server, load: Load) -> Measured:
        report = self.work / "report.csv"
        report.unlink(missing_ok=True)
        command = [self.program, "-m", load.model, "-u", server.address(load.protocol)]
        command += ["-i", load.protocol, "-b", load.batch, "-f", report, "-r", 3, "-s", 999]
        command += ["--concurrency-range", f"{load.clients}:{load.clients}"]
        command += ["-p", int(self.seconds * 1000), "--input-data", "zero"]
        cpu_before, before = server.cpu_seconds(), answered(server, load.model)
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode or not report.exists():
            raise SystemExit(f"perf_analyzer: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        cpu, after = server.cpu_seconds() - cpu_before, answered(server, load.model)
        asked = max(after["count"] - before["count"], 1)
        row = next(csv.DictReader(report.open()))
        return Measured(
            rate=float(row["Inferences/Second"]) / load.batch,
            p50=float(row["p50 latency"]),
            p99=float(row["p99 latency"]),
            cpu=cpu / asked,
            inside=(after["ns"] - before["ns"]) / asked / 1e9,
        )


def answered(server: Server, model: str) -> dict[str, int]:
    """Requests that a server says it answered, and the nanoseconds that it says they took."""
    import json
    import urllib.request

    url = f"http://{server.address('http')}/v2/models/{model}/stats"
    stats = json.load(urllib.request.urlopen(url, timeout=30))["model_stats"]
    successes = [one["inference_stats"]["success"] for one in stats]
    return {name: sum(one[name] for one in successes) for name in ["count", "ns"]}
