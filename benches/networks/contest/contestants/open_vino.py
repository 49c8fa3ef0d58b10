"""OpenVINO on the CPU in float32."""

import sys
from functools import partial

import numpy as np

# It would start a process to report that OpenVINO was imported; that process keeps the
# program's pipes open and takes time from whose turn it is.
sys.modules["openvino_telemetry"] = None

import openvino as ov  # noqa: E402
from openvino import properties  # noqa: E402
from openvino.properties import hint  # noqa: E402

from contest.contestants.protocol import Variant  # noqa: E402


def variants(ask: dict, samples: np.ndarray) -> list:
    """One stream on all threads; a stream a thread, where the batch can be shared out."""
    threads, batch = ask["threads"], len(samples)
    makers = [partial(whole, ask["model"], samples, threads)]
    if threads > 1 and batch % threads == 0:
        makers.append(partial(shared, ask["model"], samples, threads))
    return makers


def whole(model: str, samples: np.ndarray, threads: int) -> Variant:
    compiled = compile_for(model, len(samples), threads, hint.PerformanceMode.LATENCY, 1)
    request = requested(compiled, samples)

    def run() -> np.ndarray:
        request.infer()
        return answer(request)

    return Variant("one stream", run)


def shared(model: str, samples: np.ndarray, threads: int) -> Variant:
    parts = np.split(samples, threads)
    mode = hint.PerformanceMode.THROUGHPUT
    compiled = compile_for(model, len(parts[0]), threads, mode, threads)
    requests = [requested(compiled, np.ascontiguousarray(part)) for part in parts]

    def run() -> np.ndarray:
        for request in requests:
            request.start_async()
        for request in requests:
            request.wait()
        return np.concatenate([answer(request) for request in requests])

    return Variant("a stream a thread", run)


def compile_for(model: str, batch: int, threads: int, mode, streams: int) -> ov.CompiledModel:
    core = ov.Core()
    network = core.read_model(model)
    network.reshape([batch, *(side.get_length() for side in network.input(0).partial_shape[1:])])
    options = {
        hint.inference_precision: ov.Type.f32,
        hint.performance_mode: mode,
        properties.num_streams: streams,
        properties.inference_num_threads: threads,
        # The whole process already is on its cores.
        hint.enable_cpu_pinning: False,
    }
    return core.compile_model(network, "CPU", options)


def requested(compiled: ov.CompiledModel, samples: np.ndarray) -> ov.InferRequest:
    request = compiled.create_infer_request()
    # A copy: OpenVINO does not keep NumPy's memory alive.
    request.set_input_tensor(ov.Tensor(samples))
    return request


def answer(request: ov.InferRequest) -> np.ndarray:
    # What the tensor shows is OpenVINO's memory, and does not outlive it.
    tensor = request.get_output_tensor()
    return tensor.data.copy()
