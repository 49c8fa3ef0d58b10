"""Networks against PyTorch: python -m gpu.contest ROWS_PROGRAM

Compiles until it is told "go" (or there is no more to compile), then both take turns. A
ratio is the median of the rounds' ratios, each at its own best batch."""

import gc
import json
import select
import sys
import time
from statistics import median

import torch

from .ours import Ours
from .torch_side import NAMES, Eager, compiled, model, prepare

BATCHES = (32, 64, 128, 256)
COMPILED = (128, 256)
BRIEF, TURN, ROUNDS = 0.25, 0.4, 5


def tell(**line):
    print(json.dumps(line), flush=True)


def told_to_go():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def compile_all():
    """Compiled networks by name and batch, as many as there is time for."""
    made = {}
    for rows in COMPILED:
        for network in NAMES:
            if rows != COMPILED[0] and told_to_go():
                return made
            began = time.monotonic()
            try:
                made[network, rows] = compiled(network, rows)
                tell(network=network, compiled=rows, seconds=time.monotonic() - began)
            except Exception as error:  # whatever the compiler comes to
                tell(network=network, compiled=rows, trouble=repr(error)[:300])
    return made


def rate(contestant, seconds):
    return contestant.rows / median(contestant.turn(seconds))


def best(contestants):
    """The fastest, by a brief turn of each."""
    rated = [(rate(one, BRIEF), one) for one in contestants]
    return max(rated, key=lambda pair: pair[0])[1] if rated else None


def eager(network):
    call, made = model(network), []
    for rows in BATCHES:
        try:
            made.append(Eager(call, rows))
        except torch.OutOfMemoryError:
            break
    return best(made)


class Lane:
    """Ours, at one batch; another batch is another one."""

    def __init__(self, ours, network, rows):
        self.ours, self.rows = ours, rows
        ours.load(network, rows)

    def turn(self, seconds):
        return self.ours.turn(seconds)


def our_best(ours, network):
    rated = {}
    for rows in BATCHES:
        try:
            rated[rows] = rate(Lane(ours, network, rows), BRIEF)
        except RuntimeError as error:
            tell(network=network, ours=rows, trouble=str(error)[:300])
    if not rated:
        raise RuntimeError("ours runs at no batch")
    return Lane(ours, network, max(rated, key=rated.get)), rated


def rounds(contestants):
    rates = {name: [] for name in contestants}
    for turn in range(ROUNDS):
        order = list(contestants)
        for name in order if turn % 2 == 0 else reversed(order):
            rates[name].append(rate(contestants[name], TURN))
    return rates


def ratio(rates, other):
    if other not in rates:
        return None
    return median(a / b for a, b in zip(rates["ours"], rates[other]))


def contest(ours, network, made):
    lane, scanned = our_best(ours, network)
    contestants = {"ours": lane}
    for name, one in (("eager", eager(network)), ("compiled", best(m for (n, _), m in made.items() if n == network))):
        if one:
            contestants[name] = one
    rates = rounds(contestants)
    tell(
        network=network,
        batches={name: one.rows for name, one in contestants.items()},
        samples_per_s={name: median(all_rates) for name, all_rates in rates.items()},
        over_eager=ratio(rates, "eager"),
        over_compiled=ratio(rates, "compiled"),
        ours_by_batch=scanned,
    )


def main():
    prepare()
    made = compile_all()
    tell(torch=torch.__version__, cudnn=torch.backends.cudnn.version(), gpu=torch.cuda.get_device_name())
    sys.stdin.readline()
    ours = Ours(sys.argv[1])
    for network in NAMES:
        try:
            contest(ours, network, made)
        except Exception as error:
            tell(network=network, trouble=repr(error)[:300])
            ours.end()
            ours = Ours(sys.argv[1])
        made = {key: one for key, one in made.items() if key[0] != network}
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
