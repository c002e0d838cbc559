"""How many claims with one wrong detail are found, and how many true ones are put in doubt.

    python bench/details.py [FILE.jsonl …] [--judge NAME] [--list]

Reads sources with claims that they support and claims of which one detail was changed; without files those of
`tests/details/`. Prints for each kind of change how many claims got which verdict: red is a sure no, amber one to
check. `--list` shows the claims that were judged wrongly.
"""

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path

from ragtriage import Verdict
from ragtriage.core.questions import Question, supported
from ragtriage.judges.build import judge_named

DETAILS = Path(__file__).parents[1] / "tests" / "details"
TRUE = "true"
COLUMNS = ("yes", "unknown", "amber", "red", "failed")


def claims_of(path: Path) -> list[tuple[str, Question]]:
    """Every claim of a file with its kind of change, `TRUE` if there is none."""
    found: list[tuple[str, Question]] = []
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            claims = [(TRUE, claim) for claim in row["true"]] + [(one["kind"], one["claim"]) for one in row["altered"]]
            found += [(kind, supported(claim, row["sources"], row["query"], claim)) for kind, claim in claims]
    return found


async def judged(claims: list[tuple[str, Question]], name: str) -> list[str]:
    """What the judge says of each claim, as one of `COLUMNS`."""
    said = ["failed"] * len(claims)
    async for at, answer in judge_named(name).ask([question for _, question in claims]):
        if isinstance(answer, Verdict):
            said[at] = answer.value if answer.value != "no" else "red" if answer.sure else "amber"
    return said


def report(path: Path, judge: str, *, listed: bool) -> None:
    """A table for one file."""
    claims = claims_of(path)
    said = asyncio.run(judged(claims, judge))
    counts: dict[str, Counter[str]] = {}
    for (kind, question), value in zip(claims, said, strict=True):
        counts.setdefault(kind, Counter())[value] += 1
        if listed and value in (("amber", "red") if kind == TRUE else ("yes",)):
            print(f"{kind}, {value}: {question.subject}")
    counts["all altered"] = sum((some for kind, some in counts.items() if kind != TRUE), Counter())
    print(f"\n| {path.stem} | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    for kind, some in counts.items():
        print(f"| {kind} | {' | '.join(str(some[column]) for column in COLUMNS)} |")


def main() -> None:
    """Read the arguments and print a table for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    for path in args.files or sorted(DETAILS.glob("*.jsonl")):
        report(path, args.judge, listed=args.list)


if __name__ == "__main__":
    main()
