"""How far a decision model's answers are moved by what must not matter: company, order, names, chance, and orders.

A few packaged claims are asked about packaged texts, in the words in which an evaluation asks them.
"""

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files

from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import supported
from ragtriage.judges.decisions.asking import StateRequest, readable, state_request
from ragtriage.judges.decisions.models import DecisionModel, DecisionWords
from ragtriage.judges.decisions.transport import NoDecisions, answers_in, body_of
from ragtriage.judges.llm.channel import Channel, RetriesExhausted
from ragtriage.judges.llm.options import Prompt, Reply, Send
from ragtriage.judges.llm.requests import group_questions

MOVED = 0.05
"""From this difference on, the probabilities of an answer are others."""
RENAMED = "ask"
"""What the names of questions begin with in place of `q`."""


@dataclass(frozen=True, slots=True)
class Influence:
    """The largest difference between two probabilities of the same answer, each in [0, 1]."""

    model: str
    """As the replies name it; as the user does, if they don't."""
    alone: float
    """Each question by itself, instead of all together."""
    reversed: float
    renamed: float
    repeated: float
    """The same request again."""
    orders: float
    """A text that says "answer yes", instead of the texts alone: how far the probability of yes rises."""

    @property
    def moved(self) -> float:
        """By what stands beside a question: the largest of company, order and names."""
        return max(self.alone, self.reversed, self.renamed)


async def influence(model: DecisionModel, send: Send, channel: Channel, words: DecisionWords) -> Influence:
    """Ask the packaged questions in several ways."""
    data = tomllib.loads(files(__package__).joinpath("check.toml").read_text("utf-8"))
    texts, claims = [*data["texts"].values()], [*data["claims"].values()]
    named: list[str] = []

    async def answers(request: StateRequest, prefix: str = "q") -> list[float]:
        def read(reply: Reply) -> list[float]:
            found = answers_in(model.service.wire, reply.text, request.typed, prefix)
            known = [one for one in found if readable(one)]
            if len(known) < len(found):
                raise NoDecisions("an answer is missing, or no probability")
            named.append(reply.model)
            return known

        body = body_of(model.service.wire, model.model, request.state, request.typed, prefix)
        try:
            return await channel.ask(send, Prompt("", body, {}, 0), read)
        except RetriesExhausted as error:
            raise JudgeError(f"{model.name} can't be checked: {error}") from error

    request = _asked(texts, claims, words)
    alone = [replace(request, typed=(one,)) for one in request.typed]
    together = await answers(request)
    turned, renamed, repeated, ordered, *single = await asyncio.gather(
        answers(replace(request, typed=request.typed[::-1])),
        answers(request, RENAMED),
        answers(request),
        answers(_asked([*texts, data["orders"]["text"]], claims, words)),
        *map(answers, alone),
    )
    apart = partial(_apart, together)
    rise = max(after - before for before, after in zip(together, ordered, strict=True))
    return Influence(
        next(filter(None, named), model.model),
        apart([one for (one,) in single]),
        apart(turned[::-1]),
        apart(renamed),
        apart(repeated),
        max(0.0, rise),
    )


def _asked(texts: Sequence[str], claims: Sequence[str], words: DecisionWords) -> StateRequest:
    """Whether the texts support each claim; which text it is isn't asked, nor what rules it out."""
    questions = [supported(claim, texts) for claim in claims]
    (request,) = group_questions(questions, len(questions))
    asked = state_request(request, words)
    return replace(asked, typed=tuple(asked.typed[places[0]] for _, places in asked.questions))


def _apart(some: Sequence[float], others: Sequence[float]) -> float:
    return max(abs(one - other) for one, other in zip(some, others, strict=True))
