#!/usr/bin/env python3
"""What `.ci/cuda/run` looks for in what programs say; ends with 1 where it is not there.

    built NAME      < what cargo says: prints the path of the program called NAME
    same A B NAME   two files of answers agree, for numbers of that precision
    networks        < lines of `answers`
    reloads         < the line of `reloads`
    loss REPORT     a report of serving while a GPU was lost
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
    bad = [key for key in ("lost", "doubled", "different", "leaked") if line[key]]
    if bad or not line["requests"]:
        sys.exit(f"expected none: {', '.join(bad)}")


def loss(path):
    with open(path) as file:
        report = json.load(file)
    gpu, cpu = report["devices"]
    rows = report["matrix"]["rows"]
    print(f"{gpu['name']} lost: {gpu['lost']}; matrix {rows}; health {report['health']}")
    if report["counters"]["failed"]:
        sys.exit(f"expected no request to fail, found {report['counters']['failed']}")
    if not gpu["lost"]:
        sys.exit("expected the GPU to be lost")
    if not all(rows[1]):
        sys.exit(f"expected every member on {cpu['name']}")


if __name__ == "__main__":
    {"built": built, "same": same, "networks": networks, "reloads": reloads, "loss": loss}[sys.argv[1]](*sys.argv[2:])
