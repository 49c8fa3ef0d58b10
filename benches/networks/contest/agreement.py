"""Agreement: many samples through the same int8 file, by others and by ONNX Runtime."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contest import answers, instructions
from contest.answers import Steps
from contest.bench import Bench
from contest.catalogue import Network
from contest.child import Child
from contest.prepare import Files, samples
from contest.speed import answer

BATCH = 8
# Of the samples: none of them said the ranges of values, nor is timed.
SEED = 23


@dataclass
class Agreement:
    """How answers lie beside ONNX Runtime's, by contestant. `classes` are the different
    arg-max of its answers: where there are few, equal arg-max say little."""

    network: Network
    inputs: int
    steps: dict[str, Steps]
    classes: int


def measure(bench: Bench, files: Files, inputs: int) -> Agreement:
    names = [name for name in bench.asked.contestants if name != "ort"]
    question = files.of_load(BATCH, bench.cores, choose=False)
    with ExitStack() as stack:
        reference, *others = [stack.enter_context(child(bench, name)) for name in ("ort", *names)]
        reference.ask("load", **question)
        others = [other for other in others if other.try_load(question)]
        return compared(files, reference, others, -(-inputs // BATCH))


def compared(files: Files, reference: Child, others: list[Child], batches: int) -> Agreement:
    steps = {other.name: Steps() for other in others}
    seen, scale = set(), None
    taken = files.folder / "agreement.npy"
    for number in range(batches):
        np.save(taken, samples(files.network, BATCH, SEED + number))
        expected = answered(reference, files, taken)
        scale = scale or answers.step(files.quantised, expected)
        seen.update(expected.argmax(axis=-1).ravel().tolist())
        for other in others:
            given = Steps.of(answered(other, files, taken), expected, scale)
            steps[other.name] = steps[other.name].plus(given)
    return Agreement(files.network, batches * BATCH, steps, len(seen))


def child(bench: Bench, name: str) -> Child:
    """ONNX Runtime computes with all instructions, whatever the others are held to."""
    environment = instructions.told_nothing(dict(os.environ)) if name == "ort" else None
    return bench.child(name, bench.cores, environment)


def answered(child: Child, files: Files, taken: Path) -> np.ndarray:
    child.ask("take", input=taken)
    return answer(child, files)
