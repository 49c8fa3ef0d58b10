"""Servers as processes: started, waited for, looked at, ended."""

import os
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 120


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Server:
    """A server that answers; `processes` are it and its children."""

    def __init__(self, name: str, process: subprocess.Popen, http: int, grpc: int):
        self.name, self.process, self.http, self.grpc = name, process, http, grpc

    def address(self, protocol: str) -> str:
        return f"127.0.0.1:{self.http if protocol == 'http' else self.grpc}"

    def processes(self) -> list[int]:
        known = [self.process.pid]
        for pid in known:
            for task in Path(f"/proc/{pid}/task").glob("*"):
                children = (task / "children").read_text().split()
                known += [int(child) for child in children]
        return known

    def cpu_seconds(self) -> float:
        """User's and system's time of it and its children so far."""
        ticks = 0
        for pid in self.processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def memory_mb(self) -> float:
        pages = 0
        for pid in self.processes():
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def wait_until_ready(self, log: Path) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                url = f"http://{self.address('http')}/v2/health/ready"
                if urllib.request.urlopen(url, timeout=1).status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{self.name} did not start:\n{log.read_text()[-3000:]}")


@contextmanager
def running(name: str, command: list, ports: tuple[int, int], work: Path):
    log = work / f"{name}.log"
    runtime = work / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    with log.open("w") as to:
        process = subprocess.Popen(command, stdout=to, stderr=to, env=environment)
        server = Server(name, process, *ports)
        try:
            server.wait_until_ready(log)
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE)


def divisi(program: Path, serves: Path, work: Path, *more: str):
    http, grpc = free_port(), free_port()
    command = [program, "serve", serves, "--load", "none", "--name", f"bench-{http}"]
    command += ["--http", f"127.0.0.1:{http}", "--grpc", f"127.0.0.1:{grpc}", "--metrics", "off"]
    return running("divisi", [*map(str, command), *more], (http, grpc), work)


def triton(program: Path, repository: Path, work: Path):
    http, grpc = free_port(), free_port()
    command = [program, f"--model-repository={repository}", f"--http-port={http}"]
    command += [f"--grpc-port={grpc}", "--allow-metrics=false", "--http-address=127.0.0.1"]
    command += ["--grpc-address=127.0.0.1", "--cache-config=local,size=1048576"]
    return running("triton", [str(part) for part in command], (http, grpc), work)
