"""The two programs that are measured: packed ones, else those that were built here, else
built now."""

import json
import lzma
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACK = ROOT / "target" / "cuda" / "pack"
NAMES = ("divisi", "rows")
FEATURES = "cuda,cudnn"


def found(pack):
    """Paths of `divisi` and of the rows' program."""
    packed = [pack / f"{name}.xz" for name in NAMES]
    if all(path.exists() for path in packed):
        folder = Path(tempfile.mkdtemp(prefix="divisi-"))
        return [unpacked(path, folder / name) for path, name in zip(packed, NAMES)]
    return built("release")


def unpacked(packed, path):
    with lzma.open(packed) as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def built(profile):
    """Builds both; with the toolkit that is there, or with the one that is fetched."""
    build = ["cargo", "build"] if shutil.which("nvcc") else [ROOT / "assets" / "cuda" / "build"]
    options = ["--profile", profile, "--features", FEATURES, "--message-format", "json-render-diagnostics"]
    ours = executable([*build, *options, "--bin", "divisi"], "divisi")
    return [ours, executable([*build, *options, "--bench", "cuda"], "cuda")]


def executable(command, name):
    """The path of what cargo says it has made."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    made = [one["executable"] for one in said if one.get("executable") and one["target"]["name"] == name]
    if not made:
        raise SystemExit(f"cargo made no program called {name}")
    return Path(made[-1])


def packed(paths, pack):
    """Strips and compresses the programs into `pack`."""
    pack.mkdir(parents=True, exist_ok=True)
    for path, name in zip(paths, NAMES):
        plain = pack / name
        subprocess.run(["strip", "-o", plain, path], check=True)
        with open(plain, "rb") as source, lzma.open(pack / f"{name}.xz", "wb", preset=6) as target:
            shutil.copyfileobj(source, target)
        plain.unlink()


def environment():
    """So that the libraries that Python's packages bring are found."""
    wrapper = ROOT / "assets" / "cuda" / "run"
    said = subprocess.run([wrapper, "env", "-0"], stdout=subprocess.PIPE, check=True).stdout
    pairs = (entry.split("=", 1) for entry in said.decode().split("\0") if "=" in entry)
    made = dict(pairs)
    # The driver's cache of what it compiled lasts as long as the machine.
    made.setdefault("CUDA_CACHE_PATH", os.path.join(tempfile.gettempdir(), "cuda-cache"))
    made["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "benches" / "cuda"), made.get("PYTHONPATH")]))
    return made
