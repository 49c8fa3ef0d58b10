"""Which rows there are, in the order in which they run.

Those before the contest measure no time: PyTorch compiles its networks meanwhile."""

import os
import shutil
import sys

from .rows import Row

CONTEST = "contest"
EXPORTS = "exports"


def cpu_partition():
    """All cores but two, which drive the GPU."""
    cores = sorted(os.sched_getaffinity(0))
    rest = cores[2:] if len(cores) > 3 else cores[:1]
    return f"cpu:{rest[0]}-{rest[-1]}" if len(rest) > 1 else f"cpu:{rest[0]}"


def allocate(divisi, ensemble, algorithm, evaluator, limit):
    command = [divisi, "allocate", ensemble, "--devices", f"cuda:0,{cpu_partition()}"]
    command += ["--precision", "bf16", "--algorithm", algorithm, "--evaluator", evaluator]
    # As much of the paper's search as the time allows: what was found is told at the end.
    command += ["--max-neighs", "12", "--max-iter", "4", "--no-cache", "--format", "json"]
    return Row(f"{ensemble} {algorithm} {evaluator}", command, limit)


SEARCHES = (("worst-fit", "bench"), ("best-batch", "bench"), ("greedy", "bench"), ("local", "model"))


def before_contest(divisi, rows):
    return [
        Row("devices", [divisi, "devices", "--format", "json"], 60),
        Row("weights", [rows, "weights"], 40),
        Row("answers", [rows, "answers"], 150),
        Row("reloads", [rows, "reloads"], 90),
        *sanitized(rows),
    ]


# Small networks, since everything is some fifty times slower.
CHECKED = (("answers", "convnet", "bf16"), ("transformers", "encoder-small", "bf16"))


def sanitized(rows):
    """Our kernels under the toolkit's checks of memory and of races, where it is installed."""
    if not shutil.which("compute-sanitizer"):
        return []
    return [
        Row(f"{tool} {row}", ["env", f"CUDA_BENCH_NETWORKS={network}", "compute-sanitizer", "--tool", tool,
                              "--error-exitcode", "9", rows, row, precision], 60)
        for tool in ("memcheck", "racecheck")
        for row, network, precision in CHECKED
    ]


def exports(divisi):
    return Row(EXPORTS, [sys.executable, "-m", "gpu.exported", divisi], 150)


def contest(rows):
    return Row(CONTEST, [sys.executable, "-m", "gpu.contest", rows], 150)


def after_contest(divisi, rows):
    timed = [
        Row("copies", [rows, "copies"], 40),
        Row("overhead", [rows, "overhead"], 50),
        Row("lanes", [rows, "lanes"], 50),
        Row("transformers", [rows, "transformers"], 90),
        Row("ebird", [rows, "ebird"], 120),
    ]
    searches = [
        allocate(divisi, ensemble, algorithm, evaluator, 45)
        for ensemble in ("imn4", "imn12")
        for algorithm, evaluator in SEARCHES
    ]
    return timed + searches
