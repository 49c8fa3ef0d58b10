"""The Python environment of the contestants and the programs under test, made if missing."""

import json
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
TARGET = ROOT / "target" / "networks"


def python(wanted: list[str]) -> Path:
    """The interpreter of an environment that has what the files `wanted` pin."""
    folder = TARGET / "venv"
    interpreter = folder / "bin" / "python"
    if not interpreter.exists():
        venv.create(folder, with_pip=True)
    for name in wanted:
        install(interpreter, HERE / name, folder / name)
    return interpreter


def install(interpreter: Path, wanted: Path, installed: Path) -> None:
    """Installs what `wanted` pins unless the copy kept at `installed` says it is there."""
    if installed.exists() and installed.read_text() == wanted.read_text():
        return
    print(f"installing {wanted.name} into {TARGET / 'venv'}", file=sys.stderr)
    pip = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", wanted], check=True)
    installed.write_text(wanted.read_text())


def divisi(given: Path | None) -> Path:
    """The command `divisi`, which shows networks and makes their weights."""
    if given:
        return given.resolve()
    return built(["build", "--release", "--bin", "divisi"], "divisi")


def ours(given: Path | None) -> Path:
    """Our contestant, `ours.rs`."""
    if given:
        return given.resolve()
    return built(["bench", "--no-run", "--bench", "networks"], "networks")


def built(command: list[str], name: str) -> Path:
    """Builds with Cargo; gives where the executable of the target `name` is."""
    cargo = ["cargo", *command, "--message-format=json-render-diagnostics"]
    done = subprocess.run(cargo, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    found = [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == name]
    return Path(found[-1])
