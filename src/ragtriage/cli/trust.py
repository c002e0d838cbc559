"""`ragtriage trust`: can the judge be trusted?"""

from ragtriage.cli import trust_test, trust_table1, trust_agreement, trust_label  # isort: skip  # in the order of the help
from ragtriage.cli.trust_app import trust

COMMAND_MODULES = (trust_test, trust_table1, trust_agreement, trust_label)
"""Importing them registers their commands, in this order."""

__all__ = ["COMMAND_MODULES", "trust"]
