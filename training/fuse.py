"""Weighs what the reader says with what rules found, and fits what words and vectors tell; writes the coefficients.

    pip install -r training/requirements.txt
    python training/fuse.py WORK TRAIN RUN [--refit]

Uses the judge as it is, with the reader that `export.py` wrote to WORK/runs/RUN, on natural cases that it wasn't
trained on (`splits.FUSION`); the coefficients go to the same folder. What the larger reader reads depends on
the coefficients that lie there. What is printed is of cases that nothing was
fitted on: out of five folds over whole cases, or of the domains in `splits.HELD`. Only the shift of `MATCHED` tasks is
found on the rows that it is printed for. `--refit` also fits the models of words and vectors, for `relevant` and
`same_answer`.

The probabilities are calibrated at the share of yes that the rows have; `calibrate.py` then shifts them until the
expected scores of whole cases are right. `similar`
isn't fitted: its numbers are set by hand, because in the labelled pairs the ones that sound alike are the wrong ones,
by design, and a fitted model learns that likeness means no.
"""

import argparse
import json
import pickle
import warnings
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rows import REORDERED, SHORT, answer_rows, natural_rows
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from splits import GROUPS, split_of

from ragtriage.core.verdicts import CHECK, NOT_SUPPORTED
from ragtriage.judges.embedded.cross_encoder import HEADS
from ragtriage.judges.embedded.encoder import MODEL
from ragtriage.judges.embedded.features import columns
from ragtriage.judges.embedded.scorer import DOUBTED, Scorer, fused_inputs
from ragtriage.judges.embedded.versions import LARGER, LARGER_READER, larger_reader

UNSUPPORTED = 0.1
"""The share of unsupported claims at which precision is told."""
CUTS = {"marked": CHECK, "not supported": NOT_SUPPORTED}
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
TURN = 400
AUTHORED = Path(__file__).parent / "authored"
CHECKS = ("contradicted",)
"""What rules found, weighed beside the reader for `supported`."""
CLAIMS = ("supported", "supported" + LARGER)
WORDS = 0.6
"""By how much words and vectors are scaled before `CLAIMS` are fitted, so that their weight is penalised more. In
natural cases nearly every wrong claim is made up, and words tell those; a claim with one wrong detail has the words of
its passage. Chosen on `authored/cases` and the first file of `tests/details`."""
Columns = dict[str, np.ndarray]


def fit(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Coefficients of a logistic regression as `scorer.Model` reads them."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale < 1e-6] = 1.0
    line = LogisticRegression(C=0.1, max_iter=1000).fit(np.clip((x - mean) / scale, -5, 5), y)
    layers = [[np.round(line.coef_.T, 4).tolist(), np.round(line.intercept_, 4).tolist()]]
    return {"mean": np.round(mean, 5).tolist(), "scale": np.round(scale, 5).tolist(), "layers": layers}


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


def fuse(x: np.ndarray, y: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a fusion; a column with the scale 0 is left out."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale < 1e-6] = 1.0
    line = LogisticRegression(C=0.1, max_iter=1000).fit((x - mean) / scale * scales, y)
    weights = line.coef_[0] * scales / scale
    return weights, float(line.intercept_[0] - weights @ mean)


def names_of(task: str) -> tuple[str, ...]:
    """What a fusion weighs, in the order of `scorer.fused_inputs`."""
    second = "of the text" if task == "essential_fact" else "of a sentence"
    names = [*HEADS, *(f"{head} {second}" for head in HEADS), "nothing else", "words and vectors"]
    return (*names, *(CHECKS if task in CLAIMS else ()), *(["larger reader"] if task.endswith(LARGER) else []))


def scales_of(task: str) -> np.ndarray:
    """By how much each standardised column is scaled before it is fitted.

    For claims the other heads are left out: they add nothing on cases that nothing was fitted on.
    """
    scales = dict.fromkeys(names_of(task), 1.0)
    if task in CLAIMS:
        left_out = {name for head in HEADS[1:] for name in (head, f"{head} of a sentence")}
        scales |= dict.fromkeys(left_out, 0.0) | {"words and vectors": WORDS}
    return np.array([*scales.values()])


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Log odds → probability."""
    return np.asarray(1 / (1 + np.exp(-x)))


def report(name: str, rows: Columns, scores: dict[str, np.ndarray]) -> None:
    """AUC of each score, over all rows and by kind, and what the last one says as a verdict."""
    y, whole = rows["label"], counted(rows)
    cases = len(set(rows["group"][whole]))
    print(f"\n{name}: {whole.sum()} rows, {cases} cases, {y[whole].mean():.2f} yes")
    by_kind = {kind: rows["kind"] == kind for kind in sorted(set(rows["kind"]))}
    if name.startswith(CLAIMS):
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
    for name, cut in CUTS.items():
        right, found, blamed = precision_of_no(y, p, cut)
        hit = np.mean([(p[group == g] <= cut).any() for g in clean]) if clean else float("nan")
        said = f"precision {right:.2f} at one in ten, finds {found:.2f}, blames {blamed:.3f} of the supported"
        print(f"  {name} (p <= {cut:.2f}): {said}; of {len(clean)} clean answers {hit:.3f} hold one")


def measured(files: list[Path], scorer: Scorer, *, every: bool, cache: Path) -> dict[str, Columns]:
    """The rows of natural cases by task, as the judge measures them.

    Without `every` those alone that the reader wasn't trained on. Kept in a file, as reading takes minutes.
    """
    if cache.exists():
        found: dict[str, Columns] = pickle.loads(cache.read_bytes())
        return found
    out: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for path in files:
        rows = list((answer_rows if path.stem == "answers" else natural_rows)(path))
        kept = [row for row in rows if every or split_of(row.set, row.group, row.domain)]
        for start in range(0, len(kept), TURN):
            some = kept[start : start + TURN]
            for row, measured in zip(some, scorer.measure([row.question for row in some]), strict=True):
                if isinstance(measured, Exception) or not measured.featurized.rows:
                    continue
                one = measured.featurized
                alternatives = [fused_inputs(measured, max(scorer.chances(one)))] if one.reads else list(one.rows)
                if not one.reads and one.task == "relevant" != row.question.kind:
                    continue  # an open request is judged by that model, and isn't what it is fitted on
                lines = [(one.task, x) for x in alternatives]
                if measured.larger and one.reads:  # the task is fitted without the larger reader, too
                    lines = [(one.task + LARGER, x) for x in alternatives] + [(one.task, x[:-1]) for x in alternatives]
                for task, x in lines:
                    line = {
                        "x": np.array(x),
                        "label": row.label,
                        "group": row.group,
                        "kind": row.kind,
                        "number": start + len(out[task]["x"]),
                    }
                    line["split"] = split_of(row.set, row.group, row.domain)
                    line["larger"] = bool(measured.larger)
                    for name, value in line.items():
                        out[task][name].append(value)
        print(f"measured {path.stem}", flush=True)
    found = {task: {name: np.array(values) for name, values in some.items()} for task, some in out.items()}
    cache.write_bytes(pickle.dumps(found))
    return found


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("run")
    parser.add_argument("--refit", action="store_true", help="fit the models of words and vectors too")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    files = [p for p in sorted(AUTHORED.glob("*.jsonl")) if p.stem not in GROUPS]
    files += [p for p in sorted((args.train / "natural").glob("*.jsonl")) if p.stem != "structured"]
    folder = args.work / "runs" / args.run
    out = folder / "coefficients.json"
    shipped = json.loads((MODEL / "coefficients.json").read_text(encoding="utf-8"))
    if out.exists():  # so that the judge can be opened, and knows of what it is sure
        own = json.loads(out.read_text(encoding="utf-8"))
        shipped |= own | {"fusion": shipped["fusion"] | own["fusion"]}
    out.write_text(json.dumps(shipped) + "\n", encoding="utf-8")
    scorer = Scorer(threads=2, kept=None, model=folder, larger=larger_reader())
    read = zlib.crc32(repr(DOUBTED).encode())
    cache = folder / f"measured-{LARGER_READER}-{read:x}{'-all' * args.refit}.pkl"
    rows = measured(files, scorer, every=args.refit, cache=cache)
    scorer.close()
    written = json.loads(out.read_text(encoding="utf-8"))
    tasks, fusions = dict(written["tasks"]), {}
    scores: dict[str, Columns] = {}
    for task, some in sorted(rows.items()):
        if task in ("relevant", "same_answer"):
            if args.refit:
                tasks[task] = fit_model(task, some)
        elif task != "similar":
            fusions[task], scores[task] = fit_fusion(task, of(some, some["split"] != ""))
    for task in [task for task in scores if task.endswith(LARGER)]:  # as the judge with both readers has them
        own = scores[task.removesuffix(LARGER)]
        own["p"][own["larger"]] = scores.pop(task)["p"]
    tasks["similar"] = similar_model()
    written = {"tasks": tasks, "fusion": fusions, "thresholds": {"repeats": REPEATS}}
    out.write_text(json.dumps(written) + "\n", encoding="utf-8")
    (folder / "scores.pkl").write_bytes(pickle.dumps(scores))
    print(f"\nwrote {out} ({out.stat().st_size / 1e3:.0f} kB)")


def of(rows: Columns, keep: np.ndarray) -> Columns:
    """Some of the rows."""
    return {name: values[keep] for name, values in rows.items()}


def counted(rows: Columns) -> np.ndarray:
    """Which rows set shares and figures; the others only teach."""
    return ~np.isin(rows["kind"], (SHORT, REORDERED))


def similar_model() -> dict[str, Any]:
    """The coefficients of `similar`, which are set by hand."""
    names = columns("similar")
    weights = [[SIMILAR.get(name, 0.0)] for name in names]
    return {"mean": [0.0] * len(names), "scale": [1.0] * len(names), "layers": [[weights, [-SIMILAR_AT]]]}


def fit_model(task: str, rows: Columns) -> dict[str, Any]:
    """The coefficients of a model of words and vectors; prints its AUC out of fold."""
    seen = of(rows, rows["split"] != "held")
    x, y = np.stack(list(seen["x"])), seen["label"]
    crossed = np.zeros(len(y))
    for a, b in GroupKFold(FOLDS).split(x, y, seen["group"]):
        crossed[b] = applied(fit(x[a], y[a]), x[b])
    print(f"\n{task}: {len(y)} rows, AUC {auc(y, crossed):.3f}")
    return {"columns": columns(task), **fit(x, y)}


def fit_fusion(task: str, rows: Columns) -> tuple[dict[str, Any], Columns]:
    """A task's fusion and its scores, out of fold but for the domains held out; prints what they are worth."""
    seen = rows["split"] == "fusion"
    some = of(rows, seen)
    z, y = np.stack(list(some["x"])), some["label"]
    scales, crossed = scales_of(task), np.zeros(len(y))
    for a, b in GroupKFold(FOLDS).split(z, y, some["group"]):
        weights, bias = fuse(z[a], y[a], scales)
        crossed[b] = z[b] @ weights + bias
    weights, bias = fuse(z, y, scales)
    weighed = [f"{name} {w:.2f}" for name, w in zip(names_of(task), weights, strict=True) if w]
    print(f"\n{task} weighs", ", ".join(weighed))
    out = np.stack(list(rows["x"])) @ weights + bias
    out[seen] = crossed
    head = "needed" if task in ("essential_fact", "essential_claim") else task.partition("_")[0]
    alone = np.stack(list(rows["x"]))[:, HEADS.index(head)]
    for name, keep in {"held out": ~seen, "other cases": seen}.items():
        part = of(rows, keep)
        report(f"{task}, {name}", part, {"reader": sigmoid(alone[keep]), "fused": sigmoid(out[keep])})
        if task in CLAIMS:
            whole = counted(part)
            report_supported(of(part, whole), sigmoid(out[keep])[whole])
    kept = {name: some[name] for name in ("label", "group", "kind", "larger")}
    return {"weights": np.round(weights, 4).tolist(), "bias": round(bias, 4)}, {"p": sigmoid(out[seen]), **kept}


if __name__ == "__main__":
    main()
