"""Requests as THELMA's paper makes them: one module a request, few-shot examples, no explanations.

The steps, the scales and the forms of the replies are those of the paper's appendix B; the words and the examples are
our own. The appendix has no prompt for the matches of the two coverages: ours has the form of that for groundedness.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Component, Components, Verdict
from ragtriage.judges.llm.fencing import clean, fence, visible
from ragtriage.judges.llm.kinds import in_order
from ragtriage.judges.llm.options import MalformedReply, Prompt, Reply
from ragtriage.judges.llm.reply_json import without_thoughts
from ragtriage.judges.llm.requests import THOUGHT, ReadReply, Request, list_tokens

VERDICT_TOKENS = 12
"""About what a word of a scale between its tags takes."""
LONGEST = 4
"""How many times its usual length a reply may have before it is cut off."""
LISTS_VERSION = 2
"""Of how a list in a reply is read; part of the fingerprint of what is answered by one."""
_OUTPUT = re.compile(r"<output>(.*?)(?:</output>|$)", re.DOTALL | re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*](?=\s|$)|-(?=[^\W\d_])|\u2022)\s*")
_NUMBER = re.compile(r"(\d+)[.)](?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Module:
    """One of the paper's modules."""

    prompt: str
    """The file with its guidelines, its scale and its examples."""
    input: Callable[[Question], str]
    """What is asked, with the texts."""
    read: Callable[[str], Answer]
    """What stands between the tags of a reply, as an answer. Raises MalformedReply."""


def _claims_of(question: Question) -> str:
    return f"Please extract claims from the following text:\n<input>\n{fence('source', question.subject)}\n</input>"


def _questions_of(question: Question) -> str:
    return f"Please extract questions from the following text:\n<input>\n{fence('query', question.subject)}\n</input>"


def _essential(question: Question) -> str:
    texts = f"Question: {fence('query', question.query)}\nFact: {fence('source', question.subject)}"
    return f"Please rate the essentiality of the fact to answer the query:\n<input>\n{texts}\n</input>"


def _supported(question: Question) -> str:
    known = "\n".join(fence("source", text) for text in in_order(question.evidence))
    return (
        f"Is the claim supported by the knowledge base?\n<input>\n<knowledge source>\n{known}\n</knowledge source>\n"
        f"<claim>\n{clean(question.subject)}\n</claim>\n</input>"
    )


def _answered(question: Question) -> str:
    label = "response" if question.query else "source"
    known = "\n".join(fence(label, text) for text in in_order(question.evidence))
    return (
        f"Does the text answer the question?\n<input>\n<text>\n{known}\n</text>\n"
        f"<question>\n{clean(question.subject)}\n</question>\n</input>"
    )


def _listed(said: str) -> Components:
    texts = (visible(line).strip() for line in _unmarked(said))
    return tuple(Component(text) for text in dict.fromkeys(texts) if text)


def _unmarked(said: str) -> Iterator[str]:
    """The lines of a list without their marks: "-5 degrees" and "3.5 million" begin with none.

    A number is a mark only if it counts on, since "3. Mai" is a date.
    """
    counted = 0
    for line in map(str.strip, said.splitlines()):
        number = _NUMBER.match(line)
        if number and int(number[1]) == counted + 1:
            counted += 1
            yield line[number.end() :]
        else:
            yield _BULLET.sub("", line, count=1) if _BULLET.match(line) else line


def _scale(yes: str, no: str) -> Callable[[str], Answer]:
    def read(said: str) -> Answer:
        word = said.strip().strip(".:").lower()
        if word not in {yes, no}:
            raise MalformedReply(f"between the tags stands neither {yes} nor {no}")
        return Verdict("yes" if word == yes else "no")

    return read


_BINARY = _scale("1", "0")
MODULES: Mapping[Kind, Module] = {
    "claims": Module("claims", _claims_of, _listed),
    "facts": Module("claims", _claims_of, _listed),
    "questions": Module("questions", _questions_of, _listed),
    "essential": Module("essential", _essential, _scale("essential", "extraneous")),
    "answered": Module("answered", _answered, _BINARY),
    "supported": Module("supported", _supported, _BINARY),
}
"""The kinds that the paper has a module for. Sentences are split and compared as ever, which is the paper's way; all
other kinds are ours."""


@cache
def instructions(name: str) -> str:
    """The guidelines, the scale and the examples of a module."""
    return files("ragtriage.judges.llm").joinpath("paper_prompts", f"{name}.md").read_text("utf-8").strip()


@dataclass(frozen=True, slots=True)
class PaperForm:
    """One question a request, as in THELMA's paper. See `ragtriage.judges.llm.requests.Form`.

    Verdicts have no explanation and no quote, since the paper's prompts forbid them. Nothing is a remark.
    """

    guidance: str = ""
    """The user's, behind the instructions of every module."""
    kinds: ClassVar[Collection[Kind]] = MODULES

    def identity(self, kind: Kind) -> str:  # noqa: ARG002  # the same for all
        """Nothing: the words tell."""
        return ""

    def words(self, kind: Kind) -> str:
        """The module's instructions, and how its list is read."""
        digest = hashlib.blake2b(self._system(kind).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        return f"paper-{digest}" + (f"-{LISTS_VERSION}" if kind in DECOMPOSITIONS else "")

    def render(self, request: Request) -> Prompt:
        """Write the one question of a request as a prompt, without a schema."""
        (question,) = request.questions
        most = THOUGHT + LONGEST * self.reply_tokens(request)
        return Prompt(self._system(question.kind), MODULES[question.kind].input(question), {}, most, thought=THOUGHT)

    def reply_tokens(self, request: Request) -> int:
        """About how many tokens the reply will have."""
        (question,) = request.questions
        return list_tokens(question) if question.kind in DECOMPOSITIONS else VERDICT_TOKENS

    def read(self, request: Request, reply: Reply) -> ReadReply:
        """What stands between the tags, or `MalformedReply`."""
        (question,) = request.questions
        found = _OUTPUT.search(without_thoughts(reply.text))
        if found is None:
            raise MalformedReply("there is no <output>")
        return ReadReply({question: MODULES[question.kind].read(found[1])})

    def _system(self, kind: Kind) -> str:
        return instructions(MODULES[kind].prompt) + self.guidance
