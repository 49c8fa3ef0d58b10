"""The vector instructions that the processor has, and those that contestants are told to use."""

import os
from pathlib import Path

# Instructions that contestants may be held to, as oneDNN calls them for OpenVINO.
ONEDNN = {"avx2": "AVX2", "avx2-vnni": "AVX2_VNNI"}
ONEDNN_VARIABLES = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
# Divisi's kernels have the same names.
DIVISI_VARIABLE = "DIVISI_KERNELS"


def without_avx512(contestants: list[str], kernels: str) -> list[str]:
    """Tells all who can be told; ONNX Runtime stays only where the processor has no more."""
    os.environ.update({DIVISI_VARIABLE: kernels} | dict.fromkeys(ONEDNN_VARIABLES, ONEDNN[kernels]))
    has_more = flags() != used(kernels)
    return [name for name in contestants if name != "ort" or not has_more]


def told_nothing(environment: dict[str, str]) -> dict[str, str]:
    """An environment in which a contestant may use all that the processor has."""
    names = {DIVISI_VARIABLE, *ONEDNN_VARIABLES}
    return {name: value for name, value in environment.items() if name not in names}


def said(kernels: str | None) -> str:
    """What contestants were told, for the page; nothing where that is nothing."""
    if kernels is None:
        return ""
    told = [f"`{name}={os.environ[name]}`" for name in (DIVISI_VARIABLE, *ONEDNN_VARIABLES)]
    return f"{kernels} without avx512 ({', '.join(told)})"


def cpuinfo(field: str) -> str | None:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def flags() -> set[str]:
    return set((cpuinfo("flags") or cpuinfo("Features") or "").split())


def used(kernels: str | None) -> set[str]:
    """The processor's instructions that `kernels` leave, all of them where none are named."""
    left_out = {None: (), "avx2": ("avx512", "amx", "avx_vnni"), "avx2-vnni": ("avx512", "amx")}
    return {flag for flag in flags() if not flag.startswith(left_out[kernels])}
