#!/usr/bin/env python3
"""Runs ONNX's own node tests against `divisi network run`, and counts what passes by operator.

    python3 -m venv nodes && nodes/bin/pip install onnx==1.22.0 numpy
    nodes/bin/python benches/networks/onnx_nodes.py --divisi target/release/divisi

onnx 1.22.0 is the last release that holds the tests as files (`backend/test/data/node`).
Tests whose inputs or outputs are no tensors of numbers are left out. A test passes where
all outputs have as many values as are expected, within the tolerances of ONNX's own runner:
1e-3 relative, 1e-7 absolute. The tests hand in axes, shapes and weights as inputs; where
`divisi` wants them constant, the test runs again with all inputs but the first as constants,
and at last with all of them, beside an input that nothing reads. Tests that fail for a reason that
is known are counted by it; `EXCEPTIONS` has them all.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

NODES = Path(onnx.__file__).parent / "backend/test/data/node"
RELATIVE, ABSOLUTE = 1e-3, 1e-7
# Why tests fail: a reason, and the operators or the beginnings of tests that fail for it.
EXCEPTIONS = {
    "the answer's dimensions depend on values": ["NonMaxSuppression", "Unique", "Compress", "NonZero"],
    "the answer, or an input, has no value": [
        "test_reduce_", "test_slice_start_out_of_bounds", "test_split_zero_size", "test_reshape_allowzero",
        "test_constantofshape_int_shape_zero", "test_shape_start_greater", "test_triu_zero", "test_tril_zero"],
    "it takes no input": ["OptionalHasElement", "OptionalGetElement", "test_constant"],
    "training": ["Momentum", "Adam", "Adagrad", "Gradient", "test_training_dropout", "test_batchnorm_", "Dropout"],
    "random numbers": ["Bernoulli", "RandomUniformLike", "test_bernoulli"],
    "text, images and trees": ["ImageDecoder", "TfIdfVectorizer", "TreeEnsemble", "LabelEncoder", "ArrayFeatureExtractor", "Binarizer"],
    "loops whose length values say": ["Loop", "Scan", "SequenceMap", "test_range_"],
    "operators of version 1": ["Not"],
    "integers of more than 24 bits": ["BitCast", "test_bitwise", "test_bitshift", "BitwiseNot", "BitwiseAnd"],
    "not done: rare": [
        "AffineGrid", "DeformConv", "RoiAlign", "MaxUnpool", "MaxRoiPool", "Det", "STFT", "test_gridsample_bicubic",
        "test_gridsample_reflection_padding", "test_gridsample_volumetric", "test_col2im_5d", "test_dft_irfft",
        "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "CenterCropPad", "ReverseSequence",
        "TensorScatter", "LinearAttention", "FlexAttention", "CausalConvWithState", "test_maxpool_with_argmax",
        "test_resize_tf_crop", "test_convtranspose_3d", "test_dequantizelinear_blocked", "test_quantizelinear_blocked",
        "test_einsum_batch_diagonal", "MeanVarianceNormalization", "test_wrap_pad", "test_causal_conv_with_state",
        "test_linear_attention", "test_flexattention"],
    "sums in another order": ["test_dft_inverse"],
    "ONNX Runtime answers otherwise too": [
        "test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners"],
}
UNKNOWN = "not known"
TYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "float16": "FP16", "float32": "FP32", "float64": "FP64",
}


def parse() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--divisi", default="target/release/divisi", help="the program")
    options.add_argument("--only", default="", help="tests whose name holds this text")
    options.add_argument("--list", action="store_true", help="name each test that fails, and why")
    options.add_argument("--seconds", type=float, default=60, help="the most for one test")
    return options.parse_args()


def tensors(folder: Path, kind: str, infos) -> list[np.ndarray] | None:
    """The tensors of a test, or None if one holds no numbers that the protocol knows."""
    read = []
    for at, _ in enumerate(infos):
        tensor = onnx.TensorProto()
        try:
            tensor.ParseFromString((folder / f"{kind}_{at}.pb").read_bytes())
            array = numpy_helper.to_array(tensor)
        except Exception:
            return None
        if array.dtype.name not in TYPES:
            return None
        read.append(array)
    return read


def written(name: str, array: np.ndarray, batch: bool) -> dict:
    shape = list(array.shape) if batch else [1, *array.shape]
    return {"name": name, "datatype": TYPES[array.dtype.name], "shape": shape, "data": array.reshape(-1).tolist()}


def wrong(model: onnx.ModelProto, answer: dict, expected: list[np.ndarray]) -> str | None:
    """Why an answer is not the one that is expected, or None."""
    by_name = {output["name"]: output for output in answer["outputs"]}
    for info, array in zip(model.graph.output, expected):
        found = by_name.get(info.name)
        if found is None:
            return f"wrong: no output {info.name}"
        values = np.array(found["data"], dtype=np.float64).reshape(-1)
        if values.size != array.size:
            return f"wrong: {values.size} values, not {array.size}"
        theirs = array.reshape(-1).astype(np.float64)
        if not np.allclose(values, theirs, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
            return f"wrong: off by {np.nanmax(np.abs(values - theirs)):.2g}"
    return None


def answered(path: Path, inputs: list[np.ndarray], expected: list[np.ndarray], asked) -> str | None:
    """Why a model does not answer as expected, or None. The first dimension may be the batch's."""
    why = answered_as(path, inputs, expected, asked, batch=False)
    if why and "along a first dimension" in why:
        return answered_as(path, inputs, expected, asked, batch=True)
    return why


def answered_as(path: Path, inputs: list[np.ndarray], expected: list[np.ndarray], asked, batch: bool) -> str | None:
    model = onnx.load(path)
    names = [info.name for info in model.graph.input]
    asks = {"inputs": [written(name, array, batch) for name, array in zip(names, inputs)]}
    with tempfile.TemporaryDirectory() as place:
        ask, answer = Path(place) / "ask.json", Path(place) / "answer.json"
        ask.write_text(json.dumps(asks))
        command = [asked.divisi, "network", "run", str(path), "--input", str(ask), "--output", str(answer)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=asked.seconds)
        except subprocess.TimeoutExpired:
            return "no answer in time"
        if done.returncode != 0:
            return " ".join(done.stderr.split())[:300] or f"exit code {done.returncode}"
        return wrong(model, json.loads(answer.read_text()), expected)


def with_constants(path: Path, inputs: list[np.ndarray], to: Path, first: int) -> Path:
    """The model with all inputs from `first` on as constants."""
    model = onnx.load(path)
    for info, array in list(zip(model.graph.input, inputs))[first:]:
        model.graph.initializer.append(numpy_helper.from_array(array, info.name))
    del model.graph.input[first:]
    if first == 0:
        unused = onnx.helper.make_tensor_value_info("unused", onnx.TensorProto.FLOAT, [1, 1])
        model.graph.input.append(unused)
    onnx.save(model, to / "constants.onnx")
    return to / "constants.onnx"


def run(folder: Path, asked: argparse.Namespace) -> tuple[str, str | None] | None:
    """The operator of a test and why it fails, or None if it is left out."""
    data, path = folder / "test_data_set_0", folder / "model.onnx"
    if not (path.exists() and data.exists()):
        return None
    model = onnx.load(path)
    inputs = tensors(data, "input", model.graph.input)
    expected = tensors(data, "output", model.graph.output)
    if inputs is None or expected is None or not all(np.isfinite(a).all() for a in [*inputs, *expected]):
        return None
    operator = model.graph.node[-1].op_type if model.graph.node else "none"
    why = answered(path, inputs, expected, asked)
    if why and len(inputs) > 1 and not why.startswith("wrong"):
        with tempfile.TemporaryDirectory() as place:
            constant = with_constants(path, inputs, Path(place), 1)
            why = answered(constant, inputs[:1], expected, asked)
    if why and inputs and not why.startswith("wrong"):
        with tempfile.TemporaryDirectory() as place:
            constant = with_constants(path, inputs, Path(place), 0)
            without = answered(constant, [np.zeros((1, 1), np.float32)], expected, asked)
            why = why if without else None
    return operator, why


def cause(test: str, operator: str) -> str:
    """The reason that is known why a test fails."""
    for why, names in EXCEPTIONS.items():
        if any(name == operator or test.startswith(name) for name in names if name):
            return why
    return UNKNOWN


def main() -> int:
    asked = parse()
    passed, all_tests, causes = collections.Counter(), collections.Counter(), collections.Counter()
    left_out = 0
    for folder in sorted(NODES.iterdir()):
        if asked.only not in folder.name:
            continue
        result = run(folder, asked)
        if result is None:
            left_out += 1
            continue
        operator, why = result
        all_tests[operator] += 1
        passed[operator] += why is None
        if why is None:
            continue
        known = cause(folder.name, operator)
        causes[known] += 1
        if asked.list or known == UNKNOWN:
            print(f"{folder.name}: {why}", flush=True)
    for operator in sorted(all_tests):
        print(f"{operator:28} {passed[operator]:4} of {all_tests[operator]:4}")
    print(f"{sum(passed.values())} of {sum(all_tests.values())} pass, {left_out} left out")
    for why, count in causes.most_common():
        print(f"{count:4} fail: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
