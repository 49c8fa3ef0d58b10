"""What PyTorch answers with the weights that Divisi makes up: `logits.json`; and the names and
shapes of its parameters: `tensors.json`.

    python -m venv venv && venv/bin/pip install -r requirements.txt
    cargo build --release
    venv/bin/python logits.py ../../target/release/divisi

Every published network as torchvision has it, else timm, with all parameters loaded
strictly under the names `divisi network show` prints, in float64. `tests/runtime/pytorch.rs`
compares; of the larger ones of a family `tests/runtime/networks.rs` compares the tensors alone. Beside the answers it prints how far PyTorch's own float32 is from them.
"""

import json
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import timm
import torch
import torchvision

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "benches" / "networks" / "python"))
from divisi_weights import np, uniform, values  # noqa: E402

# Neither square nor of a power of two, so that no side can be taken for another. Windows of
# Swin transformers reach past the ends of the images; torchvision's vision transformers take
# squares alone.
SMALL, STEM, SQUARE = (96, 112), (139, 155), (96, 96)
TORCHVISION = {
    "alexnet": [SMALL],
    "convnext-tiny": [SMALL],
    "convnext-small": [],
    "convnext-base": [],
    "convnext-large": [],
    "densenet121": [SMALL, (224, 224)],
    "densenet169": [SMALL],
    "densenet201": [SMALL],
    "efficientnet-b0": [SMALL],
    "efficientnet-b1": [SMALL],
    "efficientnet-b2": [SMALL],
    "efficientnet-b3": [SMALL],
    "efficientnet-b4": [],
    "efficientnet-b5": [SMALL],
    "efficientnet-b6": [],
    "efficientnet-b7": [],
    "efficientnet-v2-s": [SMALL],
    "efficientnet-v2-m": [],
    "efficientnet-v2-l": [],
    "googlenet": [SMALL, (99, 87)],
    "inception-v3": [STEM, (299, 299)],
    "mnasnet0-5": [SMALL],
    "mnasnet0-75": [],
    "mnasnet1-0": [SMALL],
    "mnasnet1-3": [],
    "mobilenet-v2": [SMALL, (224, 224)],
    "mobilenet-v3-large": [SMALL],
    "mobilenet-v3-small": [SMALL],
    "regnet-x-400mf": [SMALL],
    "regnet-x-800mf": [],
    "regnet-x-1-6gf": [],
    "regnet-x-3-2gf": [],
    "regnet-x-8gf": [SMALL],
    "regnet-x-16gf": [],
    "regnet-y-400mf": [SMALL],
    "regnet-y-800mf": [],
    "regnet-y-1-6gf": [],
    "regnet-y-3-2gf": [],
    "regnet-y-8gf": [],
    "regnet-y-16gf": [],
    "resnet18": [SMALL],
    "resnet34": [SMALL],
    "resnet50": [SMALL, (224, 224)],
    "resnet101": [SMALL],
    "resnet152": [SMALL],
    "resnext50-32x4d": [SMALL],
    "resnext101-32x8d": [],
    "shufflenet-v2-x0-5": [SMALL],
    "shufflenet-v2-x1-0": [SMALL],
    "shufflenet-v2-x1-5": [],
    "shufflenet-v2-x2-0": [],
    "squeezenet1-0": [SMALL],
    "squeezenet1-1": [SMALL],
    "swin-b": [],
    "swin-s": [],
    "swin-t": [SMALL, (224, 224)],
    "vgg16": [SMALL],
    "vgg19": [SMALL],
    "vit-b-16": [SQUARE],
    "vit-b-32": [],
    "vit-l-16": [],
    "vit-l-32": [],
    "wide-resnet50-2": [SMALL],
    "wide-resnet101-2": [],
}
TIMM = {
    "deit-base-patch16-224": ("deit_base_patch16_224", []),
    "deit-small-patch16-224": ("deit_small_patch16_224", []),
    "deit-tiny-patch16-224": ("deit_tiny_patch16_224", [SMALL]),
    "inception-resnet-v2": ("inception_resnet_v2", [STEM]),
    "inception-v4": ("inception_v4", [STEM]),
    "mobilenet-v1": ("mobilenetv1_100", [SMALL]),
    "resnext101-32x4d": ("resnext101_32x4d", [SMALL]),
    "vit-base-patch16-224": ("vit_base_patch16_224", []),
    "xception": ("legacy_xception", [STEM]),
}
# Without these torchvision adds a head that only training uses, and scales samples.
ALONE = {"aux_logits": False, "transform_input": False, "init_weights": False}
OPTIONS = {"inception_v3": ALONE, "googlenet": ALONE}
SAMPLES, INPUT_KEY, SEED, FIRST = 2, 1, 0, 16
# Buffers that follow from the network.
UNTRAINED = (".num_batches_tracked", ".relative_position_index")


def networks():
    """Name, library, its name there, and the sides of the images, of every network."""
    for name, sides in TORCHVISION.items():
        yield name, "torchvision", torchvision_name(name), sides
    for name, (model, sides) in TIMM.items():
        yield name, "timm", model, sides


def torchvision_name(name):
    known = {model.replace("_", "-"): model for model in torchvision.models.list_models()}
    return known[name]


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
        steps = shift * (np.arange(made.size) % 5).astype(np.float32) / np.float32(5)
        made += steps.reshape(made.shape)
    return torch.from_numpy(made)


def empty(library, name, sides=None):
    """The model without values, for images of these sides."""
    options = dict(OPTIONS.get(name, {}))
    if sides and "vit_" in name and library == "torchvision":
        options["image_size"] = sides[0]
    if sides and name.startswith(("vit_", "deit_")) and library == "timm":
        options["img_size"] = sides
    # Some compute with tensors while they are made.
    counted = name.startswith(("regnet", "swin"))
    with torch.device("cpu" if counted else "meta"):
        if library == "timm":
            return timm.create_model(name, pretrained=False, **options)
        return torchvision.models.get_model(name, weights=None, **options)


def model(library, name, sides, tensors):
    made = empty(library, name, sides)
    state = OrderedDict((tensor["name"], shaken(tensor)) for tensor in tensors)
    # Some ask for the version of what they load.
    state._metadata = made.state_dict()._metadata
    for key, buffer in made.state_dict().items():
        if key.endswith(".num_batches_tracked"):
            state[key] = torch.tensor(0)
        if key.endswith(".relative_position_index"):
            state[key] = buffer
    made.load_state_dict(state, strict=True, assign=True)
    return made.eval()


def fnv(text):
    """FNV-1a of 64 bits."""
    hashed = 0xCBF29CE484222325
    for byte in text.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return hashed


def tensors(network, library, name):
    made = empty(library, name)
    state = {key: list(t.shape) for key, t in made.state_dict().items()}
    state = {key: shape for key, shape in state.items() if not key.endswith(UNTRAINED)}
    checksum = sum(fnv(f"{key} {shape}") for key, shape in state.items()) % 2**64
    return {
        "network": network,
        "model": f"{library} {name}",
        "parameters": sum(p.numel() for p in made.parameters()),
        "checksum": f"{checksum:016x}",
    }


def summary(row):
    return {
        "first": [float(f"{value:.9g}") for value in row[:FIRST]],
        "largest": float(f"{row.abs().max():.9g}"),
        "sum": float(f"{row.sum():.9g}"),
        "norm": float(f"{row.norm():.9g}"),
    }


@torch.no_grad()
def answers(divisi, network, library, name, sides):
    made_up = described(divisi, network, sides)["tensors"]
    network_model = model(library, name, sides, made_up)
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


def written(file, rows):
    lines = ",\n".join(json.dumps(row) for row in rows)
    (HERE / file).write_text(f"[\n{lines}\n]\n")


def main():
    torch.set_num_threads(1)
    divisi, *only = sys.argv[1:]
    if not only:
        written("tensors.json", [tensors(*row[:3]) for row in networks()])
    rows = [
        answers(divisi, network, library, name, sides)
        for network, library, name, all_sides in networks()
        if not only or network in only
        for sides in all_sides
    ]
    if not only:
        written("logits.json", rows)


if __name__ == "__main__":
    main()
