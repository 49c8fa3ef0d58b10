#!/usr/bin/env python3
"""Makes the ONNX files of this folder (onnx 1.22): networks whose answer is half of their sample, in
the shapes of detectors, and a segmentation net and a token classifier with weights worked out by hand.

    pip install onnx==1.22.0 numpy && python3 make.py
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def save(name, nodes, constants, sample, answers):
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, ["N", *sample])]
    outputs = [value(key, TensorProto.FLOAT, ["N", *dims]) for key, dims in answers.items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    onnx.save(made, HERE / f"{name}.onnx")


def half(*dims):
    """A row of the sample's values, halved, in other dimensions."""
    return [helper.make_node("Mul", ["x", "half"], ["h"]), helper.make_node("Reshape", ["h", "dims"], ["y"])], [
        constant("half", np.float32(0.5)), constant("dims", np.array([-1, *dims]))]


def detectors():
    """Four candidates of two classes, in the layouts of usual exports."""
    nodes, constants = half(6, 4)
    save("yolo8", nodes, constants, (1, 4, 6), {"y": (6, 4)})
    nodes, constants = half(4, 7)
    save("yolo5", nodes, constants, (1, 4, 7), {"y": (4, 7)})
    nodes, constants = half(28)
    nodes[-1].output[0] = "row"
    nodes += [
        helper.make_node("Split", ["row", "sizes"], ["a", "b"], axis=1),
        helper.make_node("Reshape", ["a", "of_logits"], ["logits"]),
        helper.make_node("Reshape", ["b", "of_boxes"], ["pred_boxes"]),
    ]
    constants += [constant("sizes", np.array([12, 16])), constant("of_logits", np.array([-1, 4, 3])),
                  constant("of_boxes", np.array([-1, 4, 4]))]
    save("detr", nodes, constants, (1, 4, 7), {"logits": (4, 3), "pred_boxes": (4, 4)})


def segmentation():
    """Two classes by brightness: the second from 0.5 on, one 1×1 convolution and an upsampling."""
    constants = [constant("w", np.array([-4, 4], np.float32).reshape(2, 1, 1, 1)),
                 constant("b", np.array([2, -2], np.float32)), constant("none", np.array([], np.float32)),
                 constant("twice", np.array([1, 1, 2, 2], np.float32))]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"]),
             helper.make_node("Resize", ["c", "none", "twice"], ["y"], mode="nearest",
                              coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
    save("segmentation", nodes, constants, (1, 2, 3), {"y": (2, 4, 6)})


def tokens():
    """Three classes for each of four tokens of two features."""
    constants = [constant("w", np.array([[2, -2, 0], [0, 2, -2]], np.float32))]
    save("tokens", [helper.make_node("MatMul", ["x", "w"], ["y"])], constants, (4, 2), {"y": (4, 3)})


detectors()
segmentation()
tokens()
