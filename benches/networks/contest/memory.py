"""Memory: what a process holds at most over what it held before it read a network."""

from dataclasses import dataclass

from contest.bench import Bench
from contest.catalogue import LARGEST_BATCH, Network
from contest.prepare import Files


@dataclass
class Memory:
    """Bytes: at most, by contestant, and ours as planned and as used."""

    network: Network
    peak: dict[str, int]
    planned: int | None
    used: int | None

    def over(self, rival: str) -> float | None:
        """Our peak over a rival's."""
        if "ours" not in self.peak or rival not in self.peak:
            return None
        return self.peak["ours"] / self.peak[rival]

    @property
    def misplanned(self) -> float | None:
        """Used over planned, less one."""
        return self.used / self.planned - 1 if self.planned else None


def measure(bench: Bench, files: Files) -> Memory:
    """Each contestant in a process of its own, on as many threads as were asked for."""
    cores = bench.cores[: max(bench.asked.threads)]
    memory = Memory(files.network, {}, None, None)
    for name in bench.asked.contestants:
        with bench.child(name, cores) as child:
            before = child.ask("memory")
            loaded = child.ask("load", **files.of_load(LARGEST_BATCH, cores, choose=False))
            child.ask("run", seconds=0, least=1)
            after = child.ask("memory")
        memory.peak[name] = after["peak"] - before["resident"]
        if name == "ours":
            memory.planned = loaded["planned"]
            # Pages of files belong to the system, which can drop them.
            memory.used = after["anonymous"] - before["anonymous"]
    return memory
