"""Rows: programs that write lines of JSON, each with a time limit of its own, so that one
that fails or hangs costs no other."""

import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

# What a program that was told to end has to say something.
GRACE = 8


@dataclass
class Row:
    name: str
    command: list
    limit: float
    """Seconds."""


@dataclass
class Result:
    name: str
    lines: list = field(default_factory=list)
    seconds: float = 0.0
    trouble: str = ""
    """Why it gave less than it should, in a few words."""


class Results:
    """All rows' results, written to files as they come."""

    def __init__(self, folder):
        self.rows = {}
        self.folder = folder
        self.lines = open(folder / "rows.jsonl", "w", buffering=1)
        self.log = open(folder / "log.txt", "w", buffering=1)
        self.lock = threading.Lock()

    def add(self, result, line):
        with self.lock:
            result.lines.append(line)
            self.lines.write(json.dumps({"row": result.name, **line}) + "\n")

    def end(self, result):
        with self.lock:
            self.rows[result.name] = result
            state = result.trouble or "done"
            self.lines.write(json.dumps({"row": result.name, "ended": state, "seconds": round(result.seconds, 1)}) + "\n")
        print(f"{result.name}: {state}, {len(result.lines)} lines, {result.seconds:.0f} s", flush=True)


def parsed(text):
    """A value of JSON, or nothing."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def read(files):
    """The rows of earlier runs, those of later files in place of the same of earlier ones."""
    rows = {}
    for file in files:
        own = {}
        for line in Path(file).read_text().splitlines():
            value = json.loads(line)
            result = own.setdefault(value["row"], Result(value.pop("row")))
            if "ended" not in value:
                result.lines.append(value)
                continue
            result.seconds = value["seconds"]
            result.trouble = "" if value["ended"] == "done" else value["ended"]
        rows.update(own)
    return rows


class Running:
    """A row that has been started."""

    def __init__(self, row, results, environment, root):
        self.row, self.results = row, results
        self.result = Result(row.name)
        self.began = time.monotonic()
        results.log.write(f"== {row.name}: {' '.join(map(str, row.command))}\n")
        self.process = subprocess.Popen(
            [str(word) for word in row.command],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=results.log,
            text=True,
            # Its children end with it.
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        whole = []
        for line in self.process.stdout:
            value = parsed(line)
            # A line of a longer report may be a number.
            if isinstance(value, dict):
                self.results.add(self.result, value)
            else:
                whole.append(line)
        # A report over several lines is one value.
        value = parsed("".join(whole))
        if isinstance(value, dict):
            self.results.add(self.result, value)
        else:
            self.results.log.writelines(whole)

    def say(self, line):
        """Writes a line to its standard input."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # It has ended; that is said at its end.

    def end(self, limit):
        """Waits until it ends, or ends it."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        limit = max(limit, 0.0)
        trouble = ""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            trouble = f"cut off after {time.monotonic() - self.began:.0f} s"
            self._stop()
        if not trouble and self.process.returncode:
            trouble = f"failed ({self.process.returncode})"
        self.reader.join(GRACE)
        self.result.seconds = time.monotonic() - self.began
        self.result.trouble = trouble
        self.results.end(self.result)

    def _stop(self):
        for sign in (signal.SIGINT, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
            except ProcessLookupError:
                return
            try:
                self.process.wait(GRACE)
                break
            except subprocess.TimeoutExpired:
                continue
