"""Whether the response says what the sources say (THELMA, section 4.6)."""

from __future__ import annotations

from ragtriage.metric import metric
from ragtriage.metrics.aggregate import share
from ragtriage.metrics.decompositions import CLAIMS
from ragtriage.steps import Match
from ragtriage.verdicts import Outcome, Verdicts


@metric(title="Grounded", fault="not supported by the sources", support=Match(CLAIMS, "supported", "sources"))
def groundedness(support: Verdicts) -> Outcome:
    """The share of the response's claims that the sources, taken together, support.

    Supported claims / claims, in [0, 1]; 0 if nothing was retrieved. Args: support: shape (n_claims, 1). Undefined
    without a response, or if it makes no claim. Source: THELMA, equation 8.
    """
    return share(support.components, support.best())
