#!/usr/bin/env python3
"""Makes `nncf.onnx`, a member of the digits in bytes as NNCF writes it, and its answers (nncf 3.4, onnxruntime 1.32).

    pip install nncf==3.4.0 onnx==1.22.0 onnxruntime==1.32.0 && python3 digits_by_nncf.py
"""
import json
import pathlib

import numpy as np
import onnx
import onnxruntime

import nncf

HERE = pathlib.Path(__file__).parent
SAMPLES = HERE / "../../../sample_ensembles"
ROWS = 32

table = np.loadtxt(SAMPLES / "digits/digits.csv", delimiter=",", skiprows=1)
images = (table[:, :64] / 16).reshape(-1, 1, 8, 8).astype(np.float32)
network = onnx.load(SAMPLES / "digits-onnx/res-s.onnx")
quantised = nncf.quantize(network, nncf.Dataset([{"image": row[None]} for row in images[:300]]), subset_size=300)
path = HERE / "nncf.onnx"
onnx.save(quantised, path)

# By the definitions of the operators: where it fuses them, it rounds the same numbers elsewhere.
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
x = images[-ROWS:]
y = session.run(None, {"image": x})[0]
written = {"input": [1, 8, 8], "x": x.reshape(ROWS, -1).tolist(), "y": y.tolist()}
path.with_suffix(".json").write_text(json.dumps(written))
