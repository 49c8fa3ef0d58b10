"""What can be asked on the command line."""

import argparse
from pathlib import Path

from contest import catalogue, instructions, precision

PARTS = ["speed", "memory", "load", "partitions", "own", "agreement"]
CONTESTANTS = ["ours", "ort", "openvino", "torch"]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benches/networks/run",
        description="Divisi's networks against ONNX Runtime and OpenVINO: same weights, same inputs.",
    )
    add = parser.add_argument
    add("--precision", choices=list(precision.ALL), default="f32", help="of products (f32)")
    add("--networks", type=words, help="names with commas between; IMN12's if not given, and "
        "in bf16 and int8 others beside them")
    add("--threads", type=numbers, default=[1, 2], help="of each contestant (1,2)")
    add("--batches", type=numbers, default=[1, 8], help="samples of a batch (1,8)")
    add("--rounds", type=int, default=5, help="turns of each contestant a setting (5)")
    add("--seconds", type=float, default=0.5, help="a turn's least duration (0.5)")
    add("--contestants", type=among(CONTESTANTS), default=["ours", "ort", "openvino"],
        help=f"of {', '.join(CONTESTANTS)} (all but torch)")
    add("--parts", type=among(PARTS), help=f"of {', '.join(PARTS)} (all that the precision has)")
    add("--inputs", type=int, default=1000, help="samples of the part agreement (1000)")
    add("--cores", type=numbers, help="where contestants run, the first for one thread")
    add("--kernels", choices=list(instructions.ONEDNN),
        help="without AVX-512 on a machine that has it, and without or with its products of "
        "bytes for vectors of 256 bits; who cannot be held to it stays out")
    add("--urgent", action="store_true",
        help="contestants go before every other program of the machine (root only)")
    add("--divisi", type=Path, metavar="PATH", help="the command, instead of building it")
    add("--ours", type=Path, metavar="PATH", help="our contestant, instead of building it")
    add("--page", type=Path, metavar="PATH", help="write the markdown page here "
        "(the precision's own beside this program where everything was measured)")
    add("--quick", action="store_true", help="two short rounds, one try of each variant")
    asked = parser.parse_args(arguments)
    check(asked)
    if asked.kernels:
        asked.contestants = instructions.without_avx512(asked.contestants, asked.kernels)
    if asked.quick:
        asked.rounds, asked.seconds = min(asked.rounds, 2), min(asked.seconds, 0.1)
    return asked


def check(asked: argparse.Namespace) -> None:
    """Completes what depends on the precision; ends the program where it cannot be measured."""
    measured = precision.ALL[asked.precision]
    measured.require(asked.kernels)
    asked.parts = asked.parts or list(measured.parts)
    unknown = [part for part in asked.parts if part not in measured.parts]
    if unknown:
        raise SystemExit(f"--parts: {asked.precision} has {', '.join(measured.parts)}, found {unknown}")
    if "torch" in asked.contestants and asked.precision != "f32":
        raise SystemExit("--contestants: torch is measured in f32 alone")


def requirements(asked: argparse.Namespace) -> list[str]:
    """The files of Python packages that are needed."""
    files = ["requirements.txt"]
    exported = any(network.is_exported for network in catalogue.named(asked.networks, asked.precision))
    if "torch" in asked.contestants or exported:
        files.append("requirements-torch.txt")
    return [*files, "requirements-exports.txt"] if exported else files


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str) -> list[int]:
    return [int(word) for word in words(text)]


def among(known: list[str]):
    def checked(text: str) -> list[str]:
        unknown = [word for word in words(text) if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"expected some of {known}, found {unknown}")
        return words(text)

    return checked
