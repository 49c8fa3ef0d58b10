#!/usr/bin/env python3
"""Exported networks timed beside ONNX Runtime and OpenVINO, in float32.

    exports/bin/pip install openvino timm
    exports/bin/python benches/networks/onnx_speed.py make FOLDER
    exports/bin/python benches/networks/onnx_speed.py speed FOLDER --divisi target/release/divisi
    exports/bin/python benches/networks/onnx_speed.py costs FOLDER --divisi target/release/divisi --batches 8
    exports/bin/python benches/networks/onnx_speed.py builders FOLDER --divisi target/release/divisi

`make` exports the networks with random weights and a batch that varies; texts once for each
number of tokens. `speed` runs all in turns, each at least half a second, every other round in the
opposite order; a ratio is the median of the rounds', of the faster of the other two over Divisi:
above 1 Divisi is faster. `costs` runs each in a process of its own: seconds from before the file is
opened to the first answer, imports left out, of a file in cache; and the peak of memory (VmHWM) over
what was resident before. `builders` times those that Divisi builds itself as well, in turns: a ratio is the
time of the built one over that of the exported one. `--kernels avx2` holds Divisi and OpenVINO to AVX2; ONNX Runtime cannot be
held to it and is left out. The machine should be idle, and the program built with `--release`:
kernels of other builds check their pointers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

IMAGES = [
    "efficientnet_b0", "mobilenet_v3_large", "convnext_tiny", "regnet_y_400mf", "shufflenet_v2_x1_0",
    "googlenet", "squeezenet1_1", "vit_b_16", "swin_t", "maxvit_t",
]
TOKENS = (16, 128, 512)


def make(folder: Path, only: str) -> None:
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, model, inputs, names in [*images(torch), *texts(torch)]:
        if not any(part in name for part in only.split(",")):
            continue
        axes = {value: {0: "batch"} for value in [*names, "output"]}
        torch.onnx.export(model, inputs, str(folder / f"{name}.onnx"), input_names=names,
                          output_names=["output"], dynamo=False, opset_version=17, dynamic_axes=axes)
        print(name, flush=True)


def images(torch):
    import onnx_exports
    import timm

    onnx_exports.IMAGES = IMAGES
    yield from onnx_exports.images(torch)
    model = timm.create_model("deit_small_patch16_224", pretrained=False).eval()
    yield "deit_s", model, (torch.randn(1, 3, 224, 224),), ["input"]


def texts(torch):
    import transformers as hf
    from onnx_exports import first_answer

    answer = first_answer(torch)
    small = hf.BertConfig(num_hidden_layers=6, hidden_size=384, num_attention_heads=12, intermediate_size=1536)
    three = ["input_ids", "attention_mask", "token_type_ids"]
    models = [
        ("minilm_l6", hf.BertModel(small), three), ("bert_base", hf.BertModel(hf.BertConfig()), three),
        ("distilbert", hf.DistilBertModel(hf.DistilBertConfig()), three[:2]),
    ]
    for name, model, names in models:
        for length in TOKENS:
            ids, ones = torch.randint(2, 900, (1, length)), torch.ones(1, length, dtype=torch.long)
            inputs = (ids, ones, torch.zeros(1, length, dtype=torch.long))[: len(names)]
            yield f"{name}_{length}", answer(model, names).eval(), inputs, names


def feed(inputs, batch: int) -> dict:
    """Values for `(name, type, dims)`; dims that vary are the batch."""
    import numpy as np

    random = np.random.default_rng(0)
    values = {}
    for name, kind, dims in inputs:
        shape = [size if isinstance(size, int) and size > 0 else batch for size in dims]
        if "float" in kind or "f32" in kind:
            values[name] = random.standard_normal(shape).astype(np.float32)
        elif "mask" in name:
            values[name] = np.ones(shape, np.int64)
        else:
            values[name] = random.integers(0, 2 if "type" in name else 900, shape).astype(np.int64)
    return values


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, file: Path, threads: int, batch: int):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_free_dimension_override_by_name("batch", batch)
        self.session = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self.feed = feed([(i.name, i.type, i.shape) for i in self.session.get_inputs()], batch)

    def run(self):
        return self.session.run(None, self.feed)


class OpenVino:
    name = "OpenVINO"

    def __init__(self, file: Path, threads: int, batch: int):
        import openvino as ov

        core = ov.Core()
        model = core.read_model(str(file))
        model.reshape({i.any_name: [batch, *list(i.partial_shape)[1:]] for i in model.inputs})
        how = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
               "PERFORMANCE_HINT": "LATENCY"}
        compiled = core.compile_model(model, "CPU", how)
        inputs = [(i.any_name, i.element_type.get_type_name(), list(i.shape)) for i in compiled.inputs]
        self.request = compiled.create_infer_request()
        for name, value in feed(inputs, batch).items():
            self.request.set_tensor(name, ov.Tensor(value))

    def run(self):
        return self.request.infer()


OTHERS = {"ort": OnnxRuntime, "openvino": OpenVino}


def turn(contestant, seconds: float) -> float:
    """Returns the median milliseconds of a turn, after a run that is not counted."""
    contestant.run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        contestant.run()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def ours(asked, network: Path | str, threads: int, batch: int) -> dict:
    command = [asked.divisi, "network", "bench", str(network), "--batch", str(batch), "--threads", str(threads),
               "--duration", f"{asked.seconds}s", "--format", "json"]
    command += ["--kernels", asked.kernels] if asked.kernels else []
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def settings(asked):
    files = sorted(f for f in asked.folder.glob("*.onnx") if any(text in f.stem for text in asked.only.split(",")))
    return [(f, t, b) for f in files for t in asked.threads for b in asked.batches]


def speed(asked) -> None:
    ratios = []
    for file, threads, batch in settings(asked):
        others = [OTHERS[name](file, threads, batch) for name in asked.contestants]
        turns = []
        for number in range(asked.rounds):
            order = list(range(len(others) + 1))
            times = dict.fromkeys(order, 0.0)
            for who in order if number % 2 else reversed(order):
                times[who] = turn(others[who - 1], asked.seconds) if who else \
                    ours(asked, file, threads, batch)["ms_per_batch"]
            turns.append([times[who] for who in order])
        each = [min(times[1:]) / times[0] for times in turns]
        ratio = statistics.median(each)
        ratios.append(ratio)
        medians = [statistics.median(side) for side in zip(*turns)]
        rest = ", ".join(f"{o.name} {ms:.2f}" for o, ms in zip(others, medians[1:]))
        print(f"{file.stem:20} threads {threads} batch {batch}: {medians[0]:8.2f} ms, {rest}, "
              f"ratio {ratio:.2f} ({min(each):.2f} to {max(each):.2f})", flush=True)
    print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, least {min(ratios):.2f}, over {len(ratios)}")


# Names by which Divisi builds networks, where these are not those of the exports.
BUILT = {"deit_s": "deit-small-patch16-224"}


def builders(asked) -> None:
    """Exported networks beside the same that Divisi builds: its own kernels, of two origins."""
    listed = subprocess.run([asked.divisi, "network", "list", "--format", "json"], capture_output=True, check=True)
    known = {row["name"] for row in json.loads(listed.stdout)}
    ratios = []
    for file, threads, batch in settings(asked):
        name = BUILT.get(file.stem, file.stem.replace("_", "-"))
        if name not in known:
            continue
        each = []
        for number in range(asked.rounds):
            order = [name, file] if number % 2 else [file, name]
            times = {who: ours(asked, who, threads, batch)["ms_per_batch"] for who in order}
            each.append(times[name] / times[file])
        ratios.append(statistics.median(each))
        print(f"{file.stem:20} threads {threads} batch {batch}: ratio {ratios[-1]:.2f} "
              f"({min(each):.2f} to {max(each):.2f})", flush=True)
    print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, least {min(ratios):.2f}, over {len(ratios)}")


def status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def alone(asked) -> None:
    """One contestant in a process of its own: the seconds to its first answer, and its peak of memory."""
    import numpy  # noqa: F401
    import onnxruntime  # noqa: F401
    import openvino  # noqa: F401

    (file, threads, batch), name = settings(asked)[0], asked.contestants[0]
    before, start = status("VmRSS"), time.perf_counter()
    contestant = OTHERS[name](file, threads, batch)
    contestant.run()
    load = time.perf_counter() - start
    contestant.run()
    print(json.dumps({"load_s": load, "peak_bytes": status("VmHWM") - before}))


def costs(asked) -> None:
    """The time to the first answer, and the peak of memory, of each in a process of its own."""
    for file, threads, batch in settings(asked):
        rows = []
        for name in asked.contestants:
            command = [sys.executable, __file__, "alone", str(file.parent), "--only", file.stem, "--contestants", name,
                       "--threads", str(threads), "--batches", str(batch)]
            rows.append([json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                         for _ in range(asked.rounds)])
        rows.append([ours(asked, file, threads, batch) for _ in range(asked.rounds)])
        text = []
        for name, runs in zip([*asked.contestants, "divisi"], rows):
            load, peak = (statistics.median(run[key] for run in runs) for key in ("load_s", "peak_bytes"))
            text.append(f"{name} {load:.2f} s {peak / 1e6:.0f} MB")
        print(f"{file.stem:20} threads {threads} batch {batch}: {', '.join(text)}", flush=True)


def main() -> None:
    numbers = lambda text: [int(number) for number in text.split(",")]
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", choices=["make", "speed", "costs", "builders", "alone"])
    options.add_argument("folder", type=Path)
    options.add_argument("--divisi", default="target/release/divisi", help="the program")
    options.add_argument("--only", default="", help="files whose name holds one of these texts, joined by commas")
    options.add_argument("--threads", type=numbers, default=[1, 2])
    options.add_argument("--batches", type=numbers, default=[1, 8])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=0.5, help="how long a turn is")
    options.add_argument("--contestants", type=lambda text: text.split(","), default=["ort", "openvino"])
    options.add_argument("--kernels", choices=["avx2"], help="the instructions that all are held to")
    asked = options.parse_args()
    if asked.kernels:
        os.environ["ONEDNN_MAX_CPU_ISA"] = os.environ["DNNL_MAX_CPU_ISA"] = "AVX2"
        asked.contestants = ["openvino"]
    if asked.what == "make":
        return make(asked.folder, asked.only)
    {"speed": speed, "costs": costs, "builders": builders, "alone": alone}[asked.what](asked)


if __name__ == "__main__":
    main()
