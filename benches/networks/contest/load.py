"""Load: from the start of a process to the first answer of a network with 100 MB of weights."""

import time
from dataclasses import dataclass
from statistics import median

from contest.bench import Bench
from contest.prepare import Files


@dataclass
class Load:
    """Seconds by contestant: of the whole process, and after it was ready to be asked."""

    threads: int
    whole: dict[str, float]
    asked: dict[str, float]


def measure(bench: Bench, files: Files, threads: int) -> Load:
    """Medians; contestants take turns and the files are in the system's cache."""
    cores = bench.cores[:threads]
    load = files.of_load(1, cores, choose=False)
    for path in (files.weights, files.model):
        path.read_bytes()
    times = {name: [] for name in bench.asked.contestants}
    for _ in range(bench.asked.rounds):
        for name in times:
            times[name].append(once(bench, name, cores, load))
    columns = {name: list(zip(*pairs)) for name, pairs in times.items()}
    whole = {name: median(pair[0]) for name, pair in columns.items()}
    asked = {name: median(pair[1]) for name, pair in columns.items()}
    return Load(threads, whole, asked)


def once(bench: Bench, name: str, cores: list[int], load: dict) -> tuple[float, float]:
    start = time.perf_counter()
    with bench.child(name, cores) as child:
        child.ask("memory")  # Answered once the libraries are there.
        ready = time.perf_counter()
        child.ask("load", **load)
        end = time.perf_counter()
    return end - start, end - ready
