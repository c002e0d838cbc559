"""From a judge's configuration to the judge: alone, in a jury or in a cascade, with its caches and limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from ragtriage.core.errors import ConfigError
from ragtriage.core.options import WINDOW
from ragtriage.core.questions import KINDS, Kind
from ragtriage.judges.config import EMBEDDED, FAST, LOCAL, JudgeConfig
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.llm.batch_api import BatchAPI
from ragtriage.judges.llm.batch_queue import BatchQueue
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.embedding_judge import EmbeddingJudge
from ragtriage.judges.llm.judge import AskModel, LLMJudge
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.llm.model_names import address_of, options_for
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.pending_requests import Tickets
from ragtriage.judges.llm.pricing import price_of
from ragtriage.judges.llm.prompts import ASKED, read_guidance, read_prompts
from ragtriage.judges.llm.providers import model_named
from ragtriage.judges.llm.text_writer import Writer
from ragtriage.judges.llm.transport import ModelTransport
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers import AnswerMemory, Cached, Cascade, InMemory, Jury, Rethresholded, Routed

COMPARING_CACHE = 10_000
"""Word pieces that the embedded judge remembers where it only compares the sentences of a response."""
BATCH_WINDOW = 20_000
"""Cases whose requests travel in one batch of a batch API; their texts are in memory meanwhile."""


@dataclass(frozen=True, slots=True)
class _Model:
    """One language model: how it is asked and what it costs."""

    name: str
    options: LLMOptions
    """As far as they are meant for this model."""
    price: Price | None
    transport: ModelTransport
    channel: Channel
    embeddings: EmbeddingJudge | None
    """What measures similarity; None for the embedded judge."""

    @classmethod
    def of(cls, name: str, config: JudgeConfig, ledger: Ledger) -> _Model:
        """Finds everything that can be wrong with the name, its key, package and price."""
        own = options_for(name, config.options)
        transport, price = ModelTransport(name, own), price_of(name, own)
        channel = Channel(config.options, ledger, price, name=name)
        _check_budget(name, price, own, "give --price IN:OUT (US dollars for a million tokens), or ")
        if config.batch_api:
            BatchAPI(name, model_named(name, own), own, price)
        embeddings = None
        if own.embeddings != EMBEDDED:
            # the price that a user gives is that of the judge
            theirs = replace(options_for(own.embeddings, config.options), price=None)
            _check_budget(own.embeddings, price_of(own.embeddings, theirs), theirs, "give ")
            embeddings = EmbeddingJudge(own.embeddings, theirs, channel)
        return cls(name, own, price, transport, channel, embeddings)

    @property
    def identity(self) -> str:
        """What answers depend on beside the name and the prompt."""
        options = self.options
        return f"{address_of(self.name, options) or ''} {options.temperature} {options.reply == 'text'}"


class ConfiguredJudge:
    """The judge of one command: what it asks, what it spent, and how to stop it.

    Everything that can be wrong with names, keys, packages, prompts and prices is found when it is made.

    Attributes:
        config: what was asked for.
        ledger: what was spent.

    Raises:
        ConfigError: a name, key, prompt or price is wrong or missing.
        MissingExtraError: a provider's package isn't installed.
    """

    def __init__(self, config: JudgeConfig) -> None:
        self.config = config
        self.ledger = Ledger(budget=config.options.budget, max_requests=config.options.max_requests)
        self._prompts = read_prompts(config.options.prompts, config.options.guidance)
        self._models = {name: _Model.of(name, config, self.ledger) for name in config.models}
        self._open: list[BatchQueue | EmbeddedJudge] = []
        self._cascade: Cascade | None = None

    @property
    def paid(self) -> bool:
        """Whether models are asked: requests, tokens and money are counted then."""
        return bool(self._models)

    @property
    def concurrency(self) -> int:
        """The most requests in flight."""
        return self.config.options.concurrency

    @property
    def window(self) -> int:
        """How many cases are worked on at once: enough to keep the requests in flight; all of them for a batch API."""
        if self.config.batch_api:
            return BATCH_WINDOW
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
        config, remembered = self.config, memory or InMemory()
        named = [*config.names, *([EMBEDDED] if config.cascade is not None else [])]
        local = {name: self._embedded(fast=name == FAST) for name in named if name in LOCAL}
        # beside a model it only compares sentences, since the requests need the processor more
        comparing = next(iter(local.values()), None) or self._embedded(fast=True, threads=1, kept=COMPARING_CACHE)
        members = []
        for name in config.names:
            judge = local.get(name) or self._routed(self._models[name], comparing, tickets, trial)
            members.append(self._thresholded(name, Cached(judge, remembered, durable=name not in local, trial=trial)))
        judge = members[0] if len(members) == 1 else Jury(members)
        if config.cascade is None:
            return judge
        first = self._thresholded(EMBEDDED, Cached(local[EMBEDDED], remembered, trial=trial))
        self._cascade = Cascade(first, judge, config.bands())
        return self._cascade

    def writer(self, memory: AnswerMemory | None = None, *, tickets: Tickets | None = None) -> Writer:
        """The one model, to have something written that is no verdict: over the same channel, kept in the same memory.

        Raises:
            ConfigError: not exactly one language model was named.
        """
        config, options = self.config, self.config.options
        if len(config.models) != 1 or config.models != config.names or config.cascade is not None:
            raise ConfigError("one language model writes: name one with --judge PROVIDER:MODEL, without a cascade")
        for flag, given in {"prompts": options.prompts, "embeddings": options.embeddings != EMBEDDED}.items():
            if given:
                raise ConfigError(f"--{flag} is for verdicts, and has no effect where a model writes: leave it out")
        (model,) = self._models.values()
        ask = self._ask(model, tickets, 0)
        return Writer(model.name, ask, memory or InMemory(), model.identity, read_guidance(options.guidance))

    def stop(self, reason: str) -> None:
        """Let no new request start; those in flight are awaited, then everybody who waits gets `Stopped(reason)`."""
        self.ledger.stop(reason)

    def settle(self) -> None:
        """Let go of the embedded model, and of the tickets whose answers are kept; call it when these are flushed.

        A judge that was made before may be asked again all the same.
        """
        for one in self._open:
            one.close()
        self._open.clear()

    def _embedded(self, *, fast: bool, threads: int = 2, kept: int | None = None) -> EmbeddedJudge:
        judge = EmbeddedJudge(fast=fast, any_language=self.config.any_language, threads=threads, kept=kept)
        self._open.append(judge)
        return judge

    def _thresholded(self, name: str, judge: Judge) -> Judge:
        """The judge with the user's decision thresholds, where there are any for it."""
        given = self.config.decision_thresholds
        own = {kind: given[kind] for kind in KINDS if kind in given and given[kind].judge == name}
        return Rethresholded(judge, own) if own else judge

    def _routed(self, model: _Model, comparing: Judge, tickets: Tickets | None, trial: int) -> Judge:
        """A model for what models are asked, and who answers the rest beside it."""
        llm = LLMJudge(
            model.name,
            self._ask(model, tickets, trial),
            self._prompts,
            batch_size=model.options.batch_size,
            price=model.price,
            identity=model.identity,
        )
        splitting = EmbeddedJudge(any_language=True)  # sentences are split by their marks, in any language
        by_kind: dict[Kind, Judge] = {
            **dict.fromkeys(ASKED, llm),
            "sentences": splitting,
            "similarity": model.embeddings or comparing,
        }
        return Routed(by_kind, model.name)

    def _ask(self, model: _Model, tickets: Tickets | None, trial: int) -> AskModel:
        if not self.config.batch_api:
            return partial(model.channel.ask, model.transport.send)
        if tickets is None:
            raise ConfigError("--batch-api needs a store, which keeps its tickets")
        queue = BatchQueue(
            model.name,
            model.options,
            self.ledger,
            tickets,
            price=model.price,
            wait=self.config.wait,
            trial=trial,
        )
        self._open.append(queue)
        return queue.ask


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


def _check_budget(name: str, price: Price | None, options: LLMOptions, advice: str) -> None:
    if price is None and options.budget is not None:
        raise ConfigError(
            f"the price of {name} isn't known, so a budget can't be kept: {advice}--max-requests instead of --budget"
        )
