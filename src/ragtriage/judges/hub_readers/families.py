"""The families of hub readers: one row each, with the format and the meaning that its authors published.

What a model says of a pass is turned into numbers by the family's `meaning`; everything above knows families by their
rows alone. Where each format was read is `published`; `docs/hub-readers.md` says it in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragtriage.core.questions import Kind
from ragtriage.judges.hub_readers.tokens import Pieces, Tokens

Numbers = NDArray[Any]
Head = Literal["sequence", "tokens", "first token", "first word", "vectors"]
"""What a model's output is of a pass: labels of the whole, labels of each token, labels that stand at the first token,
the logits of the first word that it would write, or a vector a token."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a model says of one pass."""

    yes: float
    """The model's probability of yes, in [0, 1]."""
    against: float = 0.0
    """The probability that the text says otherwise, where the family tells it apart from saying nothing."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Where a model's labels stand in its output."""

    yes: int = 1
    against: int | None = None
    unsupported: int = 1
    """Of a token: that it isn't supported."""


@dataclass(frozen=True, slots=True)
class Family:
    """Hub readers with one input format and one meaning of their output."""

    name: str
    title: str
    kinds: tuple[Kind, ...]
    head: Head
    length: int
    """Word pieces of a pass, unless the folder's table names another."""
    encode: Callable[[Tokens, str, str], Pieces]
    """What is read: a text, then the claim or, of a reranker, the question and then the text."""
    meaning: Callable[[Numbers, Labels], Said]
    """The output of one pass → what it says."""
    published: str
    """Where the format stands."""
    chunk: int | None = None
    """The size of a chunk at most; None for what fits into a pass beside the claim."""
    by_words: bool = False
    """Whether chunks are counted in words and not in word pieces."""


def softmax(logits: Numbers) -> Numbers:
    """Over the last axis; the same shape."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def sigmoid(logit: float) -> float:
    """In (0, 1), for any logit."""
    return float(0.5 * (1.0 + np.tanh(0.5 * logit)))


def _labelled(logits: Numbers, labels: Labels) -> Said:
    chances = softmax(logits)
    return Said(float(chances[labels.yes]), 0.0 if labels.against is None else float(chances[labels.against]))


def _first_word(logits: Numbers, _: Labels) -> Said:
    return Said(float(softmax(logits[[UNSUPPORTED_WORD, SUPPORTED_WORD]])[1]))


def _relevance(logits: Numbers, _: Labels) -> Said:
    return Said(sigmoid(float(logits[0])))


def _no_meaning(_: Numbers, __: Labels) -> Said:
    raise NotImplementedError("spans and vectors are read elsewhere")


UNSUPPORTED_WORD, SUPPORTED_WORD = 3, 209
"""The entries of Flan-T5's vocabulary of which the first word is one."""
HHEM_PROMPT = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"
_MINICHECK = "https://github.com/Liyan06/MiniCheck/blob/main/minicheck/inference.py"

ROWS = (
    Family(
        "entailment",
        "entailment classifier",
        ("supported",),
        "sequence",
        512,
        lambda tokens, text, claim: tokens.two(text, claim),
        _labelled,
        "https://huggingface.co/MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli",
    ),
    Family(
        "minicheck",
        "MiniCheck classifier",
        ("supported",),
        "sequence",
        512,
        lambda tokens, text, claim: tokens.one(text + tokens.end + claim),
        _labelled,
        _MINICHECK,
        chunk=400,
    ),
    Family(
        "minicheck-t5",
        "MiniCheck Flan-T5",
        ("supported",),
        "first word",
        2048,
        lambda tokens, text, claim: tokens.one("predict: " + text + tokens.end + claim),
        _first_word,
        _MINICHECK,
        chunk=500,
        by_words=True,
    ),
    Family(
        "hhem",
        "HHEM 2.1 open",
        ("supported",),
        "first token",
        4096,
        lambda tokens, text, claim: tokens.one(HHEM_PROMPT.format(text, claim)),
        _labelled,
        "https://huggingface.co/vectara/hallucination_evaluation_model",
    ),
    Family(
        "spans",
        "classifier of hallucinated spans",
        ("supported",),
        "tokens",
        4096,
        lambda tokens, prompt, response: tokens.two(prompt, response),
        _no_meaning,
        "https://github.com/KRLabsOrg/LettuceDetect/blob/main/lettucedetect/detectors/transformer.py",
    ),
    Family(
        "reranker",
        "reranker",
        ("essential", "answered", "needed_sentences"),
        "sequence",
        512,
        lambda tokens, question, text: tokens.two(question, text),
        _relevance,
        "https://huggingface.co/BAAI/bge-reranker-v2-m3",
    ),
    Family(
        "encoder",
        "sentence encoder",
        ("similarity",),
        "vectors",
        512,
        lambda tokens, text, _: tokens.one(text),
        _no_meaning,
        "https://sbert.net/docs/package_reference/sentence_transformer/models.html",
    ),
)
FAMILIES: Mapping[str, Family] = {row.name: row for row in ROWS}
