"""The synthetic weights that `divisi network show NAME --format json` describes, bit for bit.

    divisi network show resnet18 --format json > resnet18.json
    python divisi_weights.py resnet18.json resnet18.safetensors

Without a second file it prints a checksum of each tensor (`tests/runtime/weights.rs` has
some).

Value i of a tensor with a `key` and a `bound` is (2u - 1) * bound in float32, where u is
the upper 24 bits of SplitMix64's output for the counter key + i, over 2**24.
"""

import json
import sys

import numpy as np


def mix(counter):
    """SplitMix64's output function (Steele, Lea and Flood 2014, figure 17), of an array."""
    z = counter + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(key, count):
    """`count` numbers from -1 to 1 in float32, by a counter that starts at `key`."""
    bits = mix(np.uint64(key) + np.arange(count, dtype=np.uint64))
    upper = (bits >> np.uint64(40)).astype(np.float32)
    return upper / np.float32(2**24) * np.float32(2) - np.float32(1)


def values(tensor):
    """One entry of the description's `tensors` as an array."""
    shape = tensor["shape"]
    if "constant" in tensor:
        return np.full(shape, tensor["constant"], dtype=np.float32)
    drawn = uniform(int(tensor["key"]), int(np.prod(shape)))
    return (drawn * np.float32(tensor["bound"])).reshape(shape)


def weights(description):
    """All parameters by name."""
    return {tensor["name"]: values(tensor) for tensor in description["tensors"]}


def checksum(array):
    """The sum of bits(i) * (2i + 1), modulo 2**64."""
    bits = array.ravel().view(np.uint32).astype(np.uint64)
    odd = 2 * np.arange(bits.size, dtype=np.uint64) + np.uint64(1)
    return int(np.sum(bits * odd, dtype=np.uint64))


def main():
    with open(sys.argv[1]) as file:
        made = weights(json.load(file))
    if len(sys.argv) == 2:
        for name, array in made.items():
            print(f"{name} {checksum(array):#018x}")
        return
    from safetensors.numpy import save_file

    save_file(made, sys.argv[2])


if __name__ == "__main__":
    main()
