"""The whole program, in the environment that `run` made."""

import sys
from collections.abc import Callable
from functools import partial

from contest import agreement, catalogue, load, memory, options, own, page, partitions, report, speed
from contest.bench import Bench
from contest.child import Gone
from contest.prepare import Files, prepare
from contest.results import Results
from contest.speed import Setting


def main() -> int:
    asked = options.parse(sys.argv[1:])
    bench = Bench.of(asked)
    results = Results(asked.precision)
    parts = {"speed": speeds, "memory": memories, "load": loads, "partitions": pairs, "own": owns,
             "agreement": agreements}
    try:
        for part in asked.parts:
            parts[part](bench, results)
    except KeyboardInterrupt:
        results.failures.append("interrupted: the rest was not measured")
    show(results)
    path = asked.page or (page.usual(asked.precision) if whole(asked) and not results.failures else None)
    if path:
        page.write(bench, results, path)
    return 1 if results.disagreeing or results.failures else 0


def show(results: Results) -> None:
    for table in report.tables(results):
        print(table.text())
    for miss in results.misses():
        print(f"below its bar: {miss.what}")
    for failure in results.failures:
        print(f"not measured: {failure}")


def attempt(results: Results, what: str, measure: Callable, into: list) -> None:
    """Measures one thing; one that fails does not keep others from being measured."""
    tell(what)
    try:
        into.append(measure())
    except Gone as gone:
        tell(f"  {gone}")
        results.failures.append(f"{what}: {gone}")


def speeds(bench: Bench, results: Results) -> None:
    asked = bench.asked
    settings = [Setting(threads, batch) for threads in asked.threads for batch in asked.batches]
    for network in catalogue.named(asked.networks, asked.precision):
        files = prepare(network, bench.divisi, asked.precision)
        for setting in settings:
            measure = partial(told, bench, files, setting)
            attempt(results, f"speed: {network.name}, {setting}", measure, results.speeds)


def told(bench: Bench, files: Files, setting: Setting) -> speed.Speed:
    measured = speed.measure(bench, files, setting)
    tell("  " + "  ".join(report.speed_row(measured, bench.asked.contestants)[1:]))
    return measured


def memories(bench: Bench, results: Results) -> None:
    for network in catalogue.named(bench.asked.networks, bench.asked.precision):
        files = prepare(network, bench.divisi, bench.asked.precision)
        measure = partial(memory.measure, bench, files)
        attempt(results, f"memory: {network.name}", measure, results.memories)


def loads(bench: Bench, results: Results) -> None:
    [network] = catalogue.named([catalogue.LOADED])
    files = prepare(network, bench.divisi, bench.asked.precision)
    for threads in bench.asked.threads:
        measure = partial(load.measure, bench, files, threads)
        attempt(results, f"load: {network.name}, {Setting(threads, 1)}", measure, results.loads)


def pairs(bench: Bench, results: Results) -> None:
    if len(bench.cores) < 2:
        results.failures.append("partitions: there is one core")
        return
    for names in catalogue.PAIRS:
        files = tuple(prepare(network, bench.divisi, bench.asked.precision) for network in catalogue.named(names))
        measure = partial(partitions.measure, bench, files)
        attempt(results, f"partitions: {' and '.join(names)}", measure, results.pairs)


def owns(bench: Bench, results: Results) -> None:
    if "ours" not in bench.asked.contestants:
        return
    [network] = catalogue.named([catalogue.OWN])
    files = prepare(network, bench.divisi, bench.asked.precision)
    for kernels in own.kernels(bench):
        for threads in bench.asked.threads:
            measure = partial(own.measure, bench, files, threads, kernels)
            what = f"own: {network.name}, {Setting(threads, catalogue.OWN_BATCH)}, {kernels or 'all'} kernels"
            attempt(results, what, measure, results.owns)


def agreements(bench: Bench, results: Results) -> None:
    asked = bench.asked
    for network in catalogue.named(asked.networks, asked.precision):
        files = prepare(network, bench.divisi, asked.precision)
        measure = partial(agreement.measure, bench, files, asked.inputs)
        attempt(results, f"agreement: {network.name}", measure, results.agreements)


def whole(asked) -> bool:
    """Whether everything was asked for that the page is to show."""
    usual = options.parse(["--precision", asked.precision])
    names = ("networks", "threads", "batches", "contestants", "parts", "kernels", "inputs", "quick")
    return all(getattr(asked, name) == getattr(usual, name) for name in names)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
