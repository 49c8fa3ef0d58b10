"""What every part of a run needs."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from contest import environment
from contest.child import Child, command


@dataclass
class Bench:
    asked: argparse.Namespace
    cores: list[int]
    divisi: Path
    ours: Path | None

    @classmethod
    def of(cls, asked: argparse.Namespace) -> "Bench":
        """Builds what is missing."""
        cores = asked.cores or sorted(os.sched_getaffinity(0))
        if len(cores) < max(asked.threads):
            raise SystemExit(f"{max(asked.threads)} threads need as many cores, found {cores}")
        ours = environment.ours(asked.ours) if "ours" in asked.contestants else None
        return cls(asked, cores, environment.divisi(asked.divisi), ours)

    def child(self, name: str, cores: list[int], environment: dict | None = None) -> Child:
        return Child(name, command(name, self.ours), cores, self.asked.urgent, environment)
