"""The flags that choose a judge, which several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ragtriage.cli.flags import with_flags
from ragtriage.cli.options import place_of, settings_from
from ragtriage.config import Settings
from ragtriage.core.errors import ConfigError
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.config import LOCAL, JudgeConfig
from ragtriage.judges.llm.model_names import takes_base_url
from ragtriage.judges.llm.options import Price
from ragtriage.judges.protocol import Judge
from ragtriage.store import open_store


@dataclass(frozen=True)
class JudgeFlags:
    """What was given on the command line; None and empty where it wasn't."""

    judge: Annotated[
        list[str] | None,
        typer.Option(help="embedded, embedded:fast or provider:model; may be repeated for a jury [default: embedded]."),
    ] = None
    jury: Annotated[str | None, typer.Option(help="How several judges come to a verdict: majority.")] = None
    cascade: Annotated[
        str | None,
        typer.Option(help="The embedded judge decides what it is sure of: shipped, or the band to pass on, LOW:HIGH."),
    ] = None
    any_language: Annotated[
        bool,
        typer.Option("--any-language", help="Judge also languages that the judge was not measured on."),
    ] = False
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible server, for judges openai:NAME.")] = None
    header: Annotated[list[str] | None, typer.Option(help="NAME=VALUE, sent with every request; may be repeated.")] = (
        None
    )
    embeddings: Annotated[
        str | None, typer.Option(help="What measures repetition: embedded, or provider:model [default: embedded].")
    ] = None
    prompts: Annotated[Path | None, typer.Option(help="A folder with prompt files of your own.")] = None
    guidance: Annotated[
        Path | None, typer.Option(help="A file on your domain: what is essential, what abbreviations mean.")
    ] = None
    batch_size: Annotated[int | None, typer.Option(help="Most questions in a request [default: 32].")] = None
    concurrency: Annotated[int | None, typer.Option(help="Most requests in flight [default: 16].")] = None
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a request is tried again [default: 120].")
    ] = None
    rpm: Annotated[int | None, typer.Option(help="Most requests a minute.")] = None
    tpm: Annotated[int | None, typer.Option(help="Most tokens a minute.")] = None
    budget: Annotated[float | None, typer.Option(help="Most US dollars that the run may cost.")] = None
    max_requests: Annotated[int | None, typer.Option(help="Most requests that this command may send.")] = None
    price: Annotated[
        str | None, typer.Option(help="IN:OUT, US dollars for a million tokens, where no list has the model.")
    ] = None
    reply: Annotated[
        str | None, typer.Option(help="Form of replies: schema, text or auto, whichever works [default: auto].")
    ] = None
    batch_api: Annotated[
        bool, typer.Option("--batch-api", help="Half price and slow: send, end, and collect with the same command.")
    ] = False
    wait: Annotated[bool, typer.Option("--wait", help="With --batch-api: wait until all is answered.")] = False


def with_judge_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all judge flags; it gets them as one value, its parameter `judging`."""
    return with_flags(command, "judging", JudgeFlags)


def choice_from(flags: JudgeFlags, settings: Settings) -> JudgeConfig:
    """Who judges: flags before the settings, these before the defaults.

    Raises:
        ConfigError: a value is wrong.
    """
    if flags.jury not in {None, "majority"}:
        raise ConfigError(f"--jury {flags.jury}: there is only majority")
    if flags.reply not in {None, "auto", "schema", "text"}:
        raise ConfigError(f"--reply {flags.reply}: use schema, text or auto")
    given: dict[str, Any] = {
        "base_url": flags.base_url,
        "headers": _headers(flags.header) if flags.header else None,
        "embeddings": flags.embeddings,
        "prompts": flags.prompts,
        "guidance": flags.guidance,
        "batch_size": flags.batch_size,
        "concurrency": flags.concurrency,
        "timeout": flags.timeout,
        "rpm": flags.rpm,
        "tpm": flags.tpm,
        "budget": flags.budget,
        "max_requests": flags.max_requests,
        "price": Price.parse(flags.price) if flags.price else None,
        "reply": flags.reply,
    }
    options = replace(settings.llm, **{name: value for name, value in given.items() if value is not None})
    names = tuple(flags.judge) if flags.judge else settings.judge
    unheard = [name for name, value in given.items() if value is not None]
    if unheard and all(name in LOCAL for name in names):
        flag = "header" if unheard[0] == "headers" else unheard[0].replace("_", "-")
        raise ConfigError(f"--{flag} is for language models only: name one with --judge PROVIDER:MODEL")
    if flags.base_url is None and not any(takes_base_url(name) for name in (*names, options.embeddings)):
        options = replace(options, base_url=None, headers=options.headers if flags.header else {})
    return JudgeConfig(
        names,
        "majority" if flags.jury else settings.jury if not flags.judge else None,
        flags.cascade if flags.cascade is not None else settings.cascade if not flags.judge else None,
        flags.batch_api,
        flags.wait,
        flags.any_language or settings.any_language,
        options,
        settings.decision_thresholds,
        settings.bands,
    )


@contextmanager
def judge_from(flags: JudgeFlags, config: Path | None, store: str | None) -> Iterator[Judge]:
    """The judge; what a model answers is kept in the store, so that the same command goes on where it stopped."""
    settings = settings_from(config, None)
    chosen = ConfiguredJudge(choice_from(flags, settings))
    if not chosen.paid:
        yield chosen.judge()
        return
    with open_store(place_of(store, settings)) as opened:
        yield chosen.judge(opened.answers(), tickets=opened.tickets())
        opened.answers().flush()
        chosen.settle()


def _headers(items: list[str]) -> dict[str, str]:
    """`NAME=VALUE` → name and value; a value is never repeated in a message."""
    found = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise ConfigError("--header: write it as NAME=VALUE, for example X-Team=search")
        found[name.strip()] = value
    return found
