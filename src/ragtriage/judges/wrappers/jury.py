"""Several judges that vote."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Answered, Failure, Verdict
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.quotes import shortened
from ragtriage.judges.wrappers.streams import merged

RULE = "majority"
"""How votes are counted; part of the fingerprint."""
ALONE: tuple[Kind, ...] = (*DECOMPOSITIONS, "similarity")
"""Kinds that the first judge answers alone: texts and numbers can't be voted on."""

_MEASURED = "en"
"""The language by which it is told which kinds a judge can do at all: a question doesn't say its language."""
_WORDS = 160
"""Characters of a judge's explanation that are kept."""


class Jury:
    """Asks several judges at once; yes or no is what more of them say.

    The first judge breaks texts into components and gives similarities, so that all vote on the same claims. A judge
    that can't do a kind takes no part in its votes; an unknown and a failure are no votes, and a tie is unknown. A
    verdict's score is the share of yes among the votes, its confidence the share of the winning side among all judges
    of the kind.

    Args:
        judges: at least one; the first one counts as above.

    Raises:
        ConfigError: there is no judge.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise ConfigError("a jury needs at least one judge")
        self._judges = tuple(judges)

    def name(self) -> str:
        """The judges' names."""
        return f"{RULE} of {', '.join(judge.name() for judge in self._judges)}"

    def fingerprint(self, kind: Kind) -> str:
        """A hash over the judges that are asked and the rule; the first judge's where it is asked alone."""
        if kind in ALONE:
            return self._judges[0].fingerprint(kind)
        own = [self._judges[place].fingerprint(kind) for place in self._voting(kind)]
        return "jury-" + hashlib.blake2b(repr((RULE, own)).encode(), digest_size=6).hexdigest()

    def unsupported_reason(self, kind: Kind, language: str) -> str | None:
        """The reason of the first judge, or of one that votes on this kind but can't in this language."""
        reasons = (self._judges[place].unsupported_reason(kind, language) for place in [0, *self._voting(kind)])
        return next((reason for reason in reasons if reason), None)

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """The sum of the judges'."""
        parts = (
            judge.estimate([questions[position] for position in positions])
            for judge, positions in zip(self._judges, self._shares(questions), strict=True)
            if positions
        )
        return sum(parts, Estimate())

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """See `Judge.ask`; a verdict is yielded when all its votes are in."""
        shares = self._shares(questions)
        asked = [(place, positions) for place, positions in enumerate(shares) if positions]
        votes: list[dict[int, Answer]] = [{} for _ in questions]
        due = Counter(position for _, positions in asked for position in positions)
        streams = [self._judges[place].ask([questions[i] for i in positions]) for place, positions in asked]
        async with aclosing(merged(streams)) as answers:
            async for which, nth, answer in answers:
                place, positions = asked[which]
                position = positions[nth]
                if questions[position].kind in ALONE:
                    yield position, answer
                    continue
                votes[position][place] = answer
                if len(votes[position]) == due[position]:
                    yield position, self._verdict(votes[position])

    def _voting(self, kind: Kind) -> list[int]:
        """The places of the judges that vote on this kind; the first one if nobody can, or if it answers alone."""
        if kind in ALONE:
            return [0]
        return [
            place for place, judge in enumerate(self._judges) if judge.unsupported_reason(kind, _MEASURED) is None
        ] or [0]

    def _shares(self, questions: Sequence[Question]) -> list[list[int]]:
        """The positions of each judge's questions."""
        voting = {kind: self._voting(kind) for kind in {q.kind for q in questions}}
        shares: list[list[int]] = [[] for _ in self._judges]
        for position, question in enumerate(questions):
            for place in voting[question.kind]:
                shares[place].append(position)
        return shares

    def _verdict(self, votes: dict[int, Answer]) -> Answer:
        """What the votes on one question amount to."""
        given = {place: answer for place, answer in sorted(votes.items()) if isinstance(answer, Verdict)}
        words = " · ".join(f"{self._judges[place].name()}: {_said(answer)}" for place, answer in sorted(votes.items()))
        if not given:
            return Failure(f"no judge of the jury gave a verdict: {words}")
        sides = {side: [v for v in given.values() if v.value == side] for side in ("yes", "no")}
        yes, no = len(sides["yes"]), len(sides["no"])
        value: Answered = "unknown" if yes == no else "yes" if yes > no else "no"
        told = Verdict(
            value,
            yes / (yes + no) if yes + no else None,
            None if value == "unknown" else max(yes, no) / len(votes),
            words,
            # what less than half of the jury says, because others failed or can't tell, is to be checked
            value == "unknown" or (2 * max(yes, no) > len(votes) and any(verdict.sure for verdict in sides[value])),
            "; ".join(dict.fromkeys(verdict.flag for verdict in given.values() if verdict.flag)),
            value == "no" and any(verdict.contradicted for verdict in sides["no"]),
        )
        if value == "unknown" or not (yes and no):
            return told
        return replace(told, chance=yes / (yes + no))


def _said(answer: Answer) -> str:
    """A vote with its reason, in short."""
    match answer:
        case Verdict(value=value, explanation=explanation):
            what, why = str(value), explanation
        case Failure(cause):
            what, why = "failed", cause
        case _:
            what, why = "failed", "it gave components"
    why = shortened(why, _WORDS)
    return f"{what}, {why}" if why else what
