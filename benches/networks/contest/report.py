"""What was measured, as tables."""

from collections.abc import Iterable
from statistics import geometric_mean

from contest import catalogue, own, partitions
from contest.agreement import Agreement
from contest.answers import Steps
from contest.catalogue import Network
from contest.load import Load
from contest.memory import Memory
from contest.own import Own
from contest.partitions import Pair
from contest.results import Results
from contest.speed import Setting, Speed
from contest.table import Table

TITLES = {"ours": "Divisi", "ort": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch"}
NOTHING = "–"


def tables(results: Results) -> list[Table]:
    """Those for which there is anything to show."""
    made = [speeds(results, setting) for setting in results.settings]
    made += [summary(results), by_network(results), memories(results.memories)]
    made += [owns(results.owns), agreements(results.agreements)]
    made += [loads(results.loads), pairs(results.pairs)]
    return [table for table in made if table.rows]


def speeds(results: Results, setting: Setting) -> Table:
    chosen = [speed for speed in results.speeds if speed.setting == setting]
    names = all_of(speed.rounds for speed in chosen)
    head = ["network", *(f"{TITLES[n]} ms" for n in names), "ratio", "least–most", "bar", "differ", ""]
    rows = [speed_row(speed, names) for speed in chosen]
    return Table(f"Speed: {setting}", head, rows)


def speed_row(speed: Speed, names: list[str]) -> list[str]:
    ran = speed.rounds
    times = [f"{speed.seconds(name) * 1e3:.2f}" if name in ran else NOTHING for name in names]
    remarks = [f"{TITLES[name]} does not load it" for name in names if name not in ran]
    if speed.ratio is not None and speed.ratio < speed.bar:
        remarks.append("below its bar")
    if not speed.apart.agrees:
        remarks.append("ANSWERS DIFFER")
    spread = f"{min(speed.ratios):.2f}–{max(speed.ratios):.2f}" if speed.ratios else NOTHING
    bar = f"{speed.bar:g}"
    said = speed.apart.said
    return [title(speed.network), *times, ratio(speed.ratio), spread, bar, said, ", ".join(remarks)]


def title(network: Network) -> str:
    if network.is_text:
        return f"{network.name} {network.shape[-1]} tokens"
    return f"{network.name} {network.shape[-1]}²"


def ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def summary(results: Results) -> Table:
    """Geometric means over the networks that were measured, in float32 those of IMN12."""
    rows = [[str(setting), results.geomean(setting)] for setting in results.settings]
    rows.append(["all", results.geomean()])
    rows = [[name, ratio(value), f"{catalogue.GEOMEAN_BAR:g}"] for name, value in rows if value]
    of = "IMN12" if results.precision == "f32" else "networks"
    return Table(f"Speed: geometric mean over {of}", ["setting", "ratio", "bar"], rows)


def by_network(results: Results) -> Table:
    """Each network over the settings; float32's page has no such table."""
    rows = []
    for network in dict.fromkeys(speed.network for speed in results.speeds):
        ratios = results.ratios(network)
        if ratios and results.precision != "f32":
            rows.append([title(network), ratio(geometric_mean(ratios)), ratio(min(ratios))])
    return Table("Speed: each network over the settings", ["network", "geometric mean", "least"], rows)


def memories(measured: list[Memory]) -> Table:
    names = all_of(memory.peak for memory in measured)
    head = ["network", *(f"{TITLES[n]} MB" for n in names), "over ONNX Runtime's",
            "planned MB", "used MB", "used over planned"]
    rows = [memory_row(memory, names) for memory in measured]
    if any(memory.float32 for memory in measured):
        head += ["Divisi's float32 MB", "over Divisi's float32"]
        for row, memory in zip(rows, measured):
            row += [mega(memory.float32), ratio(memory.over_float32)]
    name = f"Memory: peak at batch {catalogue.LARGEST_BATCH} over an empty process"
    note = (
        f"Bars: {catalogue.MEMORY_BAR:g} of ONNX Runtime's peak; used within "
        f"{catalogue.PLANNED_BAR:.0%} of planned bytes."
    )
    return Table(name, head, rows, note)


def memory_row(memory: Memory, names: list[str]) -> list[str]:
    off = memory.misplanned
    planned = [mega(memory.planned), mega(memory.used), NOTHING if off is None else f"{off:+.1%}"]
    return [title(memory.network), *(mega(memory.peak.get(n)) for n in names),
            ratio(memory.over("ort")), *planned]


def mega(size: int | None) -> str:
    return NOTHING if size is None else f"{size / 1e6:.0f}"


def owns(measured: list[Own]) -> Table:
    ways = list(measured[0].seconds) if measured else []
    others = [way for way in ways if way != own.FLOAT]
    head = ["Divisi", *(f"{way} ms" for way in ways), *(f"{way}: speed over {own.FLOAT}" for way in others)]
    head += [*(f"{way}: peak MB" for way in ways), *(f"{way}: peak over {own.FLOAT}" for way in others)]
    rows = []
    for row in measured:
        setting = f"{Setting(row.threads, catalogue.OWN_BATCH)}, {row.kernels} kernels"
        times = [f"{row.seconds[way] * 1e3:.2f}" for way in ways]
        peaks = [*(mega(row.peaks[way]) for way in ways)]
        peaks += [ratio(row.peaks[way] / row.peaks[own.FLOAT]) for way in others]
        rows.append([setting, *times, *(ratio(row.ratios[way]) for way in others), *peaks])
    note = f"Bar: {catalogue.OWN_MEMORY_BAR:g} of float32's peak for the quantised file."
    return Table(f"Over Divisi's float32: {catalogue.OWN}", head, rows, note if own.OF_FILE in ways else "")


def agreements(measured: list[Agreement]) -> Table:
    names = all_of(row.steps for row in measured)
    head = ["network", "inputs", "different arg-max"]
    head += [f"{TITLES[name]}: {what}" for name in names for what in ("equal arg-max", "equal values", "most steps")]
    rows = []
    for row in measured:
        cells = [title(row.network), str(row.inputs), str(row.classes)]
        for name in names:
            cells += of_steps(row.steps.get(name))
        rows.append(cells)
    note = (
        "All contestants run the same int8 file; the reference are ONNX Runtime's answers. A step is the "
        "scale of the answers' integers, or a 255th of their range if they are not integers. Each token of "
        "a text has an arg-max."
    )
    return Table("Agreement with ONNX Runtime", head, rows, note)


def of_steps(steps: Steps | None) -> list[str]:
    if steps is None:
        return [NOTHING] * 3
    return [f"{steps.equal / steps.rows:.1%}", f"{steps.same / steps.values:.1%}", f"{steps.most:.1f}"]


def all_of(dicts: Iterable[dict[str, object]]) -> list[str]:
    """The contestants of any of some rows, in the order in which all have them."""
    found = {name for row in dicts for name in row}
    return [name for name in TITLES if name in found]


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
            rows.append([f"{own} next to {pair.networks[1 - i]}", *kept])
    head = ["network", *(TITLES[name] for name in names)]
    name = "Partitions: speed next to another network over speed alone"
    note = (
        f"Divisi runs both networks in one process at batch {partitions.BATCH}; its bar is "
        f"{catalogue.PARTITION_BAR:g}. ONNX Runtime runs each network in its own process."
    )
    return Table(name, head, rows, note)
