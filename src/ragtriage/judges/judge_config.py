"""Which judge is wanted, as a value: its names and parts are checked against each other, nothing is built or asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragtriage.core.case import WINDOW
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import KINDS, Kind
from ragtriage.core.validation import near_names, setting
from ragtriage.judges.decision_thresholds import BANDS, Band, ChanceCurve, DecisionThreshold, check_base_rates
from ragtriage.judges.decisions.models import decision_model, is_decision_model
from ragtriage.judges.llm.models import split_name, takes_base_url
from ragtriage.judges.llm.options import LLMOptions

EMBEDDED = "embedded"
"""The judge that comes with the package."""
FAST = "embedded:fast"
"""The same without the larger reader."""
READER = "+reader:"
"""Stands before a hub model: the name of a known one, or the path of its folder or of an ONNX file in it."""
DECIDE = "+decide:"
"""Stands before what gives the verdicts in place of the judge that breaks texts up: a decision model, or `same`."""
SAME = "same"
"""A language model that gives verdicts as letters, the reason behind."""
UNCALIBRATED = ("reader-uncalibrated-", "decide:")
"""How the fingerprint of a kind begins whose scores aren't calibrated chances: by a hub model, a decision model."""
RAW_SCORES = "uncalibrated"
"""Stands in `BuiltJudge.counting` before those kinds."""


def is_local(name: str) -> bool:
    """Whether a judge runs on this machine, alone or with a hub model."""
    return splits_here(name) and decider_of(name) is None


def splits_here(name: str) -> bool:
    """Whether texts are broken up on this machine, whoever gives the verdicts."""
    texts = texts_judge(name)
    return texts in (EMBEDDED, FAST) or texts.startswith(f"{EMBEDDED}{READER}")


def texts_judge(name: str) -> str:
    """The part of a judge's name that says who breaks texts up."""
    return name.partition(DECIDE)[0]


def decider_of(name: str) -> str | None:
    """What gives the verdicts in place of the judge that breaks texts up; None where that gives them, too."""
    return name.partition(DECIDE)[2] or None


def with_decider(names: Sequence[str], typed: str | None = None, texts: str = EMBEDDED) -> tuple[str, ...]:
    """Judges as they are stored, `JUDGE+decide:DECIDER`, each that has no decider of its own with the one typed.

    Args:
        names: as they are typed; a decision model's name alone stands for it beside the judge `texts`.
        typed: a decision model, a language model, `same`, or `embedded` for none; None where none is typed.
        texts: who breaks texts up where only a decision model is named.
    """
    whole = [f"{texts}{DECIDE}{decision_model(name).name}" if is_decision_model(name) else name for name in names]
    if typed is None or typed == EMBEDDED:
        return tuple(whole)
    if all(map(decider_of, whole)):
        raise ConfigError(f"{whole[0]} has a decider of its own: leave {typed} out, or name another judge", "decide")
    decider = decision_model(typed).name if is_decision_model(typed) else typed
    return tuple(name if decider_of(name) else f"{name}{DECIDE}{decider}" for name in whole)


def in_a_sentence(name: str) -> str:
    """A judge's name as a sentence has it: `the embedded judge`, or the name as it is typed."""
    return {EMBEDDED: "the embedded judge", FAST: "the fast embedded judge"}.get(name, name)


def hub_model_of(name: str) -> str | None:
    """The hub model that a judge's name names, as it is typed; None for any other judge."""
    texts = texts_judge(name)
    if not texts.startswith(f"{EMBEDDED}{READER}"):
        return None
    found = texts.removeprefix(f"{EMBEDDED}{READER}").strip()
    if not found:
        raise ConfigError(f"the judge {name!r} names nothing behind {READER!r}: give a folder")
    if READER in found:
        raise ConfigError(f"the judge {name!r} names several hub models: name one, or make judges of them for a jury")
    if "," in found:
        raise ConfigError(
            f"the hub model {found!r} holds a comma, which separates judges in what is stored: rename the folder"
        )
    return found


def with_hub_model(name: str, typed: str | None) -> str:
    """The name of the embedded judge with this hub model; any other name, and one with a model, stays as it is."""
    return f"{EMBEDDED}{READER}{typed}" if typed and name in (EMBEDDED, FAST) else name


Matching = Literal["soft", "binary"]
Protocol = Literal["shared", "paper"]
"""How a language model is asked: several questions about one text in a request, or as THELMA's paper does."""
SHIPPED = "shipped"
"""The cascade's bands that come with the package."""
EMBEDDED_WINDOW = 16
BATCH_WINDOW = 20_000
"""Cases whose requests travel in one batch of a batch API; their texts are in memory meanwhile."""


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """Who judges, and how."""

    names: tuple[str, ...] = (EMBEDDED,)
    """`embedded`, `embedded:fast`, `embedded+reader:FOLDER` or `provider:model`, each once; behind it `+decide:` and a
    decider."""
    jury: Literal["majority"] | None = None
    """How several judges come to a verdict."""
    cascade: str | None = None
    """The embedded judge decides what it is sure of: `shipped`, or the band of scores that it passes on, LOW:HIGH."""
    batch_api: bool = setting(
        "Use the provider's batch API: half the price, up to a day. Give the same command again to collect",
        default=False,
    )
    wait: bool = setting("With --batch-api: wait until everything is answered", default=False)
    any_language: bool = False
    """Whether to judge also in languages that the embedded judge wasn't measured on."""
    options: LLMOptions = field(default_factory=LLMOptions)
    decision_thresholds: Mapping[str, DecisionThreshold] = field(default_factory=dict)
    """Kind → in place of the judges' own; each counts for the judge that it names alone."""
    own_bands: Mapping[str, str] = field(default_factory=dict)
    """Kind → the band instead of the shipped one, LOW:HIGH."""
    matching: Matching = "soft"
    """Whether a verdict counts with its chance, or as 1 or 0."""
    base_rates: Mapping[str, float] = field(default_factory=dict)
    """Kind → the share of yes that is expected, in place of the one at which chances are calibrated."""
    chance_curves: Mapping[str, ChanceCurve] = field(default_factory=dict)
    """Kind → what labels say of a judge's verdicts; each counts for the judge that it names alone."""
    first: str = EMBEDDED
    """Who decides first in a cascade: the embedded judge, alone or with a hub model."""
    protocol: Protocol = setting(
        "How a language model is asked: shared, several questions a request, or paper, one module a request as "
        "THELMA's paper has it",
        default="shared",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", with_decider(self.names))  # a decision model may be named alone
        for name in self.models:
            if ":" not in name or name.startswith(f"{EMBEDDED}:"):
                near = near_names(name, (EMBEDDED, FAST))
                hint = f"; did you mean {near[0]}?" if near else ", for example openai:gpt-5-mini"
                raise ConfigError(f"there is no judge {name!r}: use {EMBEDDED}, {FAST} or PROVIDER:MODEL{hint}")
        for name in (*self.names, self.first):
            hub_model_of(name)
            self._check_decider(name)
        for name in sorted(self.names):
            if self.names.count(name) > 1:
                raise ConfigError(
                    f"the judge {name} is named twice: to ask a judge several times, repeat the evaluation", "repeat"
                )
        self._check_parts()
        if self.paid:  # else the options are those of a file, kept for when a model judges
            self._check_options()

    @property
    def counting(self) -> str:
        """How its verdicts count, in words: `supported at 0.9, binary`; empty where nothing is set."""
        curved = {kind for name in self.judging for kind in self.curves_of(name)}
        known = [f"{kind} known from labels" for kind in self.chance_curves if kind in curved]
        rates = [f"{kind} at {rate:g}" for kind, rate in self.base_rates.items()]
        return ", ".join([*rates, *known, *(["binary"] if self.matching == "binary" else [])])

    def _check_parts(self) -> None:
        check_base_rates(self.base_rates, "base rates")
        if len(self.names) > 1 and not self.jury:
            raise ConfigError("several judges need a jury: majority", "jury")
        if self.jury and len(self.names) < 2:
            raise ConfigError("a jury needs several judges: name more than one", "judge")
        if self.cascade is not None:
            self._check_cascade()
        if self.protocol == "paper" and any(map(decider_of, self.names)):
            raise ConfigError("the paper's protocol asks for verdicts itself: leave the decider out", "decide")
        if self.protocol == "paper" and not self.models:
            raise ConfigError("the paper's protocol is for language models: name one, PROVIDER:MODEL", "judge")
        if self.protocol == "paper" and self.options.prompts is not None:
            raise ConfigError("the paper's protocol has prompts of its own: leave yours out", "prompts", "protocol")
        if (self.batch_api or self.wait) and (self.deciders or self.local):
            raise ConfigError("a batch API is for language models: name one, PROVIDER:MODEL", "judge")
        if self.wait and not self.batch_api:
            raise ConfigError("only a batch API is waited for: ask for it too", "wait", "batch_api")

    def _check_cascade(self) -> None:
        self.bands()
        if any(map(is_local, self.names)):
            raise ConfigError("a cascade passes on from the embedded judge to a model: name a model", "judge")
        if self.cascade == SHIPPED and not is_local(self.first):
            raise ConfigError(
                f"the shipped bands are those of the embedded judge, and {self.first} decides first: give a band, "
                "LOW:HIGH",
                "cascade",
            )
        if self.cascade == SHIPPED and hub_model_of(self.first) and "supported" not in self.own_bands:
            raise ConfigError(
                f"the shipped bands were fitted to the embedded judge's own scores, and in {self.first} a hub model "
                "answers supported: set a band for it under [bands], or give one for all, LOW:HIGH",
                "cascade",
            )

    def _check_options(self) -> None:
        options, asked = self.options, [*self.models]
        if self.embeddings is not None:
            asked.append(self.embeddings)
        providers = {split_name(name)[0] for name in asked}
        if options.base_url is not None and not any(takes_base_url(name) for name in asked):
            raise ConfigError(
                "an address is for judges and embeddings openai:NAME and ollama:NAME, and there is none", "base_url"
            )
        if options.headers and options.base_url is None and len(providers) > 1:
            raise ConfigError(
                "headers would go to several providers: give an address too, and they go there only",
                "headers", "base_url",
            )  # fmt: skip

    def _check_decider(self, name: str) -> None:
        decider = decider_of(name)
        if decider is None:
            return
        if decider == SAME and splits_here(name):
            raise ConfigError("the embedded judge gives its verdicts itself: name a model to decide", "decide")
        if DECIDE in decider:
            raise ConfigError(f"the judge {name!r} names several deciders: name one", "decide")
        if is_decision_model(decider):
            decision_model(decider)
        elif decider != SAME:
            split_name(decider)

    @property
    def judging(self) -> tuple[str, ...]:
        """All that are asked: the judges, and who decides first in a cascade."""
        return self.names if self.cascade is None else (self.first, *self.names)

    @property
    def models(self) -> tuple[str, ...]:
        """The language models that are asked: to break texts up, or for verdicts."""
        asked = (one for name in self.judging for one in (texts_judge(name), decider_of(name) or SAME))
        found = (one for one in asked if one != SAME and not splits_here(one) and not is_decision_model(one))
        return tuple(dict.fromkeys(found))

    @property
    def deciders(self) -> tuple[str, ...]:
        """The decision models that are asked."""
        found = (decider_of(name) or SAME for name in self.judging)
        return tuple(dict.fromkeys(one for one in found if is_decision_model(one)))

    @property
    def local(self) -> tuple[str, ...]:
        """Those that run on this machine."""
        return tuple(name for name in self.names if is_local(name))

    @property
    def embeddings(self) -> str | None:
        """The provider's model that measures similarity; None for the embedded encoder."""
        return None if self.options.embeddings == EMBEDDED else self.options.embeddings

    @property
    def paid(self) -> bool:
        """Whether models or a provider's embeddings are asked: requests, tokens and money are counted then."""
        return bool(self.models or self.deciders or self.embeddings)

    @property
    def window(self) -> int:
        """How many cases are worked on at once: enough to keep the requests in flight; all of them for a batch API.

        Few for the embedded judge: it takes the questions in the order in which they are asked, so what is remembered
        of a case's texts must last until all that are worked on have had their turn.
        """
        if self.batch_api:
            return BATCH_WINDOW
        asks = self.models or self.deciders
        return max(WINDOW, 2 * self.options.concurrency) if asks else EMBEDDED_WINDOW

    def thresholds_of(self, name: str) -> dict[Kind, DecisionThreshold]:
        """The decision thresholds of one judge."""
        given = self.decision_thresholds
        return {kind: given[kind] for kind in KINDS if kind in given and given[kind].judge == name}

    def curves_of(self, name: str) -> dict[Kind, ChanceCurve]:
        """The curves of one judge; a decision threshold of the same kind goes first, and its curve doesn't count."""
        given, decided = self.chance_curves, self.thresholds_of(name)
        return {
            kind: given[kind] for kind in KINDS if kind in given and given[kind].judge == name and kind not in decided
        }

    def bands(self) -> dict[Kind, Band]:
        """The cascade's bands by kind."""
        if self.cascade not in {None, SHIPPED}:
            return dict.fromkeys(BANDS, Band.parse(str(self.cascade)))
        for kind in self.own_bands:
            if kind not in BANDS:
                raise ConfigError(f"[bands]: a cascade has no band for {kind!r}: there are {', '.join(BANDS)}")
        found = dict(BANDS)
        for kind, band in BANDS.items():
            if kind in self.own_bands:
                # whether an answer of a response may stand wasn't asked when the band was fitted
                found[kind] = replace(Band.parse(self.own_bands[kind]), responses=band.responses)
        return found
