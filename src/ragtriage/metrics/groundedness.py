"""Whether the response says what the sources say (THELMA, section 4.6)."""

from __future__ import annotations

from ragtriage.core.metric import metric
from ragtriage.core.steps import Match, only_where_not
from ragtriage.core.verdicts import Outcome, Verdicts
from ragtriage.metrics.aggregate import CONTRADICTED, UNSUPPORTED, share
from ragtriage.metrics.decompositions import CLAIMS

SUPPORTED = Match(CLAIMS, "supported", "sources")
SUPPORTED_BY_CONVERSATION = Match(CLAIMS, "supported", "conversation", only_where_not(SUPPORTED))
"""Tells claims that the conversation before the query supports from those that nothing does; no score depends on it."""


@metric(
    title="Grounded",
    fault="not supported by the sources",
    kinds={CONTRADICTED: "contradicted by the sources", UNSUPPORTED: "not supported by the sources"},
    support=SUPPORTED,
)
def groundedness(support: Verdicts) -> Outcome:
    """The share of the response's claims that the sources, taken together, support.

    Supported claims / claims, in [0, 1]; 0 if nothing was retrieved. Args: support: shape (n_claims, 1). Undefined
    without a response, or if it makes no claim. Source: THELMA, equation 8.
    """
    return share(support.components, support.best())
