//! NVIDIA GPUs over the CUDA driver (feature `cuda`).
