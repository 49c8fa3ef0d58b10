"""Which networks are measured, at which input sizes, and what each has to reach."""

import re
import tomllib
from dataclasses import dataclass

from contest.environment import ROOT

MANIFEST = ROOT / "sample_ensembles" / "imn12" / "ensemble.toml"

# Our speed over the faster of ONNX Runtime and OpenVINO.
GEOMEAN_BAR = 1.0
LEAST_BAR = 0.8
# In float32, where images of 3×3 windows have fewer products than they seem to.
VGG_BAR = 1.4
# Our peak memory over ONNX Runtime's.
MEMORY_BAR = 1.25
# Planned bytes over those used, either way.
PLANNED_BAR = 0.05
# Seconds from the start of a process with 100 MB of weights to its first answer.
LOAD_BAR = 0.5
# Speed beside another network over speed alone.
PARTITION_BAR = 0.95

# About 100 MB of weights.
LOADED = "resnet50"
# Networks side by side: like ones, unlike ones, and one that wants memory most.
PAIRS = [("resnet50", "densenet121"), ("resnet50", "vgg16")]
LARGEST_BATCH = 32
# Our precisions against our float32.
OWN = "resnet50"
OWN_BATCH = 8
# The peak memory of the quantised file over that of float32.
OWN_MEMORY_BAR = 0.4
# Encoders are named by their tokens: encoder-16, encoder-128, encoder-512.
ENCODER = "encoder-"
# Built-in networks whose ONNX files are torchvision's exports of them.
EXPORTED = {
    "mobilenet-v3-large": "mobilenet_v3_large",
    "efficientnet-b0": "efficientnet_b0",
    "convnext-tiny": "convnext_tiny",
    "vit-b-16": "vit_b_16",
}
# Exports of Hugging Face's networks of texts, with other tokens than these as `bert-base-512`.
TEXTS = ("minilm-l6", "bert-base")
TOKENS = 128
# The int8 file of a text's network may be made by `quantize_dynamic`: `bert-base-dynamic`.
DYNAMIC = "-dynamic"
TEXT = re.compile(rf"({'|'.join(TEXTS)})(?:-(\d+))?({DYNAMIC})?")


@dataclass(frozen=True)
class Network:
    """A built-in network at one input size, `[channels, height, width]`, an encoder of
    tokens, `[tokens, features]`, or a network of texts, `[inputs, tokens]`."""

    name: str
    shape: tuple[int, ...]

    @property
    def is_encoder(self) -> bool:
        return self.name.startswith(ENCODER)

    @property
    def is_text(self) -> bool:
        return TEXT.fullmatch(self.name) is not None

    @property
    def is_exported(self) -> bool:
        """Whether PyTorch makes the ONNX file."""
        return self.is_text or self.name in EXPORTED

    @property
    def is_dynamic(self) -> bool:
        """Whether the int8 file finds the range of values as it runs."""
        return self.is_text and self.name.endswith(DYNAMIC)

    @property
    def float_name(self) -> str:
        """The name of the float32 network that the int8 file was made of."""
        return self.name.removesuffix(DYNAMIC)

    def bar(self, precision: str) -> float:
        return VGG_BAR if precision == "f32" and self.name in ("vgg16", "vgg19") else LEAST_BAR


def imn12() -> list[Network]:
    manifest = tomllib.loads(MANIFEST.read_text())
    usual = manifest["input"]["shape"]
    return [
        Network(member["network"]["builder"], tuple(member.get("input", {}).get("shape", usual)))
        for member in manifest["members"]
    ]


def usual_names(precision: str) -> list[str]:
    """IMN12's networks; in less than float32 those too that are often run so."""
    names = [network.name for network in imn12()]
    if precision != "f32":
        names += [*EXPORTED, *TEXTS]
    if precision == "int8":
        names += [name + DYNAMIC for name in TEXTS]
    return names


def named(names: list[str] | None, precision: str = "f32") -> list[Network]:
    """The networks asked for; those that IMN12 lacks at its usual input size."""
    known = {network.name: network for network in imn12()}
    usual = known["resnet50"].shape
    return [
        known.get(name) or encoder(name) or text(name) or Network(name, usual)
        for name in names or usual_names(precision)
    ]


def encoder(name: str) -> Network | None:
    """The encoder of this name, `encoder-` and its tokens: 12 layers as large as BERT-base's."""
    tokens = name.removeprefix(ENCODER)
    return Network(name, (int(tokens), 768)) if name != tokens and tokens.isdigit() else None


def text(name: str) -> Network | None:
    """The network of texts of this name; its inputs are words, their mask and their types."""
    found = TEXT.fullmatch(name)
    return Network(name, (3, int(found[2] or TOKENS))) if found else None
