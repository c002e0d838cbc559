"""Tiny hub readers with ONNX: a bag of word vectors with labels, with the inputs and outputs of exported models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SIZE, WIDE = 120, 8
TEXTS = (
    "Day tickets are valid until three in the morning. They cost six euros. Dogs travel free on a lap. 35 53 £ fee",
)


def tokenizer(folder: Path, *, pair: str = "[CLS] $A [SEP] $B:1 [SEP]:1") -> None:
    """A tokenizer as BERT has it. Its pieces aren't learnt, since a trainer's order isn't the same each time."""
    folder.mkdir(parents=True, exist_ok=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    text = " ".join(TEXTS).lower()
    letters = sorted(set(text) - {" "})
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *sorted(set(re.findall(r"\w{2,}", text)))]
    vocabulary = {piece: number for number, piece in enumerate(pieces[:SIZE])}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(special)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(folder / "tokenizer.json"))
    special_tokens = {"pad_token": "[PAD]", "sep_token": "[SEP]", "cls_token": "[CLS]", "unk_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(special_tokens))


def weights(labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Word vectors (SIZE, WIDE) and a layer (WIDE, labels)."""
    drawn = np.random.default_rng(3)
    return drawn.normal(size=(SIZE, WIDE)).astype(np.float32), drawn.normal(size=(WIDE, labels)).astype(np.float32)


def bag(path: Path, labels: int, kind: type[np.floating] = np.float32, *, pooled: bool = True) -> None:
    """A model: word vectors, their mean over the mask, and a layer; without `pooled`, the vectors themselves."""
    table, layer = (one.astype(kind) for one in weights(labels))
    number = TensorProto.FLOAT16 if kind is np.float16 else TensorProto.FLOAT
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"])]
    if pooled:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["shown"], to=number),
            helper.make_node("Unsqueeze", ["shown", "last"], ["weights"]),
            helper.make_node("Mul", ["words", "weights"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
            helper.make_node("ReduceSum", ["weights", "middle"], ["count"], keepdims=0),
            helper.make_node("Div", ["sum", "count"], ["mean"]),
            helper.make_node("MatMul", ["mean", "layer"], ["logits"]),
        ]
        result = helper.make_tensor_value_info("logits", number, ["b", labels])
    else:
        nodes += [helper.make_node("Identity", ["words"], ["last_hidden_state"])]
        result = helper.make_tensor_value_info("last_hidden_state", number, ["b", "n", WIDE])
    whole = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "n"]) for name in ("input_ids", "attention_mask")
    ]
    named = {"table": table, "last": np.array([2], np.int64), "middle": np.array([1], np.int64), "layer": layer}
    constants = [numpy_helper.from_array(value, name) for name, value in named.items()]
    graph = helper.make_graph(nodes, "bag", whole, [result], constants)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))


def with_data_beside(model: Path) -> Path:
    """Put the weights of a model into a file beside it, as exports of large models do; returns that file."""
    data = f"{model.name}_data"
    onnx.save(onnx.load(str(model)), str(model), save_as_external_data=True, location=data, size_threshold=512)
    return model.with_name(data)


def outside(location: str) -> TensorProto:
    """Weights of which a model says only where they lie."""
    made = TensorProto(dims=[1], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    made.external_data.add(key="location", value=location)
    made.external_data.add(key="offset", value="0")
    return made


def reader(folder: Path, labels: tuple[str, ...] = ("LABEL_0",), languages: str = "en") -> Path:
    """A folder with `onnx/model.onnx`: a reranker with one label, a classifier with several."""
    tokenizer(folder)
    bag(folder / "onnx" / "model.onnx", len(labels))
    config = {
        "architectures": ["XLMRobertaForSequenceClassification"],
        "model_type": "xlm-roberta",
        "id2label": {str(at): label for at, label in enumerate(labels)},
        "hidden_size": WIDE,
        "vocab_size": SIZE,
        "max_position_embeddings": 514,
        "pad_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "README.md").write_text(f"---\nlicense: mit\nlanguage: {languages}\n---\n")
    return folder


def entailment(folder: Path, languages: str = "en") -> Path:
    """A classifier for entailment."""
    return reader(folder, ("entailment", "neutral", "contradiction"), languages)


def sequence_to_sequence(folder: Path) -> Path:
    """A T5 as it is exported: an encoder, and a decoder that gives the logits of the next word."""
    tokenizer(folder)
    special = {"pad_token": "[PAD]", "eos_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(special))
    bag(folder / "onnx" / "encoder_model.onnx", 1, pooled=False)
    shown = helper.make_tensor_value_info("encoder_attention_mask", TensorProto.INT64, ["b", "n"])
    states = helper.make_tensor_value_info("encoder_hidden_states", TensorProto.FLOAT, ["b", "n", WIDE])
    begun = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["b", "m"])
    nodes = [
        helper.make_node("Cast", ["encoder_attention_mask"], ["shown"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["shown", "last"], ["weights"]),
        helper.make_node("Mul", ["encoder_hidden_states", "weights"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=1),
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Add", ["sum", "words"], ["both"]),
        helper.make_node("MatMul", ["both", "layer"], ["logits"]),
    ]
    table, layer = weights(VOCABULARY)
    named = {"table": table, "last": np.array([2], np.int64), "middle": np.array([1], np.int64), "layer": layer}
    constants = [numpy_helper.from_array(value, name) for name, value in named.items()]
    result = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "m", VOCABULARY])
    graph = helper.make_graph(nodes, "decoder", [begun, states, shown], [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "onnx" / "decoder_model.onnx"))
    config = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "d_model": WIDE, "vocab_size": 300}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


VOCABULARY = 300
"""Words of which a T5's first is one; Flan-T5's 209 is among them."""


def hhem(folder: Path) -> Path:
    """An HHEM as others export it: the labels of the whole."""
    reader(folder, ("0", "1"))
    (folder / "config.json").write_text(json.dumps({"architectures": ["HHEMv2ForSequenceClassification"]}))
    return folder


def encoder(folder: Path) -> Path:
    """A sentence encoder in the layout of Sentence Transformers."""
    tokenizer(folder)
    bag(folder / "onnx" / "model.onnx", 1, pooled=False)
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertModel"], "model_type": "bert"}))
    modules = [{"path": "", "type": "m.Transformer"}, {"path": "1_Pooling", "type": "m.Pooling"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "mean"}))
    return folder
