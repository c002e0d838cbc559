"""Models without a network: each answers from the schema of its prompt, behind the real channel.

from fake_models import Answering, judge_of

judge = judge_of(Answering("yes"))
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.judge import LLMJudge
from ragtriage.judges.llm.letters import ONE_LETTER, Explain, LetterForm
from ragtriage.judges.llm.options import LLMOptions, Prompt, Reply, Token
from ragtriage.judges.llm.prompts import Prompts, read_prompts
from ragtriage.judges.llm.reply_json import JsonForm

PROMPTS = read_prompts()
JSON = JsonForm(PROMPTS)
FENCED = re.compile(r"<((?:source|query|response|conversation)-[0-9a-f]+)>\n(.*?)\n</\1>", re.DOTALL)
"""A fence as its reader sees it: from its opening tag to the first closing tag of the same name."""
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
"""A JSON string on one line."""


def lines_of(prompt: Prompt) -> list[str]:
    """The list of questions, behind all fences."""
    return FENCED.sub("", prompt.user).split("\n\nQuestions:\n")[1].split("\n")


def reply_to(
    prompt: Prompt,
    verdict: Callable[[str], str] = lambda name: "yes",
    texts: Callable[[str], list[str]] = lambda member: [f"One {member}.", f"Another {member}."],
    quote: Callable[[str], str] = lambda name: "",
) -> dict[str, Any]:
    """A reply that fits the schema.

    Args:
        prompt: what was asked.
        verdict: name of a question → yes, no or unknown.
        texts: member of the reply → a decomposition.
        quote: name of a question → the words that decide it.
    """
    said: dict[str, Any] = {}
    forms = prompt.schema.get("$defs", {})
    for name, form in prompt.schema["properties"].items():
        if "$ref" in form:
            members = {"why": f"because of {name}", "quote": quote(name), "verdict": verdict(name)}
            wanted = forms[form["$ref"].removeprefix("#/$defs/")]["properties"]
            said[name] = {member: members[member] for member in wanted}
        else:
            said[name] = texts(name) if form["type"] == "array" else " ".join(texts(name))
    return said


class Model:
    """A transport that answers by the form of a prompt, and remembers the prompts.

    Args:
        first: what happens before: it may take its time, raise, or give a reply of its own.
    """

    def __init__(self, first: Callable[[Prompt], Awaitable[Reply | None]] | None = None) -> None:
        self.prompts: list[Prompt] = []
        self._first = first

    async def send(self, prompt: Prompt) -> Reply:
        """See `Send`."""
        self.prompts.append(prompt)
        return (self._first and await self._first(prompt)) or self.reply(prompt)

    def reply(self, prompt: Prompt) -> Reply:
        """What it says."""
        raise NotImplementedError


class Scripted(Model):
    """Says one reply after another, the last one again and again."""

    def __init__(self, *replies: str | Reply) -> None:
        super().__init__()
        self._replies = [Reply(one) if isinstance(one, str) else one for one in replies]

    def reply(self, prompt: Prompt) -> Reply:
        """The next one."""
        return self._replies[min(len(self.prompts), len(self._replies)) - 1]


class Answering(Model):
    """Answers every question from the schema.

    Args:
        verdict: what it says: always the same, or by prompt and name of the question.
        refuses: a text; to a prompt that holds it the reply is nonsense.
        first: see `Model`.
    """

    def __init__(
        self,
        verdict: str | Callable[[Prompt, str], str] = "yes",
        *,
        refuses: str | None = None,
        first: Callable[[Prompt], Awaitable[Reply | None]] | None = None,
    ) -> None:
        super().__init__(first)
        self._verdict = (lambda prompt, name: verdict) if isinstance(verdict, str) else verdict
        self._refuses = refuses

    def reply(self, prompt: Prompt) -> Reply:
        """What `said` says, as JSON."""
        if self._refuses is not None and self._refuses in prompt.user:
            return Reply("I'd rather not say.")
        return Reply(json.dumps(self.said(prompt)), tokens_in=prompt.tokens, tokens_out=20)

    def said(self, prompt: Prompt) -> dict[str, Any]:
        """What it says; the texts that it writes differ by evidence."""
        name = FENCED.search(prompt.user)
        about = name[1] if name else "nothing"
        numbers = {"remarks": (), "questions_answered_by": (*NUMBERS, "fifth")}
        return reply_to(
            prompt,
            lambda name: self._verdict(prompt, name),
            lambda member: [f"The {n} of the {member} of {about}." for n in numbers.get(member, NUMBERS)],
        )


NUMBERS = ("first", "second", "third", "fourth")


class Lettering(Model):
    """Answers every question by a letter and every decomposition by a list.

    Args:
        letter: what a line says behind its number, by prompt and question (`supported: "It is so."`).
        chances: of Y, N and U, by the same, in place of a server without probabilities.
    """

    def __init__(
        self,
        letter: str | Callable[[Prompt, str], str] = "Y",
        chances: Callable[[Prompt, str], Mapping[str, float]] | None = None,
    ) -> None:
        super().__init__()
        self._letter = (lambda prompt, item: letter) if isinstance(letter, str) else letter
        self._chances = chances

    def reply(self, prompt: Prompt) -> Reply:
        """A line a question."""
        single = prompt.user.endswith(ONE_LETTER)
        behind = FENCED.sub("", prompt.user).split("\n\nQuestion" + (":\n" if single else "s:\n"))[1].split("\n")
        said, tokens = "", []
        for line in behind[:1] if single else behind:
            number, _, item = line.partition(" ")
            if single or number.isdecimal():
                item = line if single else item
                letter = self._letter(prompt, item)
                said += "" if single else f"{number} "
                if self._chances and letter:
                    likely = tuple(self._chances(prompt, item).items())
                    tokens.append(Token(len(said), len(said) + 1, likely))
                said += letter + "\n"
            else:
                said += self._list(line.partition(":")[0], prompt)
        return Reply(said, prompt.tokens, 20, truncated=single, tokens=tuple(tokens))

    def _list(self, name: str, prompt: Prompt) -> str:
        fenced = FENCED.search(prompt.user)
        numbers = (*NUMBERS, "fifth") if name == "questions_answered_by" else NUMBERS
        items = [f"- The {n} of the {name} of {fenced[1] if fenced else 'nothing'}.\n" for n in numbers]
        return f"{name}:\n{''.join(items)}" + ("remarks: none\n" if name == "claims" else "")


def judge_of(
    transport: Any, *, batch_size: int = 32, prompts: Prompts = PROMPTS, letters: Explain | None = None
) -> LLMJudge:
    """An LLM judge that asks this transport."""
    ask = partial(Channel(LLMOptions(batch_size=batch_size), Ledger()).ask, transport.send)
    form = LetterForm(prompts, letters, batch_size == 1) if letters else JsonForm(prompts)
    return LLMJudge("fake:model", ask, form, batch_size=batch_size)
