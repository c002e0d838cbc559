"""How well a judge does on rows by writers on whose rows nothing was trained, fitted or tuned (`tests/held_out`).

    python bench/held_out.py [--judge NAME] [--list]

Prints: how many faults of whole cases are named and how many sound cases are blamed; how many bad claims are marked,
and good ones; how often a supported claim is likelier than its altered twin, by kind of fault, and whether the evidence
shows what is wrong with those that their passage contradicts; how well a sentence that answers a question is told from
near misses; and how well the embedded judge cuts responses into claims.
"""

import argparse
import asyncio
import difflib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage import Case, Source, Verdict, Verdicts, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.core.questions import Question, answered, supported
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.build import judge_named
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import metrics_named
from ragtriage.metrics.thelma import SUPPORTED

FOLDER = Path(__file__).parents[1] / "tests" / "held_out"
METRICS = metrics_named(["thelma", "-fact_precision"])
BLAME = ("failure", "quality")
SOUND = ("healthy", "right_refusal")
NAMED_BY = {
    "unsupported_claims": {"unsupported_claims", "contradicted_claims"},
    "unaddressed_answer": {"unaddressed_answer"},
}
"""The rules that name a fault, where they aren't called like it."""
CONTRADICTED = (
    "condition", "negated", "neighbour", "opposite", "scope", "swapped", "wrong_date", "wrong_name", "wrong_number",
)  # fmt: skip
"""Kinds of altered claims that their passage contradicts."""
WORD = re.compile(r"\w+")
SHOWN = re.compile(r"(\S+(?: \S+){0,3}) ≠|most in doubt: “(.*)”|(?:accounts for|not found there:) (.*)")
GOOD_MARKED = 0.05
"""Share of good claims that may be marked, where claims are marked by their probability alone."""


def rows_of(*names: str) -> list[dict[str, Any]]:
    """The objects of files."""
    return [json.loads(line) for name in names for line in (FOLDER / name).read_text("utf-8").splitlines() if line]


def auc(y: np.ndarray, p: np.ndarray) -> float:
    """Area under the ROC curve, ties half."""
    yes, no = p[y == 1], p[y == 0]
    return float((yes[:, None] > no).mean() + (yes[:, None] == no).mean() / 2)


def report_cases(judge: Judge, files: Sequence[str], *, listed: bool) -> None:
    """Findings of whole cases, and verdicts on their claims."""
    rows = rows_of(*files)
    cases = [Case(r["id"], r["query"], tuple(map(Source, r["sources"])), r["response"]) for r in rows]
    found: dict[str, Counter[str]] = defaultdict(Counter)
    units: list[tuple[int, float, str, str]] = []
    thresholds = thresholds_with({})
    order = {case.id: row for case, row in zip(cases, rows, strict=True)}
    for record in evaluate_sync(cases, judge, metrics=METRICS, also=needs_of(RULES)):
        row = order[record.case.id]
        findings = [f for f in diagnose(record, thresholds) if f.kind in BLAME]
        truth = row["truth"]
        kind = "sound" if truth in SOUND else truth
        count = found[kind if truth != "unsupported_claims" else f"unsupported_claims, {row['kind']}"]
        count["cases"] += 1
        named = NAMED_BY.get(truth, {truth})
        count["named"] += any(f.rule in named for f in findings)
        count["blamed"] += bool(findings)
        count["surely"] += any(f.sure for f in findings)
        if listed and (kind == "sound") == bool(findings):
            print(f"{row['id']} ({truth} {row.get('kind', '')}): {[f.rule for f in findings]}")
        units += claims_of(row, record.steps.get(str(SUPPORTED)))
    print("\n| truth | cases | named | blamed for anything | surely |\n|---|---|---|---|---|")
    for truth, count in sorted(found.items()):
        named = "" if truth == "sound" else count["named"]
        print(f"| {truth} | {count['cases']} | {named} | {count['blamed']} | {count['surely']} |")
    faults = sum((count for truth, count in found.items() if truth != "sound"), Counter[str]())
    sound = found["sound"]
    print(
        f"faults named {faults['named']} of {faults['cases']}; sound cases blamed {sound['blamed']} of {sound['cases']}"
    )
    y, p = np.array([u[0] for u in units]), np.array([u[1] for u in units])
    cut = float(np.quantile(p[y == 1], GOOD_MARKED))
    marked = np.array([u[2] == "no" for u in units])
    print(f"claims: {int((y == 0).sum())} bad, {int((y == 1).sum())} good, AUC {auc(y, p):.3f}")
    print(f"  as shipped: {marked[y == 0].mean():.2f} of bad ones marked, {marked[y == 1].mean():.3f} of good ones")
    print(f"  at .05 of good ones (p < {cut:.2f}): {(p[y == 0] < cut).mean():.2f} of bad ones")
    if listed:
        for label, chance, value, text in units:
            if (label == 0) == (chance >= cut):
                print(f"  {'bad' if not label else 'good'} {chance:.2f} {value}: {text}")


def claims_of(row: dict[str, Any], step: object) -> list[tuple[int, float, str, str]]:
    """Label, probability, verdict and text of each good claim, and of the weakest claim of each bad part."""
    if not isinstance(step, Verdicts):
        return []
    places = [(row["response"].index(bad), row["response"].index(bad) + len(bad)) for bad in row["bad"]]
    good: list[tuple[int, float, str, str]] = []
    bad: dict[int, tuple[int, float, str, str]] = {}
    for component, cell in zip(step.components, step.best(), strict=True):
        if not isinstance(cell, Verdict) or component.span is None or cell.score is None:
            continue
        start, end = component.span
        inside = [n for n, (a, b) in enumerate(places) if min(b, end) - max(a, start) > 0]
        if not inside:
            good.append((1, cell.score, cell.value, component.text))
        for number in inside:
            if number not in bad or cell.score < bad[number][1]:
                bad[number] = (0, cell.score, cell.value, component.text)
    return good + list(bad.values())


async def answers(judge: Judge, questions: Sequence[Question]) -> list[Verdict | None]:
    """The verdict on each question; None where it failed."""
    out: list[Verdict | None] = [None] * len(questions)
    async for at, answer in judge.ask(questions):
        if isinstance(answer, Verdict):
            out[at] = answer
    return out


def scores(verdicts: Sequence[Verdict | None]) -> np.ndarray:
    """The probability of yes of each verdict; nan where there is none."""
    return np.array([np.nan if v is None or v.score is None else v.score for v in verdicts])


def quotes(verdict: Verdict, passage: str) -> bool:
    """Whether a verdict's evidence stands in a passage."""
    quoted = re.search("“(.*?)”", verdict.explanation)
    parts = [part.strip(" .,;") for part in quoted[1].split("…")] if quoted else []
    flat = " ".join(passage.split())
    return any(parts) and all(" ".join(part.split()) in flat for part in parts)


def shows(verdict: Verdict, good: str, bad: str) -> bool:
    """Whether a verdict's explanation shows a word of the altered claim that the true one lacks, or that moved."""
    one, other = ([word.lower() for word in WORD.findall(text)] for text in (good, bad))
    edits = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    changed = {word for kind, _, _, start, end in edits if kind != "equal" for word in other[start:end]}
    told = SHOWN.findall(re.sub("“.*?”(?!$)", "", verdict.explanation))
    return any(word.lower() in changed for part in told for word in WORD.findall(" ".join(part)))


def report_twins(judge: Judge) -> None:
    """Claims and their twins, each beside its passage and two others."""
    rows = rows_of("contrast.jsonl")
    kinds, questions, twins = [], [], []
    for at, row in enumerate(rows):
        sources = [rows[(at + step) % len(rows)]["passage"] for step in range(3)]
        for good, bad, kind in row["claims"]:
            kinds.append(kind)
            twins.append((good, bad, row["passage"]))
            questions += [supported(good, sources, "", good), supported(bad, sources, "", bad)]
    verdicts = asyncio.run(answers(judge, questions))
    p = scores(verdicts).reshape(-1, 2)
    p = np.where(np.isnan(p), 0.5, p)
    cut = float(np.quantile(p[:, 0], GOOD_MARKED))
    print("\n| fault | twins | in order | of altered ones below the cut |\n|---|---|---|---|")
    for kind in [*sorted(set(kinds)), "all"]:
        some = p[[kind in (one, "all") for one in kinds]]
        above = (some[:, 0] > some[:, 1]).mean() + (some[:, 0] == some[:, 1]).mean() / 2
        print(f"| {kind} | {len(some)} | {above:.2f} | {(some[:, 1] < cut).mean():.2f} |")
    labels = np.tile([1, 0], len(p))
    print(f"AUC {auc(labels, p.ravel()):.3f}; the cut marks .05 of supported claims (p < {cut:.2f})")
    told = [
        (verdict.value != "yes", quotes(verdict, passage), shows(verdict, good, bad))
        for kind, verdict, (good, bad, passage) in zip(kinds, verdicts[1::2], twins, strict=True)
        if verdict is not None and kind in CONTRADICTED
    ]
    for name, some in {"all": told, "marked ones": [one for one in told if one[0]]}.items():
        right, both = sum(quoted for _, quoted, _ in some), sum(quoted and shown for _, quoted, shown in some)
        print(f"contradicted, {name}: {len(some)}, {right} quote the passage, {both} show a changed word too")
    asked = [
        (answered(r["parts"][0], [text]), label)
        for r in rows
        for text, label in ((r["holds"], 1), *((n, 0) for n in r["near"]))
    ]
    q = scores(asyncio.run(answers(judge, [question for question, _ in asked])))
    print(f"answered, near misses: AUC {auc(np.array([label for _, label in asked]), q):.3f}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--cases", nargs="+", default=sorted(path.name for path in FOLDER.glob("cases-*.jsonl")))
    parser.add_argument("--list", action="store_true", help="name the cases and claims that were judged wrongly")
    args = parser.parse_args()
    judge = judge_named(args.judge)
    report_cases(judge, args.cases, listed=args.list)
    report_twins(judge)


if __name__ == "__main__":
    main()
