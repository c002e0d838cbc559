"""Whether a model of which a server demands the schema of the reply, word by word, gives replies that can be read.

    pip install llguidance
    python bench/reply_forms.py [--replies 10]

Servers of local models hold a model to a schema by forbidding each token that doesn't fit. llguidance is such a grammar
engine: vLLM and SGLang offer it, and llama.cpp can be built with it. The worst model is played by chance, which knows
nothing but what is allowed: each request of `tests/judges/llm/golden_requests.json`, which has all kinds of question,
gets some replies, one allowed byte after another. Whether a verdict would be right is another matter.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

import llguidance.numpy as bitmasks
import numpy as np
from llguidance import LLMatcher, LLTokenizer

from ragtriage.core.questions import Question
from ragtriage.judges.llm.options import MalformedReply, Reply
from ragtriage.judges.llm.prompts import read_prompts
from ragtriage.judges.llm.reply_json import JsonForm
from ragtriage.judges.llm.requests import Request, group_questions

REQUESTS = Path(__file__).parents[1] / "tests" / "judges" / "llm" / "golden_requests.json"
LONGEST = 20_000
"""Bytes of a reply, after which it counts as endless."""
ENDS = {'"': 0.12, "]": 0.4}
"""How often a text or a list ends where it may: else it would hardly ever."""
PLAIN = frozenset(map(ord, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."{}[],:'))


def requests() -> list[Request]:
    """Those that the questions of each row become."""
    rows = json.loads(REQUESTS.read_text(encoding="utf-8"))
    listed = [[{k: tuple(v) if isinstance(v, list) else v for k, v in q.items()} for q in r["questions"]] for r in rows]
    return [request for fields in listed for request in group_questions([Question(**one) for one in fields], 32)]


def random_reply(grammar: str, tokenizer: LLTokenizer, draw: random.Random) -> str:
    """A text that the schema allows, drawn byte by byte.

    Raises:
        ValueError: the schema can't be used, or the text doesn't end.
    """
    matcher, mask = LLMatcher(tokenizer, grammar), bitmasks.allocate_token_bitmask(1, tokenizer.vocab_size)
    said = bytearray()
    while not matcher.is_stopped():
        if matcher.get_error() or len(said) > LONGEST:
            raise ValueError(matcher.get_error() or "the reply doesn't end")
        bitmasks.fill_next_token_bitmask(matcher, mask, 0)
        allowed = np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: tokenizer.vocab_size])
        ends = [ord(end) for end, chance in ENDS.items() if ord(end) in allowed and draw.random() < chance]
        token = int(draw.choice(ends or [one for one in allowed if one in PLAIN] or list(allowed)))
        matcher.consume_token(token)
        if token < 256:
            said.append(token)
    return said.decode(errors="replace")


def main() -> None:
    """Print how many replies can be read, and why the others can't."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=10)
    replies = parser.parse_args().replies
    tokenizer, draw, form = LLTokenizer("byte"), random.Random(0), JsonForm(read_prompts())
    found: Counter[str] = Counter()
    kinds: set[str] = set()
    for request in requests():
        grammar = LLMatcher.grammar_from_json_schema(json.dumps(form.render(request).schema))
        kinds |= {question.kind for question in request.questions}
        for _ in range(replies):
            try:
                form.read(request, Reply(random_reply(grammar, tokenizer, draw)))
                found["can be read"] += 1
            except MalformedReply as error:
                found[f"asked again: {error}"] += 1
    print(f"{len(kinds)} kinds of question, {found.total()} replies")
    for what, count in found.most_common():
        print(f"{count:6,}  {what}")


if __name__ == "__main__":
    main()
