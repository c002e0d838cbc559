"""From a judge's configuration to the judge: alone, in a jury or in a cascade, with its caches and limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ragtriage.core.case import WINDOW
from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import KINDS, Kind
from ragtriage.judges.budget import Ledger
from ragtriage.judges.decisions.judge import BATCH, DecisionJudge
from ragtriage.judges.decisions.models import DECIDED
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.hub_models.folder import open_model
from ragtriage.judges.hub_models.judge import HubModelJudge, beside
from ragtriage.judges.judge_config import (
    EMBEDDED,
    FAST,
    RAW_SCORES,
    SAME,
    UNCALIBRATED,
    JudgeConfig,
    decider_of,
    hub_model_of,
    is_local,
    splits_here,
    texts_judge,
)
from ragtriage.judges.llm.batches import BatchQueue
from ragtriage.judges.llm.judge import AskModel, LLMJudge
from ragtriage.judges.llm.letters import LetterForm
from ragtriage.judges.llm.options import LLM_BATCH, LLMOptions
from ragtriage.judges.llm.paper_form import MODULES, PaperForm
from ragtriage.judges.llm.pending_requests import Tickets
from ragtriage.judges.llm.prompts import ASKED, read_guidance
from ragtriage.judges.llm.reply_json import JsonForm
from ragtriage.judges.llm.text_writer import Writer
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession, ModelConnection
from ragtriage.judges.wrappers.cached import AnswerMemory, Cached, InMemory
from ragtriage.judges.wrappers.combined import Cascade, Changed, Jury, Routed

ONE_BY_ONE = 1
"""Questions in a request for letters beside another judge: their probabilities tell more than those of a list."""
COMPARING_CACHE = 10_000
"""Word pieces that the embedded judge remembers where it only compares the sentences of a response."""


@dataclass(frozen=True, slots=True)
class BuiltJudge:
    """A judge that is ready to be asked, with a cache around each of its members that costs something."""

    judge: Judge
    memory: AnswerMemory
    """What keeps its answers."""
    ledger: Ledger | None = None
    """What was spent; None for a judge that costs nothing."""
    window: int = WINDOW
    """How many cases are worked on at once."""
    cascade: Cascade | None = None
    """The judge itself, if it is a cascade."""
    counting: str = ""
    """How its verdicts count: see `JudgeConfig.counting`."""
    embeddings: str = ""
    """The provider's model that measures similarity; empty for the embedded encoder."""
    resources: tuple[EmbeddedJudge | HubModelJudge | BatchQueue, ...] = ()
    """What `close` lets go of."""

    @property
    def hub_models(self) -> tuple[HubModelJudge, ...]:
        """The hub models that it asks."""
        return tuple(one for one in self.resources if isinstance(one, HubModelJudge))

    def open(self) -> None:
        """Load the hub models: one that can't be used is known before anything is judged or kept."""
        for one in self.hub_models:
            one.open()

    def close(self) -> None:
        """Make the answers safe, then let go of the embedded model and of the tickets of these answers.

        The judge may be asked again all the same.
        """
        self.memory.flush()
        for resource in self.resources:
            resource.close()


def build_judge(
    session: JudgeSession,
    memory: AnswerMemory | None = None,
    *,
    free: AnswerMemory | None = None,
    tickets: Tickets | None = None,
    trial: int = 0,
    threads: int = 2,
) -> BuiltJudge:
    """Build the judge that a configuration describes.

    `memory` keeps answers (one of its own if None), `free` those of judges that cost nothing (`memory` if None),
    `tickets` those of batch APIs. `trial` is which repetition of the same questions this is; `threads` are of the
    embedded judge.

    Raises:
        ConfigError: `batch_api` without tickets, a decision threshold that doesn't fit the judge, or a hub model
            that isn't there or can't be used.
        MissingExtraError: what runs a hub model isn't installed.
    """
    config, ledger, remembered = session.config, session.ledger, memory or InMemory()
    judging = config.judging
    local = {
        name: EmbeddedJudge(fast=texts_judge(name) != EMBEDDED, any_language=config.any_language, threads=threads)
        for name in judging
        if splits_here(name)
    }
    hub_models = {
        name: HubModelJudge(open_model(typed), judge, any_language=config.any_language)
        for name, judge in local.items()
        if (typed := hub_model_of(name))
    }
    # beside a model it only compares sentences, since the requests need the processor more
    embedded = [*local.values()] or [
        EmbeddedJudge(fast=True, any_language=config.any_language, threads=1, kept=COMPARING_CACHE)
    ]
    queues = _queues(session, tickets, trial)

    def remembering(judge: Judge, *, paid: bool, kept: AnswerMemory = remembered) -> Judge:
        return Cached(judge, kept, durable=paid, trial=trial, before_waiting=ledger.wait, spent=lambda: ledger.spent)

    def texts(name: str) -> Judge:
        """Who breaks texts up, and gives the verdicts that no decider gives."""
        if name not in local:
            model = session.models[texts_judge(name)]
            llm = _llm(model, session, queues.get(model.name), letters=decider_of(name) == SAME)
            return remembering(_routed(llm, model, queues.get(model.name), session, embedded[0]), paid=True)
        hub_model = hub_models.get(name)
        if hub_model:
            by_kind = beside(hub_model, local[name], any_language=config.any_language)
            own = remembering(Routed(by_kind, name), paid=False)
        else:
            own = remembering(local[name], paid=False, kept=remembered if free is None else free)
        if session.embeddings is not None:
            similarity = remembering(session.embeddings, paid=True)
            own = Routed({**dict.fromkeys(KINDS, own), "similarity": similarity}, name)
        return own

    def member(name: str) -> Judge:
        own, decider = texts(name), decider_of(name)
        if decider is not None:
            queue = queues.get(decider)
            decided = own if decider == SAME else remembering(_decider(decider, session, queue), paid=True)
            own = Routed({**dict.fromkeys(KINDS, own), **dict.fromkeys(DECIDED, decided)}, name)
        return _changed(config, name, own)

    members = {name: member(name) for name in judging}
    voting = [members[name] for name in config.names]
    judge = voting[0] if len(voting) == 1 else Jury(voting)
    cascade = None if config.cascade is None else Cascade(members[config.first], judge, config.bands())
    whole: Judge = cascade or judge
    return BuiltJudge(
        Changed(whole, binary=True) if config.matching == "binary" else whole,
        remembered,
        ledger if config.paid else None,
        config.window,
        cascade,
        ", ".join(filter(None, [config.counting, _uncalibrated(config, members)])),
        config.embeddings or "",
        (*embedded, *hub_models.values(), *queues.values()),
    )


def build_writer(
    session: JudgeSession, memory: AnswerMemory | None = None, *, tickets: Tickets | None = None
) -> Writer:
    """The one model, to have something written that is no verdict: over the same channel, kept in the same memory."""
    config, options = session.config, session.config.options
    if len(config.models) != 1 or config.models != config.names or config.cascade is not None:
        raise ConfigError("one language model writes: name one, PROVIDER:MODEL, without a cascade", "judge")
    unused = {
        "prompts": options.prompts,
        "embeddings": options.embeddings != EMBEDDED,
        "protocol": config.protocol != "shared",
    }
    for setting, given in unused.items():
        if given:
            raise ConfigError(
                f"{setting} has no effect where a model writes, as it is for verdicts: leave it out"
                if setting == "protocol"
                else f"{setting} are for verdicts, and have no effect where a model writes: leave them out",
                setting,
            )
    (model,) = session.models.values()
    queue = _queues(session, tickets).get(model.name)
    ask, kept = _ask(model, queue), memory or InMemory()
    return Writer(
        model.name, ask, kept, model.identity, read_guidance(options.guidance), lambda: session.ledger.spent, queue
    )


def judge_named(name: str, *, any_language: bool = False, options: LLMOptions | None = None) -> Judge:
    """One judge of this name, which remembers its answers for as long as it lives.

    Args:
        name: what `--judge` takes, with `+decide:` and a decider behind it for what `--decide` takes.
        any_language: lift the embedded judge's limit to the languages that it was measured on.
        options: how a model is asked.

    Raises:
        ConfigError: there is no such judge, or its key is missing.
        MissingExtraError: a provider's package isn't installed.
    """
    if name in (EMBEDDED, FAST):
        return EmbeddedJudge(fast=name == FAST, any_language=any_language)
    config = JudgeConfig((name,), any_language=any_language, options=options or LLMOptions())
    return build_judge(JudgeSession.of(config)).judge


def _queues(session: JudgeSession, tickets: Tickets | None, trial: int = 0) -> Mapping[str, BatchQueue]:
    """The batch queue of every model; none where requests are sent one by one."""
    if not session.config.batch_api:
        return {}
    if tickets is None:
        raise ConfigError("a batch API needs a store, which keeps its tickets", "batch_api")
    wait = session.config.wait
    return {
        name: BatchQueue(name, one.options, session.ledger, tickets, price=one.price, wait=wait, trial=trial)
        for name, one in session.models.items()
    }


def _ask(model: ModelConnection, queue: BatchQueue | None) -> AskModel:
    return queue.ask if queue else partial(model.channel.ask, model.transport.send)


def _llm(
    model: ModelConnection,
    session: JudgeSession,
    queue: BatchQueue | None = None,
    *,
    letters: bool,
    batch_size: int = LLM_BATCH,
) -> LLMJudge:
    """A language model that gives its verdicts as letters, or in JSON."""
    batch_size = model.options.batch_size or batch_size
    explain = model.options.explain or "doubtful"
    return LLMJudge(
        model.name,
        _ask(model, queue),
        LetterForm(session.prompts, explain, batch_size == 1) if letters else JsonForm(session.prompts),
        batch_size=batch_size,
        price=model.price,
        identity=model.identity,
        warn=session.ledger.warn,
    )


def _routed(
    llm: LLMJudge, model: ModelConnection, queue: BatchQueue | None, session: JudgeSession, comparing: Judge
) -> Judge:
    """A model for what models are asked, and who answers the rest beside it."""
    splitting = EmbeddedJudge(fast=True, any_language=True)  # sentences are split by their marks, in any language
    by_kind: dict[Kind, Judge] = {
        **dict.fromkeys(ASKED, llm),
        "sentences": splitting,
        "similarity": session.embeddings or comparing,
    }
    if session.config.protocol == "paper":
        form, ask = PaperForm(read_guidance(model.options.guidance)), _ask(model, queue)
        paper = LLMJudge(model.name, ask, form, batch_size=1, price=model.price, identity=model.identity)
        by_kind |= dict.fromkeys(MODULES, paper)
    return Routed(by_kind, model.name)


def _decider(name: str, session: JudgeSession, queue: BatchQueue | None) -> Judge:
    """What gives the verdicts: a decision model, or a language model by its letters."""
    if name in session.models:
        return _llm(session.models[name], session, queue, letters=True, batch_size=ONE_BY_ONE)
    one, options = session.deciders[name], session.config.options
    return DecisionJudge(
        one.model,
        one.transport.send,
        one.channel,
        one.words,
        batch_size=options.batch_size or BATCH,
        largest_body=options.max_body,
        price=one.price,
    )


def _uncalibrated(config: JudgeConfig, members: Mapping[str, Judge]) -> str:
    """Which kinds are answered with scores that aren't calibrated chances; "" if none are."""
    told = {kind for name in members for kind in config.curves_of(name)}
    raw = {
        # where a curve says what another member's verdicts are worth, it is told whose these are
        f"{kind} by {name}" if kind in told else kind: None
        for kind in KINDS
        for name, member in members.items()
        if member.fingerprint(kind).startswith(UNCALIBRATED) and kind not in config.curves_of(name)
    }
    return f"{RAW_SCORES}: {listed([*raw], 'and')}" if raw else ""


def _changed(config: JudgeConfig, name: str, judge: Judge) -> Judge:
    """The judge with the user's decision thresholds, curves and base rates, where there is any for it."""
    thresholds, curves = config.thresholds_of(name), config.curves_of(name)
    rates: dict[str, float] = {}
    for kind in (one for one in KINDS if one in config.base_rates and one not in thresholds):
        # a threshold of the user's own says already where the odds are even
        if kind not in curves and judge.fingerprint(kind).startswith(UNCALIBRATED):
            raise ConfigError(
                f"the base rate of {kind} moves calibrated chances, and those of {name} aren't: leave it out, or fit "
                "a curve to labels with `ragtriage trust calibrate`"
            )
        if kind in curves or is_local(name):
            rates[kind] = config.base_rates[kind]
    return Changed(judge, thresholds, rates, curves) if thresholds or rates or curves else judge
