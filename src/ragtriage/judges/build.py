"""From what a user types after `--judge` to a judge: alone, in a jury or in a cascade, with its caches and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.options import WINDOW
from ragtriage.core.questions import Kind
from ragtriage.judges.decision_thresholds import DecisionThreshold
from ragtriage.judges.embedded import EMBEDDED, FAST, EmbeddedJudge
from ragtriage.judges.llm.batch_api import BatchAPI
from ragtriage.judges.llm.batch_queue import BatchQueue
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.embedding_judge import EmbeddingJudge
from ragtriage.judges.llm.judge import Asking, LLMJudge
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.llm.model_names import address_of, at_an_address, meant_by, meant_for, parts_of
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.pricing import price_of
from ragtriage.judges.llm.prompts import ASKED, read_guidance, read_prompts
from ragtriage.judges.llm.providers import model_named
from ragtriage.judges.llm.text_writer import Writer
from ragtriage.judges.llm.tickets import Tickets
from ragtriage.judges.llm.transport import ModelTransport
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers import BANDS, AnswerMemory, Band, Cached, Cascade, InMemory, Jury, Rethresholded, Routed

LOCAL = (EMBEDDED, FAST)
"""The judges that come with the package."""
SHIPPED = "shipped"
"""The cascade's bands that come with the package."""
BESIDE = 10_000
"""Word pieces that the embedded judge remembers where it only compares the sentences of a response."""
TICKETED = 20_000
"""Cases whose requests travel in one batch of a batch API; their texts are in memory meanwhile."""


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """Who judges, and how.

    Raises:
        ConfigError: the parts don't fit together; says what to do.
    """

    names: tuple[str, ...] = (EMBEDDED,)
    """`embedded`, `embedded:fast` or `provider:model`, each once."""
    jury: Literal["majority"] | None = None
    """How several judges come to a verdict."""
    cascade: str | None = None
    """The embedded judge decides what it is sure of: `shipped`, or the band of scores that it passes on, LOW:HIGH."""
    batch_api: bool = False
    """Whether requests go through the provider's batch API."""
    wait: bool = False
    """Batch API: whether to wait until everything is answered."""
    any_language: bool = False
    """Whether to judge also in languages that the embedded judge wasn't measured on."""
    options: LLMOptions = field(default_factory=LLMOptions)
    cuts: Mapping[Kind, DecisionThreshold] = field(default_factory=dict)
    """Where verdicts are cut instead of where the judge does; each counts for the judge that it names alone."""
    own_bands: Mapping[Kind, str] = field(default_factory=dict)
    """Bands instead of shipped ones, LOW:HIGH."""

    def __post_init__(self) -> None:
        for name in self.models:
            if ":" not in name or name.startswith(f"{EMBEDDED}:"):
                near = next(iter(get_close_matches(name, LOCAL)), "") or meant_by(name)
                hint = f"; did you mean {near}?" if near else ", for example openai:gpt-5-mini"
                raise ConfigError(f"there is no judge {name!r}: use {EMBEDDED}, {FAST} or PROVIDER:MODEL{hint}")
        doubles = sorted({name for name in self.names if self.names.count(name) > 1})
        if doubles:
            raise ConfigError(f"--judge {doubles[0]} is named twice: to ask a judge several times, use --repeat")
        self._check_parts()
        if self.models:
            self._check_embeddings()
            self._check_addresses()

    def _check_parts(self) -> None:
        if len(self.names) > 1 and not self.jury:
            raise ConfigError("several judges need --jury majority")
        if self.jury and len(self.names) < 2:
            raise ConfigError("a jury needs several judges: give --judge more than once")
        if self.cascade is not None:
            self.bands()
            if self.models != self.names:
                raise ConfigError("a cascade passes on from the embedded judge to a model: name the model with --judge")
        if (self.batch_api or self.wait) and self.models != self.names:
            raise ConfigError("--batch-api is for language models: name one with --judge provider:model")
        if self.wait and not self.batch_api:
            raise ConfigError("--wait belongs to --batch-api")
        if self.models:  # else the options are those of a file, kept for when a model judges
            self._check_embeddings()
            self._check_addresses()

    def _check_embeddings(self) -> None:
        if self.options.embeddings == EMBEDDED:
            return
        if self.cascade is not None or self.names[0] in LOCAL:
            raise ConfigError("--embeddings has no effect here, as the embedded judge compares sentences: leave it out")

    def _check_addresses(self) -> None:
        options = self.options
        asked = [*self.models, *([options.embeddings] if options.embeddings != EMBEDDED else [])]
        kinds = {parts_of(name)[0] for name in asked}
        if options.base_url is not None and not any(at_an_address(name) for name in asked):
            raise ConfigError("--base-url is for judges and embeddings openai:NAME and ollama:NAME, and there is none")
        if options.headers and options.base_url is None and len(kinds) > 1:
            raise ConfigError("--header would go to several providers: give --base-url too, and it goes there only")

    @property
    def models(self) -> tuple[str, ...]:
        """Those of the judges that are language models."""
        return tuple(name for name in self.names if name not in LOCAL)

    def bands(self) -> dict[Kind, Band]:
        """The cascade's bands by kind.

        Raises:
            ConfigError: the band can't be read.
        """
        if self.cascade in {None, SHIPPED}:
            for kind in self.own_bands:
                if kind not in BANDS:
                    raise ConfigError(f"[bands]: a cascade has no band for {kind!r}: there are {', '.join(BANDS)}")
            own = {kind: Band.parse(band) for kind, band in self.own_bands.items()}
            # whether an answer of a response may stand wasn't asked when the band was fitted
            return dict(BANDS) | {kind: replace(band, responses=BANDS[kind].responses) for kind, band in own.items()}
        return dict.fromkeys(BANDS, Band.parse(str(self.cascade)))


class ConfiguredJudge:
    """The judge of one command: what it asks, what it spent, and how to stop it.

    Everything that can be wrong with names, keys, packages, prompts and prices is found when it is made.

    Attributes:
        choice: what was asked for.
        ledger: what was spent.

    Raises:
        ConfigError: a name, key, prompt or price is wrong or missing.
        MissingExtraError: a provider's package isn't installed.
    """

    def __init__(self, choice: JudgeConfig) -> None:
        self.choice = choice
        options = choice.options
        self.ledger = Ledger(budget=options.budget, max_requests=options.max_requests)
        self._prompts = read_prompts(options.prompts, options.guidance)
        self._options = {name: meant_for(name, options) for name in choice.models}
        self._transports = {name: ModelTransport(name, own) for name, own in self._options.items()}
        self._prices: dict[str, Price | None] = {name: price_of(name, own) for name, own in self._options.items()}
        self._channels: dict[str, Channel] = {}
        self._desks: list[BatchQueue] = []
        self._local: list[EmbeddedJudge] = []
        self._cascade: Cascade | None = None
        for name, price in self._prices.items():
            self._channels[name] = Channel(options, self.ledger, price, name=name)
            self._check_budget(name, price, "give --price IN:OUT (US dollars for a million tokens), or ")
            if choice.batch_api:
                BatchAPI(name, model_named(name, self._options[name]), self._options[name], price)
        self._embeddings: dict[str, Judge] = {}
        for name, channel in self._channels.items():
            if options.embeddings != EMBEDDED:
                # the price that a user gives is that of the judge
                own = replace(meant_for(options.embeddings, options), price=None)
                self._check_budget(options.embeddings, price_of(options.embeddings, own), "give ")
                self._embeddings[name] = EmbeddingJudge(options.embeddings, own, channel)

    @property
    def paid(self) -> bool:
        """Whether models are asked: requests, tokens and money are counted then."""
        return bool(self.choice.models)

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.choice.options.concurrency

    @property
    def window(self) -> int:
        """How many cases are worked on at once: enough to keep the requests in flight; all of them for tickets."""
        if self.choice.batch_api:
            return TICKETED
        return max(WINDOW, 2 * self.concurrency) if self.paid else WINDOW

    @property
    def saved(self) -> tuple[int, int, int] | None:
        """Of a cascade: verdicts that the embedded judge decided, verdicts passed on, requests saved; else None."""
        cascade = self._cascade
        return (cascade.decided, cascade.passed_on, cascade.saved.requests) if cascade else None

    def judge(self, memory: AnswerMemory | None = None, *, tickets: Tickets | None = None, trial: int = 0) -> Judge:
        """The judge, with a cache around each that costs something.

        Args:
            memory: what keeps answers; a memory of its own for each call if None.
            tickets: what keeps the tickets of batch APIs; needed for `batch_api`.
            trial: which repetition of the same questions.
        """
        remembered = memory or InMemory()
        named = [*self.choice.names, *([EMBEDDED] if self.choice.cascade is not None else [])]
        own = {name: self._own(name) for name in named if name in LOCAL}
        local = next(iter(own.values())) if own else self._comparing()
        members = [
            self._cut(name, Cached(own.get(name) or self._model(name, local, tickets, trial), remembered,
                                   durable=name not in own, trial=trial))
            for name in self.choice.names
        ]  # fmt: skip
        judge: Judge = members[0] if len(members) == 1 else Jury(members)
        if self.choice.cascade is None:
            return judge
        first = self._cut(EMBEDDED, Cached(local, remembered, trial=trial))
        self._cascade = Cascade(first, judge, self.choice.bands())
        return self._cascade

    def _cut(self, name: str, judge: Judge) -> Judge:
        """The judge with the user's cuts, where there are any for it."""
        cuts = {kind: cut for kind, cut in self.choice.cuts.items() if cut.judge == name}
        return Rethresholded(judge, cuts) if cuts else judge

    def writer(self, memory: AnswerMemory | None = None, *, tickets: Tickets | None = None) -> Writer:
        """The one model, to have something written that is no verdict: over the same channel, kept in the same memory.

        Args:
            memory: what keeps replies; one of its own if None.
            tickets: see `judge`.

        Raises:
            ConfigError: not exactly one language model was named.
        """
        if len(self.choice.models) != 1 or self.choice.models != self.choice.names or self.choice.cascade is not None:
            raise ConfigError("one language model writes: name one with --judge PROVIDER:MODEL, without a cascade")
        options = self.choice.options
        for flag, given in {"prompts": options.prompts, "embeddings": options.embeddings != EMBEDDED}.items():
            if given:
                raise ConfigError(f"--{flag} is for verdicts, and has no effect where a model writes: leave it out")
        (name,) = self.choice.models
        guidance = read_guidance(options.guidance)
        return Writer(name, self._asking(name, tickets, 0), memory or InMemory(), self._identity(name), guidance)

    def _identity(self, name: str) -> str:
        """What a model's answers depend on beside its name and the prompt."""
        options = self._options[name]
        return f"{address_of(name, options) or ''} {options.temperature} {options.reply == 'text'}"

    def _own(self, name: str) -> EmbeddedJudge:
        """One of the package's own judges."""
        return self._kept(EmbeddedJudge(fast=name == FAST, any_language=self.choice.any_language))

    def _comparing(self) -> EmbeddedJudge:
        """One that only compares sentences, since the requests need the processor more."""
        return self._kept(EmbeddedJudge(fast=True, any_language=self.choice.any_language, threads=1, kept=BESIDE))

    def _kept(self, local: EmbeddedJudge) -> EmbeddedJudge:
        self._local.append(local)
        return local

    def stop(self, reason: str) -> None:
        """Let no new request start; those in flight are awaited, then everybody who waits gets `Stopped(reason)`."""
        self.ledger.stop(reason)

    def settle(self) -> None:
        """Let go of the embedded model, and of the tickets whose answers are kept; call it when these are flushed.

        A judge that was made before may be asked again all the same.
        """
        for desk in self._desks:
            desk.close()
        self._desks.clear()
        for local in self._local:
            local.close()
        self._local.clear()

    def _check_budget(self, name: str, price: Price | None, advice: str) -> None:
        if price is None and self.choice.options.budget is not None:
            raise ConfigError(
                f"the price of {name} isn't known, so a budget can't be kept: "
                f"{advice}--max-requests instead of --budget"
            )

    def _model(self, name: str, local: Judge, tickets: Tickets | None, trial: int) -> Judge:
        options = self._options[name]
        llm = LLMJudge(
            name,
            self._asking(name, tickets, trial),
            self._prompts,
            batch_size=options.batch_size,
            price=self._prices[name],
            identity=self._identity(name),
        )
        similar = self._embeddings.get(name, local)
        # sentences are split by their marks, in any language
        splitting = EmbeddedJudge(any_language=True)
        by_kind: dict[Kind, Judge] = {**dict.fromkeys(ASKED, llm), "sentences": splitting, "similarity": similar}
        return Routed(by_kind, name)

    def _asking(self, name: str, tickets: Tickets | None, trial: int) -> Asking:
        if not self.choice.batch_api:
            return partial(self._channels[name].ask, self._transports[name])
        if tickets is None:
            raise ConfigError("--batch-api needs a store, which keeps its tickets")
        price, wait = self._prices[name], self.choice.wait
        desk = BatchQueue(name, self._options[name], self.ledger, tickets, price=price, wait=wait, trial=trial)
        self._desks.append(desk)
        return desk.ask


def judge_named(name: str, *, any_language: bool = False, options: LLMOptions | None = None) -> Judge:
    """One judge of this name, which remembers its answers for as long as it lives.

    Args:
        name: `embedded`, `embedded:fast` or `provider:model`.
        any_language: lift the embedded judge's limit to the languages that it was measured on.
        options: how a model is asked.

    Raises:
        ConfigError: there is no such judge, or its key is missing.
        MissingExtraError: a provider's package isn't installed.
    """
    if name in LOCAL:
        return EmbeddedJudge(fast=name == FAST, any_language=any_language)
    return ConfiguredJudge(JudgeConfig((name,), any_language=any_language, options=options or LLMOptions())).judge()
