"""Measures servers of the Open Inference Protocol by Triton's own client."""
