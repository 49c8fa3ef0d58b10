"""The machine and the versions, as the page describes them."""

import platform
import subprocess
from datetime import date
from importlib import metadata
from pathlib import Path

from contest import instructions, precision
from contest.environment import ROOT

# The instruction sets that kernels of the contestants differ by, as Linux calls them.
FLAGS = [
    "avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "bf16", "sve",
]
PACKAGES = ["onnxruntime", "openvino", "onnx", "numpy", "torch", "torchvision", "transformers"]


def describe(cores: list[int], kernels: str | None) -> dict[str, str]:
    """Names and values, in the order in which they are shown."""
    facts = {
        "processor": instructions.cpuinfo("model name") or platform.processor() or platform.machine(),
        "family, model, stepping": ", ".join(
            instructions.cpuinfo(field) or "?" for field in ("cpu family", "model", "stepping")
        ),
        "cores used": ", ".join(map(str, cores)),
        "caches": caches(cores[0]),
        "vector instructions": " ".join(flag for flag in FLAGS if flag in instructions.flags()) or "?",
        "for int8 and bf16": precision.told(),
        "used of these": instructions.said(kernels),
        "memory": f"{memory_gib():.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "versions": ", ".join(versions()),
        "divisi": commit(),
        "date": date.today().isoformat(),
    }
    return {name: value for name, value in facts.items() if value}


def caches(core: int) -> str:
    """Sizes, and how many of the processor's cores share each."""
    found = []
    for cache in sorted(Path(f"/sys/devices/system/cpu/cpu{core}/cache").glob("index*")):
        read = lambda name: (cache / name).read_text().strip()  # noqa: E731
        kind = {"Data": "d", "Instruction": "i"}.get(read("type"), "")
        found.append(f"L{read('level')}{kind} {read('size')} (cores {read('shared_cpu_list')})")
    return ", ".join(found) or "?"


def memory_gib() -> float:
    total = Path("/proc/meminfo").read_text().split("\n", 1)[0]
    return int(total.split()[1]) / 1024**2


def versions() -> list[str]:
    known = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    return [f"{name} {known[name]}" for name in PACKAGES if name in known]


def commit() -> str:
    git = ["git", "-C", str(ROOT)]
    run = lambda *more: subprocess.run([*git, *more], capture_output=True, text=True)  # noqa: E731
    name = run("rev-parse", "--short=12", "HEAD").stdout.strip() or "no commit"
    changed = run("status", "--porcelain", "--untracked-files=no").stdout.strip()
    return f"{name}, with changes not committed" if changed else name
