"""What was measured, as tables."""

from contest import catalogue, partitions
from contest.catalogue import Network
from contest.load import Load
from contest.memory import Memory
from contest.partitions import Pair
from contest.results import Results
from contest.speed import Setting, Speed
from contest.table import Table

TITLES = {"ours": "Divisi", "ort": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch"}
NOTHING = "–"


def tables(results: Results) -> list[Table]:
    """Those for which there is anything to show."""
    made = [speeds(results, setting) for setting in results.settings]
    made += [summary(results), memories(results.memories), loads(results.loads), pairs(results.pairs)]
    return [table for table in made if table.rows]


def speeds(results: Results, setting: Setting) -> Table:
    chosen = [speed for speed in results.speeds if speed.setting == setting]
    names = list(chosen[0].rounds)
    head = ["network", *(f"{TITLES[n]} ms" for n in names), "ratio", "least–most", "bar", "differ", ""]
    rows = [speed_row(speed, names) for speed in chosen]
    return Table(f"Speed: {setting}", head, rows)


def speed_row(speed: Speed, names: list[str]) -> list[str]:
    times = [f"{speed.seconds(name) * 1e3:.2f}" for name in names]
    remarks = []
    if speed.ratio is not None and speed.ratio < speed.network.bar:
        remarks.append("below its bar")
    if not speed.agrees:
        remarks.append("ANSWERS DIFFER")
    spread = f"{min(speed.ratios):.2f}–{max(speed.ratios):.2f}" if speed.ratios else NOTHING
    bar = f"{speed.network.bar:g}"
    differ = f"{speed.difference:.0e}"
    return [title(speed.network), *times, ratio(speed.ratio), spread, bar, differ, ", ".join(remarks)]


def title(network: Network) -> str:
    return f"{network.name} {network.shape[-1]}²"


def ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def summary(results: Results) -> Table:
    """Geometric means over the networks of IMN12 that were measured."""
    rows = [[str(setting), results.geomean(setting)] for setting in results.settings]
    rows.append(["all", results.geomean()])
    rows = [[name, ratio(value), f"{catalogue.GEOMEAN_BAR:g}"] for name, value in rows if value]
    return Table("Speed: geometric mean over IMN12", ["setting", "ratio", "bar"], rows)


def memories(measured: list[Memory]) -> Table:
    names = list(measured[0].peak) if measured else []
    head = ["network", *(f"{TITLES[n]} MB" for n in names), "over ONNX Runtime's",
            "planned MB", "used MB", "used over planned"]
    rows = [memory_row(memory, names) for memory in measured]
    name = f"Memory: peak at batch {catalogue.LARGEST_BATCH} over an empty process"
    note = (
        f"Bars: {catalogue.MEMORY_BAR:g} of ONNX Runtime's peak; used within "
        f"{catalogue.PLANNED_BAR:.0%} of planned bytes."
    )
    return Table(name, head, rows, note)


def memory_row(memory: Memory, names: list[str]) -> list[str]:
    off = memory.misplanned
    planned = [mega(memory.planned), mega(memory.used), NOTHING if off is None else f"{off:+.1%}"]
    return [title(memory.network), *(mega(memory.peak[n]) for n in names),
            ratio(memory.over("ort")), *planned]


def mega(size: int | None) -> str:
    return NOTHING if size is None else f"{size / 1e6:.0f}"


def loads(measured: list[Load]) -> Table:
    names = list(measured[0].whole) if measured else []
    head = ["from", *(f"{TITLES[n]} s" for n in names)]
    rows = []
    for load in measured:
        threads = Setting(load.threads, 1)
        rows.append([f"the process's start: {threads}", *(f"{load.whole[n]:.3f}" for n in names)])
        rows.append([f"the libraries' readiness: {threads}", *(f"{load.asked[n]:.3f}" for n in names)])
    name = f"Load: to the first answer of {catalogue.LOADED}, files in cache"
    return Table(name, head, rows, f"The bar is {catalogue.LOAD_BAR:g} s from our process's start.")


def pairs(measured: list[Pair]) -> Table:
    names = list(measured[0].kept) if measured else []
    rows = []
    for pair in measured:
        for i, own in enumerate(pair.networks):
            kept = [f"{pair.kept[name][i]:.2f}" for name in names]
            rows.append([f"{own} beside {pair.networks[1 - i]}", *kept])
    head = ["network", *(TITLES[name] for name in names)]
    name = "Partitions: speed beside another network over speed alone"
    note = (
        f"The bar is {catalogue.PARTITION_BAR:g} of ours, in one process at batch "
        f"{partitions.BATCH}. ONNX Runtime's are in a process each."
    )
    return Table(name, head, rows, note)
