#!/usr/bin/env python3
"""Makes the sample ensemble `snippets` again: lines, tokenizer, networks.

    pip install torch==2.15.0 onnx==1.23.2 tokenizers==0.23.3
    python3 examples/train_snippets/train.py sample_ensembles/snippets [--lines]

The lines are this repository's own. `--lines` collects them anew; without it, those of the folder are taken.
`train.csv` trains; no file of the repository has lines both there and in `test.csv`.
"""
import csv
import hashlib
import json
import pathlib
import random
import subprocess
import sys

import onnx
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn

LANGUAGES = {
    "c++": (".cpp", ".h", ".cu", ".cuh"),
    "markdown": (".md",),
    "python": (".py",),
    "rust": (".rs",),
    "toml": (".toml",),
}
NAMES = list(LANGUAGES)
# Lines of each language that train, and that are left for the test, at most.
TRAIN, TEST = 900, 300
LENGTH, VOCABULARY, EPOCHS = 48, 768, 24
# Made files, and files about languages.
SKIPPED = ("sample_ensembles", "examples/train_snippets", "tests/runtime/onnx_files", "CHANGELOG")


def lines_of(suffixes):
    """Returns the lines of files with these ends: those of the test, and those that train."""
    found = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    parts = {True: [], False: []}
    for name in found:
        if name.endswith(suffixes) and not name.startswith(SKIPPED):
            is_test = hashlib.sha256(name.encode()).digest()[0] < 72
            text = pathlib.Path(name).read_text()
            parts[is_test] += [line.strip() for line in text.splitlines()]
    return parts[True], parts[False]


def is_line(line):
    return 10 <= len(line) <= 120 and sum(map(str.isalpha, line)) >= 5


def collect(folder):
    """Writes the lines that train, and those of the test; none is there twice."""
    chance, seen, rows = random.Random(1), set(), {False: [], True: []}
    for label, suffixes in LANGUAGES.items():
        for part, lines, most in zip((True, False), lines_of(suffixes), (TEST, TRAIN)):
            lines = sorted({line for line in lines if is_line(line) and line not in seen})
            seen.update(lines)
            chance.shuffle(lines)
            rows[part] += [(line, label) for line in lines[:most]]
    for part, name in [(False, "train.csv"), (True, "test.csv")]:
        chance.shuffle(rows[part])
        with open(folder / name, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("text", "label"), *rows[part]])


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


def train_tokenizer(texts, folder):
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["[PAD]", "[CLS]", "[SEP]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet,
                                  show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(LENGTH)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]", length=LENGTH)
    return tokenizer


class Mean(nn.Module):
    """The mean of the tokens' embeddings, and a perceptron."""

    def __init__(self, width=32, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.head = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(0.3), nn.Linear(hidden, len(NAMES)))

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.to(torch.float32).unsqueeze(-1)
        return self.head((self.embedding(input_ids) * mask).sum(1) / mask.sum(1))


class Convolutional(nn.Module):
    """Convolutions over three tokens, and the largest value of each channel (Kim 2014, arXiv 1408.5882)."""

    def __init__(self, width=48, channels=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.first = nn.Conv1d(width, channels, 3, padding=1)
        self.second = nn.Conv1d(channels, channels, 3, padding=1)
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(channels, len(NAMES)))

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.to(torch.float32).unsqueeze(1)
        x = self.embedding(input_ids).transpose(1, 2) * mask
        x = torch.relu(self.first(x)) * mask
        x = torch.relu(self.second(x)) * mask
        return self.head(x.amax(2))


class Layer(nn.Module):
    """A layer of an encoder, norms first."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.joined = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    def forward(self, x, bias):
        y = self.before(x)
        scores = self.split(self.query(y)) @ self.split(self.key(y)).transpose(2, 3) / self.size**0.5
        y = (torch.softmax(scores + bias, -1) @ self.split(self.value(y))).transpose(1, 2).flatten(2)
        x = x + self.drop(self.joined(y))
        return x + self.drop(self.narrow(torch.nn.functional.gelu(self.wide(self.between(x)))))


class Attentive(nn.Module):
    """Two layers of a transformer's encoder (Vaswani and others 2017, arXiv 1706.03762)."""

    def __init__(self, width=64, heads=4, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(LENGTH, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(NAMES))

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.to(torch.float32)
        x = self.embedding(input_ids) + self.positions.weight[: input_ids.shape[1]]
        bias = (1.0 - mask)[:, None, None, :] * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        mask = mask.unsqueeze(-1)
        return self.head((self.norm(x) * mask).sum(1) / mask.sum(1))


def tensors(tokenizer, rows):
    encoded = tokenizer.encode_batch([text for text, _ in rows])
    ids = torch.tensor([one.ids for one in encoded])
    mask = torch.tensor([one.attention_mask for one in encoded])
    return ids, mask, torch.tensor([NAMES.index(label) for _, label in rows])


def train(network, ids, mask, labels):
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.01)
    batches = -(-len(ids) // 32)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, EPOCHS * batches)
    network.train()
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(ids)).split(32):
            optimiser.zero_grad()
            # Tokens left out at random keep a network from learning lines by heart.
            kept = (torch.rand(ids[batch].shape) > 0.15).long()
            kept[:, 0] = 1
            loss = nn.functional.cross_entropy(network(ids[batch], mask[batch] * kept), labels[batch])
            loss.backward()
            optimiser.step()
            schedule.step()
    return network.eval()


def export(network, path, ids, mask):
    names, open_dims = ["input_ids", "attention_mask"], {0: "batch", 1: "length"}
    torch.onnx.export(network, (ids[:2], mask[:2]), str(path), input_names=names, output_names=["logits"],
                      dynamic_axes={name: open_dims for name in names} | {"logits": {0: "batch"}},
                      opset_version=17, dynamo=False)
    onnx.checker.check_model(onnx.load(path))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if "--lines" in sys.argv:
        collect(folder)
    parts = read(folder / "train.csv"), read(folder / "test.csv")
    tokenizer = train_tokenizer([text for text, _ in parts[0]], folder)
    trained, test = (tensors(tokenizer, part) for part in parts)
    total = 0
    for name, make in [("mean", Mean), ("conv", Convolutional), ("attention", Attentive)]:
        torch.manual_seed(7)
        network = train(make(), *trained)
        with torch.no_grad():
            scores = network(*test[:2])
        total = total + torch.softmax(scores, -1)
        print(name, (scores.argmax(-1) == test[2]).float().mean().item())
        export(network, folder / f"{name}.onnx", *test[:2])
    print("average", (total.argmax(-1) == test[2]).float().mean().item(), "of", len(test[2]))


main()
