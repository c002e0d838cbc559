"""Trains the matcher: one encoder for pairs of texts, with a head a task.

    pip install -r training/requirements.txt
    python training/train.py WORK RUN --sets public authored [--start RUN] [--seed 0]

WORK holds what `training/prepare.py` wrote; the weights go to WORK/runs/RUN. A run that was cut off goes on from its
last checkpoint when the command is given again. `--sets` are prefixes of the names in WORK/rows, with the share of
their rows if it isn't 1 (`public:0.3`); `--start` begins from the weights of another run, not from the plain encoder.

Whole cases are kept out: those of `splits.HELD` to be measured on, those of `splits.FUSION` to fit on what the matcher
says about texts that it hasn't seen.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from graph import carried
from splits import WHOLE, split_of
from torch import Tensor, nn
from transformers import BertModel

from ragtriage.judges.embedded.matcher import HEADS, LENGTH, head_of, pair_pieces
from ragtriage.judges.embedded.session import MODEL
from ragtriage.judges.embedded.wordpiece import WordPieces

TOKENS = 4096
"""Word pieces in a batch, padding included."""
POOL = 64
"""Batches whose rows are sorted by length together."""
WARM_UP = 0.06
SAVE_EVERY = 120.0
"""Seconds."""
NEGATIVES = 1.5
"""Essential sentences: how many rows labelled 0 are kept for one labelled 1; of a passage most sentences aren't."""
SMOOTHING = 0.03


@dataclass(frozen=True, slots=True)
class Example:
    """One pair with its label."""

    pieces: list[int]
    second: int
    """Where the second text begins."""
    head: int
    label: float


class Matcher(nn.Module):
    """Pairs → one logit a task: the mean over the tokens, a layer with tanh, a line."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        settings = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "attn_implementation": "eager"}
        self.encoder = BertModel.from_pretrained(folder, add_pooling_layer=False, **settings)
        self.hidden = nn.Linear(384, 384)
        self.heads = nn.Linear(384, len(HEADS))
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """(n, longest) each → (n, heads)."""
        tokens = self.encoder(ids, attention_mask=mask, token_type_ids=types).last_hidden_state.float()
        mean = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        logits: Tensor = self.heads(torch.tanh(self.hidden(self.dropout(mean))))
        return logits


def chosen(work: Path, sets: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    """The rows to train on."""
    draw = random.Random(seed)
    for path in sorted((work / "rows").glob("*.pkl")):
        shares = [float((one + ":1").split(":")[1]) for one in sets if path.stem.startswith(one.split(":")[0])]
        if not shares:
            continue
        columns = pickle.loads(path.read_bytes())
        keep = share_of_negatives(columns)
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(columns, values, strict=True))
            kept = split_of(row["set"], row["group"], row["domain"])
            if not head_of(row["task"]) or kept or draw.random() >= shares[0]:
                continue
            common = row["kind"] == "sentence" and not row["label"] and row["set"] not in WHOLE
            if not common or draw.random() < keep:
                yield row


def share_of_negatives(columns: dict[str, list[Any]]) -> float:
    """How many of the sentences that aren't essential are trained on."""
    found = Counter(y for y, kind in zip(columns["label"], columns["kind"], strict=True) if kind == "sentence")
    return min(1.0, NEGATIVES * found[1] / max(1, found[0]))


def batches(examples: list[Example], seed: int) -> list[list[Example]]:
    """Rows of like length together, in a random order."""
    draw = random.Random(seed)
    order = draw.sample(examples, len(examples))
    size = max(1, TOKENS // LENGTH) * POOL
    out: list[list[Example]] = []
    for start in range(0, len(order), size):
        batch: list[Example] = []
        for one in sorted(order[start : start + size], key=lambda one: len(one.pieces)):
            if batch and len(one.pieces) * (len(batch) + 1) > TOKENS:
                out.append(batch)
                batch = []
            batch.append(one)
        out.append(batch)
    draw.shuffle(out)
    return out


def tensors(batch: list[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, segments and mask, padded."""
    longest = max(len(one.pieces) for one in batch)
    ids, types, mask = (torch.zeros(len(batch), longest, dtype=torch.long) for _ in range(3))
    for i, one in enumerate(batch):
        ids[i, : len(one.pieces)] = torch.tensor(one.pieces)
        types[i, one.second : len(one.pieces)] = 1
        mask[i, : len(one.pieces)] = 1
    return ids, types, mask


def train(model: Matcher, work: list[list[Example]], folder: Path, args: Mapping[str, Any], device: str) -> None:
    """One pass over the batches; goes on where a checkpoint of the same run says.

    The loss is a mean over a batch, and batches are alike in word pieces: a long pair weighs as much as several short
    ones.
    """
    plain = [p for name, p in model.named_parameters() if "bias" in name or "LayerNorm" in name]
    names = {id(p) for p in plain}
    rest = [p for p in model.parameters() if id(p) not in names]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], args["rate"]
    )
    steps, warm = len(work), max(1, int(WARM_UP * len(work)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / warm, max(0.02, (steps - step) / max(1, steps - warm)))
    )
    checkpoint, first = folder / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        if saved["args"] != {**args, "steps": steps}:
            raise SystemExit(f"{checkpoint} is of another run: delete it, or give this one another name")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
        print(f"goes on at step {first} of {steps}", flush=True)
    model.train()
    saved_at, started, rows, losses = time.perf_counter(), time.perf_counter(), 0, []
    for step in range(first, steps):
        batch = work[step]
        torch.manual_seed(args["seed"] * 1_000_003 + step)  # so that a run that goes on drops out the same
        ids, types, mask = (one.to(device) for one in tensors(batch))
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = model(ids, types, mask)
        heads = torch.tensor([one.head for one in batch], device=device)
        labels = torch.tensor([one.label for one in batch], device=device) * (1 - 2 * SMOOTHING) + SMOOTHING
        logits = logits.float().gather(1, heads[:, None])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        rows += len(batch)
        losses.append(float(loss.detach()))
        if step % 100 == 99:
            a_second = rows / (time.perf_counter() - started)
            print(
                f"{step + 1}/{steps}: loss {sum(losses[-100:]) / len(losses[-100:]):.3f}, {a_second:.0f} rows a second",
                flush=True,
            )
        if time.perf_counter() - saved_at > SAVE_EVERY:
            parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
            states = {name: part.state_dict() for name, part in parts.items()}
            save(checkpoint, {**states, "step": step + 1, "args": {**args, "steps": steps}})
            saved_at = time.perf_counter()
    save(folder / "weights.pt", model.state_dict())
    checkpoint.unlink(missing_ok=True)


def save(path: Path, value: Any) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    torch.save(value, part)
    part.replace(path)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("run")
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--start", help="the run whose weights to begin with")
    parser.add_argument("--rate", type=float, default=5e-5, help="the highest learning rate")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pieces = WordPieces(MODEL / "vocab.txt")
    counts: Counter[str] = Counter()
    examples = []
    for row in chosen(args.work, args.sets, args.seed):
        ids, second = pair_pieces(pieces, row["a"], row["b"])
        examples.append(Example(ids, second, HEADS.index(head_of(row["task"])), row["label"]))
        counts[f"{row['set']}: {row['task']}"] += 1
    order = list(itertools.chain(*(batches(examples, args.seed + epoch) for epoch in range(args.epochs))))
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    own = {name: value for name, value in vars(args).items() if name != "work"}
    log = folder / "run.json"
    if (folder / "weights.pt").exists() and log.exists() and json.loads(log.read_text()) == {**own, "rows": counts}:
        print(f"{args.run} is there already")
        return
    log.write_text(json.dumps({**own, "rows": counts}, indent=1) + "\n")
    print(f"{len(examples)} rows in {len(order)} batches on {device}: {dict(counts)}", flush=True)
    model = Matcher(carried()).to(device)
    if args.start:
        model.load_state_dict(torch.load(args.work / "runs" / args.start / "weights.pt", map_location=device))
    train(model, order, folder, own, device)


if __name__ == "__main__":
    main()
