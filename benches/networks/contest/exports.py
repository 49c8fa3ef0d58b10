"""ONNX files as PyTorch's exporter writes them."""

import warnings
from pathlib import Path

import torch
from onnx_exports import first_answer

from contest.catalogue import EXPORTED, TEXT, Network
from contest.onnx_model import BATCH, OPSET

# In the order of the rows of a sample.
TEXT_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def image(network: Network, weights: Path, path: Path) -> None:
    """Writes torchvision's network with the weights of our safetensors file."""
    from safetensors.torch import load_file
    from torchvision.models import get_model

    model = get_model(EXPORTED[network.name], weights=None).eval()
    left = model.load_state_dict(load_file(weights), strict=False)
    missing = [name for name in left.missing_keys if not name.endswith("num_batches_tracked")]
    if missing or left.unexpected_keys:
        raise SystemExit(f"{network.name}: torchvision has other weights: {missing or left.unexpected_keys}")
    write(model, (torch.zeros(1, *network.shape),), ["input"], path)


def text(network: Network, seed: int, path: Path) -> None:
    """Writes Hugging Face's network with weights by the seed."""
    import transformers as hf

    small = {"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12, "intermediate_size": 1536}
    sizes = {"minilm-l6": small, "bert-base": {}}
    torch.manual_seed(seed)
    model = hf.BertModel(hf.BertConfig(**sizes[TEXT.fullmatch(network.name)[1]]))
    ones = torch.ones(1, network.shape[1], dtype=torch.long)
    model = first_answer(torch)(model, TEXT_INPUTS).eval()
    write(model, (ones, ones, 0 * ones), TEXT_INPUTS, path)


def write(model, inputs: tuple, names: list[str], path: Path) -> None:
    warnings.filterwarnings("ignore")
    axes = {name: {0: BATCH} for name in [*names, "output"]}
    torch.onnx.export(model, inputs, str(path), input_names=names, output_names=["output"],
                      dynamo=False, opset_version=OPSET, dynamic_axes=axes)
