"""Labelled texts as what the reader reads: a first text beside a second one, with the labels of parts of the second.

    python training/readings.py WORK TRAIN AGREEMENT

Writes WORK/readings.pkl, one `Pair` a reading, and prints how many of which kind. The formats of our own rows are
described in `training/authored/README.md`.
"""

import argparse
import gzip
import json
import pickle
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import Any

from marks import parsed
from pairs import Pair
from rows import Row, agreement_questions, agreement_rows, authored_rows, kept_questions, natural_rows, public_rows
from splits import AKIN, CHOOSING, GROUPS, PUBLIC, split_of
from twins import twins

from ragtriage.judges.embedded.claimed_text import without_attribution
from ragtriage.judges.embedded.readings import read
from ragtriage.text.words import content_words

AUTHORED = Path(__file__).parent / "authored"
BUDGETS = (40, 60, 80, 110)
"""Words of evidence beside a claim, one of these by chance, so that the reader knows short and long passages."""
FEW = 0.3
"""The weight of a sentence that isn't essential; of a passage most sentences aren't."""
TOLD = {"healthy", "unsupported_claims", "repetition", "extraneous_information", "unused_information"}
"""Truths of cases whose sentences are supported, but for those that are marked."""
ANSWERING = {"healthy", "repetition", "extraneous_information"}
DECLINING = {"needless_refusal", "right_refusal"}
FEWEST = 3
"""Words that a supported sentence shares with the sources."""
SINGLE = 0.25
"""Share of the sentences of natural cases that are also read by themselves."""
TWINS_OF_SENTENCES = 0.45
"""Share of the sentences of passages of which a twin is made."""
TWINS_OF_PUBLIC = {
    "supported/summedits": 4000,
    "supported/fever": 4000,
    "supported/feversym": 1400,
    "supported/factcheckbench_stance": 2000,
    "supported/faithdial_audit": 1200,
    "answered/squad1_train": 6000,
    "answered/covid_qa": 900,
    "answered/selqa": 2500,
    "answered/squad2cr_train": 5000,
}
"""Public sets → how many of their rows twins are made of."""


def whole(first: str, second: str, head: str, label: float, **more: Any) -> Pair:
    """A reading with one label, of all of the second text."""
    return Pair(first, second, [(head, 0, len(second), float(label), 1.0)], **more)


@lru_cache(50000)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text as the judge reads them."""
    return tuple(s.text for s in read(text).sentences)


@lru_cache(50000)
def keys(text: str) -> frozenset[str]:
    """The words of a sentence that count."""
    return frozenset(w.key for w in content_words(text))


def nearest(claim: str, evidence: Sequence[str], budget: int) -> list[str]:
    """The sentences that share most with a claim, each with the one before it, up to so many words, in their order."""
    own = keys(claim)
    order = sorted(
        range(len(evidence)), key=lambda i: -len(own & keys(evidence[i])) / (3 + len(keys(evidence[i]))) ** 0.5
    )
    chosen: set[int] = set()
    left = budget
    for at in order:
        for one in (at, at - 1):
            length = len(evidence[one].split()) if one >= 0 else 0
            if one < 0 or one in chosen or (chosen and length > left):
                break
            chosen.add(one)
            left -= length
        if left <= 0:
            break
    return [evidence[i] for i in sorted(chosen)]


def of_row(row: Row, origin: str, draw: random.Random) -> Pair | None:
    """A labelled question as a reading; None for kinds that aren't read."""
    q = row.question
    more = {"origin": origin, "split": split_of(row.set, row.group, row.domain), "kind": row.kind}
    if q.kind == "supported":
        there = [s for text in q.evidence for s in sentences(text)]
        claim = without_attribution(q.subject)
        return whole(claim, " ".join(nearest(claim, there, draw.choice(BUDGETS))), "supported", row.label, **more)
    if q.kind == "answered":
        there = [s for text in q.evidence for s in sentences(text)]
        return whole(q.subject, " ".join(nearest(q.subject, there, 140)), "answered", row.label, **more)
    if q.kind == "essential":
        few = row.kind == "sentence" and not row.label
        found = whole(q.query, " ".join(sentences(q.subject)) or q.subject, "essential", row.label, **more)
        if few:
            found.targets = [(*found.targets[0][:4], FEW)]
        return found
    return None


def joined(parts: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Parts as one text, and where each stands in it."""
    spans, at = [], 0
    for part in parts:
        spans.append((at, at + len(part)))
        at += len(part) + 1
    return " ".join(parts), spans


def of_case(case: dict[str, Any], name: str) -> Iterator[Pair]:
    """The passages of a natural case beside its questions, sentence by sentence, and its response."""
    more = {"origin": name, "split": split_of(name, case["id"], case["domain"])}
    query = case["question"]
    graded = {n for _, grades, _ in case["sub"] for n, grade in grades.items() if grade}
    for number, passage in enumerate(case["passages"], 1):
        text, spans = joined(passage)
        beside = Pair(query, text, kind="passage", **more)
        beside.targets.append(("essential", 0, len(text), float(str(number) in graded), 1.0))
        for place, span in enumerate(spans, 1):
            needed = [number, place] in case["essential"]
            beside.targets.append(("needed", *span, float(needed), 1.0 if needed else FEW))
        asked = {sub: grades.get(str(number)) for sub, grades, _ in case["sub"]}
        if len(asked) == 1 and (grade := next(iter(asked.values()))) in (0, 2):
            beside.targets.append(("answered", 0, len(text), float(grade == 2), 1.0))
        yield beside
    told = [(text, label, needed) for text, label, _, needed in case["response"]]
    text, spans = joined([text for text, *_ in told])
    kinds = ["remark" if label is None else "claim" for _, label, _ in told]
    beside = Pair(query, text, kind="response", **more)
    for span, (_, label, needed) in zip(spans, told, strict=True):
        if needed is not None and label is not None:
            beside.targets.append(("needed", *span, float(needed), 0.7))
    covered = {sub: c for sub, _, c in case["sub"]}
    if len(covered) == 1 and (c := next(iter(covered.values()))) is not None:
        beside.targets.append(("answered", 0, len(text), float(c), 1.0))
    beside.marks = {"kinds": [(*span, kind) for span, kind in zip(spans, kinds, strict=True)]}
    yield beside


def differing(claim: str, other: str) -> list[tuple[int, int]]:
    """Where a claim differs from its twin; where words of the twin are missing, the word behind them."""
    words = [m.span() for m in re.finditer(r"\w+|[^\w\s]", claim)]
    own = [claim[a:b].lower() for a, b in words]
    there = [m[0].lower() for m in re.finditer(r"\w+|[^\w\s]", other)]
    found = []
    for tag, a, b, *_ in SequenceMatcher(None, own, there, autojunk=False).get_opcodes():
        if tag != "equal" and words:
            found.append((words[min(a, len(words) - 1)][0], words[min(max(a, b - 1), len(words) - 1)][1]))
    return found


def twin_pairs(claim: str, evidence: Sequence[str], draw: random.Random, most: int, **more: Any) -> Iterator[Pair]:
    """Twins made by program as two readings each."""
    for twin in twins(claim, evidence, draw, most):
        number = draw.getrandbits(40)
        budget = draw.choice(BUDGETS[:3])
        for label, (said, there) in ((1, twin.supported), (0, twin.altered)):
            near = " ".join(nearest(said, there, budget))
            altered = [] if label else differing(said, twin.supported[0])
            yield whole(said, near, "supported", label, twin=number, altered=altered, kind=f"twin {twin.kind}", **more)


def of_responses(train: Path, draw: random.Random) -> Iterator[Pair]:
    """Twins of the supported claims of natural cases, and of the sentences of their passages."""
    for path in [*sorted(AUTHORED.glob("*.jsonl")), *sorted((train / "natural").glob("*.jsonl"))]:
        if (
            path.stem in GROUPS
            or path.stem == "answers"
            or (path.parent.name == "natural" and path.stem == "structured")
        ):
            continue
        for case in items(path):
            if not split_of(path.stem, case["id"], case["domain"]):
                yield from twins_of_case(case, draw)


def twins_of_case(case: dict[str, Any], draw: random.Random) -> Iterator[Pair]:
    """Twins of the supported claims of a natural case, and of the sentences of its passages."""
    there = [s for passage in case["passages"] for s in passage]
    for text, label, *_ in case["response"]:
        if label == 1:
            claim = without_attribution(text.lstrip("-•* "))
            yield from twin_pairs(claim, there, draw, 3, origin="twins-claims")
    for passage in case["passages"]:
        for sentence in passage:
            if proper(sentence) and draw.random() < TWINS_OF_SENTENCES:
                yield from twin_pairs(sentence, passage, draw, 2, origin="twins-sentences")


def proper(sentence: str) -> bool:
    """Whether a sentence is neither very short nor very long."""
    return 6 <= len(sentence.split()) <= 45


def of_public(path: Path, most: int, draw: random.Random) -> Iterator[Pair]:
    """Twins of the supported claims of at most so many rows of a public set, and of sentences of its texts."""
    seen: set[str] = set()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for r in draw.sample(rows, min(most, len(rows))):
        there = list(sentences(r["evidence"]))
        if r["task"] == "supported" and r["label"] == 1 and there:
            yield from twin_pairs(without_attribution(r["text"]), there, draw, 3, origin="twins-claims")
        if r["evidence"] in seen or not there:
            continue
        seen.add(r["evidence"])
        for sentence in draw.sample(there, min(2, len(there))):
            if proper(sentence):
                yield from twin_pairs(sentence, there, draw, 2, origin="twins-sentences")


def made(train: Path, draw: random.Random) -> Iterator[Pair]:
    """Twins of the supported claims of all training sets and of the sentences of their passages."""
    yield from of_responses(train, draw)
    for name, most in TWINS_OF_PUBLIC.items():
        yield from of_public(train / f"{name}.jsonl.gz", most, draw)
    for path in sorted(AUTHORED.glob("*.jsonl")):
        if path.stem in GROUPS:
            for group in items(path):
                passages = group["evidence"] if isinstance(group["evidence"][0], list) else [group["evidence"]]
                there = [s for passage in passages for s in passage]
                for claim, _ in group["supported"]:
                    yield from twin_pairs(claim, there, draw, 3, origin="twins-claims")


def written(path: Path, draw: random.Random) -> Iterator[Pair]:
    """What is labelled over the passages of a file of `authored/contrast`."""
    rows = items(path)
    for at, row in enumerate(rows):
        more = {"origin": f"contrast-{path.stem}"}
        others = [
            rows[(at + step) % len(rows)] for step in (1, 2) if rows[(at + step) % len(rows)]["domain"] == row["domain"]
        ]
        own = list(sentences(row["passage"]))
        around = [s for other in others for s in sentences(other["passage"])]
        for good, bad, kind in row["claims"]:
            number, budget = draw.getrandbits(40), draw.choice(BUDGETS)
            there = own + around if draw.random() < 0.5 else own
            for label, claim in ((1, good), (0, bad)):
                near = " ".join(nearest(claim, there, budget))
                altered = [] if label else differing(bad, good)
                yield whole(
                    claim, near, "supported", label, twin=number, altered=altered, kind=f"written {kind}", **more
                )
        if "parts" in row:
            yield from of_questions(row, others, draw, more)


def of_questions(
    row: dict[str, Any], others: Sequence[dict[str, Any]], draw: random.Random, more: dict[str, Any]
) -> Iterator[Pair]:
    """What is labelled of the questions over a passage: its parts, what answers them and what only seems to."""
    first, second = row["parts"]
    page = " ".join(sentences(row["passage"]))
    for asked, label in (
        (first, 1),
        (second, 1),
        (row["open"], 0),
        *((other["parts"][0], 0) for other in others[:1]),
    ):
        yield whole(asked, page, "answered", label, kind="passage", **more)
    number = draw.getrandbits(40)
    yield whole(first, row["holds"], "answered", 1, twin=number, kind="holds", **more)
    for near in row["near"]:
        yield whole(first, near, "answered", 0, twin=number, kind="near", **more)
    yield whole(row["question"], row["holds"], "essential", 1, kind="holds", **more)
    number = draw.getrandbits(40)
    for asked, label in ((first, 1), (second, 0)):
        yield whole(asked, row["partial"], "answered", label, twin=number, kind="partial", **more)
    for asked in (first, second):
        yield whole(asked, row["other"], "answered", 0, kind="other", **more)
        yield whole(asked, row["padded"], "answered", 1, kind="padded", **more)
        yield whole(asked, row["needless"], "answered", 0, kind="refusal", **more)
    yield whole(row["open"], row["declines"], "answered", 0, kind="refusal", **more)
    beside = Pair(row["question"], row["padded"], kind="padded", **more)
    spans = [(row["padded"].index(extra), row["padded"].index(extra) + len(extra)) for extra in row["extra"]]
    beside.targets = [("needed", *span, 0.0, 1.0) for span in spans]
    start = min(a for a, _ in spans)
    if start > 15 and all(row["padded"][a:b].strip(" .") for a, b in spans):
        beside.targets.append(("needed", 0, start, 1.0, 1.0))
    beside.marks = {"kinds": [(0, len(row["padded"]), "claim")]}
    yield beside
    for asked, said in ((row["question"], row["needless"]), (row["open"], row["declines"])):
        yield Pair(asked, said, marks={"declines": True}, kind="refusal", **more)


def marked(path: Path) -> Iterator[Pair]:
    """The responses of a file of `authored/claims`, whose claims are marked."""
    for row in items(path):
        text, marks = parsed(row["response"])
        yield Pair(row["query"], text, marks=marks, origin=f"claims-{path.stem}", kind="marked")


def remarks(path: Path) -> Iterator[Pair]:
    """The responses of a file of `authored/remarks`."""
    for row in items(path):
        text, kinds = row["response"], []
        for name, kind in (("lacks", "declines"), ("other", "remark")):
            for part in row[name]:
                at = text.find(part)
                if at >= 0:
                    kinds.append((at, at + len(part), kind))
        found, at = [], 0
        for start, end, kind in sorted(kinds):
            if start > at:
                found.append((at, start, "claim"))
            found.append((start, end, kind))
            at = max(at, end)
        if at < len(text):
            found.append((at, len(text), "claim"))
        yield Pair(
            row["query"], text, marks={"kinds": found, "soft": True}, origin=f"remarks-{path.stem}", kind="remarks"
        )


def judged(path: Path) -> Iterator[Pair]:
    """The cases of a file of `authored/cases`: sentences of responses, sources, and whether queries are answered."""
    for case in items(path):
        more = {"origin": f"cases-{path.stem}", "kind": case.get("kind") or case["truth"]}
        query, response, truth = case["query"], case["response"], case["truth"]
        there = [s for source in case["sources"] for s in sentences(source)]
        known = frozenset(word for sentence in there for word in keys(sentence))
        bad = [(at, at + len(text)) for text in case["bad"] if (at := response.find(text)) >= 0]
        end = 0
        for sentence in sentences(response):
            start = max(response.find(sentence, end), end)
            end = start + len(sentence)
            altered = any(a < end and start < b for a, b in bad)
            # what shares little with the sources is no claim about them, or isn't known to be supported
            if altered or (truth in TOLD and len(keys(sentence) & known) >= FEWEST):
                near = " ".join(nearest(sentence, there, BUDGETS[-1]))
                yield whole(without_attribution(sentence), near, "supported", not altered, **more)
        if truth in ANSWERING | DECLINING and (query.count("?") < 2 or truth in DECLINING):
            said = " ".join(nearest(query, sentences(response), 140)) or response
            yield whole(query, said, "answered", truth in ANSWERING, **more)
        for number, source in enumerate(case["sources"]):
            yield whole(query, " ".join(sentences(source)), "essential", number in case["needed"], **more)


def items(path: Path) -> list[dict[str, Any]]:
    """The objects of a file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def natural(train: Path, draw: random.Random) -> Iterator[Pair]:
    """The readings of natural cases, and of some of their parts by themselves."""
    paths = [p for p in sorted(AUTHORED.glob("*.jsonl")) if p.stem not in GROUPS]
    paths += [p for p in sorted((train / "natural").glob("*.jsonl")) if p.stem not in ("structured", "answers")]
    for path in paths:
        name = f"{'authored' if path.parent == AUTHORED else 'natural'}-{path.stem}"
        for case in items(path):
            for pair in of_case(case, path.stem):
                pair.origin = name
                yield pair
        for row in natural_rows(path):
            alone = row.kind != "sentence" or draw.random() < SINGLE
            if row.kind != "source" and alone and (found := of_row(row, name, draw)):
                yield found


def lent(agreement: Path, draw: random.Random) -> Iterator[Pair]:
    """The rows of agreement sets that are trained on."""
    for task in ("supported", "answered", "essential"):
        for path in sorted((agreement / task).glob("*.jsonl*")):
            name = f"agreement-{task}-{path.name.split('.jsonl')[0]}"
            rows = list(agreement_rows(path))
            alone = Counter(row.item for row in rows)
            for row in rows:
                found = of_row(row, name, draw)
                # Of several claims of one row only a good row's labels are sure.
                if found and row.set not in AKIN and found.split != "measured" and (alone[row.item] == 1 or row.label):
                    yield found


def pairs(train: Path, agreement: Path) -> Iterator[Pair]:
    """All readings."""
    draw = random.Random(7)
    for path in sorted((AUTHORED / "contrast").glob("*.jsonl")):
        yield from written(path, draw)
    for path in sorted((AUTHORED / "cases").glob("*.jsonl")):
        if path.stem not in CHOOSING:
            yield from judged(path)
    for path in sorted((AUTHORED / "claims").glob("*.jsonl")):
        yield from marked(path)
    for path in sorted((AUTHORED / "remarks").glob("*.jsonl")):
        yield from remarks(path)
    yield from natural(train, draw)
    for path in sorted(AUTHORED.glob("*.jsonl")):
        if path.stem in GROUPS:
            yield from filter(None, (of_row(row, f"authored-{path.stem}", draw) for row in authored_rows(path)))
    kept = kept_questions(train / "natural" / "search.jsonl") | agreement_questions(agreement)
    for name, most in PUBLIC.items():
        rows = public_rows(train, name, most, kept)
        yield from filter(None, (of_row(row, f"public-{name.replace('/', '-')}", draw) for row in rows))
    yield from lent(agreement, draw)
    yield from made(train, draw)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("agreement", type=Path)
    args = parser.parse_args()
    found = list(pairs(args.train, args.agreement))
    args.work.mkdir(parents=True, exist_ok=True)
    (args.work / "readings.pkl").write_bytes(pickle.dumps(found))
    counts = Counter(re.sub(r"-.*", "", p.origin) + (f" ({p.kind})" if p.twin >= 0 else "") for p in found)
    for name, count in sorted(counts.items()):
        print(f"{count:8d} {name}")
    print(
        f"{len(found):8d} readings, {sum(p.twin >= 0 and p.targets[0][3] == 0 for p in found)} of them altered twins",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
