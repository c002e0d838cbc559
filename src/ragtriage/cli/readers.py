"""`ragtriage readers`: the models of a hub that judge claims beside the embedded judge, and fetching one."""

from __future__ import annotations

import sys
from dataclasses import asdict

import typer  # noqa: TC002  # read by typer itself
from rich.console import Console

from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command, new_typer
from ragtriage.judges.hub_models.folder import fetch, is_here, known_model, known_models, models_folder
from ragtriage.report.judge_document import readers_document
from ragtriage.report.terminal import print_document

readers = new_typer(
    help="Models of a hub that judge whether sources support a claim: list them, fetch one.",
    no_args_is_help=False,
    invoke_without_command=True,
)


@readers.callback()
def default(context: typer.Context) -> None:
    """Models of a hub that judge whether sources support a claim: list them, fetch one."""
    if context.invoked_subcommand is None:
        show(as_json=False)


@readers.command("list")
@command("readers list")
def show(*, as_json: bool = False) -> None:
    """List the known hub models: size, licence, languages, published accuracy with its source.

    Nothing is asked of a hub.
    """
    known = known_models()
    here = [name for name in known if is_here(name)]
    if as_json:
        print_json([{**asdict(one), "here": name in here} for name, one in known.items()])
    else:
        print_document(Console(), readers_document(known, here, str(models_folder())))


@readers.command("get")
@command("readers get")
def get(name: str, *, as_json: bool = False) -> None:
    """Fetch a known hub model by huggingface_hub, at its pinned commit, to $RAGTRIAGE_READERS or the user's cache.

    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE count as for that package. Exit codes: 0; 2 usage, or it can't be fetched.
    """
    model = known_model(name)
    tell(f"fetching {model.repository} at {model.revision}")
    place = fetch(model).path
    judge = f"embedded+reader:{name}"
    if as_json:
        print_json({"name": name, "place": str(place), "revision": model.revision, "judge": judge})
    else:
        sys.stdout.write(f"{name}: {place}, licence {model.license}\njudge with it: --judge {judge}\n")
