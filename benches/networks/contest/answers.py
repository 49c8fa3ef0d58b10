"""How far answers are apart, which is looked at before anything is timed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

# The largest difference of two answers over the largest absolute value of them; in bf16 of an
# answer from ONNX Runtime's in float32.
TOLERANCES = {"f32": 1e-4, "bf16": 3e-2}
# The most steps of the answers' integers that ours are from ONNX Runtime's to the same int8 file,
# or so many times OpenVINO's: each rounds in its own places, and networks spread that differently.
# Without VNNI its sums of pairs of products overflow, so there is a most.
STEPS = 4.0
TIMES = 1.5
MOST_STEPS = 20.0


@dataclass
class Apart:
    """The largest difference, whether it is within the tolerance, and it in words."""

    worst: float
    agrees: bool
    said: str


@dataclass
class Steps:
    """Answers beside ONNX Runtime's: the largest difference, rows whose largest value is at
    the same place, and values that are the same."""

    most: float = 0.0
    equal: int = 0
    rows: int = 0
    same: int = 0
    values: int = 0

    @classmethod
    def of(cls, answer: np.ndarray, reference: np.ndarray, scale: float) -> "Steps":
        answer = answer.reshape(reference.shape)
        apart = np.abs(answer - reference) / scale
        equal = answer.argmax(axis=-1) == reference.argmax(axis=-1)
        same = int((apart < 0.5).sum())
        return cls(float(apart.max()), int(equal.sum()), equal.size, same, apart.size)

    def plus(self, other: "Steps") -> "Steps":
        """Those of both together."""
        return Steps(
            # Not a number where either is none.
            float(np.maximum(self.most, other.most)),
            self.equal + other.equal,
            self.rows + other.rows,
            self.same + other.same,
            self.values + other.values,
        )


def among(answers: dict[str, np.ndarray]) -> Apart:
    """Float32: any two answers."""
    stacked = np.stack([answer.reshape(len(answer), -1) for answer in answers.values()])
    spread = stacked.max(axis=0) - stacked.min(axis=0)
    return share(float(spread.max() / np.abs(stacked).max()), "f32")


def from_float32(answers: dict[str, np.ndarray], reference: np.ndarray) -> Apart:
    """bf16: each answer from that of ONNX Runtime in float32."""
    largest = np.abs(reference).max()
    apart = [np.abs(answer.reshape(reference.shape) - reference).max() for answer in answers.values()]
    return share(float(max(apart) / largest), "bf16")


def share(worst: float, precision: str) -> Apart:
    # Also false for what is not a number.
    return Apart(worst, worst <= TOLERANCES[precision], f"{worst:.0e}")


def in_steps(answers: dict[str, np.ndarray], reference: np.ndarray, scale: float) -> Apart:
    """int8: each answer from ONNX Runtime's to the same file; only ours has a tolerance."""
    each = {name: Steps.of(answer, reference, scale) for name, answer in answers.items() if name != "ort"}
    said = [f"{name} {s.most:.1f}, {s.equal} of {s.rows}" for name, s in each.items()]
    worst = each["ours"].most if "ours" in each else 0.0
    return Apart(worst, worst <= tolerance(each), "; ".join(said) or "0")


def tolerance(each: dict[str, Steps]) -> float:
    """The most steps that our answers may be off beside the others'."""
    theirs = each["openvino"].most if "openvino" in each else 0.0
    # Differences of float32 are no whole steps.
    return max(STEPS, min(TIMES * theirs, MOST_STEPS)) + 0.01


def step(path: Path, reference: np.ndarray) -> float:
    """The scale of the answers' integers in the file; where answers are no integers, a 255th
    of what they reach over."""
    return last_scale(path) or float(np.ptp(reference)) / 255


def last_scale(path: Path) -> float | None:
    graph = onnx.load(path).graph
    makers = {name: node for node in graph.node for name in node.output}
    last = makers[graph.output[0].name]
    scales = [t for t in graph.initializer if t.name in last.input[1:2]]
    if last.op_type != "DequantizeLinear" or not scales:
        return None
    return float(numpy_helper.to_array(scales[0]))
