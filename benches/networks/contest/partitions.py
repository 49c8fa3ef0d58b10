"""Partitions: two networks at once on a core each, against each of them alone.

Ours are in one process, as the engine has them. The same of ONNX Runtime, in two
processes, says what sharing cache and memory costs whoever computes.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from contest.bench import Bench
from contest.prepare import Files

BATCH = 8
# Several batches of the slowest, so that most of a turn has both running.
SECONDS = 4.0


@dataclass
class Pair:
    """Of two networks: speed beside the other over speed alone, by contestant."""

    networks: tuple[str, str]
    kept: dict[str, list[float]]


def measure(bench: Bench, pair: tuple[Files, Files]) -> Pair:
    kept = {}
    turn = {"seconds": min(SECONDS, 8 * bench.asked.seconds), "least": 2}
    if "ours" in bench.asked.contestants:
        kept["ours"] = in_one_process(bench, pair, turn)
    if "ort" in bench.asked.contestants:
        kept["ort"] = in_two_processes(bench, pair, turn)
    return Pair(tuple(files.network.name for files in pair), kept)


def in_one_process(bench: Bench, pair: tuple[Files, Files], turn: dict) -> list[float]:
    with bench.child("ours", bench.cores[:2]) as child:
        for files, core in zip(pair, bench.cores):
            child.ask("load", **files.of_load(BATCH, [core], choose=False))

        def run(*networks: int) -> list[list[float]]:
            return child.ask("beside", networks=networks, **turn)["batches"]

        rounds = range(bench.asked.rounds)
        return combined([kept([run(0)[0], run(1)[0]], run(0, 1)) for _ in rounds])


def in_two_processes(bench: Bench, pair: tuple[Files, Files], turn: dict) -> list[float]:
    with ExitStack() as stack:
        children = [stack.enter_context(bench.child("ort", [core])) for core in bench.cores[:2]]
        for child, files, core in zip(children, pair, bench.cores):
            child.ask("load", **files.of_load(BATCH, [core], choose=False))

        def together() -> list[list[float]]:
            for child in children:
                child.send("run", **turn)
            return [child.receive()["batches"] for child in children]

        def alone() -> list[list[float]]:
            return [child.ask("run", **turn)["batches"] for child in children]

        return combined([kept(alone(), together()) for _ in range(bench.asked.rounds)])


def kept(alone: list[list[float]], together: list[list[float]]) -> list[float]:
    return [median(a) / median(t) for a, t in zip(alone, together)]


def combined(rounds: list[list[float]]) -> list[float]:
    """The median over rounds, for each network."""
    return [median(column) for column in zip(*rounds)]
