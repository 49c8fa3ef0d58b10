"""The machine and the versions, as the page describes them."""

import platform
import subprocess
from datetime import date
from importlib import metadata
from pathlib import Path

from contest.environment import ROOT

# The instruction sets that kernels of the contestants differ by, as Linux calls them.
FLAGS = [
    "avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "bf16", "sve",
]
PACKAGES = ["onnxruntime", "openvino", "onnx", "numpy", "torch"]


def describe(cores: list[int]) -> dict[str, str]:
    """Names and values, in the order in which they are shown."""
    facts = {
        "processor": cpuinfo("model name") or platform.processor() or platform.machine(),
        "family, model, stepping": ", ".join(
            cpuinfo(field) or "?" for field in ("cpu family", "model", "stepping")
        ),
        "cores used": ", ".join(map(str, cores)),
        "caches": caches(cores[0]),
        "vector instructions": " ".join(flag for flag in FLAGS if flag in flags()) or "?",
        "memory": f"{memory_gib():.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "versions": ", ".join(versions()),
        "divisi": commit(),
        "date": date.today().isoformat(),
    }
    return facts


def cpuinfo(field: str) -> str | None:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def flags() -> set[str]:
    return set((cpuinfo("flags") or cpuinfo("Features") or "").split())


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
