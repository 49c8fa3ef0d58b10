"""The whole program, in the environment that `run` made."""

import sys

from contest import catalogue, load, memory, options, page, partitions, report, speed
from contest.bench import Bench
from contest.prepare import prepare
from contest.results import Results
from contest.speed import Setting


def main() -> int:
    asked = options.parse(sys.argv[1:])
    bench = Bench.of(asked)
    results = Results()
    parts = {"speed": speeds, "memory": memories, "load": loads, "partitions": pairs}
    for part in asked.parts:
        parts[part](bench, results)
    for table in report.tables(results):
        print(table.text())
    for miss in results.misses():
        print(f"below its bar: {miss.what}")
    path = asked.page or (page.PAGE if whole(asked) else None)
    if path:
        page.write(bench, results, path)
    return 1 if results.disagreeing else 0


def speeds(bench: Bench, results: Results) -> None:
    asked = bench.asked
    settings = [Setting(threads, batch) for threads in asked.threads for batch in asked.batches]
    for network in catalogue.named(asked.networks):
        files = prepare(network, bench.divisi)
        for setting in settings:
            tell(f"speed: {network.name}, {setting}")
            results.speeds.append(speed.measure(bench, files, setting))
            tell("  " + "  ".join(report.speed_row(results.speeds[-1], asked.contestants)[1:]))


def memories(bench: Bench, results: Results) -> None:
    for network in catalogue.named(bench.asked.networks):
        tell(f"memory: {network.name}")
        results.memories.append(memory.measure(bench, prepare(network, bench.divisi)))


def loads(bench: Bench, results: Results) -> None:
    [network] = catalogue.named([catalogue.LOADED])
    for threads in bench.asked.threads:
        tell(f"load: {network.name}, {threads} threads")
        results.loads.append(load.measure(bench, prepare(network, bench.divisi), threads))


def pairs(bench: Bench, results: Results) -> None:
    if len(bench.cores) < 2:
        tell("partitions: needs two cores")
        return
    for names in catalogue.PAIRS:
        tell(f"partitions: {' and '.join(names)}")
        a, b = (prepare(network, bench.divisi) for network in catalogue.named(names))
        results.pairs.append(partitions.measure(bench, (a, b)))


def whole(asked) -> bool:
    """Whether everything was asked for that the page is to show."""
    usual = options.parse([])
    names = ("networks", "threads", "batches", "contestants", "parts", "quick")
    return all(getattr(asked, name) == getattr(usual, name) for name in names)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
