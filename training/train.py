"""Trains the matcher: one encoder for pairs of texts, with a head a task.

    pip install -r training/requirements.txt
    python training/train.py WORK RUN --sets public authored [--start RUN] [--seed 0]

WORK/packed.npz is what `training/prepare.py` wrote; the weights go to WORK/runs/RUN. A run that was cut off goes on
from its last checkpoint when the command is given again. `--sets` are prefixes of the names in WORK/rows, with the
share of their rows if it isn't 1 (`public:0.3`); `--start` begins from the weights of another run, not from the plain
encoder. With `--teachers` the labels are mixed with what other runs, of a larger encoder (`--base`), say of the row.

Whole cases are kept out: those of `splits.HELD` to be measured on, those of `splits.FUSION` to fit on what the matcher
says about texts that it hasn't seen. Agreement sets that are lent are trained on but for one `--fold`.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from graph import carried
from packed import UNASKED, Packed
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from ragtriage.judges.embedded.matcher import HEADS, LENGTH

TOKENS = 32768
"""Word pieces in a batch, padding included."""
AT_ONCE = 4096
"""Word pieces that a processor works on at a time; a GPU takes the batch whole."""
POOL = 64
"""Batches whose rows are sorted by length together."""
WARM_UP = 0.06
SAVE_EVERY = 120.0
"""Seconds."""
NEGATIVES = 1.5
"""Essential sentences: how many rows labelled 0 are kept for one labelled 1; of a passage most sentences aren't."""
SMOOTHING = 0.03
TAUGHT = 0.7
"""How much a teacher's probability counts, against the label."""
MARKS = {101: 0, 102: 2, 0: 1}
"""BERT's marks of a text's begin and end and of padding, and what MPNet has for them."""
SHIFT = 4
"""All other pieces of MPNet's vocabulary are BERT's, so much further down."""


class Matcher(nn.Module):
    """Pairs → one logit a task: the mean over the tokens, a layer with tanh, a line."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(folder)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        self.mpnet = config.model_type == "mpnet"
        settings = {} if torch.cuda.is_available() else {"attn_implementation": "eager"}
        self.encoder = AutoModel.from_pretrained(
            folder, config=config, dtype=torch.float32, add_pooling_layer=False, **settings
        )
        self.hidden = nn.Linear(config.hidden_size, 384)
        self.heads = nn.Linear(384, len(HEADS))
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """(n, longest) each → (n, heads)."""
        given = {"input_ids": as_mpnet(ids)} if self.mpnet else {"input_ids": ids, "token_type_ids": types}
        tokens = self.encoder(**given, attention_mask=mask).last_hidden_state.float()
        mean = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        logits: Tensor = self.heads(torch.tanh(self.hidden(self.dropout(mean))))
        return logits


def as_mpnet(ids: Tensor) -> Tensor:
    """BERT's numbers of pieces as MPNet's."""
    out = ids + SHIFT
    for bert, mpnet in MARKS.items():
        out = torch.where(ids == bert, mpnet, out)
    return out


def chosen(rows: Packed, sets: Sequence[str], seed: int, fold: int | None) -> np.ndarray:
    """The numbers of the rows to train on."""
    draw = random.Random(seed)
    out: list[int] = []
    for file in sorted(set(rows.origin)):
        shares = [float((one + ":1").split(":")[1]) for one in sets if file.startswith(one.split(":")[0])]
        if not shares:
            continue
        here = np.flatnonzero(rows.origin == file)
        common = rows.common[here]
        yes = (rows.label[here] == 1) & (rows.head[here] == HEADS.index("essential"))
        keep = NEGATIVES * yes.sum() / max(1, common.sum())
        for i, many in zip(here, common, strict=True):
            split = rows.split[i]
            lent = split.startswith("fold") and split != f"fold {fold}"
            if rows.head[i] == UNASKED or (split and not lent) or draw.random() >= shares[0]:
                continue
            if not many or draw.random() < keep:
                out.append(i)
    return np.array(out)


def batches(lengths: np.ndarray, numbers: np.ndarray, seed: int) -> list[np.ndarray]:
    """Rows of like length together, in a random order."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(numbers)
    size = TOKENS // LENGTH * POOL
    out: list[np.ndarray] = []
    for start in range(0, len(order), size):
        some = order[start : start + size]
        out += list(filled(lengths, some[np.argsort(lengths[some], kind="stable")]))
    draw.shuffle(out)  # type: ignore[arg-type]  # it shuffles lists too
    return out


def filled(lengths: np.ndarray, order: np.ndarray, most: int = TOKENS) -> Iterator[np.ndarray]:
    """Rows one after the other, shortest first, until so many word pieces are reached."""
    start = 0
    for at, row in enumerate(order):
        if at > start and lengths[row] * (at + 1 - start) > most:
            yield order[start:at]
            start = at
    if start < len(order):
        yield order[start:]


def tensors(rows: Packed, batch: np.ndarray, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, segments and mask, padded."""
    starts, ends = rows.starts[batch], rows.starts[batch + 1]
    longest = -(-int((ends - starts).max()) // 8) * 8
    ids, types, mask = (np.zeros((len(batch), longest), np.int64) for _ in range(3))
    for i, (start, end, second) in enumerate(zip(starts, ends, rows.second[batch], strict=True)):
        ids[i, : end - start] = rows.pieces[start:end]
        types[i, second : end - start] = 1
        mask[i, : end - start] = 1
    return tuple(torch.from_numpy(one).to(device, non_blocking=True) for one in (ids, types, mask))  # type: ignore[return-value]


def train(
    model: Matcher, rows: Packed, targets: np.ndarray, order: list[np.ndarray], folder: Path, args: Mapping[str, Any]
) -> None:
    """One pass over the batches; goes on where a checkpoint of the same run says.

    The loss is a mean over a batch, and batches are alike in word pieces: a long pair weighs as much as several short
    ones.
    """
    device = next(model.parameters()).device.type
    plain = [p for name, p in model.named_parameters() if "bias" in name or "LayerNorm" in name]
    names = {id(p) for p in plain}
    rest = [p for p in model.parameters() if id(p) not in names]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        args["rate"],
        fused=device == "cuda",
    )
    steps, warm = len(order), max(1, int(WARM_UP * len(order)))
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
    saved_at = started = time.perf_counter()
    lengths, seen, losses = np.diff(rows.starts), 0, []
    for step in range(first, steps):
        batch = order[step]
        torch.manual_seed(args["seed"] * 1_000_003 + step)  # so that a run that goes on drops out the same
        for part in filled(lengths, batch, TOKENS if device == "cuda" else AT_ONCE):
            with torch.autocast(device, dtype=torch.bfloat16):
                logits = model(*tensors(rows, part, device))
            heads = torch.from_numpy(rows.head[part].astype(np.int64)).to(device)
            wanted = torch.from_numpy(targets[part]).to(device)
            asked = logits.float().gather(1, heads[:, None])[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(asked, wanted, reduction="sum") / len(batch)
            loss.backward()
            losses.append(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        seen += len(batch)
        if step % 100 == 99:
            a_second, mean = seen / (time.perf_counter() - started), float(torch.stack(losses).sum()) / 100
            print(f"{step + 1}/{steps}: loss {mean:.3f}, {a_second:.0f} rows a second", flush=True)
            losses.clear()
        if time.perf_counter() - saved_at > SAVE_EVERY:
            parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
            states = {name: part.state_dict() for name, part in parts.items()}
            save(checkpoint, {**states, "step": step + 1, "args": {**args, "steps": steps}})
            saved_at = time.perf_counter()
    save(folder / "weights.pt", model.state_dict())
    checkpoint.unlink(missing_ok=True)


def read(model: Matcher, rows: Packed, wanted: np.ndarray) -> np.ndarray:
    """(n, heads), the logits of the wanted rows, nan for others."""
    device = next(model.parameters()).device.type
    lengths = np.diff(rows.starts)
    out = np.full((len(lengths), len(HEADS)), np.nan, np.float32)
    model.eval()
    for batch in filled(lengths, wanted[np.argsort(lengths[wanted], kind="stable")]):
        with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16):
            out[batch] = model(*tensors(rows, batch, device)).float().cpu().numpy()
    return out


def targets_of(rows: Packed, work: Path, teachers: Sequence[str]) -> np.ndarray:
    """(n,), what each row's head is to say: its label, or that and what the teachers say."""
    targets = rows.label * (1 - 2 * SMOOTHING) + SMOOTHING
    if teachers:
        logits = np.mean([np.load(work / "runs" / one / "logits.npy") for one in teachers], axis=0, dtype=np.float32)
        own = np.take_along_axis(logits, np.maximum(rows.head, 0)[:, None].astype(int), 1)[:, 0]
        targets = (1 - TAUGHT) * targets + TAUGHT / (1 + np.exp(-own))
    return np.asarray(targets, np.float32)


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
    parser.add_argument("--base", type=Path, help="a folder with the encoder to begin with (default: all-MiniLM-L6-v2)")
    parser.add_argument("--teachers", nargs="*", default=[], help="runs with --read all whose answers are learnt")
    parser.add_argument("--fold", type=int, help="the fold of the agreement sets that isn't trained on")
    parser.add_argument("--rate", type=float, default=5e-5, help="the highest learning rate")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--read", choices=["all", "kept"], help="write the logits of these rows: kept from training")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = Packed.load(args.work / "packed.npz")
    lengths = np.diff(rows.starts)
    epochs = [chosen(rows, args.sets, args.seed + epoch, args.fold) for epoch in range(args.epochs)]
    order = [batch for i, epoch in enumerate(epochs) for batch in batches(lengths, epoch, args.seed + i)]
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    counts = Counter(f"{rows.origin[i]}: {HEADS[rows.head[i]]}" for i in epochs[0])
    own = {name: str(value) if name == "base" else value for name, value in vars(args).items() if name != "work"}
    log = folder / "run.json"
    weights, logits = folder / "weights.pt", folder / "logits.npy"
    there = weights.exists() and log.exists() and json.loads(log.read_text()) == {**own, "rows": counts}
    if there and (logits.exists() or not args.read):
        print(f"{args.run} is there already")
        return
    log.write_text(json.dumps({**own, "rows": counts}, indent=1) + "\n")
    print(f"{len(epochs[0])} rows an epoch, {len(order)} batches on {device}: {dict(counts)}", flush=True)
    model = Matcher(args.base or carried()).to(device)
    start = weights if there else args.start and args.work / "runs" / args.start / "weights.pt"
    if start:
        model.load_state_dict(torch.load(start, map_location=device))
    if not there:
        train(model, rows, targets_of(rows, args.work, args.teachers), order, folder, own)
    if args.read:
        wanted = np.flatnonzero((rows.split != "") | (args.read == "all"))
        np.save(logits, read(model, rows, wanted).astype(np.float16))


if __name__ == "__main__":
    main()
