"""Measures labelled rows once: what the fitted models look at, and the pair of texts that the matcher reads.

    python training/prepare.py WORK TRAIN AGREEMENT

TRAIN holds `natural/*.jsonl` and the public sets (`<task>/<set>.jsonl.gz`), AGREEMENT the sets that judges are scored
on (`<task>/<set>.jsonl[.gz]`); our own rows are those of `training/authored/`. One file a set is written to WORK/rows;
a set that is there already is left alone, so that the command can be cut off and given again, and a file of one's own
can be added. Delete what was measured before a change of the judge's code or of the file. WORK/packed.npz holds all
pairs for `training/train.py`.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from packed import pack
from rows import (
    Row,
    agreement_questions,
    agreement_rows,
    answer_rows,
    authored_rows,
    kept_questions,
    natural_rows,
    public_rows,
)
from splits import GROUPS, PUBLIC

from ragtriage.judges.embedded.encoder import Encoder
from ragtriage.judges.embedded.evidence import CachedReader
from ragtriage.judges.embedded.featurizer import Featurizer

AUTHORED = Path(__file__).parent / "authored"
TURN = 400

FIELDS = ("task", "kind", "a", "b", "x", "label", "group", "domain", "set", "item", "question")


def sets(train: Path, agreement: Path) -> Iterator[tuple[str, Iterable[Row]]]:
    """The name of each set, and its rows."""
    for path in sorted(AUTHORED.glob("*.jsonl")):
        yield f"authored-{path.stem}", authored_rows(path) if path.stem in GROUPS else natural_rows(path)
    for path in sorted((train / "natural").glob("*.jsonl")):
        if path.stem != "structured":  # which is ours and stands among the authored ones
            yield f"natural-{path.stem}", (answer_rows if path.stem == "answers" else natural_rows)(path)
    for task in ("supported", "answered", "essential", "same_answer", "similar"):
        for path in sorted((agreement / task).glob("*.jsonl*")):
            yield f"agreement-{task}-{path.name.split('.jsonl')[0]}", agreement_rows(path)
    # Questions of public sets are those of some natural cases and agreement rows too.
    kept = kept_questions(train / "natural" / "search.jsonl") | agreement_questions(agreement)
    for name, most in PUBLIC.items():
        yield f"public-{name.replace('/', '-')}", public_rows(train, name, most, kept)


def measured(rows: Iterable[Row], featurizer: Featurizer) -> dict[str, list[Any]]:
    """Columns of `FIELDS`, one line an alternative of a question."""
    out: dict[str, list[Any]] = {field: [] for field in FIELDS}
    turn: list[Row] = []

    number = 0

    def flush() -> None:
        nonlocal number
        featurizer.prepare([row.question for row in turn])
        for row in turn:
            try:
                one = featurizer.measure(row.question)
            except ValueError as error:
                print(f"left out: {error}: {row.question.subject[:60]!r}")
                continue
            if one.task == "relevant" != row.question.kind:
                continue  # an open request is judged by that model, and isn't what it is fitted on
            number += 1
            for x, (a, b) in zip(one.rows, one.pairs or ((" ", " "),) * len(one.rows), strict=True):
                line = (one.task, row.kind, a, b, x, row.label, row.group, row.domain, row.set, row.item)
                for field, value in zip(FIELDS, (*line, number), strict=True):
                    out[field].append(value)
        turn.clear()

    for row in rows:
        turn.append(row)
        if len(turn) == TURN:
            flush()
    flush()
    return out


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("agreement", type=Path)
    args = parser.parse_args()
    featurizer = Featurizer(CachedReader(Encoder()))
    (args.work / "rows").mkdir(parents=True, exist_ok=True)
    for name, rows in sets(args.train, args.agreement):
        target = args.work / "rows" / f"{name}.pkl"
        if target.exists():
            continue
        started = time.perf_counter()
        found = measured(rows, featurizer)
        part = target.with_suffix(".part")
        part.write_bytes(pickle.dumps(found))
        part.replace(target)
        print(f"{name}: {len(found['label'])} rows, {time.perf_counter() - started:.0f} s", flush=True)
    pack(args.work).save(args.work / "packed.npz")


if __name__ == "__main__":
    main()
