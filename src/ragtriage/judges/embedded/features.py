"""What the fitted models look at, task by task, and how one sentence is compared with evidence.

Every function gives one row of numbers, whose names stand in `features.toml` in the same order; a row depends on the
question alone, never on what else is asked.

A comparison tells how much of a sentence is found where: by words, word vectors and meaning.
"""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragtriage.judges.embedded.encoder import Encoded, Vector
from ragtriage.judges.embedded.passages import Passages
from ragtriage.judges.embedded.readings import Sentence
from ragtriage.text import words as vocabulary
from ragtriage.text.claims import remark
from ragtriage.text.dates import dates_agree
from ragtriage.text.questions import QUESTION_TYPES, holds_type, question_type

_MATRIX = 262_144
"""Multiplications of a product of two matrices that are done in one thread."""
_VECTOR = 9_216
"""Elements of a matrix that is multiplied with one vector."""
_ROWS = 64


def products_with(matrix: Vector, vector: Vector) -> Vector:
    """(n, k) and (k,) → (n,): the products of each row with a vector."""
    step = max(1, (_VECTOR - 1) // max(1, len(vector)))
    if len(matrix) <= step:
        return np.asarray(matrix @ vector, np.float32)
    return np.concatenate([matrix[start : start + step] @ vector for start in range(0, len(matrix), step)])


def pairwise_products(a: Vector, b: Vector) -> Vector:
    """(m, k) and (n, k) → (m, n): the products of each row of one with each row of the other."""
    out = np.empty((len(a), len(b)), np.float32)
    for top in range(0, len(a), _ROWS):
        rows = a[top : top + _ROWS]
        step = max(1, (_MATRIX - 1) // max(1, rows.size))
        for left in range(0, len(b), step):
            out[top : top + _ROWS, left : left + step] = rows @ b[left : left + step].T
    return out


_SOFT = 0.7
"""A word piece whose closest one in the evidence is farther than this counts as not found."""


@dataclass(frozen=True)
class EvidenceComparison:
    """What was found, by sentence (`m` of them) and by window."""

    cosines: Vector
    """(1 or 3, m): with the windows of 1, 2 and 3 sentences that begin at each."""
    word: Vector
    """(m,): the share of the words, weighted by rarity, in each sentence."""
    word_window: Vector
    """(m,): the same within the windows of three."""
    word_two: float
    """In the best window and the one that adds most to it."""
    word_all: float
    """Anywhere in the evidence, headings included."""
    soft: Vector
    """(m,): the mean closeness of the word pieces to those of each sentence."""
    soft_window: Vector
    """(m,): the same within the windows of three."""
    soft_all: float
    soft_worst: float
    """Of the three word pieces that are found least."""
    soft_missing: float
    """How much falls short of being found, summed."""
    best: int
    """Where the best window begins."""
    second: int
    """The sentence with the highest cosine outside the best window; the best one again if there is none."""
    missing: tuple[str, ...]
    """Stems that stand nowhere in the evidence."""


def _share(weights: Vector, found: Vector) -> Vector:
    """The weighted mean over the rows; 0 if nothing has weight."""
    total = float(weights.sum())
    return np.asarray(weights @ found / total if total > 0 else np.zeros(found.shape[1]), np.float32)


def compare(
    sentence: Sentence, encoded: Encoded, evidence: Passages, rarity: Callable[[str], float]
) -> EvidenceComparison:
    """Hold one sentence against evidence."""
    cosines = np.stack([products_with(vectors, encoded.vector) for vectors in evidence.window_vectors])

    weights = np.array([rarity(stem) for stem in sentence.stems] or [0.0], np.float32)
    places = evidence.places(sentence.stems)
    wide = evidence.widened(places)
    word, word_window = _share(weights, places), _share(weights, wide)
    missing = tuple(stem for stem in sentence.stems if stem not in evidence.stems)
    total = float(weights.sum())
    word_all = 1.0 - sum(rarity(stem) for stem in missing) / total if total > 0 else 0.0

    pieces = encoded.tokens.astype(np.float32)
    close = np.maximum.reduceat(pairwise_products(pieces, evidence.tokens), evidence.starts, axis=1)
    piece_weights = encoded.weights if encoded.weights.any() else np.ones(len(pieces), np.float32)
    soft = _share(piece_weights, close)
    soft_window = _share(piece_weights, evidence.widened(close))
    top = close.max(axis=1)
    said = top[piece_weights > 0]
    best = int(np.argmax(cosines.max(axis=0) + word_window + soft_window))
    inside = {id(s) for s in evidence.window(best)}
    outside = np.array([id(s) not in inside for s in evidence.sentences])
    second = int(np.argmax(np.where(outside, cosines[0], -1.0))) if outside.any() else best
    both = np.maximum(wide[:, best : best + 1], wide)
    return EvidenceComparison(
        cosines=cosines,
        word=word,
        word_window=word_window,
        word_two=float(_share(weights, both).max()),
        word_all=word_all,
        soft=soft,
        soft_window=soft_window,
        soft_all=float(_share(piece_weights, top[:, None])[0]),
        soft_worst=float(np.sort(said)[:3].mean()),
        soft_missing=float((piece_weights * np.clip(_SOFT - top, 0.0, None)).sum()),
        best=best,
        second=second,
        missing=missing,
    )


def nearest_sentences(c: EvidenceComparison, evidence: Passages, most: int) -> tuple[str, ...]:
    """The sentences nearest to what is looked for, each with the one before it if there is room, in their own order.

    At most `most` word pieces are chosen, but one sentence at least, however long.
    """
    nearness = c.cosines[0] + c.word + c.soft
    chosen: set[int] = set()
    left = most
    for nearest in np.argsort(-nearness, kind="stable"):
        at = int(nearest)
        for one in (at, at - 1):
            length = evidence.length(one)
            if one in chosen or (chosen and length > left):
                break
            chosen.add(one)
            left -= length
            if not one or not evidence.joined[one - 1]:
                break
        if left <= 0:
            break
    return tuple(evidence.sentences[at].text for at in sorted(chosen))


_GAP = 0.05


def columns(task: str) -> tuple[str, ...]:
    """The names of the columns of a task's rows."""
    groups = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(name for group in groups["tasks"][task] for name in groups[group])


def _found(c: EvidenceComparison, sentence: Sentence, vector: Vector, evidence: Passages) -> list[float]:
    """How much of the sentence stands in the evidence."""
    cosine = float(c.cosines[0].max())
    two = evidence.vectors[int(np.argmax(c.cosines[0]))] + evidence.vectors[c.second]
    cosine_two = float(two @ vector / max(float(np.linalg.norm(two)), 1e-9))
    missing = sum(1.0 for stem in c.missing if not stem[:1].isdigit())
    return [
        cosine, float(c.cosines.max()), cosine_two, float(evidence.centre @ vector),
        float(c.word.max()), float(c.word_window.max()), c.word_two, c.word_all,
        float(c.soft.max()), float(c.soft_window.max()), c.soft_all, c.soft_worst, math.log1p(c.soft_missing),
        math.log1p(missing), float(not c.missing and bool(sentence.stems)), cosine * cosine, c.soft_all * c.soft_all,
    ]  # fmt: skip


def _agrees(c: EvidenceComparison, sentence: Sentence, evidence: Passages) -> list[float]:
    """Whether numbers, names, negation and modal words of the sentence are those of the evidence."""
    window = evidence.window(c.best)
    near_numbers = frozenset[str]().union(*(s.numbers for s in window))
    near_stems = frozenset[str]().union(*(s.stemset for s in window))
    numbers = sum(n not in evidence.numbers and n not in evidence.stems for n in sentence.numbers)
    names = sum(n not in evidence.stems for n in sentence.names)
    closest = evidence.sentences[int(np.argmax(c.cosines[0]))]
    pairs = sum(pair in evidence.bigrams for pair in sentence.bigrams)
    return [
        pairs / max(1, len(sentence.bigrams)),
        math.log1p(numbers), float(numbers > 0), float(bool(sentence.numbers - near_numbers)),
        math.log1p(names), float(names > 0), float(bool(sentence.names - near_stems)),
        float(sentence.negated != closest.negated),
        float(sentence.strong and not any(s.strong for s in window)),
        float(sentence.weak and not any(s.weak for s in window)),
        float(bool(frozenset[str]().union(*(s.conditions for s in window)) - sentence.conditions)),
        float(bool(sentence.conditions - frozenset[str]().union(*(s.conditions for s in window)))),
        float(bool(sentence.links) and not any(s.links for s in window)),
        math.log1p(sentence.words), math.log1p(evidence.words), float(evidence.table),
    ]  # fmt: skip


def _wants(c: EvidenceComparison, question: Sentence, evidence: Passages) -> list[float]:
    """Whether the best window holds the kind of thing that is asked for."""
    window = evidence.window(c.best)
    text = " ".join(s.text for s in window)
    kind = question_type(question.text)
    names = any(name not in question.stemset for s in window for name in s.names)
    numbers = any(number not in question.numbers for s in window for number in s.numbers)
    holds = holds_type(kind, text, names=names, numbers=numbers)
    exact = kind not in {"what", "yesno"}
    gap = float(c.cosines[0].max() - np.median(c.cosines[0]))
    return [
        float(exact and holds), float(exact and not holds), float(names), float(numbers),
        float(holds_type("why", text, names=names, numbers=numbers)), gap,
        math.log1p(question.words), math.log1p(evidence.words), math.log1p(len(evidence.sentences)),
        float(any(s.negated and remark(s.text) in {"gap", "refusal"} for s in window)),
        *(float(kind == k) for k in QUESTION_TYPES),
        *(float(kind == k and holds) for k in ("who", "when", "where", "number", "why", "how")),
    ]  # fmt: skip


def supported(
    c: EvidenceComparison, claim: Sentence, vector: Vector, evidence: Passages, query: Sentence
) -> list[float]:
    """A claim against everything that should support it; words that it takes from the query say little."""
    own = [stem for stem in claim.stems if stem not in query.stemset]
    found = 1.0 - len([stem for stem in own if stem not in evidence.stems]) / max(1, len(own))
    return (
        _found(c, claim, vector, evidence) + _agrees(c, claim, evidence) + [found, len(own) / max(1, len(claim.stems))]
    )


def relevant(c: EvidenceComparison, query: Sentence, vector: Vector, evidence: Passages) -> list[float]:
    """A query against the text that may be about it."""
    agrees = _agrees(c, query, evidence)
    return _found(c, query, vector, evidence) + agrees[:3] + agrees[4:6]


def answered(c: EvidenceComparison, question: Sentence, vector: Vector, evidence: Passages) -> list[float]:
    """A question against the texts that may answer it."""
    return relevant(c, question, vector, evidence) + _wants(c, question, evidence)


def around(texts: Passages, sentence: Sentence, query: Vector, context: Passages) -> list[float]:
    """How a sentence compares with the rest of the text that it was taken from.

    `texts` is the sentence as evidence, `sentence` the query, `context` what the sentence was taken from.
    """
    cosines = products_with(context.vectors, query)
    own = float(texts.centre @ query)
    at = int(np.argmax(products_with(context.vectors, texts.centre)))
    others = np.delete(cosines, at) if len(cosines) > 1 else cosines
    stems = texts.sentences[0].stemset
    rest = frozenset[str]().union(*(s.stemset for i, s in enumerate(context.sentences) if i != at))
    before = at - 1 if at and context.joined[at - 1] else at
    both = context.vectors[before] + texts.centre
    words = stems | context.sentences[before].stemset
    return [
        math.log1p(len(cosines)),
        float(context.centre @ query),
        float(cosines.max()),
        float((others > own + _GAP).mean()),
        own - float(others.max()),
        at / len(context.sentences),
        float(at == 0),
        len(stems & rest) / max(1, len(stems)),
        float(texts.sentences[0].text.rstrip().endswith(":")),
        float(cosines[before]) if before != at else 0.0,
        float(cosines[at + 1]) if at + 1 < len(cosines) else 0.0,
        float(both @ query / max(float(np.linalg.norm(both)), 1e-9)),
        len(sentence.stemset & words) / max(1, len(sentence.stems)),
    ]


DIFFER = range(7, 10)
"""Columns of `similar`: that numbers, names or negation differ."""


def similar(cosine: float, a: Sentence, b: Sentence, there: Vector, back: Vector) -> list[float]:
    """Two sentences. `there` is how closely each word piece of `a` is found in `b`, `back` the reverse."""
    shared, either = len(a.stemset & b.stemset), len(a.stemset | b.stemset)
    soft = (float(there.mean()), float(back.mean()))
    worst = min(float(np.sort(there)[:3].mean()), float(np.sort(back)[:3].mean()))
    return [
        cosine, sum(soft) / 2, min(soft), worst,
        shared / max(1, either), shared / max(1, len(a.stems)), shared / max(1, len(b.stems)),
        float(bool(a.numbers and b.numbers and not (a.numbers <= b.numbers or b.numbers <= a.numbers))),
        float(bool(a.names - b.stemset) and bool(b.names - a.stemset)),
        float(a.negated != b.negated),
        2 * len(a.bigrams & b.bigrams) / max(1, len(a.bigrams) + len(b.bigrams)),
        min(a.words, b.words) / max(1, a.words, b.words),
        float(0 < either - shared <= 2 and shared > 2), cosine * abs(cosine),
    ]  # fmt: skip


def same_answer(
    c: EvidenceComparison, query: Sentence, truth: Sentence, response: Passages, cosines: tuple[float, float]
) -> list[float]:
    """One true answer against a response, both written numbers_as_figures (`numbers_as_figures`).

    The cosines are of the truth, and of the question together with the truth, to the response's best sentence.
    """
    said = [stem for s in response.sentences for stem in s.stems]
    plain = " ".join(vocabulary.fold(t) for s in response.sentences for t in vocabulary.tokens(s.text))
    true = " ".join(vocabulary.fold(t) for t in vocabulary.tokens(truth.text))
    contained = bool(true) and f" {true} " in f" {plain} "
    names = frozenset[str]().union(*(s.names for s in response.sentences)) - query.stemset - truth.stemset
    numbers = response.numbers - query.numbers - truth.numbers
    first = frozenset(response.sentences[0].stems) if response.sentences else frozenset()
    start = plain.split(" ", 1)[0]
    found = sum(stem in response.stems for stem in truth.stems) / max(1, len(truth.stems))
    beside = sum(stem not in truth.stemset and stem not in query.stemset for stem in said)
    when = dates_agree(truth.text, "\n".join(s.text for s in response.sentences))
    opposite = {"yes": "no", "no": "yes"}.get(true.split(" ", 1)[0] if true else "")
    return [
        float(contained), found, c.soft_all, c.soft_worst, *cosines,
        float(bool(truth.numbers - response.numbers)), float(bool(truth.names - response.stems)), float(found == 1.0),
        math.log1p(len(names)), math.log1p(len(numbers)), math.log1p(truth.words), math.log1p(response.words),
        len(truth.stemset & first) / max(1, len(truth.stems)),
        float(any(s.negated for s in response.sentences)), float(start == opposite), math.log1p(beside),
        float(contained) / (1 + math.log1p(beside)), float(when == 1), float(when == -1),
    ]  # fmt: skip
