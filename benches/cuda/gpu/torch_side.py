"""PyTorch's side of the contest: torchvision's networks in bf16, channels-last, eager and
compiled."""

import time

import torch
import torchvision

NAMES = {"resnet50": "resnet50", "resnet152": "resnet152", "densenet121": "densenet121", "vgg19": "vgg19"}
SIDE = 224


def prepare():
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)


def model(network):
    made = torchvision.models.get_model(NAMES[network], weights=None).eval()
    return made.to("cuda", torch.bfloat16, memory_format=torch.channels_last)


def samples(rows):
    drawn = torch.randn(rows, 3, SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
    return drawn.to(memory_format=torch.channels_last)


class Eager:
    """A network and samples for it, which lie in the GPU's memory as ours do."""

    def __init__(self, call, rows):
        self.call, self.rows, self.samples = call, rows, samples(rows)
        with torch.inference_mode():
            for _ in range(3):
                self.call(self.samples)
        torch.cuda.synchronize()

    def turn(self, seconds):
        """Seconds of each batch, by the GPU's own clock."""
        events = [self._mark()]
        began = time.monotonic()
        with torch.inference_mode():
            while time.monotonic() - began < seconds:
                self.call(self.samples)
                events.append(self._mark())
                # No more than a few ahead of the GPU, so that a turn ends in time.
                if len(events) > 3:
                    events[-3].synchronize()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])][1:]

    def _mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event


def compiled(network, rows):
    """The network compiled for batches of `rows`; slow."""
    call = torch.compile(model(network), dynamic=False)
    return Eager(call, rows)
