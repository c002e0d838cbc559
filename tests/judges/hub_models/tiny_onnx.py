"""Tiny hub models with ONNX: a bag of word vectors with labels, with the inputs and outputs of exported models."""

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


def tokenizer(folder: Path) -> None:
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
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.save(str(folder / "tokenizer.json"))


def weights(labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Word vectors (SIZE, WIDE) and a layer (WIDE, labels)."""
    drawn = np.random.default_rng(3)
    return drawn.normal(size=(SIZE, WIDE)).astype(np.float32), drawn.normal(size=(WIDE, labels)).astype(np.float32)


def bag(path: Path, labels: int, kind: type[np.floating] = np.float32) -> None:
    """A model: word vectors, their mean over the mask, and a layer."""
    table, layer = (one.astype(kind) for one in weights(labels))
    number = TensorProto.FLOAT16 if kind is np.float16 else TensorProto.FLOAT
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Cast", ["attention_mask"], ["shown"], to=number),
        helper.make_node("Unsqueeze", ["shown", "last"], ["weights"]),
        helper.make_node("Mul", ["words", "weights"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
        helper.make_node("ReduceSum", ["weights", "middle"], ["count"], keepdims=0),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("MatMul", ["mean", "layer"], ["logits"]),
    ]
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "n"]) for name in ("input_ids", "attention_mask")
    ]
    named = {"table": table, "last": np.array([2], np.int64), "middle": np.array([1], np.int64), "layer": layer}
    constants = [numpy_helper.from_array(value, name) for name, value in named.items()]
    result = helper.make_tensor_value_info("logits", number, ["b", labels])
    graph = helper.make_graph(nodes, "bag", given, [result], constants)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))


def with_data_beside(model: Path) -> Path:
    """Put the weights of a model into a file beside it, as exports of large models do; returns that file."""
    data = f"{model.name}_data"
    onnx.save(onnx.load(str(model)), str(model), save_as_external_data=True, location=data, size_threshold=512)
    return model.with_name(data)


LABELS = ("entailment", "neutral", "contradiction")


def entailment(folder: Path, languages: str = "en", labels: tuple[str, ...] = LABELS) -> Path:
    """A folder with `onnx/model.onnx`, a classifier of pairs."""
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
