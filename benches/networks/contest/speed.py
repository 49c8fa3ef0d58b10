"""Speed: contestants take turns, so that what the machine does meanwhile meets all alike."""

from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

import numpy as np

from contest.bench import Bench
from contest.catalogue import Network
from contest.child import Child
from contest.prepare import Files

# Of one turn; fewer have no median worth the name.
LEAST_BATCHES = 3
# The largest difference of two answers over the largest absolute value of them.
TOLERANCE = 1e-4
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
    """Seconds a batch of each contestant, by round and within it, and how answers differ."""

    network: Network
    setting: Setting
    variants: dict[str, str]
    rounds: dict[str, list[list[float]]]
    difference: float

    @property
    def agrees(self) -> bool:
        # Also false for what is not a number.
        return self.difference <= TOLERANCE

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
        children = [stack.enter_context(bench.child(name, cores)) for name in names]
        variants = {}
        for child in children:
            load = files.of_load(setting.batch, cores, choose=not bench.asked.quick)
            variants[child.name] = child.ask("load", **load)["variant"]
        difference = disagreement(children, files)
        rounds = alternate(children, bench.asked.rounds, bench.asked.seconds)
    return Speed(files.network, setting, variants, rounds, difference)


def alternate(children: list[Child], rounds: int, seconds: float) -> dict[str, list[list[float]]]:
    """Turns of all in each round, every other round in the opposite order."""
    times = {child.name: [] for child in children}
    for number in range(rounds):
        for child in children if number % 2 == 0 else reversed(children):
            answer = child.ask("run", seconds=seconds, least=LEAST_BATCHES)
            times[child.name].append(answer["batches"])
    return times


def disagreement(children: list[Child], files: Files) -> float:
    """The largest difference of any two answers, over the largest absolute logit."""
    answers = []
    for child in children:
        path = files.answer(child.name)
        child.ask("answer", output=path)
        answers.append(np.load(path))
    stacked = np.stack(answers)
    spread = stacked.max(axis=0) - stacked.min(axis=0)
    return float(spread.max() / np.abs(stacked).max())
