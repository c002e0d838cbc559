"""What is to be known beside the numbers of a comparison, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ragtriage.core.display import plural
from ragtriage.runs.compare.changes import other_languages
from ragtriage.runs.compare.comparison import Changes, Pairs, SideHeader
from ragtriage.runs.compare.matched import Matched

DAYS = 30
"""Days between two evaluations by a language model after which it may have changed under the same name."""
FEW = 5
"""Pairs up to which an interval says little."""


def notes_on(matched: Matched, pairs: Pairs, changes: Changes, *, by_question: bool, across: bool) -> Iterator[str]:
    """The notes that apply, in the order in which they are read.

    Args:
        matched: the two sides.
        pairs: how they were paired.
        changes: what differs.
        by_question: whether nobody asked for pairing by the question.
        across: whether sides with different judges are compared.
    """
    base, new, near = matched.base.header, matched.new.header, matched.pairing.near_ids
    stored = f"both sides are read with those of {new.name}"
    older, newer = changes.versions or ("", "")
    told = {
        f"{base.name} is newer than {new.name}": _newer(base, new),
        f"{plural(near, 'id')} without a pair would be the same on both sides but for case or white space": near,
        "paired by the question, since ids that were made from the content change with every answer":
            pairs.by == "query" and by_question,
        f"{plural(pairs.ambiguous, 'pair')} can't be told from others of the same question": pairs.ambiguous,
        f"few pairs ({pairs.paired}): the intervals say little": pairs.paired <= FEW,
        f"{plural(pairs.without_cluster, 'pair')} without {pairs.cluster}: each counts as a group of its own":
            pairs.without_cluster,
        f"{plural(pairs.other_cluster, 'pair')} with another {pairs.cluster} on the base side: the new one counts":
            pairs.other_cluster,
        f"the stored thresholds of {', '.join(changes.thresholds)} differ: {stored}": changes.thresholds,
        f"the stored rules differ: {stored}": changes.rules,
        f"evaluated by ragtriage {older} and {newer}, with the same fingerprints":
            changes.versions and not changes.judge,
        f"of {plural(changes.unknown, 'pair')} it isn't known what changed: their texts or digests aren't there":
            changes.unknown,
        "one side judged languages that the other left undefined (--any-language)":
            other_languages(matched.base, matched.new),
        f"a language model judged the sides more than {DAYS} days apart: it may have changed under the same name":
            _far_apart(base, new) and _by_model(new),
        "the judge differs, so no gate is read": across and changes.judge,
    }  # fmt: skip
    yield from (sentence for sentence, holds in told.items() if holds)


def _newer(base: SideHeader, new: SideHeader) -> bool:
    """Whether the base was evaluated after the new side: by the runs' numbers, which are finer than their times."""
    if base.baseline is None and new.baseline is None:
        return base.runs > new.runs
    return bool(new.created) and base.created > new.created


def _by_model(side: SideHeader) -> bool:
    return any(not name.strip().startswith("embedded") for name in side.judge.split(","))


def _far_apart(base: SideHeader, new: SideHeader) -> bool:
    try:
        days = datetime.fromisoformat(new.created) - datetime.fromisoformat(base.created)
    except (ValueError, TypeError):
        return False
    return abs(days.days) >= DAYS
