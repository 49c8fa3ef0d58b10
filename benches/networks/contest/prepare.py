"""What all contestants read: a network's graph, weights, ONNX file and inputs."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contest import onnx_model
from contest.catalogue import Network
from contest.environment import TARGET, ours

SEED = 7


@dataclass(frozen=True)
class Files:
    """A network's files, all in one folder."""

    network: Network
    folder: Path

    @property
    def graph(self) -> Path:
        return self.folder / "graph.json"

    @property
    def weights(self) -> Path:
        return self.folder / f"{self.network.name}.safetensors"

    @property
    def model(self) -> Path:
        return self.folder / f"{self.network.name}.onnx"

    def input(self, batch: int) -> Path:
        """Standard normal samples; the first are the same whatever the batch."""
        path = self.folder / f"input-{batch}.npy"
        if not path.exists():
            random = np.random.default_rng(SEED)
            np.save(path, random.standard_normal((batch, *self.network.shape), dtype=np.float32))
        return path

    def answer(self, contestant: str) -> Path:
        return self.folder / f"answer-{contestant}.npy"

    def of_load(self, batch: int, cores: list[int], choose: bool) -> dict:
        """The question that loads the network (`contestants/protocol.py`)."""
        return {
            "network": self.network.name,
            "shape": self.network.shape,
            "graph": self.graph,
            "weights": self.weights,
            "model": self.model,
            "input": self.input(batch),
            "cores": cores,
            "threads": len(cores),
            "choose": choose,
        }


def prepare(network: Network, divisi: Path) -> Files:
    """Makes the files that are missing or older than the command that makes them."""
    shape = "x".join(map(str, network.shape))
    files = Files(network, TARGET / "files" / f"{network.name}-{shape}")
    files.folder.mkdir(parents=True, exist_ok=True)
    if not files.model.exists() or files.model.stat().st_mtime < divisi.stat().st_mtime:
        make(files, divisi)
    return files


def make(files: Files, divisi: Path) -> None:
    network = files.network
    if network.is_encoder:
        return make_encoder(files)
    chosen = [network.name, "--shape", ",".join(map(str, network.shape)), "--seed", str(SEED)]
    ask(divisi, "weights", *chosen, "--output", str(files.weights))
    shown = json.loads(ask(divisi, "show", *chosen, "--format", "json"))
    files.graph.write_text(json.dumps(shown["graph"]))
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
