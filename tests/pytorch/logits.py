"""What PyTorch answers with the weights that Divisi makes up: `logits.json`.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    cargo build --release
    venv/bin/python logits.py ../../target/release/divisi

Every published network as torchvision has it, else timm, with all parameters loaded
strictly under the names `divisi network show` gives, in float64. `tests/engine/pytorch.rs`
compares. Beside the answers it prints how far PyTorch's own float32 is from them.
"""

import json
import subprocess
import sys
from pathlib import Path

import timm
import torch
import torchvision

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "benches" / "networks" / "python"))
from divisi_weights import np, uniform, values  # noqa: E402

# Neither square nor of a power of two, so that no side can be taken for another.
SMALL, STEM = (96, 112), (139, 155)
NETWORKS = [
    ("alexnet", "torchvision", "alexnet", SMALL),
    ("densenet121", "torchvision", "densenet121", SMALL),
    ("densenet121", "torchvision", "densenet121", (224, 224)),
    ("densenet169", "torchvision", "densenet169", SMALL),
    ("densenet201", "torchvision", "densenet201", SMALL),
    ("inception-resnet-v2", "timm", "inception_resnet_v2", STEM),
    ("inception-v3", "torchvision", "inception_v3", STEM),
    ("inception-v3", "torchvision", "inception_v3", (299, 299)),
    ("inception-v4", "timm", "inception_v4", STEM),
    ("mobilenet-v1", "timm", "mobilenetv1_100", SMALL),
    ("mobilenet-v2", "torchvision", "mobilenet_v2", SMALL),
    ("mobilenet-v2", "torchvision", "mobilenet_v2", (224, 224)),
    ("resnet18", "torchvision", "resnet18", SMALL),
    ("resnet34", "torchvision", "resnet34", SMALL),
    ("resnet50", "torchvision", "resnet50", SMALL),
    ("resnet50", "torchvision", "resnet50", (224, 224)),
    ("resnet101", "torchvision", "resnet101", SMALL),
    ("resnet152", "torchvision", "resnet152", SMALL),
    ("resnext50-32x4d", "torchvision", "resnext50_32x4d", SMALL),
    ("resnext101-32x4d", "timm", "resnext101_32x4d", SMALL),
    ("vgg16", "torchvision", "vgg16", SMALL),
    ("vgg19", "torchvision", "vgg19", SMALL),
    ("xception", "timm", "legacy_xception", STEM),
]
# Without these torchvision adds a head that only training uses, and scales samples.
OPTIONS = {"inception_v3": {"aux_logits": False, "transform_input": False, "init_weights": False}}
SAMPLES, INPUT_KEY, SEED, FIRST = 2, 1, 0, 16


def described(divisi, network, sides):
    shape = f"3,{sides[0]},{sides[1]}"
    command = [divisi, "network", "show", network, "--shape", shape, "--seed", str(SEED)]
    return json.loads(subprocess.check_output([*command, "--format", "json"]))


def shaken(tensor):
    """The synthetic values; what is constant is made to differ by channel, so that no
    norm is the identity."""
    made = values(tensor)
    if "constant" in tensor:
        shift = np.float32(0.5 if tensor["name"].endswith("running_var") else 0.1)
        made += shift * (np.arange(made.size) % 5).astype(np.float32) / np.float32(5)
    return torch.from_numpy(made)


def model(library, name, tensors):
    with torch.device("meta"):
        if library == "timm":
            made = timm.create_model(name, pretrained=False)
        else:
            made = torchvision.models.get_model(name, weights=None, **OPTIONS.get(name, {}))
    state = {tensor["name"]: shaken(tensor) for tensor in tensors}
    counters = [key for key in made.state_dict() if key.endswith(".num_batches_tracked")]
    state.update({key: torch.tensor(0) for key in counters})
    made.load_state_dict(state, strict=True, assign=True)
    return made.eval()


def summary(row):
    return {
        "first": [float(f"{value:.9g}") for value in row[:FIRST]],
        "largest": float(f"{row.abs().max():.9g}"),
        "sum": float(f"{row.sum():.9g}"),
        "norm": float(f"{row.norm():.9g}"),
    }


@torch.no_grad()
def answers(divisi, network, library, name, sides):
    network_model = model(library, name, described(divisi, network, sides)["tensors"])
    drawn = uniform(INPUT_KEY, SAMPLES * 3 * sides[0] * sides[1])
    samples = torch.from_numpy(drawn.reshape(SAMPLES, 3, *sides))
    single = network_model(samples).double()
    logits = network_model.double()(samples.double())
    difference = ((single - logits).abs().max() / logits.abs().max()).item()
    apart = ((logits[0] - logits[1]).abs().max() / logits.abs().max()).item()
    print(f"{network} {sides}: float32 differs by {difference:.1e}, samples by {apart:.1e}", flush=True)
    return {
        "network": network,
        "model": f"{library} {name}",
        "input": [3, *sides],
        "samples": [summary(row) for row in logits],
    }


def main():
    torch.set_num_threads(1)
    divisi, *only = sys.argv[1:]
    rows = [answers(divisi, *row) for row in NETWORKS if not only or row[0] in only]
    if not only:
        lines = ",\n".join(json.dumps(row) for row in rows)
        (HERE / "logits.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
