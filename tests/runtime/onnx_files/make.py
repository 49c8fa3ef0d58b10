#!/usr/bin/env python3
"""Makes the ONNX files of this folder, and what ONNX Runtime answers (onnx 1.22, onnxruntime 1.32).

    pip install onnx==1.22.0 onnxruntime==1.32.0 numpy && python3 make.py
"""
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
random = np.random.default_rng(7)


def values(*shape):
    return (random.standard_normal(shape) * 0.5).astype(np.float32)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def floats(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def node(kind, inputs, output, **attributes):
    outputs = output if isinstance(output, list) else [output]
    return helper.make_node(kind, inputs, outputs, name=f"{kind}_{outputs[0]}", **attributes)


def norm(name, channels):
    return [constant(f"{name}.scale", values(channels)), constant(f"{name}.shift", values(channels)),
            constant(f"{name}.mean", values(channels)),
            constant(f"{name}.var", np.abs(values(channels)) + np.float32(0.5))]


def norm_names(name):
    return [f"{name}.{part}" for part in ["scale", "shift", "mean", "var"]]


def model(name, nodes, constants, sample, answer, opset=17, batch="N", ir=8, listed=False, external=False):
    inputs = [floats("x", [batch, *sample])]
    if listed:
        inputs += [helper.make_tensor_value_info(c.name, c.data_type, list(c.dims)) for c in constants]
    graph = helper.make_graph(nodes, name, inputs, [floats("y", [batch, answer])], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    path = HERE / f"{name}.onnx"
    path.with_suffix(".onnx.data").unlink(missing_ok=True)
    onnx.save(made, path, save_as_external_data=external, location=f"{name}.onnx.data", size_threshold=0)
    return path


def asked(path, sample, rows=3, optimised=True):
    """Runs a model row by row, so that a batch baked in as one is no matter."""
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = values(rows, *sample)
    y = np.concatenate([session.run(["y"], {"x": row[None]})[0] for row in x])
    written = {"input": list(sample), "x": x.reshape(rows, -1).tolist(), "y": y.tolist()}
    path.with_suffix(".json").write_text(json.dumps(written))


def image_of_today():
    """What PyTorch's exporters write: folded shapes beside the nodes, biases, a flatten by Reshape."""
    constants = [
        constant("w1", values(8, 3, 3, 3)), *norm("n1", 8), constant("w2", values(8, 8, 3, 3)),
        constant("b2", values(8)), constant("wd", values(16, 1, 3, 3)), constant("w3", values(6, 32)),
        constant("gain", values(16, 1, 1)), constant("less", values(1, 16, 1, 1)),
        constant("b3", values(6)), constant("zero", np.int64(0)), constant("rest", np.array([-1])),
        constant("axes", np.array([0])), constant("low", np.float32(0)), constant("high", np.float32(6)),
    ]
    nodes = [
        node("Conv", ["x", "w1"], "a", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
        node("BatchNormalization", ["a", *norm_names("n1")], "b", epsilon=1e-3),
        node("Relu", ["b"], "c"),
        node("Conv", ["c", "w2", "b2"], "d", pads=[1, 1, 1, 1]),
        node("Add", ["d", "c"], "e"),
        node("MaxPool", ["e"], "f", kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", ["e"], "g", kernel_shape=[2, 2], strides=[2, 2]),
        node("Concat", ["f", "g"], "h", axis=1),
        node("Conv", ["h", "wd"], "i", group=16, auto_pad="SAME_UPPER"),
        node("Clip", ["i", "low", "high"], "j"),
        node("AveragePool", ["j"], "o", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        node("MaxPool", ["o"], "n", kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
        node("AveragePool", ["n"], "m", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("Mul", ["m", "gain"], "z"),
        node("Sub", ["z", "less"], "p"),
        node("GlobalAveragePool", ["p"], "q"),
        node("ReduceMean", ["j"], "r", axes=[-2, -1], keepdims=1),
        node("Concat", ["q", "r"], "s", axis=1),
        node("Shape", ["s"], "t"),
        node("Gather", ["t", "zero"], "u", axis=0),
        node("Unsqueeze", ["u", "axes"], "v"),
        node("Concat", ["v", "rest"], "k", axis=0),
        node("Reshape", ["s", "k"], "l"),
        node("Gemm", ["l", "w3", "b3"], "y", transB=1),
    ]
    asked(model("image", nodes, constants, (3, 16, 12), 6), (3, 16, 12))


def image_of_before():
    """Opset 7: initialisers among the inputs, attributes where inputs are today, a mask of dropout."""
    constants = [
        constant("w1", values(4, 1, 5, 3)), constant("b1", values(4)), constant("w2", values(4 * 6 * 4, 5)),
        constant("b2", values(1, 5)),
    ]
    nodes = [
        node("Conv", ["x", "w1", "b1"], "a", pads=[2, 1, 2, 1]),
        node("Clip", ["a"], "b", min=0.0, max=6.0),
        node("MaxPool", ["b"], "c", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Dropout", ["c"], ["d", "mask"], ratio=0.5),
        node("Flatten", ["d"], "e"),
        node("Gemm", ["e", "w2", "b2"], "f", alpha=0.5, beta=2.0),
        node("Softmax", ["f"], "y"),
    ]
    path = model("before", nodes, constants, (1, 12, 8), 5, opset=7, batch=1, ir=3, listed=True)
    asked(path, (1, 12, 8))


def vectors():
    """Products with an added bias, values in halves, in typed fields and in another file."""
    half = constant("half", values(12, 10).astype(np.float16))
    listed = helper.make_tensor("listed", TensorProto.FLOAT, [10], values(10).tolist())
    constants = [half, listed, constant("w2", values(4, 10)), constant("two", np.float32(2))]
    nodes = [
        node("Cast", ["half"], "w1", to=TensorProto.FLOAT),
        node("MatMul", ["x", "w1"], "a"),
        node("Add", ["listed", "a"], "b"),
        node("Relu", ["b"], "c"),
        node("Transpose", ["w2"], "w2t", perm=[1, 0]),
        node("MatMul", ["c", "w2t"], "d"),
        node("Mul", ["two", "d"], "e"),
        node("Div", ["e", "two"], "f"),
        node("Identity", ["f"], "g"),
        node("Softmax", ["g"], "y", axis=-1),
    ]
    asked(model("vectors", nodes, constants, (12,), 4, external=True), (12,))


def unknown():
    """Nodes that nothing here computes, of two kinds, and some behind them that are known."""
    nodes = [
        node("Relu", ["x"], "a"),
        node("RandomNormalLike", ["a"], "b"),
        node("Relu", ["b"], "c"),
        node("NonZero", ["c"], "d"),
        node("RandomNormalLike", ["c"], "e"),
        node("Cast", ["d"], "f", to=TensorProto.FLOAT),
        node("ReduceSum", ["f"], "g", keepdims=0),
        node("Add", ["e", "g"], "y"),
    ]
    model("unknown", nodes, [], (4,), 4)


def tensors(name, nodes, constants, inputs, outputs, opset=17, rows=3, own=False):
    """A model of named inputs, of which each sample is one, and what ONNX Runtime answers."""
    ends = [helper.make_tensor_value_info(n, kind, ["N", *dims]) for n, (kind, dims, _) in inputs.items()]
    answers = [helper.make_tensor_value_info(n, kind, None) for n, kind in outputs.items()]
    graph = helper.make_graph(nodes, name, ends, answers, constants)
    sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("com.microsoft", 1)] if own else [])
    made = helper.make_model(graph, opset_imports=sets, ir_version=8)
    path = HERE / f"{name}.onnx"
    onnx.save(made, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x, y = [], []
    for _ in range(rows):
        sample = {n: make([1, *dims]) for n, (_, dims, make) in inputs.items()}
        x.append(np.concatenate([v.reshape(-1).astype(float) for v in sample.values()]).tolist())
        answer = session.run(list(outputs), sample)
        y.append(np.concatenate([v.reshape(-1).astype(float) for v in answer]).tolist())
    given = [[n, [1, *dims]] for n, (_, dims, _) in inputs.items()]
    path.with_suffix(".json").write_text(json.dumps({"inputs": given, "x": x, "y": y}))


FLOATS = TensorProto.FLOAT
INTS = TensorProto.INT64


def some(dims):
    return values(*dims)


def ids(below):
    return lambda dims: random.integers(0, below, dims).astype(np.int64)


def two_inputs():
    """Two inputs and two outputs, one of them of integers."""
    nodes = [
        node("Unsqueeze", ["z", "last"], "column"),
        node("MatMul", ["x", "column"], "a"),
        node("Squeeze", ["a", "last"], "b"),
        node("ArgMax", ["b"], "best", axis=1, keepdims=0),
        node("Greater", ["x", "zero"], "above"),
        node("Where", ["above", "x", "b4"], "c"),
        node("ReduceSum", ["c", "axes"], "y", keepdims=0),
    ]
    constants = [constant("last", np.array([2])), constant("zero", np.float32(0)),
                 constant("axes", np.array([1])), constant("b4", values(4, 1))]
    inputs = {"x": (FLOATS, [4, 6], some), "z": (FLOATS, [6], some)}
    tensors("two", nodes, constants, inputs, {"y": FLOATS, "best": INTS})


def heads(name, of, tokens, heads, size, transposed):
    """A product with a bias, seen as heads, as PyTorch exports it."""
    order = [0, 2, 3, 1] if transposed else [0, 2, 1, 3]
    return [
        node("MatMul", [of, f"{name}.w"], f"{name}.p"),
        node("Add", [f"{name}.b", f"{name}.p"], f"{name}.s"),
        node("Reshape", [f"{name}.s", "as.heads"], f"{name}.h"),
        node("Transpose", [f"{name}.h"], f"{name}.t", perm=order),
    ]


def attention_of(of, masked, tokens=5, width=8, count=2):
    weights = [constant(f"{n}.{part}", values(*dims)) for n in "qkvo"
               for part, dims in [("w", (width, width)), ("b", (width,))]]
    constants = [*weights, constant("as.heads", np.array([0, -1, count, width // count])),
                 constant("as.row", np.array([0, 0, width])), constant("root", np.float32((width / count) ** 0.5))]
    nodes = [*heads("q", of, tokens, count, width, False), *heads("k", of, tokens, count, width, True),
             *heads("v", of, tokens, count, width, False),
             node("MatMul", ["q.t", "k.t"], "scores"), node("Div", ["scores", "root"], "scaled")]
    last = "scaled"
    if masked:
        nodes += [node("Add", ["scaled", masked], "hidden")]
        last = "hidden"
    nodes += [
        node("Softmax", [last], "shares", axis=-1),
        node("MatMul", ["shares", "v.t"], "mixed"),
        node("Transpose", ["mixed"], "joined", perm=[0, 2, 1, 3]),
        node("Reshape", ["joined", "as.row"], "row"),
        node("MatMul", ["row", "o.w"], "o.p"),
        node("Add", ["o.b", "o.p"], "o.s"),
        node("Add", [of, "o.s"], "attended"),
    ]
    return nodes, constants


def attention():
    """A block of a vision transformer: attention, then a norm, a GELU spelled out and the mean."""
    nodes, constants = attention_of("x", None)
    nodes += [
        node("LayerNormalization", ["attended", "scale", "shift"], "normed", axis=-1),
        node("Div", ["normed", "two.root"], "g1"),
        node("Erf", ["g1"], "g2"),
        node("Add", ["g2", "one"], "g3"),
        node("Mul", ["normed", "g3"], "g4"),
        node("Mul", ["g4", "half"], "gelu"),
        node("Einsum", ["gelu", "mix"], "mixed.more", equation="btf,gf->btg"),
        node("ReduceMean", ["mixed.more"], "y", axes=[1], keepdims=0),
    ]
    constants += [constant("scale", values(8)), constant("shift", values(8)),
                  constant("two.root", np.float32(2 ** 0.5)), constant("one", np.float32(1)),
                  constant("half", np.float32(0.5)), constant("mix", values(3, 8))]
    tensors("attention", nodes, constants, {"x": (FLOATS, [5, 8], some)}, {"y": FLOATS})


def encoder():
    """What begins an encoder of text: three tables, a mask from integers, the first token's answer."""
    nodes, constants = attention_of("e.n", "mask.f")
    before = [
        node("Gather", ["words", "ids"], "e.w"),
        node("Gather", ["kinds", "types"], "e.t"),
        node("Shape", ["ids"], "s"),
        node("Gather", ["s", "one.i"], "s1", axis=0),
        node("Unsqueeze", ["s1", "zero.i"], "s2"),
        node("Slice", ["all.places", "zero.i", "s2", "ones.i"], "places"),
        node("Gather", ["table", "places"], "e.p"),
        node("Add", ["e.w", "e.t"], "e.1"),
        node("Add", ["e.1", "e.p"], "e.2"),
        node("LayerNormalization", ["e.2", "scale", "shift"], "e.n", epsilon=1e-12),
        node("Unsqueeze", ["mask", "two.i"], "mask.a"),
        node("Cast", ["mask.a"], "mask.b", to=TensorProto.FLOAT),
        node("Sub", ["one", "mask.b"], "mask.c"),
        node("Mul", ["mask.c", "lowest"], "mask.f"),
    ]
    behind = [
        node("Gather", ["attended", "zero.s"], "first", axis=1),
        node("Gemm", ["first", "pool.w", "pool.b"], "pool", transB=1),
        node("Tanh", ["pool"], "pooled"),
    ]
    constants += [
        constant("words", values(30, 8)), constant("kinds", values(2, 8)), constant("table", values(16, 8)),
        constant("all.places", np.arange(16)[None]), constant("one.i", np.int64(1)), constant("zero.i", np.array([0])),
        constant("ones.i", np.array([1])), constant("two.i", np.array([1, 2])), constant("zero.s", np.int64(0)),
        constant("scale", values(8)), constant("shift", values(8)), constant("one", np.float32(1)),
        constant("lowest", np.float32(np.finfo(np.float32).min)), constant("pool.w", values(8, 8)),
        constant("pool.b", values(8)),
    ]
    inputs = {"ids": (INTS, [6], ids(30)), "mask": (INTS, [6], ids(2)), "types": (INTS, [6], ids(2))}
    tensors("encoder", before + nodes + behind, constants, inputs, {"attended": FLOATS, "pooled": FLOATS})


def lengths():
    """The encoder for any number of tokens up to its 16 positions."""
    made = onnx.load(HERE / "encoder.onnx")
    for value in made.graph.input:
        value.type.tensor_type.shape.dim[1].dim_param = "tokens"
    for of in [made.graph.input, *(n.input for n in made.graph.node)]:
        for at, name in enumerate(of):
            if name == "mask":
                of[at] = "attention_mask"
            elif getattr(name, "name", "") == "mask":
                name.name = "attention_mask"
    onnx.save(made, HERE / "lengths.onnx")


def volumes():
    """Convolutions over volumes, each with one position along another axis."""
    constants = [
        constant("w1", values(4, 1, 3, 3, 1)), constant("w2", values(6, 2, 1, 3, 2)), constant("b2", values(6)),
        constant("w3", values(2, 6, 2, 1, 1)),
    ]
    nodes = [
        node("Conv", ["x", "w1"], "a", pads=[1, 1, 0, 1, 1, 0]),
        node("Conv", ["a", "w2", "b2"], "b", group=2, pads=[0, 0, 1, 0, 1, 0], strides=[1, 2, 1]),
        node("Conv", ["b", "w3"], "y", dilations=[3, 1, 1], strides=[2, 1, 1]),
    ]
    tensors("volumes", nodes, constants, {"x": (FLOATS, [1, 6, 7, 5], some)}, {"y": FLOATS})


def strides():
    """Convolutions over volumes that skip positions, or begin before the first, along an axis where the window has one."""
    constants = [constant("w1", values(4, 2, 1, 3, 3)), constant("b1", values(4)), constant("w2", values(3, 4, 1, 1, 1))]
    nodes = [
        node("Conv", ["x", "w1", "b1"], "a", pads=[1, 1, 1, 1, 1, 1]),
        node("Conv", ["a", "w2"], "y", strides=[2, 2, 2]),
    ]
    tensors("strides", nodes, constants, {"x": (FLOATS, [2, 5, 6, 7], some)}, {"y": FLOATS})


def behind():
    """A node that cannot be computed, two behind it of which one's weights alone say the same, and one that could be."""
    constants = [constant(f"w{n}", values(2, 2, 3, 3, 3)) for n in range(2)] + [constant("w2", values(2, 2, 1, 1, 1))]
    nodes = [node("Conv", ["x", "w0"], "a"), node("Conv", ["a", "w2"], "b"), node("Conv", ["b", "w1"], "y")]
    model("behind", nodes, constants, (2, 9, 9, 9), 2)


def biased():
    """One of ONNX Runtime's own operators on values whose first axis is not the batch."""
    nodes = [
        node("Transpose", ["x"], "turned", perm=[1, 0, 2]),
        helper.make_node("BiasGelu", ["turned", "b"], ["g"], name="BiasGelu_g", domain="com.microsoft"),
        node("Transpose", ["g"], "y", perm=[1, 0, 2]),
    ]
    tensors("biased", nodes, [constant("b", values(8))], {"x": (FLOATS, [5, 8], some)}, {"y": FLOATS}, own=True)


def places():
    """Values of images at computed places, some outside, in every mode that is known; as windows put together."""
    kinds = [
        dict(mode="bilinear"), dict(mode="bilinear", padding_mode="border", align_corners=1),
        dict(mode="nearest"), dict(mode="nearest", padding_mode="border", align_corners=1),
    ]
    nodes = [node("GridSample", ["x", "grid"], f"s{n}", **kind) for n, kind in enumerate(kinds)]
    nodes.append(node("Concat", [f"s{n}" for n in range(len(kinds))], "sampled", axis=1))
    nodes.append(node("Reshape", ["sampled", "columns"], "taken"))
    nodes.append(node("Col2Im", ["taken", "size", "window"], "y", strides=[2, 1], pads=[1, 0, 1, 1], dilations=[1, 2]))
    constants = [constant("columns", np.array([-1, 18, 16])), constant("size", np.array([6, 7])),
                 constant("window", np.array([2, 3]))]
    near = lambda dims: values(*dims) * 2
    tensors("places", nodes, constants, {"x": (FLOATS, [3, 5, 7], some), "grid": (FLOATS, [4, 6, 2], near)}, {"y": FLOATS},
            opset=18)


def fourier():
    """Transforms of real and complex values, forwards and back."""
    nodes = [
        node("Unsqueeze", ["x", "last"], "real"),
        node("DFT", ["real", "", "columns"], "once"),
        node("DFT", ["once", "", "rows"], "twice"),
        node("DFT", ["twice", "", "columns"], "back", inverse=1),
        node("DFT", ["real", "", "rows"], "half", onesided=1),
        node("Concat", ["twice", "back", "half"], "y", axis=1),
    ]
    constants = [constant("last", np.array([-1])), constant("rows", np.int64(1)), constant("columns", np.int64(2))]
    tensors("fourier", nodes, constants, {"x": (FLOATS, [6, 5], some)}, {"y": FLOATS}, opset=20)


def windows():
    """Windows of a shifted image, a norm in nine nodes, the windows put back."""
    nodes = [
        node("Transpose", ["x"], "last", perm=[0, 2, 3, 1]),
        node("Slice", ["last", "two", "end", "one.axis"], "low"),
        node("Slice", ["last", "zero", "two", "one.axis"], "high"),
        node("Concat", ["low", "high"], "rolled", axis=1),
        node("Reshape", ["rolled", "parts"], "w.1"),
        node("Transpose", ["w.1"], "w.2", perm=[0, 1, 3, 2, 4, 5]),
        node("Reshape", ["w.2", "tokens"], "w.3"),
        node("ReduceMean", ["w.3"], "mean", axes=[-1]),
        node("Sub", ["w.3", "mean"], "d"),
        node("Pow", ["d", "power"], "d.2"),
        node("ReduceMean", ["d.2"], "var", axes=[-1]),
        node("Add", ["var", "eps"], "var.e"),
        node("Sqrt", ["var.e"], "dev"),
        node("Div", ["d", "dev"], "n"),
        node("Mul", ["n", "scale"], "n.s"),
        node("Add", ["n.s", "shift"], "normed"),
        node("Softmax", ["normed"], "over.tokens", axis=1),
        node("Reshape", ["over.tokens", "back"], "b.1"),
        node("Transpose", ["b.1"], "b.2", perm=[0, 1, 3, 2, 4, 5]),
        node("Reshape", ["b.2", "square"], "b.3"),
        node("Slice", ["b.3", "minus.one", "least", "one.axis", "minus.one"], "turned"),
        node("Transpose", ["turned"], "y", perm=[0, 3, 1, 2]),
    ]
    constants = [
        constant("two", np.array([2])), constant("zero", np.array([0])), constant("end", np.array([2 ** 62])),
        constant("one.axis", np.array([1])), constant("minus.one", np.array([-1])),
        constant("least", np.array([-(2 ** 62)])), constant("parts", np.array([1, 2, 4, 2, 4, 3])),
        constant("tokens", np.array([-1, 16, 3])), constant("power", np.float32(2)),
        constant("eps", np.float32(1e-5)), constant("scale", values(3)), constant("shift", values(3)),
        constant("back", np.array([1, 2, 2, 4, 4, 3])), constant("square", np.array([-1, 8, 8, 3])),
    ]
    tensors("windows", nodes, constants, {"x": (FLOATS, [3, 8, 8], some)}, {"y": FLOATS})


def versions():
    """The same with axes, parts and pads as attributes and as inputs."""
    for opset in [10, 18]:
        old = opset == 10
        numbers = {"axis.2": [2], "parts": [2, 4], "pads": [0, 1, 0, 0, 0, 2], "over": [1]}
        constants = [constant(name, np.array(v)) for name, v in numbers.items()]
        constants += [constant("low", np.float32(-0.3)), constant("high", np.float32(0.4)),
                      constant("border", np.float32(0.25))]

        def with_input(kind, inputs, names, output, **attributes):
            given = {name: numbers[of] for name, of in names.items()}
            if old:
                return node(kind, inputs, output, **attributes, **given)
            return node(kind, inputs + list(names.values()), output, **attributes)

        nodes = [
            node("Pad", ["x"], "p", pads=numbers["pads"], value=0.25) if old
            else node("Pad", ["x", "pads", "border"], "p"),
            with_input("Split", ["p"], {"split": "parts"}, ["s.1", "s.2"], axis=1),
            node("Clip", ["s.1"], "c", min=-0.3, max=0.4) if old else node("Clip", ["s.1", "low", "high"], "c"),
            node("Softmax", ["s.2"], "t", axis=1) if old else node("Softmax", ["s.2"], "t", axis=-1),
            with_input("ReduceSum", ["c"], {"axes": "over"}, "r", keepdims=1),
            with_input("ReduceMax", ["t"], {"axes": "over"}, "m", keepdims=1),
            node("Mul", ["r", "m"], "u"),
            with_input("Unsqueeze", ["u"], {"axes": "axis.2"}, "v"),
            with_input("Squeeze", ["v"], {"axes": "axis.2"}, "y"),
        ]
        tensors(f"opset{opset}", nodes, constants, {"x": (FLOATS, [5, 4], some)}, {"y": FLOATS}, opset=opset)
def faulty():
    """A node whose shapes do not fit, and behind it one that nothing here computes."""
    nodes = [node("MatMul", ["x", "w"], "a"), node("RandomNormalLike", ["x"], "b"), node("Add", ["a", "b"], "y")]
    model("faulty", nodes, [constant("w", np.zeros((5, 4), np.float32))], (4,), 4)


def one():
    """A regression: one number for each sample."""
    nodes = [node("Gemm", ["x", "w", "b"], "y", transB=1)]
    model("one", nodes, [constant("w", values(1, 3)), constant("b", values(1))], (3,), 1)


def gates():
    """Blocks of EfficientNet, MobileNet v3, ShuffleNet v2 and GoogLeNet, one after the other."""
    constants = [
        constant("w1", values(8, 2, 3, 3)), constant("b1", values(8)),
        constant("w2", values(4, 8, 1, 1)), constant("b2", values(4)),
        constant("w3", values(8, 4, 1, 1)), constant("b3", values(8)),
        constant("w4", values(4, 1, 3, 3)), constant("b4", values(4)),
        constant("grouped", np.array([0, 2, 4, 5, 6])), constant("joined", np.array([0, 8, 5, 6])),
        constant("from", np.array([2])), constant("to", np.array([-1])), constant("axis", np.array([1])),
        constant("sizes", np.array([3, 5])), constant("low", np.float32(-0.75)),
        constant("high", np.float32(1.5)), constant("w5", values(5, 8)),
    ]
    nodes = [
        node("Conv", ["x", "w1", "b1"], "a", pads=[1, 1, 1, 1]),
        node("Sigmoid", ["a"], "b"),
        node("Mul", ["a", "b"], "c"),
        node("GlobalAveragePool", ["c"], "d"),
        node("Conv", ["d", "w2", "b2"], "e"),
        node("Relu", ["e"], "f"),
        node("Conv", ["f", "w3", "b3"], "g"),
        node("HardSigmoid", ["g"], "h", alpha=1 / 6, beta=0.5),
        node("Mul", ["h", "c"], "i"),
        node("Add", ["i", "h"], "j"),
        node("Split", ["j"], ["k", "l"], axis=1),
        node("Conv", ["l", "w4", "b4"], "m", group=4, pads=[1, 1, 1, 1]),
        node("HardSwish", ["m"], "n"),
        node("Concat", ["k", "n"], "o", axis=1),
        node("Reshape", ["o", "grouped"], "p"),
        node("Transpose", ["p"], "q", perm=[0, 2, 1, 3, 4]),
        node("Reshape", ["q", "joined"], "r"),
        node("LRN", ["r"], "s", size=5, alpha=0.5, beta=0.75, bias=1.5),
        node("Split", ["s", "sizes"], ["t", "u"], axis=1),
        node("Slice", ["s", "from", "to", "axis"], "v"),
        node("Clip", ["u", "low", "high"], "w"),
        node("Sum", ["u", "v", "w"], "z"),
        node("Concat", ["t", "z"], "aa", axis=1),
        node("GlobalAveragePool", ["aa"], "ab"),
        node("Flatten", ["ab"], "ac"),
        node("Gemm", ["ac", "w5"], "y", transB=1),
    ]
    asked(model("gates", nodes, constants, (2, 5, 6), 5), (2, 5, 6))


def last():
    """Blocks of ConvNeXt: channels last for norms and products, a norm in nine nodes, GELU in five."""
    names = ["stem", "block", "end"]
    norms = [constant(f"{name}.{part}", values(6)) for name in names for part in ["weight", "bias"]]
    constants = [
        *norms, constant("w1", values(6, 2, 2, 2)), constant("b1", values(6)),
        constant("w2", values(6, 1, 3, 3)), constant("up", values(6, 12)), constant("up.b", values(12)),
        constant("down", values(12, 6)), constant("down.b", values(6)), constant("gain", values(6, 1, 1)),
        constant("root", np.float32(2**0.5)), constant("one", np.float32(1)), constant("half", np.float32(0.5)),
        constant("shift", values(6)), constant("w3", values(6, 4)),
        constant("two", np.float32(2)), constant("eps", np.float32(1e-6)),
    ]

    def normed(x, name, y):
        return node("LayerNormalization", [x, f"{name}.weight", f"{name}.bias"], y, axis=-1, epsilon=1e-6)

    nodes = [
        node("Conv", ["x", "w1", "b1"], "a", strides=[2, 2]),
        node("Transpose", ["a"], "b", perm=[0, 2, 3, 1]),
        normed("b", "stem", "c"),
        node("Transpose", ["c"], "d", perm=[0, 3, 1, 2]),
        node("Conv", ["d", "w2"], "e", group=6, pads=[1, 1, 1, 1]),
        node("Transpose", ["e"], "f", perm=[0, 2, 3, 1]),
        node("ReduceMean", ["f"], "f1", axes=[-1]),
        node("Sub", ["f", "f1"], "f2"),
        node("Pow", ["f2", "two"], "f3"),
        node("ReduceMean", ["f3"], "f4", axes=[-1]),
        node("Add", ["f4", "eps"], "f5"),
        node("Sqrt", ["f5"], "f6"),
        node("Div", ["f2", "f6"], "f7"),
        node("Mul", ["f7", "block.weight"], "f8"),
        node("Add", ["f8", "block.bias"], "g"),
        node("Add", ["g", "shift"], "h"),
        node("MatMul", ["h", "up"], "i"),
        node("Add", ["up.b", "i"], "j"),
        node("Div", ["j", "root"], "k"),
        node("Erf", ["k"], "l"),
        node("Add", ["l", "one"], "m"),
        node("Mul", ["j", "m"], "n"),
        node("Mul", ["n", "half"], "o"),
        node("MatMul", ["o", "down"], "p"),
        node("Add", ["p", "down.b"], "q"),
        node("Transpose", ["q"], "r", perm=[0, 3, 1, 2]),
        node("Mul", ["gain", "r"], "s"),
        node("Add", ["s", "d"], "t"),
        node("GlobalAveragePool", ["t"], "u"),
        node("Transpose", ["u"], "v", perm=[0, 2, 3, 1]),
        normed("v", "end", "w"),
        node("Transpose", ["w"], "z", perm=[0, 3, 1, 2]),
        node("Flatten", ["z"], "aa"),
        node("ReduceMean", ["q"], "ab", axes=[-2, 1], keepdims=0),
        node("Add", ["aa", "ab"], "ac"),
        node("Gemm", ["ac", "w3"], "y"),
    ]
    asked(model("last", nodes, constants, (2, 8, 6), 4), (2, 8, 6))


def curves():
    """Every activation by its operator, and those that files spell out, side by side."""
    constants = [constant(name, np.float32(value)) for name, value in [
        ("one", 1), ("half", 0.5), ("root", 2**0.5), ("inverse", 0.5**0.5), ("three", 3), ("cubic", 0.044715),
        ("outer", (2 / np.pi) ** 0.5), ("low", -0.25)]]
    nodes = [
        node("LeakyRelu", ["x"], "leaky", alpha=0.2), node("Elu", ["x"], "elu", alpha=0.7),
        node("HardSigmoid", ["x"], "hard", alpha=0.3, beta=0.4), node("Tanh", ["x"], "tanh"),
        node("Softplus", ["x"], "softplus"), node("Mish", ["x"], "mish"), node("Gelu", ["x"], "gelu"),
        node("Gelu", ["x"], "gelu.tanh", approximate="tanh"), node("Clip", ["x", "low"], "clip"),
        # x · Tanh(Softplus(x)).
        node("Softplus", ["x"], "m1"), node("Tanh", ["m1"], "m2"), node("Mul", ["m2", "x"], "mish.spelled"),
        # x · HardSigmoid(x).
        node("HardSigmoid", ["x"], "s1", alpha=1 / 6), node("Mul", ["x", "s1"], "swish.spelled"),
        # x · Sigmoid(x), where something else reads the gate too.
        node("Sigmoid", ["x"], "gate"), node("Mul", ["gate", "x"], "silu"),
        # (x / 2) · (1 + Erf(x · √½)), and x · ((1 + Erf(x / √2)) / 2).
        node("Mul", ["x", "half"], "g1"), node("Mul", ["x", "inverse"], "g2"), node("Erf", ["g2"], "g3"),
        node("Add", ["one", "g3"], "g4"), node("Mul", ["g1", "g4"], "gelu.first"),
        node("Div", ["x", "root"], "h1"), node("Erf", ["h1"], "h2"), node("Add", ["h2", "one"], "h3"),
        node("Mul", ["h3", "half"], "h4"), node("Mul", ["x", "h4"], "gelu.last"),
        # By tanh, with a power and with products.
        node("Pow", ["x", "three"], "t1"), node("Mul", ["t1", "cubic"], "t2"), node("Add", ["x", "t2"], "t3"),
        node("Mul", ["t3", "outer"], "t4"), node("Tanh", ["t4"], "t5"), node("Add", ["t5", "one"], "t6"),
        node("Mul", ["x", "half"], "t7"), node("Mul", ["t7", "t6"], "gelu.power"),
        node("Mul", ["x", "x"], "u1"), node("Mul", ["u1", "x"], "u2"), node("Mul", ["cubic", "u2"], "u3"),
        node("Add", ["u3", "x"], "u4"), node("Mul", ["outer", "u4"], "u5"), node("Tanh", ["u5"], "u6"),
        node("Add", ["one", "u6"], "u7"), node("Mul", ["x", "u7"], "u8"), node("Mul", ["half", "u8"], "gelu.product"),
        # A product of two activations, and one that is no pattern.
        node("Mul", ["tanh", "gate"], "product"), node("Sigmoid", ["product"], "v1"),
        node("Mul", ["x", "v1"], "other"),
    ]
    made = ["leaky", "elu", "hard", "tanh", "softplus", "mish", "gelu", "gelu.tanh", "clip", "mish.spelled",
            "swish.spelled", "gate", "silu", "gelu.first", "gelu.last", "gelu.power", "gelu.product", "product", "other"]
    nodes.append(node("Concat", made, "y", axis=1))
    # Its optimiser breaks a file with two of these patterns.
    asked(model("curves", nodes, constants, (7,), 7 * len(made), opset=20), (7,), optimised=False)


def sizes():
    """Images that grow and shrink: transposed convolutions, pools of odd windows, resizing, padding."""
    constants = [
        constant("w", values(2, 3, 3, 2)), constant("b", values(3)), constant("none", np.array([], np.float32)),
        constant("twice", np.array([1, 1, 2, 1.5], np.float32)), constant("small", np.array([1, 3, 5, 4])),
        constant("pads", np.array([0, 0, 1, 0, 0, 0, 0, 2])), constant("third", np.array([1, 1, 2, 2])),
    ]
    nodes = [
        node("ConvTranspose", ["x", "w", "b"], "a", strides=[2, 2], pads=[1, 0, 0, 1], output_padding=[1, 0]),
        node("MaxPool", ["a"], "c", kernel_shape=[3, 2], strides=[2, 1], dilations=[2, 1], pads=[1, 0, 2, 1]),
        node("AveragePool", ["c"], "d", kernel_shape=[1, 3], pads=[0, 2, 0, 1], count_include_pad=1),
        node("Resize", ["d", "none", "twice"], "e", mode="linear"),
        node("Resize", ["e", "none", "none", "small"], "f", mode="cubic"),
        node("Resize", ["f", "none", "twice"], "g", mode="nearest", coordinate_transformation_mode="asymmetric"),
        node("Pad", ["g", "pads"], "h", mode="reflect"),
        node("Tile", ["h", "third"], "i"),
        node("InstanceNormalization", ["i", "b", "b"], "y"),
    ]
    tensors("sizes", nodes, constants, {"x": (FLOATS, [2, 6, 5], some)}, {"y": FLOATS}, rows=1)


def tagger():
    """A class of three for each token of a text of any length: that of its id modulo 3, with a logit of 4."""
    dims = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, dims) for n in ("input_ids", "attention_mask")]
    table = np.zeros((768, 3), np.float32)
    table[np.arange(768), np.arange(768) % 3] = 4
    nodes = [node("Gather", ["table", "input_ids"], "logits"), node("Unsqueeze", ["attention_mask", "last"], "wide"),
             node("Cast", ["wide"], "mask", to=TensorProto.FLOAT), node("Mul", ["logits", "mask"], "y")]
    graph = helper.make_graph(nodes, "tagger", inputs, [floats("y", [*dims, 3])],
                              [constant("table", table), constant("last", np.array([2]))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "tagger.onnx")


def sides():
    """The mean of each channel of images of any height and width, of one image or the sum of two."""
    dims, means = ["batch", 3, "height", "width"], {"axes": [2, 3], "keepdims": 0}
    one = helper.make_graph([node("ReduceMean", ["x"], "y", **means)], "sides", [floats("x", dims)], [floats("y", ["batch", 3])])
    unnamed = helper.make_graph([node("ReduceMean", ["x"], "y", **means)], "sides", [floats("x", ["batch", 3, None, None])],
                                [floats("y", ["batch", 3])])
    two = helper.make_graph([node("Add", ["a", "b"], "x"), node("ReduceMean", ["x"], "y", **means)], "sides",
                            [floats("a", dims), floats("b", dims)], [floats("y", ["batch", 3])])
    for name, graph in [("sides", one), ("unnamed_sides", unnamed), ("two_sides", two)]:
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / f"{name}.onnx")


def mixed():
    """Nodes that mix the samples of a batch, or depend on how many there are."""
    constants = [constant("zero", np.array([0])), constant("one", np.array([1])), constant("two", np.array([2])),
                 constant("pair", np.array([-1, 2, 4])), constant("first", np.int64(0))]
    nodes = [
        node("ReduceMean", ["x"], "mean", axes=[0], keepdims=1), node("Softmax", ["x"], "share", axis=0),
        node("Transpose", ["x"], "turned", perm=[1, 0]), node("MatMul", ["x", "turned"], "all"),
        node("Slice", ["x", "zero", "one", "zero"], "head"), node("Gather", ["x", "first"], "row", axis=0),
        node("CumSum", ["x", "first"], "sum"), node("Shape", ["x"], "shape"), node("Gather", ["shape", "zero"], "size"),
        node("Cast", ["size"], "count", to=TensorProto.FLOAT), node("Div", ["x", "count"], "shared"),
        node("Reshape", ["turned", "shape"], "torn"), node("TopK", ["x", "one"], ["best", "where"], axis=0),
        node("Sum", ["mean", "share", "head", "row", "sum", "shared", "torn", "best"], "part"),
        node("MatMul", ["all", "part"], "y"),
    ]
    model("mixed", nodes, constants, (4,), 4)


def kept():
    """What exporters write for an open batch: shapes that are put together, rows that are folded and unfolded,
    a token for each sample, the sample's own number among indices, a squeeze of whatever is 1."""
    constants = [
        constant("0", np.array([0])), constant("1", np.array([1])), constant("5", np.array([5])),
        constant("8", np.array([8])), constant("-1", np.array([-1])), constant("rows", np.array([-1, 8])),
        constant("first", np.int64(0)), constant("step", np.int64(1)), constant("token", values(1, 1, 8)),
        constant("w", values(8, 6)), constant("v", values(6, 1)),
    ]
    nodes = [
        node("Shape", ["x"], "shape"), node("Gather", ["shape", "first"], "batch"), node("Unsqueeze", ["batch", "0"], "n"),
        node("Concat", ["n", "1", "8"], "one", axis=0), node("Expand", ["token", "one"], "tokens"),
        node("Concat", ["tokens", "x"], "a", axis=1),
        node("Reshape", ["a", "rows"], "b"), node("MatMul", ["b", "w"], "c"), node("Relu", ["c"], "d"),
        node("Concat", ["n", "5", "-1"], "back", axis=0), node("Reshape", ["d", "back"], "e"),
        node("Transpose", ["e"], "f", perm=[1, 0, 2]), node("Softmax", ["f"], "g", axis=0),
        node("Transpose", ["g"], "h", perm=[1, 0, 2]),
        node("ReduceSum", ["h", "-1"], "i", keepdims=0), node("ArgMax", ["i"], "best", axis=1, keepdims=0),
        node("Range", ["first", "batch", "step"], "numbers"),
        node("Unsqueeze", ["numbers", "1"], "number"), node("Unsqueeze", ["best", "1"], "place"),
        node("Concat", ["number", "place"], "at", axis=1), node("GatherND", ["e", "at"], "j"),
        node("MatMul", ["j", "v"], "k"), node("Squeeze", ["k"], "y"),
    ]
    tensors("kept", nodes, constants, {"x": (FLOATS, [4, 8], some)}, {"y": FLOATS})


def fixed():
    """Batches of two in the file: one of rows by themselves, one that is a sample as a whole."""
    row = [node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "b"), node("GlobalAveragePool", ["b"], "c"),
           node("Reshape", ["c", "shape"], "y")]
    constants = [constant("w", values(4, 3, 3, 3)), constant("shape", np.array([0, -1]))]
    asked_at_once(model("rows", row, constants, (3, 5, 5), 4, batch=2), (3, 5, 5), 2)
    whole = [node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "b"), node("GlobalAveragePool", ["b"], "c"),
             node("ReduceMax", ["c"], "m", axes=[0], keepdims=1), node("Sub", ["c", "m"], "d"),
             node("Reshape", ["d", "shape"], "y")]
    asked_at_once(model("whole", whole, constants, (3, 5, 5), 4, batch=2), (3, 5, 5), 2)


def asked_at_once(path, sample, rows):
    """Runs a model with all rows in one batch."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = values(rows, *sample)
    y = session.run(["y"], {"x": x})[0]
    written = {"inputs": [["x", [rows, *sample]]], "x": [x.reshape(-1).tolist()], "y": [y.reshape(-1).tolist()]}
    path.with_suffix(".json").write_text(json.dumps(written))


def recurrent():
    """Sequences forwards, backwards and both, with first states and peepholes."""
    constants = []

    def weights(name, gates, directions, hidden=3, width=4, peepholes=False):
        made = {"w": values(directions, gates * hidden, width), "r": values(directions, gates * hidden, hidden),
                "b": values(directions, 2 * gates * hidden)}
        if peepholes:
            made["p"] = values(directions, 3 * hidden)
        constants.extend(constant(f"{name}.{n}", v) for n, v in made.items())
        return [f"{name}.{n}" for n in "wrb"]

    nodes = [
        node("Transpose", ["x"], "s", perm=[1, 0, 2]),
        node("LSTM", ["s", *weights("a", 4, 2)], ["a", "a.h", "a.c"], hidden_size=3, direction="bidirectional"),
        node("LSTM", ["s", *weights("b", 4, 1, peepholes=True), "", "h", "c", "b.p"], ["b"], hidden_size=3,
             direction="reverse"),
        node("GRU", ["s", *weights("g", 3, 2)], ["g", "g.h"], hidden_size=3, direction="bidirectional"),
        node("GRU", ["s", *weights("l", 3, 1), "", "h"], ["l"], hidden_size=3, linear_before_reset=1),
        node("RNN", ["s", *weights("r", 1, 1)], ["", "r.h"], hidden_size=3, activations=["Relu"]),
        node("Transpose", ["first"], "h", perm=[1, 0, 2]), node("Neg", ["h"], "c"),
    ]
    nodes = nodes[:1] + nodes[-2:] + nodes[1:-2]
    turned = {"a": [2, 0, 1, 3], "b": [2, 0, 1, 3], "g": [2, 0, 1, 3], "l": [2, 0, 1, 3], "a.c": [1, 0, 2],
              "g.h": [1, 0, 2], "r.h": [1, 0, 2]}
    nodes += [node("Transpose", [name], f"{name}.t", perm=perm) for name, perm in turned.items()]
    outputs = {f"{name}.t": FLOATS for name in turned}
    inputs = {"x": (FLOATS, [6, 4], some), "first": (FLOATS, [1, 3], some)}
    tensors("recurrent", nodes, constants, inputs, outputs, opset=17)


def ranks():
    """The largest values, updates that are added up, angles, losses of each sample."""
    constants = [
        constant("three", np.array([3])), constant("mask", np.array([True, False, True, True])), constant("weight", np.abs(values(4))),
    ]
    nodes = [
        node("TopK", ["x", "three"], ["best", "place"], axis=2),
        node("TopK", ["x", "three"], ["least", "low"], axis=1, largest=0),
        node("Tanh", ["x"], "t"), node("Asin", ["t"], "asin"), node("Acos", ["t"], "acos"), node("Atan", ["x"], "atan"),
        node("Asinh", ["x"], "asinh"), node("Abs", ["t"], "size"), node("Exp", ["size"], "e"), node("Acosh", ["e"], "acosh"),
        node("Compress", ["x", "mask"], "some", axis=2),
        node("LogSoftmax", ["x"], "log", axis=1),
        node("NegativeLogLikelihoodLoss", ["log", "classes", "weight"], "nll", reduction="none"),
        node("SoftmaxCrossEntropyLoss", ["x", "classes"], ["cross", "logs"], reduction="none", ignore_index=2),
    ]
    outputs = {name: FLOATS for name in ["best", "least", "asin", "acos", "atan", "asinh", "acosh", "some", "nll", "cross", "logs"]}
    outputs |= {name: INTS for name in ["place", "low"]}
    inputs = {"x": (FLOATS, [4, 4], some), "classes": (INTS, [4], ids(4))}
    tensors("ranks", nodes, constants, inputs, outputs, opset=18)


def scattered():
    """Updates of positions that come several times."""
    constants = [constant("which", np.array([[0, 2, 2], [1, 1, 1], [0, 2, 0]])), constant("at", np.array([[1], [3], [1]]))]
    nodes = [node("Reshape", ["x", "matrix"], "m"), node("Reshape", ["u", "small"], "v")]
    constants += [constant("matrix", np.array([4, 3])), constant("small", np.array([3, 3]))]
    for kind in ["add", "mul", "max", "min"]:
        nodes.append(node("ScatterElements", ["m", "which", "v"], f"e.{kind}", axis=1, reduction=kind))
        nodes.append(node("ScatterND", ["m", "at", "v"], f"n.{kind}", reduction=kind))
    outputs = {f"{part}.{kind}": FLOATS for kind in ["add", "mul", "max", "min"] for part in "en"}
    tensors("scattered", nodes, constants, {"x": (FLOATS, [4, 3], some), "u": (FLOATS, [3, 3], some)}, outputs, opset=18)


def bytes_of(low, high, kind):
    return lambda dims: random.integers(low, high, dims).astype(kind)


def integers():
    """Integers that are cut to fewer bits, and layers of integers."""
    constants = [
        constant("big", np.array([300], np.int64)), constant("w", random.integers(-9, 9, (3, 2, 3, 3)).astype(np.int8)),
        constant("xs", np.float32(0.0513)), constant("xz", np.uint8(100)), constant("ws", np.array([0.0973, 0.2031, 0.0489], np.float32)),
        constant("wz", np.zeros(3, np.int8)), constant("ys", np.float32(0.3071)), constant("yz", np.uint8(120)),
        constant("b", np.array([40, -30, 5], np.int32)), constant("m", random.integers(0, 255, (4, 3)).astype(np.uint8)),
        constant("mz", np.uint8(9)), constant("ms", np.float32(0.0197)), constant("w8", random.integers(0, 255, (3, 2, 3, 3)).astype(np.uint8)),
        constant("seven", np.array([7], np.int64)), constant("two", np.array([2], np.uint8)),
    ]
    nodes = [
        node("Mul", ["n", "big"], "wide"), node("Cast", ["wide"], "i8", to=TensorProto.INT8),
        node("Cast", ["wide"], "u8", to=TensorProto.UINT8), node("Cast", ["wide"], "i16", to=TensorProto.INT16),
        node("Add", ["q", "q"], "sum"), node("Sub", ["q", "i"], "less"), node("Div", ["wide", "seven"], "whole"),
        node("BitShift", ["q", "two"], "left", direction="LEFT"), node("BitwiseAnd", ["q", "i"], "and"),
        node("BitwiseXor", ["q", "i"], "xor"), node("BitwiseNot", ["q"], "not"),
        node("QLinearConv", ["image", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], "conv", pads=[1, 1, 1, 1]),
        node("ConvInteger", ["image", "w8", "xz"], "ints"),
        node("QLinearMatMul", ["q", "xs", "xz", "m", "ms", "mz", "ys", "yz"], "product"),
    ]
    U8 = TensorProto.UINT8
    inputs = {"n": (INTS, [3], bytes_of(-9, 9, np.int64)), "q": (U8, [2, 4], bytes_of(0, 255, np.uint8)),
              "i": (U8, [2, 4], bytes_of(0, 255, np.uint8)), "image": (U8, [2, 4, 4], bytes_of(0, 255, np.uint8))}
    outputs = {"i8": TensorProto.INT8, "u8": U8, "i16": TensorProto.INT16, "sum": U8, "less": U8, "whole": INTS,
               "left": U8, "and": U8, "xor": U8, "not": U8, "conv": U8, "ints": TensorProto.INT32, "product": U8}
    tensors("integers", nodes, constants, inputs, outputs, opset=18)


def fused():
    """What ONNX Runtime's optimiser writes in place of several nodes."""
    def own(kind, inputs, output, **attributes):
        made = node(kind, inputs, output, **attributes)
        made.domain = "com.microsoft"
        return made

    constants = [
        constant("w", values(3, 3, 3, 3)), constant("b", values(3)), constant("m", values(5, 5)), constant("c", values(5)),
        constant("words", values(9, 8)), constant("places", values(7, 8)), constant("segments", values(2, 8)),
        constant("scale", values(8)), constant("shift", values(8)), constant("bias", values(8)),
        constant("qkv", values(8, 24)), constant("qkv.b", values(24)), constant("flat", np.array([0, -1])),
        constant("g", values(75, 4)), constant("g.b", values(4)),
    ]
    nodes = [
        own("FusedConv", ["x", "w", "b", "x"], "a", activation="LeakyRelu", activation_params=[0.2], pads=[1, 1, 1, 1]),
        own("FusedMatMul", ["a", "m"], "d", transB=1, alpha=0.5), own("FusedMatMul", ["a", "d"], "e", transA=1, alpha=2.0),
        own("BiasGelu", ["e", "c"], "f"), own("FastGelu", ["f", "c"], "g1"), own("QuickGelu", ["g1"], "h", alpha=1.5),
        node("Reshape", ["h", "flat"], "i"), own("FusedGemm", ["i", "g", "g.b"], "j", activation="Relu"),
        own("EmbedLayerNormalization", ["ids", "types", "words", "places", "segments", "scale", "shift", "mask"],
            ["k", "count"], epsilon=1e-5),
        own("Attention", ["k", "qkv", "qkv.b", "count"], "l", num_heads=2),
        own("SkipLayerNormalization", ["l", "k", "scale", "shift", "bias"], ["n", "", "", "sum"], epsilon=1e-5),
        own("SkipSimplifiedLayerNormalization", ["n", "k", "scale"], "o", epsilon=1e-5),
        own("MultiHeadAttention", ["n", "o", "k", "qkv.b", "mask"], "p", num_heads=4),
    ]
    INT32 = TensorProto.INT32

    def mask(dims):
        made = np.ones(dims, np.int32)
        made[..., -2:] = 0
        return made

    inputs = {"x": (FLOATS, [3, 5, 5], some), "ids": (INT32, [6], bytes_of(0, 9, np.int32)),
              "types": (INT32, [6], bytes_of(0, 2, np.int32)), "mask": (INT32, [6], mask)}
    outputs = {name: FLOATS for name in ["h", "j", "l", "n", "sum", "o", "p"]}
    tensors("fused", nodes, constants, inputs, outputs, own=True)


def faults():
    """Files that contradict themselves."""
    zero = constant("zero", np.array([0]))
    start, end = constant("start", np.int64(0)), constant("end", np.int64(4))
    none = constant("none", np.int64(0))
    model("range", [node("Range", ["start", "end", "none"], "r"), node("Cast", ["r"], "f", to=FLOATS), node("Add", ["x", "f"], "y")],
          [start, end, none], (4,), 4)
    model("mod", [node("Cast", ["x"], "i", to=INTS), node("Mod", ["i", "zero"], "m"), node("Cast", ["m"], "y", to=FLOATS)],
          [zero], (4,), 4)
    graph = helper.make_graph([node("Neg", ["c"], "y")], "nothing", [], [floats("y", [1, 4])], [constant("c", values(1, 4))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "nothing.onnx")


def scalars():
    """Inputs that are one number each."""
    graph = helper.make_graph([node("Mul", ["a", "b"], "y")], "scalars", [floats("a", []), floats("b", [])], [floats("y", [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "scalars.onnx")


def affine():
    """Four values for four, so that one such network can follow another."""
    nodes = [node("Mul", ["x", "w"], "scaled"), node("Add", ["scaled", "b"], "y")]
    constants = [constant("w", np.array([0.5, -1, 2, 1.5], np.float32)), constant("b", np.array([1, 0, -1, 0.25], np.float32))]
    model("affine", nodes, constants, (4,), 4)


def counted():
    """Four values for four, and the integers of those that came."""
    nodes = [node("Add", ["x", "b"], "y"), node("Cast", ["x"], "n", to=INTS)]
    outputs = [floats("y", ["N", 4]), helper.make_tensor_value_info("n", INTS, ["N", 4])]
    constants = [constant("b", np.array([1, 0, -1, 0.25], np.float32))]
    graph = helper.make_graph(nodes, "counted", [floats("x", ["N", 4])], outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "counted.onnx")


def unmasked():
    """The mean over tokens, which a mask that is added to them leaves dependent on padding."""
    dims = ["batch", "tokens"]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, dims) for n in ("ids", "attention_mask")]
    nodes = [node("Add", ["ids", "attention_mask"], "sum"), node("Cast", ["sum"], "cast", to=TensorProto.FLOAT),
             node("ReduceMean", ["cast"], "y", axes=[1], keepdims=1)]
    graph = helper.make_graph(nodes, "unmasked", inputs, [floats("y", ["batch", 1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "unmasked.onnx")


def doubled():
    """A constant that is doubled until it fills any memory."""
    nodes = [node("Concat", ["k0", "k0"], "k1", axis=0)]
    nodes += [node("Concat", [f"k{n}", f"k{n}"], f"k{n + 1}", axis=0) for n in range(1, 40)]
    nodes += [node("Gather", ["k40", "at"], "one"), node("Add", ["x", "one"], "y")]
    model("doubled", nodes, [constant("k0", values(4)), constant("at", np.array([0]))], (4,), 4)


def standardised():
    """Weights that a batch norm standardises, by their own statistics and by given ones."""
    nodes = [
        node("ReduceMean", ["w"], "mean", axes=[0, 2], keepdims=0),
        node("BatchNormalization", ["w", "scale", "shift", "mean", "var"], ["w.t", "m.t", "v.t"], training_mode=1, epsilon=1e-5),
        node("BatchNormalization", ["w", "scale", "shift", "mean", "var"], "w.i", epsilon=1e-3),
        node("Reshape", ["w.t", "square"], "w.q"), node("Reshape", ["w.i", "square"], "w.r"),
        node("MatMul", ["x", "w.q"], "y"), node("MatMul", ["x", "w.r"], "z"),
    ]
    constants = [constant("w", values(1, 4, 4)), constant("square", np.array([4, 4])), constant("scale", values(4)),
                 constant("shift", values(4)), constant("var", np.abs(values(4)) + np.float32(0.5))]
    tensors("standardised", nodes, constants, {"x": (FLOATS, [4], some)}, {"y": FLOATS, "z": FLOATS})


def looked_up():
    """Integers that go to tables in every way that ids do, and some that go to none."""
    nodes = [
        node("Cast", ["fields"], "f.32", to=TensorProto.INT32),
        node("Add", ["f.32", "offsets"], "f.row"), node("Gather", ["table.12", "f.row"], "f.out"),
        node("Slice", ["columns", "zero", "one", "one"], "c.first"), node("Squeeze", ["c.first", "one"], "c.0"),
        node("Gather", ["table.5", "c.0"], "c.0.out"), node("Gather", ["columns", "one.0"], "c.1", axis=1),
        node("Gather", ["table.7", "c.1"], "c.1.out"),
        node("Gather", ["table.7", "twice"], "t.7.out"), node("Reshape", ["twice", "rows"], "t.row"),
        node("Transpose", ["t.row"], "t.turned", perm=[0, 2, 1]), node("Gather", ["table.5", "t.turned"], "t.5.out"),
        node("Sub", ["before", "two"], "b.less"), node("Gather", ["table.5", "b.less"], "b.out"),
        node("Mul", ["doubled", "two"], "d.2"), node("Gather", ["table.12", "d.2"], "d.out"),
        node("Cast", ["free"], "free.out", to=FLOATS),
    ]
    constants = [constant(f"table.{n}", values(n, 3)) for n in (5, 7, 12)]
    constants += [constant("offsets", np.array([0, 4, 9], np.int32)), constant("rows", np.array([-1, 1, 2]))]
    constants += [constant("one.0", np.int64(1))]
    constants += [constant(name, np.array([n])) for name, n in [("zero", 0), ("one", 1), ("two", 2)]]
    inputs = {"fields": (INTS, [3], ids(3)), "columns": (INTS, [2], ids(5)), "twice": (INTS, [2], ids(5)),
              "before": (INTS, [2], ids(5)), "doubled": (INTS, [2], ids(6)), "free": (INTS, [2], ids(100))}
    outputs = {name: FLOATS for name in ["f.out", "c.0.out", "c.1.out", "t.7.out", "t.5.out", "b.out", "d.out", "free.out"]}
    tensors("looked_up", nodes, constants, inputs, outputs)


def mistyped():
    """Nodes that do not take the types of their inputs, and what is declared as another type."""
    nodes = [
        node("Cast", ["x"], "whole", to=INTS), node("Add", ["x", "whole"], "sum"), node("Not", ["x"], "not"),
        node("Where", ["x", "x", "x"], "where"), node("Gather", ["x", "place"], "gather", axis=1),
        node("Reshape", ["x", "place"], "reshape"), node("Less", ["x", "x"], "less"), node("Relu", ["less"], "relu"),
        node("Cast", ["less"], "y", to=TensorProto.INT32), node("Neg", ["x"], "fine"),
    ]
    model("mistyped", nodes, [constant("place", np.array([0.0], np.float32))], (4,), 4)
    listed = model("listed", [node("Add", ["x", "c"], "y")], [constant("c", np.array([1]))], (4,), 4, listed=True)
    made = onnx.load(listed)
    made.graph.input[1].type.tensor_type.elem_type = FLOATS
    onnx.save(made, listed)


def tied():
    """Layers over one matrix, as of encoders whose layers share their weights; one of them with another bias."""
    constants = [constant("w", values(32, 32)), constant("b", values(32)), constant("c", values(32)),
                 constant("out", values(32, 4))]
    nodes, last = [], "x"
    for number, bias in enumerate("bbcb"):
        nodes += [node("MatMul", [last, "w"], f"m{number}"), node("Add", [f"m{number}", bias], f"a{number}"),
                  node("Tanh", [f"a{number}"], f"t{number}")]
        last = f"t{number}"
    nodes.append(node("MatMul", [last, "out"], "y"))
    asked(model("tied", nodes, constants, [32], 4), [32])



def rounded():
    """Quotients that become integers, a forget gate that follows the input's, a line that padding makes several."""
    whole = lambda dims: random.integers(1, 12, dims).astype(np.float32) * 41
    weights = {"w": values(1, 12, 4), "r": values(1, 12, 3), "b": values(1, 24)}
    nodes = [
        node("Div", ["x", "41"], "x.d"), node("Floor", ["x.d"], "x.f"),
        node("Div", ["x", "columns"], "x.e"), node("Cast", ["x.e"], "x.i", to=INTS),
        node("Transpose", ["s"], "s.t", perm=[1, 0, 2]),
        node("LSTM", ["s.t", "w", "r", "b"], ["", "", "c"], hidden_size=3, input_forget=1),
        node("Transpose", ["c"], "c.t", perm=[1, 0, 2]),
        node("Conv", ["line", "kernel"], "lines", pads=[1, 0, 1, 0], strides=[1, 2]),
        node("EyeLike", ["square"], "eye"), node("Add", ["eye", "ids"], "eyes"),
    ]
    constants = [constant("41", np.float32(41)), constant("columns", np.array([47, 41, 83, 41], np.float32)),
                 constant("kernel", values(1, 1, 1, 3)), constant("square", np.ones((3, 3), np.int64)),
                 *(constant(name, made) for name, made in weights.items())]
    inputs = {"x": (FLOATS, [4], whole), "s": (FLOATS, [5, 4], some), "line": (FLOATS, [1, 1, 8], some),
              "ids": (INTS, [3, 3], ids(5))}
    outputs = {"x.f": FLOATS, "x.i": INTS, "c.t": FLOATS, "lines": FLOATS, "eyes": INTS}
    tensors("rounded", nodes, constants, inputs, outputs)


def guarded():
    """What is looked up, with 0 in place of NaN."""
    nodes = [node("Gather", ["table", "ids"], "g"), node("IsNaN", ["g"], "n"), node("Where", ["n", "zero", "g"], "y")]
    constants = [constant("table", values(5, 3)), constant("zero", np.float32(0))]
    tensors("guarded", nodes, constants, {"ids": (INTS, [2], ids(5))}, {"y": FLOATS})


def hostile():
    """Small files that ask for much memory, or whose sizes are none."""
    far = 2**31 - 2
    one = constant("w", values(1, 1, 2, 2))
    flat = node("Flatten", ["c"], "y")
    model("padded", [node("Conv", ["x", "w"], "c", pads=[30000] * 4, strides=[30000] * 2), flat], [one], (1, 4, 4), 9)
    model("padded_far", [node("Conv", ["x", "w"], "c", pads=[far] * 4, strides=[2**31] * 2), flat], [one], (1, 4, 4), 4)
    model("expanded", [node("Expand", ["one", "many"], "e"), node("Gather", ["e", "first"], "f"),
                       node("Cast", ["f"], "g", to=FLOATS), node("Add", ["x", "g"], "y")],
          [constant("one", np.int64(1)), constant("many", np.array([2**28])), constant("first", np.array([0]))], (4,), 4)
    # Their windows would be 2 ** 64 and more.
    model("columns_far", [node("Col2Im", ["x", "many", "window"], "c", pads=[2**32 - 1] * 4), flat],
          [constant("many", np.array([2**23, 2**23])), constant("window", np.array([1, 1]))], (1, 4), 4, opset=18)
    nodes, last = [], "x"
    for number, size in enumerate([8192, 8191, 8192, 8191]):
        nodes.append(node("Resize", [last, "", "", f"size{number}"], f"r{number}", mode="linear"))
        last = f"r{number}"
    sizes = [constant(f"size{n}", np.array([1, 1, 1, s])) for n, s in enumerate([8192, 8191, 8192, 8191])]
    model("resized", [*nodes, node("Flatten", [last], "y")], sizes, (1, 1, 8190), 8191)
    model("directions", [node("Transpose", ["x"], "s", perm=[1, 0, 2]), node("LSTM", ["s", "w", "r"], ["", "h"], hidden_size=1),
                         node("Flatten", ["h"], "y")],
          [constant("w", values(0, 4, 4)), constant("r", values(0, 4, 1))], (2, 4), 1)
    hollow = TensorProto(name="w", data_type=FLOATS, dims=[2**40, 0], raw_data=b"")
    model("hollow", [node("ReduceSum", ["w"], "s", keepdims=0), node("Add", ["x", "s"], "y")], [hollow], (4,), 4)
    far = [constant("one.f", np.ones((1, 1), np.float32)), constant("to", np.array([2**40, 0]))]
    model("hollow_far", [node("Expand", ["one.f", "to"], "e"), node("ReduceSum", ["e"], "s", keepdims=0),
                         node("Add", ["x", "s"], "y")], far, (4,), 4)
    # The samples are an operand that the operator does not take.
    model("surplus", [node("Elu", ["one", "x"], "elu"), node("Mul", ["x", "elu"], "y")], [constant("one", np.float32(1))], (4,), 4)


def singles():
    """Positions along an axis of one value, and pools with one window that is larger than the image."""
    nodes = [
        node("GlobalMaxPool", ["x"], "a"),
        node("ArgMax", ["a"], "b", axis=2, keepdims=1),
        node("Cast", ["b"], "c", to=FLOATS),
        node("Hardmax", ["a"], "d", axis=3),
        node("MaxPool", ["x"], "e", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        node("AveragePool", ["x"], "f", kernel_shape=[3, 3], strides=[3, 3], ceil_mode=1),
        node("Concat", ["c", "d", "e", "f"], "g", axis=1),
        node("Flatten", ["g"], "y"),
    ]
    asked(model("singles", nodes, [], (3, 2, 2), 12), (3, 2, 2))


def tables():
    """A table that is repeated for each sample, as DeBERTa's of relative positions; a product whose addend counts
    nothing."""
    constants = [constant("w", values(4, 4)), constant("t", values(2, 4, 3)), constant("o", values(4, 4)),
                 constant("zero", np.int64(0)), constant("ones", np.array([1, 1])), constant("axes", np.array([0])),
                 constant("each", np.array([-1, 1, 4])),
                 constant("all", np.array([-1, 6])), constant("no", np.full((1, 6), np.inf, np.float32)),
                 constant("v", values(6, 6))]
    nodes = [
        node("Concat", ["x", "x"], "twice", axis=1),
        node("Reshape", ["twice", "each"], "q"),
        # Its values are known, and no constant: a product of constants is not folded.
        node("MatMul", ["o", "w"], "p"),
        node("MatMul", ["p", "t"], "k"),
        node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n", axis=0), node("Unsqueeze", ["n", "axes"], "m"),
        node("Concat", ["m", "ones"], "times", axis=0),
        node("Tile", ["k", "times"], "ks"),
        node("MatMul", ["q", "ks"], "r"),
        node("Reshape", ["r", "all"], "u"),
        node("Gemm", ["u", "v", "no"], "y", beta=0.0),
    ]
    asked(model("tables", nodes, constants, (4,), 6), (4,))


def crossed():
    """Batches that meet on two axes: of as many samples as the other axis has values, they would be mixed."""
    for name, pair in [("crossed", ["x", "c"]), ("crossed_back", ["c", "x"])]:
        nodes = [node("Unsqueeze", ["x", "axes"], "c"), node("Sub", pair, "d"), node("Flatten", ["d"], "y")]
        model(name, nodes, [constant("axes", np.array([2]))], (4,), 16)


def bombs():
    """Small files that fill much memory before it can be seen that they do."""
    end = [node("Cast", ["r"], "f", to=FLOATS), node("ReduceSum", ["f"], "s", keepdims=0), node("Add", ["x", "s"], "y")]
    for name, nodes, sizes in [
        ("filled", [node("ConstantOfShape", ["n"], "z"), node("Neg", ["z"], "r")], [2**27]),
        ("positions", [node("ConstantOfShape", ["n"], "z"), node("NonZero", ["z"], "r")], [2**13, 2**14]),
        ("ones", [node("ConstantOfShape", ["n"], "r", value=constant("v", np.array([1], np.int64)))], [2**28]),
    ]:
        model(name, nodes + end, [constant("n", np.array(sizes))], (4,), 4)
    bounds = [constant("from", np.int64(0)), constant("to", np.int64(2**28)), constant("by", np.int64(1))]
    model("ranged", [node("Range", ["from", "to", "by"], "r"), *end], bounds, (4,), 4)


def idle():
    """Quantised by the range of each sample, which zeros alone do not have."""
    constants = [constant("w", random.integers(-90, 90, (4, 3)).astype(np.int8)), constant("s", np.float32(0.01))]
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("MatMulInteger", ["q", "w", "zero"], "i"),
        node("Cast", ["i"], "f", to=FLOATS), node("Mul", ["scale", "s"], "by"), node("Mul", ["f", "by"], "y"),
    ]
    path = model("idle", nodes, constants, (4,), 3)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = np.concatenate([np.zeros((1, 4), np.float32), values(2, 4)])
    y = np.concatenate([session.run(["y"], {"x": row[None]})[0] for row in x])
    path.with_suffix(".json").write_text(json.dumps({"input": [4], "x": x.tolist(), "y": y.tolist()}))


def dynamic():
    """What `quantize_dynamic` writes: three products read the same integers, each scaled back to numbers."""
    own = np.random.default_rng(23)
    size, nodes, constants = 24, [], []

    def product(name, read, out, kind, by_column):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        count = [out] if by_column else []
        constants.extend([
            constant(f"{name}.w", own.integers(low, high, (size, out), endpoint=True).astype(kind)),
            constant(f"{name}.z", own.integers(low, high, count, endpoint=True).astype(kind)),
            constant(f"{name}.s", own.uniform(0.001, 0.004, count).astype(np.float32)),
            constant(f"{name}.b", own.standard_normal(out).astype(np.float32)),
        ])
        nodes.extend([
            node("Mul", [f"{read}.scale", f"{name}.s"], f"{name}.by"),
            node("MatMulInteger", [f"{read}.q", f"{name}.w", f"{read}.zero", f"{name}.z"], f"{name}.i"),
            node("Cast", [f"{name}.i"], f"{name}.f", to=FLOATS),
            node("Mul", [f"{name}.f", f"{name}.by"], f"{name}.p"), node("Add", [f"{name}.b", f"{name}.p"], name),
        ])

    def quantised(name):
        nodes.append(node("DynamicQuantizeLinear", [name], [f"{name}.q", f"{name}.scale", f"{name}.zero"]))

    quantised("x")
    for name, kind, by_column in [("query", np.int8, False), ("key", np.uint8, True), ("value", np.int8, True)]:
        product(name, "x", size, kind, by_column)
    nodes.extend([
        node("Transpose", ["key"], "turned", perm=[0, 2, 1]), node("MatMul", ["query", "turned"], "scores"),
        node("Softmax", ["scores"], "shares", axis=2), node("MatMul", ["shares", "value"], "mixed"),
    ])
    quantised("mixed")
    product("out", "mixed", size, np.uint8, False)
    nodes.extend([node("Relu", ["out"], "r"), node("Add", ["r", "x"], "sum")])
    quantised("sum")
    product("last", "sum", 7, np.int8, False)
    nodes.append(node("ReduceMean", ["last"], "y", axes=[1], keepdims=0))
    path = model("dynamic", nodes, constants, (5, size), 7)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = own.standard_normal((4, 5, size)).astype(np.float32)
    y = np.concatenate([session.run(["y"], {"x": row[None]})[0] for row in x])
    written = {"input": [5, size], "x": x.reshape(4, -1).tolist(), "y": y.tolist()}
    path.with_suffix(".json").write_text(json.dumps(written))


def hashes():
    """Remainders and bits of integers that may be larger than float32 holds exactly."""
    constants = [constant("by", np.int64(4097)), constant("of", np.int64(1021)), constant("bits", np.int64(1023))]
    nodes = [
        node("Cast", ["x"], "i", to=TensorProto.INT64), node("Mul", ["i", "by"], "p"),
        node("Mod", ["p", "of"], "a"), node("Mod", ["p", "of"], "b", fmod=1), node("BitwiseAnd", ["p", "bits"], "c"),
        node("Div", ["p", "of"], "d"), node("Concat", ["a", "b", "c", "d"], "e", axis=1), node("Cast", ["e"], "y", to=FLOATS),
    ]
    model("hashes", nodes, constants, (1,), 4, opset=18)
    far = [constant("far", np.int64(2**31 - 1))]
    model("far", [node("Cast", ["x"], "i", to=TensorProto.INT64), node("Mod", ["far", "i"], "m"), node("Cast", ["m"], "y", to=FLOATS)],
          far, (1,), 1)


def rows_of_samples():
    """Scales and addends for each of the samples of a batch of one size."""
    scales = [constant("s", np.full(3, 0.1, np.float32)), constant("z", np.zeros(3, np.uint8))]
    model("scaled_rows", [node("QuantizeLinear", ["x", "s", "z"], "q", axis=0), node("DequantizeLinear", ["q", "s", "z"], "y", axis=0)],
          scales, (4,), 4)
    model("gemm_rows", [node("Gemm", ["x", "w", "c"], "y")], [constant("w", values(4, 4)), constant("c", values(3, 4))], (4,), 4)


def grid(name, scale, zero=None, kind=np.uint8):
    """A scale and a zero point."""
    made = [constant(f"{name}.scale", np.asarray(scale, np.float32))]
    return made + ([] if zero is None else [constant(f"{name}.zero", np.asarray(zero, kind))])


def integers_of(array, scales, kind=np.int8):
    """Weights as integers, a scale for each row."""
    scaled = array / scales.reshape(-1, *[1] * (array.ndim - 1))
    return np.clip(np.rint(scaled), -127, 127).astype(kind)


def quantised_pairs():
    """Integers that stand for numbers as ONNX Runtime's quantiser writes them: a pair of nodes at each value."""
    w1, w2, w3 = values(16, 4, 3, 3), values(16, 16, 1, 1), values(5, 16)
    scales = [np.abs(w.reshape(w.shape[0], -1)).max(1) / np.float32(127) for w in (w1, w2, w3)]
    constants = [
        constant("w1", integers_of(w1, scales[0])), constant("w1.scale", scales[0]),
        constant("w1.zero", np.zeros(16, np.int8)),
        # Weights of floats, as frameworks write them that train with rounding.
        constant("w2", w2), constant("w2.scale", scales[1]), constant("w2.zero", np.zeros(16, np.int8)),
        constant("w3", integers_of(w3, scales[2])), constant("w3.scale", scales[2]),
        constant("b1", np.arange(16, dtype=np.int32) * 40), constant("b1.scale", scales[0] * np.float32(0.02)),
        *grid("x", 0.02, 128), *grid("a", 0.03, 0), *grid("c", 0.05, 90), *grid("e", 0.0625, 120),
        *grid("g", 0.03, 100), *grid("s", 1 / 256, -128, np.int8),
    ]
    def pair(of, to, name):
        by = [f"{name}.scale", f"{name}.zero"]
        return [node("QuantizeLinear", [of, *by], f"{to}.q"), node("DequantizeLinear", [f"{to}.q", *by], to)]

    nodes = [
        *pair("x", "x1", "x"),
        node("DequantizeLinear", ["w1", "w1.scale", "w1.zero"], "w1.f", axis=0),
        node("DequantizeLinear", ["b1", "b1.scale"], "b1.f", axis=0),
        node("Conv", ["x1", "w1.f", "b1.f"], "a", pads=[1, 1, 1, 1]),
        # A ReLU is in the clamp of the least integer.
        *pair("a", "a1", "a"),
        node("MaxPool", ["a1"], "b", kernel_shape=[2, 2], strides=[2, 2]),
        node("QuantizeLinear", ["w2", "w2.scale", "w2.zero"], "w2.q", axis=0),
        node("DequantizeLinear", ["w2.q", "w2.scale", "w2.zero"], "w2.f", axis=0),
        node("Conv", ["b", "w2.f"], "c"),
        *pair("c", "c1", "c"),
        node("Add", ["c1", "b"], "d"),
        *pair("d", "e", "e"),
        node("GlobalAveragePool", ["e"], "f"),
        *pair("f", "g", "g"),
        node("Flatten", ["g"], "h"),
        node("DequantizeLinear", ["w3", "w3.scale"], "w3.f", axis=0),
        node("Gemm", ["h", "w3.f"], "i", transB=1),
        node("Sigmoid", ["i"], "j"),
        *pair("j", "y", "s"),
    ]
    answers_of("quantised_pairs", nodes, constants, (4, 8, 6), 5, opset=17)


def quantised_operators():
    """The same by operators of integers, some of which are ONNX Runtime's own, and integers passed on."""
    w1, w2, w3 = values(16, 4, 3, 3), values(16, 16, 1, 1), values(5, 16)
    scales = [np.abs(w.reshape(w.shape[0], -1)).max(1) / np.float32(127) for w in (w1, w2, w3)]
    constants = [
        constant("w1", integers_of(w1, scales[0])), constant("w1.scale", scales[0]),
        constant("w2", integers_of(w2, scales[1])), constant("w2.scale", scales[1]),
        constant("w3", integers_of(w3, scales[2])), constant("w3.scale", scales[2]),
        constant("none", np.zeros(16, np.int8)), constant("no", np.zeros(5, np.int8)),
        constant("b1", np.arange(16, dtype=np.int32) * 40), constant("b3", np.arange(5, dtype=np.int32) * 9),
        *grid("x", 0.02, 128), *grid("a", 0.03, 0), *grid("c", 0.05, 90), *grid("e", 0.0625, 120),
        *grid("g", 0.03, 100), *grid("i", 0.02, 110), *grid("s", 1 / 256, 0), *grid("t", 0.0625, 120),
    ]
    own = {"domain": "com.microsoft"}
    by = lambda of, name: [of, f"{name}.scale", f"{name}.zero"]
    to = lambda name: by(None, name)[1:]
    nodes = [
        node("QuantizeLinear", by("x", "x"), "x1"),
        node("QLinearConv", [*by("x1", "x"), "w1", "w1.scale", "none", *to("a"), "b1"], "a", pads=[1, 1, 1, 1]),
        node("MaxPool", ["a"], "b", kernel_shape=[2, 2], strides=[2, 2]),
        node("QLinearConv", [*by("b", "a"), "w2", "w2.scale", "none", *to("c")], "c"),
        node("QLinearAdd", [*by("c", "c"), *by("b", "a"), *to("e")], "d", **own),
        node("QLinearMul", [*by("d", "e"), *by("c", "c"), *to("t")], "t", **own),
        node("QLinearConcat", [*to("e"), *by("d", "e"), *by("t", "t")], "k", axis=1, **own),
        node("QLinearGlobalAveragePool", [*by("k", "e"), *to("g")], "f", **own),
        node("Flatten", ["f"], "h"),
        node("Slice", ["h", "from", "until", "axes"], "l"),
        node("QGemm", [*by("l", "g"), "w3", "w3.scale", "no", "b3", *to("i")], "i", transB=1, **own),
        node("QLinearSigmoid", [*by("i", "i"), *to("s")], "j", **own),
        node("DequantizeLinear", by("j", "s"), "y"),
    ]
    constants += [constant("from", np.array([8])), constant("until", np.array([24])), constant("axes", np.array([1]))]
    answers_of("quantised_operators", nodes, constants, (4, 8, 6), 5, opset=17)


def answers_of(name, nodes, constants, sample, answer, opset):
    made = model(name, nodes, constants, sample, answer, opset)
    loaded = onnx.load(made)
    loaded.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(loaded, made)
    session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    x = values(3, *sample) * 3
    y = session.run(["y"], {"x": x})[0]
    written = {"input": list(sample), "x": x.reshape(3, -1).tolist(), "y": y.tolist()}
    made.with_suffix(".json").write_text(json.dumps(written))


def pooled():
    """Classifiers of 5 classes over tokens that pool in ways that padding changes, and one that takes 48 tokens alone."""
    table = constant("table", values(768, 8))
    dense = [constant("w", values(8, 5) * 4), constant("b", values(5))]
    head = [node("MatMul", ["pooled", "w"], "scores"), node("Add", ["scores", "b"], "y")]
    seen = [node("Gather", ["table", "input_ids"], "words"), node("Cast", ["attention_mask"], "seen", to=TensorProto.FLOAT)]
    kinds = {
        # The largest value of each feature: words of padding may have it.
        "pooled_max": [node("ReduceMax", ["words"], "pooled", axes=[1], keepdims=0)],
        # The last token whose id is not 3, as classifiers of GPT-2 and Llama find it.
        "pooled_last": [
            node("Equal", ["input_ids", "three"], "is_padding"), node("Not", ["is_padding"], "is_text"),
            node("Cast", ["is_text"], "texts", to=TensorProto.INT64), node("CumSum", ["texts", "along"], "counted"),
            node("Mul", ["counted", "texts"], "places"), node("ArgMax", ["places"], "last", axis=1, keepdims=1),
            node("Unsqueeze", ["last", "at_end"], "last.1"), node("Expand", ["last.1", "wide"], "last.2"),
            node("CumSum", ["words", "along"], "sums"), node("GatherElements", ["sums", "last.2"], "row", axis=1),
            node("Squeeze", ["row", "along.1"], "pooled")],
        # Hidden by the mask: nothing depends on the padding.
        "pooled_mean": [
            node("Unsqueeze", ["seen", "at_end"], "weights"), node("Mul", ["words", "weights"], "kept"),
            node("ReduceSum", ["kept", "along.1"], "sum", keepdims=0), node("ReduceSum", ["seen", "along.1"], "count", keepdims=1),
            node("Div", ["sum", "count"], "pooled")],
    }
    whole = [constant("three", np.array(3)), constant("along", np.array(1)), constant("along.1", np.array([1])),
             constant("at_end", np.array([2])), constant("wide", np.array([1, 1, 8]))]
    for name, nodes in [*kinds.items(), ("pooled_fixed", kinds["pooled_max"])]:
        dims = ["batch", 48 if name == "pooled_fixed" else "tokens"]
        inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, dims) for n in ("input_ids", "attention_mask")]
        graph = helper.make_graph(seen + nodes + head, name, inputs, [floats("y", ["batch", 5])], [table, *dense, *whole])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / f"{name}.onnx")
    answers = {}
    texts = [[5, 90, 271], [700], [41, 12, 3, 9, 640, 17, 33, 8, 1, 2, 99], list(range(20, 60))]
    for name in kinds:
        session = onnxruntime.InferenceSession(HERE / f"{name}.onnx", providers=["CPUExecutionProvider"])
        feeds = [{"input_ids": np.array([t]), "attention_mask": np.ones((1, len(t)), np.int64)} for t in texts]
        answers[name] = [session.run(["y"], feed)[0][0].tolist() for feed in feeds]
    (HERE / "pooled.json").write_text(json.dumps({"texts": texts, "answers": answers}))


def ends():
    """Networks that end in probabilities, as exporters write them, and one that does not."""
    w, b = constant("w", values(4, 3) * 6), constant("b", values(3))
    first = [node("MatMul", ["x", "w"], "l"), node("Add", ["l", "b"], "z")]
    axes = [constant("last", np.array([1])), constant("image", np.array([0, 3, 1, 1])), constant("row", np.array([-1, 3]))]
    kinds = {
        "end_logits": (17, [node("Identity", ["z"], "y")]),
        "end_softmax": (17, [node("Softmax", ["z"], "y", axis=-1)]),
        "end_softmax_before_13": (11, [node("Softmax", ["z"], "p", axis=1), node("Identity", ["p"], "y")]),
        "end_softmax_of_image": (17, [node("Reshape", ["z", "image"], "i"), node("Softmax", ["i"], "p", axis=1),
                                      node("Flatten", ["p"], "f"), node("Reshape", ["f", "row"], "y")]),
        "end_softmax_written_out": (17, [node("Exp", ["z"], "e"), node("ReduceSum", ["e", "last"], "s", keepdims=1),
                                         node("Div", ["e", "s"], "y")]),
        "end_softmax_clipped": (17, [node("Softmax", ["z"], "p", axis=1), node("Clip", ["p", "least", "most"], "y")]),
        "end_sigmoid": (17, [node("Sigmoid", ["z"], "y")]),
    }
    bounds = [constant("least", np.float32(1e-7)), constant("most", np.float32(1))]
    x = values(4, 4)
    answers = {}
    for name, (opset, nodes) in kinds.items():
        model(name, first + nodes, [w, b, *axes, *bounds], (4,), 3, opset=opset)
        session = onnxruntime.InferenceSession(HERE / f"{name}.onnx", providers=["CPUExecutionProvider"])
        answers[name] = [session.run(["y"], {"x": row[None]})[0][0].tolist() for row in x]
    (HERE / "ends.json").write_text(json.dumps({"x": x.tolist(), "answers": answers}))


def written_out():
    """Probabilities that no single operation shows: rounded ones, spelled-out ones, means and joined ones."""
    w, b, v = constant("w", values(4, 3) * 6), constant("b", values(3)), constant("v", values(4, 3) * 6)
    first = [node("MatMul", ["x", "w"], "l"), node("Add", ["l", "b"], "z")]
    half, float_ = {"to": TensorProto.FLOAT16}, {"to": TensorProto.FLOAT}
    constants = [w, b, v, constant("one", np.float32(1)), constant("half", np.float32(0.5)), constant("last", np.array([1]))]
    kinds = {
        "written_sigmoid": [node("Neg", ["z"], "n"), node("Exp", ["n"], "e"), node("Add", ["e", "one"], "s"), node("Reciprocal", ["s"], "y")],
        "written_sigmoid_in_half": [node("Sigmoid", ["z"], "p"), node("Cast", ["p"], "h", **half), node("Cast", ["h"], "y", **float_)],
        "written_softmax_in_half": [node("Softmax", ["z"], "p", axis=1), node("Cast", ["p"], "h", **half), node("Cast", ["h"], "y", **float_)],
        "written_softmax_of_logarithms": [node("LogSoftmax", ["z"], "p", axis=1), node("Exp", ["p"], "y")],
        "written_mean_of_softmaxes": [node("MatMul", ["x", "v"], "m"), node("Softmax", ["z"], "p", axis=1), node("Softmax", ["m"], "q", axis=1),
                                      node("Add", ["p", "q"], "s"), node("Mul", ["s", "half"], "y")],
        "written_scores": [node("Tanh", ["z"], "t"), node("Mul", ["t", "half"], "y")],
    }
    x = values(4, 4)
    answers = {}
    for name, nodes in kinds.items():
        model(name, first + nodes, constants, (4,), 3)
        session = onnxruntime.InferenceSession(HERE / f"{name}.onnx", providers=["CPUExecutionProvider"])
        answers[name] = [session.run(["y"], {"x": row[None]})[0][0].tolist() for row in x]
    (HERE / "written_out.json").write_text(json.dumps({"x": x.tolist(), "answers": answers}))


def far():
    """A classifier of the mean over the last 20 positions, by the mask: padding matters from 21 tokens on alone."""
    table = constant("table", values(768, 8))
    constants = [table, constant("w", values(8, 5) * 4), constant("b", values(5)), constant("from", np.array([-20])), constant("to", np.array([2**31])),
                 constant("axis", np.array([1])), constant("at_end", np.array([2])), constant("little", np.float32(1e-6))]
    nodes = [node("Gather", ["table", "input_ids"], "words"), node("Cast", ["attention_mask"], "seen", to=TensorProto.FLOAT),
             node("Unsqueeze", ["seen", "at_end"], "weights"), node("Mul", ["words", "weights"], "kept"),
             node("Slice", ["kept", "from", "to", "axis"], "last"), node("Slice", ["seen", "from", "to", "axis"], "ends"),
             node("ReduceSum", ["last", "axis"], "sum", keepdims=0), node("ReduceSum", ["ends", "axis"], "count", keepdims=1),
             node("Add", ["count", "little"], "count.1"), node("Div", ["sum", "count.1"], "pooled"),
             node("MatMul", ["pooled", "w"], "scores"), node("Add", ["scores", "b"], "y")]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in ("input_ids", "attention_mask")]
    graph = helper.make_graph(nodes, "far", inputs, [floats("y", ["batch", 5])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), HERE / "pooled_far.onnx")


def normalised():
    """Means and variances over pixels, over channels too, and over one axis counted from the end."""
    nodes = [node("MeanVarianceNormalization", ["x"], f"n{at}", axes=axes) for at, axes in enumerate([[2, 3], [1, 2, 3], [-1]])]
    nodes.append(node("Concat", ["n0", "n1", "n2"], "y", axis=1))
    tensors("normalised", nodes, [], {"x": (FLOATS, [3, 4, 5], some)}, {"y": FLOATS})


image_of_today()
image_of_before()
vectors()
unknown()
faulty()
one()
gates()
last()
curves()
two_inputs()
attention()
encoder()
lengths()
windows()
versions()
sizes()
doubled()
unmasked()
tagger()
sides()
mixed()
kept()
fixed()
recurrent()
ranks()
scattered()
integers()
fused()
faults()
looked_up()
mistyped()
scalars()
affine()
counted()
tied()
rounded()
hostile()
standardised()
guarded()
volumes()
places()
fourier()
strides()
behind()
biased()
quantised_pairs()
quantised_operators()
singles()
tables()
crossed()
bombs()
idle()
dynamic()
hashes()
rows_of_samples()
pooled()
ends()
written_out()
far()
normalised()
