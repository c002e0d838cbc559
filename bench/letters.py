"""The forms of a language model's verdicts side by side, on labelled claims: JSON, a list of letters, single letters.

    python bench/letters.py --judge openai:NAME --base-url http://127.0.0.1:8077/v1 [--passages 30]
        [--forms json,list,explained,single] [--batch-size 4] [--concurrency 1] [--bare]

The claims are those of `tests/held_out/contrast.jsonl`, ten a passage, half of them with one detail changed; nothing
was tuned on them. `right` is the share of the right verdicts among all claims, an *unsure* being none; `AUC` that a
sound claim is likelier than a changed one, verdicts without a probability being 1, 0 or between; `as single` the share
with the verdict of the single form. `--batch-size` is the most questions that a request of the other forms has: a small
model may never end a long reply. `--bare` sends the requests of the single form again by a client that does nothing
else, on other passages than the form itself, and tells which share of their prompt tokens the server had kept; both one
passage after the other.
"""

import argparse
import asyncio
import json
import random
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ragtriage.core.questions import Question, supported
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.judge import LLMJudge
from ragtriage.judges.llm.letters import Explain, LetterForm
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.prompts import read_prompts
from ragtriage.judges.llm.requests import group_questions
from ragtriage.judges.llm.transport import ModelTransport

ROWS = Path(__file__).parents[1] / "tests" / "held_out" / "contrast.jsonl"
FORMS: dict[str, Explain | None] = {"json": None, "list": "none", "explained": "doubtful", "single": "none"}
"""Name → which verdicts are explained, in letters."""


@dataclass(frozen=True)
class Judged:
    """What one form came to."""

    answers: Sequence[Answer]
    ledger: Ledger
    seconds: float


def labelled(passages: int) -> list[tuple[list[Question], list[bool]]]:
    """The claims on each passage, in an order that tells nothing, and whether they are supported."""
    found = []
    for row in [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()][:passages]:
        claims = [(claim, label) for good, bad, _ in row["claims"] for claim, label in ((good, True), (bad, False))]
        random.Random(row["id"]).shuffle(claims)
        found.append(([supported(claim, (row["passage"],)) for claim, _ in claims], [label for _, label in claims]))
    return found


def judged(name: str, options: LLMOptions, form: str, size: int, asked: Sequence[Sequence[Question]]) -> Judged:
    """Ask about every passage's claims, as many passages at a time as requests may be in flight."""
    ledger, transport = Ledger(), ModelTransport(name, options)
    ask = partial(Channel(options, ledger, name=name).ask, transport.send)
    single = form == "single"
    judge = LLMJudge(name, ask, LetterForm(read_prompts(), FORMS[form], single), batch_size=1 if single else size)
    several = asyncio.Semaphore(options.concurrency)

    async def on_one(questions: Sequence[Question]) -> list[Answer]:
        async with several:
            some = {position: answer async for position, answer in judge.ask(questions)}
        return [some[position] for position in range(len(questions))]

    async def answers() -> list[Answer]:
        return [answer for some in await asyncio.gather(*map(on_one, asked)) for answer in some]

    began = time.perf_counter()
    return Judged(asyncio.run(answers()), ledger, time.perf_counter() - began)


def by_client(address: str, name: str, asked: Sequence[Sequence[Question]]) -> tuple[float, float]:
    """Requests a second of a bare client with the requests of the single form, and the share of kept prompt tokens."""
    form = LetterForm(read_prompts(), "none", single=True)
    prompts = [form.render(request) for questions in asked for request in group_questions(questions, 1)]
    kept = sent = 0
    began = time.perf_counter()
    for prompt in prompts:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        body = {"model": name, "messages": messages, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}
        body["temperature"] = 0
        request = urllib.request.Request(
            f"{address}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            usage = json.load(reply)["usage"]
        sent += usage["prompt_tokens"]
        kept += (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return len(prompts) / (time.perf_counter() - began), kept / sent


def likely(answer: Answer) -> float:
    """The probability of yes, as far as the verdict says."""
    if not isinstance(answer, Verdict):
        return 0.5
    return answer.score if answer.score is not None else {"yes": 1.0, "no": 0.0, "unknown": 0.5}[answer.value]


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """How often a supported claim is likelier than one that isn't; a tie counts half."""
    p, y = np.asarray(scores), np.asarray(labels)
    good, bad = p[y][:, None], p[~y][None, :]
    return float((good > bad).mean() + (good == bad).mean() / 2)


def values(found: Judged) -> list[str]:
    """The verdicts, `failed` where there is none."""
    return [answer.value if isinstance(answer, Verdict) else "failed" for answer in found.answers]


def main() -> None:
    """Print a row a form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--base-url")
    parser.add_argument("--passages", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--forms", default=",".join(FORMS))
    given = parser.parse_args()
    options = LLMOptions(base_url=given.base_url, timeout=given.timeout, concurrency=given.concurrency)
    rows = labelled(given.passages)
    labels = [label for _, some in rows for label in some]
    asked = [questions for questions, _ in rows]
    print(f"{len(labels)} claims on {len(rows)} passages")
    print("| form | right | unsure | failed | AUC | as single | requests | asked again | tokens in | out | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    single: list[str] = []
    for form in sorted(given.forms.split(","), key=lambda form: form != "single"):
        found = judged(given.judge, options, form, given.batch_size, asked)
        own, ledger = values(found), found.ledger
        single = single or (own if form == "single" else [])
        right = np.mean([one == ("yes" if label else "no") for one, label in zip(own, labels, strict=True)])
        alike = f"{np.mean([a == b for a, b in zip(own, single, strict=True)]):.2f}" if single else ""
        print(
            f"| {form} | {right:.2f} | {own.count('unknown')} | {own.count('failed')} "
            f"| {auc([likely(answer) for answer in found.answers], labels):.2f} | {alike} | {ledger.requests} "
            f"| {sum(ledger.repeated.values())} | {ledger.tokens_in:,} | {ledger.tokens_out:,} | {found.seconds:.0f} |",
            flush=True,
        )
    if given.bare:
        half = len(asked) // 2
        found = judged(given.judge, options, "single", 1, asked[:half])
        own = found.ledger.requests / found.seconds
        bare, kept = by_client(given.base_url, given.judge.partition(":")[2], asked[half:])
        print(
            f"single letters: {own:.2f} requests a second, a bare client's {bare:.2f} ({own / bare:.2f}), "
            f"{kept:.0%} of the prompt tokens kept"
        )


if __name__ == "__main__":
    main()
