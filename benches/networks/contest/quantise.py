"""The int8 file of a network, as ONNX Runtime's tools make it of the float32 file."""

import logging
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import (
    CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_dynamic, quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from contest.contestants.protocol import by_input

# Samples whose values say the range of each tensor.
ROWS = 8


class Rows(CalibrationDataReader):
    """Samples, one after the other."""

    def __init__(self, names: list[str], samples: np.ndarray):
        self.feeds = iter([by_input(names, sample[None]) for sample in samples])

    def get_next(self) -> dict | None:
        return next(self.feeds, None)


def write(model: Path, samples: np.ndarray, is_dynamic: bool, path: Path) -> None:
    """Writes the int8 file of `model`; the samples say the ranges of values."""
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        prepared = folded(model, Path(folder))
        made = Path(folder) / "made.onnx"
        if is_dynamic:
            quantize_dynamic(prepared, made, weight_type=QuantType.QInt8)
        else:
            static(prepared, samples, made)
        made.rename(path)


def folded(model: Path, folder: Path) -> Path:
    """The network with norms folded into convolutions, as the tools ask for, in one file."""
    whole, prepared = folder / "whole.onnx", folder / "prepared.onnx"
    onnx.save(onnx.load(model), whole)
    quant_pre_process(str(whole), str(prepared), skip_symbolic_shape=True)
    return prepared


def static(prepared: Path, samples: np.ndarray, path: Path) -> None:
    """Pairs of QuantizeLinear and DequantizeLinear: unsigned values by a scale for each
    tensor, signed weights by one for each channel."""
    names = [value.name for value in onnx.load(prepared, load_external_data=False).graph.input]
    quantize_static(
        prepared, path, Rows(names, samples),
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
        per_channel=True,
        reduce_range=False,
    )
