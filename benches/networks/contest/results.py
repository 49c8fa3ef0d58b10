"""Everything that was measured, and what of it is below its bar."""

from dataclasses import dataclass, field
from statistics import geometric_mean

from contest import answers, catalogue
from contest.agreement import Agreement
from contest.catalogue import Network
from contest.load import Load
from contest.memory import Memory
from contest.own import Own
from contest.partitions import Pair
from contest.speed import Setting, Speed


@dataclass(frozen=True)
class Miss:
    """What does not reach its bar. The key names its cause in `causes.toml`."""

    key: str
    what: str


@dataclass
class Results:
    precision: str
    speeds: list[Speed] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    owns: list[Own] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    # What could not be measured, and why.
    failures: list[str] = field(default_factory=list)

    @property
    def settings(self) -> list[Setting]:
        return list(dict.fromkeys(speed.setting for speed in self.speeds))

    def geomean(self, setting: Setting | None = None) -> float | None:
        """Of the ratios of networks that the precision is judged by, in one setting or all."""
        members = {network.name for network in catalogue.named(None, self.precision)}
        ratios = [
            speed.ratio
            for speed in self.speeds
            if speed.network.name in members
            and speed.ratio is not None
            and setting in (None, speed.setting)
        ]
        return geometric_mean(ratios) if ratios else None

    def ratios(self, network: Network) -> list[float]:
        """A network's in all settings."""
        return [s.ratio for s in self.speeds if s.network == network and s.ratio is not None]

    @property
    def disagreeing(self) -> list[Speed]:
        return [speed for speed in self.speeds if not speed.apart.agrees]

    def misses(self) -> list[Miss]:
        misses = [*self.slow(), *self.large(), *self.late(), *self.disturbed(), *self.astray()]
        if self.precision == "f32":
            return misses
        return [Miss(f"{self.precision}-{miss.key}", miss.what) for miss in misses]

    def slow(self) -> list[Miss]:
        misses = []
        geomean = self.geomean()
        if geomean is not None and geomean < catalogue.GEOMEAN_BAR:
            misses.append(Miss("geomean", f"geometric mean {geomean:.2f}, bar {catalogue.GEOMEAN_BAR}"))
        for speed in self.speeds:
            name, setting = speed.network.name, speed.setting
            key = f"{name}-{setting.threads}-{setting.batch}"
            if not speed.apart.agrees:
                misses.append(Miss(key, f"{name}, {setting}: answers differ: {speed.apart.said}"))
            if speed.ratio is not None and speed.ratio < speed.bar:
                what = f"{name}, {setting}: speed {speed.ratio:.3f}, bar {speed.bar}"
                misses.append(Miss(key, what))
        return misses

    def large(self) -> list[Miss]:
        misses = []
        for memory in self.memories:
            name, over = memory.network.name, memory.over("ort")
            if over is not None and over > catalogue.MEMORY_BAR:
                what = f"{name}: memory {over:.2f} of ONNX Runtime's, bar {catalogue.MEMORY_BAR}"
                misses.append(Miss(f"{name}-memory", what))
            off = memory.misplanned
            if off is not None and abs(off) > catalogue.PLANNED_BAR:
                misses.append(Miss(f"{name}-planned", f"{name}: used {off:+.1%} of planned bytes"))
        for row in self.owns:
            if row.too_large is not None:
                setting = f"{Setting(row.threads, catalogue.OWN_BATCH)}, {row.kernels} kernels"
                what = f"{catalogue.OWN}, {setting}: memory {row.too_large:.2f} of float32's"
                misses.append(Miss(f"own-{row.kernels}-memory", f"{what}, bar {catalogue.OWN_MEMORY_BAR}"))
        return misses

    def late(self) -> list[Miss]:
        slow = [load for load in self.loads if load.whole.get("ours", 0) > catalogue.LOAD_BAR]
        return [
            Miss("load", f"load, {Setting(load.threads, 1)}: {load.whole['ours']:.2f} s, "
                 f"bar {catalogue.LOAD_BAR} s")
            for load in slow
        ]

    def disturbed(self) -> list[Miss]:
        misses = []
        for pair in self.pairs:
            a, b = pair.networks
            for name, other, kept in zip((a, b), (b, a), pair.kept.get("ours", [])):
                if kept < catalogue.PARTITION_BAR:
                    what = f"{name} next to {other}: {kept:.3f} of its speed alone"
                    misses.append(Miss(f"{name}-beside-{other}", f"{what}, bar {catalogue.PARTITION_BAR}"))
        return misses

    def astray(self) -> list[Miss]:
        """Networks whose answers to many samples are further off than those before timing may be."""
        return [
            Miss(f"{a.network.name}-agreement", f"{a.network.name}: {a.steps['ours'].most:.1f} steps "
                 f"from ONNX Runtime's answers, bar {answers.tolerance(a.steps):.0f}")
            for a in self.agreements
            if "ours" in a.steps and not a.steps["ours"].most <= answers.tolerance(a.steps)
        ]
