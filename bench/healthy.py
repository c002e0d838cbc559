"""How many healthy answers are blamed: for every answer here nothing is to be repaired.

    python bench/healthy.py [FILE.jsonl …] [--short TRAIN] [--judge NAME] [--list]

Reads cases as `ragtriage evaluate` does (query, sources, response); without files those of `tests/healthy/`, which were
written to look like what applications give: Markdown, tables, code, HTML, refusals, follow-ups, short answers. Of cases
with a `fault`, as those of `tests/faulty/`, each kind of fault is counted by itself; there blame is right.

With `--short` also the short right answers of TRAIN/natural/answers.jsonl ("Kyoto"), each beside a passage of the
public sets in TRAIN that answers its question and two that answer others; and the short wrong ones, where being blamed
is right, as a check that not all is waved through. Prints how many cases are blamed, how many surely, and by which
rule.
"""

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ragtriage import Case, Source, Undefined, Verdict, Verdicts, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.build import judge_named
from ragtriage.metrics import metrics_named
from ragtriage.metrics.thelma import SUPPORTED

HEALTHY = Path(__file__).parents[1] / "tests" / "healthy"
METRICS = metrics_named(["thelma", "-self_distinctness", "-fact_precision"])
BLAME = ("failure", "quality")
OTHERS = (7, 23)
"""How far down the list the answers' other two passages are taken from."""


def cases_of(path: Path) -> dict[str, list[Case]]:
    """The cases of a file by the name under which they are counted: the file's, and what is wrong with them."""
    found: dict[str, list[Case]] = {}
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            case = Case(row["id"], row["query"], tuple(map(Source, row["sources"])), row["response"])
            found.setdefault(f"{path.stem}{', ' * ('fault' in row)}{row.get('fault', '')}", []).append(case)
    return found


def short_answers(train: Path) -> tuple[list[Case], list[Case]]:
    """Cases with a right answer, and the same with a wrong one."""
    with (train / "natural" / "answers.jsonl").open(encoding="utf-8") as lines:
        asked = {_plain(row["question"]): row for row in map(json.loads, lines)}
    passages: dict[str, str] = {}
    for path in sorted((train / "answered").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                question = _plain(row["text"])
                if row["label"] == 1 and question in asked:
                    passages.setdefault(question, row["evidence"])
    found, right, wrong = list(passages), [], []
    for i, question in enumerate(found):
        row = asked[question]
        texts = [passages[question], *(passages[found[(i + far) % len(found)]] for far in OTHERS)]
        sources = tuple(map(Source, texts))
        right.append(Case(row["id"], row["question"], sources, row["right"][0]))
        wrong.append(Case(row["id"], row["question"], sources, row["wrong"][0][0]))
    return right, wrong


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def report(name: str, cases: Iterable[Case], judge: str, *, listed: bool) -> None:
    """What the diagnosis says of cases, and what the judge says of their claims."""
    thresholds = thresholds_with({})
    rules: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    count = blamed = surely = undefined = 0
    for record in evaluate_sync(cases, judge_named(judge), metrics=METRICS, also=needs_of(RULES)):
        findings = [f for f in diagnose(record, thresholds) if f.kind in BLAME]
        count += 1
        blamed += bool(findings)
        surely += any(f.sure for f in findings)
        undefined += all(isinstance(outcome, Undefined) for outcome in record.outcomes.values())
        rules.update(f.rule for f in findings)
        step = record.steps.get(str(SUPPORTED))
        for cell in step.best() if isinstance(step, Verdicts) else ():
            if isinstance(cell, Verdict):
                claims[cell.value if cell.value != "no" else "red" if cell.sure else "amber"] += 1
        if listed and findings:
            print(f"{record.case.id}: {', '.join(f.rule + ('' if f.sure else ' (not sure)') for f in findings)}")
    print(
        f"{name}: {count} cases, {blamed} blamed ({blamed / max(1, count):.1%}), {surely} surely; {undefined} undefined"
    )
    print(f"  rules: {dict(rules.most_common())}")
    print(f"  claims: {dict(claims.most_common())}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--short", type=Path, metavar="TRAIN")
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--list", action="store_true", help="name each case that is blamed")
    args = parser.parse_args()
    for path in args.files or sorted(HEALTHY.glob("*.jsonl")):
        for name, cases in cases_of(path).items():
            report(name, cases, args.judge, listed=args.list)
    if args.short:
        for name, cases in zip(("short, right", "short, wrong"), short_answers(args.short), strict=True):
            report(name, cases, args.judge, listed=args.list)


if __name__ == "__main__":
    main()
