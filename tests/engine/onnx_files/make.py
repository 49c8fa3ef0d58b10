#!/usr/bin/env python3
"""Makes the ONNX files of this folder, and what ONNX Runtime answers (onnx 1.22, onnxruntime 1.31).

    pip install onnx==1.22.0 onnxruntime==1.31.1 numpy && python3 make.py
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


def asked(path, sample, rows=3):
    """Runs a model row by row, so that a batch baked in as one is no matter."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
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
    """Nodes that nothing here computes, of three kinds, and one behind them that is known."""
    nodes = [
        node("Relu", ["x"], "a"),
        node("Einsum", ["a", "a"], "b", equation="bf,bf->bf"),
        node("Relu", ["b"], "c"),
        node("NonZero", ["c"], "d"),
        node("Einsum", ["c", "c"], "e", equation="bf,bf->bf"),
        node("Cast", ["d"], "f", to=TensorProto.FLOAT),
        node("ReduceSum", ["f"], "g", keepdims=0),
        node("Add", ["e", "g"], "y"),
    ]
    model("unknown", nodes, [], (4,), 4)


def one():
    """A regression: one number for each sample."""
    nodes = [node("Gemm", ["x", "w", "b"], "y", transB=1)]
    model("one", nodes, [constant("w", values(1, 3)), constant("b", values(1))], (3,), 1)


image_of_today()
image_of_before()
vectors()
unknown()
one()
