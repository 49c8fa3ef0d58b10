"""A collector of OpenTelemetry's traces, over HTTP: the spans that a server says its calls were made of."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import protobuf

PATIENCE = 30


@dataclass
class Span:
    """Nanoseconds of Unix time; `numbers` are its attributes that are whole numbers."""

    name: str = ""
    trace: bytes = b""
    start: int = 0
    end: int = 0
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def ns(self) -> int:
        return self.end - self.start


def read(message: memoryview) -> Span:
    span = Span()
    for number, value in protobuf.fields(message):
        match number:
            case 1:
                span.trace = bytes(value)
            case 5:
                span.name = bytes(value).decode()
            case 7:
                span.start = value
            case 8:
                span.end = value
            case 9:
                attribute = dict(protobuf.fields(value))
                told = dict(protobuf.fields(attribute[2]))
                if 3 in told:
                    span.numbers[bytes(attribute[1]).decode()] = told[3]
    return span


class Collector:
    """The spans that came, by the trace that they are of."""

    def __init__(self) -> None:
        self.traces: dict[bytes, list[Span]] = {}
        self.came = threading.Condition()

    def take(self, request: bytes) -> None:
        with self.came:
            for message in protobuf.inner(request, 1, 2, 2):
                span = read(message)
                self.traces.setdefault(span.trace, []).append(span)
            self.came.notify_all()

    def calls(self, name: str, count: int) -> list[list[Span]]:
        """Waits for so many calls by the name; returns the spans of each, that of the call first."""
        until = time.monotonic() + PATIENCE
        with self.came:
            while len(found := self.found(name)) < count:
                left = until - time.monotonic()
                if left <= 0 or not self.came.wait(left):
                    raise SystemExit(f"{len(found)} of {count} calls were traced")
        return found

    def found(self, name: str) -> list[list[Span]]:
        sorted_by = lambda spans: sorted(spans, key=lambda span: span.name != name)
        return [sorted_by(spans) for spans in self.traces.values() if any(s.name == name for s in spans)]


@contextmanager
def listening():
    """Yields a collector, and its address."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector, f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
