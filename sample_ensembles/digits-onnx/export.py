"""Exports members of `digits` to ONNX with the weights that come with it.

    pip install torch onnx safetensors
    python export.py
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits"


class Perceptron(nn.Module):
    def __init__(self, hidden, classes=10):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, hidden)])
        self.head = nn.Linear(hidden, classes)

    def forward(self, image):
        return self.head(self.layers[0](image.flatten(1)).relu())


class ConvNorm(nn.Module):
    """A 3×3 convolution, its norm and a ReLU."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.bn(self.conv(x)).relu()


class Convnet(nn.Module):
    """One convolution a stage, a 2×2 max pool between stages."""

    def __init__(self, channels, classes=10):
        super().__init__()
        inputs = [1, *channels]
        stages = [nn.ModuleList([ConvNorm(i, o)]) for i, o in zip(inputs, channels)]
        self.features = nn.ModuleList(stages)
        self.classifier = nn.Linear(channels[-1], classes)

    def forward(self, x):
        for at, stage in enumerate(self.features):
            x = stage[0](F.max_pool2d(x, 2) if at else x)
        return self.classifier(x.mean((2, 3)))


class Block(nn.Module):
    """Two 3×3 convolutions beside a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if inputs != outputs:
            project = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(project, nn.BatchNorm2d(outputs))

    def forward(self, x):
        short = x if self.downsample is None else self.downsample(x)
        x = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (x + short).relu()


class Resnet(nn.Module):
    """One block a stage; each stage but the first halves the image."""

    def __init__(self, channels, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels[0])
        inputs = [channels[0], *channels]
        for at, (i, o) in enumerate(zip(inputs, channels)):
            stage = nn.Sequential(Block(i, o, 2 if at else 1))
            setattr(self, f"layer{at + 1}", stage)
        self.stages = len(channels)
        self.fc = nn.Linear(channels[-1], classes)

    def forward(self, x):
        x = self.bn1(self.conv1(x)).relu()
        for at in range(self.stages):
            x = getattr(self, f"layer{at + 1}")(x)
        return self.fc(x.mean((2, 3)))


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        inner = self.norm2(self.conv1(self.norm1(x).relu())).relu()
        return torch.cat([x, self.conv2(inner)], 1)


class Transition(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, inputs // 2, 1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(self.norm(x).relu()), 2)


class Densenet(nn.Module):
    """Dense blocks over the image of twice the sides, with transitions between them."""

    def __init__(self, growth, blocks, classes=10):
        super().__init__()
        width = 2 * growth
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(1, width, 3, padding=1, bias=False))
        for at, layers in enumerate(blocks):
            if at:
                self.features.add_module(f"transition{at}", Transition(width))
                width //= 2
            block = nn.Sequential()
            for layer in range(layers):
                block.add_module(f"denselayer{layer + 1}", DenseLayer(width, growth))
                width += growth
            self.features.add_module(f"denseblock{at + 1}", block)
        self.features.add_module("norm_last", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, classes)

    def forward(self, x):
        x = F.interpolate(x, size=(16, 16), mode="bilinear", align_corners=False)
        return self.classifier(self.features(x).relu().mean((2, 3)))


MEMBERS = {
    "mlp": Perceptron(64),
    "cnn-s": Convnet([8, 16]),
    "res-s": Resnet([16, 32]),
    "dense": Densenet(12, [4, 4]),
}


def main():
    for name, network in MEMBERS.items():
        state = load_file(DIGITS / f"{name}.safetensors")
        counters = (key for key in network.state_dict() if key.endswith("num_batches_tracked"))
        state |= {key: torch.tensor(0) for key in counters}
        network.load_state_dict(state)
        torch.onnx.export(
            network.eval(),
            (torch.zeros(1, 1, 8, 8),),
            HERE / f"{name}.onnx",
            input_names=["image"],
            output_names=["logits"],
            dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )


if __name__ == "__main__":
    main()
