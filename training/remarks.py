"""Fits the wording of remarks: by which words a clause is told from a claim.

    pip install -r training/requirements.txt
    python training/remarks.py TRAIN [--out FILE]

Reads `training/authored/remarks/`, where a clause is said by whoever wrote it to be a claim, to say that the sources
lack what was asked, or to be another remark; and the claims of the natural cases there and in TRAIN/natural. It is
learnt twice, with the words of the query masked and as it stands, since not every caller knows the query. What is
printed is out of files: each file by weights that saw none of it, so other writers and other documents. Takes minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from ragtriage.text.remark_model import BIAS, WEIGHTS, masked, ngrams
from ragtriage.text.remarks import pieces
from ragtriage.text.sentences import split_sentences

AUTHORED = Path(__file__).parent / "authored"
NATURAL = ("handbooks", "policies", "search")
KINDS = ("claim", "lack", "other")
FEWEST = 6
"""Clauses that hold a run of words, both ways of masking counted; rarer ones are left out."""
SMALLEST = 1.2
"""A run whose weights are all nearer to zero is left out, and the rest fitted again."""
SOFT = 20.0
"""The inverse of the regularisation: larger is closer to the rows."""
CUTS = (0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a response, and what it is."""

    text: str
    query: str
    kind: str


def clauses_of(path: Path) -> list[Clause]:
    """The clauses of a file that are wholly of one kind."""
    found: list[Clause] = []
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            said = row["response"]
            marked = [
                (kind, said.index(text), len(text))
                for kind, key in (("lack", "lacks"), ("other", "other"))
                for text in row[key]
            ]
            for start, end in (span for one in split_sentences(said) if (span := one.span)):
                whole = _kind(start, end, marked)
                cut = [(start, end)] if whole else [(start + a, start + b) for a, b in pieces(said[start:end])]
                found += [Clause(said[a:b], row["query"], kind) for a, b in cut if (kind := _kind(a, b, marked))]
    return found


def natural_claims(path: Path) -> list[Clause]:
    """The sentences of natural cases that are labelled as supported or not; none of another file."""
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if "response" in row]
    return [
        Clause(text, row["question"], "claim")
        for row in rows
        for text, label, *_ in row["response"]
        if label is not None
    ]


def _kind(start: int, end: int, marked: Iterable[tuple[str, int, int]]) -> str:
    """The kind that four fifths of a stretch have; empty if there is none."""
    shares: Counter[str] = Counter()
    for kind, at, length in marked:
        shares[kind] += max(0, min(end, at + length) - max(start, at))
    shares["claim"] = end - start - sum(shares.values())
    kind, most = shares.most_common(1)[0]
    return kind if most >= 0.8 * (end - start) else ""


class Wording:
    """Weights of runs of words, fitted on clauses."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        rows = [set(ngrams(masked(c.text, query))) for c in clauses for query in (c.query, "")]
        kinds = np.repeat([KINDS.index(c.kind) for c in clauses], 2)
        counts = Counter(run for row in rows for run in row)
        self.runs = sorted(run for run, count in counts.items() if count >= FEWEST)
        self._fit(rows, kinds)
        strong = np.abs(self.weights).max(axis=0) >= SMALLEST
        self.runs = [run for run, kept in zip(self.runs, strong, strict=True) if kept]
        self._fit(rows, kinds)

    def _fit(self, rows: Sequence[set[str]], kinds: np.ndarray) -> None:
        model = LogisticRegression(C=SOFT, max_iter=5000).fit(self._table(rows), kinds)
        self.weights = (model.coef_ - model.coef_[0])[1:]
        self.bias = (model.intercept_ - model.intercept_[0])[1:]

    def _table(self, rows: Iterable[set[str]]) -> csr_matrix:
        """(rows, runs): 1/√n where a row holds one of n known runs."""
        place = {run: at for at, run in enumerate(self.runs)}
        held = [sorted(place[run] for run in row if run in place) for row in rows]
        values = [1 / np.sqrt(len(row)) for row in held for _ in row]
        starts = np.cumsum([0, *map(len, held)])
        return csr_matrix((values, [at for row in held for at in row], starts), (len(held), len(place)))

    def chances(self, clauses: Iterable[Clause]) -> np.ndarray:
        """(clauses, 3), how likely each kind is, in the order of `KINDS`."""
        odds = np.exp(self._table([set(ngrams(masked(c.text, c.query))) for c in clauses]) @ self.weights.T + self.bias)
        odds = np.hstack([np.ones((len(odds), 1)), odds])
        return odds / odds.sum(axis=1, keepdims=True)

    def write(self, path: Path) -> None:
        """As `remark_model` reads it."""
        lines = [(BIAS, *self.bias), *zip(self.runs, *self.weights, strict=True)]
        path.write_text("".join(f"{run}\t{lack:.2f}\t{other:.2f}\n" for run, lack, other in lines), encoding="utf-8")


def main() -> None:
    """Fit, measure out of files, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    args = parser.parse_args()
    files = {path.stem: clauses_of(path) for path in sorted((AUTHORED / "remarks").glob("*.jsonl"))}
    natural = {f"natural {name}": natural_claims(args.train / "natural" / f"{name}.jsonl") for name in NATURAL}
    natural["natural authored"] = [claim for path in sorted(AUTHORED.glob("*.jsonl")) for claim in natural_claims(path)]
    found = {}
    for name, own in (files | natural).items():
        found[name] = Wording([c for other, some in (files | natural).items() if other != name for c in some]).chances(
            own
        )
        print(name, dict(Counter(c.kind for c in own)))
    chances = np.vstack([found[name] for name in files])
    claims = np.vstack([found[name] for name in natural])
    truth = np.array([KINDS.index(c.kind) for own in files.values() for c in own])
    for what, at, true in (("a lack", [1], truth == 1), ("any remark", [1, 2], truth > 0)):
        for cut in CUTS:
            said = chances[:, at].sum(axis=1) >= cut
            wrong = claims[:, at].sum(axis=1) >= cut
            print(
                f"{what}, from {cut:.1f} on: precision {true[said].mean():.3f}, recall {said[true].mean():.3f}; "
                f"{wrong.sum()} of {len(wrong)} natural claims"
            )
    Wording([c for own in (files | natural).values() for c in own]).write(args.out)


if __name__ == "__main__":
    main()
