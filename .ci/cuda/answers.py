#!/usr/bin/env python3
"""What `.ci/cuda/run` looks for in what programs say; ends with 1 where it is not there.

    built NAME      < what cargo says: prints the path of the program called NAME
    same A B NAME   two files of answers agree, for numbers of that precision
    networks        < lines of `answers`
    reloads         < the line of `reloads`
    serving REPORT  a report of a server whose GPU works
    lost REPORT     the same once the GPU is lost
"""

import csv
import json
import sys

# Relative to the largest value.
TOLERANCE = {"f32": 1e-4, "tf32": 1e-2, "bf16": 2e-2, "f16": 2e-2}
# Probabilities, absolute.
PROBABILITIES = {"f32": 1e-4, "tf32": 1e-2, "bf16": 5e-2, "f16": 1e-2}


def lines():
    return [json.loads(line) for line in sys.stdin if line.startswith("{")]


def built(name):
    made = [one["executable"] for one in lines() if one.get("executable") and one["target"]["name"] == name]
    if not made:
        sys.exit(f"cargo made no program called {name}")
    print(made[-1])


def answers(path):
    with open(path, newline="") as file:
        return [[float(value) for value in row[2:]] for row in csv.reader(file) if row[0] != "sample"]


def same(a, b, precision):
    a, b = answers(a), answers(b)
    if len(a) != len(b):
        sys.exit(f"{precision}: expected {len(a)} answers, found {len(b)}")
    apart = max(abs(x - y) for one, other in zip(a, b) for x, y in zip(one, other))
    print(f"{precision}: {len(a)} answers, probabilities differ by {apart:.1e} at most")
    if not apart <= PROBABILITIES[precision]:
        sys.exit(f"expected {PROBABILITIES[precision]} at most")


def networks():
    failed, number = [], 0
    for line in lines():
        number += 1
        bar = TOLERANCE.get(line.get("precision"), 0)
        good = isinstance(line["error"], float) and line["error"] <= bar
        if not good:
            failed.append(f"{line['network']} {line.get('precision', '')}: {line['error']}")
    print(f"{number} answers compared")
    if failed or not number:
        sys.exit("\n".join(failed) or "nothing was compared")


def reloads():
    (line,) = lines()
    print(line)
    bad = [key for key in ("lost", "doubled", "different", "leaked", "left") if line[key]]
    if bad or not line["requests"]:
        sys.exit(f"expected none: {', '.join(bad)}")


def report(path):
    with open(path) as file:
        found = json.load(file)
    gpu, cpu = found["devices"]
    rows, counters = found["matrix"]["rows"], found["counters"]
    print(f"{gpu['name']} lost: {gpu['lost']}; matrix {rows}; {found['health']}; {counters}")
    if counters["failed"] or not counters["answered"]:
        sys.exit("expected answers, and no request to fail")
    return gpu, rows


def serving(path):
    gpu, rows = report(path)
    if gpu["lost"] or not any(rows[0]):
        sys.exit("expected workers on the GPU")


def lost(path):
    gpu, rows = report(path)
    if not gpu["lost"] or any(rows[0]) or not all(rows[1]):
        sys.exit("expected the GPU to be lost, and all members on the processor")


if __name__ == "__main__":
    {"built": built, "same": same, "networks": networks, "reloads": reloads, "serving": serving, "lost": lost}[sys.argv[1]](*sys.argv[2:])
