"""Which networks are measured, at which input sizes, and what each has to reach."""

import tomllib
from dataclasses import dataclass

from contest.environment import ROOT

MANIFEST = ROOT / "sample_ensembles" / "imn12" / "ensemble.toml"

# Our speed over the faster of ONNX Runtime and OpenVINO.
GEOMEAN_BAR = 1.0
LEAST_BAR = 0.8
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
# Encoders are named by their tokens: encoder-16, encoder-128, encoder-512.
ENCODER = "encoder-"


@dataclass(frozen=True)
class Network:
    """A built-in network at one input size, `[channels, height, width]`, or an encoder of
    tokens, `[tokens, features]`."""

    name: str
    shape: tuple[int, ...]

    @property
    def is_encoder(self) -> bool:
        return self.name.startswith(ENCODER)

    @property
    def bar(self) -> float:
        return VGG_BAR if self.name in ("vgg16", "vgg19") else LEAST_BAR


def imn12() -> list[Network]:
    manifest = tomllib.loads(MANIFEST.read_text())
    usual = manifest["input"]["shape"]
    return [
        Network(member["network"]["builder"], tuple(member.get("input", {}).get("shape", usual)))
        for member in manifest["members"]
    ]


def named(names: list[str] | None) -> list[Network]:
    """The networks asked for; those that IMN12 lacks at its usual input size."""
    known = {network.name: network for network in imn12()}
    if names is None:
        return list(known.values())
    usual = known["resnet50"].shape
    return [known.get(name) or encoder(name) or Network(name, usual) for name in names]


def encoder(name: str) -> Network | None:
    """The encoder of this name, `encoder-` and its tokens: 12 layers as large as BERT-base's."""
    tokens = name.removeprefix(ENCODER)
    return Network(name, (int(tokens), 768)) if name != tokens and tokens.isdigit() else None
