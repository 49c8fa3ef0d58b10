"""The markdown page with everything that was measured."""

import tomllib
from pathlib import Path

from contest import answers, machine, precision, report
from contest.bench import Bench
from contest.environment import HERE
from contest.results import Results

CAUSES = HERE / "causes.toml"

INTRODUCTION = """\
# Networks against ONNX Runtime and OpenVINO

Written by `benches/networks/run`; `README.md` describes the measurement. Times are medians of
one batch in milliseconds. A ratio is our speed over the faster of ONNX Runtime and
OpenVINO: the median of the rounds' ratios. The next column has the least and the greatest of them.
"""

SAID = {
    "f32": """\
`differ` is the largest difference between any two contestants' answers over the largest
absolute logit.
""",
    "bf16": f"""\
Divisi and OpenVINO compute in bf16. ONNX Runtime has no products of bf16 on x86, so it computes
in float32. `differ` is the largest difference of an answer from ONNX Runtime's in float32, over
the largest absolute logit; {answers.TOLERANCES['bf16']:g} is the most.
""",
    "int8": f"""\
All contestants read the same int8 file, which ONNX Runtime's tools made from the float32 network.
Layers that the file leaves in float32 run in float32. `differ` is the largest difference from ONNX
Runtime's answer, in steps of the answers' integers, and the number of rows with the same arg-max;
ours may be {answers.STEPS:g} steps off, or {answers.TIMES:g} times OpenVINO's steps up to {answers.MOST_STEPS:g}.
""",
}


def usual(name: str) -> Path:
    """The page of a precision."""
    return HERE / precision.ALL[name].page


def write(bench: Bench, results: Results, path: Path) -> None:
    parts = [INTRODUCTION + SAID[results.precision], facts(bench)]
    parts += [table.markdown() for table in report.tables(results)]
    parts += [variants(results), below(results)]
    path.write_text("\n".join(part for part in parts if part).rstrip() + "\n")


def facts(bench: Bench) -> str:
    asked = bench.asked
    rows = machine.describe(bench.cores[: max(asked.threads)], asked.kernels).items()
    lines = ["## The machine", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows]
    lines.append(f"| rounds | {asked.rounds}, turns of {asked.seconds:g} s or three batches |")
    return "\n".join(lines) + "\n"


def variants(results: Results) -> str:
    """Which way of running was the fastest, where contestants had more than one."""
    lines = []
    for speed in results.speeds:
        if speed.setting.threads > 1 and speed.setting.batch > 1:
            chosen = [f"{report.TITLES[n]} {v}" for n, v in speed.variants.items() if n != "ours"]
            lines.append(f"- {speed.network.name}, {speed.setting}: {', '.join(chosen)}")
    if not lines:
        return ""
    note = "Each contestant used its fastest way, found by a trial."
    return "\n".join(["## How the others ran", "", note, "", *lines, ""])


def below(results: Results) -> str:
    misses = results.misses()
    if not misses:
        return "## Below their bar\n\nNothing.\n"
    causes = tomllib.loads(CAUSES.read_text()) if CAUSES.exists() else {}
    lines = [f"- {miss.what}. {cause(causes, miss.key)}" for miss in misses]
    return "\n".join(["## Below their bar", "", *lines, ""])


def cause(causes: dict[str, str], key: str) -> str:
    """What is said of the key, or else of the longest beginning of it."""
    fitting = [known for known in causes if f"{key}-".startswith(f"{known}-")]
    return causes[max(fitting, key=len)] if fitting else "The cause is not known yet."
