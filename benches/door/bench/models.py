"""What is served, for Divisi and for Triton: the same files of the same networks."""

import shutil
from pathlib import Path

from . import onnx_file

IMAGE = [3, 224, 224]
CNNS = ["cnn-s", "res-s", "dense"]

MANIFEST = """name = "{name}"
classes = {classes}
{rule}

[input]
shape = {shape}

[calibration]
synthetic = 256
"""

MEMBER = """
[[members]]
name = "{name}"
network = {{ file = "{file}" }}
"""

STEP = """
[[steps]]
name = "{name}"
{what}
inputs = {reads}
outputs = "{makes}"
"""


def divisi(folder: Path, digits: Path) -> dict[str, Path]:
    """Writes the models of Divisi; returns what to serve by the name of the model."""
    folder.mkdir(parents=True)
    (folder / "empty.onnx").write_bytes(onnx_file.identity(16))
    (folder / "image.onnx").write_bytes(onnx_file.image_mean(IMAGE))
    return {
        "empty": folder / "empty.onnx",
        "image": folder / "image.onnx",
        "chain": chain(folder / "chain"),
        "cnns": cnns(folder / "cnns", digits),
    }


def chain(folder: Path) -> Path:
    """Two identities one after another, and the mean of what both make."""
    folder.mkdir()
    (folder / "one.onnx").write_bytes(onnx_file.identity(16))
    (folder / "two.onnx").write_bytes(onnx_file.identity(16))
    text = MANIFEST.format(name="chain", classes=16, rule='outputs = ["y"]', shape=[16])
    text += "".join(MEMBER.format(name=n, file=f"{n}.onnx") for n in ["one", "two"])
    text += STEP.format(name="one", what='model = "one"', reads='"input"', makes="a")
    text += STEP.format(name="two", what='model = "two"', reads='"a"', makes="b")
    text += STEP.format(name="mean", what='host = "mean"', reads='["a", "b"]', makes="y")
    (folder / "pipeline.toml").write_text(text)
    return folder


def cnns(folder: Path, digits: Path) -> Path:
    """Three small CNNs beside each other, and the mean of their answers."""
    folder.mkdir()
    text = MANIFEST.format(name="cnns", classes=10, rule='outputs = ["y"]', shape=[1, 8, 8])
    for name in CNNS:
        shutil.copy(digits / f"{name}.onnx", folder)
        text += MEMBER.format(name=name, file=f"{name}.onnx")
        text += STEP.format(name=name, what=f'model = "{name}"', reads='"input"', makes=f"of-{name}")
    reads = "[" + ", ".join(f'"of-{name}"' for name in CNNS) + "]"
    text += STEP.format(name="mean", what='host = "mean"', reads=reads, makes="y")
    (folder / "pipeline.toml").write_text(text)
    return folder


PYTHON = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        {setup}

    def execute(self, requests):
        answers = []
        for request in requests:
            tensors = [
                pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in {reads}
            ]
            made = pb_utils.Tensor("y", ({made}).astype(np.float32))
            answers.append(pb_utils.InferenceResponse(output_tensors=[made]))
        return answers
"""

NETWORK = """
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.network = onnxruntime.InferenceSession("{path}", options)
        self.name = self.network.get_inputs()[0].name
"""


def tensor(name: str, dims: list[int]) -> str:
    return f'{{ name: "{name}" data_type: TYPE_FP32 dims: {dims} }}'


def triton(folder: Path, digits: Path) -> Path:
    """Writes Triton's repository of the same models, in its Python backend."""
    python(folder, "empty", {"x": [16]}, [16], "tensors[0]")
    python(folder, "image", {"x": IMAGE}, [3], "tensors[0].mean((2, 3))")
    python(folder, "mean_two", {"a": [16], "b": [16]}, [16], "(tensors[0] + tensors[1]) / 2")
    reads = {f"x{at}": [10] for at in range(3)}
    python(folder, "mean_three", reads, [10], "sum(tensors) / 3")
    for name in CNNS:
        setup = NETWORK.format(path=(digits / f"{name}.onnx").resolve())
        made = "self.network.run(None, {self.name: tensors[0]})[0]"
        python(folder, name, {"x": [1, 8, 8]}, [10], made, setup)
    steps = [("empty", {"x": "input"}, "a"), ("empty", {"x": "a"}, "b")]
    ensemble(folder, "chain", [16], [*steps, ("mean_two", {"a": "a", "b": "b"}, "y")])
    steps = [(name, {"x": "input"}, f"of_{name}") for name in CNNS]
    reads = {f"x{at}": f"of_{name}" for at, name in enumerate(CNNS)}
    ensemble(folder, "cnns", [1, 8, 8], [*steps, ("mean_three", reads, "y")], [10])
    return folder


def python(folder, name, reads, makes, made, setup="pass") -> None:
    version = folder / name / "1"
    version.mkdir(parents=True)
    text = PYTHON.format(setup=setup.strip(), reads=list(reads), made=made)
    (version / "model.py").write_text(text)
    inputs = ", ".join(tensor(*one) for one in reads.items())
    write_config(folder, name, 'backend: "python"', inputs, tensor("y", makes))


def ensemble(folder, name, reads, steps, makes=None) -> None:
    (folder / name / "1").mkdir(parents=True)
    written = []
    for model, of, out in steps:
        maps = "".join(f' input_map {{ key: "{k}" value: "{v}" }}' for k, v in of.items())
        maps += f' output_map {{ key: "y" value: "{out}" }}'
        written.append(f'step {{ model_name: "{model}" model_version: -1{maps} }}')
    scheduling = f'platform: "ensemble"\nensemble_scheduling {{ {" ".join(written)} }}'
    write_config(folder, name, scheduling, tensor("input", reads), tensor("y", makes or reads))


def write_config(folder, name, kind, inputs, outputs) -> None:
    text = f'name: "{name}"\n{kind}\nmax_batch_size: 64\ninput [{inputs}]\noutput [{outputs}]\n'
    if "python" in kind:
        text += "instance_group { count: 1 kind: KIND_CPU }\ndynamic_batching { }\n"
    (folder / name / "config.pbtxt").write_text(text)
