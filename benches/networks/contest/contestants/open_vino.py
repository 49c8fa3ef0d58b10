"""OpenVINO on the CPU, in the precision asked for: its default here would be bfloat16."""

import sys
from functools import partial

import numpy as np

# It would start a process to report that OpenVINO was imported; that process keeps the
# program's pipes open and takes time from whose turn it is.
sys.modules["openvino_telemetry"] = None

import openvino as ov  # noqa: E402
from openvino import properties  # noqa: E402
from openvino.properties import hint  # noqa: E402

from contest.contestants.protocol import Variant, by_input  # noqa: E402


# A quantised file says which of its products are of int8; the others are float32.
PRECISIONS = {"f32": ov.Type.f32, "bf16": ov.Type.bf16}


def variants(ask: dict, samples: np.ndarray) -> list:
    """One stream on all threads; a stream a thread, where the batch can be shared out."""
    threads, batch = ask["threads"], len(samples)
    makers = [partial(whole, ask, samples)]
    if threads > 1 and batch % threads == 0:
        makers.append(partial(shared, ask, samples))
    return makers


def whole(ask: dict, samples: np.ndarray) -> Variant:
    compiled = compile_for(ask, len(samples), hint.PerformanceMode.LATENCY, 1)
    request = requested(compiled, samples)

    def run() -> np.ndarray:
        request.infer()
        return answer(request)

    return Variant("one stream", run, partial(put, request))


def shared(ask: dict, samples: np.ndarray) -> Variant:
    threads = ask["threads"]
    parts = np.split(samples, threads)
    mode = hint.PerformanceMode.THROUGHPUT
    compiled = compile_for(ask, len(parts[0]), mode, threads)
    requests = [requested(compiled, part) for part in parts]

    def run() -> np.ndarray:
        for request in requests:
            request.start_async()
        for request in requests:
            request.wait()
        return np.concatenate([answer(request) for request in requests])

    def take(samples: np.ndarray) -> None:
        for request, part in zip(requests, np.split(samples, threads)):
            put(request, part)

    return Variant("a stream a thread", run, take)


def compile_for(ask: dict, batch: int, mode, streams: int) -> ov.CompiledModel:
    core = ov.Core()
    network = core.read_model(ask["model"])
    shapes = {side.any_name: [batch, *(d.get_length() for d in side.partial_shape[1:])] for side in network.inputs}
    network.reshape(shapes)
    options = {
        hint.inference_precision: PRECISIONS[ask["precision"]],
        hint.performance_mode: mode,
        properties.num_streams: streams,
        properties.inference_num_threads: ask["threads"],
        # The whole process already is on its cores.
        hint.enable_cpu_pinning: False,
    }
    return core.compile_model(network, "CPU", options)


def requested(compiled: ov.CompiledModel, samples: np.ndarray) -> ov.InferRequest:
    request = compiled.create_infer_request()
    put(request, samples)
    return request


def put(request: ov.InferRequest, samples: np.ndarray) -> None:
    names = [side.any_name for side in request.model_inputs]
    for name, values in by_input(names, samples).items():
        # A copy: OpenVINO does not keep NumPy's memory alive.
        request.set_tensor(name, ov.Tensor(np.ascontiguousarray(values)))


def answer(request: ov.InferRequest) -> np.ndarray:
    # What the tensor shows is OpenVINO's memory, and does not outlive it.
    tensor = request.get_output_tensor()
    return tensor.data.copy()
