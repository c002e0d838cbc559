"""Who judges: the flags that choose a judge, what commands that ask one do alike, and `ragtriage judge`."""

import asyncio
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ragtriage.cli.console import at_ctrl_c, print_found, tell
from ragtriage.cli.flags import command, parse_numbers, setting_flags
from ragtriage.cli.opened_stores import answers_in, store_address
from ragtriage.config import SETTINGS, Settings, find_settings, judge_config, named_numbers, read_settings
from ragtriage.core.display import dollars, plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import settings_of
from ragtriage.execution.evaluating import INTERRUPTED
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import build_judge, build_writer
from ragtriage.judges.decision_thresholds import check_base_rates
from ragtriage.judges.decisions.influence import influence
from ragtriage.judges.decisions.models import EXAMPLE, is_decision_model
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.text_writer import Writer
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import AnswerMemory
from ragtriage.metrics import custom_metrics
from ragtriage.report.judge_document import influence_document
from ragtriage.store import open_answers

_SETTINGS = (
    "store", "judge", "decide", "jury", "cascade", "any_language", "matching", "protocol", "base_rate",
    *(one.parameter for one in settings_of(LLMOptions) if one.help), "batch_api", "wait",
)  # fmt: skip
NOTHING_SENT = "a plan sends nothing"
_Flags: Any = setting_flags(*_SETTINGS)


@dataclass(frozen=True)
class JudgeFlags(_Flags):  # type: ignore[misc]  # its fields are the settings
    """The flags that choose a judge, the settings and the store."""

    config: Path | None = None

    def settings(self, thresholds: Collection[str] | None = None, metrics: str | None = None) -> Settings:
        """The settings of a file (the nearest one if none was given), with thresholds from flags put over its own.

        Custom metrics that `--metrics` names may have a threshold.
        """
        settings = read_settings(self.config) if self.config else find_settings(Path.cwd())
        custom = custom_metrics.names_in([*(metrics or "").split(","), *settings.metrics])
        given = named_numbers(thresholds or (), "--threshold", custom)
        return replace(settings, thresholds={**settings.thresholds, **given})

    def given(self) -> dict[str, Any]:
        """Setting → its value, for those that were given."""
        raw = {name: getattr(self, name) for name in _SETTINGS}
        return {
            SETTINGS[name].name: _READ.get(name, lambda value: value)(value)
            for name, value in raw.items()
            if value is not None and value is not False and value != []
        }

    def session(self, settings: Settings, *, asks: bool = True) -> JudgeSession:
        """What the command's judges share, with names, prices and, where it asks models, keys checked."""
        return JudgeSession.of(judge_config(settings, self.given()), offline=None if asks else NOTHING_SENT)

    def store_address(self, settings: Settings) -> str | None:
        """Where the store is; None for the default."""
        return store_address(self.store, settings)

    def begin(self, settings: Settings | None = None, *, asks: bool = True) -> "Judging":
        """Check everything about the judge; nothing is opened."""
        settings = settings or self.settings()
        return Judging(settings, self.session(settings, asks=asks), self.store_address(settings))


@dataclass(frozen=True, slots=True)
class Judging:
    """A command that asks a judge."""

    settings: Settings
    session: JudgeSession
    """What its judges share."""
    store: str | None
    """The address; None for the default."""

    @property
    def judge(self) -> Judge:
        """The judge that isn't opened: what it is called, and its fingerprints."""
        return build_judge(self.session).judge

    @contextmanager
    def opened(self, *, tell_spending: bool = False) -> Iterator[Judge]:
        """The judge, ready to be asked; what a model answers is kept in the store, so that the same command continues.

        What was spent may be told at the end, however the command ends.
        """
        if not self.session.config.paid:
            free = build_judge(self.session)
            free.open()
            yield free.judge
            return
        try:
            with open_answers(self.store) as answers:
                built = build_judge(self.session, answers, free=answers.free, tickets=answers.tickets())
                built.open()
                yield built.judge
                built.close()
        finally:
            if tell_spending and self.session.ledger.requests:
                tell(f"spent: {spending(self.session.ledger, tokens=True)}")

    @contextmanager
    def planned(self) -> Iterator[tuple[Judge, AnswerMemory]]:
        """The judge as it would be asked, with the answers of the store; none is made."""
        with answers_in(self.store) as memory:
            yield build_judge(self.session, memory).judge, memory

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """The language model as a writer of texts; the first Ctrl-C lets requests in flight come in."""
        with open_answers(self.store) as answers:
            writer = build_writer(self.session, answers, tickets=answers.tickets())
            with graceful_ctrl_c(self.session):
                yield writer
            writer.close()


def without_batches(session: JudgeSession) -> JudgeSession:
    """The same to be planned: a batch takes the same requests, but wants a place for its tickets."""
    config = replace(session.config, batch_api=False, wait=False)
    return JudgeSession.of(config, offline=NOTHING_SENT) if session.config.batch_api else session


def spending(ledger: Ledger, *, tokens: bool = False) -> str:
    """What a command has spent so far: `12 requests, $0.03`, or with tokens `12 requests, 3,400 tokens, $0.03`.

    A price that isn't known counts as nothing and must not look like nothing, so it is left out.
    """
    parts = [plural(ledger.requests, "request")]
    if tokens:
        parts.append(f"{ledger.tokens_in + ledger.tokens_out:,} tokens")
    if ledger.cost:
        parts.append(dollars(ledger.cost))
    return ", ".join(parts)


@contextmanager
def graceful_ctrl_c(session: JudgeSession) -> Iterator[None]:
    """Let the first Ctrl-C wait for the requests in flight; a second one doesn't."""

    def stop() -> None:
        signal.signal(signal.SIGINT, leave)
        _in_event_loop(begin_to_stop)

    def begin_to_stop() -> None:
        tell("\nstopping when the requests in flight have come in (Ctrl-C again: don't wait for them)")
        session.ledger.stop(INTERRUPTED)

    def leave(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _in_event_loop(_interrupt)

    with at_ctrl_c(stop) if session.config.paid else nullcontext():
        yield


def _in_event_loop(act: Callable[[], None]) -> None:
    """Act between two steps of the event loop, since a signal comes in the middle of one; at once where none runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        act()
    else:
        loop.call_soon_threadsafe(act)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _base_rates(items: list[str]) -> dict[str, float]:
    """`KIND=SHARE` → kind and share."""
    found = parse_numbers(items, "--base-rate", "supported=0.9", float)
    check_base_rates(found, "--base-rate")
    return found


def _headers(items: list[str]) -> dict[str, str]:
    """`NAME=VALUE` → name and value; a value is never repeated in a message."""
    found: dict[str, str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise ConfigError("--header: write it as NAME=VALUE, for example X-Team=search")
        if name.strip().lower() in map(str.lower, found):
            raise ConfigError(f"--header names {name.strip()} twice: give one value")
        found[name.strip()] = value
    return found


_READ: Mapping[str, Callable[[Any], Any]] = {
    "judge": tuple, "base_rate": _base_rates, "header": _headers, "price": Price.parse, "decide_price": Price.parse,
}  # fmt: skip
"""Flag → how its value is read, where that isn't the setting's."""


@command("judge check")
def check(model: str, *, config: Path | None = None, as_json: bool = False) -> None:
    """Ask a decision model a few packaged questions in several ways: does anything move its answers that mustn't?

    The largest difference of a probability: each question alone, all in reverse, under other names, once more; and how
    far a text that says "answer yes" raises it. A dozen requests. Exit codes: 0; 2 usage; 3 the model can't be asked.
    """
    if not is_decision_model(model):
        raise ConfigError(f"{model} is no decision model: give SERVICE:MODEL, for example {EXAMPLE}")
    settings = read_settings(config) if config else find_settings(Path.cwd())
    session = JudgeSession.of(judge_config(settings, {"judge": (model,)}))
    (asked,) = session.deciders.values()
    found = asyncio.run(influence(asked.model, asked.transport.send, asked.channel, asked.words))
    print_found(lambda: asdict(found), lambda: influence_document(found), as_json=as_json)
