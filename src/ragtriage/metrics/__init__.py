"""The metrics: one file a family, the tuple of them all, and the names and groups under which they are asked for."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.validation import near_names
from ragtriage.metrics import custom_metrics
from ragtriage.metrics.citations import citation_groundedness, citation_precision, citation_recall
from ragtriage.metrics.generator import (
    claim_relevancy,
    hallucination,
    query_similarity,
    ragas_answer_relevance,
    ragas_context_relevance,
    ragas_faithfulness,
    ragas_library_answer_relevance,
    sample_agreement,
    self_consistency,
)
from ragtriage.metrics.names import named_elsewhere, variant_named
from ragtriage.metrics.reference import (
    answer_f1,
    answer_precision,
    answer_recall,
    context_recall,
    irrelevant_noise_sensitivity,
    relevant_noise_sensitivity,
    retrieval_mrr,
    retrieval_ndcg,
    retrieval_precision,
    retrieval_recall,
)
from ragtriage.metrics.thelma import (
    fact_precision,
    groundedness,
    response_precision,
    response_query_coverage,
    self_distinctness,
    source_precision,
    source_query_coverage,
)

THELMA: tuple[Metric, ...] = (
    source_precision,
    fact_precision,
    source_query_coverage,
    response_precision,
    response_query_coverage,
    self_distinctness,
    groundedness,
)
"""The six THELMA metrics (seven scores): the default."""

GENERATOR: tuple[Metric, ...] = (
    groundedness,
    hallucination,
    claim_relevancy,
    query_similarity,
    relevant_noise_sensitivity,
    irrelevant_noise_sensitivity,
)
CITATIONS: tuple[Metric, ...] = (citation_groundedness, citation_recall, citation_precision)
REFERENCE: tuple[Metric, ...] = (answer_precision, answer_recall, answer_f1, context_recall)
SAMPLES: tuple[Metric, ...] = (self_consistency, sample_agreement)
RETRIEVAL: tuple[Metric, ...] = (retrieval_precision, retrieval_recall, retrieval_mrr, retrieval_ndcg)
RAGAS: tuple[Metric, ...] = (
    ragas_faithfulness,
    ragas_answer_relevance,
    ragas_library_answer_relevance,
    ragas_context_relevance,
)

_BY_NAME: Mapping[str, Metric] = {
    m.name: m for m in (*THELMA, *GENERATOR, *CITATIONS, *REFERENCE, *SAMPLES, *RETRIEVAL, *RAGAS)
}
METRICS: tuple[Metric, ...] = tuple(_BY_NAME.values())
"""All metrics, each once, in the order of every table."""

GROUPS: Mapping[str, tuple[Metric, ...]] = {
    "thelma": THELMA,
    "generator": GENERATOR,
    "citations": CITATIONS,
    "reference": REFERENCE,
    "samples": SAMPLES,
    "retrieval": RETRIEVAL,
    "ragas": RAGAS,
    "all": METRICS,
}
"""Names that stand for several metrics."""

OTHER_NAMES: Mapping[str, str] = {"faithfulness": groundedness.name}
"""Another name of a metric → the one under which it stands in every table. Only for what computes the same."""


def metric_named(name: str, metrics: Sequence[Metric] = ()) -> Metric | None:
    """The metric of this name, other name, or name with a value (`retrieval_recall(k=5)`); None if there is none.

    `metrics` are those that aren't built in.

    Raises:
        ConfigError: the name carries a value that the metric doesn't take.
    """
    own_one = next((m for m in metrics if m.name == name), None)
    return own_one or _BY_NAME.get(OTHER_NAMES.get(name, name)) or variant_named(name)


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics that these names stand for, each once, in the order of METRICS, then custom ones.

    Args:
        names: names of metrics or groups; one that starts with `-` takes a metric or group out. Some may carry a value:
            `self_distinctness(threshold=0.9)`, or `none` for the continuous form; `query_similarity(n=5)`;
            `retrieval_recall(k=5)`. A custom metric is named with its place, `my_metrics.py:name` or
            `my_package.module:name`; to take it out, its name is enough.

    Raises:
        ConfigError: a name isn't known (says which names are near, or what another tool means by it), a custom metric
            can't be loaded, two have one name, or none is left.
    """
    given = [name.strip() for name in names if name.strip()]
    if given and all(name.startswith("-") for name in given):
        given = ["thelma", *given]
    mine = custom_metrics.names_in(given)
    chosen: dict[str, Metric] = {}
    left_out: set[str] = set()
    for name in given or ["thelma"]:
        bare = name.removeprefix("-").strip()
        out = name.startswith("-")
        if out and (custom_metrics.is_location(bare) or bare in mine):
            left_out.add(custom_metrics.name_in(bare))
            continue
        found = _named(bare)
        if out:
            left_out |= {m.name for m in found}
            continue
        for m in found:
            other = chosen.setdefault(m.name, m)
            if m.origin and other.compute is not m.compute:
                raise ConfigError(f"{other.origin} and {m.origin}: two metrics have one name: rename one of them")
    kept = {name: m for name, m in chosen.items() if name not in left_out}
    if not kept:
        raise ConfigError("no metric is left: every metric that is named is also left out")
    order = {m.name: i for i, m in enumerate(METRICS)}
    return tuple(sorted(kept.values(), key=lambda m: order.get(m.name, len(order))))


def renamed_metrics(names: Iterable[str]) -> tuple[str, ...]:
    """What to say about names under which another metric's name is computed; none for a name's own metric."""
    asked = dict.fromkeys(name.strip() for name in names)
    return tuple(
        f"{name} is computed as {OTHER_NAMES[name]}: the same formula, supported claims divided by all claims"
        for name in asked
        if name in OTHER_NAMES
    )


def unknown_metric(name: str, known: Collection[str]) -> str:
    """What to say about a name that no metric has: what other tools mean by it, which are near, or which there are."""
    elsewhere = named_elsewhere(name, known)
    if elsewhere:
        return f"no metric is called {name!r}. {elsewhere}"
    near = near_names(name, sorted(known), 3)
    hint = f"did you mean {listed(near, 'or')}?" if near else f"there are: {', '.join(known)}"
    return f"no metric is called {name!r}: {hint}"


def _named(name: str) -> tuple[Metric, ...]:
    if name in GROUPS:
        return GROUPS[name]
    found = metric_named(name)
    if found:
        return (found,)
    taken = [*_BY_NAME, *OTHER_NAMES, *GROUPS]
    if custom_metrics.is_location(name):
        return (custom_metrics.metric_at(name, taken),)
    raise ConfigError(unknown_metric(name, taken))
