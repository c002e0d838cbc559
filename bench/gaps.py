"""How well facts are found in documents, on example companies whose gaps are known by construction.

    python bench/gaps.py

Every fact of the database is looked for as `ragtriage testset score --corpus` does it for gap groups. Prints for each
company how many stated facts and how many gaps come out as found, absent and unknown.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import look_up_gaps, read_corpus
from ragtriage.testset.example import write_example

COMPANIES = ((0, 30), (1, 60), (2, 120))
"""Seed and size."""


def main() -> None:
    """Print the counts of every company, and of all."""
    whole: Counter[tuple[str, str]] = Counter()
    for seed, size in COMPANIES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "firm"
            write_example(folder, seed, size)
            corpus = read_corpus(folder / "documents")
            for kind in ("stated", "gaps"):
                facts = [json.loads(line) for line in (folder / f"{kind}.jsonl").read_text("utf-8").splitlines()]
                rows = [
                    Row(fact["id"], fact["id"], answer=fact["value"], columns={"parameters": {"name": fact["entity"]}})
                    for fact in facts
                ]
                found = Counter((kind, one.presence) for one in look_up_gaps(rows, [r.group for r in rows], corpus))
                print(f"seed {seed}, {size} projects, {kind}: {dict(found)}")
                whole += found
    print(dict(whole))


if __name__ == "__main__":
    main()
