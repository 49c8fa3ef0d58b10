"""Reads the options, measures, and prints the page."""

import argparse
import datetime
import os
import platform
import tempfile
from pathlib import Path

from . import promises, rows
from .load import PerfAnalyzer
from .rows import Bench, Row

ROWS = {**rows.ROWS, **promises.ROWS}
# Those that perf_analyzer measures.
ASKED_BY_IT = {*rows.ROWS, "changes"} - {"attacks"}
ROOT = Path(__file__).resolve().parents[3]


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benches/door/run", description=__doc__)
    add = parser.add_argument
    add("--divisi", type=Path, default=ROOT / "target/release/divisi", help="the program")
    add("--perf-analyzer", type=Path, help="Triton's client; without it only rows that need none")
    add("--triton", type=Path, help="a tritonserver with the Python backend, to compare with")
    add("--rows", default=",".join(ROWS), help=f"which of {', '.join(ROWS)}")
    add("--seconds", type=float, default=3.0, help="of each measurement")
    add("--turns", type=int, default=3, help="servers alternate so often; medians are told")
    return parser.parse_args(arguments)


def table(found: list[Row]) -> str:
    lines = ["| | Divisi | Triton, or the reference | ratio | bar |", "|---|---|---|---|---|"]
    for row in found:
        lines.append(f"| {row.what} | {row.ours} | {row.theirs} | {row.ratio} | {row.aim} |")
    return "\n".join(lines)


def cpu() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    return names[0].split(":", 1)[1].strip() if names else platform.processor()


def main(arguments: list[str]) -> None:
    asked = options(arguments)
    wanted = asked.rows.split(",")
    unknown = [name for name in wanted if name not in ROWS]
    if unknown:
        raise SystemExit(f"--rows: expected some of {', '.join(ROWS)}, found {unknown[0]}")
    if not asked.perf_analyzer:
        wanted = [name for name in wanted if name not in ASKED_BY_IT]
    with tempfile.TemporaryDirectory() as work:
        load = asked.perf_analyzer
        load = PerfAnalyzer(load.resolve(), asked.seconds, Path(work)) if load else None
        triton = asked.triton.resolve() if asked.triton else None
        divisi = asked.divisi.resolve()
        bench = Bench(divisi, triton, load, asked.turns, ROOT, Path(work))
        bench.prepare()
        found = [row for name in wanted for row in ROWS[name](bench)]
    print(f"{datetime.date.today()}, {os.cpu_count()} × {cpu()}, medians of {asked.turns} turns\n")
    print(table(found))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
