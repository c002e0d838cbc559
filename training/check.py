"""Says what is wrong in files of natural cases: `python training/check.py FILE …`; exit status 1 if anything is.

A case is described in `training/authored/README.md`. What can be checked without understanding a sentence is checked:
fields, kinds, grades, indexes, and that labels don't contradict each other.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FIELDS = {"id", "domain", "question", "style", "passages", "sub", "essential", "response", "licence"}
YES = {"copied", "paraphrase", "combined", "inferred", "computed", "denied"}
NO = {"added", "number", "date", "name", "role", "relation", "general", "merged", "misread", "partial", "answered"}


def problems(case: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one case."""
    if set(case) != FIELDS:
        yield f"fields: {sorted(set(case) ^ FIELDS)} are missing or too many"
        return
    passages = case["passages"]
    if case["style"] not in "ABCDEF":
        yield f"style {case['style']!r} is none of A to F"
    if not passages or not all(passages) or not all(isinstance(s, str) and s.strip() for p in passages for s in p):
        yield "a passage or a sentence is empty"
    yield from _wrong_grades(case)
    yield from _wrong_sentences(case)


def _wrong_grades(case: dict[str, Any]) -> Iterator[str]:
    """Grades of passages, and essential sentences in them."""
    passages, graded = case["passages"], set()
    for sub, grades, covered in case["sub"]:
        if set(grades) != {str(number) for number in range(1, len(passages) + 1)}:
            yield f"{sub!r}: every passage needs a grade"
        if not set(grades.values()) <= {0, 1, 2} or covered not in (0, 1, None):
            yield f"{sub!r}: a grade is none of 0, 1, 2, or covered none of 0, 1"
        graded |= {int(number) for number, grade in grades.items() if grade}
    for at, sentence in case["essential"]:
        if not (1 <= at <= len(passages) and 1 <= sentence <= len(passages[at - 1])):
            yield f"essential [{at}, {sentence}] stands in no passage"
        elif at not in graded:
            yield f"essential [{at}, {sentence}] stands in a passage that is graded 0 for every sub-question"


def _wrong_sentences(case: dict[str, Any]) -> Iterator[str]:
    """Labels and kinds of the response's sentences."""
    copied = {_plain(sentence) for passage in case["passages"] for sentence in passage}
    for text, label, kind, needed in case["response"]:
        if kind not in {1: YES, 0: NO, None: {"remark"}}.get(label, set()):
            yield f"kind {kind!r} doesn't go with label {label!r}: {text[:60]!r}"
        if needed not in (0, 1):
            yield f"needed is none of 0, 1: {text[:60]!r}"
        if kind != "copied" and label == 1 and _plain(text) in copied:
            yield f"a copied sentence is called {kind}: {text[:60]!r}"
    if not any(needed for *_, needed in case["response"]) and any(covered for *_, covered in case["sub"]):
        yield "a sub-question is covered, but no sentence of the response is needed"


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def main() -> None:
    """Command line."""
    wrong = 0
    seen: Counter[str] = Counter()
    for path in map(Path, sys.argv[1:]):
        labels: Counter[str] = Counter()
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        for number, line in enumerate(lines, 1):
            try:
                case = json.loads(line)
                found = list(problems(case))
            except (ValueError, TypeError, KeyError) as error:
                case, found = {}, [f"isn't a case: {error}"]
            seen[case.get("id", "")] += 1
            labels.update(str(sentence[2]) for sentence in case.get("response", []))
            if seen[case.get("id", "")] > 1:
                found.append("this id was there before")
            for one in found:
                print(f"{path}:{number}: {case.get('id', '?')}: {one}")
            wrong += len(found)
        print(f"{path}: {len(lines)} cases; sentences: {dict(labels.most_common())}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
