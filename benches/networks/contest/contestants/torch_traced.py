"""PyTorch: the graph's layers by its functions, traced, frozen and optimised."""

import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from contest.contestants.protocol import Variant

# PyTorch would rather have a C++ compiler write the network.
warnings.simplefilter("ignore", FutureWarning)


def variants(ask: dict, samples: np.ndarray) -> list:
    """Channels last, and as the samples come."""
    torch.set_num_threads(ask["threads"])
    torch.set_num_interop_threads(1)
    network = Network(json.loads(Path(ask["graph"]).read_text()), load_file(ask["weights"]))
    formats = {"channels last": torch.channels_last, "channels first": torch.contiguous_format}
    return [partial(traced, name, network, samples, layout) for name, layout in formats.items()]


def traced(name: str, network: "Network", samples: np.ndarray, layout) -> Variant:
    x = torch.from_numpy(samples).contiguous(memory_format=layout)
    network = network.to(memory_format=layout).eval()
    with torch.inference_mode():
        script = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(network, x)))

    def run() -> np.ndarray:
        with torch.inference_mode():
            return script(x).numpy()

    # The first runs are those in which PyTorch looks at shapes and compiles.
    for _ in range(2):
        run()
    return Variant(name, run)


class Network(torch.nn.Module):
    """A graph as `divisi network show` gives it."""

    def __init__(self, graph: dict, weights: dict[str, torch.Tensor]):
        super().__init__()
        self.nodes = graph["nodes"]
        # A module's names have no dots.
        for name, tensor in weights.items():
            self.register_buffer(name.replace(".", "/"), tensor)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = [x]
        for node in self.nodes:
            values.append(self.layer(node, [values[i] for i in node["inputs"]]))
        return values[-1]

    def layer(self, node: dict, inputs: list[torch.Tensor]) -> torch.Tensor:
        own = lambda name: getattr(self, f"{node['name']}.{name}".replace(".", "/"), None)  # noqa: E731
        op, x = node["op"], inputs[0]
        match op["op"]:
            case "conv2d":
                places = (op["stride"], sides(op["padding"]), op["dilation"], op["groups"])
                return F.conv2d(x, own("weight"), own("bias"), *places)
            case "linear":
                return F.linear(x, own("weight"), own("bias"))
            case "batch-norm":
                moments = (own("running_mean"), own("running_var"))
                return F.batch_norm(x, *moments, own("weight"), own("bias"), eps=op["eps"])
            case "relu":
                return F.relu(x)
            case "relu6":
                return F.relu6(x)
            case "scale":
                return x * op["by"]
            case "max-pool":
                return F.max_pool2d(x, op["kernel"], op["stride"], op["padding"])
            case "avg-pool":
                window = (op["kernel"], op["stride"], op["padding"])
                return F.avg_pool2d(x, *window, count_include_pad=op["count_include_pad"])
            case "global-avg-pool":
                return F.adaptive_avg_pool2d(x, 1).flatten(1)
            case "adaptive-avg-pool":
                return F.adaptive_avg_pool2d(x, (op["height"], op["width"]))
            case "add":
                return inputs[0] + inputs[1]
            case "concat":
                return torch.cat(inputs, 1)
            case "flatten":
                return x.flatten(1)
            case "softmax":
                return F.softmax(x, 1)
        raise ValueError(f"layer `{node['name']}`: PyTorch has no function for `{op['op']}` here")


def sides(written: int | list[int]) -> tuple[int, ...]:
    return (written, written) if isinstance(written, int) else tuple(written)
