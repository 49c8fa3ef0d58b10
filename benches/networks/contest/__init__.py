"""Divisi's networks against ONNX Runtime and OpenVINO, on the same weights and inputs."""
