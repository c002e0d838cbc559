"""`ragtriage trust`: can the judge be trusted?"""

from ragtriage.cli import (  # isort: skip  # in the order of the help
    trust_test,
    trust_table1,
    trust_agreement,
    trust_label,
    trust_calibrate,
    trust_card,
)
from ragtriage.cli.trust_app import trust

COMMAND_MODULES = (trust_test, trust_table1, trust_agreement, trust_label, trust_calibrate, trust_card)
"""Importing them registers their commands, in this order."""

__all__ = ["COMMAND_MODULES", "trust"]
