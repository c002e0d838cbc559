"""Files of cases, in the shapes in which other tools write them, read as a stream."""

from ragtriage.readers.cases import CaseFile, open_cases
from ragtriage.readers.problems import Rejected, RowLimits

__all__ = ["CaseFile", "Rejected", "RowLimits", "open_cases"]
