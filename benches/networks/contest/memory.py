"""Memory: what a process holds at most over what it held before it read a network."""

from dataclasses import dataclass

from contest.bench import Bench
from contest.catalogue import LARGEST_BATCH, Network
from contest.prepare import Files


@dataclass
class Memory:
    """Bytes: at most, by contestant, ours as planned and as used, and ours in float32."""

    network: Network
    peak: dict[str, int]
    planned: int | None
    used: int | None
    float32: int | None = None

    def over(self, rival: str) -> float | None:
        """Our peak over a rival's."""
        if "ours" not in self.peak or rival not in self.peak:
            return None
        return self.peak["ours"] / self.peak[rival]

    @property
    def over_float32(self) -> float | None:
        """Our peak over our own in float32."""
        return self.peak["ours"] / self.float32 if self.float32 else None

    @property
    def misplanned(self) -> float | None:
        """Used over planned, less one."""
        return self.used / self.planned - 1 if self.planned else None


def measure(bench: Bench, files: Files) -> Memory:
    """Each contestant in a process of its own, on as many threads as were asked for."""
    cores = bench.cores[: max(bench.asked.threads)]
    memory = Memory(files.network, {}, None, None)
    load = files.of_load(LARGEST_BATCH, cores, choose=False)
    for name in bench.asked.contestants:
        held = once(bench, name, cores, load)
        if held:
            memory.peak[name] = held.peak
        if name == "ours":
            memory.planned, memory.used = held.planned, held.used
    if "ours" in memory.peak and files.precision != "f32":
        memory.float32 = once(bench, "ours", cores, load | files.read_in("f32")).peak
    return memory


@dataclass
class Held:
    """Bytes of a process at most, at the end, and as it had planned."""

    peak: int
    used: int
    planned: int | None


def once(bench: Bench, name: str, cores: list[int], load: dict, environment: dict | None = None) -> Held | None:
    """Nothing where the contestant does not load the network."""
    with bench.child(name, cores, environment) as child:
        before = child.ask("memory")
        loaded = child.try_load(load)
        if not loaded:
            return None
        child.ask("run", seconds=0, least=1)
        after = child.ask("memory")
    # Pages of files belong to the system, which can drop them.
    used = after["anonymous"] - before["anonymous"]
    return Held(after["peak"] - before["resident"], used, loaded.get("planned"))
