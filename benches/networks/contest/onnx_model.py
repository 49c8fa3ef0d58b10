"""A network's graph as an ONNX file, with the operations that PyTorch's exporter gives.

The file has no weights of its own: its initializers point into the safetensors file
(ONNX calls that external data), so every contestant reads the same bytes.
"""

import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper

OPSET = 18
BATCH = "batch"


def write(graph: dict, weights: Path, path: Path) -> None:
    """Writes `graph` to `path`; `weights` has to lie in the same folder."""
    tensors = Tensors(weights)
    names = ["input"]
    nodes = []
    for layer in graph["nodes"]:
        inputs = [names[i] for i in layer["inputs"]]
        shapes = [shape_of(graph, i) for i in layer["inputs"]]
        nodes += convert(layer, inputs, shapes[0], tensors)
        names.append(layer["name"])
    onnx.save(model(graph, nodes, tensors), path)


def model(graph: dict, nodes: list, tensors: "Tensors") -> onnx.ModelProto:
    output = graph["nodes"][-1]
    whole = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [BATCH, *graph["input"]])],
        [helper.make_tensor_value_info(output["name"], TensorProto.FLOAT, [BATCH, *output["shape"]])],
        list(tensors.used.values()),
    )
    opset = [helper.make_operatorsetid("", OPSET)]
    return helper.make_model(whole, opset_imports=opset, ir_version=9)


def shape_of(graph: dict, value: int) -> list[int]:
    """Shape of one sample of a value: 0 is the input, then the nodes in order."""
    return graph["input"] if value == 0 else graph["nodes"][value - 1]["shape"]


class Tensors:
    """The tensors of a safetensors file, made initializers as layers ask for them."""

    def __init__(self, path: Path):
        self.path = path
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            self.header = json.loads(file.read(length))
        self.start = 8 + length
        self.used: dict[str, onnx.TensorProto] = {}

    def get(self, name: str) -> str:
        """Makes the file's tensor `name` an initializer; gives its name."""
        found = self.header[name]
        first, end = found["data_offsets"]
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=found["shape"])
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": self.path.name, "offset": self.start + first, "length": end - first}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self.used[name] = tensor
        return name

    def constant(self, name: str, values: list[float]) -> str:
        """Adds an initializer that no file has."""
        dims = [len(values)] if len(values) > 1 else []
        self.used[name] = helper.make_tensor(name, TensorProto.FLOAT, dims, values)
        return name

    def integers(self, name: str, values: list[int]) -> str:
        """Adds an initializer of integers."""
        self.used[name] = helper.make_tensor(name, TensorProto.INT64, [len(values)], values)
        return name


def convert(layer: dict, inputs: list[str], shape: list[int], tensors: Tensors) -> list:
    """The ONNX nodes of one layer, the last of which gives a value of its name."""
    op, name = layer["op"], layer["name"]
    kind = op["op"]

    def node(onnx_kind: str, *more: str, **attributes) -> list:
        return [helper.make_node(onnx_kind, [*inputs, *more], [name], name, **attributes)]

    def own(*suffixes: str) -> list[str]:
        return [tensors.get(f"{name}.{suffix}") for suffix in suffixes]

    match kind:
        case "conv2d":
            parameters = own("weight", "bias") if op["bias"] else own("weight")
            return node("Conv", *parameters, **convolution(op))
        case "linear" if len(shape) > 1:
            return linear_of_tokens(op, name, inputs, tensors)
        case "layer-norm":
            return node("LayerNormalization", *own("weight", "bias"), axis=-1, epsilon=op["eps"])
        case "gelu":
            return gelu(name, inputs, tensors)
        case "tensor":
            return of_tensors(layer, inputs, tensors)
        case "linear":
            parameters = own("weight", "bias") if op["bias"] else own("weight")
            return node("Gemm", *parameters, transB=1)
        case "batch-norm":
            parameters = own("weight", "bias", "running_mean", "running_var")
            return node("BatchNormalization", *parameters, epsilon=op["eps"])
        case "relu":
            return node("Relu")
        case "relu6":
            ends = [tensors.constant("zero", [0.0]), tensors.constant("six", [6.0])]
            return node("Clip", *ends)
        case "scale":
            return node("Mul", tensors.constant(f"{name}.by", [op["by"]]))
        case "max-pool":
            return node("MaxPool", **pool(op))
        case "avg-pool":
            return node("AveragePool", **pool(op), count_include_pad=int(op["count_include_pad"]))
        case "global-avg-pool":
            mean = helper.make_node("GlobalAveragePool", inputs, [f"{name}.mean"])
            return [mean, helper.make_node("Flatten", [f"{name}.mean"], [name])]
        case "adaptive-avg-pool":
            return adaptive(op, name, inputs, shape)
        case "add":
            return node("Add")
        case "concat":
            return node("Concat", axis=1)
        case "flatten":
            return node("Flatten")
        case "softmax":
            return node("Softmax", axis=-1)
    raise ValueError(f"layer `{name}`: no ONNX operation is known for `{kind}`")


def linear_of_tokens(op: dict, name: str, inputs: list[str], tensors: Tensors) -> list:
    """A product with turned weights, which runtimes turn once, and a sum."""
    turned = helper.make_node("Transpose", [tensors.get(f"{name}.weight")], [f"{name}.turned"], perm=[1, 0])
    product = f"{name}.product" if op["bias"] else name
    nodes = [turned, helper.make_node("MatMul", [*inputs, f"{name}.turned"], [product])]
    if op["bias"]:
        nodes.append(helper.make_node("Add", [product, tensors.get(f"{name}.bias")], [name]))
    return nodes


def gelu(name: str, inputs: list[str], tensors: Tensors) -> list:
    """Five nodes, as PyTorch exports it; runtimes know the pattern."""
    root, one, half = (tensors.constant(*c) for c in (("root", [2**0.5]), ("one", [1.0]), ("half", [0.5])))
    chain = [
        ("Div", [*inputs, root], f"{name}.divided"),
        ("Erf", [f"{name}.divided"], f"{name}.erf"),
        ("Add", [f"{name}.erf", one], f"{name}.added"),
        ("Mul", [*inputs, f"{name}.added"], f"{name}.product"),
        ("Mul", [f"{name}.product", half], name),
    ]
    return [helper.make_node(kind, read, [made]) for kind, read, made in chain]


def of_tensors(layer: dict, inputs: list[str], tensors: Tensors) -> list:
    """Views, transposes and products; the batch comes before their axes."""
    op, name = layer["op"], layer["name"]
    match op["tensor"]:
        case "view":
            shape = tensors.integers(f"{name}.shape", [-1, *op["shape"]])
            return [helper.make_node("Reshape", [*inputs, shape], [name])]
        case "transpose":
            order = [0, *(axis + 1 for axis in op["order"])]
            return [helper.make_node("Transpose", inputs, [name], perm=order)]
        case "mat-mul":
            return [helper.make_node("MatMul", inputs, [name])]
    raise ValueError(f"layer `{name}`: no ONNX operation is known for `{op['tensor']}`")


def convolution(op: dict) -> dict:
    return {
        "kernel_shape": sides(op["kernel"]),
        "strides": sides(op["stride"]),
        "pads": sides(op["padding"]) * 2,
        "dilations": sides(op["dilation"]),
        "group": op["groups"],
    }


def pool(op: dict) -> dict:
    return {
        "kernel_shape": sides(op["kernel"]),
        "strides": sides(op["stride"]),
        "pads": sides(op["padding"]) * 2,
    }


def adaptive(op: dict, name: str, inputs: list[str], shape: list[int]) -> list:
    """An average pool where its windows are alike; nothing where they are one pixel."""
    to = [op["height"], op["width"]]
    if to == shape[1:]:
        return [helper.make_node("Identity", inputs, [name])]
    if any(side % parts for side, parts in zip(shape[1:], to)):
        raise ValueError(f"layer `{name}`: ONNX has no pool from {shape[1:]} to {to}")
    window = [side // parts for side, parts in zip(shape[1:], to)]
    return [helper.make_node("AveragePool", inputs, [name], kernel_shape=window, strides=window)]


def sides(written: int | list[int]) -> list[int]:
    """Height and width of what is written as one number where both are the same."""
    return [written, written] if isinstance(written, int) else list(written)
