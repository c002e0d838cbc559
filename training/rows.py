"""Labelled rows as the questions that an evaluation asks, from natural cases, authored groups and public sets.

The formats of natural cases and authored groups are described in `training/authored/README.md`.
"""

import gzip
import json
import random
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from splits import split_of

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.evaluation import predict as labelled
from ragtriage.text.claims import split_claims
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_sentences

ASKED = "as asked"
"""Marks rows whose sub-question is in the user's words, as an evaluation finds it."""
SHORT = "short"
"""Marks rows with a text that was cut down or taken from another case; they teach, but set no share and no figure."""

REORDERED = "reordered"
"""Marks rows of an answer whose sentences were shuffled: they teach the fitted models and their weighing, not the
matcher, which reads no answer around a sentence, and set no share."""

_DIALOGUE = re.compile(r"(?:^|[\s>])(?:[A-Z]\w*[ .]?){1,3}: ")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled question."""

    question: Question
    label: int
    set: str
    group: str
    """The case or group that it is made from."""
    kind: str
    domain: str
    item: str = ""
    """The id of an agreement row, which may ask several questions."""


def natural_rows(path: Path) -> Iterator[Row]:
    """All rows of a file of natural cases; where another case lends a text, it is one of the same split."""
    by_split: dict[str, list[dict[str, Any]]] = {}
    for case in _items(path):
        by_split.setdefault(split_of(path.stem, case["id"], case["domain"]), []).append(case)
    for cases in by_split.values():
        domains = {case["id"]: case["domain"] for case in cases}
        of_cases = (one for case in cases for one in _of_case(case))
        made = (make(cases) for make in (_about, _short, _beside, _reordered))
        for question, label, group, kind in chain(of_cases, *made):
            yield Row(question, label, path.stem, group, kind, domains[group])


def kept_questions(path: Path) -> set[str]:
    """The questions of the natural cases that the matcher isn't trained on, in small letters and without marks."""
    kept = (case for case in _items(path) if split_of(path.stem, case["id"], case["domain"]))
    return {plain(text) for case in kept for text in (case["question"], *(sub for sub, *_ in case["sub"]))}


def plain(text: str) -> str:
    """Small letters and figures only."""
    return " ".join(re.findall(r"\w+", text.lower()))


def answer_rows(path: Path) -> Iterator[Row]:
    """The rows of a file of questions with right and wrong answers: which give the true one, which say the same."""
    for item in _items(path):
        shared = path.stem, item["id"]
        right, wrong = item["right"], [text for text, _ in item["wrong"]]
        for label, texts in ((1, right), (0, wrong)):
            for text in texts:
                question = ask.same_answer(item["question"], item["truth"], text)
                yield Row(question, label, *shared, "right" if label else "wrong", path.stem)
        for index, text in enumerate(right):
            for label, others in ((1, right[index + 1 :]), (0, wrong)):
                for other in others:
                    yield Row(ask.similarity(text, [other]), label, *shared, "answers", path.stem)


def authored_rows(path: Path) -> Iterator[Row]:
    """The rows of a file of authored groups."""
    for group in _items(path):
        shared = path.stem, group["id"]
        passages = group["evidence"] if isinstance(group["evidence"][0], list) else [group["evidence"]]
        texts = [" ".join(passage) for passage in passages]
        sentences = [sentence for passage in passages for sentence in passage]
        for label, field in ((1, "supported"), (0, "unsupported")):
            for claim, kind in group[field]:
                yield Row(ask.supported(claim, texts), label, *shared, kind, group["domain"])
        for label, field in ((1, "answered"), (0, "unanswered")):
            for one in group[field]:
                yield Row(ask.answered(one, texts), label, *shared, field, group["domain"])
        for one, needed in group["essential"].items():
            for index, sentence in enumerate(sentences):
                asked = ask.essential(one, sentence)
                yield Row(asked, int(index in needed), *shared, "sentence", group["domain"])
        for label, field in ((1, "repeats"), (0, "distinct")):
            for a, b in group[field]:
                yield Row(ask.similarity(a, [b]), label, *shared, field, group["domain"])


def public_rows(train: Path, name: str, most: int, kept: Container[str]) -> Iterator[Row]:
    """At most so many rows of a public set, drawn at random, without those of `kept_questions`."""
    with gzip.open(train / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [r for r in map(json.loads, lines) if plain(r["text"]) not in kept]
    if name.endswith("summedits"):  # some of its dialogues may not be used commercially
        rows = [r for r in rows if len(_DIALOGUE.findall(r["evidence"])) < 2]
    draw = random.Random(name)
    for r in draw.sample(rows, min(most, len(rows))):
        evidence, text = r["evidence"], r["text"]
        match r["task"]:
            case "supported":
                question = ask.supported(text, [evidence])
            case "answered":  # people leave the question mark out
                question = ask.answered(text.rstrip("? ") if draw.random() < 0.5 else text, [evidence])
            case _:
                question = ask.essential(text, evidence)
        yield Row(question, r["label"], r["set"], f"{r['set']}: {evidence[:200]}", r["task"], r["set"])


def agreement_rows(path: Path) -> Iterator[Row]:
    """The questions of the rows of an agreement set, as `ragtriage trust agreement` asks them."""
    name = f"{path.parent.name}/{path.name.split('.jsonl')[0]}"
    task = next(one for one in labelled.TASKS if one.replace("-", "_") == path.parent.name)
    for row in _items(path):
        parts = [
            split_sentences(one.subject) if one.kind == "sentences" else split_claims(one.subject, one.query)
            for one in labelled.decompositions_of(task, row)
        ]
        questions = labelled.questions_of(task, row, parts)
        for question in questions:
            kind = "sentence" if path.parent.name == "essential" else task
            yield Row(question, row["label"], name, row["group"], kind, row.get("part", name), row["id"])


def agreement_questions(data: Path) -> set[str]:
    """The questions of all agreement sets, in small letters and without marks."""
    rows = (row for path in sorted(data.glob("*/*.jsonl*")) for row in _items(path))
    return {plain(row.get("question") or row.get("query") or "") for row in rows} - {""}


def _items(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def in_the_users_words(case: dict[str, Any]) -> dict[str, str]:
    """A case's labelled sub-questions → what an evaluation asks for them; empty if the two don't go one by one."""
    found = split_questions(case["question"])
    subs = [sub for sub, *_ in case["sub"]]
    return {sub: one.text for sub, one in zip(subs, found, strict=True)} if len(found) == len(subs) else {}


Labelled = tuple[Question, int, str, str]
"""A question, its label, its group and its kind."""


def _of_case(case: dict[str, Any]) -> Iterator[Labelled]:
    """What is labelled in a natural case; a passage that holds a part of the answer gives no row for `answered`."""
    passages, query, group = [" ".join(passage) for passage in case["passages"]], case["question"], case["id"]
    response = " ".join(sentence for sentence, *_ in case["response"])
    for text, label, kind, needed in case["response"]:
        if label is not None:
            yield ask.supported(text, passages, query, response), label, group, kind
        if needed is not None:
            yield ask.essential(query, text, response), needed, group, "response"
    own = in_the_users_words(case)
    for sub, grades, covered in case["sub"]:
        rows = [
            (ask.answered(sub, [passages[int(number) - 1]]), int(grade == 2), "passage")
            for number, grade in grades.items()
            if grade != 1
        ]
        if covered is not None:
            rows.append((replace(ask.answered(sub, [response]), query=query), covered, "response"))
        for question, label, kind in rows:
            yield question, label, group, kind
            if sub in own:
                context = "" if own[sub] == query else query
                yield replace(question, subject=own[sub], context=context), label, group, f"{kind} {ASKED}"
    for number, passage in enumerate(case["passages"], 1):
        graded = any(grades[str(number)] for _, grades, _ in case["sub"])
        yield ask.essential(query, passages[number - 1]), int(graded), group, "source"
        for index, sentence in enumerate(passage, 1):
            needed = int([number, index] in case["essential"])
            yield ask.essential(query, sentence, source=passages[number - 1]), needed, group, "sentence"


def _about(cases: Sequence[dict[str, Any]]) -> Iterator[Labelled]:
    """What is essential or supported in an answer is about the question; the same of another case isn't."""
    draw = random.Random(0)

    def texts(case: dict[str, Any]) -> list[str]:
        graded = {n for _, grades, _ in case["sub"] for n, grade in grades.items() if grade}
        good = [" ".join(case["passages"][int(n) - 1]) for n in sorted(graded)][:1]
        good += [case["passages"][p - 1][s - 1] for p, s in case["essential"]][:2]
        return good + [text for text, label, *_ in case["response"] if label == 1][:3]

    for case in cases:
        other = draw.choice(cases)
        for label, some in ((1, texts(case)), (0, texts(other) if other is not case else [])):
            for text in some:
                yield ask.relevant(case["question"], text), label, case["id"], "relevant"


def _short(cases: Sequence[dict[str, Any]]) -> Iterator[Labelled]:
    """Claims against a few sentences instead of all passages, since users bring short sources too.

    A claim that all passages don't support isn't supported by some of their sentences; one that copies or paraphrases
    is supported by the sentences that share most words with it; one of another case is supported by neither.
    """
    draw = random.Random(1)

    def words(text: str) -> set[str]:
        return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2}

    def few(claim: str, passages: list[list[str]], count: int) -> list[str]:
        places = [(p, s) for p, passage in enumerate(passages) for s in range(len(passage))]
        own = words(claim)
        near = sorted(places, key=lambda place: -len(own & words(passages[place[0]][place[1]])))[:2]
        chosen = sorted({*near, *draw.sample(places, min(count, len(places)))})
        texts = {p: " ".join(passages[q][s] for q, s in chosen if q == p) for p, _ in chosen}
        return list(texts.values())

    for case in cases:
        response = " ".join(text for text, *_ in case["response"])
        for text, label, kind, _ in case["response"]:
            if label == 0 or kind in {"copied", "paraphrase"}:
                evidence = few(text, case["passages"], draw.randint(0, 3))
                yield ask.supported(text, evidence, case["question"], response), label, case["id"], SHORT
        other = draw.choice(cases)
        claims = [text for text, label, *_ in other["response"] if label == 1]
        if other is not case and claims:
            claim = draw.choice(claims)
            evidence = few(claim, case["passages"], draw.randint(0, 3))
            yield ask.supported(claim, evidence, other["question"], claim), 0, case["id"], SHORT


def _beside(cases: Sequence[dict[str, Any]]) -> Iterator[Labelled]:
    """Responses that don't answer: another case's, and an answer without the sentences that were needed for it."""
    draw = random.Random(2)
    for case in (case for case in cases if "sub" in case):
        question, others = case["question"], [one for one in cases if one is not case]
        told = [(text, needed) for text, label, _, needed in case["response"] if label is not None]
        parts = [" ".join(text for text, needed in told if needed == wanted) for wanted in (0, 1)]
        for sub, own in in_the_users_words(case).items():
            covered = next(covered for one, _, covered in case["sub"] if one == sub)
            context = "" if own == question else question
            responses = [(" ".join(text for text, *_ in draw.choice(others)["response"]), 0)] if others else []
            if len(case["sub"]) == 1 and covered == 1 and all(parts):
                responses += [(parts[0], 0), (parts[1], 1)]
            for response, label in responses:
                yield ask.answered(own, [response], context, question), label, case["id"], SHORT


def _reordered(cases: Sequence[dict[str, Any]]) -> Iterator[Labelled]:
    """Answers with their sentences in any order, half of them as a list.

    Labelled answers nearly always say what was asked first; of a user's own, as steps or a list of places, all may be
    needed up to the last.
    """
    draw = random.Random(3)
    for case in cases:
        told = [(text, needed) for text, _, _, needed in case["response"] if needed is not None]
        if len(told) < 3 or len({text for text, _ in told}) < len(told):
            continue
        draw.shuffle(told)
        marked = [f"{number}. {text}" for number, (text, _) in enumerate(told, 1)]
        response = "\n".join(marked) if draw.random() < 0.5 else " ".join(text for text, _ in told)
        for text, needed in told:
            yield ask.essential(case["question"], text, response), needed, case["id"], REORDERED
