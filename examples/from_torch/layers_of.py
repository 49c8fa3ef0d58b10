"""Writes a network of PyTorch as a file of layers for Divisi, with its weights beside it.

    pip install torch safetensors numpy
    python layers_of.py torchvision.models:resnet18 --input 3,224,224 \\
        --output resnet18.toml --weights resnet18.safetensors --compare divisi

The network is what `MODULE:CONSTRUCTOR` makes without arguments, or the value of that name if it
is a module already. It is traced by torch.fx in evaluation, for samples of the shape `--input`.
All nodes that a file of layers cannot express are named at once; such networks can be exported
to ONNX instead. `--state` reads a state_dict first. `--compare PROGRAM` runs both on random
samples and prints by how much they differ.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import fx, nn

# How a value of PyTorch lies: an image with its channels first or last, an image in groups of
# channels, those changed for the channels of a group, or a row of features.
IMAGE, PIXELS, GROUPED, SHUFFLED, ROW = "image", "pixels", "grouped", "shuffled", "row"

# So small that a variance of 1 stays 1.
NO_EPS = 1e-30


class Inexpressible(Exception):
    """A node that no layer stands for."""


class Value:
    """A value of the network: the layer that makes it, and how PyTorch sees it."""

    def __init__(self, layer, form, groups=1):
        self.layer, self.form, self.groups = layer, form, groups

    def seen_as(self, form, groups=1):
        return Value(self.layer, form, groups)


def need(condition, reason):
    if not condition:
        raise Inexpressible(reason)


def one(sides, what):
    """The number that both sides share."""
    sides = tuple(sides) if isinstance(sides, (tuple, list)) else (sides, sides)
    need(len(set(sides)) == 1, f"{what} {sides} that differs between height and width")
    return sides[0]


def both(sides):
    """A number for both sides, or `[height, width]`."""
    sides = list(sides) if isinstance(sides, (tuple, list)) else [sides, sides]
    return sides[0] if sides[0] == sides[1] else sides


class Recorder(fx.Interpreter):
    """Runs a traced network and keeps what each node answers: numbers, or shapes of tensors."""

    def __init__(self, traced):
        super().__init__(traced)
        self.answers = {}

    def run_node(self, node):
        answer = super().run_node(node)
        self.answers[node] = fx.node.map_aggregate(
            answer, lambda a: tuple(a.shape) if isinstance(a, torch.Tensor) else a
        )
        return answer


class Tracer(fx.Tracer):
    """Takes norms over channels, of whatever library, as one node."""

    def is_leaf_module(self, module, name):
        return isinstance(module, nn.LayerNorm) or super().is_leaf_module(module, name)


class Layers:
    """The layers written so far, with the values they make and their weights."""

    def __init__(self, network, sample):
        tracer = Tracer()
        self.traced = fx.GraphModule(network, tracer.trace(network))
        recorder = Recorder(self.traced)
        with torch.no_grad():
            recorder.run(sample)
        self.answers = recorder.answers
        self.layers, self.weights, self.values, self.faults = [], {}, {}, []

    def write(self):
        for node in self.traced.graph.nodes:
            try:
                self.values[node] = self.visit(node)
            except Inexpressible as fault:
                self.faults.append(f"{node.name}: {describe(self.traced, node)}: {fault}")
                # What follows is looked at as if it were there.
                self.values[node] = self.guess(node)

    def guess(self, node):
        shape = self.answers.get(node)
        many = isinstance(shape, tuple) and len(shape) == 4
        return Value("?", IMAGE if many else ROW)

    def visit(self, node):
        if node.op == "placeholder":
            return Value("input", IMAGE if len(self.answers[node]) == 4 else ROW)
        if node.op == "get_attr":
            return attribute(self.traced, node.target)
        if node.op == "output":
            need(isinstance(node.args[0], fx.Node), "several answers")
            return None
        if node.op == "call_module":
            return self.module(node, self.traced.get_submodule(node.target))
        name = name_of(node)
        if self.is_constant(node):
            return self.computed(node)
        if not self.is_tensor(node):
            if name in ("chunk", "split"):
                return self.parts(node)
            return self.answers[node]
        function = FUNCTIONS.get(name)
        need(function, "no layer stands for it")
        return function(self, node)

    def is_tensor(self, node):
        answer = self.answers[node]
        sizes = isinstance(answer, tuple) and all(isinstance(size, int) for size in answer)
        return sizes and name_of(node) not in ("size", "shape", "getattr")

    def is_constant(self, node):
        """Whether a node computes with constants alone."""
        values = [self.values[n] for n in node.all_input_nodes]
        return bool(values) and all(isinstance(value, torch.Tensor) for value in values)

    def computed(self, node):
        args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda n: self.values[n])
        with torch.no_grad():
            if node.op == "call_method":
                return getattr(args[0], node.target)(*args[1:], **kwargs)
            return node.target(*args, **kwargs)

    def parameters_of(self, node, names):
        """The arguments of a function after its input, which are constants."""
        found = {name: self.argument(node, at + 1, name) for at, name in enumerate(names)}
        need(all(not isinstance(value, Value) for value in found.values()), "computed weights")
        return found

    def owner(self, node, name):
        """The module whose parameter `name` a function takes, so that weights keep their names."""
        at = [n for n in node.all_input_nodes if n.op == "get_attr" and n.target.endswith("." + name)]
        return at[0].target.removesuffix("." + name) if at else None

    # Layers.

    def add(self, name, op, sources, weights=None, **fields):
        """Adds a layer and its weights; the name is made unique."""
        unique, count = name, 1
        while any(layer["name"] == unique for layer in self.layers) or unique == "input":
            count += 1
            unique = f"{name}.{count}"
        layer = {"name": unique, "op": op, "from": [source.layer for source in sources]}
        layer |= {key: value for key, value in fields.items() if value is not None}
        self.layers.append(layer)
        for key, value in (weights or {}).items():
            self.weights[f"{unique}.{key}"] = value.detach().to(torch.float32).contiguous().clone()
        return unique

    def apply(self, node, op, sources=None, weights=None, name=None, form=None, **fields):
        sources = sources or [self.source(node)]
        made = self.add(name or node_name(node), op, sources, weights, **fields)
        return Value(made, form or sources[0].form)

    def source(self, node, at=0):
        value = self.argument(node, at)
        need(isinstance(value, Value), "an operand that is no value of the network")
        return value

    def argument(self, node, at, key=None, default=None):
        raw = node.args[at] if at < len(node.args) else node.kwargs.get(key, default)
        found = fx.node.map_arg(raw, lambda n: self.values[n])
        return found

    def image(self, node):
        value = self.source(node)
        need(value.form == IMAGE, f"an input that is no image but a {value.form}")
        return value

    # Modules.

    def module(self, node, module):
        if isinstance(module, (nn.Dropout, nn.Dropout2d, nn.AlphaDropout, nn.Identity)):
            return self.source(node)
        for kind, function in MODULES:
            if isinstance(module, kind):
                return function(self, node, module)
        raise Inexpressible("no layer stands for it")

    def convolution(self, node, module, name=None):
        need(module.padding_mode == "zeros", f"padding by {module.padding_mode}")
        value = self.source(node)
        weights = present(weight=module.weight, bias=module.bias)
        bias = module.bias is not None
        if value.form == ROW:
            # Of one pixel.
            need(set(module.kernel_size) == {1} and module.groups == 1, "windows of one pixel")
            weights["weight"] = weights["weight"].flatten(1)
            fields = {"features": module.out_channels, "bias": bias}
            return self.apply(node, "linear", weights=weights, name=name, **fields)
        self.image(node)
        padding = module.padding
        if isinstance(padding, str):
            spans = [d * (k - 1) for k, d in zip(module.kernel_size, module.dilation)]
            need(padding == "valid" or all(span % 2 == 0 for span in spans), "uneven padding")
            padding = [0, 0] if padding == "valid" else [span // 2 for span in spans]
        return self.apply(
            node,
            "conv2d",
            weights=weights,
            name=name,
            channels=module.out_channels,
            kernel=both(module.kernel_size),
            stride=one(module.stride, "a stride"),
            padding=both(padding),
            dilation=one(module.dilation, "a dilation"),
            groups=module.groups,
            bias=bias,
        )

    def linear(self, node, module, name=None):
        weights = present(weight=module.weight, bias=module.bias)
        bias = module.bias is not None
        if self.source(node).form == PIXELS:
            weights["weight"] = weights["weight"][:, :, None, None]
            fields = {"channels": module.out_features, "kernel": 1, "bias": bias}
            return self.apply(node, "conv2d", weights=weights, name=name, **fields)
        self.rows(node)
        fields = {"features": module.out_features, "bias": bias}
        return self.apply(node, "linear", weights=weights, name=name, **fields)

    def rows(self, node):
        shape = self.answers[node.args[0]]
        need(self.source(node).form == ROW and len(shape) == 2, f"an input of {list(shape)}")

    def batch_norm(self, node, module, name=None):
        need(module.running_mean is not None, "no running statistics")
        ones = torch.ones_like(module.running_mean)
        weights = {
            "weight": ones if module.weight is None else module.weight,
            "bias": 0 * ones if module.bias is None else module.bias,
            "running_mean": module.running_mean,
            "running_var": module.running_var,
        }
        return self.apply(node, "batch-norm", weights=weights, name=name, eps=module.eps)

    def layer_norm(self, node, module, name=None):
        value, shape = self.source(node), self.answers[node.args[0]]
        # Subclasses named so norm over the channels of images.
        across = value.form == IMAGE and type(module).__name__ == "LayerNorm2d"
        need(len(module.normalized_shape) == 1, f"a norm over {list(module.normalized_shape)}")
        need(across or value.form == PIXELS or len(shape) == 2 or is_pixel(shape), "another axis")
        need(module.weight is not None and module.bias is not None, "no weights")
        weights = {"weight": module.weight, "bias": module.bias}
        return self.apply(node, "layer-norm", weights=weights, name=name, eps=module.eps)

    def pool(self, node, module, op):
        self.image(node)
        kernel = one(module.kernel_size, "a window")
        stride = one(module.stride if module.stride is not None else kernel, "a stride")
        padding = one(module.padding, "padding")
        need(getattr(module, "dilation", 1) in (1, (1, 1)), "a dilation")
        need(getattr(module, "divisor_override", None) is None, "a divisor of its own")
        before, after = self.answers[node.args[0]], self.answers[node]
        floors = [(side + 2 * padding - kernel) // stride + 1 for side in before[2:]]
        ceils = True if floors != list(after[2:]) else None
        counted = getattr(module, "count_include_pad", None)
        if op == "avg-pool" and ceils:
            # Pixels past the image are not counted, the padding would be.
            need(padding == 0 or not counted, "averages by ceil_mode that count padding")
            counted = False
        counted = counted if op == "avg-pool" else None
        return self.apply(
            node, op, kernel=kernel, stride=stride, padding=padding, count_include_pad=counted,
            ceil_mode=ceils,
        )

    def adaptive_pool(self, node):
        self.image(node)
        height, width = self.answers[node][2:]
        if (height, width) == (1, 1):
            return self.apply(node, "global-avg-pool", form=ROW)
        return self.apply(node, "adaptive-avg-pool", height=height, width=width)

    def response_norm(self, node, module):
        fields = {key: getattr(module, key) for key in ("size", "alpha", "beta", "k")}
        return self.apply(node, "local-response-norm", **fields)

    def resized(self, node, mode, align, antialias=False):
        self.image(node)
        need(mode == "bilinear" and not align and not antialias, f"{mode} resizing")
        height, width = self.answers[node][2:]
        return self.apply(node, "upscale", height=height, width=width)

    # Functions.

    def batch_norm_function(self, node):
        names = ["running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"]
        given = self.parameters_of(node, names)
        need(not given["training"] and given["running_mean"] is not None, "no running statistics")
        norm = nn.BatchNorm2d(len(given["running_mean"]), eps=given["eps"] or 1e-5, affine=False)
        for name in names[:4]:
            setattr(norm, name, given[name])
        return self.batch_norm(node, norm, self.owner(node, "running_mean"))

    def linear_function(self, node):
        given = self.parameters_of(node, ["weight", "bias"])
        need(isinstance(given["weight"], torch.Tensor), "no constant weights")
        outputs, inputs = given["weight"].shape
        layer = nn.Linear(inputs, outputs, device="meta")
        layer.weight, layer.bias = frozen(given["weight"]), frozen(given["bias"])
        return self.linear(node, layer, self.owner(node, "weight"))

    def convolution_function(self, node):
        names = ["weight", "bias", "stride", "padding", "dilation", "groups"]
        given = self.parameters_of(node, names)
        need(isinstance(given["weight"], torch.Tensor), "no constant weights")
        outputs, inputs, *kernel = given["weight"].shape
        groups = given["groups"] or 1
        options = {key: given[key] for key in names[2:5] if given[key] is not None}
        layer = nn.Conv2d(inputs * groups, outputs, kernel, groups=groups, device="meta", **options)
        layer.weight, layer.bias = frozen(given["weight"]), frozen(given["bias"])
        return self.convolution(node, layer, self.owner(node, "weight"))

    def layer_norm_function(self, node):
        given = self.parameters_of(node, ["normalized_shape", "weight", "bias", "eps"])
        norm = nn.LayerNorm(list(given["normalized_shape"]), eps=given["eps"] or 1e-5)
        norm.weight, norm.bias = frozen(given["weight"]), frozen(given["bias"])
        return self.layer_norm(node, norm, self.owner(node, "weight"))

    def arithmetic(self, node, kind):
        a, b = self.argument(node, 0), self.argument(node, 1)
        need(not node.kwargs.get("alpha"), "a factor")
        if isinstance(a, Value) and isinstance(b, Value):
            need(kind in ("add", "mul"), f"a {kind} of two values")
            if {a.form, b.form} == {IMAGE, ROW}:
                row = node.args[1] if b.form == ROW else node.args[0]
                need(is_pixel(self.answers[row]), "a row beside an image")
            else:
                need(a.form == b.form, f"{a.form} and {b.form}")
                shapes = [self.answers[n] for n in node.args[:2]]
                need(shapes[0] == shapes[1], f"shapes {shapes}")
            form = IMAGE if IMAGE in (a.form, b.form) else a.form
            return self.apply(node, kind, [a, b], form=form)
        return self.with_constant(node, kind, a, b)

    def with_constant(self, node, kind, a, b):
        """A sum or product with a number, or one for each channel, as a scale or a norm."""
        value, constant = (a, b) if isinstance(a, Value) else (b, a)
        first = not isinstance(a, Value)
        need(isinstance(value, Value), "no operand of the network")
        if kind == "mul" and isinstance(constant, (int, float)):
            return self.apply(node, "scale", [value], by=float(constant))
        if kind == "div" and not first and isinstance(constant, (int, float)):
            return self.apply(node, "scale", [value], by=1 / float(constant))
        shape = self.answers[node]
        each = constant if isinstance(constant, torch.Tensor) else torch.tensor(float(constant))
        each = self.each_channel(each.detach().float(), shape, value)
        ones, zeros = torch.ones_like(each), torch.zeros_like(each)
        scale, shift = {
            "add": (ones, each),
            "mul": (each, zeros),
            "sub": (-ones, each) if first else (ones, -each),
            "div": (1 / each, zeros),
        }[kind]
        need(kind != "div" or not first, "a division by a value")
        weights = {"weight": scale, "bias": shift, "running_mean": zeros, "running_var": ones}
        return self.apply(node, "batch-norm", [value], weights=weights, eps=NO_EPS)

    def each_channel(self, constant, shape, value):
        axis = 1 if value.form != PIXELS else len(shape) - 1
        need(value.form in (IMAGE, PIXELS), "a constant beside a row")
        dims = [1] * (len(shape) - constant.dim()) + list(constant.shape)
        others = [size for at, size in enumerate(dims) if at != axis]
        need(len(dims) == len(shape) and set(others) <= {1}, f"a constant of {dims}")
        return constant.reshape(-1).expand(shape[axis]).clone()

    def concat(self, node):
        parts = self.argument(node, 0)
        axis = self.argument(node, 1, "dim", 0)
        rank = len(self.answers[node])
        need(axis % rank == 1, f"axis {axis}")
        need(len({part.form for part in parts}) == 1, "parts of several forms")
        return self.apply(node, "concat", list(parts))

    def mean(self, node):
        axes = self.argument(node, 1, "dim")
        axes = sorted(axis % 4 for axis in axes) if isinstance(axes, (list, tuple)) else axes
        self.image(node)
        need(axes == [2, 3], f"a mean over {axes}")
        return self.apply(node, "global-avg-pool", form=ROW)

    def flatten(self, node):
        value, before, after = self.source(node), self.answers[node.args[0]], self.answers[node]
        if value.form == ROW:
            need(len(after) == 2 or is_pixel(after), f"a tensor of {list(after)}")
            return value
        if value.form == IMAGE and len(after) == 2 and after[0] == before[0]:
            return self.apply(node, "flatten", form=ROW)
        if value.form == IMAGE and len(after) == 5 and after[3:] == before[2:]:
            return value.seen_as(GROUPED, after[1])
        if value.form == SHUFFLED and len(after) == 4:
            return self.apply(node, "channel-shuffle", form=IMAGE, groups=value.groups)
        raise Inexpressible(f"{list(before)} as {list(after)}")

    def transpose(self, node):
        value = self.source(node)
        axes = {self.argument(node, at, f"dim{at - 1}") for at in (1, 2)}
        need(value.form == GROUPED and axes == {1, 2}, f"axes {sorted(axes)}")
        return value.seen_as(SHUFFLED, value.groups)

    def permute(self, node):
        value = self.source(node)
        axes = self.argument(node, 1, "dims")
        axes = list(axes) if isinstance(axes, (list, tuple)) else list(node.args[1:])
        if value.form == IMAGE and axes == [0, 2, 3, 1]:
            return value.seen_as(PIXELS)
        if value.form == PIXELS and axes == [0, 3, 1, 2]:
            return value.seen_as(IMAGE)
        raise Inexpressible(f"axes {axes}")

    def parts(self, node):
        value, before, pieces = self.image(node), self.answers[node.args[0]], self.answers[node]
        first, all_parts = 0, []
        for number, shape in enumerate(pieces):
            need(shape[2:] == before[2:], "parts of another axis than the channels")
            name = f"{node_name(node)}.{number}"
            count = shape[1]
            all_parts.append(Value(self.add(name, "channels", [value], first=first, count=count), IMAGE))
            first += count
        return all_parts

    def item(self, node):
        value, at = self.argument(node, 0), node.args[1]
        if isinstance(value, list):
            return value[at]
        need(isinstance(value, Value) and value.form == IMAGE, "a part of no image")
        full = slice(None)
        need(isinstance(at, tuple) and len(at) >= 2, f"positions {at}")
        need(at[0] == full and all(s == full for s in at[2:]), f"positions {at}")
        need(isinstance(at[1], slice) and at[1].step in (None, 1), f"positions {at}")
        channels = self.answers[node.args[0]][1]
        first, end, _ = at[1].indices(channels)
        return self.apply(node, "channels", first=first, count=end - first)

    def activation(self, node, op, **fields):
        return self.apply(node, op, **fields)

    def softmax(self, node, axis):
        shape = self.answers[node]
        need(len(shape) == 2 and axis in (1, -1), f"axis {axis} of {list(shape)}")
        return self.apply(node, "softmax")


def name_of(node):
    return node.target if isinstance(node.target, str) else node.target.__name__


def node_name(node):
    """The module's own name, so that weights keep theirs."""
    return node.target if node.op == "call_module" else node.name


def attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def frozen(values):
    """Values as a parameter that is not trained, or nothing."""
    return None if values is None else nn.Parameter(values.detach(), requires_grad=False)


def present(**weights):
    return {key: value for key, value in weights.items() if value is not None}


def is_pixel(shape):
    return len(shape) == 4 and tuple(shape[2:]) == (1, 1)


def describe(traced, node):
    if node.op == "call_module":
        return type(traced.get_submodule(node.target)).__name__
    return name_of(node)


def gelu(layers, node, approximate):
    return layers.apply(node, "gelu-tanh" if approximate == "tanh" else "gelu")


def softplus(layers, node, module):
    need(module.beta == 1, f"beta {module.beta}")
    return layers.apply(node, "softplus")


MODULES = [
    (nn.Conv2d, Layers.convolution),
    (nn.Linear, Layers.linear),
    (nn.BatchNorm2d, Layers.batch_norm),
    (nn.BatchNorm1d, Layers.batch_norm),
    (nn.LayerNorm, Layers.layer_norm),
    (nn.MaxPool2d, lambda l, n, m: l.pool(n, m, "max-pool")),
    (nn.AvgPool2d, lambda l, n, m: l.pool(n, m, "avg-pool")),
    (nn.AdaptiveAvgPool2d, lambda l, n, m: l.adaptive_pool(n)),
    (nn.LocalResponseNorm, Layers.response_norm),
    (nn.Upsample, lambda l, n, m: l.resized(n, m.mode, m.align_corners)),
    (nn.Flatten, lambda l, n, m: l.flatten(n)),
    (nn.ReLU6, lambda l, n, m: l.apply(n, "relu6")),
    (nn.Hardtanh, lambda l, n, m: l.apply(n, "clip", least=m.min_val, most=m.max_val)),
    (nn.ReLU, lambda l, n, m: l.apply(n, "relu")),
    (nn.LeakyReLU, lambda l, n, m: l.apply(n, "leaky-relu", slope=m.negative_slope)),
    (nn.ELU, lambda l, n, m: l.apply(n, "elu", alpha=m.alpha)),
    (nn.Sigmoid, lambda l, n, m: l.apply(n, "sigmoid")),
    (nn.Hardsigmoid, lambda l, n, m: l.apply(n, "hard-sigmoid")),
    (nn.SiLU, lambda l, n, m: l.apply(n, "silu")),
    (nn.Hardswish, lambda l, n, m: l.apply(n, "hard-swish")),
    (nn.GELU, lambda l, n, m: gelu(l, n, m.approximate)),
    (nn.Tanh, lambda l, n, m: l.apply(n, "tanh")),
    (nn.Softplus, softplus),
    (nn.Mish, lambda l, n, m: l.apply(n, "mish")),
    (nn.Softmax, lambda l, n, m: l.softmax(n, m.dim)),
]


def clamp(layers, node):
    least, most = layers.argument(node, 1, "min"), layers.argument(node, 2, "max")
    return layers.apply(node, "clip", least=least, most=most)


def hardtanh(layers, node):
    least, most = layers.argument(node, 1, "min_val", -1.0), layers.argument(node, 2, "max_val", 1.0)
    return layers.apply(node, "clip", least=least, most=most)


def functional(op):
    return lambda layers, node: layers.apply(node, op)


def with_number(op, field, default):
    def function(layers, node):
        value = layers.argument(node, 1, {"slope": "negative_slope"}.get(field, field), default)
        return layers.apply(node, op, **{field: value})

    return function


def interpolated(layers, node):
    options = {"mode": "nearest", "align_corners": None, "antialias": False} | dict(node.kwargs)
    return layers.resized(node, options["mode"], options["align_corners"], options["antialias"])


def pooled(op, module):
    def function(layers, node):
        names = ["kernel_size", "stride", "padding"]
        options = dict(zip(names, node.args[1:])) | dict(node.kwargs)
        known = {*names, "ceil_mode", "dilation", "count_include_pad"}
        need(not options.get("return_indices"), "positions as an answer")
        options = {key: value for key, value in options.items() if key in known}
        return layers.pool(node, module(**options), op)

    return function


def same(layers, node):
    return layers.source(node)


FUNCTIONS = {
    **{name: lambda l, n: l.arithmetic(n, "add") for name in ("add", "iadd", "add_")},
    **{name: lambda l, n: l.arithmetic(n, "mul") for name in ("mul", "imul", "mul_")},
    **{name: lambda l, n: l.arithmetic(n, "sub") for name in ("sub", "isub")},
    **{name: lambda l, n: l.arithmetic(n, "div") for name in ("truediv", "div", "itruediv")},
    **{name: Layers.concat for name in ("cat", "concat")},
    **{name: Layers.flatten for name in ("flatten", "view", "reshape", "squeeze")},
    **{name: clamp for name in ("clamp", "clip")},
    **{name: same for name in ("contiguous", "dropout", "stochastic_depth", "drop_path", "float")},
    "hardtanh": hardtanh,
    "batch_norm": Layers.batch_norm_function,
    "conv2d": Layers.convolution_function,
    "linear": Layers.linear_function,
    "layer_norm": Layers.layer_norm_function,
    "mean": Layers.mean,
    "transpose": Layers.transpose,
    "permute": Layers.permute,
    "getitem": Layers.item,
    "adaptive_avg_pool2d": Layers.adaptive_pool,
    "max_pool2d": pooled("max-pool", nn.MaxPool2d),
    "boolean_dispatch": pooled("max-pool", nn.MaxPool2d),
    "avg_pool2d": pooled("avg-pool", nn.AvgPool2d),
    "interpolate": interpolated,
    "relu": functional("relu"),
    "relu_": functional("relu"),
    "relu6": functional("relu6"),
    "sigmoid": functional("sigmoid"),
    "hardsigmoid": functional("hard-sigmoid"),
    "silu": functional("silu"),
    "hardswish": functional("hard-swish"),
    "tanh": functional("tanh"),
    "mish": functional("mish"),
    "softplus": functional("softplus"),
    "leaky_relu": with_number("leaky-relu", "slope", 0.01),
    "elu": with_number("elu", "alpha", 1.0),
    "gelu": lambda l, n: gelu(l, n, n.kwargs.get("approximate", "none")),
    "softmax": lambda l, n: l.softmax(n, l.argument(n, 1, "dim")),
}


def toml(layers):
    """The layers as a file; `from` stands where it is not the layer before."""
    lines, before = [], "input"
    for layer in layers:
        lines.append("[[layers]]")
        for key, value in layer.items():
            if key == "from" and value == [before]:
                continue
            lines.append(f"{key} = {json.dumps(value)}")
        lines.append("")
        before = layer["name"]
    return "\n".join(lines)


def constructed(path):
    module, _, name = path.partition(":")
    if not name:
        sys.exit(f"{path}: expected MODULE:CONSTRUCTOR")
    sys.path.insert(0, ".")
    found = attribute(importlib.import_module(module), name)
    return found if isinstance(found, nn.Module) else found()


def compare(program, args, network, shape):
    samples = torch.rand(4, *shape) * 2 - 1
    with torch.no_grad():
        expected = network(samples).flatten(1).numpy()
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "x.npy"), Path(folder, "y.npy")
        np.save(given, samples.numpy())
        sizes = ",".join(map(str, shape))
        run = [program, "network", "run", args.output, "--weights", args.weights]
        subprocess.run([*run, "--shape", sizes, "--input", given, "--output", made], check=True)
        found = np.load(made).reshape(expected.shape)
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"the answers differ by {difference:.1e} of the largest")
    if not difference < 1e-4:
        sys.exit("expected at most 1e-4")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", metavar="MODULE:CONSTRUCTOR")
    parser.add_argument("--input", required=True, help="shape of a sample: 3,224,224, or 64")
    parser.add_argument("--output", required=True, metavar="FILE.toml")
    parser.add_argument("--weights", required=True, metavar="FILE.safetensors")
    parser.add_argument("--state", metavar="FILE", help="a state_dict to load first")
    parser.add_argument("--compare", metavar="PROGRAM", help="the `divisi` to compare with")
    args = parser.parse_args()
    network = constructed(args.network).eval()
    if args.state:
        network.load_state_dict(torch.load(args.state, map_location="cpu", weights_only=True))
    shape = [int(size) for size in args.input.split(",")]
    try:
        layers = Layers(network, torch.zeros(2, *shape))
    except fx.proxy.TraceError as fault:
        sys.exit(f"torch.fx cannot trace it: {fault}; it can be exported to ONNX")
    layers.write()
    if layers.faults:
        print(f"a file of layers cannot express {len(layers.faults)} nodes:", *layers.faults, sep="\n  ")
        sys.exit(1)
    Path(args.output).write_text(toml(layers.layers))
    save_file(layers.weights, args.weights)
    print(f"{len(layers.layers)} layers, {len(layers.weights)} tensors")
    if args.compare:
        compare(args.compare, args, network, shape)


if __name__ == "__main__":
    main()
