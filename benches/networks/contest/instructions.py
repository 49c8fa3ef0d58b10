"""The vector instructions that the processor has, and those that contestants are told to use."""

import os
from pathlib import Path

# How each contestant is told to do without AVX-512. ONNX Runtime cannot be told.
TOLD = {
    "ours": {"DIVISI_KERNELS": "avx2"},
    "openvino": {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"},
}


def without_avx512(contestants: list[str]) -> list[str]:
    """Tells all who can be told; the others stay only where the processor has none of it."""
    for variables in TOLD.values():
        os.environ.update(variables)
    has = any(flag.startswith("avx512") for flag in flags())
    return [name for name in contestants if name in TOLD or not has]


def told_nothing(environment: dict[str, str]) -> dict[str, str]:
    """An environment in which a contestant may use all that the processor has."""
    names = {name for variables in TOLD.values() for name in variables}
    return {name: value for name, value in environment.items() if name not in names}


def said() -> str:
    """What contestants were told, for the page; nothing where that is nothing."""
    told = {name: value for variables in TOLD.values() for name, value in variables.items()}
    there = [f"`{name}={value}`" for name, value in told.items() if os.environ.get(name) == value]
    return f"avx2 without avx512 ({', '.join(there)})" if there else ""


def cpuinfo(field: str) -> str | None:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def flags() -> set[str]:
    return set((cpuinfo("flags") or cpuinfo("Features") or "").split())


def used(kernels: str | None) -> set[str]:
    """The processor's instructions that `kernels` leave."""
    left_out = ("avx512", "amx") if kernels else ()
    return {flag for flag in flags() if not flag.startswith(left_out)}
