"""A contestant's process as the program sees it: started, asked, held still."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

# prctl(2): the signal that a process gets when its parent is gone.
PR_SET_PDEATHSIG = 1
# The least of nice(2)'s values.
MOST_URGENT = -20


class Gone(Exception):
    """A contestant's process ended though nobody asked it to."""


class Child:
    """One contestant on its cores. It runs only while it is asked something."""

    def __init__(self, name: str, command: list, cores: list[int], urgent: bool, environment: dict | None = None):
        self.name = name

        def start() -> None:
            os.sched_setaffinity(0, cores)
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if urgent:
                go_first()

        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, preexec_fn=start, env=environment
        )

    def ask(self, what: str, **more) -> dict:
        """Sends a question and waits for the answer."""
        self.send(what, **more)
        return self.receive()

    def try_load(self, question: dict) -> dict | None:
        """Loads a network; nothing where another's process ends of it. Ours must not."""
        try:
            return self.ask("load", **question)
        except Gone:
            if self.name == "ours":
                raise
            return None

    def send(self, what: str, **more) -> None:
        # Threads that spin after their work must not take cores from whose turn it is.
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps({"ask": what, **more}, default=str) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.gone()

    def receive(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            self.gone()
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def gone(self) -> None:
        raise Gone(f"{self.name} ended with {self.process.wait()}; its errors are above")

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def go_first() -> None:
    """Lets this process run before all others of the machine."""
    os.setpriority(os.PRIO_PROCESS, 0, MOST_URGENT)
    # Linux may weigh whole sessions against each other (sched(7), "The autogroup feature").
    group = Path("/proc/self/autogroup")
    if group.exists():
        os.setsid()
        group.write_text(str(MOST_URGENT))


def command(name: str, ours: Path) -> list:
    """What starts the contestant `name`."""
    if name == "ours":
        return [ours]
    return [sys.executable, "-m", "contest.contestants", name]
