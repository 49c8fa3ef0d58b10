#!/usr/bin/env python3
"""Networks as PyTorch exports them today, answered beside ONNX Runtime.

    python3 -m venv exports && exports/bin/pip install torch torchvision transformers onnx onnxscript onnxruntime
    exports/bin/python benches/networks/onnx_exports.py make FOLDER
    exports/bin/python benches/networks/onnx_exports.py compare FOLDER --divisi target/release/divisi

`make` writes each network twice, by the older exporter (`NAME_legacy.onnx`) and by today's
(`NAME_dynamo.onnx`), with random weights. `compare` says how far the answers are apart as a share
of the largest value; 1e-4 is the most. `plans` counts the steps that no kernel of Divisi's computes.
`onnx_speed.py` beside this times them.
"""

import argparse
import itertools
import json
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnxruntime as ort

IMAGES = [
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet",
    "inception_v3", "maxvit_t", "mnasnet0_5", "mobilenet_v3_large", "mobilenet_v3_small",
    "regnet_y_400mf", "resnet18", "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "swin_v2_t",
    "vit_b_32",
]
SIDES = {"inception_v3": 299, "swin_v2_t": 256}
# The smallest of many families of timm.
FAMILIES = [
    "bat_resnext26ts", "botnet26t_256", "cait_xxs24_224", "caformer_s18", "coat_lite_tiny", "coatnet_nano_rw_224",
    "convmixer_768_32", "convnextv2_atto", "crossvit_tiny_240", "cs3darknet_s", "deit_tiny_patch16_224", "dla34",
    "dpn48b", "eca_nfnet_l0", "edgenext_xx_small", "efficientformer_l1", "efficientvit_b0", "efficientvit_m0",
    "eva02_tiny_patch14_224", "fastvit_t8", "focalnet_tiny_srf", "gcresnet33ts", "gcvit_xxtiny", "gernet_s",
    "ghostnet_050", "gmlp_ti16_224", "hardcorenas_a", "haloregnetz_b", "hgnetv2_b0", "hiera_tiny_224",
    "hrnet_w18_small", "inception_next_atto", "lambda_resnet26t", "lcnet_035", "legacy_senet18", "levit_128s",
    "mambaout_femto", "mixer_s32_224", "mobilenetv4_conv_small", "mobileone_s0", "mobilevit_xxs", "mobilevitv2_050",
    "mvitv2_tiny", "nest_tiny", "nextvit_small", "pit_ti_224", "poolformer_s12", "pvt_v2_b0", "regnetx_002",
    "regnetz_b16", "repghostnet_050", "repvgg_a0", "repvit_m0_9", "res2net50_14w_8s", "resmlp_12_224", "resnest14d",
    "resnetv2_50", "rexnet_100", "seresnet18", "selecsls42", "sequencer2d_s", "shvit_s1", "skresnet18",
    "starnet_s1", "swiftformer_xs", "swin_tiny_patch4_window7_224", "swinv2_cr_tiny_224", "tf_mixnet_s",
    "tiny_vit_5m_224", "tinynet_e", "tresnet_m", "twins_svt_small", "vgg11", "visformer_tiny",
    "vit_tiny_patch16_224", "vit_tiny_r_s16_p8_224", "volo_d1_224", "vovnet39a", "xcit_nano_12_p16_224",
]
TYPES = {
    "tensor(float)": ("FP32", np.float32), "tensor(int64)": ("INT64", np.int64),
    "tensor(int32)": ("INT32", np.int32), "tensor(bool)": ("BOOL", np.bool_),
}
MOST = 1e-4


def images(torch):
    """Classifiers of torchvision, with statistics of norms that are not the identity."""
    from torchvision.models import get_model

    for name in IMAGES:
        extra = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        model = get_model(name, weights=None, **extra).eval()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.5, 1.5)
            # Vision transformers begin with heads of zeros, whose answers would say nothing.
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight, 0, 0.02)
        side = SIDES.get(name, 224)
        yield name, model, (torch.randn(1, 3, side, side),), ["input"]


def families(torch):
    """The smallest networks of timm's families, with random weights everywhere."""
    import timm

    known = set(timm.list_models())
    for name in [*timm.list_models("test_*"), *(f for f in FAMILIES if f in known)]:
        model = timm.create_model(name, pretrained=False, num_classes=100, exportable=True).eval()
        for parameter in model.parameters():
            if parameter.abs().max() == 0:
                torch.nn.init.normal_(parameter, 0, 0.02)
        side = model.default_cfg["input_size"][-1]
        yield f"timm_{name}", model, (torch.randn(1, 3, side, side),), ["input"]


def first_answer(torch):
    """Returns the module that answers with a Hugging Face model's first output alone."""

    class Answer(torch.nn.Module):
        def __init__(self, model, names):
            super().__init__()
            self.model, self.names = model, names

        def forward(self, *inputs):
            answer = self.model(**dict(zip(self.names, inputs)))
            return answer.logits if hasattr(answer, "logits") else answer.last_hidden_state

    return Answer


def texts(torch):
    """Encoders of Hugging Face: small ones for answers, two of the usual size."""
    import transformers as hf

    Answer = first_answer(torch)
    small = dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
    three = ["input_ids", "attention_mask", "token_type_ids"]
    two = three[:2]
    distil = hf.DistilBertConfig(n_layers=2, dim=128, n_heads=4, hidden_dim=256, vocab_size=1000)
    minilm = hf.BertConfig(num_hidden_layers=6, hidden_size=384, num_attention_heads=12, intermediate_size=1536)
    models = [
        ("bert_eager", hf.BertModel(hf.BertConfig(**small, attn_implementation="eager")), three, 12),
        ("bert_sdpa", hf.BertModel(hf.BertConfig(**small)), three, 12),
        ("bert_classifier", hf.BertForSequenceClassification(hf.BertConfig(**small)), three, 12),
        ("distilbert", hf.DistilBertModel(distil), two, 12),
        ("roberta", hf.RobertaModel(hf.RobertaConfig(**small)), two, 12),
        ("mpnet", hf.MPNetModel(hf.MPNetConfig(**small)), two, 12),
        ("deberta_v2", hf.DebertaV2Model(hf.DebertaV2Config(**small)), two, 12),
        ("bert_base_128", hf.BertModel(hf.BertConfig()), three, 128),
        ("minilm_l6_128", hf.BertModel(minilm), three, 128),
    ]
    for name, model, names, length in models:
        inputs = [torch.randint(2, 900, (1, length)), torch.ones(1, length, dtype=torch.long),
                  torch.zeros(1, length, dtype=torch.long)]
        yield name, Answer(model, names).eval(), tuple(inputs[: len(names)]), names


def more_texts(torch):
    """Further encoders, each in a small configuration with what all of them call their sizes."""
    import transformers as hf

    sizes = dict(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128, vocab_size=1000)
    made = {
        "albert": (hf.AlbertModel, hf.AlbertConfig(**sizes, embedding_size=32)),
        "camembert": (hf.CamembertModel, hf.CamembertConfig(**sizes)),
        "convbert": (hf.ConvBertModel, hf.ConvBertConfig(**sizes, embedding_size=64)),
        "data2vec_text": (hf.Data2VecTextModel, hf.Data2VecTextConfig(**sizes)),
        "deberta": (hf.DebertaModel, hf.DebertaConfig(**sizes)),
        "electra": (hf.ElectraModel, hf.ElectraConfig(**sizes, embedding_size=32)),
        "ernie": (hf.ErnieModel, hf.ErnieConfig(**sizes)),
        "fnet": (hf.FNetModel, hf.FNetConfig(num_hidden_layers=2, hidden_size=64, intermediate_size=128, vocab_size=1000)),
        "gpt2": (hf.GPT2Model, hf.GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=1000, use_cache=False)),
        "ibert": (hf.IBertModel, hf.IBertConfig(**sizes)),
        "layoutlm": (hf.LayoutLMModel, hf.LayoutLMConfig(**sizes)),
        "mobilebert": (hf.MobileBertModel, hf.MobileBertConfig(num_hidden_layers=2, hidden_size=64, vocab_size=1000,
                       num_attention_heads=4, intermediate_size=64, embedding_size=32, true_hidden_size=32,
                       intra_bottleneck_size=32)),
        "modernbert": (hf.ModernBertModel, hf.ModernBertConfig(**sizes, pad_token_id=0)),
        "nystromformer": (hf.NystromformerModel, hf.NystromformerConfig(**sizes)),
        "rembert": (hf.RemBertModel, hf.RemBertConfig(**sizes)),
        "roformer": (hf.RoFormerModel, hf.RoFormerConfig(**sizes)),
        "squeezebert": (hf.SqueezeBertModel, hf.SqueezeBertConfig(**sizes, embedding_size=64)),
        "t5_encoder": (hf.T5EncoderModel, hf.T5Config(num_layers=2, d_model=64, d_ff=128, num_heads=4, d_kv=16, vocab_size=1000)),
        "xlm_roberta": (hf.XLMRobertaModel, hf.XLMRobertaConfig(**sizes)),
        "yoso": (hf.YosoModel, hf.YosoConfig(**sizes, use_expectation=True)),
    }

    class Answer(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    for name, (kind, config) in made.items():
        inputs = (torch.randint(2, 900, (1, 12)), torch.ones(1, 12, dtype=torch.long))
        yield f"hf_{name}", Answer(kind(config)).eval(), inputs, ["input_ids", "attention_mask"]


def more_images(torch):
    """Vision models of Hugging Face in small configurations; the first tensor of their answers."""
    import transformers as hf

    small = dict(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128)
    side = dict(image_size=64, patch_size=16)
    made = {
        "beit": (hf.BeitModel, hf.BeitConfig(**small, **side)),
        "clip_vision": (hf.CLIPVisionModel, hf.CLIPVisionConfig(**small, **side)),
        "convnext": (hf.ConvNextModel, hf.ConvNextConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])),
        "convnextv2": (hf.ConvNextV2Model, hf.ConvNextV2Config(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])),
        "cvt": (hf.CvtModel, hf.CvtConfig(embed_dim=[16, 32, 48], num_heads=[1, 2, 3], depth=[1, 1, 1], drop_path_rate=[0.0, 0.0, 0.0])),
        "deit": (hf.DeiTModel, hf.DeiTConfig(**small, **side)),
        "dinov2": (hf.Dinov2Model, hf.Dinov2Config(**small, **side)),
        "dpt": (hf.DPTForDepthEstimation, hf.DPTConfig(**small, **side, backbone_out_indices=[0, 1, 1, 1],
                neck_hidden_sizes=[16, 32, 48, 64], fusion_hidden_size=32)),
        "focalnet": (hf.FocalNetModel, hf.FocalNetConfig(image_size=64, embed_dim=16, depths=[1, 1, 1, 1])),
        "glpn": (hf.GLPNForDepthEstimation, hf.GLPNConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1],
                 num_attention_heads=[1, 1, 2, 4], decoder_hidden_size=16)),
        "levit": (hf.LevitModel, hf.LevitConfig(image_size=64, hidden_sizes=[32, 48, 64], num_attention_heads=[2, 3, 4],
                  depths=[1, 1, 1], key_dim=[8, 8, 8])),
        "mobilenet_v2": (hf.MobileNetV2Model, hf.MobileNetV2Config(depth_multiplier=0.35)),
        "mobilevit": (hf.MobileViTModel, hf.MobileViTConfig(image_size=64, hidden_sizes=[32, 48, 64],
                      neck_hidden_sizes=[8, 16, 24, 32, 40, 48, 64])),
        "poolformer": (hf.PoolFormerModel, hf.PoolFormerConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])),
        "pvt": (hf.PvtModel, hf.PvtConfig(image_size=64, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])),
        "regnet": (hf.RegNetModel, hf.RegNetConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], groups_width=8)),
        "resnet": (hf.ResNetModel, hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])),
        "segformer": (hf.SegformerForSemanticSegmentation, hf.SegformerConfig(hidden_sizes=[16, 32, 48, 64],
                      depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 4], decoder_hidden_size=32)),
        "siglip_vision": (hf.SiglipVisionModel, hf.SiglipVisionConfig(**small, **side)),
        "swin": (hf.SwinModel, hf.SwinConfig(image_size=64, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4)),
        "swin2sr": (hf.Swin2SRForImageSuperResolution, hf.Swin2SRConfig(image_size=64, embed_dim=16, depths=[2],
                    num_heads=[2], window_size=4, upscale=2)),
        "swinv2": (hf.Swinv2Model, hf.Swinv2Config(image_size=64, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4)),
        "upernet": (hf.UperNetForSemanticSegmentation, hf.UperNetConfig(hidden_size=32, auxiliary_in_channels=48,
                    backbone_config=hf.ConvNextConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1],
                    out_features=["stage1", "stage2", "stage3", "stage4"]))),
        "vit": (hf.ViTModel, hf.ViTConfig(**small, **side)),
        "vit_msn": (hf.ViTMSNModel, hf.ViTMSNConfig(**small, **side)),
        "vitdet": (hf.VitDetModel, hf.VitDetConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, **side)),
        "yolos": (hf.YolosForObjectDetection, hf.YolosConfig(**small, image_size=[64, 64], patch_size=16, num_detection_tokens=10)),
    }

    class First(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, pixel_values):
            return self.model(pixel_values, return_dict=False)[0]

    for name, (kind, config) in made.items():
        try:
            model = kind(config)
        except Exception as error:  # The sizes do not suit it.
            print(f"hf_{name}: not made: {error}")
            continue
        yield f"hf_{name}", First(model).eval(), (torch.randn(1, 3, 64, 64),), ["pixel_values"]


def make(folder: Path, only: str, kinds: list[str]) -> None:
    import torch

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, inputs, names in itertools.chain(
        images(torch), texts(torch), more_texts(torch), more_images(torch), families(torch)
    ):
        if only not in name:
            continue
        for kind in kinds:
            try:
                print(exported(folder, name, kind, model, inputs, names).name)
            except Exception as error:  # The exporters fail in many ways of their own.
                print(f"{name}_{kind}.onnx: not exported: {str(error).splitlines()[0][:100]}")


def exported(folder: Path, name: str, kind: str, model, inputs: tuple, names: list[str]) -> Path:
    """Writes a network by one exporter."""
    import torch

    path = folder / f"{name}_{kind}.onnx"
    how = {"dynamo": True} if kind == "dynamo" else {"dynamo": False, "opset_version": 17}
    # The older exporter leaves the batch open, today's fixes it to 1.
    if kind == "legacy":
        how["dynamic_axes"] = {n: {0: "N"} for n in [*names, "output"]}
    torch.onnx.export(model, inputs, str(path), input_names=names, output_names=["output"], **how)
    return path


def session(file: Path, threads: int) -> tuple[ort.InferenceSession, dict]:
    """A session, and inputs that it takes: the end of a mask is 0."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    made = ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    feed = {}
    for tensor in made.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
        _, number = TYPES[tensor.type]
        if number is np.float32:
            feed[tensor.name] = random.standard_normal(shape).astype(number)
        elif "mask" in tensor.name:
            feed[tensor.name] = np.ones(shape, number)
            feed[tensor.name][..., -3:] = 0
        else:
            most = 2 if "type" in tensor.name else 900
            feed[tensor.name] = random.integers(0, most, shape).astype(number)
    return made, feed


def written(feed: dict, made: ort.InferenceSession) -> str:
    types = {tensor.name: TYPES[tensor.type][0] for tensor in made.get_inputs()}
    tensors = [
        {"name": name, "datatype": types[name], "shape": list(value.shape), "data": value.flatten().tolist()}
        for name, value in feed.items()
    ]
    return json.dumps({"inputs": tensors})


def apart(file: Path, divisi: str, device: list[str]) -> float | str:
    """How far the answers are apart, or why there are none. `device` are options that name one."""
    made, feed = session(file, 1)
    expected = made.run(None, feed)
    with tempfile.TemporaryDirectory() as folder:
        taken, answered = Path(folder) / "in.json", Path(folder) / "out.json"
        taken.write_text(written(feed, made))
        command = [divisi, "network", "run", str(file), "--input", str(taken), "--output", str(answered), *device]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            return ran.stderr.strip()
        outputs = json.loads(answered.read_text())["outputs"]
    most = 0.0
    for theirs, ours in zip(expected, outputs, strict=True):
        values = np.array([np.nan if v is None else v for v in ours["data"]], dtype=np.float64)
        theirs = theirs.astype(np.float64).flatten()
        if values.size != theirs.size:
            return f"{values.size} values, not {theirs.size}"
        most = max(most, float(np.abs(values - theirs).max() / max(np.abs(theirs).max(), 1e-9)))
    return most if np.isfinite(most) else "values that are not finite"


def compare(files: list[Path], divisi: str, device: list[str]) -> None:
    good = 0
    for file in files:
        found = apart(file, divisi, device)
        good += isinstance(found, float) and found <= MOST
        print(f"{file.name:36} {found if isinstance(found, str) else f'{found:.1e}'}", flush=True)
    print(f"{good} of {len(files)} within {MOST}")


def plans(files: list[Path], divisi: str) -> None:
    """Counts the steps that have no kernel of Divisi's, which Candle runs."""
    whole = read = 0
    for file in files:
        command = [divisi, "network", "show", str(file), "--plan", "--format", "json"]
        shown = subprocess.run(command, capture_output=True, text=True)
        if shown.returncode:
            print(f"{file.name:36} {shown.stderr.strip().splitlines()[-1]}", flush=True)
            continue
        steps = json.loads(shown.stdout)["plan"]["steps"]
        candle = [step["layer"] for step in steps if step["method"] == "candle"]
        read, whole = read + 1, whole + (not candle)
        print(f"{file.name:36} {len(candle)} of {len(steps)} steps by Candle {' '.join(candle[:3])}", flush=True)
    print(f"{whole} of {read} wholly by kernels")


def on(device: str | None) -> list[str]:
    """The options of `network run` for a device."""
    return ["--device", device, "--precision", "f32"] if device else []


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("what", choices=["make", "compare", "plans"])
    options.add_argument("folder", type=Path)
    options.add_argument("--divisi", default="target/release/divisi", help="the program")
    options.add_argument("--only", default="", help="networks whose name holds this text")
    options.add_argument("--device", help="for `compare`: a GPU such as cuda:0, in float32")
    options.add_argument("--exporters", nargs="+", default=["legacy", "dynamo"], help="for `make`")
    asked = options.parse_args()
    if asked.what == "make":
        return make(asked.folder, asked.only, asked.exporters)
    files = sorted(f for f in asked.folder.glob("*.onnx") if asked.only in f.name)
    if asked.what == "plans":
        return plans(files, asked.divisi)
    compare(files, asked.divisi, on(asked.device))


if __name__ == "__main__":
    main()
