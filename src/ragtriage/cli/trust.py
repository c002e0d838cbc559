"""`ragtriage trust`: can the judge be trusted?"""

from __future__ import annotations

from collections.abc import Callable

from ragtriage.cli.help import new_typer
from ragtriage.cli.trust_agreement import agreement
from ragtriage.cli.trust_card import card
from ragtriage.cli.trust_labels import calibrate, label
from ragtriage.cli.trust_pairs import self_test, table1

trust = new_typer(help="Can the judge be trusted? Measure it on pairs, labels and your own cases.")
COMMANDS: dict[str, Callable[..., None]] = {
    "test": self_test,
    "table1": table1,
    "agreement": agreement,
    "label": label,
    "calibrate": calibrate,
    "card": card,
}
for _name, _command in COMMANDS.items():
    trust.command(_name)(_command)
