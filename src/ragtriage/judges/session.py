"""What the judges of one command share: the connections to models, their limits, and what was spent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from ragtriage.core.errors import ConfigError
from ragtriage.judges.budget import Ledger
from ragtriage.judges.decisions.models import DecisionModel, DecisionWords, decision_model, read_words
from ragtriage.judges.decisions.transport import DecisionTransport
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.admission import MinuteLimits
from ragtriage.judges.llm.batches import check_batch_support
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.embedding_judge import EmbeddingJudge
from ragtriage.judges.llm.models import address_of, options_for, price_of, price_of_embeddings
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.prompts import Prompts, read_guidance, read_prompts
from ragtriage.judges.llm.providers import check_provider, model_named
from ragtriage.judges.llm.transport import ModelTransport, Offline

COUNTED_TWICE = 2.0
"""How many times its tokens a request to a decision model may cost, as some servers count the state for each question;
the first replies tell."""


@dataclass(frozen=True, slots=True)
class ModelConnection:
    """One language model: how it is asked and what it costs."""

    name: str
    options: LLMOptions
    """As far as they are meant for this model."""
    price: Price | None
    transport: ModelTransport | Offline
    channel: Channel

    @property
    def identity(self) -> str:
        """What answers depend on beside the name and the prompt."""
        options = self.options
        return f"{address_of(self.name, options) or ''} {options.temperature} {options.reply == 'text'}"


@dataclass(frozen=True, slots=True)
class DecisionConnection:
    """One decision model: how it is asked and what it costs."""

    model: DecisionModel
    price: Price | None
    transport: DecisionTransport | Offline
    channel: Channel
    words: DecisionWords

    @property
    def rate(self) -> str:
        """Its price in words: `$0.042 a million in, listed 2026-11; output is free`; empty where it costs nothing."""
        if self.price is None:
            return "not known: give --decide-price IN:OUT"
        if self.price != self.model.price:
            return "by --decide-price"
        listed = f"${self.price.tokens_in:g} a million in, listed {self.model.service.listed}; output is free"
        return listed if self.price.tokens_in else ""


@dataclass(frozen=True, slots=True)
class JudgeSession:
    """What the judges of one command share, such as those of several trials; see `ragtriage.judges.build`."""

    config: JudgeConfig
    ledger: Ledger
    """What was spent. `ledger.stop` ends all judges: requests in flight are awaited, and no further one starts."""
    prompts: Prompts
    models: Mapping[str, ModelConnection]
    """By name; empty where no language model judges."""
    deciders: Mapping[str, DecisionConnection]
    """Decision models by name; empty where none is asked."""
    embeddings: EmbeddingJudge | None
    """What measures similarity, whoever judges; None for the embedded encoder."""

    @classmethod
    def of(
        cls,
        config: JudgeConfig,
        *,
        offline: str | None = None,
        ledger: Ledger | None = None,
        shared: Callable[[str], MinuteLimits | None] = lambda _: None,
    ) -> Self:
        """Find everything that can be wrong with names, keys, packages, prompts and prices; nothing is sent.

        Args:
            config: who judges.
            offline: why no model may be asked at all: neither keys nor packages are looked for then, nor whether a
                model has a batch API, and a question that no memory answers fails for this reason.
            ledger: what this process is granted of the budget of several; else all of it.
            shared: the limits a minute of a model by its name, where other processes send requests under them too.

        Raises:
            ConfigError: a name, key, prompt or price is wrong or missing.
            MissingExtraError: a provider's package isn't installed.
        """
        options = config.options
        ledger = ledger or Ledger(budget=options.budget, max_requests=options.max_requests)
        prompts = read_prompts(options.prompts, options.guidance)
        models = {name: _connection(name, config, ledger, offline, shared(name)) for name in config.models}
        deciders = {name: _decider(name, config, ledger, offline, shared(name)) for name in config.deciders}
        embeddings = None
        if config.embeddings is not None:
            embeddings = _embeddings(config.embeddings, options, ledger, offline, shared(config.embeddings))
        return cls(config, ledger, prompts, models, deciders, embeddings)


def _connection(
    name: str, config: JudgeConfig, ledger: Ledger, offline: str | None, shared: MinuteLimits | None
) -> ModelConnection:
    options = options_for(name, config.options)
    check_provider(name)
    transport = ModelTransport(name, options) if offline is None else Offline(offline)
    price = price_of(name, options)
    channel = Channel(config.options, ledger, price, name=name, shared=shared)
    _check_budget(name, price, options, "give its price, IN:OUT (US dollars for a million tokens), or ")
    if config.batch_api and offline is None:
        check_batch_support(name, model_named(name, options), options)
    return ModelConnection(name, options, price, transport, channel)


def _decider(
    name: str, config: JudgeConfig, ledger: Ledger, offline: str | None, shared: MinuteLimits | None
) -> DecisionConnection:
    options, model = config.options, decision_model(name)
    price = options.decide_price or model.price
    _check_budget(name, price, options, "give its price, --decide-price IN:OUT (US dollars for a million tokens), or ")
    transport = DecisionTransport(model, options, price) if offline is None else Offline(offline)
    channel = Channel(options, ledger, price, name=name, shared=shared)
    channel.expect(COUNTED_TWICE)
    if model.moves:
        ledger.warn(f"{name} names another model from one day to the next: give one with a version, to compare runs")
    return DecisionConnection(
        model, price, transport, channel, read_words(options.prompts, read_guidance(options.guidance))
    )


def _embeddings(
    name: str, options: LLMOptions, ledger: Ledger, offline: str | None, shared: MinuteLimits | None
) -> EmbeddingJudge:
    check_provider(name)
    own = options_for(name, options)
    price = price_of_embeddings(name, own)
    _check_budget(name, price, options, "give their price, IN:OUT (US dollars for a million tokens), or ")
    channel = Channel(options, ledger, price, name=name, shared=shared)
    embed = None if offline is None else Offline(offline).embed
    return EmbeddingJudge(name, replace(own, price=price), channel, embed)


def _check_budget(name: str, price: Price | None, options: LLMOptions, advice: str) -> None:
    if price is None and options.budget is not None:
        raise ConfigError(
            f"the price of {name} isn't known, so a budget can't be kept: {advice}limit the requests instead",
            "price",
            "max_requests",
            "budget",
        )
