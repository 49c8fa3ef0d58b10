"""The short table at the end."""

from statistics import mean

from . import papers

MISSING = "-"


def text(rows, partial):
    """What was measured, what was to be reached, and whether it was; of a `partial` run
    without what was not asked for."""
    lines = [line for part in PARTS for line in whole(part, rows)]
    lines = [line for line in lines if line[1] != MISSING or not partial] or [(MISSING,) * 3]
    troubles = [f"{row.name}: {row.trouble}" for row in rows.values() if row.trouble]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    table = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([*table, *(f"! {trouble}" for trouble in troubles)])


def whole(part, rows):
    """A part's lines; one that meets what it does not expect costs no other."""
    try:
        return part(rows)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return [(part.__name__, repr(error)[:60], "NO")]


def of(rows, name):
    """Lines of a row that did not run are none."""
    return rows[name].lines if name in rows else []


def judged(what, figure, reach, good):
    return (what, figure, f"{reach}: {'yes' if good else 'NO'}")


def answers(rows):
    lines = [line for line in of(rows, "answers") if "precision" in line]
    failed = [line["network"] for line in of(rows, "answers") if "precision" not in line]
    made = []
    for precision, bar in (("f32", 1e-4), ("bf16", 2e-2)):
        some = [line for line in lines if line["precision"] == precision]
        worst = max(some, key=lambda line: line["error"], default=None)
        if worst:
            figure = f"{worst['error']:.1e} ({worst['network']}) of {len(some)} networks"
            made.append(judged(f"against the CPU, {precision}", figure, f"{bar:g}", worst["error"] <= bar))
    if failed or not made:
        made.append(("against the CPU, failed", ", ".join(failed) or MISSING, "none: NO"))
    return made


def exports(rows):
    lines = of(rows, "exports")
    good = [line for line in lines if line.get("error", 1.0) <= 1e-4]
    bad = [f"{line['network']} {line.get('trouble', line.get('error'))}"[:60] for line in lines if line not in good]
    if not lines:
        return [("exports against ONNX Runtime, f32", MISSING, "NO")]
    figure = "; ".join([f"{len(good)} of {len(lines)} within 1e-4", *bad])
    return [judged("exports against ONNX Runtime, f32", figure, "all", not bad)]


def sanitized(rows):
    """What failed is named with the troubles."""
    checked = [row for name, row in rows.items() if name.split()[0] in ("memcheck", "racecheck")]
    clean = [row.name for row in checked if not row.trouble]
    figure = ", ".join(clean) if checked else MISSING
    return [judged("without a finding", figure, "all", checked and len(clean) == len(checked))]


def contest(rows):
    made = []
    for line in of(rows, "contest"):
        if "trouble" in line and "ours" not in line:
            made.append((f"{line['network']} against PyTorch", line["trouble"][:60], "NO"))
        if "over_eager" not in line:
            continue
        batch, rate = line["batches"]["ours"], line["samples_per_s"]["ours"]
        for other, bar in (("eager", 1.0), ("compiled", 0.8)):
            ratio = line[f"over_{other}"]
            figure = f"{ratio:.2f} ({rate:.0f} samples/s at batch {batch})" if ratio else MISSING
            made.append(judged(f"{line['network']} bf16 over PyTorch {other}", figure, f">= {bar}", ratio and ratio >= bar))
    return made or [("networks against PyTorch", MISSING, "NO")]


def transformers(rows):
    """A bar as for other networks; rates have nothing to be compared with yet."""
    bars = {"f32": 1e-4, "tf32": 1e-2, "bf16": 5e-2, "f16": 1e-2}
    made = []
    for line in of(rows, "transformers"):
        if "precision" not in line:
            made.append((f"{line['network']}, failed", line["error"][:60], "NO"))
            continue
        rates = [(rate, batch) for rate, batch in zip(line["samples_per_s"], line["batches"]) if rate]
        rate, batch = max(rates, default=(0, 0))
        work = rate * line["gflops_a_sample"] / 1e3
        bar = bars[line["precision"]]
        figure = f"{rate:.0f} samples/s at batch {batch}, {work:.1f} TFLOP/s, error {line['error']:.1e}"
        made.append(judged(f"{line['network']} {line['precision']}", figure, f"error <= {bar:g}", line["error"] <= bar))
    return made or [("transformers", MISSING, "NO")]


def lanes(rows):
    made = []
    for line in of(rows, "lanes"):
        one, *others = line["rates"]
        gain, count = max((rate / one, lanes) for rate, lanes in zip(others, line["lanes"][1:]))
        what = f"{line['network']}, {line['total']} samples: lanes over one"
        made.append(judged(what, f"{gain:.2f} ({count} lanes)", "a gain", gain > 1))
    return made or [("lanes over one", MISSING, "NO")]


def copies(rows):
    made = []
    for line in of(rows, "copies"):
        if line["policy"] == "no-wait":
            continue
        shares = [line[way]["hidden"] for way in ("in", "out") if line[way]]
        if shares:
            figure = " / ".join(f"{share:.2f}" for share in shares)
            made.append(judged(f"copies hidden in/out, {line['network']} {line['policy']}", figure, ">= 0.9", shares[0] >= 0.9))
    return made or [("copies hidden", MISSING, "NO")]


def overhead(rows):
    made = []
    for line in of(rows, "overhead"):
        what = f"overhead, {line['network']}, {'overlapped' if line['overlapped'] else 'in sequence'}"
        made.append(judged(what, f"{100 * line['overhead']:.1f} %", "<= 2 %", line["overhead"] <= 0.02))
    return made or [("overhead over a bare loop", MISSING, "NO")]


def weights(rows):
    made = []
    for line in of(rows, "weights"):
        size = max(line["weights"], 1)
        copies, lane = line["program"] / size, max(line["lanes"]) / size
        figure = f"{copies:.2f} of them, a lane takes {lane:.2f} more, {line['left']} bytes left"
        made.append(judged(f"weights of {line['network']}, {len(line['lanes'])} lanes", figure, "1 copy", copies < 1.2 and lane < 0.7))
    return made or [("weights' memory", MISSING, "NO")]


def reloads(rows):
    for line in of(rows, "reloads"):
        counts = [line[key] for key in ("lost", "doubled", "different", "leaked", "left")]
        figure = ", ".join(map(str, counts)) + f" of {line['requests']} requests"
        return [judged("200 reloads: lost, doubled, different, leaked, left", figure, "0, 0, 0, 0, 0", not any(counts))]
    return [("200 reloads", MISSING, "NO")]


def against(lines, key, base):
    """Changes of elastic's `key` against that of `base`, network by network."""
    by = {(line["network"], line["policy"]): line[key] for line in lines}
    networks = sorted({line["network"] for line in lines})
    pairs = ((by.get((n, "elastic")), by.get((n, base))) for n in networks)
    return [100 * (ours / other - 1) for ours, other in pairs if ours and other]


def ebird(rows):
    lines = of(rows, "ebird")
    made = []
    for what, key, base, paper in (
        ("low load, p50", "low_p50_ms", "opt-wait 30 ms", papers.EBIRD_LOW),
        ("burst, mean", "fast_mean_ms", "opt-wait 30 ms", papers.EBIRD_BURST),
        ("steady, samples/s", "samples_per_s", "opt-wait best", papers.EBIRD_THROUGHPUT),
    ):
        changes = against(lines, key, base)
        figure = f"{min(changes):+.0f} to {max(changes):+.0f} %, mean {mean(changes):+.0f} %" if changes else MISSING
        made.append((f"elastic against {base}: {what}", figure, f"Ebird: {paper}"))
    return made


def searches(rows):
    made = []
    for name, row in rows.items():
        if not name.startswith("imn"):
            continue
        report = next((line for line in row.lines if "score" in line), None)
        figure = (
            f"{report['score']:.0f} samples/s in {report['elapsed_s']:.0f} s, {report['evaluations']} matrices"
            if report
            else MISSING
        )
        made.append((name, figure, f"paper: {papers.TABLE_ONE[name.split()[0]]}"))
    return made


PARTS = (answers, exports, sanitized, contest, transformers, lanes, copies, ebird, searches, overhead, weights, reloads)
