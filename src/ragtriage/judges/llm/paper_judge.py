"""A language model that is asked as THELMA's paper asks it: one module a request, few-shot examples, no explanations.

The steps, the scales and the forms of the replies are those of the paper's appendix B; the words and the examples are
our own. The appendix has no prompt for the matches of the two coverages: ours has the form of that for groundedness.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragtriage.core.questions import Kind, Question
from ragtriage.core.verdicts import Answer, Component, Components, Failure, Verdict
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.fencing import clean, fence, visible
from ragtriage.judges.llm.judge import AskModel
from ragtriage.judges.llm.kinds import in_order
from ragtriage.judges.llm.options import MalformedReply, Price, Prompt, Reply, tokens_of
from ragtriage.judges.llm.reply_json import without_thoughts
from ragtriage.judges.llm.requests import THOUGHT
from ragtriage.judges.protocol import Arrived, Estimate, RequestReply, by_requests

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
    decomposes: bool = False


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
    "claims": Module("claims", _claims_of, _listed, decomposes=True),
    "facts": Module("claims", _claims_of, _listed, decomposes=True),
    "questions": Module("questions", _questions_of, _listed, decomposes=True),
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


class PaperJudge:
    """Verdicts and decompositions by a language model, one question a request, as in THELMA's paper.

    Verdicts have no explanation and no quote, since the paper's prompts forbid them. Nothing is a remark.

    The identity is what else the answers depend on: the server's address, parameters.
    """

    def __init__(
        self, name: str, ask: AskModel, *, guidance: str = "", price: Price | None = None, identity: str = ""
    ) -> None:
        self._name, self._ask, self._guidance, self._price = name, ask, guidance, price
        self._method = hashlib.blake2b(f"{name}\0{identity}".encode(), digest_size=6).hexdigest()

    def name(self) -> str:
        """`provider:model`."""
        return self._name

    def fingerprint(self, kind: Kind) -> str:
        """Model, parameters and server, the module's instructions, and how its list is read."""
        module = MODULES.get(kind)
        words = instructions(module.prompt) + self._guidance if module else ""
        digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        return f"llm:{self._name[:80]}:{self._method}:paper-{digest}" + (
            f"-{LISTS_VERSION}" if module and module.decomposes else ""
        )

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:  # noqa: ARG002  # models know most languages
        """Everything but the kinds that the paper has no module for."""
        return None if kind in MODULES else f"THELMA's paper has no module for {kind}"

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """A request a question, and tokens by their length."""
        total = Estimate(price=None if self._price is None else 0.0) if questions else Estimate()
        for question in dict.fromkeys(questions):
            if question.kind in MODULES:
                sent, back = self._prompt(question).tokens, _reply_tokens(question)
                total += Estimate(1, sent, back, self._price.of(sent, back) if self._price else None)
        return total

    def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `ragtriage.judges.protocol.Judge.ask`."""
        return by_requests(questions, MODULES, "a model under the paper's protocol", iter, self._stream)

    async def _stream(self, question: Question, arrived: Arrived | None) -> AsyncIterator[tuple[int, RequestReply]]:
        prompt, module = self._prompt(question), MODULES[question.kind]
        request_id = hashlib.blake2b(prompt.user.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()

        def read(reply: Reply) -> Answer:
            found = _OUTPUT.search(without_thoughts(reply.text))
            if found is None:
                raise MalformedReply("there is no <output>")
            answer = module.read(found[1])
            if arrived is not None:
                arrived({question: answer}, request_id)
            return answer

        try:
            answer = await self._ask(prompt, read)
        except RetriesExhausted as error:
            answer = Failure(str(error))
        yield 0, (request_id, {question: answer})

    def _prompt(self, question: Question) -> Prompt:
        module = MODULES[question.kind]
        system = instructions(module.prompt) + self._guidance
        most = THOUGHT + LONGEST * _reply_tokens(question)
        return Prompt(system, module.input(question), {}, most, thought=THOUGHT)


def _reply_tokens(question: Question) -> int:
    return 30 + tokens_of(question.subject) * 3 // 2 if MODULES[question.kind].decomposes else VERDICT_TOKENS
