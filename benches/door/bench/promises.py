"""Rows of what Divisi promises whatever happens: they compare with nobody."""

import statistics

from . import attack, beside, changing, copies, critical, late, onnx_file, quorum, servers, slow, stops
from .collector import listening
from .rows import Bench, Row

NOBODY = "–"


def copied(bench: Bench) -> list[Row]:
    what = "a request of 4.8 MB (8 images of 224², HTTP): bytes copied a byte of it by memcpy and memmove; besides, a loop writes each batch once"
    built = copies.library(bench.work)
    if not built:
        return [Row(what, "not measured: there is no C compiler", NOBODY, NOBODY, "1")]
    with copies.counting(built, bench.work) as count:
        with servers.divisi(bench.divisi, bench.serves["image"], bench.work) as server:
            found = copies.of_a_request(server, count, "image")
    return [Row(what, f"{found:.2f}", NOBODY, NOBODY, "1")]


def besides(bench: Bench) -> list[Row]:
    with servers.divisi(bench.divisi, bench.serves["empty"], bench.work) as server:
        found = beside.ask(server)
    told = lambda seconds: ", ".join(
        f"p{share * 100:.0f} {attack.percentile(seconds, share):.2f} ms" for share in [0.5, 0.99]
    )
    what = f"requests of one sample beside {beside.CLIENTS} clients that send {beside.ROWS} in JSON, one after another, over HTTP"
    return [Row(what, told(found.beside), f"{told(found.before)} before", NOBODY, "")]


def stop(bench: Bench) -> list[Row]:
    found = []
    for _ in range(20):
        with servers.divisi(bench.divisi, bench.serves["empty"], bench.work) as server:
            found.append(stops.stopped(server))
    what = f"{len(found)} stops by SIGTERM while {stops.CLIENTS} clients ask on kept connections: requests lost"
    lost, answered = sum(one.lost for one in found), sum(one.answered for one in found)
    slowest = max(one.seconds for one in found)
    ours = f"{lost} of {answered + lost}, the slowest stop {slowest:.1f} s"
    return [Row(what, ours, NOBODY, NOBODY, "0")]


def silent(bench: Bench) -> list[Row]:
    rows = []
    for protocol, ask in [("http", stops.live), ("grpc", stops.live_by_grpc)]:
        with servers.divisi(bench.divisi, bench.serves["empty"], bench.work) as server:
            address = server.http if protocol == "http" else server.grpc
            took = stops.beside_silent_ones(server, address, ask)
        what = f"{stops.HELD} silent connections of {protocol}, 20 newcomers: the slowest answer"
        rows.append(Row(what, f"{took * 1e3:.0f} ms", NOBODY, NOBODY, "≤ 1 s"))
    return rows


def kept(bench: Bench) -> list[Row]:
    """Memory after large requests: an identity answers as much as it is asked."""
    model = bench.work / "wide.onnx"
    model.write_bytes(onnx_file.identity(stops.WIDE))
    with servers.divisi(bench.divisi, model, bench.work) as server:
        before, after = stops.kept_after_large_bodies(server, "wide")
    what = f"memory 5 s after {stops.LARGE} requests of 60 MB, JSON and binary data in turn, 4 at once"
    return [Row(what, f"{after:.0f} MB", f"{before:.0f} MB before", NOBODY, "")]


def path(bench: Bench) -> list[Row]:
    """The parts of the critical path, by traces."""
    with listening() as (collector, address):
        more = ["--otlp", address]
        with servers.divisi(bench.divisi, bench.serves["cnns"], bench.work, *more) as server:
            calls = critical.ask(server, collector, "cnns", [1, 1, 8, 8], 64)
    worst = max(call.off for call in calls)
    usual = statistics.median(call.off for call in calls)
    share = statistics.median(call.parts / call.call for call in calls)
    what = "three CNNs and their mean, {} clients, {} calls: parts of the steps on the critical path"
    what = what.format(critical.CLIENTS, len(calls))
    within = what + ", off the time from the first's arrival to the last's end"
    whole = what + ", of the whole call as the server times it, reading and answering included"
    off = f"{usual:.2%} (median), {worst:.2%} (most)"
    return [
        Row(within, off, NOBODY, NOBODY, "≤ 1 %"),
        Row(whole, f"{share:.1%} (median)", NOBODY, NOBODY, ""),
    ]


def deadline(bench: Bench) -> list[Row]:
    more = slow.chain(bench.work / late.MODEL, late.STEP_S)
    with servers.divisi(bench.divisi, bench.work / late.MODEL, bench.work, *more) as server:
        found = late.deadlines(server)
    statuses = "/".join(map(str, sorted(found.statuses)))
    what = f"deadline of {late.DEADLINE_MS} ms against a step of {late.STEP_S:.0f} s (a simulated device), "
    what += f"{late.TURNS} requests over HTTP: "
    again = found.first - late.TURNS
    return [
        Row(what + "the slowest answer", f"{statuses} in {found.slowest_ms:.1f} ms", NOBODY, NOBODY, "≤ 60 ms"),
        Row("the same: starts again of the step; starts of the next one", f"{again}; {found.later}", NOBODY, NOBODY, "0; 0"),
    ]


def gone(bench: Bench) -> list[Row]:
    folder = bench.work / "gone" / late.MODEL
    more = slow.chain(folder, late.STEP_S)
    with servers.divisi(bench.divisi, folder, bench.work, *more) as server:
        found = late.clients_gone(server)
    what = f"{late.TURNS} clients over HTTP gone in the middle of a step of {late.STEP_S:.0f} s: runs of that step, of later ones"
    return [Row(what, f"{found.first}, {found.later}", NOBODY, NOBODY, f"{late.TURNS}, 0")]


def quorums(bench: Bench) -> list[Row]:
    folder = bench.work / quorum.MODEL
    more = slow.quorum(folder, quorum.WAIT_MS, quorum.STOPPED_S)
    with servers.divisi(bench.divisi, folder, bench.work, *more) as server:
        found = quorum.ask(server)
    what = f"quorum of 2 of 3 with one step of {quorum.STOPPED_S:.0f} s, {quorum.ASKED} requests: "
    beyond = f"wait + {found.median_ms:.2f} ms (median), + {found.slowest_ms:.2f} ms (slowest)"
    return [
        Row(what + "answered in", beyond, NOBODY, NOBODY, "wait + 5 ms"),
        Row("the same: answers that name the missing step", f"{found.told}", NOBODY, NOBODY, f"{quorum.ASKED}"),
    ]


def changed(bench: Bench) -> list[Row]:
    folder = bench.work / "changes"
    more = changing.repository(folder)
    with servers.divisi(bench.divisi, folder, bench.work, *more) as server:
        found = changing.ask(server, bench.load.program, folder, bench.work)
    what = f"{found.changes} loads, unloads and new versions of models and of a pipeline while perf_analyzer sends requests to one of them: "
    longest = max(found.during.gaps)
    before = f"p99 {found.quiet.p99:.2f} ms, longest gap {max(found.quiet.gaps):.1f} ms before"
    return [
        Row(what + "answers lost or doubled (a wrong one ends the run)", f"{found.during.not_once}", NOBODY, NOBODY, "0"),
        Row("the same: longest time without an answer", f"{longest:.1f} ms", before, f"{longest / found.quiet.p99:.1f}", "≤ 2 × the p99"),
    ]


ROWS = {
    "copies": copied,
    "beside": besides,
    "path": path,
    "deadline": deadline,
    "gone": gone,
    "quorum": quorums,
    "changes": changed,
    "stops": stop,
    "silent": silent,
    "kept": kept,
}
