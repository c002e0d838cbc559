"""The metric of one's own that docs/own-metrics.md shows."""

from ragtriage import Decompose, Match, Outcome, Verdict, Verdicts, metric, share

CLAIMS = Decompose("response", "claims")
SUPPORTED = Match(CLAIMS, "supported", "sources")
NEEDED = Match(CLAIMS, "essential", "query")


@metric(title="Useful", fault="not supported, or not needed", support=SUPPORTED, needed=NEEDED)
def usefulness(support: Verdicts, needed: Verdicts) -> Outcome:
    """The share of claims that the sources support and the question asks for."""
    both = zip(support.best(), needed.best(), strict=True)
    cells = [n if isinstance(s, Verdict) and s.value == "yes" else s for s, n in both]
    return share(support.components, cells)
