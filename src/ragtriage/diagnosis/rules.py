"""THELMA's table 2, and what it lacks, as data.

A rule names the pattern of low and high scores that it reads, what the pattern means, which component to repair and
which scores' bad components are quoted as evidence. A user's own rules are further rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.steps import Step
from ragtriage.diagnosis.thresholds import Level
from ragtriage.metrics.groundedness import SUPPORTED_BY_CONVERSATION
from ragtriage.metrics.response import DECLINES

Kind = Literal["failure", "quality", "doubt", "waste", "right"]
KINDS: tuple[Kind, ...] = ("failure", "quality", "doubt", "waste", "right")
"""What a finding is, the most pressing first."""

Origin = Literal["paper", "ours", "yours"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the diagnosis table."""

    name: str
    """One word or two, for files and filters."""
    kind: Kind
    when: Mapping[str, Level]
    """Metric name → level; all must hold. An undefined score is neither low nor high."""
    reading: str
    """What the pattern means, in a sentence."""
    component: str
    """What to repair."""
    advice: str
    """What to try first."""
    quotes: tuple[str, ...] | None = ()
    """The metrics whose bad components are the evidence, in this order; None for those of `when` that are bad."""
    further: tuple[str, ...] = ()
    """Metrics that are named beside, where they were computed."""
    declines: bool = False
    """True: only for a response that declines to answer; False: only for one that doesn't."""
    origin: Origin = "ours"
    faults: tuple[str, ...] = ()
    """Only where a quoted component is bad in one of these ways, and only those are quoted: see `Metric.kinds`."""
    confidence: tuple[float, float] = (0.0, math.inf)
    """Holds only where the verdicts it hangs on are at least so certain, and less than that: see `findings.certain`."""
    sure_from: float = 0.0
    """Not sure where they are less certain."""
    always: tuple[str, ...] = ()
    """Those of `faults` that count whether the response declines or not: a false citation is one in either."""


TOLD = 0.7
"""How certain the judge must be that the sources hold the answer before a refusal is blamed: who declines is mostly
right, and of sources on the very topic a judge says too readily that they answer."""

RULES: tuple[Rule, ...] = (
    Rule(
        "missing_information",
        "failure",
        {"source_query_coverage": "low", "response_query_coverage": "low"},
        "the sources don't hold the answer, and the response doesn't give it",
        "retriever or source text",
        "Look whether the documents hold the answer at all: if not, add it; if so, find out why it wasn't retrieved.",
        ("source_query_coverage",),
        origin="paper",
        sure_from=0.95,
    ),
    Rule(
        "unused_information",
        "failure",
        {"response_query_coverage": "low", "source_query_coverage": "high"},
        "the answer stands in the sources, but the response doesn't use it",
        "prompt or generator",
        "Ask the generator for every part of the question, put the sources in another order, or try a stronger model.",
        ("response_query_coverage",),
        origin="paper",
        sure_from=0.9,
    ),
    Rule(
        "unaddressed_answer",
        "failure",
        {"source_query_coverage": "low", "response_query_coverage": "high", "groundedness": "low"},
        "the response answers what the sources don't address",
        "prompt",
        "Tell the generator to answer from the sources only, and to say so where they are silent.",
        ("groundedness", "source_query_coverage"),
        origin="paper",
        sure_from=0.85,
    ),
    Rule(
        "unsupported_claims",
        "failure",
        {"groundedness": "low", "source_query_coverage": "high"},
        "the sources answer the question, but the response says things that they don't support",
        "prompt or generator",
        "Ask for claims that the sources support only, lower the temperature, or try a stronger model.",
        ("groundedness",),
    ),
    Rule(
        "needless_refusal",
        "failure",
        {"source_query_coverage": "high"},
        "the response declines although the sources hold the answer",
        "prompt or generator",
        "Soften the instruction to refuse, or try a model that reads the sources better.",
        declines=True,
        confidence=(TOLD, math.inf),
        sure_from=0.9,
    ),
    Rule(
        "misled_by_irrelevant_sources",
        "failure",
        {"irrelevant_noise_sensitivity": "high", "answer_recall": "low"},
        "in place of the true answer the response says what irrelevant sources say",
        "retriever",
        "Retrieve fewer sources or rerank them, so that those which have nothing to do with the answer stay out.",
        ("irrelevant_noise_sensitivity",),
        ("answer_precision",),
    ),
    Rule(
        "misled_by_relevant_sources",
        "failure",
        {"relevant_noise_sensitivity": "high", "answer_recall": "low"},
        "in place of the true answer the response takes something else from the sources that hold it",
        "generator",
        "Try a model that reads the sources better, and look whether these sources contradict the reference.",
        ("relevant_noise_sensitivity",),
        ("answer_precision",),
    ),
    Rule(
        "unsupported_citations",
        "failure",
        {"citation_groundedness": "low"},
        "the response says things that what it cites doesn't support",
        "prompt or generator",
        "Ask for a citation behind every statement and for none without, or try a stronger model.",
        ("citation_groundedness",),
        ("citation_recall", "citation_precision"),
        faults=("unsupported", "uncited", "dangling"),
        always=("unsupported", "dangling"),
    ),
    Rule(
        "misattributed_citations",
        "quality",
        {"citation_groundedness": "low"},
        "the sources support what the response says, but not those that it cites for it",
        "prompt",
        "Number the sources clearly in the prompt, and show by an example how each statement names its own.",
        ("citation_groundedness",),
        ("citation_precision",),
        faults=("misattributed",),
        always=("misattributed",),
    ),
    Rule(
        "missing_citations",
        "quality",
        {"citation_groundedness": "low"},
        "the sources support what the response says, but it cites nothing for it",
        "prompt",
        "Ask for a citation behind every statement that rests on a source, also in the first and the last paragraph.",
        ("citation_groundedness",),
        ("citation_recall",),
        faults=("unattributed",),
    ),
    Rule(
        "extraneous_information",
        "quality",
        {"response_precision": "low", "source_precision": "high"},
        "the response carries information that wasn't asked for, though most sources are needed",
        "prompt or source chunking",
        "Ask for a shorter answer, or cut the sources into smaller chunks.",
        ("response_precision",),
        ("fact_precision",),
        origin="paper",
        confidence=(0.75, math.inf),
        sure_from=0.9,
    ),
    Rule(
        "repetition",
        "quality",
        {"self_distinctness": "low", "response_precision": "high"},
        "the response is to the point but says things twice",
        "prompt or generator",
        "Ask for each thing to be said once, or raise the repetition penalty.",
        ("self_distinctness",),
        origin="paper",
    ),
    Rule(
        "loose_sources",
        "waste",
        {"source_precision": "low", "source_query_coverage": "high"},
        "everything is covered, but some sources are only loosely relevant",
        "retriever",
        "Retrieve fewer sources, or rerank them.",
        ("source_precision",),
        ("fact_precision",),
        origin="paper",
    ),
    Rule(
        "right_refusal",
        "right",
        {"source_query_coverage": "low"},
        "the response rightly declines: the sources don't hold the answer",
        "retriever or source text",
        "Nothing is wrong with the answer; look whether the documents hold the information.",
        ("source_query_coverage",),
        declines=True,
    ),
    Rule(
        "unclear_refusal",
        "doubt",
        {"source_query_coverage": "high"},
        "the response declines, and the judge can't tell whether the sources hold the answer",
        "the judge",
        "Read the case yourself, or ask another judge.",
        declines=True,
        confidence=(0.0, TOLD),
    ),
    Rule(
        "contradiction",
        "doubt",
        {"source_query_coverage": "low", "response_query_coverage": "high", "groundedness": "high"},
        "hardly possible: an answer that the sources support but don't hold; the judge contradicts itself",
        "the judge",
        "Read the case yourself, or ask another judge.",
        ("source_query_coverage",),
    ),
)


def needs_of(rules: Iterable[Rule]) -> tuple[Step, ...]:
    """The steps that rules need beside the metrics' own, so that a plan knows them."""
    rules = tuple(rules)
    told_apart = any("groundedness" in rule.when for rule in rules)
    return ((DECLINES,) if rules else ()) + ((SUPPORTED_BY_CONVERSATION,) if told_apart else ())
