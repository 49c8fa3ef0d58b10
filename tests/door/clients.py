"""Every call of Triton's clients, over HTTP and gRPC, waiting and by asyncio.

    clients.py HTTP_ADDRESS GRPC_ADDRESS

A call is served, or refused as unsupported by the status that says so.
"""

import asyncio
import queue
import sys

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.grpc.aio as grpc_aio
import tritonclient.http as http
import tritonclient.http.aio as http_aio
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

MODEL = "digits"
ROWS = np.random.default_rng(7).integers(0, 17, (5, 1, 8, 8)).astype(np.float32)
done = []


def check(name, holds=True):
    if not holds:
        raise AssertionError(name)
    done.append(name)


def fails(name, statuses, call):
    """Runs a call that has to fail with one of the statuses."""
    try:
        call()
    except InferenceServerException as error:
        check(f"{name}: {error}", str(error.status()).removeprefix("StatusCode.") in statuses)
        return
    raise AssertionError(f"{name} did not fail")


def unsupported(name, call):
    fails(name, ["501", "UNIMPLEMENTED"], call)


def inputs(client, rows=ROWS, **how):
    tensor = client.InferInput("input", list(rows.shape), "FP32")
    tensor.set_data_from_numpy(rows, **how)
    return [tensor]


def said(answer, name):
    """Returns a field of an answer, be it a dictionary or a message."""
    return answer[name] if isinstance(answer, dict) else getattr(answer, name)


def control(kind, client):
    """All calls but inference."""
    check(f"{kind} is_server_live", client.is_server_live())
    check(f"{kind} is_server_ready", client.is_server_ready())
    check(f"{kind} is_model_ready", client.is_model_ready(MODEL))
    check(f"{kind} is_model_ready of a version", client.is_model_ready(MODEL, "1"))
    check(f"{kind} get_server_metadata", said(client.get_server_metadata(), "name") == "divisi")
    metadata = client.get_model_metadata(MODEL)
    check(f"{kind} get_model_metadata", said(metadata, "name") == MODEL)
    config = client.get_model_config(MODEL)
    config = config if isinstance(config, dict) else config.config
    check(f"{kind} get_model_config", said(config, "max_batch_size") > 1)
    index = client.get_model_repository_index()
    models = index if isinstance(index, list) else index.models
    check(f"{kind} get_model_repository_index", said(models[0], "state") == "READY")
    statistics = client.get_inference_statistics(MODEL)
    check(f"{kind} get_inference_statistics", len(said(statistics, "model_stats")) == 1)
    statistics = client.get_inference_statistics()
    check(f"{kind} get_inference_statistics of all", len(said(statistics, "model_stats")) == 1)
    client.load_model(MODEL)
    check(f"{kind} load_model")
    unsupported(f"{kind} load_model with a file", lambda: client.load_model(MODEL, config="{}"))
    client.unload_model(MODEL)
    check(f"{kind} unload_model of the last", not client.is_model_ready(MODEL))
    client.load_model(MODEL)
    nobody = ["404", "NOT_FOUND"]
    fails(f"{kind} load_model of nobody", nobody, lambda: client.load_model("nobody"))
    unsupported(f"{kind} get_trace_settings", client.get_trace_settings)
    unsupported(f"{kind} get_trace_settings of a model", lambda: client.get_trace_settings(MODEL))
    unsupported(
        f"{kind} update_trace_settings",
        lambda: client.update_trace_settings(settings={"trace_level": ["OFF"]}),
    )
    unsupported(f"{kind} get_log_settings", client.get_log_settings)
    unsupported(
        f"{kind} update_log_settings",
        lambda: client.update_log_settings({"log_verbose_level": 1}),
    )
    client.get_cuda_shared_memory_status()
    client.unregister_cuda_shared_memory()
    check(f"{kind} get_ and unregister_cuda_shared_memory")
    unsupported(
        f"{kind} register_cuda_shared_memory",
        lambda: client.register_cuda_shared_memory("gpu", b"aGFuZGxl", 0, 64),
    )
    unknown = ["404", "NOT_FOUND"]
    fails(f"{kind} unknown model", unknown, lambda: client.get_model_metadata("nobody"))
    fails(f"{kind} unknown version", unknown, lambda: client.get_model_config(MODEL, "9"))


def answers(kind, module, client):
    """Inference, in all the ways that it can be asked for."""
    plain = client.infer(MODEL, inputs(module), request_id="seven")
    scores = plain.as_numpy("scores")
    check(f"{kind} infer", scores.shape == (5, 10) and np.allclose(scores.sum(1), 1, atol=1e-3))
    check(f"{kind} request_id", said(plain.get_response(), "id") == "seven")
    one = client.infer(MODEL, inputs(module, ROWS[2:3])).as_numpy("scores")
    check(f"{kind} infer of one sample", np.allclose(one, scores[2:3], atol=1e-5))
    many = np.repeat(ROWS, 1000, 0)
    answered = client.infer(MODEL, inputs(module, many)).as_numpy("scores")
    check(f"{kind} infer of 5000 samples", np.allclose(answered[::1000], scores, atol=1e-5))
    wanted = [module.InferRequestedOutput("scores")]
    answered = client.infer(MODEL, inputs(module), outputs=wanted).as_numpy("scores")
    check(f"{kind} outputs", np.allclose(answered, scores, atol=1e-5))
    wanted = [module.InferRequestedOutput("scores", class_count=3)]
    classes = client.infer(MODEL, inputs(module), outputs=wanted).as_numpy("scores")
    first = int(classes[0][0].split(b":")[1])
    check(f"{kind} classification", classes.shape == (5, 3) and first == scores[0].argmax())
    answered = client.infer(MODEL, inputs(module), model_version="1", timeout=60_000_000)
    check(f"{kind} model_version and timeout", answered.as_numpy("scores").shape == (5, 10))
    answered = client.infer(MODEL, inputs(module), parameters={"mine": "kept"}, priority=1)
    check(f"{kind} parameters and priority", answered.as_numpy("scores").shape == (5, 10))
    unsupported(
        f"{kind} sequences",
        lambda: client.infer(MODEL, inputs(module), sequence_id=3, sequence_start=True),
    )
    bad = ["400", "INVALID_ARGUMENT"]
    wrong = inputs(module, ROWS[:, :, :4])
    fails(f"{kind} shape", bad, lambda: client.infer(MODEL, wrong))
    other = module.InferInput("input", [1, 1, 8, 8], "INT32")
    other.set_data_from_numpy(np.zeros((1, 1, 8, 8), np.int32))
    fails(f"{kind} type", bad, lambda: client.infer(MODEL, [other]))
    wanted = [module.InferRequestedOutput("nothing")]
    fails(f"{kind} output", bad, lambda: client.infer(MODEL, inputs(module), outputs=wanted))
    return scores


def shared(kind, module, client, scores):
    """Inputs and outputs in shared memory."""
    size = ROWS.nbytes
    region = shm.create_shared_memory_region("rows", f"/divisi_test_{kind}", size + scores.nbytes)
    try:
        shm.set_shared_memory_region(region, [ROWS])
        client.register_system_shared_memory("rows", f"/divisi_test_{kind}", size + scores.nbytes)
        status = client.get_system_shared_memory_status()
        check(f"{kind} get_system_shared_memory_status", "rows" in str(status))
        tensor = module.InferInput("input", list(ROWS.shape), "FP32")
        tensor.set_shared_memory("rows", size)
        wanted = module.InferRequestedOutput("scores")
        wanted.set_shared_memory("rows", scores.nbytes, offset=size)
        client.infer(MODEL, [tensor], outputs=[wanted])
        found = shm.get_contents_as_numpy(region, np.float32, scores.shape, offset=size)
        check(f"{kind} shared memory", np.allclose(found, scores, atol=1e-5))
        tensor.set_shared_memory("rows", size, offset=size)
        bad = ["400", "INVALID_ARGUMENT"]
        fails(f"{kind} beyond a region", bad, lambda: client.infer(MODEL, [tensor]))
        client.unregister_system_shared_memory("rows")
        client.unregister_system_shared_memory()
        fails(
            f"{kind} unregistered region",
            ["404", "NOT_FOUND"],
            lambda: client.infer(MODEL, [tensor]),
        )
    finally:
        shm.destroy_shared_memory_region(region)


def of_http(address, scores):
    """Calls that HTTP alone has."""
    client = http.InferenceServerClient(address, concurrency=4)
    for how in [{"binary_data": False}, {"binary_data": True}]:
        wanted = [http.InferRequestedOutput("scores", **how)]
        answered = client.infer(MODEL, inputs(http, **how), outputs=wanted).as_numpy("scores")
        check(f"http {how}", np.allclose(answered, scores, atol=1e-5))
    waiting = [client.async_infer(MODEL, inputs(http)) for _ in range(8)]
    all_there = [w.get_result().as_numpy("scores") for w in waiting]
    check("http async_infer", all(np.allclose(a, scores, atol=1e-5) for a in all_there))
    body, length = client.generate_request_body(inputs(http))
    check("http generate_request_body", length is not None and len(body) > length)
    for how in ["gzip", "deflate"]:
        packed = {"request_compression_algorithm": how, "response_compression_algorithm": how}
        many = np.repeat(ROWS, 100, 0)
        answered = client.infer(MODEL, inputs(http, many), **packed).as_numpy("scores")
        check(f"http bodies by {how}", np.allclose(answered[::100], scores, atol=1e-5))
    client.close()


def of_grpc(address, scores):
    """Calls that gRPC alone has."""
    client = grpc.InferenceServerClient(address)
    got = queue.Queue()
    back = lambda result, error: got.put((result, error))
    for _ in range(8):
        client.async_infer(MODEL, inputs(grpc), callback=back)
    for _ in range(8):
        result, error = got.get(timeout=60)
        check("grpc async_infer", error is None and result.as_numpy("scores").shape == (5, 10))
    many = np.repeat(ROWS, 100, 0)
    for how in ["gzip", "deflate"]:
        answered = client.infer(MODEL, inputs(grpc, many), compression_algorithm=how).as_numpy("scores")
        check(f"grpc messages by {how}", np.allclose(answered[::100], scores, atol=1e-5))
    client.start_stream(callback=back, compression_algorithm="gzip")
    client.async_stream_infer(MODEL, inputs(grpc, many), request_id="packed")
    result, error = got.get(timeout=60)
    check("grpc stream by gzip", error is None and result.get_response().id == "packed")
    client.stop_stream()
    client.start_stream(callback=back)
    for at in range(20):
        name = "nobody" if at == 7 else MODEL
        client.async_stream_infer(name, inputs(grpc), request_id=str(at))
    for at in range(20):
        result, error = got.get(timeout=60)
        if at == 7:
            check("grpc stream goes on after an error", error is not None)
        else:
            check("grpc stream", error is None and result.get_response().id == str(at))
    client.stop_stream()
    fails(
        "grpc client_timeout",
        ["DEADLINE_EXCEEDED"],
        lambda: client.infer(MODEL, inputs(grpc, np.repeat(ROWS, 2000, 0)), client_timeout=0.001),
    )
    client.close()


async def of_asyncio(kind, module, client, scores):
    check(f"{kind} is_server_live", await client.is_server_live())
    check(f"{kind} is_server_ready", await client.is_server_ready())
    check(f"{kind} is_model_ready", await client.is_model_ready(MODEL))
    check(f"{kind} metadata", said(await client.get_server_metadata(), "name") == "divisi")
    check(f"{kind} model metadata", said(await client.get_model_metadata(MODEL), "name") == MODEL)
    await client.get_model_config(MODEL)
    await client.get_model_repository_index()
    await client.get_inference_statistics(MODEL)
    await client.get_system_shared_memory_status()
    asked = [client.infer(MODEL, inputs(module)) for _ in range(8)]
    answered = [answer.as_numpy("scores") for answer in await asyncio.gather(*asked)]
    check(f"{kind} infer", all(np.allclose(a, scores, atol=1e-5) for a in answered))
    await client.load_model(MODEL)
    check(f"{kind} load_model")
    await client.close()


async def streams(address, scores):
    async with grpc_aio.InferenceServerClient(address) as client:

        async def requests():
            for at in range(5):
                yield {"model_name": MODEL, "inputs": inputs(grpc), "request_id": str(at)}

        seen = []
        async for result, error in client.stream_infer(requests()):
            check("grpc aio stream_infer", error is None)
            seen.append(result.get_response().id)
        check("grpc aio order", seen == [str(at) for at in range(5)])


def main(http_address, grpc_address):
    of = {
        "http": (http, http.InferenceServerClient(http_address)),
        "grpc": (grpc, grpc.InferenceServerClient(grpc_address)),
    }
    for kind, (module, client) in of.items():
        control(kind, client)
        scores = answers(kind, module, client)
        shared(kind, module, client, scores)
        client.close()
    of_http(http_address, scores)
    of_grpc(grpc_address, scores)

    async def asynchronous():
        client = http_aio.InferenceServerClient(http_address)
        await of_asyncio("http aio", http, client, scores)
        client = grpc_aio.InferenceServerClient(grpc_address)
        await of_asyncio("grpc aio", grpc, client, scores)
        await streams(grpc_address, scores)

    asyncio.run(asynchronous())
    print(f"{len(done)} calls as they should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
