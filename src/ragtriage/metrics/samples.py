"""Whether the application gives the same answer every time it is asked.

The source is the baseline of GRAMMAR ("self-consistency", after SelfCheckGPT): further responses are drawn at
temperature 1, and an answer that changes from one to the next is doubted.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ragtriage.core.chances import good_chances
from ragtriage.core.metric import metric
from ragtriage.core.steps import Match
from ragtriage.core.verdicts import Outcome, Score, Verdicts
from ragtriage.metrics.aggregate import share
from ragtriage.metrics.decompositions import SAMPLES

SAME_ANSWER = Match(SAMPLES, "same_answer", "response")


@metric(title="Same answer every time", fault="another answer than the response", same=SAME_ANSWER)
def self_consistency(same: Verdicts) -> Outcome:
    """Whether every sample gives the same answer to the query as the response does.

    The probability that all do, so 1 or 0 where verdicts have no chances; samples that the judge can't tell are left
    out. `sample_agreement` is the share of those that do. Args: same: shape (n_samples, 1). Undefined without a
    response or samples. Source: GRAMMAR, the SelfCheck baseline.
    """
    found = share(same.components, same.best())
    return replace(found, value=prod(good_chances(found.parts, "yes"))) if isinstance(found, Score) else found


@metric(title="Samples that agree", fault="another answer than the response", same=SAME_ANSWER)
def sample_agreement(same: Verdicts) -> Outcome:
    """The share of samples that give the same answer to the query as the response does.

    In [0, 1]. Args: same: shape (n_samples, 1). Undefined without a response or samples. Source: GRAMMAR, the SelfCheck
    baseline, whose all-or-nothing form is `self_consistency`.
    """
    return share(same.components, same.best())
