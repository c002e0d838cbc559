"""How well facts are found in documents, on the example company, whose gaps are known by construction.

    python bench/gaps.py

Every fact of the database is looked for as `ragtriage testset score --corpus` does it for gap groups. Prints
how many stated facts and how many gaps come out as found, absent and unknown.
"""

import json
import tempfile
from collections import Counter
from pathlib import Path

from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import look_up_gaps, read_corpus
from ragtriage.testset.example import write_example


def main() -> None:
    """Print the counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "firm"
        write_example(folder)
        corpus = read_corpus(folder / "documents")
        for kind in ("stated", "gaps"):
            facts = [json.loads(line) for line in (folder / f"{kind}.jsonl").read_text("utf-8").splitlines()]
            rows = [
                Row(fact["id"], fact["id"], answer=fact["value"], columns={"parameters": {"name": fact["entity"]}})
                for fact in facts
            ]
            found = Counter(one.presence for one in look_up_gaps(rows, [r.group for r in rows], corpus))
            print(f"{kind}: {dict(found)}")


if __name__ == "__main__":
    main()
