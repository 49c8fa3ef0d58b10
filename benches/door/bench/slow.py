"""Pipelines with a member that takes as long as it is told, on a simulated device, which takes its time for real."""

from pathlib import Path

from .models import STEP

WIDTH = 4
ROW = [1.0, 2.0, 3.0, 4.0]

MANIFEST = """name = "{name}"
answers = {{ values = 4 }}
outputs = ["out"]

[input]
shape = [4]

[calibration]
synthetic = 16
"""

MEMBER = """
[[members]]
name = "{name}"
network = {{ builder = "perceptron", hidden = [] }}
input = {{ shape = [4] }}
"""

MATRIX = """ensemble = "{name}"
devices = ["sim:slow:0", "cpu:0"]
members = {members}
matrix = [{slow}, {others}]
"""

# A device whose every operation takes so many seconds, and nothing else any time.
DEVICE = {
    "memory": '"16GiB"',
    "worker_memory": '"1MiB"',
    "units": 1,
    "rate": 1e15,
    "fuses": "true",
    "activation_bandwidth": 1e15,
    "weight_bandwidth": 1e15,
    "grain": 1e-6,
    "copy_bandwidth": 1e15,
    "copy_latency": 1e-9,
}


def device(seconds: float) -> str:
    lines = ['name = "slow"', 'class = "cpu"', 'about = "operations that take as long as they are told"']
    for name, value in {**DEVICE, "launch": seconds}.items():
        lines.append(f'[{name}]\nvalue = {value}\nfrom = "assumed"\nnote = ""')
    return "\n".join(lines) + "\n"


def chain(folder: Path, seconds: float) -> list[str]:
    """A step that takes so long, and one after it."""
    steps = STEP.format(name="first", what='model = "first"', reads='"input"', makes="middle")
    steps += STEP.format(name="later", what='model = "later"', reads='"middle"', makes="out")
    return written(folder, ["first", "later"], steps, seconds)


def quorum(folder: Path, wait_ms: int, seconds: float) -> list[str]:
    """The mean of two of three, the first of which takes so long."""
    members = ["stopped", "b", "c"]
    one = lambda name: STEP.format(name=name, what=f'model = "{name}"', reads='"input"', makes=f"of-{name}")
    reads = "[" + ", ".join(f'"of-{name}"' for name in members) + "]"
    mean = STEP.format(name="mean", what='host = "mean"', reads=reads, makes="out")
    steps = "".join(map(one, members)) + mean + f"quorum = 2\nwait_ms = {wait_ms}\n"
    return written(folder, members, steps, seconds)


def written(folder: Path, members: list[str], steps: str, seconds: float) -> list[str]:
    """Writes a pipeline whose first member is on the slow device; returns how it is served."""
    folder.mkdir(parents=True)
    name, others = folder.name, len(members) - 1
    text = MANIFEST.format(name=name) + "".join(MEMBER.format(name=m) for m in members) + steps
    (folder / "pipeline.toml").write_text(text)
    (folder / "slow.toml").write_text(device(seconds))
    places = {"slow": [8] + [0] * others, "others": [0] + [8] * others}
    (folder / "matrix.toml").write_text(MATRIX.format(name=name, members=members, **places))
    devices = f"sim:{folder / 'slow.toml'},cpu:0"
    return ["--devices", devices, "--matrix", str(folder / "matrix.toml")]
