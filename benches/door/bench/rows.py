"""The rows of the page: what is measured, on which servers, and what is to be reached."""

import json
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from . import added, attack, models, servers
from .load import Load, PerfAnalyzer


@dataclass
class Bench:
    """The programs and folders of a run."""

    divisi: Path
    triton: Path | None
    load: PerfAnalyzer | None
    turns: int
    root: Path
    work: Path
    serves: dict[str, Path] = field(default_factory=dict)
    matrices: dict[str, Path] = field(default_factory=dict)
    repository: Path | None = None

    def prepare(self) -> None:
        digits = self.root / "sample_ensembles" / "digits-onnx"
        self.serves = models.divisi(self.work / "divisi", digits)
        if self.triton:
            self.repository = models.triton(self.work / "triton", digits)

    def allocate(self, model: str) -> None:
        """Searches the matrix by which a model is served."""
        matrix = self.work / f"{model}.matrix.toml"
        command = [self.divisi, "allocate", self.serves[model], "--evaluator", "model"]
        run([*command, "--no-cache", "--output", matrix])
        self.matrices[model] = matrix

    def both(self, model: str, ask) -> dict[str, list]:
        """Asks both servers in turn, each the only one that runs."""
        found = {"divisi": [], "triton": []}
        matrix = self.matrices.get(model)
        more = ["--matrix", matrix] if matrix else []
        for _ in range(self.turns):
            with servers.divisi(self.divisi, self.serves[model], self.work, *more) as server:
                found["divisi"].append(ask(server))
            if self.repository:
                with servers.triton(self.triton, self.repository, self.work) as server:
                    found["triton"].append(ask(server))
        return found


def run(command: list) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return done.stdout


@dataclass
class Row:
    """A line of the page."""

    what: str
    ours: str
    theirs: str
    ratio: str
    aim: str


def median(measured: list, name: str) -> float | None:
    values = [getattr(one, name) for one in measured]
    return statistics.median(values) if values else None


def row(found: dict[str, list], name: str, unit: str, scale: float, what: str, aim: str) -> Row:
    ours, theirs = (median(found[who], name) for who in ["divisi", "triton"])
    told = lambda value: "–" if value is None else f"{value * scale:.3g} {unit}"
    ratio = f"{ours / theirs:.2f}" if theirs else "–"
    return Row(what, told(ours), told(theirs), ratio, aim)


def compared(bench: Bench, load: Load, name: str, unit: str, scale: float, what: str, aim: str):
    found = bench.both(load.model, lambda server: bench.load.ask(server, load))
    return row(found, name, unit, scale, what, aim)


def empty(bench: Bench) -> list[Row]:
    rows = []
    for protocol, aim in [("grpc", "≤ 0.10 ms"), ("http", "≤ 0.12 ms")]:
        load = Load("empty", protocol)
        found = bench.both("empty", lambda server: bench.load.ask(server, load))
        what = f"one empty model, one client, {protocol}: "
        seen = "p50 seen by perf_analyzer, its own time included"
        rows.append(row(found, "p50", "ms", 1e-3, what + seen, ""))
        rows.append(row(found, "inside", "ms", 1e3, what + "mean within the server", aim))
    for clients in [1, 8]:
        what = f"one empty model, {clients} client(s), grpc: the most that client and server do on these cores"
        rows.append(compared(bench, Load("empty", "grpc", clients), "rate", "/s", 1, what, ""))
    found = bench.both("empty", lambda server: added.ask(server, "empty"))
    what = "the same over HTTP, by a client of a few lines: p50 of "
    rows.append(row(found, "health", "ms", 1, what + "a question for health", ""))
    rows.append(row(found, "infer", "ms", 1, what + "an inference", ""))
    return rows


def chain(bench: Bench) -> list[Row]:
    what = "two identities and a mean, 8 clients, gRPC"
    return [compared(bench, Load("chain", "grpc", 8), "rate", "/s", 1, what, "≥ 4 ×")]


def cnns(bench: Bench) -> list[Row]:
    bench.allocate("cnns")
    loads = [Load("cnns", "grpc", clients) for clients in [1, 8]]
    what = "three small CNNs and their mean, {} client(s), gRPC"
    return [
        *(compared(bench, load, "rate", "/s", 1, what.format(load.clients), "≥ 5 ×") for load in loads),
        networks_alone(bench),
    ]


def networks_alone(bench: Bench) -> Row:
    """The time of the three CNNs themselves, which no door can save."""
    times = []
    for name in models.CNNS:
        file = bench.serves["cnns"] / f"{name}.onnx"
        command = [bench.divisi, "network", "bench", file, "--batch", "1", "--threads", "1"]
        measured = run([*command, "--duration", f"{bench.load.seconds}s", "--format", "json"])
        times.append(json.loads(measured)["ms_per_batch"])
    what = "the three CNNs alone, a sample on one core: one after another; the slowest"
    return Row(what, f"{sum(times):.3f} ms; {max(times):.3f} ms", "–", "–", "")


def images(bench: Bench) -> list[Row]:
    """CPU time of the server a GB of requests of 4.8 MB."""
    load = Load("image", "grpc", 2, 8)
    size = 8 * 3 * 224 * 224 * 4 / 1e9
    what = "8 images of 224², 4.8 MB: the server's CPU a GB"
    return [compared(bench, load, "cpu", "s", 1 / size, what, "≤ 0.6 ×")]


def digits(bench: Bench) -> list[Row]:
    """The digits over the network against the same clients in the engine's process."""
    samples = 32
    rates = {"inside": [], "outside": []}
    for _ in range(bench.turns):
        command = [bench.divisi, "bench", "digits", "--load", f"closed:32x{samples}"]
        command += ["--samples", "8192", "--runs", "1", "--format", "json"]
        rates["inside"].append(json.loads(run(command))["samples_per_s"])
        with servers.divisi(bench.divisi, Path("digits"), bench.work) as server:
            measured = bench.load.ask(server, Load("digits", "grpc", 32, samples))
            rates["outside"].append(measured.rate * samples)
    inside, outside = (statistics.median(rates[where]) for where in ["inside", "outside"])
    what = f"the digits through the door, 32 clients of {samples} samples, over in process"
    told = [f"{outside:.0f} samples/s", f"{inside:.0f} samples/s (in process)"]
    return [Row(what, *told, f"{outside / inside:.2f}", "≥ 0.9")]


def attacks(bench: Bench) -> list[Row]:
    """Each attack on a server of its own, while somebody else asks."""
    rows = []
    for kind in attack.ATTACKS:
        with servers.divisi(bench.divisi, bench.serves["empty"], bench.work) as server:
            seen = attack.run(server, kind)
        what = f"{kind.count} × {kind.name}"
        ours = f"+{seen.memory_mb:.0f} MB, p99 {seen.p99_ms:.2f} ms"
        theirs = f"p99 {seen.p99_before_ms:.2f} ms before"
        rows.append(Row(what, ours, theirs, f"{seen.p99_ms / seen.p99_before_ms:.2f}", kind.aim))
    return rows


ROWS = {
    "empty": empty,
    "chain": chain,
    "cnns": cnns,
    "images": images,
    "digits": digits,
    "attacks": attacks,
}
