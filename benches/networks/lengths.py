#!/usr/bin/env python3
"""A batch of sentences of different lengths, answered and timed beside ONNX Runtime.

    python3 -m venv exports && exports/bin/pip install torch transformers onnx onnxruntime
    exports/bin/python benches/networks/lengths.py make FOLDER
    exports/bin/python benches/networks/lengths.py compare FOLDER --divisi target/release/divisi
    exports/bin/python benches/networks/lengths.py speed FOLDER --divisi target/release/divisi

`make` writes BERT-base and MiniLM-L6 with random weights, whose batch and tokens are open. The
sentences are 32 of 8 to 256 tokens, each length equally likely. `compare` says how far the answers
are apart from those to each sentence alone, as a share of the largest value. `speed` runs them on one
thread: ONNX Runtime padded to the longest, and one sentence after the other, and Divisi all at once,
in turns; a ratio above 1 says that Divisi is faster. The machine should be idle.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime as ort

NAMES = ["input_ids", "attention_mask", "token_type_ids"]
SENTENCES, LEAST, MOST = 32, 8, 256


def make(folder: Path) -> None:
    import torch
    import transformers as hf

    class Hidden(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(**dict(zip(NAMES, inputs))).last_hidden_state

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    minilm = hf.BertConfig(num_hidden_layers=6, hidden_size=384, num_attention_heads=12, intermediate_size=1536)
    inputs = (torch.randint(2, 900, (2, 16)), torch.ones(2, 16, dtype=torch.long), torch.zeros(2, 16, dtype=torch.long))
    axes = {name: {0: "batch", 1: "tokens"} for name in [*NAMES, "output"]}
    for name, config in [("minilm_l6", minilm), ("bert_base", hf.BertConfig())]:
        model = Hidden(hf.BertModel(config)).eval()
        torch.onnx.export(model, inputs, str(folder / f"{name}.onnx"), input_names=NAMES, output_names=["output"],
                          dynamo=False, opset_version=17, dynamic_axes=axes)


def sentences() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    lengths = random.integers(LEAST, MOST + 1, SENTENCES)
    return [random.integers(2, 900, length) for length in lengths]


def feed(ids: list[np.ndarray]) -> dict:
    """The sentences as one batch, padded to the longest."""
    longest = max(map(len, ids))
    padded, mask = np.zeros((len(ids), longest), np.int64), np.zeros((len(ids), longest), np.int64)
    for row, sentence in enumerate(ids):
        padded[row, : len(sentence)], mask[row, : len(sentence)] = sentence, 1
    return dict(zip(NAMES, [padded, mask, np.zeros_like(mask)]))


def written(ids: list[np.ndarray], file: Path) -> None:
    """A line for each sentence."""
    def line(sentence: np.ndarray) -> str:
        tensors = [{"name": name, "datatype": "INT64", "shape": list(values.shape), "data": values.flatten().tolist()}
                   for name, values in feed([sentence]).items()]
        return json.dumps({"inputs": tensors})
    file.write_text("\n".join(map(line, ids)))


def session(file: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def compare(file: Path, divisi: str) -> None:
    made, ids = session(file), sentences()
    with tempfile.TemporaryDirectory() as folder:
        taken, answered = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        written(ids, taken)
        command = [divisi, "network", "run", str(file), "--input", str(taken), "--output", str(answered), "--batch", "32"]
        subprocess.run(command, check=True, capture_output=True)
        lines = answered.read_text().splitlines()
    most = 0.0
    for sentence, line in zip(ids, lines, strict=True):
        theirs = made.run(None, feed([sentence]))[0]
        ours = json.loads(line)["outputs"][0]
        assert ours["shape"] == list(theirs.shape), ours["shape"]
        apart = np.abs(np.array(ours["data"]) - theirs.flatten()).max() / np.abs(theirs).max()
        most = max(most, float(apart))
    print(f"{file.stem:12} {most:.1e}", flush=True)


def ours_ms(file: Path, divisi: str, taken: Path, seconds: int) -> float:
    command = [divisi, "network", "bench", str(file), "--input", str(taken), "--batch", str(SENTENCES),
               "--threads", "1", "--duration", f"{seconds}s", "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)["ms_per_batch"]


def theirs_ms(made: ort.InferenceSession, feeds: list[dict], seconds: int) -> float:
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        for one in feeds:
            made.run(None, one)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def speed(file: Path, divisi: str, turns: int, seconds: int) -> None:
    made, ids = session(file), sentences()
    ways = [[feed(ids)], [feed([sentence]) for sentence in ids]]
    made.run(None, ways[0][0])
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "in.jsonl"
        written(ids, taken)
        sides = [[ours_ms(file, divisi, taken, seconds), *(theirs_ms(made, way, seconds) for way in ways)]
                 for _ in range(turns)]
    ours, padded, alone = (statistics.median(side) for side in zip(*sides))
    tokens = sum(map(len, ids))
    print(f"{file.stem:12} {SENTENCES} sentences, {tokens} tokens: {ours:8.1f} ms; ONNX Runtime padded {padded:8.1f} ms, "
          f"ratio {padded / ours:.2f}; one by one {alone:8.1f} ms, ratio {alone / ours:.2f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", choices=["make", "compare", "speed"])
    options.add_argument("folder", type=Path)
    options.add_argument("--divisi", default="target/release/divisi", help="the program")
    options.add_argument("--only", default="", help="files whose name holds this text")
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("--seconds", type=int, default=3, help="of each side in a turn")
    asked = options.parse_args()
    if asked.what == "make":
        return make(asked.folder)
    for file in sorted(f for f in asked.folder.glob("*.onnx") if asked.only in f.name):
        if asked.what == "compare":
            compare(file, asked.divisi)
        else:
            speed(file, asked.divisi, asked.turns, asked.seconds)


if __name__ == "__main__":
    main()
