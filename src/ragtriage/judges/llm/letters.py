"""A request whose reply has a letter for each verdict: Y, N or U in a numbered line, or one letter and nothing else.

The letter comes first, so its probability, where the server gives one, doesn't depend on the reason behind it, and a
reason never changes a verdict. What is broken up or written stands in lists below. The words of a kind are those of
every form: a sentence of theirs that begins with `why` or `quote` is left out where neither is asked for.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import CHECK, NOT_SUPPORTED, Answer, Answered, Verdict
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.options import MalformedReply, NoLetter, Prompt, Reply, ThinksFirst
from ragtriage.judges.llm.prompts import Prompts
from ragtriage.judges.llm.reply_json import without_thoughts
from ragtriage.judges.llm.reply_lines import Chances, Letter, ReplyLines, chances_at, letter_of, read_lines
from ragtriage.judges.llm.requests import (
    LONGEST,
    THOUGHT,
    ReadReply,
    Request,
    asking,
    list_tokens,
    questions_by_name,
    reply_names,
    written,
)

Explain = Literal["doubtful", "all", "none"]
"""Which verdicts get a reason: no, unknown and a yes that cites one of several texts; all of them; or none."""

VERSION = 1
"""Of everything but the words of the prompts: raise it when a request or how its reply is read changes."""
LEAST_MASS = 0.5
"""How likely Y, N and U must be together where one of them was written."""
LETTER_TOKENS, REASON_TOKENS = 4, 45
"""About what a line takes, and the reason behind its letter."""
EXPLAINED = {"none": 0.0, "doubtful": 0.5, "all": 1.0}
"""About which share of the verdicts is explained."""

LETTERS = "Y (yes) or N (no); U only if the texts can be read both ways"
ONE_LETTER = f"Reply with one letter and nothing else: {LETTERS}."
A_LINE_EACH = (
    f"Reply with one line for each numbered question, {{count}} in all: its number, a space, and {LETTERS}. Don't "
    "repeat the questions."
)
"""A small model counts if it is told how many lines there are, and repeats the questions if it isn't told not to."""
REASONS = {"doubtful": "Behind N and U", "all": "Behind the letter"}
EXAMPLE = "it opens at 9, not at 10"
"""A reason, since a small model copies a placeholder; some copy this one too, and then it is left out."""
WHY, QUOTE = f" · {EXAMPLE}", ' · "opens at 9"'
LISTS = (
    "{each}: a line with the name and a colon, and below it each item in a line of its own that begins with a hyphen. "
    "If there is no item: the name and the colon alone."
)


@dataclass(frozen=True, slots=True)
class LetterForm:
    """Verdicts as letters. See `ragtriage.judges.llm.requests.Form`.

    If `single`, a request has one question, and one that asks for a verdict has a reply of one letter, which is
    explained only where all are.
    """

    prompts: Prompts
    explain: Explain
    single: bool = False
    kinds: ClassVar[Collection[Kind]] = ASKED_KINDS

    def identity(self, kind: Kind) -> str:
        """The form and its version; of a verdict also whether it is asked for singly, and which are explained."""
        own = "" if kind in DECOMPOSITIONS else f":{'single' if self.single else 'list'}:{self.explain}"
        return f"\0letters.{VERSION}{own}"

    def words(self, kind: Kind) -> str:
        """The digest of the kind's prompt, and its version."""
        return self.prompts.versioned_digest(kind)

    def render(self, request: Request) -> Prompt:
        """Write a request as a prompt, without a schema."""
        wanted = {"why", "quote"} if self._explains(request) else set()
        kinds = list(dict.fromkeys(question.kind for question in request.questions))
        instructions = "\n".join(f"{kind}: {_without(wanted, self.prompts.kinds[kind])}" for kind in kinds)
        items = {
            name: f"{question.kind}{ASKED_KINDS[question.kind].item(question, request.evidence)}"
            for name, question in questions_by_name(request).items()
        }
        system = _without(wanted, self.prompts.head)
        if self._is_one_letter(request):
            user = written(request.evidence, instructions, f"Question:\n{items['q1']}", ONE_LETTER)
            return Prompt(system, user, {}, 1, by_token=True)
        # in the order of the reply
        listed = [f"{name[1:]} {item}" for name, item in items.items() if name not in DECOMPOSITIONS]
        listed += [item for name, item in items.items() if name in DECOMPOSITIONS]
        user = written(request.evidence, instructions, self._form(request), "\n".join(["Questions:", *listed]))
        most = sum(
            list_tokens(one) if one.kind in DECOMPOSITIONS else LETTER_TOKENS + REASON_TOKENS
            for one in request.questions
        )
        return Prompt(system, user, {}, THOUGHT + int(LONGEST * most), by_token=True, thought=THOUGHT)

    def reply_tokens(self, request: Request) -> int:
        """About how many tokens the reply will have."""
        if self._is_one_letter(request):
            return 1
        line = LETTER_TOKENS + (int(REASON_TOKENS * EXPLAINED[self.explain]) if self._explains(request) else 0)
        return sum(list_tokens(one) if one.kind in DECOMPOSITIONS else line for one in request.questions)

    def read(self, request: Request, reply: Reply) -> ReadReply:
        """The answers in a reply. What it leaves out is asked again, and by itself what it is too unsure of to tell."""
        if self._is_one_letter(request):
            (question,) = request.questions
            return ReadReply({question: self._one_letter(question, reply)})
        members = {member for question in request.questions for member in _lists_of(question)}
        verdicts = [question for question in request.questions if question.kind not in DECOMPOSITIONS]
        lines = read_lines(reply.text, len(verdicts), members)
        if reply.truncated:
            _drop_the_last(lines)
        answers: dict[Question, Answer] = {}
        missing: list[Question] = []
        alone: list[Question] = []
        for name, question in reply_names(request):
            try:
                answer = _list_in(question, lines) if name == question.kind else _judged(name, question, lines, reply)
            except NoLetter:
                if len(request.questions) == 1:
                    raise
                alone.append(question)
                continue
            if answer is None:
                missing.append(question)
            else:
                answers[question] = answer
        if not answers and not alone:
            raise MalformedReply("the reply has none of the lines that were asked for")
        parts = [(question,) for question in alone] + ([tuple(missing)] if missing else [])
        return ReadReply(answers, tuple(asking(request.evidence, part) for part in parts))

    def _one_letter(self, question: Question, reply: Reply) -> Answer:
        said = reply.text.strip()
        chances = chances_at(reply.tokens, len(reply.text) - len(reply.text.lstrip())) if said else None
        if (not said and reply.truncated) or said.startswith("<") or without_thoughts(reply.text) != reply.text:
            raise ThinksFirst("it begins with a thought")
        value = letter_of(said.split()[0]) if said else None
        if chances is not None:
            value = value or "unknown"  # the chances tell
        if value is None:
            raise NoLetter("it doesn't begin with Y, N or U")
        return _verdict(question, Letter(value, 0), chances)

    def _is_one_letter(self, request: Request) -> bool:
        return self.single and self.explain != "all" and request.questions[0].kind not in DECOMPOSITIONS

    def _explains(self, request: Request) -> bool:
        return self.explain != "none" and not self._is_one_letter(request)

    def _form(self, request: Request) -> str:
        """How the reply is to be written."""
        verdicts = [one for one in request.questions if one.kind not in DECOMPOSITIONS]
        quoting = [one for one in verdicts if ASKED_KINDS[one.kind].reply.quotes]
        parts = []
        if verdicts:
            parts.append(A_LINE_EACH.format(count=len(verdicts)))
        if verdicts and self.explain != "none":
            parts.append(f"{REASONS[self.explain]} the line goes on with why{_with_quote(quoting, verdicts)}.")
            citing = [one for one in quoting if ASKED_KINDS[one.kind].reply.cites and len(one.evidence) > 1]
            if citing and self.explain == "doubtful":
                parts.append(f"Behind Y of {_names(citing)} it goes on with the quote alone: 1 Y{QUOTE}")
        lists = list(dict.fromkeys(member for one in request.questions for member in _lists_of(one)))
        if lists:
            begin = "Then for" if verdicts else "Reply for"
            parts.append(LISTS.format(each=f"{begin} {' and '.join(lists)}") + ("" if verdicts else " Nothing else."))
        return " ".join(parts)


def _with_quote(quoting: Sequence[Question], verdicts: Sequence[Question]) -> str:
    if not quoting:
        return f", in short: 2 N{WHY}"
    of = "" if len(quoting) == len(verdicts) else f" of {_names(quoting)}"
    return f", in short, and the quote{of}: 2 N{WHY}{QUOTE}"


def _names(questions: Sequence[Question]) -> str:
    return " and ".join(dict.fromkeys(question.kind for question in questions))


def _without(wanted: set[str], words: str) -> str:
    """The words of a prompt without the sentences that say how a member is written which the reply hasn't."""
    for member in {"why", "quote"} - wanted:
        words = re.sub(rf" *`{member}`:[^.]*\.", "", words)
    return words.strip()


def _lists_of(question: Question) -> list[str]:
    """The lists that a reply holds for a decomposition; none for a verdict."""
    if question.kind not in DECOMPOSITIONS:
        return []
    return list(ASKED_KINDS[question.kind].reply.properties(question.kind))


def _drop_the_last(lines: ReplyLines) -> None:
    """Of a reply that was cut off: a list that may go on, or else the reason behind the last letter."""
    if lines.lists:
        name = list(lines.lists)[-1]
        for one in ("claims", "remarks") if name == "remarks" else (name,):
            lines.lists.pop(one, None)
    elif lines.letters:
        number = list(lines.letters)[-1]
        lines.letters[number] = replace(lines.letters[number], why="", quote="")


def _list_in(question: Question, lines: ReplyLines) -> Answer | None:
    """What a reply says for a decomposition; None if it isn't there. Remarks may be left out."""
    form = ASKED_KINDS[question.kind].reply
    schema = form.properties(question.kind)
    first = lines.lists.get(question.kind)
    if first is None:
        return None
    said: dict[str, Any] = {member: lines.lists.get(member, []) for member in schema}
    if schema[question.kind]["type"] == "string":
        if not first:
            return None
        said = {question.kind: " ".join(first)}
    return form.read(question, said, question.kind)


def _judged(name: str, question: Question, lines: ReplyLines, reply: Reply) -> Answer | None:
    """The verdict in a reply; None if it isn't there."""
    letter = lines.letters.get(int(name[1:]))
    return None if letter is None else _verdict(question, letter, chances_at(reply.tokens, letter.place))


def _verdict(question: Question, letter: Letter, chances: Chances | None) -> Answer:
    """By its probability, if there is one: then a letter that says something else was drawn against the odds."""
    value, chance = letter.value, None
    if chances is not None:
        if chances.mass < LEAST_MASS:
            raise NoLetter("neither Y nor N nor U was likely there")
        chance = chances.of_yes
        value = "unknown" if chance is None else _decided(chance)
    meant = letter if value == letter.value else replace(letter, why="", quote="")
    said = {"verdict": value, "why": "" if meant.why.rstrip(".") == EXAMPLE else meant.why, "quote": meant.quote}
    found = ASKED_KINDS[question.kind].reply.read(question, {"verdict": said}, "verdict")
    if chance is None or not isinstance(found, Verdict):
        return found
    sure = value == "yes" or chance <= NOT_SUPPORTED
    return replace(found, score=chance, confidence=max(chance, 1.0 - chance), sure=sure)


def _decided(chance: float) -> Answered:
    return "yes" if chance >= CHECK else "no"
