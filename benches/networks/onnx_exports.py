#!/usr/bin/env python3
"""Networks as PyTorch exports them today, answered beside ONNX Runtime.

    python3 -m venv exports && exports/bin/pip install torch torchvision transformers onnx onnxscript onnxruntime
    exports/bin/python benches/networks/onnx_exports.py make FOLDER
    exports/bin/python benches/networks/onnx_exports.py compare FOLDER --divisi target/release/divisi

`make` writes each network twice, by the older exporter (`NAME_legacy.onnx`) and by today's
(`NAME_dynamo.onnx`), with random weights. `compare` says how far the answers are apart as a share
of the largest value; 1e-4 is the most. `onnx_speed.py` beside this times them.
"""

import argparse
import json
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnxruntime as ort

IMAGES = [
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet",
    "inception_v3", "maxvit_t", "mnasnet0_5", "mobilenet_v3_large", "mobilenet_v3_small",
    "regnet_y_400mf", "resnet18", "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "swin_v2_t",
    "vit_b_32",
]
SIDES = {"inception_v3": 299, "swin_v2_t": 256}
TYPES = {
    "tensor(float)": ("FP32", np.float32), "tensor(int64)": ("INT64", np.int64),
    "tensor(int32)": ("INT32", np.int32), "tensor(bool)": ("BOOL", np.bool_),
}
MOST = 1e-4


def images(torch):
    """Classifiers of torchvision, with statistics of norms that are not the identity."""
    from torchvision.models import get_model

    for name in IMAGES:
        extra = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        model = get_model(name, weights=None, **extra).eval()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.5, 1.5)
            # Vision transformers begin with heads of zeros, whose answers would say nothing.
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight, 0, 0.02)
        side = SIDES.get(name, 224)
        yield name, model, (torch.randn(1, 3, side, side),), ["input"]


def first_answer(torch):
    """Returns the module that answers with a Hugging Face model's first output alone."""

    class Answer(torch.nn.Module):
        def __init__(self, model, names):
            super().__init__()
            self.model, self.names = model, names

        def forward(self, *inputs):
            answer = self.model(**dict(zip(self.names, inputs)))
            return answer.logits if hasattr(answer, "logits") else answer.last_hidden_state

    return Answer


def texts(torch):
    """Encoders of Hugging Face: small ones for answers, two of the usual size."""
    import transformers as hf

    Answer = first_answer(torch)
    small = dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
    three = ["input_ids", "attention_mask", "token_type_ids"]
    two = three[:2]
    distil = hf.DistilBertConfig(n_layers=2, dim=128, n_heads=4, hidden_dim=256, vocab_size=1000)
    minilm = hf.BertConfig(num_hidden_layers=6, hidden_size=384, num_attention_heads=12, intermediate_size=1536)
    models = [
        ("bert_eager", hf.BertModel(hf.BertConfig(**small, attn_implementation="eager")), three, 12),
        ("bert_sdpa", hf.BertModel(hf.BertConfig(**small)), three, 12),
        ("bert_classifier", hf.BertForSequenceClassification(hf.BertConfig(**small)), three, 12),
        ("distilbert", hf.DistilBertModel(distil), two, 12),
        ("roberta", hf.RobertaModel(hf.RobertaConfig(**small)), two, 12),
        ("mpnet", hf.MPNetModel(hf.MPNetConfig(**small)), two, 12),
        ("deberta_v2", hf.DebertaV2Model(hf.DebertaV2Config(**small)), two, 12),
        ("bert_base_128", hf.BertModel(hf.BertConfig()), three, 128),
        ("minilm_l6_128", hf.BertModel(minilm), three, 128),
    ]
    for name, model, names, length in models:
        inputs = [torch.randint(2, 900, (1, length)), torch.ones(1, length, dtype=torch.long),
                  torch.zeros(1, length, dtype=torch.long)]
        yield name, Answer(model, names).eval(), tuple(inputs[: len(names)]), names


def make(folder: Path) -> None:
    import torch

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, inputs, names in [*images(torch), *texts(torch)]:
        for kind in ("legacy", "dynamo"):
            path = folder / f"{name}_{kind}.onnx"
            how = {"dynamo": True} if kind == "dynamo" else {"dynamo": False, "opset_version": 17}
            try:
                torch.onnx.export(model, inputs, str(path), input_names=names, output_names=["output"], **how)
                print(f"{path.name}")
            except Exception as error:  # The exporters fail in many ways of their own.
                print(f"{path.name}: not exported: {str(error).splitlines()[0][:100]}")


def session(file: Path, threads: int) -> tuple[ort.InferenceSession, dict]:
    """A session, and inputs that it takes: the end of a mask is 0."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    made = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    feed = {}
    for tensor in made.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
        _, number = TYPES[tensor.type]
        if number is np.float32:
            feed[tensor.name] = random.standard_normal(shape).astype(number)
        elif "mask" in tensor.name:
            feed[tensor.name] = np.ones(shape, number)
            feed[tensor.name][..., -3:] = 0
        else:
            most = 2 if "type" in tensor.name else 900
            feed[tensor.name] = random.integers(0, most, shape).astype(number)
    return made, feed


def written(feed: dict, made: ort.InferenceSession) -> str:
    types = {tensor.name: TYPES[tensor.type][0] for tensor in made.get_inputs()}
    tensors = [
        {"name": name, "datatype": types[name], "shape": list(value.shape), "data": value.flatten().tolist()}
        for name, value in feed.items()
    ]
    return json.dumps({"inputs": tensors})


def apart(file: Path, divisi: str) -> float | str:
    """How far the answers are apart, or why there are none."""
    made, feed = session(file, 1)
    expected = made.run(None, feed)
    with tempfile.TemporaryDirectory() as folder:
        taken, answered = Path(folder) / "in.json", Path(folder) / "out.json"
        taken.write_text(written(feed, made))
        command = [divisi, "network", "run", str(file), "--input", str(taken), "--output", str(answered)]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            return ran.stderr.strip()
        outputs = json.loads(answered.read_text())["outputs"]
    most = 0.0
    for theirs, ours in zip(expected, outputs, strict=True):
        values = np.array([np.nan if v is None else v for v in ours["data"]], dtype=np.float64)
        theirs = theirs.astype(np.float64).flatten()
        if values.size != theirs.size:
            return f"{values.size} values, not {theirs.size}"
        most = max(most, float(np.abs(values - theirs).max() / max(np.abs(theirs).max(), 1e-9)))
    return most if np.isfinite(most) else "values that are not finite"


def compare(files: list[Path], divisi: str) -> None:
    good = 0
    for file in files:
        found = apart(file, divisi)
        good += isinstance(found, float) and found <= MOST
        print(f"{file.name:36} {found if isinstance(found, str) else f'{found:.1e}'}", flush=True)
    print(f"{good} of {len(files)} within {MOST}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", choices=["make", "compare"])
    options.add_argument("folder", type=Path)
    options.add_argument("--divisi", default="target/release/divisi", help="the program")
    options.add_argument("--only", default="", help="files whose name holds this text")
    asked = options.parse_args()
    if asked.what == "make":
        return make(asked.folder)
    files = sorted(f for f in asked.folder.glob("*.onnx") if asked.only in f.name)
    compare(files, asked.divisi)


if __name__ == "__main__":
    main()
