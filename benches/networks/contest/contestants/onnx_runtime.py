"""ONNX Runtime's CPU provider with every optimisation it has."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import onnxruntime as ort

from contest.contestants.protocol import Variant
from contest.onnx_model import BATCH


def variants(ask: dict, samples: np.ndarray) -> list:
    """One session on all threads; one a thread, where the batch can be shared out."""
    threads, batch = ask["threads"], len(samples)
    makers = [partial(whole, ask["model"], samples, threads)]
    if threads > 1 and batch % threads == 0:
        makers.append(partial(shared, ask["model"], samples, threads))
    return makers


def whole(model: str, samples: np.ndarray, threads: int) -> Variant:
    run = runner(model, samples, threads)
    return Variant("one session", run)


def shared(model: str, samples: np.ndarray, threads: int) -> Variant:
    parts = np.split(samples, threads)
    runs = [runner(model, np.ascontiguousarray(part), 1) for part in parts]
    # The first part is this thread's.
    pool = ThreadPoolExecutor(threads - 1)

    def run() -> np.ndarray:
        others = [pool.submit(other) for other in runs[1:]]
        return np.concatenate([runs[0](), *(other.result() for other in others)])

    return Variant("a session a thread", run)


def runner(model: str, samples: np.ndarray, threads: int):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_free_dimension_override_by_name(BATCH, len(samples))
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: samples}
    return lambda: session.run(None, feed)[0]
