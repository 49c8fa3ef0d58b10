"""Networks as PyTorch exports them, on the GPU against ONNX Runtime on the processor:
python -m gpu.exported DIVISI [NAME ...]

The older exporter alone makes them, since today's takes several seconds for each."""

import contextlib
import itertools
import json
import sys
import tempfile
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "networks"))

import onnx_exports  # noqa: E402

# One of each kind: convolutions of all sorts, attention with and without windows, texts.
NAMES = (
    "resnet18", "efficientnet_b0", "mobilenet_v3_small", "shufflenet_v2_x1_0", "googlenet", "squeezenet1_1",
    "convnext_tiny", "regnet_y_400mf", "swin_t", "vit_b_32", "bert_eager", "bert_sdpa", "distilbert", "mpnet",
    "deberta_v2", "minilm_l6_128",
)


def main():
    divisi, *asked = sys.argv[1:]
    wanted = asked or NAMES
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    onnx_exports.IMAGES = [name for name in onnx_exports.IMAGES if name in wanted]
    made = itertools.chain(onnx_exports.images(torch), onnx_exports.texts(torch))
    with tempfile.TemporaryDirectory(prefix="exports-") as folder:
        for name, *network in made:
            if name in wanted:
                print(json.dumps(compared(Path(folder), divisi, name, network)), flush=True)


def compared(folder, divisi, name, network):
    """One network's line: the largest difference over the largest value, or why there is none."""
    try:
        # What the exporter prints is no line of ours.
        with contextlib.redirect_stdout(sys.stderr):
            file = onnx_exports.exported(folder, name, "legacy", *network)
        found = onnx_exports.apart(file, divisi, onnx_exports.on("cuda:0"))
    except Exception as error:  # the exporter has many ways to fail
        found = repr(error)
    key = "trouble" if isinstance(found, str) else "error"
    return {"network": name, "precision": "f32", key: found[:300] if isinstance(found, str) else found}


if __name__ == "__main__":
    main()
