"""Showing what was found out: in the terminal, and as one HTML file."""

from ragtriage.report.header import Header
from ragtriage.report.html import write_report
from ragtriage.report.order import Row, row_of, worst_first
from ragtriage.report.terminal import print_cases, print_summary
from ragtriage.report.terminal_case import print_case

__all__ = ["Header", "Row", "print_case", "print_cases", "print_summary", "row_of", "worst_first", "write_report"]
