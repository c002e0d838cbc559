"""Changes that a language model writes: paraphrases and altered claims, used only if rules can check them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ragtriage.core import questions as ask
from ragtriage.core.case import Case
from ragtriage.core.questions import Question
from ragtriage.core.statistics import ranked
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.protocol import Judge
from ragtriage.trust.pairs.pair_files import Change, Pair
from ragtriage.trust.pairs.pair_scoring import CostEstimate, answers_to
from ragtriage.trust.perturb.claim_changes import may_be_bound, negation_count
from ragtriage.trust.wording import NUMBER, content_words, name_words, numbers

QUESTION_FOR: Mapping[str, Callable[[str], Question]] = MappingProxyType(
    {"self_distinctness": ask.reworded, "groundedness": ask.altered}
)
"""A metric → what a model is asked to write of the sentence that the rules have selected."""
_KEPT = 0.5
"""The share of a sentence's content words that an altered one keeps at least."""
_LONGER = 2.0
"""How many times as long, or as short, a paraphrase may be."""


@dataclass(frozen=True, slots=True)
class WrittenChanges:
    """Pairs, some of them with a change that a model wrote."""

    pairs: tuple[Pair, ...]
    """All of them, in their order; where the model's sentence wasn't accepted, the rules' change stays."""
    accepted: int
    rejected: Mapping[str, int]
    """Why a sentence wasn't accepted → how often."""
    failed: int
    """Sentences that the model failed to write; the next run asks again."""


def questions_to_write(pairs: Sequence[Pair]) -> list[tuple[int, Question]]:
    """(position of a pair, what a model is asked for it); only for changes of a sentence that rules have made."""
    return [
        (i, QUESTION_FOR[pair.metric](pair.change.before))
        for i, pair in enumerate(pairs)
        if pair.metric in QUESTION_FOR and pair.change and pair.change.before and pair.change.by == "rule"
    ]


def cost_of_writing(pairs: Sequence[Pair], judge: Judge) -> CostEstimate:
    """What `write_changes` would take; what is scored afterwards is only known when it is written."""
    wanted = [question for _, question in questions_to_write(pairs)]
    taken = judge.estimate(wanted)
    return CostEstimate(("writing changes",), len(wanted), 0, taken, taken, len(wanted))


def write_changes(pairs: Sequence[Pair], judge: Judge) -> WrittenChanges:
    """Have a model write the paraphrases and altered claims of pairs that rules have made.

    A sentence is accepted only where rules can check it: a paraphrase keeps all numbers, names and negations; an
    altered claim keeps most words, and its new number, name or negation stands in no source.
    """
    wanted = questions_to_write(pairs)
    answers = answers_to([question for _, question in wanted], judge)
    found = list(pairs)
    rejected: Counter[str] = Counter()
    accepted = failed = 0
    for (i, question), answer in zip(wanted, answers, strict=True):
        if isinstance(answer, Failure | Verdict | None):
            failed += 1
            continue
        text = " ".join(answer[0].text.split()) if answer else ""
        if not text:
            why = "nothing was written"
        elif pairs[i].metric == "self_distinctness":
            why = paraphrase_problem(question.subject, text)
        else:
            why = altered_claim_problem(question.subject, text, pairs[i].better)
        if why:
            rejected[why] += 1
        else:
            accepted += 1
            found[i] = _with(pairs[i], text, judge.name())
    return WrittenChanges(tuple(found), accepted, ranked(rejected), failed)


def paraphrase_problem(sentence: str, other: str) -> str:
    """Why a text can't be accepted as a paraphrase of a sentence; "" if it can, as far as rules see."""
    if content_words(sentence) == content_words(other):
        return "a paraphrase has the same words"
    if numbers(sentence) != numbers(other):
        return "a paraphrase has other numbers"
    if name_words(sentence) - set(content_words(other)) or name_words(other) - set(content_words(sentence)):
        return "a paraphrase has other names"
    if negation_count(sentence) != negation_count(other):
        return "a paraphrase has other negations"
    if not len(sentence) / _LONGER <= len(other) <= len(sentence) * _LONGER:
        return "a paraphrase is much longer or shorter"
    return ""


def altered_claim_problem(sentence: str, other: str, case: Case) -> str:
    """Why a text can't be accepted as an altered claim that no source supports; "" if it can, as far as rules see."""
    before, after = set(content_words(sentence)), set(content_words(other))
    if len(before & after) < _KEPT * len(before):
        return "of an altered claim more than a detail is changed"
    there = {word for source in case.sources for word in content_words(source.text)}
    details = (numbers(other) | name_words(other)) - before
    if any(numbers(m[0]) - numbers(other) and may_be_bound(sentence, m.span()) for m in NUMBER.finditer(sentence)):
        return "an altered claim moves a bound, so that it may still follow"
    if details:
        return "the new detail of an altered claim stands in the sources" if details & there else ""
    if negation_count(sentence) != negation_count(other) and len(after - before) <= 1:
        return ""
    return "what an altered claim changes is no number, name or negation"


def _with(pair: Pair, text: str, by: str) -> Pair:
    """The pair with what a model wrote in place of the rules' words."""
    before, response = pair.change.before if pair.change else "", pair.better.response or ""
    worse, what = response.replace(before, text, 1), "a claim altered"
    if pair.metric == "self_distinctness":
        worse, what = f"{response.rstrip()} {text}", "a paraphrased repeat added to the response"
    return replace(pair, worse=replace(pair.worse, response=worse), change=Change(what, "response", before, text, by))
