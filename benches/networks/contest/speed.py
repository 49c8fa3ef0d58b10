"""Speed: contestants take turns, so that what the machine does meanwhile meets all alike."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import numpy as np

from contest import answers, instructions
from contest.answers import Apart
from contest.bench import Bench
from contest.catalogue import Network
from contest.child import Child
from contest.prepare import Files

# Of one turn; fewer have no median worth the name.
LEAST_BATCHES = 3
RIVALS = ("ort", "openvino")


@dataclass(frozen=True)
class Setting:
    threads: int
    batch: int

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{threads}, batch {self.batch}"


@dataclass
class Speed:
    """Seconds a batch of each contestant, by round and within it, how answers differ, and the
    ratio that is to be reached."""

    network: Network
    setting: Setting
    variants: dict[str, str]
    rounds: dict[str, list[list[float]]]
    apart: Apart
    bar: float

    def seconds(self, name: str) -> float:
        """The median of all batches of all rounds."""
        return median(second for batches in self.rounds[name] for second in batches)

    def least(self, name: str) -> float:
        return min(second for batches in self.rounds[name] for second in batches)

    @property
    def faster(self) -> str | None:
        """The faster of ONNX Runtime and OpenVINO, of those that took part."""
        rivals = [name for name in RIVALS if name in self.rounds]
        return min(rivals, key=self.seconds, default=None)

    @property
    def ratios(self) -> list[float]:
        """Our speed over the faster's, one for each round; empty without us or rivals."""
        if "ours" not in self.rounds or self.faster is None:
            return []
        pairs = zip(self.rounds["ours"], self.rounds[self.faster])
        return [median(theirs) / median(own) for own, theirs in pairs]

    @property
    def ratio(self) -> float | None:
        return median(self.ratios) if self.ratios else None


def measure(bench: Bench, files: Files, setting: Setting) -> Speed:
    """All contestants loaded once, then turn after turn."""
    names = bench.asked.contestants
    cores = bench.cores[: setting.threads]
    with ExitStack() as stack:
        load = files.of_load(setting.batch, cores, choose=not bench.asked.quick)
        started = [stack.enter_context(bench.child(name, cores)) for name in names]
        loaded = {child: child.try_load(load) for child in started}
        children = [child for child in started if loaded[child]]
        variants = {child.name: loaded[child]["variant"] for child in children}
        apart = compare(bench, children, files, setting.batch)
        rounds = alternate(children, bench.asked.rounds, bench.asked.seconds)
    bar = files.network.bar(files.precision)
    return Speed(files.network, setting, variants, rounds, apart, bar)


def alternate(children: list[Child], rounds: int, seconds: float) -> dict[str, list[list[float]]]:
    """Turns of all in each round, every other round in the opposite order."""
    times = {child.name: [] for child in children}
    for number in range(rounds):
        for child in children if number % 2 == 0 else reversed(children):
            answer = child.ask("run", seconds=seconds, least=LEAST_BATCHES)
            times[child.name].append(answer["batches"])
    return times


def compare(bench: Bench, children: list[Child], files: Files, batch: int) -> Apart:
    """How far the answers to the same input are apart."""
    given = {child.name: answer(child, files) for child in children}
    if files.precision == "f32":
        return answers.among(given)
    reference = given["ort"] if "ort" in given else reference_answer(bench, files, batch)
    if files.precision == "bf16":
        return answers.from_float32(given, reference)
    scale = answers.step(files.quantised, reference)
    return answers.in_steps(given, reference, scale)


def answer(child: Child, files: Files) -> np.ndarray:
    path = files.answer(child.name)
    child.ask("answer", output=path)
    return np.load(path)


def reference_answer(bench: Bench, files: Files, batch: int) -> np.ndarray:
    """ONNX Runtime's, where it takes no part itself: by all instructions of the processor."""
    environment = instructions.told_nothing(dict(os.environ))
    with bench.child("ort", bench.cores, environment) as child:
        child.ask("load", **files.of_load(batch, bench.cores, choose=False))
        return answer(child, files)
