"""What all contestants read: a network's graph, weights, ONNX files and inputs."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contest import onnx_model
from contest.catalogue import Network
from contest.environment import TARGET, ours

SEED = 7
# Of the samples that say the ranges of values of an int8 file.
RANGES_SEED = 11
# Words of texts.
FIRST_WORD, WORDS = 1000, 30000


@dataclass(frozen=True)
class Files:
    """A network's files, all in one folder, and the precision they are read for."""

    network: Network
    folder: Path
    precision: str

    @property
    def graph(self) -> Path:
        return self.folder / "graph.json"

    @property
    def weights(self) -> Path:
        return self.folder / f"{self.network.float_name}.safetensors"

    @property
    def model(self) -> Path:
        return self.folder / f"{self.network.float_name}.onnx"

    @property
    def quantised(self) -> Path:
        return self.folder / f"{self.network.name}.int8.onnx"

    def input(self, batch: int) -> Path:
        """Samples; the first are the same whatever the batch."""
        path = self.folder / f"input-{batch}.npy"
        if not path.exists():
            np.save(path, samples(self.network, batch, SEED))
        return path

    def answer(self, contestant: str) -> Path:
        return self.folder / f"answer-{contestant}.npy"

    def of_load(self, batch: int, cores: list[int], choose: bool) -> dict:
        """The question that loads the network (`contestants/protocol.py`)."""
        question = {
            "network": self.network.name,
            "shape": self.network.shape,
            "graph": self.graph,
            "weights": self.weights,
            "input": self.input(batch),
            "cores": cores,
            "threads": len(cores),
            "choose": choose,
        }
        return question | self.read_as()

    def read_as(self) -> dict:
        """All read the same int8 file; in other precisions ours builds what it can build."""
        if self.precision == "int8":
            return {"model": self.quantised, "source": "file", "precision": "f32"}
        return self.read_in(self.precision)

    def read_in(self, precision: str) -> dict:
        """The float32 network, with products in a precision."""
        source = "file" if self.network.is_text else "builder"
        return {"model": self.model, "source": source, "precision": precision}


def samples(network: Network, count: int, seed: int) -> np.ndarray:
    """Standard normal samples, or texts of random words as long as they may be."""
    random = np.random.default_rng(seed)
    if not network.is_text:
        return random.standard_normal((count, *network.shape), dtype=np.float32)
    made = np.zeros((count, *network.shape), np.float32)
    made[:, 0] = random.integers(FIRST_WORD, WORDS, (count, network.shape[1]))
    made[:, 1] = 1
    return made


def prepare(network: Network, divisi: Path, precision: str) -> Files:
    """Makes the files that are missing or older than what they are made of."""
    shape = "x".join(map(str, network.shape))
    files = Files(network, TARGET / "files" / f"{network.float_name}-{shape}", precision)
    files.folder.mkdir(parents=True, exist_ok=True)
    if network.is_text and not files.model.exists():
        from contest import exports

        exports.text(network, SEED, files.model)
    if not network.is_text and is_older(files.model, divisi):
        make(files, divisi)
    if precision == "int8" and is_older(files.quantised, files.model):
        from contest import quantise

        rows = samples(network, quantise.ROWS, RANGES_SEED)
        quantise.write(files.model, rows, network.is_dynamic, files.quantised)
    return files


def is_older(made: Path, source: Path) -> bool:
    """Whether a file is missing or older than what it is made of."""
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime


def make(files: Files, divisi: Path) -> None:
    network = files.network
    if network.is_encoder:
        return make_encoder(files)
    chosen = [network.name, "--shape", ",".join(map(str, network.shape)), "--seed", str(SEED)]
    ask(divisi, "weights", *chosen, "--output", str(files.weights))
    shown = json.loads(ask(divisi, "show", *chosen, "--format", "json"))
    files.graph.write_text(json.dumps(shown["graph"]))
    if network.is_exported:
        from contest import exports

        return exports.image(network, files.weights, files.model)
    onnx_model.write(shown["graph"], files.weights, files.model)


def make_encoder(files: Files) -> None:
    """Our contestant knows the encoders; the command does not."""
    question = {
        "ask": "describe",
        "network": files.network.name,
        "seed": SEED,
        "graph": str(files.graph),
        "weights": str(files.weights),
    }
    subprocess.run([ours(None)], check=True, input=json.dumps(question), text=True, stdout=subprocess.DEVNULL)
    onnx_model.write(json.loads(files.graph.read_text()), files.weights, files.model)


def ask(divisi: Path, *arguments: str) -> str:
    command = [divisi, "network", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
