#!/usr/bin/env python3
"""Compares the answers of an ensemble of texts with those of its networks alone in ONNX Runtime.

    pip install numpy onnx onnxruntime tokenizers
    DIVISI=target/release/divisi python3 benches/texts/run.py [--texts 100]

Makes six small classifiers that pool their tokens in different ways, some of which padding changes, and answers
texts of 1 to 48 tokens by each one alone (every text at its own length) and by one ensemble of all six.
Prints for each: texts of another class, and the largest difference of probabilities.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, CLASSES, LENGTH, PADDING = 64, 16, 4, 48, 3
random = np.random.default_rng(5)


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def values(*shape):
    return random.standard_normal(shape).astype(np.float32)


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], **attributes)


def masked(name):
    """Sets tokens that the mask hides to 0."""
    return [node("Cast", ["attention_mask"], "seen", to=TensorProto.FLOAT), node("Unsqueeze", ["seen", "end"], "weights"),
            node("Mul", [name, "weights"], "kept")]


GRU = [node("Transpose", ["words"], "steps", perm=[1, 0, 2]),
       helper.make_node("GRU", ["steps", "gru.w", "gru.r", "gru.b"], ["states", ""], hidden_size=8, direction="bidirectional"),
       node("Transpose", ["states"], "states.1", perm=[2, 0, 1, 3]), node("Reshape", ["states.1", "joined"], "hidden")]
LAST = [node("Equal", ["input_ids", "padding"], "hidden_ids"), node("Not", ["hidden_ids"], "texts"),
        node("Cast", ["texts"], "texts.1", to=TensorProto.INT64), node("CumSum", ["texts.1", "along"], "counted"),
        node("Mul", ["counted", "texts.1"], "places"), node("ArgMax", ["places"], "last", axis=1, keepdims=1)]
ROW = [node("Unsqueeze", ["last", "end"], "last.1"), node("Expand", ["last.1", "wide"], "last.2"),
       node("CumSum", ["words", "along"], "sums"), node("GatherElements", ["sums", "last.2"], "row", axis=1),
       node("Squeeze", ["row", "tokens"], "pooled")]
KINDS = {
    "last token by padding id": LAST + ROW,
    "last token by mask": [node("ReduceSum", ["attention_mask", "tokens"], "count", keepdims=1),
                           node("Sub", ["count", "one"], "last")] + ROW,
    "largest over tokens": [node("ReduceMax", ["words"], "pooled", axes=[1], keepdims=0)],
    "mean without a mask": [node("ReduceMean", ["words"], "pooled", axes=[1], keepdims=0)],
    "mean by the mask": masked("words") + [node("ReduceSum", ["kept", "tokens"], "sum", keepdims=0),
                                           node("ReduceSum", ["seen", "tokens"], "count", keepdims=1), node("Div", ["sum", "count"], "pooled")],
    "GRU of both directions": GRU + masked("hidden") + [node("ReduceSum", ["kept", "tokens"], "pooled", keepdims=0)],
}


def save(path, nodes):
    constants = [constant("table", values(WORDS, WIDTH)), constant("w", values(WIDTH, CLASSES)), constant("b", values(CLASSES)),
                 constant("gru.w", values(2, 24, WIDTH) / 4), constant("gru.r", values(2, 24, 8) / 4), constant("gru.b", values(2, 48) / 4),
                 constant("padding", np.array(PADDING)), constant("along", np.array(1)), constant("tokens", np.array([1])),
                 constant("end", np.array([2])), constant("wide", np.array([1, 1, WIDTH])), constant("one", np.array(1)),
                 constant("joined", np.array([0, 0, 16]))]
    ends = [node("MatMul", ["pooled", "w"], "scores"), node("Add", ["scores", "b"], "y")]
    every = [node("Gather", ["table", "input_ids"], "words"), *nodes, *ends]
    read = {name for each in every for name in each.input}
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in ("input_ids", "attention_mask") if n in read]
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", CLASSES])
    graph = helper.make_graph(every, "g", inputs, [answer], [c for c in constants if c.name in read])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def tokenizer(folder):
    words = {f"w{number}": number for number in range(WORDS)}
    model = {"type": "WordLevel", "vocab": words, "unk_token": "w1"}
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
             "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(whole))


def softmax(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def alone(path, texts):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]

    def answer(ids):
        row = np.array([ids])
        feeds = {"input_ids": row, "attention_mask": np.ones_like(row)}
        return session.run(["y"], {n: feeds[n] for n in names})[0][0]
    return softmax(np.array([answer(ids) for ids in texts]))


def predicted(program, folder, members, texts, fields):
    manifest = f'name = "e"\nclasses = {CLASSES}\nrule = "weighted-average"\n[input.text]\ntokenizer = "tokenizer.json"\nlength = {LENGTH}\n{fields}\n'
    for name, weight in members:
        manifest += f'[[members]]\nname = "{name}"\nnetwork = {{ file = "{name}.onnx" }}\nvote_weight = {weight}\n'
    (folder / "ensemble.toml").write_text(manifest + "\n")
    (folder / "texts.txt").write_text("".join(" ".join(f"w{i}" for i in ids) + "\n" for ids in texts))
    command = [program, "predict", folder, "--input", folder / "texts.txt", "--output", folder / "y.npy"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(made.stderr)
    return np.load(folder / "y.npy")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=100)
    count = options.parse_args().texts
    program = os.environ.get("DIVISI", "divisi")
    ids = [i for i in range(WORDS) if i != PADDING]
    texts = [random.choice(ids, 1 + n * (LENGTH - 1) // max(count - 1, 1)).tolist() for n in range(count)]
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        tokenizer(folder)
        names = [f"m{number}" for number in range(len(KINDS))]
        for name, nodes in zip(names, KINDS.values()):
            save(folder / f"{name}.onnx", nodes)
        wants = [alone(folder / f"{name}.onnx", texts) for name in names]
        for fields in ("", f"padding_id = {PADDING}"):
            print(f"{count} texts of 1 to {LENGTH} tokens, {fields or 'no padding_id'}")
            for at, (kind, want) in enumerate(zip(KINDS, wants)):
                # All six serve; one of them votes.
                weights = [1e6 if other == at else 1e-6 for other in range(len(names))]
                found = predicted(program, folder, zip(names, weights), texts, fields)
                others = (found.argmax(1) != want.argmax(1)).sum()
                print(f"  {kind:26} other classes {others:3}   largest difference {abs(found - want).max():.1e}")
            found = predicted(program, folder, zip(names, [1] * len(names)), texts, fields)
            print(f"  {'all six, averaged':26} largest difference {abs(found - np.mean(wants, 0)).max():.1e}")


if __name__ == "__main__":
    main()
