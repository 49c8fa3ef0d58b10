"""`python -m contest.contestants NAME`: one contestant's process."""

import importlib
import sys

from contest.contestants import protocol

MODULES = {"ort": "onnx_runtime", "openvino": "open_vino", "torch": "torch_traced"}

if __name__ == "__main__":
    answers = protocol.own_stdout()
    module = importlib.import_module(f"contest.contestants.{MODULES[sys.argv[1]]}")
    protocol.serve(module, answers)
