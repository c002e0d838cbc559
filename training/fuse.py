"""Fits the embedded judge's models on labelled cases and writes their coefficients.

    pip install scikit-learn
    python bench/calibrate.py TRAIN OUT [--cache FILE] [--without NAME]

OUT is `src/ragtriage/judges/embedded/model/coefficients.json` for the package. TRAIN/natural/*.jsonl are cases as RAG
applications give them (a question, passages, an answer whose sentences are labelled); TRAIN/expand.py turns one into
rows. Everything that is printed is out of fold: five folds, all rows of a case in the same one. `--cache` keeps the
measured rows between runs: measuring takes minutes, fitting seconds.

A model is a logistic regression, or one with a small hidden layer where that is better (`HIDDEN`). `supported` is
shifted to the share of unsupported claims that a sound application has (`UNSUPPORTED`), so that a verdict of no means
more likely than not; `SURE` and `UNSURE` are set by hand on the figures that are printed. `similar`
isn't fitted: its numbers are set by hand, because in the labelled pairs the ones that sound alike are the wrong ones,
by design, and a fitted model learns that likeness means no.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pickle
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.neural_network import MLPClassifier

from ragtriage.judges import questions as ask
from ragtriage.judges.embedded import decompose
from ragtriage.judges.embedded.encoder import Encoder
from ragtriage.judges.embedded.features import NAMES
from ragtriage.judges.embedded.library import Library
from ragtriage.judges.embedded.scorer import Measurer
from ragtriage.judges.questions import Question

UNSUPPORTED = 0.1
"""One claim in ten: the share of unsupported claims that `supported` is made for."""
SURE = 0.2
"""Up to this probability of yes an unsupported claim is shown in red. Seven in ten such verdicts must be right at that
share of unsupported ones: up to .5 they are on cases of the kind fitted on, but not on answers of weaker models."""
UNSURE = 0.4
"""From here to a half there is no verdict: of these claims less than half are unsupported where answers are sound."""
HIDDEN = {
    "supported": 12,
    "essential": 16,
    "essential_long": 16,
    "essential_part": 16,
    "answered": 16,
    "answered_response": 12,
}
"""Units of the hidden layer; the other tasks are plain logistic regressions."""
MATCHED = ("answered", "answered_response", "essential", "essential_long", "essential_part")
"""Models shifted so that as many verdicts are yes as labels are: a metric is a share, and must not be biased."""
LEAN = {"answered": 3.0, "answered_response": 3.0, "essential_part": 7 / 3}
"""Odds by which a model then leans to yes. A no is what a finding blames somebody for, and a sound answer that is
blamed costs more than a fault that is missed; chosen on the policies, with models that hadn't seen them."""
BAGS = 3
"""Networks that are averaged, from different starts, as one wider network."""
REPEATS = 0.8
SIMILAR = {
    "cosine": 7.5,
    "pieces both ways": 7.5,
    "number differs": -4.0,
    "name differs": -1.5,
    "negation differs": -2.0,
}
SIMILAR_AT = 10.5
ASKED = "as asked"
"""Marks rows whose sub-question is in the user's words, as an evaluation finds it."""
SHORT = "short"
"""Marks rows with a text that was cut down or taken from another case; they teach, but set no share and no figure."""
TURN = 400
FOLDS = 5

Rows = dict[str, dict[str, list[Any]]]


def labelled(train: Path) -> Iterator[tuple[Question, int, str, str]]:
    """(question, label, case, kind) of all natural cases, a case's rows beside each other."""
    found = importlib.util.spec_from_file_location("expand", train / "expand.py")
    assert found
    assert found.loader
    expand = importlib.util.module_from_spec(found)
    found.loader.exec_module(expand)
    for path in sorted(train.glob("natural/*.jsonl")):
        cases = [json.loads(line) for line in path.open(encoding="utf-8")]
        asked = {case["id"]: case["question"] for case in cases}
        worded = {case["id"]: in_the_users_words(case) for case in cases if "sub" in case}
        for r in expand.rows(path):
            question = _question(r, asked)
            if question:
                yield question, r["label"], r["group"], r["kind"]
            own = worded.get(r["group"], {}).get(r["text"]) if r["task"] == "answered" else None
            if question and own:
                context = "" if own == asked[r["group"]] else asked[r["group"]]
                yield replace(question, subject=own, context=context), r["label"], r["group"], f"{r['kind']} {ASKED}"
        if "response" in cases[0]:
            yield from _relevant(cases)
            yield from _short(cases)
            yield from _beside(cases)


def in_the_users_words(case: dict[str, Any]) -> dict[str, str]:
    """A case's labelled sub-questions → what an evaluation asks for them; empty if the two don't go one by one."""
    found = decompose.split_questions(case["question"])
    subs = [sub for sub, *_ in case["sub"]]
    return {sub: one.text for sub, one in zip(subs, found, strict=True)} if len(found) == len(subs) else {}


def _question(r: dict[str, Any], asked: dict[str, str]) -> Question | None:
    """A row as the question that an evaluation would ask."""
    match r["task"]:
        case "supported":
            return ask.supported(r["text"], r["passages"], asked[r["group"]], r["context"])
        case "answered":
            question = ask.answered(r["text"], [r["evidence"]])
            return replace(question, query=asked[r["group"]]) if r["kind"] == "response" else question
        case "essential":
            return ask.essential(r["text"], r["evidence"], r["context"] if r["kind"] == "response" else "")
        case "same_answer":
            return ask.same_answer(r["query"], r["truth"], r["response"])
    return None


def _relevant(cases: list[dict[str, Any]]) -> Iterator[tuple[Question, int, str, str]]:
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


def _short(cases: list[dict[str, Any]]) -> Iterator[tuple[Question, int, str, str]]:
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


def _beside(cases: list[dict[str, Any]]) -> Iterator[tuple[Question, int, str, str]]:
    """Responses that don't answer: another case's, and an answer without the sentences that were needed for it."""
    draw = random.Random(2)
    for case in (case for case in cases if "sub" in case):
        question, others = case["question"], [one for one in cases if one is not case]
        told = [(text, needed) for text, label, _, needed in case["response"] if label is not None]
        parts = [" ".join(text for text, needed in told if needed == wanted) for wanted in (0, 1)]
        for sub, own in in_the_users_words(case).items():
            covered = next(covered for one, _, covered in case["sub"] if one == sub)
            context = "" if own == question else question
            other = " ".join(text for text, *_ in draw.choice(others)["response"])
            responses = [(other, 0)]
            if len(case["sub"]) == 1 and covered == 1 and all(parts):
                responses += [(parts[0], 0), (parts[1], 1)]
            for response, label in responses:
                yield ask.answered(own, [response], context, question), label, case["id"], SHORT


def measured(train: Path) -> Rows:
    """Rows of numbers by model."""
    measurer = Measurer(Library(Encoder()))
    out: Rows = {}
    turn: list[tuple[Question, int, str, str]] = []

    def flush() -> None:
        measurer.prepare([question for question, *_ in turn])
        for question, label, group, kind in turn:
            try:
                one = measurer.measure(question)
            except ValueError as error:
                print(f"left out: {error}: {question.subject[:60]!r}")
                continue
            place = out.setdefault(one.task, {"x": [], "y": [], "group": [], "kind": []})
            for row in one.rows:
                for name, value in (("x", row), ("y", label), ("group", group), ("kind", kind)):
                    place[name].append(value)
        turn.clear()

    for count, one in enumerate(labelled(train)):
        turn.append(one)
        if len(turn) == TURN:
            flush()
            if count % 20_000 < TURN:
                print(f"measured {count}", flush=True)
    flush()
    return out


def without(rows: dict[str, list[Any]], cases: set[str]) -> dict[str, list[Any]]:
    """The rows of all other cases."""
    keep = [i for i, group in enumerate(rows["group"]) if group not in cases]
    return {name: [values[i] for i in keep] for name, values in rows.items()}


def fit(x: np.ndarray, y: np.ndarray, hidden: int, odds: float) -> dict[str, Any]:
    """Coefficients as `scorer.Model` reads them, leaning to yes by `odds`."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale < 1e-6] = 1.0
    z = np.clip((x - mean) / scale, -5, 5)
    if hidden:
        nets = [
            MLPClassifier(
                (hidden,),
                activation="tanh",
                alpha=2.0,
                batch_size=500,
                max_iter=40,
                learning_rate_init=0.003,
                random_state=bag,
            ).fit(z, y)
            for bag in range(BAGS)
        ]
        # The averaged logits of the networks are those of one network with all their units.
        first = [np.hstack([n.coefs_[0] for n in nets]), np.concatenate([n.intercepts_[0] for n in nets])]
        last = [np.vstack([n.coefs_[1] for n in nets]) / BAGS, sum(n.intercepts_[1] for n in nets) / BAGS]
        layers = [first, last]
    else:
        line = LogisticRegression(C=0.1, max_iter=1000).fit(z, y)
        layers = [[line.coef_.T, line.intercept_]]
    layers[-1][1] = layers[-1][1] + np.log(odds)
    rounded = [[np.round(part, 4).tolist() for part in layer] for layer in layers]
    return {"mean": np.round(mean, 5).tolist(), "scale": np.round(scale, 5).tolist(), "layers": rounded}


def applied(fitted: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """Probabilities of many rows."""
    z = np.clip((x - np.array(fitted["mean"])) / np.array(fitted["scale"]), -5, 5)
    for i, (weights, bias) in enumerate(fitted["layers"]):
        z = (np.tanh(z) if i else z) @ np.array(weights) + np.array(bias)
    return np.asarray(1 / (1 + np.exp(-z[:, 0])))


def logit(p: np.ndarray) -> np.ndarray:
    """The log odds."""
    return np.asarray(np.log(p / (1 - p)))


def auc(y: np.ndarray, p: np.ndarray) -> float:
    """Area under the ROC curve, ties half."""
    _, where, count = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[where]
    yes = int(y.sum())
    return float((rank[y == 1].sum() - yes * (yes + 1) / 2) / (yes * (len(y) - yes)))


def precision_of_no(y: np.ndarray, p: np.ndarray, cut: float) -> tuple[float, float, float]:
    """Precision of no at one unsupported claim in ten, share of the unsupported found and of the supported blamed."""
    found, blamed = float((p[y == 0] <= cut).mean()), float((p[y == 1] <= cut).mean())
    right = found * UNSUPPORTED
    return right / max(1e-9, right + blamed * (1 - UNSUPPORTED)), found, blamed


def report(task: str, y: np.ndarray, p: np.ndarray, group: np.ndarray, kind: np.ndarray) -> None:
    """What a reader wants to know about one model, out of fold."""
    print(f"\n{task}: {len(y)} rows, {len(set(group))} cases, {y.mean():.2f} yes, AUC {auc(y, p):.3f}")
    for one in sorted(set(kind)):
        some = kind == one
        if len(set(y[some])) > 1 and some.sum() > 200 and task != "supported":
            yes = p[some] >= 0.5
            right = (y[some][yes].mean() if yes.any() else float("nan"), 1 - y[some][~yes].mean())
            print(
                f"  {one}: {some.sum()} rows, {y[some].mean():.2f} yes, AUC {auc(y[some], p[some]):.3f}; "
                f"said yes {yes.mean():.2f}, precision of yes {right[0]:.2f}, of no {right[1]:.2f}, "
                f"recall {yes[y[some] == 1].mean():.2f}"
            )


def report_supported(y: np.ndarray, p: np.ndarray, group: np.ndarray | None = None) -> None:
    """How often a no is right and, with the rows' cases, how many clean answers are blamed."""
    for name, cut in (("below a half", 0.5), ("no", UNSURE), ("red", SURE)):
        right, found, blamed = precision_of_no(y, p, cut)
        said = f"precision {right:.2f} at one in ten, finds {found:.2f}, blames {blamed:.3f} of the supported"
        print(f"  {name} (p <= {cut:.2f}): {said}")
    if group is None:
        return
    clean = [g for g in set(group) if y[group == g].all()]
    for name, cut in (("below a half", 0.5), ("no", UNSURE), ("red", SURE)):
        hit = np.mean([(p[group == g] <= cut).any() for g in clean])
        print(f"  of {len(clean)} clean answers {hit:.3f} hold a claim called {name}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--without", help="the stem of a file of cases to leave out of the fit, to be measured on")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    if args.cache and args.cache.exists():
        rows: Rows = pickle.loads(args.cache.read_bytes())
    else:
        rows = measured(args.train)
        if args.cache:
            args.cache.write_bytes(pickle.dumps(rows))
    if args.without:
        left_out = {json.loads(line)["id"] for line in (args.train / "natural" / f"{args.without}.jsonl").open()}
        rows = {task: without(some, left_out) for task, some in rows.items()}
    names = NAMES["similar"]
    weights = [[SIMILAR.get(name, 0.0)] for name in names]
    tasks: dict[str, Any] = {
        "similar": {"mean": [0.0] * len(names), "scale": [1.0] * len(names), "layers": [[weights, [-SIMILAR_AT]]]}
    }
    cuts = {"repeats": REPEATS, "sure": SURE, "unsure": UNSURE}
    # Without the query a judge can't know that a text is a response; the question is a stand-alone one then.
    responses = rows["answered_response"]
    alone = [i for i, kind in enumerate(responses["kind"]) if kind == "response"]
    for name, values in rows["answered"].items():
        rows["answered"][name] = values + [responses[name][i] for i in alone]
    for task, some in sorted(rows.items()):
        x, y = np.array(some["x"], float), np.array(some["y"])
        group, kind = np.array(some["group"]), np.array(some["kind"])
        whole = kind != SHORT
        share = y[whole].mean()
        odds = (1 / UNSUPPORTED - 1) * (1 - share) / share if task == "supported" else 1.0
        hidden = HIDDEN.get(task, 0)
        p = np.zeros(len(y))
        for a, b in GroupKFold(FOLDS).split(x, y, group):
            p[b] = applied(fit(x[a], y[a], hidden, odds), x[b])
        shift = 0.0
        if task in MATCHED:
            # labelled sub-questions are worded better than what users ask: the share must be right on the latter
            real = np.char.endswith(kind.astype(str), ASKED) if task.startswith("answered") else whole
            shift = -float(np.quantile(logit(p[real]), 1 - y[real].mean()))
            shift += float(np.log(LEAN.get(task, 1.0)))
            p = 1 / (1 + np.exp(-(logit(p) + shift)))
        report(task, y[whole], p[whole], group[whole], kind[whole])
        if task == "supported":
            report_supported(y[whole], p[whole], group[whole])
            print("on a few sentences:")
            report_supported(y[~whole], p[~whole])
        tasks[task] = {"columns": NAMES[task], **fit(x, y, hidden, odds)}
        bias = tasks[task]["layers"][-1][1]
        bias[0] = round(bias[0] + shift, 4)
    args.out.write_text(json.dumps({"tasks": tasks, "cuts": cuts}) + "\n", encoding="utf-8")
    print(f"\nwrote {args.out} ({args.out.stat().st_size / 1e3:.0f} kB)")


if __name__ == "__main__":
    main()
