"""ONNX Runtime's CPU provider with every optimisation it has. Float32 stands in for bf16, which it
has no products of on x86."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import onnxruntime as ort

from contest.contestants.protocol import Variant, by_input
from contest.onnx_model import BATCH


def variants(ask: dict, samples: np.ndarray) -> list:
    """One session on all threads; one a thread, where the batch can be shared out."""
    threads, batch = ask["threads"], len(samples)
    makers = [partial(whole, ask["model"], samples, threads)]
    if threads > 1 and batch % threads == 0:
        makers.append(partial(shared, ask["model"], samples, threads))
    return makers


def whole(model: str, samples: np.ndarray, threads: int) -> Variant:
    runner = Runner(model, samples, threads)
    return Variant("one session", runner.run, runner.take)


def shared(model: str, samples: np.ndarray, threads: int) -> Variant:
    parts = np.split(samples, threads)
    runners = [Runner(model, np.ascontiguousarray(part), 1) for part in parts]
    # The first part is this thread's.
    pool = ThreadPoolExecutor(threads - 1)

    def run() -> np.ndarray:
        others = [pool.submit(other.run) for other in runners[1:]]
        return np.concatenate([runners[0].run(), *(other.result() for other in others)])

    def take(samples: np.ndarray) -> None:
        for runner, part in zip(runners, np.split(samples, threads)):
            runner.take(part)

    return Variant("a session a thread", run, take)


class Runner:
    """A session and what it is fed."""

    def __init__(self, model: str, samples: np.ndarray, threads: int):
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_free_dimension_override_by_name(BATCH, len(samples))
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.take(samples)

    def take(self, samples: np.ndarray) -> None:
        names = [value.name for value in self.session.get_inputs()]
        self.feed = by_input(names, samples)

    def run(self) -> np.ndarray:
        return self.session.run(None, self.feed)[0]
