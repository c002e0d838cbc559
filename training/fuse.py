"""Fits the embedded judge's models on labelled cases, weighs them against the matcher, and writes their coefficients.

    pip install -r training/requirements.txt
    python training/fuse.py WORK RUN [--out FILE]

WORK holds what `training/prepare.py` wrote, RUN is a run of `training/train.py` whose matcher was exported to
WORK/runs/RUN (`export.py matcher WORK RUN --target WORK/runs/RUN`). Only natural cases are fitted on. What is printed
is of cases that no model was fitted on: out of five folds over whole cases, or of the domains in `splits.HELD`. Only
the shift of `MATCHED` tasks is found on the rows that it is printed for.

A model is a logistic regression, or one with a small hidden layer where that is better (`HIDDEN`). `supported` is
shifted to the share of unsupported claims that a sound application has (`UNSUPPORTED`), so that a verdict of no means
more likely than not; `SURE` and `UNSURE` are set by hand on the figures that are printed. `similar`
isn't fitted: its numbers are set by hand, because in the labelled pairs the ones that sound alike are the wrong ones,
by design, and a fitted model learns that likeness means no.

A fusion is a logistic regression on the model's log odds and the matcher's logits, fitted on the cases that the matcher
wasn't trained on (`splits.FUSION`); the models' log odds of these are out of fold too.
"""

from __future__ import annotations

import argparse
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from natural import Columns, counted, fused, logits_of, natural_rows, of
from rows import ASKED, SHORT
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.neural_network import MLPClassifier

from ragtriage.judges.embedded.encoder import MODEL
from ragtriage.judges.embedded.features import columns
from ragtriage.judges.embedded.fitted_models import PIECEWISE, fused_inputs
from ragtriage.judges.embedded.matcher import HEADS, Matcher, head_of
from ragtriage.judges.embedded.wordpiece import WordPieces

UNSUPPORTED = 0.1
"""One claim in ten: the share of unsupported claims that `supported` is made for."""
SURE = 0.25
"""Up to this probability of yes an unsupported claim is red: of RAGTruth's answers by six models, where one sentence in
ten is unsupported, seven in ten such verdicts are right, by weights that hadn't seen the question."""
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
LEAN = {"answered": 3.0, "answered_response": 4.0, "essential_part": 7 / 3}
"""Odds by which a model then leans to yes. A no is what a finding blames somebody for, and a sound answer that is
blamed costs more than a fault that is missed; chosen on cases that the models hadn't seen.
Scores and confidences are without it."""
TELLING = ("supported", "answered", "essential")
"""Heads that say something about every task."""
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
FOLDS = 5


def inputs(task: str, rows: Columns) -> np.ndarray:
    """What a task's fusion weighs."""
    return fused_inputs(rows["floor"], rows["logits"] if task in PIECEWISE else rows["logits"][:, : len(HEADS)])


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


def fuse(task: str, x: np.ndarray, y: np.ndarray, odds: float) -> tuple[np.ndarray, float]:
    """Weights and bias of a fusion; heads that say nothing about the task weigh 0."""
    heads = [1 + HEADS.index(head) for head in dict.fromkeys((head_of(task), *TELLING))]
    use = [0, *heads, *(len(HEADS) + at for at in heads if task in PIECEWISE)]
    mean, scale = x.mean(axis=0), x.std(axis=0)
    line = LogisticRegression(C=0.1, max_iter=1000).fit(((x - mean) / scale)[:, use], y)
    weights = np.zeros(x.shape[1])
    weights[use] = line.coef_[0] / scale[use]
    return weights, float(line.intercept_[0] - weights @ mean + np.log(odds))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Log odds → probability."""
    return np.asarray(1 / (1 + np.exp(-x)))


def shift_of(task: str, rows: Columns, odds: np.ndarray) -> float:
    """What makes as many verdicts yes as labels are, and leans by `LEAN`; 0 for tasks that aren't matched."""
    if task not in MATCHED:
        return 0.0
    whole = counted(rows)
    # labelled sub-questions are worded better than what users ask: the share must be right on the latter
    real = np.char.endswith(rows["kind"].astype(str), ASKED) if task.startswith("answered") else whole
    shift = -float(np.quantile(odds[real], 1 - rows["label"][real].mean()))
    return shift + lean_of(task)


def lean_of(task: str) -> float:
    """The log odds by which a task leans to yes."""
    return round(float(np.log(LEAN.get(task, 1.0))), 4)


def report(name: str, rows: Columns, scores: dict[str, np.ndarray]) -> None:
    """AUC of each score, over all rows and by kind, and what the last one says as a verdict."""
    y, whole = rows["label"], counted(rows)
    cases = len(set(rows["group"][whole]))
    print(f"\n{name}: {whole.sum()} rows, {cases} cases, {y[whole].mean():.2f} yes")
    by_kind = {kind: rows["kind"] == kind for kind in sorted(set(rows["kind"]))}
    if name.startswith("supported"):
        true = y == 1
        by_kind = {kind: some | (true & whole) for kind, some in by_kind.items() if not y[some].any()}
    for kind, some in {"all": whole, **by_kind}.items():
        if len(set(y[some])) > 1 and (some & (y == 0)).sum() >= 20 and some.sum() >= 40:
            aucs = ", ".join(f"{one} {auc(y[some], p[some]):.3f}" for one, p in scores.items())
            last = list(scores.values())[-1][some]
            yes = last >= 0.5
            print(
                f"  {kind}: {(some & (y == 0)).sum()} no, AUC {aucs}; said yes {yes.mean():.2f}, BAcc "
                f"{(yes[y[some] == 1].mean() + (~yes)[y[some] == 0].mean()) / 2:.2f}, precision of yes "
                f"{y[some][yes].mean() if yes.any() else float('nan'):.2f}, of no "
                f"{1 - y[some][~yes].mean() if (~yes).any() else float('nan'):.2f}"
            )


def report_supported(rows: Columns, p: np.ndarray) -> None:
    """How often a no is right, and how many clean answers are blamed."""
    y, group = rows["label"], rows["group"]
    clean = [g for g in set(group) if y[group == g].all()]
    for name, cut in (("below a half", 0.5), ("no", UNSURE), ("red", SURE)):
        right, found, blamed = precision_of_no(y, p, cut)
        hit = np.mean([(p[group == g] <= cut).any() for g in clean]) if clean else float("nan")
        said = f"precision {right:.2f} at one in ten, finds {found:.2f}, blames {blamed:.3f} of the supported"
        print(f"  {name} (p <= {cut:.2f}): {said}; of {len(clean)} clean answers {hit:.3f} hold one")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("run")
    parser.add_argument("--out", type=Path, default=MODEL / "coefficients.json")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    tasks: dict[str, Any] = {"similar": similar_model()}
    fusions: dict[str, Any] = {}
    scores: dict[str, Columns] = {}
    folder = args.work / "runs" / args.run
    matcher = Matcher(WordPieces(MODEL / "vocab.txt"), path=folder / "matcher.onnx")
    rows = natural_rows(args.work, lambda _, columns: logits_of(columns, matcher, folder))
    matcher.close()
    for task, some in sorted(rows.items()):
        if task == "similar":
            continue
        tasks[task], fusion, scores[task] = fitted(task, some)
        if fusion:
            fusions[task] = fusion
    thresholds = {"repeats": REPEATS, "sure": SURE, "unsure": UNSURE}
    written = {"tasks": tasks, "fusion": fusions, "thresholds": thresholds}
    args.out.write_text(json.dumps(written) + "\n", encoding="utf-8")
    (args.work / "runs" / args.run / "scores.pkl").write_bytes(pickle.dumps(scores))
    print(f"\nwrote {args.out} ({args.out.stat().st_size / 1e3:.0f} kB)")


def similar_model() -> dict[str, Any]:
    """The coefficients of `similar`, which are set by hand."""
    names = columns("similar")
    weights = [[SIMILAR.get(name, 0.0)] for name in names]
    return {"mean": [0.0] * len(names), "scale": [1.0] * len(names), "layers": [[weights, [-SIMILAR_AT]]]}


def fit_model(task: str, rows: Columns) -> tuple[dict[str, Any], np.ndarray]:
    """A task's coefficients, and the log odds of all its rows: out of fold, but for the domains held out."""
    seen = rows["split"] != "held"
    some = of(rows, seen)
    x, y, odds, hidden = np.stack(list(some["x"])), some["label"], odds_of(task, some), HIDDEN.get(task, 0)
    crossed = np.zeros(len(y))
    for a, b in GroupKFold(FOLDS).split(x, y, some["group"]):
        crossed[b] = logit(applied(fit(x[a], y[a], hidden, odds), x[b]))
    model = fit(x, y, hidden, odds)
    shift = shift_of(task, some, crossed)
    model["layers"][-1][1][0] = round(model["layers"][-1][1][0] + shift, 4)
    model["lean"] = lean_of(task)
    out = np.zeros(len(rows["label"]))
    out[seen] = crossed + shift
    if not seen.all():
        out[~seen] = logit(applied(model, np.stack(list(rows["x"][~seen]))))
    return {"columns": columns(task), **model}, out


def fit_fusion(task: str, rows: Columns) -> tuple[dict[str, Any], np.ndarray]:
    """A task's fusion, and the log odds of all its rows: out of fold, but for the domains held out."""
    seen = rows["split"] == "fusion"
    some = of(rows, seen)
    z, y, odds = inputs(task, some), some["label"], odds_of(task, some)
    crossed = np.zeros(len(y))
    for a, b in GroupKFold(FOLDS).split(z, y, some["group"]):
        weights, bias = fuse(task, z[a], y[a], odds)
        crossed[b] = z[b] @ weights + bias
    shift = shift_of(task, some, crossed)
    weights, bias = fuse(task, z, y, odds)
    names = ("floor", *HEADS, *(f"{head} of a sentence" for head in HEADS))[: len(weights)]
    print(f"\n{task} weighs", ", ".join(f"{one} {w:.2f}" for one, w in zip(names, weights, strict=True)))
    out = inputs(task, rows) @ weights + bias + shift
    out[seen] = crossed + shift
    return {"weights": np.round(weights, 4).tolist(), "bias": round(bias + shift, 4), "lean": lean_of(task)}, out


def odds_of(task: str, rows: Columns) -> float:
    """By which `supported` leans to yes, for an application whose claims are mostly supported; 1 for other tasks."""
    share = rows["label"][counted(rows)].mean()
    return float((1 / UNSUPPORTED - 1) * (1 - share) / share) if task == "supported" else 1.0


def best_alternatives(rows: Columns, score: str) -> Columns:
    """Of the lines of one question the one with the highest score, which is the judge's answer to it."""
    order = np.argsort(-rows[score], kind="stable")
    names = [f"{group} {number}" for group, number in zip(rows["group"], rows["question"], strict=True)]
    _, first = np.unique(np.array(names)[order], return_index=True)
    return of(rows, np.sort(order[first]))


def fitted(task: str, rows: Columns) -> tuple[dict[str, Any], dict[str, Any] | None, Columns]:
    """A task's model and fusion, and their scores out of fold; prints what these are worth."""
    model, rows["floor"] = fit_model(task, rows)
    fusion, last = None, "floor"
    if fused(task):
        rows = of(rows, np.isin(rows["split"], ["fusion", "held"]))
        rows["matcher"] = rows["logits"][:, HEADS.index(head_of(task))]
        fusion, rows["fused"] = fit_fusion(task, rows)
        last = "fused"
    rows = best_alternatives(rows, last)
    places = {"held out": rows["split"] == "held", "other cases": rows["split"] != "held"}
    for name, keep in places.items():
        some = of(rows, keep)
        scores = {one: sigmoid(some[one]) for one in ("floor", "matcher", "fused") if one in some}
        report(f"{task}, {name}", some, scores)
        if task == "supported":
            for one in ("floor", "fused"):
                print(f"{one}, {name}:")
                report_supported(of(some, counted(some)), scores[one][counted(some)])
                print(f"{one}, {name}, on a few sentences:")
                report_supported(of(some, some["kind"] == SHORT), scores[one][some["kind"] == SHORT])
    seen = of(rows, places["other cases"] & counted(rows))
    kept = {name: seen[name] for name in ("label", "group", "kind")}
    return model, fusion, {"p": sigmoid(seen[last] - lean_of(task)), "yes": seen[last] >= 0, **kept}


if __name__ == "__main__":
    main()
