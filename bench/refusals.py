"""How many refusals and remarks are known for what they are, and how many answers are taken for one.

    python bench/refusals.py [FILE.jsonl …] [--list]

Reads responses that decline, answer a part, or answer; without files those of `tests/refusals/`. Prints for each kind
how many are read as declining, and of the parts that remarks and claims make up how many are read as remarks: a part is
one of them if four fifths of it were marked as such, or none of it. `--list` shows what was read wrongly.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines

REFUSALS = Path(__file__).parents[1] / "tests" / "refusals"
KINDS = ("refusal", "partial", "answer")
REMARK, CLAIM = "remarks", "claims"

MARKS = EmbeddedJudge().marks
"""How the embedded judge tells claims and remarks."""


def parts_of(row: dict[str, Any]) -> list[tuple[str, bool, str]]:
    """The parts of a response: remark or claim by its label, whether it is read as a remark, and its text."""
    said = row["response"]
    marked = [(at, at + len(text)) for text in row["remarks"] for at in [said.index(text)]]
    found: list[tuple[str, bool, str]] = []
    for part in split_claims(said, row["query"], marker=MARKS):
        start, end = part.span or (0, 0)
        share = sum(max(0, min(end, b) - max(start, a)) for a, b in marked) / max(1, end - start)
        if share > 0.8 or not share:
            found.append((REMARK if share else CLAIM, part.remark, part.text))
    return found


def report(path: Path, *, listed: bool) -> None:
    """A table for one file."""
    counts: Counter[tuple[str, str]] = Counter()
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            kind = row["kind"]
            declined = declines(row["query"], row["response"], MARKS).value == "yes"
            counts[kind, "all"] += 1
            counts[kind, "declining"] += declined
            if listed and kind != "partial" and declined != (kind == "refusal"):
                print(f"{row['id']}, {kind}: {row['response']}")
            for label, remark, text in parts_of(row):
                counts[kind, label] += 1
                counts[kind, f"{label} read as remarks"] += remark
                if listed and remark != (label == REMARK):
                    print(f"{row['id']}, of the {label}: {text}")
    print(f"\n| {path.stem} | read as declining | remarks read as such | claims read as remarks |\n|---|---|---|---|")
    for kind in KINDS:
        shares = ((f"{REMARK} read as remarks", REMARK), (f"{CLAIM} read as remarks", CLAIM))
        cells = [f"{counts[kind, part]} of {counts[kind, of]}" for part, of in (("declining", "all"), *shares)]
        print(f"| {kind} | {' | '.join(cells)} |")


def main() -> None:
    """Read the arguments and print a table for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    for path in args.files or sorted(REFUSALS.glob("*.jsonl")):
        report(path, listed=args.list)


if __name__ == "__main__":
    main()
