"""The lines between the program and a contestant's process.

A question is one line of JSON on standard input, its answer one line on standard output:

- `{"ask": "load", "model", "graph", "weights", "source", "precision", "input", "threads",
  "choose"}` reads the network and answers the input once; `{"variant": name}`. `precision` is
  that of products where the file does not say it
- `{"ask": "take", "input"}` reads another input of as many samples; `{}`
- `{"ask": "run", "seconds", "least"}` answers the input again and again, for that long and
  at least that often; `{"batches": [seconds of each]}`
- `{"ask": "answer", "output"}` writes the answer as npy; `{}`
- `{"ask": "memory"}` gives `{"resident", "peak", "anonymous"}` in bytes
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TextIO

import numpy as np

# Batches of each variant before the fastest is chosen.
TRIALS = 4


@dataclass
class Variant:
    """One way in which a contestant can run a network."""

    name: str
    run: Callable[[], np.ndarray]
    take: Callable[[np.ndarray], None] | None = None


def by_input(names: list[str], samples: np.ndarray) -> dict[str, np.ndarray]:
    """Samples by the network's inputs: several are of integers, one after another in a sample."""
    if len(names) == 1:
        return {names[0]: samples}
    return {name: np.ascontiguousarray(samples[:, at], np.int64) for at, name in enumerate(names)}


def own_stdout() -> TextIO:
    """Standard output for answers alone: what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def serve(module: ModuleType, answers: TextIO) -> None:
    """Answers until standard input ends; `module.variants(ask, input)` lists variants."""
    variant = None
    for line in sys.stdin:
        ask = json.loads(line)
        match ask["ask"]:
            case "load":
                variant = load(module, ask)
                answer = {"variant": variant.name}
            case "run":
                answer = {"batches": run(variant, ask["seconds"], ask["least"])}
            case "take":
                variant.take(np.load(ask["input"]))
                answer = {}
            case "answer":
                np.save(ask["output"], variant.run())
                answer = {}
            case "memory":
                answer = memory()
        print(json.dumps(answer), file=answers)


def load(module: ModuleType, ask: dict) -> Variant:
    """The first variant, having answered once; the fastest of all if asked to choose."""
    makers = module.variants(ask, np.load(ask["input"]))
    if not ask["choose"]:
        makers = makers[:1]
    variants = [make() for make in makers]
    for variant in variants:
        variant.run()
    if len(variants) == 1:
        return variants[0]
    times = [[once(variant) for variant in variants] for _ in range(TRIALS)]
    best = [min(column) for column in zip(*times)]
    return variants[best.index(min(best))]


def run(variant: Variant, seconds: float, least: int) -> list[float]:
    batches = []
    end = time.perf_counter() + seconds
    while len(batches) < least or time.perf_counter() < end:
        batches.append(once(variant))
    return batches


def once(variant: Variant) -> float:
    start = time.perf_counter()
    variant.run()
    return time.perf_counter() - start


def memory() -> dict:
    """What the system says of this process, in bytes."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    kib = {"resident": "VmRSS", "peak": "VmHWM", "anonymous": "RssAnon"}
    return {name: int(fields[field].split()[0]) * 1024 for name, field in kib.items()}
