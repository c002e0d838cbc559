"""`ragtriage readers`: the models of a hub that can read in the embedded judge's place, and fetching one."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

import typer  # noqa: TC002  # read by typer itself
from rich.console import Console

from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command, new_typer
from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import near_names
from ragtriage.judges.hub_readers.families import FAMILIES
from ragtriage.judges.hub_readers.hub import fetch
from ragtriage.judges.hub_readers.known import MANIFEST, known_reader, known_readers, readers_folder
from ragtriage.report.readers_document import readers_document, size_text
from ragtriage.report.terminal import print_document

readers = new_typer(
    help="Models of a hub that read in the embedded judge's place: list them, fetch one.",
    no_args_is_help=False,
    invoke_without_command=True,
)


@readers.callback()
def default(context: typer.Context) -> None:
    """Models of a hub that read in the embedded judge's place: list them, fetch one."""
    if context.invoked_subcommand is None:
        show(as_json=False)


@readers.command("list")
@command("readers list")
def show(*, as_json: bool = False) -> None:
    """List the known hub readers: what for, size, licence, languages, published accuracy with its source.

    Nothing is asked of a hub.
    """
    known, place = known_readers(), readers_folder()
    here = [name for name in known if (place / name / MANIFEST).is_file()]
    if as_json:
        print_json(
            [
                {**asdict(one), "kinds": list(FAMILIES[one.family].kinds), "here": name in here}
                for name, one in known.items()
            ]
        )
    else:
        print_document(Console(), readers_document(known, here, str(place)))


@readers.command("get")
@command("readers get")
def get(name: str, *, revision: str | None = None, to: Path | None = None, as_json: bool = False) -> None:
    """Fetch a known hub reader by huggingface_hub: at its pinned commit, every file held against its digest.

    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count as for that package. Exit codes: 0; 2 usage, or it can't be fetched.
    """
    reader = known_reader(name)
    if reader is None:
        near = near_names(name, known_readers())
        hint = f"did you mean {near[0]}?" if near else "`ragtriage readers` lists them"
        raise ConfigError(f"there is no known reader {name!r}: {hint} (a folder needs no fetching: name its path)")
    place = to or readers_folder() / name
    found = fetch(reader, place, revision=revision, endpoint=os.environ.get("HF_ENDPOINT"), tell=tell)
    if not found.pinned:
        tell(f"note: {found.revision} isn't a commit that {reader.name} is pinned to")
    judge = f"embedded+reader:{name if to is None else to}"
    if as_json:
        told = {"name": name, "place": str(place), "revision": found.revision, "pinned": found.pinned}
        print_json({**told, "files": found.files, "bytes": found.size, "judge": judge})
        return
    size = size_text(max(1, found.size // 1_000_000))
    sys.stdout.write(
        f"{name}: {found.files} files, {size}, commit {found.revision}, licence {reader.license}\n"
        f"judge with it: --judge {shlex.quote(judge)}\n"
    )
