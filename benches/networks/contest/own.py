"""Our precisions against our own float32, with all instructions and with AVX2 alone."""

import os
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from contest import catalogue, instructions, memory, precision
from contest.bench import Bench
from contest.catalogue import OWN_BATCH
from contest.prepare import Files
from contest.speed import alternate

FLOAT = "f32"
# How a row of int8 is called.
OF_FILE, OF_FLOATS = "int8, quantised file", "int8, ranges of each sample"


@dataclass
class Own:
    """Medians of seconds a batch by precision, speeds over float32's as the median of the rounds'
    ratios, and bytes at most, each in a process of its own."""

    threads: int
    kernels: str
    seconds: dict[str, float]
    ratios: dict[str, float]
    peaks: dict[str, int]

    @property
    def too_large(self) -> float | None:
        """The quantised file's peak over float32's, where that is above its bar."""
        if OF_FILE not in self.peaks:
            return None
        over = self.peaks[OF_FILE] / self.peaks[FLOAT]
        return over if over > catalogue.OWN_MEMORY_BAR else None


def measure(bench: Bench, files: Files, threads: int, kernels: str | None) -> Own:
    cores = bench.cores[:threads]
    environment = dict(os.environ) | ({instructions.DIVISI_VARIABLE: kernels} if kernels else {})
    load = files.of_load(OWN_BATCH, cores, choose=False)
    ways = questions(files)
    with ExitStack() as stack:
        children = []
        for way, read in ways.items():
            child = stack.enter_context(bench.child("ours", cores, environment))
            child.name = way
            child.ask("load", **load | read)
            children.append(child)
        rounds = alternate(children, bench.asked.rounds, bench.asked.seconds)
    peaks = {way: memory.once(bench, "ours", cores, load | read, environment).peak for way, read in ways.items()}
    return of_rounds(threads, kernels or "all", rounds, peaks)


def questions(files: Files) -> dict[str, dict]:
    """What is measured: float32 and the precision, of which int8 has two ways."""
    floats = {FLOAT: files.read_in(FLOAT)}
    if files.precision != "int8":
        return floats | {files.precision: files.read_as()}
    return floats | {OF_FILE: files.read_as(), OF_FLOATS: files.read_in("int8")}


def of_rounds(
    threads: int, kernels: str, rounds: dict[str, list[list[float]]], peaks: dict[str, int]
) -> Own:
    each = {way: [median(batches) for batches in turns] for way, turns in rounds.items()}
    seconds = {way: median(second for turn in turns for second in turn) for way, turns in rounds.items()}
    ratios = {
        way: median(floats / own for floats, own in zip(each[FLOAT], turns))
        for way, turns in each.items()
        if way != FLOAT
    }
    return Own(threads, kernels, seconds, ratios, peaks)


def kernels(bench: Bench) -> list[str | None]:
    """All kernels, and AVX2's where these are others and have the instructions."""
    needs = precision.ALL[bench.asked.precision].needs
    if bench.asked.kernels:
        return [bench.asked.kernels]
    has_avx512 = any(flag.startswith("avx512") for flag in instructions.flags())
    has_avx_vnni = "avx_vnni" in instructions.flags()
    others = {"avx2-vnni": has_avx512 and has_avx_vnni, "avx2": has_avx512 or has_avx_vnni}
    return [None, *(k for k, are in others.items() if are and instructions.used(k).intersection(needs))]
